"""Write the views of a run: scores.jsonl, scores.csv, summary.json and pairs.jsonl.

pairs.jsonl is written only if there are pairwise judges.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from pydantic_core import to_json

from summeter.data.atomic import write_lines, write_text
from summeter.runs.run import RunFolder
from summeter.scoring import Score, ScoreTable
from summeter.scoring.table import Categorical
from summeter.tables import csv_line

SCORE_COLUMNS = tuple(Score.model_fields)
_CHUNK = 50_000
PAIRS = "pairs.jsonl"
VIEWS = ("scores.jsonl", "scores.csv", PAIRS, "summary.json")


def write_views(run: RunFolder) -> None:
    """Compute the views of a run from the judgments and write them.

    Formulas in scores.csv are escaped (see `tables`).
    """
    totals = run.totals
    write_lines(run.folder / "scores.jsonl", score_lines(totals.scores))
    write_lines(run.folder / "scores.csv", _csv(totals.scores))
    if totals.preferences:
        write_lines(run.folder / PAIRS, (row.model_dump_json() for row in totals.preferences))
    else:
        (run.folder / PAIRS).unlink(missing_ok=True)
    summary = {
        "schema": "summeter/1",
        "counts": totals.statuses,
        "coverage": totals.coverage,
        "ranking": totals.systems.ranking(),
        "rows": totals.systems.to_dicts(),
        "pairs": [row.model_dump() for row in totals.pairs],
        "truncated_tokens": totals.truncated._asdict(),
        "replies": [{**row.model_dump(), "success": row.success} for row in totals.replies],
    }
    write_text(run.folder / "summary.json", json.dumps(summary, ensure_ascii=False, indent=1) + "\n")


def score_lines(scores: ScoreTable) -> Iterator[str]:
    """Yield each score as a line of JSON without creating records.

    The lines equal the results of `Score.model_dump_json`.
    """
    line = "{" + ",".join(f'"{name}":%s' for name in SCORE_COLUMNS) + "}"

    def numbers(column: list[Any]) -> list[str]:
        return to_json([None if number != number else number for number in column]).decode()[1:-1].split(",")  # noqa: PLR0124

    for cells in _rows(scores, SCORE_COLUMNS, lambda name: to_json(name).decode(), numbers):
        yield line % cells


def _csv(scores: ScoreTable) -> Iterator[str]:
    """Yield the rows of the CSV file without final line feeds.

    A row may contain line feeds within a quoted string.
    """
    yield csv_line(SCORE_COLUMNS)

    def text(name: str | None) -> str:
        return csv_line((name, 0)).removesuffix(",0")

    def numbers(column: list[Any]) -> list[str]:
        return ["" if number != number else repr(number) for number in column]  # noqa: PLR0124 - NaN is a missing score

    for cells in _rows(scores, SCORE_COLUMNS, text, numbers):
        yield ",".join(cells)


def _rows(
    scores: ScoreTable,
    columns: Sequence[str],
    text: Callable[[str | None], str],
    numbers: Callable[[list[Any]], list[str]],
) -> Iterator[tuple[str, ...]]:
    """Yield the cells of each score as strings.

    `text` formats a name and is called once per name; `numbers` formats a column of numbers.
    """
    table = [getattr(scores, "document" if name == "doc_id" else name) for name in columns]
    names = [
        np.array([*map(text, column.names)], object) if isinstance(column, Categorical) else None for column in table
    ]
    for start in range(0, len(scores), _CHUNK):
        rows = slice(start, start + _CHUNK)
        yield from zip(
            *(
                numbers(column[rows].tolist()) if texts is None else texts[column.codes[rows]].tolist()
                for column, texts in zip(table, names, strict=True)
            ),
            strict=True,
        )
