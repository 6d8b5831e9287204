// Texts: the document with highlighted similar sentences, and the summary with one highlighted sentence.
import { button, el, fresh, key, reveal, words } from "./dom.js";
import { pieces, Points } from "./points.js";
import { t } from "./strings.js";

// Returns a text as nodes with marked ranges (in code points); `mark` creates the node of a segment from the indexes of its ranges.
// `sources` are [start, end, title]; each title precedes its source.
export function marked(text, ranges, mark, sources = []) {
  const points = new Points(text);
  return pieces(points.length, [...ranges, ...sources]).flatMap(([start, end, over]) => {
    const part = points.slice(start, end);
    const own = over.filter((index) => index < ranges.length);
    const titles = sources.filter(([at]) => at === start).map(([, , text]) => el("strong", { class: "source-title", text }));
    return [...titles, own.length ? mark(part, own) : document.createTextNode(part)];
  });
}

const reading = (extra = {}) => ({ lang: document.documentElement.dataset.texts, dir: "auto", ...extra });

export function summaryText(summary, current = null) {
  const ranges = current === null ? [] : [summary.sentences[current]];
  const nodes = marked(summary.text, ranges, (part) => el("mark", { class: "current", text: part }));
  const blank = summary.text.trim() === "";
  const node = el("p", reading({ class: current === null ? "text" : "text around" }), blank ? el("em", { text: t("work.empty_summary") }) : nodes);
  if (ranges.length) new ResizeObserver(() => toMark(node)).observe(node);
  return node;
}

// On phones, a long summary is a box that scrolls to its marked sentence.
function toMark(node) {
  node.removeAttribute("tabindex");
  if (node.scrollHeight <= node.clientHeight) return;
  node.tabIndex = 0;
  node.scrollTop = (node.querySelector("mark")?.offsetTop ?? 0) - node.clientHeight / 3;
}

export class Source {
  // `similar`: indexes of document sentences, most similar first; empty without assistance.
  constructor(source, similar = []) {
    this.at = -1;
    this.marks = [];
    const inOrder = similar.filter((index) => source.sentences[index]).sort((a, b) => a - b);
    const ranges = inOrder.map((index) => source.sentences[index]);
    const places = new Map();
    const title = fresh("document");
    const body = el("div", reading({ class: "pane", tabindex: "0", role: "region", "aria-labelledby": title, id: "document" }));
    const nodes = marked(source.text, ranges, (part, over) => {
      const node = el("mark", { class: "similar", tabindex: "-1", text: part });
      if (!places.has(inOrder[over[0]])) places.set(inOrder[over[0]], node);
      return node;
    }, source.sources ?? []);
    this.marks = similar.map((index) => places.get(index)).filter(Boolean);
    body.append(...(source.text.trim() === "" ? [el("em", { text: t("work.empty_document") })] : nodes));
    this.body = body;
    this.place = el("span", { class: "small", role: "status" });
    const jumps = ranges.length === 0 ? null : el(
      "div", { class: "jumps" }, this.place,
      button("", () => this.step(-1), { class: "plain", "aria-label": t("work.previous_similar") }),
      button("", () => this.step(1), { class: "plain", "aria-label": t("work.next_similar") }),
    );
    jumps?.querySelectorAll("button")[0].append("↑ ", key("p"));
    jumps?.querySelectorAll("button")[1].append("↓ ", key("n"));
    const domain = source.domain ? el("span", { class: "tag" }, words(source.domain)) : null;
    // On narrow pages, the title is a button that folds the document.
    const fold = button(t("work.document"), () => {
      fold.setAttribute("aria-expanded", String(!this.node.classList.toggle("folded")));
    }, { class: "fold", "aria-expanded": "true", "aria-controls": "document" });
    const heading = el("h2", { id: title }, el("span", { class: "wide-only", text: t("work.document") }), fold);
    this.node = el("section", { class: "source" }, el("div", { class: "part-head" }, heading, domain, jumps), body);
    this.tell();
  }

  tell() {
    this.place.textContent = this.at < 0 ? t("work.similar", { n: this.marks.length }) : t("work.similar_at", { n: this.at + 1, total: this.marks.length });
  }

  step(by) {
    if (!this.marks.length) return false;
    this.marks[this.at]?.classList.remove("here");
    this.at = this.at < 0 ? (by > 0 ? 0 : this.marks.length - 1) : (this.at + by + this.marks.length) % this.marks.length;
    const mark = this.marks[this.at];
    mark.classList.add("here");
    this.tell();
    // Scrolls only within the pane.
    const wanted = mark.offsetTop - (this.body.clientHeight - mark.offsetHeight) / 2;
    this.body.scrollTop = Math.max(0, wanted);
    return true;
  }

  keys() {
    const list = [{ keys: ["o"], does: t("keys.read"), act: () => this.read() }];
    if (!this.marks.length) return list;
    return [
      { keys: ["n"], does: t("keys.next_similar"), act: () => this.step(1) },
      { keys: ["p"], does: t("keys.previous_similar"), act: () => this.step(-1) },
      ...list,
    ];
  }

  read() {
    if (this.node.classList.contains("folded")) this.node.querySelector(".fold").click();
    reveal(this.body, "nearest");
    this.body.focus();
  }
}
