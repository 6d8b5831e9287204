"""Rows on their way into a dataset: converted by a preset, checked, gathered; faulty ones by `on_fault`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from summeter.data.faults import Faults, FieldPath
from summeter.data.flat import Flat, Gatherer
from summeter.data.formats import NotJSON, parse_json
from summeter.data.human import PER_KEY_FACT, PER_SENTENCE
from summeter.data.human_judgments import SpanAnnotators
from summeter.data.presets.base import Joined, LayoutError, Preset, Record
from summeter.data.rows import Columns, FlatRow, check
from summeter.records import Fault, Message, Parameter
from summeter.records.text import SHARE, read_share

Cells = Mapping[str, Any]
Path = tuple[str | int, ...]
Loss = tuple[Fault, Any]
"""A fault, and the value that is left out for it."""
_OF_THE_ROW = ("doc_id", "system", "document", "summary")
"""Without these there is no row, or it is another's."""
_COUNTED_BY = {"sentences": (*PER_SENTENCE, "alignment"), "key_facts": PER_KEY_FACT}
"""What people said by number, of a list: without the list, nobody knows of what."""
_SHORT = 1000
"""Characters of a value that is written beside the reason for which it was dropped."""


class Intake:
    """Takes rows one by one into a `Gatherer`. In each, either nothing is at fault, or `faults.on_fault` decides."""

    def __init__(
        self, faults: Faults, columns: Columns, language: str, annotators: SpanAnnotators | None = None
    ) -> None:
        """`annotators`: see `Gatherer`."""
        self._faults, self._columns = faults, columns
        self._gatherer = Gatherer(faults, language, annotators)
        self._hints = _Hints()

    def take(self, record: Record) -> None:
        """A flat row."""
        faults = self._faults.of(record.file)
        own = Faults(record.file)
        cells: Cells = self._columns.apply(record, own)
        if own.count:
            own.pass_on(faults)
            if read_share(cells.get(SHARE)) is False:
                self._gatherer.withhold(cells)
            return
        self._columns.note(cells)
        self._settle(record, cells, faults)

    def convert(self, preset: Preset, joined: Joined) -> None:
        """A row of a preset's layout."""
        record, faults = joined.record, self._faults.of(joined.record.file)
        lost: list[Loss] = []
        while True:
            try:
                rows = list(preset.convert(joined))
            except LayoutError as error:
                fault = Fault(record.file, record.line, error.field, f"{error} (preset {preset.name})")
                column = error.field.partition(".")[0].partition("[")[0]
                value = joined.record.cells.get(column)
                if faults.on_fault != "keep-valid" or column not in joined.record.cells or len(joined.rows) > 1:
                    fault = lost[0][0] if lost else fault  # the row was lost with its first column
                    faults.add(fault.line, fault.field, fault.message)
                    return
                lost.append((fault, value))
                joined = joined.without(column)
            else:
                break
        first = lost[0][0] if lost else None
        cells_of_share = (row.cells.get(SHARE) for row in joined.rows)
        shares = [read_share(cell) if record.as_text else cell for cell in cells_of_share]
        shares = [share for share in shares if share is not None]
        for converted in rows:
            cells, losses = (converted, []) if first is None else _unreliable(converted, first)
            lost += losses
            self._columns.note(cells)
            own = self._gatherer.with_own_id(record, cells) if preset.ids_repeat else cells
            if shares:
                own = {**own, SHARE: next((share for share in shares if share is not True), True)}
            self._settle(record, own, faults, lost)
            lost = []  # one report for a column that several summaries lost

    def _settle(self, record: Record, cells: Cells, faults: Faults, lost: Sequence[Loss] = ()) -> None:
        """Take the row; or, of a faulty one, what `on_fault` lets through. `lost` are columns that it lost before."""
        dropped = list(lost)
        while True:
            own = Faults(record.file)
            row = check(record.line, cells, own, as_text=record.as_text)
            if row is not None:
                self._gatherer.add(record.line, row, own, keep_faulty=faults.on_fault == "error")
            if not own.count:
                break
            self._gatherer.note_lost(_human(cells))
            if read_share(cells.get(SHARE)) is False:
                self._gatherer.withhold(cells)
            if faults.on_fault != "keep-valid" or any(fault.field == SHARE for fault in own.listed):
                own.pass_on(faults)
                return
            left = _less(cells, own.listed, dropped)
            if left is None:
                for fault in [lost[0][0]] if lost else own.listed:
                    faults.drop(fault.line, fault.field, fault.message, "row")
                return
            cells = left
        for fault, value in dropped:
            faults.drop(fault.line, fault.field, fault.message, "field", _short(value))
        own.pass_on_warnings(faults)
        self._hints.note(row)

    def finish(self) -> Flat:
        """All rows were taken. Raises InputError with every fault."""
        self._note_columns()
        return self._gatherer.finish()

    def batch(self) -> Flat | None:
        """What the rows since the last part say, whose documents no later row may speak of; None once there is a
        fault."""
        return self._gatherer.batch()

    def end(self) -> SpanAnnotators:
        """All rows were taken, part by part. Returns who marked spans. Raises InputError with every fault."""
        self._note_columns()
        self._gatherer.end()
        return self._gatherer.annotators

    def _note_columns(self) -> None:
        self._columns.finish(self._faults)
        self._hints.finish(self._faults)


