// The report as the page needs it: one list of findings, each with the fields used to search, group and count it.

const raw = JSON.parse(document.getElementById("data").textContent);
document.getElementById("data").remove();

export const report = raw.report;
export const sourceName = report.source.trace ?? report.source.program ?? "?";
export const engines = new Map(raw.engines.map((engine) => [engine.name, engine]));

const here = raw.here && raw.here !== "/" ? raw.here + "/" : null;
export const shortPath = (file) => (here && file.startsWith(here) ? file.slice(here.length) : file);
const baseName = (file) => file.slice(file.lastIndexOf("/") + 1) || file;

// ---- Places: the line in the program's own source if the run was recorded, else a place like "bank.c:14:3".

export function ownFrame(stack) {
  let first = null;
  for (const frame of stack ?? []) {
    if (!frame.file || !frame.line) continue;
    if (!frame.file.startsWith("/usr/")) return frame;
    first ??= frame;
  }
  return first;
}

export function parsePlace(place) {
  const got = /^(.+?):(\d+)(?::(\d+))?$/.exec(place ?? "");
  return got ? { file: got[1], line: +got[2], column: got[3] ? +got[3] : null } : null;
}

export const whereOf = (step) => ownFrame(step.stack) ?? parsePlace(step.place);

export function placeText(where, folders = false) {
  if (!where) return "";
  const file = folders ? shortPath(where.file) : baseName(where.file);
  return file + ":" + where.line + (where.column ? ":" + where.column : "");
}
export const stepPlace = (step) => (whereOf(step) ? placeText(whereOf(step)) : (step.place ?? ""));
export function shortPlace(place) {
  const where = parsePlace(place);
  return where ? placeText(where) : (place ?? "");
}

// ---- Sources inside the report.

const sources = new Map(raw.sources.map((source) => [source.file, source.excerpts]));
export function sourceAround(file, line, around) {
  for (const part of sources.get(file) ?? []) {
    const last = part.first + part.lines.length - 1;
    if (line < part.first || line > last) continue;
    const from = Math.max(part.first, line - around);
    const to = Math.min(last, line + around);
    const lines = [];
    for (let n = from; n <= to; n++) lines.push({ number: n, text: part.lines[n - part.first] });
    return lines;
  }
  return null;
}

// ---- Words.

const aside = / \(allocated at [^()]*(?:\([^()]*\))?[^()]*\)/;
// The name without "(allocated at ...)": "heap block of 24 bytes, offset 8 (allocated at bank.c:9)".
export const plainName = (name) => name?.replace(aside, "") ?? null;

export const OPS = {
  r: { word: "read", verb: "reads", kind: "read" },
  w: { word: "write", verb: "writes", kind: "write" },
  u: { word: "update", verb: "updates", kind: "write" },
  acq: { word: "acquire", verb: "acquires", kind: "lock" },
  rel: { word: "release", verb: "releases", kind: "lock" },
  racq: { word: "acquire shared", verb: "acquires (shared)", kind: "lock" },
  rrel: { word: "release shared", verb: "releases (shared)", kind: "lock" },
  fork: { word: "fork", verb: "forks", kind: "thread" },
  join: { word: "join", verb: "joins", kind: "thread" },
  wait: { word: "wait", verb: "waits for", kind: "thread" },
  notify: { word: "notify", verb: "notifies", kind: "thread" },
  barrier: { word: "barrier", verb: "passes", kind: "thread" },
  alloc: { word: "allocate", verb: "allocates", kind: "other" },
  free: { word: "free", verb: "frees", kind: "other" },
  begin: { word: "begin", verb: "begins", kind: "other" },
  end: { word: "end", verb: "ends", kind: "other" },
};
export const opOf = (op) => OPS[op] ?? { word: op ?? "?", verb: "does " + (op ?? "?"), kind: "other" };

export function stepSentence(step) {
  const parts = [`thread ${step.thread ?? "?"} ${opOf(step.op).verb}`];
  if (step.operand) parts[0] += " " + plainName(step.operand);
  if (!step.live) parts.unshift(`event ${step.event}`);
  if (step.label) parts.push(`in block ${step.label}`);
  const place = stepPlace(step);
  if (place) parts.push("at " + place);
  return parts.join(", ");
}

// ---- Steps and blocks.

export const sameBlock = (a, b) =>
  a.thread === b.thread && (a.begin ?? 0) === (b.begin ?? 0) && (!!a.begin || a.event === b.event);

