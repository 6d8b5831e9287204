// The frame of all stages: bar, notices, instructions panel and number of unsent answers.
import { button, byId, el } from "./dom.js";
import { money, refusal, rich, t } from "./strings.js";

export class Shell {
  constructor() {
    this.main = byId("main");
    this.notices = byId("notices");
    this.live = byId("live");
    this.bar = { place: byId("place"), waiting: byId("waiting"), lease: byId("lease"), pay: byId("pay"), steps: byId("steps") };
    this.help = byId("panel");
    this.opener = byId("open-instructions");
    this.pause = byId("open-pause");
    this.deadline = null;
    this.warned = false;
    this.text = document.getElementById("instructions-text");
    if (this.text.content.textContent.trim()) {
      byId("panel-body").append(this.text.content.cloneNode(true));
      this.opener.hidden = false;
      this.opener.addEventListener("click", () => this.toggle());
      byId("close-panel").addEventListener("click", () => this.toggle(false));
      this.help.addEventListener("keydown", (event) => event.key === "Escape" && this.toggle(false));
    }
    setInterval(() => this.clock(), 5000);
    addEventListener("beforeunload", (event) => this.unsafe?.() && event.preventDefault());
  }

  toggle(on = this.help.hidden) {
    if (this.opener.hidden) return false;
    this.help.hidden = !on;
    document.body.classList.toggle("with-panel", on);
    this.opener.setAttribute("aria-expanded", String(on));
    (on ? byId("panel-title") : this.opener).focus();
    return true;
  }

  // Shows a stage and focuses its heading, so that screen readers continue there and single keys work at once.
  show(title, ...nodes) {
    const heading = el("h1", { tabindex: "-1", text: title });
    this.main.replaceChildren(heading, ...nodes.flat().filter(Boolean));
    document.title = `${title} · ${document.documentElement.dataset.title}`;
    scrollTo(0, 0);
    heading.focus({ preventScroll: true });
    return heading;
  }

  say(text) {
    this.live.textContent = "";
    setTimeout(() => { this.live.textContent = text; }, 50);
  }

  // Shows a notice until it is closed or replaced by one with the same name.
  notice(name, text, { bad = false, act = null, label = "" } = {}) {
    this.quiet(name);
    const close = button("×", () => this.quiet(name), { class: "close", "aria-label": t("page.close_notice") });
    const tail = act ? button(label, act, { class: "plain" }) : null;
    this.notices.append(el("div", { class: bad ? "notice bad-notice" : "notice", id: `notice-${name}` }, el("p", { text }), tail, close));
  }

  quiet(name) {
    byId(`notice-${name}`)?.remove();
  }

  place(at, total, answered, what) {
    const { place } = this.bar;
    if (total === null) {
      place.replaceChildren();
      return;
    }
    const bar = el("progress", { max: total, value: answered, "aria-label": t("page.progress_label", { n: answered, total, what }) });
    place.replaceChildren(bar, el("span", { class: "nobr", text: t("page.progress", { n: answered, total }) }), el("span", { class: "wide-only", text: ` ${what}` }));
  }

  // Shows the current stage among the stages of the campaign.
  steps(stages, stage) {
    const at = stages.indexOf(stage);
    const items = stages.map((name, index) => el("li", {
      class: index < at ? "past" : index === at ? "now" : null, "aria-current": index === at ? "step" : null, text: t(`stage.${name}`),
    }));
    // During the work, the bar shows the progress instead.
    this.bar.steps.replaceChildren(...(stages.length > 1 && at >= 0 && stage !== "work" ? items : []));
    this.bar.steps.hidden = !this.bar.steps.children.length;
  }

  waiting(n, trouble) {
    const { waiting } = this.bar;
    waiting.hidden = n === 0;
    waiting.textContent = n ? t("page.answers_waiting", { n }) : "";
    if (n && trouble) this.notice("offline", t("notice.offline", { reason: capital(refusal(trouble)) }));
    if (!n || !trouble) this.quiet("offline");
  }

  pay(pay) {
    this.bar.pay.hidden = !pay;
    if (pay) this.bar.pay.textContent = t("page.pay", { amount: money(pay.earned + (pay.bonus ?? 0), pay.currency) });
  }

  lease(seconds) {
    this.deadline = seconds === null ? null : Date.now() + seconds * 1000;
    this.warned = false;
    this.quiet("lease");
    this.clock();
  }

  get left() {
    return this.deadline === null ? null : (this.deadline - Date.now()) / 1000;
  }

  clock() {
    const left = this.left;
    this.bar.lease.hidden = left === null;
    if (left === null) return;
    this.bar.lease.replaceChildren(...rich("page.time_left", { time: el("span", { text: t("page.minutes_short", { n: Math.max(0, Math.ceil(left / 60)) }) }) })
      .map((part) => (typeof part === "string" ? el("span", { class: "wide-only", text: part }) : part)));
    this.bar.lease.classList.toggle("short", left < 300);
    if (left < 300 && !this.warned) {
      this.warned = true;
      this.notice("lease", t("notice.lease"));
    }
  }
}

export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
