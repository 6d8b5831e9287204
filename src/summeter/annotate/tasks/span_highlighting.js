// Which words of a summary are inconsistent with the document? Marked by mouse, by touch, or with a word cursor and the keys.
import { button, el, key, words } from "./dom.js";
import { comment, Question, textField } from "./fields.js";
import { Points } from "./points.js";
import { SpanText } from "./span_text.js";
import { rich, t } from "./strings.js";

const overlap = (a, b) => a.start < b.end && b.start < a.end;

export default {
  title: t("span_highlighting.title"),

  blank: () => ({ spans: [], none: false, open: null, comment: null }),

  draw({ task, state, changed, say }) {
    const { summary, kinds, categories } = task.body;
    const points = new Points(summary.text);
    const list = el("ol", { class: "spans" });
    const quote = ({ start, end }) => points.slice(start, end);
    const several = categories.length > 1;

    const text = new SpanText(summary.text, {
      mark: (start, end) => add({ start, end, kind: null, category: several ? null : (categories[0]?.name ?? null), reason: null }),
      open: (at) => edit(at),
    });
    const none = new Question({
      legend: t("span_highlighting.or_nothing"),
      options: [{ value: true, label: t("span_highlighting.nothing"), keys: ["0"] }],
      many: true,
      value: state.none ? [true] : [],
      pick: (values) => {
        if (values.length && state.spans.length) {
          none.set([]);
          say(t("span_highlighting.marked_first"), none.node);
          return;
        }
        changed({ none: values.length > 0 });
      },
    });
    none.node.dataset.optional = "yes";

    function add(span) {
      const other = state.spans.find((one) => overlap(one, span));
      if (other) {
        say(t("span_highlighting.touches", { words: quote(other) }), text.node);
        return;
      }
      const spans = [...state.spans, span].sort((a, b) => a.start - b.start);
      changed({ spans, none: false, open: spans.indexOf(span) });
      redraw();
      edit(state.open);
    }

    function update(at, patch) {
      changed({ spans: state.spans.map((span, index) => (index === at ? { ...span, ...patch } : span)) });
      list.children[at]?.querySelector(".what")?.replaceChildren(...what(state.spans[at]));
      text.draw(state.spans, state.open);
    }

    function edit(at) {
      if (state.open !== at) {
        changed({ open: at });
        redraw();
      }
      list.children[at]?.querySelector("input:checked, input")?.focus({ preventScroll: true });
      list.children[at]?.scrollIntoView({ block: "start" });
    }

    function remove(at) {
      changed({ spans: state.spans.filter((_, index) => index !== at), open: null });
      redraw();
      text.enter();
    }

    const what = (span) => [
      el("span", { class: `chip ${span.kind === null ? "none" : span.kind === "contradicted" ? "bad" : "pad"}` }, span.kind ? t(`span_highlighting.${span.kind}`) : t("span_highlighting.no_kind")),
      span.category ? el("span", { class: "chip plain-value" }, words(labelOf(categories, span.category))) : several ? el("span", { class: "chip none", text: t("span_highlighting.no_category") }) : null,
    ].filter(Boolean);

    function item(span, at) {
      const open = state.open === at;
      const said = el("p", { class: "quoted" }, words(quote(span)));
      const head = el("div", { class: "span-head" }, said, el("div", { class: "what" }, ...what(span)), el(
        "div", { class: "row" },
        open ? null : button(t("span_highlighting.edit"), () => edit(at), { class: "plain edit", "aria-label": t("span_highlighting.edit_words", { words: quote(span) }) }),
        button(t("span_highlighting.delete"), () => remove(at), { class: "plain", "aria-label": t("span_highlighting.delete_words", { words: quote(span) }) }),
      ));
      return el("li", { class: open ? "span-item open" : "span-item" }, head, open ? editor(span, at) : null);
    }

    function editor(span, at) {
      const kind = new Question({
        legend: t("span_highlighting.kind"), wide: true, value: span.kind,
        options: kinds.map(({ name }) => ({ value: name, label: t(`span_highlighting.${name}`), meaning: t(`span_highlighting.${name}_text`) })),
        pick: (value) => update(at, { kind: value }),
      });
      const category = several ? new Question({
        legend: t("span_highlighting.category"), value: span.category, from: kinds.length + 1,
        options: categories.map(({ name, label, meaning }) => ({ value: name, label: label ?? name, meaning, data: true })),
        pick: (value) => update(at, { category: value }),
      }) : null;
      const reason = textField({ label: t("work.why"), value: span.reason, set: (value) => update(at, { reason: value }) });
      return el("div", { class: "editor" }, kind.node, category?.node, reason, button(t("span_highlighting.more"), () => {
        changed({ open: null });
        redraw();
        text.enter();
      }, { class: "plain" }));
    }

    function redraw() {
      list.replaceChildren(...state.spans.map(item));
      list.hidden = state.spans.length === 0;
      none.set(state.none ? [true] : []);
      if (state.spans.length) none.node.dataset.muted = "yes";
      else delete none.node.dataset.muted;
      text.draw(state.spans, state.open);
    }

    redraw();
    const ways = el(
      "details", { class: "definitions", open: true }, el("summary", { text: t("span_highlighting.ways") }),
      el("p", { class: "small" }, rich("span_highlighting.how", { left: key("←"), right: key("→"), shift: key("Shift"), enter: key("Enter") })),
    );
    return el("div", null, el("section", { class: "summary" }, el("h2", { id: "marking", text: t("work.summary") }), text.node, text.tools), ways, list, none.node, comment(state, changed));
  },

  keys: () => [{ keys: [], shown: ["←", "→", "Shift", "Enter"], does: t("keys.mark"), act: () => false }],

  missing(task, state, root) {
    const several = task.body.categories.length > 1;
    const at = state.spans.findIndex((span) => !span.kind || (several && !span.category));
    if (at >= 0) {
      const item = root.querySelector("ol.spans").children[at];
      return { message: several ? t("span_highlighting.need_category", { which: which(at) }) : t("span_highlighting.need_kind", { which: which(at) }), node: item, act: () => item.querySelector("button.edit")?.click() };
    }
    if (!state.spans.length && !state.none) return { message: t("span_highlighting.need_mark"), node: root.querySelector(".marking") };
    return null;
  },

  answer: (task, state) => ({
    spans: state.spans.map(({ start, end, kind, category, reason }) => ({ start, end, kind, category, reason })),
    none: state.spans.length === 0 && state.none,
    comment: state.comment,
  }),
};

const labelOf = (entries, name) => entries.find((one) => one.name === name)?.label ?? name;
const which = (at) => (at < 5 ? t(`span_highlighting.which_${at + 1}`) : t("span_highlighting.which_other", { n: at + 1 }));
