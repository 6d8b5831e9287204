"""A kind of task that summeter does not know: could this summary stand as a headline? One module and one script."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from summeter.annotate.campaign.config import Campaign
from summeter.annotate.campaign.state import Answer
from summeter.annotate.tasks.base import AnswerModel, Disagreement, Kind, parsed, split_of
from summeter.annotate.tasks.simulation import Profile, Truth
from summeter.annotate.tasks.task import Json, Others, Source, Task, key_of, summary_body
from summeter.records import Judgment, Target


class HeadlineAnswer(AnswerModel):
    """An answer."""

    fits: bool


class Headline(Kind):
    """One task a summary."""

    name = "headline"
    needs = "summaries"

    def tasks(self, source: Source, campaign: Campaign) -> Iterator[Task]:
        for summary in source.summaries:
            yield Task(
                key=key_of("hl", source.document.id, summary.system),
                kind=self.name,
                document_id=source.document.id,
                system=summary.system,
                group=key_of(source.document.id),
                body={"summary": summary_body(summary)},
            )

    def check(self, source: Source, number: int, others: Others, campaign: Campaign) -> Task | None:
        text = others.jumble(source)
        return Task(
            key=key_of("hl-check", number),
            kind=self.name,
            role="check",
            document_id=source.document.id,
            body={"summary": {"text": text, "sentences": [[0, len(text)]]}},
            expected={"fits": False},
        )

    def read(self, answer: Any, task: Task) -> Json:
        return parsed(HeadlineAnswer, answer).model_dump()

    def passed(self, task: Task, answer: Json) -> bool:
        return bool(task.expected and answer["fits"] == task.expected["fits"])

    def judgments(self, task: Task, answer: Answer, source: Source) -> Iterator[Judgment]:
        yield Judgment(
            target=Target(document_id=task.document_id, system=task.system or ""),
            aspect="headline",
            judge=answer.annotator,
            signature="mine.headline|v:1",
            value=float(answer.answer["fits"]),
            label=int(answer.answer["fits"]),
        )

    def disagreement(self, task: Task, answers: Sequence[Answer]) -> Disagreement | None:
        return split_of([self.describe(task, answer.answer) for answer in answers])

    def describe(self, task: Task, answer: Json) -> str:
        return "fits" if answer["fits"] else "does not fit"

    def true_answer(self, task: Task, truth: Truth) -> Json:
        return {"fits": truth.chance(task) < truth.quality(task.system)}

    def expected_answer(self, task: Task) -> Json:
        return {"fits": bool(task.expected and task.expected["fits"])}

    def noisy_answer(self, task: Task, right: Json, profile: Profile, rng: Random) -> Json:
        return {"fits": profile.label(right["fits"], rng)}

    def careless_answer(self, task: Task, letters: Sequence[str]) -> Json:
        return {"fits": True}
