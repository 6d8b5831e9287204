"""Inputs of studies: a run, a dataset or judgments, read as a table with a context."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count, pairwise, product
from pathlib import Path
from typing import Any, cast
from weakref import WeakKeyDictionary

import numpy as np

from summeter.choices import Level, ValueOrLabel
from summeter.data.dataset import Dataset
from summeter.data.differences import differences, record_hashes
from summeter.data.human import RAW
from summeter.meta.results import Study, named
from summeter.meta.sample import Context, Rater, Sample, composite_sample, sample_of
from summeter.records import JudgeKey, Judgment, Parameter, UsageError, judge_names, nearest
from summeter.runs.run import RunFolder
from summeter.runs.totals import without
from summeter.scoring.scores import COMPOSITE, Composite, composite_rule
from summeter.scoring.table import Groups, JudgmentTable, Question, model_names
from summeter.stats.base import Ints

Gold = Dataset | JudgmentTable | Iterable[Judgment]
"""Human judgments: a dataset that has them, or one judgment set."""


Item = tuple[str | None, str | None]
"""A summary (document, system) or, if the system is None, a document."""


@dataclass(frozen=True)
class JudgeInput:
    """The judgments of one or several runs and the context of the data.

    `reduce` maps the signature of each judge to the reduction of judgments to scores. `folders` are the runs, by name
    if there are several; `runs` maps the names of several runs (the last parts of their paths) to row numbers. If their
    data differ, `common` contains the documents and summaries that all have, and `notes` says so.
    """

    table: JudgmentTable
    reduce: Mapping[str, str] = field(default_factory=dict)
    context: Context = field(default_factory=Context)
    folders: Mapping[str | None, RunFolder] = field(default_factory=dict)
    runs: Mapping[str, Ints] = field(default_factory=dict)
    common: frozenset[Item] | None = None
    notes: tuple[str, ...] = ()

    @cached_property
    def rows(self) -> dict[Question, Ints]:
        """Row numbers of each question (judge, signature, aspect and, with several runs, run)."""
        if not self.runs:
            return self.table.questions()
        return {
            question._replace(run=name): rows[places]
            for name, rows in self.runs.items()
            for question, places in self.table.take(rows).questions().items()
        }

    @cached_property
    def composites(self) -> dict[Question, Composite]:
        """Composites that can be computed from the scores of one run, by question."""
        return {
            composite.question: composite
            for run in self.runs or [None]
            for composite in composite_rule(question for question in self.rows if question.run == run)
        }

    @property
    def data(self) -> Dataset | None:
        """The data of the (first) run, or None for judgments without a run."""
        return next((run.data for run in self.folders.values()), None)

    def questions(self, aspects: Collection[str] = (), judge: str | None = None) -> list[Question]:
        """Return the questions, including composites.

        If aspects or a judge (a name or a signature) are given, only questions with them are returned. Raises
        UsageError for an unknown judge.
        """
        every = (*self.rows, *self.composites)
        found = [question for question in every if judge in (None, question.judge, question.signature)]
        if judge is not None and not found:
            known = list(dict.fromkeys(question.judge for question in every))
            choice = f"choose from: {', '.join(known)}" if known else "there are no judgments"
            raise UsageError(f"unknown judge {judge!r}{nearest(judge, known)}; {choice}")
        return [question for question in found if not aspects or question.aspect in aspects]

    def fields(self, question: Question) -> dict[str, Any]:
        """Return the judge, signature, model, aspect and run of a question as fields of a `Row`."""
        judge, signature, aspect, run = question
        return named(Rater(judge, signature, model_names(self.table.take(self.rows[question]).model), aspect, run))

    def scores(self, question: Question, level: Level, use: ValueOrLabel = ValueOrLabel.VALUE) -> Sample:
        """Return one judge's values at a level.

        A composite is the mean of the scores of its three aspects.
        """
        if (composite := self.composites.get(question)) is not None:
            parts = [self.table.take(self.rows[part]) for questions in composite.parts.values() for part in questions]
            return composite_sample(parts, composite, self.reduce)
        return sample_of(self.table.take(self.rows[question]), question, level, self.reduce, use)


OneRun = RunFolder | str | Path | JudgeInput | JudgmentTable | Iterable[Judgment]
"""Judgments of judges: a run or its folder, or judgments without a run."""

RunLike = OneRun | Sequence[OneRun]
"""The judgments of one run, or of several runs over the same data, whose judges are studied together."""


_TEXT = ("text", "sentences")
LARGEST = 1e100
"""Largest score that studies accept. Squares and sums of larger scores overflow."""


class TooLargeError(UsageError):
    """Raised if the absolute value of a score is above `LARGEST`."""


def judge_input(run: RunLike) -> JudgeInput:
    """Return one or several runs, a table or judgments as `JudgeInput`.

    Judgments without a run have an empty context, and the scores computed from them are shares of labels. The judges of
    several runs are kept apart, also if two runs have the same judge. If the data of the runs differ, only the
    summaries that all runs have are used, and a note says so. Raises UsageError if a score is beyond `LARGEST`, if a
    run is given twice, or if a document or summary differs between the runs.
    """
    if isinstance(run, JudgeInput):
        return run
    if isinstance(run, str | Path):
        run = RunFolder(run)
    if isinstance(run, RunFolder):
        table, context = _table(without(run.table(), run.partial)), Context.lazy(lambda: context_of(run.data))
        return JudgeInput(table, run.reduce, context, {None: run})
    if isinstance(run, JudgmentTable):
        return JudgeInput(_table(run))
    several = list(run)
    if several and not isinstance(several[0], Judgment):
        return _join([judge_input(each) for each in cast("list[OneRun]", several)])
    return JudgeInput(_table(cast("list[Judgment]", several)))


def _join(inputs: Sequence[JudgeInput]) -> JudgeInput:
    if len(inputs) == 1:
        return inputs[0]
    folders = [next(iter(each.folders.values()), None) for each in inputs]
    paths = [None if run is None else run.folder.resolve() for run in folders]
    for run, path in zip(folders, paths, strict=True):
        if run is not None and paths.count(path) > 1:
            raise UsageError(f"{run.folder} is given twice")
    names = run_names(paths)
    runs = {name: run for name, run in zip(names, folders, strict=True) if run is not None}
    common, notes = None, tuple[str, ...]()
    if len({run.manifest.data.hash for run in runs.values()}) > 1:
        common, notes = _common_items({name: run.data for name, run in runs.items()})
    tables = [restricted(each.table, common) for each in inputs]
    ends = np.cumsum([0, *map(len, tables)])
    return JudgeInput(
        JudgmentTable.concat(tables),
        {name: how for each in inputs for name, how in each.reduce.items()},
        inputs[0].context,
        dict(runs.items()),
        {name: np.arange(start, end) for name, (start, end) in zip(names, pairwise(ends.tolist()), strict=True)},
        common,
        notes,
    )


def run_names(folders: Sequence[Path | None]) -> list[str]:
    """Return distinct names of different folders: the last parts of their paths, as many as are needed.

    >>> run_names([Path("may/a/run"), Path("may/b/run"), None])
    ['a/run', 'b/run', 'run 3']
    """
    several = (
        [f"run {number}" if path is None else "/".join(path.parts[-size:]) for number, path in enumerate(folders, 1)]
        for size in count(1)
    )
    return next(names for names in several if len(set(names)) == len(names))


def _common_items(several: Mapping[str, Dataset]) -> tuple[frozenset[Item], tuple[str, ...]]:
    """Return the documents and summaries that all datasets have, and a note on the others.

    Raises UsageError if a text or its sentences differ, or if no summary is in all datasets.
    """
    name, *others = several
    hashes = [dict(record_hashes(data)) for data in several.values()]
    common = frozenset[tuple[str, ...]].intersection(*map(frozenset, hashes))
    notes = []
    for other, of_other in zip(others, hashes[1:], strict=True):
        differ = differences(several[name], several[other], (f"only in {name}", f"only in {other}"))
        if any(of_other[key].get(field) != hashes[0][key].get(field) for key in common for field in _TEXT):
            raise UsageError(f"{name} and {other} judged different texts ({differ}); study their judges separately")
        notes.append(differ)
    size = sum(len(key) > 1 for key in common)
    if not size:
        raise UsageError(f"{name} and {', '.join(others)} have no summaries in common ({'; '.join(notes)})")
    note = f"the runs judged different data ({'; '.join(notes)}): studied on the {size} summaries that all have"
    return frozenset((key[0], key[1] if len(key) > 1 else None) for key in common), (note,)


def restricted(table: JudgmentTable, items: frozenset[Item] | None) -> JudgmentTable:
    """Return the judgments of the given documents and summaries (None for all)."""
    if items is None:
        return table
    columns = table.document, table.system, table.rival
    targets = Groups.by(*columns)
    names = zip(*(column.take(targets.first).labels() for column in columns), strict=True)
    kept = [(document, system) in items and (document, rival) in items for document, system, rival in names]
    return table.take(np.array(kept, np.bool_)[targets.of])


def run_notes(run: RunLike, study: Study, selected: Sequence[str] = (), judge: str | None = None) -> list[str]:
    """Return notes on the data of several runs, and on the judges without scores on the aspects of a study.

    The aspects are those on which the study compares judges of the run with people, and the `selected` ones. If `judge`
    is given (a name or a signature), only this judge counts.
    """
    folders = {None: run} if isinstance(run, RunFolder) else run.folders if isinstance(run, JudgeInput) else {}
    aspects: dict[JudgeKey, set[str]] = {
        JudgeKey(each.name, each.signature, each.model, name): set(each.aspects)
        for name, folder in folders.items()
        for each in folder.manifest.judges
        if not each.partial and not each.prepares_only
    }
    if isinstance(run, JudgeInput) and not folders:
        for question in run.rows:
            key = JudgeKey(question.judge, question.signature, None, question.run)
            aspects.setdefault(key, set()).add(question.aspect)
    names, signatures = judge_names(aspects), {key.signature for key in aspects}
    studied: dict[str, set[tuple[str, str | None]]] = {}
    levels: dict[str, str | None] = {}
    for row in study:
        parts = re.split(r" \+ | vs ", row.signature or "")
        aspect = row.gold_aspect if row.gold_signature not in signatures else None
        aspect = aspect or (row.aspect if row.aspect in selected else None)
        if aspect not in (None, COMPOSITE) and signatures.intersection(parts):
            runs = str(row.details["run"]).split(" + ") if "run" in row.details else [None]
            studied.setdefault(aspect, set()).update(product(parts, runs))
            levels.setdefault(aspect, row.level)
    lacking: dict[tuple[tuple[str, ...], str], list[str]] = {}
    for aspect, used in studied.items():
        for level in (None, levels[aspect]):
            left_out = tuple(
                names[key]
                for key, judged in aspects.items()
                if judge in (None, key.judge, key.signature) and (key.signature, key.run) not in used
                if (aspect in judged) == (level is not None)
            )
            if left_out:
                at = "" if level is None else f" at the level {level}"
                lacking.setdefault((left_out, at), []).append(aspect)
    return [
        *(run.notes if isinstance(run, JudgeInput) else ()),
        *(
            f"{folder.folder} is {folder.manifest.status}, not complete: summaries that it has not judged are left out"
            for folder in folders.values()
            if folder.manifest.status != "complete"
        ),
        *(
            f"{', '.join(judges)} did not judge {', '.join(of_judges)}{at}: left out"
            for (judges, at), of_judges in lacking.items()
        ),
    ]


def gold_notes(gold: object, judgment_set: str | None) -> list[str]:
    """Return a note if a study of individual votes leaves out the adjudicated labels of the data."""
    if judgment_set == RAW and isinstance(gold, Dataset) and "human.adjudicated" in gold.judgment_sets:
        return [f"people are the votes in {RAW}, without the adjudicated labels; judgment set human.merged has them"]
    return []


def gold_input(gold: Gold, name: str = RAW) -> tuple[JudgmentTable, Context]:
    """Return the judgment set `name` of a dataset, or judgments, as a table with a context.

    Signatures name the set unless it is that of the individual votes. The context of judgments without a dataset is
    empty. Raises UsageError if a score is beyond `LARGEST`.
    """
    if isinstance(gold, Dataset):
        if name == RAW and RAW not in gold.judgment_sets:
            others = f" in {RAW}; the judgment sets are: {', '.join(gold.judgment_sets)}" if gold.judgment_sets else ""
            what = f"the data have no human judgments{others}; give data that have them with "
            raise UsageError(what, Parameter("gold", "DATA"), ", or ratings with ", Parameter("ratings", "FILE"))
        table = _table(gold.iter_judgments(name))
        if name != RAW:
            parts = ((each or "").partition("|") for each in table.signature.names)
            names = tuple(f"{head}|set:{name}{bar}{rest}" for head, bar, rest in parts)
            table = replace(table, signature=table.signature._replace(names=names))
        return table, context_of(gold)
    return _table(gold), Context()


def _table(judgments: JudgmentTable | Iterable[Judgment]) -> JudgmentTable:
    table = JudgmentTable.of(judgments)
    large = table.take(np.abs(table.value) > LARGEST)
    if len(large):
        aspect, document, system = (column.labels()[0] for column in (large.aspect, large.document, large.system))
        raise TooLargeError(
            f"{aspect} of {document} by {system} is {large.value[0]:g}; "
            f"scores must be between {-LARGEST:g} and {LARGEST:g}"
        )
    return table


_CONTEXTS: WeakKeyDictionary[Dataset, Context] = WeakKeyDictionary()


def context_of(data: Dataset) -> Context:
    """Return the domains, categories and extra columns of a dataset, which is read once."""
    if data not in _CONTEXTS:
        _CONTEXTS[data] = Context.of(data.documents.values(), data.summaries)
    return _CONTEXTS[data]
