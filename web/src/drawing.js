// The picture of a finding: one column per thread, time downwards, one box per transaction with its nested blocks,
// the operations inside, and an arrow for each conflict. No layout library: every position is computed here.

import { s, fit, width } from "./dom.js";
import { opOf, plainName, sameBlock, shortPlace, stepPlace, stepSentence, tie } from "./data.js";

const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";
const BOLD = `600 13px ${FONT}`;
const SMALL = `11px ${FONT}`;

const GUTTER = 50; // event numbers
const HEAD = 46; // names of threads
const STEP = 52; // height of an operation's row
const BEGIN = 34; // height of a begin's row
const GAP = 12; // between a box's last row and its edge
const PILL = 38;
const INSET = 10; // of a nested block on each side
const BETWEEN = 84; // between columns: room for labels
const MIN = 150;
const MAX = 300;

// ---- Rows.

// The blocks that are open at a step, outermost first. If the trace has no list, the transaction alone.
function blocksOf(step) {
  if (step.blocks?.length) return step.blocks;
  return step.begin ? [{ label: step.label, begin: step.begin, place: step.begin_place }] : [];
}

// Collects boxes, keyed by thread and begin, and rows in drawing order.
function layOut(f) {
  const threads = [];
  const boxes = new Map();
  const rows = [];
  const column = (name) => {
    if (!threads.includes(name)) threads.push(name);
    return threads.indexOf(name);
  };
  f.steps.forEach((step, i) => {
    const thread = column(step.thread ?? "?");
    const open = [];
    for (const [depth, block] of blocksOf(step).entries()) {
      const key = `${thread} ${block.begin}`;
      if (!boxes.has(key)) {
        const box = { key, thread, depth, block, parent: open.at(-1) ?? null, rows: [] };
        boxes.set(key, box);
        rows.push({ box, thread, event: block.begin, order: rows.length });
      }
      open.push(boxes.get(key));
    }
    rows.push({ step, index: i, thread, event: step.event, order: rows.length, open });
  });
  if (f.status !== "predicted") rows.sort((a, b) => a.event - b.event || a.order - b.order);
  for (const row of rows) {
    if (row.box) row.box.rows.push(row);
    for (const box of row.open ?? []) box.rows.push(row);
    // A nested block's rows also extend its parents.
    for (let up = row.box?.parent; up; up = up.parent) up.rows.push(row);
  }
  const refuted = f.blame?.refuted ?? [];
  for (const box of boxes.values()) {
    const blamed = f.blame && threads[box.thread] === f.blame.thread;
    box.blamed = !!blamed && box.block.begin === f.blame.begin;
    // A predicted finding blames no block; mark the one that it is about.
    box.subject = !f.blame && f.status !== "observed" && threads[box.thread] === f.transaction?.thread && box.block.begin === f.transaction.begin;
    box.refuted = !!blamed && !box.blamed && refuted.includes(box.block.label) && inside(box, f.blame.begin);
  }
  return { threads, boxes: [...boxes.values()], rows };
}

function inside(box, begin) {
  for (let up = box.parent; up; up = up.parent) if (up.block.begin === begin) return true;
  return false;
}

