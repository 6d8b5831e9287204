"""JUnit XML of commands."""

from __future__ import annotations

from xml.etree import ElementTree

from summeter.cli.junit import Case, junit


def test_outcomes_and_properties() -> None:
    cases = [
        Case("a", "passed", properties={"mean": 0.5, "p": None}),
        Case("b", "failed", 'less than "0.8" & more', "<sentence>\nevidence"),
        Case("c", "error", "broken"),
        Case("d", "skipped", "unclear"),
    ]
    suite = ElementTree.fromstring(junit("gate", cases, {"run": "runs/a"}))[0]
    assert {name: suite.get(name) for name in ("name", "tests", "failures", "errors", "skipped")} == {
        "name": "gate", "tests": "4", "failures": "1", "errors": "1", "skipped": "1"
    }  # fmt: skip
    assert suite.find("properties/property[@name='run']").get("value") == "runs/a"  # type: ignore[union-attr]
    first, second, *rest = suite.findall("testcase")
    assert [each.attrib for each in first.iter("property")] == [{"name": "mean", "value": "0.5"}]
    assert (second.find("failure").attrib, second[0].text) == (  # type: ignore[union-attr]
        {"message": 'less than "0.8" & more'},
        "<sentence>\nevidence",
    )
    assert [each[0].tag for each in rest] == ["error", "skipped"]


def test_characters_that_xml_does_not_allow() -> None:
    text = "a\x00\x1b[31m\ud800\ufffe\U0001f600"
    case = ElementTree.fromstring(junit(text, [Case(text, "failed", text, text)]).encode())[0][0]
    assert case.get("name") == case[0].text == "a\ufffd\ufffd[31m\ufffd\ufffd\U0001f600"
