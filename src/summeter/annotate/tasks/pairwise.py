"""Pairwise comparison of two summaries of a document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import ClassVar

from summeter.annotate.campaign.state import TaskAnswer
from summeter.annotate.tasks.base import TaskType, summaries_body
from summeter.annotate.tasks.questions import TIE, Question
from summeter.annotate.tasks.simulation import Gold
from summeter.annotate.tasks.task import Material, Source, Task

ASPECTS = {"overall": "pairwise.overall"}
"""The default aspect, with the key of its texts in the language files."""
SIGNATURE = "human.pairs|v:1"
REASON = "reason"


class Pairwise(TaskType):
    """The task type `pairwise`, with one task per document and pair of systems."""

    name, code = "pairwise", "pw"
    needs = "documents with at least two summaries"
    unit = "pair"
    shaped_by = frozenset({"aspects", "ties"})
    default_entries: ClassVar[Mapping[str, Mapping[str, str]]] = {"aspects": ASPECTS}
    coefficients = ("alpha_nominal", "alpha_ordinal", "identical")

    def ask(self) -> Iterator[Question]:
        for aspect in self.campaign.aspects:
            yield Question(
                name=aspect.name,
                type="summary",
                label=aspect.label or aspect.name,
                text=aspect.question,
                ties=self.campaign.ties,
                signature=SIGNATURE,
            )
        yield Question(name=REASON, type="text", text=self.language.text("work.why"), required=False)

    def tasks(self, source: Source) -> Iterator[Task]:
        """Yield one task for each pair of summaries, with the systems in alphabetical order."""
        for systems in combinations(sorted(summary.system for summary in source.summaries), 2):
            body = {"summaries": summaries_body(source, systems)}
            yield self.work_task(source, *systems, system=systems[0], rival=systems[1], systems=systems, body=body)

    def check(self, source: Source, number: int, material: Material) -> Task | None:
        """Return a check that replaces one summary with the scrambled words of a foreign summary."""
        if len(source.summaries) < 2:
            return None
        systems = tuple(summary.system for summary in material.rng.sample(source.summaries, 2))
        return self.check_task(
            source,
            number,
            systems=systems,
            body={"summaries": summaries_body(source, systems, {systems[0]: material.scrambled(source)})},
            expected={"loser": systems[0]},
            feedback=self.language.text("work.scrambled"),
        )

    def passed(self, task: Task, answer: TaskAnswer) -> bool:
        """Return whether the other summary is preferred to the scrambled one on every aspect."""
        return not {task.expected["loser"], TIE} & {answer.values[name] for name in self._choices()}

    def reason(self, answer: TaskAnswer) -> str | None:
        return answer.values.get(REASON) or answer.comment

    def right(self, task: Task, gold: Gold) -> TaskAnswer:
        if not task.expected:
            return TaskAnswer()
        winner = next(system for system in task.systems if system != task.expected["loser"])
        return TaskAnswer(values=dict.fromkeys(self._choices(), winner))

    def _choices(self) -> list[str]:
        return [question.name for question in self.asks if question.type == "summary"]
