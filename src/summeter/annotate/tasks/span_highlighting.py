"""Span highlighting: marking text that the document does not support (SummQual)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from summeter.annotate.campaign.state import Answer, TaskAnswer
from summeter.annotate.tasks.base import TaskType, labelled
from summeter.annotate.tasks.fact_verification import ERROR_TYPES
from summeter.annotate.tasks.questions import Question
from summeter.annotate.tasks.simulation import Gold
from summeter.annotate.tasks.task import Material, Source, Task, joined_body, summary_body
from summeter.data.human_judgments import SIGNATURES, SPAN_FREE, SPAN_SENTENCES
from summeter.records import Judgment, Span, joined_error_types

KINDS = ("contradicted", "not_from_source")
"""Kinds of errors: the document contradicts the span, or does not contain its content."""


class SpanHighlighting(TaskType):
    """The task type `span_highlighting`, with one task per summary."""

    name, code = "span_highlighting", "sh"
    needs = "summaries that are not empty"
    aspects = frozenset({"faithfulness"})
    shaped_by = frozenset({"error_types"})
    coefficients = (*TaskType.coefficients, "span_f1")
    default_entries: ClassVar[Mapping[str, Mapping[str, str]]] = {"error_types": ERROR_TYPES}

    def ask(self) -> Iterator[Question]:
        kinds, categories = self.options("span_highlighting", *KINDS), self.campaign.error_types
        text = self.language.text("span_highlighting.title")
        yield Question(name="spans", type="spans", text=text, options=kinds, categories=categories)

    def tasks(self, source: Source) -> Iterator[Task]:
        """Yield one task for each summary that is not empty."""
        for summary in source.summaries:
            if summary.text.strip():
                body = {"summary": summary_body(summary)}
                yield self.work_task(source, summary.system, system=summary.system, body=body)

    def check(self, source: Source, number: int, material: Material) -> Task | None:
        """Return a check in which a foreign sentence is inserted into a summary."""
        summary = material.summary(source)
        if summary is None:
            return None
        sentences = list(summary.sentence_texts)
        index = material.rng.randrange(len(sentences) + 1)
        sentences.insert(index, material.foreign(source))
        shown = joined_body(sentences)
        return self.check_task(
            source,
            number,
            system=summary.system,
            body={"summary": shown},
            expected={"touch": shown["sentences"][index]},
            feedback=self.language.text("span_highlighting.foreign"),
        )

    def passed(self, task: Task, answer: TaskAnswer) -> bool:
        """Return whether a span overlaps the foreign sentence."""
        start, end = task.expected["touch"]
        return any(span["start"] < end and start < span["end"] for span in answer.values["spans"])

    def judgments_of_task(self, task: Task, answer: Answer, source: Source) -> Iterator[Judgment]:
        """Yield a judgment for each span, and labels of the summary and its sentences.

        A label is 1 if no span is marked in the summary or sentence. The error types of a span are its category and its
        kind; a sentence has the error types of all spans that overlap it.
        """
        judge, spans = answer.annotator, answer.answer.values["spans"]
        types = [joined_error_types(name for name in (span["category"], span["kind"]) if name) for span in spans]
        for index, (span, error_type) in enumerate(zip(spans, types, strict=True)):
            yield labelled(
                judge,
                task.target("span", index=index),
                "faithfulness",
                SIGNATURES["spans"],
                yes=False,
                error_type=error_type,
                reason=span["reason"] or None,
                evidence=(Span(of="summary", start=span["start"], end=span["end"]),),
            )
        comment = answer.answer.comment
        yield labelled(judge, task.target(), "faithfulness", SIGNATURES[SPAN_FREE], yes=not spans, reason=comment)
        for index, sentence in enumerate(source.summary(task.system).sentences):
            overlapping = [
                error_type
                for span, error_type in zip(spans, types, strict=True)
                if span["start"] < sentence.end and sentence.start < span["end"]
            ]
            yield labelled(
                judge,
                task.target("sentence", index=index),
                "faithfulness",
                SIGNATURES[SPAN_SENTENCES],
                yes=not overlapping,
                error_type=joined_error_types(error_type for error_type in overlapping if error_type),
            )

    def right(self, task: Task, gold: Gold) -> TaskAnswer:
        """Return the foreign sentence of a check, or the gold spans.

        If there is no gold judgment, a random sentence or nothing is marked.
        """
        spans: list[tuple[int, int, str | None]] = [
            (known.evidence[0].start, known.evidence[0].end, known.error_type)
            for known in gold.spans(task)
            if known.evidence
        ]
        sentences = task.body["summary"]["sentences"]
        if task.expected:
            spans = [(*task.expected["touch"], None)]
        elif spans or gold.searched_for_spans(task) or not sentences:
            pass
        elif gold.chance(task) >= gold.quality(task.system):
            spans = [(*sentences[int(gold.chance(task, "place") * len(sentences))], None)]
        return TaskAnswer(values={"spans": [self.asks[0].mark(*span) for span in spans]})
