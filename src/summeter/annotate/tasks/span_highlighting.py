"""Span highlighting: mark what the document contradicts or does not say (SummQual)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from random import Random
from typing import ClassVar

from summeter.annotate.campaign.answer import TaskAnswer
from summeter.annotate.campaign.state import Answer
from summeter.annotate.tasks.base import TaskType, labelled
from summeter.annotate.tasks.fact_verification import ERROR_TYPES
from summeter.annotate.tasks.questions import Question
from summeter.annotate.tasks.simulation import Gold
from summeter.annotate.tasks.task import Json, Material, Source, Task, joined_body, summary_body
from summeter.data.human_judgments import SIGNATURES, SPAN_FREE, SPAN_SENTENCES
from summeter.records import Judgment, Span, joined_error_types

KINDS = ("contradicted", "not_from_source")
"""How a passage is wrong: the document says otherwise, or does not say it."""


class SpanHighlighting(TaskType):
    """One task a summary."""

    name, code = "span_highlighting", "sh"
    needs = "summaries that are not empty"
    aspects = frozenset({"faithfulness"})
    shaped_by = frozenset({"error_types"})
    coefficients = (*TaskType.coefficients, "span_f1")
    usual: ClassVar[Mapping[str, Mapping[str, str]]] = {"error_types": ERROR_TYPES}

    def ask(self) -> Iterator[Question]:
        kinds, categories = self.options("span_highlighting", *KINDS), self.campaign.error_types
        text = self.language.text("span_highlighting.title")
        yield Question(name="spans", type="spans", text=text, options=kinds, categories=categories)

    def tasks(self, source: Source) -> Iterator[Task]:
        """Every summary."""
        for summary in source.summaries:
            if summary.text.strip():
                body = {"summary": summary_body(summary)}
                yield self.work_task(source, summary.system, system=summary.system, body=body)

    def check(self, source: Source, number: int, material: Material) -> Task | None:
        """A foreign sentence is put into a summary; a span must touch it."""
        summary = material.summary(source)
        if summary is None:
            return None
        sentences = list(summary.sentence_texts)
        place = material.rng.randrange(len(sentences) + 1)
        sentences.insert(place, material.foreign(source))
        shown = joined_body(sentences)
        return self.check_task(
            source,
            number,
            system=summary.system,
            body={"summary": shown},
            expected={"touch": shown["sentences"][place]},
            feedback=self.language.text("span_highlighting.foreign"),
        )

    def passed(self, task: Task, answer: TaskAnswer) -> bool:
        """Whether some span touches the foreign sentence."""
        start, end = task.expects["touch"]
        return any(span["start"] < end and start < span["end"] for span in answer.values["spans"])

    def judgments_of_task(self, task: Task, answer: Answer, source: Source) -> Iterator[Judgment]:
        """One judgment a span; and whether the summary, and each of its sentences, was found free of them.

        The error types of a span are its category and its kind; a sentence has those of the spans that touch it.
        """
        judge, spans = answer.annotator, answer.answer.values["spans"]
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
        comment = answer.answer.comment
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

    def decides(self, answer: TaskAnswer) -> bool:
        """Whether the summary is found clean."""
        return not answer.values["spans"]

    def deciding(self, task: Task, *, accepts: bool, rng: Random | None = None) -> Json:
        summary = task.body["summary"]
        sentences = summary["sentences"] or [[0, len(summary["text"])]]
        start, end = sentences[0] if rng is None else rng.choice(sentences)
        return self._marks([] if accepts else [(start, end, None)])

    def right(self, task: Task, gold: Gold) -> TaskAnswer:
        """The foreign sentence; gold's spans; else none, or a drawn sentence."""
        spans: list[tuple[int, int, str | None]] = [
            (known.evidence[0].start, known.evidence[0].end, known.error_type)
            for known in gold.spans(task)
            if known.evidence
        ]
        sentences = task.body["summary"]["sentences"]
        if task.expected is not None:
            start, end = task.expects["touch"]
            spans = [(start, end, None)]
        elif spans or gold.searched_for_spans(task) or not sentences:
            pass
        elif gold.chance(task) >= gold.quality(task.system):
            start, end = sentences[int(gold.chance(task, "place") * len(sentences))]
            spans = [(start, end, None)]
        return TaskAnswer(values=self._marks(spans))

    def _marks(self, spans: Iterable[tuple[int, int, str | None]]) -> Json:
        """Marks from start, end and category."""
        names = [entry.name for entry in self.campaign.error_types]
        marks = [
            {
                "start": start,
                "end": end,
                "kind": KINDS[-1],
                "category": category if category in names else next(iter(names), None),
                "reason": None,
            }
            for start, end, category in spans
        ]
        return {"spans": marks}
