"""Figures: what they show, that their texts do not overlap, and the files of `summeter plot`."""

from __future__ import annotations

import json
import re
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from report.fake_runs import ROWS
from typer.testing import CliRunner

import summeter as sm
from summeter.cli.example import bundled
from summeter.cli.main import app
from summeter.engine.api import evaluate
from summeter.engine.runs import Run
from summeter.pages.figures import Axis, Cell, Figure, Line, Matrix, Point, Points, Rows, text_width
from summeter.records import InstallError, UsageError
from summeter.report import plot

SVG = "{http://www.w3.org/2000/svg}"
LONG = "meta-llama/Llama-3.1-405B-Instruct-Turbo-fp8-long-context-128k"
NAMES = [
    LONG,
    "名前の長い要約システム第二版（日本語向け微調整済み）",
    '<b>&"x"</b>\x07\ufffe',
    *(f"s-{n}" for n in range(22)),
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return evaluate(bundled(), ["support", "length", "abstractiveness"], out=tmp_path_factory.mktemp("plot") / "run")


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(svg).iter(f"{SVG}text")]


@pytest.mark.parametrize("name", sorted(plot.FIGURES.keys() - {"trend", "reliability"}))
def test_each_figure_has_a_title_axes_and_n(run: Run, name: str) -> None:
    figure = plot.FIGURES[name](run)
    shown = texts(figure.svg)
    assert figure.title in shown
    for panel in figure.panels:
        assert panel.title in " ".join(shown)
        for axis in (each for each in panel if isinstance(each, Axis)):
            assert axis.label in shown
    everything = " ".join(shown)
    assert re.search(r"n ?= ?\d|sentences\)", everything)
    assert "95%" in everything or name == "distributions" or isinstance(figure.panels[0], Matrix)


def test_the_numbers_are_those_of_scores_and_studies(run: Run) -> None:
    (panel,) = plot.intervals(run, aspect="faithfulness").panels
    assert isinstance(panel, Rows)
    means = {row.system: row for row in run.summary().rows if row.aspect == "faithfulness"}
    assert [row.label for row in panel.rows] == sorted(means, key=lambda name: -(means[name].value or 0))
    assert all((row.value, row.low) == (means[row.label].value, means[row.label].low) for row in panel.rows)
    (bars,) = plot.distributions(run, aspect="words").panels
    assert isinstance(bars, Rows)
    assert (bars.axis.low, bars.axis.high) == (15, 120)
    (scatter,) = plot.agreement(run, aspect="faithfulness").panels
    assert isinstance(scatter, Points)
    assert sum(point.size for point in scatter.points) == 72
    curve = next(panel for panel in plot.calibration(run).panels if panel.title == "faithfulness by support")
    assert isinstance(curve, Points)
    assert sum(point.size for point in curve.points) == 260
    (matrix,) = plot.domains(run, aspect="faithfulness").panels
    assert isinstance(matrix, Matrix)
    assert (len(matrix.rows), len(matrix.columns)) == (9, 4)


def test_groups_and_systems_have_the_values_of_the_studies(run: Run, tmp_path: Path) -> None:
    (panel,) = plot.groups(run, by="split*category", aspect="faithfulness").panels
    assert isinstance(panel, Rows)
    card = sm.meta.card(run, None, by="split*category", aspect="faithfulness").where(statistic="mean")
    means = {row.details["group"]: (row.value, row.low) for row in card if row.details.get("by") == "split*category"}
    assert {row.label: (row.value, row.low) for row in panel.rows} == means
    (scatter,) = plot.stability(run, aspect="faithfulness").panels
    assert isinstance(scatter, Points)
    study = sm.meta.stability(run, run.data, aspect="faithfulness", coefficients=("spearman",))
    correlations = {row.system: row.value for row in study.where(study="per_candidate") if row.value is not None}
    assert {point.label: point.y for point in scatter.points} == correlations
    people = sm.meta.card(None, run.data, aspect="faithfulness").where(statistic="mean", domain=None, category=None)
    quality = {row.system: row.value for row in people if row.system}
    assert all(point.x == pytest.approx(quality[point.label]) for point in scatter.points)
    other = Run(shutil.copytree(run.folder, tmp_path / "other"))
    for same in plot.reliability([run, other], aspect="faithfulness").panels:
        assert isinstance(same, Points)
        assert {point.label: point.y for point in same.points} == correlations
        assert [point.x for point in same.points] == pytest.approx([1.0] * len(correlations))


def test_judges_of_several_runs_are_drawn_together(run: Run, tmp_path: Path) -> None:
    other = Run(shutil.copytree(run.folder, tmp_path / "other"))
    for name in ("agreement", "calibration"):
        panels = plot.FIGURES[name]([run, other], aspect="faithfulness").panels
        assert [
            panel.title.endswith(f"support ({one.folder})") for panel, one in zip(panels, (run, other), strict=True)
        ]
    (panel,) = plot.cost([run, other], aspect="faithfulness", resamples=50).panels
    assert isinstance(panel, Points)
    assert len({point.label for point in panel.points}) == 2
    assert len(plot.intervals([run, other], aspect="faithfulness").panels) == 2


