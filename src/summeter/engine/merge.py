"""Merge runs into one run with the union of their judges and items."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from contextlib import closing
from itertools import islice, pairwise
from pathlib import Path

import numpy as np

from summeter.data.atomic import building, check_folder
from summeter.data.dataset import Dataset, concatenate, update
from summeter.data.folder import Card, read_card
from summeter.engine.derive import derive
from summeter.engine.plan import data_entry
from summeter.engine.runs import Run, derived_jobs, finish
from summeter.records import InputError, Judgment, UsageError, whole_lines
from summeter.runs.calls import CallStore
from summeter.runs.journal import Journal
from summeter.runs.manifest import DataEntry, JudgeEntry, Manifest, RunStatus
from summeter.runs.progress import PROGRESS, ProgressTable
from summeter.runs.results import RESULTS, ResultStore
from summeter.runs.run import BY_SOURCE, CALLS, FAILURES, RunFolder, prepared_rows
from summeter.runs.usage import Usage, add_usage
from summeter.stats.base import Bools, Ints

_WORST: tuple[RunStatus, ...] = ("failed", "interrupted", "running", "incomplete", "complete")
# A killed run can be resumed. The judgments of the merged run decide whether it is "incomplete".
_ENDED: dict[RunStatus, RunStatus] = {
    "failed": "interrupted",
    "interrupted": "interrupted",
    "running": "interrupted",
    "incomplete": "complete",
    "complete": "complete",
}


def merge(folders: Sequence[str | Path], out: str | Path) -> Run:
    """Merge runs over the same data, or over data without common documents, and return the merged run.

    In the merged run, each judge has the items of all runs. An item that two runs have judged with the same signature
    is included once; usable judgments take precedence over failures. Derived judges are recomputed, since their
    thresholds may depend on all items. If a cascade then passes on more items, the status is "interrupted", and
    resuming the run judges these items. Stored calls and results, prepared data and failures are merged. The folder is
    written atomically.

    Raises UsageError if there are fewer than two runs, if a run is given twice, if the folder exists, if the data of
    the runs overlap only partly, or if two runs contradict each other, and InputError if a run is damaged.
    """
    runs = [RunFolder(folder) for folder in folders]
    target = Path(out)
    if len(runs) < 2:
        raise UsageError("a merge needs at least 2 runs")
    folders_seen = set[Path]()
    for run in runs:
        if (folder := run.folder.resolve()) in folders_seen:
            raise UsageError(f"{run.folder} is given twice. Give it once; otherwise its usage would be counted twice")
        folders_seen.add(folder)
    check_folder(target)
    with building(target) as fresh:
        _merge_into(fresh, runs)
        inside = [of_sources for run in runs if (of_sources := run.by_source()) is not None]
        if len(inside) == 1:
            shutil.copytree(inside[0].folder, fresh / BY_SOURCE)
        elif inside:
            _merge_into(fresh / BY_SOURCE, inside)
    return Run(target)


def _merge_into(fresh: Path, runs: Sequence[RunFolder]) -> None:
    data, entry = _write_data(fresh, runs)
    judges = _merge_judges(runs)
    for name in ("prompts", "files"):
        for run in runs:
            if (run.folder / name).is_dir():
                shutil.copytree(run.folder / name, fresh / name, dirs_exist_ok=True)
    derived = derived_jobs(judges)
    computed = {job.signature for job in derived}
    replaced: dict[Path, set[str]] = {}
    by_judge: dict[str, list[RunFolder]] = {}
    for run in runs:
        for judge in run.manifest.judges:
            by_judge.setdefault(judge.signature, []).append(run)
    with Journal(fresh) as journal:
        for judge in judges:
            if judge.signature not in computed:
                merged = _Judge(judge, by_judge[judge.signature])
                merged.write(fresh)
                for folder, calls in merged.replaced.items():
                    replaced.setdefault(folder, set()).update(calls)
        failed = dict.fromkeys(line for run in runs for line in whole_lines(run.folder / FAILURES))
        if failed:
            (fresh / FAILURES).write_bytes(b"".join(failed))
        # Of several replies to a call, that of the first run is stored, unless it is `replaced`.
        for store_class, name in ((CallStore, CALLS), (ResultStore, RESULTS)):
            if files := [run.folder / name for run in runs if (run.folder / name).is_file()]:
                with store_class(fresh / name) as store:
                    for file in files:
                        store.absorb(file)
        for folder, keys in replaced.items():
            if (folder / CALLS).is_file():
                with CallStore(fresh / CALLS) as replies:
                    replies.replace(folder / CALLS, keys)
        status = _ENDED[min((run.manifest.status for run in runs), key=_WORST.index)]
        if derived:
            journal.repair(judges)
            if derive(derived, judges, data, journal) and status == "complete":
                status = "interrupted"
        journal.sort_files(judges, data)
        manifest = _merge_manifests(runs, judges, entry)
        journal.manifest(manifest)
        finish(Run(fresh, data=data), journal, manifest, status)


def _write_data(fresh: Path, runs: Sequence[RunFolder]) -> tuple[Dataset, DataEntry]:
    """Write the data of all runs, and return them with their entry in the manifest.

    If all runs have the same data, those of the first run are copied, with the judgment sets of all; otherwise the
    data are concatenated.
    """
    first = runs[0].manifest.data
    if all(run.manifest.data.hash == first.hash for run in runs):
        data = runs[0].data
        shutil.copytree(runs[0].folder / "data", fresh / "data")
        for run in runs[1:]:
            if read_card(run.folder / "data").files != read_card(fresh / "data").files:  # other human judgments
                update(fresh / "data", RunFolder(run.folder).data)
        return data, first
    distinct = list({run.manifest.data.hash: run for run in runs}.values())
    run_of_document: dict[str, RunFolder] = {}
    cards: list[Card] = []
    for run in distinct:
        dataset = RunFolder(run.folder).data  # not `run.data`, which would stay in memory
        for name in dataset.documents:
            if name in run_of_document:
                raise UsageError(
                    f"{run_of_document[name].folder} and {run.folder} are over different data that both contain the "
                    f"document {name!r}. Merge runs over the same data, or over data without common documents"
                )
            run_of_document[name] = run
        cards.append(dataset.card)
        if dataset.card.splitter != cards[0].splitter:
            raise UsageError(
                f"{distinct[0].folder} and {run.folder} have different sentence splitters, so they cannot be merged"
            )
        del dataset
    card = cards[0].model_copy(update={"counts": {}, "files": {}, "hash": ""})
    data = concatenate([run.folder / "data" for run in distinct], fresh / "data", card)
    return data, data_entry(data)


def _merge_judges(runs: Sequence[RunFolder]) -> tuple[JudgeEntry, ...]:
    """Return the distinct judges of all runs, each with its aspects in all runs.

    A judge is partial if there are data to which no run applied it completely.
    """
    merged: dict[str, JudgeEntry] = {}
    partial: dict[tuple[str, str], bool] = {}  # by signature and data
    for run in runs:
        for judge in run.manifest.judges:
            first = merged.setdefault(judge.signature, judge)
            aspects = tuple(dict.fromkeys((*first.aspects, *judge.aspects)))
            merged[judge.signature] = first.model_copy(update={"aspects": aspects})
            key = judge.signature, run.manifest.data.hash
            partial[key] = partial.get(key, True) and judge.partial
    partial_judges = {signature for (signature, _), value in partial.items() if value}
    return tuple(judge.model_copy(update={"partial": judge.signature in partial_judges}) for judge in merged.values())


class _Judge:
    """The items of a judge in all runs."""

    def __init__(self, judge: JudgeEntry, runs: Sequence[RunFolder]) -> None:
        """Load the items of the judge in all runs.

        Raises InputError if the judgments of a run are damaged. Raises UsageError for a derived judge if none of the
        runs has all its items, because the judgments of a derived judge depend on all items of a run.
        """
        self.judge, self.runs = judge, runs
        self.files = [judge.judgments_in(run.folder) for run in runs]
        tables, self._starts = [], list[Ints]()
        for run in runs:
            confirmed = run.confirmed()[judge.signature]
            if confirmed.offsets is None:
                message = "its items are not in order. First rerun the command that created the run"
                raise InputError.at(confirmed.file, message)
            tables.append(confirmed.items)
            self._starts.append(confirmed.offsets.starts)
        self.items = ProgressTable.concat(tables)
        if judge.members and max(map(len, tables)) < len(np.unique(self.items.keys())):
            raise UsageError(
                f"{judge.name} judged different items in {' and '.join(str(run.folder) for run in runs)}, and depends "
                "on all items of a run. It cannot be recomputed, because the catalog has no evaluator with its name, "
                "settings and version. Install the package that defines it"
            )
        self._bounds = np.cumsum([0, *map(len, tables)])  # the rows of each run
        self.replaced: dict[Path, set[str]] = {}
        """The keys of the calls whose judgments replace failures of an earlier run, by run folder."""

    def write(self, fresh: Path) -> None:
        """Write the judgments, the lines of progress and the prepared data to the new run."""
        kept = self._select_rows()
        judgments = self.judge.judgments_in(fresh)
        with judgments.open("ab") as lines, (fresh / PROGRESS).open("ab") as done:
            for file, (start, end) in zip(self.files, pairwise(self._bounds.tolist()), strict=True):
                with closing(whole_lines(file)) as source:
                    for row in range(start, end):
                        judged = list(islice(source, int(self.items.judgments[row])))
                        if kept[row]:
                            lines.writelines(judged)
                            done.write(f"{self.items.record(row).model_dump_json()}\n".encode())
        if not judgments.stat().st_size:
            judgments.unlink()
        # The distinct rows of prepared data, failed ones first, because the last row of a document counts.
        seen: set[tuple[str, str]] = set()
        file = self.judge.prepared_in(fresh)
        for ok in (False, True):
            for run in self.runs:
                prepared_file = self.judge.prepared_in(run.folder)
                with closing(whole_lines(prepared_file)) as prepared_lines:
                    for line, (_, data) in zip(prepared_lines, prepared_rows(prepared_file), strict=True):
                        if (data["status"] == "ok") == ok and (key := (data["document_id"], data["id"])) not in seen:
                            seen.add(key)
                            with file.open("ab") as target:
                                target.write(line)

    def _select_rows(self) -> Bools:
        """Return a mask that selects one row of `items` for each item.

        Raises UsageError if two rows contradict each other.
        """
        _, first, item = np.unique(self.items.keys(), return_index=True, return_inverse=True)
        differs = np.zeros(len(first), np.bool_)
        differs[item[self.items.checksum != self.items.checksum[first[item]]]] = True
        lines = self._read_lines(np.flatnonzero(differs[item]))
        chosen = first.copy()
        for row in lines:
            best = int(chosen[item[row]])
            if self.items.checksum[row] != self.items.checksum[best] and self._replaces(row, best, lines):
                chosen[item[row]] = row
        kept = np.zeros(len(item), np.bool_)
        kept[chosen] = True
        return kept

    def _read_lines(self, rows: Ints) -> dict[int, bytes]:
        """Return the lines of judgments of the given rows.

        Only one file is open at a time, because there may be many runs.
        """
        lines = {}
        for file, starts, (first, end) in zip(self.files, self._starts, pairwise(self._bounds.tolist()), strict=True):
            file_rows = rows[slice(*rows.searchsorted([first, end]))].tolist()
            if file_rows and file.exists():
                with file.open("rb") as stream:
                    for row in file_rows:
                        start, stop = starts[row - first : row - first + 2].tolist()
                        stream.seek(start)
                        lines[row] = stream.read(stop - start)
            else:
                lines |= dict.fromkeys(file_rows, b"")
        return lines

    def _replaces(self, row: int, best: int, lines: Mapping[int, bytes]) -> bool:
        """Return whether the judgments in `row` replace those in `best`, an earlier row for the same item.

        `lines` holds the lines of both rows. The row with fewer failures is kept, and the earlier one if their numbers
        are equal. Raises UsageError if two usable judgments of the same unit differ.
        """
        new, old = ([Judgment.model_validate_json(line) for line in lines[each].splitlines()] for each in (row, best))
        failed = [sum(judgment.status != "ok" for judgment in judgments) for judgments in (new, old)]
        usable = {judgment.key: (judgment.value, judgment.label) for judgment in old if judgment.status == "ok"}
        contradiction = not any(failed) or any(
            judgment.key in usable and usable[judgment.key] != (judgment.value, judgment.label)
            for judgment in new
            if judgment.status == "ok"
        )
        first, second = (
            self.runs[int(np.searchsorted(self._bounds, each, side="right")) - 1].folder for each in (best, row)
        )
        if contradiction:
            document, system, rival = self.items.item(row)
            pair = f" and {rival!r}" if rival is not None else ""
            raise UsageError(
                f"{first} and {second} contradict each other: {self.judge.signature} has different judgments of "
                f"document {document!r}, system {system!r}{pair}. Leave out one of the runs"
            )
        if failed[0] >= failed[1]:
            return False
        self.replaced.setdefault(second, set()).update(key for judgment in new for key in judgment.calls)
        return True


def _merge_manifests(runs: Sequence[RunFolder], judges: tuple[JudgeEntry, ...], data: DataEntry) -> Manifest:
    """Return the manifest of the merged run, with the options of the first run and the usage of all runs.

    If one run is a copy of another, its usage is counted only once.
    """
    usage_fields = ("created", "usage", "judge_usage", "local", "compute")
    distinct: dict[str, Manifest] = {}
    for run in runs:
        distinct.setdefault(run.manifest.model_dump_json(include=set(usage_fields)), run.manifest)
    manifests = list(distinct.values())

    def total(field: str) -> dict[str, Usage]:
        totals: dict[str, Usage] = {}
        for manifest in manifests:
            add_usage(totals, getattr(manifest, field))
        return totals

    return manifests[0].model_copy(
        update={
            "judges": judges,
            "data": data,
            "counts": {},
            "options": {**manifests[0].options, "limit": None},
            "created": min(manifest.created for manifest in manifests),
            "replayed_from": None,
            "stopped": None,
            **{field: total(field) for field in usage_fields if field != "created"},
            "contexts": {name: value for manifest in reversed(manifests) for name, value in manifest.contexts.items()},
        }
    )
