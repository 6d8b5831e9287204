"""Options, defaults and messages of study commands."""

from __future__ import annotations

import inspect
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from pydantic import Field
from typer.testing import CliRunner

import summeter as sm
from summeter.cli.common import READING
from summeter.cli.main import app, main
from summeter.cli.meta import app as meta
from summeter.cli.studies import Given, study_command
from summeter.data.dataset import Dataset
from summeter.meta import Study
from summeter.meta.options import LISTED, Choice, CommandLine, Draws, Judges, study
from summeter.records import UsageError
from summeter.runs.run import RunFolder

STUDIES = {
    "correlate", "classify", "errors", "prefer", "stability", "reliability", "agree", "estimate", "calibrate",
    "compare", "bias", "bridge", "overlap", "card", "jury", "recheck", "sources",
}  # fmt: skip


def test_every_study_has_a_command() -> None:
    assert set(typer.main.get_command(meta).commands) == STUDIES  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("study", "keyword"),
    [
        (sm.meta.errors, "by"), (sm.meta.errors, "source"), (sm.meta.classify, "min_items"),
        (sm.meta.stability, "min_items"),
        (sm.meta.reliability, "by"), (sm.meta.agree, "gold_at_least"), (sm.meta.prefer, "gold_at_least"),
        (sm.meta.advise, "by"), (sm.meta.estimate, "min_items"), (sm.meta.simulate, "by"),
        (sm.meta.compare, "min_items"),
        (sm.meta.calibrate, "by"), (sm.meta.card, "min_items"), (sm.meta.agreement_with_people, "by"),
    ],
)  # fmt: skip
def test_a_study_refuses_a_keyword_without_effect(study: Any, keyword: str) -> None:
    with pytest.raises(UsageError, match=f"unknown keyword '{keyword}'.*; choose one of "):
        study([], [], **{keyword: "domain"})


class RankOptions(Judges, Draws):
    """Options of a test study."""

    seed: int = Field(7, description="Random seed.")
    levels: Annotated[Sequence[float], LISTED] = Field((), description="Levels.")
    order: Annotated[str, Choice(("up", "down"), "order")] = Field("up", description="Order.")
    secret: Annotated[str, CommandLine(python_only=True)] = Field("x", description="Only in Python.")


def test_a_command_has_the_options_of_its_study_and_its_function(monkeypatch: pytest.MonkeyPatch) -> None:
    group, seen = typer.Typer(), []

    monkeypatch.setattr("summeter.meta.options.STUDIES", found := {})
    monkeypatch.setattr("summeter.cli.studies.STUDIES", found)

    @study(RankOptions)
    def rank(run: RunFolder, gold: Dataset, options: RankOptions) -> Study:
        """Rank things."""
        return Study("rank", [])

    @study_command(group, "rank", runs="[RUN]")
    def command(given: Given, order: str = "own") -> list[Study]:
        seen.append((given.values, order))
        return []

    (registered,) = group.registered_commands
    assert registered.callback is not None
    assert list(inspect.signature(registered.callback).parameters) == [
        "runs", "gold", "order", "seed", "levels", "aspect", "judge", "resamples", "confidence", *READING,
        "output_format", "output_file", "as_json",
    ]  # fmt: skip
    done = CliRunner().invoke(group, ["--levels", "1,2", "--aspect", "a", "--aspect", "b:c", "--seed", "7", "--json"])
    assert done.exit_code == 0, done.output
    assert seen == [({"levels": "1,2", "aspect": ["a", "b:c"]}, "own")]
    assert "Rank things." in CliRunner().invoke(group, ["--help"]).output


