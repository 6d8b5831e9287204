// Is this key fact one a summary of the document should carry?
import { el, words } from "./dom.js";
import { comment, machine, Question, textField } from "./fields.js";
import { t } from "./strings.js";

const ASKED = ["significant", "correct", "relevant"];
const legendOf = (name) => t(`key_fact_validation.${name}`);
const holds = (state) => ASKED.every((name) => state[name] === true);
// What is asked of a fault is shown, and sent, while there is one.
const faulty = (state) => ASKED.some((name) => state[name] === false);
const answered = (state) => ASKED.every((name) => state[name] !== null);
const fits = (machineSays, state) => (holds(state) === (machineSays === "valid") ? "agree" : "disagree");

export default {
  title: t("key_fact_validation.title"),

  blank: () => ({ machine: null, significant: null, correct: null, relevant: null, why: null, edit: null, comment: null }),

  draw({ task, state, changed }) {
    const shown = task.assistance?.machine ?? null;
    const why = textField({
      label: t("key_fact_validation.why"), hint: t("key_fact_validation.why_hint"), value: state.why, set: (text) => changed({ why: text }),
    });
    const edit = textField({
      label: t("key_fact_validation.edit"), hint: t("key_fact_validation.edit_hint"), value: state.edit, set: (text) => changed({ edit: text }),
    });
    const verdict = shown && machine({
      about: t("key_fact_validation.machine"),
      verdict: shown.verdict === "valid" ? t("key_fact_validation.machine_valid") : t("key_fact_validation.machine_invalid"),
      good: shown.verdict === "valid", reason: shown.reason, state,
      changed: ({ machine: value }) => {
        // Who takes it for valid, with the machine or against it, has answered all three.
        const valid = (value === "agree") === (shown.verdict === "valid");
        if (valid) settle({ machine: value, significant: true, correct: true, relevant: true });
        else settle({ machine: value, ...(holds(state) ? { significant: null, correct: null, relevant: null } : {}) });
      },
    });
    const questions = ASKED.map((name) => new Question({
      legend: legendOf(name), hint: t(`key_fact_validation.${name}_hint`), wide: true,
      options: [{ value: true, label: t("key_fact_validation.yes") }, { value: false, label: t("key_fact_validation.no") }],
      value: state[name],
      pick: (value) => {
        const next = { ...state, [name]: value };
        settle({ [name]: value, ...(shown && answered(next) ? { machine: fits(shown.verdict, next) } : {}) });
      },
    }));

    function settle(patch) {
      changed(patch);
      verdict?.question.set(state.machine);
      questions.forEach((question, at) => question.set(state[ASKED[at]]));
      fold();
    }

    function fold() {
      why.hidden = edit.hidden = !faulty(state);
    }

    fold();
    const fact = el("section", { class: "summary" }, el("h2", { text: t("work.key_fact") }), el("p", { class: "text" }, words(task.body.key_fact)));
    return el("div", null, fact, verdict?.node, ...questions.map((question) => question.node), why, edit, comment(state, changed));
  },

  missing(task, state, root) {
    const sets = [...root.querySelectorAll("fieldset.question")];
    if (task.assistance?.machine && !state.machine) return { message: t("machine.question"), node: sets[0] };
    const open = ASKED.findIndex((name) => state[name] === null);
    if (open >= 0) return { message: legendOf(ASKED[open]), node: sets[sets.length - ASKED.length + open] };
    return null;
  },

  answer: (task, state) => ({
    machine: task.assistance?.machine ? state.machine : null,
    significant: state.significant, correct: state.correct, relevant: state.relevant,
    why: faulty(state) ? state.why : null,
    edit: faulty(state) ? state.edit : null,
    comment: state.comment,
  }),
};
