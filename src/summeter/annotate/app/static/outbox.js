// Queue of answers to send. Each is stored, also across reloads, until the server acknowledges or refuses it.
import { backoff, newId, Refusal } from "./api.js";

const NAME = "answer:";

export class Outbox {
  // `heard` is called with {acknowledged | refused: entry, error?} and after changes of the queue; `who` gave the answers.
  constructor(keep, api, heard, who) {
    Object.assign(this, { keep, api, heard, who, turn: 0, timer: null, running: false, again: false, sending: null, trouble: null });
    addEventListener("online", () => this.flush());
    document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && this.flush());
  }

  waiting() {
    const entries = this.keep.names(NAME).map((name) => this.keep.get(name)).filter((entry) => entry !== null);
    return entries.sort((a, b) => a.at - b.at || a.order - b.order);
  }

  find(task) {
    return this.waiting().filter((entry) => entry.task === task).pop() ?? null;
  }

  // A queued answer that was not sent yet is replaced by a later one to the same task.
  put(task, answer, seconds) {
    for (const entry of this.waiting()) {
      if (entry.task === task && entry.answer_id !== this.sending && !entry.tried) this.drop(entry);
    }
    const order = this.waiting().length;
    const entry = { answer_id: newId(), task, answer, seconds, at: Date.now(), order, tried: false };
    this.keep.set(NAME + entry.answer_id, entry);
    this.heard({ changed: true });
    this.flush();
    return entry;
  }

  drop(entry) {
    this.keep.remove(NAME + entry.answer_id);
  }

  // With browser locks, one tab sends at a time. Otherwise two tabs may send the same answer, which is stored once.
  async flush() {
    clearTimeout(this.timer);
    if (this.running) {
      this.again = true;
      return;
    }
    this.running = true;
    this.again = false;
    try {
      if (navigator.locks) await navigator.locks.request(`${this.keep.prefix}outbox`, () => this.drain());
      else await this.drain();
    } finally {
      this.running = false;
      this.heard({ changed: true });
    }
    if (this.again) this.flush();
  }

  async drain() {
    for (let next = this.waiting()[0]; next; next = this.waiting()[0]) {
      if (!(await this.send(next))) return;
      this.heard({ changed: true });
    }
    this.turn = 0;
    this.trouble = null;
  }

  async send(entry) {
    if (this.api.who !== this.who) {
      this.trouble = new Refusal(401, "somebody_else", "somebody else's link was opened in this browser");
      this.heard({ trouble: this.trouble });
      return false;
    }
    this.sending = entry.answer_id;
    this.keep.set(NAME + entry.answer_id, { ...entry, tried: true });
    const { answer_id, task, answer, seconds, at } = entry;
    try {
      await this.api.call("/api/answers", { answer_id, task, answer, seconds, at });
    } catch (error) {
      return this.failed(entry, error);
    } finally {
      this.sending = null;
    }
    this.turn = 0;
    this.trouble = null;
    this.drop(entry);
    this.heard({ acknowledged: entry });
    return true;
  }

  // Returns false to stop for now. Refused answers are removed from the queue and reported.
  async failed(entry, error) {
    this.trouble = error;
    if (error.code === "csrf" && !entry.renewed) return this.renew(entry);
    if (error.passing || error.status === 401) {
      if (error.status !== 401) this.timer = setTimeout(() => this.flush(), backoff(this.turn));
      this.turn += 1;
      this.heard({ trouble: error });
      return false;
    }
    this.drop(entry);
    this.heard({ refused: entry, error });
    return true;
  }

  // Requests a new CSRF token, once per answer. Sending the answer again checks that the person is the same.
  async renew(entry) {
    try {
      await this.api.session();
    } catch (error) {
      return this.failed(entry, error);
    }
    this.keep.set(NAME + entry.answer_id, { ...entry, tried: true, renewed: this.api.who === this.who });
    return true;
  }

  // Resolves when the queue is empty.
  async empty() {
    while (this.waiting().length) {
      await this.flush();
      if (this.waiting().length) await new Promise((done) => setTimeout(done, 500));
    }
  }
}
