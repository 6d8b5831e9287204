"""Rows on their way into a dataset: turned by a preset, checked, gathered; and what a faulty one does (`on_fault`)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from summeter.data.faults import Faults
from summeter.data.flat import Flat, Gatherer
from summeter.data.formats import NotJSON, parse_json
from summeter.data.human import PER_KEY_FACT, PER_SENTENCE
from summeter.data.presets.base import Joined, LayoutError, Preset, Record
from summeter.data.rows import Columns, FlatRow, check
from summeter.records import Fault, Message, Parameter

Cells = Mapping[str, Any]
_OF_THE_ROW = ("doc_id", "system", "document", "summary")
"""Without these there is no row, or it is another's."""
_SHORT = 1000
"""Characters of a value that is written beside the reason for which it was dropped."""


class Intake:
    """Takes rows one by one into a `Gatherer`. In each, either nothing is at fault, or `faults.on_fault` decides."""

    def __init__(self, faults: Faults, columns: Columns, language: str) -> None:
        self._faults, self._columns = faults, columns
        self._gatherer = Gatherer(faults, language)
        self._hints = _Hints()

    def take(self, record: Record) -> None:
        """A flat row."""
        faults = self._faults.of(record.file)
        own = Faults(record.file)
        cells: Cells = self._columns.apply(record, own)
        if own.count:
            own.pass_on(faults)
            return
        self._columns.note(cells)
        self._settle(record, cells, faults)

    def turn(self, preset: Preset, joined: Joined) -> None:
        """A row of a preset's layout."""
        record, faults = joined.record, self._faults.of(joined.record.file)
        while True:
            try:
                rows = list(preset.turn(joined))
            except LayoutError as error:
                fault = Fault(record.file, record.line, error.field, f"{error} (preset {preset.name})")
                column = error.field.partition(".")[0].partition("[")[0]
                value = joined.record.cells.get(column)
                if faults.on_fault != "keep-valid" or column not in joined.record.cells or len(joined.rows) > 1:
                    faults.add(fault.line, fault.field, fault.message)
                    return
                faults.drop(fault.line, fault.field, fault.message, "field", _short(value))
                joined = joined.without(column)
            else:
                break
        for cells in rows:
            self._columns.note(cells)
            own = self._gatherer.with_own_id(record, cells) if preset.ids_repeat else cells
            self._settle(record, own, faults)

    def _settle(self, record: Record, cells: Cells, faults: Faults) -> None:
        """Take the row; or, of a faulty one, what `on_fault` lets through."""
        dropped: list[tuple[Fault, Any]] = []
        while True:
            own = Faults(record.file)
            row = check(record.line, cells, own, as_text=record.as_text)
            if row is not None:
                self._gatherer.add(record.line, row, own, keep_faulty=faults.on_fault == "error")
            if not own.count:
                break
            if faults.on_fault != "keep-valid":
                own.pass_on(faults)
                return
            left = _less(cells, own.listed, dropped)
            if left is None:
                for fault in own.listed:
                    faults.drop(fault.line, fault.field, fault.message, "row")
                return
            cells = left
        for fault, value in dropped:
            faults.drop(fault.line, fault.field, fault.message, "field", _short(value))
        own.pass_on_warnings(faults)
        self._hints.note(row)

    def finish(self) -> Flat:
        """All rows were taken."""
        self._columns.finish(self._faults)
        self._hints.finish(self._faults)
        return self._gatherer.finish()


def _less(cells: Cells, faults: Iterable[Fault], dropped: list[tuple[Fault, Any]]) -> Cells | None:
    """The cells without the fields at fault, which are added to `dropped`; None where the row is nothing without."""
    before = cells
    for fault in faults:
        path = _path(fault.field, cells)
        if path is None or path[0] in _OF_THE_ROW:
            return None
        left, value = without(cells, path)
        if left is not cells:
            dropped.append((fault, value))
        cells = left
    return None if cells is before else cells


def _path(field: str | None, cells: Cells) -> list[str | int] | None:
    """`human.sentence_labels[3].ann` as its steps; None where the row has no such column."""
    if field is None:
        return None
    if field in cells:
        return [field]
    steps: list[str | int] = [
        int(index) if index else name for name, index in re.findall(r"([^.\[\]]+)|\[(\d+)\]", field)
    ]
    return steps if steps and steps[0] in cells else None


