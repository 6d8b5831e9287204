import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from together import together

from summeter.evaluators.support.numbers import numbers
from summeter.evaluators.support.scorer import LexicalScorer
from summeter.evaluators.support.words import analyse, index_text


@together(
    "text, values",
    [
        ("1,000 and 1000 and one thousand", [1000, 1000, 1000]),
        ("two hundred and five", [205]),
        ("twenty-five or twenty five", [25, 25]),
        ("nineteen eighty-four", [19, 80, 4]),  # not one number, so three numbers
        ("three, four", [3, 4]),
        ("three four", [3, 4]),
        ("£3.5m, 2 million, 1.5bn, 10k", [3.5e6, 2e6, 1.5e9, 1e4]),
        ("ran 100m in 9.58s", [100, 9.58]),  # metres, because there is no currency sign
        ("the 9th of June, 1980s", [9, 1980]),
        ("the G20, covid19 and F-35", [35]),  # digits inside a name are not a number
        ("won 6-1 at 12:30", [6, 1, 12, 30]),
        ("one of them", []),
        ("a 10,000-seater", [10_000]),
        ("1,2,3", [1, 2, 3]),
        ("a dozen, 2 dozen", [12, 24]),
        ("٣ و ٢٥", [3, 25]),  # Arabic-Indic digits
        ("京２５人", [25]),  # full-width digits
        ("", []),
    ],
)
def test_values(text, values):
    assert [number.value for number in numbers(text)] == values


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("up 24 per cent", "percent"),
        ("up 24%", "percent"),
        ("cost £24", "currency"),
        ("cost 24 dollars", "currency"),
        ("cost $ 24", "currency"),
        ("24 poundsigns", "plain"),
        ("24 men", "plain"),
    ],
)
def test_kinds(text, kind):
    assert [number.kind for number in numbers(text)] == [kind]


EQUAL = [
    ("340m euros", "340 million euros"), ("£340m", "£340 million"), ("$ 4 m", "$4m"), ("$4 million", "$ 4 m"),
    ("$4b", "$4bn"), ("€ 1.5 bn", "€1.5 billion"), ("2tn", "2 trillion"), ("10k", "10,000"), ("£10 k", "£10,000"),
    ("5m people", "5 million people"), ("15 , 000", "15,000"), ("1 , 250 , 000", "1,250,000"), ("15 , 200", "15,200"),
    ("15 000", "15000"), ("15\u202f000", "15,000"), ("15, 000", "fifteen thousand"), ("3 . 5 %", "3.5%"),
    ("$ 3 . 5 million", "$3.5m"), ("3 . 5 million", "3.5 million"), ("10 %", "10%"), ("14 per cent", "14%"),
    ("14 percent", "14 per cent"), ("14pc", "14 percent"), ("14 pct", "14%"), ("a 14-percent", "a 14%"),
    ("fourteen per cent", "14%"), ("8th", "eighth"), ("the 8th of June", "the eighth of June"),
    ("19th century", "nineteenth century"), ("20th", "twentieth"), ("21st", "twenty-first"), ("21st", "twenty first"),
    ("125th", "one hundred and twenty-fifth"), ("1st place", "first place"), ("2nd", "second"), ("June 1st", "June 1"),
    ("2nd of May", "2 of May"), ("twice", "two times"), ("thrice", "3 times"), ("2 times", "twice"),
    ("the 1990s", "the 90s"), ("the '90s", "the 1990s"), ("the nineties", "the ’90s"),
    ("the late 1960s", "the late 60s"),
    ("twenty-five", "25"), ("twenty five", "25"), ("a two-year-old", "a 2-year-old"), ("10-15", "10\u201315"),
    ("ten to fifteen", "10 to 15"), ("8.30pm", "8:30 p.m."), ("8:30 pm", "8.30pm"), ("8pm", "8.00 pm"),
    ("8 am", "8a.m."),
    ("won 3-1", "won 3 - 1"), ("half a million", "500,000"), ("half a dozen", "six"), ("a dozen", "a 12"),
    ("two dozen", "24"), ("two and a half million", "2.5 million"), ("two-thirds", "two thirds"),
    ("1/3 of", "a third of"),
    ("by a third.", "by one-third."), ("one-fifth.", "a fifth."),
    ("five hundred and six", "506"), ("a million", "a 1,000,000"),
]  # fmt: skip
DIFFERENT = [
    ("4 %", "$4"), ("4 %", "4"), ("$4", "£4"), ("1.5", "15"), ("2014", "14"), ("41", "14"), ("100m", "100 million"),
    ("5 m", "5 million"), ("5 m", "5,000,000"), ("$4m", "$4bn"), ("340m euros", "340 euros"), ("3-1", "1-3"),
    ("8.30pm", "8.30am"), ("8.30pm", "8.13pm"), ("8.5", "8:50"), ("1990s", "1990"), ("the '90s", "90"),
    ("her 90s", "the 1990s"), ("the 80s", "the 90s"), ("a third of", "three of"), ("a third man", "a third of men"),
    ("two thirds", "a third of"), ("twice", "thrice"), ("twice", "once"), ("8th", "18th"), ("twenty-first", "first"),
    ("15 , 000", "15 , 0"), ("100 , 200", "100,200"), ("May 5 , 200 men", "May 5,200 men"), ("2 . 5 men", "2.5 men"),
    ("1 , 2 , 300", "1 , 2,300"), ("half a million", "a million"), ("G20", "20"),
    ("two third places", "two thirds places"),
    ("14 percentage points", "14 percent points"), ("first", "second"), ("thirty", "thirteen"), ("10-15", "1015"),
]  # fmt: skip


