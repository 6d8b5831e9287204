"""XSumFaith (Maynez et al., 2020): hallucinated spans and factuality of XSum summaries, three annotators each."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from summeter.data.formats import Row
from summeter.data.presets.base import (
    Articles,
    Cells,
    Count,
    FileRole,
    Joined,
    LayoutError,
    Preset,
    integer_of,
    label_of,
    located_span,
    never,
    text_of,
)

_KEY = ("bbcid", "system")
_KINDS = ("intrinsic", "extrinsic", "NULL")
_FACTUAL = {"yes": 1, "no": 0, "NULL": None}
_SCORED = {"bert_withckpt": "berts2s", "bert_nockpt": "trans2s"}
"""Names of systems in eval_scores, in lower case, that differ from those in the annotations."""


def _convert(joined: Joined) -> Iterable[Cells]:
    summary = text_of(joined.cells, "summary")
    types: dict[str, set[str]] = {}
    spans: list[dict[str, Any]] = []
    marked: list[Cells] = []
    complete = True
    for each in joined.rows:
        cells = each.cells
        worker, kind = str(cells.get("worker_id")), cells.get("hallucination_type")
        if kind not in _KINDS:
            raise LayoutError(
                "hallucination_type", f"is {kind!r}; this layout has {', '.join(_KINDS)}; check the preset"
            )
        kinds = types.setdefault(worker, set())
        if kind == "NULL":
            continue
        kinds.add(kind)
        marked.append(cells)
        start = integer_of(cells, "hallucinated_span_start") - 1
        offsets = located_span(summary, str(cells.get("hallucinated_span")), start)
        if offsets is None:
            complete = False
            joined.warn(
                "hallucinated_span",
                "is not in the summary; its spans are kept in `unplaced_spans` only, their types in sentence_labels",
            )
        else:
            spans.append({"annotator": worker, "start": offsets[0], "end": offsets[1], "label": kind})
    human: dict[str, Any] = {
        "sentence_labels": [{worker: sorted(kinds) or 1 for worker, kinds in types.items()}],
    }
    if complete:  # a missing span would mean that its annotator found no error
        human["spans"] = spans
    factual = {
        str(each.cells.get("worker_id")): label_of(each.cells.get("is_factual"), _FACTUAL, "is_factual")
        for each in joined.rows_of("factuality")
    }
    if factual:
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
    more = {"unplaced_spans": [] if complete else marked, "eval_scores": scores}
    return [row | {name: value for name, value in more.items() if value}]


def _scores_key(row: Row) -> Hashable:
    system, _, bbcid = str(row.cells.get("system_bbcid")).rpartition("_")
    return _SCORED.get(system.casefold(), system.casefold()), bbcid


def _row_key(row: Row) -> Hashable:
    return str(row.cells.get("system")).casefold(), str(row.cells.get("bbcid"))


XSUMFAITH = Preset(
    name="xsumfaith",
    about="XSumFaith: hallucinated spans by annotator, and whether the summary is factual",
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
            key=_scores_key,
            row_key=_row_key,
            needed=never,
        ),
    ),
    articles=Articles("the articles of XSum's test set, by BBC id", lambda cells: str(cells.get("bbcid"))),
    gives="sentence_labels, sentence_error_types, spans; with the factuality file also overall.factual",
    counts=(Count("hallucination_annotations_xsum_summaries.csv", 500, 2_500),),
    group=_KEY,
    convert=_convert,
)
