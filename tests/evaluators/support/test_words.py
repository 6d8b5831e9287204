import pytest
from together import together

from summeter.evaluators.support.words import FUNCTION_WORDS, analyse, irregular, stem

FORMS = """
    move moves moved moving; run runs ran running; study studies studied studying; agree agrees agreed agreeing
    make makes made making; class classes; man men; stop stops stopped stopping; miss misses missed missing
    quick quickly; say says said saying
"""


@together("forms", FORMS.strip().replace("\n", ";").split(";"))
def test_forms_of_one_word_share_a_stem(forms):
    assert len({stem(form) for form in forms.split()}) == 1


@pytest.mark.parametrize("words", ["king kin", "bus bu", "thing th", "news new", "was wa", "bring br"])
def test_words_that_only_look_inflected_are_unchanged(words):
    first, second = words.split()
    assert first == "news" or stem(first) != second


def test_irregular_forms_are_single_words():
    assert all(form.isalpha() and base.isalpha() and form not in FUNCTION_WORDS for form, base in irregular().items())


def test_negations():
    for text in ("They didn't pay.", "they did n't pay", "They did not pay", "They never pay", "they can’t pay"):
        assert sum(word.negation for word in analyse(text)) == 1, text
    assert not any(word.negation for word in analyse("Mr T paid; the t-shirt is on."))


def test_may_is_a_month_in_context():
    def content(text):
        return [word.key for word in analyse(text) if word.content]

    assert content("It may be in May.") == ["may"]
    assert content("in may it may") == ["may"]
    assert content("may 5") == ["may", "#5"]
