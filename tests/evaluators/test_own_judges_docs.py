"""The examples of evaluators and judges in docs/extending.md work as described."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

import pytest
from evaluators.judging import item, run

from summeter.evaluators import RatingJudge
from summeter.models.providers.scripted import Scripted

SECTIONS = ("Your own evaluator", "Your own rating judge", "A derived judge")


@pytest.fixture(scope="module")
def sections(root: Path) -> list[str]:
    page = (root / "docs" / "extending.md").read_text("utf-8")
    return [page.split(f"\n## {name}\n")[1].split("\n## ")[0] for name in SECTIONS]


@pytest.fixture(scope="module")
def names(sections: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {"__name__": "own_judges"}
    for section in sections:
        for code in re.findall(r"```python\n(.*?)```", section, re.DOTALL):
            if not code.startswith(">>> "):
                exec(compile(code, "own_judges.py", "exec"), found)
    return found


def test_the_examples_run(sections: list[str], names: dict[str, Any]) -> None:
    test = doctest.DocTestParser().get_doctest("".join(sections), names, "extending.md", "docs/extending.md", 0)
    faults: list[str] = []
    doctest.DocTestRunner().run(test, out=faults.append, clear_globs=False)
    assert faults == []
    assert len(test.examples) == 13


def test_a_rating_judge_is_under_forty_lines(sections: list[str], root: Path) -> None:
    (code,) = [one for one in re.findall(r"```python\n(.*?)```", sections[1], re.DOTALL) if "class Grades" in one]
    assert len(code.splitlines()) < 40
    stars = root / "src" / "summeter" / "evaluators" / "rating" / "stareval.py"
    assert len(stars.read_text("utf-8").splitlines()) < 40


def test_the_example_judge_rates(names: dict[str, Any]) -> None:
    judge: RatingJudge = names["Grades"](aspect="fluency")
    llm = Scripted([{"match": "for fluency", "reply": {"grade": "b"}}])
    (found,) = run(judge, item(("Rain.",), document="It rained."), llm)[1]
    assert (found.judge, found.aspect, found.value, found.status) == ("grades", "fluency", 3.0, "ok")
    assert len(found.calls) == 1
