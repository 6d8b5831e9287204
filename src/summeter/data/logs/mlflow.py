"""Traces of MLflow with their assessments, as JSON or JSON Lines.

Source: `Trace.to_json` and `Assessment.to_dictionary` of mlflow-skinny 3.17.2, with which traces were written. Records
of the data frame of `mlflow.search_traces` have the same assessments. Those of the source type HUMAN are people's,
LLM_JUDGE and CODE are judges'. Assessments that are overridden (`valid` is false) are left out.
"""

from __future__ import annotations

from collections.abc import Mapping

from summeter.data.logs.table import Log, LogFormat, Record, VoteTable


def _info(first: Mapping[str, object]) -> Mapping[str, object]:
    info = first.get("info", first)
    return info if isinstance(info, Mapping) else {}


def _read(log: Log, table: VoteTable) -> None:
    for record in log.records or [Record(None, "", log.whole)]:
        place = f"{record.path}.info".lstrip(".") if "info" in record.content else record.path
        info = Record(record.line, place, _info(record.content))
        trace = log.get(info, "trace_id", str)
        text = log.get(info, "response_preview", str, needed=False)
        for each in log.objects(info, "assessments", needed=False):
            name, kind = log.get(each, "assessment_name", str), log.get(each, "source.source_type", str)
            if trace is None or name is None or kind is None or each.content.get("valid") is False:
                continue
            given = each.content.get("feedback") or each.content.get("expectation") or {}
            person = str(each.content["source"].get("source_id") or "human") if kind == "HUMAN" else None
            span = each.content.get("span_id")
            item = trace if span is None else f"{trace} {span}"
            row = table.row(record, item, item=item, document=trace, output=text)
            table.vote(row, each, name, given.get("value") if isinstance(given, Mapping) else None, person)


FORMAT = LogFormat(
    "MLflow traces",
    lambda first: {"trace_id", "assessments"} <= {*_info(first)} and isinstance(_info(first)["assessments"], list),
    _read,
)
