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
    coverage,
    pair_scores,
    preferences,
    reply_counts,
    summary_scores,
    system_scores,
)
from summeter.store.atomic import write_lines, write_text
from summeter.store.run import RunFolder, counts, left_out

SCORE_COLUMNS = (
    "doc_id", "system", "judge", "signature", "model", "aspect", "value", "n", "missing", "status", "reason",
)  # fmt: skip

PAIRS = "pairs.jsonl"


def write_views(run: RunFolder, judgments: Sequence[Judgment]) -> float | None:
    """Write the views of `run` from its judgments; returns the coverage."""
    scores = summary_scores(judgments, run.reduce)
    domains = {document.id: document.domain for document in run.data.documents.values()}
    seed = run.seed
    table = SystemTable(system_scores(scores, domains, seed=seed))
    write_lines(run.folder / "scores.jsonl", (score.model_dump_json() for score in scores))
    write_text(run.folder / "scores.csv", _csv(scores))
    compared = preferences(judgments)
    if compared:
        write_lines(run.folder / PAIRS, (one.model_dump_json() for one in compared))
    else:
        (run.folder / PAIRS).unlink(missing_ok=True)
    covered = coverage(scores, ((one.n, one.missing) for one in compared))
    summary = _summary(judgments, covered, table, pair_scores(compared, seed=seed))
    write_text(run.folder / "summary.json", json.dumps(summary, ensure_ascii=False, indent=1) + "\n")
    return covered


def _csv(scores: Sequence[Score]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(SCORE_COLUMNS)
    for score in scores:
        row = score.model_dump()
        writer.writerow(["" if row[column] is None else row[column] for column in SCORE_COLUMNS])
    return text.getvalue()


def _summary(
    judgments: Sequence[Judgment], covered: float | None, table: SystemTable, pairs: Sequence[PairScore]
) -> dict[str, object]:
    return {
        "schema": "summeter/1",
        "counts": counts(list(judgments)),
        "coverage": covered,
        "ranking": table.ranking(),
        "rows": table.to_dicts(),
        "pairs": [one.model_dump() for one in pairs],
        "truncated_tokens": left_out(judgments)._asdict(),
        "replies": [{**one.model_dump(), "success": one.success} for one in reply_counts(judgments)],
    }
