"""Head-to-head verdicts in few words, and checks every study's rows must pass."""

from __future__ import annotations

import json
from collections.abc import Iterable

from summeter.meta.results import CONTRACT, Study
from summeter.records import Judgment, Target


def duel(document: str, first: str, second: str, value: float | None, aspect: str = "coherence") -> Judgment:
    """A verdict with `first` shown first; None is a reply that could not be read."""
    return Judgment(
        target=Target(document_id=document, system=first, rival=second, unit="pair"), aspect=aspect, judge="h2h",
        signature="h2h|v:1", model="m", value=value, status="ok" if value is not None else "unparsed",
        reason=None if value is not None else "no letter",
    )  # fmt: skip


def duels(pair: tuple[str, str], verdicts: Iterable[tuple[float | None, float | None]]) -> list[Judgment]:
    """Verdicts on documents d1, d2, ...: the points of the pair's first system when shown first, and second."""
    made = []
    for number, (shown_first, shown_second) in enumerate(verdicts, 1):
        turned = None if shown_second is None else 1 - shown_second
        made += [duel(f"d{number}", *pair, shown_first), duel(f"d{number}", pair[1], pair[0], turned)]
    return made


def sound(study: Study) -> None:
    """Every row has the contract's columns, prints as strict JSON, and says why where it has no value."""
    for row in study.to_dicts():
        assert set(CONTRACT) <= set(row)
        json.dumps(row, allow_nan=False)
        assert (row["value"] is None) == (row["status"] == "undefined")
        assert row["value"] is not None or row["reason"]
        assert isinstance(row["n"], int)
        assert isinstance(row["missing"], int)
        if row["low"] is not None:
            assert row["low"] <= row["high"]
            assert row["interval"]
    str(study)
