// A text whose words can be marked, with a word cursor for keys and taps and the browser's selection for mouse and touch.
import { button, el } from "./dom.js";
import { pieces, Points, tidy, wordsOf } from "./points.js";
import { t } from "./strings.js";

export class SpanText {
  // `mark(start, end)` and `open(index of a span)` are called with code points.
  constructor(text, { mark, open }) {
    this.points = new Points(text);
    this.language = document.documentElement.dataset.texts || "en";
    this.words = wordsOf(text, this.language);
    Object.assign(this, { mark, open, spans: [], current: null, at: 0, anchor: 0, picked: null, extending: false, pointing: false });
    this.node = el("div", {
      class: "marking text", tabindex: "0", role: "application", lang: this.language, dir: "auto",
      "aria-label": t("spans.text"), "aria-roledescription": t("spans.text_role"),
      "aria-describedby": "marking-said",
      on: {
        keydown: (event) => this.pressed(event), focus: () => this.pointing || this.paint(), blur: () => this.paint(),
        click: (event) => this.clicked(event), pointerdown: () => Object.assign(this, { picked: null, pointing: true, marked: false }),
      },
    });
    this.said = el("p", { class: "sr", id: "marking-said", role: "status" });
    this.extend = button(t("spans.extend"), () => this.extendMore(), { class: "plain", "aria-pressed": "false" });
    this.go = button(t("spans.mark_words"), () => this.markChosen(), { class: "plain strong" });
    this.tools = el("div", { class: "row tools" }, this.go, this.extend, this.said);
    this.listen();
  }

  // Listeners on the page are removed with the text. While a pointer is down nothing is rendered again, since that would
  // destroy the selection.
  listen() {
    const stop = new AbortController();
    const selected = () => {
      if (!this.node.isConnected) {
        stop.abort();
        return;
      }
      const range = this.selection();
      if (range) this.picked = range;
      this.tell();
    };
    const released = (event) => {
      this.pointing = false;
      const range = event.pointerType === "mouse" && this.node.isConnected ? this.selection() : null;
      if (!range) return;
      this.marked = true;
      this.markRange(range);
    };
    const options = { signal: stop.signal };
    document.addEventListener("selectionchange", selected, options);
    document.addEventListener("pointerup", released, options);
  }

  selection() {
    const picked = getSelection();
    if (!picked || picked.isCollapsed || picked.rangeCount === 0) return null;
    const range = picked.getRangeAt(0);
    if (!range.intersectsNode(this.node)) return null;
    const whole = document.createRange();
    whole.selectNodeContents(this.node);
    const before = (node, offset) => {
      const place = whole.comparePoint(node, offset);
      if (place < 0) return 0;
      if (place > 0) return this.points.text.length;
      const upto = document.createRange();
      upto.selectNodeContents(this.node);
      upto.setEnd(node, offset);
      return upto.toString().length;
    };
    const start = this.points.toPoint(before(range.startContainer, range.startOffset));
    const end = this.points.toPoint(before(range.endContainer, range.endOffset));
    return tidy(this.points.text, start, end, this.language);
  }

  // The range to mark: the selection, else the words from the anchor to the cursor.
  chosen() {
    if (this.picked) return this.picked;
    if (!this.words.length) return null;
    const [from, to] = [Math.min(this.at, this.anchor), Math.max(this.at, this.anchor)];
    return [this.words[from][0], this.words[to][1]];
  }

  markChosen() {
    const range = this.chosen();
    if (range) this.markRange(range);
  }

  markRange([start, end]) {
    getSelection()?.removeAllRanges();
    this.picked = null;
    // The cursor keeps its position, unless words were marked with the mouse.
    const touched = this.words.flatMap(([from, to], at) => (from < end && start < to ? [at] : []));
    if (touched.length && !touched.includes(this.at)) this.at = touched.at(-1);
    this.anchor = this.at;
    this.extendMore(false);
    this.mark(start, end);
  }

  extendMore(on = !this.extending) {
    this.extending = on;
    this.extend.setAttribute("aria-pressed", String(on));
  }

  clicked(event) {
    // The click at the end of a selection is not a tap on a word.
    if (this.picked || this.marked) return;
    const point = this.under(event);
    if (point === null) return;
    const at = this.words.findIndex(([start, end]) => start <= point && point <= end);
    if (at < 0) return;
    const over = this.spans.findIndex((span) => span.start <= point && point < span.end);
    if (over >= 0 && !this.extending) {
      this.open(over);
      return;
    }
    this.to(at, this.extending);
  }