def _keys(text):
    """Return the keys of content words, numbers and currencies."""
    found = analyse(text)
    return [w.key for w in found if w.content or w.key == "#1" or not w.key.isalpha() or w.key in ("dollar", "pound")]


@together("one, other", EQUAL)
def test_equal_numbers_in_different_forms(one, other):
    assert _keys(one) == _keys(other)
    assert [n.value for n in numbers(one)] == [n.value for n in numbers(other)]


@together("one, other", DIFFERENT)
def test_similar_texts_with_different_numbers(one, other):
    assert _keys(one) != _keys(other)


def test_one_matches_1_but_is_a_function_word():
    assert [w.key for w in analyse("one man")] == [w.key for w in analyse("1 man")] == ["#1", "man"]
    assert [w.content for w in analyse("one of them")] == [False, False, False]


def test_a_currency_sign_matches_its_name_but_is_a_function_word():
    sign, name = analyse("£10"), analyse("10 pounds")
    assert [(w.key, w.content) for w in sign] == [("pound", False), ("#10", True)]
    assert [(w.key, w.content) for w in name] == [("#10", True), ("pound", True)]


@given(st.integers(10, 999), st.sampled_from([("thousand", "k", 1e3), ("million", "m", 1e6), ("billion", "bn", 1e9)]))
def test_a_value_is_the_same_in_every_form(value, scale):
    word, letter, factor = scale
    whole = int(value * factor)
    grouped = f"{whole:,}"
    forms = (f"£{value}{letter}", f"£ {value} {letter}", f"£{value} {word}", f"£{grouped}", f"£{whole}",
             f"£{value}-{word}", f"£{grouped.replace(',', ' , ')}", f"{value}{letter} pounds",
             f"{value} {word} pounds")  # fmt: skip
    for form in forms:
        assert [(n.value, n.kind) for n in numbers(f"it cost {form} then")] == [(whole, "currency")], form


@given(st.integers(0, 10_000), st.sampled_from(["%", " %", " per cent", " percent", "-percent", "pc", " pct"]))
def test_a_percentage_is_the_same_in_every_form(tenths, sign):
    value = tenths / 10
    assert [(n.value, n.kind) for n in numbers(f"up {value}{sign} then")] == [(value, "percent")]
    assert [w.key for w in analyse(f"up {value}{sign}")] == [w.key for w in analyse(f"up {value}%")]


_TEXT = """
    a the one two third thirds first twenty - , . 1 000 15 $ £ m k bn % per cent and half dozen million 's '90 90 s
    nineties pm p.m. : 30 / of times twice st nd th May ٣ ２ é
"""
_PIECES = st.sampled_from([*_TEXT.split(), " ", "\u00a0", "\n"])


_JOINED = st.lists(st.tuples(_PIECES, st.sampled_from(["", " ", "-"])).map("".join), max_size=14).map("".join)


@given(st.text() | _JOINED)
def test_numbers_and_words_have_valid_spans_in_order(text):
    for found in (numbers(text), analyse(text)):
        assert all(0 <= one.start < one.end <= len(text) for one in found)
        assert all(a.end <= b.start for a, b in pairwise(found))
    assert all(word.key for word in analyse(text))


LONG = (
    "hundred " * 200,
    "million " * 100,
    "9" * 400,
    "9" * 20_000,
    "1," + "000," * 300 + "000",
    "-" + "7" * 5000 + "%",
    "a hundred thousand million billion trillion " * 20,
    "$" + "8" * 400 + " million",
    "1" * 5000 + "." + "2" * 5000,
    "٣" * 500,
    "1e400",
    "twenty " * 200,
    "one hundred and " * 100,
    "3" * 400 + "/" + "7" * 400,
    "half a " + "million " * 80,
)


@together("text", LONG)
def test_very_long_numbers(text):
    assert all(math.isfinite(number.value) for number in numbers(text))
    evidence = index_text(f"The price was {text} in May.", [(0, len(text) + 22)])
    for claim in (f"The price was {text} in May.", f"The price was {text[:-1]} in June.", text):
        assert LexicalScorer().score([claim], evidence)[0].reasons


def test_digits_too_large_for_a_float_are_compared_as_text():
    long = "7" * 400
    evidence = index_text(f"The code is {long}1.", [(0, 414)])
    right, wrong = LexicalScorer().score([f"The code is {long}1.", f"The code is {long}2."], evidence)
    assert right.supported
    assert right.reasons == ("copied word for word from here",)
    assert not wrong.supported
    assert "2' is not in the source" in wrong.reasons[0]