def without(cells: Cells, path: Sequence[str | int]) -> tuple[Cells, Any]:
    """The cells without what stands at the path, and that.

    A vote is taken out of its cell, a cell of a list that is counted becomes null, a span goes. Anything else goes with
    the whole of its column. What is not there any more leaves the cells as they are.

    >>> without({"human": {"overall": {"faithfulness": 9, "fluency": "x"}}}, ["human", "overall", "fluency"])
    ({'human': {'overall': {'faithfulness': 9}}}, 'x')
    >>> without({"human": {"sentence_labels": [1, "x"]}}, ["human", "sentence_labels", 1])
    ({'human': {'sentence_labels': [1, None]}}, 'x')
    """
    column = str(path[0])
    content = cells[column]
    if column == "human" and isinstance(content, str):
        try:
            content = parse_json(content)
        except NotJSON:
            path = path[:1]
    if column != "human" or len(path) == 1:
        return {name: value for name, value in cells.items() if name != column}, cells[column]
    place = _deepest(content, path[1:])
    if not place:
        return cells, None
    left, value = _cut(content, place, counted=place[0] in (*PER_SENTENCE, *PER_KEY_FACT))
    return {**cells, column: left}, value


def _deepest(content: Any, path: Sequence[str | int]) -> list[str | int]:
    """As much of the path as there is: what is wrong may be that something is missing further in."""
    steps: list[str | int] = []
    for step in path:
        inside = isinstance(content, dict) and step in content
        if not inside and not (isinstance(content, list) and isinstance(step, int) and step < len(content)):
            break
        content = content[step]
        steps.append(step)
    return steps


def _cut(content: Any, path: Sequence[str | int], *, counted: bool) -> tuple[Any, Any]:
    step, rest = path[0], path[1:]
    if rest:
        left, value = _cut(content[step], rest, counted=counted)
    elif isinstance(content, dict):
        return {name: item for name, item in content.items() if name != step}, content[step]
    elif not counted:
        return [item for index, item in enumerate(content) if index != step], content[step]
    else:
        left, value = None, content[step]
    if isinstance(content, dict):
        return {**content, step: left}, value
    return [left if index == step else item for index, item in enumerate(content)], value


def _short(value: Any) -> Any:
    """The value, or None where it is long."""
    try:
        return value if len(json.dumps(value)) <= _SHORT else None
    except (TypeError, ValueError, RecursionError):
        return None


class _Hints:
    """Looks for people's judgments under names that nothing knows, so that they are not lost in silence."""

    LOOKED_AT = 50

    def __init__(self) -> None:
        self._judged = False
        self._rows = 0
        self._columns: dict[str, None] = {}

    def note(self, row: FlatRow | None) -> None:
        """A row that was taken."""
        if row is None:
            return
        self._judged |= bool(row.human)
        if self._rows < self.LOOKED_AT and not self._judged:
            extra = row.model_extra or {}
            self._columns.update({name: None for name, value in extra.items() if looks_rated(name, value)})
        self._rows += 1

    def finish(self, faults: Faults) -> None:
        """Warn where no row has judgments and some columns look like them."""
        if self._judged or not self._columns:
            return
        one = len(self._columns) == 1
        names = ", ".join(f"`{name}`" for name in self._columns)
        what = f"column{'' if one else 's'} {names} look{'s' if one else ''} like people's ratings; "
        why = f"{'it is' if one else 'they are'} kept with the summaries and judge nothing: name the layout with "
        faults.warn(None, None, Message(what, why, Parameter("preset"), ", or give them as `human`"))


def looks_rated(name: str, value: Any) -> bool:
    """Whether a column may hold people's ratings, by its name and by what it holds.

    >>> looks_rated("annotations", [{"fluency": 4}]), looks_rated("rouge_score", 0.3), looks_rated("label", "news")
    (True, False, False)
    """
    return bool(_RATED.search(name)) and not _METRIC.search(name) and _holds_numbers(value)


_RATED = re.compile(
    r"annot|rating|score|label|judg|vote|likert|human|expert|worker|faithful|factual|consisten|coheren|fluen|relevan",
    re.IGNORECASE,
)
_METRIC = re.compile(r"rouge|bleu|bert|meteor|metric|chrf|moverscore|bart|logprob|prob", re.IGNORECASE)


def _holds_numbers(value: Any, depth: int = 4) -> bool:
    if isinstance(value, str):
        return bool(re.fullmatch(r"-?\d{1,3}(\.\d+)?|yes|no|true|false", value.strip(), re.IGNORECASE))
    if isinstance(value, int | float):
        return True
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return depth > 0 and any(_holds_numbers(item, depth - 1) for item in inner[:20])
