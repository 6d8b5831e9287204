"""Mentions replaced by what they stand for: as it should be, and as the released code does it."""

from __future__ import annotations

from summeter.evaluators.fenice.coref import legacy_versions, versions

TEXT = "Simone Biles won. Her coach saw her there."
BILES, HER, HER_AGAIN = (0, 12), (18, 21), (32, 35)
SENTENCE = (18, 42)


def texts(found: list) -> list[str]:  # type: ignore[type-arg]
    return [one.text for one in found]


def test_one_mention_at_a_time_is_replaced_by_a_name() -> None:
    found = versions(TEXT, SENTENCE, [[BILES, HER, HER_AGAIN]])
    # "her" may be either case: it is replaced as it stands. Never both at once.
    assert texts(found) == ["Simone Biles coach saw her there.", "Her coach saw Simone Biles there."]
    assert (found[0].read, found[0].as_, found[0].at) == ("Her", "Simone Biles", BILES)


def test_a_possessive_is_replaced_by_a_possessive() -> None:
    text = "Ana's boat sank. Its crew saw his dog."
    assert texts(versions(text, (17, 38), [[(0, 10), (17, 20)]])) == ["Ana's boat's crew saw his dog."]
    # The genitive mention "Ana's" stands for "his" as it is, and for a bare pronoun without its ending.
    assert texts(versions(text, (17, 38), [[(0, 5), (30, 33)]])) == ["Its crew saw Ana's dog."]
    text = "Ana's boat sank. She wept."
    assert texts(versions(text, (17, 26), [[(0, 5), (17, 20)]])) == ["Ana wept."]


def test_pronouns_and_the_same_name_replace_nothing() -> None:
    assert versions(TEXT, SENTENCE, [[HER, HER_AGAIN]]) == []
    assert versions("Ana ran. ANA won.", (9, 17), [[(0, 3), (9, 12)]]) == []
    assert versions(TEXT, SENTENCE, []) == []


def test_a_mention_that_ends_with_the_sentence_counts() -> None:
    text = "Ana ran. Bo saw her"
    assert texts(versions(text, (9, 19), [[(0, 3), (16, 19)]])) == ["Bo saw Ana"]


class TestReleased:
    """methods of the released code, each measured on it."""

    def test_a_mention_that_ends_with_the_sentence_is_missed(self) -> None:
        text = "Ana ran. Bo saw her"
        assert legacy_versions(text, "Bo saw her", [[(0, 3), (16, 19)]]) == []
        # A full stop behind it is enough for it to count.
        assert texts(legacy_versions(text + ".", "Bo saw her.", [[(0, 3), (16, 19)]])) == ["Bo saw Ana."]

    def test_a_possessive_is_not_made_one(self) -> None:
        text = "Ana ran. Bo saw his dog."
        assert texts(legacy_versions(text, "Bo saw his dog.", [[(0, 3), (16, 19)]])) == ["Bo saw Ana dog."]

    def test_the_sentence_is_looked_for_by_its_text(self) -> None:
        # The same sentence twice: the second one's mention is never found, the first one's is.
        text = "She ran. Ana won. She ran."
        assert legacy_versions(text, "She ran.", [[(9, 12), (18, 21)]]) == []
        assert texts(legacy_versions(text, "She ran.", [[(0, 3), (9, 12)]])) == ["Ana ran."]
        assert texts(versions(text, (18, 26), [[(9, 12), (18, 21)]])) == ["Ana ran."]

    def test_the_first_occurrence_from_the_mention_on_is_replaced_once(self) -> None:
        text = "Ana ran. He saw her, and her dog."
        found = legacy_versions(text, "He saw her, and her dog.", [[(0, 3), (16, 19), (25, 28)]])
        assert texts(found) == ["He saw Ana, and her dog.", "He saw her, and Ana dog."]

    def test_capitals_alone_make_another_mention(self) -> None:
        text = "Ana ran. ANA won."
        assert texts(legacy_versions(text, "ANA won.", [[(0, 3), (9, 12)]])) == ["Ana won."]
