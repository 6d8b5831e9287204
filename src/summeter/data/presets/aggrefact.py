"""Presets for AggreFact (Tang et al., 2023): nine datasets with labels and error types."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from summeter.data.formats import Row
from summeter.data.presets.base import (
    Cells,
    Count,
    FileRole,
    Joined,
    LayoutError,
    Preset,
    never,
    python_list,
    renamed,
)
from summeter.data.presets.claims import CLAIMS, claim, claim_system
from summeter.records import names_no_error

_LAYOUT = CLAIMS["aggrefact"]
_CORRECT = "correct"


def _convert(joined: Joined) -> Iterable[Cells]:
    row = claim(_LAYOUT, joined)
    typed = joined.first("error_types")
    if typed is not None:
        row["human"] |= _spans(typed, row, joined)
        row |= {column: typed.get(column) for column in ("error_type", "annotated_span")}
    return [_with_id(row)]


def _convert_types(joined: Joined) -> Iterable[Cells]:
    row: Cells = renamed(_LAYOUT.row(joined.cells), {"summ": "summary"})
    types = _types(row)
    human: dict[str, Any] = {"overall": {"faithfulness": None if types is None else int(not types)}}
    human |= _spans(row, row, joined)
    row["system"] = row.get("system") or claim_system(row.get("summary"))
    return [_with_id(row) | {"domain": row.get("origin") or row["dataset"], "human": human}]


def _with_id(row: Cells) -> Cells:
    """Return the row with the document id `dataset/id`, because datasets share ids."""
    return row if row.get("id") in (None, "") else {**row, "doc_id": f"{row['dataset']}/{row['id']}"}


def _types(cells: Mapping[str, Any]) -> list[str] | None:
    """Return the error types of a row, or None if there is no value.

    The list is empty if the summary is correct.
    """
    text = cells.get("error_type")
    if text is None or text == "":
        return None
    if isinstance(text, str) and not text.startswith("["):
        return [] if text.strip() == _CORRECT or names_no_error(text) else [text]
    names = [name for name in python_list(text, "error_type") if name != _CORRECT]
    if not all(isinstance(name, str) for name in names):
        raise LayoutError("error_type", "is not a list of names, as this layout requires; check the preset")
    return names


def _spans(cells: Mapping[str, Any], row: Mapping[str, Any], joined: Joined) -> dict[str, Any]:
    """Return the typed spans of a row as a `human` block.

    The row lists the spans in text order.
    """
    types = _types(cells)
    if types is None:
        return {}
    if not types:
        return {"spans": []}
    summary, end = str(row.get("summary")), 0
    spans: list[dict[str, Any]] = []
    for kind, text in _typed_texts(cells, types):
        start = summary.find(text, end)
        if start < 0:
            start = summary.find(text)
        if start < 0:
            joined.warn(
                "annotated_span", "contains a span that is not in the summary; its spans are kept in the column only"
            )
            return {}  # a missing span would mean that its sentence has no error
        end = start + len(text)
        spans.append({"start": start, "end": end, "label": kind})
    return {"spans": spans} if spans else {}


def _typed_texts(cells: Mapping[str, Any], types: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the error type and the text of each span.

    A row contains one list of texts per type (Goyal21) or a single list (CLIFF). If there is a single list for several
    types, the types of the spans are unknown, and nothing is yielded.
    """
    text = cells.get("annotated_span")
    given = (
        [text] if isinstance(text, str) and text and not text.startswith("[") else python_list(text, "annotated_span")
    )
    lists = [texts for texts in given if isinstance(texts, list)]
    if len(types) == 1 and not lists:
        lists = [given]
    if len(lists) == len(types):
        for kind, texts in zip(types, lists, strict=True):
            yield from ((kind, each) for each in texts if isinstance(each, str) and each)


def _summary_key(row: Row) -> Hashable:
    cells = row.cells
    words = str(cells.get("summ", cells.get("summary"))).split()
    dataset = "".join(filter(str.isalnum, str(cells.get("dataset")))).casefold()  # Goyal21 may be written "Goyal’21"
    return dataset, str(cells.get("id")), " ".join(words)


_TYPED = ("dataset", "id", "doc", "summ", "error_type", "annotated_span")

AGGREFACT = Preset(
    name="aggrefact",
    about="AggreFact: nine sets of binary labels, as overall faithfulness",
    citation="Tang et al., 2023",
    roles=(
        FileRole("rows", _LAYOUT.released, "aggre_fact_final.csv or aggre_fact_sota.csv"),
        FileRole("error_types", _TYPED, "error_type_mapping/*.csv", key=_summary_key, needed=never),
    ),
    gives="overall.faithfulness; with the error types also spans",
    convert=_convert,
    ids_repeat=True,
)
TYPES = Preset(
    name="aggrefact_types",
    about="AggreFact's error_type_mapping alone: CLIFF, Goyal21, FRANK, XSumFaith",
    citation="Tang et al., 2023",
    roles=(FileRole("rows", _TYPED, "error_type_mapping/*.csv"),),
    gives="overall.faithfulness, spans",
    counts=(Count("CLIFF_error_types.csv", None, 600), Count("Goyal21_error_types.csv", None, 150)),
    convert=_convert_types,
    ids_repeat=True,
)
