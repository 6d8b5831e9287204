"""Several runs as one: the union of their judges and items, as if it had been made in one go."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path
from typing import TypeVar

import numpy as np

from summeter.data.atomic import building
from summeter.data.dataset import Dataset, load, save
from summeter.engine.plan import ItemOrder, data_entry
from summeter.engine.runs import Run, finish
from summeter.records import InputError, Judgment, Record, UsageError
from summeter.runs.calls import CallStore
from summeter.runs.forms import lines_of
from summeter.runs.journal import Journal
from summeter.runs.manifest import DataEntry, JudgeEntry, Manifest, RunStatus
from summeter.runs.progress import PROGRESS, ItemIndex, ProgressTable, checksum, item_places
from summeter.runs.results import RESULTS, ResultStore
from summeter.runs.run import CALLS, FAILURES, RunFolder, prepared_rows

R = TypeVar("R", bound=Record)

_WORST: tuple[RunStatus, ...] = ("failed", "interrupted", "running", "incomplete", "complete")
# A run that was killed is one to go on with; whether items are in error is told by the merged run's own judgments.
_ENDED: dict[RunStatus, RunStatus] = {
    "failed": "interrupted",
    "interrupted": "interrupted",
    "running": "interrupted",
    "incomplete": "complete",
    "complete": "complete",
}


def merge(folders: Sequence[str | Path], out: str | Path) -> Run:
    """One run of several: over the same data, or over data that have no document in common; returns it.

    Each judge has the items of all runs. An item that two runs have, by one signature, counts once; stored calls and
    results, what was prepared, and failures are joined. The folder is there when all of it is, or not at all.

    Raises UsageError for fewer than two runs or one given twice, where the folder exists, and for runs over data that
    only partly agree; InputError where a run is damaged, and where two runs have judged an item otherwise, by name.
    """
    runs = [RunFolder(folder) for folder in folders]
    target = Path(out)
    if len(runs) < 2:
        raise UsageError("a merge needs at least 2 runs")
    places = [run.folder.resolve() for run in runs]
    if twice := next((run for place, run in enumerate(runs) if places[place] in places[:place]), None):
        raise UsageError(f"{twice.folder} is given twice, and what it took would count twice; give each run once")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} exists; a merge makes a new run: choose another folder")
    with building(target) as fresh:
        _merge_into(fresh, runs)
    return Run(target)


def _merge_into(fresh: Path, runs: Sequence[RunFolder]) -> None:
    data, entry = _data(fresh, runs)
    judges = _judges(runs)
    for name in ("prompts", "files"):
        for run in runs:
            if (run.folder / name).is_dir():
                shutil.copytree(run.folder / name, fresh / name, dirs_exist_ok=True)
    with Journal(fresh) as journal:
        for judge in judges:
            _Judge(judge, [run for run in runs if judge.signature in _signatures(run)]).write(fresh)
        _write_failures(fresh, runs)
        for kind, name in ((CallStore, CALLS), (ResultStore, RESULTS)):
            if files := [run.folder / name for run in runs if (run.folder / name).is_file()]:
                with kind(fresh / name) as store:
                    for file in files:
                        store.absorb(file)
        journal.sort_files(judges, ItemOrder(data))
        manifest = _manifest(runs, judges, entry)
        journal.manifest(manifest)
        status = min((run.manifest.status for run in runs), key=_WORST.index)
        finish(Run(fresh, data=data), journal, manifest, _ENDED[status])


def _signatures(run: RunFolder) -> set[str]:
    return {judge.signature for judge in run.manifest.judges}


def _data(fresh: Path, runs: Sequence[RunFolder]) -> tuple[Dataset, DataEntry]:
    """The data of all runs, written to the new one: those of the first where all are the same, else all together."""
    first = runs[0].manifest.data
    if all(run.manifest.data.hash == first.hash for run in runs):
        data = runs[0].data
        shutil.copytree(runs[0].folder / "data", fresh / "data")
        return data, first
    parts = list({run.manifest.data.hash: run for run in runs}.values())
    known: dict[str, RunFolder] = {}
    for run in parts:
        for name in run.data.documents:
            if name in known:
                raise UsageError(
                    f"{known[name].folder} and {run.folder} are over different data that both have the document "
                    f"{name!r}: runs are merged over the same data, or over parts without a document in common"
                )
            known[name] = run
    card = parts[0].data.card.model_copy(update={"counts": {}, "files": {}, "hash": ""})
    if other := next((run for run in parts if run.data.card.splitter != card.splitter), None):
        raise UsageError(
            f"{parts[0].folder} and {other.folder} split documents otherwise; they are not parts of one data set"
        )
    names = dict.fromkeys(name for run in parts for name in run.data.judgment_sets)
    data = Dataset(
        {name: document for run in parts for name, document in run.data.documents.items()},
        [summary for run in parts for summary in run.data.summaries],
        {name: _judgment_set([run for run in parts if name in run.data.judgment_sets], name) for name in names},
        card,
        fact_origins={name: origins for run in parts for name, origins in run.data.fact_origins.items()},
    )
    save(data, fresh / "data")
    return load(fresh / "data"), data_entry(data)


def _judgment_set(runs: Sequence[RunFolder], name: str) -> Callable[[], Iterator[Judgment]]:
    return lambda: (judgment for run in runs for judgment in run.data.iter_judgments(name))


def _judges(runs: Sequence[RunFolder]) -> tuple[JudgeEntry, ...]:
    """The judges of all runs, each once, with the aspects that any run asked it for; a cascade's judge is whole where
    over each of the data some run asked it for all."""
    merged: dict[str, JudgeEntry] = {}
    partial: dict[tuple[str, str], bool] = {}  # by signature and data
    for run in runs:
        for judge in run.manifest.judges:
            first = merged.setdefault(judge.signature, judge)
            aspects = tuple(dict.fromkeys((*first.aspects, *judge.aspects)))
            merged[judge.signature] = first.model_copy(update={"aspects": aspects})
            key = judge.signature, run.manifest.data.hash
            partial[key] = partial.get(key, True) and judge.partial
    confined = {signature for (signature, _), here in partial.items() if here}
    return tuple(judge.model_copy(update={"partial": judge.signature in confined}) for judge in merged.values())


class _Judge:
    """One judge's items in all runs that have it."""

    def __init__(self, judge: JudgeEntry, runs: Sequence[RunFolder]) -> None:
        self.judge, self.runs = judge, runs
        self.tables = []
        for run in runs:
            items = ProgressTable.read(run.folder / PROGRESS)
            self.tables.append(items.take(items.of_judge(judge.signature)))

    def write(self, fresh: Path) -> None:
        """Write the judgments, the lines of progress and what was prepared into the new run."""
        judgments, progress = fresh / "judgments" / f"{self.judge.file}.jsonl", fresh / PROGRESS
        before = self.tables[0].take(np.zeros(0, np.int64))  # the items of the runs gone through
        with judgments.open("ab") as lines, progress.open("ab") as done:
            for run, items in zip(self.runs, self.tables, strict=True):
                known = ItemIndex(before.keys()).places(items.keys()).tolist()
                for row, own in enumerate(self._lines(run, items)):
                    total = checksum(own)
                    if known[row] >= 0:
                        self._check_same(before, known[row], run, total)
                        continue
                    lines.writelines(own)
                    confirmed = items.record(row).model_copy(update={"checksum": total})
                    done.write(f"{confirmed.model_dump_json()}\n".encode())
                before = ProgressTable.concat([before, items])
        if not judgments.stat().st_size:
            judgments.unlink()
        self._write_prepared(fresh)

    def _lines(self, run: RunFolder, items: ProgressTable) -> Iterator[list[bytes]]:
        """The lines of each item. InputError unless they stand one item after the other, as a run's end leaves them."""
        file = run.file_of(self.judge)
        if items.has_checksums and item_places(file, items) is None:
            for _ in run.tables():  # which says what is damaged, if that is it
                pass
            message = "its items do not stand in order; give the command that made the run again first"
            raise InputError.at(file, None, None, message)
        with closing(lines_of(file)) as lines:
            for many in items.judgments.tolist():
                yield list(islice(lines, many))

    def _check_same(self, before: ProgressTable, row: int, run: RunFolder, total: int) -> None:
        known = int(before.checksum[row])
        if known >= 0 and known != total:
            ends = np.cumsum([len(items) for items in self.tables])
            first = self.runs[int(np.searchsorted(ends, row, side="right"))]
            document, system, rival = before.item(row)
            beside = f" beside {rival!r}" if rival is not None else ""
            raise UsageError(
                f"{first.folder} and {run.folder} contradict each other: {self.judge.signature} judged document "
                f"{document!r}, system {system!r}{beside}, otherwise in each; leave one of the runs out"
            )

    def _write_prepared(self, fresh: Path) -> None:
        seen: set[tuple[str, str]] = set()
        file = fresh / "prepared" / f"{self.judge.file}.jsonl"
        for run in self.runs:
            source = run.folder / "prepared" / f"{self.judge.file}.jsonl"
            with closing(lines_of(source)) as lines:
                for line, (_, row) in zip(lines, prepared_rows(source), strict=True):
                    if (key := (row["document_id"], row["id"])) not in seen:
                        seen.add(key)
                        with file.open("ab") as target:
                            target.write(line)


