"""Warnings about settings without effect."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from annotate import campaigns as made

from summeter.annotate.campaign.build import warnings_of

TWO = {"name": "local", "accounts": ["anna", "ben"]}
NONE: dict[str, Any] = {"attention": {"rate": 0}}
FREE = {"name": "free", "question": "Well?", "type": "text", "longest": 2000}
UNUSED: dict[str, Any] = {
    **NONE, "aspects": [{"name": "style", "scale": {"high": 3}}], "scale": {"high": 7}, "best": False,
    "error_types": ["odd"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        # Twelve sentences, and at a rate of .2 three checks; a campaign of this size meets them all.
        ({"attention": {"judge_after": 3}}, []),
        ({}, ["an annotator sees at most about 3.0 attention checks, but attention.judge_after requires 4"]),
        ({"attention": {"rate": 0.5}, "batch": {"size": 1, "per_annotator": 2}, "answers_per_item": 1},
         ["batch.per_annotator allows 4 accounts to give 8 answers", "an annotator sees at most about 2.0"]),
        ({**NONE, "pay": {"per_batch": 1, "bonus": {"amount": 1}}}, ["every annotator who"]),
        ({**NONE, "platform": {"name": "local"}}, ["has no accounts"]),
        ({**NONE, "platform": TWO}, ["2 accounts cannot give 3 answers to a task"]),
        ({**NONE, "platform": TWO, "answers_per_item": 2}, []),
        ({**NONE, "platform": {"name": "prolific"}}, []),
        ({**NONE, "task_type": "rating", "assistance": {"hide_for": 0.5}}, ["no task has assist"]),
        ({"attention": {"judge_after": 1}, "task_type": "key_fact_alignment", "language": "de"}, ["are in English"]),
        ({"attention": {"judge_after": 1, "foreign_sentence": "Nein.", "paraphrases": ["Es heißt: {}"]},
          "task_type": "key_fact_alignment", "language": "de"}, []),
        ({**NONE, "task_type": "rating", "systems": 9, "questions": [FREE]}, ["total of 18,000 characters"]),
        ({**NONE, "task_type": "rating", "systems": 9, "questions": [{**FREE, "longest": 1500}]}, []),
        ({**UNUSED, "task_type": "rating"}, ["error_types: rating does not use"]),
        ({**UNUSED, "task_type": "pairwise"},
         ["scale: pairwise does not", "best: pairwise", "error_types: pairwise", "aspects: pairwise has no scales"]),
        (UNUSED, ["aspects: fact_verification", "scale: fact", "best: fact", "aspects: fact_verification has no"]),
    ],
)  # fmt: skip
def test_warnings_of_new_campaigns(plan: dict[str, Any], said: list[str], tmp_path: Path) -> None:
    data = made.rows(systems=plan.get("systems", 2))
    fields = {name: value for name, value in plan.items() if name != "systems"}
    found = list(warnings_of(made.make(tmp_path, data, **fields)))
    assert len(found) == len(said)
    assert all(part in one for part, one in zip(said, found, strict=True))
