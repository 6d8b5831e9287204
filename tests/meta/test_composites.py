"""Composites: runs and all studies compute the same values."""

from __future__ import annotations

from typing import Any

import pytest

from summeter.choices import Level
from summeter.meta import correlate
from summeter.meta.inputs import judge_input
from summeter.records import Judgment, Target, UsageError
from summeter.scoring import summary_scores

ASPECTS = {"faithfulness": "finesure.fact_check", "completeness": "finesure.align", "conciseness": "finesure.align"}
ITEMS = [(f"d{i}", system) for i in range(4) for system in "AB"]


def finesure(models: dict[str, str], repeat: int | None = None, **more: Any) -> list[Judgment]:
    """Return a share for each summary and aspect, by models of the fact check and of the alignment."""
    rows = []
    for aspect, judge in ASPECTS.items():
        asked = f"|judge:{models[judge]}|t:0" + (f"|rep:{repeat}" if repeat else "")
        for place, (document, system) in enumerate(ITEMS):
            value = ((place * 7 + len(aspect) + (repeat or 0)) % 5) / 4
            target = Target(document_id=document, system=system)
            fields = {"aspect": aspect, "judge": judge, "signature": f"{judge}{asked}|v:1", "value": value, **more}
            rows.append(Judgment(target=target, **fields))
    return rows


def composites(judgments: list[Judgment]) -> dict[tuple[str, str, str, str], float | None]:
    """Return the composites of the scores by family, signature, document and system."""
    scores = [one for one in summary_scores(judgments, {}) if one.aspect == "composite"]
    expected = {(one.judge, one.signature, one.doc_id, one.system): one.value for one in scores}
    read = judge_input(judgments)
    found = {}
    for question in read.questions("composite"):
        made = read.scores(question, Level.SUMMARY)
        rows = zip(made.units.document.labels(), made.units.system.labels(), made.value.tolist(), strict=True)
        found |= {(*question[:2], document, system): value for document, system, value in rows}
    assert found == expected
    return expected


def people() -> list[Judgment]:
    return [
        Judgment(
            target=Target(document_id=document, system=system), aspect=aspect, judge="people",
            signature="human.overall|v:1", value=float((place + len(aspect)) % 3),
        )
        for aspect in ASPECTS
        for place, (document, system) in enumerate(ITEMS)
    ]  # fmt: skip


def studied(judgments: list[Judgment]) -> set[str | None]:
    study = correlate(judgments, people(), aspect="composite")
    return {row.signature for row in study}


ONE = dict.fromkeys(ASPECTS.values(), "openai/m")
TWO = {"finesure.fact_check": "openai/m", "finesure.align": "openai/n"}


def test_each_repeat_has_a_composite() -> None:
    rows = [*finesure(ONE, 1), *finesure(ONE, 2)]
    signatures = {signature for _, signature, _, _ in composites(rows)}
    assert len(signatures) == 2
    assert studied(rows) == signatures


def test_aspects_asked_of_two_models_have_none() -> None:
    assert composites(finesure(TWO)) == {}
    with pytest.raises(UsageError, match="the judges have no 'composite'"):
        studied(finesure(TWO))


def test_two_models_in_one_run_have_one_composite_each() -> None:
    other = dict.fromkeys(ASPECTS.values(), "openai/n")
    assert len({signature for _, signature, _, _ in composites([*finesure(ONE), *finesure(other)])}) == 2


def test_ratings_have_none() -> None:
    rows = [one.model_copy(update={"signature": f"{one.signature}|scale:1-5"}) for one in finesure(ONE)]
    assert composites(rows) == {}


def test_composite_family_is_the_name_before_the_dot() -> None:
    rows = [one.model_copy(update={"judge": "mine.v2", "signature": "mine.v2|v:1"}) for one in finesure(ONE)]
    assert {family for family, _, _, _ in composites(rows)} == {"mine"}
