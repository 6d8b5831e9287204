"""Three hundred free-text replies with their correct readings, written without knowledge of the parsers.

`form` is the form asked for: a score from 1 to 5, stars, a score from 0 to 100, a letter from A to E, the better of two
summaries, or yes or no. `expected` is the reading, null if the reply states none. `unread` is the reason why a reply is
unparsed although its meaning is plain.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from together import together

from summeter.evaluators.catalog import build
from summeter.records import ReplyError

CORPUS = [json.loads(line) for line in (Path(__file__).parent / "reply_corpus.jsonl").read_text("utf-8").splitlines()]
JUDGES = {"score": "geval[single]", "stars": "stareval", "score100": "direct", "choice": "mcq", "yesno": "yesno"}
SAID: dict[str, dict[Any, float]] = {
    "choice": dict(zip("ABCDE", map(float, range(1, 6)), strict=True)),
    "yesno": {"yes": 1.0, "no": 0.0},
    "pair": {"1": 1.0, 1: 1.0, "2": 0.0, 2: 0.0, "tie": 0.5},
}
KEPT = {"t018": 3.5}
"""Half stars are not rounded, which would be a guess."""


def _read(judge: str, reply: str) -> float | None:
    try:
        return build(judge).strict(reply).value  # type: ignore[attr-defined,no-any-return]
    except ReplyError:
        return None


@together("row", [row for row in CORPUS if row["form"] != "pair"])
def test_replies_are_read_as_annotated(row: dict[str, Any]) -> None:
    expected = SAID.get(row["form"], {}).get(row["expected"], row["expected"])
    if "unread" in row:
        expected = None
    assert _read(JUDGES[row["form"]], row["reply"]) == KEPT.get(row["id"], expected)


@together("row", [row for row in CORPUS if row["form"] == "score"])
def test_rts_reads_the_annotated_score_or_none(row: dict[str, Any]) -> None:
    value = _read("rts", row["reply"])
    half = {"s059": 4.5, "s063": 3.75}.get(row["id"])  # half stars: see docs/rating.md
    assert value in (None, row["expected"], half)


@together("row", [row for row in CORPUS if row["form"] == "pair"])
def test_comparisons_are_never_misread(row: dict[str, Any]) -> None:
    """`h2h` asks for a letter; a reply that names the summaries by number may only be rejected."""
    assert _read("h2h", row["reply"]) in (None, SAID["pair"].get(row["expected"]))
