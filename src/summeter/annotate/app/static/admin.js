// The dashboard: how far the campaign is, how each annotator does. It asks the server every few seconds while it is in view.
import { Api, Refusal } from "./api.js";
import { button, byId, el, many, words } from "./dom.js";
import { show } from "./keys.js";
import { capital } from "./shell.js";
import { money } from "./strings.js";

const EVERY = 5000;
const api = new Api();
const order = { by: "annotator", down: false };
const percent = (part, whole) => (whole ? `${Math.round((100 * part) / whole)} %` : "–");
const when = (ms) => (ms ? new Date(ms).toLocaleString("en", { dateStyle: "medium", timeStyle: "short" }) : "–");

const root = el("div", { class: "dash" });
const figures = el("dl", { class: "figures" });
const progress = el("div");
const table = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Annotators" });
root.append(
  el("section", { "aria-label": "Progress" }, progress, figures),
  el("section", null, el("h2", { text: "Annotators" }), table),
);

function notice(text) {
  byId("notices").replaceChildren(...(text ? [el("div", { class: "notice bad-notice" }, el("p", { text }))] : []));
}

function figure(name, value, more) {
  return el("div", null, el("dt", { text: name }), el("dd", null, String(value), more ? el("span", { class: "small", text: more }) : null));
}

function status(now) {
  const name = `${now.counted} of ${many(now.needed, "answer")} counted`;
  progress.replaceChildren(el("p", { class: "lead", text: `${name} (${percent(now.counted, now.needed)}).` }), el("progress", { max: now.needed || 1, value: now.counted, "aria-label": name }));
  const outcomes = Object.entries(now.outcomes).filter(([, n]) => n).map(([outcome, n]) => `${n} ${outcome.replaceAll("_", " ")}`).join(", ");
  figures.replaceChildren(...[
    figure("Items complete", `${now.complete_items} / ${now.items}`, `${many(now.answers_per_item, "answer")} each`),
    figure("Being worked on", now.held, "slots under a lease"),
    figure("Answers, last hour", now.answers_last_hour),
    figure("Annotators", now.people, outcomes || "none has ended"),
    figure("Checks passed", percent(now.checks.passed, now.checks.seen), `${now.checks.passed} of ${now.checks.seen}${now.pass_share ? `; under ${percent(now.pass_share, 1)} is marked` : ""}`),
    figure("Excluded", now.excluded, "their answers do not count"),
    now.surplus ? figure("Surplus", now.surplus, "kept, used when a slot falls free") : null,
    now.pay ? figure("Pay", money(now.pay.total, now.pay.currency)) : null,
  ].filter(Boolean));
}

const COLUMNS = [
  ["annotator", "Annotator", (one) => one.annotator],
  ["stage", "Stage", (one) => one.outcome ?? one.stage],
  ["arm", "Arm", (one) => one.arm],
  ["answered", "Answers", (one) => one.answered],
  ["batches", "Batches", (one) => one.batches],
  ["checks", "Checks passed", (one) => (one.checks_seen ? one.checks_passed / one.checks_seen : null)],
  ["seconds_median", "Seconds, median", (one) => one.seconds_median],
  ["pay", "Pay", (one) => one.pay],
  ["seen_at", "Last seen", (one) => one.seen_at],
];

function compare(a, b) {
  if (a === b) return 0;
  if (a === null || a === undefined) return 1;
  if (b === null || b === undefined) return -1;
  const sign = order.down ? -1 : 1;
  return sign * (typeof a === "number" ? a - b : String(a).localeCompare(String(b)));
}

