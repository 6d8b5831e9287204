"""Raw outputs and scores of earlier experiments -> a run, without calling anything.

One row each: `doc_id, system, evaluator, aspect, model` and either `output` (the raw reply, read by the
evaluator's strict or released parser) or `value` (with `unit` and `index` where it is not of the whole
summary). `rival` and `order` (ab | ba) name a pair. Where an id was asked twice, the last counts.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self, get_args

from pydantic import BaseModel, BeforeValidator, Field, StrictStr, ValidationError, model_validator

from summeter.data.atomic import check_folder
from summeter.data.dataset import Dataset, load, save
from summeter.data.faults import Faults, explained, problem
from summeter.data.formats import file_name, format_of, read_rows
from summeter.engine.plan import ItemOrder, item_key, item_of, splitter
from summeter.engine.runs import Run, finish, new_manifest
from summeter.engine.worker import failure
from summeter.evaluators.base import Evaluator, Parser, target
from summeter.evaluators.catalog import find, names, rebuild
from summeter.evaluators.derived import DerivedEvaluator
from summeter.records import Item, Judgment, Parameter, Unit, UsageError, digest, problem_of, signature
from summeter.runs.calls import CallStore
from summeter.runs.journal import Journal
from summeter.runs.manifest import JudgeEntry, stem
from summeter.runs.progress import ItemKey
from summeter.runs.run import CALLS
from summeter.scoring import reply_counts

NO_OUTPUT = "no raw output was given for this summary"

_NUMBERED: dict[Unit, tuple[str, Callable[[Item], Sequence[object]]]] = {
    "sentence": ("summary", lambda item: item.sentences),
    "key_fact": ("document", lambda item: item.key_facts),
}
"""Units that a value names by number: what they are of, and which there are."""


class Imported(NamedTuple):
    """What became of one judge's rows: how many there were, and how many could be used, by reason where not;
    `faults` counts those by class (`REPLY_FAULTS`). Of the `repeated` rows, `contradicted` give another value
    than an earlier one of the same `attempt`."""

    judge: str
    signature: str
    aspects: tuple[str, ...]
    rows: int
    repeated: int
    ok: int
    failed: int
    absent: int
    contradicted: int
    reasons: dict[str, int]
    faults: dict[str, int]


class ImportedRun(Run):
    """A run made of raw outputs; `imported` says what became of each judge's rows."""

    imported: tuple[Imported, ...] = ()


def import_outputs(
    data: Dataset | str | Path, raw: str | Path, out: str | Path, parser: Parser = "strict"
) -> ImportedRun:
    """Turn a file of raw outputs into a run at `out`. Calls nothing.

    `parser` is "strict" (a reply must fit its item) or "legacy" (as the papers' released code reads it). Raises
    InputError naming every faulty row; `out` is then not made. Replies that cannot be used are no fault of the file:
    they become judgments with status `unparsed` or `refused`.
    """
    if parser not in get_args(Parser):
        raise UsageError(Parameter("parser"), f" is {parser!r}; it must be {' or '.join(get_args(Parser))}")
    dataset = data if isinstance(data, Dataset) else load(data)
    folder = Path(out)
    check_folder(folder)
    rows, repeated, contradicted = _read(dataset, raw)
    groups: dict[JudgeOfRows, list[Output]] = {}
    for row in rows:
        groups.setdefault(row.judge, []).append(row)
    judges = [_Judge(dataset, group, parser) for group in groups.values()]
    save(dataset, folder / "data")
    options = {"parser": parser, "imported": Path(raw).name}
    manifest = new_manifest(dataset, [judge.entry for judge in judges], options)
    with Journal(folder) as journal, CallStore(folder / CALLS) as store:
        journal.manifest(manifest)
        imported = tuple(judge.write(journal, store, repeated, contradicted) for judge in judges)
        journal.sort_files(manifest.judges, ItemOrder(dataset))
        run = ImportedRun(folder, data=dataset)
        finish(run, journal, manifest, "complete")
    run.imported = imported
    return run


JudgeOfRows = tuple[str, str | None, bool]
"""Evaluator, model, whether there are raw replies: rows with one of these belong to one judge."""


Text = Annotated[
    str,
    # Ids are often numbers in tables.
    BeforeValidator(lambda cell: str(cell) if isinstance(cell, int) and not isinstance(cell, bool) else cell),
    Field(strict=True, min_length=1),
]


