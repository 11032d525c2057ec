// Creates elements. Text stays text: nothing here parses markup, so a name cannot inject any.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && typeof value !== "string" && name !== "style") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(3)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child);
  }
  return element;
}

export const h = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);

export function s(name, attributes, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value);
  }
  for (const child of children.flat(3)) if (child !== null && child !== undefined && child !== false) element.append(child);
  return element;
}

// The width of a text in a font, measured without adding it to the page.
const ruler = document.createElement("canvas").getContext("2d");
export function width(text, font) {
  ruler.font = font;
  return ruler.measureText(text).width;
}

// As much of the text as fits. With `head` the start is dropped: the end of a path says more.
export function fit(text, font, room, head = false) {
  if (width(text, font) <= room) return text;
  let low = 0;
  let high = text.length;
  while (low < high) {
    const mid = (low + high + 1) >> 1;
    const part = head ? "…" + text.slice(text.length - mid) : text.slice(0, mid) + "…";
    if (width(part, font) <= room) low = mid;
    else high = mid - 1;
  }
  return head ? "…" + text.slice(text.length - low) : text.slice(0, low) + "…";
}

export const plural = (n, noun, many = noun + "s") => `${n.toLocaleString("en")} ${n === 1 ? noun : many}`;

// Drawn as SVG, because not every machine has a font with these symbols.
const ICONS = {
  first: "M4 3h2v10H4zM13 3v10L6.5 8z",
  back: "M11 3v10L4.5 8z",
  on: "M5 3v10l6.5-5z",
  next: "M2 3v10l5.5-5zM8 3v10l5.5-5z",
  last: "M10 3h2v10h-2zM3 3v10l6.5-5z",
  print: "M4 1.5h8V5H4zM2 6h12v6h-2.5v2.5h-7V12H2zM6 10.5v2.5h4v-2.5z",
  auto: "M8 1.5a6.5 6.5 0 1 0 0 13zM8 1.5a6.5 6.5 0 0 1 0 13v-1.4a5.1 5.1 0 0 0 0-10.2z",
  light: "M8 4.6a3.4 3.4 0 1 0 0 6.8 3.4 3.4 0 0 0 0-6.8zM7.3 0.6h1.4v2.4H7.3zM7.3 13h1.4v2.4H7.3zM0.6 7.3H3v1.4H0.6zM13 7.3h2.4v1.4H13zM2.3 3.3l1-1L5 4l-1 1zM11 12l1-1 1.7 1.7-1 1zM12.7 2.3l1 1L12 5l-1-1zM4 11l1 1-1.7 1.7-1-1z",
  dark: "M6.2 1.6a6.5 6.5 0 1 0 8.2 8.2A5.4 5.4 0 0 1 6.2 1.6z",
};
export const icon = (name) => s("svg", { class: "icon", viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" }, s("path", { d: ICONS[name] }));
