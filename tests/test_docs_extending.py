"""Walks of the page on extending that change summeter itself, carried out on a copy of the tree: the places are all."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from annotate import campaigns

from summeter.annotate.analysis.aggregate import dataset_of
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.simulate import crowd, simulate
from summeter.annotate.tasks.simulation import Gold, Profile
from summeter.records import Judgment, Target

COEFFICIENT, FIELD, STUDY = "A new correlation coefficient", "A new field of Judgment", "A new study"
TASK = "A new annotation task"

_STUDIES = """
import json, random
import summeter.meta as meta
from summeter.records import Judgment, Target

draw = random.Random(5)
def judgments(judge, noise):
    return [
        Judgment(target=Target(document_id=f"d{d}", system=s), aspect="fluency", judge=judge, signature=judge,
                 value=d % 5 + noise * draw.random())
        for d in range(12) for s in "AB"
    ]
gold, near, far = judgments("person", 0.5), judgments("near", 0.1), judgments("far", 9.0)
studies = {
    "correlate": meta.correlate(near, gold, coefficients=["lin"], resamples=50),
    "stability": meta.stability(near, gold, coefficients=["lin"], resamples=50),
    "compare": meta.compare([near, far], gold, coefficient="lin", permutations=50, resamples=50),
}
print(json.dumps({name: [row.model_dump(mode="json") for row in study] for name, study in studies.items()}))
"""


_LENIENCY = """
import json
import summeter.meta as meta
from summeter.records import Judgment, Target

def judgments(judge, *gaps):
    return [
        Judgment(target=Target(document_id=f"d{d}", system=s), aspect="fluency", judge=judge, signature=judge,
                 value=d + gap)
        for d in range(4) for s, gap in zip("AB", gaps)
    ]
study = meta.leniency(judgments("machine", 0.5, 1.5), judgments("person", 0, 0), by="system", resamples=50)
print(json.dumps([row.model_dump(mode="json") for row in study]))
"""


_FIELD = """
import json, pathlib, sys
import summeter as sm
from summeter.data.human import RAW
from summeter.records import Judgment
from summeter.scoring import JudgmentTable, table
from summeter.runs.run import RunFolder
from walk import *

folder = pathlib.Path(sys.argv[1])
rows = [{"doc_id": f"d{i}", "document": f"It rained {i} days.", "summary": "It rained."} for i in range(4)]
run = sm.evaluate(rows, [Timed(most=3)], out=folder / "run", limit=2)
first = [judgment.latency for judgment in run.judgments()]
judgments = sm.evaluate(rows, [Timed(most=3)], out=folder / "run").judgments()
file = next((folder / "run" / "judgments").glob("*.jsonl"))

def bare(judgment):
    return Judgment.model_validate(judgment.model_dump(exclude={"latency"}))

def refuse(*args):
    raise AssertionError("read as records")

