"""Export the judgments and scores of a run as Parquet files for other tools."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from summeter.data.atomic import write_lines, writing
from summeter.records import UsageError, WriteError
from summeter.runs.run import RunFolder
from summeter.runs.views import SCORE_COLUMNS, score_lines
from summeter.scoring.table import COLUMN_TYPES

_JUDGMENT = COLUMN_TYPES | {
    "evidence": "JSON",
    "prepared": "VARCHAR",
    "claim": "JSON",
    "confidence": "DOUBLE",
    "contradicted": "BOOLEAN",
}
_SCORE = dict.fromkeys(SCORE_COLUMNS, "VARCHAR") | {"value": "DOUBLE", "n": "BIGINT", "missing": "BIGINT"}
_FLAT = "target.*, * EXCLUDE (target) REPLACE (label ->> '$' AS label)"


def export(run: RunFolder, folder: Path) -> dict[Path, int]:
    """Write `judgments.parquet` and `scores.parquet`, and return the number of rows by path.

    The fields of the target of a judgment are in the columns from `document_id` to `list_id`. `label` is a string;
    `evidence` and `claim` are JSON. Existing files in `folder` are replaced. Raises UsageError if `folder` is inside
    the run's folder, InputError if the run is damaged, and WriteError if the disk is full.
    """
    if folder.resolve().is_relative_to(run.folder.resolve()):
        raise UsageError(f"{folder} is inside the run's folder. Choose another folder for the exported files")
    folder.mkdir(parents=True, exist_ok=True)
    judgments, scores = folder / "judgments.parquet", folder / "scores.parquet"
    return {
        judgments: _write(judgments, (judgment.line for judgment in run.iter_judgments()), _JUDGMENT, _FLAT),
        scores: _write(scores, score_lines(run.totals.scores), _SCORE, "*"),
    }


def _write(target: Path, lines: Iterable[str], columns: Mapping[str, str], selected: str) -> int:
    """Write lines of JSON to a Parquet file with bounded memory, and return the number of rows."""
    import duckdb

    types = "{" + ", ".join(f"'{name}': '{type_}'" for name, type_ in columns.items()) + "}"
    query = f"SELECT {selected} FROM read_json(?, format = 'newline_delimited', columns = {types})"  # noqa: S608 - constants
    with tempfile.TemporaryDirectory(prefix="summeter-") as scratch, writing(target) as handle:
        source, parquet = Path(scratch) / "rows.jsonl", Path(scratch) / "rows.parquet"
        number = write_lines(source, lines)
        limits: dict[str, Any] = {"memory_limit": "256MB", "threads": 2, "temp_directory": scratch}
        with duckdb.connect(config=limits) as connection:
            try:
                copy = f"COPY ({query}) TO '{parquet}' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 20000)"
                connection.execute(copy, [str(source)])
            except duckdb.IOException as error:
                raise WriteError.of(target, "the export", OSError(str(error))) from error
        with parquet.open("rb") as rows:
            shutil.copyfileobj(rows, handle)
    return number
