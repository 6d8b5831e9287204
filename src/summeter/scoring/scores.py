"""Scores of summaries, computed from judgments: one per summary, judge and aspect.

In FineSurE (Song et al., 2024), faithfulness = |S_fact| / |S|, completeness = |{k : (k, s) in E}| / |K|, and
conciseness = |{s : (k, s) in E}| / |S|, where S is the set of sentences, S_fact the set of factual sentences, K the set
of key facts, and E the set of pairs of a key fact and a sentence that contains it. The composite (UniSumEval) is the
mean of the three. The faithfulness of FENICE is the mean of the values of claims instead, as the `reduce` attribute of
the evaluator says.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from math import fsum, isnan
from typing import Any, NamedTuple, cast, overload

import numpy as np

from summeter.choices import ValueOrLabel
from summeter.records import Judgment, Record, Status, composite_signature
from summeter.records.signature import SAMPLING
from summeter.scoring.table import Categorical, Columns, Groups, JudgmentTable, Question, compact
from summeter.stats.base import Bools, Floats, Ints, ratio

COMPOSITE = "composite"
COMPOSED = ("faithfulness", "completeness", "conciseness")
UNITS = ("sentence", "key_fact", "claim")
"""Units whose judgments are aggregated into the score of a summary."""
# Parts of a signature that describe how a judge was asked. Validators and the source of key facts are left out, because
# only the alignment judge of a family has these parts.
_ASKED = frozenset({"judge", "second", "extractor", "split", "parser", *SAMPLING})
_IMPORTED = "source:import"
STATUS_SEVERITY: tuple[Status, ...] = ("error", "refused", "unparsed", "skipped")
"""Statuses of judgments without a value, most severe first.

A missing score has the most severe status of its judgments.
"""
NO_NUMBER = "the judgments hold neither a number nor a label of 0 or 1"


class Score(Record):
    """Score of one summary on one aspect by one judge.

    `value` is None unless `status` is "ok". `n` units were used; `missing` units have no usable judgment and are left
    out of `value`, even if the status is "ok".
    """

    doc_id: str
    system: str
    judge: str
    signature: str
    model: str | None
    aspect: str
    value: float | None
    n: int
    missing: int
    status: Status
    reason: str | None = None


@dataclass(frozen=True)
class ScoreTable(Columns, Sequence[Score]):
    """Scores of summaries, stored as columns.

    Records are created on access. A missing `value` is NaN.

    >>> table = ScoreTable.of([Score(doc_id="d", system="s", judge="j", signature="j|v:1", model=None, aspect="a",
    ...                              value=0.5, n=2, missing=0, status="ok")])
    >>> table[0].value, len(table)
    (0.5, 1)
    """

    document: Categorical
    system: Categorical
    judge: Categorical
    signature: Categorical
    model: Categorical
    aspect: Categorical
    value: Floats
    n: Ints
    missing: Ints
    status: Categorical
    reason: Categorical

    @classmethod
    def of(cls, scores: Iterable[Score]) -> ScoreTable:
        """Return the table of the given scores."""
        if isinstance(scores, ScoreTable):
            return scores
        rows = list(scores)
        names = {
            name: Categorical.of([getattr(score, "doc_id" if name == "document" else name) for score in rows])
            for name in ("document", "system", "judge", "signature", "model", "aspect", "status", "reason")
        }
        value = np.array([np.nan if score.value is None else score.value for score in rows], np.float64)
        n, missing = (np.array([getattr(score, name) for score in rows], np.int64) for name in ("n", "missing"))
        return cls(**names, value=value, n=n, missing=missing)

    def __len__(self) -> int:
        return len(self.value)

    @overload
    def __getitem__(self, at: int) -> Score: ...

    @overload
    def __getitem__(self, at: slice) -> list[Score]: ...

    def __getitem__(self, at: int | slice) -> Score | list[Score]:
        if isinstance(at, slice):
            return [self._record(row) for row in range(*at.indices(len(self)))]
        return self._record(range(len(self))[at])

    def __iter__(self) -> Iterator[Score]:
        return map(self._record, range(len(self)))

    def _record(self, row: int) -> Score:
        names: dict[str, Any] = {
            "doc_id" if name == "document" else name: column.names[column.codes[row]]
            for name, column in vars(self).items()
            if isinstance(column, Categorical)
        }
        value = float(self.value[row])
        # The fields were validated when the judgments were read.
        return Score.model_construct(
            **names, value=None if isnan(value) else value, n=int(self.n[row]), missing=int(self.missing[row])
        )

    def by_item(self, only: Collection[tuple[str, str]] | None = None) -> dict[tuple[str, str], array[int]]:
        """Return the row numbers of scores by (document, system), for the items in `only` or for all items."""
        rows: dict[tuple[str, str], array[int]] = {}
        numbers = np.arange(len(self))
        if only is not None:
            names = [frozenset(names) for names in zip(*only, strict=True)] or [frozenset[str]()] * 2
            numbers = np.flatnonzero(self.document.equal(*names[0]) & self.system.equal(*names[1]))
        columns = (self.document.take(numbers).labels(), self.system.take(numbers).labels())
        for row, *item in zip(numbers.tolist(), *columns, strict=True):
            if only is None or (item[0], item[1]) in only:
                rows.setdefault((item[0], item[1]), array("L")).append(row)
        return rows

    def question(self, question: Question) -> Bools:
        """Return the mask of the rows with the judge, signature and aspect of a question."""
        named = self.judge.equal(question.judge) & self.signature.equal(question.signature)
        return named & self.aspect.equal(question.aspect)

    def questions(self) -> list[Question]:
        """Return the distinct (judge, signature, aspect), in order of first appearance."""
        columns = (self.judge, self.signature, self.aspect)
        first = Groups.by(*columns).first
        return [Question(*row) for row in zip(*(column.take(first).labels() for column in columns), strict=True)]


def dedupe(judgments: Iterable[Judgment]) -> list[Judgment]:
    """Return the last judgment of each question, in order of the questions' first appearance."""
    return list({judgment.key: judgment for judgment in judgments}.values())


