"""What rating and pairwise choice share: several summaries on one page, under letters instead of systems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from summeter.annotate.tasks.base import LETTERS, Kind
from summeter.records import Summary


class Lettered(Kind):
    """A kind whose body has `summaries` with a `system` each; a browser gets them under letters, shuffled."""

    lettered = True

    def shown(self, body: dict[str, Any], letters: Sequence[str]) -> dict[str, Any]:
        """The summaries in the person's order, without their systems."""
        by_system = {one["system"]: one for one in body["summaries"]}
        summaries = [
            {"id": letter, "text": by_system[system]["text"], "sentences": by_system[system]["sentences"]}
            for letter, system in zip(LETTERS, letters, strict=False)
        ]
        return {**body, "summaries": summaries}


def system_of(letter: Any, letters: Sequence[str]) -> Any:
    """The system under a letter; what is no letter stays as it is, marked as unknown."""
    place = LETTERS.find(letter) if isinstance(letter, str) and len(letter) == 1 else -1
    return letters[place] if 0 <= place < len(letters) else ("unknown", letter)


def letter_of(system: str, letters: Sequence[str]) -> str:
    """The letter of a system."""
    return LETTERS[list(letters).index(system)]


def summaries_of(summaries: Sequence[Summary]) -> list[dict[str, Any]]:
    """Summaries with their systems, as a body holds them."""
    return [
        {"system": one.system, "text": one.text, "sentences": [[span.start, span.end] for span in one.sentences]}
        for one in summaries
    ]


def replaced(body: dict[str, Any], system: str, text: str) -> dict[str, Any]:
    """The body with another text in place of a system's summary."""
    summaries = [
        {"system": system, "text": text, "sentences": [[0, len(text)]]} if one["system"] == system else one
        for one in body["summaries"]
    ]
    return {**body, "summaries": summaries}
