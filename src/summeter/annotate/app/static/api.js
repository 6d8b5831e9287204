// Requests to the server. A call returns what the server committed, or throws a Refusal with a message.

export class Refusal extends Error {
  constructor(status, code, message, field = null) {
    super(message);
    Object.assign(this, { status, code, field });
  }

  // The server did not respond or is unavailable, so the call can be repeated.
  get passing() {
    return this.status === 0 || this.status >= 500;
  }
}

const PATIENCE = 20000;
const wait = (ms) => new Promise((done) => setTimeout(done, ms));

export class Api {
  constructor() {
    this.csrf = "";
    this.who = null;
  }

  // Token of the person for whom writes are made; another person may use the browser while a page stays open.
  know(session) {
    this.csrf = session.csrf;
    this.who = session.annotator ?? "preview";
  }

  async call(path, body) {
    const options = { method: "GET", credentials: "same-origin", cache: "no-store", headers: {} };
    if (body !== undefined) {
      options.method = "POST";
      options.headers = { "Content-Type": "application/json", "X-CSRF-Token": this.csrf };
      options.body = JSON.stringify(body);
    }
    return this.read(await this.fetch(path, options));
  }

  // Returns the body of a reply. Throws a Refusal for an error.
  async read(reply) {
    const read = await reply.json().catch(() => null);
    if (reply.ok && read !== null) return read;
    const error = read?.error ?? {};
    // A page that is not JSON, with the status 200, comes from a proxy and not from the server.
    const status = reply.ok ? 502 : reply.status;
    throw new Refusal(status, error.code ?? `http_${status}`, error.message ?? `the server answered ${reply.status}`, error.field);
  }

  async fetch(path, options) {
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort(), PATIENCE);
    try {
      return await fetch(path, { ...options, signal: stop.signal });
    } catch (error) {
      throw new Refusal(0, "offline", "the server cannot be reached");
    } finally {
      clearTimeout(timer);
    }
  }

  async session() {
    this.know(await this.call("/api/session"));
  }

  // Repeats a call until the server replies. `told` is called with each error.
  async insist(path, body, told = () => {}) {
    for (let turn = 0; ; turn += 1) {
      try {
        return await this.call(path, body);
      } catch (error) {
        if (!(error instanceof Refusal) || !error.passing) throw error;
        const pause = backoff(turn);
        told(error, pause);
        await wait(pause);
      }
    }
  }
}

// Delays of 1, 2, 4 ... 30 seconds, varied by a quarter at random, so that many browsers do not return at once.
export function backoff(turn, chance = Math.random()) {
  return Math.min(30000, 1000 * 2 ** Math.min(turn, 5)) * (0.875 + chance / 4);
}

export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
