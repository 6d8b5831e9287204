"""No line of a command's output is longer than the terminal is wide."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from summeter.cli.main import app, main

WIDTH = 80
FEW = "--resamples 20"


def run(command: str, width: int = WIDTH) -> tuple[int, str]:
    done = CliRunner().invoke(app, command.split(), env={"COLUMNS": str(width)})
    return done.exit_code, done.stdout


@pytest.fixture(scope="module", autouse=True)
def _folder(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A working directory with two runs, a dataset and a campaign, all made of the bundled example."""
    before = Path.cwd()
    folder = tmp_path_factory.mktemp("width")
    (folder / "examples").symlink_to(root / "examples")
    os.chdir(folder)
    for command in (
        "data import examples/nine_domains/summaries.jsonl -o data",
        "score data -e support,abstractiveness -o a --full",
        "score data -e support,length -o b",
        "annotate new examples/campaigns/fact_verification.yaml -o campaign",
        "annotate simulate campaign",
    ):
        code, out = run(command)
        assert code == 0, out
        assert longest(out) <= WIDTH, out
    yield
    os.chdir(before)


def longest(text: str) -> int:
    return max(map(len, text.splitlines()), default=0)


@pytest.mark.parametrize(
    "command",
    [
        "score data -e support --dry-run", "rescore a", "rescore a --full", "report a", "compare a b",
        "gate a --min faithfulness=0.1", f"advise a {FEW}", f"trust a {FEW}", "list evaluators", "list models",
        "list presets", "list aspects", "list datasets", "runs list", "runs info a", "runs verify a", "batches list a",
        "data show data", "data show data --doc news-1", "data validate data", "data split data -o parts",
        "data sample data -n 3 -o few",
        f"meta correlate a b --by domain {FEW}", f"meta classify a {FEW}", f"meta stability a {FEW}",
        f"meta prefer a {FEW}", f"meta reliability a b {FEW}", f"meta compare a {FEW}",
        f"meta compare --gold data {FEW}", f"meta agree a {FEW}", "meta estimate a",
        f"meta calibrate a --aspect faithfulness --allow-few {FEW}", f"meta bias a {FEW}", "meta overlap data data",
        f"meta card a {FEW}", "annotate status campaign", "annotate adjudicate campaign", "annotate export campaign",
        "annotate plan a --question compare aster birch --aspect faithfulness --draws 5",
        "bench protocol examples/aggrefact/scores.yaml -o protocol", "meta compare --help", "score --help",
    ],
)  # fmt: skip
def test_lines_fit_the_terminal(command: str) -> None:
    code, out = run(command)
    assert code == 0, out
    assert longest(out) <= WIDTH


def test_a_narrow_terminal_changes_no_number() -> None:
    command = f"meta correlate a {FEW}"
    wide, narrow = (run(command, width)[1].partition("\n\nsupport|")[0] for width in (250, 45))
    assert longest(narrow) <= 45
    numbers = [word for word in wide.split() if word.strip("[],-").replace(".", "").isdigit()]
    assert len(numbers) > 30
    assert all(narrow.split().count(number) >= min(1, wide.split().count(number)) for number in numbers)


@pytest.mark.parametrize(
    ("suffix", "start"),
    [(".csv", "study,judge,"), (".md", "| judge |"), (".tex", r"\begin{tabular}"), (".html", "<!doctype html>"),
     (".json", '{"schema": "summeter/1", "study": "correlation"'), (".txt", "judge = support")],
)  # fmt: skip
def test_the_suffix_decides_the_format(suffix: str, start: str, tmp_path: Path) -> None:
    file = tmp_path / f"out{suffix}"
    assert run(f"meta correlate a {FEW} -o {file}") == (0, "")
    assert file.read_text("utf-8").startswith(start)


@pytest.mark.parametrize("options", ["-o out.pdf", "-o out", "-o out.csv --format latex", "-o out.csv --json",
                                     "--json --format csv", "--format xml"])  # fmt: skip
def test_contradictions_are_refused(options: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["runs", "list", *options.split()])
    assert ended.value.code == 2
    assert not list(Path().glob("out*"))
