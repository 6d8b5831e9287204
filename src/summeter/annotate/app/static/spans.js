// Marking of wrong spans of the summary with their kinds, by mouse, touch or keyboard.
import { button, el, key, words } from "./dom.js";
import { Question, textField } from "./fields.js";
import { Points } from "./points.js";
import { SpanText } from "./span_text.js";
import { rich, t } from "./strings.js";

const overlap = (a, b) => a.start < b.end && b.start < a.end;
const labelOf = (entries, name) => {
  const entry = entries.find((one) => one.name === name);
  return entry?.label || name;
};
const optionsOf = (entries, data) => entries.map(({ name, label, meaning }) => ({ value: name, label: label || name, meaning, data }));
const which = (at) => (at < 5 ? t(`spans.which_${at + 1}`) : t("spans.which_other", { n: at + 1 }));

export class Spans {
  // The value is a list of marks, empty if nothing is wrong, and null if unanswered.
  constructor({ question, value, pick, page }) {
    const { options: kinds, categories } = question;
    const { summary } = page.task.body;
    Object.assign(this, { kinds, categories, pick, say: page.say, value: null, open: null, several: categories.length > 1, points: new Points(summary.text) });
    this.list = el("ol", { class: "spans" });
    const category = this.several ? null : (categories[0]?.name ?? null);
    this.text = new SpanText(summary.text, {
      mark: (start, end) => this.add({ start, end, kind: null, category, reason: null }),
      open: (at) => this.edit(at),
    });
    this.none = new Question({
      legend: t("spans.or_nothing"), many: true, value: null,
      options: [{ value: true, label: t("spans.nothing"), keys: ["0"] }],
      pick: (chosen) => {
        if (chosen.length && this.spans.length) {
          this.none.set([]);
          this.say(t("spans.marked_first"), this.none.node);
          return;
        }
        this.change(chosen.length ? [] : null);
      },
    });
    this.none.node.dataset.optional = "yes";
    const ways = el(
      "details", { class: "definitions", open: true }, el("summary", { text: t("spans.ways") }),
      el("p", { class: "small" }, rich("spans.how", { left: key("←"), right: key("→"), shift: key("Shift"), enter: key("Enter") })),
    );
    const marking = el("section", { class: "summary" }, el("h2", { id: "marking", text: t("work.summary") }), this.text.node, this.text.tools);
    this.node = el("div", null, marking, ways, this.list, this.none.node);
    this.set(value);
  }

  get spans() {
    return this.value ?? [];
  }

  quote({ start, end }) {
    return this.points.slice(start, end);
  }

  // An incomplete mark is opened for editing.
  set(value) {
    this.value = value;
    const at = this.incomplete();
    this.open = at < 0 ? null : at;
    this.redraw();
  }

  change(value) {
    this.value = value;
    this.pick(value);
  }

  add(span) {
    const other = this.spans.find((one) => overlap(one, span));
    if (other) {
      this.say(t("spans.touches", { words: this.quote(other) }), this.text.node);
      return;
    }
    this.change([...this.spans, span].sort((a, b) => a.start - b.start));
    this.open = this.spans.indexOf(span);
    this.redraw();
    this.edit(this.open);
  }

  update(at, patch) {
    this.change(this.spans.map((span, index) => (index === at ? { ...span, ...patch } : span)));
    this.list.children[at]?.querySelector(".what")?.replaceChildren(...this.what(this.spans[at]));
    this.text.draw(this.spans, this.open);
  }

  edit(at) {
    if (this.open !== at) {
      this.open = at;
      this.redraw();
    }
    this.list.children[at]?.querySelector("input:checked, input")?.focus({ preventScroll: true });
    this.list.children[at]?.scrollIntoView({ block: "start" });
  }

  remove(at) {
    const left = this.spans.filter((_, index) => index !== at);
    this.change(left.length ? left : null);
    this.close();
  }

  close() {
    this.open = null;
    this.redraw();
    this.text.enter();
  }

  what(span) {
    const place = this.kinds.findIndex(({ name }) => name === span.kind);
    return [
      el("span", { class: `chip ${place < 0 ? "none" : place === 0 ? "bad" : "pad"}` }, place < 0 ? t("spans.no_kind") : labelOf(this.kinds, span.kind)),
      span.category ? el("span", { class: "chip plain-value" }, words(labelOf(this.categories, span.category))) : this.several ? el("span", { class: "chip none", text: t("spans.no_category") }) : null,
    ].filter(Boolean);
  }

  item(span, at) {
    const open = this.open === at;
    const quoted = this.quote(span);
    const head = el("div", { class: "span-head" }, el("p", { class: "quoted" }, words(quoted)), el("div", { class: "what" }, ...this.what(span)), el(
      "div", { class: "row" },
      open ? null : button(t("spans.edit"), () => this.edit(at), { class: "plain edit", "aria-label": t("spans.edit_words", { words: quoted }) }),
      button(t("spans.delete"), () => this.remove(at), { class: "plain", "aria-label": t("spans.delete_words", { words: quoted }) }),
    ));
    return el("li", { class: open ? "span-item open" : "span-item" }, head, open ? this.editor(span, at) : null);
  }

  editor(span, at) {
    const kind = new Question({
      legend: t("spans.kind"), wide: true, value: span.kind, options: optionsOf(this.kinds, false),
      pick: (value) => this.update(at, { kind: value }),
    });
    const category = this.several ? new Question({
      legend: t("spans.category"), value: span.category, from: this.kinds.length + 1, options: optionsOf(this.categories, true),
      pick: (value) => this.update(at, { category: value }),
    }) : null;
    const reason = textField({ label: t("work.why"), value: span.reason, set: (value) => this.update(at, { reason: value }) });
    return el("div", { class: "editor" }, kind.node, category?.node, reason, button(t("spans.more"), () => this.close(), { class: "plain" }));
  }

  redraw() {
    const { node } = this.none;
    this.list.replaceChildren(...this.spans.map((span, at) => this.item(span, at)));
    this.list.hidden = this.spans.length === 0;
    this.none.set(this.value?.length === 0 ? [true] : []);
    if (this.spans.length) node.dataset.muted = "yes";
    else delete node.dataset.muted;
    this.text.draw(this.spans, this.open);
  }

  keys() {
    return [{ keys: [], shown: ["←", "→", "Shift", "Enter"], does: t("keys.mark"), act: () => false }];
  }

  incomplete() {
    return this.spans.findIndex((span) => !span.kind || (this.several && !span.category));
  }

  lacks() {
    const at = this.incomplete();
    if (at >= 0) {
      const item = this.list.children[at];
      const message = this.several ? t("spans.need_category", { which: which(at) }) : t("spans.need_kind", { which: which(at) });
      return { message, node: item, act: () => item.querySelector("button.edit")?.click() };
    }
    return this.value === null ? { message: t("spans.need_mark"), node: this.text.node } : null;
  }

  focus() {
    this.text.enter();
  }
}
