"""`summeter bench protocol` on made-up files: numbers worked by hand, resumed runs, errors, docs/aggrefact.md."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from models.server import StubServer, fail
from typer.testing import CliRunner

from summeter.benchmark.protocol import Config, read_config, run_protocol
from summeter.cli.main import app
from summeter.meta.results import read_study
from summeter.records import CoverageError, InputError, UsageError

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)


@pytest.fixture
def toy(root: Path) -> Path:
    return root / "examples" / "aggrefact"


def of_scores(toy: Path, out: Path, **more: Any) -> Any:
    config = Config(protocol="aggrefact", data="aggre_fact_final.csv", **{"resamples": 50, **more})
    return run_protocol(config, out, base=toy).study


def value(study: Any, statistic: str, **at: Any) -> float | None:
    cell = at.pop("cell", None)
    rows = [
        row for row in study.where(statistic=statistic, **at)
        if cell in (None, "/".join(row.details["cell"].values()))
    ]  # fmt: skip
    assert len(rows) == 1
    found: float | None = rows[0].value
    return found


def test_by_hand(toy: Path, tmp_path: Path) -> None:
    study = of_scores(toy, tmp_path)
    # ToyA, Alpha/SOTA: validation 0: .10 .40, 1: .30 .90; best .75, last at .897 (see test_stats_cells.py). Test
    # 0: .20 .50 both right, 1: .80 .40 both missed: (0 + 1) / 2. Positives above negatives: 3 of 4 pairs.
    at = {"judge": "ToyA", "cell": "cnndm/Alpha/SOTA"}
    assert value(study, "balanced_accuracy", **at) == 0.5
    assert value(study, "auroc", **at) == 0.75
    # Gamma/SOTA: 0: .15 .25, 1: .20 .75; .75 from .25 to under .75. Test 0: .10 .60 right; 1: .30 missed, .90 found.
    assert value(study, "balanced_accuracy", judge="ToyA", cell="xsum/Gamma/SOTA") == 0.75
    # Gamma/XFORMER has no consistent test row: the recall of the others, .45 right and .95 wrong.
    assert value(study, "balanced_accuracy", judge="ToyA", cell="xsum/Gamma/XFORMER") == 0.5
    # Means by rows: (4 x .5 + 2 x .5) / 6.
    assert value(study, "balanced_accuracy_mean", judge="ToyA", domain="cnndm", category="SOTA") == 0.5
    # One threshold for cnndm SOTA: 0: .10 .35 .40 .55, 1: .30 .60 .90; best from .55 to under .60 (2/3 and 1). Test
    # finds .80 of .80 .40 .58, and .20 .50 .30 are right: (1/3 + 1) / 2; with xsum's .75 the mean is .7083.
    assert value(study, "balanced_accuracy", judge="ToyA", cell="cnndm") == pytest.approx(2 / 3)
    last = study.where(statistic="balanced_accuracy_mean", judge="ToyA", domain=None)
    assert [row.value for row in last] == [pytest.approx((2 / 3 + 0.75) / 2)]
    assert any("xsum/Gamma/XFORMER have one class" in note for note in study.notes)


def test_a_missing_score_is_counted_and_no_number(toy: Path, tmp_path: Path) -> None:
    study = of_scores(toy, tmp_path)
    (row,) = [
        row for row in study.where(statistic="balanced_accuracy", judge="ToyB", category="SOTA")
        if row.details.get("group") == "Gamma"
    ]  # fmt: skip
    assert (row.n, row.missing, row.value) == (3, 1, 1.0)
    pairs = study.where(statistic="balanced_accuracy_difference", domain="xsum", category="SOTA")
    # On the three rows both scored ToyA is right on all: no difference, where its own value on four rows is .75.
    assert [(r.pair, r.n, r.missing, r.value) for r in pairs] == [("ToyA-ToyB", 3, 1, 0.0)]
    assert pairs[0].p == 1.0


def test_draws_of_an_interval_and_the_least_p_of_two_judges(toy: Path, tmp_path: Path) -> None:
    study = of_scores(toy, tmp_path)
    assert any(row.details["draws_undefined"] for row in study)
    for row in (row for row in study if row.low is not None):
        lost = row.details["draws_undefined"]
        kept = f"{50 - lost} of 50" if lost else "50"
        assert row.interval == f"95% percentile bootstrap by document (thresholds held), {kept} resamples, seed 0"
    pairs = study.where(statistic="balanced_accuracy_difference")
    assert all(row.p is None or row.p >= row.details["least_p"] for row in pairs)
    # Of the 2 ** 3 exchanges on the three documents of xsum/SOTA that both decided, at least two are as far apart.
    assert {row.details["least_p"] for row in pairs.where(domain="xsum", category="SOTA")} == {2 / 2**3}


def test_other_thresholds(toy: Path, tmp_path: Path) -> None:
    fixed = of_scores(toy, tmp_path, thresholds=0.45)
    # Above .45 in Alpha/SOTA's test: .50 of the 0 at .20 .50, .80 of the 1 at .80 .40; so half of either is right.
    assert value(fixed, "balanced_accuracy", judge="ToyA", cell="cnndm/Alpha/SOTA") == 0.5
    single = of_scores(toy, tmp_path, thresholds="single")
    tuned = {row.details["threshold"] for row in single.where(statistic="balanced_accuracy", judge="ToyA")}
    assert len(tuned) == 2  # one a table
    strict = of_scores(toy, tmp_path, one_class="undefined", candidates="scores")
    (lone,) = strict.where(statistic="balanced_accuracy", judge="ToyA", category="XFORMER")
    assert (lone.value, lone.reason) == (None, "no positive label")
    (mean,) = strict.where(statistic="balanced_accuracy_mean", judge="ToyA", category="XFORMER")
    assert (mean.value, mean.details["cells_undefined"]) == (None, ["xsum/Gamma/XFORMER"])


def test_increasing_scores_change_nothing(toy: Path, tmp_path: Path) -> None:
    rows = list(csv.DictReader(io.StringIO((toy / "aggre_fact_final.csv").read_text("utf-8"))))
    for row in rows:
        row["ToyA_score"] = str(7 * float(row["ToyA_score"]) ** 3 - 2)
    with (tmp_path / "turned.csv").open("w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    one = of_scores(toy, tmp_path / "one", candidates="scores", scores=["ToyA_score"])
    config = Config(protocol="aggrefact", data="turned.csv", candidates="scores", scores=["ToyA_score"], resamples=50)
    two = run_protocol(config, tmp_path / "two", base=tmp_path).study
    assert [(r.value, r.low, r.high, r.n) for r in one] == [(r.value, r.low, r.high, r.n) for r in two]


def test_what_is_written(toy: Path, tmp_path: Path) -> None:
    study = of_scores(toy, tmp_path)
    assert read_study(tmp_path / "study.json").rows == study.rows
    lines = list(csv.DictReader(io.StringIO((tmp_path / "table.csv").read_text("utf-8"))))
    cell = [one for one in lines if (one["judge"], one["group"], one["category"]) == ("ToyA", "Alpha", "SOTA")]
    assert [(one["statistic"], one["value"], one["n"], one["missing"]) for one in cell] == [
        ("balanced_accuracy", "0.5", "4", "0"), ("auroc", "0.75", "4", "0")
    ]  # fmt: skip
    assert float(cell[0]["threshold"]) == pytest.approx(0.897)
    tex = (tmp_path / "table.tex").read_text("utf-8")
    assert r"cnndm & Alpha & SOTA & 4 & 50.0 & 75.0 \\" in tex
    assert tex.count(r"\begin{tabular}") == tex.count(r"\end{tabular}") == 6


def test_llm_aggrefact_files_by_split(tmp_path: Path) -> None:
    for name, claims in (("dev", [("a", 1), ("b", 0)]), ("test", [("c", 1), ("d", 0), ("e", 1)])):
        rows = [
            {"dataset": "Delta", "doc": "It rained.", "claim": claim, "label": label, "contamination_identifier": "x",
             "s": label * 0.8 if claim != "e" else 0.5}
            for claim, label in claims
        ]  # fmt: skip
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    config = Config(
        protocol="llm-aggrefact", data={"dev": "dev.jsonl", "test": "test.jsonl"}, scores=["s"], resamples=0
    )
    study = run_protocol(config, tmp_path / "out", base=tmp_path).study
    # .8 is above .5, .5 is not: one of two found, the 0 rejected.
    assert study.one(statistic="balanced_accuracy").value == 0.75
    tuned = run_protocol(config.model_copy(update={"thresholds": "cell"}), tmp_path / "out", base=tmp_path).study
    assert tuned.one(statistic="balanced_accuracy").details["dev_n"] == 2


def test_draws_and_cells_without_a_value_are_told(tmp_path: Path) -> None:
    # Delta: a, b consistent and c not; Echo: d alone, consistent. s is right everywhere, t wrong of b.
    labels = {"a": 1, "b": 1, "c": 0, "d": 1}
    rows = [
        {"dataset": "Echo" if name == "d" else "Delta", "doc": f"{name} rained.", "claim": name, "label": label,
         "s": 0.9 * label, "t": 0.1 if name == "b" else 0.9 * label}
        for name, label in labels.items()
    ]  # fmt: skip
    (tmp_path / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    config = Config(protocol="llm-aggrefact", data={"test": "test.jsonl"}, scores=["s", "t"], resamples=200, seed=5)
    study = run_protocol(config, tmp_path / "out", base=tmp_path).study
    # A draw of four documents gives Delta a value if c and one of a, b are in it, and Echo one if d is.
    rng = np.random.default_rng(5)
    picks = [set(np.flatnonzero(rng.multinomial(4, [0.25] * 4)).tolist()) for _ in range(200)]
    drawn = [(2 in one and bool(one & {0, 1}), 3 in one) for one in picks]
    lost = sum(not delta for delta, _ in drawn)
    assert 0 < lost <= 100
    for statistic in ("balanced_accuracy", "auroc"):
        (row,) = [one for one in study.where(statistic=statistic, judge="t") if one.details["group"] == "Delta"]
        assert (row.status, row.details["draws_undefined"]) == ("ok", lost)
        assert row.reason == f"{lost} of 200 resamples undefined, left out"
    neither, half = sum(one == (False, False) for one in drawn), sum(one[0] != one[1] for one in drawn)
    said = f"{neither} of 200 resamples undefined, left out; in {half} of 200 resamples, a cell has no value"
    for row in (study.one(statistic="balanced_accuracy_mean", judge="t"),
                study.one(statistic="balanced_accuracy_difference")):  # fmt: skip
        assert (row.details["draws_undefined"], row.details["draws_partial"], row.reason) == (neither, half, said)

    most = max(lost, sum(not one for _, one in drawn))
    assert any(f"without a value, at most {most} of 200 (" in note for note in study.notes)
    text = (tmp_path / "out" / "table.md").read_text("utf-8")
    _, _, area = text.partition("AUROC, %\n\n")
    assert re.search(r"\| Echo +\| +1 \| +- \(a\) \| +- \(a\) \|\n\n\(a\) no negative label\n", area)
    assert re.search(rf"\+12.5 \[.*\] \(a\) \|.*\n\n\(a\) {re.escape(said)}\n", text)
    assert "(a) no negative label" in (tmp_path / "out" / "table.tex").read_text("utf-8")
    delta, area, echo, of_echo, *_ = csv.DictReader(io.StringIO((tmp_path / "out" / "table.csv").read_text("utf-8")))
    assert (delta["draws_undefined"], area["draws_undefined"]) == (str(lost), str(lost))
    assert (of_echo["value"], of_echo["reason"]) == ("", "no negative label")
    assert echo["draws_undefined"] == str(sum(not one for _, one in drawn))


def test_evaluators_are_run_once_and_stand_beside_the_scores(toy: Path, tmp_path: Path) -> None:
    config = Config(protocol="aggrefact", data="aggre_fact_final.csv", evaluators=["support"], resamples=0)
    first = run_protocol(config, tmp_path, base=toy)
    assert first.run is not None
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / "run" / "judgments").iterdir()}
    again = run_protocol(config, tmp_path, base=toy)
    assert {file: file.stat().st_mtime_ns for file in (tmp_path / "run" / "judgments").iterdir()} == before
    assert again.study.rows == first.study.rows
    assert {row.judge for row in first.study.where(statistic="balanced_accuracy")} == {"ToyA", "ToyB", "support"}
    later = Config(protocol="aggrefact", data="aggre_fact_final.csv", scores="none", runs=[str(tmp_path / "run")],
                   resamples=0)  # fmt: skip
    assert {row.judge for row in run_protocol(later, tmp_path / "b", base=toy).study} == {"support"}
    other = tmp_path / "other.csv"
    text = (toy / "aggre_fact_final.csv").read_text("utf-8")
    other.write_text("".join(text.splitlines(keepends=True)[:-1]), encoding="utf-8")
    with pytest.raises(UsageError, match="is a run over other data"):
        run_protocol(later.model_copy(update={"data": str(other)}), tmp_path / "b", base=toy)


def test_an_evaluator_that_judged_nothing_is_told_of(toy: Path, tmp_path: Path) -> None:
    config = tmp_path / "c.yaml"
    with StubServer(lambda _: fail(500, "the engine died")) as server:
        config.write_text(
            f"protocol: aggrefact\ndata: {toy / 'aggre_fact_final.csv'}\nevaluators: [finesure.fact_check]\n"
            "models: {judge: vllm/m}\nresamples: 0\n"
            f"options: {{base_url: '{server.url}', max_retries: 0, limit: 1}}\n",
            encoding="utf-8",
        )
        found = CliRunner().invoke(app, ["bench", "protocol", str(config), "-o", str(tmp_path / "out")])
    assert isinstance(found.exception, CoverageError)
    message = str(found.exception)
    assert re.match(r"none of \d+ judgments is usable\. The most common reason: vllm/m: .* answered 500", message)
    assert (tmp_path / "out" / "table.md").is_file()  # what was measured of others is kept


def test_settings_that_cannot_be(toy: Path, tmp_path: Path) -> None:
    for file in (tmp_path / "none.yaml", tmp_path):
        with pytest.raises(InputError):
            read_config(file)
    wrong = [{"thresholds": value} for value in (float("nan"), float("inf"), "nan", "each")]
    for more in ({"protocol": "agrefact"}, {"data": "none.csv"}, {"scores": "none"}, *wrong):
        config = Config.model_validate({"protocol": "aggrefact", "data": "aggre_fact_final.csv", **more})
        with pytest.raises(UsageError):
            run_protocol(config, tmp_path, base=toy)


def test_the_page_is_true(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (root / "docs" / "aggrefact.md").read_text(encoding="utf-8")
    shutil.copytree(root / "examples" / "aggrefact", tmp_path / "examples" / "aggrefact")
    monkeypatch.chdir(tmp_path)
    printed = ""
    for language, text in BLOCK.findall(page):
        if language == "console":
            command, _, expected = text.removeprefix("$ ").partition("\n")
            result = CliRunner().invoke(app, shlex.split(command)[1:], env={"COLUMNS": "80"})
            assert result.exit_code == 0, result.output
            assert result.stdout.startswith(expected), command
        elif language == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(text, "docs/aggrefact.md", "exec"), {})
            printed = out.getvalue()
        elif language == "text":
            assert printed == text
        elif language == "yaml":
            (tmp_path / "c.yaml").write_text(text, encoding="utf-8")
            read_config(tmp_path / "c.yaml").rules()
        else:
            assert language == "sh"