def test_a_trend_has_one_line_per_system_or_one_of_all_runs(run: Run, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="several runs"):
        plot.trend(run)
    other = Run(shutil.copytree(run.folder, tmp_path / "other"))
    figure = plot.trend([run, other])
    (panel,) = figure.panels
    assert isinstance(panel, Points)
    means = {row.system: row for row in run.summary().rows if row.aspect == "composite"}
    assert {point.line for point in panel.points} == set(means)
    assert all((point.y, point.low) == (means[point.line].value, means[point.line].low) for point in panel.points)
    created = run.manifest.created[:10]
    assert [row[:2] for row in figure.tables[0].rows[:2]] == [("aster", f"A {created}"), ("aster", f"B {created}")]
    rows = [json.loads(line) for line in bundled().read_text(encoding="utf-8").splitlines()]
    runs = [
        evaluate([row for row in rows if row["system"] == name], ["abstractiveness"], out=tmp_path / name)
        for name in ("aster", "birch")
    ]
    (single,) = plot.trend(runs).panels
    assert isinstance(single, Points)
    assert [point.label for point in single.points] == ["", "the system of each run"]


def test_texts_do_not_overlap() -> None:
    rows = Rows("means", Axis("mean", 0, 1), [Line(name, 0.5, 0.4, 0.6, note="0.50 [0.40, 0.60]") for name in NAMES])
    cells = [[Cell(0.5)] * len(NAMES)] * len(NAMES)
    matrix = Matrix("cells", NAMES, NAMES, cells, 0, 1, "mean")
    points = [Point(name, index % 5 / 10, index % 7 / 10) for index, name in enumerate(NAMES)]
    scatter = Points("points", Axis("x", 0, 1), Axis("y", 0, 1), points)
    for panel in (rows, matrix, scatter):
        tree = ET.fromstring(Figure("figure", [panel]).svg)
        width = float(tree.attrib["width"])
        boxes = []
        for text in tree.iter(f"{SVG}text"):
            if "transform" in text.attrib:
                continue
            size = float(text.get("font-size", 12))
            wide, x = text_width(text.text or "", size), float(text.attrib["x"])
            left = x - {"end": wide, "middle": wide / 2}.get(text.get("text-anchor", ""), 0)
            boxes.append((left, left + wide, float(text.attrib["y"]), size, text.text))
        for index, (left, right, y, size, name) in enumerate(boxes):
            assert left >= 0, name
            assert right <= width, name
            for other in boxes[:index]:
                apart = right <= other[0] or other[1] <= left or abs(y - other[2]) >= min(size, other[3]) * 0.9
                assert apart, (name, other)


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (3.0, 3.0), (-1e-9, 1e-9), (0.0, 1e300), (1.0, 5.0)])
def test_ticks_lie_on_the_axis(low: float, high: float) -> None:
    ticks = Axis("", low, high).ticks()
    assert 1 <= len(ticks) <= 12
    assert len({text for _, text in ticks}) == len(ticks) or high - low < 1e-6


def test_the_command_writes_files(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    for name, start in (("a.svg", b"<svg"), ("a.PNG", b"\x89PNG"), ("a.pdf", b"%PDF")):
        result = CliRunner().invoke(app, ["plot", "intervals", str(run.folder), "-o", str(tmp_path / name)])
        assert result.exit_code == 0, result.output
        assert (tmp_path / name).read_bytes().startswith(start)
    listed = CliRunner().invoke(app, ["plot", "--list"])
    names = {line.split()[0] for line in listed.stdout.splitlines() if line}
    assert names >= {*plot.FIGURES, *plot.CROSSED, *plot.UNDECLARED}
    for name in ("unisumeval.3", "stability", "correlations"):
        file = tmp_path / f"{name}-crossed.pdf"
        crossed = ["plot", name, str(run.folder), "--by", "split*category", "--aspect", "faithfulness", "-o", str(file)]
        assert CliRunner().invoke(app, crossed).exit_code == 0
        assert file.is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["interval", "RUN", "-o", "a.svg"], r"did you mean intervals"),
        (["shen2023.2", "RUN", "-o", "a.svg"], r"closest is stability"),
        (["unisumeval.3", "RUN", "-o", "a.svg"], r"no column 'length'"),
        (["intervals", "RUN", "-o", "a.jpg"], r"\.svg, \.pdf or \.png"),
        (["intervals", "RUN", "-o", "a"], r"\.svg, \.pdf or \.png"),
        (["intervals", "RUN"], r"with out=FILE"),
        (["intervals", "RUN", "-o", "a.svg", "--gold", "RUN/data"], r"gold=\.\.\. has no effect"),
        (["intervals", "RUN", "-o", "a.svg", "--judge", "supprt"], r"did you mean support"),
        (["calibration", "RUN", "-o", "a.svg", "--level", "summary"], r"gold_at_least"),
    ],
)
def test_wrong_arguments_are_errors(run: Run, tmp_path: Path, arguments: list[str], message: str) -> None:
    words = [word.replace("RUN", str(run.folder)) for word in arguments]
    words = [str(tmp_path / word) if word.startswith("a.") or word == "a" else word for word in words]
    result = CliRunner().invoke(app, ["plot", *words])
    assert isinstance(result.exception, UsageError)
    with pytest.raises(UsageError, match=message):
        raise result.exception
    assert not list(tmp_path.iterdir())


def test_a_missing_extra_and_missing_people_are_named(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "vl_convert", None)
    with pytest.raises(InstallError, match=r"summeter\[plot\]"):
        plot.intervals(run).save(tmp_path / "a.pdf")
    rows: list[dict[str, Any]] = [{key: row[key] for key in row if key != "human"} for row in ROWS]
    unlabelled = evaluate(rows, ["support"], out=tmp_path / "run")
    for name in ("agreement", "calibration", "cost"):
        with pytest.raises(UsageError, match=r"human judgments.* gold=DATA"):
            plot.FIGURES[name](unlabelled)
