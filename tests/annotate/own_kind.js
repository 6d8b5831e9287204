// Could this summary stand as a headline?
import { el } from "./dom.js";
import { comment, Question } from "./fields.js";
import { summaryText } from "./pane.js";

export default {
  title: "Could this stand as a headline?",

  blank: () => ({ fits: null, comment: null }),

  draw({ task, state, changed }) {
    const question = new Question({
      legend: "As a headline, it",
      options: [{ value: true, label: "Fits", keys: ["1"] }, { value: false, label: "Does not fit", keys: ["2"] }],
      value: state.fits,
      pick: (value) => changed({ fits: value }),
      wide: true,
    });
    return el("div", null, summaryText(task.body.summary), question.node, comment(state, changed));
  },

  missing: (task, state, root) => (state.fits === null ? { message: "Choose one.", node: root.querySelector("fieldset.question") } : null),

  answer: (task, state) => ({ fits: state.fits, comment: state.comment }),
};
