// The page: filters and list on the left, the overview or a finding on the right.

import { h, icon, plural } from "./dom.js";
import { campaign } from "./campaign.js";
import { byRank, count, findings, haystack, report, shortPath, sourceName } from "./data.js";
import { findingView } from "./finding.js";
import { listView } from "./list.js";
import { overview } from "./overview.js";

const filter = { words: [], status: null, engine: null, subject: null, about: null, file: null };
let groupBy = "subject";
const closed = new Set();
let shown = findings;
let current = null; // the finding that is shown, or null for the overview
let currentView = null;

// ---- Left.

const list = listView({
  choose: (f) => show(f),
  toggle: (group) => {
    if (!closed.delete(group)) closed.add(group);
    fillList();
  },
});
const search = h("input", {
  type: "search",
  placeholder: "Search blocks, variables, files, functions",
  "aria-label": "search findings",
  oninput: () => {
    filter.words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    refresh();
  },
});
const chips = h("div", { class: "chips", role: "group", "aria-label": "filter by status" });
const engine = h(
  "select",
  { "aria-label": "engine", onchange: () => pick("engine", engine.value || null) },
  h("option", { value: "" }, "all engines"),
  report.results.map((result) => h("option", { value: result.engine }, result.engine)),
);
const group = h(
  "select",
  {
    "aria-label": "group by",
    onchange: () => {
      groupBy = group.value;
      closed.clear();
      fillList();
    },
  },
  [
    ["subject", "by block"],
    ["about", "by variable"],
    ["file", "by file"],
    ["status", "by status"],
    ["", "not grouped"],
  ].map(([value, text]) => h("option", { value }, text)),
);
const active = h("div", { class: "active" });
const tally = h("p", { class: "tally", role: "status", "aria-live": "polite" });

function matches(f) {
  for (const by of ["status", "engine", "subject", "about", "file"]) if (filter[by] !== null && f[by] !== filter[by]) return false;
  if (!filter.words.length) return true;
  const text = haystack(f);
  return filter.words.every((word) => text.includes(word));
}

function fillList() {
  const rows = [];
  if (!groupBy) {
    shown.forEach((f, i) => rows.push({ f, position: i + 1, of: shown.length }));
  } else {
    const groups = new Map();
    for (const f of shown) {
      if (!groups.has(f[groupBy])) groups.set(f[groupBy], []);
      groups.get(f[groupBy]).push(f);
    }
    let position = 0;
    for (const [name, members] of groups) {
      rows.push({ group: name, n: members.length, closed: closed.has(name) });
      if (closed.has(name)) position += members.length;
      else for (const f of members.sort(byRank)) rows.push({ f, position: ++position, of: shown.length });
    }
  }
  list.set(rows);
  list.choose(current);
}

function refresh() {
  shown = findings.filter(matches);
  tally.textContent = shown.length === findings.length ? plural(findings.length, "finding") : `${shown.length.toLocaleString("en")} of ${plural(findings.length, "finding")}`;
  chips.replaceChildren(
    ...count(findings, "status").map(([name, n]) =>
      h(
        "button",
        { type: "button", class: "chip " + name, "aria-pressed": String(filter.status === name), onclick: () => pick("status", filter.status === name ? null : name) },
        `${name} ${n.toLocaleString("en")}`,
      ),
    ),
  );
  active.replaceChildren(
    ...["subject", "about", "file"]
      .filter((by) => filter[by] !== null)
      .map((by) => h("button", { type: "button", class: "chip remove", title: "remove this filter", onclick: () => pick(by, null) }, filter[by], " ×")),
  );
  engine.value = filter.engine ?? "";
  fillList();
  if (!current) show(null, false);
}

function pick(by, value) {
  filter[by] = value;
  refresh();
}

// ---- Right.

const main = h("main", { id: "main", tabindex: "-1" });

function show(f, focus = true) {
  current = f;
  currentView = f ? findingView(f) : null;
  main.replaceChildren(currentView?.view ?? overview(shown, filter, pick, show));
  if (focus) main.scrollTop = 0;
  list.choose(f);
  home.setAttribute("aria-pressed", String(!f));
  const hash = f ? "#" + f.number : "";
  if (location.hash !== hash) history.replaceState(null, "", hash || location.pathname + location.search);
  document.title = f ? `${f.subject}: AtomSan` : "AtomSan report";
}

const THEMES = ["auto", "light", "dark"];
let theme = 0;
const themeButton = h(
  "button",
  {
    type: "button",
    class: "plain",
    onclick: () => {
      theme = (theme + 1) % THEMES.length;
      setTheme();
    },
  },
  "",
);
function setTheme() {
  if (THEMES[theme] === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = THEMES[theme];
  themeButton.replaceChildren(icon(THEMES[theme]));
  themeButton.title = `colours: ${THEMES[theme]}`;
  themeButton.setAttribute("aria-label", `colours: ${THEMES[theme]}; press to change`);
}
const home = h("button", { type: "button", class: "plain home", title: "overview", onclick: () => show(null) }, h("span", { class: "logo", "aria-hidden": "true" }), h("b", null, "AtomSan"), h("span", { class: "faint" }, ` ${report.version}`));

document.getElementById("app").append(
  h("a", { class: "skip", href: "#main", onclick: (event) => (event.preventDefault(), main.focus()) }, "Skip to the finding"),
  h("header", { class: "top" }, home, h("span", { class: "trace faint", title: sourceName }, shortPath(sourceName)), h("span", { class: "grow" }), themeButton, h("button", { type: "button", class: "plain", title: "print", "aria-label": "print", onclick: () => window.print() }, icon("print"))),
  h("nav", { "aria-label": "findings" }, h("div", { class: "tools" }, search, chips, h("div", { class: "selects" }, group, report.results.length > 1 ? engine : null), active, tally), list.view),
  main,
);

// ---- Keys: ignored while the focus is in an input or a select.

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const { target } = event;
  if (target.matches("input[type=search], select, textarea")) {
    if (event.key === "Escape") target.blur();
    return;
  }
  // The slider and the list handle the arrow keys themselves.
  if (target.matches("input[type=range]")) return;
  if (target.closest(".list") && event.key.startsWith("Arrow") && event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
  if (event.key === "/") search.focus();
  else if (event.key === "j") list.move(1);
  else if (event.key === "k") list.move(-1);
  else if (event.key === "o" || event.key === "Escape") show(null);
  else if ((event.key === "Enter" || event.key === " ") && target.matches(".step")) target.dispatchEvent(new MouseEvent("click"));
  else if (!currentView?.key(event)) return;
  event.preventDefault();
});
window.addEventListener("hashchange", () => {
  const f = findings[+location.hash.slice(1) - 1];
  if (f !== current) show(f ?? null);
});

setTheme();
refresh();
// If all findings are about one block, show the most important one at once; of a campaign, there is more to see first.
const alone = !campaign && new Set(findings.map((f) => f.subject + f.status)).size === 1 && findings.length < 9;
show(findings[+location.hash.slice(1) - 1] ?? (alone ? [...findings].sort(byRank)[0] : null));
document.documentElement.dataset.ready = "yes";
