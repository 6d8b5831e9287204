// Choice of summary sentences or none. Wide windows also show the grid of all tasks on the same summary.
import { button, el, words } from "./dom.js";
import { Question } from "./fields.js";
import { Points } from "./points.js";
import { number, t } from "./strings.js";

export class Sentences {
  // The value is a list of indexes, empty if none applies, and null if unanswered.
  constructor({ legend, hint, own, value, pick, name, page }) {
    const { summary } = page.task.body;
    const points = new Points(summary.text);
    this.sentences = new Question({
      legend, hint, own, many: true, value,
      options: summary.sentences.map(([start, end], at) => ({ value: at, label: points.slice(start, end), number: at + 1, data: true })),
      pick: (chosen) => this.chosen(chosen.length ? chosen : null, pick),
    });
    this.none = new Question({
      legend: t("sentences.or_none"), many: true, value: null,
      options: [{ value: true, label: t("sentences.none"), keys: ["0"] }],
      pick: (chosen) => this.chosen(chosen.length ? [] : null, pick),
    });
    this.sentences.node.classList.add("sentences");
    this.none.node.dataset.optional = "yes";
    this.node = el("div", null, this.sentences.node, this.none.node, grid(name, page));
    this.set(value);
  }

  chosen(value, pick) {
    this.set(value);
    pick(value);
  }

  set(value) {
    this.sentences.set(value ?? []);
    this.none.set(value?.length === 0 ? [true] : []);
  }

  focus() {
    this.sentences.focus();
  }
}

// Grid of the tasks on a summary and its sentences; each row links to its task.
function grid(name, { task, siblings, visit }) {
  const rows = siblings.filter((one) => one.task.body.key_fact && one.task.body.summary.text === task.body.summary.text && one.task.document === task.document);
  if (rows.length < 2) return null;
  const count = task.body.summary.sentences.length;
  const cells = (chosen) => Array.from({ length: count }, (_, at) => {
    const on = chosen?.includes(at);
    return el("td", { class: on ? "on" : chosen ? "off" : "open" }, el("span", { class: "sr", text: on ? t("sentences.chosen") : chosen ? t("sentences.not_chosen") : t("sentences.not_answered") }));
  });
  const head = Array.from({ length: count }, (_, at) => el("th", { scope: "col" }, el("span", { class: "sr", text: `${t("sentences.sentence")} ` }), number(at + 1)));
  const body = rows.map(({ task: one, answer, number: place }) => {
    const here = one.id === task.id;
    const fact = here ? words(one.body.key_fact) : button("", () => visit(one.id), { class: "link" });
    if (!here) fact.append(words(one.body.key_fact));
    return el("tr", { class: here ? "here" : null }, el("th", { scope: "row", "aria-current": here ? "true" : null }, el("span", { class: "num", text: number(place) }), fact), ...cells(answer?.values[name]));
  });
  return el(
    "section", { class: "grid" },
    el("h2", { text: t("sentences.grid", { n: rows.length }) }),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": t("sentences.grid_label") },
      el("table", null, el("thead", null, el("tr", null, el("td"), ...head)), el("tbody", null, ...body))),
  );
}
