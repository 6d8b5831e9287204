// The campaign's own questions, beside what the kind of task asks: drawn, shown while their conditions hold, and put into the answer.
import { button, el, words } from "./dom.js";
import { onScale, Question, TextQuestion } from "./fields.js";
import { t } from "./strings.js";

const several = (value) => (Array.isArray(value) ? value : [value]);
const given = (value) => value !== undefined && value !== null;

// A kind of task that asks the questions of `task.questions` too: once, or of each summary in `task.subjects`.
export function withQuestions(kind) {
  const facts = (task, state, subject) => {
    const answer = kind.answer(task, state);
    return subject === null ? answer : kind.facts(answer, subject);
  };
  const valuesOf = (state, subject) => (subject === null ? state.questions : state.questions?.[subject]) ?? {};
  const subjects = (task) => task.subjects ?? [null];
  const asked = (task, state, subject) => shown(task.questions, facts(task, state, subject), valuesOf(state, subject));
  const answers = (task, state, subject) => Object.fromEntries(
    asked(task, state, subject).flatMap(({ name }) => (given(valuesOf(state, subject)[name]) ? [[name, valuesOf(state, subject)[name]]] : [])),
  );
  let drawn = [];

  return Object.assign(Object.create(kind), {
    blank: (task) => (task.questions?.length ? { ...kind.blank(task), questions: {} } : kind.blank(task)),

    draw(page) {
      const { task, state } = page;
      drawn = [];
      if (!task.questions?.length) return kind.draw(page);
      const settle = () => {
        for (const { subject, section, nodes } of drawn) {
          const names = new Set(asked(task, state, subject).map(({ name }) => name));
          for (const [name, node] of nodes) node.hidden = !names.has(name);
          section.hidden = names.size === 0;
        }
      };
      const changed = (patch) => {
        page.changed(patch);
        settle();
      };
      const body = kind.draw({ ...page, changed });
      for (const subject of subjects(task)) {
        const set = (name, value) => {
          const values = { ...valuesOf(state, subject), [name]: value };
          changed({ questions: subject === null ? values : { ...state.questions, [subject]: values } });
        };
        const nodes = new Map(task.questions.map((question) => [question.name, draw(question, valuesOf(state, subject)[question.name] ?? null, set, subject)]));
        const section = el("section", { class: "own" }, ...nodes.values());
        const comment = body.querySelector("details.comment");
        if (subject !== null) body.querySelector(`[data-subject="${subject}"]`).append(section);
        else if (comment) comment.before(section);
        else body.append(section);
        drawn.push({ subject, section, nodes });
      }
      settle();
      return body;
    },

    missing(task, state, root) {
      const lacks = kind.missing(task, state, root);
      if (lacks || !task.questions?.length) return lacks;
      for (const { subject, nodes } of drawn) {
        const open = asked(task, state, subject).find(({ name, required }) => required && !given(valuesOf(state, subject)[name]));
        if (open) return { message: t("questions.need", { question: open.question }), node: nodes.get(open.name) };
      }
      return null;
    },

    answer(task, state) {
      const answer = kind.answer(task, state);
      if (!task.questions?.length) return answer;
      const values = task.subjects ? Object.fromEntries(task.subjects.map((subject) => [subject, answers(task, state, subject)])) : answers(task, state, null);
      return { ...answer, questions: values };
    },
  });
}

// The questions whose conditions hold, in order; what is not shown decides nothing.
function shown(questions, facts, values) {
  const known = {};
  return questions.filter(({ name, when }) => {
    const holds = Object.entries(when).every(([other, wanted]) => several(known[other] ?? facts[other]).some((value) => wanted.includes(value)));
    if (holds && given(values[name])) known[name] = values[name];
    return holds;
  });
}

function draw(question, value, set, subject) {
  const { name, type, hint, required, options, scale, longest } = question;
  const legend = el("span", null, subject === null ? null : el("span", { class: "sr", text: `${t("work.summary_of", { id: subject })}: ` }), words(question.question),
    required ? null : el("span", { class: "muted optional", text: ` (${t("questions.optional")})` }));
  const about = { legend, hint, value, own: true };
  // An empty choice of several is none.
  const pick = (chosen) => {
    const empty = Array.isArray(chosen) && chosen.length === 0;
    set(name, empty ? null : chosen);
    if (clear) clear.hidden = empty || chosen === null;
  };
  const field = {
    scale: () => onScale({ ...about, scale, pick }),
    yes_no: () => new Question({ ...about, wide: true, pick, options: [{ value: true, label: t("questions.yes") }, { value: false, label: t("questions.no") }] }),
    choice: () => new Question({ ...about, data: true, pick, options: options.map((option) => ({ value: option.name, label: option.name, meaning: option.meaning })) }),
    choices: () => new Question({ ...about, data: true, many: true, pick, options: options.map((option) => ({ value: option.name, label: option.name, meaning: option.meaning })) }),
    text: () => new TextQuestion({ ...about, most: longest, pick }),
  }[type]();
  if (!required) field.node.dataset.optional = "yes";
  // What was chosen can be taken back, where nothing need be chosen.
  const clear = required || type === "choices" || type === "text" ? null : button(t("questions.clear"), () => {
    field.set(null);
    pick(null);
    field.focus();
  }, { class: "link clear", "aria-label": t("questions.clear_of", { question: question.question }), hidden: value === null });
  if (clear) field.node.append(clear);
  return field.node;
}
