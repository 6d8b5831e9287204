"""Near-duplicates: a hand-worked pair, agreement with exhaustive comparison, and running time."""

from __future__ import annotations

import random
from itertools import combinations

import pytest
from growth import assert_proportional
from hypothesis import given
from hypothesis import strategies as st

from summeter.data.duplicates import DuplicateGroup, near_duplicates
from summeter.records import UsageError
from summeter.text.ngrams import words


def shingles(text: str, length: int = 5) -> set[tuple[str, ...]]:
    tokens = [token.text for token in words(text)]
    length = min(length, len(tokens))
    return {tuple(tokens[at : at + length]) for at in range(len(tokens) - length + 1)} if tokens else set()


def by_comparing_all(texts: dict[str, str], threshold: float = 0.7) -> set[frozenset[str]]:
    """Return the groups found by comparing all pairs."""
    sets = {name: shingles(text) for name, text in texts.items()}
    groups = [{name} for name in texts]
    for one, other in combinations(texts, 2):
        union = sets[one] | sets[other]
        if sets[one] and sets[other] and len(sets[one] & sets[other]) / len(union) >= threshold:
            joined = [group for group in groups if one in group or other in group]
            groups = [group for group in groups if group not in joined] + [set().union(*joined)]
    return {frozenset(group) for group in groups if len(group) > 1}


def variants(count: int, seed: int, size: int = 60) -> dict[str, str]:
    """Return texts of random words, each with a copy in which up to a quarter of the words are replaced."""
    draw = random.Random(seed)
    texts = {}
    for place in range(count):
        tokens = [f"w{draw.randrange(5000)}" for _ in range(size)]
        copy = list(tokens)
        for at in draw.sample(range(size), draw.randrange(size // 4)):
            copy[at] = f"x{draw.randrange(5000)}"
        texts |= {f"a{place}": " ".join(tokens), f"b{place}": " ".join(copy)}
    return texts


def test_a_planted_pair() -> None:
    # 26 and 28 words: 22 and 24 shingles, of which the second has all 22 of the first; 22 / 24.
    story = (
        "Ana walked to the old mill by the river on a cold Monday. It was closed. "
        "She went home and made tea for her two brothers."
    )
    texts = {"a": story, "c": "Something else altogether stands here, of course.", "b": f"{story.upper()} THE END!"}
    assert near_duplicates(texts) == [DuplicateGroup(("a", "b"), 22 / 24)]
    assert near_duplicates(texts, threshold=0.92) == []


def test_threshold_is_inclusive() -> None:
    # Sets of 7 and 10 shingles, 7 of them shared: exactly 0.7.
    tokens = [f"w{number}" for number in range(14)]
    texts = {"short": " ".join(tokens[:11]), "long": " ".join(tokens)}
    assert near_duplicates(texts) == [DuplicateGroup(("short", "long"), 0.7)]
    assert near_duplicates(texts, threshold=0.700001) == []


def test_short_and_empty_texts() -> None:
    texts = {"e1": "", "e2": "!?", "s1": "Tea time.", "s2": "tea TIME", "s3": "Tea"}
    assert near_duplicates(texts) == [DuplicateGroup(("s1", "s2"), 1.0)]
    assert near_duplicates({}) == []


def test_chain_is_one_group_with_the_lowest_similarity() -> None:
    tokens = [f"w{number}" for number in range(30)]
    texts = {"one": " ".join(tokens[:20]), "two": " ".join(tokens[2:23]), "three": " ".join(tokens[5:26])}
    # 16, 17 and 17 shingles; one and two share 14 of 19, two and three 14 of 20, one and three 11 of 22.
    assert near_duplicates(texts) == [DuplicateGroup(("one", "two", "three"), 0.7)]


@pytest.mark.parametrize("seed", range(3))
def test_no_pair_is_missed(seed: int) -> None:
    texts = variants(60, seed)
    expected = by_comparing_all(texts)
    assert 5 < len(expected) < 60
    assert {frozenset(group.ids) for group in near_duplicates(texts)} == expected


@given(st.lists(st.text("ab ", max_size=30), max_size=8), st.sampled_from([0.3, 0.7, 1.0]))
def test_agrees_with_exhaustive_comparison(texts: list[str], threshold: float) -> None:
    named = {str(place): text for place, text in enumerate(texts)}
    groups = near_duplicates(named, threshold=threshold)
    assert {frozenset(group.ids) for group in groups} == by_comparing_all(named, threshold)


def test_many_similar_texts_are_fast() -> None:
    shared = " ".join(f"w{number}" for number in range(200))
    texts = {str(number): f"{shared} number {number} of the series" for number in range(400)}
    (group,) = near_duplicates(texts)
    assert len(group.ids) == 400


def test_time_grows_with_the_texts() -> None:
    short, long = variants(50, 0), variants(1000, 0)
    assert_proportional(lambda: near_duplicates(short), lambda: near_duplicates(long), 20, 1.0)


def test_bad_settings() -> None:
    with pytest.raises(UsageError, match="above 0 and at most 1, not 0"):
        near_duplicates({}, threshold=0)
    with pytest.raises(UsageError, match="at least one word"):
        near_duplicates({}, shingle=0)
