import pytest
from hypothesis import given
from hypothesis import strategies as st

from summeter.evaluators.support.key_facts import key_facts


def spans_of(sentences):
    spans, at = [], 0
    for sentence in sentences:
        spans.append((at, at + len(sentence)))
        at += len(sentence) + 1
    return " ".join(sentences), spans


def selected(sentences, limit):
    text, spans = spans_of(sentences)
    return [text[a:b] for a, b in key_facts(text, spans, limit)]


FIRST = "Rangers fenced the glacier."
QUESTION = "Did rangers fence glacier paths?"
SECOND = "Tourists photographed a glacier bridge."
THIRD = "The bridge collapsed on tourists."


def test_worked_example_of_scores():
    # Eligible: FIRST {ranger, fenc, glacier}, SECOND {tourist, photograph, glacier, bridg}, THIRD {bridg,
    # collaps, tourist}; not the question. Others = 2. Centrality: FIRST (0 + 0 + 1/2) / 3 = 1/6;
    # SECOND (1/2 + 0 + 1/2 + 1/2) / 4 = 3/8; THIRD (1/2 + 0 + 1/2) / 3 = 1/3. Over the largest: 4/9, 1, 8/9.
    # Lead .5 / (1 + number), numbers 0, 2, 3: .5, .1667, .125. Scores .944, 1.167, 1.014.
    sentences = [FIRST, QUESTION, SECOND, THIRD]
    assert selected(sentences, 1) == [SECOND]
    # THIRD has the second score, but SECOND contains 2 of its 3 words, which is more than half. FIRST is selected.
    assert selected(sentences, 2) == [FIRST, SECOND]
    assert selected(sentences, 9) == [FIRST, SECOND]


def test_short_sentences_are_selected_only_if_no_sentence_is_longer():
    assert selected(["Yes.", "Rain fell."], 3) == ["Rain fell."]
    assert selected(["Rain fell.", "Rangers fenced glaciers."], 3) == ["Rangers fenced glaciers."]


def test_no_sentence_is_eligible():
    assert selected([], 3) == []
    assert selected(["It was.", "👍"], 3) == []
    with pytest.raises(ValueError, match="at least 1"):
        key_facts("x", [(0, 1)], 0)


@given(st.lists(st.text("abc dé東?.", max_size=30), max_size=12), st.integers(1, 5))
def test_selected_spans_are_input_spans_in_order_within_the_limit(sentences, limit):
    text, spans = spans_of(sentences)
    found = key_facts(text, spans, limit)
    assert found == sorted(found)
    assert set(found) <= set(spans)
    assert len(found) <= limit
    assert found == key_facts(text, spans, limit)
