from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from summeter.evaluators.support.comparison import Comparison
from summeter.evaluators.support.words import Passage, analyse, index_text
from summeter.text.split import split


def compared(claim, text):
    return Comparison.of(Passage(claim, tuple(analyse(claim))), index_text(text, split(text)), "source")


SOURCE = "The mayor opened a bridge in Lima on Monday. It cost 14 million dollars. Critics did not like it."


def test_worked_example_of_shares():
    # Claim words: the mayor opened a school in lima (7); content: mayor, open, school, lima.
    found = compared("The mayor opened a school in Lima.", SOURCE).overlap
    assert found.words == pytest.approx(3 / 4)  # "school" is missing
    assert found.sentence == pytest.approx(3 / 4)
    assert found.density == pytest.approx((4**2 + 2**2) / 7**2)  # "the mayor opened a", "in Lima"


def test_sentence_share_is_the_largest_share_of_one_sentence():
    # mayor, cost and dollar occur in two sentences, and at most two of them in one.
    found = compared("The mayor cost dollars.", SOURCE).overlap
    assert found.words == pytest.approx(1)
    assert found.sentence == pytest.approx(2 / 3)


def test_number_found_only_as_another_quantity_is_missing():
    def missing_values(claim, text):
        return [number.value for number in compared(claim, text).numbers]

    assert missing_values("Prices rose 4 percent", "It cost $4.") == [4]
    assert missing_values("It cost $4", "It cost 4 or so.") == []
    assert missing_values("It cost €4", "It cost £4.") == [4]
    assert missing_values("It cost 4 pounds", "It cost £4.") == []
    assert missing_values("a thousand men", "1,000 men") == []


@settings(deadline=None)
@given(st.text(max_size=40), st.text(max_size=120))
def test_shares_stay_in_range(claim, text):
    if any(word.content for word in analyse(claim)) and analyse(text):
        assert all(0 <= share <= 1 for share in compared(claim, text).overlap)


@settings(deadline=None)
@given(st.text(min_size=1, max_size=200), st.data())
def test_every_word_is_in_a_sentence(text, data):
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=6)))
    spans = [(a, b) for a, b in pairwise(cuts) if data.draw(st.booleans())]
    evidence = index_text(text, spans)
    assert len(evidence.words) == len(analyse(text))
    assert evidence.bounds[-1] == len(evidence.words)
    assert sum(len(evidence.words_of(i, i + 1)) for i in range(len(evidence.sentences))) == len(evidence.words)


def test_overlapping_sentences_are_refused():
    with pytest.raises(ValueError, match="overlaps"):
        index_text("one two", [(0, 5), (4, 7)])
    with pytest.raises(ValueError, match="leaves the text"):
        index_text("one two", [(0, 9)])
