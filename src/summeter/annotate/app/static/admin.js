// The dashboard: how far the campaign is, when it should end, how each annotator does; links to hand out, files to take away.
import { button, byId, el, many, words } from "./dom.js";
import { excluder } from "./exclude.js";
import { LiveApi, asking, follow } from "./live.js";
import { money } from "./strings.js";
import { figure, number, percent, table, when } from "./table.js";

const EVERY = 5000;
const api = new LiveApi();
const order = { by: "annotator", down: false };
const known = { status: null, people: null };

const root = el("div", { class: "dash" });
const figures = el("dl", { class: "figures" });
const progress = el("div");
const board = el("div", { class: "scroll" });
const links = el("div");
const exports = el("ul", { class: "exports" });
root.append(
  el("section", { "aria-label": "Progress" }, progress, figures),
  el("section", null, el("h2", { text: "Annotators" }), board),
  el("section", { "aria-label": "Links" }, el("h2", { text: "Links to hand out" }), links),
  el("section", { "aria-label": "Files" }, el("h2", { text: "Files" }), el("p", { class: "muted" }, "What ", el("code", { text: "summeter annotate export" }), " writes, as of now."), exports),
);

function ending({ at, how }) {
  if (at) return figure("Expected end", when(at), how, { class: "wide" });
  const [head, ...rest] = how.split(": ");
  return rest.length ? figure("Expected end", head, rest.join(": "), { class: "wide" }) : figure("Expected end", "reached", how, { class: "wide" });
}

function status(now) {
  const name = `${now.counted} of ${many(now.needed, "answer")} counted`;
  progress.replaceChildren(el("p", { class: "lead", text: `${name} (${percent(now.counted, now.needed)}).` }), el("progress", { max: now.needed || 1, value: now.counted, "aria-label": name }));
  const outcomes = Object.entries(now.outcomes).filter(([, n]) => n).map(([outcome, n]) => `${n} ${outcome.replaceAll("_", " ")}`).join(", ");
  figures.replaceChildren(...[
    ending(now.expected_end),
    figure("Items complete", `${now.complete_items} / ${now.items}`, `${many(now.answers_per_item, "answer")} each`),
    figure("Being worked on", now.held, "slots under a lease"),
    figure("Answers, last hour", now.answers_last_hour),
    figure("Annotators", now.people, outcomes || "none has ended"),
    figure("Checks passed", percent(now.checks.passed, now.checks.seen), `${now.checks.passed} of ${now.checks.seen}${now.pass_share ? `; under ${percent(now.pass_share)} is marked` : ""}`),
    figure("Excluded", now.excluded, "their answers do not count"),
    now.surplus ? figure("Surplus", now.surplus, "kept, used when a slot falls free") : null,
    now.pay ? figure("Pay", money(now.pay.total, now.pay.currency, "en")) : null,
  ].filter(Boolean));
}

const stage = (one) => (one.outcome ?? one.stage).replaceAll("_", " ");
const low = (one, share) => one.checks_seen > 0 && one.checks_passed / one.checks_seen < share;

// Name, title, the value rows are sorted by, the text shown (the value itself where there is none), whether it is a number.
function columns({ people, status: now }) {
  const currency = now.pay?.currency;
  return [
    ["annotator", "Annotator", (one) => one.annotator],
    ["stage", "Stage", stage],
    people.some((one) => one.arm !== people[0].arm) ? ["arm", "Arm", (one) => one.arm] : null,
    ["answered", "Answers", (one) => one.answered, String, true],
    ["batches", "Batches", (one) => one.batches, String, true],
    ["checks", "Checks passed", (one) => (one.checks_seen ? one.checks_passed / one.checks_seen : null), (_, one) => (one.checks_seen ? `${one.checks_passed} of ${one.checks_seen}` : "–"), true],
    ["seconds_median", "Seconds, median", (one) => one.seconds_median, (value) => number(value, 1), true],
    currency ? ["pay", "Pay", (one) => one.pay, (value) => money(value, currency, "en"), true] : null,
    ["seen_at", "Last seen", (one) => one.seen_at, when],
  ].filter(Boolean);
}

function compare(a, b) {
  if (a === b) return 0;
  if (a === null || a === undefined) return 1;
  if (b === null || b === undefined) return -1;
  const sign = order.down ? -1 : 1;
  return sign * (typeof a === "number" ? a - b : String(a).localeCompare(String(b)));
}

