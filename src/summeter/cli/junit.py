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

import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple
from xml.etree import ElementTree

Outcome = Literal["passed", "failed", "error", "skipped"]
_ELEMENTS = {"failed": ("failure", "failures"), "error": ("error", "errors"), "skipped": ("skipped", "skipped")}
"""Element of each outcome, and the attribute of the suite that counts it."""
# Characters that XML 1.0 does not allow, even as references.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


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
    element = ElementTree.SubElement(root, "testsuite", {"name": _xml(suite), "tests": str(len(listed)), **counts})
    _add_properties(element, properties or {})
    for case in listed:
        node = ElementTree.SubElement(element, "testcase", {"classname": _xml(suite), "name": _xml(case.name)})
        _add_properties(node, case.properties)
        if case.outcome != "passed":
            why = ElementTree.SubElement(node, _ELEMENTS[case.outcome][0], {"message": _xml(case.message)})
            why.text = _xml(case.text) or None
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _add_properties(element: ElementTree.Element, properties: Mapping[str, Any]) -> None:
    known = {name: value for name, value in properties.items() if value is not None}
    if known:
        parent = ElementTree.SubElement(element, "properties")
        for name, value in known.items():
            ElementTree.SubElement(parent, "property", {"name": _xml(name), "value": _xml(str(value))})


def _xml(text: str) -> str:
    """Replace the characters that an XML file cannot contain."""
    return _NOT_XML.sub("\ufffd", text)
