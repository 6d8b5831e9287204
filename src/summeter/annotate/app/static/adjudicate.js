// Adjudication: what annotators differ on, one task after another, all answers side by side; the decision is stored as an event.
import { Api, Refusal } from "./api.js";
import { button, byId, el, fresh, many, words } from "./dom.js";
import { capital } from "./shell.js";

const api = new Api();
const root = el("div", { class: "dash" });

function asked(one) {
  const body = one.body;
  if (body.sentence !== undefined) return [["Sentence", body.sentence]];
  if (body.key_fact !== undefined) return [["Key fact", body.key_fact], ...(body.summary ? [["Summary", body.summary.text]] : [])];
  if (body.summary !== undefined) return [["Summary", body.summary.text]];
  return (body.summaries ?? []).map((summary) => [summary.system, summary.text]);
}

function card(one) {
  const reason = el("input", { id: fresh("reason"), type: "text", maxlength: 2000 });
  const told = el("p", { class: "wanting-text", role: "alert" });
  const own = el("textarea", { id: fresh("own"), rows: 4, spellcheck: "false" });
  own.value = JSON.stringify({ ...one.answers[0]?.answer, machine: null, comment: null }, null, 1);
  const decide = async (body) => {
    try {
      await api.call("/api/admin/adjudicate", { task: one.task, reason: reason.value.trim() || null, ...body });
      await load();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      told.textContent = `${capital(error.message)}.`;
    }
  };
  const written = () => {
    try {
      decide({ answer: JSON.parse(own.value) });
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      told.textContent = "This is not JSON.";
    }
  };
  const answers = one.answers.map((answer) => el("tr", null,
    el("th", { scope: "row" }, words(answer.annotator)),
    el("td", { class: "wrap" }, words(answer.said), answer.answer.comment ? el("p", { class: "small" }, words(answer.answer.comment)) : null),
    el("td", { class: "number", text: `${answer.seconds.toFixed(0)} s` }),
    el("td", null, button("Take this answer", () => decide({ as: answer.annotator }), { class: "plain", "aria-label": `Take this answer, by ${answer.annotator}` }))));
  const settled = one.adjudicated ? el("p", { class: "notice" }, "Decided by ", words(one.adjudicated.by ?? "–"), ": ", words(one.adjudicated.said), one.adjudicated.reason ? el("span", null, " – ", words(one.adjudicated.reason)) : null) : null;
  return el("section", { class: "card dispute", "aria-label": one.task },
    el("h2", null, words(one.why), one.even ? el("span", { class: "small", text: " · no majority" }) : null),
    el("p", { class: "small" }, "document ", words(one.document_id), one.system ? el("span", null, ", ", words(one.system)) : null, one.rival ? el("span", null, " and ", words(one.rival)) : null),
    ...asked(one).map(([name, text]) => el("p", null, el("b", null, words(name), ": "), words(text))),
    one.machine?.reason ? el("p", { class: "muted" }, "The machine: ", words(one.machine.reason)) : null,
    el("details", null, el("summary", { text: "The document" }), el("p", { class: "text" }, words(one.document))),
    settled,
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Answers" }, el("table", { class: "people" }, el("tbody", null, ...answers))),
    el("div", { class: "field" }, el("label", { for: reason.id, text: "Reason (stands in the log)" }), reason),
    el("details", null, el("summary", { text: "None of these" }),
      el("div", { class: "field" }, el("label", { for: own.id, text: "The answer as it is stored (JSON)" }), own), button("Decide so", written, { class: "plain" })),
    told);
}

async function load() {
  const all = byId("all")?.checked ? "1" : "0";
  const found = await api.call(`/api/admin/disputes?all=${all}`);
  const count = found.total ? `${many(found.total, "task")} on which annotators differ${found.left ? `; the first ${found.disputes.length} are shown` : ""}.` : "Nothing is left to decide.";
  const every = el("input", { type: "checkbox", id: "all", on: { change: load } });
  every.checked = all === "1";
  root.replaceChildren(el("p", { class: "lead", role: "status", text: count }), el("p", null, el("label", null, every, " also what is decided")), ...found.disputes.map(card));
}

async function start() {
  byId("main").append(root);
  try {
    api.csrf = (await api.call("/api/admin/session")).csrf;
    await load();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    byId("notices").replaceChildren(el("div", { class: "notice bad-notice" }, el("p", { text: `${capital(error.message)}.` })));
  }
}

start();
