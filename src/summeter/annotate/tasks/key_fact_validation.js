// Is this key fact one a summary of the document should carry?
import { el, words } from "./dom.js";
import { comment, machine, Question, textField } from "./fields.js";

const ASKED = [
  ["significant", "Is it significant?", "A good summary of this document should carry it."],
  ["correct", "Is it correct?", "The document says so."],
  ["relevant", "Is it relevant?", "It belongs to what the document is about."],
];
const holds = (state) => ASKED.every(([name]) => state[name] === true);
const answered = (state) => ASKED.every(([name]) => state[name] !== null);
const fits = (machineSays, state) => (holds(state) === (machineSays === "valid") ? "agree" : "disagree");

export default {
  title: "Is this a key fact of the document?",

  blank: () => ({ machine: null, significant: null, correct: null, relevant: null, why: null, comment: null }),

  draw({ task, state, changed }) {
    const shown = task.assistance?.machine ?? null;
    const why = textField({
      label: "Why not?", hint: "In a few words; may be left empty.", value: state.why, set: (text) => changed({ why: text }),
    });
    const verdict = shown && machine({
      about: "The machine says this key fact is", verdict: shown.verdict === "valid" ? "valid" : "not valid",
      good: shown.verdict === "valid", reason: shown.reason, state,
      changed: ({ machine: value }) => {
        // Who takes it for valid, with the machine or against it, has answered all three.
        const valid = (value === "agree") === (shown.verdict === "valid");
        if (valid) settle({ machine: value, significant: true, correct: true, relevant: true });
        else settle({ machine: value, ...(holds(state) ? { significant: null, correct: null, relevant: null } : {}) });
      },
    });
    const questions = ASKED.map(([name, legend, hint]) => new Question({
      legend, hint, wide: true,
      options: [{ value: true, label: "Yes" }, { value: false, label: "No" }],
      value: state[name],
      pick: (value) => {
        const next = { ...state, [name]: value };
        settle({ [name]: value, ...(shown && answered(next) ? { machine: fits(shown.verdict, next) } : {}) });
      },
    }));

    function settle(patch) {
      changed(patch);
      verdict?.question.set(state.machine);
      questions.forEach((question, at) => question.set(state[ASKED[at][0]]));
      why.hidden = !ASKED.some(([name]) => state[name] === false);
    }

    why.hidden = !ASKED.some(([name]) => state[name] === false);
    const fact = el("section", { class: "summary" }, el("h2", { text: "Key fact" }), el("p", { class: "text" }, words(task.body.key_fact)));
    return el("div", null, fact, verdict?.node, ...questions.map((question) => question.node), why, comment(state, changed));
  },

  missing(task, state, root) {
    const sets = [...root.querySelectorAll("fieldset.question")];
    if (task.assistance?.machine && !state.machine) return { message: "Do you agree with the machine?", node: sets[0] };
    const open = ASKED.findIndex(([name]) => state[name] === null);
    if (open >= 0) return { message: ASKED[open][1], node: sets[sets.length - ASKED.length + open] };
    return null;
  },

  answer: (task, state) => ({
    machine: task.assistance?.machine ? state.machine : null,
    significant: state.significant, correct: state.correct, relevant: state.relevant,
    why: holds(state) ? null : state.why,
    comment: state.comment,
  }),
};
