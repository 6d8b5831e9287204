"""Rating of the summaries of a document, and choice of the best summary (SummQual)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from statistics import fmean
from typing import ClassVar

import numpy as np

from summeter.annotate.campaign.config import Scale
from summeter.annotate.campaign.state import Answer, TaskAnswer
from summeter.annotate.tasks.base import LETTERS, TaskType, summaries_body
from summeter.annotate.tasks.questions import Question
from summeter.annotate.tasks.simulation import Gold
from summeter.annotate.tasks.task import Material, Source, Task
from summeter.data.human_judgments import SIGNATURES
from summeter.records import UsageError
from summeter.scoring.table import Categorical, JudgmentTable

ASPECTS = {name: f"rating.{name}" for name in ("coherence", "consistency", "coverage", "fluency", "overall")}
"""The default aspects, each with the key of its texts in the language files."""
BEST = "best"


class Rating(TaskType):
    """The task type `rating`, with one task per document."""

    name, code = "rating", "ra"
    needs = "documents with at least one summary"
    aspects = frozenset({BEST})
    each_summary = True
    shaped_by = frozenset({"aspects", "scale", "best"})
    coefficients = ("alpha_interval", "alpha_ordinal", "alpha_nominal", "identical")
    side_aspects = frozenset({BEST})
    default_entries: ClassVar[Mapping[str, Mapping[str, str]]] = {"aspects": ASPECTS}

    def ask(self) -> Iterator[Question]:
        labels = tuple(self.language.text(f"rating.point_{n}") for n in range(1, 6))
        default_scale = self.campaign.scale or Scale(labels=labels)
        for aspect in self.campaign.aspects:
            yield Question(
                name=aspect.name,
                type="scale",
                label=aspect.label or aspect.name,
                text=aspect.question,
                scale=aspect.scale or default_scale,
                each_summary=True,
                signature=SIGNATURES["ratings"],
            )
        if self.campaign.best:
            # Only ratings are compared, since the best summary follows from them.
            yield Question(
                name=BEST,
                type="summary",
                text=self.language.text("rating.best"),
                compared=False,
                signature=SIGNATURES["overall"],
            )

    def tasks(self, source: Source) -> Iterator[Task]:
        """Yield one task with all summaries of the document.

        Raises UsageError if the document has more than 26 summaries, one for each letter.
        """
        systems = tuple(summary.system for summary in source.summaries)
        if len(systems) > len(LETTERS):
            raise UsageError(
                f"document {source.document.id!r} has {len(systems)} summaries, but a page shows at most "
                f"{len(LETTERS)}; select systems with `select.systems`"
            )
        yield self.work_task(source, systems=systems, body={"summaries": summaries_body(source, systems)})

    def check(self, source: Source, number: int, material: Material) -> Task | None:
        """Return a check that replaces one summary with the scrambled words of a foreign summary."""
        systems = tuple(summary.system for summary in source.summaries)
        scrambled = material.rng.choice(systems)
        return self.check_task(
            source,
            number,
            systems=systems,
            body={"summaries": summaries_body(source, systems, {scrambled: material.scrambled(source)})},
            expected={"worst": scrambled},
            feedback=self.language.text("work.scrambled"),
        )

    def passed(self, task: Task, answer: TaskAnswer) -> bool:
        """Return whether the scrambled summary has the lowest rating and is not chosen as the best.

        A scrambled summary that is shown alone must be rated in the lowest quarter of the scale.
        """
        scrambled, scales = task.expected["worst"], self._scales()
        means = {
            system: fmean(scale.share(answer.summaries[system][aspect]) for aspect, scale in scales.items())
            for system in task.systems
        }
        if len(means) == 1:
            return means[scrambled] <= 0.25
        return answer.values.get(BEST) != scrambled and means[scrambled] == min(means.values()) < max(means.values())

    def right(self, task: Task, gold: Gold) -> TaskAnswer:
        scrambled = task.expected.get("worst")
        if scrambled is None:
            return TaskAnswer()
        cells = {
            system: {aspect: scale.at(0 if system == scrambled else 0.75) for aspect, scale in self._scales().items()}
            for system in task.systems
        }
        best = next((system for system in task.systems if system != scrambled), None)
        return TaskAnswer(values={BEST: best} if best is not None else {}, summaries=cells)

    def columns(self, answers: Iterable[tuple[Task, Answer]]) -> JudgmentTable:
        exported = {question.name: question.signature for question in self.asks if question.signature is not None}
        scales = [name for name in exported if name != BEST]
        documents, judges, counts = [], [], []
        systems: list[str] = []
        aspects: list[str] = []
        values: list[float] = []
        for task, answer in answers:
            start = len(values)
            for system in task.systems:
                ratings = answer.answer.summaries[system]
                systems += [system] * len(scales)
                aspects += scales
                values += [ratings[name] for name in scales]
            if (best := answer.answer.values.get(BEST)) is not None:
                systems += task.systems
                aspects += [BEST] * len(task.systems)
                values += [system == best for system in task.systems]
            documents.append(task.document_id)
            judges.append(answer.annotator)
            counts.append(len(values) - start)
        aspect = Categorical.of(aspects)
        return JudgmentTable.of_values(
            document=Categorical.of(documents).repeat(counts),
            system=Categorical.of(systems),
            aspect=aspect,
            judge=Categorical.of(judges).repeat(counts),
            signature=Categorical.of(exported.get(name or "") for name in aspect.names).take(aspect.codes),
            value=np.array(values, np.float64),
        )

    def _scales(self) -> dict[str, Scale]:
        return {question.name: question.scale for question in self.asks if question.each_summary}
