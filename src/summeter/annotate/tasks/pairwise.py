"""Pairwise choice: which of two summaries of a document is better?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from random import Random
from typing import Any, ClassVar

from pydantic import Field

from summeter.annotate.campaign.config import Campaign
from summeter.annotate.campaign.state import Answer
from summeter.annotate.tasks.base import (
    LONGEST,
    AnswerModel,
    Disagreement,
    LetteredKind,
    letter_of,
    listed,
    parsed,
    split_of,
    summaries_body,
    system_of,
    with_jumble,
)
from summeter.annotate.tasks.simulation import Profile, Truth
from summeter.annotate.tasks.task import Json, Misfit, Others, Source, Task
from summeter.records import Judgment, Summary

ASPECTS = {"overall": "pairwise.overall"}
"""With the keys of our words for it."""
TIE = "tie"
SIGNATURE = "human.pairs|v:1"


class Choice(AnswerModel):
    """An answer."""

    choices: dict[str, Any]
    reason: str | None = Field(default=None, max_length=LONGEST)


class Pairwise(LetteredKind):
    """One task a document and pair of systems."""

    name = "pairwise"
    shaped_by = frozenset({"aspects", "ties"})
    code = "pw"
    needs = "documents with at least two summaries"
    unit = "pair"
    usual: ClassVar[Mapping[str, Mapping[str, str]]] = {"aspects": ASPECTS}
    coefficients = ("alpha_nominal", "alpha_ordinal", "identical")

    def tasks(self, source: Source, campaign: Campaign) -> Iterator[Task]:
        """Every pair of summaries, systems in alphabetical order."""
        for pair in combinations(sorted(source.summaries, key=lambda summary: summary.system), 2):
            first, second = systems = tuple(summary.system for summary in pair)
            body = _body(pair, campaign)
            yield self.work_task(source, *systems, system=first, rival=second, systems=systems, body=body)

    def check(self, source: Source, number: int, others: Others, campaign: Campaign) -> Task | None:
        """One side is a stranger's words in random order: it must lose on each aspect."""
        if len(source.summaries) < 2:
            return None
        pair = others.rng.sample(source.summaries, 2)
        odd = pair[0].system
        return self.check_task(
            source,
            number,
            systems=tuple(summary.system for summary in pair),
            expected={"loser": odd},
            body=with_jumble(_body(pair, campaign), odd, others.jumble(source)),
            feedback=others.language.text("work.jumble"),
        )

    def unlettered(self, answer: Any, letters: Sequence[str]) -> Any:
        if not isinstance(answer, dict) or not isinstance(answer.get("choices"), dict):
            return answer
        choices = {
            aspect: choice if choice == TIE else system_of(choice, letters, f"answer.choices.{aspect}")
            for aspect, choice in answer["choices"].items()
        }
        return {**answer, "choices": choices}

    def relettered(self, answer: Json, letters: Sequence[str]) -> Json:
        choices = {
            aspect: choice if choice == TIE else letter_of(choice, letters)
            for aspect, choice in answer["choices"].items()
        }
        return {**answer, "choices": choices}

    def read(self, answer: Any, task: Task) -> Json:
        """Checked: a choice for each aspect, a tie only where ties may be."""
        given = parsed(Choice, answer)
        aspects = task.names("aspects")
        if set(given.choices) != set(aspects):
            raise Misfit("answer.choices", f"choose for each of: {', '.join(aspects)}")
        for aspect, choice in given.choices.items():
            if choice not in _options(task):
                raise Misfit(f"answer.choices.{aspect}", f"choose A or B{' or tie' if task.body['ties'] else ''}")
        return given.model_dump()

    def passed(self, task: Task, answer: Json) -> bool:
        """Whether the odd one lost on each aspect."""
        return not {task.expects["loser"], TIE} & set(answer["choices"].values())

    def judgments(self, task: Task, answer: Answer, source: Source) -> Iterator[Judgment]:
        """A preference an aspect, as head-to-head judges give it.

        The value is 1 where the system is preferred, 0 where its rival is, 0.5 for a tie.
        """
        for aspect, choice in answer.answer["choices"].items():
            yield Judgment(
                target=task.target("pair"),
                aspect=aspect,
                judge=answer.annotator,
                signature=SIGNATURE,
                value=0.5 if choice == TIE else float(choice == task.system),
                reason=answer.answer.get("reason") or answer.answer.get("comment") or None,
            )

    def disagreement(self, task: Task, answers: Sequence[Answer]) -> Disagreement | None:
        """Other choices on some aspect; even where any aspect has no majority."""
        splits = {
            aspect: split_of([answer.answer["choices"][aspect] for answer in answers])
            for aspect in answers[0].answer["choices"]
        }
        differing = {aspect: split for aspect, split in splits.items() if split is not None}
        if not differing:
            return None
        text = "; ".join(f"{aspect}: {split.text}" for aspect, split in differing.items())
        return Disagreement(text, any(split.even for split in differing.values()))

    def describe(self, task: Task, answer: Json) -> str:
        choices = answer["choices"].items()
        return "; ".join(f"{aspect}: {'a tie' if choice == TIE else choice}" for aspect, choice in choices)

    def parts(self, task: Task, answer: Json) -> list[tuple[str, str]]:
        choices = [(aspect, "a tie" if choice == TIE else choice) for aspect, choice in answer["choices"].items()]
        return [*choices, *([("why", answer["reason"])] if answer.get("reason") else [])]

    def true_answer(self, task: Task, truth: Truth) -> Json:
        """Gold's choice, else the better system with some noise."""
        choices: dict[str, str] = {}
        for aspect in task.names("aspects"):
            gold = truth.gold(task, "pair", aspect)
            if gold is not None and gold.value is not None:
                gap = gold.value - 0.5
            else:
                gap = truth.quality(task.system) - truth.quality(task.rival) + 0.4 * (truth.chance(task, aspect) - 0.5)
            tie = TIE if task.body["ties"] else task.systems[0]
            choices[aspect] = tie if gap == 0 else str(task.system if gap > 0 else task.rival)
        return {"choices": choices, "reason": None}

    def expected_answer(self, task: Task) -> Json:
        odd = task.expects["loser"]
        winner = next(system for system in task.systems if system != odd)
        return _answer(task, winner)

    def noisy_answer(self, task: Task, right: Json, profile: Profile, rng: Random) -> Json:
        """Each choice right, or any other."""
        choices = {
            aspect: choice
            if rng.random() < profile.accuracy
            else rng.choice([other for other in _options(task) if other != choice])
            for aspect, choice in right["choices"].items()
        }
        return {"choices": choices, "reason": None}

    def careless_answer(self, task: Task, letters: Sequence[str]) -> Json:
        return _answer(task, letters[0])


def _options(task: Task) -> list[str]:
    return [*task.systems, *([TIE] if task.body["ties"] else [])]


def _answer(task: Task, system: str) -> Json:
    return {"choices": dict.fromkeys(task.names("aspects"), system), "reason": None}


def _body(pair: Sequence[Summary], campaign: Campaign) -> Json:
    aspects = listed(campaign.aspects, "question")
    return {"summaries": summaries_body(pair), "aspects": aspects, "ties": campaign.ties}
