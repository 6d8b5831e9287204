"""run.json: the names of a run's files stay inside the run."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from summeter.records import digest
from summeter.runs.manifest import JudgeEntry, stem


def entry(file: Any) -> JudgeEntry:
    return JudgeEntry(name="j", signature="j|v:1", aspects=("overall",), reduce="share", file=file)


@pytest.mark.parametrize(
    "file",
    ["../../etc/passwd", "/etc/passwd", "a/b", "a\\b", "..", "a..b", ".hidden", "", "-rf", "a b", "a\x00", "judge.1\n"],
)
def test_a_file_outside_the_run_is_no_stem(file: str) -> None:
    with pytest.raises(ValidationError, match="is not a valid stem"):
        entry(file)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("finesure.align", "finesure.align"),
        ("my judge+v2", "my_judge_v2"),
        ("../../etc/passwd", "_._etc_passwd"),  # dots in a row are one, dots in front are none
        ("..", "_"),
        ("é", "_"),
        ("x" * 70, "x" * 60),
    ],
)
def test_a_stem_is_the_name_as_far_as_a_file_name_can_hold_it(name: str, expected: str) -> None:
    assert stem(name, "s|v:1") == f"{expected}.{digest('s|v:1', 6)}"


@given(st.text(), st.text())
def test_every_stem_may_be_the_file_of_a_judge(name: str, signature: str) -> None:
    made = stem(name, signature)
    assert entry(made).file == made
    assert made == stem(name, signature)
