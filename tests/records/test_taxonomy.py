"""Error types: canonical names, and sets of types as text."""

from __future__ import annotations

import pytest

from summeter.records.taxonomy import canonical_error_type, error_types, joined_error_types, names_no_error


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("OutE", "out-of-context error"),
        ("out-of-context error", "out-of-context error"),
        (" Out_of_Context Errors ", "out-of-context error"),
        ("RelE", "predicate error"),
        ("relation error", "relation error"),
        ("no-error", "no error"),
        ("No_Errors.", "no error"),
        (" invented ", "invented"),
        ("error", ""),
    ],
)
def test_canonical_error_type(name: str, canonical: str) -> None:
    assert canonical_error_type(name) == (canonical or "error")


def test_error_types() -> None:
    assert error_types("EntE+OutE") == error_types("out-of-context error+entity error+EntE")
    assert error_types("NoE+EntE") == {"entity error"}
    assert error_types(" + ") == frozenset() == error_types(None)


def test_joined_error_types() -> None:
    assert joined_error_types(["OutE", "EntE"]) == joined_error_types(["EntE+OutE"]) == "EntE+OutE"
    assert joined_error_types(["NoE", "EntE"]) == "EntE"
    assert joined_error_types(["NoE"]) == "NoE"
    assert joined_error_types([]) is None


@pytest.mark.parametrize(("text", "answer"), [("NoE", True), ("no_error", True), ("NoE+EntE", False), ("none", False)])
def test_names_no_error(text: str, answer: bool) -> None:
    assert names_no_error(text) is answer
