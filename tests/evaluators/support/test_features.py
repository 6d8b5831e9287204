import math
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from summeter.evaluators.support.analysis import analyse
from summeter.evaluators.support.evidence import prepare
from summeter.evaluators.support.features import FEATURES, PENALTIES, SHARES, measure
from summeter.text.split import split


def measured(claim, text, common=None):
    return measure(analyse(claim), prepare(text, split(text)), common or {})


SOURCE = "The mayor opened a bridge in Lima on Monday. It cost 14 million dollars. Critics did not like it."


def test_shares_by_hand():
    # Claim words: the mayor opened a school in lima (7); content: mayor, open, school, lima.
    found = measured("The mayor opened a school in Lima.", SOURCE).features
    assert found["words"] == pytest.approx(3 / 4)  # school is missing
    assert found["sentence"] == pytest.approx(3 / 4)
    assert found["unigrams"] == pytest.approx(6 / 7)
    assert found["near"] == pytest.approx(1 / 3)  # mayor open; not open school, school lima
    assert found["density"] == pytest.approx((4**2 + 2**2) / 7**2)  # "the mayor opened a", "in Lima"
    assert found["missing"] == pytest.approx(math.log(2))
    assert found["apart"] == 0


def test_everyday_words_count_less():
    # school at weight .5: found weight 3 of 3.5; missing ln(1 + .5)
    found = measured("The mayor opened a school in Lima.", SOURCE, {"school": 0.5}).features
    assert found["words"] == pytest.approx(3 / 3.5)
    assert found["missing"] == pytest.approx(math.log(1.5))


def test_a_relative_counts_half():
    # "mayoral" shares "mayor" with mayor: .5 of 1
    assert measured("mayoral", SOURCE).features["words"] == pytest.approx(0.5)


def test_a_copy_is_perfect():
    found = measured("It cost 14 million dollars.", SOURCE).features
    assert all(found[name] == pytest.approx(1) for name in SHARES)
    assert all(found[name] == 0 for name in PENALTIES)


def test_number_found_only_as_another_quantity_is_missing():
    def gone(claim, text):
        return [number.value for number in measured(claim, text).numbers]

    assert gone("Prices rose 4 percent", "It cost $4.") == [4]
    assert gone("It cost $4", "It cost 4 or so.") == []
    assert gone("a thousand men", "1,000 men") == []


def test_splices():
    apart = measured("The mayor baked bread", "The mayor spoke. Nobody baked. A baker sold bread.")
    # mayor and bake share no sentence; neither do bake and bread.
    assert apart.features["apart"] == pytest.approx(math.log(3))


@settings(deadline=None)
@given(st.text(max_size=40), st.text(max_size=120))
def test_features_stay_in_range(claim, text):
    words = analyse(claim)
    evidence = prepare(text, split(text))
    if any(word.content for word in words) and evidence.words:
        found = measure(words, evidence, {}).features
        assert set(found) == set(FEATURES)
        assert all(0 <= found[name] <= 1 for name in SHARES)
        assert all(found[name] >= 0 for name in PENALTIES)


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
