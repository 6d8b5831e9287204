// Filters of a leaderboard; their state is the fragment of the address, so that a filtered board can be linked.
(() => {
"use strict";
const form = document.querySelector(".filters");
const rows = [...document.querySelectorAll(".board tbody tr")];
const boxes = [...form.elements.needs instanceof RadioNodeList ? form.elements.needs : [form.elements.needs]];

function show() {
  const wanted = form.elements.judge.value.trim().toLowerCase();
  const needs = boxes.filter((box) => box.checked).map((box) => box.value);
  for (const row of rows) {
    const name = row.querySelector("th").textContent.toLowerCase();
    row.hidden = !needs.includes(row.dataset.needs) || !name.includes(wanted);
  }
  const shown = rows.filter((row) => !row.hidden).length;
  form.querySelector("output").textContent = shown === rows.length ? "" : `${shown} of ${rows.length} judges`;
}

function read() {
  const state = new URLSearchParams(location.hash.startsWith("#?") ? location.hash.slice(2) : "");
  form.elements.judge.value = state.get("judge") || "";
  for (const box of boxes) box.checked = !state.has("needs") || state.getAll("needs").includes(box.value);
  show();
}

form.addEventListener("input", () => {
  const state = new URLSearchParams();
  if (form.elements.judge.value.trim()) state.set("judge", form.elements.judge.value.trim());
  if (boxes.some((box) => !box.checked)) {
    const checked = boxes.filter((box) => box.checked);
    for (const box of checked) state.append("needs", box.value);
    if (!checked.length) state.set("needs", "");
  }
  history.replaceState(null, "", `${location.pathname}${location.search}${state.size ? `#?${state}` : ""}`);
  show();
});
form.addEventListener("submit", (event) => event.preventDefault());
window.addEventListener("hashchange", () => location.hash.startsWith("#?") && read());
form.hidden = false;
read();
})();
