"""Logs of evaluation tools, which are recognised by their content and read as one table of votes.

A format is a module with a `LogFormat`. Its reader names line and field of what is not as expected.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from summeter.data.faults import Faults
from summeter.data.formats import file_name, format_of, read_rows
from summeter.data.logs import inspect_ai, langfuse, lm_eval, mlflow, openai_evals, phoenix, promptfoo
from summeter.data.logs.table import Log, LogFormat, Record, VoteTable
from summeter.records import UsageError

FORMATS = tuple(
    module.FORMAT for module in (inspect_ai, lm_eval, promptfoo, openai_evals, langfuse, phoenix, mlflow)
)  # fmt: skip
_PAGES = ("data", "traces")
"""Possible keys of the list of records in a page of an API."""


def read_log(
    path: Path, named: str | None, how: Mapping[str, Any], faults: Faults
) -> tuple[LogFormat, VoteTable] | None:
    """Return the format and the votes of a log, or None if the file is of no known format of logs.

    `named` is the format of the file (default: by its suffix), and `how` has its `delimiter` and `encoding`. Content
    that is not as expected is added to `faults`.
    """
    if str(path) == "-":
        return None  # it can be read only once
    if path.suffix == ".eval":
        log = inspect_ai.read_eval(path, faults)
    else:
        try:
            kind = format_of(path, named)
        except UsageError:
            return None
        if kind not in ("json", "jsonl"):
            return None
        log = _json(path, faults) if kind == "json" else Log(faults, {}, ())
        if not log.first:
            start = Faults(file_name(path))  # faults in other files are for their readers
            log = Log(
                start, {}, [Record(row.line, "", row.cells) for row in islice(read_rows(path, start, kind, **how), 1)]
            )
            if any(each.recognised(log.first) for each in FORMATS):
                rows = read_rows(path, faults, kind, **how)
                log = Log(faults, {}, [Record(row.line, "", row.cells) for row in rows])
    found = next((each for each in FORMATS if each.recognised(log.first)), None)
    if found is None:
        return None
    table = VoteTable(faults)
    found.read(log, table)
    return found, table


def _json(path: Path, faults: Faults) -> Log:
    """Return the content of a JSON file, or of nothing if it is not JSON or JSON Lines. NaN stands for no value."""
    try:
        content = json.loads(path.read_text("utf-8-sig"), parse_constant=lambda _: None)
    except (OSError, ValueError, RecursionError):
        return Log(faults, {}, ())
    name = ""
    if isinstance(content, dict):
        name = next((each for each in _PAGES if isinstance(content.get(each), list)), "")
        if not name:
            return Log(faults, content, ())
        content = content[name]
    rows = content if isinstance(content, list) else []
    return Log(faults, {}, [Record(None, f"{name}[{n}]", row) for n, row in enumerate(rows) if isinstance(row, dict)])
