// The batch of an adjudicator: the tasks on which annotators disagree. It stays open, and answers can always be replaced.
import { button } from "./dom.js";
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
    const again = () => this.app.reload({ force: true }).catch((error) => this.app.failed(error));
    this.ending(t("adjudicate.done"), button(t("adjudicate.more"), again, { class: "main" }));
  }
}
