"""Holm's correction and clusters of equals."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from summeter.stats import clusters_of_equals, holm


def test_holm_by_hand() -> None:
    # Sorted .01 .03 .04 times 3, 2, 1: .03, .06, .04 made monotone: .03, .06, .06.
    assert holm([0.01, 0.04, None, 0.03]) == [pytest.approx(0.03), pytest.approx(0.06), None, pytest.approx(0.06)]
    # Four equal p-values of .3 are limited to 1.
    assert holm([0.3] * 4) == [1.0] * 4
    assert holm([]) == []
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm([1.5])


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_follows_its_definition(p: list[float]) -> None:
    got = holm(p)
    for i, value in enumerate(p):
        # The step-down rule: the largest (m - rank + 1) p over all p-values up to this one, ties in any order.
        ranked = sorted(p)
        last = max(k for k, q in enumerate(ranked) if q == value)
        want = min(1.0, max((len(p) - k) * ranked[k] for k in range(last + 1)))
        assert got[i] == pytest.approx(want)
        assert got[i] >= value


def test_clusters_by_hand() -> None:
    # A > B > C > D by mean; only A-C, A-D and B-D are significant.
    p = [[None, 0.5, 0.01, 0.01], [0.5, None, 0.3, 0.01], [0.01, 0.3, None, 0.4], [0.01, 0.01, 0.4, None]]
    # C is worse than A and starts the second cluster, in which D is not worse than C.
    assert clusters_of_equals([4, 3, 2, 1], p) == [1, 1, 2, 2]
    # The order of the systems in the input does not matter.
    back = [[row[::-1] for row in p][i] for i in (3, 2, 1, 0)]
    assert clusters_of_equals([1, 2, 3, 4], back) == [2, 2, 1, 1]
