"""Planted errors beside their faithful twins, and reasons that never state a fault where the source has it."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
import yaml

from summeter.evaluators.support.scorer import LexicalScorer
from summeter.text.split import split

SCORER = LexicalScorer()
DATA = yaml.safe_load((Path(__file__).parent / "planted.yaml").read_text("utf-8"))


def test_planted_errors_are_unsupported_and_their_twins_are_not() -> None:
    caught, alarms = Counter[bool](), Counter[bool]()
    for source, _, sound, wrong, paraphrased in DATA["pairs"]:
        text = DATA["sources"][source]
        faithful, planted = SCORER.score([sound, wrong], SCORER.prepare(text, split(text)))
        caught[paraphrased] += not planted.supported
        alarms[paraphrased] += not faithful.supported
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
