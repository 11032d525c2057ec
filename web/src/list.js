// The list of findings. Only visible rows have elements, so ten thousand findings are as fast as ten.

import { h } from "./dom.js";

const ROW = 58;
const GROUP = 34;
const MORE = 6; // rows beyond each edge, for smooth scrolling

// rows: {f} or {group, n, closed}. choose(f), toggle(group).
export function listView({ choose, toggle }) {
  let rows = [];
  let tops = [0];
  let chosen = null;
  const inner = h("div", { class: "rows", role: "presentation" });
  const box = h("div", {
    class: "list",
    tabindex: "0",
    role: "listbox",
    "aria-label": "findings",
    onscroll: () => requestAnimationFrame(draw),
    onkeydown: onKey,
  });
  box.append(inner);
  new ResizeObserver(() => draw()).observe(box);

  function rowAt(y) {
    let low = 0;
    let high = rows.length;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (tops[mid + 1] <= y) low = mid + 1;
      else high = mid;
    }
    return low;
  }

  function groupRow(row, top) {
    return h(
      "div",
      { class: "row group", style: `top:${top}px;height:${GROUP}px`, role: "presentation" },
      h(
        "button",
        { type: "button", tabindex: "-1", "aria-expanded": String(!row.closed), title: row.group, onclick: () => toggle(row.group) },
        h("span", { class: "twist", "aria-hidden": "true" }, row.closed ? "▸" : "▾"),
        h("span", { class: "gname" }, row.group),
        h("span", { class: "count" }, String(row.n)),
      ),
    );
  }

  function findingRow(row, top) {
    const { f } = row;
    return h(
      "div",
      {
        class: "row item" + (f === chosen ? " chosen" : ""),
        id: "row-" + f.number,
        style: `top:${top}px;height:${ROW}px`,
        role: "option",
        "aria-selected": String(f === chosen),
        "aria-setsize": String(row.of),
        "aria-posinset": String(row.position),
        onclick: () => choose(f),
      },
      h("span", { class: "stripe " + f.status, "aria-hidden": "true" }),
      h("span", { class: "what" }, f.rank && f.recorded ? h("span", { class: "about" }, `${f.rank}. `) : null, h("b", null, f.subject), f.about !== "(none)" && f.about !== f.subject ? h("span", { class: "about" }, " · " + f.about) : null),
      h("span", { class: "where" }, h("span", { class: "status " + f.status }, f.status), f.where ? h("span", { title: f.place }, " " + f.where) : "", f.count > 1 ? ` · ×${f.count}` : ""),
    );
  }

  function draw() {
    const height = box.clientHeight || 600;
    const from = Math.max(0, rowAt(box.scrollTop) - MORE);
    const to = Math.min(rows.length, rowAt(box.scrollTop + height) + 1 + MORE);
    const made = [];
    for (let i = from; i < to; i++) made.push(rows[i].f ? findingRow(rows[i], tops[i]) : groupRow(rows[i], tops[i]));
    inner.replaceChildren(...made);
    const seen = chosen && made.some((row) => row.id === "row-" + chosen.number);
    if (seen) box.setAttribute("aria-activedescendant", "row-" + chosen.number);
    else box.removeAttribute("aria-activedescendant");
  }

  function reveal(f) {
    const i = rows.findIndex((row) => row.f === f);
    if (i < 0) return;
    if (tops[i] < box.scrollTop) box.scrollTop = tops[i] - GROUP;
    else if (tops[i + 1] > box.scrollTop + box.clientHeight) box.scrollTop = tops[i + 1] - box.clientHeight + 8;
  }

  function move(by) {
    const only = rows.filter((row) => row.f);
    if (!only.length) return;
    const at = only.findIndex((row) => row.f === chosen);
    const to = at < 0 ? 0 : Math.max(0, Math.min(only.length - 1, at + by));
    choose(only[to].f);
  }

  function onKey(event) {
    const page = Math.max(1, Math.floor(box.clientHeight / ROW) - 1);
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    move(by);
  }

  return {
    view: box,
    move,
    set(list) {
      rows = list;
      tops = [0];
      for (const row of rows) tops.push(tops.at(-1) + (row.f ? ROW : GROUP));
      inner.style.height = tops.at(-1) + "px";
      draw();
    },
    choose(f) {
      chosen = f;
      if (f) reveal(f);
      draw();
    },
  };
}
