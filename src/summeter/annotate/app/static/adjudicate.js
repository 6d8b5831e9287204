// Adjudication on the annotator's own page: the task as it was shown, all answers to it side by side, one decision after another.
import { Api, Refusal } from "./api.js";
import { button, byId, el, fresh, key, many, words } from "./dom.js";
import { Question, textField } from "./fields.js";
import { canonical, Drafts, Keep } from "./keep.js";
import { Keys } from "./keys.js";
import { capital, Shell } from "./shell.js";
import { Work } from "./work.js";

// The keys that take an answer: none of them chooses anything in the form of a task.
const TAKING = [..."qwerfghjklsvxyz"];
const LISTED = 20;
const FOLDED = 5;
// What the page says to the researcher is English, around a form in the language of the annotators' pages.
const ENGLISH = { lang: "en", dir: "ltr" };
// The reason of the decision stands among the fields of the draft, under a name that no kind of task has.
const REASON = "reason of the decision";
const FILTERS = {
  open: ["To decide", (task) => task.decided === null],
  decided: ["Decided", (task) => task.decided !== null],
  all: ["All", () => true],
};
const bare = (answer) => canonical({ ...answer, [REASON]: null, machine: null, comment: null });

class Decisions extends Work {
  constructor(host, tasks) {
    super(host, { tasks, documents: {}, what: "decided" });
    Object.assign(this, { named: false, filter: "open", sought: "", shown: LISTED, done: [], ahead: null, turn: 0 });
  }

  // A task comes from the server when it is looked at: by then there may be further answers, or a decision.
  visit(at) {
    return this.host.safely(() => this.look(at));
  }

  async look(at) {
    if (at < 0 || at >= this.tasks.length) return;
    const turn = (this.turn += 1);
    const { id } = this.tasks[at];
    const loaded = await this.load(id);
    if (turn !== this.turn) return;
    this.documents[id] = loaded.document;
    Object.assign(this.tasks[at], loaded, { document: id, unblinded: this.tasks[at].unblinded || this.named });
    super.visit(at);
    const next = this.next();
    this.ahead = next < 0 || this.named ? null : { id: this.tasks[next].id, reply: this.fetch(this.tasks[next].id) };
    this.ahead?.reply.catch(() => { this.ahead = null; });
  }

  saying() {
    return { button: "Decide", key: "decide" };
  }

  fetch(id) {
    return this.host.api.call(`/api/admin/dispute?task=${id}${this.named ? "&named=1" : ""}`);
  }

  load(id) {
    const { ahead } = this;
    this.ahead = null;
    return ahead?.id === id ? ahead.reply : this.fetch(id);
  }

  // The place of the next task to decide, after the one in view; -1 where there is none.
  next() {
    const after = this.tasks.map((_, step) => (this.at + 1 + step) % this.tasks.length);
    return after.find((at) => at !== this.at && this.tasks[at].decided === null) ?? -1;
  }

  // A task is drawn when it is opened: only then is the reason that was given put in, so that one cleared stays cleared.
  draw() {
    if (!(REASON in this.state)) this.state[REASON] = this.task.decided?.reason ?? null;
    super.draw();
  }

  body() {
    const body = super.body();
    // A comment of the adjudicator's is the reason of the decision.
    body.querySelector("details.comment")?.remove();
    const answers = this.answers();
    const shown = body.querySelector(".summary, .sides");
    if (shown) shown.after(answers);
    else body.prepend(answers);
    const reason = textField({ label: "Reason, if you give one", hint: "It stands in the log and in the exported label.", value: this.state[REASON], set: (text) => this.changed({ [REASON]: text }) });
    body.append(el("details", { ...ENGLISH, class: "comment", open: Boolean(this.state[REASON]) }, el("summary", null, el("span", { text: "Give a reason" }), " ", key("c")), reason));
    return body;
  }

  answers() {
    const { task } = this;
    const everywhere = ([name, value]) => task.answers.every(({ parts }) => parts.some((part) => part[0] === name && part[1] === value));
    const row = (part) => el("div", { class: everywhere(part) ? null : "differs" }, el("dt", null, words(part[0])), el("dd", null, words(part[1])));
    const rows = (parts) => el("dl", { class: "parts" }, ...parts.map(row));
    // Many parts that all answers share would hide those in which they differ.
    const shown = (parts) => {
      const shared = parts.filter(everywhere);
      if (shared.length < FOLDED) return [rows(parts)];
      return [rows(parts.filter((part) => !everywhere(part))), el("details", { class: "shared" }, el("summary", { text: `${shared.length} the same in all` }), rows(shared))];
    };
    this.taking = new Question({
      legend: "Take an answer, or give another one below",
      options: task.answers.map(({ annotator }, at) => ({ value: at, label: annotator === null ? `Answer ${at + 1}` : `Answer ${at + 1}: ${annotator}`, keys: TAKING.slice(at, at + 1) })),
      value: this.taken(),
      pick: (at) => this.take(at),
    });
    const { node } = this.taking;
    node.className = "answers";
    node.dataset.optional = "yes";
    node.querySelectorAll(".option").forEach((option, at) => option.append(...shown(task.answers[at].parts)));
    return el("section", { ...ENGLISH, class: "given", "aria-label": "Answers" }, node, this.restore(), this.names());
  }

