"""Fact verification: whether the document supports a summary sentence.

The task is that of UniSumEval (Lee et al., 2024).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from summeter.annotate.campaign.state import Answer, TaskAnswer
from summeter.annotate.tasks.base import TaskType, labelled
from summeter.annotate.tasks.questions import Question
from summeter.annotate.tasks.simulation import Gold
from summeter.annotate.tasks.task import Json, Material, Source, Task, joined_body, summary_body
from summeter.data.human_judgments import SIGNATURES
from summeter.records import Judgment, canonical_error_type, error_types, joined_error_types

ERROR_TYPES = {
    "out-of-article error": "error_types.out_of_article",
    "entity error": "error_types.entity",
    "relation error": "error_types.relation",
    "sentence error": "error_types.sentence",
}
"""Error types of UniSumEval, each with the key of its texts in the language files."""


class FactVerification(TaskType):
    """The task type `fact_verification`, with one task per summary sentence."""

    name, code = "fact_verification", "fv"
    needs = "summaries with at least one sentence"
    unit = "sentence"
    aspects = frozenset({"faithfulness"})
    shaped_by = frozenset({"error_types"})
    focused = "sentence"
    default_entries: ClassVar[Mapping[str, Mapping[str, str]]] = {"error_types": ERROR_TYPES}
    machine_aspect = "faithfulness"
    accepting: ClassVar[Mapping[str, str]] = {"label": "supported"}

    def ask(self) -> Iterator[Question]:
        text = self.language.text
        labels = self.options("fact_verification", "supported", "not_supported")
        yield Question(name="label", type="choice", text=text("fact_verification.verdict"), options=labels)
        if self.campaign.error_types:
            # Only labels are compared; error types are merged if annotators agree on the error.
            yield Question(
                name="error_types",
                type="choices",
                text=text("fact_verification.types"),
                hint=text("fact_verification.several"),
                options=self.campaign.error_types,
                when=({"label": ("not_supported",)},),
                compared=False,
            )

    def tasks(self, source: Source) -> Iterator[Task]:
        for summary in source.summaries:
            shown, system = summary_body(summary), summary.system
            for index, sentence in enumerate(summary.sentence_texts):
                body = {"summary": shown, "index": index, "sentence": sentence}
                yield self.work_task(source, system, index, group=system, system=system, index=index, body=body)

    def check(self, source: Source, number: int, material: Material) -> Task | None:
        """Return a check in which a foreign sentence replaces a sentence of the summary.

        Positive and negative machine verdicts alternate between checks.
        """
        summary = material.summary(source)
        if summary is None:
            return None
        accepts = number % 2 == 0
        sentences = list(summary.sentence_texts)
        foreign = material.foreign(source, accepted=accepts)
        index = material.rng.randrange(len(sentences))
        sentences[index] = foreign
        return self.check_task(
            source,
            number,
            system=summary.system,
            body={"summary": joined_body(sentences), "index": index, "sentence": foreign},
            expected={"label": "not_supported"},
            planned={"accepts": accepts, "values": {}},
            feedback=self.language.text("fact_verification.foreign"),
        )

    def judgments_of_task(self, task: Task, answer: Answer, source: Source) -> Iterator[Judgment]:
        """Yield a faithfulness label with all chosen error types."""
        yield labelled(
            answer.annotator,
            task.target("sentence"),
            "faithfulness",
            SIGNATURES["sentence_labels"],
            yes=self.decides(answer.answer) is True,
            error_type=joined_error_types(answer.answer.values.get("error_types", ())),
            reason=answer.answer.comment,
        )

    def verdict_values(self, judgment: Judgment, task: Task, *, accepts: bool) -> Json:
        types = set() if accepts else error_types(judgment.error_type)
        names = [entry.name for entry in self.campaign.error_types if canonical_error_type(entry.name) in types]
        return {"error_types": names} if names else {}

    def right(self, task: Task, gold: Gold) -> TaskAnswer:
        known = gold.of(task.target("sentence"), "faithfulness")
        answer = super().right(task, gold)
        if task.expected or known is None or known.label == 1:
            return answer
        return TaskAnswer(values={**answer.values, **self.verdict_values(known, task, accepts=False)})
