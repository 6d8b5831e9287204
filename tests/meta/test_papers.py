"""Tables of papers: places, averages, marks and formats; published cells are in test_reproduction.py."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import summeter as sm
from summeter.benchmark.protocol import Config, run_protocol
from summeter.cli.main import main
from summeter.meta.papers.base import averages, place, place_of
from summeter.meta.results import Row


@pytest.fixture(scope="module")
def nine(example: Path, tmp_path_factory: pytest.TempPathFactory) -> sm.Run:
    folder = tmp_path_factory.mktemp("papers") / "nine"
    return sm.evaluate(str(example), ["support", "rouge"], out=folder)


def test_a_cell_is_the_value_of_the_study(nine: sm.Run) -> None:
    found = sm.table("finesure.3", nine)
    study = sm.meta.correlate(nine, nine.data, aspect="completeness", coefficients=("pearson",), resamples=0)
    assert found.cell("support", "completeness Pear.").value == study.one(judge="support").value
    systems = sm.meta.correlate(nine, nine.data, aspect="rouge1:completeness", level="system", resamples=0)
    rank = systems.one(statistic="spearman").value
    assert found.cell("rouge rouge1", "completeness Rank").value == rank
    # A judge of another dimension has no row of its own aspect.
    assert {place_of(row)[0] for row in found.study} == {"support", *(f"rouge {name}" for name in (
        "rouge1", "rouge2", "rougeL", "rougeLsum",
    ))}  # fmt: skip


def test_people_and_judges_have_lines_of_their_own(nine: sm.Run) -> None:
    found = sm.table("unisumeval.14", nine)
    card = sm.meta.card(None, nine.data, resamples=0)
    domain = next(row.domain for row in card if row.domain and row.system == "aster")
    mean = card.one(statistic="mean", aspect="faithfulness", system="aster", domain=domain, judge="people")
    assert found.cell("people: aster", str(domain)).value == mean.value
    stability = card.one(statistic="domain_stability", aspect="faithfulness", system="aster", judge="people").value
    assert found.cell("people: aster", "DoS").value == pytest.approx((stability or 0) / 100)
    assert found.table().heads[-2:] == ["Avg.", "DoS"]


def test_marks_best_values_and_intervals(nine: sm.Run) -> None:
    plain = sm.table("finesure.1", nine)
    weak = plain.cell("rouge rouge1", "Pear.")
    assert weak.p is not None
    assert weak.p > 0.05
    assert f"{weak.value:.3f}~" in str(plain)
    assert "~" not in str(sm.table("finesure.1", nine, alpha=None))
    best = max(plain.cell(line, "Pear.").value or -1 for line in {place_of(row)[0] for row in plain.study})
    assert f"**{best:.3f}" in plain.table().markdown()
    drawn = sm.table("finesure.1", nine, resamples=50)
    row = drawn.cell("support", "bAcc")
    assert f"{row.value:.3f} [{row.low:.3f}, {row.high:.3f}]" in drawn.table().markdown()


def test_an_average_needs_all_its_values() -> None:
    rows = [
        place(Row(study="s", statistic="mean", value=value, n=1), "a", column)
        for value, column in ((0.25, "x 1"), (0.75, "x 2"), (0.5, "y 1"))
    ] + [
        place(Row(study="s", statistic="mean", value=None, status="undefined", reason="constant", n=0), "a", "y 2")
    ]  # fmt: skip
    made = [row for row in averages(rows, lambda column: f"{column[0]} Avg.") if row.statistic == "average"]
    assert [(place_of(row), row.value, row.missing) for row in made] == [
        (("a", "x Avg."), 0.5, 0),
        (("a", "y Avg."), None, 1),
    ]


def test_the_averages_of_aggrefact_are_those_of_its_cells(root: Path, tmp_path: Path) -> None:
    config = Config(protocol="aggrefact", data="aggre_fact_final.csv", evaluators=["support"], resamples=0)
    run_protocol(config, tmp_path, base=root / "examples" / "aggrefact")
    found = sm.table("fenice.4", sm.Run(tmp_path / "run"))
    line = place_of(found.study[0])[0]
    cells = [row.value for row in found.study if place_of(row)[0] == line and place_of(row)[1] != "AVG"]
    assert found.cell(line, "AVG").value == pytest.approx(sum(value or 0 for value in cells) / len(cells))


def test_the_command(nine: sm.Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def run(*arguments: str) -> int:
        with pytest.raises(SystemExit) as caught:
            main(["table", *arguments])
        return int(caught.value.code or 0)

    folder = str(nine.folder)
    assert run("finesure.3", folder, "-o", str(tmp_path / "t.tex")) == 0
    assert r"\textbf{" in (tmp_path / "t.tex").read_text()
    capsys.readouterr()
    assert run("finesure.3", folder, "--json") == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {"line", "column"} <= set(rows[0]["details"])
    assert run("--list") == 0
    for arguments, word in (
        (("shen2023.7", folder), "outputs import"),
        (("finesure.9", folder), "--list"),
        ((), "--list"),
        (("finesure.3",), "RUN"),
    ):
        assert run(*arguments) == 2
        assert word in capsys.readouterr().err
