"""Compare two runs, such as yesterday's and today's: what changed in the texts, judges, means and verdicts.

Pairing and tests are in `pairing`. A verdict is the label of a unit (a sentence, key fact, claim or summary). Verdicts
of both runs are compared if they concern the same unit: a key fact of the same list, or a sentence with the same text.
A sentence that only one of two summaries has is compared with nothing; its error is new or gone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from summeter.meta._compare import pair_sentence
from summeter.meta.inputs import run_names
from summeter.meta.options import By, CommandLine, study
from summeter.meta.pairing import CHANGED, ONLY_A, ONLY_B, SAME, STUDY, TEXTS, A, B, Pairing, Text, difference_rows
from summeter.meta.results import Row, Study, judge_labels
from summeter.meta.selection import group_label
from summeter.meta.verdicts import FEW, decision_words, listed
from summeter.meta.verdicts import SAME as SAME_VALUE
from summeter.pages.numbers import count
from summeter.records import (
    Judgment,
    KeyFacts,
    Message,
    Parameter,
    Phrase,
    Record,
    Span,
    Status,
    Summary,
    Unit,
    UsageError,
    names_no_error,
)  # fmt: skip
from summeter.runs.readers import RunReader, key_fact_lists
from summeter.runs.run import RunFolder
from summeter.runs.totals import without
from summeter.scoring.scores import COMPOSITE
from summeter.scoring.systems import NEUTRAL, leading_column
from summeter.scoring.table import Categorical, Groups, JudgmentTable, row_keys
from summeter.stats import MIN_DOCUMENTS
from summeter.stats.base import Bools, Floats, Ints
from summeter.tables import Table, interval, number, p_value, plain

Kind = Literal["flip", "new_error", "failure", "error_type", "gone_error", "recovered", "score"]
KINDS: tuple[Kind, ...] = ("flip", "new_error", "failure", "error_type", "gone_error", "recovered", "score")
FLIP, NEW_ERROR, FAILURE, ERROR_TYPE, GONE_ERROR, RECOVERED, SCORE = range(len(KINDS))
_CHUNK = 1000
"""Number of changed items whose texts are in memory at once."""


class VersionsOptions(By):
    """The options of `compare_runs`."""

    pair_systems: Annotated[Mapping[str, str] | None, CommandLine(metavar="OLD=NEW")] = Field(
        None, description="Pair a system of the first run with another of the second. Default: equal names. Repeatable."
    )
    judge: str | None = Field(None, description="Compare the scores of only this judge (name or signature).")
    aspect: str | None = Field(None, description="Compare only this aspect.")
    alpha: float = Field(
        0.05, gt=0, lt=1, description="Significance level after correction; intervals have confidence 1 - alpha."
    )
    permutations: int = Field(10_000, ge=1, description="Number of permutations of the test.")
    seed: int | None = Field(None, description="Random seed; default: the seed of the second run.")


class RunVerdict(Record):
    """What a judge of one run said about a unit, or the score that it gave to a summary."""

    label: int | str | None = None
    value: float | None = None
    error_type: str | None = None
    status: Status = "ok"
    reason: str | None = None
    evidence: tuple[Span, ...] = ()


class Change(Record):
    """A change of a verdict or a score.

    `kind` is "flip" (another label), "error_type" (another type of error), "new_error" and "gone_error" (in a sentence
    or claim that only one of the summaries has), "failure" (judged in the first run only), "recovered" (judged in the
    second only) or "score" (another score of the summary). `index` is that of the unit in the second run, or in the
    first if only that has the unit, and `text` the text of a sentence, key fact or claim.
    """

    kind: Kind
    judge: str
    aspect: str
    unit: Unit
    index: int | None = None
    text: str | None = None
    old: RunVerdict | None = None
    new: RunVerdict | None = None


class ChangedItem(Record):
    """A summary that changed, or that only one run has.

    `system` is the name in the second run, or in the first if only that has the summary, and `old_system` the name in
    the first run. `text` compares the summaries, whose texts are `old` and `new` (None if a run does not have it). If
    the documents differ (`document_changed`), nothing else is compared.
    """

    doc_id: str
    system: str
    old_system: str | None
    text: Text
    document_changed: bool = False
    old: str | None = None
    new: str | None = None
    changes: tuple[Change, ...] = ()

    @property
    def flips(self) -> int:
        """The number of changed labels."""
        return sum(change.kind == "flip" for change in self.changes)


@dataclass(frozen=True)
class Changes:
    """The changes of verdicts and scores as columns, one row per change, sorted by item.

    `item` is the number of the item in the pairing, and `kind` the index in `KINDS`. `a` and `b` are row numbers in
    `tables`, the judgments of the two runs, or -1 if a run has no judgment of the unit. For a change of a score, `a` is
    the number of the `PairedScores`, `b` the position in it, and `share` the change as a share of the range of these
    scores (0 for other changes). `compared` is the number of labels that could be compared.
    """

    item: Ints
    kind: Ints
    a: Ints
    b: Ints
    share: Floats
    tables: tuple[JudgmentTable, JudgmentTable]
    compared: int

    @classmethod
    def of(cls, pairing: Pairing) -> Changes:
        """Compute the changes of two runs, from tables of judgments."""
        tables, items, keys, groups = _aligned(pairing)
        (first, second), (old_item, new_item) = tables, items
        _, both_a, both_b = np.intersect1d(*keys, return_indices=True)
        ok_a, ok_b = (table.status.equal("ok") for table in tables)
        wrong_a, wrong_b = (_is_error(table) for table in tables)
        found: list[tuple[int, Ints, Ints]] = []

        def add(kind: int, rows: Bools, a: Ints, b: Ints) -> None:
            found.append((kind, a[rows], b[rows]))

        # Units that both runs judged
        named = Categorical.concat([first.named.take(both_a), second.named.take(both_b)]).codes
        types = Categorical.concat([first.error_type.take(both_a), second.error_type.take(both_b)]).codes
        size = len(both_a)
        labels = first.label[both_a], second.label[both_b]
        equal = (labels[0] == labels[1]) | (np.isnan(labels[0]) & np.isnan(labels[1]))
        both_ok, decided = ok_a[both_a] & ok_b[both_b], _decided(first)[both_a] & _decided(second)[both_b]
        flips = both_ok & decided & ~(equal & (named[:size] == named[size:]))
        add(FLIP, flips, both_a, both_b)
        add(ERROR_TYPE, both_ok & ~flips & wrong_b[both_b] & (types[:size] != types[size:]), both_a, both_b)
        add(FAILURE, ok_a[both_a] & ~ok_b[both_b], both_a, both_b)
        add(RECOVERED, ~ok_a[both_a] & ok_b[both_b], both_a, both_b)
        # Units of one run only, in items that the same judge judged in the other run
        only_a = np.setdiff1d(np.arange(len(first)), both_a)
        only_b = np.setdiff1d(np.arange(len(second)), both_b)
        in_b = np.isin(groups[0][only_a], groups[1][ok_b])
        in_a = np.isin(groups[1][only_b], groups[0][ok_a])
        none_a, none_b = np.full(len(only_b), -1), np.full(len(only_a), -1)
        # Key facts of different lists are neither new nor gone.
        wrong_a, wrong_b = (
            wrong & ~table.unit.equal("key_fact") for wrong, table in zip((wrong_a, wrong_b), tables, strict=True)
        )
        add(GONE_ERROR, in_b & wrong_a[only_a], only_a, none_b)
        add(RECOVERED, in_b & ~ok_a[only_a] & first.unit.equal("summary")[only_a], only_a, none_b)
        add(NEW_ERROR, in_a & wrong_b[only_b], none_a, only_b)
        add(FAILURE, in_a & ~ok_b[only_b], none_a, only_b)
        kinds = [np.full(len(a), kind) for kind, a, _ in found]
        at_a, at_b = (np.concatenate([each[side] for each in found]) for side in (1, 2))
        # The number -1 is that of the last element.
        item = np.where(at_a >= 0, np.append(old_item, -1)[at_a], np.append(new_item, -1)[at_b])
        scored, no_share = _score_changes(pairing), np.zeros(len(item))
        kind = np.concatenate([*kinds, np.full(len(scored[0]), SCORE)])
        item, at_a, at_b, share = (
            np.concatenate(each) for each in zip((item, at_a, at_b, no_share), scored, strict=True)
        )
        order = np.lexsort((kind, item))
        compared = int((both_ok & decided).sum())
        return cls(item[order], kind[order], at_a[order], at_b[order], share[order], tables, compared)

    def __len__(self) -> int:
        return len(self.item)

    def of_item(self, item: int) -> Ints:
        """Return the rows of an item."""
        return np.arange(*np.searchsorted(self.item, (item, item + 1)))

    def order(self, pairing: Pairing) -> Ints:
        """Return the numbers of the items that changed, the largest changes first (see `Versions.items`)."""
        size = len(pairing)
        flips = np.bincount(self.item[self.kind == FLIP], minlength=size)
        worse = np.bincount(self.item[(self.kind == NEW_ERROR) | (self.kind == FAILURE)], minlength=size)
        largest, some = np.zeros(size), np.bincount(self.item, minlength=size) > 0
        np.maximum.at(largest, self.item, np.abs(self.share))
        changed = np.flatnonzero(some | (pairing.text != SAME) | pairing.moved)
        last = ~pairing.paired[changed]
        return changed[np.lexsort((changed, -largest[changed], -worse[changed], -flips[changed], last))]


_Tables = tuple[JudgmentTable, JudgmentTable]
_Two = tuple[Ints, Ints]


def _aligned(pairing: Pairing) -> tuple[_Tables, _Two, _Two, _Two]:
    """Return the judgments of both runs on paired summaries by paired judges, and three integers for each judgment.

    The integers are the item, a key of the unit (equal for judgments of the same unit in both runs), and a key of item,
    judge and aspect.
    """
    paired = [(number, judges[:2]) for number, judges in enumerate(pairing.judges) if None not in judges[:2]]
    number_of = [{key[:2]: number for number, keys in paired if (key := keys[side])} for side in (0, 1)]
    tables, items, judges = [], [], []
    for side, (name, run) in enumerate(((A, pairing.a), (B, pairing.b))):
        table = without(run.table(), run.partial)
        item = pairing.items_of(name, table.document, table.system)
        asked = Groups.by(table.judge, table.signature)
        keys = zip(table.judge.take(asked.first).labels(), table.signature.take(asked.first).labels(), strict=True)
        judge = np.array([number_of[side].get(key, -1) for key in keys], np.int64)[asked.of]
        kept = (item >= 0) & (judge >= 0) & table.rival.equal(None)
        tables.append(table.take(kept))
        items.append(item[kept])
        judges.append(judge[kept])
    first, second = tables
    index = second.index.copy()
    starts, sizes, numbers = _same_sentences(pairing)
    moved = second.unit.equal("sentence") & (index >= 0) & (index < sizes[items[1]])
    index[moved] = numbers[starts[items[1][moved]] + index[moved]]
    joined, ends = JudgmentTable.concat(tables), [len(first)]
    columns = np.concatenate(items), np.concatenate(judges), joined.aspect
    # The index of a sentence is that in the summary, whatever the list of key facts.
    lists = np.where(joined.unit.equal("sentence"), -1, joined.list_id.codes) + 1
    units = row_keys(*columns, joined.unit, lists, np.concatenate([first.index, index]) + 1)
    of_unit, of_judge = (np.split(keys, ends) for keys in (units, row_keys(*columns)))
    return (first, second), (items[0], items[1]), (of_unit[0], of_unit[1]), (of_judge[0], of_judge[1])


def _same_sentences(pairing: Pairing) -> tuple[Ints, Ints, Ints]:
    """Return, for the items whose sentences differ, the number of each new sentence among the old ones.

    Sentences with the same text have the same number; other new sentences have numbers above those of the old ones. The
    first two arrays have the start of each item in the third array, and the number of its sentences, or 0.
    """
    starts, sizes = np.zeros((2, len(pairing)), np.int64)
    items = np.flatnonzero(pairing.paired & pairing.resplit)
    keys = list(zip(pairing.document.take(items).labels(), pairing.pair[items].tolist(), strict=True))
    wanted = {doc_id for doc_id, _ in keys}
    sentences: list[dict[tuple[str, str], list[int]]] = []
    for run in (pairing.a, pairing.b):
        data = run.data.with_documents(wanted) if wanted else None
        found = {} if data is None else {
            (each.document_id, each.system): [hash(text) for text in each.sentence_texts] for each in data.summaries
        }  # fmt: skip
        sentences.append(found)
    numbers: list[int] = []
    for item, (doc_id, pair) in zip(items.tolist(), keys, strict=True):
        old, new = (found[doc_id, name or ""] for found, name in zip(sentences, pairing.systems[pair], strict=True))
        places: dict[int, list[int]] = {}
        for place in reversed(range(len(old))):
            places.setdefault(old[place], []).append(place)
        starts[item], sizes[item] = len(numbers), len(new)
        numbers += [same.pop() if (same := places.get(text)) else len(old) + at for at, text in enumerate(new)]
    return starts, sizes, np.array(numbers, np.int64)


def _decided(table: JudgmentTable) -> Bools:
    """Return the mask of the judgments with a label."""
    return ~np.isnan(table.label) | ~table.named.equal(None)


def _is_error(table: JudgmentTable) -> Bools:
    """Return the mask of the judgments whose label is 0 or the name of an error."""
    errors = np.array([name is not None and not names_no_error(name) for name in table.named.names], np.bool_)
    return np.asarray((table.label == 0) | errors[table.named.codes])


def _score_changes(pairing: Pairing) -> tuple[Ints, Ints, Ints, Floats]:
    """Return the item, number of the scores, position in them and share of their range of each changed score.

    Composites are left out, because they repeat other scores.
    """
    none = np.zeros(0, np.int64)
    items, numbers, places, shares = [none], [none], [none], [np.zeros(0)]
    for place, scores in enumerate(pairing.scores):
        if scores.second.aspect == COMPOSITE:
            continue
        gaps = scores.b - scores.a
        at = np.flatnonzero(np.abs(gaps) > SAME_VALUE)
        known = np.concatenate([scores.a, scores.b])
        items.append(scores.items[at])
        numbers.append(np.full(len(at), place))
        places.append(at)
        shares.append(gaps[at] / (np.nanmax(known) - np.nanmin(known)) if len(at) else np.zeros(0))
    return np.concatenate(items), np.concatenate(numbers), np.concatenate(places), np.concatenate(shares)


UnitKey = tuple[str, str, str, str, str | None, int]


def _unit(judgment: Judgment) -> UnitKey:
    target = judgment.target
    index = -1 if target.index is None else target.index
    return judgment.judge, judgment.signature, judgment.aspect, target.unit, target.list_id, index


def _unit_in_row(table: JudgmentTable, row: int) -> UnitKey:
    """Return `_unit` of the judgment in a row of a table."""
    columns = (table.judge, table.signature, table.aspect, table.unit, table.list_id)
    return (*(column.names[column.codes[row]] for column in columns), int(table.index[row]))


BETTER, WORSE, HIGHER, LOWER = "better", "worse", "higher", "lower"
UNCHANGED, UNDECIDED, FEW_DOCUMENTS, NOT_COMPARED = "unchanged", "not told apart", "too few documents", "not compared"


def outcome(row: Row) -> str:
    """Return the outcome of a row in a word or two, such as "better" or "not told apart"."""
    if row.value is None:
        return NOT_COMPARED
    if not row.details["changed"]:
        return UNCHANGED
    if row.details["units"] < MIN_DOCUMENTS:
        return FEW_DOCUMENTS
    if row.details["better"] is None:
        return UNDECIDED
    up, down = (HIGHER, LOWER) if row.aspect in NEUTRAL else (BETTER, WORSE)
    return up if row.details["better"] == B else down


def _signed(value: float | None) -> str:
    """Format a difference with its sign."""
    return f"{'+' if value is not None and value > SAME_VALUE else ''}{number(value)}"


class Versions(Study):
    """The comparison of two runs: rows of differences, a sentence, notes, and the items that changed.

    Iteration yields the rows of `difference_rows`. `print` shows the sentence, the table and the notes.
    """

    def __init__(self, pairing: Pairing, rows: Sequence[Row]) -> None:
        super().__init__(STUDY, rows)
        self.pairing = pairing
        self.notes = tuple(self._notes())

    @cached_property
    def names(self) -> tuple[str, str]:
        """The names of the two runs (see `run_names`), or "first" and "second" if both are the same."""
        a, b = (run.folder.resolve() for run in (self.pairing.a, self.pairing.b))
        first, second = ("first", "second") if a == b else run_names([a, b])
        return first, second

    @property
    def texts(self) -> dict[str, int]:
        """The number of summaries by what happened to their texts.

        Summaries of both runs are "same" or "changed", or "changed_document" if their documents differ. The others are
        "only_a" or "only_b".
        """
        text, moved = self.pairing.text, self.pairing.moved & (self.pairing.text <= CHANGED)
        counts: dict[str, int] = {TEXTS[at]: int(((text == at) & ~moved).sum()) for at in (SAME, CHANGED)}
        counts["changed_document"] = int(moved.sum())
        return counts | {TEXTS[at]: int((text == at).sum()) for at in (ONLY_A, ONLY_B)}

    @cached_property
    def changes(self) -> Changes:
        """All changes of verdicts and scores, as columns."""
        return Changes.of(self.pairing)

    def items(self, most: int | None = None) -> Iterator[ChangedItem]:
        """Yield the items that changed, with the evidence of both runs. Unchanged items are left out.

        Items are ordered by the number of changed labels, then of new errors and failures, then by the largest change
        of a score. Summaries that are not paired come last. `most` limits the number of items.
        """
        pairing, order = self.pairing, self.changes.order(self.pairing)[:most]
        ids, pairs = pairing.document.take(order).labels().tolist(), pairing.pair[order].tolist()
        readers = []
        for side, run in enumerate((pairing.a, pairing.b)):
            names_of = [pairing.systems[pair][side] or "" for pair in pairs]
            readers.append(RunReader(run, set(zip(ids, names_of, strict=True))))
        for start in range(0, len(order), _CHUNK):
            numbers = order[start : start + _CHUNK].tolist()
            wanted = set(ids[start : start + _CHUNK])
            data = [run.data.with_documents(wanted & run.data.documents.keys()) for run in (pairing.a, pairing.b)]
            summaries = [{(each.document_id, each.system): each for each in part.summaries} for part in data]
            facts = key_fact_lists(pairing.b, data[1].documents.values())
            for item, doc_id in zip(numbers, ids[start:], strict=False):
                names = pairing.systems[pairing.pair[item]]
                pair = tuple(of_run.get((doc_id, name or "")) for of_run, name in zip(summaries, names, strict=True))
                rows = self.changes.of_item(item).tolist()
                said = [
                    {_unit(each): each for each in reader.read(doc_id, name)} if rows and name is not None else {}
                    for reader, name in zip(readers, names, strict=True)
                ]
                old, new = (each and each.text for each in pair)
                yield ChangedItem(
                    doc_id=doc_id,
                    system=names[1] or names[0] or "",
                    old_system=names[0],
                    text=TEXTS[pairing.text[item]],
                    document_changed=bool(pairing.moved[item]),
                    old=old,
                    new=new,
                    changes=tuple(self._change(row, pair, said, facts) for row in rows),
                )

    def _change(
        self,
        row: int,
        summaries: Sequence[Summary | None],
        said: Sequence[Mapping[UnitKey, Judgment]],
        facts: Mapping[str, KeyFacts],
    ) -> Change:
        changes = self.changes
        kind, at = KINDS[changes.kind[row]], (int(changes.a[row]), int(changes.b[row]))
        if kind == "score":
            scores = self.pairing.scores[at[0]]
            old, new = (RunVerdict(value=float(of_run[at[1]])) for of_run in (scores.a, scores.b))
            judge, aspect = scores.second.judge, scores.second.aspect
            return Change(kind=kind, judge=judge, aspect=aspect, unit="summary", old=old, new=new)
        judged = [
            None if number < 0 else of_run[_unit_in_row(table, number)]
            for number, table, of_run in zip(at, changes.tables, said, strict=True)
        ]
        shown, summary = next(
            (each, of_run)
            for each, of_run in zip(judged[::-1], summaries[::-1], strict=True)
            if each is not None and of_run is not None
        )
        target, text, texts = shown.target, shown.claim and shown.claim.text, tuple[str, ...]()
        if target.unit == "sentence":
            texts = summary.sentence_texts
        elif target.list_id is not None and target.list_id in facts:
            texts = facts[target.list_id].texts
        if text is None and target.index is not None and target.index < len(texts):
            text = texts[target.index]
        verdicts = [
            each and RunVerdict.model_validate({name: getattr(each, name) for name in RunVerdict.model_fields})
            for each in judged
        ]
        return Change(
            kind=kind, judge=shown.judge, aspect=shown.aspect, unit=target.unit, index=target.index, text=text,
            old=verdicts[0], new=verdicts[1],
        )  # fmt: skip

    # ---- words ----

    @property
    def headline(self) -> list[Row]:
        """The row of each judge and aspect: that of all systems, or of the only system."""
        rows: dict[tuple[str | None, ...], Row] = {}
        for row in self.rows:
            if "by" not in row.details:
                rows.setdefault((row.judge, row.signature, row.aspect), row)
        return list(rows.values())

    @property
    def sentence(self) -> str:
        """The verdict in words: on which aspects the second run is better or worse than the first."""
        return " ".join(self.sentences)

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """The sentences of the verdict: one per judge, and one on systems that differ from what is said of all."""
        a, b = self.names
        pairing = self.pairing
        if all(row.value is None for row in self.rows):
            why = "no summary has a score by the same judge in both"
            if all(None in judges[:2] for judges in pairing.judges):
                why = "they have no judge in common"
            elif not pairing.paired.any():
                why = "they have no summary of the same document and system in common"
                if pairing.moved.any():
                    why = "the texts of all documents that they have in common changed"
            return (f"{b} and {a} cannot be compared: {why}.",)
        judged = all((np.isnan(each.a) == np.isnan(each.b)).all() for each in pairing.scores)
        alike = all(None not in judges[:2] and not judges.changes for judges in pairing.judges)
        if judged and alike and self.texts["same"] == len(pairing) and not len(self.changes):
            return (Phrase("Nothing changed: {a} and {b} have the same summaries, scores and verdicts.", a=a, b=b),)
        by_judge: dict[str | None, list[Row]] = {}
        whole = self.headline
        for row, label in zip(whole, judge_labels(whole), strict=True):
            if row.aspect not in NEUTRAL:
                by_judge.setdefault(label, []).append(row)
        said: list[str] = []
        for judge, rows in by_judge.items():
            changes, pattern = self._judge_changes(rows), "By {judge}, {claims}."
            if changes:
                pattern = "By {judge} (which is not the same in both: {changes}), {claims}."
            said.append(Phrase(pattern, judge=judge, changes=changes, claims=self._verdict(rows)))
        # Systems that differ from what is said of all systems
        of_all = {(row.judge, row.signature, row.aspect): row.details["better"] for row in whole}
        single = [
            row
            for row in self.rows
            if row.details["better"] not in {None, of_all[row.judge, row.signature, row.aspect]}
            and row.aspect not in NEUTRAL
            and "by" not in row.details
        ]
        if single:
            more = [f"{len(single) - FEW} more differences of single systems"] if len(single) > FEW else []
            clauses = [f"for {row.system}, {self.said(row)}" for row in single[:FEW]]
            said.append(f"Of single systems, {'; '.join([*clauses, *more])}.")
        return tuple(said) or (f"{b} and {a} have no scores for which higher is better.",)

    def _judge_changes(self, rows: Sequence[Row]) -> str:
        """Return how the judge of the rows differs between the runs, or an empty string."""
        # The signature of a composite contains those of its components.
        whole = {str(row.signature) for row in rows}
        signatures = whole | {part for each in whole for part in re.split(r"composite\(| \+ |\)$", each)}
        changes = [
            change
            for judges in self.pairing.judges
            if judges.b is not None and judges.b.signature in signatures
            for change in judges.changes
        ]
        return "; ".join(dict.fromkeys(changes))

    def _verdict(self, rows: Sequence[Row]) -> str:
        """Return the verdict of one judge, significant differences first."""
        claimed = [row for row in rows if row.details["better"]]
        equal = [row for row in rows if outcome(row) == UNCHANGED]
        rest = [row for row in rows if row.value is not None and row not in (*claimed, *equal)]
        clauses: list[str] = []
        if first := claimed or rest:
            clauses.append(self.said(first.pop(leading_column([str(row.aspect) for row in first]))))
        clauses += [
            Phrase(
                "better on {aspects}" if word == BETTER else "worse on {aspects}",
                aspects=_aspects(row for row in claimed if outcome(row) == word),
            )
            for word in dict.fromkeys(map(outcome, claimed))
        ]
        if rest:
            apart, nor = "they cannot be told apart on {aspects}", "nor can they be told apart on {aspects}"
            clauses.append(Phrase(apart if first is claimed else nor, aspects=_aspects(rest)))
        if equal:
            some = any(row.missing for row in equal)
            pattern = "{aspects} did not change where both runs have a score" if some else "{aspects} did not change"
            clauses.append(Phrase(pattern, aspects=_aspects(equal)))
        if not clauses:
            return Phrase("{b} and {a} cannot be compared", a=self.names[0], b=self.names[1])
        return Phrase.join("; ", clauses)

    def said(self, row: Row) -> str:
        """Return the verdict on one row in words."""
        return pair_sentence(row, dict(zip((A, B), self.names, strict=True)), subject=self.names[1])

    def _notes(self) -> Iterator[str]:
        """Yield what is the same and what is not: texts, judges, verdicts, errors, failures."""
        a, b = self.names
        for name, run in zip(self.names, (self.pairing.a, self.pairing.b), strict=True):
            if run.manifest.status != "complete":
                yield f"warning: {name} is {run.manifest.status}, so only what it has judged is compared"
        texts = self.texts
        compared = texts["same"] + texts["changed"]
        pattern = "{summaries} compared, all with the same text" if compared else "{summaries} compared"
        if texts["changed"]:
            pattern = "{summaries} compared, {n} with another text"
        yield Phrase(pattern, summaries=count(compared, "summary", "summaries"), n=texts["changed"])
        yield from self.pairing.unpaired(a, b)
        for name, side in ((a, 0), (b, 1)):
            alone = [str(pair[side]) for pair in self.pairing.systems if None in pair and pair[side] is not None]
            if alone:
                what = f"{listed(alone)} {'is' if len(alone) == 1 else 'are'} only in {name}"
                yield Message(f"{what}; to pair renamed systems, give ", Parameter("pair_systems", "OLD=NEW"))
        for judges in self.pairing.judges:
            if judges.changes:
                yield f"{judges.name} is not the same judge in both: {'; '.join(judges.changes)}"
            elif judges.a is None or judges.b is None:
                yield f"{judges.name} judged only {b if judges.a is None else a}"
        if any(run.totals.pairs for run in (self.pairing.a, self.pairing.b)):
            yield "preferences between pairs of summaries are not compared"
        questions = [run.totals.scores.questions() for run in (self.pairing.a, self.pairing.b)]
        for judges in self.pairing.judges:
            if judges.a is not None and judges.b is not None:
                aspects = [
                    [question.aspect for question in of_run if (question.judge, question.signature) == key[:2]]
                    for of_run, key in zip(questions, (judges.a, judges.b), strict=True)
                ]
                for name, own, others in zip(self.names, aspects, aspects[::-1], strict=True):
                    if missing := [aspect for aspect in own if aspect not in others]:
                        yield f"{judges.name} judged {listed(missing)} only in {name}"
        yield from self._verdict_notes()

    def _verdict_notes(self) -> Iterator[str]:
        changes = self.changes
        flips = changes.kind == FLIP
        if changes.compared:
            where = count(len(np.unique(changes.item[flips])), "summary", "summaries")
            pattern = "{n} of {all} verdicts on the same units changed"
            if flips.any():
                pattern = "{n} of {all} verdicts on the same units changed in {summaries}"
            yield Phrase(pattern, n=int(flips.sum()), all=changes.compared, summaries=where)
        for words, counts in (("new errors", self.new_errors), ("errors that are gone", self.gone_errors)):
            if counts:
                yield f"{words}: {', '.join(f'{times:,} {name}' for name, times in counts.items())}"
        for (judge, aspect, status, reason), times in self.new_failures.items():
            yield f"new failures: {times:,} {status} by {judge} on {aspect} ({reason})"

    @property
    def new_errors(self) -> dict[str, int]:
        """The number of errors that are only in the second run, by type, the most frequent first."""
        return self._errors(1, (FLIP, NEW_ERROR))

    @property
    def gone_errors(self) -> dict[str, int]:
        """The number of errors that are only in the first run, by type, the most frequent first."""
        return self._errors(0, (FLIP, GONE_ERROR))

    def _errors(self, side: int, kinds: tuple[int, ...]) -> dict[str, int]:
        changes, table = self.changes, self.changes.tables[side]
        rows = (changes.a, changes.b)[side][np.isin(changes.kind, kinds)]
        wrong = table.take(rows[_is_error(table)[rows]])
        columns = (column.labels() for column in (wrong.aspect, wrong.named, wrong.error_type))
        return dict(
            Counter(
                f"{decision_words(aspect, 0 if name is None else name, error_type)} ({aspect})"
                for aspect, name, error_type in zip(*columns, strict=True)
            ).most_common()
        )

    @property
    def new_failures(self) -> dict[tuple[str, str, str, str], int]:
        """The number of judgments that only the second run lacks, by judge, aspect, status and reason."""
        table = self.changes.tables[1]
        failed = table.take(self.changes.b[self.changes.kind == FAILURE])
        columns = (failed.judge, failed.aspect, failed.status, failed.reason)
        return dict(Counter(zip(*(column.labels() for column in columns), strict=True)).most_common())

    def table(self) -> Table:
        """Return the table of means and differences, one line per row."""
        labels = judge_labels(self.rows)
        lines = []
        for row, judge in zip(self.rows, labels, strict=True):
            of = row.details
            lines.append([
                judge, row.aspect, group_label(row), row.system or "all", of[A], of[B], row.value,
                interval(row.low, row.high), of["p_holm"], row.n, row.missing, outcome(row),
            ])  # fmt: skip
        old, new = self.names
        heads = ["judge", "aspect", "group", "system", old, new, "difference", "interval", "p", "n", "missing"]
        show: list[Callable[..., str]] = [plain, plain, plain, plain, number, number, _signed, plain, p_value]
        table = Table.of([*heads, "outcome"], lines, align="llllrrrlrrrl", show=show)
        optional = {at for at in (heads.index("group"), heads.index("missing")) if not any(line[at] for line in lines)}
        kept = [at for at in range(len(table.columns)) if at not in optional]
        return Table(
            tuple(table.columns[at] for at in kept), tuple(tuple(line[at] for at in kept) for line in table.rows)
        )

    def changed_table(self, most: int) -> Table:
        """Return a table of the summaries that changed most, with the numbers of changed verdicts and new errors."""
        pairing, changes = self.pairing, self.changes
        order = changes.order(pairing)
        lines = []
        for item in order[:most].tolist():
            rows = changes.of_item(item)
            kinds = np.bincount(changes.kind[rows], minlength=len(KINDS)).tolist()
            largest = ""
            if kinds[SCORE]:
                row = rows[np.argmax(np.abs(changes.share[rows]))]
                scores, at = pairing.scores[changes.a[row]], changes.b[row]
                largest = f"{scores.second.aspect} {number(scores.a[at])} to {number(scores.b[at])}"
            text = "document changed" if pairing.moved[item] else TEXTS[pairing.text[item]]
            if not pairing.paired[item] and not pairing.moved[item]:
                text = f"only in {self.names[pairing.text[item] == ONLY_B]}"
            doc_id, system = (column.names[column.codes[item]] for column in (pairing.document, pairing.system))
            lines.append([doc_id, system, text, *(kinds[at] or None for at in (FLIP, NEW_ERROR, FAILURE)), largest])
        heads = ["document", "system", "text", "changed verdicts", "new errors", "new failures", "largest change"]
        title = f"Summaries that changed most, {len(lines):,} of {len(order):,}"
        return Table.of(heads, lines, align="lllrrrl", title=title)

    def payload(self) -> dict[str, Any]:
        """Return what `--json` prints besides the rows."""
        judges = [
            {
                "judge": each.name,
                "signature_a": each.a and each.a.signature,
                "signature_b": each.b and each.b.signature,
                "changes": each.changes,
            }
            for each in self.pairing.judges
        ]
        flips = int((self.changes.kind == FLIP).sum())
        return {
            "study": STUDY,
            "runs": dict(zip((A, B), self.names, strict=True)),
            "sentence": self.sentence,
            "texts": self.texts,
            "judges": judges,
            "verdicts": {"compared": self.changes.compared, "flips": flips},
            "new_errors": self.new_errors,
            "items": [item.model_dump(mode="json") for item in self.items()],
        }

    def _repr_html_(self) -> str:
        return replace(self.table(), title=" to ".join(self.names), notes=(self.sentence, *self.notes)).html()

    def parts(self) -> list[Table | str]:
        """Return the sentence, the table and the notes."""
        return [self.sentence, *([self.table()] if self.rows else []), *self.notes]


@study(VersionsOptions)
def compare_runs(a: RunFolder | str | Path, b: RunFolder | str | Path, options: VersionsOptions) -> Versions:
    """Compare two runs: what changed from the first to the second, and whether it got better.

    The rows are the differences of means, second minus first, over the summaries of the same document and system that
    have a score by the same judge in both runs, whether or not the text of the summary changed. Rows have the study
    "versions" and the statistic `mean_difference`. There is one for each judge, aspect and system, and one for all
    systems together (`system` is null; the value of a document is the mean over its systems). With `by`, there is one
    for each value of a column. `details.a` and `details.b` are the means; `details.better` is the run that is
    significantly better ("a" or "b"). The test is that of `compare`, corrected over all judges and aspects;
    separate corrections cover single systems, the rows of `by`, and aspects for which a higher value is not better.

    `sentence` is the verdict in words, `notes` say what else changed, and `items()` yields the changed summaries with
    the evidence of both runs, the largest changes first. Documents with another text are not compared. Judges are
    paired by signature, or by name, and `notes` then say how they differ.

    Raises UsageError if a folder is not a run, or if there is no such system, column, judge or aspect.

        print(sm.compare("runs/monday", "runs/tuesday").sentence)
    """
    first, second = (run if isinstance(run, RunFolder) else RunFolder(run) for run in (a, b))
    pairing = Pairing.of(first, second, options.pair_systems)
    rows = difference_rows(
        pairing,
        aspects=() if options.aspect is None else (options.aspect,),
        judge=options.judge,
        by=None if options.by == "system" else options.by,  # there are rows for each system in any case
        alpha=options.alpha,
        permutations=options.permutations,
        seed=second.seed if options.seed is None else options.seed,
    )
    if not rows and (options.judge or options.aspect) and pairing.scores:
        known = ", ".join(sorted({f"{each.second.judge} ({each.second.aspect})" for each in pairing.scores}))
        wanted = " with the aspect ".join(filter(None, (options.judge, options.aspect)))
        raise UsageError(f"no judge of both runs is {wanted}; the runs have: {known}")
    return Versions(pairing, rows)


compare = compare_runs
"""`sm.compare`."""


def _aspects(rows: Iterable[Row]) -> str:
    """Return the aspects of rows as in `listed`, for pages in the language of the page."""
    names = [str(row.aspect) for row in rows]
    return Phrase.join(", ", names, shown=listed(names))
