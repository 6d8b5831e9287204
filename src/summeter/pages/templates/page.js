// What every page in one file can do: choose a theme, sort tables, save figures, show one heat table at a time.
// A text in the language of the page, by its English text; a text with plural forms uses the form for `n`.
const t = (() => {
  const node = document.getElementById("texts");
  const texts = node === null ? {} : JSON.parse(node.textContent);
  const plurals = new Intl.PluralRules(document.documentElement.lang);
  return (key, values = {}) => {
    const text = Object.hasOwn(texts, key) ? texts[key] : key;
    const form = typeof text === "string" ? text : text[plurals.select(values.n)] ?? text.other;
    return form.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
  };
})();
(() => {
"use strict";
const byId = (id) => document.getElementById(id);

// ---- theme
const THEMES = ["auto", "light", "dark"];
const SHOWN = { auto: t("auto"), light: t("light"), dark: t("dark") };
function keep(name, value) {
  try {
    if (value === undefined) return localStorage.getItem(name);
    localStorage.setItem(name, value);
  } catch (error) { /* storage may be forbidden for files; the choice then lasts for the visit */ }
  return null;
}
function paint(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  byId("theme-name").textContent = SHOWN[theme];
}
let theme = THEMES.includes(keep("summeter-theme")) ? keep("summeter-theme") : "auto";
byId("theme").hidden = false;
byId("theme").addEventListener("click", () => {
  theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
  keep("summeter-theme", theme);
  paint(theme);
});
paint(theme);

// ---- sortable tables
for (const table of document.querySelectorAll("table[data-sortable]")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, at) => {
    const button = head.querySelector("button[data-sort]");
    if (!button) return;
    button.addEventListener("click", () => {
      const numeric = button.dataset.sort === "number";
      const first = numeric ? "descending" : "ascending";
      const other = numeric ? "ascending" : "descending";
      const order = head.getAttribute("aria-sort") === first ? other : first;
      heads.forEach((one) => one.hasAttribute("aria-sort") && one.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", order);
      const sign = order === "ascending" ? 1 : -1;
      const key = (row) => (numeric ? row.cells[at].dataset.value : row.cells[at].textContent.trim());
      const rows = [...table.tBodies[0].rows];
      rows.sort((a, b) => {
        const left = key(a), right = key(b);
        if (!numeric) return sign * left.localeCompare(right);
        if (left === "" || right === "") return (left === "") - (right === "");
        return sign * (Number(left) - Number(right));
      });
      table.tBodies[0].append(...rows);
    });
  });
}

// ---- figures as files, with the colours of the current theme instead of the page's variables
for (const button of document.querySelectorAll("[data-svg]")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    const drawn = button.closest("figure").querySelector("svg");
    const copy = drawn.cloneNode(true);
    const parts = drawn.querySelectorAll("*");
    copy.querySelectorAll("*").forEach((part, at) => ["fill", "stroke"].forEach((name) => {
      if (part.hasAttribute(name)) part.setAttribute(name, getComputedStyle(parts[at])[name]);
    }));
    const look = getComputedStyle(document.body), ground = document.createElementNS(copy.namespaceURI, "rect");
    const values = { width: "100%", height: "100%", fill: look.backgroundColor };
    Object.entries(values).forEach(([name, value]) => ground.setAttribute(name, value));
    copy.prepend(ground);
    copy.setAttribute("font-family", look.fontFamily);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" }));
    link.download = button.dataset.svg;
    link.click();
  });
}

// ---- one heat table at a time
for (const pick of document.querySelectorAll(".pick select")) {
  const heats = [...pick.closest(".heats").querySelectorAll("[data-heat]")];
  const choose = () => heats.forEach((one) => { one.hidden = one.dataset.heat !== pick.value; });
  heats.forEach((one) => { one.querySelector("h4").className = "sr"; });
  pick.closest("label").hidden = false;
  pick.addEventListener("change", choose);
  choose();
}
})();
