"""The pytest plugin, run by pytest on small test files."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from xml.etree import ElementTree

import pytest
from engine.llm import MODEL, behave
from models.server import StubServer

# `pytester` forgets modules that a test session imports, and numpy cannot be imported twice.
import summeter.engine.api
import summeter.meta

pytest_plugins = "pytester"

# Without an installation of this version, the entry point is missing.
PLUGIN = () if "summeter" in entry_points(group="pytest11").names else ("-p", "summeter.pytest_plugin")
DOCUMENT = "The council voted on Tuesday to close the bridge for 14 months. Cyclists may still cross."
TESTS = f"""
DOCUMENT = {DOCUMENT!r}

def test_right(summeter):
    run = summeter.judge(DOCUMENT, "The council voted to close the bridge.")
    assert summeter.check(run, min={{"faithfulness": 0.8}})[0].value == 1

def test_wrong(summeter):
    summeter.judge(DOCUMENT, "Cyclists may still cross.")
    run = summeter.judge(DOCUMENT, "The bridge closes for 41 months. Cyclists may still cross.")
    summeter.check(run, min={{"faithfulness": 0.8}})
"""


def cases(file: Path) -> dict[str, tuple[str, dict[str, str]]]:
    """Return the failure and the properties of each test in a JUnit file."""
    found = {}
    for case in ElementTree.parse(file).getroot().iter("testcase"):
        failure = case.find("failure")
        properties = {each.get("name", ""): each.get("value", "") for each in case.iter("property")}
        found[case.get("name", "")] = ("" if failure is None else failure.get("message", ""), properties)
    return found


def test_a_failure_shows_sentence_and_evidence(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TESTS)
    result = pytester.runpytest_inprocess(*PLUGIN, "--junitxml=junit.xml")
    result.assert_outcomes(passed=1, failed=1)
    found = cases(pytester.path / "junit.xml")
    message, properties = found["test_wrong"]
    for text in (
        "0.500 < 0.8",
        "sentence 1",
        "The bridge closes for 41 months.",
        "41 is not",
        f"document: {DOCUMENT[:62]}",
    ):
        assert text in message
    assert properties == {
        "summeter: system: faithfulness by support: value": "0.5",
        "summeter: system: faithfulness by support: n": "1",
    }
    assert found["test_right"][0] == ""


def test_nothing_is_judged_twice(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STUB_API_KEY", "k")
    data = [{"doc_id": f"d{at}", "document": f"{DOCUMENT} {at}.", "summary": "Cyclists cross."} for at in range(3)]
    file = pytester.path / "data.jsonl"
    with StubServer(behave) as server:
        pytester.makepyfile(
            f"""
            def test_data(summeter):
                run = summeter.judge({str(file)!r}, evaluators=["finesure.fact_check"], models={MODEL!r},
                                     base_url={server.url!r})
                summeter.check(run, min={{"faithfulness": 0}}, baseline=run.folder, max_drop={{"faithfulness": 0}})
            """
        )
        calls = []
        for more in ("", "", " Cars may not."):
            data[0]["summary"] += more
            file.write_text("".join(json.dumps(row) + "\n" for row in data), "utf-8")
            pytester.runpytest_inprocess(*PLUGIN).assert_outcomes(passed=1)
            calls.append(len(server.calls))
    # One call per summary, none in the second session, and one for the changed summary in the third.
    assert calls == [3, 3, 4]


def test_the_recipe_of_the_documentation(pytester: pytest.Pytester, root: Path, example: Path) -> None:
    recipe = (root / "docs" / "ci.md").read_text("utf-8").partition("```python\n")[2].partition("```")[0]
    assert len([line for line in recipe.splitlines() if line]) == 8
    pytester.makepyfile(recipe, my_project="def summarize(text):\n    return text.partition('. ')[0] + '.'\n")
    rows = [line for line in example.read_text("utf-8").splitlines() if json.loads(line)["system"] == "dogwood"]
    data = pytester.makefile(".jsonl", summaries="\n".join(rows))
    summeter.engine.api.evaluate(data, ["support"], out=pytester.path / "runs" / "release")
    pytester.syspathinsert()
    pytester.runpytest_inprocess(*PLUGIN).assert_outcomes(passed=2)


def test_the_page_of_several_processes(pytester: pytest.Pytester) -> None:
    rows = [{"doc_id": "d1", "document": DOCUMENT, "summary": "Cars may still cross."}]
    pytester.makepyfile(f"{TESTS}\ndef test_rows(summeter):\n    summeter.judge({rows})\n")
    result = pytester.runpytest_subprocess(*PLUGIN, "-n", "1", "--summeter-report", "page.html")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["summeter: report: page.html"])
    page = (pytester.path / "page.html").read_text("utf-8")
    for text in ("The council voted to close the bridge.", "for 41 months", "Cars may still cross."):
        assert text in page


def test_the_page_is_refused_or_left_out(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_other():\n    pass\n")
    assert pytester.runpytest_inprocess(*PLUGIN, "--summeter-report", "page.pdf").ret == pytest.ExitCode.USAGE_ERROR
    result = pytester.runpytest_inprocess(*PLUGIN, "--summeter-report", "page.html", "-p", "no:cacheprovider")
    result.stdout.fnmatch_lines(["summeter: the tests judged no summaries*"])
    assert not (pytester.path / "page.html").exists()


def test_errors_are_shown_at_the_line_of_the_test(pytester: pytest.Pytester) -> None:
    pytester.makefile(".jsonl", rows='{"document": "It rained.", "summary": "It rained."}')
    pytester.makepyfile(
        """
        def test_evaluator_as_text(summeter):
            summeter.judge("rows.jsonl", "support")

        def test_no_bound(summeter):
            summeter.check(summeter.judge("rows.jsonl"))
        """
    )
    result = pytester.runpytest_inprocess(*PLUGIN)
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*write evaluators='support'", "*give a bound with min or max_drop"])
    result.stdout.no_fnmatch_line("*meta/_gate.py*")


def test_the_plugin_loads_nothing_heavy() -> None:
    code = "import sys, pytest; before = {*sys.modules}; import summeter.pytest_plugin; print(*{*sys.modules} - before)"
    loaded = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    assert {name for name in loaded if not name.startswith("summeter")} <= {"importlib.util", "fcntl"}
    assert {name for name in loaded if name.startswith("summeter")} == {
        "summeter", "summeter._version", "summeter.lazy", "summeter.pytest_plugin"
    }  # fmt: skip