def summary_scores(judgments: Iterable[Judgment] | JudgmentTable, reduce: Mapping[str, str]) -> ScoreTable:
    """Return the scores by (judge, signature, document, system, aspect).

    The scores are in order of first appearance. `reduce` maps a judge's name to an aggregation: "share" (of labels that
    are 1; the default), "mean" (of values) or "whole" (a judgment of the whole summary, if there is one, takes
    precedence over judgments of its units). Judgments of a whole summary are averaged; judgments of its sentences, key
    facts or claims are aggregated. Pairs, spans and documents are not scored here. Composites follow the scores from
    which they are computed.
    """
    scores = unit_scores(JudgmentTable.of(judgments), reduce)
    return ScoreTable.concat([scores, composites(scores)])


def numbers(value: Floats, label: Floats, use: ValueOrLabel) -> Floats:
    """Return the judgments of one kind of unit as numbers, or NaN for a judgment without a number.

    With `ValueOrLabel.LABEL`, a value of 0 or 1 also counts as a decision if the judge gives labels or only such
    values; a rating from 1 to 5 does not.
    """
    match use:
        case ValueOrLabel.VALUE:
            return np.where(np.isnan(value), label, value)
        case ValueOrLabel.LABEL:
            unlabelled = np.isnan(label) & ~np.isnan(value)
            binary = np.isin(value, (0.0, 1.0))
            decides = not np.isnan(label).all() or binary[unlabelled].all()
            return np.where(unlabelled & binary & decides, value, label)


def unit_scores(table: JudgmentTable, reduce: Mapping[str, str], use: ValueOrLabel = ValueOrLabel.VALUE) -> ScoreTable:
    """Return `summary_scores` without composites.

    `use` selects the values or the labels of judgments of whole summaries.
    """
    table = table.where(unit=("summary", *UNITS))
    groups = table.groups("judge", "signature", "document", "system", "aspect")
    mean, whole_first = (
        np.array([reduce.get(name or "") == how for name in table.judge.names], np.bool_)[table.judge.codes]
        for how in ("mean", "whole")
    )
    is_part = ~table.unit.equal("summary")
    # A failed judgment of the whole summary is superseded by judgments of its units.
    in_parts = groups.count(is_part) > 0
    in_parts &= ~((groups.count(~is_part & whole_first)) > 0)
    used = is_part == in_parts[groups.of]
    label = np.where(np.isnan(table.label) & table.named.equal(None), table.value, table.label)
    number = np.where(mean, table.value, label)
    number[~is_part] = numbers(table.value[~is_part], table.label[~is_part], use)
    usable = used & ~np.isnan(number)
    n = groups.count(usable)
    status, reason = _failures(table, groups, used, n)
    first_used = np.full(len(groups), len(table), np.int64)
    np.minimum.at(first_used, groups.of[used], np.flatnonzero(used))
    first = table.take(first_used)
    return ScoreTable(
        document=first.document,
        system=first.system,
        judge=first.judge,
        signature=first.signature,
        model=first.model,
        aspect=first.aspect,
        value=exact_means(number[usable], groups.of[usable], n),
        n=compact(n),
        missing=compact(groups.count(used) - n),
        status=status,
        reason=reason,
    )