  under({ clientX, clientY }) {
    const place = document.caretPositionFromPoint?.(clientX, clientY) ?? null;
    const old = place ? null : document.caretRangeFromPoint?.(clientX, clientY);
    const [node, offset] = place ? [place.offsetNode, place.offset] : [old?.startContainer, old?.startOffset];
    if (!node || !this.node.contains(node)) return null;
    const upto = document.createRange();
    upto.selectNodeContents(this.node);
    upto.setEnd(node, offset);
    return this.points.toPoint(upto.toString().length);
  }

  to(at, extend) {
    this.picked = null;
    this.at = Math.min(Math.max(at, 0), this.words.length - 1);
    if (!extend) this.anchor = this.at;
    this.paint();
    this.node.querySelector(".cursor")?.scrollIntoView({ block: "nearest" });
  }

  pressed(event) {
    if (event.altKey || event.metaKey || event.ctrlKey || !this.words.length) return;
    const rightwards = getComputedStyle(this.node).direction !== "rtl";
    const steps = {
      ArrowRight: () => this.at + (rightwards ? 1 : -1), ArrowLeft: () => this.at - (rightwards ? 1 : -1),
      ArrowDown: () => this.line(1), ArrowUp: () => this.line(-1),
      Home: () => 0, End: () => this.words.length - 1,
    };
    const acts = { Enter: () => this.markChosen(), " ": () => this.markChosen(), Escape: () => this.to(this.at, false) };
    if (steps[event.key]) this.to(steps[event.key](), event.shiftKey || this.extending);
    else if (acts[event.key]) acts[event.key]();
    else return;
    event.preventDefault();
  }

  // The word in the line below or above that is nearest to the cursor.
  line(by) {
    const boxes = this.words.map((word) => this.box(word));
    const here = boxes[this.at];
    const beyond = boxes.map((box, at) => [box, at]).filter(([box]) => (by > 0 ? box.top > here.bottom - 2 : box.bottom < here.top + 2));
    if (!beyond.length) return by > 0 ? this.words.length - 1 : 0;
    const top = by > 0 ? Math.min(...beyond.map(([box]) => box.top)) : Math.max(...beyond.map(([box]) => box.top));
    const row = beyond.filter(([box]) => Math.abs(box.top - top) < 4);
    const middle = (box) => (box.left + box.right) / 2;
    return row.reduce((best, one) => (Math.abs(middle(one[0]) - middle(here)) < Math.abs(middle(best[0]) - middle(here)) ? one : best))[1];
  }

  box([start]) {
    let left = this.points.toUnit(start);
    const walker = document.createTreeWalker(this.node, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const { data } = walker.currentNode;
      if (left < data.length) {
        const range = document.createRange();
        range.setStart(walker.currentNode, left);
        range.setEnd(walker.currentNode, Math.min(left + 1, data.length));
        return range.getBoundingClientRect();
      }
      left -= data.length;
    }
    return this.node.getBoundingClientRect();
  }

  // Returns the focus to the words, at the position of the cursor.
  enter() {
    this.node.focus({ preventScroll: true });
    (this.node.querySelector(".cursor") ?? this.node).scrollIntoView({ block: "nearest" });
  }

  draw(spans, current) {
    Object.assign(this, { spans, current });
    this.paint();
  }

  // Classes of a segment: those of its span and of the cursor.
  paint() {
    const live = document.activeElement === this.node || this.extending || this.anchor !== this.at;
    const chosen = live ? this.chosen() : null;
    const ranges = [...this.spans.map(({ start, end }) => [start, end]), ...(chosen ? [chosen] : [])];
    const nodes = pieces(this.points.length, ranges).map(([start, end, over]) => {
      const text = this.points.slice(start, end);
      const span = over.find((index) => index < this.spans.length);
      const cursor = over.includes(this.spans.length);
      if (span === undefined && !cursor) return document.createTextNode(text);
      const names = [cursor && "cursor", span !== undefined && `span-${this.spans[span].kind ?? "open"}`, span === this.current && "here"];
      return el(span === undefined ? "span" : "mark", { class: names.filter(Boolean).join(" "), text });
    });
    this.node.replaceChildren(...(nodes.length ? nodes : [el("em", { text: t("work.empty_summary") })]));
    this.tell();
  }

  tell() {
    const range = this.chosen();
    this.go.disabled = range === null;
    if (!range) return;
    const text = this.points.slice(...range);
    this.go.textContent = t("spans.mark", { words: text.length > 24 ? `${[...text].slice(0, 22).join("")}…` : text });
    if (document.activeElement === this.node) this.said.textContent = text;
  }
}