def _write_failures(fresh: Path, runs: Sequence[RunFolder]) -> None:
    seen: set[bytes] = set()
    for run in runs:
        with (fresh / FAILURES).open("ab") as target, closing(lines_of(run.folder / FAILURES)) as lines:
            for line in lines:
                if line not in seen:
                    seen.add(line)
                    target.write(line)
    if not seen:
        with suppress(FileNotFoundError):
            (fresh / FAILURES).unlink()


def _manifest(runs: Sequence[RunFolder], judges: tuple[JudgeEntry, ...], data: DataEntry) -> Manifest:
    """The manifest of all: the options of the first, what all took together; what a copy of a run took counts once."""
    taken = ("created", "usage", "judge_usage", "local", "compute")
    own: dict[str, Manifest] = {}
    for run in runs:
        own.setdefault(run.manifest.model_dump_json(include=set(taken)), run.manifest)
    manifests = list(own.values())
    return manifests[0].model_copy(
        update={
            "judges": judges,
            "data": data,
            "counts": {},
            "options": {**manifests[0].options, "limit": None},
            "created": min(manifest.created for manifest in manifests),
            "replayed_from": None,
            "stopped": None,
            "usage": _together(manifest.usage for manifest in manifests),
            "judge_usage": _together(manifest.judge_usage for manifest in manifests),
            "local": _together(manifest.local for manifest in manifests),
            "compute": _together(manifest.compute for manifest in manifests),
            "contexts": {name: value for manifest in reversed(manifests) for name, value in manifest.contexts.items()},
        }
    )


def _together(taken: Iterable[Mapping[str, R]]) -> dict[str, R]:
    """What was taken under each name, added up; a cost is known where all are."""
    totals: dict[str, R] = {}
    for each in taken:
        for name, more in each.items():
            totals[name] = _sum(totals[name], more) if name in totals else more
    return totals


def _sum(first: R, second: R) -> R:
    sums: dict[str, object] = {}
    for name in type(first).model_fields:
        one, other = getattr(first, name), getattr(second, name)
        if name == "cost" and (one is None or other is None):
            sums[name] = None
        elif isinstance(one, int | float) and isinstance(other, int | float):
            sums[name] = one + other
        else:
            sums[name] = one if one is not None else other
    return first.model_copy(update=sums)
