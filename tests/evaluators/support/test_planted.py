"""Tests of the labels of planted errors and of their correct versions, and of spelling variants."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
import yaml

from summeter.evaluators.support.scorer import LexicalScorer
from summeter.evaluators.support.words import index_text
from summeter.text.split import split

SCORER = LexicalScorer()
DATA = yaml.safe_load((Path(__file__).parent / "planted.yaml").read_text("utf-8"))


def test_planted_errors_are_unsupported_and_correct_versions_are_supported() -> None:
    true_positives, false_positives = Counter[bool](), Counter[bool]()
    for source, _, sound, wrong, paraphrased in DATA["pairs"]:
        text = DATA["sources"][source]
        faithful, planted = SCORER.score([sound, wrong], index_text(text, split(text)))
        true_positives[paraphrased] += not planted.supported
        false_positives[paraphrased] += not faithful.supported
    # The scorer does not recognise paraphrases, so nearly half of the reworded correct sentences are false alarms.
    assert true_positives[False] >= 13
    assert true_positives[True] >= 12
    assert false_positives[False] == 0
    assert false_positives[True] <= 10


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
def test_spelling_variants_are_not_reported_as_missing(text: str, claim: str) -> None:
    (verdict,) = SCORER.score([claim], index_text(text, split(text)))
    assert not any(re.search(r"is not in|no support", reason) for reason in verdict.reasons), verdict.reasons


def test_us_does_not_match_the_country() -> None:
    text = "They told us to wait in Mali."
    (verdict,) = SCORER.score(["The U.S. waited in Mali."], index_text(text, split(text)))
    assert any("not in the source" in reason or "no support" in reason for reason in verdict.reasons)
