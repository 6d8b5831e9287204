"""Convert rows to documents, summaries and judgments, with handling of faulty rows."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from pydantic import ValidationError

from summeter.data.faults import Faults, FieldPath
from summeter.data.flat import (
    GIVEN,
    Batch,
    Block,
    DocumentDraft,
    repaired_spans,
    sentence_offsets,
    spans,
    splitter_of,
)
from summeter.data.folder import Content
from summeter.data.formats import NotJSON, Row, parse_json
from summeter.data.human import CROWD, PER_KEY_FACT, PER_SENTENCE, RAW, check_human, check_key_facts, voters_of
from summeter.data.human_judgments import SpanAnnotators
from summeter.data.presets.base import Joined, LayoutError, Preset
from summeter.data.rows import Columns, FlatRow, check, document_in, unnamed_document
from summeter.records import Fault, Judgment, Message, Parameter, Summary
from summeter.records.text import SHARE, read_share
from summeter.text.split import split

Cells = Mapping[str, Any]
Path = tuple[str | int, ...]
Loss = tuple[Fault, Any]
"""A fault, and the value that is dropped because of the fault."""
_REQUIRED = ("doc_id", "system", "document", "summary")
"""Fields without which a row is dropped, because the row would be undefined or describe another summary."""
_INDEXED_BY = {"sentences": (*PER_SENTENCE, "alignment"), "key_facts": PER_KEY_FACT}
"""Fields of `human` that refer to the entries of a list by index and are meaningless without this list."""
_REPEATED = "repeats the document and system of an earlier row; it is kept as a summary by {!r}"
_SHARED_ID = "is also the id of another document; this document is kept as {!r}"
_OTHER_REFERENCES = "differs from that of earlier rows of document {!r}; all references are kept"
_EXAMINED = 50
"""Number of rows in which columns that look like human judgments are searched for."""
_SHORT = 1000
"""Maximum length, in characters, of a dropped value that is stored with the reason."""


class Intake:
    """Read rows one by one; `faults.on_fault` decides what happens to faulty rows.

    Either all rows are read and then `finish` is called, or the rows are read in batches that share no documents:
    `batch` is called after each batch, and `end` after the last. `annotators` are the span annotators of all the data,
    or None if they are not known from an earlier reading.
    """

    def __init__(
        self, faults: Faults, columns: Columns, language: str, annotators: SpanAnnotators | None = None
    ) -> None:
        self._faults, self._columns, self._language = faults, columns, language
        self._splitter = splitter_of(language)
        self._batch = Batch()
        self._taken = 0
        self._judged = False
        """Whether a row has human judgments."""
        self._rated: dict[str, None] = {}
        """Unknown columns of the first rows that look like human judgments."""
        self._counted: dict[str, tuple[Fault, int]] = {}
        """The first warning of each kind of which there may be many, and their number."""
        self._withheld: set[str] = set()
        """Ids of the documents that must not be published according to a dropped row."""
        self._known_annotators = annotators
        self._annotators = SpanAnnotators()
        """The span annotators in the batches read so far."""

    def take(self, row: Row) -> None:
        """Read a flat row."""
        faults = self._faults.of(row.file)
        row_faults = Faults(row.file)
        cells: Cells = self._columns.apply(row, row_faults)
        if row_faults.count:
            row_faults.copy_to(faults)
            if read_share(cells.get(SHARE)) is False:
                self._withhold(cells, as_text=row.as_text)
            return
        self._columns.note(cells)
        self._settle(row, cells, faults)

    def refuse(self, row: Row, field: str | None, message: str) -> None:
        """Record a fault of a flat row, which is not read."""
        self._faults.of(row.file).add(row.line, field, message)
        if read_share(row.cells.get(SHARE)) is False:
            self._withhold(row.cells, as_text=row.as_text)

    def convert(self, preset: Preset, joined: Joined) -> None:
        """Read a row in the layout of a preset."""
        row, faults = joined.row, self._faults.of(joined.row.file)
        losses: list[Loss] = []
        while True:
            try:
                converted_rows = list(preset.convert(joined))
            except LayoutError as error:
                fault = Fault(row.file, row.line, error.field, f"{error} (preset {preset.name})")
                column = error.field.partition(".")[0].partition("[")[0]
                value = joined.row.cells.get(column)
                if faults.on_fault != "keep-valid" or column not in joined.row.cells or len(joined.rows) > 1:
                    fault = losses[0][0] if losses else fault  # the first dropped column is the cause
                    faults.add(fault.line, fault.field, fault.message)
                    return
                losses.append((fault, value))
                joined = joined.without(column)
            else:
                break
        first = losses[0][0] if losses else None
        share_cells = (each.cells.get(SHARE) for each in joined.rows)
        shares = [read_share(cell) if row.as_text else cell for cell in share_cells]
        shares = [share for share in shares if share is not None]
        for converted in converted_rows:
            cells, more = (converted, []) if first is None else _without_unreliable(converted, first)
            losses += more
            self._columns.note(cells)
            if preset.ids_repeat:
                cells = self._with_unique_id(row, cells)
            if shares:
                cells = {**cells, SHARE: next((share for share in shares if share is not True), True)}
            self._settle(row, cells, faults, losses)
            losses = []  # report a dropped column once, even if it belongs to several summaries

    def _settle(self, row: Row, cells: Cells, faults: Faults, losses: Sequence[Loss] = ()) -> None:
        """Add the row, or of a faulty row the fields that `on_fault` allows to keep.

        `losses` are the fields that were dropped earlier.
        """
        dropped = list(losses)
        while True:
            row_faults = Faults(row.file)
            checked = check(row.line, cells, row_faults, as_text=row.as_text)
            if checked is not None:
                self._add(row.line, checked, row_faults, keep_faulty=faults.on_fault == "error")
            if not row_faults.count:
                break
            self._annotators.said_more |= voters_of(_human(cells))  # who did more than mark spans
            if read_share(cells.get(SHARE)) is False:
                self._withhold(cells, as_text=row.as_text)
            if faults.on_fault != "keep-valid" or any(fault.field == SHARE for fault in row_faults.listed):
                row_faults.copy_to(faults)
                return
            remaining = _without_faulty(cells, row_faults.listed, dropped)
            if remaining is None:
                for fault in [losses[0][0]] if losses else row_faults.listed:
                    faults.drop(fault.line, fault.field, fault.message, "row")
                return
            cells = remaining
        for fault, value in dropped:
            faults.drop(fault.line, fault.field, fault.message, "field", _if_short(value))
        row_faults.copy_warnings_to(faults)
        if checked is not None:
            self._judged |= bool(checked.human)
            if self._taken <= _EXAMINED and not self._judged:
                extra = checked.model_extra or {}
                self._rated.update({name: None for name, value in extra.items() if looks_rated(name, value)})

    def _add(self, line: int, row: FlatRow, faults: Faults, *, keep_faulty: bool) -> None:
        """Add a validated row to the batch, and further faults of the row to `faults`.

        With `keep_faulty`, a faulty row is also added, so that later rows are compared with it; the import will fail
        anyway.
        """
        doc_id, system, file = str(row.doc_id), str(row.system), faults.file
        summary = self._summary(line, row, doc_id, system, faults)
        human = repaired_spans(row.human or {}, row.summary, faults, line)
        block = check_human(human, summary, faults, line) if summary is not None and human else None
        batch = self._batch
        draft = batch.documents.get(doc_id) or DocumentDraft(doc_id, file, line, row)
        draft.check(file, line, row, faults)
        if faults.count and not keep_faulty:
            return
        batch.documents[doc_id] = draft
        if draft.join(file, line, row):
            self._count(_OTHER_REFERENCES, Fault(file, line, "references", doc_id))
        if summary is None:
            return
        name = batch.names.take(doc_id, system)
        if name != system:
            self._count(_REPEATED, Fault(file, line, "system", name))
            summary = summary.model_copy(update={"system": name})
        if block is not None:
            batch.sets |= block.sets
            batch.blocks.append(Block(file, line, len(batch.summaries), human))
        batch.summaries.append(summary)
        self._taken += 1

    def _summary(self, line: int, row: FlatRow, doc_id: str, system: str, faults: Faults) -> Summary | None:
        try:
            if row.sentences is None:
                offsets: Iterable[tuple[int, int]] = split(row.summary, self._language)
            elif not row.sentences and row.summary.strip():
                raise ValueError("is an empty list for a summary that is not empty; leave it out to have it split")
            else:
                offsets = sentence_offsets(row.summary, row.sentences)
            return Summary(
                document_id=doc_id,
                system=system,
                text=row.summary,
                sentences=spans(offsets, "summary"),
                splitter=self._splitter if row.sentences is None else GIVEN,
                category=row.category,
                extra=row.model_extra or {},
            )
        except ValidationError as error:
            for details in error.errors():
                faults.add(line, "sentences", f"do not match the summary: {details['msg']}")
        except ValueError as error:
            faults.add(line, "sentences", str(error))
        return None

    def _withhold(self, cells: Cells, *, as_text: bool) -> None:
        """Record that no row may publish the document of this row, even if this row is dropped."""
        if (doc_id := cells.get("doc_id")) not in (None, ""):
            self._withheld.add(str(doc_id))
        elif isinstance(cell := document_in(cells.get("document"), as_text=as_text), str | list):
            self._withheld.add(unnamed_document(cell))

    def _with_unique_id(self, row: Row, cells: Cells) -> Cells:
        """Return the cells, with document id `ID#2` if another document already has the id `ID`."""
        doc_id, text = cells.get("doc_id"), cells.get("document")
        if doc_id is None:
            return cells
        name, number = str(doc_id), 1
        while (known := self._batch.documents.get(name)) is not None and known.text != text:
            number += 1
            name = f"{doc_id}#{number}"
        if number == 1:
            return cells
        self._count(_SHARED_ID, Fault(row.file, row.line, "doc_id", name))
        return {**cells, "doc_id": name}

    def _count(self, message: str, warning: Fault) -> None:
        """Count a warning, of which only the first of a file is listed; its message is the name in `message`.

        The rows of large data are not read in the order of their lines.
        """
        first, count = self._counted.get(message, (warning, 0))
        earlier = warning.file == first.file and (warning.line or 0) < (first.line or 0)
        self._counted[message] = warning if earlier else first, count + 1

    def finish(self) -> Content:
        """Return the content of all rows. Raises InputError with all faults."""
        misfits = self._check_key_facts()
        self.end()
        return self._content(misfits)

    def batch(self) -> Content | None:
        """Return the content of the rows since the last batch, or None if there is any fault so far."""
        misfits = self._check_key_facts()
        content = None if self._faults.count else self._content(misfits)
        self._batch = Batch()
        return content

    def end(self) -> SpanAnnotators:
        """Return the annotators of spans in all batches.

        Adds the warnings about all rows. Raises InputError with all faults, and also if there were no rows.
        """
        self._columns.finish(self._faults)
        if self._rated and not self._judged:
            names = ", ".join(f"`{name}`" for name in self._rated)
            what = f"has columns that look like human ratings ({names}), which are kept with the summaries and are not "
            how = "used as judgments; name the layout with ", Parameter("preset"), ", or give them as `human`"
            self._faults.warn(None, None, Message(what, *how))
        if not self._taken and not self._faults.count:
            empty = "has no valid row" if self._faults.dropped else "contains no rows"
            self._faults.fail(None, None, f"{empty}; give one row per summary")
        for message, ((file, line, field, name), count) in self._counted.items():
            more = f" (and {count - 1:,} more rows)" if count > 1 else ""
            self._faults.of(file).warn(line, field, message.format(name) + more)
        self._faults.stop()
        return self._annotators

    def _content(self, misfits: set[int]) -> Content:
        batch = self._batch
        if misfits:
            batch.remove(misfits)
        for block in batch.blocks:
            self._annotators.note(block.content)
        documents = {
            doc_id: draft.document(self._language, withheld=doc_id in self._withheld)
            for doc_id, draft in batch.documents.items()
        }
        annotators = self._known_annotators or self._annotators
        makers: dict[str, Callable[[], Iterator[Judgment]]] = {
            name: partial(batch.judgments, name, annotators)
            for name in sorted(batch.sets, key=lambda name: (name != RAW, name != CROWD, name))
        }
        return Content(documents, tuple(batch.summaries), makers)

    def _check_key_facts(self) -> set[int]:
        """Return the indexes of the summaries whose blocks do not match their key facts.

        The key facts of a document are complete only after its last row, because any of its rows may contain them.
        """
        misfits = set()
        batch = self._batch
        for number, block in enumerate(batch.blocks):
            block_faults = Faults(block.file)
            check_key_facts(block.content, len(batch.subject(block.summary).key_facts), block_faults, block.line)
            if not block_faults.count:
                continue
            faults = self._faults.of(block.file)
            self._annotators.said_more |= voters_of(block.content)
            if faults.on_fault != "keep-valid":
                block_faults.copy_to(faults)
                misfits.add(block.summary)
                continue
            content = dict(block.content)
            for _, line, field, message in block_faults.listed:
                name = (field or "").removeprefix("human.")
                faults.drop(line, field, message, "field", content.pop(name, None))
            batch.blocks[number] = block._replace(content=content)
        return misfits


def _without_faulty(cells: Cells, faults: Iterable[Fault], dropped: list[Loss]) -> Cells | None:
    """Return the cells without faulty fields, or None if the row must be dropped.

    The removed fields are added to `dropped`.
    """
    removed: list[Path] = []
    content = _human(cells)
    if isinstance(content, dict):
        cells = {**cells, "human": content}
    for fault in faults:
        path = _path(fault.field, cells)
        if path is None or path[0] in _REQUIRED:
            return None
        paths = [(fault, _path_to_remove(content, path))]
        if path[:2] == ("human", "spans") and isinstance(content, dict) and "span_annotators" in content:
            reason = "belongs to `spans`, which are left out"
            paths.append((fault._replace(field="human.span_annotators", message=reason), ("human", "span_annotators")))
        for name in _INDEXED_BY.get(str(path[0]), ()):
            if isinstance(content, dict) and content.get(name) is not None:
                reason = f"refers to `{path[0]}`, which is left out"
                paths.append((fault._replace(field=f"human.{name}", message=reason), ("human", name)))
        for each, to_remove in paths:
            if any(to_remove[: len(other)] == other for other in removed):
                continue
            removed.append(to_remove)
            cells, value = without(cells, to_remove)
            dropped.append((each, value))
    return cells if removed else None


def _without_unreliable(cells: Cells, fault: Fault) -> tuple[Cells, list[Loss]]:
    """Remove the judgments of a converted row that may be wrong because a column was dropped.

    Spans may be missing because of the missing column, and labels by index may refer to another list. Returns the other
    cells and the removed fields.
    """
    human = cells.get("human")
    if not isinstance(human, dict):
        return cells, []
    names = [
        "spans",
        "span_annotators",
        *(name for field, indexed in _INDEXED_BY.items() if not cells.get(field) for name in indexed),
    ]
    removed = {name: human[name] for name in names if human.get(name) is not None}
    reason = f"may depend on `{fault.field}`, which is left out"
    losses = [(fault._replace(field=f"human.{name}", message=reason), value) for name, value in removed.items()]
    return {**cells, "human": {name: value for name, value in human.items() if name not in removed}}, losses


def _path(field: str | None, cells: Cells) -> Path | None:
    """Return the path to a faulty field, or None if the row does not have the column."""
    if field is None:
        return None
    if isinstance(field, FieldPath):
        path: Path = field.path
    else:
        path = (field,) if field in cells else (field.partition(".")[0].partition("[")[0],)
    return path if path and path[0] in cells else None


def _human(cells: Cells) -> Any:
    """Return the `human` block of a row, which is parsed if it is a JSON string."""
    content = cells.get("human")
    if isinstance(content, str):
        try:
            return parse_json(content)
        except NotJSON:
            return None
    return content


def _path_to_remove(content: Any, path: Path) -> Path:
    """Return the path to remove because of a fault: a vote or a cell of `human`, or a column.

    All spans or judgments are removed together, because a missing span would mean that the annotator found no error.
    """
    if path[0] != "human" or not isinstance(content, dict) or len(path) == 1:
        return path[:1]
    if path[1] in ("spans", "span_annotators", "judgments"):
        return path[:2]
    steps: list[str | int] = ["human"]
    for step in path[1:]:  # stop at the first step that does not exist, such as a missing field
        inside = isinstance(content, dict) and step in content
        if not inside and not (isinstance(content, list) and isinstance(step, int) and step < len(content)):
            break
        content = content[step]
        steps.append(step)
    return tuple(steps)


def without(cells: Any, path: Sequence[str | int]) -> tuple[Any, Any]:
    """Return the cells without the value at `path`, and this value.

    An entry of a list is replaced by `{}` (no vote), so that the indexes of the other entries do not change.

    >>> without({"human": {"overall": {"faithfulness": 9, "fluency": "x"}}}, ["human", "overall", "fluency"])
    ({'human': {'overall': {'faithfulness': 9}}}, 'x')
    >>> without({"human": {"sentence_labels": [1, "x"]}}, ["human", "sentence_labels", 1])
    ({'human': {'sentence_labels': [1, {}]}}, 'x')
    """
    step, rest = path[0], path[1:]
    if step not in cells if isinstance(cells, dict) else not isinstance(cells, list):
        return cells, None
    remaining, value = without(cells[step], rest) if rest else ({}, cells[step])
    if isinstance(cells, list):
        return [remaining if index == step else item for index, item in enumerate(cells)], value
    if rest:
        return {**cells, step: remaining}, value
    return {name: item for name, item in cells.items() if name != step}, value


def _if_short(value: Any) -> Any:
    """Return the value, or None if it is long."""
    try:
        return value if len(json.dumps(value)) <= _SHORT else None
    except (TypeError, ValueError, RecursionError):
        return None


def looks_rated(name: str, value: Any) -> bool:
    """Return whether a column may contain human ratings, judging by its name and a value.

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
