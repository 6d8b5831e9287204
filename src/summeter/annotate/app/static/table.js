// Tables of the researcher's pages. On a narrow page each row is a card whose cells say their column's name.
import { el } from "./dom.js";

// `heads` are names, or cells ready made; `rows` are nodes of rows. Laid out as cards, rows would lose their roles: they are said.
export function table(heads, rows, label, options = {}) {
  const cells = heads.map((head) => (head instanceof Node ? head : head ? el("th", { scope: "col", class: options.numbers?.has(head) ? "number" : null, text: head }) : el("td")));
  const names = heads.map((head) => (head instanceof Node ? head.textContent : head));
  for (const row of rows) {
    row.setAttribute("role", "row");
    [...row.children].forEach((cell, at) => {
      cell.setAttribute("role", cell.matches("th") ? "rowheader" : "cell");
      if (names[at] && !cell.matches("th")) cell.dataset.label = names[at];
    });
  }
  for (const cell of cells) cell.setAttribute("role", cell.matches("th") ? "columnheader" : "cell");
  const sortable = cells.some((cell) => cell.querySelector("button"));
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
    el("table", { class: sortable ? "people sortable" : "people", role: "table" },
      el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, ...cells)), el("tbody", { role: "rowgroup" }, ...rows)));
}

export const cell = (text, kind = "number") => el("td", { class: kind, text });
export const number = (value, digits = 2) => (value === null || value === undefined ? "–" : value.toFixed(digits).replace(/^-(0\.?0*)$/, "$1"));
export const percent = (part, whole = 1) => (whole ? `${Math.round((100 * part) / whole)} %` : "–");

// A time in the researcher's own clock; the year where it is not this one.
export function when(ms) {
  if (!ms) return "–";
  const date = new Date(ms);
  const year = date.getFullYear() === new Date().getFullYear() ? undefined : "numeric";
  return date.toLocaleString("en", { year, month: "short", day: "numeric", hour: "numeric", minute: "2-digit" });
}

export function figure(name, value, more, options) {
  return el("div", options ?? null, el("dt", { text: name }), el("dd", null, String(value), more ? el("span", { class: "small", text: more }) : null));
}
