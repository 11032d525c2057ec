// run.mjs BIN [--pictures=DIR]: the HTML report in a real browser.
//
// The atomsan in BIN writes every page. The page is opened from a file; it must request nothing but itself,
// print nothing on the console and open no dialog. With --pictures the script also takes the README's pictures.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Browser } from "./browser.mjs";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const bin = resolve(process.argv[2] ?? "build/bin");
const pictures = process.argv.find((word) => word.startsWith("--pictures="))?.slice(11);
const work = mkdtempSync(join(tmpdir(), "atomsan-pages-"));
const env = { ...process.env, PATH: bin + ":" + process.env.PATH };

// Writes the page that atomsan prints for these arguments. Exit code 1 means that it has findings.
function make(name, cwd, ...words) {
  const file = join(work, name + ".html");
  const got = spawnSync(join(bin, "atomsan"), [...words, "--format=html", "-o", file], { cwd, env, encoding: "utf8" });
  assert.ok(got.status === 0 || got.status === 1, `atomsan ${words.join(" ")}: ${got.stderr}`);
  return file;
}

function record(name, source, extra = []) {
  copyFileSync(join(root, source), join(work, name + ".c"));
  execFileSync(join(bin, "atomsan-cc"), ["-g", "-pthread", "-I" + join(root, "tests/programs"), name + ".c", ...extra, "-o", name], { cwd: work, env });
  execFileSync(join(bin, "atomsan"), ["record", "-o", name + ".atrace", "./" + name], { cwd: work, env, stdio: "ignore" });
  return name + ".atrace";
}

// Ten thousand findings, each a little different.
function many(n) {
  const finding = (i) => ({
    status: i % 3 ? "observed" : "predicted",
    kind: "cycle",
    rests_on: i % 5 || i % 3 ? "data" : "locks", // observed lock orders of a function would be one cause
    event: i + 3,
    transaction: { thread: "T1", label: `block_${i % 700}`, begin: i + 1, place: `src/file${i % 40}.c:${i % 900}` },
    blame: { thread: "T1", label: `block_${i % 700}`, begin: i + 1, refuted: [`block_${i % 700}`], place: `src/file${i % 40}.c:${i % 900}` },
    variable: `variable_${i % 300}`,
    pattern: "r-w-w",
    steps: [1, 2, 3].map((k) => ({
      thread: k === 2 ? "T2" : "T1",
      event: i + k,
      op: k === 1 ? "r" : "w",
      operand: `variable_${i % 300}`,
      label: k === 2 ? null : `block_${i % 700}`,
      begin: k === 2 ? null : i + 1,
      place: `src/file${i % 40}.c:${(i % 900) + k}`,
      stack: [0, 1, 2, 3].map((d) => ({ function: `function_${(i * 7 + d) % 1000}`, file: `/home/me/project/src/file${i % 40}.c`, line: (i % 900) + d, column: 3, module: "/home/me/project/program", offset: 4096 + i, inlined: false })),
      locks: ["m"],
    })),
    schedule: null,
    fingerprint: i.toString(16).padStart(16, "0"),
    count: 1,
    recorded: true,
  });
  const file = join(work, "many.json");
  const results = [{ engine: "frontier", verdict: "violation", stats: { seconds: 1 }, findings: Array.from({ length: n }, (_, i) => finding(i)) }];
  writeFileSync(file, JSON.stringify({ tool: "atomsan", version: "0", format: 1, source: { trace: "many", events: 1e6, threads: 2, transactions: 9, variables: 300, locks: 1, skipped: 0, error: null }, results }));
  return file;
}

