// One finding: its sentences, its picture, and each step with stack, locks and source.

import { h, plural } from "./dom.js";
import { seenText } from "./campaign.js";
import { engines, opOf, plainName, shortPlace, stepPlace, stepSentence } from "./data.js";
import { drawing, mark } from "./drawing.js";
import { scheduleView } from "./schedule.js";
import { stackView, stepSource } from "./source.js";

const statusText = (f) => (f.schedule ? "It did not happen in this run, but the locks allow an interleaving in which it does." : STATUS[f.status]);

const STATUS = {
  observed: "It happened in this run.",
  predicted: "It did not happen in this run, but it may in another.",
  confirmed: "It was predicted, and then a run with that interleaving showed it.",
};

function story(f) {
  const out = [];
  for (const line of f.story) {
    if (!line.startsWith("- ")) out.push(h("p", null, line));
    else if (out.at(-1)?.tagName === "UL") out.at(-1).append(h("li", null, line.slice(2)));
    else out.push(h("ul", null, h("li", null, line.slice(2))));
  }
  return out;
}

const REGIONS = { function: "function", marked: "marked block", stretch: "the code between two waits in", round: "one round of a loop in", pair: "two accesses in" };

// Why it is worth reading, and what it is about.
function worth(f) {
  return [
    seenText(f) ? h("p", { class: "seen-text" }, seenText(f)) : null,
    f.reasons?.length ? h("p", { class: "rank" }, h("b", null, f.rank ? `Rank ${f.rank}: ` : "Reason: "), f.reasons.join("; ") + ".") : null,
    f.region && f.recorded ? h("p", { class: "faint region" }, `About ${REGIONS[f.region.kind] ?? ""} ${f.region.name ?? ""}${f.region.why ? `; it is assumed to be meant as atomic: ${f.region.why}` : ""}.`) : null,
  ];
}

function locksText(step) {
  if (!step.locks) return "unknown";
  return step.locks.length ? step.locks.map((name) => plainName(name) ?? "?").join(", ") : "none";
}

function stepCard(f, step, i, around) {
  const last = i === f.steps.length - 1 && f.steps.length > 1;
  return h(
    "article",
    { class: "stepcard", "aria-label": stepSentence(step) },
    h(
      "header",
      null,
      h("span", { class: "tag " + opOf(step.op).kind }, opOf(step.op).word),
      " ",
      h("b", { class: "operand" }, step.operand ?? ""),
      h("span", { class: "faint" }, ` by ${step.thread ?? "?"}${f.live ? "" : `, event ${step.event}`}${last && f.kind === "cycle" ? ", closes the cycle" : ""}`),
    ),
    h(
      "dl",
      null,
      step.label || step.begin
        ? [h("dt", null, "In block"), h("dd", null, (step.blocks?.length ? step.blocks.map((block) => block.label ?? "(no name)") : [step.label ?? "(no name)"]).join(" › "))]
        : [h("dt", null, "In block"), h("dd", null, "none (outside all blocks)")],
      h("dt", null, "Locks held"),
      h("dd", null, locksText(step)),
      h("dt", null, "At"),
      h("dd", null, stepPlace(step) || "unknown"),
    ),
    stepSource(step, around),
  );
}

function facts(f) {
  const rests = { data: "data: a cycle without lock operations exists", locks: "lock order only" }[f.rests_on];
  const rows = [
    ["Engine", h("span", { title: engines.get(f.engine)?.finding ?? "" }, f.engine)],
    ["Means", engines.get(f.engine)?.finding],
    ["Variable", f.variable],
    ["Pattern", f.pattern],
    ["Rests on", rests],
    ["Also not atomic", f.blame && f.blame.refuted.length > 1 ? f.blame.refuted.slice(1).map((name) => name ?? "(no name)").join(", ") : null],
    ["Together with", f.with?.map((block) => `${block.label ?? "(no name)"} (${block.thread})`).join(", ")],
    ["Locks", f.locks?.join(", ")],
    ["Seen", f.count > 1 ? plural(f.count, "time") : null],
    ["Fingerprint", h("code", null, f.fingerprint)],
  ];
  return h("dl", { class: "facts" }, rows.filter(([, value]) => value).map(([name, value]) => [h("dt", null, name), h("dd", null, value)]));
}

