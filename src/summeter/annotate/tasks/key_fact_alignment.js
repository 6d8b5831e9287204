// Which sentences of a summary speak of this key fact? Beside it, on a wide window, the grid of all key facts of the summary.
import { button, el, words } from "./dom.js";
import { comment, machine, Question } from "./fields.js";
import { Points } from "./points.js";
import { list, number, t } from "./strings.js";

const same = (a, b) => a.length === b.length && a.every((one) => b.includes(one));

export default {
  title: t("key_fact_alignment.title"),

  blank: () => ({ machine: null, sentences: [], none: false, comment: null }),

  draw({ task, state, changed, siblings, visit }) {
    const { summary, key_fact } = task.body;
    const shown = task.assistance?.machine ?? null;
    const points = new Points(summary.text);
    const sentences = new Question({
      legend: t("key_fact_alignment.sentences"),
      hint: t("key_fact_alignment.hint"),
      many: true,
      options: summary.sentences.map(([start, end], at) => ({ value: at, label: points.slice(start, end), number: at + 1, data: true })),
      value: state.sentences,
      pick: (values) => settle({ sentences: values, none: values.length ? false : state.none }, true),
    });
    sentences.node.classList.add("sentences");
    const none = new Question({
      legend: t("key_fact_alignment.or_none"),
      options: [{ value: true, label: t("key_fact_alignment.none"), keys: ["0"] }],
      many: true,
      value: state.none ? [true] : [],
      pick: (values) => settle({ none: values.length > 0, sentences: values.length ? [] : state.sentences }, true),
    });
    none.node.dataset.optional = "yes";
    const verdict = shown && machine({
      about: t("key_fact_alignment.machine"), verdict: told(shown.sentences), good: shown.sentences.length > 0, reason: shown.reason, state,
      changed: ({ machine: value }) => {
        const taken = value === "agree" ? { sentences: [...shown.sentences], none: shown.sentences.length === 0 } : {};
        const dropped = value === "disagree" && same(state.sentences, shown.sentences) ? { sentences: [], none: false } : {};
        settle({ machine: value, ...taken, ...dropped }, false);
      },
    });

    function settle(patch, byHand) {
      const next = { ...state, ...patch };
      if (byHand && shown && (next.none || next.sentences.length)) {
        patch = { ...patch, machine: same(next.sentences, shown.sentences) ? "agree" : "disagree" };
      }
      changed(patch);
      sentences.set(state.sentences);
      none.set(state.none ? [true] : []);
      verdict?.question.set(state.machine);
    }

    const fact = el("section", { class: "summary" }, el("h2", { text: t("work.key_fact") }), el("p", { class: "text" }, words(key_fact)));
    return el("div", null, fact, verdict?.node, sentences.node, none.node, grid(task, siblings, visit), comment(state, changed));
  },

  missing(task, state, root) {
    if (task.assistance?.machine && !state.machine) {
      return { message: t("machine.question"), node: root.querySelector("fieldset.question") };
    }
    if (!state.none && !state.sentences.length) {
      return { message: t("key_fact_alignment.need_sentences"), node: root.querySelector("fieldset.sentences") };
    }
    return null;
  },

  answer: (task, state) => ({
    machine: task.assistance?.machine ? state.machine : null,
    sentences: [...state.sentences].sort((a, b) => a - b),
    none: state.none,
    comment: state.comment,
  }),
};

const told = (indexes) => (indexes.length
  ? t("key_fact_alignment.machine_sentences", { n: indexes.length, numbers: list(indexes.map((at) => number(at + 1))) })
  : t("key_fact_alignment.machine_none"));

// Key facts of the same summary against its sentences, as far as they are answered; a row leads to its task.
function grid(task, siblings, visit) {
  const rows = siblings.filter((one) => one.task.body.summary.text === task.body.summary.text && one.task.document === task.document);
  if (rows.length < 2) return null;
  const count = task.body.summary.sentences.length;
  const cells = (answer) => Array.from({ length: count }, (_, at) => {
    const on = answer?.sentences.includes(at);
    return el("td", { class: on ? "on" : answer ? "off" : "open" }, el("span", { class: "sr", text: on ? t("key_fact_alignment.aligned") : answer ? t("key_fact_alignment.not_aligned") : t("key_fact_alignment.not_answered") }));
  });
  const head = Array.from({ length: count }, (_, at) => el("th", { scope: "col" }, el("span", { class: "sr", text: `${t("key_fact_alignment.sentence")} ` }), number(at + 1)));
  const body = rows.map(({ task: one, answer, number: place }) => {
    const here = one.id === task.id;
    const fact = here ? words(one.body.key_fact) : button("", () => visit(one.id), { class: "link" });
    if (!here) fact.append(words(one.body.key_fact));
    return el("tr", { class: here ? "here" : null }, el("th", { scope: "row", "aria-current": here ? "true" : null }, el("span", { class: "num", text: number(place) }), fact), ...cells(answer));
  });
  return el(
    "section", { class: "grid" },
    el("h2", { text: t("key_fact_alignment.grid", { n: rows.length }) }),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": t("key_fact_alignment.grid_label") },
      el("table", null, el("thead", null, el("tr", null, el("td"), ...head)), el("tbody", null, ...body))),
  );
}
