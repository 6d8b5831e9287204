
(() => {
"use strict";
// A phone's screen holds less of a summary.
const PAGE = window.matchMedia("(max-width: 44rem)").matches ? 5 : 20;
// With more pages than this, there are also buttons for the first and the last page.
const FEW = 5;
const byId = (id) => document.getElementById(id);

// Text is inserted as text nodes only, so that judged texts cannot become markup.
function el(tag, options, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(options || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") node.className = value;
    else if (name === "text") node.textContent = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) if (child !== null && child !== undefined) node.append(child);
  return node;
}
const bdi = (text) => el("bdi", { text });
// A text with nodes in place of its {names}.
const between = (text, nodes) => text.split(/\{(\w+)\}/).map((part, at) => (at % 2 ? nodes[part] : part));
const grouped = (count) => count.toLocaleString("en-US");
const show = (value) => (value === null ? "–" : value.toFixed(2).replace("-", "−"));

// ---- the summaries
// A page of studies only has no summaries.
if (!byId("cards")) return;
// Each summary and each document is a separate piece of JSON, which is parsed on demand and not cached.
const held = (id) => JSON.parse(byId(id).textContent);
const shared = held("shared");
const cards = shared.summaries.system.map((system, id) => ({ id, system, document: shared.summaries.document[id] }));
const flagged = Object.fromEntries([...Object.entries(shared.flagged), ...Object.entries(shared.kinds).map(([name, ids]) => [`kind:${name}`, ids])]
  .map(([name, ids]) => [name, new Set(ids)]));
// A word of the data, such as an aspect or a decision, in the language of the page.
const say = (text) => (Object.hasOwn(shared.said, text) ? shared.said[text] : text);
const word = (text) => (typeof text === "number" ? shared.words[text] : text);
// Converts columns, { name: [value, ...], ... }, to rows.
function rows(columns) {
  const names = Object.keys(columns);
  return columns[names[0]].map((_, at) => Object.fromEntries(names.map((name) => [name, columns[name][at]])));
}
const worded = (row) => ({ ...row, aspect: word(row.aspect), unit: word(row.unit), style: word(row.style), decision: say(word(row.decision)) });
// The summaries on the current page, with their verdicts.
let laid = new Map();
function read({ id, system, document: number }) {
  const raw = held(`summary-${id}`), doc = held(`document-${number}`);
  return {
    id, doc, system: shared.systems[system], text: raw.text, sentences: raw.sentences,
    facts: raw.facts.map((list) => (typeof list === "number" ? doc.facts[list] : list)),
    verdicts: rows(raw.verdicts).map((row) => {
      const reasons = row.reasons.map(word);
      return { ...worded(row), reasons, reason: reasons.join("; "), foreign: row.foreign === 1 };
    }),
    votes: rows(raw.votes).map(worded),
    scores: rows(raw.scores).map((row) => ({ ...row, status: word(row.status), reason: word(row.reason) })),
  };
}
const form = byId("filters");
const list = byId("cards");
const pagers = [...document.querySelectorAll("[data-pager]")];
const chosen = new Map(shared.filters.map(({ aspect, sources }) => [aspect, sources[0]]));
let view = [];
let start = 0;
// With this layout, `view` has one summary per document, and a page shows one document.
const whole = () => form !== null && form.elements.layout.value === "documents";
const size = () => (whole() ? 1 : PAGE);

const shown = (card, verdict) => !chosen.has(verdict.aspect) || chosen.get(verdict.aspect) === verdict.source;
const many = shared.sources.length > 1;
const by = (verdict) => (many ? ` (${shared.sources[verdict.source]})` : "");

// Splits a text at the ends of spans; text covered by two spans is marked once, with its own class.
// `sources` are [start, title]; each title precedes its source.
function marked(text, spans, sources = []) {
  spans = spans.map(([from, to]) => [from, to]);
  const cuts = [...new Set([0, text.length, ...spans.flat(), ...sources.map(([at]) => at)])]
    .filter((at) => at >= 0 && at <= text.length).sort((a, b) => a - b);
  const parts = document.createDocumentFragment();
  for (let at = 0; at + 1 < cuts.length; at += 1) {
    const [from, to] = [cuts[at], cuts[at + 1]];
    const cover = spans.filter(([left, right]) => left <= from && to <= right).length;
    const piece = text.slice(from, to);
    parts.append(...sources.filter(([at]) => at === from).map(([, title]) => el("strong", { class: "source-title", text: title })));
    parts.append(cover ? el("mark", { class: cover > 1 ? "twice" : null, text: piece }) : piece);
  }
  return parts;
}

function chip(style, text, title) {
  return el("span", { class: `chip ${style === "plain" ? "plain-value" : style}`, text, title, dir: "auto" });
}
// Whether people and the judge whose verdicts are shown disagree.
function differs(card, vote) {
  return card.verdicts.some((one) => one.aspect === vote.aspect && one.unit === vote.unit && one.index === vote.index
    && one.facts === vote.facts && !one.foreign && shown(card, one)
    && ["good", "bad", "pad"].includes(one.style) && vote.style !== "none" && one.style !== vote.style);
}
function peopleChip(vote, differ) {
  return el("span", { class: `chip people${differ ? " differs" : ""}`, dir: "auto" },
    `${t("people: {vote}", { vote: vote.decision })}${differ ? ` ${t("(judge differs)")}` : ""}`);
}

function sentenceNumbers(card, spans) {
  const found = [];
  card.sentences.forEach(([from, to], at) => {
    if (spans.some(([left, right]) => left < to && right > from)) found.push(at);
  });
  return found;
}

// One line per reason; a reason against the verdict begins with "caution: ".
const CAUTION = "caution: ";
function reasonList(reasons, look) {
  return el("ul", { class: `reasons${look}` }, ...reasons.map((text) => (text.startsWith(CAUTION)
    ? el("li", { class: "caution", dir: "auto" }, el("strong", { text: CAUTION }), text.slice(CAUTION.length))
    : el("li", { dir: "auto", text }))));
}

// The prompts and replies behind a verdict, if the page contains them.
function exchanges(verdict) {
  const found = (verdict.calls || []).map((at) => `call-${at}`).filter(byId);
  if (!found.length) return null;
  const box = el("details", { class: "calls" }, el("summary", { text: t("Prompt and reply") }));
  box.addEventListener("toggle", () => {
    if (!box.open || box.childNodes.length > 1) return;
    for (const { model, usable, messages, reply } of found.flatMap(held)) {
      for (const [role, text] of messages) box.append(el("h5", { text: role }), el("pre", { dir: "auto", text }));
      box.append(el("h5", { text: t(usable ? "reply by {model}" : "unusable reply by {model}", { model }) }), el("pre", { dir: "auto", text: reply }));
    }
  });
  return box;
}

function why(card, verdict) {
  const aspect = verdict.aspect === "faithfulness" ? "" : `${say(verdict.aspect)}: `;
  const box = el("div", {}, el("p", { dir: "auto" }, el("strong", { text: `${aspect}${verdict.decision}` }),
    el("span", { class: "muted", title: shared.signatures[verdict.source], text: ` (${shared.sources[verdict.source]})` })));
  if (verdict.reasons.length) box.append(reasonList(verdict.reasons, ""));
  box.append(...quotes(card, verdict), exchanges(verdict) ?? "");
  return box;
}

// The evidence in the source, as buttons that show it there.
function quotes(card, verdict) {
  return verdict.inDocument.map(([from, to, place]) => el("button", { type: "button", class: "quote", dir: "auto", "data-from": from,
    "data-to": to, "aria-label": `${place ? `${place}: ` : ""}${t("Evidence, show it in the source")}` },
    place ? el("span", { class: "source-title", text: place }) : null, card.doc.text.slice(from, to)));
}

// Marks words that are in no other summary of the document.
const segmenter = new Intl.Segmenter(undefined, { granularity: "word" });
const wordsOf = (text) => [...segmenter.segment(text)].filter((part) => part.isWordLike).map((part) => part.segment.toLowerCase());
function said(card, text) {
  if (!card.others) return text;
  const parts = document.createDocumentFragment();
  for (const { segment, isWordLike } of segmenter.segment(text)) {
    parts.append(isWordLike && !card.others.has(segment.toLowerCase()) ? el("b", { text: segment }) : segment);
  }
  return parts;
}

function sentence(card, at) {
  const [from, to] = card.sentences[at];
  const mine = card.verdicts.filter((one) => one.unit === "sentence" && one.index === at && !one.foreign && shown(card, one));
  const main = mine.find((one) => one.aspect === "faithfulness");
  const chips = el("span", { class: "chips" });
  for (const one of mine) {
    // Most sentences convey a key fact, so only its absence is labelled.
    if (one.aspect === "conciseness" && one.style === "good") continue;
    const text = one.aspect === "conciseness" && one.style === "pad" ? t("padding: conveys no key fact")
      : one.aspect === "faithfulness" ? one.decision : `${say(one.aspect)}: ${one.decision}`;
    chips.append(chip(one.style, text, shared.signatures[one.source]));
  }
  for (const vote of card.votes) {
    if (vote.unit !== "sentence" || vote.index !== at) continue;
    const differ = differs(card, vote);
    if (vote.aspect === "faithfulness" || differ) chips.append(peopleChip(vote, differ));
  }
  const id = `c${card.id}-w${at}`;
  return el("li", { class: `sent${main ? ` k-${main.style}` : ""}`, "data-at": at },
    el("div", { class: "hit", role: "button", tabindex: "0", "aria-expanded": "false", "aria-controls": id },
      el("span", { class: "num", text: at + 1 }),
      el("span", { class: "said", dir: "auto" }, said(card, card.text.slice(from, to))), chips),
    el("div", { class: "why", id, hidden: true }));
}

function summaryBox(card) {
  const items = el("ol", { class: "sentences" });
  let last = 0;
  const loose = (from, to) => {
    const text = card.text.slice(from, to);
    if (text.trim()) items.append(el("li", { class: "loose", dir: "auto", text: text.trim() }));
  };
  card.sentences.forEach(([from, to], at) => {
    loose(last, from);
    items.append(sentence(card, at));
    last = to;
  });
  loose(last, card.text.length);
  if (!card.text.trim()) items.append(el("li", { class: "loose", text: t("(the summary is empty)") }));
  return items;
}

function factBoxes(card) {
  const lists = new Map();
  for (const one of card.verdicts) {
    if ((one.unit === "key_fact" || one.unit === "claim") && one.facts !== null && shown(card, one)) {
      const key = `${one.source} ${one.facts}`;
      if (!lists.has(key)) lists.set(key, { facts: one.facts, source: one.source, found: [] });
      lists.get(key).found.push(one);
    }
  }
  return [...lists.values()].map(({ facts, source, found }) => {
    const { origin, texts } = card.facts[facts];
    const covered = found.filter((one) => one.style === "good").length;
    const origins = { given: t("given with the data"), reference: t("extracted from the reference"), document: t("extracted from the source"), summary: t("extracted from the summary") };
    const box = el("ul", { class: "keyfacts" });
    // Key facts that are missing come first, in the order of the list.
    const last = (one) => origin !== "summary" && one.style === "good";
    found.sort((a, b) => last(a) - last(b) || a.index - b.index).forEach((one) => box.append(fact(card, one, texts)));
    const voted = found.map((one) => voteOn(card, one)).filter(Boolean);
    const agreed = voted.filter((vote) => !differs(card, vote)).length;
    const people = voted.length ? `; ${t("people agree on {done} of {all}", { done: agreed, all: voted.length })}` : "";
    const counts = { done: covered, all: found.length };
    const title = origin === "summary" ? t("Claims: {done} of {all} supported", counts) : `${t("Key facts: {done} of {all} covered", counts)}${people}`;
    return el("div", {}, el("h4", { text: title }),
      el("p", { class: "small", text: `${origins[origin]}, ${t("judged by {judge}", { judge: shared.sources[source] })}` }), box);
  });
}

function voteOn(card, one) {
  return card.votes.find((vote) => vote.unit === "key_fact" && vote.index === one.index && vote.facts === one.facts);
}

function fact(card, one, texts) {
  const extra = el("span", { class: "chips" });
  if (one.style === "good") {
    for (const at of sentenceNumbers(card, one.inSummary)) {
      extra.append(el("button", { type: "button", class: "ref", "data-ref": at, text: t("sentence {number}", { number: at + 1 }) }));
    }
  }
  const vote = voteOn(card, one);
  if (vote && differs(card, vote)) extra.append(peopleChip(vote, true));
  return el("li", { class: "fact" }, el("span", {}, chip(one.style, one.decision, shared.signatures[one.source])),
    el("div", {}, el("div", { dir: "auto", text: texts[one.index] ?? "" }), extra.childNodes.length ? extra : null,
      one.reasons.length ? reasonList(one.reasons, " muted") : null, ...(one.style === "good" ? [] : quotes(card, one)),
      exchanges(one)));
}

// Verdicts that belong to no sentence or key fact on the page.
function others(card) {
  const rest = card.verdicts.filter((one) => !placed(card, one) && one.style !== "none" && (one.reason || one.calls?.length || one.unit !== "summary"));
  if (!rest.length) return null;
  return el("details", { class: "others" }, el("summary", { text: t("Other verdicts ({number})", { number: rest.length }) }),
    el("ul", {}, ...rest.map((one) => el("li", { dir: "auto" },
      `${say(one.aspect)}${one.unit === "summary" ? "" : ` (${say(one.unit.replace("_", " "))}${one.index === null ? "" : ` ${one.index + 1}`})`}: ${one.decision}${by(one)}${one.reason ? ` — ${one.reason}` : ""}`, exchanges(one)))));
}
function placed(card, one) {
  if (one.foreign) return false;
  if (one.unit === "pair") return true;
  return one.unit === "sentence" || ((one.unit === "key_fact" || one.unit === "claim") && one.facts !== null);
}

// Verdicts on pairs of this summary and another of the same document.
function duels(card) {
  const found = card.verdicts.filter((one) => one.unit === "pair" && one.style !== "none");
  if (!found.length) return null;
  found.sort((a, b) => a.aspect.localeCompare(b.aspect) || a.source - b.source || a.decision.localeCompare(b.decision));
  return el("div", { class: "duels" }, el("h4", { text: t("Head to head") }), el("ul", {}, ...found.map((one) => el("li", { dir: "auto" },
    el("span", { class: "muted", text: `${say(one.aspect)} ` }), chip("plain", one.decision, shared.signatures[one.source]),
    el("span", { class: "muted", text: by(one) }), one.reason ? ` — ${one.reason}` : null, exchanges(one)))));
}

function alerts(card) {
  const seen = new Map();
  for (const one of card.verdicts) {
    if (one.style !== "none") continue;
    const key = `${one.source} ${one.decision} ${one.reason}`;
    if (!seen.has(key)) seen.set(key, { one, aspects: new Set(), calls: new Set() });
    seen.get(key).aspects.add(one.aspect);
    (one.calls || []).forEach((at) => seen.get(key).calls.add(at));
  }
  if (!seen.size) return null;
  return el("ul", { class: "alerts" }, ...[...seen.values()].map(({ one, aspects, calls }) => el("li", { dir: "auto" },
    el("strong", { text: `${[...aspects].map((aspect) => say(aspect)).join(", ")}: ${one.decision}` }), `${by(one)} — ${one.reason}`, exchanges({ calls: [...calls] }))));
}

// One entry per aspect; several sources are named by the letters of their runs if these are distinct.
function scoreLine(card) {
  const line = el("ul", { class: "scores" });
  const titles = new Map();
  for (const score of card.scores) {
    const { title } = shared.columns[score.column];
    titles.set(title, [...(titles.get(title) || []), score]);
  }
  for (const [title, scores] of titles) {
    const names = shared.columns.filter((column) => column.title === title).map((column) => column.source);
    const letters = names.map((name) => name.split(" · ")[0]);
    const short = new Set(letters).size === names.length;
    const entry = el("li", {}, el("span", { class: "muted", text: title }));
    for (const { column, value, n, missing, status, reason } of scores) {
      const { source, signature } = shared.columns[column];
      const name = names.length === 1 ? "" : ` ${short ? source.split(" · ")[0] : source}`;
      const tail = value === null ? ` ${say(status)}` : missing ? ` ${t("({done} of {all} not judged)", { done: missing, all: n + missing })}` : "";
      entry.append(el("span", { title: `${signature}${reason === null ? "" : ` — ${reason}`}` },
        el("span", { class: "small", text: `${name} ` }), el("strong", { text: show(value) }), tail));
    }
    line.append(entry);
  }
  return line;
}

function sourceBox(doc, name) {
  const pane = el("div", { class: "pane", tabindex: "0", role: "region", "aria-label": t("Source text: {name}", { name }), dir: "auto" }, marked(doc.text, [], doc.sources));
  const source = el("div", { class: "sourcebox" }, el("h4", { text: t("Source") }), pane);
  doc.references.forEach((text) => source.append(el("details", { class: "reference" },
    el("summary", { text: t("Reference summary") }), el("p", { dir: "auto", text }))));
  return source;
}

const sign = (one) => el("span", { class: `chip ${one.style}`, title: `${one.decision}${by(one)}${one.reason ? ` — ${one.reason}` : ""}` }, el("span", { class: "sr", text: one.decision }));

// One document with the summaries of all systems: a column per system, and a row per score and key fact.
function board(number) {
  const all = cards.filter((card) => card.document === number).sort((a, b) => a.system - b.system).map((card) => laid.get(card.id));
  const words = all.map((card) => new Set(wordsOf(card.text)));
  all.forEach((card, at) => { card.others = all.length > 1 ? new Set(words.flatMap((found, other) => (other === at ? [] : [...found]))) : null; });
  const line = (head, differ, cells) => el("tr", { class: differ ? "differ" : null },
    el("th", { scope: "row", dir: "auto" }, head, differ ? el("span", { class: "sr", text: ` ${t("(systems differ)")}` }) : null), ...cells);
  const body = el("tbody", {});
  shared.columns.forEach(({ title, source, signature }, column) => {
    const scores = all.map((card) => card.scores.find((score) => score.column === column));
    if (!scores.some(Boolean)) return;
    const names = shared.columns.filter((other) => other.title === title).length > 1 ? ` ${source}` : "";
    const values = scores.map((score) => (!score ? "–" : score.value === null ? say(score.status) : show(score.value)));
    body.append(line(el("span", { title: signature, text: `${title}${names}` }), new Set(values).size > 1, values.map((text) => el("td", { class: "short", text }))));
  });
  body.prepend(line(t("verdicts"), false, all.map((card) => el("td", { class: "strip" }, ...card.sentences.map((_, at) => {
    const main = card.verdicts.find((one) => one.unit === "sentence" && one.index === at && one.aspect === "faithfulness" && !one.foreign && shown(card, one));
    return main ? sign(main) : el("span", { class: "chip plain-value", text: "·" });
  })))));
  body.append(line(t("summary"), false, all.map((card) => el("td", { id: `item-${card.id}`, tabindex: "-1", "data-card": card.id }, alerts(card), summaryBox(card)))));
  const facts = new Map();
  all.forEach((card, at) => card.verdicts.forEach((one) => {
    if (one.unit !== "key_fact" || one.facts === null || one.foreign || !shown(card, one)) return;
    const { origin, texts } = card.facts[one.facts];
    if (origin === "summary") return;
    const key = JSON.stringify([one.source, texts[one.index]]);
    if (!facts.has(key)) facts.set(key, { text: texts[one.index] ?? "", found: all.map(() => null) });
    facts.get(key).found[at] = one;
  }));
  for (const { text, found } of facts.values()) {
    body.append(line(text, new Set(found.map((one) => one?.style)).size > 1, found.map((one) => el("td", {}, one ? sign(one) : "–"))));
  }
  const { doc } = all[0];
  return el("article", { class: "card board", tabindex: "-1" },
    el("header", { class: "card-head" }, el("h3", {}, bdi(doc.id)),
      doc.domain === null ? null : el("span", { class: "tag", dir: "auto", text: doc.domain }),
      el("span", { class: "small" }, t("Keys: J next, K previous document. Bold words are in no other summary; tinted rows differ between systems."))),
    el("div", { class: "pair" }, sourceBox(doc, doc.id), el("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": t("Summaries of all systems") },
      el("table", { class: "systems" }, el("thead", {}, el("tr", {}, el("td", {}), ...all.map((card) => el("th", { scope: "col" }, bdi(card.system))))), body))));
}

function build(card) {
  const node = el("article", { class: "card", id: `item-${card.id}`, tabindex: "-1", "data-card": card.id },
    el("header", { class: "card-head" },
      el("h3", {}, ...between(t("{system} on {document}"), { system: bdi(card.system), document: bdi(card.doc.id) })),
      card.doc.domain === null ? null : el("span", { class: "tag", dir: "auto", text: card.doc.domain }),
      el("a", { class: "small", href: form ? `#item-${card.id}` : `?${new URLSearchParams({ document: card.doc.id, system: card.system })}`, text: t("link") })),
    scoreLine(card), alerts(card),
    el("div", { class: "pair" }, el("div", {}, el("h4", { text: t("Summary") }), summaryBox(card), ...factBoxes(card), duels(card), others(card)), sourceBox(card.doc, `${card.system}, ${card.doc.id}`)));
  return node;
}

function highlight(node, card, spans, scroll) {
  const pane = node.closest(".card").querySelector(".pane");
  pane.replaceChildren(marked(card.doc.text, spans, card.doc.sources));
  const first = pane.querySelector("mark");
  if (!first) return;
  const place = first.getBoundingClientRect().top - pane.getBoundingClientRect().top + pane.scrollTop;
  pane.scrollTop = place - pane.clientHeight / 3;
  if (scroll) {
    const box = first.getBoundingClientRect();
    if (box.top < 60 || box.bottom > window.innerHeight) pane.scrollIntoView({ block: "center" });
  }
}

function select(node, card, item, force) {
  const open = !item.classList.contains("on") || force;
  for (const other of node.closest(".card").querySelectorAll(".sent")) {
    other.classList.remove("on", "flash");
    other.querySelector(".hit").setAttribute("aria-expanded", "false");
    other.querySelector(".why").hidden = true;
  }
  if (!open) { highlight(node, card, [], false); return; }
  const at = Number(item.dataset.at);
  const mine = card.verdicts.filter((one) => one.unit === "sentence" && one.index === at && !one.foreign);
  // The verdicts of the chosen judge come first, then those of the others.
  mine.sort((a, b) => (a.aspect !== "faithfulness") - (b.aspect !== "faithfulness") || shown(card, b) - shown(card, a));
  const box = item.querySelector(".why");
  const explained = mine.filter((one) => one.reason || one.inDocument.length || one.inSummary.length || one.calls?.length || one.aspect === "faithfulness" || one.style === "pad");
  box.replaceChildren(...explained.map((one) => why(card, one)));
  const conveyed = card.verdicts.filter((one) => one.unit === "key_fact" && one.style === "good" && one.facts !== null && shown(card, one)
    && sentenceNumbers(card, one.inSummary).includes(at));
  if (conveyed.length) box.append(el("div", {}, el("p", { class: "muted", text: t("Conveys:") }),
    ...conveyed.map((one) => el("p", { dir: "auto", text: card.facts[one.facts].texts[one.index] ?? "" }))));
  if (!box.childNodes.length) box.append(el("p", { class: "muted", text: t("No reason or evidence was given.") }));
  item.classList.add("on");
  item.querySelector(".hit").setAttribute("aria-expanded", "true");
  box.hidden = false;
  const lead = mine.filter((one) => shown(card, one));
  highlight(node, card, lead.flatMap((one) => one.inDocument), false);
}

list.addEventListener("click", (event) => {
  const node = event.target.closest("[data-card]");
  if (!node) return undefined;
  const card = laid.get(Number(node.dataset.card));
  const quote = event.target.closest(".quote");
  if (quote) return highlight(node, card, [[Number(quote.dataset.from), Number(quote.dataset.to)]], true);
  const ref = event.target.closest(".ref");
  if (ref) {
    const item = node.querySelector(`.sent[data-at="${Number(ref.dataset.ref)}"]`);
    select(node, card, item, true);
    item.classList.add("flash");
    item.querySelector(".hit").focus({ preventScroll: true });
    item.scrollIntoView({ block: "nearest" });
    return undefined;
  }
  const hit = event.target.closest(".hit");
  if (hit && !String(window.getSelection())) select(node, card, hit.parentElement, false);
  return undefined;
});
list.addEventListener("keydown", (event) => {
  const step = { j: 1, k: -1 }[event.key];
  if (step && whole() && !event.ctrlKey && !event.metaKey && !event.altKey && view[start + step]) {
    start += step;
    draw();
    keepState();
    list.firstElementChild.focus({ preventScroll: true });
    byId("cards").scrollIntoView();
    return;
  }
  if (!event.target.classList.contains("hit") || (event.key !== "Enter" && event.key !== " ")) return;
  event.preventDefault();
  const node = event.target.closest("[data-card]");
  select(node, laid.get(Number(node.dataset.card)), event.target.parentElement, false);
});

// ---- filter, order, pages
// `summeter view` filters on the server, and sends one page.
if (!form) {
  view = cards;
  draw();
  fromHash();
  return;
}
function fill(control, names) {
  names.forEach((name, at) => control.append(el("option", { value: at, text: name })));
}
fill(form.elements.system, shared.systems);
fill(form.elements.domain, shared.domains);
form.querySelector("[data-domains]").hidden = shared.domains.length === 0;
shared.columns.forEach(({ title, source }, at) => form.elements.order.append(
  ...[["lowest", t("lowest {aspect} first", { aspect: title })], ["highest", t("highest {aspect} first", { aspect: title })]]
    .map(([end, text]) => el("option", { value: `${end} ${at}`, text: `${text}${many ? ` (${source})` : ""}` }))));
form.elements.show.append(...Object.keys(shared.kinds).map((name) => el("option", { value: `kind:${name}`, text: say(name) })));
form.elements.order.append(el("option", { value: "data", text: t("by source text") }));

// Searched texts are parsed at the first search and cached as plain text.
const texts = { summary: new Map(), document: new Map() };
function searched(kind, id, text) {
  if (!texts[kind].has(id)) texts[kind].set(id, text(held(`${kind}-${id}`)).toLowerCase());
  return texts[kind].get(id);
}
function holds(card, part) {
  return shared.systems[card.system].toLowerCase().includes(part)
    || searched("document", card.document, (doc) => `${doc.id} ${doc.text}`).includes(part)
    || searched("summary", card.id, (raw) => raw.text).includes(part);
}

function apply() {
  const { system, domain, show, order, text } = form.elements;
  const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
  view = cards.filter((card) => (system.value === "" || card.system === Number(system.value))
    && (domain.value === "" || shared.documents.domain[card.document] === Number(domain.value))
    && (show.value === "" || flagged[show.value].has(card.id))
    && words.every((part) => holds(card, part)));
  if (order.value === "data") view.sort((a, b) => a.document - b.document || a.system - b.system);
  else if (order.value !== "") {
    const [end, column] = order.value.split(" ");
    const value = shared.values[Number(column)];
    const turned = end === "highest" ? -1 : 1;
    view.sort((a, b) => {
      const left = value[a.id], right = value[b.id];
      if (left === null || right === null) return (left === null) - (right === null);
      return turned * (left - right) || a.id - b.id;
    });
  }
  if (whole()) {
    const seen = new Set();
    view = view.filter((card) => !seen.has(card.document) && seen.add(card.document));
  }
  start = 0;
  draw();
}

function draw() {
  const page = view.slice(start, start + size());
  const shownCards = whole() ? cards.filter((card) => card.document === page[0]?.document) : page;
  laid = new Map(shownCards.map((card) => [card.id, read(card)]));
  list.replaceChildren(...(whole() ? page.map((card) => board(card.document)) : [...laid.values()].map(build)));
  if (!view.length) list.append(el("p", { class: "empty", text: t("No summary matches these filters.") }));
  const last = Math.min(start + size(), view.length);
  pagers.forEach((pager, place) => {
    pager.hidden = false;
    const total = whole() ? shared.documents.domain.length : cards.length;
    const range = start + 1 === last ? grouped(last) : `${grouped(start + 1)}–${grouped(last)}`;
    const count = el("span", { text: view.length
      ? `${t("{done} of {all}", { done: range, all: grouped(view.length) })}${view.length === total ? "" : ` ${t("({all} in total)", { all: grouped(total) })}`}`
      : t("{done} of {all}", { done: 0, all: grouped(total) }) });
    if (place === 0) count.setAttribute("aria-live", "polite");
    const step = (label, to) => {
      const button = el("button", { type: "button", text: label });
      button.disabled = to === start || to < 0 || to >= view.length;
      button.addEventListener("click", () => {
        start = to;
        draw();
        keepState();
        byId("items").scrollIntoView();
      });
      return button;
    };
    const steps = view.length > size() ? [step(t("Previous"), start - size()), count, step(t("Next"), start + size())] : [count];
    if (view.length > FEW * size()) {
      steps.unshift(step(t("First"), 0));
      steps.push(step(t("Last"), Math.floor((view.length - 1) / size()) * size()));
    }
    pager.replaceChildren(...steps);
  });
}

function go(id) {
  const card = cards[id];
  if (!card) return;
  const place = () => view.findIndex((one) => (whole() ? one.document === card.document : one === card));
  if (place() < 0) {
    form.reset();
    [...form.querySelectorAll("[name=by]")].forEach((one) => { one.value = chosen.get(one.dataset.aspect); });
    apply();
  }
  if (!byId(`item-${id}`)) {
    start = Math.floor(place() / size()) * size();
    draw();
  }
  const node = byId(`item-${id}`);
  node.focus({ preventScroll: true });
  node.scrollIntoView({ block: "start" });
}
// The filters are kept in the address, so that a link or the browser's history restores them.
const named = () => [...form.elements].filter((one) => one.name && one.name !== "by");
function keepState() {
  const state = new URLSearchParams();
  for (const one of named()) if (one.value) state.set(one.name, one.options && /\d$/.test(one.value) ? one.selectedOptions[0].text : one.value);
  for (const [aspect, source] of chosen) if (source !== shared.filters.find((one) => one.aspect === aspect).sources[0]) state.set(`by ${aspect}`, shared.sources[source]);
  if (start) state.set("page", start / size() + 1);
  history.replaceState(null, "", `${location.pathname}${location.search}${state.size ? `#?${state}` : ""}`);
}
function fromHash() {
  const found = /^#item-(\d+)$/.exec(location.hash);
  if (found) return go(Number(found[1]));
  if (!form || !location.hash.startsWith("#?")) return undefined;
  const state = new URLSearchParams(location.hash.slice(2));
  for (const one of named()) {
    const value = state.get(one.name) ?? "";
    one.value = one.options ? [...one.options].find((option) => option.value === value || (value && option.text === value))?.value ?? "" : value;
  }
  for (const one of form.querySelectorAll("[name=by]")) {
    const at = shared.sources.indexOf(state.get(`by ${one.dataset.aspect}`));
    if (at >= 0) chosen.set(one.dataset.aspect, Number((one.value = at)));
  }
  apply();
  const from = (Number(state.get("page")) - 1) * size();
  if (from > 0 && from < view.length) { start = from; draw(); }
  byId("items").scrollIntoView();
  return undefined;
}
document.addEventListener("click", (event) => {
  const jump = event.target.closest(".jump");
  if (jump) go(Number(jump.dataset.item));
});
window.addEventListener("hashchange", fromHash);

form.hidden = false;
form.addEventListener("submit", (event) => event.preventDefault());
let waiting = 0;
form.addEventListener("input", (event) => {
  if (event.target.name === "by") {
    chosen.set(event.target.dataset.aspect, Number(event.target.value));
    draw();
    keepState();
    return;
  }
  clearTimeout(waiting);
  waiting = setTimeout(() => { apply(); keepState(); }, event.target.name === "text" ? 150 : 0);
});
apply();
fromHash();
})();