  // Who answered and whose the summaries are, where that is asked for.
  names() {
    const box = el("input", { type: "checkbox", id: fresh("named"), checked: this.named, on: { change: () => this.unblind(box.checked) } });
    const { names } = this.task;
    const systems = names && (Object.keys(names.letters).length ? Object.entries(names.letters).map(([letter, system]) => `${letter}: ${system}`) : [names.system]);
    return el("p", { class: "small names" }, el("label", { for: box.id }, box, " Show who answered, and which system wrote the summary"),
      systems ? el("span", null, " ", words(`(${systems.filter(Boolean).join(", ")})`)) : null);
  }

  async unblind(on) {
    this.named = on;
    await this.visit(this.at);
    this.form.querySelector(".names input").focus({ preventScroll: true });
  }

  // Which of the answers the form says, if any.
  taken() {
    const now = bare(this.kind.answer(this.task, this.state));
    const at = this.task.answers.findIndex(({ answer }) => bare(answer) === now);
    return at < 0 ? null : at;
  }

  take(at) {
    if (this.busy) return;
    const { task, kind } = this;
    // What was entered here is put aside, not thrown away.
    if (this.taken() === null && bare(this.state) !== bare(kind.blank(task))) this.own = { task, state: this.state };
    this.put({ ...kind.blank(task), ...structuredClone(task.answers[at].answer) });
    this.form.querySelector("fieldset.answers input:checked")?.focus({ preventScroll: true });
  }

  // Another answer in the place of what stands in the form; the reason stays.
  put(answer) {
    this.state = { ...answer, [REASON]: this.state[REASON] };
    this.form.firstElementChild.replaceWith(this.body());
    this.changed({});
  }

  // Back to what was entered before an answer was taken.
  restore() {
    if (this.own?.task !== this.task || this.taken() === null) return null;
    const { state } = this.own;
    return button("Back to what you had entered", () => {
      this.put(state);
      this.taking.focus();
    }, { class: "link" });
  }

  changed(patch) {
    if (this.busy) return;
    super.changed(patch);
    this.taking.set(this.taken());
  }

  // Why the task is here, or how it was decided.
  earlier() {
    const { decided, why, even, document_id: id } = this.task;
    const about = el("span", { class: "small" }, "document ", words(id));
    if (decided === null) return el("p", { ...ENGLISH, class: "differing" }, words(capital(why)), even ? " · no majority" : "", " ", about);
    const back = button("Take it back", () => this.host.safely(() => this.reopen(this.task)), { class: "link" });
    return el("p", { ...ENGLISH, class: "earlier" }, "Decided by ", words(decided.by ?? "–"), ": ", words(decided.text), decided.reason ? el("span", null, " – ", words(decided.reason)) : "",
      ". Another decision takes its place. ", back, " ", about);
  }

  // Every task on which annotators differ or which was decided, those that were decided last first.
  list() {
    const counts = Object.entries(FILTERS).map(([name, [label, fits]]) => button(`${label} (${this.tasks.filter(fits).length})`, () => this.listed({ filter: name, shown: LISTED }),
      { class: "plain", "aria-pressed": String(this.filter === name), "data-filter": name }));
    const search = el("input", { type: "search", id: fresh("search"), autocomplete: "off", dir: "auto" });
    search.value = this.sought;
    this.rows = el("div");
    search.addEventListener("input", () => {
      Object.assign(this, { sought: search.value, shown: LISTED });
      this.fill();
    });
    this.fill();
    return el("nav", { ...ENGLISH, class: "queue", "aria-label": "All tasks" }, el("div", { class: "row" }, ...counts,
      el("span", { class: "field" }, el("label", { for: search.id, text: "Find in texts and documents" }), search)), this.rows);
  }

  listed(change) {
    Object.assign(this, change);
    const nav = this.host.shell.main.querySelector("nav.queue");
    nav.replaceWith(this.list());
    this.host.shell.main.querySelector(`nav.queue [data-filter="${this.filter}"]`).focus({ preventScroll: true });
  }

  fill() {
    const fits = FILTERS[this.filter][1];
    const sought = this.sought.trim().toLowerCase();
    const found = this.tasks.map((task, at) => ({ task, at })).filter(({ task }) => fits(task) && `${task.text} ${task.document_id}`.toLowerCase().includes(sought));
    if (this.filter === "decided") found.sort((a, b) => b.task.decided.at - a.task.decided.at);
    const items = found.slice(0, this.shown).map(({ task, at }) => el("li", null, el(
      "button", { type: "button", class: "item", "aria-current": at === this.at ? "true" : null, on: { click: () => this.visit(at) } },
      el("span", { class: "num", text: String(at + 1) }), el("span", { class: "excerpt" }, words(task.text)),
      el("span", { class: `small ${task.decided ? "settled" : ""}` }, words(task.decided ? task.decided.text : task.why), " · ", words(task.document_id)))));
    const more = found.length - items.length;
    this.rows.replaceChildren(...[
      items.length ? el("ol", null, ...items) : el("p", { class: "muted", role: "status", text: "No task here." }),
      more > 0 ? button(`Show ${Math.min(more, LISTED)} more of ${more}`, () => { this.shown += LISTED; this.fill(); this.rows.querySelectorAll("button.item")[items.length].focus(); }, { class: "plain more" }) : null,
    ].filter(Boolean));
  }

