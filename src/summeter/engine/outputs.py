"""Raw outputs and scores of earlier experiments -> a run, without calling anything.

One row each: `doc_id, system, evaluator, aspect, model` and either `output` (the raw reply, read by the
evaluator's strict or released parser) or `value` (with `unit` and `index` where it is not of the whole
summary). `rival` and `order` (ab | ba) name a pair. Where an id was asked twice, the last counts.
"""

from __future__ import annotations

import json
import math
import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, get_args

from summeter._version import __version__
from summeter.data.dataset import Dataset, load, save
from summeter.data.faults import Faults
from summeter.data.formats import Row, file_name, format_of, read_rows
from summeter.engine.plan import ItemOrder, data_entry, item, item_key, splitter
from summeter.engine.runs import Run, finish
from summeter.engine.worker import failure
from summeter.evaluators.base import Evaluator, Parser, target
from summeter.evaluators.catalog import find, names, rebuild
from summeter.records import Item, Judgment, Parameter, Unit, UsageError, digest, signature
from summeter.runs.calls import CallStore
from summeter.runs.journal import Journal
from summeter.runs.manifest import JudgeEntry, Manifest, stem
from summeter.runs.run import CALLS
from summeter.scoring import reply_counts

NO_OUTPUT = "no raw output was given for this summary"
NAME = re.compile(r"(?!.*\.\.)[\w.\-+ ]{1,80}")  # of an evaluator: it names files and stands in signatures


class Imported(NamedTuple):
    """What became of one judge's rows: how many there were, and how many could be used, by reason where not;
    `faults` counts those by class (`REPLY_FAULTS`)."""

    judge: str
    signature: str
    aspects: tuple[str, ...]
    rows: int
    repeated: int
    ok: int
    failed: int
    absent: int
    reasons: dict[str, int]
    faults: dict[str, int]


@dataclass(frozen=True)
class Raw:
    """One checked row."""

    item: Item
    evaluator: str
    aspect: str
    model: str | None
    unit: Unit
    index: int | None
    output: str | None
    value: float | None

    @property
    def judge(self) -> tuple[str, str | None, bool]:
        """Rows with one of these belong to one judge."""
        return self.evaluator, self.model, self.output is not None


def import_outputs(data: Dataset | str | Path, raw: str | Path, out: str | Path, parser: Parser) -> list[Imported]:
    """Turn a file of raw outputs into a run at `out`; returns what became of each judge's rows.

    Raises InputError naming every faulty row; `out` is then not made. Replies that cannot be used are no
    fault of the file: they become judgments with status `unparsed` or `refused`.
    """
    dataset = data if isinstance(data, Dataset) else load(data)
    folder = Path(out)
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty; choose another ", Parameter("out"))
    rows, repeated = _read(dataset, raw)
    groups: dict[tuple[str, str | None, bool], list[Raw]] = {}
    for row in rows:
        groups.setdefault(row.judge, []).append(row)
    judges = [_Judge(dataset, found, parser) for found in groups.values()]
    save(dataset, folder / "data")
    now = datetime.now(UTC).isoformat(timespec="seconds")
    manifest = Manifest(
        schema="summeter-run/1", summeter=__version__, python=platform.python_version(), created=now, updated=now,
        data=data_entry(dataset),
        judges=tuple(judge.entry for judge in judges), options={"parser": parser, "imported": Path(raw).name},
    )  # fmt: skip
    with Journal(folder) as journal, CallStore(folder / CALLS) as store:
        journal.manifest(manifest)
        results = [judge.write(journal, store, repeated) for judge in judges]
        journal.settle(manifest.judges, ItemOrder(dataset))
        finish(Run(folder, data=dataset), journal, manifest, "complete")
    return results


