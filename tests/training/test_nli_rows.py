"""The rows that an NLI network is trained on, as they are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from summeter.records import UsageError
from summeter.training.nli import Pairs, _taken, read_pairs


def test_an_empty_twin_of_a_table_is_none(tmp_path: Path) -> None:
    file = tmp_path / "pairs.csv"
    file.write_text("premise,hypothesis,label,twin\na b,a,entail,\na c,b,not,\na d,d,entail,x\n", "utf-8")
    assert [row.twin for row in read_pairs(file)] == [None, None, "x"]


def test_twins_are_not_balanced(tmp_path: Path) -> None:
    file = tmp_path / "pairs.csv"
    file.write_text("premise,hypothesis,label,twin\na b,a,entail,x\na b,c,not,x\na b,d,not,\n", "utf-8")
    rows = read_pairs(file)
    assert _taken(rows, Pairs(file="pairs.csv")) == rows
    with pytest.raises(UsageError, match=r"pairs\.csv is balanced and has rows with a twin"):
        _taken(rows, Pairs(file="pairs.csv", balanced=True))
