// One annotator: what they answered and when, beside what others said, the checks they passed, exclusions and their reasons.
import { button, byId, el, many, words } from "./dom.js";
import { excluder } from "./exclude.js";
import { LiveApi, asking, follow } from "./live.js";
import { money } from "./strings.js";
import { cell, figure, number, percent, table, when } from "./table.js";

const EVERY = 15000;
const SHOWN = 25;
const PACE = 1 / 3;
const FILTERS = [["all", "All answers"], ["checks", "Attention checks"], ["failed", "Failed checks"], ["differs", "Others differ"]];
const NUMBERS = new Set(["Seconds", "Server's clock", "Tasks", "Answered"]);
const api = new LiveApi();
const name = new URLSearchParams(location.search).get("name") ?? "";
const view = { only: "all", from: 0 };
const root = el("div", { class: "dash" });

function figures(one) {
  const quick = one.pace !== null && one.pace < PACE;
  const failing = one.check_rate !== null && one.check_rate < one.pass_share;
  const usual = one.seconds_usual === null ? null : `${number(one.seconds_usual, 1)} is usual here`;
  return el("dl", { class: "figures" }, ...[
    figure("Answers", one.answered, `${many(one.batches, "finished batch", "finished batches")}`),
    figure("Checks passed", one.check_rate === null ? "–" : `${one.checks_passed} of ${one.checks_seen}`, one.pass_share ? `${percent(one.pass_share)} is asked for` : null, failing ? { class: "low" } : null),
    figure("Seconds a task, median", number(one.seconds_median, 1), usual, quick ? { class: "low" } : null),
    figure("By the server's clock", number(one.seconds_waited, 1), one.contradicted ? `${many(one.contradicted, "answer")} claim more time than had passed` : "network included", one.contradicted ? { class: "low" } : null),
    figure("Agreement with the others", number(one.agreement), one.agreement === null ? one.why : "1 is complete, 0 is chance"),
    one.endorsement_n ? figure("Follows a wrong machine", percent(one.endorsement), `in ${many(one.endorsement_n, "case")}`) : null,
    one.pay === null ? null : figure("Pay", one.currency ? money(one.pay, one.currency, "en") : number(one.pay)),
    figure("First seen", when(one.joined_at), null, { class: "date" }), figure("Last seen", when(one.seen_at), null, { class: "date" }),
  ].filter(Boolean));
}

function aspects(one) {
  const list = Object.entries(one.by_aspect);
  if (list.length < 2) return null;
  const rows = list.map(([aspect, value]) => el("tr", null, el("th", { scope: "row" }, words(aspect)), cell(number(value)),
    el("td", null, value === null ? "too few shared answers" : el("meter", { min: 0, max: 1, low: 0.4, high: 0.8, optimum: 1, value: Math.max(0, Math.min(1, value)), "aria-label": `${aspect}: ${number(value)}` }))));
  return el("section", null, el("h2", { text: "Agreement with the others, by aspect" }), table(["Aspect", "Agreement", ""], rows, "Agreement by aspect", { numbers: new Set(["Agreement"]) }));
}

function history(one) {
  const rows = one.history.map((event) => el("tr", null, el("th", { scope: "row", text: event.kind === "excluded" ? "Excluded" : "Reinstated" }),
    cell(when(event.at), null), el("td", { class: "wrap" }, words(event.reason ?? "–")), cell(`${event.by}${event.rule ? ` (rule: ${event.rule})` : ""}`, null)));
  return el("section", null, el("h2", { text: "Exclusions" }),
    rows.length ? table(["What", "When", "Why", "By"], rows, "Exclusions") : el("p", { class: "muted", text: "Never excluded." }));
}

function others(answer) {
  if (answer.check) return answer.passed ? "check passed" : "check failed";
  if (!answer.others) return "nobody else yet";
  return answer.same === answer.others ? `the same (${answer.others})` : `${answer.same} of ${answer.others} the same`;
}

function subject(answer) {
  const what = [answer.document_id, [answer.system, answer.rival].filter(Boolean).join(" vs "), answer.index === null ? "" : `no.\u00a0${answer.index + 1}`];
  return what.filter(Boolean).join(" · ");
}

