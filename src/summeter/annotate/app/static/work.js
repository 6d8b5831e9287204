// A sequence of tasks with drafts, timing, sending and going back, used by batches, training and the preview.
import { button, el, key, reveal } from "./dom.js";
import { Chips, CHOOSING } from "./fields.js";
import { Source } from "./pane.js";
import { Answers } from "./answers.js";
import { backwards, number, t } from "./strings.js";

const IDLE = 60000;

export class Work {
  // `host` provides app, shell, keys, drafts; answerOf(task), send(task, answer, seconds), optionally waits(task) and opened(task), and past(), which
  // shows the page after the last task. `what` names the counted answers; `verb` is the key of the text of the send button.
  constructor(host, { tasks, documents, what, verb, back = true, frozen = null }) {
    Object.assign(this, { host, tasks, documents, what, verb, back, frozen, at: -1, state: null, seconds: 0, awake: Date.now(), busy: false });
    this.stop = new AbortController();
    const options = { signal: this.stop.signal, passive: true };
    for (const name of ["pointerdown", "pointermove", "keydown", "scroll", "touchstart"]) {
      document.addEventListener(name, () => { this.awake = Date.now(); }, { ...options, capture: true });
    }
    this.timer = setInterval(() => this.tick(), 250);
    this.last = Date.now();
  }

  leave() {
    this.stop.abort();
    clearInterval(this.timer);
    this.host.keys.use("task", []);
  }

  get task() {
    return this.tasks[this.at];
  }

  // Rendering of a task, its missing answers, and its answer.
  get questions() {
    return this.host.app.form;
  }

  answered() {
    return this.tasks.filter((task) => this.host.answerOf(task) !== null).length;
  }

  // Time counts while the page is visible and the person is active.
  tick() {
    const now = Date.now();
    const step = Math.min(now - this.last, 1000);
    this.last = now;
    if (document.visibilityState !== "visible" || now - this.awake > IDLE) return;
    this.seconds += step / 1000;
    this.gate();
  }

  first() {
    const open = this.tasks.findIndex((task) => this.host.answerOf(task) === null);
    if (open < 0) this.host.past();
    else this.visit(open);
  }

  visit(at) {
    if (at < 0 || at >= this.tasks.length) return false;
    this.at = at;
    const { task } = this;
    const draft = this.host.drafts.read(task);
    this.seconds = draft?.seconds ?? 0;
    this.state = { ...this.questions.blank(), ...(this.host.answerOf(task) ?? {}), ...(draft?.state ?? {}) };
    this.draw();
    this.host.opened?.(task);
    return true;
  }

  // Text of the send button and description of its key.
  saying() {
    return { button: t(this.verb), key: t(`${this.verb}_key`) };
  }

  // Renders the task with its current answer and, for an adjudicator, the annotators' answers.
  body() {
    const { task, host } = this;
    const siblings = this.tasks.map((one, at) => ({ task: one, number: at + 1, answer: host.answerOf(one) }));
    const body = this.questions.draw({
      task, state: this.state, siblings,
      changed: (patch) => this.changed(patch),
      visit: (id) => this.visit(this.tasks.findIndex((one) => one.id === id)),
      say: (text, node) => this.want(text, node),
    });
    this.given = task.answers ? new Answers(task.answers, (answer) => this.take(answer)) : null;
    if (this.given) {
      const shown = body.querySelector(".summary, .sides");
      if (shown) shown.after(this.given.node);
      else body.prepend(this.given.node);
      this.given.set(this.questions.answer(task, this.state));
    }
    return body;
  }

  // Replaces the content of the form by an annotator's answer, except the comment.
  take(answer) {
    this.state = { ...this.questions.blank(), ...answer, comment: this.state.comment };
    this.form.firstElementChild.replaceWith(this.body());
    this.changed({});
    this.given.question.focus();
  }

  draw() {
    const { task, host } = this;
    const body = this.body();
    this.source = new Source(this.documents[task.document], task.assistance?.similar ?? []);
    this.send = el("button", { type: "submit", class: "main send" }, el("span", { text: this.saying().button }), " ", key("Enter"));
    this.wanting = el("p", { class: "wanting-text", role: "alert" });
    this.pace = el("p", { class: "small pace" });
    const before = button(`${t("work.question_before")} `, () => this.chips.back(), { class: "plain before" });
    before.append(key("Backspace"));
    const row = el("div", { class: "send-row" }, this.back ? this.turning() : null, before, this.wanting, this.pace, this.send);
    const form = el("form", { class: "task", novalidate: true, autocomplete: "off", on: { submit: (event) => this.submit(event) } }, body, row);
    this.form = form;
    const desk = el("div", { class: `desk ${task.task_type}` }, this.source.node, form);
    const place = t("work.title", { n: this.at + 1, total: this.tasks.length, title: this.questions.title });
    host.shell.show(place, this.earlier(), desk, this.back ? this.list() : null).className = "ask";
    host.shell.place(this.at + 1, this.tasks.length, this.answered(), this.what);
    this.chips = new Chips(form);
    host.keys.use("task", this.keys());
    this.gate();
  }

