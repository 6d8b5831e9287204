"""Offsets in the browser's units, and JSON that cannot leave its script element."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from summeter.pages.embedded import Utf16Offsets, script_json

TEXTS = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("😀𝔘🇪é한"), max_size=40)


@given(TEXTS, st.data())
def test_units_cut_what_code_points_cut(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    units, wide = Utf16Offsets(text), text.encode("utf-16-le")
    assert wide[2 * units.at(start) : 2 * units.at(end)].decode("utf-16-le") == text[start:end]


@given(st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("<>&\u2028\u2029\x85"), max_size=40))
def test_escaping_keeps_the_value_and_no_markup(text: str) -> None:
    written = script_json(text)
    assert json.loads(written) == text
    assert not set(written) & set("<>&\u2028\u2029\x85")


def test_half_characters_are_written_as_escapes() -> None:
    assert script_json("\ud83d") == '"\\ud83d"'
