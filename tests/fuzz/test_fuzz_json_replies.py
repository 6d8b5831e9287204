"""Replies in JSON, cut, doubled and scrambled: a reader gives what its judge may say, or refuses; it never breaks."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from random import Random

import pytest
from evaluators.bad_replies import ITEM

from fuzz import Check, corpus
from summeter.evaluators.catalog import build

REPLIES = corpus("json_replies")
PIECES = (
    *"\"'{}[],:\\", "\\u0", "```", "null", "NaN", "1e999", "-1", "½", "\x00", "\ud800", "\u200b", "<think>", "</think>",
    '"score": 5', "true", "9" * 400, " or ", "not ",
)  # fmt: skip


def mutated(text: str, random: Random) -> str:
    """The text after one to six edits: a stretch cut, doubled, moved or replaced, or a piece put in."""
    for _ in range(random.randint(1, 6)):
        start, end = sorted(random.randrange(len(text) + 1) for _ in range(2))
        end = min(end, start + random.choice((1, 2, 8, 60)))
        stretch, piece = text[start:end], random.choice(PIECES)
        text = text[:start] + random.choice(("", stretch * 2, piece, stretch + piece, stretch[::-1])) + text[end:]
    return text


@pytest.mark.parametrize("row", REPLIES, ids=lambda row: row["judge"])
def test_json(row: dict[str, str], fuzz: Callable[[Check], None]) -> None:
    judge = build(row["judge"])

    def check(random: Random) -> None:
        text = mutated(row["reply"], random)
        start = time.process_time()
        judgments = judge.read(text, ITEM, "strict", "s")
        assert time.process_time() - start < 5, text
        assert judgments, text
        for judgment in judgments:
            assert (judgment.status == "ok") == (judgment.value is not None), text
            assert judgment.value is None or (math.isfinite(judgment.value) and 0 <= judgment.value <= 100), text

    fuzz(check)
