"""Quotes are found in a text although models quote approximately."""

from __future__ import annotations

import random

from growth import assert_within
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from together import together

from summeter.text.fold import Fold, Folded, standalone
from summeter.text.match import QuoteFinder, find_quote

ARTICLE = (
    "The council voted on Monday to close the old library. “We had no choice,” said Ms. O’Neill – the mayor. "
    "Residents  had signed\na petition; 1,200 names were on it.  Critics called the plan rushed, unfair and costly. "
    "猫坐在垫子上。狗在外面跑。 Cafe\u0301 owners 👩\u200d👩\u200d👧 agreed. The ﬁrm declined to comment. "
    "The council will meet again in May to close the budget."
)


@together(
    "quote, found",
    [
        # exact
        ("voted on Monday", "voted on Monday"),
        ("猫坐在垫子上", "猫坐在垫子上"),
        ("👩\u200d👩\u200d👧", "👩\u200d👩\u200d👧"),
        ("May", "May"),
        # white space and Unicode forms
        ("Residents had signed a petition", "Residents  had signed\na petition"),
        ("Café owners", "Cafe\u0301 owners"),
        ("The firm declined", "The ﬁrm declined"),
        ("  voted on   Monday\n", "voted on Monday"),
        # case, quotes, dashes
        ('"We had no choice," said Ms. O\'Neill - the mayor', "“We had no choice,” said Ms. O’Neill – the mayor"),
        ("we had no choice", "We had no choice"),
        ("THE OLD LIBRARY", "the old library"),
        # with marks added by the model
        ('"to close the old library"', "to close the old library"),
        ("**to close the old library**", "to close the old library"),
        ("...voted on Monday to close the old library...", "voted on Monday to close the old library"),
        ("[voted on Monday]", "voted on Monday"),
        # tokenised
        ("no choice , '' said ms. o'neill", "no choice,” said Ms. O’Neill"),
        # omitted parts, and words cut off
        ("The council voted ... the old library", "The council voted on Monday to close the old library"),
        ("had signed [...] were on it", "had signed\na petition; 1,200 names were on it"),
        ("council voted on Mon", "council voted on Mon"),
        # approximate
        ("Critics said the plan was rushed, unfair and costly", "Critics called the plan rushed, unfair and costly"),
        ("residents had signed the petition: 1,200 names", "Residents  had signed\na petition; 1,200 names"),
        ("猫坐在了垫子上", "猫坐在垫子上"),
        (
            "council will meet once more in May to close the budget",
            "council will meet again in May to close the budget",
        ),
        # not found
        ("the library was sold to a bank", None),
        ("", None),
        ("  \n", None),
        ("“”", None),
        ("...", None),
        ("ouncil", None),
        ("Mayor Smith", None),
        ("the", "the"),
    ],
)
def test_hard_quotes(quote: str, found: str | None) -> None:
    span = find_quote(ARTICLE, quote)
    assert (None if span is None else ARTICLE[slice(*span)]) == found


def test_the_first_match_at_word_boundaries_is_returned() -> None:
    assert find_quote("The piano. No piano, no.", "no") == (21, 23)
    assert find_quote("a cat, a cat", "a cat") == (0, 5)
    assert find_quote("", "a b c") is None


def test_the_minimum_of_an_approximate_match() -> None:
    text, quote = "the old cat sat on the mat", "the cat sat on a mat"
    # common: the cat sat on mat = 5; words 6 + 7: 10/13 = .769
    assert find_quote(text, quote, minimum=0.76) == (0, 26)
    assert find_quote(text, quote, minimum=0.78) is None


_PIECES = [*"aA .,“”\"'’-–—\n\t漢字éहिßİ한ﬁ", "e\u0301", "👩\u200d👧", "\u1112\u1161\u11ab", "word", "\u00ad"]
_JOINED = st.lists(st.sampled_from(_PIECES), max_size=40).map("".join)
TEXTS = st.text(st.characters(codec="utf-8"), max_size=60) | _JOINED
_WORDS = st.sampled_from(["alpha", "beta", "gamma", "Δέλτα", "эпсилон", "👍", "猫", "e\u0301t"])


@given(TEXTS, st.data())
@settings(max_examples=300, deadline=None)
def test_a_copied_span_is_found_exactly(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    quote = text[start:end]
    span = find_quote(text, quote)
    if quote.strip() == quote and any(map(str.isalnum, quote)) and standalone(text, start, end):
        assert span is not None
        assert text[slice(*span)] == quote
    if span is None:
        return
    assert 0 <= span.start < span.end <= len(text)


@given(
    st.lists(st.sampled_from(["alpha", "beta", "gamma", "Δέλτα", "эпсилон", "👍", "猫", "ét"]), min_size=1), st.data()
)
@settings(deadline=None)
def test_words_are_found_despite_case_quotes_and_white_space(words: list[str], data: st.DataObject) -> None:
    text = " ".join(words)
    start = data.draw(st.integers(0, len(words) - 1))
    end = data.draw(st.integers(start + 1, len(words)))
    quote = data.draw(st.sampled_from([" ", "  ", "\n", "\u00a0"])).join(words[start:end])
    quote = data.draw(st.sampled_from([quote, quote.upper(), quote.casefold()]))
    quote = data.draw(st.sampled_from(["{}", "“{}”", '"{}"', " {}\n"])).format(quote)
    assume(any(char.isalnum() for char in quote))
    span = find_quote(text, quote)
    assert span is not None
    assert text[slice(*span)].split() == words[start:end]


@given(TEXTS, st.sampled_from(list(Fold)))
@settings(max_examples=300)
def test_offsets_of_normalised_texts_are_ordered(text: str, level: Fold) -> None:
    folded = Folded(text, level)
    previous = (0, 0)
    for at in range(len(folded.text)):
        span = folded.span(at, at + 1)
        assert 0 <= span.start < span.end <= len(text)
        assert span >= previous
        previous = span
    if text.isascii() and level is Fold.SPACE:
        assert folded.text == " ".join(f"|{text}|".split())[1:-1]


def test_many_quotes_from_a_long_text_are_quick() -> None:
    rng = random.Random(3)
    words = [f"w{rng.randrange(5000)}" for _ in range(50_000)]
    finder = QuoteFinder(" ".join(words))

    def find() -> None:
        at = rng.randrange(49_900)
        quoted = [word for i, word in enumerate(words[at : at + 30]) if i not in (7, 19)]
        span = finder.find(" ".join(quoted))
        assert span is not None
        assert finder.text[slice(*span)] == " ".join(words[at : at + 30])

    find()  # prepares the text
    assert_within(0.5, find)  # a few milliseconds
