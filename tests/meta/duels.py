"""Pairwise verdicts for tests, and a check of the rows of a study."""

from __future__ import annotations

import json
from collections.abc import Iterable

from summeter.meta.results import CONTRACT, Study
from summeter.records import Judgment, Target


def duel(document: str, first: str, second: str, value: float | None, aspect: str = "coherence") -> Judgment:
    """Return a verdict with `first` shown first. None is an unparsed reply."""
    return Judgment(
        target=Target(document_id=document, system=first, rival=second, unit="pair"), aspect=aspect, judge="h2h",
        signature="h2h|v:1", model="m", value=value, status="ok" if value is not None else "unparsed",
        reason=None if value is not None else "no letter",
    )  # fmt: skip


def duels(pair: tuple[str, str], verdicts: Iterable[tuple[float | None, float | None]]) -> list[Judgment]:
    """Return verdicts on documents d1, d2, ...: points of the first system when shown first, and when shown second."""
    made = []
    for number, (shown_first, shown_second) in enumerate(verdicts, 1):
        turned = None if shown_second is None else 1 - shown_second
        made += [duel(f"d{number}", *pair, shown_first), duel(f"d{number}", pair[1], pair[0], turned)]
    return made


def sound(study: Study) -> None:
    """Check that rows have all columns, serialise as strict JSON, and give a reason for missing values."""
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
