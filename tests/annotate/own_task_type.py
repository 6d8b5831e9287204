"""A custom task type: could the summary be a headline?"""

from __future__ import annotations

from collections.abc import Iterator

from summeter.annotate.tasks.base import TaskType
from summeter.annotate.tasks.questions import Question
from summeter.annotate.tasks.task import Material, Source, Task, summary_body


class Headline(TaskType):
    """A task type with one task per summary."""

    name, code = "headline", "hl"
    title = "Could this stand as a headline?"
    needs = "summaries"

    def ask(self) -> Iterator[Question]:
        yield Question(name="fits", type="yes_no", text="As a headline, does it fit?", signature="mine.headline|v:1")

    def tasks(self, source: Source) -> Iterator[Task]:
        for summary in source.summaries:
            yield self.work_task(source, summary.system, system=summary.system, body={"summary": summary_body(summary)})

    def check(self, source: Source, number: int, material: Material) -> Task | None:
        text = material.scrambled(source)
        body = {"summary": {"text": text, "sentences": [[0, len(text)]]}}
        return self.check_task(source, number, body=body, expected={"fits": False})
