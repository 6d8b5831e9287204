"""Several runs as one: the union of their judges and items, as if it had been made in one go."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from itertools import islice, pairwise
from pathlib import Path

import numpy as np

from summeter.data.atomic import building, check_folder
from summeter.data.dataset import Dataset, concatenate
from summeter.data.folder import Card
from summeter.engine.derive import derive
from summeter.engine.plan import ItemOrder, data_entry
from summeter.engine.runs import Run, derived_jobs, finish
from summeter.records import InputError, Judgment, UsageError, whole_lines
from summeter.runs.calls import CallStore
from summeter.runs.journal import Journal
from summeter.runs.manifest import DataEntry, JudgeEntry, Manifest, RunStatus
from summeter.runs.progress import PROGRESS, ProgressTable
from summeter.runs.results import RESULTS, ResultStore
from summeter.runs.run import CALLS, FAILURES, RunFolder, prepared_rows
from summeter.runs.usage import Usage
from summeter.stats.base import Bools, Ints

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

    Each judge has the items of all runs. An item that two runs have, by one signature, counts once: judgments without a
    failure go before failed ones. Derived judges are computed again from the joined judgments of their members, since a
    threshold may rest on all items; where a cascade then asks a member for more items, the merged run is "interrupted",
    and resuming it judges them. Stored calls and results, prepared rows and failures are joined. The folder is there
    when all of it is, or not at all.

    Raises UsageError for fewer than two runs or one given twice, where the folder exists, and for runs over data that
    only partly agree; InputError where a run is damaged, and where two runs have judged an item otherwise, by name.
    """
    runs = [RunFolder(folder) for folder in folders]
    target = Path(out)
    if len(runs) < 2:
        raise UsageError("a merge needs at least 2 runs")
    places = set[Path]()
    for run in runs:
        if (place := run.folder.resolve()) in places:
            raise UsageError(f"{run.folder} is given twice, and what it took would count twice; give each run once")
        places.add(place)
    check_folder(target)
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
                own = _Judge(judge, by_judge[judge.signature])
                own.write(fresh)
                for folder, calls in own.replaced.items():
                    replaced.setdefault(folder, set()).update(calls)
        failed = dict.fromkeys(line for run in runs for line in whole_lines(run.folder / FAILURES))
        if failed:
            (fresh / FAILURES).write_bytes(b"".join(failed))
        # Of two replies to one call the first run's is kept, but for those that are `replaced`.
        for kind, name in ((CallStore, CALLS), (ResultStore, RESULTS)):
            if files := [run.folder / name for run in runs if (run.folder / name).is_file()]:
                with kind(fresh / name) as store:
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
        journal.sort_files(judges, ItemOrder(data))
        manifest = _manifest(runs, judges, entry)
        journal.manifest(manifest)
        finish(Run(fresh, data=data), journal, manifest, status)


