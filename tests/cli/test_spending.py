"""Usage of a run, in words."""

from __future__ import annotations

from summeter.cli.spending import _short_names


def test_judges_with_equal_names_have_different_labels() -> None:
    zero, cot = "yesno|judge:p/m|cot:no|v:1", "yesno|judge:p/m|cot:yes|v:1"
    first, second = "rts|judge:p/m|v:2", "rts|judge:p/m|v:2|rep:2"
    named = _short_names([("yesno", zero), ("yesno", cot), ("rts", first), ("rts", second)])
    assert named == {zero: zero, cot: cot, first: "rts", second: "rts (repeat 2)"}