function origins(f) {
  const parts = [];
  if (f.allocated) parts.push(h("div", { class: "origin" }, h("h4", null, `${plainName(f.variable) ?? "The memory"} was allocated at`), stackView(f.allocated, 2)));
  for (const thread of f.threads ?? []) {
    if (!thread.created) continue;
    parts.push(h("div", { class: "origin" }, h("h4", null, `Thread ${thread.name} was created by ${thread.creator ?? "?"} at`), stackView(thread.created, 2)));
  }
  return parts.length ? h("section", { class: "origins" }, h("h3", null, "Where memory and threads were created"), h("div", { class: "grid" }, parts)) : null;
}

// Returns { view, key(event) }; key() returns whether it handled the event.
export function findingView(f) {
  const panel = h("aside", { class: "inspector", "aria-label": "the selected operation", "aria-live": "polite" });
  let chosen = -1;
  let pinned = false;
  const choose = (i, click) => {
    // A clicked step stays selected until another one is clicked.
    if (click) pinned = true;
    else if (pinned && document.activeElement?.dataset?.index !== String(i)) return;
    if (i === chosen) return;
    chosen = i;
    mark(svg, i);
    panel.replaceChildren(stepCard(f, f.steps[i], i, 5));
  };
  const svg = f.steps.length ? drawing(f, choose) : null;
  if (svg) choose(0);
  const schedule = f.schedule ? scheduleView(f) : null;
  const block = f.blame ?? f.transaction;
  const view = h(
    "article",
    { class: "finding", "aria-labelledby": "finding-title" },
    h(
      "header",
      null,
      h("p", { class: "crumbs" }, h("span", { class: "badge " + f.status, title: statusText(f) }, f.status), ` finding ${f.number}`, block?.place ? [" · begins at ", shortPlace(block.place)] : null),
      h("h2", { id: "finding-title", tabindex: "-1" }, f.title.replace(/ \((observed|predicted|confirmed)\)$/, "").replace(/^./, (c) => c.toUpperCase())),
    ),
    h("div", { class: "story" }, story(f), worth(f), h("p", { class: "faint" }, statusText(f))),
    svg
      ? h(
          "section",
          { class: "picture", "aria-label": "the finding, drawn" },
          h(
            "div",
            null,
            h("div", { class: "canvas", tabindex: "-1" }, svg),
            legend(f),
          ),
          panel,
        )
      : null,
    schedule?.view,
    h("section", { class: "print-only" }, h("h3", null, "Steps"), f.steps.slice(0, 40).map((step, i) => stepCard(f, step, i, 3))),
    h("section", null, h("h3", null, "Details"), facts(f)),
    origins(f),
  );
  return {
    view,
    schedule,
    key(event) {
      if (event.key === "ArrowRight" && schedule) schedule.forward();
      else if (event.key === "ArrowLeft" && schedule) schedule.back();
      else return false;
      return true;
    },
  };
}

function legend(f) {
  const item = (kind, text) => h("li", null, h("span", { class: "key " + kind, "aria-hidden": "true" }), text);
  return h(
    "ul",
    { class: "legend", "aria-label": "what the drawing means" },
    item("box", "a block, with its nested blocks inside"),
    f.blame ? item("blamed", "the blamed block") : null,
    !f.blame && f.status !== "observed" && f.transaction?.begin ? item("subject", "the block that may not be atomic") : null,
    item("arrow", "a conflict: the two steps cannot be swapped"),
    f.steps.length > 2 ? item("closing", f.status === "predicted" ? "would close the cycle" : "closes the cycle") : null,
  );
}
