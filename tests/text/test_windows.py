from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from summeter.text.windows import Window, sentence_windows, tiles, token_windows, word_windows


def spans_of(n):
    return [(10 * i, 10 * i + 9) for i in range(n)]


def test_windows_of_three_with_stride_two():
    # Five sentences: starts 0 and 2; 2 + 3 = 5 reaches the end exactly.
    assert sentence_windows(spans_of(5), 3, 2) == [Window(0, 3, 0, 29), Window(2, 5, 20, 49)]


def test_the_tail_is_kept_when_the_stride_does_not_divide():
    # Six sentences, size 3, stride 2: starts 0, 2, and the tail window at 3.
    assert [w.first for w in sentence_windows(spans_of(6), 3, 2)] == [0, 2, 3]


def test_a_short_text_is_one_window_and_no_text_is_none():
    assert sentence_windows(spans_of(2), 5) == [Window(0, 2, 0, 19)]
    assert sentence_windows([], 5) == []
    assert word_windows([], [], 5) == []


@pytest.mark.parametrize(("size", "stride"), [(0, 1), (2, 0), (2, 3)])
def test_windows_that_would_lose_sentences_are_refused(size, stride):
    with pytest.raises(ValueError):
        sentence_windows(spans_of(4), size, stride)


def test_word_windows_keep_an_overlong_sentence_whole():
    # 4+4 fills the first; 30 is over the limit and stands alone; 1+2 share the last.
    assert [w[:2] for w in word_windows(spans_of(5), [4, 4, 30, 1, 2], 8)] == [(0, 2), (2, 3), (3, 5)]


def test_word_windows_refuse_lengths_of_another_text():
    with pytest.raises(ValueError, match="5 sentences but 2"):
        word_windows(spans_of(5), [1, 2], 3)
    with pytest.raises(ValueError, match="at least one word"):
        word_windows(spans_of(1), [1], 0)


@given(st.integers(0, 60), st.integers(1, 9), st.data())
def test_every_sentence_is_in_some_window(n, size, data):
    stride = data.draw(st.integers(1, size))
    found = sentence_windows(spans_of(n), size, stride)
    assert {i for w in found for i in range(w.first, w.last)} == set(range(n))
    assert all(w.last - w.first == min(size, n) for w in found)
    assert len(set(found)) == len(found)


@given(st.lists(st.integers(0, 40), max_size=40), st.integers(1, 50))
def test_word_windows_partition_the_text(lengths, limit):
    found = word_windows(spans_of(len(lengths)), lengths, limit)
    assert [i for w in found for i in range(w.first, w.last)] == list(range(len(lengths)))
    assert all(sum(lengths[w.first : w.last]) <= limit or w.last - w.first == 1 for w in found)


def dear(text):
    """Four tokens for what lies beyond ASCII, one for the rest."""
    return sum(1 if character.isascii() else 4 for character in text)


@given(st.text(max_size=300), st.lists(st.integers(0, 300), max_size=20), st.integers(8, 60))
def test_tiles_are_the_text_and_none_is_too_long(text: str, starts: list[int], limit: int) -> None:
    found = tiles(text, sorted(set(starts)), limit, dear)
    assert "".join(text[start:end] for start, end in found) == text
    assert all(dear(text[start:end]) <= limit for start, end in found)
    edges = {start for start, _ in found}
    assert {start for start in starts if 0 < start < len(text)} <= edges


def test_a_long_sentence_is_cut_at_blanks() -> None:
    assert tiles("aaa " * 5, [], 10, len) == [(0, 8), (8, 16), (16, 20)]
    assert tiles("a" * 20, [], 10, len) == [(0, 10), (10, 20)]


@given(st.lists(st.integers(1, 20), max_size=40), st.integers(20, 60), st.integers(0, 10))
def test_token_windows_cover_all_and_fit(costs: list[int], limit: int, overlap: int) -> None:
    found = token_windows(costs, limit, overlap)
    assert all(0 < sum(costs[first:last]) <= limit for first, last in found)
    # The first begins at the start, the last ends at the end, each goes on where or before the last one ended.
    assert [first for first, _ in found[:1]] == [0] * bool(costs)
    assert [last for _, last in found[-1:]] == [len(costs)] * bool(costs)
    for (first, last), (following, end) in pairwise(found):
        assert first < following <= last < end
        assert sum(costs[following:last]) <= overlap


def test_token_windows_refuse_what_cannot_be() -> None:
    with pytest.raises(ValueError, match="longer than a window"):
        token_windows([9], 8)
    with pytest.raises(ValueError, match="more than half"):
        token_windows([1], 8, 5)
    with pytest.raises(ValueError, match="at least 8"):
        tiles("a", [], 7, len)