table._AS_RECORDS, table.read_lines = 0, refuse
lines = file.read_text().splitlines()
front = [json.dumps({"latency": 1.0, **json.loads(line)}) for line in lines]
(folder / "front.jsonl").write_text("\\n".join(front) + "\\n")
kept = sm.load(rows).with_judgments(RAW, judgments)
sm.save(kept, folder / "data")
print(json.dumps({
    "first": first,
    "resumed": [judgment.latency for judgment in judgments],
    "rescored": [judgment.latency for judgment in sm.rescore(folder / "run").judgments()],
    "saved": [judgment.latency for judgment in sm.load(folder / "data").judgments(RAW)],
    "tables": [len(JudgmentTable.read(one)) for one in (file, folder / "front.jsonl")],
    "line": bare(judgments[0]).line,
}))
"""


@pytest.fixture(scope="module")
def page(root: Path) -> dict[str, str]:
    text = (root / "docs" / "extending.md").read_text("utf-8")
    return {part.partition("\n")[0]: part for part in text.split("\n## ")[1:]}


@pytest.fixture
def tree(root: Path, tmp_path: Path) -> Path:
    """A copy of the source tree, which walks may change."""
    shutil.copytree(
        root / "src", tmp_path / "src", copy_function=_link, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info")
    )
    return tmp_path / "src"


def _link(source: str, target: str) -> None:
    Path(target).symlink_to(source)


def _blocks(section: str) -> list[str]:
    """The code of a section, without its examples."""
    return [code for code in re.findall(r"```python\n(.*?)```", section, re.DOTALL) if not code.startswith(">>> ")]


def _insert(tree: Path, section: str, path: str, code: str, *, behind: str = "", before: str = "") -> None:
    """Put code into a file that the section names."""
    assert f"`src/summeter/{path}`" in section
    file = tree / "summeter" / path
    text, anchor = file.read_text("utf-8"), behind or before
    assert text.count(anchor) == 1
    file.unlink()
    file.write_text(text.replace(anchor, behind + code + before), "utf-8")


def _python(tree: Path, code: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tree)!r})\n{code}", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def extended(tree: Path, page: dict[str, str]) -> Path:
    """A tree with one more coefficient."""
    section = page[COEFFICIENT]
    function, row = _blocks(section)
    correlation = "stats/correlation.py"
    _insert(tree, section, correlation, f"{function}\n\n", before="class Correlation(NamedTuple):\n")
    _insert(tree, section, correlation, row, behind="CORRELATIONS: dict[str, Correlation] = {\n")
    return tree


_DOCTEST = "import doctest, sys; print(doctest.testfile(sys.argv[1], module_relative=False))"


def test_a_coefficient_is_right(page: dict[str, str], extended: Path, tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    file.write_text(page[COEFFICIENT], "utf-8")
    assert "failed=0, attempted=4" in _python(extended, _DOCTEST, str(file))


def test_every_study_computes_a_coefficient(extended: Path) -> None:
    studies: dict[str, list[dict[str, Any]]] = json.loads(_python(extended, _STUDIES))
    (row,) = studies["correlate"]
    assert row["statistic"] == "lin"
    assert row["low"] <= row["value"] <= row["high"]
    assert "lin" in {row["statistic"] for row in studies["stability"]}
    (pair,) = [row for row in studies["compare"] if row["statistic"] == "lin_difference"]
    assert pair["value"] > 0
    assert pair["p"] < 0.1


def test_commands_list_a_coefficient(extended: Path) -> None:
    for command in ("correlate", "stability", "reliability", "compare"):
        shown = _python(extended, f"from summeter.cli.main import main; main(['meta', '{command}', '--help'])")
        assert re.search(r"\blin\b", shown), command


def test_a_study_is_one_file(page: dict[str, str], tree: Path) -> None:
    (code,) = _blocks(page[STUDY])
    (tree / "summeter" / "meta" / "_leniency.py").write_text(code, "utf-8")
    shown = _python(tree, "from summeter.cli.main import main; main(['meta', 'leniency', '--help'])")
    assert "how much higher judges rate summaries" in shown
    assert "--resamples" in shown
    rows = json.loads(_python(tree, _LENIENCY))
    # The judge is .5 higher on A and 1.5 on B.
    assert [(row["system"], row["value"], row["n"]) for row in rows] == [(None, 1.0, 8), ("A", 0.5, 4), ("B", 1.5, 4)]


def test_an_annotation_task_is_one_class(page: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = _blocks(page[TASK])
    (tmp_path / "my_tasks.py").write_text(code, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    folder = campaigns.make(tmp_path, task_type="my_tasks:Reading", attention={"rate": 0.2, "pass_share": 0})
    with CampaignService(folder) as service:
        simulate(service, crowd(folder, [Profile()] * 3, Gold()))
        assert all(
            service.task_type.passed(task, service.task_type.right_answer(task, Gold())) for task in folder.tasks.checks
        )
        assert {one.aspect for one in dataset_of(service).judgments("human.raw")} == {"hard", "cause"}


def test_a_field_is_kept_and_slows_no_reader(page: dict[str, str], tree: Path, tmp_path: Path) -> None:
    section = page[FIELD]
    field, timed = _blocks(section)
    before = Judgment(target=Target(document_id="d0", system="S"), aspect="a", judge="j", signature="s", value=1.0)
    _insert(tree, section, "records/judgment.py", field, behind="    truncated_tokens: int | None = None\n")
    brevity = _blocks(page["Your own evaluator"])[0]
    (tree / "walk.py").write_text(brevity + timed, "utf-8")
    got = json.loads(_python(tree, _FIELD, str(tmp_path)))
    assert len(got["first"]) == 2
    assert got["resumed"][:2] == got["first"]
    assert all(seconds > 0 for seconds in got["resumed"])
    assert got["resumed"] == got["rescored"] == got["saved"]
    assert got["tables"] == [4, 4]
    assert list(json.loads(got["line"])) == list(json.loads(before.line))


def test_the_example_of_a_field_runs(page: dict[str, str], tree: Path, tmp_path: Path) -> None:
    section = page[FIELD]
    field, timed = _blocks(section)
    _insert(tree, section, "records/judgment.py", field, behind="    truncated_tokens: int | None = None\n")
    (tree / "walk.py").write_text(_blocks(page["Your own evaluator"])[0] + timed, "utf-8")
    file = tmp_path / "page.md"
    setup = ">>> import summeter as sm\n>>> from walk import *\n>>> rows = [{'document': 'a', 'summary': 'b'}]\n\n"
    file.write_text(setup + section, "utf-8")
    assert "failed=0, attempted=5" in _python(tree, _DOCTEST, str(file))
