// The form of a task: shown texts, machine verdict and typed questions, for all task types.
import { button, el, words } from "./dom.js";
import { comment, machine, onScale, Question, TextQuestion } from "./fields.js";
import { summaryText } from "./pane.js";
import { Sentences } from "./sentences.js";
import { Spans } from "./spans.js";
import { list, number, t } from "./strings.js";

const several = (value) => (Array.isArray(value) ? value : [value]);
const given = (value) => value !== undefined && value !== null;
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const optionsOf = (entries) => entries.map(({ name, label, meaning }) => ({ value: name, label: label || name, meaning }));
const DRAWN_BY_FIELD = ["sentences", "spans"];

// Returns whether values agree with a machine verdict, or null if they neither agree nor disagree.
function agrees(verdict, values) {
  const names = Object.keys(verdict.accept ?? verdict.agree);
  if (names.some((name) => !given(values[name]))) return null;
  const holds = (wanted) => Object.entries(wanted).every(([name, value]) => same(values[name], value));
  return verdict.accept ? holds(verdict.accept) === verdict.accepts : holds(verdict.agree);
}

export class Form {
  // `script` is the module of a custom task type: `shown(task)` renders its texts, `fields` its questions by name.
  constructor({ name, title, machine: words_, questions }, script = null) {
    Object.assign(this, { name, title, said: words_, questions, script, fields: [], verdict: null });
    this.ofSummary = questions.filter((question) => question.each_summary);
    this.ofTask = questions.filter((question) => !question.each_summary);
  }

  blank() {
    return { values: {}, summaries: {}, machine: null, comment: null };
  }

  // Questions about each summary, by letter, then those about the task (null).
  scopes(task) {
    const subjects = this.ofSummary.length ? task.body.summaries.map(({ id }) => [id, this.ofSummary]) : [];
    return [...subjects, [null, this.ofTask]];
  }

  valuesOf(state, subject) {
    return (subject === null ? state.values : state.summaries[subject]) ?? {};
  }

  // The questions that are asked, given these values. Values of questions that are not asked are ignored.
  asked(task, questions, values) {
    const known = {};
    return questions.filter(({ name, type, when }) => {
      if (type === "summary" && task.body.summaries.length < 2) return false;
      const fits = (condition) => Object.entries(condition).every(([other, wanted]) => several(known[other]).some((value) => wanted.includes(value)));
      const shown = !when.length || when.some(fits);
      if (shown && given(values[name])) known[name] = DRAWN_BY_FIELD.includes(type) ? values[name].length > 0 : values[name];
      return shown;
    });
  }

  answer(task, state) {
    const collected = (subject, questions) => {
      const values = this.valuesOf(state, subject);
      return Object.fromEntries(this.asked(task, questions, values).flatMap(({ name }) => (given(values[name]) ? [[name, values[name]]] : [])));
    };
    const scopes = this.scopes(task).map(([subject, questions]) => [subject, collected(subject, questions)]);
    return {
      values: scopes.at(-1)[1], summaries: Object.fromEntries(scopes.slice(0, -1)),
      machine: task.assistance?.machine ? state.machine : null, comment: state.comment,
    };
  }

  draw(page) {
    const { task, state } = page;
    const shown = task.assistance?.machine ?? null;
    const count = this.ofSummary.length ? el("p", { class: "small count", role: "status" }) : null;
    this.fields = [];

    const settle = () => {
      for (const [subject, questions] of this.scopes(task)) {
        const names = new Set(this.asked(task, questions, this.valuesOf(state, subject)).map(({ name }) => name));
        for (const field of this.fields) if (field.subject === subject) field.node.hidden = !names.has(field.question.name);
      }
      for (const section of root.querySelectorAll("section.own")) section.hidden = [...section.children].every((node) => node.hidden);
      this.verdict?.question.set(state.machine);
      if (!count) return;
      const cells = this.fields.filter(({ subject, question }) => subject !== null && !question.own);
      const done = cells.filter(({ subject, question }) => given(this.valuesOf(state, subject)[question.name])).length;
      count.textContent = t("questions.given", { done, n: cells.length });
    };
    const set = (subject, name, value) => {
      const values = { ...this.valuesOf(state, subject), [name]: value };
      const says = shown && subject === null ? agrees(shown, values) : null;
      page.changed({
        ...(subject === null ? { values } : { summaries: { ...state.summaries, [subject]: values } }),
        ...(says === null ? {} : { machine: says ? "agree" : "disagree" }),
      });
      settle();
    };
    const fieldsOf = (subject, questions) => {
      const made = questions.map((question, at) => {
        const field = this.field(question, { page, subject, from: following(questions, at), value: this.valuesOf(state, subject)[question.name] ?? null, pick: (value) => set(subject, question.name, value) });
        this.fields.push({ subject, question, ...field });
        return [question, field.node];
      });
      const own = made.filter(([question]) => question.own).map(([, node]) => node);
      return [...made.filter(([question]) => !question.own).map(([, node]) => node), own.length ? el("section", { class: "own" }, ...own) : null];
    };

    const cards = this.ofSummary.length ? task.body.summaries.map((summary) => card(summary, "data-subject", fieldsOf(summary.id, this.ofSummary))) : [];
    this.verdict = shown && this.machine(task, shown, page, settle);
    const fields = fieldsOf(null, this.ofTask);
    // No comment field if the task type always asks for a text.
    const free = this.ofTask.some(({ type, own, when }) => type === "text" && !own && !when.length);
    const texts = this.script?.shown?.(task) ?? this.texts(task);
    const root = el("div", null, count, ...texts, ...cards, this.verdict?.node, ...fields, free ? null : comment(state, page.changed));
    settle();
    return root;
  }