def _read(data: Dataset, raw: str | Path) -> tuple[list[Raw], dict[tuple[str, str | None, bool], int]]:
    """The rows that count, and for each judge how many were asked again."""
    faults = Faults(file_name(raw))
    summaries = {(one.document_id, one.system): one for one in data.summaries}
    known = _Catalog()
    found: dict[tuple[Any, ...], Raw] = {}
    asked: dict[tuple[Any, ...], int | float] = {}
    repeated: dict[tuple[str, str | None, bool], int] = {}
    for row in read_rows(raw, faults, format_of(raw)):
        read = _Reader(row, faults, data, summaries, known).read()
        if read is None:
            continue
        rival = read.item.rival.system if read.item.rival else None
        key = (*read.judge, read.aspect, read.item.document.id, read.item.summary.system, rival, read.unit, read.index)
        turn = row.cells.get("attempt") or 0
        if key in found:
            repeated[read.judge] = repeated.get(read.judge, 0) + 1
        if key not in found or turn >= asked[key]:
            found[key], asked[key] = read, turn
    faults.stop()
    if not found:
        raise UsageError(f"{file_name(raw)} holds no rows")
    return list(found.values()), repeated


class _Catalog:
    """What the catalog says of raw rows, asked once: it looks through every installed package."""

    def __init__(self) -> None:
        self.names = frozenset(names())
        self._refused: dict[tuple[str, str], str | None] = {}

    def refused(self, evaluator: str, aspect: str) -> str | None:
        """Why an evaluator that is set to one aspect cannot be set to this one, or None."""
        key = evaluator, aspect
        if key not in self._refused:
            self._refused[key] = None
            if "aspect" in find(evaluator).model_fields:
                try:
                    _reader(evaluator, aspect)
                except UsageError:
                    measured = ", ".join(find(evaluator).aspects)
                    self._refused[key] = f"{aspect!r} is not known to {evaluator!r}; it knows {measured}"
        return self._refused[key]


