// Stages before and after the work: consent, instructions, questions, training, the preview and the end.
import { button, byId, el } from "./dom.js";
import { newId } from "./api.js";
import { Question } from "./fields.js";
import { capital } from "./shell.js";
import { money, number, refusal, t } from "./strings.js";
import { Work } from "./work.js";

const prose = (id) => el("div", { class: "prose", dir: "auto" }, byId(id).content.cloneNode(true));
const main = (text, act) => button(text, act, { class: "main", id: "go" });
const enter = (app) => app.keys.use("stage", [{ keys: ["Enter"], does: t("page.go_on_key"), act: (event) => {
  if (event.target instanceof Element && event.target.closest("button, a, summary, input")) return false;
  byId("go")?.click();
  return byId("go") !== null;
} }]);

// Calls once, however often the button is pressed, and shows the stage of the reply.
function once(app, act) {
  let busy = false;
  return async () => {
    if (busy) return;
    busy = true;
    try {
      await act();
    } catch (error) {
      app.failed(error);
    } finally {
      busy = false;
    }
  };
}

export function consent(app) {
  const say = (agreed) => once(app, async () => {
    await app.insist("/api/consent", { agreed });
    await app.reload();
  });
  app.shell.show(
    app.session.campaign.title, prose("consent-text"),
    el("p", { class: "row" }, button(t("consent.agree"), say(true), { class: "main" }), button(t("consent.refuse"), say(false), { class: "plain" })),
  );
}

export function instructions(app) {
  enter(app);
  const read = once(app, async () => {
    await app.insist("/api/instructions", {});
    await app.reload();
  });
  const again = el("p", { class: "muted", text: t("instructions.again") });
  app.shell.show(t("instructions.title"), prose("instructions-text"), again, el("p", { class: "row" }, main(t("instructions.read"), read)));
}

export function qualification(app) {
  const { questions, attempts_left: left } = app.session.qualification;
  const chosen = app.keep.get("qualification") ?? {};
  const asked = questions.map(({ id, question, choices }, at) => new Question({
    legend: el("span", null, el("span", { class: "num", text: number(at + 1) }), el("bdi", { text: question })),
    options: choices.map((label, value) => ({ value, label })),
    value: chosen[id] ?? null,
    pick: (value) => {
      chosen[id] = value;
      app.keep.set("qualification", chosen);
      tell();
    },
  }));
  const count = el("p", { class: "small", role: "status" });
  const tell = () => { count.textContent = t("qualification.answered", { done: questions.filter(({ id }) => chosen[id] !== undefined).length, n: questions.length }); };
  const told = el("p", { class: "wanting-text", role: "alert" });
  const send = once(app, async () => {
    const open = questions.findIndex(({ id }) => chosen[id] === undefined);
    if (open >= 0) {
      told.textContent = t("qualification.open", { n: open + 1 });
      asked[open].focus();
      return;
    }
    const answers = Object.fromEntries(questions.map(({ id }) => [id, chosen[id]]));
    const reply = await app.insist("/api/qualification", { answers });
    if (reply.passed) app.keep.remove("qualification");
    await app.reload();
    const score = { right: reply.correct, n: reply.total };
    if (reply.passed) app.shell.notice("score", t("qualification.passed", score));
    else if (reply.attempts_left > 0) app.shell.notice("score", t("qualification.failed", score), { bad: true });
  });
  const form = el("form", { class: "narrow", novalidate: true, on: { submit: (event) => { event.preventDefault(); send(); } } },
    ...asked.map((question) => question.node), told, el("p", { class: "row" }, el("button", { type: "submit", class: "main send" }, t("qualification.send")), count));
  tell();
  app.shell.show(t("qualification.title"), el("p", { class: "lead", text: t("qualification.lead", { n: left }) }), form);
  app.questions(form);
}

export class Training {
  constructor(app, { tasks, documents }) {
    Object.assign(this, { app, shell: app.shell, keys: app.keys, drafts: app.drafts, done: new Set() });
    this.past = once(app, () => app.reload({ force: true }));
    this.work = new Work(this, { tasks, documents, what: t("page.answered_in_training"), verb: "training.send", back: false });
  }

  start() {
    this.work.first();
  }

  leave() {
    this.work.leave();
    this.shell.place(0, null);
  }

  answerOf(task) {
    return this.done.has(task.id) ? task.answer : null;
  }

  async send(task, answer, seconds) {
    try {
      const reply = await this.app.insist("/api/training", { answer_id: newId(), task: task.id, answer, seconds });
      this.drafts.forget(task);
      Object.assign(task, { answer });
      this.done.add(task.id);
      this.feedback(reply);
    } catch (error) {
      if (error.status === 422) this.work.want(`${capital(refusal(error))}.`, null);
      else this.app.failed(error);
    }
  }