def _less(cells: Cells, faults: Iterable[Fault], dropped: list[Loss]) -> Cells | None:
    """The cells without the fields at fault, which are added to `dropped`; None where the row is nothing without."""
    gone: list[Path] = []
    content = _human(cells)
    if isinstance(content, dict):
        cells = {**cells, "human": content}
    for fault in faults:
        path = _path(fault.field, cells)
        if path is None or path[0] in _OF_THE_ROW:
            return None
        places = [(fault, _removed(content, path))]
        if path[:2] == ("human", "spans") and isinstance(content, dict) and "span_annotators" in content:
            why = "counts with `spans`, which are left out"
            places.append((fault._replace(field="human.span_annotators", message=why), ("human", "span_annotators")))
        for name in _COUNTED_BY.get(str(path[0]), ()):
            if isinstance(content, dict) and content.get(name) is not None:
                why = f"is counted by `{path[0]}`, which is left out"
                places.append((fault._replace(field=f"human.{name}", message=why), ("human", name)))
        for each, place in places:
            if any(place[: len(other)] == other for other in gone):
                continue
            gone.append(place)
            cells, value = without(cells, place)
            dropped.append((each, value))
    return cells if gone else None


def _unreliable(cells: Cells, fault: Fault) -> tuple[Cells, list[Loss]]:
    """A row of a preset that lost a column, without the judgments that may be read otherwise for that.

    No span may now mean that its column went; and labels by number may count another list.
    """
    human = cells.get("human")
    if not isinstance(human, dict):
        return cells, []
    names = [
        "spans",
        "span_annotators",
        *(name for field, counted in _COUNTED_BY.items() if not cells.get(field) for name in counted),
    ]
    gone = {name: human[name] for name in names if human.get(name) is not None}
    why = f"may hang on `{fault.field}`, which is left out"
    losses = [(fault._replace(field=f"human.{name}", message=why), value) for name, value in gone.items()]
    return {**cells, "human": {name: value for name, value in human.items() if name not in gone}}, losses


def _path(field: str | None, cells: Cells) -> Path | None:
    """The steps to a field at fault; None where the row has no such column."""
    if field is None:
        return None
    if isinstance(field, FieldPath):
        path: Path = field.path
    else:
        path = (field,) if field in cells else (field.partition(".")[0].partition("[")[0],)
    return path if path and path[0] in cells else None


def _human(cells: Cells) -> Any:
    """The block of a row, read where a table holds it as text."""
    content = cells.get("human")
    if isinstance(content, str):
        try:
            return parse_json(content)
        except NotJSON:
            return None
    return content


def _removed(content: Any, path: Path) -> Path:
    """What goes for the fault at `path`: a vote or a cell of `human`, all of its spans or records, else a whole column.

    One span less would say that its annotator found no error there.
    """
    if path[0] != "human" or not isinstance(content, dict) or len(path) == 1:
        return path[:1]
    if path[1] in ("spans", "span_annotators", "judgments"):
        return path[:2]
    steps: list[str | int] = ["human"]
    for step in path[1:]:  # as far as there is something: what is wrong may be that something is missing further in
        inside = isinstance(content, dict) and step in content
        if not inside and not (isinstance(content, list) and isinstance(step, int) and step < len(content)):
            break
        content = content[step]
        steps.append(step)
    return tuple(steps)


def without(cells: Any, path: Sequence[str | int]) -> tuple[Any, Any]:
    """The cells without what stands at the path, and that. A cell of a list becomes `{}`, which holds no vote: lists
    are counted.

    >>> without({"human": {"overall": {"faithfulness": 9, "fluency": "x"}}}, ["human", "overall", "fluency"])
    ({'human': {'overall': {'faithfulness': 9}}}, 'x')
    >>> without({"human": {"sentence_labels": [1, "x"]}}, ["human", "sentence_labels", 1])
    ({'human': {'sentence_labels': [1, {}]}}, 'x')
    """
    step, rest = path[0], path[1:]
    if step not in cells if isinstance(cells, dict) else not isinstance(cells, list):
        return cells, None
    left, value = without(cells[step], rest) if rest else ({}, cells[step])
    if isinstance(cells, list):
        return [left if index == step else item for index, item in enumerate(cells)], value
    if rest:
        return {**cells, step: left}, value
    return {name: item for name, item in cells.items() if name != step}, value


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
        single = len(self._columns) == 1
        names = ", ".join(f"`{name}`" for name in self._columns)
        what = f"column{'' if single else 's'} {names} look{'s' if single else ''} like people's ratings; "
        why = f"{'it is' if single else 'they are'} kept with the summaries and judge nothing: name the layout with "
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