function answers(one) {
  const filters = FILTERS.map(([only, title]) => button(title, () => look({ only, from: 0 }), { class: "plain", "aria-pressed": String(view.only === only), "data-at": `only-${only}` }));
  const rows = one.answers.map((answer) => el("tr", null,
    el("th", { scope: "row" }, words(subject(answer)), answer.check ? el("span", { class: "small", text: " check" }) : null),
    el("td", { class: "wrap" }, words(answer.said), answer.comment ? el("span", { class: "small comment" }, "“", words(answer.comment), "”") : null),
    el("td", { class: answer.passed === false ? "low" : null, text: others(answer) }),
    cell(number(answer.seconds, 1)),
    el("td", { class: answer.contradicted ? "number low" : "number", text: number(answer.seconds_waited, 1) }),
    cell(when(answer.at), null)));
  const last = view.from + one.answers.length;
  const place = one.answers_total ? `${view.from + 1} to ${last} of ${one.answers_total}, the newest first` : "none";
  return el("section", { "aria-label": "Answers" }, el("h2", { text: "Answers" }), el("p", { class: "row", role: "group", "aria-label": "Which answers" }, ...filters), el("p", { class: "muted", role: "status", text: place }),
    rows.length ? table(["Task", "Answer", "Others", "Seconds", "Server's clock", "When"], rows, "Answers", { numbers: NUMBERS }) : null,
    el("p", { class: "row" },
      view.from ? button("Newer", () => look({ from: Math.max(0, view.from - SHOWN) }), { class: "plain", "data-at": "newer" }) : null,
      last < one.answers_total ? button("Older", () => look({ from: view.from + SHOWN }), { class: "plain", "data-at": "older" }) : null));
}

function batches(one) {
  const rows = one.batch_list.map((batch) => el("tr", null, el("th", { scope: "row", text: `Batch ${batch.number}` }), cell(batch.tasks), cell(batch.answered), cell(batch.state, null), cell(when(batch.since), null), cell(when(batch.seen), null)));
  return el("section", null, el("h2", { text: "Batches" }), rows.length ? table(["Batch", "Tasks", "Answered", "State", "Handed out", "Last worked on"], rows, "Batches", { numbers: NUMBERS }) : el("p", { class: "muted", text: "None yet." }));
}

function draw(one) {
  const held = root.contains(document.activeElement) ? document.activeElement.dataset.at : null;
  const stage = (one.outcome ?? one.stage).replaceAll("_", " ");
  const head = el("p", { class: "row" }, el("span", { class: `chip ${one.excluded ? "bad" : "none"} plain-chip`, text: one.excluded ? "excluded" : stage }),
    one.arm === "unassisted" ? el("span", { class: "tag", text: "without assistance" }) : null, excluder(api, one, again));
  root.replaceChildren(...[el("section", { "aria-label": "Standing" }, head, figures(one)), aspects(one), answers(one), history(one), batches(one)].filter(Boolean));
  if (held) [...root.querySelectorAll("[data-at]")].find((node) => node.dataset.at === held)?.focus({ preventScroll: true });
}

async function poll() {
  const query = new URLSearchParams({ name, only: view.only, from: view.from });
  // A list drawn anew while a button in it is pressed would lose the click.
  if (root.matches(":active")) return;
  const found = await api.changed(`/api/admin/annotator?${query}`);
  if (found) draw(found);
}

async function again() {
  api.forget();
  await poll();
}

async function look(change) {
  Object.assign(view, change);
  api.forget();
  await asking(async () => {
    const query = new URLSearchParams({ name, only: view.only, from: view.from });
    draw(await api.changed(`/api/admin/annotator?${query}`));
  });
}

async function start() {
  byId("who").replaceChildren(words(name));
  document.title = `${name} · ${document.documentElement.dataset.title}`;
  const begun = await asking(async () => {
    api.csrf = (await api.call("/api/admin/session")).csrf;
    byId("main").append(root);
  });
  if (begun) await follow(poll, EVERY);
  else setTimeout(start, EVERY);
}

start();