function place(picture) {
  let y = HEAD;
  picture.rows.forEach((row, i) => {
    row.y = y;
    y += row.box ? BEGIN : STEP;
    // Leave room for the lower edges of the boxes that end here, one below the other if they are nested.
    const ending = picture.boxes.filter((box) => box.rows.at(-1) === row);
    if (ending.length) y += 4 + GAP * Math.max(...ending.map((box) => 1 + ending.filter((o) => o.thread === box.thread && o.depth > box.depth).length)) - 6;
    row.bottom = y;
    if (i + 1 < picture.rows.length && picture.rows[i + 1].box && !picture.rows[i + 1].box.depth) y += 8;
  });
  picture.height = y + 10;
  const deepest = picture.threads.map((_, t) => Math.max(0, ...picture.boxes.filter((box) => box.thread === t).map((box) => box.depth)));
  let x = GUTTER;
  picture.columns = picture.threads.map((name, t) => {
    let wide = width(name, BOLD);
    for (const row of picture.rows) {
      if (row.thread !== t) continue;
      if (row.box) {
        const badge = row.box.blamed ? 66 : row.box.refuted || row.box.subject ? 84 : 0;
        const indent = 2 * INSET * row.box.depth - 2 * INSET * (deepest[t] + 1);
        wide = Math.max(wide, width(row.box.block.label ?? "", BOLD) + width(shortPlace(row.box.block.place), SMALL) + 34 + badge + indent);
      }
      if (row.step) wide = Math.max(wide, width(opText(row.step), BOLD) + 48, width(stepPlace(row.step), SMALL) + 48);
    }
    const size = Math.min(MAX, Math.max(MIN, wide)) + 2 * INSET * (deepest[t] + 1);
    const col = { x, width: size, name };
    x += size + BETWEEN;
    return col;
  });
  picture.width = x - BETWEEN + 24;
  for (const box of picture.boxes) {
    const col = picture.columns[box.thread];
    const below = picture.boxes.filter((o) => o.thread === box.thread && o.depth > box.depth && o.rows.at(-1) === box.rows.at(-1)).length;
    box.x = col.x + INSET * box.depth;
    box.width = col.width - 2 * INSET * box.depth;
    box.y = box.rows[0].y + 3;
    box.bottom = box.rows.at(-1).y + (box.rows.at(-1).box ? BEGIN : STEP) + 2 + GAP * below;
  }
  for (const row of picture.rows) {
    if (!row.step) continue;
    const col = picture.columns[row.thread];
    const depth = row.open.length ? row.open.length : 0.6;
    row.px = col.x + INSET * depth;
    row.pw = col.width - 2 * INSET * depth;
    row.py = row.y + (STEP - PILL) / 2;
  }
}

function opText(step) {
  const name = plainName(step.operand);
  return opOf(step.op).word + (name ? " " + name : "");
}

// ---- Parts.

const clip = (text, font, room, head) => {
  const short = fit(text, font, room, head);
  return short === text ? [text] : [short, s("title", null, text)];
};

function drawBox(box) {
  const label = box.block.label ?? "(no name)";
  const badge = box.blamed ? "blamed" : box.refuted ? "not atomic" : box.subject ? "suspected" : null;
  const badgeWidth = badge ? width(badge, SMALL) + 14 : 0;
  const where = shortPlace(box.block.place);
  const room = box.width - 24 - (badge ? badgeWidth + 8 : 0);
  const name = fit(label, BOLD, room);
  const rest = room - width(name, BOLD) - 10;
  return s(
    "g",
    { class: `box depth${Math.min(box.depth, 3)}${box.blamed ? " blamed" : ""}${box.refuted ? " refuted" : ""}${box.subject ? " subject" : ""}`, "data-begin": box.block.begin },
    s("rect", { x: box.x, y: box.y, width: box.width, height: box.bottom - box.y, rx: 9 }),
    s("text", { class: "name", x: box.x + 12, y: box.y + 20 }, name, s("title", null, where ? `${label} begins at ${where}` : label)),
    rest > 40 && where
      ? s("text", { class: "small", x: box.x + 12 + width(name, BOLD) + 8, y: box.y + 20 }, clip(where, SMALL, rest, true))
      : null,
    badge
      ? s(
          "g",
          { class: "badge" },
          s("rect", { x: box.x + box.width - badgeWidth - 8, y: box.y + 7, width: badgeWidth, height: 18, rx: 9 }),
          s("text", { x: box.x + box.width - badgeWidth / 2 - 8, y: box.y + 20 }, badge),
        )
      : null,
  );
}

const GLYPHS = { read: "R", write: "W", lock: "L", thread: "T", other: "·" };

function drawStep(row, choose) {
  const { step } = row;
  const op = opOf(step.op);
  const glyph = step.op === "u" ? "RW" : GLYPHS[op.kind];
  const room = row.pw - 44;
  const where = stepPlace(step);
  const node = s(
    "g",
    {
      class: `step ${op.kind}`,
      "data-index": row.index,
      tabindex: "0",
      role: "button",
      "aria-label": stepSentence(step),
      onclick: () => choose(row.index, true),
      onfocus: () => choose(row.index),
      onmouseenter: () => choose(row.index),
    },
    s("rect", { class: "pill", x: row.px, y: row.py, width: row.pw, height: PILL, rx: 8 }),
    s("circle", { class: "dot", cx: row.px + 18, cy: row.py + PILL / 2, r: 10.5 }),
    s("text", { class: "glyph", x: row.px + 18, y: row.py + PILL / 2 + 3.8 }, glyph),
    s("text", { class: "op", x: row.px + 36, y: row.py + (where ? 16 : 23.5) }, clip(opText(step), BOLD, room)),
    where ? s("text", { class: "small", x: row.px + 36, y: row.py + 30 }, clip(where, SMALL, room, true)) : null,
  );
  return node;
}

