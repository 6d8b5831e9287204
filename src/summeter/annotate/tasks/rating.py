"""Rating: all summaries of a document on one page, 1 (bad) to 5 (excellent) by aspect, and the best one (SummQual)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from statistics import fmean
from typing import Any, ClassVar

import numpy as np

from summeter.annotate.campaign.config import Campaign
from summeter.annotate.campaign.state import Answer
from summeter.annotate.tasks.base import (
    LETTERS,
    AnswerModel,
    Disagreement,
    LetteredKind,
    Misfit,
    letter_of,
    listed,
    parsed,
    summaries_body,
    system_of,
    with_jumble,
)
from summeter.annotate.tasks.simulation import Profile, Truth
from summeter.annotate.tasks.task import Json, Others, Source, Task
from summeter.data.human_judgments import SIGNATURES
from summeter.records import Judgment, UsageError
from summeter.scoring.table import JudgmentTable, Names

ASPECTS = {name: f"rating.{name}" for name in ("coherence", "consistency", "coverage", "fluency", "overall")}
"""With the keys of our words for them."""
SCALE = ((1, "bad"), (2, "fair"), (3, "relatively good"), (4, "good"), (5, "excellent"))
MIDDLE = 3
BEST = "best"
GAP = 2
"""Ratings of one summary that differ by so many points or more are a disagreement."""
SHOWN = 4
"""So many of them are named."""

Cells = dict[str, dict[str, int]]
"""System -> aspect -> rating."""


class Ratings(AnswerModel):
    """An answer."""

    ratings: Cells
    best: str | None = None


class Rating(LetteredKind):
    """One task a document."""

    name = "rating"
    code = "ra"
    needs = "documents with at least one summary"
    coefficients = ("alpha_interval", "alpha_ordinal", "alpha_nominal", "identical")
    side_aspects = frozenset({BEST})
    usual: ClassVar[Mapping[str, Mapping[str, str]]] = {"aspects": ASPECTS}
    mean_signatures = frozenset({SIGNATURES["ratings"], SIGNATURES["overall"], SIGNATURES["crowd_ratings"]})

    def tasks(self, source: Source, campaign: Campaign) -> Iterator[Task]:
        """The document with all its summaries."""
        if len(source.summaries) > len(LETTERS):
            raise UsageError(
                f"document {source.document.id!r} has {len(source.summaries)} summaries, more than the {len(LETTERS)} "
                "that fit on a page; choose systems with `select`"
            )
        systems = tuple(summary.system for summary in source.summaries)
        yield self.work_task(source, systems=systems, body=_body(source, campaign))

    def check(self, source: Source, number: int, others: Others, campaign: Campaign) -> Task | None:
        """One summary is a stranger's words in random order: not the best, and nothing is rated lower.

        With one summary there is nothing to compare: then it must be rated at most 2 (fair) on average.
        """
        systems = tuple(summary.system for summary in source.summaries)
        odd = others.rng.choice(systems)
        return self.check_task(
            source,
            number,
            systems=systems,
            body=with_jumble(_body(source, campaign), odd, others.jumble(source)),
            expected={"worst": odd},
            feedback=others.language.text("work.jumble"),
        )

    def unlettered(self, answer: Any, letters: Sequence[str]) -> Any:
        if not isinstance(answer, dict) or not isinstance(answer.get("ratings"), dict):
            return answer
        ratings = {system_of(letter, letters, "answer.ratings"): cells for letter, cells in answer["ratings"].items()}
        best = answer.get("best")
        return {**answer, "ratings": ratings, "best": None if best is None else system_of(best, letters, "answer.best")}

    def relettered(self, answer: Json, letters: Sequence[str]) -> Json:
        # In the order of the letters: that of the names would tell which letter is whose.
        ratings = {letter_of(system, letters): answer["ratings"][system] for system in letters}
        best = answer["best"]
        return {**answer, "ratings": ratings, "best": None if best is None else letter_of(best, letters)}

    def read(self, answer: Any, task: Task) -> Json:
        """Checked: every cell, on the scale; the best one where it is asked."""
        given = parsed(Ratings, answer)
        aspects = set(task.names("aspects"))
        if set(given.ratings) != set(task.systems):
            raise Misfit("answer.ratings", "rate every summary on the page, and no other")
        for cells in given.ratings.values():
            if set(cells) != aspects:
                raise Misfit("answer.ratings", f"rate each summary on: {', '.join(sorted(aspects))}")
            if any(not 1 <= rating <= len(SCALE) for rating in cells.values()):
                raise Misfit("answer.ratings", f"a rating is a whole number from 1 to {len(SCALE)}")
        if task.body["choose_best"] and given.best not in task.systems:
            raise Misfit("answer.best", "choose the best summary")
        if not task.body["choose_best"] and given.best is not None:
            raise Misfit("answer.best", "is not asked here")
        return given.model_dump()

    def passed(self, task: Task, answer: Json) -> bool:
        """Whether the odd one is not the best and has the lowest mean (alone: a mean of at most 2)."""
        odd = task.expects["worst"]
        means = {system: fmean(cells.values()) for system, cells in answer["ratings"].items()}
        if len(means) == 1:
            return means[odd] <= 2
        return answer["best"] != odd and means[odd] == min(means.values()) < max(means.values())

    def judgments(self, task: Task, answer: Answer, source: Source) -> Iterator[Judgment]:
        """A rating a summary and aspect; and whether it was the best."""
        best = answer.answer["best"]
        for system, cells in answer.answer["ratings"].items():
            target = task.target(system=system)
            ratings = [(aspect, float(rating), "ratings") for aspect, rating in cells.items()]
            if best is not None:
                ratings.append((BEST, float(system == best), "overall"))
            for aspect, value, block in ratings:
                yield Judgment(
                    target=target, aspect=aspect, judge=answer.annotator, signature=SIGNATURES[block], value=value
                )

    def columns(self, answered: Iterable[tuple[Task, Sequence[Answer]]]) -> JudgmentTable:
        """The same as a table: a page holds dozens of ratings, and a campaign thousands of pages."""
        documents, systems, judges, sizes, chosen = [], [], [], [], []
        aspects: list[str] = []
        values: list[float] = []
        for task, answers in answered:
            for answer in answers:
                best = answer.answer["best"]
                for system, cells in answer.answer["ratings"].items():
                    aspects += cells
                    values += cells.values()
                    if best is not None:
                        aspects.append(BEST)
                        values.append(system == best)
                    documents.append(task.document_id)
                    systems.append(system)
                    judges.append(answer.annotator)
                    sizes.append(len(cells) + (best is not None))
                    chosen.append(best is not None)
        overall = np.zeros(len(values), np.int64)
        overall[np.cumsum(sizes, dtype=np.int64)[np.array(chosen, np.bool_)] - 1] = 1
        return JudgmentTable.of_values(
            document=Names.of(documents).repeat(sizes),
            system=Names.of(systems).repeat(sizes),
            aspect=Names.of(aspects),
            judge=Names.of(judges).repeat(sizes),
            signature=Names(overall, (SIGNATURES["ratings"], SIGNATURES["overall"])),
            value=np.array(values, np.float64),
        )

    def disagreement(self, task: Task, answers: Sequence[Answer]) -> Disagreement | None:
        """Ratings far apart: they are averaged all the same unless somebody decides."""
        far = []
        for system, cells in answers[0].answer["ratings"].items():
            for aspect in cells:
                values = [answer.answer["ratings"][system][aspect] for answer in answers]
                if max(values) - min(values) >= GAP:
                    far.append(f"{system} {aspect} {min(values)} to {max(values)}")
        more = f" and {len(far) - SHOWN} more" if len(far) > SHOWN else ""
        return Disagreement(", ".join(far[:SHOWN]) + more, even=False) if far else None

    def describe(self, task: Task, answer: Json) -> str:
        cells = "; ".join(
            f"{system}: " + ", ".join(f"{aspect} {rating}" for aspect, rating in given.items())
            for system, given in answer["ratings"].items()
        )
        return cells + (f"; best {answer['best']}" if answer["best"] else "")

    def parts(self, task: Task, answer: Json) -> list[tuple[str, str]]:
        cells = [
            (f"{system} {aspect}", str(rating))
            for system, given in answer["ratings"].items()
            for aspect, rating in given.items()
        ]
        return [*cells, *([("best", answer["best"])] if answer["best"] else [])]

    def true_answer(self, task: Task, truth: Truth) -> Json:
        """Gold's ratings, else drawn ones that go with how good a system is."""

        def rating(system: str, aspect: str) -> int:
            gold = truth.gold(task, "summary", aspect, system)
            level = truth.quality(system) + 0.6 * (truth.chance(task, system, aspect) - 0.5)
            return _on_scale(1 + 4 * level if gold is None or gold.value is None else gold.value)

        aspects = task.names("aspects")
        return _answer(task, {system: {name: rating(system, name) for name in aspects} for system in task.systems})

    def expected_answer(self, task: Task) -> Json:
        odd, aspects = task.expects["worst"], task.names("aspects")
        return _answer(task, {system: dict.fromkeys(aspects, 1 if system == odd else 4) for system in task.systems})

    def noisy_answer(self, task: Task, right: Json, profile: Profile, rng: Random) -> Json:
        """Each rating right or any other, moved by twice the bias."""

        def rating(value: int) -> int:
            others = [other for other, _ in SCALE if other != value]
            given = value if rng.random() < profile.accuracy else rng.choice(others)
            return _on_scale(given + 2 * profile.bias)

        cells = {
            system: {aspect: rating(value) for aspect, value in given.items()}
            for system, given in right["ratings"].items()
        }
        return _answer(task, cells)

    def careless_answer(self, task: Task, letters: Sequence[str]) -> Json:
        cells = {system: dict.fromkeys(task.names("aspects"), MIDDLE) for system in task.systems}
        return {"ratings": cells, "best": letters[0] if task.body["choose_best"] else None}


def _on_scale(value: float) -> int:
    return min(SCALE[-1][0], max(SCALE[0][0], round(value)))


def _answer(task: Task, cells: Cells) -> Json:
    """An answer; the best is the one with the highest sum, the first of equals."""
    best = max(task.systems, key=lambda system: sum(cells[system].values())) if task.body["choose_best"] else None
    return {"ratings": cells, "best": best}


def _body(source: Source, campaign: Campaign) -> Json:
    return {
        "summaries": summaries_body(source.summaries),
        "aspects": listed(campaign.aspects, "question"),
        "scale": [{"value": value, "label": label} for value, label in SCALE],
        "choose_best": campaign.best and len(source.summaries) > 1,
    }