def test_messages_name_an_option_as_its_caller_writes_it(rated: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = sm.load(rated)
    run = sm.evaluate(data, ["abstractiveness"], out=rated.parent / "run")
    with pytest.raises(UsageError, match=r"give a pair with aspect=JUDGE:GOLD$"):
        sm.meta.correlate(run, data)
    with pytest.raises(SystemExit):
        main(["meta", "correlate", str(run.folder)])
    assert capsys.readouterr().err.endswith("give a pair with --aspect JUDGE:GOLD\n")


def test_notes_name_an_option_alike(tmp_path: Path) -> None:
    human = {"ratings": {"faithfulness": {"ann": 4}}, "sentence_labels": [{"ann": 1}]}
    row = {"document": "Ana sold it.", "summary": "Ana sold it.", "human": human}
    run = sm.evaluate([{**row, "doc_id": f"d{place}"} for place in range(3)], ["support"], out=tmp_path / "run")
    (note,) = sm.meta.correlate(run, run.data, resamples=0).notes
    assert note.endswith("also available: ratings (option source)")
    done = CliRunner().invoke(app, ["meta", "correlate", str(run.folder), "--resamples", "0", "--json"])
    assert json.loads(done.stdout)["notes"] == [note]


def test_a_misspelt_keyword_is_named_with_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"unknown keyword 'levl' \(did you mean level\?\)"):
        sm.meta.correlate([], [], levl="system")  # type: ignore[call-arg]  # the slip
    with pytest.raises(UsageError, match=r"unknown keyword 'min_vote' \(did you mean min_votes\?\)"):
        sm.meta.agree([], min_vote=2)  # type: ignore[call-arg]  # the slip
    with pytest.raises(UsageError, match=r"unknown keyword 'judgee' \(did you mean judge\?\)"):
        sm.meta.gate([], judgee="a")  # type: ignore[call-arg,arg-type]  # the slip


@pytest.fixture
def rated(tmp_path: Path) -> Path:
    rows = [
        {"doc_id": f"d{place}", "system": name, "document": "Ana sold her boat.", "summary": "She sold it.",
         "human": {"ratings": {"coherence": {"ann": score, "bob": score - place % 2}}}}
        for place in range(6) for name, score in (("a", 5), ("b", 3 + place % 2), ("c", 1))
    ]  # fmt: skip
    file = tmp_path / "rated.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


@pytest.mark.parametrize("command", [("agree",), ("compare", "--of", "people"), ("compare",)])
def test_studies_of_people_need_no_run(command: tuple[str, ...], rated: Path) -> None:
    done = CliRunner().invoke(app, ["meta", *command, "--gold", str(rated), "--resamples", "20", "--json"])
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)["rows"]
    assert {row["aspect"] for row in rows} == {"coherence"}
    if command[0] == "compare":
        assert {row["pair"] for row in rows if row["pair"]} == {"a-b", "a-c", "b-c"}


@pytest.mark.parametrize(
    ("command", "option", "message"),
    [
        ("compare --of people", "--judge abstractiveness", "--judge has no effect with --of people"),
        ("compare --of systems", "--judgment-set human.other", "--judgment-set has no effect with --of systems"),
        ("compare --of systems", "--gold-at-least 3", "--gold-at-least has no effect with --of systems"),
        ("reliability --repeats", "--tie low", "--tie has no effect with --repeats"),
        ("estimate --simulate 3", "--by system", "--by has no effect with --simulate"),
        ("estimate --last-judge", "--aspect coherence", "--aspect has no effect with --last-judge"),
        ("estimate", "--draws 3", "--draws has no effect without --simulate"),
        ("reliability", "--level sentence", "--level has no effect without --repeats"),
        ("correlate", "--map doc_id=id", "--map has no effect on the data of a run"),
    ],
)
def test_a_command_refuses_an_option_without_effect(
    command: str, option: str, message: str, rated: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = sm.evaluate(sm.load(rated), ["abstractiveness"], out=rated.parent / "run")
    name, *more = command.split()
    with pytest.raises(SystemExit) as end:
        main(["meta", name, str(run.folder), *more, *option.split()])
    assert end.value.code == 2
    assert message in capsys.readouterr().err


def test_systems_are_compared_by_binary_labels_of_people(rated: Path) -> None:
    options = ["--gold", str(rated), "--gold-at-least", "5", "--resamples", "20", "--json"]
    done = CliRunner().invoke(app, ["meta", "compare", "--of", "people", *options])
    means = [row for row in json.loads(done.stdout)["rows"] if row["statistic"] == "mean"]
    # Both give a 5 to a where the place is even, else 5 and 4; b and c have no 5.
    assert {row["system"]: row["value"] for row in means} == {"a": 0.5, "b": 0.0, "c": 0.0}


def test_a_card_needs_no_run(rated: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["meta", "card", "--gold", str(rated), "-o", str(tmp_path / "card.md")])
    assert done.exit_code == 0, done.output
    assert done.stderr == f"written to {tmp_path / 'card.md'}\n"
    assert "## coherence by people" in (tmp_path / "card.md").read_text(encoding="utf-8")


def test_a_comparison_by_judges_needs_a_run(rated: Path) -> None:
    done = CliRunner().invoke(app, ["meta", "compare", "--of", "systems", "--gold", str(rated)])
    assert "give runs=..." in str(done.exception)
    done = CliRunner().invoke(app, ["meta", "compare"])
    assert "give runs=..." in str(done.exception)
