// Which of two summaries is better, aspect by aspect. The server decides which stands first.
import { el, words } from "./dom.js";
import { Question, textField } from "./fields.js";
import { summaryText } from "./pane.js";
import { t } from "./strings.js";

export default {
  title: t("pairwise.title"),

  blank: () => ({ choices: {}, reason: null, comment: null }),

  draw({ task, state, changed }) {
    const { summaries, aspects, ties } = task.body;
    const sides = summaries.map((summary) => el("section", { class: "card" }, el("h2", { text: t("work.summary_of", { id: summary.id }) }), summaryText(summary)));
    const options = summaries.map(({ id }) => ({ value: id, label: t("work.summary_of", { id }), keys: [id.toLowerCase()] }));
    if (ties) options.push({ value: "tie", label: t("pairwise.tie"), keys: ["t"] });
    const questions = aspects.map(({ name, label, question }) => new Question({
      legend: el("span", null, el("strong", null, words(label ?? name)), question && question !== name ? el("span", { class: "muted asked" }, words(question)) : null),
      options,
      value: state.choices[name] ?? null,
      pick: (value) => changed({ choices: { ...state.choices, [name]: value } }),
      wide: true,
    }));
    const reason = textField({ label: t("work.why"), value: state.reason, set: (text) => changed({ reason: text }) });
    return el("div", null, el("div", { class: "sides" }, ...sides), ...questions.map((question) => question.node), reason);
  },

  missing(task, state, root) {
    const open = task.body.aspects.findIndex(({ name }) => state.choices[name] === undefined);
    if (open < 0) return null;
    const { name: aspect, label } = task.body.aspects[open];
    return { message: t("pairwise.need_choice", { aspect: label ?? aspect }), node: root.querySelectorAll("fieldset.question")[open] };
  },

  answer: (task, state) => ({ choices: state.choices, reason: state.reason, comment: state.comment }),
};
