"""Labels and reasons of the sentences of `planted.yaml` and `explained.yaml`: errors, false alarms and quotations."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import NamedTuple

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from together import together

from summeter.evaluators.support.checks import CAUTION, MAX_REASON_LENGTH, MAX_REASONS, compare
from summeter.evaluators.support.scorer import ClaimSupport, LexicalScorer
from summeter.evaluators.support.words import Evidence, analyse, index_text
from summeter.text.split import split


class Case(NamedTuple):
    """A sentence with its source. The first reason must contain the texts in `expected`."""

    source: str
    kind: str
    claim: str
    expected: tuple[str, ...]


DATA, PLANTED = (
    yaml.safe_load((Path(__file__).parent / name).read_text("utf-8")) for name in ("explained.yaml", "planted.yaml")
)
TEXTS = DATA["sources"]
CASES = {name: [Case(*row[:3], tuple(row[3:])) for row in rows] for name, rows in DATA.items() if name != "sources"}
SOUND = CASES["sound"]
WRONG = [case for name, cases in CASES.items() if name != "sound" for case in cases]
SCORER = LexicalScorer("source")


@cache
def evidence_of(source: str) -> Evidence:
    return index_text(TEXTS[source], split(TEXTS[source]))


def support_of(case: Case) -> ClaimSupport:
    return SCORER.score([case.claim], evidence_of(case.source))[0]


def kinds(claim: str, evidence: Evidence) -> set[str]:
    return {finding.kind for finding in compare(claim, analyse(claim), evidence, "source").findings}


def names_error_first(case: Case) -> bool:
    first = support_of(case).reasons[0].casefold()
    return all(text.casefold() in first for text in case.expected)


def test_planted_errors_are_unsupported_and_correct_versions_are_supported() -> None:
    true_positives, false_positives = Counter[bool](), Counter[bool]()
    for source, _, sound, wrong, paraphrased in PLANTED["pairs"]:
        text = PLANTED["sources"][source]
        faithful, planted = SCORER.score([sound, wrong], index_text(text, split(text)))
        true_positives[paraphrased] += not planted.supported
        false_positives[paraphrased] += not faithful.supported
    # The scorer does not recognise paraphrases, so nearly half of the reworded correct sentences are false alarms.
    assert true_positives[False] >= 13
    assert true_positives[True] >= 12
    assert false_positives[False] == 0
    assert false_positives[True] <= 10


def test_the_first_reason_names_the_planted_error() -> None:
    # No check finds the other errors, which concern roles, units, quantifiers and moods.
    least = {"planted": 57, "later planted": 30, "copied": 21, "reworded": 18}
    named = {name: sum(map(names_error_first, CASES[name])) for name in least}
    assert [name for name in least if named[name] < least[name]] == []


@together("case", SOUND)
def test_faithful_sentences_have_no_conflicts(case: Case) -> None:
    conflicts = {"number", "negation", "opposite", "name"}
    assert not kinds(case.claim, evidence_of(case.source)) & conflicts


@together("case", [*WRONG, *SOUND])
def test_reasons_are_short_and_quote_the_texts(case: Case) -> None:
    found = support_of(case)
    assert 1 <= len(found.reasons) <= MAX_REASONS
    assert len(set(found.reasons)) == len(found.reasons)
    texts = " ".join(f"{TEXTS[case.source]} {case.claim}".split())
    for reason in found.reasons:
        assert len(reason) <= MAX_REASON_LENGTH
        assert "None" not in reason
        for quoted in re.findall(r"(?<!\w)'([^']+)'(?!\w)", reason):
            assert all(piece.strip() in texts for piece in quoted.split("…")), quoted


@together("case", WRONG)
def test_unsupported_sentences_have_a_quotation_and_supported_ones_only_cautions(case: Case) -> None:
    found = support_of(case)
    if found.supported:
        assert all(reason.startswith(CAUTION) for reason in found.reasons[:-1])
        assert not found.reasons[-1].startswith(CAUTION)
    else:
        assert re.search(r"'[^']+'|\d", found.reasons[0])
        assert not any(reason.startswith(CAUTION) for reason in found.reasons)


def test_reasons_for_key_facts_name_the_summary() -> None:
    text = "Rain flooded Marlow on Tuesday. Twelve people were hurt."
    evidence = index_text(text, split(text))
    scorer = LexicalScorer("summary")
    wrong, absent = scorer.score(["Rain flooded Marlow on Friday.", "The mayor thanked volunteers."], evidence)
    assert wrong.reasons[0] == "'Friday' is not in the summary; nearest: 'Tuesday'"
    assert absent.reasons[0] == "'mayor thanked volunteers' has no support in the summary"


WORDS = st.sampled_from(
    (
        "All", "some", "may", "will", "not", "never", "no", "Ann", "Bob", "paid", "pay", "3", "4%", "$4", "May", "June",
        "before", "after", "because", "she", "he", "rose", "fell", ".", ",", "?", ":", "\n", "é", "桥",
    )
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=14), st.lists(WORDS, min_size=1, max_size=20))
def test_random_words_have_reasons(claim: list[str], text: list[str]) -> None:
    sentence, source = " ".join(claim), " ".join(text)
    (found,) = SCORER.score([sentence], index_text(source, split(source)))
    assert 1 <= len(found.reasons) <= MAX_REASONS
    assert all(reason and len(reason) <= MAX_REASON_LENGTH for reason in found.reasons)


@settings(max_examples=200, deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=14))
def test_a_text_has_no_findings_against_itself(words: list[str]) -> None:
    text = " ".join(words)
    if any(word.content for word in analyse(text)):
        assert kinds(text, index_text(text, [(0, len(text))])) == set()
