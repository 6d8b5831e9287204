"""Import the raw outputs and scores of earlier experiments as a run, without calling a model.

A row has the fields `doc_id`, `system`, `evaluator`, `aspect` and `model`, and either `output` (a raw reply, which is
read by the evaluator's strict or released parser) or `value` (with `unit` and `index` unless the value is that of the
whole summary). `rival` and `order` (ab or ba) specify a pair. If several rows are about the same judgment, the last one
is used, or that of the highest `attempt`. Instead of in a file, rows can be in the column `replies` of the data, a list
of objects; their `doc_id` and `system` are those of the summary.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self, get_args

from pydantic import BaseModel, BeforeValidator, Field, StrictStr, ValidationError, model_validator

from summeter.data.atomic import check_folder
from summeter.data.dataset import Dataset, load, save
from summeter.data.faults import Faults, explained, problem
from summeter.data.formats import Row, file_name, format_of, read_rows
from summeter.engine.plan import Data, item_key, item_of, splitter
from summeter.engine.runs import Run, finish, new_manifest
from summeter.engine.worker import record
from summeter.evaluators.base import Evaluator, Parser, target
from summeter.evaluators.catalog import find, names, rebuild
from summeter.evaluators.derived import DerivedEvaluator
from summeter.records import Item, Judgment, Parameter, Unit, UsageError, digest, problem_of, signature
from summeter.runs.calls import CallStore
from summeter.runs.journal import Journal
from summeter.runs.manifest import JudgeEntry, safe_name, stem
from summeter.runs.progress import ItemKey
from summeter.runs.run import CALLS
from summeter.scoring import reply_counts

NO_OUTPUT = "there is no raw output for this summary"
REPLIES = "replies"
"""The column of the data that contains raw outputs."""

_NUMBERED: dict[Unit, tuple[str, Callable[[Item], Sequence[object]]]] = {
    "sentence": ("summary", lambda item: item.sentences),
    "key_fact": ("document", lambda item: item.key_facts),
}
"""The units with an index: whether they belong to the summary or the document, and a function that returns them."""


class Imported(NamedTuple):
    """The counts of the rows of a judge.

    `reasons` holds the number of unusable rows by reason, and `faults` by class (`REPLY_FAULTS`). `contradicted` says
    how many of the `repeated` rows have a different value from an earlier row with the same `attempt`.
    """

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
    """A run imported from raw outputs; `imported` holds the counts of each judge's rows."""

    imported: tuple[Imported, ...] = ()


def import_outputs(data: Data, raw: str | Path, out: str | Path, parser: Parser = "strict") -> ImportedRun:
    """Import a file of raw outputs as a run at `out`, without calling a model.

    `parser` is "strict" (a reply must fit its item) or "legacy" (replies are read like in the released code of the
    papers). Raises InputError with every invalid row, in which case `out` is not created. Unusable replies raise no
    error but become judgments with the status `unparsed` or `refused`.
    """
    dataset = load(data)
    check_folder(out)
    faults = Faults(file_name(raw))
    judges = _judges(dataset, _rows_of(raw, faults), faults, parser)
    return _write(dataset, judges, Path(out), {"parser": parser, "imported": Path(raw).name})


def import_replies(data: Data, out: str | Path, parser: Parser = "strict") -> list[ImportedRun]:
    """Import the raw outputs in the column `replies` of the data as runs, without calling a model.

    The outputs of each evaluator and model become the run `out/MODEL/EVALUATOR`. The preset `shen2023` makes such a
    column of the released replies. `parser` and errors are those of `import_outputs`.

        import_replies(sm.load("RELEASE", preset="shen2023"), "runs", "legacy")
    """
    given = load(data)
    if not any(REPLIES in summary.extra for summary in given.summaries):
        raise UsageError(f"the data have no column `{REPLIES}` with raw outputs; give a file of raw outputs")
    check_folder(out)
    faults = Faults(REPLIES)
    dataset = given.without_column(REPLIES)  # otherwise, each run would contain all replies
    runs: dict[Path, list[_Judge]] = {}
    for judge in _judges(dataset, _replies(given, faults), faults, parser):
        names = filter(None, (judge.entry.model, judge.entry.name))
        runs.setdefault(Path(out, *map(safe_name, names)), []).append(judge)
    options = {"parser": parser, "imported": REPLIES}
    return [_write(dataset, judges, folder, options) for folder, judges in runs.items()]


def _write(dataset: Dataset, judges: Sequence[_Judge], folder: Path, options: dict[str, Any]) -> ImportedRun:
    save(dataset, folder / "data")
    manifest = new_manifest(dataset, [judge.entry for judge in judges], options)
    with Journal(folder) as journal, CallStore(folder / CALLS) as store:
        journal.manifest(manifest)
        imported = tuple(judge.write(journal, store) for judge in judges)
        journal.sort_files(manifest.judges, dataset)
        run = ImportedRun(folder, data=dataset)
        finish(run, journal, manifest, "complete")
    run.imported = imported
    return run