def _data(fresh: Path, runs: Sequence[RunFolder]) -> tuple[Dataset, DataEntry]:
    """The data of all runs, written to the new one: those of the first where all are the same, else all together."""
    first = runs[0].manifest.data
    if all(run.manifest.data.hash == first.hash for run in runs):
        data = runs[0].data
        shutil.copytree(runs[0].folder / "data", fresh / "data")
        return data, first
    parts = list({run.manifest.data.hash: run for run in runs}.values())
    known: dict[str, RunFolder] = {}
    cards: list[Card] = []
    for run in parts:
        part = RunFolder(run.folder).data  # not `run.data`, which stays in memory with the run
        for name in part.documents:
            if name in known:
                raise UsageError(
                    f"{known[name].folder} and {run.folder} are over different data that both have the document "
                    f"{name!r}: runs are merged over the same data, or over parts without a document in common"
                )
            known[name] = run
        cards.append(part.card)
        if part.card.splitter != cards[0].splitter:
            raise UsageError(
                f"{parts[0].folder} and {run.folder} split documents otherwise; they are not parts of one data set"
            )
        del part
    card = cards[0].model_copy(update={"counts": {}, "files": {}, "hash": ""})
    data = concatenate([run.folder / "data" for run in parts], fresh / "data", card)
    return data, data_entry(data)


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
        """Raises InputError where the judgments of a run are damaged; UsageError for a derived judge if no run has
        all its items: its judgments rest on all items of a run."""
        self.judge, self.runs = judge, runs
        self.files = [run.file_of(judge) for run in runs]
        tables, self._starts = [], list[Ints]()
        for run in runs:
            confirmed = run.confirmed()[judge.signature]
            if confirmed.places is None:
                message = "its items do not stand in order; give the command that made the run again first"
                raise InputError.at(confirmed.file, None, None, message)
            tables.append(confirmed.items)
            self._starts.append(confirmed.places.starts)
        self.items = ProgressTable.concat(tables)
        if judge.members and max(map(len, tables)) < len(np.unique(self.items.keys())):
            raise UsageError(
                f"{judge.name} judged different items in {' and '.join(str(run.folder) for run in runs)}, and its "
                "judgments rest on all items of a run; the catalog has no evaluator of this name with its settings and "
                "version, so it cannot be computed again. Install the package that defines it"
            )
        self._bounds = np.cumsum([0, *map(len, tables)])  # the rows of each run
        self.replaced: dict[Path, set[str]] = {}
        """By run, the keys of calls behind judgments that take the place of failed ones of an earlier run."""

    def write(self, fresh: Path) -> None:
        """Write the judgments, the lines of progress and the prepared rows into the new run."""
        kept = self._kept()
        judgments = fresh / "judgments" / f"{self.judge.file}.jsonl"
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
        self._write_prepared(fresh)

    def _kept(self) -> Bools:
        """Which rows of `items` the new run has: one for each item. UsageError where two of them contradict."""
        _, first, item = np.unique(self.items.keys(), return_index=True, return_inverse=True)
        differs = np.zeros(len(first), np.bool_)
        differs[item[self.items.checksum != self.items.checksum[first[item]]]] = True
        texts = self._texts(np.flatnonzero(differs[item]))
        chosen = first.copy()
        for row in texts:
            best = int(chosen[item[row]])
            if self.items.checksum[row] != self.items.checksum[best] and self._goes_before(row, best, texts):
                chosen[item[row]] = row
        kept = np.zeros(len(item), np.bool_)
        kept[chosen] = True
        return kept

    def _texts(self, rows: Ints) -> dict[int, bytes]:
        """The lines of some rows. One file is open at a time: there may be more runs than files may be open."""
        texts = {}
        for file, starts, (first, end) in zip(self.files, self._starts, pairwise(self._bounds.tolist()), strict=True):
            own = rows[slice(*rows.searchsorted([first, end]))].tolist()
            if own and file.exists():
                with file.open("rb") as stream:
                    for row in own:
                        start, after = starts[row - first : row - first + 2].tolist()
                        stream.seek(start)
                        texts[row] = stream.read(after - start)
            else:
                texts |= dict.fromkeys(own, b"")
        return texts

    def _goes_before(self, row: int, best: int, texts: Mapping[int, bytes]) -> bool:
        """Whether the judgments of `row` take the place of those of `best`, which an earlier run has of the same item:
        those with fewer failed judgments do. UsageError where two usable answers to one question differ."""
        new, old = ([Judgment.model_validate_json(line) for line in texts[each].splitlines()] for each in (row, best))
        failed = [sum(judgment.status != "ok" for judgment in judgments) for judgments in (new, old)]
        answers = {judgment.key: (judgment.value, judgment.label) for judgment in old if judgment.status == "ok"}
        differ = not any(failed) or any(
            judgment.key in answers and answers[judgment.key] != (judgment.value, judgment.label)
            for judgment in new
            if judgment.status == "ok"
        )
        if differ:
            document, system, rival = self.items.item(row)
            beside = f" beside {rival!r}" if rival is not None else ""
            raise UsageError(
                f"{self.runs[self._run(best)].folder} and {self.runs[self._run(row)].folder} contradict each other: "
                f"{self.judge.signature} judged document {document!r}, system {system!r}{beside}, otherwise in each; "
                "leave one of the runs out"
            )
        if failed[0] >= failed[1]:
            return False
        calls = {key for judgment in new for key in judgment.calls}
        self.replaced.setdefault(self.runs[self._run(row)].folder, set()).update(calls)
        return True

    def _run(self, row: int) -> int:
        return int(np.searchsorted(self._bounds, row, side="right")) - 1

    def _write_prepared(self, fresh: Path) -> None:
        """Each prepared row once, failed ones first: of two rows of a document a resumed run takes the later one."""
        seen: set[tuple[str, str]] = set()
        file = fresh / "prepared" / f"{self.judge.file}.jsonl"
        for ok in (False, True):
            for run in self.runs:
                source = run.folder / "prepared" / f"{self.judge.file}.jsonl"
                with closing(whole_lines(source)) as lines:
                    for line, (_, row) in zip(lines, prepared_rows(source), strict=True):
                        if (row["status"] == "ok") == ok and (key := (row["document_id"], row["id"])) not in seen:
                            seen.add(key)
                            with file.open("ab") as target:
                                target.write(line)


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


def _together(taken: Iterable[Mapping[str, Usage]]) -> dict[str, Usage]:
    """What was taken under each name, added up."""
    totals: dict[str, Usage] = defaultdict(Usage)
    for each in taken:
        for name, more in each.items():
            totals[name] += more
    return dict(totals)
