"""Fixture that runs a check with many seeds."""

from __future__ import annotations

import os
from collections.abc import Callable
from random import Random

import pytest

from fuzz import Check, seeds, total_seconds


@pytest.fixture
def fuzz(request: pytest.FixtureRequest) -> Callable[[Check], None]:
    """Run a check with every seed of this test; all tests together take FUZZ_SECONDS, if it is set."""
    total = total_seconds()
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    share = None if total is None else total * workers / len(request.session.items)

    def run(check: Check) -> None:
        for seed in seeds(request.node.name, share):
            try:
                check(Random(seed))
            except BaseException as error:
                error.add_note(f"seed {seed} of {request.node.name}")
                raise

    return run
