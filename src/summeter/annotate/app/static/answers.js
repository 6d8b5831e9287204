// The annotators' answers to a disputed task, side by side. An adjudicator adopts one of them or gives another.
import { el, words } from "./dom.js";
import { Question } from "./fields.js";
import { canonical } from "./keep.js";
import { t } from "./strings.js";

// The keys for adopting an answer, which are not used in the forms of tasks.
const TAKING = [..."qwerfghjklsvxyz"];
const FOLDED = 5;
const bare = (answer) => canonical({ ...answer, machine: null, comment: null });

export class Answers {
  // `take` is called with the adopted answer.
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

  // Values that all answers share are hidden, so that the differences are visible.
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

  // Highlights the answer that equals the content of the form, if any.
  set(answer) {
    const now = bare(answer);
    const at = this.answers.findIndex((one) => bare(one.answer) === now);
    this.question.set(at < 0 ? null : at);
  }
}
