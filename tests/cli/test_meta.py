"""Tables, JSON and messages of the commands of `summeter meta`."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli.commands import ends
from typer.testing import CliRunner, Result

from summeter.cli.common import assignments
from summeter.cli.main import app
from summeter.data.dataset import load
from summeter.engine.outputs import import_outputs
from summeter.meta._agree import AgreeOptions
from summeter.meta._reliability import ReliabilityOptions
from summeter.meta.results import CONTRACT
from summeter.records import UsageError

Call = Callable[..., Result]
FAST = ("--resamples", "30")


def rows() -> list[dict[str, Any]]:
    made = []
    for i in range(6):
        for place, system in enumerate("ABC"):
            good = (i + place) % 3
            human = {
                "ratings": {"coherence": {"a": good + 2, "b": good + 1 + i % 2}},
                "sentence_labels": [{"a": 1, "b": 1}, {"a": int(good > 0), "b": int(good > 1)}],
                "sentence_error_types": [
                    {"a": "NoE", "b": "NoE"}, {"a": "NoE" if good else "EntE", "b": "NoE" if good > 1 else "EntE"},
                ],
            }  # fmt: skip
            made.append({
                "doc_id": f"d{i}", "system": system, "document": "It rained. We stayed.", "human": human,
                "summary": "It rained. We sat" + " down" * (i + place) + ".", "domain": "news" if i < 3 else "chat",
                "split": "dev" if i < 2 else "test",
                "sentences": ["It rained.", "We sat" + " down" * (i + place) + "."],
            })  # fmt: skip
    return made


def scores(name: str, shift: int, model: str = "acme/one") -> list[dict[str, Any]]:
    found = []
    for i in range(6):
        for place, system in enumerate("ABC"):
            good = (i + place) % 3
            about = {"doc_id": f"d{i}", "system": system, "evaluator": name, "model": model}
            found.append({**about, "aspect": "coherence", "value": 1 + (good + shift * i) % 4})
            found += [{**about, "aspect": "faithfulness", "unit": "sentence", "index": index, "value": value}
                      for index, value in enumerate((0.9, 0.2 + 0.3 * good))]  # fmt: skip
    return found


@pytest.fixture
def make(tmp_path: Path) -> Callable[[str, list[dict[str, Any]]], str]:
    def made(name: str, raw: list[dict[str, Any]]) -> str:
        file = tmp_path / f"{name}.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in raw))
        import_outputs(load(rows()), file, tmp_path / name, "strict")
        return str(tmp_path / name)

    return made


@pytest.fixture
def run(make: Callable[[str, list[dict[str, Any]]], str]) -> str:
    return make("run", scores("one", 0) + scores("two", 1))


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["meta", *arguments], catch_exceptions=True)


def _no_constant(name: str) -> None:
    raise AssertionError(f"{name} in the JSON")


def asked(*arguments: str) -> list[dict[str, Any]]:
    """Return the rows of `--json`, which must be strict JSON with all contract fields."""
    result = call(*arguments, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout, parse_constant=_no_constant)
    assert found["schema"] == "summeter/1"
    for row in found["rows"]:
        assert list(row)[: len(CONTRACT)] == list(CONTRACT)
        assert (row["value"] is None) == (row["status"] == "undefined")
        assert row["value"] is not None or row["reason"]
    return list(found["rows"])


def studies(found: list[dict[str, Any]]) -> set[str]:
    return {row["study"] for row in found}


def test_correlate(run: str) -> None:
    text = call("correlate", run, "--aspect", "coherence", *FAST).stdout
    assert "people: human.ratings|merge:mean|v:1" in text
    found = asked("correlate", run, "--level", "system", "--by", "domain", *FAST)
    assert {row["domain"] for row in found} == {None, "news", "chat"}
    assert {row["statistic"] for row in found} == {"pearson", "spearman", "kendall_b"}


def test_classify_with_a_tuned_threshold(run: str) -> None:
    found = {row["statistic"]: row for row in asked("classify", run, "--judge", "one", "--tune", "dev", *FAST)}
    assert found["balanced_accuracy"]["details"]["tuned_on"] == "split=dev"
    assert (found["balanced_accuracy"]["n"], found["success_ratio"]["value"]) == (24, 1.0)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("errors RUN", "no judge of the run assigned error types"),
        ("correlate RUN RUN", "is given twice"),
        ("correlate RUN --aspect grammar", "the judges have no 'grammar'; they have: coherence, faithfulness"),
        ("prefer RUN --pairs A-Z", "does not name two systems"),
        ("prefer", "--gold DATA"),
        ("agree", "give the data with --gold DATA"),
    ],
)
def test_refusals(run: str, words: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert ends("meta", *words.replace("RUN", run).split()) == 2
    assert message in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    "command", ["correlate", "classify", "prefer", "stability", "reliability", "compare", "agree", "estimate", "bias"]
)
def test_judges_of_two_runs_are_studied_together(
    make: Callable[[str, list[dict[str, Any]]], str], command: str
) -> None:
    runs = [make(name, scores("one", 0)) for name in ("run", "other")]
    aspect = "faithfulness" if command == "classify" else "coherence"
    draws = [] if command == "estimate" else ["--resamples", "0"]
    found = asked(command, *runs, *draws, "--aspect", aspect)
    named = {row["details"].get("run") for row in found if (row["judge"] or "").startswith("one")}
    assert named == {"run", "other", *(["run + other"] if command == "reliability" else [])}


def test_partial_runs_and_other_data_are_stated(run: str, tmp_path: Path) -> None:
    file = Path(run, "run.json")
    manifest = json.loads(file.read_text("utf-8"))
    del manifest["checksums"]
    file.write_text(json.dumps({**manifest, "status": "interrupted"}))
    gold = tmp_path / "gold.jsonl"
    rated = [rows()[0], {**rows()[0], "doc_id": "other"}]
    gold.write_text("".join(json.dumps(row) + "\n" for row in rated))
    shown = call("correlate", run, "--gold", str(gold), "--json")
    assert shown.exit_code == 0, shown.exception
    notes = json.loads(shown.stdout)["notes"]
    assert any("1 of 2 summaries that people judged" in note and "other by A" in note for note in notes)
    assert any("is interrupted, not complete" in note for note in notes)
    gold.write_text(json.dumps({**rated[0], "human": {}}) + "\n")
    assert "give data that have them with " in str(call("correlate", run, "--gold", str(gold)).exception)


def test_a_comparison_of_many_systems_is_a_matrix(tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    many = [
        {"doc_id": f"d{i}", "system": f"s{n:02}", "document": "It rained.", "summary": f"Rain {n}.",
         "human": {"ratings": {"coherence": n // 13 + (i * n) % 3 / 10}}}
        for i in range(20) for n in range(25) if n or i
    ]  # fmt: skip
    data.write_text("".join(json.dumps(row) + "\n" for row in many), encoding="utf-8")
    printed = call("compare", "--of", "people", "--gold", str(data)).stdout
    lines = printed.splitlines()
    assert lines[0] == "coherence by people"
    assert len(lines) < 40
    assert sum(line.split()[1].startswith("s") for line in lines[2:27]) == 25
    for text in ("of 300 pairs differ on coherence", "s00 19, s24 20", "Ranked on the"):
        assert text in printed
    found = asked("compare", "--of", "people", "--gold", str(data))
    assert len([row for row in found if row["pair"]]) == 300


def test_prefer(run: str) -> None:
    found = asked("prefer", run, "--aspect", "coherence", *FAST)
    assert studies(found) == {"pair", "correct_preferences", "win_rate", "best_rate", "bradley_terry"}
    given = asked("prefer", run, "--pairs", "A-B,C-A", "--no-strengths", *FAST)
    assert {row["pair"] for row in given if row["study"] == "pair"} == {"A-B", "C-A"}
    assert "correct_preferences\n" in call("prefer", run, *FAST).stdout


def test_prefer_by_people_alone(tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows()))
    found = asked("prefer", "--gold", str(data), *FAST)
    assert studies(found) == {"win_rate", "best_rate", "bradley_terry"}
    assert {row["judge"] for row in found} == {"people"}


def test_head_to_head_prefer_and_bias(make: Callable[[str, list[dict[str, Any]]], str]) -> None:
    raw = [
        {"doc_id": f"d{i}", "system": "A", "rival": "B", "order": order, "evaluator": "h2h", "aspect": "coherence",
         "output": "A" if order == "ab" or i > 2 else "B"}
        for i in range(6) for order in ("ab", "ba")
    ]  # fmt: skip
    folder = make("pairs", raw)
    found = asked("prefer", folder, *FAST)
    points = next(row for row in found if row["statistic"] == "points")
    # ab: A wins all six. ba shows B first: "B" is A's second place (a win) for three, "A" a loss for three.
    assert points["details"]["points"] == (4.5 if points["pair"] == "A-B" else 1.5)
    flips = next(row for row in asked("bias", folder, *FAST) if row["statistic"] == "flip_rate")
    assert (flips["value"], flips["n"]) == (0.5, 6)


def test_stability(run: str) -> None:
    found = asked("stability", run, "--coefficient", "spearman", *FAST)
    assert studies(found) == {"per_candidate", "candidate_spread", "meta_correlation"}
    assert {row["system"] for row in found if row["study"] == "per_candidate"} == {"A", "B", "C"}
    by = asked("stability", run, "--by", "domain", "--resamples", "0")
    assert {row["domain"] for row in by} == {None, "news", "chat"}
    assert all(row["low"] is None for row in by)


def test_reliability_and_repeats(run: str, make: Callable[[str, list[dict[str, Any]]], str]) -> None:
    found = asked("reliability", run, "--judges", "two,one", "--tolerance", "0.3", *FAST)
    assert studies(found) == {"reliability", "reliability_check", "verdict", "dependence"}
    assert {row["judge"] for row in found if row["study"] == "verdict"} == {"two + one"}
    other = make("other", scores("third", 2))
    joined = asked("reliability", run, other, "--no-dependence", *FAST)
    assert "one + third" in {row["judge"] for row in joined}
    again = asked("reliability", run, make("again", scores("one", 1)), "--repeats", *FAST)
    assert {(row["study"], row["judge"]) for row in again} == {("self_consistency", "one")}


def test_agree(run: str, tmp_path: Path) -> None:
    found = asked("agree", run, "--each", *FAST)
    assert studies(found) == {"agreement", "annotator", "judge_and_people", "agreement_with_judge"}
    data = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows()))
    table = tmp_path / "votes.csv"
    alone = asked("agree", "--gold", str(data), "--level", "sentence", "--by", "domain", "--export", str(table), *FAST)
    assert {row["domain"] for row in alone} == {None, "news", "chat"}
    assert {row["level"] for row in alone} == {"sentence"}
    with table.open(newline="") as lines:
        head, *cells = list(csv.reader(lines))
    assert head[-2:] == ["a", "b"]
    assert len(cells) == 36
    beside = asked("agree", run, "--gold", str(data), "--coefficient", "alpha_nominal", *FAST)
    assert {row["judge"] for row in beside} == {None, "one", "two"}
    over = asked("agree", "--gold", str(data), "--aspect", "faithfulness", "--shown", run, *FAST)
    assert "overruled" in studies(over)


def test_bias(run: str) -> None:
    found = asked("bias", run, "--family", "A=acme", "--family", "B=other", *FAST)
    assert studies(found) == {"length", "self_preference"}
    own = [row for row in found if row["study"] == "self_preference"]
    assert {row["details"]["family"] for row in own} == {"acme"}
    named = asked("bias", run, "--family", "A=x", "--judge-family", "one=x", "--length", "characters", *FAST)
    assert {row["status"] for row in named if row["study"] == "self_preference"} == {"ok", "undefined"}


def test_invalid_options() -> None:
    assert ReliabilityOptions.checked({"judges": "a, b"}).judges == ("a", "b")
    assert AgreeOptions.checked({"scale": "1,2.5"}).scale == [1.0, 2.5]
    assert assignments(["a=b=c"], "--x", last=True) == {"a=b": "c"}
    slips: list[tuple[Callable[[], object], str]] = [
        (lambda: ReliabilityOptions.checked({"judges": "a"}), "judges"),
        (lambda: AgreeOptions.checked({"scale": "one"}), "scale must be a valid number.* not 'one'"),
        (lambda: assignments(["a"], "--family"), "NAME=VALUE"),
        (lambda: assignments(["a=b", "a=c"], "--family"), "gives a two values: 'b' and 'c'"),
    ]
    for slip, text in slips:
        with pytest.raises(UsageError, match=text):
            slip()


def test_names_that_are_formulas_are_inert_in_csv_files(tmp_path: Path) -> None:
    system = "=HYPERLINK(1)"
    data = [{"doc_id": "d", "system": system, "document": "It rained.", "summary": "Rain.",
             "human": {"ratings": {"coherence": {"=a": 1, "b": 2}}}}]  # fmt: skip
    raw = tmp_path / "raw.jsonl"
    raw.write_text(
        json.dumps({"doc_id": "d", "system": system, "evaluator": "one", "aspect": "coherence", "value": -2})
    )
    run = str(import_outputs(load(data), raw, tmp_path / "run", "strict").folder)
    scores, votes = tmp_path / "run" / "scores.csv", tmp_path / "votes.csv"

    def written(file: Path) -> list[dict[str, str]]:
        with file.open(newline="") as lines:
            return list(csv.DictReader(lines))

    assert [(row["system"], row["value"]) for row in written(scores)] == [(f"'{system}", "-2.0")]
    assert call("agree", run, "--aspect", "coherence", "--export", str(votes), *FAST).exit_code == 0
    assert [(row["system"], row["'=a"]) for row in written(votes)] == [(f"'{system}", "1")]
    assert json.loads((tmp_path / "run" / "scores.jsonl").read_text())["system"] == system
