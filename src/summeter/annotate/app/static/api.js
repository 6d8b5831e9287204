// Talking to the server. A call either gives what the server committed or throws a Refusal that says why in words.

export class Refusal extends Error {
  constructor(status, code, message, field = null) {
    super(message);
    Object.assign(this, { status, code, field });
  }

  // Nobody answered, or the server could not: the same call may be made again.
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

  // Writes are made for the person whose token this is; a browser may come to be another person's while a page stays open.
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

  // What a reply says; a Refusal where it says no.
  async read(reply) {
    const read = await reply.json().catch(() => null);
    if (reply.ok && read !== null) return read;
    const error = read?.error ?? {};
    // A page that is no JSON with a status of 200 is a proxy talking, not the server.
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

  // A call whose answer the page cannot go on without: made again until the server answers. `told` hears of each failure.
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

// 1, 2, 4 ... 30 seconds, with a quarter of chance, so that a room full of browsers does not come back as one.
export function backoff(turn, chance = Math.random()) {
  return Math.min(30000, 1000 * 2 ** Math.min(turn, 5)) * (0.875 + chance / 4);
}

export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
