// A merged campaign: how often and when each finding was seen, the curve of new findings, runs worth a look.

import { h, plural, s } from "./dom.js";
import { findings, report } from "./data.js";

export const campaign = report.campaign ?? null;
const SHOWN = 10;
const number = (n) => n.toLocaleString("en");

// The causes of the campaign, with the finding of the page that stands for each.
const rows = (campaign?.seen ?? []).map((seen) => ({
  ...seen,
  f: findings.find((f) => f.engine === seen.engine && f.fingerprint === seen.fingerprint) ?? findings.find((f) => f.engine === seen.engine && seen.rank && f.rank === seen.rank),
}));
const byFinding = new Map(rows.filter((row) => row.f).map((row) => [row.f, row]));

function percent(share) {
  const p = 100 * share;
  return (p >= 10 || p === 0 ? p.toFixed(0) : p >= 0.1 ? p.toFixed(1) : p.toFixed(3)) + " %";
}

function time(seconds) {
  if (seconds < 1) return `${(1000 * seconds).toFixed(0)} ms`;
  if (seconds < 100) return `${seconds.toFixed(1)} s`;
  if (seconds < 7200) return `${(seconds / 60).toFixed(0)} min`;
  return seconds < 360000 ? `${(seconds / 3600).toFixed(1)} h` : `${(seconds / 86400).toFixed(0)} days`;
}

// "Seen in 12 of 1,000 runs (1.2 %), first in run 3."
export function seenText(f) {
  const row = byFinding.get(f);
  return row ? `Seen in ${number(row.runs)} of ${plural(campaign.runs.length, "run")} (${percent(row.runs / campaign.runs.length)}), first in run ${number(row.first)}.` : null;
}

export const campaignTitle = campaign ? `in ${plural(campaign.runs.length, "run")}` : null;

export function campaignBigs(big) {
  if (!campaign) return null;
  return [
    h("div", { class: "big" }, h("b", null, number(campaign.done)), campaign.tasks ? ` of ${plural(campaign.tasks, "run")} done` : campaign.done === 1 ? " run done" : " runs done"),
    big(campaign.workers, "worker"),
    h("div", { class: "big" }, h("b", null, time(campaign.seconds)), " of running"),
    campaign.failed ? big(campaign.failed, "failed run") : null,
    campaign.known ? big(campaign.known, "known finding left out", "known findings left out") : null,
  ];
}

// A file for `atomsan replay`, inside the page.
const scheduleLink = (text, name) => (text ? h("a", { class: "link", href: "data:text/plain;charset=utf-8," + encodeURIComponent(text), download: name + ".sched" }, "schedule") : null);

function table(show) {
  if (!rows.length) return null;
  const runs = campaign.runs.length;
  return h(
    "section",
    { class: "seen", "aria-label": "findings by rank" },
    h("h3", null, "Findings by rank"),
    h(
      "table",
      { class: "engines" },
      h("thead", null, h("tr", null, ["rank", "finding", "seen in", "", "first in", rows.some((row) => row.schedule) ? "run it again" : null].filter((name) => name !== null).map((name) => h("th", { scope: "col", class: name === "finding" ? null : "num" }, name)))),
      h(
        "tbody",
        null,
        rows.map((row) =>
          h(
            "tr",
            null,
            h("td", { class: "num" }, String(row.rank ?? "")),
            h(
              "th",
              { scope: "row" },
              row.f
                ? h("button", { type: "button", class: "link", title: row.f.place, onclick: () => show(row.f) }, h("b", null, row.f.subject), row.f.about !== "(none)" ? ` · ${row.f.about}` : "", row.f.where ? ` · ${row.f.where}` : "")
                : row.fingerprint,
            ),
            h("td", { class: "num" }, `${plural(row.runs, "run")} (${percent(row.runs / runs)})`),
            h("td", { class: "share" }, h("span", { class: "bar", style: `width:${Math.max(1, (100 * row.runs) / runs)}%`, "aria-hidden": "true" })),
            h("td", { class: "num" }, `run ${number(row.first)}`),
            rows.some((other) => other.schedule) ? h("td", { class: "num" }, scheduleLink(row.schedule, `${row.rank ?? 0}-${row.fingerprint}`)) : null,
          ),
        ),
      ),
    ),
  );
}

// Steps of 1, 2 or 5 times a power of ten, at most `most` of them.
function ticks(end, most) {
  let step = 1;
  for (let i = 0; end / step > most; i++) step = [1, 2, 5][i % 3] * 10 ** Math.floor(i / 3);
  const out = [];
  for (let at = 0; at <= end; at += step) out.push(at);
  return out;
}

const W = 760;
const H = 260;
const LEFT = 46;
const RIGHT = 16;
const TOP = 12;
const BOTTOM = 40;

