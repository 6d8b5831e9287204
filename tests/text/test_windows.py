import pytest
from hypothesis import given
from hypothesis import strategies as st

from summeter.text.windows import Window, sentence_windows, word_windows


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
