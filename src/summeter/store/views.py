"""Views of a run, rebuilt from its facts: scores.jsonl, scores.csv, pairs.jsonl (where it compares), summary.json."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence

from summeter.records import Judgment
from summeter.scoring import (
    PairScore,
    Score,
    SystemTable,
    pair_scores,
    preferences,
    summary_scores,
    system_scores,
)
from summeter.store.atomic import write_lines, write_text
from summeter.store.run import RunFolder, counts, coverage

SCORE_COLUMNS = (
    "doc_id", "system", "judge", "signature", "model", "aspect", "value", "n", "missing", "status", "reason",
)  # fmt: skip

PAIRS = "pairs.jsonl"


def write_views(run: RunFolder, judgments: Sequence[Judgment]) -> SystemTable:
    """Write the views of `run` from its judgments; returns the table of systems."""
    scores = summary_scores(judgments, run.reduce)
    domains = {document.id: document.domain for document in run.data.documents.values()}
    seed = int(run.manifest.options.get("seed") or 0)
    table = SystemTable(system_scores(scores, domains, seed=seed))
    write_lines(run.folder / "scores.jsonl", (score.model_dump_json() for score in scores))
    write_text(run.folder / "scores.csv", _csv(scores))
    compared = preferences(judgments)
    if compared:
        write_lines(run.folder / PAIRS, (one.model_dump_json() for one in compared))
    else:
        (run.folder / PAIRS).unlink(missing_ok=True)
    summary = _summary(judgments, table, pair_scores(compared, seed=seed))
    write_text(run.folder / "summary.json", json.dumps(summary, ensure_ascii=False, indent=1) + "\n")
    return table


def _csv(scores: Sequence[Score]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(SCORE_COLUMNS)
    for score in scores:
        row = score.model_dump()
        writer.writerow(["" if row[column] is None else row[column] for column in SCORE_COLUMNS])
    return text.getvalue()


def _summary(judgments: Sequence[Judgment], table: SystemTable, pairs: Sequence[PairScore]) -> dict[str, object]:
    by_status = counts(list(judgments))
    return {
        "schema": "summeter/1",
        "counts": by_status,
        "coverage": coverage(by_status),
        "ranking": table.ranking(),
        "rows": table.to_dicts(),
        "pairs": [one.model_dump() for one in pairs],
    }