function person(one, shown) {
  const cells = shown.slice(1).map(([name, , value, text, isNumber]) => el("td", {
    class: `${isNumber ? "number" : ""}${name === "checks" && low(one, known.status.pass_share) ? " low" : ""}`.trim() || null,
    text: text ? text(value(one), one) : value(one),
  }));
  const link = el("a", { href: `/admin/annotator?name=${encodeURIComponent(one.annotator)}`, "data-at": `see-${one.annotator}` }, words(one.annotator));
  return el("tr", { class: one.excluded ? "out" : null },
    el("th", { scope: "row" }, link, one.excluded ? el("span", { class: "small", text: " excluded" }) : null),
    ...cells, el("td", { class: "act" }, excluder(api, one, poll)));
}

function people() {
  const list = known.people;
  if (!list.length) {
    board.replaceChildren(el("p", { class: "muted", text: "Nobody has come yet." }));
    return;
  }
  const shown = columns({ people: list, status: known.status });
  const value = (shown.find(([name]) => name === order.by) ?? shown[0])[2];
  const rows = [...list].sort((a, b) => compare(value(a), value(b)));
  const held = board.contains(document.activeElement) ? document.activeElement.dataset.at : null;
  const heads = shown.map(([name, title, , , isNumber]) => {
    const sort = button(title, () => {
      Object.assign(order, { by: name, down: order.by === name ? !order.down : name !== "annotator" });
      people();
    }, { "data-at": `sort-${name}` });
    return el("th", { scope: "col", class: isNumber ? "number" : null, "aria-sort": order.by === name ? (order.down ? "descending" : "ascending") : "none" }, sort);
  });
  board.replaceChildren(table([...heads, ""], rows.map((one) => person(one, shown)), "Annotators"));
  // The table is drawn anew when something changed; whoever works in it by keyboard stays where they are.
  if (held) [...board.querySelectorAll("[data-at]")].find((node) => node.dataset.at === held)?.focus({ preventScroll: true });
}

// A copy into the clipboard; where a browser keeps that from pages without TLS, the link is marked to be copied by hand.
async function copied(text, field) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    field.select();
    return document.execCommand("copy");
  }
}

// `about` tells one button from another; the name of a button always begins with what it says.
function copier(says, about, text, field) {
  const say = (words) => {
    pressed.textContent = words;
    pressed.setAttribute("aria-label", `${words}: ${about}`);
  };
  const pressed = button("", async () => {
    say((await copied(text, field)) ? "Copied" : "Press Ctrl+C");
    setTimeout(() => say(says), 4000);
  }, { class: "plain" });
  say(says);
  return pressed;
}

function handOut(list) {
  const rows = list.map(({ name, path }) => {
    const address = `${location.origin}${path}`;
    const field = el("input", { type: "text", readonly: true, value: address, "aria-label": `Link: ${name}` });
    return el("li", null, el("span", { class: "who" }, words(name)), field, copier("Copy", `the link of ${name}`, address, field));
  });
  const secret = list.filter((one) => one.secret);
  const everything = secret.map(({ name, path }) => `${name}\t${location.origin}${path}`).join("\n");
  const all = el("textarea", { class: "sr", readonly: true, tabindex: "-1", "aria-hidden": "true" });
  all.value = everything;
  links.replaceChildren(
    ...[
      secret.length ? el("p", { class: "muted", text: "An annotator's link is their password: hand each to one person only." }) : null,
      el("details", { open: list.length < 8 }, el("summary", { text: many(list.length, "link") }), el("ul", { class: "links" }, ...rows)),
      secret.length > 1 ? el("p", null, copier(`Copy all ${secret.length}`, "each with its name", everything, all), all) : null,
    ].filter(Boolean),
  );
}

function files(list) {
  exports.replaceChildren(...list.map(({ name, title, about, suffix }) => el("li", null,
    el("a", { class: "plain", href: `/api/admin/export/${name}`, download: true, text: `${title} (${suffix.slice(1)})` }), el("span", { class: "small", text: about }))));
}

let asked = 0;

async function poll() {
  asked += 1;
  const turn = asked;
  const [now, all] = await Promise.all([api.changed("/api/admin/status"), api.changed("/api/admin/people")]);
  // A reply that a later call has overtaken says what no longer holds.
  if (turn !== asked) return;
  if (now) known.status = now;
  if (all) known.people = all.people;
  if (now) status(now);
  known.stale ||= Boolean(now || all);
  // A button drawn anew while it is pressed would lose its click.
  if (known.stale && !board.matches(":active")) {
    people();
    known.stale = false;
  }
}

async function start() {
  const begun = await asking(async () => {
    const session = await api.call("/api/admin/session");
    api.csrf = session.csrf;
    handOut(session.links);
    files(session.exports);
    byId("main").append(root);
  });
  if (begun) await follow(poll, EVERY);
  else setTimeout(start, EVERY);
}

start();