// A report about a run: the second finding has the cause of the third, which is the most important.
function ranked() {
  const finding = (name, line, column, rank, count) => ({
    status: "observed", kind: "cycle", rests_on: "data", event: rank + column,
    transaction: { thread: "T1", label: name, begin: 1, place: null }, blame: { thread: "T1", label: name, begin: 1, refuted: [name], place: null },
    variable: "cache->size", pattern: "r-w-w",
    steps: [["T1", "r"], ["T2", "w"], ["T1", "w"]].map(([thread, op], k) => ({ thread, event: 10 * rank + k, op, operand: "cache->size", label: name, begin: thread === "T1" ? 1 : 2, place: `/home/me/a/very/long/path/of/lmdb/mdb.c:${line}:${column + (k === 2)}`, locks: ["m"] })),
    schedule: null, fingerprint: `${line}${column}`.padStart(16, "0"), count, recorded: true, rank, class: rank === 1 ? "stale write" : "other",
    reasons: [rank === 1 ? "read, then written, under mutex m, which was released in between" : "read twice, and changed in between", "seen in this run"],
    region: { kind: "function", name, place: "mdb.c:1", why: "functions usually are, unless they wait" },
  });
  const results = [{ engine: "frontier", verdict: "violation", stats: {}, findings: [finding("get", 17, 4, 2, 1), finding("put", 3928, 9, 1, 2), finding("put", 3928, 5, 1, 3)], hidden: { atomic_variable: 4, synchronisation: 0, possible: 2, weak: 0 } }];
  return { tool: "atomsan", version: "0", format: 1, source: { trace: "run.atrace", events: 99, threads: 2, transactions: 9, variables: 1, locks: 1, skipped: 0, error: null }, results };
}

const nasty = {
  tool: "atomsan", version: "0", format: 1,
  source: { trace: "</script><script>alert(1)</script>", events: 1, threads: 2, transactions: 1, variables: 1, locks: 0, skipped: 2, error: "it <b>broke</b>" },
  results: [{ engine: "<img src=x onerror=alert(2)>", stats: {}, findings: [{
    status: "observed", kind: "cycle", event: 3,
    blame: { thread: "T\"1", label: "<!--<script>", begin: 1, refuted: [] },
    transaction: { thread: "T\"1", label: "<!--<script>", begin: 1, place: "javascript:alert(3)" },
    variable: "\u202eevil\u2028", steps: [
      { thread: "T\"1", event: 2, op: "r", operand: "&lt;x&gt;", label: "<!--<script>", begin: 1, place: "a.c:1" },
      { thread: "${T2}", event: 3, op: "?!", operand: null, label: null, begin: null, place: null },
      { thread: "T\"1", event: 4, op: "w", operand: "]]>", label: "<!--<script>", begin: 1, place: "http://a.b:1" }],
    fingerprint: "00000000000000ff", count: 2 }] }],
};

let browser;
let failed = 0;
let passed = 0;
const only = process.argv.find((word) => word.startsWith("--only="))?.slice(7);

async function test(name, file, options, body) {
  if (only && !name.includes(only)) return;
  const start = Date.now();
  let page;
  try {
    page = await browser.open(file, options);
    await body(page);
    assert.deepEqual(page.complaints, [], "the console is to be quiet");
    assert.deepEqual(page.requests.filter((url) => url.split("#")[0] !== "file://" + file && !url.startsWith("data:")), [], "no request is to leave the page");
    passed++;
    console.log(`ok ${name} (${Date.now() - start} ms)`);
  } catch (error) {
    failed++;
    console.log(`FAIL ${name}: ${error.message}\n${error.stack.split("\n").slice(1, 4).join("\n")}`);
  }
  await page?.close();
}

const text = (selector) => `document.querySelector(${JSON.stringify(selector)})?.textContent ?? ""`;
const count = (selector) => `document.querySelectorAll(${JSON.stringify(selector)}).length`;
const style = (selector, name) => `getComputedStyle(document.querySelector(${JSON.stringify(selector)})).getPropertyValue(${JSON.stringify(name)})`;

