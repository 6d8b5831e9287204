from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from summeter.evaluators.support.features import measure
from summeter.evaluators.support.words import analyse, prepare
from summeter.text.split import split


def measured(claim, text):
    return measure(claim, analyse(claim), prepare(text, split(text)))


SOURCE = "The mayor opened a bridge in Lima on Monday. It cost 14 million dollars. Critics did not like it."


def test_shares_by_hand():
    # Claim words: the mayor opened a school in lima (7); content: mayor, open, school, lima.
    found = measured("The mayor opened a school in Lima.", SOURCE).overlap
    assert found.words == pytest.approx(3 / 4)  # school is missing
    assert found.sentence == pytest.approx(3 / 4)
    assert found.density == pytest.approx((4**2 + 2**2) / 7**2)  # "the mayor opened a", "in Lima"


def test_the_best_sentence_is_one_sentence():
    # mayor, cost and dollar stand in two sentences, at most two of them in one.
    found = measured("The mayor cost dollars.", SOURCE).overlap
    assert found.words == pytest.approx(1)
    assert found.sentence == pytest.approx(2 / 3)


def test_number_found_only_as_another_quantity_is_missing():
    def gone(claim, text):
        return [number.value for number in measured(claim, text).numbers]

    assert gone("Prices rose 4 percent", "It cost $4.") == [4]
    assert gone("It cost $4", "It cost 4 or so.") == []
    assert gone("It cost €4", "It cost £4.") == [4]
    assert gone("It cost 4 pounds", "It cost £4.") == []
    assert gone("a thousand men", "1,000 men") == []


@settings(deadline=None)
@given(st.text(max_size=40), st.text(max_size=120))
def test_shares_stay_in_range(claim, text):
    words = analyse(claim)
    evidence = prepare(text, split(text))
    if any(word.content for word in words) and evidence.words:
        assert all(0 <= share <= 1 for share in measure(claim, words, evidence).overlap)


@settings(deadline=None)
@given(st.text(min_size=1, max_size=200), st.data())
def test_no_word_is_outside_every_sentence(text, data):
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=6)))
    spans = [(a, b) for a, b in pairwise(cuts) if data.draw(st.booleans())]
    evidence = prepare(text, spans)
    assert len(evidence.words) == len(analyse(text))
    assert evidence.bounds[-1] == len(evidence.words)
    assert sum(len(evidence.words_of(i, i + 1)) for i in range(len(evidence.sentences))) == len(evidence.words)


def test_overlapping_sentences_are_refused():
    with pytest.raises(ValueError, match="overlaps"):
        prepare("one two", [(0, 5), (4, 7)])
    with pytest.raises(ValueError, match="leaves the text"):
        prepare("one two", [(0, 9)])
