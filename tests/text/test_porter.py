"""The Porter stemmer equals NLTK's."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.stem.porter import PorterStemmer

from summeter.text.porter import stem

ENDINGS = """
    s sses ss ies ied y ly e ed eed ing ational tional enci anci izer bli abli alli entli eli ousli
    ization ation ator alism iveness fulness ousness aliti iviti biliti fulli logi icate ative alize
    iciti ical ful ness al ance ence er ic able ible ant ement ment ent ion sion tion ou ism ate iti
    ous ive ize ll ally ully ings eds
"""
ROOTS = """
    a by cat hop hopp fil fizz fall tann agre caress pon tie die ski happ enjoy relat condition ration valenc
    digit conform radic differen vil analog theo geo vietnam predic oper feud decis hope call formal sensit
    sensib triplic form electr good reviv allow inferen airlin gyrosc adjust defens irrit replac adopt homolog
    commun activ angular effect bowdler prob rat ceas control roll yell syzygy toy stay yy oy eye 1990 3d
    trial alli fulfil mulch wow box snow employ generaliz oscillat multidimension char pre sky new proc exc
"""
IRREGULAR = "sky skies dying lying tying news innings inning outings cannings howe proceed exceed succeed proceeds"


def test_equal_to_nltk_on_more_than_twenty_thousand_forms() -> None:
    reference = PorterStemmer()
    roots, endings = ROOTS.split(), ENDINGS.split()
    one = {root + end for root, end in itertools.product(roots, ["", *endings])}
    two = {root + first + end for root, first, end in itertools.product(roots[::2], endings[::3], endings[::2])}
    forms = one | two | set(IRREGULAR.split())
    assert len(forms) > 20_000
    assert [form for form in sorted(forms) if stem(form) != reference.stem(form)] == []


@given(st.text("abcdefghilmnorstuvyz", max_size=6), st.lists(st.sampled_from(ENDINGS.split()), max_size=3))
def test_equal_to_nltk_on_invented_words(root: str, endings: list[str]) -> None:
    word = root + "".join(endings)
    assert stem(word) == PorterStemmer().stem(word)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        # Examples of Porter (1980)
        *[("caresses", "caress"), ("ponies", "poni"), ("cats", "cat"), ("feed", "feed"), ("agreed", "agre")],
        *[("plastered", "plaster"), ("motoring", "motor"), ("sing", "sing"), ("hopping", "hop"), ("falling", "fall")],
        *[("relational", "relat"), ("triplicate", "triplic"), ("revival", "reviv"), ("controll", "control")],
        # NLTK's extensions
        *[("dies", "die"), ("died", "die"), ("skies", "sky"), ("enjoy", "enjoy"), ("by", "by"), ("happily", "happili")],
        ("", ""),
    ],
)
def test_known_stems(word: str, expected: str) -> None:
    assert stem(word) == expected
