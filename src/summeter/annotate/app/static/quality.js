// The quality of the answers: agreement in words and numbers, every annotator's standing, what the machine's help does.
import { byId, el, many, words } from "./dom.js";
import { LiveApi, follow } from "./live.js";
import { cell, number, percent, table as drawn } from "./table.js";

const EVERY = 15000;
// Under this share of the campaign's median time an annotator's is marked.
const PACE = 1 / 3;
const api = new LiveApi();
const NAMES = {
  alpha_nominal: "Krippendorff's alpha, nominal", alpha_ordinal: "Krippendorff's alpha, ordinal",
  alpha_interval: "Krippendorff's alpha, interval", alpha_masi: "Krippendorff's alpha of sets", ac1: "Gwet's AC1", identical: "share of identical votes", span_f1: "F1 of marked characters",
};
const COUNTED = new Set(["Value", "95 % interval", "Units", "Answers", "Agreement", "Checks passed", "Seconds, median", "Server's clock", "Follows a wrong machine", "Say the same", "How many"]);
const WHERE = { checks: "attention checks", work: "tasks", all: "checks and tasks" };
const range = (row) => (row.low === null ? "–" : `${number(row.low)} to ${number(row.high)}`);

const root = el("div", { class: "dash" });

function bar(value, label, low = 0) {
  const filled = value === null ? 0 : Math.max(0, Math.min(1, value));
  return el("meter", { min: 0, max: 1, low, high: 0.8, optimum: 1, value: filled, "aria-label": label });
}

const table = (heads, rows, label) => drawn(heads, rows, label, { numbers: COUNTED });

function group(row) {
  if (row.domain !== null) return `domain ${row.domain}`;
  return row.details.group === undefined ? "all" : `${row.details.by}: ${row.details.group}`;
}

function agreement(found) {
  const said = new Map(found.said.map((one) => [one.aspect, one]));
  const main = (row) => row.statistic === said.get(row.aspect)?.statistic && group(row) === "all";
  const first = found.agreement.filter(main);
  const lines = first.map((row) => el("p", { class: "lead" }, words(row.aspect), `: ${number(row.value)}${row.low === null ? "" : ` (${range(row)})`} – ${said.get(row.aspect).words}.`));
  const rows = found.agreement.map((row) => el("tr", { class: main(row) ? "main-row" : null },
    el("th", { scope: "row" }, words(row.aspect)), cell(group(row), null), cell(NAMES[row.statistic] ?? row.statistic, null),
    cell(number(row.value)), cell(range(row)), cell(row.n), el("td", null, row.value === null ? words(row.reason) : bar(row.value, `${row.aspect}: ${number(row.value)}`, 0.667))));
  return el("section", { "aria-label": "Agreement" }, el("h2", { text: "Do annotators agree?" }), ...lines,
    rows.length ? el("details", null, el("summary", { text: "By domain and length, all coefficients" }),
      table(["Aspect", "Documents", "Coefficient", "Value", "95 % interval", "Units", ""], rows, "Agreement")) : el("p", { class: "muted", text: "Nothing to compare yet." }));
}

