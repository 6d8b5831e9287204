"""What is said of a new campaign that will not go as it seems to be meant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from annotate import campaigns as made

from summeter.annotate.campaign.build import warnings_of

TWO = {"name": "local", "accounts": ["anna", "ben"]}


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        # Twelve sentences, and at a rate of .2 three checks; a campaign of this size meets them all.
        ({"attention": {"judge_after": 3}}, []),
        ({}, ["a person meets about 3.0 attention checks at most, and is judged by them after 4"]),
        ({"attention": {"rate": 0.5}, "batch": {"size": 1, "per_annotator": 2}, "answers_per_item": 1},
         ["4 accounts may give 8 of the 12 answers", "a person meets about 2.0 attention checks"]),
        ({"attention": {"rate": 0}, "pay": {"per_batch": 1, "bonus": {"amount": 1}}}, ["whoever finishes a batch"]),
        ({"attention": {"rate": 0}, "platform": {"name": "local"}}, ["nobody can take part"]),
        ({"attention": {"rate": 0}, "platform": TWO}, ["2 accounts cannot give 3 answers to a task"]),
        ({"attention": {"rate": 0}, "platform": TWO, "answers_per_item": 2}, []),
        ({"attention": {"rate": 0}, "platform": {"name": "prolific"}}, []),
        ({"attention": {"rate": 0}, "task_type": "rating", "assistance": {"hide_for": 0.5}}, ["no task has assist"]),
        ({"attention": {"judge_after": 1}, "task_type": "key_fact_alignment", "language": "de"}, ["are English"]),
        ({"attention": {"judge_after": 1, "foreign_sentence": "Nein.", "paraphrases": ["Es heißt: {}"]},
          "task_type": "key_fact_alignment", "language": "de"}, []),
    ],
)  # fmt: skip
def test_notices(plan: dict[str, Any], said: list[str], tmp_path: Path) -> None:
    found = warnings_of(made.make(tmp_path, **plan))
    assert len(found) == len(said)
    assert all(part in one for part, one in zip(said, found, strict=True))
