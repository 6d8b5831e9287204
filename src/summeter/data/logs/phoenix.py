"""Annotations of Phoenix: pages of `GET /v1/projects/PROJECT/span_annotations`, or the data frame of the client.

Source: arize-phoenix-client 3.5.0 and the documentation of annotations. Those of the `annotator_kind` HUMAN are
people's, the others are judges'. The data frame has `annotation_name` and `result.score` instead of `name` and
`result`. Scores are read, or labels if an annotation of the name has no score.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from summeter.data.logs.table import Log, LogFormat, Record, VoteTable


def _result(record: Record, name: str) -> Any:
    result = record.content.get("result")
    value = result.get(name) if isinstance(result, Mapping) else record.content.get(f"result.{name}")
    return None if value == "" else value


def _read(log: Log, table: VoteTable) -> None:
    named = [(each.content.get("name") or each.content.get("annotation_name"), each) for each in log.records]
    labelled = {name for name, each in named if _result(each, "score") is None and _result(each, "label") is not None}
    for name, record in named:
        kind, span = log.get(record, "annotator_kind", str), log.get(record, "span_id", str)
        if not isinstance(name, str):
            log.faults.add(record.line, f"{record.path}.name".lstrip("."), "is absent; each annotation has one")
        if kind is None or span is None or not isinstance(name, str):
            continue
        row = table.row(record, span, item=span)
        user = record.content.get("user_id") or record.content.get("identifier") or "human"
        value = _result(record, "label" if name in labelled else "score")
        table.vote(row, record, name, value, str(user) if kind == "HUMAN" else None)


FORMAT = LogFormat("Phoenix annotations", lambda first: {"annotator_kind", "span_id"} <= {*first}, _read)
