"""The estimate of tokens: rather too many than too few."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from summeter.text.tokens import DEAREST, estimated_tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        # 8 letters: 2. 4 digits: 4. Two characters beyond ASCII: 2. An emoji: 3. (14 letters and 3 marks) 4 + 3.
        ("abcd efg", 2),
        ("1998", 4),
        ("桥长", 2),
        ("🎻", 3),
        ("Don't, please, go", 7),
    ],
)
def test_by_hand(text: str, tokens: int) -> None:
    assert estimated_tokens(text) == tokens


def test_english_prose_is_above_what_tokenizers_need() -> None:
    # 33 words and 4 marks: 37 to 40 tokens with the common vocabularies (every one of these words is in them).
    text = (
        "The committee will meet again next week to decide whether the school should be closed, and if so, when. "
        "Parents have said that they were not asked, which the council does not deny."
    )
    assert 37 <= estimated_tokens(text) <= 60


@given(st.text(), st.text())
def test_it_grows_with_the_text_and_has_a_bound(one: str, two: str) -> None:
    both = estimated_tokens(one + two)
    assert max(estimated_tokens(one), estimated_tokens(two)) <= both <= estimated_tokens(one) + estimated_tokens(two)
    assert both <= DEAREST * len(one + two)
