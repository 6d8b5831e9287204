"""Samples of lm-evaluation-harness: `samples_TASK_TIME.jsonl`, written with `--log_samples`.

Source: `lm_eval/evaluator.py` and `lm_eval/loggers/evaluation_tracker.py`, version 0.4.13. A line has a key per metric,
whose names are in `metrics`, and there is one line per filter. Columns are "METRIC,FILTER" as in the file of results
if there are several filters.
"""

from __future__ import annotations

from summeter.data.logs.table import Log, LogFormat, VoteTable


def _read(log: Log, table: VoteTable) -> None:
    several = len({record.content.get("filter") for record in log.records}) > 1
    for record in log.records:
        content, document = record.content, log.get(record, "doc", dict)
        metrics = log.get(record, "metrics", list)
        if "doc_id" not in content or document is None or metrics is None:
            if "doc_id" not in content:
                log.faults.add(record.line, "doc_id", "is absent; each sample has one")
            continue
        replies = content.get("filtered_resps")
        text = replies[0] if isinstance(replies, list) and replies and isinstance(replies[0], str) else None
        row = table.row(record, content["doc_id"], item=content["doc_id"], output=text)
        for metric in map(str, metrics):
            if metric not in content:
                log.faults.add(record.line, metric, "is absent, but it is one of the metrics")
                continue
            table.vote(row, record, f"{metric},{content.get('filter')}" if several else metric, content[metric])
        table.described(row, document)


FORMAT = LogFormat("lm-eval samples", lambda first: {"doc_id", "doc", "resps", "filtered_resps"} <= {*first}, _read)
