// Answers on their way to the server. Each is kept until the server acknowledges or refuses it, and survives a reload.
import { backoff, newId, Refusal } from "./api.js";

const NAME = "answer:";

export class Outbox {
  // `heard` is told of {acknowledged | refused: entry, error?} and of every change in number; `who` gave the answers.
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

  // An answer that waits and was not tried yet is replaced by a later one to the same task.
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

  // One tab sends at a time where the browser has locks; elsewhere two may send the same answer, which is stored once.
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

  // False: stop for now. What the server refuses leaves the queue, and the person is told.
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

  // A new token, once an answer; whether it is for the same person is seen when the answer is sent again.
  async renew(entry) {
    try {
      await this.api.session();
    } catch (error) {
      return this.failed(entry, error);
    }
    this.keep.set(NAME + entry.answer_id, { ...entry, tried: true, renewed: this.api.who === this.who });
    return true;
  }

  // Resolves once nothing waits.
  async empty() {
    while (this.waiting().length) {
      await this.flush();
      if (this.waiting().length) await new Promise((done) => setTimeout(done, 500));
    }
  }
}
