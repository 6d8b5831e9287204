"""Records of OpenAI evals, written by `oaieval` as JSON Lines.

Source: `evals/record.py`, version 3.0.1. The first line has `spec`, the last `final_report`, and the others are events
of a `sample_id`. Scorers are `correct` of events of the type "match", and the fields of events of the type "metrics";
`choice` of model-graded evals is a column that `--judge` can name. Items of hosted evals are not read.
"""

from __future__ import annotations

from summeter.data.logs.table import Log, LogFormat, VoteTable


def _read(log: Log, table: VoteTable) -> None:
    functions = log.get(log.records[0], "spec.completion_fns", list, needed=False) or []
    system = ", ".join(map(str, functions)) or None
    texts: dict[str, str] = {}
    for record in log.records[1:]:
        if "final_report" in record.content:
            continue
        kind, item, data = (
            log.get(record, name, of) for name, of in (("type", str), ("sample_id", str), ("data", dict))
        )
        if kind is None or item is None or data is None:
            continue
        if kind == "sampling" and isinstance(data.get("sampled"), list) and data["sampled"]:
            texts.setdefault(item, str(data["sampled"][0]))
        if kind not in ("match", "metrics"):
            continue
        row = table.row(record, item, item=item, system=system)
        for name, value in ({"correct": data.get("correct")} if kind == "match" else data).items():
            if name == "choice":
                row.setdefault(name, value)
            else:
                table.vote(row, record, name, value)
    for row in table.rows.values():
        if row["item"] in texts:
            row["output"] = texts[row["item"]]
            table.roles.add("output")


FORMAT = LogFormat(
    "OpenAI evals log", lambda first: isinstance(first.get("spec"), dict) and "run_id" in first["spec"], _read
)
