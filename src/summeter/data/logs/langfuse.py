"""Scores of Langfuse: pages of the public API (`GET /api/public/v3/scores`), or their scores as JSON Lines.

Source: the models of scores in the Python SDK 5.0.4. Scores of the source ANNOTATION are people's, EVAL and API are
judges'. In version 3 of the API, `subject` replaces the ids. Scores of the types TEXT and CORRECTION are no votes.
"""

from __future__ import annotations

from collections.abc import Mapping

from summeter.data.logs.table import Log, LogFormat, VoteTable

_NO_VOTES = ("TEXT", "CORRECTION")


def _read(log: Log, table: VoteTable) -> None:
    for record in log.records:
        content = record.content
        name, source = log.get(record, "name", str), log.get(record, "source", str)
        subject = content.get("subject")
        ids = [content.get(each) for each in ("traceId", "observationId", "sessionId", "datasetRunId")]
        if isinstance(subject, Mapping):
            ids = [subject.get("traceId"), subject.get("id")]
        item = " ".join(dict.fromkeys(str(each) for each in ids if each))
        if not item:
            log.faults.add(record.line, f"{record.path}.traceId".lstrip("."), "is absent; each score has one")
        if name is None or source is None or not item or content.get("dataType") in _NO_VOTES:
            continue
        text = content.get("stringValue") if content.get("dataType") == "CATEGORICAL" else None
        row = table.row(record, item, item=item)
        person = str(content.get("authorUserId") or "human") if source == "ANNOTATION" else None
        table.vote(row, record, name, content.get("value") if text is None else text, person)


FORMAT = LogFormat(
    "Langfuse scores",
    lambda first: (
        first.get("source") in ("ANNOTATION", "API", "EVAL")
        and {"name", "value"} <= {*first}
        and bool({"traceId", "subject"} & {*first})
    ),
    _read,
)
