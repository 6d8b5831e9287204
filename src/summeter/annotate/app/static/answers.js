// The annotators' answers to a disputed task, side by side: an adjudicator takes one of them, or gives another.
import { el, words } from "./dom.js";
import { Question } from "./fields.js";
import { canonical } from "./keep.js";
import { t } from "./strings.js";

// The keys that take an answer: none of them chooses anything in the form of a task.
const TAKING = [..."qwerfghjklsvxyz"];
const FOLDED = 5;
const bare = (answer) => canonical({ ...answer, machine: null, comment: null });

export class Answers {
  // `take` gets the answer that is taken.
  constructor(answers, take) {
    this.answers = answers;
    this.question = new Question({
      legend: t("adjudicate.take"), value: null,
      options: answers.map((_, at) => ({ value: at, label: t("adjudicate.answer", { n: at + 1 }), keys: TAKING.slice(at, at + 1) })),
      pick: (at) => take(structuredClone(answers[at].answer)),
    });
    const { node } = this.question;
    node.className = "answers";
    node.dataset.optional = "yes";
    node.querySelectorAll(".option").forEach((option, at) => option.append(...this.shown(answers[at])));
    this.node = el("section", { class: "given", "aria-label": t("adjudicate.answers") }, node);
  }

  // Many parts that all answers share would hide those in which they differ.
  shown({ parts, comment }) {
    const everywhere = ([name, value]) => this.answers.every((one) => one.parts.some((part) => part[0] === name && part[1] === value));
    const row = ([name, value], differs) => el("div", { class: differs ? "differs" : null }, el("dt", null, words(name)), el("dd", null, words(value)));
    const rows = (some) => el("dl", { class: "parts" }, ...some.map((part) => row(part, !everywhere(part))));
    const said = comment ? el("dl", { class: "parts" }, row([t("adjudicate.comment"), comment], false)) : null;
    const shared = parts.filter(everywhere);
    if (shared.length < FOLDED) return [rows(parts), said].filter(Boolean);
    const folded = el("details", { class: "shared" }, el("summary", { text: t("adjudicate.shared", { n: shared.length }) }), rows(shared));
    return [rows(parts.filter((part) => !everywhere(part))), folded, said].filter(Boolean);
  }

  // Shows which of the answers the form says, if any.
  set(answer) {
    const now = bare(answer);
    const at = this.answers.findIndex((one) => bare(one.answer) === now);
    this.question.set(at < 0 ? null : at);
  }
}
