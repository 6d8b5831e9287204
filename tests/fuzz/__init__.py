"""Fuzzing: run a check with many seeds, for a few seconds in the suite and for an hour in `make fuzz`.

A test passes a check of one random generator to the fixture `fuzz`. The generator determines everything that the check
does (its base text from `corpus/`, its edits). The note of a failure contains the seed: add it to `corpus/seeds.json`
under the name of the test, so that it is tried first from then on.
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
"""Limits of a test in the suite."""

Check = Callable[[Random], None]


def total_seconds() -> float | None:
    """Return the total time of `make fuzz` (FUZZ_SECONDS), or None in the suite."""
    text = os.environ.get("FUZZ_SECONDS")
    return float(text) if text else None


def seeds(name: str, seconds: float | None) -> Iterator[int]:
    """Yield the seeds of a test: those of earlier failures, then 0, 1, 2... (new ones if `seconds` is given)."""
    yield from json.loads((CORPUS / "seeds.json").read_text("utf-8")).get(name, [])
    first = 0 if seconds is None else time.time_ns()
    end = time.monotonic() + (SUITE_SECONDS if seconds is None else seconds)
    for round_ in count():
        if time.monotonic() > end or (seconds is None and round_ >= SUITE_ROUNDS):
            return
        yield first + round_


def corpus(name: str) -> list[Any]:
    """Return the rows of `corpus/NAME.jsonl`."""
    return [json.loads(line) for line in (CORPUS / f"{name}.jsonl").read_text("utf-8").splitlines()]
