"""Rated summaries for tests of training: documents of random words, and summaries of different lengths."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

Row = dict[str, Any]
WORDS = [first + second for first in "bcdfghklmnprst" for second in ("alo", "eni", "ira", "ozu", "umi", "ani", "ero")]


def rows(
    rating: Callable[[Row, random.Random], dict[str, float]], *, documents: int = 40, systems: int = 4, seed: int = 0
) -> list[Row]:
    """Return flat rows; `rating` returns the ratings of a row by aspect, on which two annotators nearly agree."""
    rng = random.Random(seed)
    made = []
    for number in range(documents):
        sentences = [" ".join(rng.choices(WORDS, k=12)).capitalize() + "." for _ in range(8)]
        for system in range(systems):
            copied = sentences[: rng.randint(1, 4)]
            own = [
                " ".join(rng.choices(WORDS, k=rng.randint(3, 20))).capitalize() + "." for _ in range(rng.randint(0, 3))
            ]
            row: Row = {"doc_id": f"d{number}", "system": f"s{system}", "document": " ".join(sentences)}
            row |= {"summary": " ".join([*copied, *own]), "copied": len(copied), "own": len(own)}
            votes = {
                aspect: {"a": value, "b": value + rng.choice([-0.25, 0.25])}
                for aspect, value in rating(row, rng).items()
            }
            made.append({**row, "human": {"ratings": votes}})
    return made
