// Counts of the findings; each count is also a filter.

import { h, plural } from "./dom.js";
import { campaign, campaignBigs, campaignTitle, campaignView } from "./campaign.js";
import { byRank, count, engines, findings, hidden, report, shortPath, sourceName } from "./data.js";

const SHOWN = 12;

function bars(title, by, list, pick, chosen) {
  const counts = count(list, by);
  const most = counts[0]?.[1] ?? 1;
  return h(
    "section",
    { class: "bars", "aria-label": title },
    h("h3", null, title, h("span", { class: "faint" }, counts.length > 1 ? ` ${counts.length.toLocaleString("en")}` : "")),
    h(
      "ol",
      null,
      counts.slice(0, SHOWN).map(([name, n]) =>
        h(
          "li",
          null,
          h(
            "button",
            { type: "button", title: name, "aria-pressed": String(chosen === name), onclick: () => pick(by, chosen === name ? null : name) },
            h("span", { class: "bar", style: `width:${Math.max(2, (100 * n) / most)}%`, "aria-hidden": "true" }),
            h("span", { class: "name" }, name),
            h("span", { class: "count" }, n.toLocaleString("en")),
          ),
        ),
      ),
    ),
    counts.length > SHOWN ? h("p", { class: "faint" }, `and ${(counts.length - SHOWN).toLocaleString("en")} more (use the search)`) : null,
  );
}

// The findings of a run, the most important first.
function ranking(list, show) {
  const ranked = list.filter((f) => f.rank && f.recorded).sort(byRank);
  if (!ranked.length) return null;
  return h(
    "section",
    { class: "ranking", "aria-label": "the most important findings" },
    h("h3", null, "Begin with these"),
    h(
      "ol",
      null,
      ranked.slice(0, SHOWN).map((f) =>
        h(
          "li",
          null,
          h(
            "button",
            { type: "button", title: f.place, onclick: () => show(f) },
            h("span", { class: "num" }, `${f.rank}.`),
            h("span", { class: "what" }, h("b", null, f.subject), f.about !== "(none)" ? ` · ${f.about}` : "", f.where ? ` · ${f.where}` : ""),
            h("span", { class: "faint" }, f.reasons?.[0] ?? ""),
          ),
        ),
      ),
    ),
    ranked.length > SHOWN ? h("p", { class: "faint" }, `and ${(ranked.length - SHOWN).toLocaleString("en")} more in the list`) : null,
  );
}

function big(n, noun, many) {
  return h("div", { class: "big" }, h("b", null, n.toLocaleString("en")), " ", n === 1 ? noun : (many ?? noun + "s"));
}

export function overview(shown, filter, pick, show) {
  const { source } = report;
  const nothing = !findings.length;
  return h(
    "article",
    { class: "overview", "aria-labelledby": "overview-title" },
    h("h2", { id: "overview-title", tabindex: "-1" }, (nothing ? "No findings" : plural(findings.length, "finding")) + (campaign ? ` ${campaignTitle}` : "")),
    h("p", { class: "faint" }, shortPath(sourceName)),
    h(
      "div",
      { class: "bigs" },
      campaignBigs(big),
      // A live run does not count these: 0 means unknown.
      source.events || source.trace ? big(source.events, "event") : null,
      source.threads || source.trace ? big(source.threads, "thread") : null,
      campaign ? null : big(source.transactions, "transaction"),
      source.variables || source.trace ? big(source.variables, "variable") : null,
      source.locks || source.trace ? big(source.locks, "lock") : null,
    ),
    source.error ? h("p", { class: "warning", role: "alert" }, source.trace ? `The trace broke off: ${source.error}. This report covers only the events before that.` : `The check is incomplete: ${source.error}.`) : null,
    source.skipped ? h("p", { class: "warning" }, `${plural(source.skipped, "impossible event")} ${source.skipped === 1 ? "was" : "were"} skipped.`) : null,
    hidden.n ? h("p", { class: "faint left-out" }, `${plural(hidden.n, "finding")} ${hidden.n === 1 ? "is" : "are"} not shown: ${hidden.text}. The option -v shows ${hidden.n === 1 ? "it" : "them"}.`) : null,
    campaign ? campaignView(show) : ranking(shown, show),
    nothing
      ? null
      : h(
          "div",
          { class: "grid four" },
          bars("By block", "subject", shown, pick, filter.subject),
          bars("By variable", "about", shown, pick, filter.about),
          bars("By file", "file", shown, pick, filter.file),
          bars("By status", "status", shown, pick, filter.status),
        ),
    h(
      "section",
      null,
      h("h3", null, "Engines"),
      h(
        "table",
        { class: "engines" },
        h("thead", null, h("tr", null, ["engine", "findings", campaign ? null : "seconds", "a finding means", "no finding means"].filter(Boolean).map((name) => h("th", { scope: "col" }, name)))),
        h(
          "tbody",
          null,
          report.results.map((result) =>
            h(
              "tr",
              null,
              h("th", { scope: "row" }, result.engine),
              h("td", { class: "num" }, findings.filter((f) => f.engine === result.engine).length.toLocaleString("en")),
              campaign ? null : h("td", { class: "num" }, (result.stats.seconds ?? 0).toFixed(3)),
              h("td", null, engines.get(result.engine)?.finding ?? ""),
              h("td", null, engines.get(result.engine)?.silence ?? ""),
            ),
          ),
        ),
      ),
    ),
    h("p", { class: "faint hint" }, "Keys: ", key("j"), " ", key("k"), " next and previous finding, ", key("/"), " search, ", key("o"), " this overview, ", key("←"), " ", key("→"), " step through a schedule."),
  );
}

const key = (name) => h("kbd", null, name);
