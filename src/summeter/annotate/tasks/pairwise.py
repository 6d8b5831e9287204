"""Pairwise choice: which of two summaries of a document is better?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

from pydantic import Field

from summeter.annotate.tasks.base import LONGEST, Given, Misfit, Others, Source, Task, key_of, listed, parsed
from summeter.annotate.tasks.lettered import Lettered, letter_of, replaced, summaries_of, system_of
from summeter.records import Judgment, Summary, Target

if TYPE_CHECKING:
    from summeter.annotate.campaign import Campaign
    from summeter.annotate.state import Answer

ASPECTS = (("overall", "Which is the better summary of the document?"),)
TIE = "tie"
SIGNATURE = "human.pairs|v:1"


class Choice(Given):
    """An answer."""

    choices: dict[str, Any]
    reason: str | None = Field(default=None, max_length=LONGEST)


class Pairwise(Lettered):
    """One task a document and pair of systems."""

    name = "pairwise"
    needs = "documents with at least two summaries"

    def tasks(self, source: Source, campaign: Campaign) -> Iterator[Task]:
        """Every pair of summaries, systems in alphabetical order."""
        document = source.document.id
        for first, second in combinations(sorted(source.summaries, key=lambda one: one.system), 2):
            yield Task(
                key=key_of("pw", document, first.system, second.system), kind=self.name, document_id=document,
                system=first.system, rival=second.system, systems=(first.system, second.system),
                group=key_of(document), body=_body((first, second), campaign),
            )  # fmt: skip

    def check(self, source: Source, number: int, others: Others, campaign: Campaign) -> Task | None:
        """One side is a stranger's words in random order: it must lose on each aspect."""
        if len(source.summaries) < 2:
            return None
        pair = others.rng.sample(source.summaries, 2)
        odd = pair[0].system
        return Task(
            key=key_of("pw-check", number), kind=self.name, role="check", document_id=source.document.id,
            systems=tuple(one.system for one in pair), expected={"loser": odd},
            body=replaced(_body(pair, campaign), odd, others.jumble(source)),
            feedback="One of the texts is no summary, but words in random order.",
        )  # fmt: skip

    def unlettered(self, answer: Any, letters: Sequence[str]) -> Any:
        """Systems in place of letters."""
        if not isinstance(answer, dict) or not isinstance(answer.get("choices"), dict):
            return answer
        choices = {key: one if one == TIE else system_of(one, letters) for key, one in answer["choices"].items()}
        return {**answer, "choices": choices}

    def relettered(self, answer: dict[str, Any], letters: Sequence[str]) -> dict[str, Any]:
        """Letters in place of systems."""
        choices = {aspect: one if one == TIE else letter_of(one, letters) for aspect, one in answer["choices"].items()}
        return {**answer, "choices": choices}

    def read(self, answer: Any, task: Task) -> dict[str, Any]:
        """Checked: a choice for each aspect, a tie only where ties may be."""
        given = parsed(Choice, answer)
        aspects = [one["name"] for one in task.body["aspects"]]
        if set(given.choices) != set(aspects):
            raise Misfit("answer.choices", f"choose for each of: {', '.join(aspects)}")
        known = (*task.systems, *((TIE,) if task.body["ties"] else ()))
        for aspect, one in given.choices.items():
            if one not in known:
                raise Misfit(f"answer.choices.{aspect}", f"choose A or B{' or tie' if task.body['ties'] else ''}")
        return given.model_dump()

    def passed(self, task: Task, answer: dict[str, Any]) -> bool:
        """Whether the odd one lost on each aspect."""
        return task.expected is not None and not {task.expected["loser"], TIE} & set(answer["choices"].values())

    def judgments(self, task: Task, answer: Answer, source: Source) -> Iterator[Judgment]:
        """A preference an aspect: 1 for the first system, 0 for its rival, 0.5 for a tie."""
        del source
        for aspect, one in answer.answer["choices"].items():
            value = 0.5 if one == TIE else float(one == task.system)
            yield Judgment(
                target=Target(document_id=task.document_id, system=task.system or "", rival=task.rival, unit="pair"),
                aspect=aspect, judge=answer.annotator, signature=SIGNATURE, value=value, label=one,
                reason=answer.answer.get("reason") or None,
            )  # fmt: skip


def _body(pair: Sequence[Summary], campaign: Campaign) -> dict[str, Any]:
    aspects = listed(campaign.aspects, ASPECTS, "question")
    return {"summaries": summaries_of(pair), "aspects": aspects, "ties": campaign.ties}
