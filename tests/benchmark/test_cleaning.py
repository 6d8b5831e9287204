"""Cleaning raw texts: what goes, what stays, and the counts that say so."""

from __future__ import annotations

import pytest
from growth import assert_proportional

from summeter.benchmark.raw.cleaning import clean, decode


class TestEncodings:
    @pytest.mark.parametrize(
        ("content", "encoding"),
        [
            ("naïve".encode(), None),
            ("naïve".encode("utf-8-sig"), "encoding utf-8"),
            ("naïve".encode("utf-16"), "encoding utf-16"),
            ("naïve".encode("cp1252"), "encoding windows-1252"),
        ],
    )
    def test_known_ones(self, content: bytes, encoding: str | None) -> None:
        text, counts = decode(content)
        assert text == "naïve"
        assert dict(counts) == ({} if encoding is None else {encoding: 1})

    @pytest.mark.parametrize(
        ("content", "why"),
        [(b"PK\0\0zip", "zero bytes"), (b"a\x81b", "neither UTF-8 nor Windows-1252"), (b"\xff\xfea", "utf-16")],
    )
    def test_what_is_no_text_is_not_guessed(self, content: bytes, why: str) -> None:
        with pytest.raises(ValueError, match=why):
            decode(content)

    def test_text_that_was_decoded_wrongly_is_put_right(self) -> None:
        broken = "The café “Ünal” — £5".encode().decode("cp1252", "replace")
        assert clean("cafÃ© for Â£5") == ("café for £5", {"wrongly decoded": 2})
        assert "Ã" in broken
        assert clean("Ãrea and MÂ are kept")[0] == "Ãrea and MÂ are kept"

    def test_invisible_and_control_characters(self) -> None:
        text, counts = clean("so\u00adft\u200b\u0007 \ufb01ne\u00a0day")
        assert text == "soft fine day"
        assert counts == {"invisible characters": 2, "control characters": 1, "ligatures": 1}


class TestLines:
    def test_a_divided_word_is_joined(self) -> None:
        assert clean("the val-\nley rose") == ("the valley rose", {"hyphens joined": 1})

    def test_a_compound_keeps_its_hyphen(self) -> None:
        assert clean("a well-\nknown man, well-known here")[0] == "a well-known man, well-known here"

    def test_a_name_of_two_keeps_its_hyphen(self) -> None:
        assert clean("Anna Meyer-\nSchulz") == ("Anna Meyer-Schulz", {})

    def test_a_dash_before_a_line_end_stays(self) -> None:
        assert clean("it rained -\nand hard")[0] == "it rained -\nand hard"

    @pytest.mark.parametrize(
        "line",
        [
            "Advertisement",
            "READ MORE:",
            "Share this article",
            "© 2024 The Paper",
            "Click here to subscribe",
            "Follow us on X",
        ],
    )
    def test_lines_of_a_page_go(self, line: str) -> None:
        text, counts = clean(f"It rained.\n{line}\nWe stayed.")
        assert text == "It rained.\nWe stayed."
        assert counts == {"boilerplate lines": 1}

    @pytest.mark.parametrize(
        "line",
        ["Advertisement is an old trade.", "Share this with your mother, she said.", "Home is where it rains.",
         "Click here and there was no sound.", "Read more books."],
    )  # fmt: skip
    def test_sentences_that_begin_so_stay(self, line: str) -> None:
        assert clean(f"It rained.\n{line}")[0] == f"It rained.\n{line}"

    def test_boilerplate_stays_in_a_dialogue(self) -> None:
        assert clean("Home\nMenu", boilerplate=False) == ("Home\nMenu", {})


class TestPages:
    def test_headers_footers_and_numbers_go(self) -> None:
        pages = [
            f"The Paper, issue {number}\nText of page {number} is here\nand there.\n- {number} -"
            for number in range(1, 5)
        ]
        text, counts = clean("\f".join(pages))
        assert "The Paper" not in text
        assert "- 2 -" not in text
        assert text.count("Text of page") == 4
        assert counts == {"header and footer lines": 8}

    def test_a_line_of_two_pages_of_five_is_no_header(self) -> None:
        pages = ["Rain came.\nA", "Rain came.\nB", "C c\nd", "E e\nf", "G g\nh"]
        assert clean("\f".join(pages))[0].count("Rain came.") == 2

    def test_a_sentence_goes_on_over_the_page(self) -> None:
        assert clean("It rained in\fthe valley.\fWe stayed.", pages=True)[0] == "It rained in the valley.\n\nWe stayed."

    def test_lines_of_a_paragraph_are_joined(self) -> None:
        text, counts = clean(
            "It rained in the whole valley and\nthe river rose.\nThen we all stayed at home until\nnight.", pages=True
        )
        assert text == "It rained in the whole valley and the river rose.\nThen we all stayed at home until night."
        assert counts == {"lines joined": 2}


@pytest.mark.parametrize("part", ["a", "a-\nb", "Ã", "Advertisement ", "\f1\n"])
def test_long_texts_take_their_share(part: str) -> None:
    short, long = (part * 5000)[:5000], (part * 20000)[:20000]
    assert_proportional(lambda: clean(short), lambda: clean(long), 4, 0.2)