function annotators(found) {
  const helped = found.assistance.length > 0;
  const shown = [...found.annotators].sort((a, b) => (a.agreement ?? 9) - (b.agreement ?? 9) || b.answered - a.answered);
  const rows = shown.map((one) => el("tr", { class: one.excluded ? "out" : null },
    el("th", { scope: "row" }, el("a", { href: `/admin/annotator?name=${encodeURIComponent(one.annotator)}` }, words(one.annotator)), one.excluded ? el("span", { class: "small", text: " excluded" }) : null),
    cell(one.answered),
    cell(number(one.agreement)), el("td", null, one.agreement === null ? el("span", { class: "small", text: one.why }) : bar(one.agreement, `${one.annotator}: agreement ${number(one.agreement)}`, 0.4)),
    el("td", { class: `number${one.check_rate !== null && one.check_rate < found.pass_share ? " low" : ""}`, text: one.check_rate === null ? "–" : `${one.checks_passed} of ${one.checks_seen}` }),
    el("td", { class: `number${one.pace !== null && one.pace < PACE ? " low" : ""}`, text: one.seconds_median === null ? "–" : one.seconds_median.toFixed(1) }),
    el("td", { class: `number${one.contradicted ? " low" : ""}`, text: one.seconds_waited === null ? "–" : one.seconds_waited.toFixed(1) }),
    helped ? cell(one.endorsement === null ? "–" : `${percent(one.endorsement)} of ${one.endorsement_n}`) : null,
    helped ? cell(one.arm, null) : null));
  return el("section", { "aria-label": "Annotators" }, el("h2", { text: "Annotators" }),
    el("p", { class: "muted", text: "The least agreeing first. Agreement is that with the merged answers of the others: 1 is complete, 0 is chance." }),
    el("p", { class: "muted", text: `Marked: ${found.pass_share ? `fewer than ${percent(found.pass_share)} of the checks passed (the campaign's pass_share); ` : ""}less than a third of the usual time; answers that claim more time than had passed by the server's clock.` }),
    spread(found.annotators), el("h3", { text: "Each annotator" }),
    rows.length ? table(["Annotator", "Answers", "Agreement", "", "Checks passed", "Seconds, median", "Server's clock", ...(helped ? ["Follows a wrong machine", "Arm"] : [])], rows, "Annotators")
      : el("p", { class: "muted", text: "Nobody has come yet." }));
}

// How many annotators agree with the others how well: a crowd at chance is seen at a glance.
function spread(people) {
  const known = people.filter((one) => one.agreement !== null);
  if (known.length < 2) return null;
  const bands = [["0.2 or less", -9, 0.2], ["0.2 to 0.4", 0.2, 0.4], ["0.4 to 0.667", 0.4, 0.667], ["0.667 to 0.8", 0.667, 0.8], ["above 0.8", 0.8, 9]];
  const rows = bands.map(([name, low, high]) => {
    const count = known.filter((one) => one.agreement > low && one.agreement <= high).length;
    return el("tr", null, el("th", { scope: "row", text: name }), cell(many(count, "annotator")), el("td", null, el("progress", { max: known.length, value: count, "aria-label": `${name}: ${count}` })));
  });
  return table(["Agreement with the others", "How many", ""], rows, "Agreement of annotators");
}

function assistance(found) {
  if (!found.assistance.length) return null;
  const rows = found.assistance.map((row) => el("tr", null,
    el("th", { scope: "row", text: row.statistic === "pull" ? "Difference: the machine's pull" : row.details.arm === "assisted" ? "Saw the verdict" : "Did not see it" }),
    cell(WHERE[row.details.tasks], null), cell(percent(row.value)), cell(row.low === null ? "–" : `${percent(row.low)} to ${percent(row.high)}`), cell(row.n)));
  return el("section", { "aria-label": "The machine's help" }, el("h2", { text: "Where the machine is wrong, who says what it says?" }),
    table(["Annotators", "On", "Say the same", "95 % interval", "Answers"], rows, "The machine's help"));
}

let latest = null;

async function poll() {
  latest = (await api.changed("/api/admin/quality")) ?? latest;
  // Nothing is drawn anew while it is pressed: the click would be lost.
  if (root.dataset.seq === String(latest.last_seq) || root.matches(":active")) return;
  const open = root.querySelector("details")?.open ?? false;
  root.replaceChildren(...[agreement(latest), annotators(latest), assistance(latest), ...latest.notes.map((text) => el("p", { class: "muted", text }))].filter(Boolean));
  const details = root.querySelector("details");
  if (details) details.open = open;
  root.dataset.seq = latest.last_seq;
}

byId("main").append(root);
follow(poll, EVERY);