  // The right answer is shown below the given one, which can no longer be changed.
  feedback({ passed, feedback }) {
    const { form, tasks, at } = this.work;
    for (const input of form.querySelectorAll("input, textarea, button")) input.disabled = true;
    this.keys.use("task", this.work.source.keys());
    const last = at === tasks.length - 1;
    const title = el("h2", { tabindex: "-1", text: passed ? t("training.right") : t("training.wrong") });
    const go = button(last ? t("training.go_on") : t("training.next"), () => (last ? this.past() : this.work.first()), { class: "main", id: "go" });
    form.querySelector(".send-row").replaceWith(el(
      "section", { class: `feedback ${passed ? "well" : "ill"}` }, title,
      el("p", { dir: "auto", text: feedback || (passed ? t("training.right_text") : t("training.wrong_text")) }),
      el("p", { class: "row" }, go),
    ));
    this.shell.place(at + 1, tasks.length, this.done.size, t("page.answered_in_training"));
    enter(this.app);
    title.focus();
    title.scrollIntoView({ block: "nearest" });
  }
}

// A preview shows the pages of an annotator. It makes no calls and stores nothing.
export class Preview {
  constructor(app, { sample }) {
    Object.assign(this, { app, shell: app.shell, keys: app.keys, sample });
    this.drafts = { read: () => null, write: () => true, forget() {} };
    this.pages = ["consent-text", "instructions-text"].filter((id) => byId(id).content.textContent.trim());
  }

  start(at = 0) {
    this.shell.notice("preview", t("notice.preview"));
    if (at < this.pages.length) {
      enter(this.app);
      const title = this.pages[at] === "consent-text" ? this.app.session.campaign.title : t("instructions.title");
      this.shell.show(title, prose(this.pages[at]), el("p", { class: "row" }, main(t("preview.go_on"), () => this.start(at + 1))));
      return;
    }
    if (!this.sample) {
      this.shell.show(t("preview.no_task"), el("p", { text: t("preview.no_task_text") }));
      return;
    }
    this.work = new Work(this, {
      tasks: [this.sample.task], documents: this.sample.documents, what: t("page.shown"), verb: "preview.send", back: false,
      frozen: t("preview.frozen"),
    });
    this.work.first();
  }

  leave() {
    this.work?.leave();
  }

  answerOf() {
    return null;
  }
}

export function done(app) {
  const { outcome, at, code, url, form, more } = app.session.done;
  // The text depends on the stage at which the annotator was screened out.
  const text = outcome === "screened_out" && at !== "work" ? t(`done.screened_out_${at}`) : t(`done.${outcome}_text`);
  const { pay, progress } = app.session;
  app.shell.show(
    t(`done.${outcome}`), el("p", { class: "lead", text }),
    progress?.answered ? el("p", { text: t("done.given", { answers: t("done.answers", { n: progress.answered }), batches: t("done.batches", { n: progress.batches }) }) }) : null,
    pay ? el("p", { text: earned(pay) }) : null,
    code ? completion(app, code, Boolean(url || form)) : null,
    el("p", { class: "row" }, url ? el("a", { class: "main", href: safe(url), rel: "noreferrer", text: t("done.return") }) : null, form ? submission(form) : null,
      more ? button(t("done.more"), once(app, () => app.next()), { class: url || form ? "plain" : "main" }) : null),
  );
}

export const earned = ({ earned: base, bonus, currency }) => (bonus
  ? t("done.earned_bonus", { amount: money(base, currency), bonus: money(bonus, currency) })
  : t("done.earned", { amount: money(base, currency) }));

// Allows only web addresses, so that a setting cannot run a script.
const safe = (url) => (/^https?:\/\//i.test(url) ? url : null);

function completion(app, code, linked) {
  const shown = el("output", { class: "code", "aria-label": t("done.code"), text: code });
  const copy = button(t("done.copy"), async () => {
    try {
      await navigator.clipboard.writeText(code);
      copy.textContent = t("done.copied");
      app.shell.say(t("done.copied"));
    } catch (error) {
      // Without a secure connection there is no clipboard, so the code is selected for copying by hand.
      getSelection().selectAllChildren(shown);
      app.shell.say(t("done.copy_by_hand"));
    }
  }, { class: "plain" });
  return el("section", { class: "completion" }, el("h2", { text: t("done.code") }), el("p", { class: "row" }, shown, copy),
    el("p", { class: "muted", text: linked ? t("done.code_linked") : t("done.code_alone") }));
}

function submission({ action, fields }) {
  const hidden = Object.entries(fields).map(([name, value]) => el("input", { type: "hidden", name, value }));
  return el("form", { method: "post", action: safe(action) }, ...hidden, el("button", { type: "submit", class: "main", text: t("done.hand_in") }));
}

export function rest(app) {
  const { progress, pay } = app.session;
  enter(app);
  app.shell.show(
    t("rest.title", { n: progress.batches }),
    el("p", { class: "lead", text: t("rest.text") }),
    pay ? el("p", { text: earned(pay) }) : null,
    el("p", { class: "row" }, main(t("rest.next"), once(app, () => app.next()))),
  );
}

export function nobody(app, message) {
  app.shell.show(
    t("no_visitor.title"), el("p", { class: "lead", text: message ? `${capital(message)}.` : t("no_visitor.unknown") }),
    el("p", { text: `${t("no_visitor.link")} ${t("no_visitor.safe")}` }),
  );
}
