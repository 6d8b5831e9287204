from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from summeter.text.chunks import WordIndex, runs, tiles, windows


def test_windows_of_three_with_stride_two():
    # Five sentences: starts 0 and 2; 2 + 3 = 5 reaches the end exactly.
    assert windows(5, 3, 2) == windows(5, 3, 2, tail="short") == [(0, 3), (2, 5)]


def test_windows_of_short_and_empty_texts():
    for tail in ("full", "short"):
        assert windows(2, 5, 3, tail=tail) == [(0, 2)]
        assert windows(0, 5, tail=tail) == []
    assert runs([], 5) == []


@pytest.mark.parametrize(("size", "stride"), [(0, 1), (2, 0), (2, 3)])
def test_invalid_windows_are_refused(size, stride):
    with pytest.raises(ValueError):
        windows(4, size, stride)


@given(st.integers(0, 60), st.integers(1, 9), st.sampled_from(["full", "short"]), st.data())
def test_every_sentence_is_in_some_window(count, size, tail, data):
    stride = data.draw(st.integers(1, size))
    found = windows(count, size, stride, tail=tail)
    assert {at for first, last in found for at in range(first, last)} == set(range(count))
    assert all(last - first == min(size, count) for first, last in (found if tail == "full" else found[:-1]))
    assert all(last < count for _, last in found[:-1])
    if tail == "short":
        assert [first for first, _ in found] == [stride * number for number in range(len(found))]


def test_a_piece_over_the_limit_is_a_run():
    # 4 + 4 fill the first run; 30 is over the limit and forms its own run; 1 + 2 form the last.
    assert runs([4, 4, 30, 1, 2], 8) == [(0, 2), (2, 3), (3, 5)]
    assert runs([4, 4, 30, 1, 2], 8, overlap=4) == [(0, 2), (2, 3), (3, 5)]


@given(st.lists(st.integers(0, 40), max_size=40), st.integers(1, 50))
def test_runs_partition_the_pieces(sizes, limit):
    found = runs(sizes, limit)
    assert [at for first, last in found for at in range(first, last)] == list(range(len(sizes)))
    assert all(sum(sizes[first:last]) <= limit or last - first == 1 for first, last in found)


@given(st.lists(st.integers(1, 20), max_size=40), st.integers(20, 60), st.integers(0, 10))
def test_runs_that_overlap_cover_all_and_fit(sizes: list[int], limit: int, overlap: int) -> None:
    found = runs(sizes, limit, overlap)
    assert all(0 < sum(sizes[first:last]) <= limit for first, last in found)
    # Runs cover all pieces: each begins at or before the end of the previous one.
    assert [first for first, _ in found[:1]] == [0] * bool(sizes)
    assert [last for _, last in found[-1:]] == [len(sizes)] * bool(sizes)
    for (first, last), (following, end) in pairwise(found):
        assert first < following <= last < end
        assert sum(sizes[following:last]) <= overlap


def test_invalid_limits_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        runs([1], 0)
    with pytest.raises(ValueError, match="at most half"):
        runs([1], 8, 5)
    with pytest.raises(ValueError, match="at least 8"):
        tiles("a", [], 7, len)


def costly(text):
    """Count four tokens per non-ASCII character and one per ASCII character."""
    return sum(1 if character.isascii() else 4 for character in text)


@given(st.text(max_size=300), st.lists(st.integers(0, 300), max_size=20), st.integers(8, 60))
def test_tiles_cover_the_text_and_fit(text: str, starts: list[int], limit: int) -> None:
    found = tiles(text, sorted(set(starts)), limit, costly)
    assert "".join(tile.text for tile in found) == text
    assert all(text[tile.start : tile.end] == tile.text and costly(tile.text) <= limit for tile in found)
    assert {start for start in starts if 0 < start < len(text)} <= {tile.start for tile in found}


def test_a_long_sentence_is_cut_at_blanks() -> None:
    assert [tile.offsets for tile in tiles("aaa " * 5, [], 10, len)] == [(0, 8), (8, 16), (16, 20)]
    assert [tile.offsets for tile in tiles("a" * 20, [], 10, len)] == [(0, 10), (10, 20)]


def test_rare_words_have_higher_weights() -> None:
    # "the" is in all three (log 1 + .01), "mill" in one (log 3 + .01), "a" in none.
    index = WordIndex(["The cat", "the MILL", "the the"])
    assert index.scores("A mill, the mill") == pytest.approx([0.01, 0.01 + 1.0986123 + 0.01, 0.01])
