"""Planted errors beside their faithful twins, and reasons that never state a fault where the source has it."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from evaluators.support.planted import PLANTED, SOURCES, Planted

from summeter.evaluators.support.scorer import LexicalScorer, Support
from summeter.text.split import split

SCORER = LexicalScorer()
KINDS = {"role", "time", "cause", "quantity", "negation", "speaker", "entity"}


def verdicts(pair: Planted) -> list[Support]:
    text = SOURCES[pair.source]
    return SCORER.score([pair.faithful, pair.wrong], SCORER.prepare(text, split(text)))


def test_half_of_the_errors_are_in_other_words_and_every_kind_is_there() -> None:
    assert len(PLANTED) == 40
    assert sum(pair.paraphrased for pair in PLANTED) == 20
    assert {pair.kind for pair in PLANTED} == KINDS


def test_planted_errors_are_unsupported_and_their_twins_are_not() -> None:
    caught, alarms = Counter[bool](), Counter[bool]()
    for pair in PLANTED:
        faithful, wrong = verdicts(pair)
        caught[pair.paraphrased] += not wrong.supported
        alarms[pair.paraphrased] += not faithful.supported
    # Words know no paraphrase: nearly half of the reworded twins are alarms.
    assert caught[False] >= 13
    assert caught[True] >= 12
    assert alarms[False] == 0
    assert alarms[True] <= 10


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("The US sent aid to Mali.", "The U.S. sent aid to Mali."),
        ("The U.N. met in Geneva.", "The UN met in Geneva."),
        ("She read the e-mail on Monday.", "She read the email on Monday."),
        ("Email was down on Monday.", "E-mail was down on Monday."),
        ("The cooperation ended.", "The co-operation ended."),
        ("The code X-200 failed.", "The code X200 failed."),
    ],
)
def test_no_fault_is_stated_where_the_source_has_it(text: str, claim: str) -> None:
    (verdict,) = SCORER.score([claim], SCORER.prepare(text, split(text)))
    assert not any(re.search(r"is not in|no support", reason) for reason in verdict.reasons), verdict.reasons


def test_the_pronoun_is_not_the_country() -> None:
    text = "They told us to wait in Mali."
    (verdict,) = SCORER.score(["The U.S. waited in Mali."], SCORER.prepare(text, split(text)))
    assert any("not in the source" in reason or "no support" in reason for reason in verdict.reasons)