JudgeKey = tuple[str, str | None, bool]
"""The key of a judge: (evaluator, model, whether the rows have raw replies)."""


Text = Annotated[
    str,
    # Ids in tables are often numbers.
    BeforeValidator(lambda cell: str(cell) if isinstance(cell, int) and not isinstance(cell, bool) else cell),
    Field(strict=True, min_length=1),
]


class RawRow(BaseModel):
    """A row of raw outputs; columns other than the fields are ignored.

    A pair with the order `ba` is swapped, so that all pairs have the order `ab`.
    """

    doc_id: Text
    system: Text
    evaluator: Annotated[Text, Field(pattern=r"^[\w.\-+ ]{1,80}$")]  # part of signatures and file names
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
    def _check(self) -> Self:
        if self.output is None and self.value is None:
            raise problem("is missing. Give the raw reply, or a number as `value`", "output")
        if self.rival is not None:
            if self.rival == self.system:
                raise problem(f"must be a system other than {self.system!r}", "rival")
            if self.order not in {"ab", "ba", None}:
                raise problem("must be ab or ba", "order")
            if self.order == "ba":
                self.system, self.rival = self.rival, self.system
        self.unit = self.unit or ("summary" if self.rival is None else "pair")
        return self

    @property
    def judge(self) -> JudgeKey:
        """The key of the row's judge."""
        return self.evaluator, self.model, self.output is not None


def _convert(cells: Mapping[str, Any]) -> dict[str, Any]:
    """Return the text cells of a table with numbers parsed and without empty cells; an empty reply is kept.

    >>> _convert({"doc_id": "7", "rival": "", "output": "", "value": "0.5", "index": "2"})
    {'doc_id': '7', 'value': 0.5, 'index': 2}
    """
    converted = {name: cell for name, cell in cells.items() if cell != ""}
    for name in ("value", "index", "attempt"):
        if name in converted:
            with suppress(ValueError):  # validation reports texts that are not numbers
                converted[name] = json.loads(converted[name])
    if "output" in cells and "value" not in converted:
        converted["output"] = cells["output"]
    return converted


def _rows_of(raw: str | Path, faults: Faults) -> Iterator[Row]:
    """Yield the rows of a file."""
    try:
        file_format = format_of(raw)
    except UsageError:  # its message suggests --input-format, which is an option for the data
        suffixes = ".jsonl, .json, .csv, .tsv or .parquet"
        raise UsageError(f"the format of {raw} is unknown. Use a name that ends in {suffixes}") from None
    for line in read_rows(raw, faults, file_format):
        yield line._replace(cells=_convert(line.cells)) if file_format in {"csv", "tsv"} else line


def _replies(data: Dataset, faults: Faults) -> Iterator[Row]:
    """Yield the rows in the column `replies` of the data."""
    for summary in data.summaries:
        replies = summary.extra.get(REPLIES) or []
        name = f"{REPLIES} of {summary.document_id}, {summary.system}"
        if not isinstance(replies, list) or not all(isinstance(reply, dict) for reply in replies):
            faults.of(name).fail(None, None, "are not a list of objects with the fields of raw outputs")
            continue
        for number, reply in enumerate(replies, 1):
            yield Row(name, number, {**reply, "doc_id": summary.document_id, "system": summary.system})


def _judges(data: Dataset, lines: Iterable[Row], faults: Faults, parser: Parser) -> list[_Judge]:
    """Return the judges of rows. Raises InputError with every invalid row."""
    if parser not in get_args(Parser):
        raise UsageError(Parameter("parser"), f" must be {' or '.join(get_args(Parser))}, not {parser!r}")
    items = _Items(data)
    rows: dict[tuple[Any, ...], RawRow] = {}
    repeated, contradicted = Counter[JudgeKey](), Counter[JudgeKey]()
    for line in lines:
        of_file = faults.of(line.file)
        try:
            row = RawRow.model_validate(line.cells)
        except ValidationError as error:
            for field, message in explained(error, lambda _, details: problem_of(details)):
                of_file.add(line.line, field, message)
            continue
        if (fault := items.fault(row)) is not None:
            of_file.add(line.line, *fault)
            continue
        key = (*row.judge, row.aspect, row.doc_id, row.system, row.rival, row.unit, row.index)
        earlier = rows.get(key)
        if earlier is not None:
            repeated[row.judge] += 1
            contradicted[row.judge] += earlier.attempt == row.attempt and earlier.value != row.value
        if earlier is None or (row.attempt or 0) >= (earlier.attempt or 0):
            rows[key] = row
    faults.stop()
    if not rows:
        raise UsageError(f"{faults.file} contains no rows")
    groups: dict[JudgeKey, list[RawRow]] = {}
    for row in rows.values():
        groups.setdefault(row.judge, []).append(row)
    return [_Judge(items, group, parser, repeated[key], contradicted[key]) for key, group in groups.items()]


