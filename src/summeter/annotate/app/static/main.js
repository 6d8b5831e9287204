// Entry point: asks the server for the stage of the person, and shows it.
import { Api, Refusal } from "./api.js";
import { Batch } from "./batch.js";
import { Disputes } from "./disputes.js";
import { byId } from "./dom.js";
import { Chips, CHOOSING } from "./fields.js";
import { Form } from "./form.js";
import { Drafts, Keep } from "./keep.js";
import { Keys } from "./keys.js";
import { Outbox } from "./outbox.js";
import { capital, Shell } from "./shell.js";
import * as stages from "./stages.js";
import { refusal, t } from "./strings.js";

class App {
  constructor() {
    this.api = new Api();
    this.shell = new Shell();
    this.session = null;
    this.part = null;
    this.shell.unsafe = () => Boolean(this.outbox && !this.keep.lasting && this.outbox.waiting().length);
  }

  async start() {
    try {
      const session = await this.insist("/api/session");
      this.form = new Form(session.form, session.form.script ? await import("./task.js") : null);
      this.know(session);
      await this.route();
    } catch (error) {
      this.failed(error);
    }
  }

  // Several people may use a browser, so storage is separate, and only the answers of the current person are sent.
  know(session) {
    this.api.know(session);
    this.session = session;
    const { who } = this.api;
    if (this.who === who) return;
    this.who = who;
    this.keep = new Keep(session.campaign.name, who);
    this.drafts = new Drafts(this.keep);
    this.keys = new Keys(this.keep);
    this.keys.use("page", [
      { keys: ["i"], does: t("keys.toggle_instructions"), act: () => this.shell.toggle() },
      { keys: ["?"], does: t("keys.help"), act: () => this.keys.help() },
    ]);
    byId("open-help").onclick = () => this.keys.help();
    byId("who").textContent = session.preview ? t("page.preview") : who;
    if (session.preview) return;
    this.outbox = new Outbox(this.keep, this.api, (news) => this.heard(news), who);
    this.listen();
    if (!this.keep.lasting) {
      this.shell.notice("memory", t("notice.memory"), { bad: true });
    }
    this.outbox.flush();
  }

  // Tabs of the same person notify each other.
  listen() {
    addEventListener("storage", (event) => event.key?.startsWith(`${this.keep.prefix}answer:`) && this.count());
    if (!globalThis.BroadcastChannel) return;
    this.channel = new BroadcastChannel(this.keep.prefix);
    this.channel.onmessage = ({ data }) => {
      if (data.moved) this.reload().catch((error) => this.failed(error));
      else if (this.part instanceof Batch) this.part.elsewhere(data.task, data.answer);
    };
  }

  heard({ acknowledged, refused, error }) {
    const batch = this.part instanceof Batch ? this.part : null;
    if (acknowledged) {
      this.channel?.postMessage({ task: acknowledged.task, answer: acknowledged.answer });
      batch?.acknowledged(acknowledged);
    }
    if (refused && batch) batch.refused(refused, error);
    else if (refused) this.shell.notice("refused", t("notice.refused", { reason: refusal(error) }), { bad: true });
    if (this.outbox?.trouble?.status === 401) this.shell.notice("session", t("notice.session", { reason: capital(refusal(this.outbox.trouble)) }), { bad: true });
    this.count();
    batch?.refresh();
  }

  count() {
    const { trouble } = this.outbox;
    this.shell.waiting(this.outbox.waiting().length, trouble?.passing ? trouble : null);
  }

  async insist(path, body) {
    const told = () => this.shell.notice("trouble", t("notice.retrying"));
    const reply = await this.api.insist(path, body, told);
    this.shell.quiet("trouble");
    return reply;
  }

  // Refreshes the session. The current batch stays on the page, with the answers that the server knows.
  async reload({ force = false } = {}) {
    const before = this.session;
    this.know(await this.insist("/api/session"));
    const same = before?.stage === this.session.stage && this.part instanceof Batch && this.part.batch.number === this.session.batch?.number;
    if (same && !force) {
      for (const task of this.session.batch.tasks) {
        const own = this.part.find(task.id);
        if (own) own.answer = task.answer;
      }
      this.shell.lease(this.session.batch.seconds_left ?? null);
      this.part.refresh();
      return;
    }
    if (before?.stage === this.session.stage && !force && !(this.part instanceof Batch) && this.session.stage === "training") return;
    await this.route();
  }

  // Shows the next batch, or the end.
  async next() {
    const reply = await this.insist("/api/batch", {});
    await this.reload({ force: true });
    if (reply.batch === null && this.session.stage === "work" && !this.session.batch) stages.rest(this);
  }

  async finished() {
    this.channel?.postMessage({ moved: true });
    await this.reload({ force: true });
  }

  async route() {
    const { shell, session } = this;
    this.part?.leave();
    this.part = null;
    for (const name of ["score", "returned", "elsewhere", "lease"]) shell.quiet(name);
    this.keys.use("stage", []);
    this.keys.use("task", []);
    shell.steps(session.stages ?? [], session.stage);
    shell.pay(session.pay ?? null);
    if (session.preview) this.begin(new stages.Preview(this, session));
    else if (session.stage === "work") await this.working();
    else if (session.stage === "training") this.begin(new stages.Training(this, session.training));
    else stages[session.stage](this);
  }

  begin(part) {
    this.part = part;
    part.start();
  }

  async working() {
    if (this.session.adjudicates) {
      const { batch } = await this.insist("/api/batch", {});
      this.begin(new Disputes(this, batch));
      return;
    }
    if (this.session.batch) this.begin(new Batch(this, this.session.batch));
    else if (this.session.progress.batches > 0) stages.rest(this);
    else await this.next();
  }

  // Questions outside a task also have single-key shortcuts.
  questions(form) {
    const chips = new Chips(form);
    this.keys.use("stage", [
      { keys: CHOOSING, shown: ["1", "…", "9"], does: t("keys.choose"), act: (_, name) => chips.press(name) },
      { keys: ["Backspace"], does: t("keys.back"), act: () => chips.back() },
    ]);
  }

  failed(error) {
    if (!(error instanceof Refusal)) throw error;
    if (error.status === 401) {
      this.part?.leave();
      this.part = null;
      stages.nobody(this, refusal(error));
    } else if (error.status === 403 || error.status === 409) {
      const say = (what) => this.shell.notice("trouble", `${capital(refusal(what))}.`, { bad: true });
      say(error);
      this.reload().catch(say);
    } else {
      this.shell.notice("trouble", `${capital(refusal(error))}.`, { bad: true, label: t("notice.reload"), act: () => location.reload() });
    }
  }
}

new App().start();
