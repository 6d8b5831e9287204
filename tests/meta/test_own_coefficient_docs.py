"""The page on extending keeps its word: the code of a new coefficient, put where it says, is all that is needed."""

from __future__ import annotations

import doctest
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

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
    "compare": meta.compare_evaluators([near, far], gold, coefficient="lin", permutations=50, resamples=50),
}
print(json.dumps({name: [row.model_dump(mode="json") for row in study] for name, study in studies.items()}))
"""


@pytest.fixture(scope="module")
def section(root: Path) -> str:
    page = (root / "docs" / "extending.md").read_text("utf-8")
    return page.split("\n## A new correlation coefficient\n")[1].split("\n## ")[0]


@pytest.fixture(scope="module")
def extended(section: str, root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A source tree in which two files have what the page says."""
    tree = tmp_path_factory.mktemp("extended")
    shutil.copytree(
        root / "src", tree / "src", copy_function=_link, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info")
    )
    member, function, row, _ = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    for path, anchor, code in (
        ("choices.py", '    KENDALL_C = "kendall_c"\n', member),
        ("stats/correlation.py", "CORRELATIONS: dict[Coefficient, Correlation] = {\n", row),
        ("stats/correlation.py", "\n\nclass Correlation(", f"\n\n{function}"),
    ):
        assert path in section
        file = tree / "src" / "summeter" / path
        text = file.read_text("utf-8")
        before, found, after = text.partition(anchor)
        assert found
        file.unlink()
        file.write_text(before + (code + anchor if anchor.startswith("\n") else anchor + code) + after, "utf-8")
    return tree / "src"


def _link(source: str, target: str) -> None:
    Path(target).symlink_to(source)


def _python(extended: Path, *arguments: str) -> str:
    code = f"import sys; sys.path.insert(0, {str(extended)!r})\n"
    done = subprocess.run(
        [sys.executable, "-c", code + arguments[0], *arguments[1:]], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_its_figures_are_right(section: str, extended: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(section, "utf-8")
    assert len(doctest.DocTestParser().get_examples(section)) == 4
    code = "import doctest, sys; print(doctest.testfile(sys.argv[1], module_relative=False))"
    assert "failed=0, attempted=4" in _python(extended, code, str(page))


def test_every_study_computes_it(extended: Path) -> None:
    studies: dict[str, list[dict[str, Any]]] = json.loads(_python(extended, _STUDIES))
    (row,) = studies["correlate"]
    assert row["statistic"] == "lin"
    assert row["low"] <= row["value"] <= row["high"]
    assert "lin" in {row["statistic"] for row in studies["stability"]}
    (pair,) = [row for row in studies["compare"] if row["statistic"] == "lin_difference"]
    assert pair["value"] > 0
    assert pair["p"] < 0.1


def test_its_command_lists_it(extended: Path) -> None:
    text = _python(
        extended, "import sys; from summeter.cli.main import main; sys.exit(main(['meta','correlate','--help']))"
    )
    assert "lin" in text.split("kendall_c,")[1].split("pairwise_accuracy")[0]