  // Shown above a task that was already answered.
  earlier() {
    const { host, task } = this;
    if (host.answerOf(task) === null) return null;
    return el("p", { class: "earlier" }, ...(host.earlier?.(task) ?? [host.waits?.(task) ? t("work.unsent") : t("work.saved")]));
  }

  turning() {
    const back = button("", () => this.visit(this.at - 1), { class: "plain", "aria-label": t("work.previous_task"), disabled: this.at === 0 });
    back.append(`${backwards} `, key("["));
    return back;
  }

  list() {
    const items = this.tasks.map((task, at) => {
      const done = this.host.answerOf(task) !== null;
      const state = this.host.waits?.(task) ? "unsent" : done ? "answered" : "open";
      const names = ["dot", done && "done", this.host.waits?.(task) && "unsent", at === this.at && "here"].filter(Boolean).join(" ");
      return el("li", null, button(number(at + 1), () => this.visit(at), {
        class: names, "aria-label": t(`work.task_${state}`, { n: at + 1 }), "aria-current": at === this.at ? "true" : null,
      }));
    });
    return el("nav", { class: "dots", "aria-label": t("work.tasks") }, el("ol", null, ...items));
  }

  // Updates only the status of answers, since acknowledgements arrive during the work.
  refresh() {
    if (!this.form?.isConnected) return;
    const main = this.host.shell.main;
    const nav = main.querySelector("nav.dots");
    if (nav && !nav.contains(document.activeElement)) nav.replaceWith(this.list());
    const said = main.querySelector(".earlier");
    const now = this.earlier();
    if (said && now) said.replaceWith(now);
    this.host.shell.place(this.at + 1, this.tasks.length, this.answered(), this.what);
  }

  changed(patch) {
    Object.assign(this.state, patch);
    this.wanting.textContent = "";
    this.given?.set(this.questions.answer(this.task, this.state));
    if (!this.frozen) this.host.drafts.write(this.task, this.state, this.seconds);
  }

  keys() {
    const go = (at) => () => (this.back && !this.busy ? this.visit(at) : false);
    return [
      { keys: CHOOSING, shown: ["1", "…", "9"], does: t("keys.choose"), act: (_, name) => this.chips.press(name) },
      { keys: ["Backspace"], does: t("keys.back"), act: () => this.chips.back() },
      ...this.questions.keys(),
      ...this.source.keys(),
      ...(this.form.querySelector("details.comment") ? [{ keys: ["c"], does: t("keys.comment"), act: () => this.comment() }] : []),
      { keys: ["Enter", "Ctrl+Enter"], does: t("keys.send", { button: this.saying().key }), act: (event) => this.enter(event) },
      ...(this.back ? [
        { keys: ["["], does: t("keys.previous_task"), act: () => go(this.at - 1)() },
        { keys: ["]"], does: t("keys.next_task"), act: () => go(this.at + 1)() },
        { keys: ["u"], does: t("keys.undo"), act: () => this.undo() },
      ] : []),
    ];
  }

  enter(event) {
    // Enter keeps its meaning on buttons, links and folded text, and in forms.
    const own = event.target instanceof Element && event.target.closest("button, a, summary, form input");
    if (event.key === "Enter" && own && !event.ctrlKey) return false;
    this.form.requestSubmit();
    return true;
  }

  comment() {
    const fold = this.form.querySelector("details.comment");
    fold.open = true;
    fold.querySelector("textarea").focus();
    return true;
  }

  undo() {
    if (this.sent === undefined) return false;
    return this.visit(this.tasks.findIndex((task) => task.id === this.sent));
  }

  // Shows the minimum time of a task, and enables the button when it has passed.
  gate() {
    if (!this.send || !this.task || this.busy) return;
    const left = Math.ceil(this.task.minimum_seconds - this.seconds);
    const early = left > 0 && !this.frozen;
    const text = early ? t("work.pace", { n: left }) : "";
    if (this.pace.textContent !== text) this.pace.textContent = text;
    this.send.setAttribute("aria-disabled", String(early));
  }

  want(message, node) {
    this.wanting.textContent = "";
    this.wanting.textContent = message;
    if (!node) return;
    this.form.querySelectorAll(".wanting").forEach((one) => one.classList.remove("wanting"));
    node.classList.add("wanting");
    (node.querySelector("input, textarea") ?? node).focus?.({ preventScroll: true });
    reveal(node, "nearest");
  }

  async submit(event) {
    event.preventDefault();
    if (this.busy) return;
    if (this.frozen) {
      this.want(this.frozen, null);
      return;
    }
    const { task, state } = this;
    const missing = this.questions.missing(task, state);
    if (missing) {
      missing.act?.();
      this.want(missing.message, missing.node);
      return;
    }
    const left = Math.ceil(task.minimum_seconds - this.seconds);
    if (left > 0) {
      this.want(t("work.too_soon", { n: left }), null);
      return;
    }
    this.busy = true;
    this.send.setAttribute("aria-disabled", "true");
    try {
      this.sent = task.id;
      await this.host.send(task, this.questions.answer(task, state), Math.round(this.seconds * 10) / 10);
    } finally {
      this.busy = false;
    }
  }
}
