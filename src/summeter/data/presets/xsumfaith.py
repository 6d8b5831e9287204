"""XSumFaith (Maynez et al., 2020): hallucinated spans and factuality of XSum summaries, three people each."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from summeter.data.presets.base import (
    Articles,
    Cells,
    Count,
    FileRole,
    Joined,
    LayoutError,
    Preset,
    Record,
    label_of,
    located_span,
    never,
)

_KEY = ("bbcid", "system")
_KINDS = ("intrinsic", "extrinsic", "NULL")
_FACTUAL = {"yes": 1, "no": 0, "NULL": None}
_SCORED = {"bert_withckpt": "berts2s", "bert_nockpt": "trans2s"}
"""What eval_scores calls systems that the annotations name otherwise, in lower case."""


def _convert(joined: Joined) -> Iterable[Cells]:
    summary = joined.cells.get("summary")
    if not isinstance(summary, str):
        raise LayoutError("summary", "is not a text, as this layout has it; check the preset")
    types: dict[str, set[str]] = {}
    spans: list[dict[str, Any]] = []
    marked: list[Cells] = []
    placed = True
    for record in joined.rows:
        cells = record.cells
        worker, kind = str(cells.get("worker_id")), cells.get("hallucination_type")
        if kind not in _KINDS:
            raise LayoutError("hallucination_type", f"holds {kind!r} where this layout has {', '.join(_KINDS)}")
        kinds = types.setdefault(worker, set())
        if kind == "NULL":
            continue
        kinds.add(kind)
        marked.append(cells)
        place = located_span(
            summary, str(cells.get("hallucinated_span")), _number(cells, "hallucinated_span_start") - 1
        )
        if place is None:
            placed = False
            joined.warn(
                "hallucinated_span",
                "is not in the summary, whose spans are kept in `unplaced_spans` only; their types count",
            )
        else:
            spans.append({"annotator": worker, "start": place[0], "end": place[1], "label": kind})
    human: dict[str, Any] = {
        "sentence_labels": [{worker: sorted(kinds) or 1 for worker, kinds in types.items()}],
    }
    if placed:  # spans that lack one would say that its annotator found nothing
        human["spans"] = spans
    if factual := {str(record.cells.get("worker_id")): _factual(record) for record in joined.rows_of("factuality")}:
        human["overall"] = {"factual": factual}
    row: Cells = {
        "doc_id": joined.cells["bbcid"],
        "system": joined.cells["system"],
        "document": joined.document,
        "summary": summary,
        "sentences": [summary],
        "domain": "xsum",
        "human": human,
    }
    scores = joined.first("scores")
    more = {"unplaced_spans": [] if placed else marked, "eval_scores": scores}
    return [row | {name: value for name, value in more.items() if value}]


def _number(cells: Cells, column: str) -> int:
    try:
        return int(cells[column])
    except (KeyError, TypeError, ValueError):
        raise LayoutError(column, "is no whole number, as this layout has it; check the preset") from None


def _factual(record: Record) -> int | None:
    return label_of(record.cells.get("is_factual"), _FACTUAL, "is_factual")


def _scored(record: Record) -> Hashable:
    system, _, bbcid = str(record.cells.get("system_bbcid")).rpartition("_")
    return _SCORED.get(system.casefold(), system.casefold()), bbcid


def _of_row(record: Record) -> Hashable:
    return str(record.cells.get("system")).casefold(), str(record.cells.get("bbcid"))


XSUMFAITH = Preset(
    name="xsumfaith",
    about="XSumFaith: hallucinated spans by person, and whether the summary is factual",
    citation="Maynez et al., 2020",
    licence="CC BY 4.0",
    roles=(
        FileRole(
            "rows",
            (*_KEY, "summary", "hallucination_type", "hallucinated_span", "worker_id"),
            "hallucination_annotations_xsum_summaries.csv",
            files=("hallucination_annotations_xsum_summaries.csv",),
        ),
        FileRole(
            "factuality",
            (*_KEY, "is_factual", "worker_id"),
            "factuality_annotations_xsum_summaries.csv",
            files=("factuality_annotations_xsum_summaries.csv",),
            key=_KEY,
            needed=never,
        ),
        FileRole(
            "scores",
            ("system_bbcid",),
            "eval_scores_xsum_summaries.csv",
            files=("eval_scores_xsum_summaries.csv",),
            key=_scored,
            row_key=_of_row,
            needed=never,
        ),
    ),
    articles=Articles("the articles of XSum's test set, by BBC id", lambda cells: str(cells.get("bbcid"))),
    gives="sentence_labels, sentence_error_types, spans; with the factuality file also overall.factual",
    counts=(Count("hallucination_annotations_xsum_summaries.csv", 500, 2_500),),
    group=_KEY,
    convert=_convert,
)
