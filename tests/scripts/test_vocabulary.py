"""The check of words in scripts/vocabulary.py."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

SCRIPT = runpy.run_path(str(Path(__file__).resolve().parents[2] / "scripts" / "vocabulary.py"))
RULES, EXEMPT = SCRIPT["read_rules"](
    """
    phrase | all the same | still
    phrase | is none | is missing
    class | Slot | Place
    name | kin | synonyms | src
    exempt | src/quotes

    [later]
    phrase | dear judge | expensive judge
    """.replace("\n    ", "\n")
)


@pytest.mark.parametrize(
    ("path", "source", "expected"),
    [
        ("src/a.py", '"""Built all\n    the same."""', [("all the same", 1)]),
        ("src/a.py", "# built all\n# the same\nx = 1", [("all the same", 1)]),
        ("src/a.py", "x = f'{y} All the same'", [("all the same", 1)]),
        ("src/a.py", "x = y is None  # y is None", []),
        ("src/a.py", "class _Slot:\n    KIN = kin = 1", [("Slot", 1), ("kin", 2)]),
        ("src/a.py", "def slot(Slot): return Slot.kin", []),
        ("src/kin/__init__.py", "", [("kin", 1)]),
        ("docs/a.md", "One\n\nis none", [("is none", 3)]),
        ("docs/a.md", "thesis none is none-such", []),
        ("tests/a.py", "def f(kin):\n    'is none'\n    return 'all the same'", [("is none", 2)]),
        ("docs/a.md", "a dear judge", [("dear judge", 1)]),
    ],
)
def test_forbidden_words_are_found(path: str, source: str, expected: list[tuple[str, int]]) -> None:
    assert [(use.rule.word, use.line) for use in SCRIPT["uses"](path, source, RULES)] == expected


def test_exempt_files_and_words_for_later() -> None:
    assert EXEMPT == ["src/quotes"]
    assert [rule.word for rule in RULES if rule.later] == ["dear judge"]


@pytest.mark.parametrize("line", ["verb | a | b", "phrase | a", "phrase | a | b | src | docs"])
def test_faulty_rules_are_refused(line: str) -> None:
    with pytest.raises(ValueError, match="expected KIND"):
        SCRIPT["read_rules"](line)
