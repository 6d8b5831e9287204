"""Span highlighting: mark what the document contradicts or does not say (SummQual)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from summeter.annotate.campaign.config import Campaign
from summeter.annotate.campaign.state import Answer
from summeter.annotate.tasks.base import (
    LONGEST,
    AnswerModel,
    Disagreement,
    Kind,
    check_chosen,
    labelled,
    listed,
    parsed,
    split_of,
)
from summeter.annotate.tasks.fact_verification import ERROR_TYPES
from summeter.annotate.tasks.simulation import Profile, Truth
from summeter.annotate.tasks.task import Json, Misfit, Others, Source, Task, joined_body, summary_body
from summeter.data.human_judgments import SIGNATURES, SPAN_FREE, SPAN_SENTENCES
from summeter.records import Judgment, Span, joined_error_types

KINDS = ("contradicted", "not_from_source")
"""How a passage is wrong: the document says otherwise, or does not say it."""


class Marked(BaseModel):
    """One marked stretch, in code points of the summary."""

    model_config = ConfigDict(extra="forbid", strict=True)

    start: int
    end: int
    kind: str
    category: str | None = None
    reason: str | None = Field(default=None, max_length=LONGEST)


class Marks(AnswerModel):
    """An answer."""

    spans: list[Marked] = Field(max_length=200)
    none: bool


class SpanHighlighting(Kind):
    """One task a summary."""

    name = "span_highlighting"
    shaped_by = frozenset({"error_types"})
    code = "sh"
    needs = "summaries that are not empty"
    coefficients = (*Kind.coefficients, "span_f1")
    usual: ClassVar[Mapping[str, Mapping[str, str]]] = {"error_types": ERROR_TYPES}

    def tasks(self, source: Source, campaign: Campaign) -> Iterator[Task]:
        """Every summary."""
        for summary in source.summaries:
            if summary.text.strip():
                body = _body(summary_body(summary), campaign)
                yield self.work_task(source, summary.system, system=summary.system, body=body)

    def check(self, source: Source, number: int, others: Others, campaign: Campaign) -> Task | None:
        """A foreign sentence is put into a summary; a span must touch it."""
        summary = others.summary(source)
        if summary is None:
            return None
        sentences = list(summary.sentence_texts)
        place = others.rng.randrange(len(sentences) + 1)
        sentences.insert(place, others.foreign(source))
        shown = joined_body(sentences)
        return self.check_task(
            source,
            number,
            system=summary.system,
            body=_body(shown, campaign),
            expected={"touch": shown["sentences"][place]},
            feedback=others.language.text("span_highlighting.foreign"),
        )

    def aspects(self, campaign: Campaign) -> frozenset[str]:
        return frozenset({"faithfulness"})

    def conditions(self, campaign: Campaign) -> dict[str, tuple[Any, ...]]:
        return {"none": (True, False)}

    def read(self, answer: Any, task: Task) -> Json:
        """Checked, spans in order and apart."""
        given = parsed(Marks, answer)
        if given.none == bool(given.spans):
            raise Misfit("answer.none", "is true if and only if nothing is marked")
        length = len(task.body["summary"]["text"])
        kinds, categories = task.names("kinds"), task.names("categories")
        spans = sorted(given.spans, key=lambda span: span.start)
        before = 0
        for span in spans:
            if not 0 <= span.start < span.end <= length:
                raise Misfit("answer.spans", f"a span lies between 0 and {length} and is not empty")
            if span.start < before:
                raise Misfit("answer.spans", "two spans overlap")
            before = span.end
            check_chosen([span.kind], kinds, "answer.spans")
            if categories:
                check_chosen([span.category or ""], categories, "answer.spans")
        return {**given.model_dump(), "spans": [span.model_dump() for span in spans]}

    def passed(self, task: Task, answer: Json) -> bool:
        """Whether some span touches the foreign sentence."""
        start, end = task.expects["touch"]
        return any(span["start"] < end and start < span["end"] for span in answer["spans"])

    def judgments(self, task: Task, answer: Answer, source: Source) -> Iterator[Judgment]:
        """One judgment a span; and whether the summary, and each of its sentences, was found free of them.

        The error types of a span are its category and its kind; a sentence has those of the spans that touch it.
        """
        judge, spans = answer.annotator, answer.answer["spans"]
        types = [joined_error_types(name for name in (span["category"], span["kind"]) if name) for span in spans]
        for index, (span, named) in enumerate(zip(spans, types, strict=True)):
            yield labelled(
                judge,
                task.target("span", index=index),
                "faithfulness",
                SIGNATURES["spans"],
                yes=False,
                error_type=named,
                reason=span["reason"] or None,
                evidence=(Span(of="summary", start=span["start"], end=span["end"]),),
            )
        comment = answer.answer.get("comment") or None
        yield labelled(judge, task.target(), "faithfulness", SIGNATURES[SPAN_FREE], yes=not spans, reason=comment)
        for index, sentence in enumerate(source.summary(task.system).sentences):
            touching = [
                named
                for span, named in zip(spans, types, strict=True)
                if span["start"] < sentence.end and sentence.start < span["end"]
            ]
            yield labelled(
                judge,
                task.target("sentence", index=index),
                "faithfulness",
                SIGNATURES[SPAN_SENTENCES],
                yes=not touching,
                error_type=joined_error_types(named for named in touching if named),
            )

    def disagreement(self, task: Task, answers: Sequence[Answer]) -> Disagreement | None:
        """Some marked what others found clean, or marks that touch no one else's."""
        split = split_of(["marked" if answer.answer["spans"] else "clean" for answer in answers])
        if split is not None:
            return split
        spans = [
            (reader, span["start"], span["end"])
            for reader, answer in enumerate(answers)
            for span in answer.answer["spans"]
        ]
        lonely = sum(
            not any(other != reader and low < end and start < high for other, low, high in spans)
            for reader, start, end in spans
        )
        return Disagreement(f"{lonely} of {len(spans)} marks touch nobody else's", even=False) if lonely else None

    def describe(self, task: Task, answer: Json) -> str:
        text = task.body["summary"]["text"]
        marks = [
            f"“{text[span['start'] : span['end']]}” ({span['category'] or span['kind']})" for span in answer["spans"]
        ]
        return "; ".join(marks) or "clean"

    def parts(self, task: Task, answer: Json) -> list[tuple[str, str]]:
        """Each mark with all that was said of it."""
        text = task.body["summary"]["text"]
        marks = []
        for span in answer["spans"]:
            about = ", ".join(name.replace("_", " ") for name in (span["kind"], span["category"]) if name)
            why = f": {span['reason']}" if span["reason"] else ""
            marks.append((f"“{text[span['start'] : span['end']]}”", about + why))
        return marks or [("marked", "nothing")]

    def disputed(self, task: Task, answers: Sequence[Json]) -> str | None:
        """All that somebody marked."""
        text = task.body["summary"]["text"]
        return " ".join(text[span["start"] : span["end"]] for answer in answers for span in answer["spans"])

    def true_answer(self, task: Task, truth: Truth) -> Json:
        """Gold's spans; else none, or a drawn sentence."""
        spans = [
            (gold.evidence[0].start, gold.evidence[0].end, gold.error_type)
            for gold in truth.gold_spans(task)
            if gold.evidence
        ]
        if spans or truth.searched_for_spans(task):
            return _answer(task, spans)
        sentences = task.body["summary"]["sentences"]
        if not sentences or truth.chance(task) < truth.quality(task.system):
            return _answer(task, [])
        start, end = sentences[int(truth.chance(task, "place") * len(sentences))]
        return _answer(task, [(start, end, None)])

    def expected_answer(self, task: Task) -> Json:
        start, end = task.expects["touch"]
        return _answer(task, [(start, end, None)])

    def noisy_answer(self, task: Task, right: Json, profile: Profile, rng: Random) -> Json:
        """The right answer; else nothing, or any one sentence."""
        clean = not right["spans"]
        label = profile.label(clean, rng)
        if label == clean:
            return right
        summary = task.body["summary"]
        start, end = rng.choice(summary["sentences"] or [[0, len(summary["text"])]])
        return _answer(task, [] if label else [(start, end, None)])

    def careless_answer(self, task: Task, letters: Sequence[str]) -> Json:
        return _answer(task, [])


def _answer(task: Task, spans: Iterable[tuple[int, int, str | None]]) -> Json:
    """An answer with these spans: start, end, category."""
    names = task.names("categories")
    kind = task.names("kinds")[-1]
    marks = [
        {
            "start": start,
            "end": end,
            "kind": kind,
            "category": category if category in names else next(iter(names), None),
            "reason": None,
        }
        for start, end, category in spans
    ]
    return {"spans": marks, "none": not marks}


def _body(shown: Json, campaign: Campaign) -> Json:
    kinds = [{"name": name} for name in KINDS]
    return {"summary": shown, "kinds": kinds, "categories": listed(campaign.error_types, "meaning")}