class _Items:
    """The items of the rows, and checks of the rows against the data and the catalog."""

    def __init__(self, data: Dataset) -> None:
        self.data = data
        self.summaries = {(summary.document_id, summary.system): summary for summary in data.summaries}
        self.names = frozenset(names())

    def of(self, row: RawRow) -> Item:
        """Return the item of a valid row."""
        rival = None if row.rival is None else self.summaries[row.doc_id, row.rival]
        return item_of(self.data.documents[row.doc_id], self.summaries[row.doc_id, row.system], rival)

    def fault(self, row: RawRow) -> tuple[str, str] | None:
        """Return the invalid field of a row and an error message, or None if the row is valid."""
        if row.output is not None:
            if row.evaluator not in self.names:
                return "evaluator", (
                    f"{row.evaluator!r} is not in the catalog, so its outputs cannot be read. See `summeter list "
                    "evaluators`"
                )
            found = find(row.evaluator)
            if found.read is Evaluator.read:
                return "evaluator", f"{row.evaluator!r} has no parser for raw outputs. Give rows with a `value` instead"
            if "aspect" in found.model_fields and _evaluator(row.evaluator, row.aspect) is None:
                aspects = ", ".join(found.aspects)
                return "aspect", f"{row.evaluator!r} has no aspect {row.aspect!r}. Its aspects are: {aspects}"
        for system in filter(None, (row.system, row.rival)):
            if (row.doc_id, system) not in self.summaries:
                return "doc_id", f"the data have no summary of document {row.doc_id!r} by system {system!r}"
        if row.value is None or row.output is not None:
            return None
        # The value of a sentence or a key fact needs a valid index.
        unit = (row.unit or "summary").replace("_", " ")
        if row.unit in _NUMBERED:
            owner, units = _NUMBERED[row.unit]
            number = len(units(self.of(row)))
            if row.index is None:
                return "index", f"is missing. Give the number of the {unit}, counted from 0"
            if row.index >= number and (number or owner == "summary"):  # the key facts may not be in the data
                plural = "s" * (number != 1)
                return "index", f"{row.index} is out of range: the {owner} has {number} {unit}{plural}, counted from 0"
        # The unit and the value must be possible for the evaluator.
        evaluator = _evaluator(row.evaluator, row.aspect) if row.evaluator in self.names else None
        if evaluator is None:
            return None
        scale = evaluator.rating_scale
        judges = "pair" if evaluator.pairwise else "summary" if scale else None
        if row.unit != judges and (judges or row.unit == "pair"):
            judged = {"pair": "pairs of summaries", "summary": "whole summaries", None: "single summaries"}[judges]
            return "unit", f"is {row.unit}, but {row.evaluator} judges {judged}"
        limits = scale or evaluator.value_range
        if limits is not None and not limits[0] <= row.value <= limits[1]:
            return "value", f"is {row.value:g}, but values of {row.evaluator} are from {limits[0]:g} to {limits[1]:g}"
        if row.unit in evaluator.binary_units and row.value not in {0.0, 1.0}:
            return "value", f"is {row.value:g}, but {row.evaluator} labels a {unit} 1 or 0"
        return None


@cache
def _evaluator(name: str, aspect: str) -> Evaluator | None:
    """Return the evaluator in the catalog that judges an aspect.

    Returns None if the evaluator does not allow the aspect, or if it is a derived judge, whose values are not limited.
    """
    if not issubclass(find(name), DerivedEvaluator):
        with suppress(UsageError):
            components = _reader(name, aspect).components()
            return next((each for each in components if aspect in each.active_aspects), components[0])
    return None


