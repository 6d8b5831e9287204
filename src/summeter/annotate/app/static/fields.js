// Questions a person answers with a click, with the keys of a form, or with one key an option.
import { el, fresh, key, reveal, words } from "./dom.js";

const quick = new WeakMap();

// options: [{value, label, meaning?, number?, keys?}]. One choice, or several where `many`. `pick` gets the value, or the list of values.
export class Question {
  constructor({ legend, hint, options, many = false, value, pick, wide = false, data = false }) {
    Object.assign(this, { many, pick, options });
    const name = fresh("question");
    this.inputs = options.map((option) => el("input", { type: many ? "checkbox" : "radio", name, id: fresh("option") }));
    const rows = options.map((option, at) => this.row(option, this.inputs[at], at, data));
    const told = hint ? el("p", { class: "hint", id: `${name}-hint`, text: hint }) : null;
    this.node = el(
      "fieldset", { class: `question${wide ? " wide" : ""}`, "aria-describedby": told?.id },
      el("legend", null, typeof legend === "string" ? el("span", { text: legend }) : legend), told,
      el("div", { class: "options" }, ...rows), this.definitions(),
    );
    this.inputs.forEach((input) => input.addEventListener("change", () => this.chosen()));
    if (many) this.node.addEventListener("keydown", (event) => this.walk(event));
    const letters = new Map();
    options.forEach((option, at) => {
      if (at < 9) letters.set(String(at + 1), this.inputs[at]);
      for (const one of option.keys ?? []) letters.set(one, this.inputs[at]);
    });
    quick.set(this.node, { letters, many });
    this.set(value);
  }

  row(option, input, at, data) {
    const label = data || option.data ? words(option.label) : el("span", { text: option.label });
    const name = option.keys?.[0] ?? (at < 9 ? String(at + 1) : null);
    const meaning = option.meaning ? el("span", { class: "meaning", id: `${input.id}-meaning` }, words(option.meaning)) : null;
    if (meaning) input.setAttribute("aria-describedby", meaning.id);
    return el("div", { class: "option" }, el("label", { for: input.id }, input, option.number ? el("span", { class: "num", text: String(option.number) }) : null, label, name && key(name)), meaning);
  }

  definitions() {
    const known = this.options.filter((option) => option.meaning);
    if (!known.length) return null;
    const rows = known.map((option) => el("div", null, el("dt", null, words(option.label)), el("dd", null, words(option.meaning))));
    return el("details", { class: "definitions" }, el("summary", { text: "What these mean" }), el("dl", null, ...rows));
  }

  walk(event) {
    const at = this.inputs.indexOf(event.target);
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (at < 0 || !by || event.ctrlKey || event.altKey) return;
    event.preventDefault();
    this.inputs[(at + by + this.inputs.length) % this.inputs.length].focus();
  }

  get value() {
    const chosen = this.options.filter((_, at) => this.inputs[at].checked).map((option) => option.value);
    return this.many ? chosen : (chosen[0] ?? null);
  }

  set(value) {
    const wanted = this.many ? (value ?? []) : [value];
    this.options.forEach((option, at) => {
      this.inputs[at].checked = value !== null && value !== undefined && wanted.includes(option.value);
    });
  }

  chosen() {
    this.node.classList.remove("wanting");
    this.pick(this.value);
  }

  focus() {
    (this.inputs.find((input) => input.checked) ?? this.inputs[0])?.focus({ preventScroll: true });
    reveal(this.node, "nearest");
  }
}

export function textField({ label, hint, value, set, rows = 2, most = 2000 }) {
  const id = fresh("text");
  const told = hint ? el("p", { class: "hint", id: `${id}-hint`, text: hint }) : null;
  const box = el("textarea", { id, rows, maxlength: most, dir: "auto", "aria-describedby": told?.id });
  box.value = value ?? "";
  box.addEventListener("input", () => set(box.value.trim() === "" ? null : box.value));
  return el("div", { class: "field" }, el("label", { for: id, text: label }), told, box);
}

export function comment(state, changed) {
  const field = textField({ label: "Comment, if you have one", value: state.comment, set: (text) => changed({ comment: text }) });
  const summary = el("summary", null, el("span", { text: "Add a comment" }), " ", key("c"));
  return el("details", { class: "comment", open: Boolean(state.comment) }, summary, field);
}

// The machine's verdict in words, and the question it is answered with first.
export function machine({ verdict, good, types, reason, state, changed, about }) {
  const question = new Question({
    legend: "Do you agree with the machine?",
    options: [{ value: "agree", label: "Agree", keys: ["a"] }, { value: "disagree", label: "Disagree", keys: ["d"] }],
    value: state.machine,
    pick: (value) => changed({ machine: value }),
    wide: true,
  });
  const node = el(
    "section", { class: "machine", "aria-label": "The machine's verdict" },
    el("p", { class: "said" }, el("span", { class: "muted", text: `${about} ` }), el("strong", { class: `chip ${good ? "good" : "bad"}` }, verdict)),
    types?.length ? el("p", { class: "small" }, "Error type: ", words(types.join(", "))) : null,
    reason ? el("blockquote", null, words(reason)) : null,
    question.node,
    el("p", { class: "small", text: "A machine may be wrong. Read before you agree." }),
  );
  return { node, question };
}

const visible = (node) => node.getClientRects().length > 0;
const answered = (set) => set.dataset.optional === "yes" || set.querySelector("input:checked") !== null;

// One key chooses in the question that has the focus, else in the first one still open; a letter that only another question knows goes there.
export function choose(root, name) {
  const sets = [...root.querySelectorAll("fieldset.question")].filter((set) => quick.has(set) && visible(set));
  const own = document.activeElement?.closest("fieldset.question");
  const open = sets.find((set) => !answered(set));
  const order = /^[1-9]$/.test(name) ? [own ?? open] : [own, open, ...sets];
  const set = order.find((one) => one && root.contains(one) && quick.get(one)?.letters.has(name));
  if (!set) return false;
  const { letters, many } = quick.get(set);
  const input = letters.get(name);
  input.focus({ preventScroll: true });
  if (many || !input.checked) input.click();
  if (!many) advance(root, set);
  return true;
}

// To the next question that is open, or to the button that sends.
function advance(root, set) {
  const sets = [...root.querySelectorAll("fieldset.question")].filter(visible);
  const next = sets.slice(sets.indexOf(set) + 1).find((one) => !answered(one));
  const target = next ? next.querySelector("input") : root.querySelector("button.send");
  target?.focus({ preventScroll: true });
  if (next) reveal(next, "nearest");
}
