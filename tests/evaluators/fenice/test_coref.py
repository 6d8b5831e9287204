"""Mentions replaced by their antecedents, correctly and as in the released code."""

from __future__ import annotations

from summeter.evaluators.fenice.coref import legacy_versions, versions
from summeter.text.spans import TextSpan

TEXT = "Simone Biles won. Her coach saw her there."
BILES, HER, HER_AGAIN = (0, 12), (18, 21), (32, 35)
SENTENCE = TextSpan.of(TEXT, 18, 42)


def released(text: str, sentence: str, clusters: list) -> list:  # type: ignore[type-arg]
    start = text.index(sentence)
    return legacy_versions(text, TextSpan(sentence, start, start + len(sentence)), clusters)


def texts(found: list) -> list[str]:  # type: ignore[type-arg]
    return [one.text for one in found]


def test_one_mention_is_replaced_at_a_time() -> None:
    found = versions(TEXT, SENTENCE, [[BILES, HER, HER_AGAIN]])
    # "her" is ambiguous in case, so it is replaced unchanged. Only one mention is replaced at a time.
    assert texts(found) == ["Simone Biles coach saw her there.", "Her coach saw Simone Biles there."]
    assert (found[0].mention, found[0].replacement, found[0].antecedent.offsets) == ("Her", "Simone Biles", BILES)


def test_a_possessive_is_replaced_by_a_possessive() -> None:
    text = "Ana's boat sank. Its crew saw his dog."
    assert texts(versions(text, TextSpan.of(text, 17, 38), [[(0, 10), (17, 20)]])) == ["Ana's boat's crew saw his dog."]
    # The genitive mention "Ana's" replaces "his" unchanged, and other pronouns without its ending.
    assert texts(versions(text, TextSpan.of(text, 17, 38), [[(0, 5), (30, 33)]])) == ["Its crew saw Ana's dog."]
    text = "Ana's boat sank. She wept."
    assert texts(versions(text, TextSpan.of(text, 17, 26), [[(0, 5), (17, 20)]])) == ["Ana wept."]


def test_a_mention_that_ends_with_the_sentence_counts() -> None:
    text = "Ana ran. Bo saw her"
    assert texts(versions(text, TextSpan.of(text, 9, 19), [[(0, 3), (16, 19)]])) == ["Bo saw Ana"]


class TestReleased:
    """Functions of the released code; the expected values were computed by it."""

    def test_a_mention_that_ends_with_the_sentence_is_missed(self) -> None:
        text = "Ana ran. Bo saw her"
        assert released(text, "Bo saw her", [[(0, 3), (16, 19)]]) == []
        # A full stop after it is enough for it to count.
        assert texts(released(text + ".", "Bo saw her.", [[(0, 3), (16, 19)]])) == ["Bo saw Ana."]

    def test_mentions_of_the_sentence_replace_nothing(self) -> None:
        text = "Ana ran. Bo said she won."
        assert released(text, "Bo said she won.", [[(9, 11), (17, 20)]]) == []
        assert texts(versions(text, TextSpan.of(text, 9, 25), [[(9, 11), (17, 20)]])) == ["Bo said Bo won."]

    def test_the_first_occurrence_from_the_mention_on_is_replaced_once(self) -> None:
        text = "Ana ran. He saw her, and her dog."
        found = released(text, "He saw her, and her dog.", [[(0, 3), (16, 19), (25, 28)]])
        assert texts(found) == ["He saw Ana, and her dog.", "He saw her, and Ana dog."]