// The curve from one operation to the next: across, or around the side if both are in one column.
function curve(picture, from, to, nth) {
  const a = from.thread;
  const b = to.thread;
  const y1 = from.py + PILL / 2 + port(from, b >= a ? "right" : "left", "out");
  const y2 = to.py + PILL / 2 + port(to, b > a ? "left" : "right", "in");
  if (a === b) {
    const x1 = from.px + from.pw;
    const x2 = to.px + to.pw;
    const out = Math.max(x1, x2) + 30 + 8 * (nth % 3);
    return { x: [x1, out, out, x2 + 7], y: [y1, y1, y2, y2], label: 0.5 };
  }
  const way = b > a ? 1 : -1;
  const x1 = way > 0 ? from.px + from.pw : from.px;
  const x2 = way > 0 ? to.px - 7 : to.px + to.pw + 7;
  const bend = way * Math.max(36, Math.abs(x2 - x1) * 0.5);
  const x = [x1, x1 + bend, x2 - bend, x2];
  // Put the label in the gap beside the arrow's end: no box is there.
  const col = picture.columns[b];
  const gap = way > 0 ? col.x - BETWEEN / 2 : col.x + col.width + BETWEEN / 2;
  return { x, y: [y1, y1, y2, y2], label: solve(...x, gap) };
}

// A point on the curve where the label covers no other label.
function labelPlace({ x, y, label }, wide, taken) {
  let best = null;
  for (const move of [0, 0.1, -0.1, 0.2, -0.2, 0.3, -0.3]) {
    const t = Math.min(0.92, Math.max(0.08, label + move));
    const at = { x: bezier(...x, t), y: bezier(...y, t), wide };
    best ??= at;
    if (taken.every((o) => Math.abs(o.x - at.x) > (o.wide + wide) / 2 || Math.abs(o.y - at.y) > 19)) {
      best = at;
      break;
    }
  }
  taken.push(best);
  return best;
}

function drawEdge(path, { from, to, kind, closing }, taken) {
  const d = `M${path.x[0]},${path.y[0]} C${path.x[1]},${path.y[1]} ${path.x[2]},${path.y[2]} ${path.x[3]},${path.y[3]}`;
  // Program order needs no label.
  const name = kind === "conflict" ? plainName(to.step.operand ?? from.step.operand) : { fork: "fork", join: "join" }[kind];
  const text = name ? fit(name, SMALL, BETWEEN - 14) : null;
  const wide = text ? width(text, SMALL) + 10 : 0;
  const at = text ? labelPlace(path, wide, taken) : null;
  return s(
    "g",
    { class: `edge ${kind}${closing ? " closing" : ""}`, "aria-hidden": "true" },
    s("path", { class: "halo", d }),
    s("path", { class: "line", d, "marker-end": closing ? "url(#tip-closing)" : kind === "thread" ? "url(#tip-thread)" : "url(#tip)" }),
    text
      ? s(
          "g",
          { class: "label" },
          s("rect", { x: at.x - wide / 2, y: at.y - 9, width: wide, height: 17, rx: 5 }),
          s("text", { x: at.x, y: at.y + 3.5 }, text, text === name ? null : s("title", null, name)),
        )
      : null,
  );
}

// If arrows start and end on the same side of an operation, keep them apart vertically.
function port(row, side, way) {
  const uses = row.ports?.[side];
  if (!uses || uses.in === 0 || uses.out === 0) return 0;
  return way === "in" ? -8 : 8;
}

function notePorts(edges) {
  for (const { from, to } of edges) {
    const a = from.thread;
    const b = to.thread;
    for (const [row, side, way] of [
      [from, b >= a ? "right" : "left", "out"],
      [to, b > a ? "left" : "right", "in"],
    ]) {
      row.ports ??= { left: { in: 0, out: 0 }, right: { in: 0, out: 0 } };
      row.ports[side][way]++;
    }
  }
}