  keys() {
    return super.keys().map((one) => (one.keys.includes("u") ? { ...one, does: "take back the decision you made last, and look at it again" } : one));
  }

  undo() {
    const last = this.done.at(-1);
    if (!last || this.busy) return false;
    this.host.safely(() => this.reopen(last, true));
    return true;
  }

  // What was decided is undecided again, or, with `restore`, as it was decided before; it stands in the form, to be mended.
  async reopen(task, restore = false) {
    this.busy = true;
    try {
      const { decided, answer } = task;
      const reply = await this.host.api.call("/api/admin/reopen", { task: task.id, follows: decided.seq, restore });
      this.done = this.done.filter((one) => one !== task);
      Object.assign(task, { decided: reply.decided, answer: reply.answer });
      this.host.drafts.write(task, { ...answer, [REASON]: decided.reason }, 0);
      this.ahead = null;
      await this.look(this.tasks.indexOf(task));
      this.host.shell.say("The decision is taken back.");
    } finally {
      this.busy = false;
    }
  }
}

class Adjudication {
  constructor(session, tasks, api) {
    this.api = api;
    this.shell = new Shell();
    const keep = new Keep(session.campaign.name, "/adjudication");
    this.drafts = new Drafts(keep);
    this.keys = new Keys(keep);
    this.keys.use("page", [
      { keys: ["i"], does: "show or hide the instructions", act: () => this.shell.toggle() },
      { keys: ["?"], does: "this list", act: () => this.keys.help() },
    ]);
    byId("open-help").onclick = () => this.keys.help();
    byId("who").textContent = "Adjudication";
    this.work = new Decisions(this, tasks);
  }

  answerOf(task) {
    return task.decided === null ? null : task.answer ?? {};
  }

  waits() {
    return false;
  }

  opened() {}

  // Says what went wrong, and leaves everything on the page as it is.
  async safely(act) {
    this.shell.quiet("trouble");
    try {
      await act();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.shell.notice("trouble", `${capital(error.message)}.`, { bad: true });
    }
  }

  async send(task, answer) {
    const { work } = this;
    const reason = work.state[REASON];
    const { [REASON]: _, ...given } = { ...answer, comment: null };
    const body = { task: task.id, answer: given, reason, blind: !task.unblinded, follows: task.decided?.seq ?? 0 };
    await this.safely(async () => {
      let reply = null;
      try {
        reply = await this.api.call("/api/admin/adjudicate", body);
      } catch (error) {
        if (error.code === "overtaken") await this.overtaken(task);
        throw error;
      }
      this.drafts.forget(task);
      Object.assign(task, { decided: reply.decided, answer: given });
      work.done.push(task);
      const next = work.next();
      if (next < 0) await this.past();
      else await work.look(next);
    });
  }

  // Somebody else has decided it: their decision is shown, and what stands in the form stays there.
  async overtaken(task) {
    const { state } = this.work;
    const loaded = await this.work.fetch(task.id);
    Object.assign(task, loaded, { document: task.id });
    this.drafts.write(task, state, 0);
    await this.work.look(this.work.at);
  }

  // Nothing is left, unless the server knows of more by now.
  async past() {
    const { work } = this;
    const { tasks } = await this.api.call("/api/admin/disputes");
    const known = new Map(work.tasks.map((task) => [task.id, task]));
    work.tasks = tasks.map((task) => Object.assign(known.get(task.id) ?? task, task));
    const open = work.tasks.findIndex((task) => task.decided === null);
    if (open >= 0) {
      await work.look(open);
      return;
    }
    work.at = -1;
    work.filter = "decided";
    this.keys.use("task", work.done.length ? [{ keys: ["u"], does: "take back the decision you made last, and look at it again", act: () => work.undo() }] : []);
    const count = work.tasks.length;
    this.shell.show("Nothing is left to decide",
      el("p", { class: "lead", text: count ? `${many(count, "task")} decided. “summeter annotate export” writes the labels.` : "On no task do annotators differ." }),
      work.done.length ? el("p", { class: "row" }, el("button", { type: "button", class: "plain", on: { click: () => work.undo() } }, "Take back the last decision ", key("u"))) : null,
      count ? work.list() : null);
    this.shell.place(count, count, count, "decided");
  }
}

async function start() {
  const api = new Api();
  try {
    const session = await api.call("/api/admin/session");
    api.csrf = session.csrf;
    const { tasks } = await api.call("/api/admin/disputes");
    const page = new Adjudication(session, tasks, api);
    await page.safely(() => page.past());
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    byId("main").replaceChildren(el("h1", { text: "Adjudication" }), el("p", { class: "alarm", text: `${capital(error.message)}.` }));
  }
}

start();
