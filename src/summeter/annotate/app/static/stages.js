// What comes before and after the work: consent, instructions, questions, training, the preview, the end.
import { button, byId, el, many } from "./dom.js";
import { newId } from "./api.js";
import { Question } from "./fields.js";
import { capital, money } from "./shell.js";
import { Work } from "./work.js";

const prose = (id) => el("div", { class: "prose" }, byId(id).content.cloneNode(true));
const main = (text, act) => button(text, act, { class: "main", id: "go" });
const enter = (app) => app.keys.use("stage", [{ keys: ["Enter"], does: "go on", act: (event) => {
  if (event.target instanceof Element && event.target.closest("button, a, summary, input")) return false;
  byId("go")?.click();
  return byId("go") !== null;
} }]);

// Calls once however often the button is pressed, and goes where the server says.
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
    el("p", { class: "row" }, button("I agree and take part", say(true), { class: "main" }), button("I do not agree", say(false), { class: "plain" })),
  );
}

export function instructions(app) {
  enter(app);
  const read = once(app, async () => {
    await app.insist("/api/instructions", {});
    await app.reload();
  });
  const again = el("p", { class: "muted", text: "You can read them again at any time with “Instructions” at the top." });
  app.shell.show("Instructions", prose("instructions-text"), again, el("p", { class: "row" }, main("I have read them", read)));
}

export function qualification(app) {
  const { questions, attempts_left: left } = app.session.qualification;
  const chosen = app.keep.get("qualification") ?? {};
  const asked = questions.map(({ id, question, choices }, at) => new Question({
    legend: el("span", null, el("span", { class: "num", text: `${at + 1}` }), question),
    options: choices.map((label, value) => ({ value, label })),
    value: chosen[id] ?? null,
    pick: (value) => {
      chosen[id] = value;
      app.keep.set("qualification", chosen);
      tell();
    },
  }));
  const count = el("p", { class: "small", role: "status" });
  const tell = () => { count.textContent = `${questions.filter(({ id }) => chosen[id] !== undefined).length} of ${many(questions.length, "question")} answered`; };
  const told = el("p", { class: "wanting-text", role: "alert" });
  const send = once(app, async () => {
    const open = questions.findIndex(({ id }) => chosen[id] === undefined);
    if (open >= 0) {
      told.textContent = `Question ${open + 1} is open.`;
      asked[open].focus();
      return;
    }
    const answers = Object.fromEntries(questions.map(({ id }) => [id, chosen[id]]));
    const reply = await app.insist("/api/qualification", { answers });
    if (reply.passed) app.keep.remove("qualification");
    await app.reload();
    const score = `${reply.correct} of ${many(reply.total, "question")} right.`;
    if (reply.passed) app.shell.notice("score", `${score} You may go on.`);
    else if (reply.attempts_left > 0) app.shell.notice("score", `${score} All must be right to go on; you may try again.`, { bad: true });
  });
  const form = el("form", { class: "narrow", novalidate: true, on: { submit: (event) => { event.preventDefault(); send(); } } },
    ...asked.map((question) => question.node), told, el("p", { class: "row" }, el("button", { type: "submit", class: "main send" }, "Send my answers"), count));
  tell();
  const last = left === 1 ? " You have one attempt left." : ` You have ${left} attempts left.`;
  app.shell.show("A few questions first", el("p", { class: "lead", text: `They show whether the instructions are clear. All must be right.${last}` }), form);
  app.questions(form);
}

export class Training {
  constructor(app, { tasks, documents }) {
    Object.assign(this, { app, shell: app.shell, keys: app.keys, drafts: app.drafts, done: new Set() });
    this.past = once(app, () => app.reload({ force: true }));
    this.work = new Work(this, { tasks, documents, words: "answered in this training", verb: "Answer", back: false });
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

  waits() {
    return false;
  }

  opened() {}

  async send(task, answer, seconds) {
    try {
      const reply = await this.app.insist("/api/training", { answer_id: newId(), task: task.id, answer, seconds });
      this.drafts.forget(task);
      Object.assign(task, { answer });
      this.done.add(task.id);
      this.feedback(reply);
    } catch (error) {
      if (error.status === 422) this.work.want(`${capital(error.message)}.`, null);
      else this.app.failed(error);
    }
  }

  // What was right stands under the answer, which can be looked at but no longer changed.
  feedback({ passed, feedback }) {
    const { form, tasks, at } = this.work;
    for (const input of form.querySelectorAll("input, textarea, button")) input.disabled = true;
    this.keys.use("task", this.work.source.keys());
    const last = at === tasks.length - 1;
    const title = el("h2", { tabindex: "-1", text: passed ? "Right." : "Not quite." });
    const go = button(last ? "Go on" : "Next example", () => (last ? this.past() : this.work.first()), { class: "main", id: "go" });
    form.querySelector(".send-row").replaceWith(el(
      "section", { class: `feedback ${passed ? "well" : "ill"}` }, title,
      el("p", { dir: "auto", text: feedback || (passed ? "Your answer is the one expected here." : "Another answer was expected here. Look at the instructions again if you are unsure why.") }),
      el("p", { class: "row" }, go),
    ));
    this.shell.place(at + 1, tasks.length, this.done.size, "answered in this training");
    enter(this.app);
    title.focus();
    title.scrollIntoView({ block: "nearest" });
  }
}

// A preview walks through what a person would see. No call is made and nothing is kept.
export class Preview {
  constructor(app, { sample }) {
    Object.assign(this, { app, shell: app.shell, keys: app.keys, sample });
    this.drafts = { read: () => null, write: () => true, forget() {} };
    this.pages = ["consent-text", "instructions-text"].filter((id) => byId(id).content.textContent.trim());
  }

