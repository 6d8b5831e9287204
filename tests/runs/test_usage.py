"""Usage: sums, and which parts of a sum are known."""

from __future__ import annotations

import pytest

from summeter.runs.usage import Usage


@pytest.mark.parametrize(
    ("first", "second", "total"),
    [
        (Usage(calls=1, cost=1.5, items=2), Usage(calls=2, cost=0.25), Usage(calls=3, cost=1.75, items=2)),
        (Usage(calls=1, cost=1.5), Usage(cost=None, reason="no price"), Usage(calls=1, cost=None, reason="no price")),
        (Usage(cost=None, reason="x"), Usage(cost=2, reason="y", priced="p"), Usage(cost=None, reason="x", priced="p")),
    ],
)
def test_a_cost_is_known_where_both_are(first: Usage, second: Usage, total: Usage) -> None:
    before = Usage(**vars(first))
    assert first + second == total
    assert first == before
    first += second
    assert first == total