// New findings over runs, as a staircase.
function curve() {
  const runs = campaign.runs.length;
  const points = campaign.curve;
  if (!points.length || runs < 2) return null;
  const last = points.at(-1);
  const x = (run) => LEFT + ((W - LEFT - RIGHT) * run) / runs;
  const y = (n) => H - BOTTOM - ((H - TOP - BOTTOM) * n) / last.findings;
  let path = `M${x(0)} ${y(0)}`;
  let before = 0;
  for (const point of points) {
    path += `L${x(point.run)} ${y(before)}L${x(point.run)} ${y(point.findings)}`;
    before = point.findings;
  }
  path += `L${x(runs)} ${y(before)}`;
  const words = `${plural(last.findings, "finding")} in ${plural(runs, "run")}; the last new one was in run ${number(last.run)}.`;
  return h(
    "section",
    { class: "curve", "aria-label": "new findings over runs" },
    h("h3", null, "Findings after so many runs"),
    h(
      "div",
      { class: "canvas" },
      s(
        "svg",
        { class: "drawing", viewBox: `0 0 ${W} ${H}`, width: W, height: H, role: "img", "aria-label": words },
        ticks(last.findings, 6).map((n) => [s("line", { class: "rule", x1: LEFT, x2: W - RIGHT, y1: y(n), y2: y(n) }), s("text", { class: "small", x: LEFT - 8, y: y(n) + 4, "text-anchor": "end" }, number(n))]),
        ticks(runs, 8).map((n) => s("text", { class: "small", x: x(n), y: H - BOTTOM + 18, "text-anchor": "middle" }, number(n))),
        s("text", { class: "small", x: (LEFT + W - RIGHT) / 2, y: H - 6, "text-anchor": "middle" }, "runs"),
        s("path", { class: "stairs", d: path }),
        points.length <= 100 ? points.map((point) => s("circle", { class: "new", cx: x(point.run), cy: y(point.findings), r: 3.5 }, s("title", null, `run ${number(point.run)}: ${plural(point.findings, "finding")}`))) : null,
      ),
    ),
    h("p", { class: "faint" }, words),
  );
}

function rate(x) {
  if (x <= 0) return "none";
  if (x >= 1) return `${x.toFixed(1)} per run`;
  return x > 0.1 ? `1 in ${(1 / x).toFixed(1)} runs` : `1 in ${number(Math.round(1 / x))} runs`;
}

function estimate() {
  const e = campaign.estimate;
  if (campaign.runs.length < 2) return null;
  return h(
    "section",
    { class: "estimate" },
    h("h3", null, "Is it worth going on?"),
    h("p", null, "New findings to expect from more such runs: ", h("b", null, rate(e.next)), e.next > 0 ? ` (95 %: ${rate(e.low)} to ${rate(e.high)}).` : ` (95 %: less than ${rate(e.high)}).`),
    e.unseen >= 0.5 || !e.once ? h("p", null, "Findings that are still unseen: ", h("b", null, e.unseen >= 0.5 ? `about ${e.unseen.toFixed(0)} or more` : "probably none"), ".") : null,
    h("p", { class: "faint" }, `Estimated from ${plural(e.once, "finding")} seen in one run only and ${number(e.twice)} in two. It assumes that the runs are alike and independent; what such runs cannot show is not counted.`),
  );
}

function runTable(title, list, note) {
  if (!list.length) return null;
  return h(
    "section",
    { class: "runs", "aria-label": title },
    h("h3", null, title),
    h(
      "table",
      { class: "engines" },
      h("thead", null, h("tr", null, ["run", "task", "time", "findings", "ended", "name"].map((name, i) => h("th", { scope: "col", class: i < 4 ? "num" : null }, name)))),
      h(
        "tbody",
        null,
        list.slice(0, SHOWN).map(({ run, at }) =>
          h(
            "tr",
            null,
            h("td", { class: "num" }, number(at)),
            h("td", { class: "num" }, number(run.task)),
            h("td", { class: "num" }, time(run.seconds)),
            h("td", { class: "num" }, number(run.findings.length)),
            h("td", null, run.failure ?? "as it should", run.schedule ? [" · ", scheduleLink(run.schedule, `failure-${at}`)] : null, run.output ? h("details", null, h("summary", null, "its last output"), h("pre", null, run.output)) : null),
            h("td", { class: "faint name" }, run.name),
          ),
        ),
      ),
    ),
    list.length > SHOWN ? h("p", { class: "faint" }, `and ${number(list.length - SHOWN)} more${note}`) : null,
  );
}

export function campaignView(show) {
  if (!campaign) return null;
  const runs = campaign.runs.map((run, i) => ({ run, at: i + 1 }));
  const slowest = [...runs].sort((a, b) => b.run.seconds - a.run.seconds || a.at - b.at).slice(0, SHOWN);
  return [
    campaign.damaged ? h("p", { class: "warning" }, `${plural(campaign.damaged, "damaged result")} ${campaign.damaged === 1 ? "was" : "were"} left out.`) : null,
    table(show),
    h("div", { class: "grid charts" }, curve(), estimate()),
    runTable(
      "Failed runs",
      runs.filter(({ run }) => run.failure),
      "",
    ),
    runTable("Slowest runs", slowest, ""),
  ];
}