  // The texts that are shown next to the document.
  texts(task) {
    const { key_fact: fact, summary, summaries, index } = task.body;
    const drawn = this.questions.some(({ type }) => DRAWN_BY_FIELD.includes(type));
    return [
      fact === undefined ? null : el("section", { class: "summary" }, el("h2", { text: t("work.key_fact") }), el("p", { class: "text" }, words(fact))),
      summary === undefined || drawn ? null : el("section", { class: "summary" }, el("h2", { text: t("work.summary") }), summaryText(summary, index ?? null)),
      summaries === undefined || this.ofSummary.length ? null : el("div", { class: "sides" }, ...summaries.map((one) => card(one))),
    ];
  }

  machine(task, shown, page, settle) {
    const { sentences } = shown.values;
    const said = sentences?.length
      ? t("machine.sentences", { n: sentences.length, numbers: list(sentences.map((at) => number(at + 1))) })
      : shown.accepts ? this.said.yes : this.said.no;
    return machine({
      about: this.said.about, verdict: said, good: shown.accepts, types: shown.types, reason: shown.reason, state: page.state,
      changed: ({ machine: value }) => {
        const { state } = page;
        const put = shown[value];
        const values = { ...state.values, ...put };
        if (!Object.keys(put).length && agrees(shown, values) === (value === "disagree")) {
          for (const name of Object.keys(shown.accept ?? shown.agree)) values[name] = null;
        }
        page.changed({ machine: value, values });
        for (const { subject, question, field } of this.fields) if (subject === null) field.set(values[question.name] ?? null);
        settle();
      },
    });
  }

  // Returns {field, node} of a question; `from` is the digit key of its first option.
  field(question, { page, subject, from, value, pick }) {
    const { type, name, label, text, hint, own, required, options, scale, longest } = question;
    const { body } = page.task;
    const said = own || label ? words(text) : el("span", { text });
    const legend = el("span", null, subject === null ? null : el("span", { class: "sr", text: `${t("work.summary_of", { id: subject })}: ` }),
      label ? el("strong", null, words(label)) : null,
      label && text && text !== label ? el("span", { class: "muted asked" }, said) : label ? null : said,
      required ? null : el("span", { class: "muted optional", text: ` (${t("questions.optional")})` }));
    let clear = null;
    // An empty list of choices counts as no answer.
    const picked = (chosen) => {
      const empty = type === "choices" && chosen.length === 0;
      pick(empty ? null : chosen);
      if (clear) clear.hidden = !given(chosen);
    };
    const about = { legend, hint, own, value, pick: picked, from };
    const choosing = () => {
      const summaries = body.summaries.map(({ id }) => ({ value: id, label: t("work.summary_of", { id }), keys: body.summaries.length === 2 ? [id.toLowerCase()] : undefined }));
      if (question.ties) summaries.push({ value: "tie", label: t("questions.tie"), keys: body.summaries.length === 2 ? ["t"] : undefined });
      return new Question({ ...about, wide: true, options: summaries });
    };
    const draw = this.script?.fields?.[name] ?? {
      scale: () => onScale({ ...about, scale }),
      yes_no: () => new Question({ ...about, wide: true, options: [{ value: true, label: t("questions.yes") }, { value: false, label: t("questions.no") }] }),
      choice: () => new Question({ ...about, data: own, wide: !own, options: optionsOf(options) }),
      choices: () => new Question({ ...about, data: true, many: true, options: optionsOf(options) }),
      text: () => new TextQuestion({ ...about, most: longest }),
      summary: choosing,
      sentences: () => new Sentences({ ...about, name, page }),
      spans: () => new Spans({ ...about, question, page }),
    }[type];
    const field = draw({ ...about, question, page });
    if (!required) field.node.dataset.optional = "yes";
    // The answer to an optional question can be cleared.
    if (!required && ["scale", "yes_no", "choice", "summary"].includes(type)) {
      clear = button(t("questions.clear"), () => {
        field.set(null);
        picked(null);
        field.focus();
      }, { class: "link clear", "aria-label": t("questions.clear_of", { question: text || label }), hidden: value === null });
      field.node.append(clear);
    }
    return { field, node: field.node };
  }

  keys() {
    return this.fields.flatMap(({ field }) => field.keys?.() ?? []);
  }

  // Returns the first missing answer as {message, node, act?}, or null if the form can be sent.
  missing(task, state) {
    if (this.verdict && !state.machine) return { message: t("machine.question"), node: this.verdict.question.node };
    for (const { subject, question, field, node } of this.fields) {
      if (node.hidden) continue;
      const lacks = field.lacks?.();
      if (lacks) return lacks;
      if (!question.required || given(this.valuesOf(state, subject)[question.name])) continue;
      const asked = question.label || question.text;
      return { message: t("questions.need", { question: subject === null ? asked : `${t("work.summary_of", { id: subject })}: ${asked}` }), node };
    }
    return null;
  }
}

// A question that depends on the previous one continues its digit keys, so that both can be shown together.
function following(questions, at) {
  const before = questions[at - 1];
  const { when, options } = questions[at];
  if (!before || !when.some((condition) => before.name in condition)) return 1;
  return before.options.length + options.length <= 9 ? before.options.length + 1 : 1;
}

const card = (summary, mark = null, fields = []) => el(
  "section", { class: "card", ...(mark ? { [mark]: summary.id } : {}) }, el("h2", { text: t("work.summary_of", { id: summary.id }) }), summaryText(summary), ...fields,
);
