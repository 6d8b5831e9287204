"""Fuzzing: a check is run on one seed after the other, for a few seconds in the suite and for an hour by `make fuzz`.

A test takes the fixture `fuzz` and hands it a check of one random generator; what the check draws from it (a base text
from `corpus/`, an edit, a cut) is all that decides. A seed that failed is named in the failure's note: add it to
`corpus/seeds.json` under the test's name, and it is tried first from then on.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

CORPUS = Path(__file__).parent / "corpus"
SUITE_SECONDS, SUITE_ROUNDS = 3.0, 400
"""The bounds of a test in the suite."""

Check = Callable[[Random], None]


def total_seconds() -> float | None:
    """How long `make fuzz` goes on in all (FUZZ_SECONDS); None in the suite."""
    text = os.environ.get("FUZZ_SECONDS")
    return float(text) if text else None


def seeds(name: str, seconds: float | None) -> Iterator[int]:
    """The seeds of a test: those that failed once, then 0, 1, 2... (fresh ones where `seconds` are given)."""
    yield from json.loads((CORPUS / "seeds.json").read_text("utf-8")).get(name, [])
    first = 0 if seconds is None else time.time_ns()
    end = time.monotonic() + (SUITE_SECONDS if seconds is None else seconds)
    for round_ in count():
        if time.monotonic() > end or (seconds is None and round_ >= SUITE_ROUNDS):
            return
        yield first + round_


def corpus(name: str) -> list[Any]:
    """The rows of `corpus/NAME.jsonl`."""
    return [json.loads(line) for line in (CORPUS / f"{name}.jsonl").read_text("utf-8").splitlines()]
