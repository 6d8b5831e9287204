// Pages of the researcher that follow the log. What has not changed is not sent again, and a page out of view asks nothing.
import { Api, Refusal } from "./api.js";
import { byId, el } from "./dom.js";
import { capital } from "./shell.js";

const NO_LINK = "Open the dashboard with the link that `annotate serve` printed.";

export class LiveApi extends Api {
  constructor() {
    super();
    this.tags = new Map();
  }

  // The answer, or null where nothing has changed since the last one.
  async changed(path) {
    const tag = this.tags.get(path);
    const headers = tag ? { "If-None-Match": tag } : {};
    const reply = await this.fetch(path, { credentials: "same-origin", cache: "no-store", headers });
    if (reply.status === 304) return null;
    const found = await this.read(reply);
    this.tags.set(path, reply.headers.get("ETag"));
    return found;
  }

  forget() {
    this.tags.clear();
  }
}

export function notice(text) {
  byId("notices").replaceChildren(...(text ? [el("div", { class: "notice bad-notice" }, el("p", { text }))] : []));
}

// Asks once; says on the page when it was, or why it could not.
export async function asking(poll) {
  try {
    await poll();
    byId("fresh").textContent = `as of ${new Date().toLocaleTimeString("en")}`;
    notice("");
    return true;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const barred = error.status === 401 || error.status === 403;
    notice(barred ? NO_LINK : `${capital(error.message)}.${error.passing ? " Trying again." : ""}`);
    return false;
  }
}

const inView = () => document.visibilityState === "visible";

function shown() {
  return new Promise((done) => {
    document.addEventListener("visibilitychange", function look() {
      if (!inView()) return;
      document.removeEventListener("visibilitychange", look);
      done();
    });
  });
}

// Asks every so often while the page is in view, and at once when it comes into view again.
export async function follow(poll, every) {
  for (;;) {
    if (!inView()) await shown();
    await asking(poll);
    await new Promise((done) => setTimeout(done, every));
  }
}
