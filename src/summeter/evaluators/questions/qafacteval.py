"""`qafacteval`: questions about the noun chunks of a summary, answered from the document.

See Fabbri et al. (NAACL 2022).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import ClassVar, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from summeter.evaluators.base import Checkpoint, Evaluator, JudgmentBuilder, Prepared, Role, Tools
from summeter.evaluators.questions.squad import (
    MARKS,
    QUESTION_TOKENS,
    Answer,
    answer_all,
    normalized,
    token_f1,
    without_loose_blanks,
)
from summeter.models.networks import Classify, Framing, Generate, Generation
from summeter.records import Claim, Item, Judgment, Span, digest
from summeter.text import english
from summeter.text.spans import TextSpan, sentence_spans

FAITHFULNESS, ANSWERED, EXACT, F1 = ASPECTS = ("faithfulness", "answered", "answer_exact", "answer_f1")
QUESTION = "{0}<m> {1} </m>{2}"
LERC = "{0} <q> {1} <r> {2} <c> {3}"
HOW = Generation(max_new_tokens=100, num_beams=4, start="<s>", search="plain_sum")
"""Settings of the question generation, which uses AllenNLP's beam search, as in QAEval."""
MOST = 512
"""Maximum number of input tokens of LERC-QuIP; the document is truncated."""
AGREES = 0.6
"""A question is kept if the F1 between the phrase and the answer from the summary itself exceeds this value."""
NONCE = "empty"
"""The answer of the released code if the network gives no answer."""


class AskedQuestion(NamedTuple):
    """A question, its phrase, the answer from the document, and the similarity of phrase and answer.

    The similarity is 0 if there is no answer.
    """

    phrase: TextSpan
    question: str
    answer: Answer
    value: float

    @property
    def scores(self) -> tuple[float, float, float, float]:
        """The scores in the order of `ASPECTS`."""
        if not self.answer.answered or self.answer.text is None:
            return (0.0, 0.0, 0.0, 0.0)
        exact = float(normalized(self.phrase.text) == normalized(self.answer.text))
        return (self.value, 1.0, exact, token_f1(self.phrase.text, self.answer.text))


