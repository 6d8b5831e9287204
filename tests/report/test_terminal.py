"""The ranking table in terminals, in pipes and in Markdown."""

from __future__ import annotations

import io
import re

import pytest
from report import fake_runs as fake
from rich.console import Console

from summeter.report import markdown, ranking
from summeter.scoring import SystemScore, SystemTable


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> SystemTable:
    return fake.make(tmp_path_factory.mktemp("t") / "run").summary()


def printed(table: SystemTable, *, terminal: bool, width: int = 100) -> str:
    out = io.StringIO()
    colours = "standard" if terminal else None
    ranking(table, Console(file=out, force_terminal=terminal, width=width, color_system=colours))
    return out.getvalue()


def many(systems: int, columns: int) -> SystemTable:
    return SystemTable(
        [
            SystemScore(
                system=f"a system with a name {number}", judge="j", signature="j|v:1", model=None,
                aspect=f"aspect {at}", value=0.5, low=0.4, high=0.6, n=3, missing=0, interval="none",
            )
            for number in range(systems)
            for at in range(columns)
        ]
    )  # fmt: skip


def test_plain_text_without_a_terminal(table: SystemTable) -> None:
    text = printed(table, terminal=False)
    assert text.isascii()
    assert "\x1b" not in text
    lines = text.splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[0].split() == [
        "system", "faithfulness", "completeness", "conciseness", "composite", "abstractiveness",
    ]  # fmt: skip
    assert lines[2].split() == ["aster", "1.00", "1.00", "1.00", "1.00", "0.58"]
    assert "n=1, 1 missing" in lines[3]
    missing = "4 of 16 scores are missing, 4 of them with nothing to judge (the summary is empty): left out of"
    assert f"{missing} the means, never zero." in " ".join(text.split())
    assert "signature: mock.align|judge:scripted/one|v:1" in lines
    assert "interval: 95% percentile bootstrap by document, 2000 resamples, seed 0" in lines
    assert not any("composite(" in line for line in lines)


def test_five_columns_fit_a_terminal_of_100_characters(table: SystemTable) -> None:
    text = printed(table, terminal=True)
    assert "\x1b[" in text
    head = next(line for line in text.splitlines() if "faithfulness" in line)
    assert "abstractiveness" in head


@pytest.mark.parametrize("width", [60, 80, 100])
def test_columns_that_do_not_fit_go_into_further_tables(width: int) -> None:
    text = printed(many(2, 9), terminal=True, width=width)
    assert all(f"aspect {at}" in text for at in range(9))
    assert text.count("system ") >= 2


def settings(*signatures: str, system: str = "aster") -> SystemTable:
    return SystemTable(
        [
            SystemScore(
                system=name, judge="rouge", signature=signature, model=None, aspect="rouge1", value=0.5, low=0.4,
                high=0.6, n=3, missing=0, interval="none",
            )
            for name in ("birch", system)
            for signature in signatures
        ]
    )  # fmt: skip


@pytest.mark.parametrize("terminal", [True, False])
def test_settings_of_one_judge_are_named(terminal: bool) -> None:
    table = settings("rouge|v:1", "rouge|stemmer:yes|v:1")
    head = printed(table, terminal=terminal).split("aster")[0]
    assert head.count("ROUGE-1") == 2
    assert "rouge[stemmer=yes]" in head
    assert "#1" not in head
    assert "| ROUGE-1 (rouge) | ROUGE-1 (rouge\\[stemmer=yes\\]) |" in markdown(table).splitlines()[0]


@pytest.mark.parametrize(("terminal", "width"), [(True, 60), (True, 80), (True, 120), (False, 120)])
def test_long_names_do_not_widen_the_table(terminal: bool, width: int) -> None:
    long = "the-system-of-" + "x" * 200 + "-final"
    table = settings("rouge|v:1", *(f"rouge|stemmer:yes|note:{'y' * 90}{at}|v:1" for at in range(4)), system=long)
    text = printed(table, terminal=terminal, width=width)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text.split("interval: ")[0])
    assert max(map(len, plain.splitlines())) <= width
    assert "the-system-of-" in text
    assert "-final" in text
    assert long not in text
    assert "Long names are shortened (...)" in text
    assert long in markdown(table)


def test_markdown_has_one_cell_per_column(table: SystemTable) -> None:
    lines = markdown(table).splitlines()
    assert lines[0].startswith("| # | system | faithfulness | completeness |")
    assert lines[2].startswith("| 1 | aster | 1.00 n=1, 1 missing |")  # with 1 document, no difference is claimed
    assert lines[3].startswith("| 2 | cedar | 0.00 n=1, 0 missing | 0.50 n=1, 0 missing |")
    assert any("for which every system has a score (each has: aster 1, cedar 2)" in line for line in lines)
    assert lines[3].count("|") == lines[0].count("|")


@pytest.mark.parametrize(
    ("documents", "first", "second"),
    [
        (6, "| 1 | aster | 0.90 |", "| 2 | birch | 0.50 [0.40, 0.60] |"),
        (5, "| 1 | aster | 0.90 |", "| 2 | birch | 0.50 |"),
    ],
)
def test_best_and_intervals_need_six_documents_and_some_spread(documents: int, first: str, second: str) -> None:
    means = [
        SystemScore(
            system=system, judge="j", signature="j|v:1", model=None, aspect="faithfulness", value=value, low=low,
            high=high, n=documents, missing=0, interval="i",
        )
        for system, value, low, high in (("aster", 0.9, 0.9, 0.9), ("birch", 0.5, 0.4, 0.6))
    ]  # fmt: skip
    table = SystemTable(means)
    lines = markdown(table).splitlines()
    assert lines[2:4] == [first, second]
    assert f"- Each mean is over {documents} scores; none missing." in lines  # once, not in each cell
    assert ("0.40" in printed(table, terminal=False)) == (documents == 6)
    assert table.to_dicts()[1]["low"] == 0.4  # the interval is kept in the rows


@pytest.mark.parametrize("terminal", [True, False])
def test_control_characters_in_names_are_replaced(terminal: bool) -> None:
    row = SystemScore(
        system="\x1b[2Jgone\u202e[bold]", judge="j", signature="j\x07|v:1", model=None, aspect="faithfulness",
        value=1.0, low=None, high=None, n=1, missing=0, interval="none",
    )  # fmt: skip
    text = printed(SystemTable([row]), terminal=terminal)
    assert "\x1b[2J" not in text
    assert not set(text) & set("\u202e\x07")
    assert "gone\ufffd[bold]" in text
