"""AggreFact (Tang et al., 2023): nine sets of yes and no, and files that name the error types of some of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from summeter.data.faults import Report
from summeter.data.presets.base import (
    Cells,
    Count,
    FileRole,
    Joined,
    LayoutError,
    Preset,
    Record,
    never,
    python_list,
    renamed,
)
from summeter.data.presets.claims import CLAIMS, claim_system, faithfulness
from summeter.records import names_no_error

_LAYOUT = CLAIMS["aggrefact"]
_CORRECT = "correct"


def _convert(joined: Joined) -> Iterable[Cells]:
    row: Cells = _LAYOUT.row(joined.cells)
    human = faithfulness(row)
    named = joined.first("error_types")
    if named is not None:
        human |= _marks(named, row, joined.warn)
        row |= {column: named.get(column) for column in ("error_type", "annotated_span")}
    return [_with_ids(row) | {"human": human}]


def _convert_types(joined: Joined) -> Iterable[Cells]:
    row: Cells = renamed(_LAYOUT.row(joined.cells), {"summ": "summary"})
    types = _types(row)
    marks = _marks(row, row, joined.warn)
    human: dict[str, Any] = {"overall": {"faithfulness": None if types is None else int(not types)}} | marks
    return [_with_ids(row) | {"human": human}]


def _with_ids(row: Cells) -> Cells:
    """The row with `dataset/id` as its document's id: the sets overlap, in edited versions of an article."""
    if row.get("id") not in (None, ""):
        row["doc_id"] = f"{row['dataset']}/{row['id']}"
    if not row.get("system"):
        row["system"] = claim_system(row.get("summary"))
    return row | {"domain": row.get("origin") or row["dataset"]}


def _types(cells: Mapping[str, Any]) -> list[str] | None:
    """The types that a row of `error_type_mapping` names; None where it names none, an empty list for "correct"."""
    text = cells.get("error_type")
    if text is None or text == "":
        return None
    if isinstance(text, str) and not text.startswith("["):
        return [] if text.strip() == _CORRECT or names_no_error(text) else [text]
    names = [name for name in python_list(text, "error_type") if name != _CORRECT]
    if not all(isinstance(name, str) for name in names):
        raise LayoutError("error_type", "is not a list of names, as this layout has it; check the preset")
    return names


def _marks(cells: Mapping[str, Any], row: Mapping[str, Any], warn: Report) -> dict[str, Any]:
    """The spans that a row names, with their types. They come in the order of the text, without offsets."""
    types = _types(cells)
    if types is None:
        return {}
    if not types:
        return {"spans": []}
    summary, end = str(row.get("summary")), 0
    spans: list[dict[str, Any]] = []
    for kind, text in _typed_texts(cells, types):
        place = summary.find(text, end)
        if place < 0:
            place = summary.find(text)
        if place < 0:
            warn(
                "annotated_span",
                "names a span that is not in the summary; the summary's spans stand in the column only",
            )
            return {}  # spans that lack one would say that its sentence is free of errors
        end = place + len(text)
        spans.append({"start": place, "end": end, "label": kind})
    return {"spans": spans} if spans else {}


def _typed_texts(cells: Mapping[str, Any], types: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each span's type and text: a list of texts for each type (Goyal21), or one list where there is one type (CLIFF).

    Which of several types a span of one list is of is not said: such spans stand in the column only.
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


def _summary_key(record: Record) -> Hashable:
    cells = record.cells
    words = str(cells.get("summ", cells.get("summary"))).split()
    dataset = "".join(filter(str.isalnum, str(cells.get("dataset")))).casefold()  # Goyal21 is "Goyal’21" there
    return dataset, str(cells.get("id")), " ".join(words)


_TYPED = ("dataset", "id", "doc", "summ", "error_type", "annotated_span")

AGGREFACT = Preset(
    name="aggrefact",
    about="AggreFact: nine sets of consistent or not, as overall faithfulness",
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
    about="AggreFact's error_type_mapping by itself: CLIFF, Goyal21, FRANK, XSumFaith",
    citation="Tang et al., 2023",
    roles=(FileRole("rows", _TYPED, "error_type_mapping/*.csv"),),
    gives="overall.faithfulness, spans",
    counts=(Count("CLIFF_error_types.csv", None, 600), Count("Goyal21_error_types.csv", None, 150)),
    convert=_convert_types,
    ids_repeat=True,
)
