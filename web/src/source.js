// Lines of C and C++ with simple highlighting, and stacks whose frames show them.

import { h } from "./dom.js";
import { ownFrame, placeText, sourceAround, whereOf } from "./data.js";

const WORDS = new Set(
  ("auto bool break case catch char class const constexpr continue default delete do double else enum extern false float for goto if " +
    "inline int long mutable namespace new noexcept nullptr operator override private protected public register restrict return " +
    "short signed sizeof static struct switch template this throw true try typedef typename union unsigned using virtual void " +
    "volatile while _Atomic _Bool size_t uint8_t uint16_t uint32_t uint64_t int8_t int16_t int32_t int64_t NULL").split(" "),
);
const TOKEN = /(\/\/.*|\/\*.*?(?:\*\/|$)|"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?)|(^\s*#\s*\w+)|(\b\d[\w.]*)|([A-Za-z_]\w*)/g;

function colour(text) {
  const out = [];
  let at = 0;
  // A line inside a comment that began earlier.
  if (/^\s*\*(\s|\/|$)/.test(text)) return [h("span", { class: "c-note" }, text)];
  for (const m of text.matchAll(TOKEN)) {
    const kind = m[1] ? (m[1][0] === "/" ? "note" : "text") : m[2] ? "pre" : m[3] ? "num" : WORDS.has(m[4]) ? "word" : null;
    if (!kind) continue;
    if (m.index > at) out.push(text.slice(at, m.index));
    out.push(h("span", { class: "c-" + kind }, m[0]));
    at = m.index + m[0].length;
  }
  out.push(text.slice(at));
  return out;
}

// A caret below the column, indented with the same tabs as the line.
function caret(text, column) {
  const before = text.slice(0, column - 1).replace(/[^\t]/g, " ");
  return h("div", { class: "line caret", "aria-hidden": "true" }, h("span", { class: "no" }), h("code", null, before, h("b", null, "^")));
}

export function excerpt(where, around = 4) {
  const lines = where ? sourceAround(where.file, where.line, around) : null;
  if (!lines) return null;
  return h(
    "div",
    { class: "source", role: "group", "aria-label": `source of ${placeText(where, true)}`, tabindex: "0" },
    lines.map(({ number, text }) => {
      const here = number === where.line;
      return [
        h(
          "div",
          { class: here ? "line here" : "line", "aria-current": here ? "true" : null },
          h("span", { class: "no" }, String(number)),
          h("code", null, colour(text)),
        ),
        here && where.column ? caret(text, where.column) : null,
      ];
    }),
  );
}

function frameRow(frame, i, current, choose) {
  const place = frame.file ? placeText({ ...frame, line: frame.line ?? 0 }, true).replace(/:0$/, "") : null;
  const module = frame.module ? `${frame.module.slice(frame.module.lastIndexOf("/") + 1)}+0x${frame.offset.toString(16)}` : null;
  const text = [
    h("span", { class: "fn" }, frame.function ?? "??"),
    " ",
    h("span", { class: "at" }, place ?? module ?? "", frame.inlined ? " (inlined)" : ""),
  ];
  return h(
    "li",
    null,
    h(
      "button",
      { type: "button", class: "frame", title: module ?? "", "aria-pressed": String(frame === current), onclick: () => choose(frame) },
      h("span", { class: "no" }, "#" + i),
      text,
    ),
  );
}

// A stack, with the source of the selected frame above it.
export function stackView(stack, around = 4) {
  const box = h("div", { class: "stackview" });
  let current = ownFrame(stack);
  const draw = (refocus) => {
    box.replaceChildren();
    const code = excerpt(current, around);
    if (code) box.append(code);
    const list = h(
      "ol",
      { class: "stack", "aria-label": "stack, innermost first" },
      stack.map((frame, i) =>
        frameRow(frame, i, current, (chosen) => {
          current = chosen;
          draw(i);
        }),
      ),
    );
    box.append(list);
    if (refocus !== undefined) list.children[refocus]?.firstChild.focus();
  };
  draw();
  return box;
}

export function stepSource(step, around) {
  if (step.stack) return stackView(step.stack, around);
  return excerpt(whereOf(step), around) ?? h("p", { class: "faint" }, "The source is not available.");
}
