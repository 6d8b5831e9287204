import unicodedata
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score import tokenizers

from summeter.text.ngrams import matched, ngrams, words
from summeter.text.spans import TextSpan


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_ascii_words_equal_the_rouge_package(text):
    tokenizer = tokenizers.DefaultTokenizer(use_stemmer=False)
    assert [t.text for t in words(text)] == tokenizer.tokenize(text)


@given(st.text())
def test_offsets_slice_back_to_the_word(text):
    found = words(text)
    assert all(0 <= t.start < t.end <= len(text) and t.text for t in found)
    assert all(a.end <= b.start for a, b in pairwise(found))
    for token in found:
        again = "".join(t.text for t in words(text[token.start : token.end]))
        assert again == token.text


SCRIPTS = {
    "Latin": ("Der Bär schläft.", 3),
    "Cyrillic": ("Медведь спит зимой.", 3),
    "Greek": ("Η αρκούδα κοιμάται.", 3),
    "Arabic": ("الدُّبُّ يَنامُ شتاءً.", 3),  # vowel marks stay inside the word
    "Hebrew": ("הַדֹּב יָשֵׁן בחורף.", 3),
    "Devanagari": ("भालू सर्दियों में सोता है।", 5),  # matras stay inside the word
    "Hangul": ("곰은 겨울에 잔다.", 3),
    "Han": ("熊在冬天睡觉。", 6),
    "Thai": ("หมีนอน", 5),  # ห ม+ี น อ น
    "Kana": ("クマはガ", 4),
}


@pytest.mark.parametrize(("text", "count"), SCRIPTS.values(), ids=SCRIPTS)
def test_words_by_script(text, count):
    composed, decomposed = ([t.text for t in words(unicodedata.normalize(form, text))] for form in ("NFC", "NFD"))
    assert composed == decomposed
    assert len(composed) == count


def test_compatibility_forms_fold_but_offsets_stay():
    assert words("oﬃce ＡＢ") == [TextSpan("office", 0, 4), TextSpan("ab", 5, 7)]
    assert [t.text for t in words("ｶﾞｽ")] == ["ガ", "ス"]


def test_emoji_are_no_words_and_split_nothing():
    assert words("👩‍👩‍👧 ok 👍🏽") == [TextSpan("ok", 6, 8)]
    assert words("🎉 🎉") == []
    assert [t.text for t in words("3️⃣ wins")] == ["3", "wins"]


def test_joiners_inside_a_word_are_dropped_from_its_text():
    assert words("می\u200cخواهم") == [TextSpan("میخواهم", 0, 8)]
    assert words("co\u00adop\u200b") == [TextSpan("coop", 0, 5)]


def test_ngrams_are_a_multiset():
    # a b, b a, a b
    assert ngrams(["a", "b", "a", "b"], 2) == Counter({("a", "b"): 2, ("b", "a"): 1})
    assert ngrams(words("one"), 2) == Counter()
    with pytest.raises(ValueError, match="at least 1"):
        ngrams(["a"], 0)


def test_matches_are_clipped():
    # min(3, 1) for a, min(1, 2) for b
    assert matched(ngrams(["a", "a", "a", "b"], 1), ngrams(["a", "b", "b"], 1)) == 2