// How a step is linked to the one before it.
export function tie(before, step) {
  if (sameBlock(before, step)) return "block";
  if (before.thread === step.thread) return "thread";
  if (before.op === "fork" && before.operand === step.thread) return "fork";
  if (step.op === "join" && step.operand === before.thread) return "join";
  return "conflict";
}

// ---- Findings.

function subjectOf(f) {
  const block = f.blame ?? f.transaction;
  if (f.region?.name) return f.region.name;
  if (f.kind === "cycle" && !f.blame && f.status === "observed") return "no single block";
  if (block?.label) return block.label;
  if (block?.begin) return `block at event ${block.begin}`;
  if (f.variable) return plainName(f.variable);
  if (f.locks) return f.locks.join(", ");
  return "(no name)";
}

function variableOf(f) {
  if (f.variable) return plainName(f.variable);
  if (f.locks) return f.locks.join(", ");
  return plainName(f.steps.at(-1)?.operand) ?? "(none)";
}

function whereOfFinding(f) {
  for (let i = f.steps.length - 1; i >= 0; i--) {
    const where = whereOf(f.steps[i]);
    if (where) return where;
  }
  return parsePlace((f.blame ?? f.transaction)?.place);
}

// For sorting: the report's own ranks. Older reports have none: observed before predicted, data before lock order.
export const byRank = (a, b) => (a.rank && b.rank && a.rank - b.rank) || guess(a) - guess(b);
const guess = (f) => (f.status === "predicted" ? 4 : 0) + (f.rests_on === "locks" ? 2 : 0) + (f.blame ? 0 : 1);

// In a report about a run, findings with the same rank have the same cause. The first one stands for all; the best of
// them has no more than the others say, except that data says more than lock order.
function causes(list) {
  const found = new Map();
  for (const f of [...list].sort(byRank)) {
    const key = f.recorded && f.rank ? f.rank : f;
    if (found.has(key)) found.get(key).count += f.count;
    else found.set(key, f);
  }
  return [...found.values()];
}

// A live finding has no event numbers; its `order` fields stand in for them.
function order(f) {
  f.live = f.group !== undefined;
  if (!f.live) return;
  for (const block of [f.blame, f.transaction, ...(f.with ?? [])]) if (block) block.begin = block.begin_order;
  for (const step of f.steps) {
    step.event = step.order;
    step.begin = step.begin_order;
    step.live = true;
  }
}

export const findings = [];
for (const result of report.results) {
  const ranked = result.findings.some((f) => f.rank && f.recorded);
  for (const f of ranked ? causes(result.findings) : result.findings) {
    order(f);
    const where = whereOfFinding(f);
    f.engine = result.engine;
    f.number = findings.length + 1;
    f.subject = subjectOf(f);
    f.about = variableOf(f);
    f.file = where ? shortPath(where.file) : "(unknown)";
    f.where = where ? baseName(where.file) + ":" + where.line : f.event ? `event ${f.event}` : "";
    f.place = where ? placeText(where, true) : f.where;
    f.haystack = null;
    findings.push(f);
  }
}

// All text that the search looks at; built at the first search.
export function haystack(f) {
  if (f.haystack === null) {
    const words = [f.subject, f.about, f.place, f.status, ...(f.reasons ?? []), f.engine, f.title, f.pattern ?? "", f.fingerprint];
    for (const step of f.steps) {
      words.push(step.thread ?? "", step.operand ?? "", step.label ?? "", step.place ?? "");
      for (const frame of step.stack ?? []) words.push(frame.function ?? "", frame.file ? shortPath(frame.file) : "");
    }
    f.haystack = words.join("\n").toLowerCase();
  }
  return f.haystack;
}

// What is left out of the report, in words; null if nothing is.
const HIDDEN = {
  weak: "probably not meant as one step",
  atomic_variable: "about one atomic variable",
  synchronisation: "in code that synchronises threads",
  possible: "merely possible",
};
export const hidden = { n: 0, text: "" };
for (const [name, words] of Object.entries(HIDDEN)) {
  const n = report.results.reduce((sum, result) => sum + (result.hidden?.[name] ?? 0), 0);
  if (!n) continue;
  hidden.text += `${hidden.n ? ", " : ""}${n.toLocaleString("en")} ${words}`;
  hidden.n += n;
}

export function count(list, by) {
  const counts = new Map();
  for (const f of list) counts.set(f[by], (counts.get(f[by]) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}
