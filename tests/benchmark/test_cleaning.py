"""Cleaning raw texts: what is removed, what is kept, and the counts."""

from __future__ import annotations

import pytest
from growth import assert_proportional

from summeter.benchmark.raw.cleaning import clean, decode

pytest.importorskip("ftfy")


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        ("naïve".encode(), None),
        ("naïve".encode("utf-8-sig"), "encoding utf-8"),
        ("naïve".encode("utf-16"), "encoding utf-16"),
        ("naïve".encode("cp1252"), "encoding windows-1252"),
    ],
)
def test_encodings(content: bytes, encoding: str | None) -> None:
    assert decode(content) == ("naïve", {} if encoding is None else {encoding: 1})


@pytest.mark.parametrize("content", [b"PK\0\0zip", b"a\x81b", b"\xff\xfea"])
def test_what_is_no_text_is_not_guessed(content: bytes) -> None:
    with pytest.raises(ValueError):
        decode(content)


@pytest.mark.parametrize(
    ("text", "cleaned", "counts"),
    [
        ("cafÃ© for Â£5", "café for £5", {"lines repaired": 1}),
        ("Ãrea and MÂ are “kept” &amp; so", "Ãrea and MÂ are “kept” &amp; so", {}),
        ("so\u00adft\u200b\u0007 \ufb01ne\u00a0day", "soft fine day", {"lines repaired": 1, "invisible characters": 2}),
        ("the val-\nley rose", "the valley rose", {"hyphens joined": 1}),
        ("a well-\nknown man, well-known here", "a well-known man, well-known here", {"hyphens joined": 1}),
        ("Anna Meyer-\nSchulz", "Anna Meyer-Schulz", {}),
        ("it rained -\nand  hard\n\n\n\nhere", "it rained -\nand hard\n\nhere", {"repeated spaces": 1}),
        ("one\r\ntwo\rthree\u2028four", "one\ntwo\nthree\nfour", {}),
    ],
)
def test_characters_and_lines(text: str, cleaned: str, counts: dict[str, int]) -> None:
    assert clean(text) == (cleaned, counts)


def test_headers_footers_and_page_numbers_go() -> None:
    pages = [f"The Paper, issue {n}\nText of page {n}\nis here.\n- {n} -" for n in range(1, 5)]
    text, counts = clean("\f".join(pages), pages=True)
    assert text == "\n\n".join(f"Text of page {n} is here." for n in range(1, 5))
    assert counts["header and footer lines"] == 8


def test_a_line_of_two_pages_of_five_is_no_header() -> None:
    pages = ["Rain came.\nA", "Rain came.\nB", "C c\nd", "E e\nf", "G g\nh"]
    assert clean("\f".join(pages), pages=True)[0].count("Rain came.") == 2


def test_sentences_go_on_over_lines_and_pages() -> None:
    assert clean("It rained in\fthe valley.\fWe stayed.", pages=True)[0] == "It rained in the valley.\n\nWe stayed."
    text, counts = clean(
        "It rained in the valley and\nthe river rose.\nThen we stayed at home until\nnight.", pages=True
    )
    assert text == "It rained in the valley and the river rose.\nThen we stayed at home until night."
    assert counts == {"lines joined": 2}


@pytest.mark.parametrize("part", ["a", "a-\nb", "Ã", "\f1\n"])
def test_long_texts_take_their_share(part: str) -> None:
    short, long = (part * 5000)[:5000], (part * 20000)[:20000]
    assert_proportional(lambda: clean(short, pages=True), lambda: clean(long, pages=True), 4, 0.2)
