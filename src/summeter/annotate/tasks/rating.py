"""Rating: all summaries of a document on one page, on a scale by aspect, and the best one (SummQual)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from statistics import fmean
from typing import Any, ClassVar

import numpy as np

from summeter.annotate.campaign.config import Campaign, Scale
from summeter.annotate.campaign.language import Language
from summeter.annotate.campaign.state import Answer
from summeter.annotate.tasks.base import (
    LETTERS,
    AnswerModel,
    Disagreement,
    LetteredKind,
    letter_of,
    listed,
    parsed,
    summaries_body,
    system_of,
    with_jumble,
)
from summeter.annotate.tasks.simulation import Profile, Truth
from summeter.annotate.tasks.task import Json, Misfit, Others, Source, Task
from summeter.data.human_judgments import SIGNATURES
from summeter.records import Judgment, UsageError
from summeter.scoring.table import Categorical, JudgmentTable

ASPECTS = {name: f"rating.{name}" for name in ("coherence", "consistency", "coverage", "fluency", "overall")}
"""With the keys of our words for them."""
SCALE = Scale(labels=("bad", "fair", "relatively good", "good", "excellent"))
BEST = "best"
SHOWN = 4
"""So many disagreements are named."""

Cells = dict[str, dict[str, Any]]
"""System -> aspect -> rating."""


class Ratings(AnswerModel):
    """An answer."""

    ratings: Cells
    best: str | None = None


class Rating(LetteredKind):
    """One task a document."""

    name = "rating"
    each_summary = True
    shaped_by = frozenset({"aspects", "scale", "best"})
    code = "ra"
    needs = "documents with at least one summary"
    coefficients = ("alpha_interval", "alpha_ordinal", "alpha_nominal", "identical")
    side_aspects = frozenset({BEST})
    usual: ClassVar[Mapping[str, Mapping[str, str]]] = {"aspects": ASPECTS}

    def completed(self, campaign: Campaign, language: Language) -> Campaign:
        """With the usual scale, too, in the words of the pages."""
        usual = Scale(labels=tuple(language.text(f"rating.point_{point}") for point in SCALE.values))
        return super().completed(campaign, language).model_copy(update={"scale": campaign.scale or usual})

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

        With one summary there is nothing to compare: then it must be rated in the lowest quarter of the scale (1 or 2
        of 5) on average.
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

    def shown(self, body: Json, letters: Sequence[str]) -> Json:
        """The summaries under letters, each aspect's scale as a page draws it."""
        scales = _scales_of(body)
        aspects = [{**aspect, "scale": scales[aspect["name"]].to_page()} for aspect in body["aspects"]]
        return super().shown({**body, "aspects": aspects}, letters)

    def conditions(self, campaign: Campaign) -> dict[str, tuple[Any, ...]]:
        """Each aspect with its values."""
        body = _aspects(campaign)
        return {aspect["name"]: tuple(Scale.model_validate(aspect["scale"]).values) for aspect in body}

    def facts(self, answer: Json, system: str | None) -> Json:
        """A summary's ratings."""
        cells: Json = answer["ratings"].get(system, {})
        return cells

    def aspects(self, campaign: Campaign) -> frozenset[str]:
        return frozenset({BEST, *(aspect["name"] for aspect in _aspects(campaign))})

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
        aspects, scales = set(task.names("aspects")), _scales(task)
        if set(given.ratings) != set(task.systems):
            raise Misfit("answer.ratings", "rate every summary on the page, and no other")
        for system, cells in given.ratings.items():
            for aspect, rating in cells.items():
                if isinstance(rating, bool) or not isinstance(rating, int | float):
                    raise Misfit(("answer", "ratings", system, aspect), "a rating is a number")
            if set(cells) != aspects:
                raise Misfit("answer.ratings", f"rate each summary on: {', '.join(sorted(aspects))}")
            for aspect, rating in cells.items():
                if not scales[aspect].has(rating):
                    message = f"a rating is {scales[aspect].described}"
                    raise Misfit(("answer", "ratings", system, aspect), message)
        if task.body["choose_best"] and given.best not in task.systems:
            raise Misfit("answer.best", "choose the best summary")
        if not task.body["choose_best"] and given.best is not None:
            raise Misfit("answer.best", "is not asked here")
        return given.model_dump()

    def passed(self, task: Task, answer: Json) -> bool:
        """Whether the odd one is not the best and has the lowest mean (alone: one in the lowest quarter)."""
        odd = task.expects["worst"]
        scales = _scales(task)
        means = {
            system: fmean(scales[aspect].share(rating) for aspect, rating in cells.items())
            for system, cells in answer["ratings"].items()
        }
        if len(means) == 1:
            return means[odd] <= 0.25
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
                    target=target,
                    aspect=aspect,
                    judge=answer.annotator,
                    signature=SIGNATURES[block],
                    value=value,
                    reason=answer.answer.get("comment") or None,
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
            document=Categorical.of(documents).repeat(sizes),
            system=Categorical.of(systems).repeat(sizes),
            aspect=Categorical.of(aspects),
            judge=Categorical.of(judges).repeat(sizes),
            signature=Categorical(overall, (SIGNATURES["ratings"], SIGNATURES["overall"])),
            value=np.array(values, np.float64),
        )

    def disagreement(self, task: Task, answers: Sequence[Answer]) -> Disagreement | None:
        """Ratings far apart: they are averaged all the same unless somebody decides."""
        far, scales = [], _scales(task)
        for system, cells in answers[0].answer["ratings"].items():
            for aspect in cells:
                values = [answer.answer["ratings"][system][aspect] for answer in answers]
                if scales[aspect].is_far(max(values) - min(values)):
                    far.append(f"{system} {aspect} {min(values):g} to {max(values):g}")
        more = f" and {len(far) - SHOWN} more" if len(far) > SHOWN else ""
        return Disagreement(", ".join(far[:SHOWN]) + more, even=False) if far else None

    def describe(self, task: Task, answer: Json) -> str:
        cells = "; ".join(
            f"{system}: " + ", ".join(f"{aspect} {rating:g}" for aspect, rating in given.items())
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

        scales = _scales(task)

        def rating(system: str, aspect: str) -> float:
            gold = truth.gold(task, "summary", aspect, system)
            level = truth.quality(system) + 0.6 * (truth.chance(task, system, aspect) - 0.5)
            scale = scales[aspect]
            return scale.at(level) if gold is None or gold.value is None else scale.nearest(gold.value)

        aspects = task.names("aspects")
        return _answer(task, {system: {name: rating(system, name) for name in aspects} for system in task.systems})

    def expected_answer(self, task: Task) -> Json:
        odd, scales = task.expects["worst"], _scales(task)
        cells = {
            system: {aspect: scale.at(0 if system == odd else 0.75) for aspect, scale in scales.items()}
            for system in task.systems
        }
        return _answer(task, cells)

    def noisy_answer(self, task: Task, right: Json, profile: Profile, rng: Random) -> Json:
        """Each rating right or any other, moved by half the scale times the bias."""
        scales = _scales(task)
        cells = {
            system: {
                aspect: scales[aspect].noisy(value, profile.accuracy, profile.bias, rng)
                for aspect, value in given.items()
            }
            for system, given in right["ratings"].items()
        }
        return _answer(task, cells)

    def careless_answer(self, task: Task, letters: Sequence[str]) -> Json:
        middle = {aspect: scale.at(0.5) for aspect, scale in _scales(task).items()}
        cells = {system: dict(middle) for system in task.systems}
        return {"ratings": cells, "best": letters[0] if task.body["choose_best"] else None}


def _scales(task: Task) -> dict[str, Scale]:
    return _scales_of(task.body)


def _scales_of(body: Json) -> dict[str, Scale]:
    """The scale of each aspect."""
    return {aspect["name"]: Scale.model_validate(aspect["scale"]) for aspect in body["aspects"]}


def _answer(task: Task, cells: Cells) -> Json:
    """An answer; the best is the one with the highest sum, the first of equals."""
    if not task.body["choose_best"]:
        return {"ratings": cells, "best": None}
    scales = _scales(task)

    def total(system: str) -> float:
        return round(sum(scales[aspect].share(rating) for aspect, rating in cells[system].items()), 9)

    return {"ratings": cells, "best": max(task.systems, key=total)}


def _body(source: Source, campaign: Campaign) -> Json:
    return {
        "summaries": summaries_body(source.summaries),
        "aspects": _aspects(campaign),
        "choose_best": campaign.best and len(source.summaries) > 1,
    }


def _aspects(campaign: Campaign) -> list[Json]:
    scales = {aspect.name: aspect.scale for aspect in campaign.aspects}
    usual = campaign.scale or SCALE
    return [
        {**aspect, "scale": (scales.get(aspect["name"]) or usual).model_dump(mode="json")}
        for aspect in listed(campaign.aspects, "question")
    ]