def exact_means(values: Floats, groups: Ints, n: Ints) -> Floats:
    """Return the correctly rounded mean of each group, or NaN for an empty group."""
    sums = np.bincount(groups, weights=values, minlength=len(n))
    # Sums of one or two numbers and sums of integers are already rounded correctly.
    whole = np.bincount(groups, weights=values % 1 != 0, minlength=len(n)) == 0
    inexact = (n > 2) & ~whole & np.isfinite(sums)
    if inexact.any():
        chosen = np.flatnonzero(inexact[groups])
        chosen = chosen[np.argsort(groups[chosen], kind="stable")]
        source = iter(values[chosen].tolist())
        sums[inexact] = [fsum(islice(source, size)) for size in n[inexact].tolist()]
    means = ratio(sums, n)
    if np.isinf(means).any():  # the sum overflows, but the mean does not
        shares = np.bincount(groups, weights=values / n[groups], minlength=len(n))
        means = np.where(n > 0, shares, np.nan)
    return means


def _failures(table: JudgmentTable, groups: Groups, used: Bools, n: Ints) -> tuple[Categorical, Categorical]:
    """Return each group's status and reason: ok, or the most severe status and the first reason with it."""
    failed = np.flatnonzero(used & (n == 0)[groups.of])
    if not len(failed):
        return Categorical.same("ok", len(groups)), Categorical.same(None, len(groups))
    status: list[str | None] = ["ok"] * len(groups)
    reason: list[str | None] = [None] * len(groups)

    def severity(status: str | None) -> int:
        return STATUS_SEVERITY.index(cast("Status", status))

    for row in failed.tolist():
        group = groups.of[row]
        row_status = table.status.names[table.status.codes[row]]
        if row_status == "ok":
            if status[group] == "ok":
                status[group], reason[group] = "error", NO_NUMBER
        elif reason[group] in (None, NO_NUMBER) or severity(row_status) < severity(status[group]):
            status[group], reason[group] = row_status, table.reason.names[table.reason.codes[row]] or row_status
    return Categorical.of(status), Categorical.of(reason)


class Composite(NamedTuple):
    """A mean of three aspects of one judge family.

    `parts` maps each aspect to the questions whose scores are averaged.
    """

    family: str
    parts: Mapping[str, tuple[Question, ...]]

    @property
    def question(self) -> Question:
        """Question (family, combined signature, "composite") of the composite scores."""
        signatures = [self.parts[aspect][0].signature for aspect in COMPOSED]
        run = next(iter(self.parts.values()))[0].run
        return Question(self.family, composite_signature(signatures), COMPOSITE, run)


def composite_rule(questions: Iterable[Question]) -> list[Composite]:
    """Return the composites that can be computed from the scores of the given questions.

    A signature with all three aspects has its own composite. Other questions are combined by family, which is the part
    of the judge's name before the first dot (`finesure.fact_check` and `finesure.align` are one family), and only if
    the judges were asked in the same way, with the same models, sampling parameters and sentence splitter. A family in
    which an aspect has two signatures has no composite, because it would be ambiguous. Ratings (see `is_rating`) are
    left out, since a rating from 1 to 5 is not a share.

    >>> align = [Question("finesure.align", "finesure.align|judge:m|v:1", name) for name in COMPOSED[1:]]
    >>> for model in ("m", "n"):
    ...     check = Question("finesure.fact_check", f"finesure.fact_check|judge:{model}|v:1", COMPOSED[0])
    ...     print([one.family for one in composite_rule([check, *align])])
    ['finesure']
    []
    """
    families: dict[tuple[str, ...], list[Question]] = {}
    for question in questions:
        if question.aspect in COMPOSED and not is_rating(question.signature):
            parts_of_signature = question.signature.split("|")[1:]
            asked_with = (part for part in parts_of_signature if part == _IMPORTED or part.partition(":")[0] in _ASKED)
            families.setdefault((question.judge.split(".")[0], *asked_with), []).append(question)
    composites = []
    for (family, *_), members in families.items():
        sources = {
            aspect: {question.signature for question in members if question.aspect == aspect} for aspect in COMPOSED
        }
        if not all(sources.values()):
            continue
        complete = set.intersection(*sources.values())
        chosen = [dict.fromkeys(COMPOSED, signature) for signature in sorted(complete)]
        rest = {aspect: signatures - complete for aspect, signatures in sources.items()}
        if all(len(signatures) == 1 for signatures in rest.values()):
            chosen.append({aspect: next(iter(signatures)) for aspect, signatures in rest.items()})
        for signatures in chosen:
            parts = {
                aspect: tuple(
                    question for question in members if question.aspect == aspect and question.signature == signature
                )
                for aspect, signature in signatures.items()
            }
            composites.append(Composite(family, parts))
    return composites


