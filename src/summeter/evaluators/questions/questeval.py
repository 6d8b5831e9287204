"""`questeval`: questions about the summary answered from the document, and vice versa.

See QuestEval (Scialom et al., EMNLP 2021).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import exp
from statistics import fmean
from typing import ClassVar, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from summeter.evaluators.base import Checkpoint, Choices, Evaluator, JudgmentBuilder, Prepared, Role, Tools
from summeter.evaluators.overlap.greedy import greedy
from summeter.evaluators.questions.squad import token_f1, without_loose_blanks
from summeter.models.networks import CompareStates, FirstWord, Framing, Generate, Generation, StatesMeasure
from summeter.records import Claim, Item, Judgment, Side, digest
from summeter.text import english
from summeter.text.spans import TextSpan, evidence

FAITHFULNESS, QUESTEVAL, PRECISION, RECALL = ASPECTS = (
    "faithfulness",
    "questeval",
    "questeval_precision",
    "questeval_recall",
)
Score = Literal["answerability", "f1", "bertscore"]
Text = Literal["source", "reference"]

# These texts are part of the checkpoints' training and must not be changed.
QUESTION = "sv1 {eos} {0} {eos} {1}"
ANSWER = "{0} {eos} {1}"
WEIGHT = "{0} {eos} {1} {eos} {2}"
MOST = 512
HOW = Generation(max_new_tokens=19, num_beams=1)
"""Greedy search with a maximum length of 20, including the first special token (the default of transformers)."""
UNANSWERABLE, IMPORTANT = "unanswerable", "true"


BERTSCORE = StatesMeasure(
    "bertscore_f1", lambda reply, answer: 0.0 if (match := greedy(reply, answer)) is None else match.f1
)
"""Similarity of an answer and the expected answer, which is 0 if either has no token."""


class AskedQuestion(NamedTuple):
    """A question that was generated from one text and answered from another.

    `phrase` is the expected answer, from the text of the question. `reply` is the answer from the other text.
    """

    phrase: TextSpan
    question: str
    reply: str
    answerability: float
    f1: float
    bertscore: float
    weight: float = 1.0

    @property
    def answers(self) -> tuple[str, str]:
        """The answer from the other text and the expected answer, without white space at their ends."""
        return self.reply.strip(), self.phrase.text.strip()

    def value(self, scores: Sequence[Score]) -> float:
        """Return the mean of the scores, each clipped to [0, 1]."""
        return fmean(min(1.0, max(0.0, getattr(self, score))) for score in scores)


class Comparison(NamedTuple):
    """The questions about the summary, answered from another text, and those about the other text."""

    side: Text
    precision: tuple[AskedQuestion, ...]
    recall: tuple[AskedQuestion, ...]


class QuestEval(Evaluator):
    """Answer questions about the summary from the document, and vice versa (QuestEval).

    The network `questions` generates a question about a phrase of a text, `answers` answers the question from another
    text (both are T5), `answer_encoder` compares answers (BERTScore), and `weighter` rates the importance of a question
    about the document. Phrases are the entities and noun chunks of the first `sentences` sentences of each text; a
    phrase that is both counts twice.

    `formula` selects the arithmetic. `0.2.4` (the default) is that of the released version, which differs from the
    paper. The score of a question is the mean of its answerability, the word F1 of both answers, and the BERTScore of
    both answers, times the weight of the question. `scores` selects these components (separated by semicolons), and
    `layer` is the layer of the encoder (9 for the released network). Precision and recall are means over questions, and
    the score is the mean of both. With `paper`, precision is the mean F1 of the questions about the summary, recall the
    weighted mean of the answerability of the questions about the document, and the score the harmonic mean of both.
    `weighter` is whether questions are weighted; by default, they are weighted only with `formula=paper`.

    `compare` is `source`, `reference` or both (`source;reference`). If there are several texts, the highest score
    counts. A text without questions in one direction is left out; if no text remains, the summary is skipped.
    `variant=legacy` follows the released code, in which such a direction has the value 0, the weight is 1 minus the
    probability from the network, and marks inside a text are special tokens. Only English is supported; phrases come
    from the parser (extra `parse`).

    Writes three judgments of the summary: the score (aspect faithfulness if only the document is compared, and
    otherwise questeval), and questeval_precision and questeval_recall for the best text. Also writes a judgment of
    questeval_precision for each sentence, and one judgment per question (unit claim), with the phrase as evidence.
    """

    name, version = "questeval", "1"
    summary = "Summary and document answer each other's questions (QuestEval)."
    aspects = ASPECTS
    roles: ClassVar[Mapping[str, Role]] = {
        "questions": Role(
            "seq2seq",
            hint="The paper's network is hf/ThomasNLG/t5-qg_squad1-en.",
            checkpoints=(Checkpoint("ThomasNLG/t5-qg_squad1-en", "MIT", size=223, tokens=512, languages="English"),),
        ),
        "answers": Role(
            "seq2seq",
            hint="The paper's network is hf/ThomasNLG/t5-qa_squad2neg-en.",
            checkpoints=(Checkpoint("ThomasNLG/t5-qa_squad2neg-en", "MIT", size=223, tokens=512, languages="English"),),
        ),
        "answer_encoder": Role("encoder", hint="The paper's network is hf/google-bert/bert-base-multilingual-cased."),
        "weighter": Role(
            "seq2seq",
            hint="The paper's network is hf/ThomasNLG/t5-weighter_cnndm-en.",
            checkpoints=(Checkpoint("ThomasNLG/t5-weighter_cnndm-en", "MIT", tokens=512, languages="English"),),
        ),
    }
    code_licence = "MIT"
    reduce = "whole"

    compare: Choices[Text] = ("source",)
    formula: Literal["0.2.4", "paper"] = "0.2.4"
    scores: Choices[Score] = ("answerability", "f1", "bertscore")
    weighter: bool | None = None
    sentences: int = Field(default=5, ge=1)
    layer: int = Field(default=9, ge=0)
    variant: Literal["paper", "legacy"] = "paper"

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.formula == "paper" and "scores" in self.model_fields_set:
            raise ValueError("scores: formula=paper uses f1 and answerability; remove one of the two settings")
        if self.formula == "paper" and self.variant == "legacy":
            raise ValueError("variant: the released code has formula=0.2.4; remove variant=legacy or formula=paper")
        return self

    def scores_of(self, aspect: str) -> tuple[Score, ...]:
        """Return the scores that are averaged for a question about the summary (precision) or the other text."""
        if self.formula == "paper":
            return ("f1",) if aspect == PRECISION else ("answerability",)
        return self.scores

    def direction(self, asked: Sequence[AskedQuestion], aspect: str) -> float | None:
        """Return the weighted mean over the questions about one text.

        It is divided by the sum of the weights in the paper, and by the number of questions in version 0.2.4. Without
        questions, it is None (0 in the released code).

        >>> asked = AskedQuestion(TextSpan("Bo", 0, 2), "Who?", "Bo", 1.02, 1.0, 0.7)
        >>> QuestEval(scores="answerability;bertscore").direction([asked], PRECISION)
        0.85
        """
        scores = self.scores_of(aspect)
        total = sum(one.weight for one in asked) if self.formula == "paper" else len(asked)
        if not total:
            return 0.0 if self.variant == "legacy" else None
        return sum(one.weight * one.value(scores) for one in asked) / total

    def score(self, compared: Comparison) -> tuple[float, float, float] | None:
        """Return the score, the precision and the recall, or None if one of them is undefined.

        The score is the harmonic mean of precision and recall in the paper, and the arithmetic mean in version 0.2.4.
        """
        precision, recall = self.direction(compared.precision, PRECISION), self.direction(compared.recall, RECALL)
        if precision is None or recall is None:
            return None
        if self.formula == "0.2.4":
            return (precision + recall) / 2, precision, recall
        total = precision + recall
        return 2 * precision * recall / total if total else 0.0, precision, recall

    @property
    def weighs(self) -> bool:
        """Whether questions about the document are weighted."""
        return self.formula == "paper" if self.weighter is None else self.weighter

    @property
    def active_aspects(self) -> tuple[str, ...]:
        """The aspect of the score, and those of precision and recall."""
        return (FAITHFULNESS if self.compare == ("source",) else QUESTEVAL, PRECISION, RECALL)

    @property
    def required_roles(self) -> tuple[str, ...]:
        """The roles of the networks that are used with the current settings."""
        encoder = ("answer_encoder",) if "bertscore" in self.scores_of(RECALL) else ()
        return ("questions", "answers", *encoder, *(("weighter",) if self.weighs else ()))

    def signature_fields(self) -> Mapping[str, object]:
        """Return the changed settings, the formula, whether questions are weighted, and the parser."""
        always = {"formula": self.formula, "weighter": self.weighs}
        return {**always, **super().signature_fields(), "parser": english.version()}

    def skip_reason(self, item: Item) -> str | None:
        """Return the reason for skipping the item, or None.

        A missing reference is a reason if only references are compared.
        """
        if self.compare == ("reference",) and not item.references:
            return "there is no reference summary; questeval compares with the document by default"
        return super().skip_reason(item)

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """Send all questions, then all answers, to each network at once, and return the judgments."""
        builder = self.builder(item, prepared, tools, model=tools.network("answers").id)
        texts: list[tuple[Text, str]] = [("source", item.document.text)] if "source" in self.compare else []
        if "reference" in self.compare:
            texts += [("reference", text) for text in item.references]
        compared = await self._compared(item.summary.text, texts, tools)
        scored = [(score, one) for one in compared if (score := self.score(one)) is not None]
        if not scored:
            counts = ", ".join(f"{one.side} {len(one.recall)}" for one in compared)
            why = f"there are no questions in one direction (summary {len(compared[0].precision)}, {counts})"
            return builder.skipped(why)
        return self._judgments(builder, scored)

    async def _compared(self, summary: str, texts: Sequence[tuple[Text, str]], tools: Tools) -> list[Comparison]:
        """Ask all questions, and return the comparison of the summary with each text."""
        every = list(dict.fromkeys([summary, *(text for _, text in texts)]))
        # Each text is parsed once per document.
        phrases_of = {text: tools.once(f"phrases of {text}", partial(self._phrases, text)) for text in every}
        rows = list(dict.fromkeys((phrase.text, text) for text in every for phrase in phrases_of[text]))
        framed = partial(Framing, marks=self.variant == "legacy", limit=MOST)
        written = await tools.network("questions").ask([Generate(row, HOW, framed(template=QUESTION)) for row in rows])
        questions = dict(zip(rows, map(without_loose_blanks, written), strict=True))
        # Equal texts are compared once.
        pairs = dict.fromkeys(pair for _, text in texts for pair in ((summary, text), (text, summary)))
        asked = [(of, on, phrase, questions[phrase.text, of]) for of, on in pairs for phrase in phrases_of[of]]
        weights = dict[tuple[str, str, str], float]()
        source = dict(texts).get("source")
        if self.weighs and source is not None:
            # Questions about texts other than the document have the weight 1.
            about = dict.fromkeys((phrase.text, question, of) for of, _, phrase, question in asked if of == source)
            framing = framed(template=WEIGHT)
            logs = await tools.network("weighter").ask([FirstWord(row, (IMPORTANT,), framing) for row in about])
            shares = (exp(float(log)) for (log,) in logs)
            weights = {
                row: 1 - share if self.variant == "legacy" else share for row, share in zip(about, shares, strict=True)
            }
        # The answer to each question from the other text, and the answerability of the question.
        network, inputs = tools.network("answers"), [(question, on) for _, on, _, question in asked]
        framing = framed(template=ANSWER)
        replies = map(without_loose_blanks, await network.ask([Generate(row, HOW, framing) for row in inputs]))
        logs = await network.ask([FirstWord(row, (UNANSWERABLE,), framing) for row in inputs])
        found: dict[tuple[str, str], list[AskedQuestion]] = {}
        for (of, on, phrase, question), reply, (log,) in zip(asked, replies, logs, strict=True):
            overlap, weight = token_f1(phrase.text, reply), weights.get((phrase.text, question, of), 1.0)
            one = AskedQuestion(phrase, question, reply, 1 - exp(float(log)), overlap, 0.0, weight)
            found.setdefault((of, on), []).append(one)
        if "bertscore" in self.scores_of(RECALL):
            distinct = dict.fromkeys(pair for some in found.values() for one in some if all(pair := one.answers))
            requests = [CompareStates(*pair, self.layer, BERTSCORE) for pair in distinct]
            by_pair = dict(zip(distinct, await tools.network("answer_encoder").ask(requests), strict=True))
            found = {
                key: [one._replace(bertscore=by_pair.get(one.answers, 0.0)) for one in some]
                for key, some in found.items()
            }
        return [
            Comparison(side, tuple(found.get((summary, text), ())), tuple(found.get((text, summary), ())))
            for side, text in texts
        ]

    def _phrases(self, text: str) -> list[TextSpan]:
        """Return the entities, followed by the noun chunks, of the first sentences."""
        spans = first_sentences(text, english.parse(text).words, self.sentences)
        joined = " ".join(span.text for span in spans)
        parsed = english.parse(joined)
        return [
            phrase._replace(start=_original(phrase.start, spans), end=_original(phrase.end - 1, spans) + 1)
            for phrase in (*parsed.entities, *parsed.chunks)
        ]

    def _judgments(
        self, builder: JudgmentBuilder, scored: Sequence[tuple[tuple[float, float, float], Comparison]]
    ) -> list[Judgment]:
        values, best = max(scored, key=lambda pair: pair[0][0])
        _, precision, recall = values
        reason = (
            f"{len(best.precision)} questions of the summary on the {best.side}: {precision:.2f}; "
            f"{len(best.recall)} of the {best.side} on the summary: {recall:.2f}"
        )
        if len(scored) > 1:
            reason += f"; best of {len(scored)} texts"
        overall = [
            builder.ok(aspect, value=value, reason=reason)
            for aspect, value in zip(self.active_aspects, values, strict=True)
        ]
        list_id = digest([[one.question, one.phrase.text] for one in (*best.precision, *best.recall)], 12)
        of: Side | None = "document" if best.side == "source" else None
        questions = [
            *(self._question(builder, PRECISION, at, one, list_id, "summary") for at, one in enumerate(best.precision)),
            *(self._question(builder, RECALL, at, one, list_id, of) for at, one in enumerate(best.recall)),
        ]
        sentences = builder.by_sentence(
            PRECISION,
            [(one.phrase.start, one) for one in best.precision],
            lambda asked: {
                "value": fmean(self._value(one, PRECISION) for one in asked),
                "evidence": evidence((one.phrase for one in asked), "summary"),
                "reason": f"{len(asked)} questions; lowest: "
                + _described(min(asked, key=lambda one: self._value(one, PRECISION))),
            },
            missing=f"no question is about this sentence (only the first {self.sentences} sentences have questions)",
        )
        return [*overall, *sentences, *questions]

    def _value(self, one: AskedQuestion, aspect: str) -> float:
        """Return the value of a question, weighted if the score is divided by the number of questions."""
        value = one.value(self.scores_of(aspect))
        return value if self.formula == "paper" else one.weight * value

    def _question(
        self, builder: JudgmentBuilder, aspect: str, index: int, one: AskedQuestion, list_id: str, side: Side | None
    ) -> Judgment:
        span = None if side is None else one.phrase.as_span(side)
        return builder.ok(
            aspect,
            "claim",
            index,
            value=self._value(one, aspect),
            list_id=list_id,
            reason=_described(one) + (f"; weight {one.weight:.2f}" if self.weighs and aspect == RECALL else ""),
            evidence=() if span is None else (span,),
            claim=Claim(text=f"{one.question} {one.phrase.text}", span=span if side == "summary" else None),
        )


def _described(one: AskedQuestion) -> str:
    return (
        f"'{one.question}' expected: '{one.phrase.text}'; answered: '{one.reply}' (answerable {one.answerability:.2f})"
    )


def first_sentences(text: str, words: Sequence[english.Word], most: int) -> list[TextSpan]:
    """Return the first sentences of a text, split by the rule of the released code.

    A sentence ends before the first token after a full stop that is not punctuation.
    """
    spans = list[TextSpan]()
    first, stopped = 0, False
    for place, word in enumerate(words):
        if stopped and not word.mark:
            last = words[place - 1]
            spans.append(TextSpan.of(text, words[first].start, last.start + len(last.text)))
            first, stopped = place, False
        elif word.text in {".", "!", "?"}:
            stopped = True
    if first < len(words):
        spans.append(TextSpan.of(text, words[first].start))
    return spans[:most]


def _original(place: int, spans: Sequence[TextSpan]) -> int:
    """Convert an offset in the joined sentences to an offset in the text."""
    for span in spans:
        if place < len(span.text):
            return span.start + place
        place -= len(span.text) + 1
    return spans[-1].end