  start(at = 0) {
    this.shell.notice("preview", "This is a preview: the work is shown, nothing you enter is saved. To take part, accept the task on its platform or open the link you were given.");
    if (at < this.pages.length) {
      enter(this.app);
      const title = this.pages[at] === "consent-text" ? this.app.session.campaign.title : "Instructions";
      this.shell.show(title, prose(this.pages[at]), el("p", { class: "row" }, main("Go on with the preview", () => this.start(at + 1))));
      return;
    }
    if (!this.sample) {
      this.shell.show("No task to show", el("p", { text: "This campaign has no task that could be shown." }));
      return;
    }
    this.work = new Work(this, {
      tasks: [this.sample.task], documents: this.sample.documents, words: "shown", verb: "Send", back: false,
      frozen: "This is a preview: nothing is sent or saved.",
    });
    this.work.first();
  }

  leave() {
    this.work?.leave();
  }

  answerOf() {
    return null;
  }

  waits() {
    return false;
  }

  opened() {}
}

const OUTCOMES = {
  completed: ["Thank you: your work is complete", "All your answers are saved. What you judged shows how good these summaries really are."],
  failed_checks: ["Your work ends here", "Some tasks had a known answer, and too many of yours were different. Your answers are kept, and there are no further tasks for you in this campaign."],
  screened_out: ["Thank you for your interest", "You cannot go on in this campaign."],
  no_more_items: ["There is nothing more to do", "Every task has all the answers it needs, or is being worked on by others. Thank you for coming."],
};

const SCREENED_OUT = {
  consent: "You did not consent, so you cannot take part in this campaign.",
  qualification: "You cannot go on in this campaign, because its questions were not all answered right.",
  training: "You cannot go on in this campaign, because too few of the training examples were answered as expected.",
};

export function done(app) {
  const { outcome, at, code, url, form, more } = app.session.done;
  const [title, usual] = OUTCOMES[outcome] ?? ["Your work here has ended", `Outcome: ${outcome}.`];
  const text = (outcome === "screened_out" && SCREENED_OUT[at]) || usual;
  const { pay, progress } = app.session;
  app.shell.show(
    title, el("p", { class: "lead", text }),
    progress?.answered ? el("p", { text: `You gave ${many(progress.answered, "answer")} in ${many(progress.batches, "batch", "batches")}.` }) : null,
    pay ? el("p", { text: earned(pay) }) : null,
    code ? completion(app, code, Boolean(url || form)) : null,
    el("p", { class: "row" }, url ? el("a", { class: "main", href: safe(url), rel: "noreferrer", text: "Return to the platform" }) : null, form ? submission(form) : null,
      more ? button("Look for more work", once(app, () => app.next()), { class: url || form ? "plain" : "main" }) : null),
  );
}

export const earned = ({ earned: base, bonus, currency }) => `You earned ${money(base, currency)}${bonus ? ` and a bonus of ${money(bonus, currency)}` : ""}.`;

// Only addresses of the web: what a configuration says is not run as a script.
const safe = (url) => (/^https?:\/\//i.test(url) ? url : null);

function completion(app, code, linked) {
  const shown = el("output", { class: "code", "aria-label": "Completion code", text: code });
  const copy = button("Copy", async () => {
    try {
      await navigator.clipboard.writeText(code);
      copy.textContent = "Copied";
      app.shell.say("Copied");
    } catch (error) {
      // No clipboard without a secure connection: the code is selected, to be copied by hand.
      getSelection().selectAllChildren(shown);
      app.shell.say("Selected; copy it by hand");
    }
  }, { class: "plain" });
  return el("section", { class: "completion" }, el("h2", { text: "Completion code" }), el("p", { class: "row" }, shown, copy),
    el("p", { class: "muted", text: linked ? "The button below takes you back and hands it over. Keep the code in case it does not." : "Give it to those who asked you to take part." }));
}

function submission({ action, fields }) {
  const hidden = Object.entries(fields).map(([name, value]) => el("input", { type: "hidden", name, value }));
  return el("form", { method: "post", action: safe(action) }, ...hidden, el("button", { type: "submit", class: "main", text: "Hand in and return to the platform" }));
}

export function rest(app) {
  const { progress, pay } = app.session;
  enter(app);
  app.shell.show(
    `${many(progress.batches, "batch", "batches")} finished`,
    el("p", { class: "lead", text: "Take a break if you like. The next batch, and its time, begins when you ask for it." }),
    pay ? el("p", { text: earned(pay) }) : null,
    el("p", { class: "row" }, main("Work on the next batch", once(app, () => app.next()))),
  );
}

export function nobody(app, message) {
  app.shell.show(
    "Open this page with your link", el("p", { class: "lead", text: message ? `${capital(message)}.` : "Nobody is known here." }),
    el("p", { text: "The link you were given, or the platform's own button, says who you are. Your answers are safe; those that wait on this device are sent once you are back." }),
  );
}
