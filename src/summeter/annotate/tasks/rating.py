"""Rating: all summaries of a document on one page, 1 (bad) to 5 (excellent) by aspect, and the best one (SummQual)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

from summeter.annotate.tasks.base import (
    LETTERS,
    Given,
    Misfit,
    Others,
    Source,
    Task,
    key_of,
    listed,
    parsed,
)
from summeter.annotate.tasks.lettered import Lettered, letter_of, replaced, summaries_of, system_of
from summeter.data.human_judgments import SIGNATURES
from summeter.records import Judgment, Target, UsageError

if TYPE_CHECKING:
    from summeter.annotate.campaign import Campaign
    from summeter.annotate.state import Answer

ASPECTS = (
    ("coherence", "Do the sentences follow from one another and make one text?"),
    ("consistency", "Does it say only what the document says?"),
    ("coverage", "Does it hold what matters in the document?"),
    ("fluency", "Is it well written?"),
    ("overall", "How good is it as a summary of the document?"),
)
SCALE = ((1, "bad"), (2, "fair"), (3, "relatively good"), (4, "good"), (5, "excellent"))
BEST = "best"


class Ratings(Given):
    """An answer."""

    ratings: dict[str, dict[str, int]]
    best: str | None = None


class Rating(Lettered):
    """One task a document."""

    name = "rating"
    needs = "documents with at least one summary"

    def tasks(self, source: Source, campaign: Campaign) -> Iterator[Task]:
        """The document with all its summaries."""
        if len(source.summaries) > len(LETTERS):
            raise UsageError(
                f"document {source.document.id!r} has {len(source.summaries)} summaries, more than the {len(LETTERS)} "
                "that fit on a page; choose systems with `select`"
            )
        document = source.document.id
        yield Task(
            key=key_of("ra", document), kind=self.name, document_id=document, group=key_of(document),
            systems=tuple(one.system for one in source.summaries), body=_body(source, campaign),
        )  # fmt: skip

    def check(self, source: Source, number: int, others: Others, campaign: Campaign) -> Task | None:
        """One summary is a stranger's words in random order: not the best, and nothing is rated lower.

        With one summary there is nothing to compare: then it must be rated at most 2 (fair) on average.
        """
        systems = tuple(one.system for one in source.summaries)
        odd = others.rng.choice(systems)
        return Task(
            key=key_of("ra-check", number), kind=self.name, role="check", document_id=source.document.id,
            systems=systems, body=replaced(_body(source, campaign), odd, others.jumble(source)),
            expected={"worst": odd}, feedback="One of the texts is no summary, but words in random order.",
        )  # fmt: skip

    def unlettered(self, answer: Any, letters: Sequence[str]) -> Any:
        """Systems in place of letters."""
        if not isinstance(answer, dict) or not isinstance(answer.get("ratings"), dict):
            return answer
        ratings = {system_of(one, letters): cells for one, cells in answer["ratings"].items()}
        best = answer.get("best")
        return {**answer, "ratings": ratings, "best": None if best is None else system_of(best, letters)}

    def relettered(self, answer: dict[str, Any], letters: Sequence[str]) -> dict[str, Any]:
        """Letters in place of systems."""
        ratings = {letter_of(one, letters): cells for one, cells in answer["ratings"].items()}
        best = answer["best"]
        return {**answer, "ratings": ratings, "best": None if best is None else letter_of(best, letters)}

    def read(self, answer: Any, task: Task) -> dict[str, Any]:
        """Checked: every cell, on the scale; the best one where it is asked."""
        given = parsed(Ratings, answer)
        aspects = {one["name"] for one in task.body["aspects"]}
        if set(given.ratings) != set(task.systems):
            raise Misfit("answer.ratings", "rate every summary on the page, and no other")
        for cells in given.ratings.values():
            if set(cells) != aspects:
                raise Misfit("answer.ratings", f"rate each summary on: {', '.join(sorted(aspects))}")
            if any(not 1 <= one <= len(SCALE) for one in cells.values()):
                raise Misfit("answer.ratings", f"a rating is a whole number from 1 to {len(SCALE)}")
        if task.body["choose_best"] and given.best not in task.systems:
            raise Misfit("answer.best", "choose the best summary")
        if not task.body["choose_best"] and given.best is not None:
            raise Misfit("answer.best", "is not asked here")
        return given.model_dump()

    def passed(self, task: Task, answer: dict[str, Any]) -> bool:
        """Whether the odd one is not the best and has the lowest mean (alone: a mean of at most 2)."""
        if task.expected is None:
            return False
        odd = task.expected["worst"]
        means = {system: fmean(cells.values()) for system, cells in answer["ratings"].items()}
        if len(means) == 1:
            return means[odd] <= 2
        return answer["best"] != odd and means[odd] == min(means.values()) < max(means.values())

    def judgments(self, task: Task, answer: Answer, source: Source) -> Iterator[Judgment]:
        """A rating a summary and aspect; and whether it was the best."""
        del source
        for system, cells in answer.answer["ratings"].items():
            target = Target(document_id=task.document_id, system=system)
            for aspect, value in cells.items():
                yield Judgment(
                    target=target, aspect=aspect, judge=answer.annotator, signature=SIGNATURES["ratings"],
                    value=float(value),
                )  # fmt: skip
            if answer.answer["best"] is not None:
                yield Judgment(
                    target=target, aspect=BEST, judge=answer.annotator, signature=SIGNATURES["overall"],
                    value=float(system == answer.answer["best"]),
                )  # fmt: skip


def _body(source: Source, campaign: Campaign) -> dict[str, Any]:
    return {
        "summaries": summaries_of(source.summaries),
        "aspects": listed(campaign.aspects, ASPECTS, "question"),
        "scale": [{"value": value, "label": label} for value, label in SCALE],
        "choose_best": campaign.best and len(source.summaries) > 1,
    }