class RawRow(BaseModel):
    """One row of raw outputs, checked by itself; a pair that was shown as `ba` is turned round. Other columns are left
    aside."""

    doc_id: Text
    system: Text
    evaluator: Annotated[Text, Field(pattern=r"^[\w.\-+ ]{1,80}$")]  # it stands in signatures and names files
    aspect: Text
    model: Text | None = None
    rival: Text | None = None
    order: Any = None
    output: StrictStr | None = None
    value: Annotated[float | None, Field(strict=True, allow_inf_nan=False)] = None
    unit: Unit | None = None
    index: Annotated[int | None, Field(strict=True, ge=0)] = None
    attempt: Annotated[float | None, Field(strict=True, allow_inf_nan=False)] = None

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.output is None and self.value is None:
            raise problem("is missing; give the raw reply, or a number as `value`", "output")
        if self.rival is not None:
            if self.rival == self.system:
                raise problem(f"is the system itself, {self.system!r}; a summary is compared with another's", "rival")
            if self.order not in {"ab", "ba", None}:
                raise problem("must be ab or ba", "order")
            if self.order == "ba":
                self.system, self.rival = self.rival, self.system
        self.unit = self.unit or ("summary" if self.rival is None else "pair")
        return self


def _typed(cells: Mapping[str, Any]) -> dict[str, Any]:
    """The cells of a table of texts as JSON would give them: no empty ones (but an empty reply), numbers as numbers.

    >>> _typed({"doc_id": "7", "rival": "", "output": "", "value": "0.5", "index": "2"})
    {'doc_id': '7', 'value': 0.5, 'index': 2}
    """
    typed = {name: cell for name, cell in cells.items() if cell != ""}
    for name in ("value", "index", "attempt"):
        if name in typed:
            with suppress(ValueError):  # what is no number is named as it stands
                typed[name] = json.loads(typed[name])
    if "output" in cells and "value" not in typed:
        typed["output"] = cells["output"]
    return typed


class Output(NamedTuple):
    """A checked row with the item it is about."""

    row: RawRow
    item: Item

    @property
    def judge(self) -> JudgeOfRows:
        """Whose row it is."""
        return self.row.evaluator, self.row.model, self.row.output is not None


def _read(data: Dataset, raw: str | Path) -> tuple[list[Output], Counter[JudgeOfRows], Counter[JudgeOfRows]]:
    """The rows that count, and for each judge how many were asked again and how many contradict an earlier one."""
    faults, lookup = Faults(file_name(raw)), _Lookup(data)
    outputs: dict[tuple[Any, ...], Output] = {}
    repeated: Counter[JudgeOfRows] = Counter()
    contradicted: Counter[JudgeOfRows] = Counter()
    try:
        form = format_of(raw)
    except UsageError:  # its advice, the option --format, is of the data
        names_of = ".jsonl, .json, .csv, .tsv or .parquet"
        raise UsageError(f"cannot tell the format of {raw} from its name; let that end in {names_of}") from None
    for line in read_rows(raw, faults, form):
        try:
            row = RawRow.model_validate(_typed(line.cells) if form in {"csv", "tsv"} else line.cells)
        except ValidationError as error:
            for field, message in explained(error, lambda _, details: problem_of(details)):
                faults.add(line.line, field, message)
            continue
        if (wrong := lookup.fault(row)) is not None:
            faults.add(line.line, *wrong)
            continue
        output = Output(row, lookup.item(row))
        key = (*output.judge, row.aspect, row.doc_id, row.system, row.rival, row.unit, row.index)
        if key in outputs:
            earlier = outputs[key].row
            repeated[output.judge] += 1
            contradicted[output.judge] += earlier.attempt == row.attempt and earlier.value != row.value
        if key not in outputs or (row.attempt or 0) >= (outputs[key].row.attempt or 0):
            outputs[key] = output
    faults.stop()
    if not outputs:
        raise UsageError(f"{file_name(raw)} holds no rows")
    return list(outputs.values()), repeated, contradicted


