// Is this one sentence of a summary supported by the document?
import { el } from "./dom.js";
import { comment, machine, Question } from "./fields.js";
import { summaryText } from "./pane.js";
import { t } from "./strings.js";

export default {
  title: t("fact_verification.title"),

  blank: () => ({ machine: null, label: null, error_types: [], comment: null }),

  draw({ task, state, changed }) {
    const { body, assistance } = task;
    const shown = assistance?.machine ?? null;
    const label = new Question({
      legend: shown ? t("fact_verification.own_verdict") : t("fact_verification.verdict"),
      options: [
        { value: "supported", label: t("fact_verification.supported") },
        { value: "not_supported", label: t("fact_verification.not_supported") },
      ],
      value: state.label,
      pick: (value) => settle({ label: value, machine: shown ? (value === shown.verdict ? "agree" : "disagree") : null }),
      wide: true,
    });
    const types = new Question({
      legend: t("fact_verification.types"),
      hint: t("fact_verification.several"),
      many: true,
      data: true,
      from: 3,
      options: body.error_types.map(({ name, label: said, meaning }) => ({ value: name, label: said ?? name, meaning })),
      value: state.error_types,
      pick: (values) => changed({ error_types: values }),
    });
    const verdict = shown && machine({
      about: t("fact_verification.machine"), verdict: t(`fact_verification.machine_${shown.verdict}`), good: shown.verdict === "supported",
      types: shown.error_types?.map((name) => body.error_types.find((one) => one.name === name)?.label ?? name), reason: shown.reason, state,
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
    const summary = el("section", { class: "summary" }, el("h2", { text: t("work.summary") }), summaryText(body.summary, body.index));
    return el("div", null, summary, verdict?.node, label.node, types.node, comment(state, changed));
  },

  missing(task, state, root) {
    const sets = root.querySelectorAll("fieldset.question");
    if (task.assistance?.machine && !state.machine) return { message: t("machine.question"), node: sets[0] };
    if (!state.label) return { message: t("fact_verification.need_verdict"), node: sets[task.assistance?.machine ? 1 : 0] };
    if (state.label === "not_supported" && !state.error_types.length) {
      return { message: t("fact_verification.need_types"), node: sets[sets.length - 1] };
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