class _Reader:
    """Checks one row; every fault is noted with its line and field."""

    def __init__(
        self, row: Row, faults: Faults, data: Dataset, summaries: Mapping[tuple[str, str], Any],
        known: _Catalog,
    ) -> None:  # fmt: skip
        self.cells, self.line, self.faults = row.cells, row.line, faults
        self.data, self.summaries, self.known = data, summaries, known
        self.bad = False

    def read(self) -> Raw | None:
        doc_id, system, evaluator = self._text("doc_id"), self._text("system"), self._text("evaluator")
        aspect, rival = self._text("aspect"), self._text("rival", needed=False)
        model = self._text("model", needed=False)
        output, value = self._output(), self._value()
        if output is None and value is None and not self.bad:
            self._fault("output", "is missing; give the raw reply, or a number as `value`")
        self._check_judge(evaluator, aspect, raw=output is not None)
        self._check_attempt()
        if rival is not None and rival == system:
            self._fault("rival", f"is the system itself, {system!r}; a summary is compared with another's")
        if rival is not None and self.cells.get("order") == "ba":
            system, rival = rival, system
        elif rival is not None and self.cells.get("order") not in {"ab", None}:
            self._fault("order", "must be ab or ba")
        one = self._item(doc_id, system, rival)
        unit, index = self._unit(rival), self._index()
        if one is not None and output is None:
            self._check_index(one, unit, index)
        if self.bad or one is None or evaluator is None or aspect is None:
            return None
        return Raw(one, evaluator, aspect, model, unit, index, output, value)

    def _fault(self, field: str, message: str) -> None:
        self.bad = True
        self.faults.add(self.line, field, message)

    def _text(self, field: str, *, needed: bool = True) -> str | None:
        cell = self.cells.get(field)
        if isinstance(cell, int) and not isinstance(cell, bool):
            cell = str(cell)  # ids are often numbers in tables
        if isinstance(cell, str) and cell:
            return cell
        if cell is not None or needed:
            self._fault(field, "is missing" if cell is None else f"must be a text, not {json.dumps(cell)[:40]}")
        return None

    def _check_judge(self, evaluator: str | None, aspect: str | None, *, raw: bool) -> None:
        if evaluator is None:
            return
        if not NAME.fullmatch(evaluator):
            self._fault("evaluator", f"{evaluator[:80]!r} is no name: 1 to 80 letters, digits, blanks and . _ - +, "
                                     "without two full stops in a row")  # fmt: skip
        elif raw and evaluator not in self.known.names:
            self._fault("evaluator", f"{evaluator!r} is not in the catalog, so nothing can read its output; "
                                     "`summeter list evaluators` names those that can")  # fmt: skip
        elif raw and aspect is not None and (why := self.known.refused(evaluator, aspect)):
            self._fault("aspect", why)

    def _check_attempt(self) -> None:
        cell = self.cells.get("attempt")
        if cell is not None and (isinstance(cell, bool) or not isinstance(cell, int | float)):
            self._fault("attempt", f"must be a number, not {json.dumps(cell)[:40]}; of several the last counts")

    def _check_index(self, one: Item, unit: Unit, index: int | None) -> None:
        """A value of a sentence or a key fact must say of which, and that one must be there."""
        if unit not in {"sentence", "key_fact"} or self.bad:
            return
        what = unit.replace("_", " ")
        number = len(one.sentences) if unit == "sentence" else len(one.key_facts)
        if index is None:
            self._fault("index", f"is missing; say which {what}, counted from 0")
        elif index >= number and (number or unit == "sentence"):  # key facts may be the experiment's own
            owner = "summary" if unit == "sentence" else "document"
            self._fault("index", f"{index} is out of range: the {owner} has {number} {what}{'s' * (number != 1)}, "
                                 "counted from 0")  # fmt: skip

    def _output(self) -> str | None:
        cell = self.cells.get("output")
        if cell is not None and not isinstance(cell, str):
            self._fault("output", "must be the reply's text; give JSON replies as a string")
            return None
        return cell

    def _value(self) -> float | None:
        cell = self.cells.get("value")
        if cell is None:
            return None
        try:
            if not isinstance(cell, bool) and isinstance(cell, int | float) and math.isfinite(cell):
                return float(cell)
        except OverflowError:  # a whole number beyond every double
            pass
        self._fault("value", f"must be a finite number, not {json.dumps(cell)[:40]}")
        return None

    def _item(self, doc_id: str | None, system: str | None, rival: str | None) -> Item | None:
        if doc_id is None or system is None:
            return None
        wanted = [(doc_id, system)] if rival is None else [(doc_id, system), (doc_id, rival)]
        for key in wanted:
            if key not in self.summaries:
                self._fault("doc_id", f"the data hold no summary of document {key[0]!r} by system {key[1]!r}")
                return None
        other = None if rival is None else self.summaries[doc_id, rival]
        return item(self.data.documents[doc_id], self.summaries[doc_id, system], other)

    def _unit(self, rival: str | None) -> Unit:
        cell = self.cells.get("unit")
        if cell is None:
            return "pair" if rival is not None else "summary"
        if cell not in get_args(Unit):
            self._fault("unit", f"must be one of {', '.join(get_args(Unit))}")
            return "summary"
        found: Unit = cell
        return found

    def _index(self) -> int | None:
        cell = self.cells.get("index")
        if cell is not None and (isinstance(cell, bool) or not isinstance(cell, int) or cell < 0):
            self._fault("index", "must be a whole number from 0")
            return None
        return cell


