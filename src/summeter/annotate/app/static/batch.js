// The work itself: a batch of tasks under a lease, answers by way of the outbox, the end of a batch, pausing and giving back.
import { button, el, key, many, minutes } from "./dom.js";
import { Refusal } from "./api.js";
import { canonical } from "./keep.js";
import { show } from "./keys.js";
import { capital } from "./shell.js";
import { Work } from "./work.js";

export class Batch {
  constructor(app, batch) {
    Object.assign(this, { app, batch, shell: app.shell, keys: app.keys, drafts: app.drafts });
    this.drafts.prune(batch.tasks);
    this.shell.lease(batch.seconds_left ?? null);
    this.work = new Work(this, {
      tasks: batch.tasks, documents: batch.documents, words: "answered in this batch", verb: "Send and go on",
    });
    this.shell.pause.hidden = false;
    this.shell.pause.onclick = () => this.pause();
  }

  start() {
    this.work.first();
  }

  leave() {
    this.work.leave();
    this.shell.lease(null);
    this.shell.place(0, null);
    this.shell.pause.hidden = true;
  }

  find(id) {
    return this.batch.tasks.find((task) => task.id === id);
  }

  answerOf(task) {
    return this.app.outbox.find(task.id)?.answer ?? task.answer;
  }

  waits(task) {
    return this.app.outbox.find(task.id) !== null;
  }

  async opened(task) {
    try {
      await this.app.api.call("/api/opened", { task: task.id });
      this.alive();
    } catch (error) {
      if (error.status === 409 || error.status === 403) this.app.reload();
      else if (!(error instanceof Refusal)) throw error;
    }
  }

  // Each sign of life gives the full time again.
  alive() {
    if (this.batch.lease_seconds) this.shell.lease(this.batch.lease_seconds);
  }

  async send(task, answer, seconds) {
    this.app.outbox.put(task.id, answer, seconds);
    const at = this.batch.tasks.indexOf(task);
    const next = [...this.batch.tasks.slice(at + 1), ...this.batch.tasks.slice(0, at)].find((one) => this.answerOf(one) === null);
    if (next) this.work.visit(this.batch.tasks.indexOf(next));
    else this.past();
  }

  acknowledged(entry) {
    const task = this.find(entry.task);
    if (!task) return;
    task.answer = entry.answer;
    this.drafts.forget(task);
    this.alive();
  }

  // The server would not have it: the person gets the answer back as a draft, and is told why.
  refused(entry, error) {
    const task = this.find(entry.task);
    const said = `An answer was not accepted: ${error.message}.`;
    if (!task || error.status !== 422) {
      this.shell.notice("refused", said, { bad: true });
      if (error.status !== 404) this.app.reload();
      return;
    }
    this.drafts.write(task, entry.answer, entry.seconds);
    const at = this.batch.tasks.indexOf(task);
    this.shell.notice("refused", `Task ${at + 1}: ${said} Nothing of it is lost; please look at it again.`, {
      bad: true, label: "Go to it", act: () => { this.shell.quiet("refused"); this.work.visit(at); },
    });
  }

  // The same person answered a task of this batch elsewhere in this browser.
  elsewhere(id, answer) {
    const task = this.find(id);
    if (!task || canonical(task.answer) === canonical(answer)) return;
    task.answer = answer;
    if (this.work.task === task && this.work.form?.isConnected) {
      this.shell.notice("elsewhere", "You answered this task in another tab or window. Sending it here replaces that answer.");
    }
    this.work.refresh();
  }

  // After the last task: everything may still be changed.
  past() {
    this.work.at = -1;
    this.keys.use("task", [{ keys: ["u"], does: "back to the answer you gave last", act: () => this.work.undo() }]);
    const said = el("p", { class: "lead", id: "finish-said" });
    const finish = el("button", { type: "button", class: "main", on: { click: () => this.finish(finish) } }, "Finish this batch");
    this.shell.show(
      "All tasks of this batch are answered",
      said,
      el("p", { text: "You can still go back and change any answer. Once the batch is finished they stay as they are." }),
      this.work.list(),
      el("p", { class: "row" }, finish, this.work.sent === undefined ? null : el("button", { type: "button", class: "plain", on: { click: () => this.work.undo() } }, "Back to the last answer ", key("u"))),
    );
    this.shell.place(0, this.batch.tasks.length, this.batch.tasks.length, "answered in this batch");
    this.refresh();
  }

  refresh() {
    this.work.refresh();
    const said = document.getElementById("finish-said");
    if (!said) return;
    const waiting = this.batch.tasks.filter((task) => this.waits(task)).length;
    said.textContent = waiting ? `${many(waiting, "answer")} waiting to be sent; the batch can be finished when they have arrived.` : "All your answers are saved.";
    const nav = this.shell.main.querySelector("nav.dots");
    if (nav && !nav.contains(document.activeElement)) nav.replaceWith(this.work.list());
  }

  async finish(pressed) {
    pressed.disabled = true;
    try {
      await this.app.outbox.empty();
      await this.app.insist("/api/batch/finish", {});
      await this.app.finished();
    } catch (error) {
      this.app.failed(error);
    } finally {
      pressed.disabled = false;
    }
  }

  pause() {
    const { left } = this.shell;
    const answered = this.batch.tasks.filter((task) => this.answerOf(task) !== null).length;
    const open = this.batch.tasks.length - answered;
    const waiting = this.app.outbox.waiting().length;
    const dialog = el(
      "dialog", { class: "dialog", "aria-labelledby": "pause-title" },
      el("h2", { id: "pause-title", text: "Pause" }),
      el("p", { text: `${answered} of ${this.batch.tasks.length} tasks are answered. You may close this page and come back with the same link, here or on another device.` }),
      waiting ? el("p", { class: "alarm", text: `${many(waiting, "answer")} still waiting to be sent from this device. Keep the page open until that has happened, or open it again on this device.` }) : null,
      left === null ? null : el("p", { text: `The open tasks are kept for you for ${minutes(left)}; after that they go to others. What you have answered stays.` }),
      el("div", { class: "row end" },
        button("Go on working", () => dialog.close(), { class: "main", autofocus: true }),
        open ? button(`Give back ${many(open, "open task")}`, () => { dialog.close(); this.giveBack(open); }, { class: "plain" }) : null),
    );
    show(dialog);
  }

  giveBack(open) {
    const dialog = el(
      "dialog", { class: "dialog", "aria-labelledby": "back-title" },
      el("h2", { id: "back-title", text: `Give back ${many(open, "task")}?` }),
      el("p", { text: "Others will answer them. Your answers in this batch stay, and can then no longer be changed." }),
      el("div", { class: "row end" },
        button("Keep them", () => dialog.close(), { class: "main", autofocus: true }),
        button("Give them back", async () => {
          dialog.close();
          try {
            await this.app.outbox.empty();
            await this.app.insist("/api/return", {});
            await this.app.reload();
            this.app.shell.notice("returned", `${capital(many(open, "task"))} given back.`);
          } catch (error) {
            this.app.failed(error);
          }
        }, { class: "plain" })),
    );
    show(dialog);
  }
}
