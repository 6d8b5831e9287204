// Questions a person answers with a click, with the keys of a form, or with one key an option.
import { el, fresh, key, reveal, words } from "./dom.js";
import { list, rich, t } from "./strings.js";

const quick = new WeakMap();

// options: [{value, label, meaning?, number?, keys?}]. One choice, or several where `many`. `pick` gets the value, or the list of values.
// An option's keys are digits in order, counted on from `from`, where it names none; past 9 it has none.
export class Question {
  constructor({ legend, hint, options, many = false, value, pick, wide = false, data = false, from = 1 }) {
    Object.assign(this, { many, pick, options });
    const name = fresh("question");
    this.inputs = options.map((option) => el("input", { type: many ? "checkbox" : "radio", name, id: fresh("option") }));
    const chips = options.map((option, at) => (option.keys ?? (at + from <= 9 ? [String(at + from)] : [])).map(key));
    const rows = options.map((option, at) => this.row(option, this.inputs[at], chips[at], data));
    const told = hint ? el("p", { class: "hint", id: `${name}-hint`, text: hint }) : null;
    this.node = el(
      "fieldset", { class: `question${wide ? " wide" : ""}`, "aria-describedby": told?.id },
      el("legend", null, typeof legend === "string" ? el("span", { text: legend }) : legend), told,
      el("div", { class: "options" }, ...rows), this.definitions(),
    );
    this.inputs.forEach((input) => input.addEventListener("change", () => this.chosen()));
    if (many) this.node.addEventListener("keydown", (event) => this.walk(event));
    quick.set(this.node, chips.flatMap((list, at) => list.map((chip) => ({ name: chip.textContent, chip, input: this.inputs[at] }))));
    this.set(value);
  }

  row(option, input, chips, data) {
    const label = data || option.data ? words(option.label) : el("span", { text: option.label });
    const meaning = option.meaning ? el("span", { class: "meaning", id: `${input.id}-meaning` }, words(option.meaning)) : null;
    if (meaning) input.setAttribute("aria-describedby", meaning.id);
    return el("div", { class: "option" }, el("label", { for: input.id }, input, option.number ? el("span", { class: "num", text: String(option.number) }) : null, label, ...chips), meaning);
  }

  definitions() {
    const known = this.options.filter((option) => option.meaning);
    if (!known.length) return null;
    const rows = known.map((option) => el("div", null, el("dt", null, words(option.label)), el("dd", null, words(option.meaning))));
    return el("details", { class: "definitions" }, el("summary", { text: t("work.definitions") }), el("dl", null, ...rows));
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
  const field = textField({ label: t("work.comment"), value: state.comment, set: (text) => changed({ comment: text }) });
  const summary = el("summary", null, el("span", { text: t("work.add_comment") }), " ", key("c"));
  return el("details", { class: "comment", open: Boolean(state.comment) }, summary, field);
}

// The machine's verdict in words, and the question it is answered with first.
export function machine({ verdict, good, types, reason, state, changed, about }) {
  const question = new Question({
    legend: t("machine.question"),
    options: [{ value: "agree", label: t("machine.agree"), keys: ["a"] }, { value: "disagree", label: t("machine.disagree"), keys: ["d"] }],
    value: state.machine,
    pick: (value) => changed({ machine: value }),
    wide: true,
  });
  const node = el(
    "section", { class: "machine", "aria-label": t("machine.title") },
    el("p", { class: "said" }, el("span", { class: "muted", text: `${about} ` }), el("strong", { class: `chip ${good ? "good" : "bad"}` }, verdict)),
    types?.length ? el("p", { class: "small" }, rich("machine.error_type", { types: words(list(types)) })) : null,
    reason ? el("blockquote", null, words(reason)) : null,
    question.node,
    el("p", { class: "small", text: t("machine.note") }),
  );
  return { node, question };
}

// The sets of options that take keys: a task's questions, and on the adjudication page the answers to choose from.
const SETS = "fieldset.question, fieldset.answers";
const visible = (node) => node.getClientRects().length > 0;
const answered = (set) => set.dataset.optional === "yes" || set.querySelector("input:checked") !== null;

// Which option each key chooses is decided here alone, and shown: a chip that can be seen works, and a key without one does nothing.
// The question one is at comes first; any other shows its chips while none of them is taken. A muted one (data-muted) shows none.
export class Chips {
  constructor(root) {
    Object.assign(this, { root, current: null, taken: new Map() });
    root.addEventListener("focusin", ({ target }) => this.enter(target.closest(SETS)));
    new MutationObserver(() => this.allot()).observe(root, { subtree: true, childList: true, attributes: true, attributeFilter: ["hidden", "open", "disabled", "data-muted"] });
    this.allot();
  }

  questions() {
    return [...this.root.querySelectorAll(SETS)].filter((set) => quick.has(set) && visible(set));
  }

  enter(set) {
    if (!set || set === this.current) return;
    this.current = set;
    this.allot();
  }

  allot() {
    const sets = this.questions();
    if (!sets.includes(this.current)) this.current = sets.find((set) => !answered(set)) ?? sets.at(-1) ?? null;
    this.taken = new Map();
    for (const set of [...sets].sort((a, b) => (b === this.current) - (a === this.current))) {
      const chips = quick.get(set);
      const free = !set.dataset.muted && chips.every(({ name, input }) => !this.taken.has(name) && !input.disabled);
      for (const { name, chip, input } of chips) {
        chip.classList.toggle("off", !free);
        if (free) this.taken.set(name, input);
      }
    }
    const before = this.root.querySelector("button.before");
    if (before && before.hidden !== sets.length < 2) before.hidden = sets.length < 2;
  }

  press(name) {
    const input = this.taken.get(name);
    if (!input) return false;
    input.focus({ preventScroll: true });
    if (input.type === "checkbox" || !input.checked) input.click();
    if (input.type === "radio") this.advance();
    return true;
  }

  // To the next question that is open, or to the button that sends.
  advance() {
    const sets = this.questions();
    const next = sets.slice(sets.indexOf(this.current) + 1).find((set) => !answered(set));
    const target = next ? next.querySelector("input") : this.root.querySelector("button.send");
    target?.focus({ preventScroll: true });
    if (next) reveal(next, "nearest");
  }

  // From the button that sends to the question one was at, from there to the one before.
  back() {
    const sets = this.questions();
    const inside = this.current?.contains(document.activeElement);
    const set = sets[sets.indexOf(this.current) - (inside ? 1 : 0)];
    if (!set) return false;
    (set.querySelector("input:checked") ?? set.querySelector("input")).focus({ preventScroll: true });
    reveal(set, "nearest");
    return true;
  }
}

// The keys that choose: all but those that mean something else on every page.
export const CHOOSING = [..."0123456789abdefghjklmqrstvwxyz"];
