// All summaries of a document on one page: each aspect on a scale, and the best one.
import { el, words } from "./dom.js";
import { comment, onScale, Question } from "./fields.js";
import { summaryText } from "./pane.js";
import { t } from "./strings.js";

export default {
  title: t("rating.title"),

  blank: (task) => ({ ratings: Object.fromEntries(task.body.summaries.map(({ id }) => [id, {}])), best: null, comment: null }),

  draw({ task, state, changed }) {
    const { summaries, aspects, choose_best } = task.body;
    const total = summaries.length * aspects.length;
    const count = el("p", { class: "small count", role: "status" });
    const tell = () => {
      const done = summaries.reduce((sum, { id }) => sum + Object.keys(state.ratings[id] ?? {}).length, 0);
      count.textContent = t("rating.given", { done, n: total });
    };
    const cards = summaries.map((summary) => el(
      "section", { class: "card", "data-subject": summary.id }, el("h2", { text: t("work.summary_of", { id: summary.id }) }), summaryText(summary),
      ...aspects.map(({ name, label, question, scale }) => onScale({
        legend: el("span", null, el("span", { class: "sr", text: `${t("work.summary_of", { id: summary.id })}: ` }), el("strong", null, words(label ?? name)),
          question && question !== name ? el("span", { class: "muted asked" }, words(question)) : null),
        scale,
        value: state.ratings[summary.id]?.[name] ?? null,
        pick: (value) => {
          const own = { ...state.ratings[summary.id], [name]: value };
          changed({ ratings: { ...state.ratings, [summary.id]: own } });
          tell();
        },
      }).node),
    ));
    const best = choose_best ? new Question({
      legend: t("rating.best"),
      options: summaries.map(({ id }) => ({ value: id, label: t("work.summary_of", { id }) })),
      value: state.best,
      pick: (value) => changed({ best: value }),
      wide: true,
    }) : null;
    tell();
    return el("div", null, count, ...cards, best?.node, comment(state, changed));
  },

  missing(task, state, root) {
    const sets = [...root.querySelectorAll("fieldset.question")];
    const cells = task.body.summaries.flatMap(({ id }) => task.body.aspects.map(({ name, label }) => [id, name, label ?? name]));
    const open = cells.findIndex(([id, name]) => state.ratings[id]?.[name] === undefined);
    if (open >= 0) return { message: t("rating.need_rating", { id: cells[open][0], aspect: cells[open][2] }), node: sets[open] };
    if (task.body.choose_best && state.best === null) return { message: t("rating.need_best"), node: sets[sets.length - 1] };
    return null;
  },

  // A summary's ratings, which the campaign's own questions about it may depend on.
  facts: (answer, id) => answer.ratings[id] ?? {},

  answer: (task, state) => ({ ratings: state.ratings, best: task.body.choose_best ? state.best : null, comment: state.comment }),
};
