// Form fields that are answered by mouse, by touch, or with one key per option.
import { el, fresh, key, reveal, words } from "./dom.js";
import { list, number, rich, t } from "./strings.js";

const quick = new WeakMap();

// options: [{value, label, meaning?, number?, keys?}]. One can be chosen, or several if `many`. `pick` receives the value or list.
// Options without `keys` have the digits from `from` to 9 in order.
export class Question {
  constructor({ legend, hint, options, many = false, value, pick, wide = false, data = false, own = false, from = 1 }) {
    Object.assign(this, { many, pick, options });
    const name = fresh("question");
    this.inputs = options.map((option) => el("input", { type: many ? "checkbox" : "radio", name, id: fresh("option") }));
    const chips = options.map((option, at) => (option.keys ?? (at + from <= 9 ? [String(at + from)] : [])).map(key));
    const rows = options.map((option, at) => this.row(option, this.inputs[at], chips[at], data));
    this.node = frame({ legend, hint, own, wide }, el("div", { class: "options" }, ...rows), this.definitions());
    this.inputs.forEach((input) => input.addEventListener("change", () => this.chosen()));
    if (many) this.node.addEventListener("keydown", (event) => this.walk(event));
    quick.set(this.node, chips.flatMap((list, at) => list.map((chip) => ({ name: chip.textContent, chip, input: this.inputs[at] }))));
    this.set(value);
  }