class QAFactEval(Evaluator):
    """Answer questions about the noun chunks of a summary from the document (QAFactEval).

    Three networks are used. The `asker` generates a question from a sentence with a marked phrase (BART), the `reader`
    answers the question from a text (ELECTRA, trained on SQuAD 2.0), and `lerc` scores the similarity of the answer and
    the phrase (LERC-QuIP, about 0 to 5). A question is kept if its answer from the summary itself is the phrase. The
    score is the mean over these questions; a question that the document does not answer has the value 0.

    `none` is the treatment of a summary without questions: `zero` (a score of 0, as in the paper) or `skip`. `variant`
    is `paper`, or `legacy` for the released code, which uses the sentences of the parser, the answer "empty", and
    QAEval's decoder positions (0, 2, 3, ...) in the question generator. `window` and `stride` are the size of the
    windows in which long documents are read and the step between windows, in tokens. Only English is supported; phrases
    come from the parser (extra `parse`).

    Writes one judgment of the summary for each of the aspects faithfulness (LERC-QuIP), answered, answer_exact and
    answer_f1. For faithfulness, also writes one judgment per sentence and one per question (unit claim). The evidence
    is the phrase and the answer from the document.
    """

    name, version = "qafacteval", "1"
    summary = "Questions about the summary's noun chunks are answered from the document (QAFactEval)."
    aspects = ASPECTS
    roles: ClassVar[Mapping[str, Role]] = {
        "asker": Role("seq2seq", checkpoints=(Checkpoint("QAEval question generation", "none stated", size=406),)),
        "reader": Role(
            "token_classifier",
            checkpoints=(Checkpoint("QAEval question answering", "none stated", size=335, tokens=384),),
        ),
        "lerc": Role("classifier", checkpoints=(Checkpoint("LERC-QuIP", "none stated", size=110, tokens=512),)),
    }
    code_licence = "BSD-3-Clause; QAEval Apache-2.0"
    reduce = "whole"
    value_range = None

    none: Literal["zero", "skip"] = "zero"
    variant: Literal["paper", "legacy"] = "paper"
    window: int = Field(default=384, ge=16)
    stride: int = Field(default=128, ge=1)

    @model_validator(mode="after")
    def _check(self) -> Self:
        least = self.window - min(QUESTION_TOKENS, self.window // 2) - MARKS
        if self.stride > least:
            raise ValueError(f"stride={self.stride} would skip words between windows of {least} tokens")
        return self

    def signature_fields(self) -> Mapping[str, object]:
        """Return the changed settings, the treatment of summaries without questions, and the parser."""
        return {**super().signature_fields(), "none": self.none, "parser": english.version()}

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """Send all questions of the summary to each network at once, and return the judgments."""
        reader, lerc = tools.network("reader"), tools.network("lerc")
        builder = self.builder(item, prepared, tools, model=lerc.id)
        text = item.summary.text
        legacy = self.variant == "legacy"
        parsed = english.parse(text)
        chunks = parsed.chunks
        # The context of a phrase is its sentence according to the splitter or, for `legacy`, the parser.
        sentences = parsed.sentences if legacy else sentence_spans(item.summary)
        rows = []
        for phrase in chunks:
            around = [one for one in sentences if one.start < phrase.end and phrase.start < one.end] or [phrase]
            start, end = min(phrase.start, around[0].start), max(phrase.end, around[-1].end)
            rows.append((text[start : phrase.start], phrase.text, text[phrase.end : end]))
        how = HOW._replace(search="qaeval") if legacy else HOW
        generated = await tools.network("asker").ask([Generate(row, how, Framing(template=QUESTION)) for row in rows])
        questions = [without_loose_blanks(question) for question in generated]
        read = partial(answer_all, reader, length=self.window, stride=self.stride, nonce=NONCE if legacy else None)
        of_summary = await read([(question, text) for question in questions])
        answerable = [
            (phrase, question)
            for phrase, question, answer in zip(chunks, questions, of_summary, strict=True)
            if answer.answered and token_f1(phrase.text, answer.text or "") > AGREES
        ]
        source = item.document.text
        answers = await read([(question, source) for _, question in answerable])
        scored = [
            (question, phrase.text, answer.text or "", source)
            for (phrase, question), answer in zip(answerable, answers, strict=True)
            if answer.answered
        ]
        framing = Framing(template=LERC, limit=MOST)
        values = iter(await lerc.ask([Classify(row, 1, framing) for row in scored]))
        asked = [
            AskedQuestion(phrase, question, answer, float(next(values)[0]) if answer.answered else 0.0)
            for (phrase, question), answer in zip(answerable, answers, strict=True)
        ]
        return self._judgments(builder, asked, len(chunks))

    def _judgments(self, builder: JudgmentBuilder, asked: Sequence[AskedQuestion], total: int) -> list[Judgment]:
        if not asked:
            why = "the summary has no noun chunk to ask about"
            if total:
                why = f"0 of {total} questions kept: the summary does not answer them with the phrase asked about"
            if self.none == "skip":
                return builder.skipped(why)
            return [builder.ok(aspect, value=0.0, reason=f"{why}; the method scores this 0") for aspect in ASPECTS]
        columns = list(zip(*(one.scores for one in asked), strict=True))
        unanswered = sum(not one.answer.answered for one in asked)
        reason = f"{len(asked)} of {total} questions kept; the document does not answer {unanswered} of them"
        lowest = min(asked, key=lambda one: one.scores[0])
        reason += f"; lowest: {_described(lowest)}"
        overall = [
            builder.ok(aspect, value=fmean(column), reason=reason)
            for aspect, column in zip(ASPECTS, columns, strict=True)
        ]
        sentences = builder.by_sentence(
            FAITHFULNESS,
            [(one.phrase.start, one) for one in asked],
            lambda inside: {
                "value": fmean(one.scores[0] for one in inside),
                "evidence": tuple(dict.fromkeys(span for one in inside for span in _evidence(one))),
                "reason": "; ".join(map(_described, inside)),
            },
            missing="no kept question is about this sentence",
        )
        list_id = digest([[one.question, one.phrase.text, one.phrase.start] for one in asked], 12)
        questions = [
            builder.ok(
                FAITHFULNESS,
                "claim",
                index,
                value=one.scores[0],
                list_id=list_id,
                reason=_described(one),
                evidence=_evidence(one),
                claim=Claim(text=f"{one.question} {one.phrase.text}", span=one.phrase.as_span("summary")),
            )
            for index, one in enumerate(asked)
        ]
        return [*overall, *sentences, *questions]


def _evidence(one: AskedQuestion) -> tuple[Span, ...]:
    phrase = one.phrase.as_span("summary")
    if not one.answer.answered or one.answer.place is None:
        return (phrase,)
    return phrase, Span(of="document", start=one.answer.place.start, end=one.answer.place.end)


def _described(one: AskedQuestion) -> str:
    """Return a question with the answers from the summary and from the document."""
    if not one.answer.answered:
        return f"'{one.question}' the summary: '{one.phrase.text}'; the document does not answer"
    document = f"the document: '{one.answer.text}' (score {one.value:.2f})"
    return f"'{one.question}' the summary: '{one.phrase.text}'; {document}"
