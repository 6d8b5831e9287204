// The work: a batch of tasks under a lease, sending answers, finishing, pausing and returning tasks.
import { button, el, key } from "./dom.js";
import { Refusal } from "./api.js";
import { canonical } from "./keep.js";
import { show } from "./keys.js";
import { minutes, refusal, t } from "./strings.js";
import { Work } from "./work.js";

export class Batch {
  constructor(app, batch, { what = t("page.answered_in_batch"), verb = "work.send" } = {}) {
    Object.assign(this, { app, batch, shell: app.shell, keys: app.keys, drafts: app.drafts });
    this.drafts.prune(batch.tasks);
    this.shell.lease(batch.seconds_left ?? null);
    this.work = new Work(this, {
      tasks: batch.tasks, documents: batch.documents, what, verb,
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

  // Each activity extends the lease.
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

  // The server refused the answer: it becomes a draft again, with a notice.
  refused(entry, error) {
    const task = this.find(entry.task);
    const reason = refusal(error);
    if (!task || error.status !== 422) {
      this.shell.notice("refused", t("notice.refused", { reason }), { bad: true });
      if (error.status !== 404) this.app.reload();
      return;
    }
    this.drafts.write(task, entry.answer, entry.seconds);
    const at = this.batch.tasks.indexOf(task);
    this.shell.notice("refused", t("notice.task_refused", { n: at + 1, reason }), {
      bad: true, label: t("notice.go_to_task"), act: () => { this.shell.quiet("refused"); this.work.visit(at); },
    });
  }

  // The same person answered a task of this batch in another tab of this browser.
  elsewhere(id, answer) {
    const task = this.find(id);
    if (!task || canonical(task.answer) === canonical(answer)) return;
    task.answer = answer;
    if (this.work.task === task && this.work.form?.isConnected) {
      this.shell.notice("elsewhere", t("notice.elsewhere"));
    }
    this.work.refresh();
  }

  past() {
    const finish = button(t("batch.finish"), () => this.finish(finish), { class: "main" });
    this.ending(t("batch.done"), finish, el("p", { text: t("batch.done_text") }));
  }

  // Shows the page after the last task, from which all answers can still be changed. `go` is its main button.
  ending(title, go, text = null) {
    const { tasks } = this.batch;
    const undo = this.work.sent === undefined ? null : button(`${t("batch.undo")} `, () => this.work.undo(), { class: "plain" });
    undo?.append(key("u"));
    this.work.at = -1;
    this.keys.use("task", [{ keys: ["u"], does: t("keys.undo"), act: () => this.work.undo() }]);
    this.shell.show(title, el("p", { class: "lead", id: "finish-said" }), text, tasks.length ? this.work.list() : null, el("p", { class: "row" }, go, undo));
    this.shell.place(0, tasks.length, tasks.length, this.work.what);
    this.refresh();
  }

  refresh() {
    this.work.refresh();
    const said = document.getElementById("finish-said");
    if (!said) return;
    const waiting = this.batch.tasks.filter((task) => this.waits(task)).length;
    said.textContent = waiting ? t("batch.waiting", { n: waiting }) : t("batch.all_saved");
    const nav = this.shell.main.querySelector("nav.dots");
    if (nav && !nav.contains(document.activeElement)) nav.replaceWith(this.work.list());
  }

  async finish(pressed) {
    pressed.disabled = true;
    try {
      await this.app.outbox.empty();
      await this.app.insist("/api/finish", {});
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
    const dialog = show(
      t("pause.title"),
      el("p", { text: t("pause.text", { n: answered, total: this.batch.tasks.length }) }),
      waiting ? el("p", { class: "alarm", text: t("pause.waiting", { n: waiting }) }) : null,
      left === null ? null : el("p", { text: t("pause.kept", { time: minutes(left) }) }),
      el("div", { class: "row end" },
        button(t("pause.go_on"), () => dialog.close(), { class: "main", autofocus: true }),
        open ? button(t("pause.give_back", { n: open }), () => { dialog.close(); this.giveBack(open); }, { class: "plain" }) : null),
    );
  }

  giveBack(open) {
    const give = async () => {
      dialog.close();
      try {
        await this.app.outbox.empty();
        await this.app.insist("/api/return", {});
        await this.app.reload();
        this.app.shell.notice("returned", t("notice.returned", { n: open }));
      } catch (error) {
        this.app.failed(error);
      }
    };
    const dialog = show(
      t("return.title", { n: open }),
      el("p", { text: t("return.text") }),
      el("div", { class: "row end" },
        button(t("return.keep"), () => dialog.close(), { class: "main", autofocus: true }),
        button(t("return.give"), give, { class: "plain" })),
    );
  }
}
