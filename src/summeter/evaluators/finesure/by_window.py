"""The fact check of a document that is longer than the judge reads: window by window, then one verdict a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from summeter.evaluators.finesure.verdicts import Verdict
from summeter.evaluators.windows import View, closest
from summeter.models.structured import Answer
from summeter.records import Status

ABSENT = frozenset({"out-of-context error", "out-of-article error"})
"""Categories that say only that a window does not speak of it."""

Answers = Sequence[Answer[tuple[Verdict, ...]]]


def settled(answers: Answers, count: int) -> bool:
    """Whether every one of `count` sentences is supported by some window: nothing more is to be asked."""
    return all(_supporting(answers, place) is not None for place in range(count))


def joined(answers: Answers, place: int, sentence: str, views: Sequence[View]) -> Verdict | tuple[Status, str]:
    """The verdict on the sentence number `place`, or status and reason where there is none.

    Supported by one window is supported. A window without a usable reply might have been that one: then there is no
    verdict. Else the error is told by the windows that contradict the sentence rather than not speaking of it (by all,
    where none does), and of these by the one that shares most words with it.
    """
    supporting = _supporting(answers, place)
    if supporting is not None:
        return supporting
    for at, one in enumerate(answers):
        if one.data is None:
            told = one.reason or "no usable reply"
            return one.status, told if len(views) == 1 else f"window {at + 1} of {len(views)}: {told}"
    found = [one.data[place] for one in answers if one.data is not None]
    speaking = [at for at, verdict in enumerate(found) if verdict.category not in ABSENT]
    return found[closest(sentence, views, speaking or None)]


def _supporting(answers: Answers, place: int) -> Verdict | None:
    return next((one.data[place] for one in answers if one.data is not None and one.data[place].supported), None)
