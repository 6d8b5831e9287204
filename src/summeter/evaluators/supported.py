"""Judges of the support of each sentence or claim by the document, combined over windows.

If a document exceeds the judge's context, the judge is asked about one window at a time. A sentence or claim is
supported if one window supports it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from summeter.evaluators.base import ExpectedJudgment, JudgmentBuilder, Parser
from summeter.evaluators.llm import LLMJudge, NoVerdict
from summeter.evaluators.windows import closest
from summeter.models.structured import Answer
from summeter.records import Item, Judgment, Span, Unit
from summeter.records.taxonomy import error_types
from summeter.text.spans import TextSpan

ABSENT: Final = frozenset({"out-of-context error", "out-of-article error"})
"""Error types that can mean that a window merely does not mention the sentence."""
CONTRADICTING: Final = frozenset({"entity error", "predicate error", "relation error", "circumstantial error"})
"""Error types of sentences that say something else than the document, which is not silent about it."""
FAITHFULNESS: Final = "faithfulness"


class SupportVerdict(NamedTuple):
    """Whether the document supports a sentence or claim.

    `category` is the error type ("no error" if supported), or None if no error type was requested. `quotes` contains
    the non-blank quotes from the document, or is None if no quotes were requested.
    """

    supported: bool
    category: str | None = None
    reason: str | None = None
    quotes: tuple[str, ...] | None = None

    @property
    def mentioned(self) -> bool:
        """Whether the window mentions the sentence, that is, contradicts the sentence or is quoted."""
        return bool(self.quotes) if self.category is None else self.category not in ABSENT


def supports(verdict: SupportVerdict | NoVerdict) -> bool:
    """Return whether there is a verdict, and the sentence or claim is supported."""
    return isinstance(verdict, SupportVerdict) and verdict.supported


def decide(
    text: str, by_window: Sequence[SupportVerdict | NoVerdict], views: Sequence[TextSpan]
) -> tuple[SupportVerdict | NoVerdict, int]:
    """Combine the verdicts of the first windows; return the verdict and the number of the deciding window.

    A sentence that at least one window supports is supported. Otherwise, if a window has no usable reply, there is no
    verdict, because that window might support the sentence. In all other cases, the verdict is that of the most similar
    window among those that mention the sentence, or among all windows if none mentions it.
    """
    mentioned = []
    for at, verdict in enumerate(by_window):
        if supports(verdict):
            return verdict, at
        if isinstance(verdict, SupportVerdict) and verdict.mentioned:
            mentioned.append(at)
    for at, verdict in enumerate(by_window):
        if isinstance(verdict, NoVerdict):
            where = "" if len(views) == 1 else f"window {at + 1} of {len(views)}: "
            return NoVerdict(verdict.status, f"{where}{verdict.reason}"), at
    at = closest(text, views, mentioned or range(len(by_window)))
    return by_window[at], at


Verdicts = tuple[SupportVerdict | NoVerdict, ...]


class SentenceJudge(LLMJudge[Verdicts]):
    """A judge of each sentence of a summary, which asks one question per summary or window.

    Subclasses override `verdict_judgment` if a verdict is more than yes or no.
    """

    aspects = (FAITHFULNESS,)
    long_documents = "windows"

    def skip_reason(self, item: Item) -> str | None:
        """Return the reason for skipping the item, such as a summary without sentences, or None."""
        return super().skip_reason(item) or (None if item.sentences else "the summary has no sentences")

    def expected(self, item: Item, data: Mapping[str, Any], parser: Parser = "strict") -> list[ExpectedJudgment]:
        """Return one expected judgment per sentence."""
        return [ExpectedJudgment(FAITHFULNESS, "sentence", place) for place in range(len(item.sentences))]

    def expected_tokens(self, item: Item) -> int:
        """Return `reply_tokens` times the number of sentences."""
        return self.reply_tokens * len(item.sentences)

    def is_decided(self, answers: Sequence[Answer[Verdicts]], item: Item) -> bool:
        """Return whether every sentence is supported by at least one window."""
        replies = [answer.data for answer in answers if answer.data is not None]
        return all(any(supports(reply[place]) for reply in replies) for place in range(len(item.sentences)))

    def combine(self, answers: Sequence[Answer[Verdicts]], item: Item, views: Sequence[TextSpan]) -> Verdicts:
        """Return one verdict per sentence, or the reason why there is none."""
        verdicts = []
        for place, text in enumerate(item.sentences):
            by_window = [
                NoVerdict(answer.status, answer.reason or "no usable reply")
                if answer.data is None
                else answer.data[place]
                for answer in answers
            ]
            verdicts.append(decide(text, by_window, views)[0])
        return tuple(verdicts)

    def judgments(self, reply: Verdicts, builder: JudgmentBuilder) -> list[Judgment]:
        """Return one judgment per sentence.

        The label is 1 and the value 1.0 if the sentence is supported, and otherwise 0 and 0.0.
        """
        return [
            builder.failed(FAITHFULNESS, verdict.status, verdict.reason, "sentence", place)
            if isinstance(verdict, NoVerdict)
            else self.verdict_judgment(verdict, place, builder)
            for place, verdict in enumerate(reply)
        ]

    def verdict_judgment(self, verdict: SupportVerdict, place: int, builder: JudgmentBuilder) -> Judgment:
        """Return the judgment for a verdict on the sentence with the index `place`."""
        return support_judgment(builder, verdict, place)


def support_judgment(
    builder: JudgmentBuilder,
    verdict: SupportVerdict,
    place: int,
    evidence: tuple[Span, ...] = (),
    unit: Unit = "sentence",
    **fields: Any,
) -> Judgment:
    """Return the judgment for a verdict on a sentence or claim.

    `fields` are additional fields of the judgment.
    """
    return builder.ok(
        FAITHFULNESS,
        unit,
        place,
        label=int(verdict.supported),
        error_type=verdict.category,
        evidence=evidence,
        reason=verdict.reason,
        contradicted=None if verdict.category is None else not CONTRADICTING.isdisjoint(error_types(verdict.category)),
        **{"value": float(verdict.supported), **fields},
    )
