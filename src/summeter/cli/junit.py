"""JUnit XML, which continuous integration servers show as test results.

>>> cases = [Case("aster: faithfulness", "passed"), Case("birch: faithfulness", "failed", "0.62 < 0.8")]
>>> print(junit("summeter gate", cases).rstrip())
<?xml version="1.0" encoding="utf-8"?>
<testsuites>
  <testsuite name="summeter gate" tests="2" failures="1" errors="0" skipped="0">
    <testcase classname="summeter gate" name="aster: faithfulness" />
    <testcase classname="summeter gate" name="birch: faithfulness">
      <failure message="0.62 &lt; 0.8" />
    </testcase>
  </testsuite>
</testsuites>
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple
from xml.etree import ElementTree

from summeter.pages.embedded import without_controls

Outcome = Literal["passed", "failed", "error", "skipped"]
_ELEMENTS = {"failed": ("failure", "failures"), "error": ("error", "errors"), "skipped": ("skipped", "skipped")}
"""Element of each outcome, and the attribute of the suite that counts it."""


class Case(NamedTuple):
    """A test case: what was checked and whether it passed.

    `message` is one line that says why the case did not pass, and `text` the evidence. `properties` are further figures
    of the case; a property whose value is None is left out.
    """

    name: str
    outcome: Outcome
    message: str = ""
    text: str = ""
    properties: Mapping[str, Any] = {}


def junit(suite: str, cases: Iterable[Case], properties: Mapping[str, Any] | None = None) -> str:
    """Return a JUnit file with one suite.

    `suite` is the name of the suite and the class name of its cases. `properties` belong to the whole suite.
    """
    listed = list(cases)
    root = ElementTree.Element("testsuites")
    outcomes: list[str] = [case.outcome for case in listed]
    counts = {attribute: str(outcomes.count(outcome)) for outcome, (_, attribute) in _ELEMENTS.items()}
    element = ElementTree.SubElement(root, "testsuite", {"name": suite, "tests": str(len(listed)), **counts})
    _add_properties(element, properties or {})
    for case in listed:
        node = ElementTree.SubElement(element, "testcase", {"classname": suite, "name": case.name})
        _add_properties(node, case.properties)
        if case.outcome != "passed":
            why = ElementTree.SubElement(node, _ELEMENTS[case.outcome][0], {"message": case.message})
            why.text = case.text or None
    ElementTree.indent(root)
    text = without_controls(ElementTree.tostring(root, encoding="unicode"))
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def _add_properties(element: ElementTree.Element, properties: Mapping[str, Any]) -> None:
    known = {name: value for name, value in properties.items() if value is not None}
    if known:
        parent = ElementTree.SubElement(element, "properties")
        for name, value in known.items():
            ElementTree.SubElement(parent, "property", {"name": name, "value": str(value)})