function people(list, { currency, share }) {
  if (!list.length) {
    table.replaceChildren(el("p", { class: "muted", text: "Nobody has come yet." }));
    return;
  }
  const value = COLUMNS.find(([name]) => name === order.by)[2];
  const rows = [...list].sort((a, b) => compare(value(a), value(b)));
  const held = table.contains(document.activeElement) ? document.activeElement.dataset.at : null;
  const head = COLUMNS.map(([name, title]) => {
    const sort = button(title, () => {
      Object.assign(order, { by: name, down: order.by === name ? !order.down : name !== "annotator" });
      people(list, { currency, share });
    }, { "data-at": `sort-${name}` });
    return el("th", { scope: "col", class: numeric(name), "aria-sort": order.by === name ? (order.down ? "descending" : "ascending") : "none" }, sort);
  });
  const body = rows.map((one) => el(
    "tr", { class: one.excluded ? "out" : null },
    el("th", { scope: "row" }, words(one.annotator), one.excluded ? el("span", { class: "small", text: " excluded" }) : null),
    el("td", { text: (one.outcome ?? one.stage).replaceAll("_", " ") }), el("td", { text: one.arm ?? "–" }),
    el("td", { class: "number", text: one.answered }), el("td", { class: "number", text: one.batches }),
    el("td", { class: `number${one.checks_seen && one.checks_passed / one.checks_seen < share ? " low" : ""}`, text: one.checks_seen ? `${one.checks_passed} of ${one.checks_seen}` : "–" }),
    el("td", { class: "number", text: one.seconds_median === null ? "–" : one.seconds_median.toFixed(1) }),
    el("td", { class: "number", text: one.pay === null ? "–" : money(one.pay, currency) }),
    el("td", { text: when(one.seen_at) }),
    el("td", null, button(one.excluded ? "Reinstate" : "Exclude", () => ask(one), { class: "plain", "aria-label": `${one.excluded ? "Reinstate" : "Exclude"} ${one.annotator}`, "data-at": `do-${one.annotator}` })),
  ));
  table.replaceChildren(el("table", { class: "people" }, el("thead", null, el("tr", null, ...head, el("td"))), el("tbody", null, ...body)));
  // The table is drawn anew every few seconds; whoever works in it by keyboard stays where they are.
  if (held) [...table.querySelectorAll("[data-at]")].find((node) => node.dataset.at === held)?.focus({ preventScroll: true });
}

const numeric = (name) => (["answered", "batches", "checks", "seconds_median", "pay"].includes(name) ? "number" : null);

function ask(one) {
  const verb = one.excluded ? "reinstate" : "exclude";
  const reason = el("textarea", { id: "reason", rows: 2, maxlength: 500, required: true });
  const told = el("p", { class: "wanting-text", role: "alert" });
  const act = async (event) => {
    event.preventDefault();
    if (!reason.value.trim()) {
      told.textContent = "A reason is needed: it stands in the log.";
      reason.focus();
      return;
    }
    try {
      await api.call(`/api/admin/${verb}`, { annotator: one.annotator, reason: reason.value.trim() });
      dialog.close();
      await poll();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      told.textContent = `${capital(error.message)}.`;
    }
  };
  const dialog = el(
    "dialog", { class: "dialog", "aria-labelledby": "ask-title" },
    el("h2", { id: "ask-title" }, `${capital(verb)} `, words(one.annotator), "?"),
    el("p", { text: one.excluded ? "Their answers count again." : "Their answers stop counting and the items are offered to others. It can be undone." }),
    el("form", { novalidate: true, on: { submit: act } }, el("div", { class: "field" }, el("label", { for: "reason", text: "Reason" }), reason), told,
      el("p", { class: "row end" }, el("button", { type: "submit", class: "main", text: capital(verb) }), button("Cancel", () => dialog.close(), { class: "plain" }))),
  );
  show(dialog);
  reason.focus();
}

let asked = 0;

async function poll() {
  asked += 1;
  const turn = asked;
  try {
    const [now, all] = await Promise.all([api.call("/api/admin/status"), api.call("/api/admin/people")]);
    // A reply that a later call has overtaken says what no longer holds.
    if (turn !== asked) return;
    status(now);
    // A button drawn anew while it is pressed would lose its click.
    if (!table.matches(":active")) people(all.people, { currency: now.pay?.currency ?? "USD", share: now.pass_share });
    byId("fresh").textContent = `as of ${new Date().toLocaleTimeString("en")}`;
    notice("");
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    notice(error.status === 401 || error.status === 403 ? "Open the dashboard with the link that `annotate serve` printed." : `${capital(error.message)}. Trying again.`);
  }
}

async function start() {
  try {
    api.csrf = (await api.call("/api/admin/session")).csrf;
    byId("main").append(root);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    notice(error.passing ? `${capital(error.message)}. Trying again.` : "Open the dashboard with the link that `annotate serve` printed.");
    if (error.passing) setTimeout(start, EVERY);
    return;
  }
  for (;;) {
    if (document.visibilityState === "visible") await poll();
    await new Promise((done) => setTimeout(done, EVERY));
  }
}

start();
