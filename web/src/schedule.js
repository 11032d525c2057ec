// The schedule of a predicted finding, with controls to step through it.

import { h, icon, plural } from "./dom.js";
import { opOf, parsePlace, plainName, shortPlace } from "./data.js";
import { excerpt } from "./source.js";

// The locks that each thread holds after n moves. Moves left out at the start may have acquired more.
function heldAfter(moves, n) {
  const held = new Map();
  for (const move of moves.slice(0, n)) {
    if (!/^r?(acq|rel)$/.test(move.op)) continue;
    const locks = held.get(move.thread) ?? [];
    const name = plainName(move.operand) + (move.op[0] === "r" && move.op !== "rel" ? " (shared)" : "");
    if (move.op.endsWith("acq")) locks.push(name);
    else if (locks.lastIndexOf(name) >= 0) locks.splice(locks.lastIndexOf(name), 1);
    held.set(move.thread, locks);
  }
  return held;
}

export function scheduleView(f) {
  const moves = (f.schedule_events ?? []).filter((move) => move.op !== "none");
  if (!moves.length) return null;
  const threads = [...new Set(moves.map((move) => move.thread))];
  const wanted = new Map(f.steps.map((step, i) => [step.event, i]));
  const left = f.schedule.length - f.schedule_events.length;
  let at = 0; // number of moves done

  const depth = new Map(threads.map((thread) => [thread, 0]));
  const rows = moves.map((move, i) => {
    if (move.op === "end") depth.set(move.thread, Math.max(0, depth.get(move.thread) - 1));
    const indent = depth.get(move.thread);
    if (move.op === "begin") depth.set(move.thread, indent + 1);
    const name = plainName(move.operand);
    const text = move.op === "begin" ? `begin ${name ?? ""}` : move.op === "end" ? "end" : `${opOf(move.op).word} ${name ?? ""}`;
    return h(
      "tr",
      { class: wanted.has(move.event) ? "wanted" : null, onclick: () => go(i + 1) },
      h("td", { class: "num" }, String(move.event)),
      threads.map((thread) =>
        h(
          "td",
          { class: thread === move.thread ? "own " + opOf(move.op).kind : null },
          thread === move.thread ? h("span", { class: "move", style: `margin-left:${indent * 12}px`, title: text }, text) : null,
        ),
      ),
      h("td", { class: "at" }, shortPlace(move.place)),
    );
  });
  const table = h(
    "table",
    { class: "moves" },
    h("caption", { class: "hidden" }, "The schedule: one row per event, one column per thread"),
    h("thead", null, h("tr", null, h("th", { scope: "col" }, "event"), threads.map((thread) => h("th", { scope: "col" }, thread)), h("th", { scope: "col" }, "place"))),
    h("tbody", null, rows),
  );
  const scroll = h("div", { class: "movescroll", tabindex: "0", role: "group", "aria-label": "the schedule, event by event" }, table);
  const status = h("p", { class: "now", role: "status", "aria-live": "polite" });
  const state = h("div", { class: "state" });
  const button = (label, name, to) => h("button", { type: "button", title: label, "aria-label": label, onclick: () => go(to()) }, icon(name));
  const first = button("to the start", "first", () => 0);
  const back = button("previous event (left arrow)", "back", () => at - 1);
  const on = button("next event (right arrow)", "on", () => at + 1);
  const next = button("next access of the finding", "next", () => nextWanted());
  const last = button("to the end", "last", () => moves.length);
  const slider = h("input", { type: "range", min: "0", max: String(moves.length), value: "0", "aria-label": "events done", oninput: () => go(+slider.value) });

  function nextWanted() {
    const i = moves.findIndex((move, k) => k >= at && wanted.has(move.event));
    return i < 0 ? moves.length : i + 1;
  }

  function go(to) {
    at = Math.max(0, Math.min(moves.length, to));
    rows.forEach((row, i) => {
      row.classList.toggle("done", i < at);
      row.classList.toggle("current", i === at - 1);
      if (i === at - 1) row.setAttribute("aria-current", "step");
      else row.removeAttribute("aria-current");
    });
    slider.value = String(at);
    first.disabled = back.disabled = at === 0;
    on.disabled = last.disabled = next.disabled = at === moves.length;
    const move = moves[at - 1];
    const name = move && plainName(move.operand);
    const step = move && wanted.get(move.event);
    status.textContent = move
      ? `${at} of ${moves.length}: thread ${move.thread} ${opOf(move.op).verb}${name ? " " + name : ""}` +
        (step === undefined ? "" : step === f.steps.length - 1 ? ", which closes the cycle" : ", an access of the finding")
      : `0 of ${moves.length}: nothing has happened yet`;
    const held = heldAfter(moves, at);
    const where = move && parsePlace(move.place);
    state.replaceChildren(
      h(
        "dl",
        { class: "held" },
        threads.map((thread) => [h("dt", null, thread + " holds"), h("dd", null, held.get(thread)?.join(", ") || "no lock")]),
      ),
      (where && excerpt(where, 4)) ?? "",
    );
    // Not scrollIntoView, which would also scroll the page.
    const row = rows[Math.max(0, at - 1)];
    const top = row.offsetTop - scroll.clientHeight / 2;
    scroll.scrollTop = Math.max(0, top);
  }

  const view = h(
    "section",
    { class: "schedule", "aria-labelledby": "schedule-title" },
    h("h3", { id: "schedule-title" }, "The schedule that shows it"),
    h(
      "p",
      { class: "faint" },
      "An order of this run's events that the locks allow.",
      h("span", { class: "on-screen" }, " Step through it with the buttons or the arrow keys."),
      left > 0 ? ` ${plural(left, "earlier event")} ${left === 1 ? "is" : "are"} left out.` : "",
    ),
    h("div", { class: "controls", role: "group", "aria-label": "step through the schedule" }, first, back, on, next, last, slider),
    status,
    h("div", { class: "played" }, scroll, state),
  );
  // Rows have no position before the view is in the page.
  requestAnimationFrame(() => go(0));
  return { view, forward: () => go(at + 1), back: () => go(at - 1), position: () => at };
}