async function tests() {
  const lost = make("lost", join(root, "docs/examples"), "check", "lost-update.std");
  const recorded = record("lost-update", "docs/examples/lost-update.c");
  const predicted = make("predicted", work, "predict", recorded);
  execFileSync("cc", ["-c", "-I" + join(root, "tests/programs"), join(root, "tests/programs/window.c"), "-o", "window.o"], { cwd: work, env });
  const cycle = make("cycle", work, "check", record("three_cycle", "tests/programs/cases/three_cycle.c", ["window.o"]));
  const everything = make("everything", join(root, "docs/examples"), "check", "--engine=frontier,predict,lockset,atomizer,reduction,blocks,deadlock", "lost-update.std");
  const crossing = make("crossing", join(root, "tests/golden/cases/check-no-blame"), "check", "t.std");
  writeFileSync(join(work, "quiet.std"), "T1|r(x)|a.c:1\n");
  const quiet = make("quiet", work, "check", "quiet.std");
  // A live run has no trace and no event numbers. The run must lose a deposit, or there is no finding.
  writeFileSync(join(work, "slow.c"), readFileSync(join(root, "docs/examples/lost-update.c"), "utf8").replace("int b = get();", "int b = get();\n\tusleep(500000);").replace("#include <stdio.h>", "#include <stdio.h>\n#include <unistd.h>"));
  execFileSync(join(bin, "atomsan-cc"), ["-g", "-pthread", "slow.c", "-o", "slow"], { cwd: work, env });
  const live = join(work, "live.html");
  assert.equal(spawnSync(join(bin, "atomsan"), ["run", "--format=html", "-o", live, "./slow"], { cwd: work, env }).status, 66);
  writeFileSync(join(work, "nasty.json"), JSON.stringify(nasty));
  const bad = make("nasty", work, "report", "nasty.json");
  writeFileSync(join(work, "ranks.json"), JSON.stringify(ranked()));
  const ranks = make("ranks", work, "report", "ranks.json");
  const nights = make("nights", work, "campaign", "merge", join(root, "tests/fuzz/seeds/campaign/merged"));
  const large = make("many", work, "report", many(10000));

  browser = await Browser.start();

  await test("a finding is drawn", lost, {}, async (page) => {
    assert.equal(await page.run(count(".thread text")), 2, "a column a thread");
    assert.equal(await page.run(count("svg .box")), 5, "two blocks, and those nested in them");
    assert.equal(await page.run(count(".box.blamed")), 1);
    assert.match(await page.run(text(".box.blamed .name")), /^deposit/);
    assert.equal(await page.run(count(".step")), 3);
    assert.deepEqual(await page.run(`[...document.querySelectorAll(".label text")].map((e) => e.textContent)`), ["balance", "balance"]);
    assert.notEqual(await page.run(style(".edge.closing .line", "stroke-dasharray")), "none", "the closing edge is dashed");
    assert.equal(await page.run(style(".edge:not(.closing) .line", "stroke-dasharray")), "none");
    assert.equal(await page.run(style(".box.blamed > rect", "stroke-width")), "2.5px");
    assert.match(await page.run(text(".story")), /between its read of balance \(event 6\) and its write of balance \(event 23\), thread T2's block 'deposit' wrote balance/);
    // Time goes down.
    const tops = await page.run(`[...document.querySelectorAll(".step")].map((e) => e.getBoundingClientRect().top)`);
    assert.ok(tops[0] < tops[1] && tops[1] < tops[2]);
    // Nested boxes lie inside their parents, and no two operations overlap.
    assert.ok(await page.run(`[...document.querySelectorAll(".step")].every((e) => { const b = e.querySelector(".pill").getBoundingClientRect(); return [...document.querySelectorAll("svg .box")].some((x) => { const o = x.querySelector("rect").getBoundingClientRect(); return o.left <= b.left && o.right >= b.right && o.top <= b.top && o.bottom >= b.bottom; }); })`));
  });

  // Either thread may come first; it differs from run to run.
  const threads = async (page) => page.run(`[...document.querySelectorAll(".step")].map((e) => /thread (\\S+)/.exec(e.getAttribute("aria-label"))[1])`);

  await test("pointing and focus show stack, locks and source", predicted, {}, async (page) => {
    const [one, other] = await threads(page);
    await page.mouse('.step[data-index="1"]');
    await page.until(`/by ${other}/.test(${text(".inspector header")})`);
    assert.match(await page.run(text(".inspector dl")), /Locks held ?mutex m/);
    assert.match(await page.run(text(".inspector .line.here")), /23\s*balance = b;/);
    assert.ok((await page.run(count(".inspector .frame"))) >= 3);
    await page.run(`document.querySelector('.step[data-index="0"]').focus()`);
    await page.until(`/by ${one}/.test(${text(".inspector header")})`);
    assert.match(await page.run(text(".inspector .line.here")), /15\s*int b = balance;/);
    // Selecting another frame shows its source.
    await page.mouse(".inspector .stack li:nth-child(2) button", true);
    await page.until(`/int b = get\\(\\)/.test(${text(".inspector .line.here")})`);
    assert.equal(await page.run(text(".inspector .frame[aria-pressed=true] .fn")), "deposit");
  });

  await test("a schedule is stepped through", predicted, {}, async (page) => {
    const [one] = await threads(page);
    await page.until(`/^0 of/.test(${text(".now")})`);
    const total = +(await page.run(text(".now"))).match(/of (\d+)/)[1];
    assert.ok(total > 10);
    for (let i = 0; i < 3; i++) await page.key("ArrowRight");
    assert.match(await page.run(text(".now")), /^3 of/);
    assert.equal(await page.run(count(".moves tr.done")), 3);
    assert.equal(await page.run(count(".moves tr.current")), 1);
    await page.key("ArrowLeft");
    assert.match(await page.run(text(".now")), /^2 of/);
    await page.mouse('.controls button[aria-label^="next event"]', true);
    assert.match(await page.run(text(".now")), /^3 of/);
    await page.mouse('.controls button[aria-label^="previous event"]', true);
    assert.match(await page.run(text(".now")), /^2 of/);
    for (let i = 0; i < 3; i++) await page.mouse('.controls button[aria-label^="next access"]', true);
    assert.match(await page.run(text(".now")), new RegExp(`^${total} of ${total}: thread ${one} writes balance, which closes the cycle`));
    assert.match(await page.run(text(".held")), new RegExp(`${one} holdsmutex m`));
    assert.ok(await page.run(`document.querySelector('.controls button[aria-label="to the end"]').disabled`));
    await page.mouse('.controls button[aria-label="to the start"]', true);
    assert.match(await page.run(text(".now")), /^0 of/);
    assert.equal(await page.run(count(".moves tr.wanted")), 3);
  });

  await test("a run that was checked as it went", live, {}, async (page) => {
    assert.equal(await page.run(count("svg .box.blamed")), 1);
    assert.equal(await page.run(count("svg .event")), 0, "no numbers of events");
    assert.doesNotMatch(await page.run(text("main")), /event \d|null|undefined/);
    assert.match(await page.run(text(".top .trace")), /\.\/slow/);
    const tops = await page.run(`[...document.querySelectorAll(".step")].map((e) => e.getBoundingClientRect().top)`);
    assert.deepEqual(tops, [...tops].sort((a, b) => a - b), "time goes down");
  });

  await test("three transactions", cycle, {}, async (page) => {
    assert.equal(await page.run(count(".thread text")), 3);
    assert.equal(await page.run(count(".box.depth0")), 3);
    assert.deepEqual(await page.run(`[...document.querySelectorAll(".label text")].map((e) => e.textContent)`), ["v[0]", "v[1]", "v[2]"]);
    assert.ok(await page.run(`document.querySelector(".canvas").scrollWidth <= document.querySelector(".canvas").clientWidth`), "it fits");
  });

  await test("names of arrows do not cover each other", crossing, {}, async (page) => {
    assert.ok(
      await page.run(`(() => { const v = [...document.querySelectorAll(".label rect")].map((e) => e.getBoundingClientRect());
        return v.length === 2 && v.every((a, i) => v.every((b, k) => i === k || a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top)); })()`),
    );
  });

  await test("overview, filters, search, groups", everything, {}, async (page) => {
    const all = +(await page.run(text("#overview-title"))).match(/^(\d+) findings/)[1];
    assert.ok(all >= 5);
    assert.equal(await page.run(count(".row.item")), all);
    const observed = +(await page.run(text(".chip.observed"))).match(/\d+/)[0];
    await page.mouse(".chip.observed", true);
    assert.equal(await page.run(count(".row.item")), observed);
    assert.equal(await page.run(`${text(".tally")}`), `${observed} of ${all} findings`);
    await page.mouse(".chip.observed", true);
    await page.key("/");
    await page.type("deadlo nothing-like-this");
    await page.until(`${count(".row.item")} === 0`);
    await page.run(`(() => { const e = document.querySelector("input[type=search]"); e.value = ""; e.dispatchEvent(new Event("input")); })()`);
    assert.equal(await page.run(count(".row.item")), all);
    // A bar of the overview is a filter, too.
    await page.mouse('.bars[aria-label="By variable"] button', true);
    assert.equal(await page.run(count(".chip.remove")), 1);
    await page.mouse(".chip.remove", true);
    assert.equal(await page.run(count(".chip.remove")), 0);
    await page.run(`(() => { const e = document.querySelector('select[aria-label="group by"]'); e.value = "status"; e.dispatchEvent(new Event("change")); })()`);
    assert.deepEqual(await page.run(`[...document.querySelectorAll(".gname")].map((e) => e.textContent).sort()`), ["observed", "predicted"]);
    await page.mouse(".row.group button", true);
    assert.ok((await page.run(count(".row.item"))) < all, "a group can be closed");
    // Every kind of finding can be drawn.
    await page.run(`(() => { const e = document.querySelector('select[aria-label="group by"]'); e.value = ""; e.dispatchEvent(new Event("change")); })()`);
    await page.run("document.activeElement.blur()");
    for (let i = 0; i < all; i++) {
      await page.key("j");
      await page.until(`${text(".row.chosen")} !== ""`);
      assert.equal(await page.run(count(".finding svg.drawing")), 1);
    }
    await page.key("k");
    await page.key("o");
    assert.equal(await page.run(count(".overview")), 1);
  });

  await test("ranks and causes", ranks, {}, async (page) => {
    assert.match(await page.run(text("#overview-title")), /^2 findings/);
    assert.deepEqual(await page.run(`[...document.querySelectorAll(".ranking .what")].map((e) => e.textContent)`), ["put · cache->size · mdb.c:3928", "get · cache->size · mdb.c:17"]);
    assert.match(await page.run(text(".ranking .faint")), /^read, then written/);
    assert.match(await page.run(text(".left-out")), /^6 findings are not shown: 4 about one atomic variable, 2 merely possible/);
    // The list shows the base name and the line, and counts what has the same cause.
    await page.run(`(() => { const e = document.querySelector('select[aria-label="group by"]'); e.value = ""; e.dispatchEvent(new Event("change")); })()`);
    assert.deepEqual(await page.run(`[...document.querySelectorAll(".row.item .where")].map((e) => e.textContent)`), ["observed mdb.c:3928 · ×5", "observed mdb.c:17"]);
    await page.mouse(".ranking li:nth-child(2) button", true);
    assert.match(await page.run(text(".finding .rank")), /^Rank 2: read twice, and changed in between; seen in this run\./);
    assert.match(await page.run(text(".finding .region")), /^About function get; it is assumed to be meant as atomic: functions usually are/);
  });

  await test("a campaign", nights, {}, async (page) => {
    assert.equal(await page.run(text("#overview-title")), "1 finding in 2 runs");
    assert.match(await page.run(text(".bigs")), /^2 of 2 runs done2 workers340 ms of running1 failed run/);
    assert.match(await page.run(text(".seen tbody")), /^1lose1 · value1 · lots.c:321 run \(50 %\)run 1$/);
    assert.match(await page.run(`document.querySelector(".curve svg").getAttribute("aria-label")`), /^1 finding in 2 runs; the last new one was in run 1\.$/);
    assert.match(await page.run(text(".estimate")), /more such runs: 1 in 2\.0 runs \(95 %: none to 1\.5 per run\)/);
    assert.match(await page.run(text('.runs[aria-label="Failed runs"] tbody')), /^11182 ms1exited with 3its last outputlots: asked to failhost/);
    assert.equal(await page.run(`document.querySelectorAll('.runs[aria-label="Slowest runs"] tbody tr').length`), 2);
    await page.mouse(".seen .link", true);
    assert.equal(await page.run(text(".finding .seen-text")), "Seen in 1 of 2 runs (50 %), first in run 1.");
  });
  await test("ten thousand findings", large, {}, async (page) => {
    assert.match(await page.run(text("#overview-title")), /^10,000 findings/);
    assert.ok((await page.run(count(".row"))) < 60, "only what can be seen is there");
    const frame = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))";
    const took = async (expression) => page.run(`(async () => { const start = performance.now(); ${expression}; await ${frame}; return performance.now() - start; })()`);
    const ready = await page.run("performance.now()");
    const search = `const e = document.querySelector("input[type=search]"); e.value = "variable_42"; e.dispatchEvent(new Event("input"))`;
    const first = await took(search);
    const again = await took(search.replace("variable_42", "function_77 file3.c"));
    await took(search.replace("variable_42", ""));
    const scroll = await took(`document.querySelector(".list").scrollTop = 1e9`);
    assert.match(await page.run(`[...document.querySelectorAll(".row.item")].at(-1).textContent`), /block_/);
    const next = await took(`document.querySelector(".row.item").click()`);
    assert.equal(await page.run(count("svg.drawing")), 1);
    console.log(`   ready ${ready.toFixed()} ms, first search ${first.toFixed()}, next ${again.toFixed()}, scroll to the end ${scroll.toFixed()}, show one ${next.toFixed()}`);
    // Generous limits, because the machine may be busy. A list with an element per row would take seconds.
    assert.ok(Math.max(first, again, scroll, next) < 1500, "no lag");
    await page.run(`document.querySelector(".list").focus()`);
    await page.key("End");
    assert.equal(await page.run(`document.querySelector(".row.chosen").getAttribute("aria-posinset")`), "10000");
    await page.key("ArrowUp");
    assert.equal(await page.run(`document.querySelector(".row.chosen").getAttribute("aria-posinset")`), "9999");
  });

  await test("names that are meant to break it", bad, {}, async (page) => {
    assert.match(await page.run(text("h2")), /<!--<script>/);
    assert.equal(await page.run(count("main img, main script")), 0);
    await page.key("o");
    assert.match(await page.run(text(".overview")), /<\/script><script>alert\(1\)<\/script>/);
    assert.match(await page.run(text(".warning")), /it <b>broke<\/b>/);
  });

  await test("nothing found", quiet, {}, async (page) => {
    assert.equal(await page.run(text("#overview-title")), "No findings");
    assert.match(await page.run(text(".engines")), /this run is serializable/);
    assert.equal(await page.run(count(".row")), 0);
  });

  await test("light, dark and paper", predicted, { dark: true }, async (page) => {
    const bright = async () => (await page.run(style("body", "background-color"))).match(/\d+/g).slice(0, 3).reduce((a, b) => a + +b, 0);
    assert.ok((await bright()) < 150, "dark where the system is");
    await page.mouse('button[aria-label^="colours"]', true);
    assert.ok((await bright()) > 600, "light where it is asked for");
    await page.mouse('button[aria-label^="colours"]', true);
    await page.mouse('button[aria-label^="colours"]', true);
    assert.ok((await bright()) < 150);
    await page.media({ print: true });
    assert.equal(await page.run(style("nav", "display")), "none");
    assert.equal(await page.run(style(".controls", "display")), "none");
    assert.equal(await page.run(count(".print-only .stepcard")), 3, "each step with its source");
    assert.notEqual(await page.run(style(".print-only", "display")), "none");
    const { data } = await page.send("Page.printToPDF", { printBackground: true });
    assert.ok(Buffer.from(data, "base64").subarray(0, 5).toString() === "%PDF-");
  });

  await test("by keyboard, and read aloud", predicted, {}, async (page) => {
    const { nodes } = await page.send("Accessibility.getFullAXTree");
    const role = (node) => node.role?.value;
    const nameless = nodes.filter((node) => !node.ignored && ["button", "textbox", "searchbox", "combobox", "listbox", "option", "slider", "link"].includes(role(node)) && !node.name?.value);
    assert.deepEqual(nameless.map(role), [], "whatever can be used has a name");
    assert.ok(nodes.some((node) => /^event \d+, thread T\d reads balance, in block deposit, at lost-update.c:15:6$/.test(node.name?.value ?? "")), "an operation says what it is");
    // Tab alone leads from the top of the page to an operation, and on to the next.
    for (let i = 0; i < 20 && !(await page.run(`document.activeElement.matches(".step")`)); i++) await page.key("Tab");
    assert.equal(await page.run("document.activeElement.dataset.index"), "0");
    await page.key("Tab");
    assert.equal(await page.run("document.activeElement.dataset.index"), "1");
    assert.match(await page.run(text(".inspector header")), new RegExp("by " + (await threads(page))[1]));
    await page.key("ArrowRight");
    assert.match(await page.run(text(".now")), /^1 of/);
  });

  if (pictures) await take(pictures, { lost, cycle, predicted });
}

// Pictures no wider than a README page.
async function take(folder, pages) {
  const shots = [
    ["lost-update", pages.lost, { height: 900 }],
    ["three-transactions", pages.cycle, { height: 1020 }],
    ["predicted", pages.predicted, { height: 1340, dark: true }],
  ];
  for (const [name, file, options] of shots) {
    const page = await browser.open(file, { width: 1500, ...options });
    if (name === "predicted") for (let i = 0; i < 17; i++) await page.key("ArrowRight");
    await new Promise((done) => setTimeout(done, 300));
    writeFileSync(join(folder, name + ".png"), await page.picture());
    console.log(`${join(folder, name)}.png`);
    await page.close();
  }
}

try {
  await tests();
} finally {
  await browser?.stop();
  rmSync(work, { recursive: true, force: true });
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed || (!passed && !pictures) ? 1 : 0);
