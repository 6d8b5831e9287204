// The batch of an adjudicator: the tasks on which annotators disagree. It stays open, and answers can always be replaced.
import { button, el, key } from "./dom.js";
import { Batch } from "./batch.js";
import { t } from "./strings.js";

export class Disputes extends Batch {
  constructor(app, batch) {
    super(app, batch ?? { number: 1, tasks: [], documents: {} }, { what: t("adjudicate.counted"), verb: "adjudicate.send" });
    this.shell.pause.hidden = true;
  }

  // Shown above a task that was already decided.
  earlier(task) {
    if (this.waits(task)) return [t("work.unsent")];
    return [t("adjudicate.saved"), " ", button(t("adjudicate.reopen"), () => this.reopen(task), { class: "link" })];
  }

  async reopen(task) {
    try {
      await this.app.insist("/api/reopen", { task: task.id });
      this.drafts.write({ ...task, answer: null }, task.answer, 0);
      task.answer = null;
      this.work.visit(this.batch.tasks.indexOf(task));
      this.shell.say(t("adjudicate.reopened"));
    } catch (error) {
      this.app.failed(error);
    }
  }

  past() {
    this.work.at = -1;
    this.keys.use("task", [{ keys: ["u"], does: t("keys.undo"), act: () => this.work.undo() }]);
    const count = this.batch.tasks.length;
    this.shell.show(
      t("adjudicate.done"),
      el("p", { class: "lead", id: "finish-said" }),
      count ? this.work.list() : null,
      el("p", { class: "row" }, button(t("adjudicate.more"), () => this.app.reload({ force: true }).catch((error) => this.app.failed(error)), { class: "main" }),
        this.work.sent === undefined ? null : el("button", { type: "button", class: "plain", on: { click: () => this.work.undo() } }, `${t("batch.undo")} `, key("u"))),
    );
    this.shell.place(0, count, count, t("adjudicate.counted"));
    this.refresh();
  }
}