const bezier = (p0, p1, p2, p3, t) => {
  const u = 1 - t;
  return u * u * u * p0 + 3 * u * u * t * p1 + 3 * u * t * t * p2 + t * t * t * p3;
};

// The t at which the curve reaches this x. The curve is monotonic in x.
function solve(x0, x1, x2, x3, x) {
  let low = 0;
  let high = 1;
  for (let i = 0; i < 30; i++) {
    const mid = (low + high) / 2;
    if (bezier(x0, x1, x2, x3, mid) < x === x3 > x0) low = mid;
    else high = mid;
  }
  return (low + high) / 2;
}

function edgesOf(f, rows) {
  const byIndex = [];
  for (const row of rows) if (row.step) byIndex[row.index] = row;
  const edges = [];
  for (let i = 1; i < f.steps.length; i++) {
    const kind = tie(f.steps[i - 1], f.steps[i]);
    // Steps of one block need no arrow.
    if (kind === "block") continue;
    edges.push({ from: byIndex[i - 1], to: byIndex[i], kind, closing: i === f.steps.length - 1 && closes(f) });
  }
  // The thread that wants the last lock waits for the thread that holds the first.
  if (f.kind === "deadlock" && f.steps.length > 3) edges.push({ from: byIndex[f.steps.length - 1], to: byIndex[0], kind: "conflict", closing: true });
  return edges;
}

const closes = (f) => f.kind !== "movers" && f.kind !== "deadlock" && f.steps.length > 2 && sameBlock(f.steps[0], f.steps.at(-1));

const tip = (id) =>
  s(
    "marker",
    { id, class: id, viewBox: "0 0 10 10", refX: 3, refY: 5, markerWidth: 9, markerHeight: 9, markerUnits: "userSpaceOnUse", orient: "auto-start-reverse" },
    s("path", { d: "M0,0.6 L10,5 L0,9.4 L2.4,5 Z" }),
  );

// choose(index, clicked) is called when an operation is pointed at, focused or clicked.
export function drawing(f, choose) {
  const picture = layOut(f);
  place(picture);
  const edges = edgesOf(f, picture.rows);
  notePorts(edges);
  const taken = [];
  // An arrow around the side of the last column needs room.
  if (edges.some(({ from, to }) => from.thread === to.thread && to.thread === picture.threads.length - 1)) picture.width += 34;
  const svg = s(
    "svg",
    {
      class: "drawing",
      width: picture.width,
      height: picture.height,
      style: `min-width:${Math.round(picture.width * 0.72)}px`,
      viewBox: `0 0 ${picture.width} ${picture.height}`,
      role: "group",
      "aria-label": `${f.title}: ${picture.threads.length} threads, ${f.steps.length} operations in the order of ${f.status === "predicted" ? "the schedule" : "the run"}. Use Tab to go from one to the next.`,
    },
    s("defs", null, tip("tip"), tip("tip-closing"), tip("tip-thread")),
    picture.columns.map((col) =>
      s(
        "g",
        { class: "thread" },
        s("line", { x1: col.x + col.width / 2, x2: col.x + col.width / 2, y1: HEAD - 8, y2: picture.height - 4 }),
        s("text", { x: col.x + col.width / 2, y: 24 }, clip(col.name, BOLD, col.width)),
      ),
    ),
    f.live ? null : s("text", { class: "small head", x: GUTTER - 14, y: 24 }, "event"),
    f.live ? null : picture.rows.map((row) => s("text", { class: "small event", x: GUTTER - 14, y: row.box ? row.y + 23 : row.py + 23 }, String(row.event))),
    [...picture.boxes].sort((a, b) => a.depth - b.depth).map(drawBox),
    edges.map((edge, i) => drawEdge(curve(picture, edge.from, edge.to, i), edge, taken)),
    picture.rows.filter((row) => row.step).map((row) => drawStep(row, choose)),
  );
  // Arrows pass over boxes and under operations; their labels are on top of everything.
  for (const label of [...svg.querySelectorAll(".edge > .label")]) {
    const edge = label.parentNode;
    const g = s("g", { class: edge.getAttribute("class"), "aria-hidden": "true" }, label);
    svg.append(g);
  }
  return svg;
}

export function mark(svg, index) {
  for (const node of svg.querySelectorAll(".step")) node.classList.toggle("chosen", +node.dataset.index === index);
}