  row(option, input, chips, data) {
    const label = data || option.data ? words(option.label) : el("span", { text: option.label });
    const meaning = option.meaning ? el("span", { class: "meaning", id: `${input.id}-meaning` }, words(option.meaning)) : null;
    if (meaning) input.setAttribute("aria-describedby", meaning.id);
    return el("div", { class: "option" }, el("label", { for: input.id }, input, option.number === undefined ? null : el("span", { class: "num", text: number(option.number) }), label, ...chips), meaning);
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

// The frame of a question. Additional questions of a campaign are in the language of its texts.
function frame({ legend, hint, own = false, wide = false }, ...children) {
  const told = hint ? el("p", { class: "hint", id: fresh("hint") }, own ? words(hint) : hint) : null;
  return el(
    "fieldset", { class: wide ? "question wide" : "question", "aria-describedby": told?.id },
    el("legend", { id: fresh("legend") }, typeof legend === "string" ? el("span", { text: legend }) : legend), told, ...children,
  );
}

// A scale as labelled points or as a slider. The key of a point is its value if that is a digit, else its position.
export function onScale({ scale, ...about }) {
  if (scale.show === "slider") return new Slider({ scale, ...about });
  const digits = scale.points.every(({ value }) => Number.isInteger(value) && value >= 0 && value <= 9);
  const options = scale.points.map(({ value, label }, at) => ({ value, label, number: value, data: true, keys: digits ? [String(value)] : at < 9 ? [String(at + 1)] : [] }));
  const question = new Question({ ...about, options, wide: true });
  question.node.classList.add("scale");
  return question;
}

// A slider has no value until it is moved, clicked or confirmed with the space bar.
export class Slider {
  constructor({ legend, hint, scale, value, pick, own }) {
    const { low, high, step, anchors } = scale;
    Object.assign(this, { pick, middle: low + Math.round((high - low) / step / 2) * step });
    this.output = el("output", { class: "slider-value" });
    this.range = el("input", { type: "range", min: low, max: high, step });
    this.node = frame(
      { legend, hint, own },
      el(
        "div", { class: "slider" }, this.range, this.output,
        el("div", { class: "ends small" }, ...["low", "middle", "high"].map((end) => el("span", null, end === "middle" ? null : number(scale[end]), end !== "middle" && anchors[end] ? " " : null, words(anchors[end])))),
      ),
    );
    this.node.classList.add("sliding");
    this.range.setAttribute("aria-labelledby", this.node.querySelector("legend").id);
    this.range.addEventListener("input", () => this.chosen());
    this.range.addEventListener("click", () => this.chosen());
    this.range.addEventListener("keydown", (event) => {
      if (event.key !== " " || event.ctrlKey || event.altKey) return;
      event.preventDefault();
      this.chosen();
    });
    quick.set(this.node, []);
    this.set(value);
  }

  set(value) {
    this.range.value = value ?? this.middle;
    this.tell(value ?? null);
  }

  tell(value) {
    const text = value === null ? t("questions.unset") : number(value);
    this.output.textContent = text;
    this.range.setAttribute("aria-valuetext", text);
    this.node.dataset.answered = value === null ? "no" : "yes";
  }

  chosen() {
    const value = Number(this.range.value);
    this.node.classList.remove("wanting");
    this.tell(value);
    this.pick(value);
  }

  focus() {
    this.range.focus({ preventScroll: true });
    reveal(this.node, "nearest");
  }
}

// A text field.
export class TextQuestion {
  constructor({ legend, hint, value, pick, most, own }) {
    this.box = el("textarea", { rows: 2, maxlength: most, dir: "auto" });
    this.node = frame({ legend, hint, own }, el("div", { class: "field" }, this.box));
    this.box.setAttribute("aria-labelledby", this.node.querySelector("legend").id);
    this.box.addEventListener("input", () => {
      const text = this.box.value.trim() === "" ? null : this.box.value;
      this.node.classList.remove("wanting");
      this.node.dataset.answered = text === null ? "no" : "yes";
      pick(text);
    });
    quick.set(this.node, []);
    this.set(value);
  }

  set(value) {
    this.box.value = value ?? "";
    this.node.dataset.answered = value === null || value === undefined ? "no" : "yes";
  }

  focus() {
    this.box.focus({ preventScroll: true });
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

// The machine verdict, and the question whether the annotator agrees.
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

// The groups of options that have keys: the questions of a task and, for an adjudicator, the answers.
const SETS = "fieldset.question, fieldset.answers";
const FIELD = "input, textarea";
const visible = (node) => node.getClientRects().length > 0;
const answered = (set) => set.dataset.optional === "yes" || set.dataset.answered === "yes" || set.querySelector("input:checked") !== null;

// Assigns keys to options. A key works if and only if its chip is solid; dotted chips work once their question is current.
// The current question has priority; others have keys if none is in use. Muted questions (data-muted) have none.
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
    for (const set of this.order(sets)) {
      set.classList.toggle("here", sets.length > 1 && set === this.current);
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

  // After a question without keys (a slider or a text), the following questions have priority.
  order(sets) {
    const at = sets.indexOf(this.current);
    if (at >= 0 && quick.get(this.current).length === 0) return [...sets.slice(at), ...sets.slice(0, at)];
    return [...sets].sort((a, b) => (b === this.current) - (a === this.current));
  }

  press(name) {
    const input = this.taken.get(name);
    if (!input) return false;
    input.focus({ preventScroll: true });
    if (input.type === "checkbox" || !input.checked) input.click();
    if (input.type === "radio") this.advance();
    return true;
  }

  // Moves to the next open question, or to the send button. An adopted answer leaves no question open.
  advance() {
    const sets = this.questions();
    const next = this.current?.matches(".answers") ? undefined : sets.slice(sets.indexOf(this.current) + 1).find((set) => !answered(set));
    const target = next ? next.querySelector(FIELD) : this.root.querySelector("button.send");
    target?.focus({ preventScroll: true });
    if (next) reveal(next, "nearest");
  }

  // Moves from the send button to the last question, and from there to the previous one.
  back() {
    const sets = this.questions();
    const inside = this.current?.contains(document.activeElement);
    const set = sets[sets.indexOf(this.current) - (inside ? 1 : 0)];
    if (!set) return false;
    (set.querySelector("input:checked") ?? set.querySelector(FIELD)).focus({ preventScroll: true });
    reveal(set, "nearest");
    return true;
  }
}

// The keys for options: all except those with another meaning.
export const CHOOSING = [..."0123456789abdefghjklmqrstvwxyz"];