class _Lookup:
    """What the data and the catalog say of rows; the catalog, which looks through every package, is asked once."""

    def __init__(self, data: Dataset) -> None:
        self.data = data
        self.summaries = {(summary.document_id, summary.system): summary for summary in data.summaries}
        self.names = frozenset(names())
        self.refusal = cache(_refusal)
        self.evaluator = cache(_evaluator)

    def item(self, row: RawRow) -> Item:
        """The item of a row that has no fault."""
        other = None if row.rival is None else self.summaries[row.doc_id, row.rival]
        return item_of(self.data.documents[row.doc_id], self.summaries[row.doc_id, row.system], other)

    def fault(self, row: RawRow) -> tuple[str, str] | None:
        """The field that the data or the catalog know nothing of, and what is wrong with it."""
        if row.output is not None:
            if row.evaluator not in self.names:
                return "evaluator", (
                    f"{row.evaluator!r} is not in the catalog, so nothing can read its output; "
                    "`summeter list evaluators` names those that can"
                )
            if why := self.refusal(row.evaluator, row.aspect):
                return "aspect", why
        for system in filter(None, (row.system, row.rival)):
            if (row.doc_id, system) not in self.summaries:
                return "doc_id", f"the data hold no summary of document {row.doc_id!r} by system {system!r}"
        if row.value is None or row.output is not None:
            return None
        # A value of a sentence or a key fact must say of which, and that one must be there.
        unit = (row.unit or "summary").replace("_", " ")
        if row.unit in _NUMBERED:
            owner, units = _NUMBERED[row.unit]
            number = len(units(self.item(row)))
            if row.index is None:
                return "index", f"is missing; say which {unit}, counted from 0"
            if row.index >= number and (number or owner == "summary"):  # key facts may be the experiment's own
                plural = "s" * (number != 1)
                return "index", f"{row.index} is out of range: the {owner} has {number} {unit}{plural}, counted from 0"
        # A value that the evaluator of this name never gives, or gives of something else.
        evaluator = self.evaluator(row.evaluator, row.aspect) if row.evaluator in self.names else None
        if evaluator is None:
            return None
        scale = evaluator.rating_scale
        judges = "pair" if evaluator.pairwise else "summary" if scale else None
        if row.unit != judges and (judges or row.unit == "pair"):
            judged = {"pair": "pairs of summaries", "summary": "whole summaries", None: "single summaries"}[judges]
            return "unit", f"is {row.unit}; {row.evaluator} judges {judged}"
        ends = scale or evaluator.value_range
        if ends is not None and not ends[0] <= row.value <= ends[1]:
            return "value", f"is {row.value:g}; {row.evaluator} gives {ends[0]:g} to {ends[1]:g}"
        if row.unit in evaluator.binary_units and row.value not in {0.0, 1.0}:
            return "value", f"is {row.value:g}; {row.evaluator} gives a {unit} 1 or 0"
        return None


def _refusal(name: str, aspect: str) -> str | None:
    """Why an evaluator that is set to one aspect cannot be set to this one, or None."""
    if "aspect" in find(name).model_fields:
        try:
            _reader(name, aspect)
        except UsageError:
            return f"{aspect!r} is not known to {name!r}; it knows {', '.join(find(name).aspects)}"
    return None


def _evaluator(name: str, aspect: str) -> Evaluator | None:
    """The evaluator of the catalog that measures an aspect; None where its values are not known."""
    if not issubclass(find(name), DerivedEvaluator):
        with suppress(UsageError):
            parts = _reader(name, aspect).components()
            return next((part for part in parts if aspect in part.active_aspects), parts[0])
    return None


