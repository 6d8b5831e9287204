"""Span highlighting: mark what the document contradicts or does not say (SummQual)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

from summeter.annotate.tasks.base import (
    LONGEST,
    Given,
    Kind,
    Misfit,
    Others,
    Source,
    Task,
    chosen_from,
    joined,
    key_of,
    listed,
    parsed,
    text_of,
)
from summeter.annotate.tasks.fact_verification import ERROR_TYPES
from summeter.data.human_judgments import SIGNATURES
from summeter.records import Judgment, Span, Target

if TYPE_CHECKING:
    from summeter.annotate.campaign import Campaign
    from summeter.annotate.state import Answer

KINDS = (
    ("contradicted", "The document says otherwise."),
    ("not_from_source", "The document does not say it."),
)
NONE_ASPECT = "faithfulness_spans"


class Marked(BaseModel):
    """One marked stretch, in code points of the summary."""

    model_config = ConfigDict(extra="forbid", strict=True)

    start: int
    end: int
    kind: str
    category: str | None = None
    reason: str | None = Field(default=None, max_length=LONGEST)


class Marks(Given):
    """An answer."""

    spans: list[Marked] = Field(max_length=200)
    none: bool


class SpanHighlighting(Kind):
    """One task a summary."""

    name = "span_highlighting"
    needs = "summaries that are not empty"

    def tasks(self, source: Source, campaign: Campaign) -> Iterator[Task]:
        """Every summary."""
        document = source.document.id
        for summary in source.summaries:
            if summary.text.strip():
                yield Task(
                    key=key_of("sh", document, summary.system), kind=self.name, document_id=document,
                    system=summary.system, group=key_of(document), body=_body(text_of(summary), campaign),
                )  # fmt: skip

    def check(self, source: Source, number: int, others: Others, campaign: Campaign) -> Task | None:
        """A foreign sentence is put into a summary; a span must touch it."""
        summaries = [one for one in source.summaries if one.sentences]
        if not summaries:
            return None
        summary = others.rng.choice(summaries)
        sentences = list(summary.sentence_texts)
        place = others.rng.randrange(len(sentences) + 1)
        sentences.insert(place, others.foreign(source))
        shown = joined(sentences)
        return Task(
            key=key_of("sh-check", number), kind=self.name, role="check", document_id=source.document.id,
            system=summary.system, body=_body(shown, campaign), expected={"touch": shown["sentences"][place]},
            feedback="One sentence comes from another text; it had to be marked.",
        )  # fmt: skip

    def read(self, answer: Any, task: Task) -> dict[str, Any]:
        """Checked, spans in order and apart."""
        given = parsed(Marks, answer)
        if given.none == bool(given.spans):
            raise Misfit("answer.none", "is true if and only if nothing is marked")
        length = len(task.body["summary"]["text"])
        kinds = [one["name"] for one in task.body["kinds"]]
        categories = [one["name"] for one in task.body["categories"]]
        spans = sorted(given.spans, key=lambda one: one.start)
        before = 0
        for one in spans:
            if not 0 <= one.start < one.end <= length:
                raise Misfit("answer.spans", f"a span lies between 0 and {length} and is not empty")
            if one.start < before:
                raise Misfit("answer.spans", "two spans overlap")
            before = one.end
            chosen_from([one.kind], kinds, "answer.spans")
            if categories:
                chosen_from([one.category or ""], categories, "answer.spans")
        return {**given.model_dump(), "spans": [one.model_dump() for one in spans]}

    def passed(self, task: Task, answer: dict[str, Any]) -> bool:
        """Whether some span touches the foreign sentence."""
        if task.expected is None:
            return False
        start, end = task.expected["touch"]
        return any(one["start"] < end and start < one["end"] for one in answer["spans"])

    def judgments(self, task: Task, answer: Answer, source: Source) -> Iterator[Judgment]:
        """One judgment a span, and one that says whether the summary was found clean."""
        del source
        document, system = task.document_id, task.system or ""
        for index, one in enumerate(answer.answer["spans"]):
            yield Judgment(
                target=Target(document_id=document, system=system, unit="span", index=index), aspect="faithfulness",
                judge=answer.annotator, signature=SIGNATURES["spans"], value=0.0, label=0,
                error_type=one["category"] or one["kind"], reason=one["reason"] or None,
                evidence=(Span(of="summary", start=one["start"], end=one["end"]),),
            )  # fmt: skip
        clean = int(not answer.answer["spans"])
        yield Judgment(
            target=Target(document_id=document, system=system), aspect=NONE_ASPECT, judge=answer.annotator,
            signature="human.spans_none|v:1", value=float(clean), label=clean,
        )  # fmt: skip


def _body(shown: dict[str, Any], campaign: Campaign) -> dict[str, Any]:
    kinds = [{"name": name, "meaning": meaning} for name, meaning in KINDS]
    return {"summary": shown, "kinds": kinds, "categories": listed(campaign.error_types, ERROR_TYPES, "meaning")}
