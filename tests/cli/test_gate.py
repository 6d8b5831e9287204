"""Output and exit codes of `summeter gate` and of the `summeter meta` commands about systems."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from cli.commands import ends
from report.fake_runs import FACT_CHECK, fact_check, failed, judgment, lenient, make
from typer.testing import CliRunner

from summeter.cli.main import app
from summeter.meta.results import CONTRACT
from summeter.records import Document, Judgment, Summary
from summeter.runs.manifest import JudgeEntry, RunStatus

LENIENT = FACT_CHECK.model_copy(update={"signature": "mock.fact_check|judge:scripted/two|v:1"})


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Faithfulness: aster has 1 and an empty summary; cedar has 0 (one sentence unparsed) and 1."""
    return make(tmp_path_factory.mktemp("gate") / "run").folder


class TestGate:
    def test_passing(self, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert ends("gate", run, "--min", "faithfulness=0.5", "--system", "aster") == 0
        out = capsys.readouterr().out
        assert out.startswith("gate passed: 1 check")
        assert "passed  aster   faithfulness  1.000  mean >= 0.5  1        1" in out

    def test_failing_is_exit_3_and_names_the_bound(self, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert ends("gate", run, "--min", "faithfulness=0.9") == 3
        got = capsys.readouterr()
        assert "FAILED  cedar " in got.out
        assert "gate not passed: 1 of 2 checks; the first: cedar: faithfulness by mock.fact_check 0.500" in got.err

    def test_a_missing_mean_fails(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        def nothing(document: Document, summary: Summary, entry: JudgeEntry) -> list[Judgment]:
            return [failed(document, summary, entry, "faithfulness", "refused", "I would rather not")]

        folder = make(tmp_path / "run", judges=[(FACT_CHECK, nothing)]).folder
        assert ends("gate", folder, "--min", "faithfulness=0") == 3
        assert "has no value (" in capsys.readouterr().err
        assert ends("gate", folder, "--min", "faithfulness=-1", "--json") == 3
        found = json.loads(capsys.readouterr().out)
        assert (found["passed"], found["rows"][0]["value"], found["rows"][0]["missing"]) == (False, None, 2)

    def test_a_mean_equal_to_the_bound_up_to_rounding_passes(self, tmp_path: Path) -> None:
        def even(document: Document, summary: Summary, entry: JudgeEntry) -> list[Judgment]:
            return [judgment(document, summary, entry, "faithfulness", value=0.8)]

        rows = [{"doc_id": f"d{at}", "document": "It rained.", "summary": "Rain."} for at in range(6)]
        entry = FACT_CHECK.model_copy(update={"reduce": "mean"})
        folder = make(tmp_path / "run", rows, judges=[(entry, even)])
        assert (folder.totals.systems.rows[0].value or 1) < 0.8
        assert ends("gate", folder.folder, "--min", "faithfulness=0.8") == 0

    def test_each_setting_of_a_judge_has_a_line(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        warm = FACT_CHECK.model_copy(update={"signature": f"{FACT_CHECK.signature}|t:1", "file": "warm.000000"})
        folder = make(tmp_path / "run", judges=[(FACT_CHECK, fact_check), (warm, fact_check)]).folder
        assert ends("gate", folder, "--min", "faithfulness=0") == 0
        lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("passed  aster")]
        assert len(set(lines)) == 2

    def test_json(self, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert ends("gate", run, "--min", "completeness=0.1", "--min", "conciseness=0.1", "--json") in {0, 3}
        found = json.loads(capsys.readouterr().out)
        assert (found["schema"], found["study"]) == ("summeter/1", "gate")
        assert all(set(CONTRACT) <= set(row) for row in found["rows"])
        assert {row["aspect"] for row in found["rows"]} == {"completeness", "conciseness"}

    @pytest.mark.parametrize(
        "more",
        [("--min", "faithfulness"), ("--min", "x=0.5"), ("--min", "faithfulness=much"), ("--min", "faithfulness=nan"),
         ("--min", "faithfulness=1", "--min", "faithfulness=2"), ("--min", "faithfulness=0", "--system", "birch"),
         ("--min", "faithfulness=0", "--judge", "nobody"), ("--min", "faithfulness=0", "--calibration", "absent.json"),
         ("--max-drop", "faithfulness=0"), ("--min", "faithfulness=0", "--by", "nothing"), ("--confidence", "1"),
         ("--min", "faithfulness=0", "-o", "page.pdf"), ()],
    )  # fmt: skip
    def test_invalid_arguments_exit_with_2(self, run: Path, more: tuple[str, ...]) -> None:
        assert ends("gate", run, *more) == 2

    @pytest.mark.parametrize("status", ["interrupted", "running", "failed", "incomplete"])
    def test_an_incomplete_run_never_passes(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], status: RunStatus
    ) -> None:
        folder = make(tmp_path / "run", status=status).folder
        assert ends("gate", folder, "--min", "faithfulness=0", "--json") == 4
        got = capsys.readouterr()
        found = json.loads(got.out)
        assert (found["passed"], f"the run is {status}, not complete" in " ".join(found["notes"])) == (False, True)
        assert f"run is {status}" in got.err
        empty = make(tmp_path / "empty", judges=[(FACT_CHECK, lambda *_: [])], status=status).folder
        assert ends("gate", empty, "--min", "faithfulness=0") == 4
        assert f"empty is {status}" in capsys.readouterr().err

    def test_a_run_with_missing_judgments_is_bad_input(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        folder = make(tmp_path / "run").folder
        file = next((folder / "judgments").glob("*.jsonl"))
        file.write_text("".join(file.read_text("utf-8").splitlines(keepends=True)[:1]), "utf-8")
        assert ends("gate", folder, "--min", "faithfulness=0") == 2
        assert "Restore the file" in capsys.readouterr().err

    def test_the_lower_bound_decides(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        folder = versions(tmp_path, {"a": [0.0] * 4 + [1.0] * 4})
        arguments = ("gate", folder, "--min", "faithfulness=0.5")
        assert ends(*arguments) == 0
        assert ends(*arguments, "--on", "lower-bound") == 3
        capsys.readouterr()
        # With a lower confidence, the interval is shorter.
        lows = []
        for level in ("0.5", "0.99"):
            ends(*arguments, "--on", "lower-bound", "--confidence", level, "--json")
            lows.append(json.loads(capsys.readouterr().out)["rows"][0]["low"])
        assert 0.5 > lows[0] > lows[1]

    def test_each_group_is_checked(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        folder = versions(tmp_path, {"a": [0.0, 1.0] * 4})
        assert ends("gate", folder, "--min", "faithfulness=0.5", "--by", "domain", "--json") == 3
        rows = json.loads(capsys.readouterr().out)["rows"]
        assert [(row["domain"], row["value"], row["details"]["outcome"]) for row in rows] == [
            (None, 0.5, "passed"), ("even", 0.0, "failed"), ("odd", 1.0, "passed")
        ]  # fmt: skip


def versions(folder: Path, *systems: dict[str, list[float]], document: str = "It rained.") -> Path:
    """Return a run (of several, the last) in which each system has these values on d0, d1, ...

    The summaries contain their values, so they change with them.
    """
    for number, values_of in enumerate(systems):
        rows = [
            {"doc_id": f"d{at}", "system": system, "document": f"{document} {at}", "summary": f"Rain {value}.",
             "domain": ("even", "odd")[at % 2]}
            for system, values in values_of.items() for at, value in enumerate(values)
        ]  # fmt: skip

        def value(document: Document, summary: Summary, entry: JudgeEntry) -> list[Judgment]:
            return [judgment(document, summary, entry, "faithfulness", value=float(summary.text[5:-1]))]

        entry = FACT_CHECK.model_copy(update={"reduce": "mean"})
        run = make(folder / f"run{number}", rows, judges=[(entry, value)]).folder
    return run


class TestBaseline:
    """All 8 differences of a system are equal, so its interval is a point and its outcome is certain."""

    def outcomes(
        self, capsys: pytest.CaptureFixture[str], run: Path, baseline: Path, drop: str, *more: str
    ) -> tuple[int, dict[str, str]]:
        arguments = ("gate", run, "--baseline", baseline, "--max-drop", f"faithfulness={drop}", *more, "--json")
        code = ends(*arguments)
        found = json.loads(capsys.readouterr().out)
        assert found["passed"] == (code == 0)
        return code, {row["system"] or "all": row["details"]["outcome"] for row in found["rows"]}

    def test_outcomes(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        before = {"same": [0.5] * 8, "worse": [0.5] * 8, "mixed": [0.5] * 8}
        after = {"same": [0.5] * 8, "worse": [0.375] * 8, "mixed": [0.0, 1.0] * 4}
        run = versions(tmp_path, before, after)
        baseline = tmp_path / "run0"
        every = self.outcomes(capsys, run, baseline, "0.1")
        # The mean over the systems of a document falls by 0.208 and rises by 0.125 in turn.
        assert every == (3, {"all": "unclear", "same": "passed", "worse": "failed", "mixed": "unclear"})
        # A difference that equals the bound does not exceed it.
        assert self.outcomes(capsys, run, baseline, "0.125", "--system", "worse") == (0, {"worse": "passed"})
        assert self.outcomes(capsys, run, baseline, "-0.01", "--system", "same") == (3, {"same": "failed"})
        mixed = ("--system", "mixed")
        assert self.outcomes(capsys, run, baseline, "0.1", *mixed) == (3, {"mixed": "unclear"})
        assert self.outcomes(capsys, run, baseline, "0.1", *mixed, "--if-unclear", "pass") == (0, {"mixed": "unclear"})
        # In a group, all differences are 0.5 or -0.5 again, but 4 documents are too few for an interval.
        ends("gate", run, "--baseline", baseline, "--max-drop", "faithfulness=0.1", *mixed, "--by", "domain", "--json")
        rows = json.loads(capsys.readouterr().out)["rows"]
        assert [(row["domain"], row["value"], row["n"]) for row in rows] == [
            (None, 0.0, 8), ("even", -0.5, 4), ("odd", 0.5, 4)
        ]  # fmt: skip

    def test_the_documents_that_settle_it(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        run = versions(tmp_path, {"a": [0.5] * 8}, {"a": [0.25, 0.75] * 4})
        ends("gate", run, "--baseline", tmp_path / "run0", "--max-drop", "faithfulness=0.1", "--json")
        (row,) = json.loads(capsys.readouterr().out)["rows"]
        # The lower half of the interval must shrink to 0.1, and it shrinks with the square root of the documents.
        assert row["details"]["needed"] == -(-8 * (row["low"] / 0.1) ** 2 // 1)

    def test_few_unchanged_summaries_pass(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        run = versions(tmp_path, {"a": [0.5, 0.25]}, {"a": [0.5, 0.25]})
        assert self.outcomes(capsys, run, tmp_path / "run0", "0") == (0, {"a": "passed"})
        other = versions(tmp_path / "other", {"a": [0.25, 0.5]})
        assert self.outcomes(capsys, other, tmp_path / "run0", "0") == (3, {"a": "unclear"})

    def test_a_difference_without_a_value_fails(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        baseline = versions(tmp_path, {"a": [0.5] * 8})
        rows = [
            {"doc_id": f"d{at}", "system": "a", "document": f"It rained. {at}", "summary": "Rain 0.5."}
            for at in range(8)
        ]
        entry = FACT_CHECK.model_copy(update={"reduce": "mean"})
        run = make(
            tmp_path / "failed", rows, judges=[(entry, lambda *of: [failed(*of, "faithfulness", "refused", "no")])]
        ).folder
        outcomes = self.outcomes(capsys, run, baseline, "1", "--if-unclear", "pass")
        assert outcomes == (3, {"a": "failed"})

    def test_changed_documents_are_not_compared(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        baseline = versions(tmp_path / "a", {"a": [0.5] * 8})
        moved = versions(tmp_path / "b", {"a": [0.5] * 8}, document="It snowed.")
        arguments = ("--baseline", baseline, "--max-drop", "faithfulness=0")
        assert ends("gate", moved, *arguments) == 2
        assert "8 have another document in the baseline" in capsys.readouterr().err
        rows = [json.loads(line) for line in (baseline / "data" / "documents.jsonl").read_text("utf-8").splitlines()]
        rows = [
            {"doc_id": row["id"], "system": "a", "document": row["text"] + "!" * (at == 3), "summary": "Rain 0.5."}
            for at, row in enumerate(rows)
        ]
        entry = FACT_CHECK.model_copy(update={"reduce": "mean"})
        some = make(
            tmp_path / "c", rows,
            judges=[(entry, lambda *of: [judgment(*of, "faithfulness", value=0.5)])],
        ).folder  # fmt: skip
        assert ends("gate", some, *arguments, "--json") == 0
        found = json.loads(capsys.readouterr().out)
        assert found["rows"][0]["n"] == 7
        assert found["notes"][0] == (
            "warning: 1 summary is not compared, because these documents have another text in the baseline: d3"
        )
        assert found["notes"][0].endswith(": d3")

    def test_another_judge_is_no_baseline(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        first = make(tmp_path / "a").folder
        second = make(tmp_path / "b", judges=[(LENIENT, lenient)]).folder
        assert ends("gate", second, "--baseline", first, "--max-drop", "faithfulness=1") == 2
        assert "model from scripted/one to scripted/two" in capsys.readouterr().err

    def test_an_incomplete_baseline(self, tmp_path: Path, run: Path) -> None:
        baseline = make(tmp_path / "run", status="interrupted").folder
        assert ends("gate", run, "--baseline", baseline, "--max-drop", "faithfulness=0") == 4


class TestFormats:
    def test_junit(self, tmp_path: Path) -> None:
        folder = make(tmp_path / "run", status="interrupted").folder
        file = tmp_path / "gate.xml"
        assert ends("gate", folder, "--min", "faithfulness=0.9", "--by", "domain", "-o", file) == 4
        suite = ElementTree.parse(file).getroot()[0]
        found = {
            case.get("name"): [each.tag for each in case if each.tag != "properties"] for case in suite.iter("testcase")
        }
        label = "faithfulness{} by mock.fact_check"
        assert found == {
            f"aster: {label.format('')}": [], f"cedar: {label.format('')}": ["failure"],
            f"cedar: {label.format(' in news')}": ["failure"], f"aster: {label.format(' in news')}": [],
            f"cedar: {label.format(' in booking')}": [], f"aster: {label.format(' in booking')}": ["failure"],
            f"{folder} is complete": ["error"],
        }  # fmt: skip
        failure = suite.find(f"testcase[@name='cedar: {label.format(' in news')}']/failure")
        assert failure is not None
        assert (failure.text or "").splitlines() == [
            "bridge, sentence 1 (0.12): The bridge closes for 41 months.",
            "    reason: 41 is not in the source; nearest: 14",
            "    document: for 14 months",
        ]

    @pytest.mark.parametrize("suffix", ["txt", "md", "html", "csv", "tex"])
    def test_files(self, run: Path, tmp_path: Path, suffix: str) -> None:
        file = tmp_path / f"gate.{suffix}"
        assert ends("gate", run, "--min", "faithfulness=0.9", "-o", file) == 3
        assert "cedar" in file.read_text("utf-8")


class TestCalibrated:
    def test_a_calibration_of_another_judge_exits_with_2(
        self, run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        file = tmp_path / "c.json"
        assert ends("meta", "calibrate", run, "--aspect", "faithfulness") == 2
        assert "accept fewer with --allow-few" in capsys.readouterr().err
        assert ends("meta", "calibrate", run, "--aspect", "faithfulness", "--allow-few", "--calibration", file) == 0
        assert ends("gate", run, "--min", "faithfulness=0", "--calibration", file) == 0
        changed = FACT_CHECK.model_copy(update={"signature": "mock.fact_check|judge:scripted/two|v:1"})
        other = make(tmp_path / "other", judges=[(changed, fact_check)]).folder
        capsys.readouterr()
        assert ends("gate", other, "--min", "faithfulness=0", "--calibration", file) == 2
        message = capsys.readouterr().err
        assert FACT_CHECK.signature in message
        assert changed.signature in message


class TestMeta:
    def test_compare_prints_a_verdict(self, run: Path) -> None:
        result = CliRunner().invoke(app, ["meta", "compare", str(run), "--aspect", "completeness"])
        assert "cannot be told apart on completeness" in result.stdout

    def test_overlap_of_files(self, tmp_path: Path) -> None:
        for name, texts in (("one", ["a b"]), ("two", ["a b", "c"])):
            (tmp_path / f"{name}.jsonl").write_text(json.dumps({"doc_id": "d", "claims": texts}) + "\n")
        one, two = (str(tmp_path / f"{name}.jsonl") for name in ("one", "two"))
        for more in ((two,), ("--gold", two)):
            result = CliRunner().invoke(app, ["meta", "overlap", one, *more, "--json"])
            assert {r["statistic"]: r["value"] for r in json.loads(result.stdout)["rows"]} == {
                "precision": 1.0, "recall": 0.5, "f1": pytest.approx(2 / 3)
            }  # fmt: skip
        assert ends("meta", "overlap", one) == 2
        assert ends("meta", "overlap", one, two, "--by", "domain") == 2