class _Judge:
    """One judge's rows, to be read and written."""

    def __init__(self, data: Dataset, outputs: Sequence[Output], parser: Parser) -> None:
        self.data, self.outputs, self.parser = data, outputs, parser
        first = outputs[0].row
        raw = first.output is not None
        known = find(first.evaluator) if raw else None
        aspects = tuple(dict.fromkeys(output.row.aspect for output in outputs))
        # Made before anything is written: an aspect that the evaluator does not know ends the import.
        self.evaluators = {aspect: _reader(first.evaluator, aspect) for aspect in aspects} if raw else {}
        # What a raw reply is about is the evaluator's to say; a bare value is about what its row says.
        measured = (aspect for evaluator in self.evaluators.values() for aspect in evaluator.active_aspects)
        self.aspects = tuple(dict.fromkeys(measured)) if raw else aspects
        parts: dict[str, object] = {"judge": first.model, "source": "import"}
        if known:
            split = splitter(data) if known.reads_sentences else None
            parts |= {"parser": parser, "split": split, "v": known.version}
        self.signature = signature(first.evaluator, parts)
        self.entry = JudgeEntry(
            name=first.evaluator,
            signature=self.signature,
            model=first.model,
            aspects=self.aspects,
            reduce=known.reduce if known else "share",
            file=stem(first.evaluator, self.signature),
            imported=True,
        )

    def write(
        self, journal: Journal, store: CallStore, repeated: Mapping[Any, int], contradicted: Mapping[Any, int]
    ) -> Imported:
        """Write every judgment; summaries of a covered system without an output are skipped, with the reason."""
        judged: dict[ItemKey, list[Judgment]] = {}
        for output in self.outputs:
            judged.setdefault(item_key(output.item), []).extend(self._judgments(output, store))
        for item, judgment in self._missing_units():
            judged[item_key(item)].append(judgment)
        ok = failed = 0
        written: list[Judgment] = []
        reasons: dict[str, int] = {}
        for key, judgments in judged.items():
            bad = [row for row in judgments if row.status in {"unparsed", "refused"}]
            journal.judged(self.entry, key, judgments)
            written += judgments
            for aspect in dict.fromkeys(row.aspect for row in bad):
                of_aspect = [row for row in bad if row.aspect == aspect]
                journal.failed(failure(self.entry, key, of_aspect[0].status, of_aspect[0].reason or "", of_aspect))
            # One outcome a raw reply: usable, or why not.
            replies: dict[tuple[Any, ...], list[Judgment]] = {}
            for place, judgment in enumerate(judgments):
                replies.setdefault(judgment.calls or (place,), []).append(judgment)
            for group in replies.values():
                unusable = next((judgment for judgment in group if judgment.status != "ok"), None)
                if unusable is None:
                    ok += 1
                else:
                    failed += 1
                    reasons[unusable.reason or ""] = reasons.get(unusable.reason or "", 0) + 1
        absent = list(self._absent(judged))
        for key, judgments in absent:
            journal.judged(self.entry, key, judgments)
        return Imported(
            self.entry.name,
            self.signature,
            self.aspects,
            len(self.outputs),
            repeated.get(self.outputs[0].judge, 0),
            ok,
            failed,
            len(absent),
            contradicted.get(self.outputs[0].judge, 0),
            reasons,
            next((dict(count.faults) for count in reply_counts(written)), {}),
        )

    def _judgments(self, output: Output, store: CallStore) -> list[Judgment]:
        row = output.row
        if row.output is None:
            unit = row.unit or "summary"
            binary = unit in {"sentence", "key_fact", "claim"} and row.value in {0.0, 1.0}
            label = int(row.value) if binary and row.value is not None else None
            return [self._judgment(output.item, row.aspect, unit, row.index, value=row.value, label=label)]
        request = {
            "imported": row.evaluator,
            "aspect": row.aspect,
            "document_id": row.doc_id,
            "system": row.system,
            "rival": row.rival,
            "model": row.model,
        }
        key = digest([request, row.output])
        store.put(key, json.dumps(request), json.dumps({"text": row.output}), row.model or "import")
        evaluator = self.evaluators[row.aspect]
        judgments = evaluator.unjudged(output.item, self.signature)
        if judgments is None:
            judgments = evaluator.read(row.output, output.item, self.parser, self.signature)
        return [judgment.model_copy(update={"model": row.model, "calls": (key,)}) for judgment in judgments]

    def _judgment(
        self, item: Item, aspect: str, unit: Unit = "summary", index: int | None = None, **more: Any
    ) -> Judgment:
        about = {"judge": self.entry.name, "signature": self.signature, "model": self.entry.model}
        return Judgment(target=target(item, unit, index), aspect=aspect, **about, **more)

    def _missing_units(self) -> Iterator[tuple[Item, Judgment]]:
        """A skipped judgment for each sentence and key fact without a value, beside others of its summary with one."""
        valued: dict[tuple[Any, ...], dict[int, Output]] = {}
        for output in self.outputs:
            row = output.row
            if row.output is None and row.index is not None and row.unit in _NUMBERED:
                valued.setdefault((item_key(output.item), row.aspect, row.unit), {})[row.index] = output
        for (_, aspect, unit), by_index in valued.items():
            item = next(iter(by_index.values())).item
            _, units = _NUMBERED[unit]
            reason = f"no value was given for this {unit.replace('_', ' ')}"
            for index in sorted(set(range(len(units(item)))) - set(by_index)):
                yield item, self._judgment(item, aspect, unit, index, status="skipped", reason=reason)

    def _absent(self, judged: Collection[ItemKey]) -> Iterator[tuple[ItemKey, list[Judgment]]]:
        """Skipped judgments for each summary of a covered system without an output."""
        covered = {system for _, system, rival in judged if rival is None}
        for summary in self.data.summaries:
            key = (summary.document_id, summary.system, None)
            if summary.system in covered and key not in judged:
                item = item_of(self.data.documents[summary.document_id], summary)
                skipped = (self._judgment(item, each, status="skipped", reason=NO_OUTPUT) for each in self.aspects)
                yield key, list(skipped)


def _reader(name: str, aspect: str) -> Evaluator:
    """The evaluator that reads outputs on an aspect."""
    return rebuild(name, {"aspect": aspect} if "aspect" in find(name).model_fields else {})
