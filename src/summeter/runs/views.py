"""Views of a run, rebuilt from its facts: scores.jsonl, scores.csv, pairs.jsonl (where it compares), summary.json."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from summeter.data.atomic import write_lines, write_text
from summeter.runs.run import RunFolder
from summeter.runs.totals import RunTotals
from summeter.scoring import Score
from summeter.tables import csv_line

SCORE_COLUMNS = (
    "doc_id", "system", "judge", "signature", "model", "aspect", "value", "n", "missing", "status", "reason",
)  # fmt: skip

PAIRS = "pairs.jsonl"


def write_views(run: RunFolder, *, plain_csv: bool = False) -> None:
    """Write the views of `run` from its judgments; texts of scores.csv are inert (see `tables`) unless `plain_csv`."""
    totals = run.totals
    write_lines(run.folder / "scores.jsonl", (score.model_dump_json() for score in totals.scores))
    write_lines(run.folder / "scores.csv", _csv(totals.scores, plain=plain_csv))
    if totals.preferences:
        write_lines(run.folder / PAIRS, (row.model_dump_json() for row in totals.preferences))
    else:
        (run.folder / PAIRS).unlink(missing_ok=True)
    write_text(run.folder / "summary.json", json.dumps(_summary(totals), ensure_ascii=False, indent=1) + "\n")


def _csv(scores: Iterable[Score], *, plain: bool) -> Iterator[str]:
    """The lines of the table, without their line feeds; a text may hold some of its own."""
    yield csv_line(SCORE_COLUMNS)
    for score in scores:
        yield csv_line((getattr(score, column) for column in SCORE_COLUMNS), as_is=plain)


def _summary(totals: RunTotals) -> dict[str, object]:
    return {
        "schema": "summeter/1",
        "counts": totals.statuses,
        "coverage": totals.coverage,
        "ranking": totals.systems.ranking(),
        "rows": totals.systems.to_dicts(),
        "pairs": [row.model_dump() for row in totals.pairs],
        "truncated_tokens": totals.truncated._asdict(),
        "replies": [{**row.model_dump(), "success": row.success} for row in totals.replies],
    }
