"""Judges that say of each sentence or claim whether the document supports it: their verdicts, and long documents.

A document that is longer than the judge reads is asked about window by window: what one window supports is supported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from summeter.evaluators.base import ExpectedJudgment, JudgmentBuilder, Parser
from summeter.evaluators.llm import LLMJudge, NoVerdict
from summeter.evaluators.windows import DocumentView, closest
from summeter.models.structured import Answer
from summeter.records import Item, Judgment, Span, Unit

ABSENT: Final = frozenset({"out-of-context error", "out-of-article error"})
"""Categories that say only that a window does not speak of it."""
FAITHFULNESS: Final = "faithfulness"


class SupportVerdict(NamedTuple):
    """Whether the document supports a sentence or a claim. `category` is the type of error ("no error" for none), None
    where none was asked for; `quotes` what the judge copied from the document, blank ones left out (None likewise)."""

    supported: bool
    category: str | None = None
    reason: str | None = None
    quotes: tuple[str, ...] | None = None

    @property
    def speaks(self) -> bool:
        """Whether the window that was shown speaks of it: it contradicts it, or is quoted."""
        return bool(self.quotes) if self.category is None else self.category not in ABSENT


def decide(
    text: str, by_window: Mapping[int, SupportVerdict | NoVerdict], views: Sequence[DocumentView]
) -> tuple[SupportVerdict | NoVerdict, int]:
    """The verdict on a sentence or claim `text`, from the answers by window; and the number of the window that decides.

    Supported by one window is supported. A window without a usable reply might have been that one: then there is no
    verdict. Else the verdict is that of a window that speaks of it (of any, where none does), and of these of the one
    that shares most words with it.
    """
    verdicts = {at: verdict for at, verdict in by_window.items() if isinstance(verdict, SupportVerdict)}
    for at, verdict in verdicts.items():
        if verdict.supported:
            return (verdict, at)
    for at, lack in by_window.items():
        if isinstance(lack, NoVerdict):
            where = "" if len(views) == 1 else f"window {at + 1} of {len(views)}: "
            return (NoVerdict(lack.status, f"{where}{lack.reason}"), at)
    at = closest(text, views, [at for at, verdict in verdicts.items() if verdict.speaks] or list(verdicts))
    return (verdicts[at], at)


class SentenceJudge(LLMJudge[tuple[SupportVerdict | NoVerdict, ...]]):
    """A judge of each sentence of a summary, in one question (or one a window of a long document).

    A judge gives `verdict_judgment` where a verdict says more than yes or no.
    """

    aspects = (FAITHFULNESS,)
    long_documents = "windows"

    def skip_reason(self, item: Item) -> str | None:
        """As for every evaluator; and there must be sentences."""
        return super().skip_reason(item) or (None if item.sentences else "the summary has no sentences")

    def expected(self, item: Item, data: Mapping[str, Any], parser: Parser = "strict") -> list[ExpectedJudgment]:
        """One a sentence."""
        return [ExpectedJudgment(FAITHFULNESS, "sentence", place) for place in range(len(item.sentences))]

    def expected_tokens(self, item: Item) -> int:
        """`reply_tokens` a sentence."""
        return self.reply_tokens * len(item.sentences)

    def is_decided(self, answers: Sequence[Answer[tuple[SupportVerdict | NoVerdict, ...]]], item: Item) -> bool:
        """Whether every sentence is supported by some window."""
        replies = [answer.data for answer in answers if answer.data is not None]
        return all(
            any(isinstance(verdict := reply[place], SupportVerdict) and verdict.supported for reply in replies)
            for place in range(len(item.sentences))
        )

    def combine(
        self,
        answers: Sequence[Answer[tuple[SupportVerdict | NoVerdict, ...]]],
        item: Item,
        views: Sequence[DocumentView],
    ) -> tuple[SupportVerdict | NoVerdict, ...]:
        """One verdict a sentence, or why there is none."""
        return tuple(
            decide(
                text,
                {
                    at: NoVerdict(answer.status, answer.reason or "no usable reply")
                    if answer.data is None
                    else answer.data[place]
                    for at, answer in enumerate(answers)
                },
                views,
            )[0]
            for place, text in enumerate(item.sentences)
        )

    def judgments(self, reply: tuple[SupportVerdict | NoVerdict, ...], builder: JudgmentBuilder) -> list[Judgment]:
        """One judgment a sentence: label 1 and value 1.0 where it is supported, else 0 and 0.0."""
        return [
            builder.failed(FAITHFULNESS, verdict.status, verdict.reason, "sentence", place)
            if isinstance(verdict, NoVerdict)
            else self.verdict_judgment(verdict, place, builder)
            for place, verdict in enumerate(reply)
        ]

    def verdict_judgment(self, verdict: SupportVerdict, place: int, builder: JudgmentBuilder) -> Judgment:
        """The judgment that a verdict gives on the sentence number `place`."""
        return support_judgment(builder, verdict, place)


def support_judgment(
    builder: JudgmentBuilder,
    verdict: SupportVerdict,
    place: int,
    evidence: tuple[Span, ...] = (),
    unit: Unit = "sentence",
    **fields: Any,
) -> Judgment:
    """Label, value, error type and reason on a sentence or claim; `fields` are further ones of the judgment."""
    return builder.ok(
        FAITHFULNESS,
        unit,
        place,
        label=int(verdict.supported),
        error_type=verdict.category,
        evidence=evidence,
        reason=verdict.reason,
        **{"value": float(verdict.supported), **fields},
    )
