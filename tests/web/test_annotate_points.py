"""Functions of the page's scripts, run in a browser: code point offsets, words, retry delays, drafts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from web import annotate_campaigns as made
from web import slow
from web.annotate_site import serving
from web.steps import PATIENCE, expect, fits

pytestmark = pytest.mark.web

PIECES = (
    "a", "word", " ", "\n", "é", "e\u0301", "😀", "👩‍👩‍👧", "🏳️‍🌈", "漢字", "ひらがな", "ประเทศไทย", "\u0644\u0627",
    "don't", "3.5", "—", "\u202e", "𝒳", "\u200d", "\ufe0f", "z\u0301\u0302", "<b>", "\u00a0",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


@pytest.fixture(scope="module")
def tool(chrome: Any, example: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Yield `tool(expression, argument)`, which evaluates an expression that may use `points`, `api` and `keep`."""
    folder = made.campaign(tmp_path_factory.mktemp("points") / "one", "pairwise", made.rows(example, 1))
    with serving(folder) as place:
        page = chrome.new_page()
        page.set_default_timeout(PATIENCE * 1000)
        slow.throttle(page)
        page.goto(place.url)

        def run(expression: str, argument: Any = None) -> Any:
            names = "['points', 'api', 'keep'].map((name) => import(`/static/${name}.js`))"
            modules = f"const [points, api, keep] = await Promise.all({names});"
            return page.evaluate(f"async (given) => {{ {modules} return {expression}; }}", argument)

        yield run
        page.close()


@settings(max_examples=60)
@given(text=TEXTS, data=st.data())
def test_offsets_equal_those_of_python(tool: Any, text: str, data: Any) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    found = tool(
        "((text, p) => ({ length: p.length, piece: p.slice(given.start, given.end),"
        " back: p.toPoint(p.toUnit(given.start)),"
        " all: Array.from({ length: text.length + 1 }, (_, unit) => p.toPoint(unit)) }))"
        "(given.text, new points.Points(given.text))",
        {"text": text, "start": start, "end": end},
    )
    assert found["length"] == len(text)
    assert found["piece"] == text[start:end]
    assert found["back"] == start
    # Code points beyond the basic plane take two UTF-16 units.
    units = [at for at, char in enumerate(text) for _ in range(1 + (ord(char) > 0xFFFF))]
    assert found["all"] == [*units, len(text)]


@settings(max_examples=60)
@given(text=TEXTS)
def test_only_whitespace_lies_between_words(tool: Any, text: str) -> None:
    words = tool("points.wordsOf(given)", text)
    ends = [0, *[at for word in words for at in word], len(text)]
    assert ends == sorted(ends)
    gaps = "".join(text[ends[at] : ends[at + 1]] for at in range(0, len(ends), 2))
    assert gaps.strip("\u00a0 \n\u200d\ufe0f") == ""
    assert all(text[start:end] for start, end in words)


@settings(max_examples=60)
@given(text=TEXTS, data=st.data())
def test_a_selection_is_trimmed_to_words(tool: Any, text: str, data: Any) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    found = tool("points.tidy(given.text, given.start, given.end)", {"text": text, "start": start, "end": end})
    piece = text[start:end].strip()
    if found is None:
        assert piece == ""
        return
    low, high = found
    assert piece in text[low:high]
    assert text[low:high] == text[low:high].strip()
    # Trimming again changes nothing.
    assert tool("points.tidy(given[0], given[1], given[2])", [text, low, high]) == found


def test_a_selection_does_not_split_an_emoji_sequence(tool: Any) -> None:
    text = "a 👩‍👩‍👧 b"
    # a, space, then five code points (woman, joiner, woman, joiner, girl): 2 to 7.
    assert tool("points.tidy(given, 3, 5)", text) == [2, 7]
    assert tool("points.tidy(given, 4, 9)", text) == [2, 9]
    assert tool("points.tidy(given, 1, 2)", text) is None


def test_words_of_several_scripts(tool: Any) -> None:
    text = "Don't pay €3.5, 漢字だ 👩‍👩‍👧!"
    words = [text[start:end] for start, end in tool("points.wordsOf(given, 'ja')", text)]
    assert words[:5] == ["Don't", "pay", "€", "3.5", ","]
    assert "".join(words[5:-2]) == "漢字だ"
    assert words[-2:] == ["👩‍👩‍👧", "!"]


@settings(max_examples=40)
@given(
    text=TEXTS,
    spans=st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)).map(sorted), max_size=4),
)
def test_pieces_cover_the_whole_text(tool: Any, text: str, spans: list[list[int]]) -> None:
    ranges = [[min(start, len(text)), min(end, len(text))] for start, end in spans]
    found = tool("points.pieces(given.length, given.ranges)", {"length": len(text), "ranges": ranges})
    assert "".join(text[start:end] for start, end, _ in found) == text
    for start, end, over in found:
        for at in range(start, end):
            assert sorted(over) == [index for index, (low, high) in enumerate(ranges) if low <= at < high]


def test_retry_delays(tool: Any) -> None:
    # 1, 2, 4, 8, 16 seconds, then 30, each plus or minus up to an eighth at random.
    middle = tool("[0, 1, 2, 3, 4, 5, 9].map((turn) => api.backoff(turn, 0.5))")
    assert middle == [1000, 2000, 4000, 8000, 16000, 30000, 30000]
    assert tool("[api.backoff(0, 0), api.backoff(0, 1)]") == [875, 1125]


def test_ids_are_valid_and_unique(tool: Any) -> None:
    ids = tool("Array.from({ length: 50 }, () => api.newId())")
    assert len(set(ids)) == 50
    assert all(len(one) == 32 and set(one) <= set("0123456789abcdef") for one in ids)


def test_equal_answers_have_the_same_text(tool: Any) -> None:
    first = {"b": 1, "a": {"d": [1, {"y": 2, "x": None}], "c": None}}
    second = {"a": {"d": [1, {"y": 2}]}, "b": 1, "comment": None}
    assert (
        tool("keep.canonical(given)", first) == tool("keep.canonical(given)", second) == '{"a":{"d":[1,{"y":2}]},"b":1}'
    )
    assert tool("keep.canonical(null)") == "null"


@pytest.mark.parametrize("phone", [False, True])
def test_many_sentences_and_long_words_fit_the_window(site: Any, visit: Any, phone: bool) -> None:
    said = ["Donau" + "dampfschifffahrts" * 30 + ".", *(f"Sentence {number} says it." for number in range(40))]
    given = {"doc_id": "d", "system": "s", "document": f"{'x' * 500}. An end.", "summary": " ".join(said),
             "sentences": said, "key_facts": ["y" * 300, "Another."]}  # fmt: skip
    page = visit(site("key_fact_alignment", [given]).link(), phone=phone)
    expect(page.locator(".desk")).to_be_visible()
    expect(page.locator(".grid thead th")).to_have_count(41)
    fits(page)