class _Judge:
    """The rows of one judge."""

    def __init__(self, items: _Items, rows: Sequence[RawRow], parser: Parser, repeated: int, contradicted: int) -> None:
        self.items, self.rows, self.parser = items, rows, parser
        self.repeated, self.contradicted = repeated, contradicted
        first = rows[0]
        raw = first.output is not None
        evaluator = find(first.evaluator) if raw else None
        aspects = tuple(dict.fromkeys(row.aspect for row in rows))
        # Created before anything is written, because an unknown aspect is an error.
        self.evaluators = {aspect: _reader(first.evaluator, aspect) for aspect in aspects} if raw else {}
        # The evaluator defines the aspects of a raw reply, the row that of a value.
        active = (aspect for reader in self.evaluators.values() for aspect in reader.active_aspects)
        self.aspects = tuple(dict.fromkeys(active)) if raw else aspects
        fields: dict[str, object] = {"judge": first.model, "source": "import"}
        if evaluator:
            split = splitter(items.data) if evaluator.reads_sentences else None
            fields |= {"parser": parser, "split": split, "v": evaluator.version}
        self.signature = signature(first.evaluator, fields)
        self.entry = JudgeEntry(
            name=first.evaluator,
            signature=self.signature,
            model=first.model,
            aspects=self.aspects,
            reduce=evaluator.reduce if evaluator else "share",
            file=stem(first.evaluator, self.signature),
            imported=True,
        )

    def write(self, journal: Journal, store: CallStore) -> Imported:
        """Write all judgments, and return their counts."""
        judged: dict[ItemKey, list[Judgment]] = {}
        for row in self.rows:
            item = self.items.of(row)
            judged.setdefault(item_key(item), []).extend(self._judgments(row, item, store))
        for item, judgment in self._missing_units():
            judged[item_key(item)].append(judgment)
        outcomes: Counter[str | None] = Counter()  # raw replies by reason, which is None for a usable one
        for key, judgments in judged.items():
            record(journal, self.entry, key, judgments)
            of_replies: dict[tuple[Any, ...], str | None] = {}
            for index, judgment in enumerate(judgments):
                reply = judgment.calls or (index,)
                if of_replies.get(reply) is None:
                    of_replies[reply] = None if judgment.status == "ok" else judgment.reason or ""
            outcomes.update(of_replies.values())
        # Summaries without an output are skipped if their system has other outputs.
        absent = 0
        systems = {system for _, system, rival in judged if rival is None}
        for summary in self.items.data.summaries:
            key = (summary.document_id, summary.system, None)
            if summary.system in systems and key not in judged:
                item = item_of(self.items.data.documents[summary.document_id], summary)
                skipped = [self._judgment(item, each, status="skipped", reason=NO_OUTPUT) for each in self.aspects]
                journal.judged(self.entry, key, skipped)
                absent += 1
        ok = outcomes.pop(None, 0)
        counts = reply_counts(judgment for judgments in judged.values() for judgment in judgments)
        return Imported(
            judge=self.entry.name,
            signature=self.signature,
            aspects=self.aspects,
            rows=len(self.rows),
            repeated=self.repeated,
            ok=ok,
            failed=outcomes.total(),
            absent=absent,
            contradicted=self.contradicted,
            reasons={reason: number for reason, number in outcomes.items() if reason is not None},
            faults=dict(counts[0].faults) if counts else {},
        )

    def _judgments(self, row: RawRow, item: Item, store: CallStore) -> list[Judgment]:
        if row.output is None:
            unit = row.unit or "summary"
            binary = unit in {"sentence", "key_fact", "claim"} and row.value in {0.0, 1.0}
            label = int(row.value) if binary and row.value is not None else None
            return [self._judgment(item, row.aspect, unit, row.index, value=row.value, label=label)]
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
        judgments = evaluator.unjudged(item, self.signature)
        if judgments is None:
            judgments = evaluator.read(row.output, item, self.parser, self.signature)
        return [judgment.model_copy(update={"model": row.model, "calls": (key,)}) for judgment in judgments]

    def _judgment(
        self, item: Item, aspect: str, unit: Unit = "summary", index: int | None = None, **fields: Any
    ) -> Judgment:
        judge = {"judge": self.entry.name, "signature": self.signature, "model": self.entry.model}
        return Judgment(target=target(item, unit, index), aspect=aspect, **judge, **fields)

    def _missing_units(self) -> Iterator[tuple[Item, Judgment]]:
        """Yield a skipped judgment for each sentence and key fact without a value.

        Items in which no sentence or no key fact has a value are left out.
        """
        with_value: dict[tuple[Any, ...], dict[int, RawRow]] = {}
        for row in self.rows:
            if row.output is None and row.index is not None and row.unit in _NUMBERED:
                key = row.doc_id, row.system, row.rival, row.aspect, row.unit
                with_value.setdefault(key, {})[row.index] = row
        for (*_, aspect, unit), by_index in with_value.items():
            item = self.items.of(next(iter(by_index.values())))
            _, units = _NUMBERED[unit]
            reason = f"there is no value for this {unit.replace('_', ' ')}"
            for index in sorted(set(range(len(units(item)))) - set(by_index)):
                yield item, self._judgment(item, aspect, unit, index, status="skipped", reason=reason)


def _reader(name: str, aspect: str) -> Evaluator:
    """Return the evaluator that reads outputs for an aspect."""
    return rebuild(name, {"aspect": aspect} if "aspect" in find(name).model_fields else {})