def is_rating(signature: str) -> bool:
    """Return whether a signature contains a rating scale, so that its values are not shares.

    >>> is_rating("rts|aspect:faithfulness|prompt:c1a0|scale:1-5|v:2"), is_rating("finesure.fact_check|v:1")
    (True, False)
    """
    return any(part.startswith("scale:") for part in signature.split("|")[1:])


def composites(scores: Iterable[Score]) -> ScoreTable:
    """Return the mean of faithfulness, completeness and conciseness per judge family and summary.

    A composite is missing if any of the three is missing. See `composite_rule`.

    >>> rows = [Score(doc_id="d", system="s", judge="j", signature="j|v:1", model=None, aspect=a, value=v,
    ...               n=1, missing=0, status="ok") for a, v in zip(COMPOSED, (1.0, 0.5, 0.75))]
    >>> composites(rows)[0].value
    0.75
    """
    table = ScoreTable.of(scores)
    rule = composite_rule(table.questions())
    return ScoreTable.concat([composite_of(table, composite) for composite in rule]) if rule else ScoreTable.of([])


def composite_of(scores: ScoreTable, composite: Composite) -> ScoreTable:
    """Return one composite for each summary that has a row for each aspect, possibly without a value."""
    tables = []
    for aspect in COMPOSED:
        questions = composite.parts[aspect]
        judges, signature = {question.judge for question in questions}, questions[0].signature
        mask = scores.judge.equal(*judges) & scores.signature.equal(signature) & scores.aspect.equal(aspect)
        tables.append(scores.take(mask))
    parts = ScoreTable.concat(tables)
    groups = Groups.by(parts.document, parts.system)
    sizes = np.bincount(groups.of, minlength=len(groups))
    ordered = np.argsort(groups.of, kind="stable")
    rows = ordered[(sizes == len(COMPOSED))[groups.of[ordered]]].reshape(-1, len(COMPOSED))
    values = parts.value[rows]
    absent = np.isnan(values)
    first = parts.take(rows[:, 0])
    status: list[str | None] = ["ok"] * len(rows)
    reason: list[str | None] = [None] * len(rows)
    for row in np.flatnonzero(absent.any(axis=1)).tolist():
        failed = parts.take(rows[row][absent[row]])[:]
        worst = min(failed, key=lambda part: STATUS_SEVERITY.index(part.status))
        status[row], reason[row] = worst.status, f"{worst.aspect}: {worst.reason}"
    question, models = composite.question, parts.model
    three = Groups.by(*(Categorical(models.codes[column], models.names) for column in rows.T)) if len(rows) else None
    joined = [] if three is None else [
        ",".join(dict.fromkeys(name for code in models.codes[rows[row]] if (name := models.names[code]))) or None
        for row in three.first.tolist()
    ]  # fmt: skip
    return ScoreTable(
        document=first.document,
        system=first.system,
        judge=Categorical.same(question.judge, len(rows)),
        signature=Categorical.same(question.signature, len(rows)),
        model=Categorical.same(None, 0) if three is None else Categorical.of(joined).take(three.of),
        aspect=Categorical.same(COMPOSITE, len(rows)),
        value=np.fromiter((fsum(row) / len(COMPOSED) for row in values), np.float64, len(rows)),
        n=compact((~absent).sum(axis=1)),
        missing=compact(absent.sum(axis=1)),
        status=Categorical.of(status),
        reason=Categorical.of(reason),
    )


def coverage(scores: Iterable[Score], preferences: Iterable[tuple[int, int]] = ()) -> float | None:
    """Return the share of units with a usable judgment, averaged over summaries and aspects.

    A score counts by its share of usable units, and a missing score counts as 0. Composites are left out because they
    repeat other scores; skipped scores are left out because they could not have been judged. `preferences` holds (n,
    missing) of each pair of systems. Returns None if there are no scores or preferences.

    If 3 of 4 sentences of one summary are usable and another summary ended in an error, the result is (3/4 + 0) / 2 =
    0.375.
    """
    table = ScoreTable.of(scores)
    counted = ~table.aspect.equal(COMPOSITE) & ~table.status.equal("skipped")
    n, total = table.n[counted], (table.n + table.missing)[counted]
    usable = ~np.isnan(table.value[counted])
    shares = np.divide(n, total, out=np.zeros(len(total)), where=usable & (total > 0))
    pairs = [n / (n + missing) for n, missing in preferences]
    number = len(shares) + len(pairs)
    return fsum(chain(memoryview(shares), pairs)) / number if number else None
