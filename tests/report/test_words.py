"""Aspects and verdicts in words."""

from __future__ import annotations

import pytest

from summeter.records import Judgment, Target
from summeter.report.words import reasons, style_of, verdict


def judged(aspect: str = "faithfulness", **fields: object) -> Judgment:
    return Judgment.model_validate(
        {"target": Target(document_id="d", system="s"), "aspect": aspect, "judge": "j", "signature": "j|v:1"} | fields
    )


@pytest.mark.parametrize(
    ("fields", "words", "style"),
    [
        ({"label": 1, "value": 0.97, "error_type": "no error"}, "supported 0.97", "good"),
        ({"label": 1, "value": 1.0}, "supported", "good"),
        ({"label": 0, "value": 0.12}, "unsupported 0.12", "bad"),
        ({"label": 0, "error_type": "entity error"}, "entity error", "bad"),
        ({"label": 0, "error_type": "no error"}, "unsupported", "bad"),
        ({"label": "No error"}, "No error", "good"),
        ({"label": "OutE"}, "OutE", "bad"),
        ({"value": 3.5}, "3.50", "plain"),
        ({"status": "unparsed", "reason": "cut off"}, "not judged: unparsed", "none"),
        ({"aspect": "completeness", "label": 1}, "covered", "good"),
        ({"aspect": "completeness", "label": 0}, "missing", "bad"),
        ({"aspect": "conciseness", "label": 0}, "padding", "pad"),
        ({"aspect": "conciseness", "label": 1}, "conveys a key fact", "good"),
    ],
)
def test_verdicts_in_words_and_styles(fields: dict[str, object], words: str, style: str) -> None:
    one = judged(**fields)
    assert verdict(one) == words
    assert style_of(one.status, one.label, one.aspect) == style


@pytest.mark.parametrize(
    ("reason", "parts"),
    [
        (None, ()),
        ("'41' is not in the source; nearest: '14'", ("'41' is not in the source; nearest: '14'",)),
        (
            "caution: 'shut' is not in the source; nearest: 'close'; the other content words found here",
            ("caution: 'shut' is not in the source; nearest: 'close'", "the other content words found here"),
        ),
        (
            "carries no key fact; nearest: 2 (It rained; it snowed.)",
            ("carries no key fact; nearest: 2 (It rained; it snowed.)",),
        ),
        (
            "no passage entails it; nearest: a passage (entailment 0.10); 'Rome' is not in the source",
            ("no passage entails it; nearest: a passage (entailment 0.10)", "'Rome' is not in the source"),
        ),
    ],
)
def test_joined_reasons_are_split(reason: str | None, parts: tuple[str, ...]) -> None:
    assert reasons(judged(label=0, reason=reason)) == parts


def test_reasons_by_a_model_or_imported_are_not_split() -> None:
    prose = "It says 41; the source says 14."
    assert reasons(judged(label=0, reason=prose, calls=["a1"])) == (prose,)
    assert reasons(judged(label=0, reason=prose), prose=True) == (prose,)