class _Judge:
    """One judge's rows, to be read and written."""

    def __init__(self, data: Dataset, rows: Sequence[Raw], parser: Parser) -> None:
        self.data, self.rows, self.parser = data, rows, parser
        first = rows[0]
        raw = first.output is not None
        known = find(first.evaluator) if raw else None
        asked = tuple(dict.fromkeys(row.aspect for row in rows))
        # Made before anything is written: an aspect that the evaluator does not know ends the import.
        self.evaluators = {aspect: _reader(first.evaluator, aspect) for aspect in asked} if raw else {}
        # What a raw reply is about is the evaluator's to say; a bare value is about what its row says.
        measured = (aspect for one in self.evaluators.values() for aspect in one.measured)
        self.aspects = tuple(dict.fromkeys(measured)) if raw else asked
        parts: dict[str, object] = {"judge": first.model, "source": "import"}
        if known:
            split = splitter(data) if known.reads_sentences else None
            parts |= {"parser": parser, "split": split, "v": known.version}
        self.signature = signature(first.evaluator, parts)
        self.entry = JudgeEntry(
            name=first.evaluator, signature=self.signature, model=first.model, aspects=self.aspects,
            reduce=known.reduce if known else "share", file=stem(first.evaluator, self.signature), imported=True,
        )  # fmt: skip

    def write(self, journal: Journal, store: CallStore, repeated: Mapping[Any, int]) -> Imported:
        """Write every judgment; summaries of a covered system without an output are skipped, with the reason."""
        judged: dict[tuple[str, str, str | None], list[Judgment]] = {}
        for row in self.rows:
            judged.setdefault(item_key(row.item), []).extend(self._judgments(row, store))
        ok = failed = 0
        written: list[Judgment] = []
        reasons: dict[str, int] = {}
        for key, judgments in judged.items():
            bad = [one for one in judgments if one.status in {"unparsed", "refused"}]
            journal.judged(self.entry, key, judgments)
            written += judgments
            for aspect in dict.fromkeys(one.aspect for one in bad):
                of_aspect = [one for one in bad if one.aspect == aspect]
                journal.failed(failure(self.entry, key, of_aspect[0].status, of_aspect[0].reason or "", of_aspect))
            for reason in _outcomes(judgments):
                ok, failed = (ok + 1, failed) if reason is None else (ok, failed + 1)
                if reason is not None:
                    reasons[reason] = reasons.get(reason, 0) + 1
        absent = list(self._absent(judged))
        for key, judgments in absent:
            journal.judged(self.entry, key, judgments)
        return Imported(
            self.entry.name, self.signature, self.aspects, len(self.rows), repeated.get(self.rows[0].judge, 0),
            ok, failed, len(absent), reasons, next((dict(one.faults) for one in reply_counts(written)), {}),
        )  # fmt: skip

    def _judgments(self, row: Raw, store: CallStore) -> list[Judgment]:
        if row.output is None:
            return [self._valued(row)]
        document_id, system, rival = item_key(row.item)
        request = {"imported": row.evaluator, "aspect": row.aspect, "document_id": document_id,
                   "system": system, "rival": rival, "model": row.model}  # fmt: skip
        key = digest([request, row.output])
        store.put(key, json.dumps(request), json.dumps({"text": row.output}), row.model or "import")
        judgments = self.evaluators[row.aspect].read(row.output, row.item, self.parser, self.signature)
        return [one.model_copy(update={"model": row.model, "calls": (key,)}) for one in judgments]

    def _valued(self, row: Raw) -> Judgment:
        binary = row.unit in {"sentence", "key_fact", "claim"} and row.value in {0.0, 1.0}
        return Judgment(
            target=target(row.item, row.unit, row.index), aspect=row.aspect, judge=row.evaluator,
            signature=self.signature, model=row.model, value=row.value,
            label=int(row.value) if binary and row.value is not None else None,
        )  # fmt: skip

    def _absent(self, judged: Mapping[Any, Any]) -> Iterator[tuple[tuple[str, str, None], list[Judgment]]]:
        covered = {system for _, system, rival in judged if rival is None}
        for one in self.data.summaries:
            key = (one.document_id, one.system, None)
            if one.system in covered and key not in judged:
                about = target(item(self.data.documents[one.document_id], one))
                yield key, [
                    Judgment(target=about, aspect=aspect, judge=self.entry.name, signature=self.signature,
                             model=self.entry.model, status="skipped", reason=NO_OUTPUT)
                    for aspect in self.aspects
                ]  # fmt: skip


def _outcomes(judgments: Sequence[Judgment]) -> Iterator[str | None]:
    """One outcome a raw reply: None where it could be used, else the reason."""
    by_call: dict[tuple[Any, ...], list[Judgment]] = {}
    for place, one in enumerate(judgments):
        by_call.setdefault(one.calls or (place,), []).append(one)
    for group in by_call.values():
        bad = next((one for one in group if one.status != "ok"), None)
        yield None if bad is None else bad.reason


def _reader(name: str, aspect: str) -> Evaluator:
    """The evaluator that reads outputs on an aspect."""
    return rebuild(name, {"aspect": aspect} if "aspect" in find(name).model_fields else {})
