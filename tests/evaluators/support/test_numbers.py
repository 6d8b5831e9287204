from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from summeter.evaluators.support.numbers import numbers


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1,000 and 1000 and one thousand", [1000, 1000, 1000]),
        ("two hundred and five", [205]),
        ("twenty-five or twenty five", [25, 25]),
        ("nineteen eighty-four", [19, 80, 4]),  # no single number word reading: taken apart
        ("three, four", [3, 4]),
        ("three four", [3, 4]),
        ("£3.5m, 2 million, 1.5bn, 10k", [3.5e6, 2e6, 1.5e9, 1e4]),
        ("ran 100m in 9.58s", [100, 9.58]),  # metres: no sign of money
        ("the 9th of June, 1980s", [9, 1980]),
        ("the G20, covid19 and F-35", [35]),  # digits inside a name are no number
        ("won 6-1 at 12:30", [6, 1, 12, 30]),
        ("one of them", []),
        ("a 10,000-seater", [10_000]),
        ("1,2,3", [1, 2, 3]),
        ("a dozen, 2 dozen", [24]),
        ("٣ و ٢٥", [3, 25]),  # Arabic-Indic digits
        ("京２５人", [25]),  # full-width digits
        ("", []),
    ],
)
def test_values(text, values):
    assert [number.value for number in numbers(text)] == values


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("up 24 per cent", "percent"),
        ("up 24%", "percent"),
        ("cost £24", "currency"),
        ("cost 24 dollars", "currency"),
        ("cost $ 24", "currency"),
        ("24 poundsigns", "plain"),
        ("24 men", "plain"),
    ],
)
def test_kinds(text, kind):
    assert [number.kind for number in numbers(text)] == [kind]


@given(st.integers(0, 10**9))
def test_a_number_with_and_without_separators_is_the_same(value):
    assert [n.value for n in numbers(f"about {value:,} men")] == [value]
    assert [n.value for n in numbers(f"about {value} men")] == [value]


@given(st.text())
def test_offsets_lie_in_the_text_and_in_order(text):
    found = numbers(text)
    assert all(0 <= n.start < n.end <= len(text) for n in found)
    assert all(a.end <= b.start for a, b in pairwise(found))
