// Is this one sentence of a summary supported by the document?
import { el } from "./dom.js";
import { comment, machine, Question } from "./fields.js";
import { summaryText } from "./pane.js";

const VERDICTS = { supported: "supported by the document", not_supported: "not supported by the document" };

export default {
  title: "Is the marked sentence supported by the document?",

  blank: () => ({ machine: null, label: null, error_types: [], comment: null }),

  draw({ task, state, changed }) {
    const { body, assistance } = task;
    const shown = assistance?.machine ?? null;
    const label = new Question({
      legend: shown ? "Your own verdict" : "Your verdict",
      options: [
        { value: "supported", label: "Supported" },
        { value: "not_supported", label: "Not supported" },
      ],
      value: state.label,
      pick: (value) => settle({ label: value, machine: shown ? (value === shown.verdict ? "agree" : "disagree") : null }),
      wide: true,
    });
    const types = new Question({
      legend: "What is wrong with it?",
      hint: "Several may hold.",
      many: true,
      data: true,
      from: 3,
      options: body.error_types.map(({ name, meaning }) => ({ value: name, label: name, meaning })),
      value: state.error_types,
      pick: (values) => changed({ error_types: values }),
    });
    const verdict = shown && machine({
      about: "The machine says this sentence is", verdict: VERDICTS[shown.verdict], good: shown.verdict === "supported",
      types: shown.error_types, reason: shown.reason, state,
      changed: ({ machine: value }) => {
        const other = shown.verdict === "supported" ? "not_supported" : "supported";
        settle({ machine: value, label: value === "agree" ? shown.verdict : other });
      },
    });

    function settle(patch) {
      changed(patch);
      label.set(state.label);
      verdict?.question.set(state.machine);
      types.node.hidden = state.label !== "not_supported";
    }

    types.node.hidden = state.label !== "not_supported";
    const summary = el("section", { class: "summary" }, el("h2", { text: "Summary" }), summaryText(body.summary, body.index));
    return el("div", null, summary, verdict?.node, label.node, types.node, comment(state, changed));
  },

  missing(task, state, root) {
    const sets = root.querySelectorAll("fieldset.question");
    if (task.assistance?.machine && !state.machine) return { message: "Do you agree with the machine?", node: sets[0] };
    if (!state.label) return { message: "Choose your verdict.", node: sets[task.assistance?.machine ? 1 : 0] };
    if (state.label === "not_supported" && !state.error_types.length) {
      return { message: "Say what is wrong with the sentence.", node: sets[sets.length - 1] };
    }
    return null;
  },

  answer: (task, state) => ({
    machine: task.assistance?.machine ? state.machine : null,
    label: state.label,
    error_types: state.label === "not_supported" ? state.error_types : [],
    comment: state.comment,
  }),
};
