"""Is A really better than B? Systems, or judges, compared pair by pair, corrected for the number of pairs, in words.

Two systems are compared on the documents that both have a score of: a paired permutation test exchanges their scores
document by document. Holm's (1979) correction is over all pairs of one judge and aspect, the intervals hold all at
once (see `stats.paired_differences`), and systems between which nothing is claimed share a cluster.

Judges are compared by their correlation with people on the same items. Their correlations are correlated themselves,
so an ordinary test of two r's is wrong (Graham & Baldwin, 2014; Deutsch et al., 2021): each pair is tested on the
rows that people and both judges have, by the permutation test that exchanges the judges' scores document by document,
and, for Pearson, by Williams' test beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist
from typing import Annotated, Any, NamedTuple, cast

import numpy as np
from pydantic import Field

from summeter.choices import Average, Documents, Level
from summeter.meta.coefficients import AUROC, STATISTICS
from summeter.meta.context import Context
from summeter.meta.gold import aspects as judged_aspects
from summeter.meta.inputs import Gold, JudgeInput, RunLike, gold_input, judge_input
from summeter.meta.measure import estimate, measured
from summeter.meta.options import Aspects, By, Choice, GoldAtLeast, Judges, Selection, Significance, study
from summeter.meta.results import (
    Row,
    Study,
    interval_row,
    judge_key,
    judge_labels,
    merged,
    named,
    pair_name,
    resampling,
    status_of,
    unique_labels,
)
from summeter.meta.sample import Grid, Sample, parts
from summeter.meta.selection import Group, all_pairs, check, golds, group_fields, groups, meta_input, notes
from summeter.meta.verdicts import AGREES_BETTER, Comparison
from summeter.records import Judgment, UsageError, judge_names
from summeter.runs.run import RunFolder
from summeter.scoring.systems import LEFT_OUT, shared_documents
from summeter.scoring.table import JudgmentTable
from summeter.stats import (
    Bootstrap,
    Estimate,
    PairDifference,
    PermutedStatistic,
    areas,
    corrected,
    correlation_by_group,
    enough_permutations,
    least_p,
    paired_differences,
    permute_agreements,
    permute_correlations,
    permuted_differences,
    williams,
)
from summeter.stats.base import Floats, Values
from summeter.stats.correlation import CORRELATIONS
from summeter.tables import Table, interval, number

STUDY = "compare"
SYSTEM_DIFFERENCE = "mean_difference"
_RANK_EXCHANGES = 1000
"""Exchanges of a test of rank correlations, which are computed one by one."""
_RESAMPLES = 1000
"""Most draws of an interval of a difference of correlations, for the same reason."""


class SystemTests(Significance):
    """How systems are compared."""

    documents: Annotated[str, Choice(Documents, "documents")] = Field(
        Documents.SHARED,
        description="Rank systems by their means over the documents that all of them have (shared), or over each "
        "one's own (all). Two systems are always compared on the documents that both have.",
    )


class CompareSystemsOptions(Judges, By, SystemTests):
    """The options of `compare_systems`."""

    seed: int | None = Field(None, description="Random seed; default: that of the run, as on its page.")  # type: ignore[assignment]


class ComparePeopleOptions(Aspects, GoldAtLeast, By, SystemTests):
    """The options of `compare_by_people`."""


class CompareEvaluatorsOptions(Selection, GoldAtLeast, By, Significance):
    """The options of `compare_evaluators`."""

    level: Annotated[str, Choice(Level, "level")] = Field(Level.SUMMARY, description="What is correlated.")
    average: Annotated[str, Choice(Average, "average")] = Field(
        Average.POOLED, description="Correlate all rows at once, or within each document or system."
    )
    coefficient: Annotated[str, Choice(CORRELATIONS, "coefficient")] = Field(
        "pearson", description="The coefficient by which judges agree with people."
    )


def compare_scores(
    scores: Mapping[str, Values], *, alpha: float = 0.05, permutations: int = 10_000, seed: int = 0
) -> list[PairDifference]:
    """Compare every two systems: name -> a score a document (None or NaN where missing), in one order of documents.

    The test behind `meta compare`. Each `PairDifference` holds the mean difference over the `n` documents that both
    have, its simultaneous interval, p, p after Holm's correction over all pairs, and `better`: who is claimed to be
    better, None where nobody is (with fewer than 6 documents never). Raises ValueError for lists of unlike lengths.

    >>> (pair,) = compare_scores({"aster": [5, 4, 5, 4, 5, 4, 5], "birch": [3, 2, 4, 3, 3, 3, 2]})
    >>> round(pair.difference, 3), pair.p, pair.better
    (1.714, 0.015625, 'aster')
    """
    return paired_differences([scores], alpha, permutations, seed)[0]


@study(CompareSystemsOptions)
def compare_systems(run: RunLike, options: CompareSystemsOptions) -> Study:
    """Compare the systems of a run by every judge and aspect in it.

    Rows of the study "compare": `mean` (one a system, with its interval; `details.own_documents` it has scores of),
    `mean_difference` (one a pair; `pair` is "a-b", the value is a's mean minus b's over the documents both have, `p`
    that of the permutation test, `details.p_holm` the corrected one, `details.better` who is claimed to be better) and
    `cluster` (one a system; 1 is the best). `by` repeats it within each value of a column, one correction over all
    its groups. Raises UsageError where no judge has the aspect, or the summaries are of one system only.

        print(sm.meta.compare_systems(run, aspect="faithfulness").notes[0])
    """
    if options.seed is None:
        options = options.model_copy(update={"seed": run.seed if isinstance(run, RunFolder) else 0})
    judges, wanted, judge = judge_input(run), options.judge_aspects, options.judge
    fit = judges.questions(judge=judge)
    questions = [question for question in fit if not wanted or question.aspect in wanted]
    lost = [name for name in wanted if name not in {question.aspect for question in fit}]
    if lost or not questions:
        known = ", ".join(sorted({f"{name} ({aspect})" for name, _, aspect in judges.questions()})) or "none"
        what = f"with the aspect {lost[0]}" if lost else "in the run"
        raise UsageError(f"no judge {f'{judge} ' if judge else ''}{what}; there are: {known}")
    return _compare([judges.scores(question, Level.SUMMARY) for question in questions], judges.context, options)


@study(ComparePeopleOptions)
def compare_by_people(gold: Gold, options: ComparePeopleOptions) -> Study:
    """Compare systems by people's own judgments, merged as the options say. Rows are those of `compare_systems`."""
    columns, context = gold_input(gold, options.judgment_set)
    known = judged_aspects(columns)
    wanted = options.gold_aspects or known
    for name in wanted:
        if name not in known:
            raise UsageError(f"people have not judged {name!r}; they have: {', '.join(known) or 'nothing'}")
    merged_scores = [scores for name in wanted for scores in golds(columns, name, Level.SUMMARY, options)]
    return _compare(merged_scores, context, options)


def _compare(
    series: Sequence[Sample], context: Context, options: CompareSystemsOptions | ComparePeopleOptions
) -> Study:
    usable = [scores for scores in series if len(scores.units.system.used()) > 1]
    if not usable:
        raise UsageError("to compare systems, a judge must have scored the summaries of at least 2 of them")
    rows: list[Row] = []
    notes: list[str] = []
    labels = {
        aspect: judge_names(judge_key(scores.judge) for scores in usable if scores.judge.aspect == aspect)
        for aspect in dict.fromkeys(scores.judge.aspect for scores in usable)
    }
    for scores in usable:
        judge = scores.judge
        label = labels[judge.aspect][judge_key(judge)]
        for parts_of in _families(scores, context, options.by):
            grids = [Grid.of(part) for _, part in parts_of]
            tables = [dict(zip(grid.systems, grid.judge, strict=True)) for grid in grids]
            pairs = paired_differences(tables, options.alpha, options.permutations, options.seed or 0)
            for (fields, _), table, differences in zip(parts_of, tables, pairs, strict=True):
                about = merged(named(judge), fields, study=STUDY, level=Level.SUMMARY.value)
                means, note = _means(table, about, options)
                values = {name: row.value for name, row in means.items()}
                scoreless = [name for name, row in means.items() if not row.details["own_documents"]]
                compared = Comparison(values, differences, judge.aspect, options.alpha, scoreless=scoreless)
                family = _Family(means, compared, about, options, SYSTEM_DIFFERENCE)
                rows += family.rows()
                group = next((str(value) for key, value in fields.items() if key != "details"), None)
                group = group or fields.get("details", {}).get("group")
                notes += [*family.words(f"By {label}{f' in {group}' if group else ''}"), *note]
    return Study(STUDY, rows, notes)


def _families(scores: Sample, context: Context, by: str | None) -> Iterator[list[tuple[dict[str, Any], Sample]]]:
    """All rows, and, as one family of tests, the rows of each value of a column."""
    yield [({}, scores)]
    if by is None:
        return
    family = [
        (group_fields(by, value), part)
        for value, rows in parts(context.column(by, scores.units.document, scores.units.system))
        if len((part := scores.take(rows)).units.system.used()) > 1
    ]
    if not family:
        raise UsageError(f"no value of {by!r} has summaries of 2 systems to compare")
    yield family


def _means(
    table: Mapping[str, Floats], about: Mapping[str, Any], testing: SystemTests
) -> tuple[dict[str, Row], list[str]]:
    """The mean of each system as a row, and a note where the systems have unlike documents."""
    own = {name: int((~np.isnan(values)).sum()) for name, values in table.items()}
    shared = shared_documents(table)
    narrowed = shared.note is not None and {Documents.SHARED: True, Documents.ALL: False}[Documents(testing.documents)]
    rows = {}
    for name, values in table.items():
        bootstrap = Bootstrap(len(values), testing.resamples, testing.confidence, testing.seed)
        counted = np.where(shared.documents & (name in shared.counts), values, np.nan) if narrowed else values
        reason = None
        if narrowed and own[name]:
            reason = LEFT_OUT if name in shared.left_out else "no document has a score of every system"
        rows[name] = interval_row(
            bootstrap.mean(counted),
            about,
            system=name,
            statistic="mean",
            details={"documents": str(testing.documents), "own_documents": own[name]},
            reason=reason,
        )
    if shared.note is None:
        return rows, []
    if narrowed:
        every = "With the option documents set to all, means are over each system's own documents."
        return rows, [f"{about['aspect']}: {shared.note} {every}"]
    return rows, [f"{about['aspect']}: {shared.means_note}"]


@dataclass(frozen=True)
class _Family:
    """Members (systems or judges) by name, each with the row of its value, and their comparison pair by pair.

    `fields` are further fields of each pair's row.
    """

    members: Mapping[str, Row]
    comparison: Comparison
    about: Mapping[str, Any]
    testing: Significance
    statistic: str
    fields: Sequence[Mapping[str, Any]] = ()

    def rows(self) -> Iterator[Row]:
        """The values of the members, the differences of their pairs, and their clusters."""
        compared = self.comparison
        yield from self.members.values()
        for place, pair in enumerate(compared.pairs):
            test = {"method": pair.method, "units": pair.units, "unit": pair.by}
            own = self.fields[place : place + 1]
            yield pair_row(pair, self.testing, self.about, *own, statistic=self.statistic, details=test)
        parted = [{pair.first, pair.second} for pair in compared.across_clusters]
        for name, row in self.members.items():
            number = compared.clusters[name]
            details = {
                "member": name,
                "of": row.value,
                "equals": [] if number is None else [other for other, at in compared.clusters.items() if at == number],
                "not_told_apart": [other for other in self.members if {name, other} in parted],
                "alpha": self.testing.alpha,
            }
            yield row.model_copy(
                update={
                    "statistic": "cluster",
                    "value": None if number is None else float(number),
                    "status": status_of(number),
                    "reason": None if number is not None else "no value to rank by",
                    "p": None,
                    "low": None,
                    "high": None,
                    "interval": None,
                    "details": {**self.about.get("details", {}), **details},
                }
            )

    def words(self, by: str) -> Iterator[str]:
        """The verdict, and what the clusters do not say; `by` begins each."""
        yield f"{by}: {self.comparison.verdict()}"
        if note := self.comparison.cluster_note():
            yield f"{by}: {note}"


def pair_row(pair: PairDifference, testing: Significance, *about: Mapping[str, Any], **fields: Any) -> Row:
    """The row of a pair; `details` gain what the correction was."""
    details = {
        "first": pair.first, "second": pair.second, "p_holm": pair.p_holm, "comparisons": pair.family,
        "alpha": testing.alpha, "better": pair.better, "least_p": pair.least_p,
    }  # fmt: skip
    return Row(
        **merged({"details": details}, *about, fields),
        value=pair.difference,
        p=pair.p,
        low=pair.low,
        high=pair.high,
        n=pair.n,
        missing=pair.missing,
        pair=pair_name(pair.first, pair.second),
        status=status_of(pair.difference, "no_interval" if pair.low is None else None),
        reason=pair.reason or (None if pair.difference is not None else "not tested"),
        interval=pair.text,
    )


def pair_sentence(row: Row) -> str:
    """Return the verdict on the pair of a row of "compare", in words."""
    about = row.details
    pair = PairDifference(
        first=about["first"],
        second=about["second"],
        difference=row.value,
        low=row.low,
        high=row.high,
        p=row.p,
        p_holm=about["p_holm"],
        family=about["comparisons"],
        n=row.n,
        missing=row.missing,
        units=about["units"],
        least_p=about["least_p"],
        better=about["better"],
        reason=row.reason,
        by=about["unit"],
    )
    verb = None if row.statistic == SYSTEM_DIFFERENCE else AGREES_BETTER
    aspect = row.gold_aspect or row.aspect or ""
    return Comparison({}, [pair], aspect, about["alpha"], verb=verb).sentence(pair)


# ---- as a matrix ----


def matrices(study: Study) -> list[Table]:
    """Who is better than whom, a table a family of pairs: a line a member, best first, and a column for each rival.

    `+` stands where the line's member is claimed to be better, `-` where it is worse, `.` where nothing is claimed.
    """
    tables: list[Table] = []
    family: list[Row] = []
    labels = judge_labels(study.rows)
    for place, row in enumerate(study):
        family.append(row)
        if row.statistic == "cluster" and [after.statistic for after in study.rows[place + 1 : place + 2]] != [
            "cluster"
        ]:
            tables.append(_matrix(family, labels[place]))
            family = []
    return tables


def _matrix(family: Sequence[Row], judge: str | None) -> Table:
    clustered = [row for row in family if row.statistic == "cluster"]
    members = {row.details["member"]: member for row, member in zip(clustered, family, strict=False)}
    better: dict[frozenset[str], str | None] = {
        frozenset((row.details["first"], row.details["second"])): row.details["better"] for row in family if row.pair
    }
    order = sorted(clustered, key=lambda row: (row.value is None, row.value or 0.0, -(row.details["of"] or 0.0)))
    names = [row.details["member"] for row in order]

    def sign(name: str, other: str) -> str:
        if name == other:
            return ""
        claimed = better[frozenset((name, other))]
        return "." if claimed is None else "+" if claimed == name else "-"

    lines = [
        [place, name, number(members[name].value), interval(members[name].low, members[name].high), members[name].n,
         number(row.value, 0), *(sign(name, other) for other in names)]
        for place, (row, name) in enumerate(zip(order, names, strict=True), 1)
    ]  # fmt: skip
    first = family[0]
    of_systems = first.statistic == "mean"
    groups = (first.details.get("group"), first.domain, first.category, None if of_systems else first.system)
    inside = "".join(f" in {group}" for group in groups if group)
    title = f"{first.aspect} by {judge}{inside}" if of_systems else f"{first.gold_aspect}, judges and people{inside}"
    heads = ["", "", first.statistic, "interval", "n", "cluster", *map(str, range(1, len(names) + 1))]
    return Table.of(heads, lines, align="rlrlrr", title=title)


# ---- judges ----


class AgreementTask(NamedTuple):
    """How judges' agreement with people is compared: by a coefficient, or by AUROC (pooled, below systems)."""

    coefficient: str
    level: Level
    average: Average
    testing: Significance


@study(CompareEvaluatorsOptions)
def compare_evaluators(runs: RunLike | Sequence[RunLike], gold: Gold, options: CompareEvaluatorsOptions) -> Study:
    """Compare judges of one or several runs by how well they correlate with people.

    Rows of the study "compare": one a judge with its correlation on all rows it shares with people (`statistic` is
    the coefficient), one a pair (`<coefficient>_difference`; `pair` is "a-b", the value is a's correlation minus
    b's on the rows both have, `p` that of the permutation test, `details.p_holm` the corrected one,
    `details.p_williams` Williams' where it applies), and `cluster` rows. With an average by document or system the
    correlations within each are exchanged. `permutations` and `resamples` are cut to 1,000 for rank coefficients
    and for the intervals of differences.

    Raises UsageError with fewer than two judges of one aspect of the gold.
    """
    level, average = Level(options.level), Average(options.average)
    check(level, average)
    task = AgreementTask(options.coefficient, level, average, options)
    sentences: list[str] = []
    by_gold: dict[tuple[str, str], list[Sample]] = {}
    if isinstance(runs, RunFolder | JudgmentTable | JudgeInput):
        runs = [runs]
    several = list(runs)
    if several and all(isinstance(item, Judgment) for item in several):
        several = [cast("list[Judgment]", several)]
    for run in cast("list[RunLike]", several):
        read = meta_input(run, gold, options)
        here = list(all_pairs(read, level, options))
        sentences += notes(read, options, level, here)
        for pairs in here:
            by_gold.setdefault((pairs.gold.aspect, pairs.gold.signature), []).append(pairs)
    rows: list[Row] = []
    for judges in by_gold.values():
        if len(judges) > 1:
            by_name = dict(zip(unique_labels([pairs.judge for pairs in judges]), judges, strict=True))
            for family in _judge_families(by_name, options.by):
                for compared, by in _of_judges(family, task):
                    rows += compared.rows()
                    sentences += compared.words(by)
    if not rows:
        raise UsageError("to compare judges, at least 2 of them must have judged one aspect; give further runs")
    return Study(STUDY, rows, sentences)


_Part = tuple[Group, dict[str, Sample]]


def _judge_families(judges: Mapping[str, Sample], by: str | None) -> Iterator[list[_Part]]:
    """All rows, and, as one family of tests, those of each value of a column that several judges have."""
    whole: dict[str | None, _Part] = {}
    split: dict[str | None, _Part] = {}
    for name, pairs in judges.items():
        for group in groups(pairs, by):
            part = whole if group.column is None else split
            part.setdefault(group.value, (group, {}))[1][name] = group.sample
    yield list(whole.values())
    yield [part for part in split.values() if len(part[1]) > 1]


def _of_judges(family: Sequence[_Part], task: AgreementTask) -> Iterator[tuple[_Family, str]]:
    """The judges of each group compared, and what begins the verdict."""
    tested_groups = judge_differences([judges for _, judges in family], task)
    for (group, judges), tested in zip(family, tested_groups, strict=True):
        gold = next(iter(judges.values())).gold
        about = merged(
            group.fields(), study=STUDY, gold_aspect=gold.aspect, gold_signature=gold.signature,
            level=task.level.value, average=task.average.value,
        )  # fmt: skip
        draws = resampling(min(task.testing.resamples, _RESAMPLES), task.testing.confidence, task.testing.seed)
        members = {}
        for name, paired in judges.items():
            got = estimate(paired.at(task.level), task.coefficient, draws, task.average)
            own_fields = named(paired.judge)
            members[name] = interval_row(got, about, own_fields, statistic=task.coefficient, details={"name": name})
        own = {paired.judge.aspect for paired in judges.values()}
        about |= {"aspect": next(iter(own)) if len(own) == 1 else None}
        pairs, fields = [pair for pair, _ in tested], [own_fields for _, own_fields in tested]
        values = {name: row.value for name, row in members.items()}
        comparison = Comparison(values, pairs, gold.aspect, task.testing.alpha, verb=AGREES_BETTER)
        compared = _Family(members, comparison, about, task.testing, f"{task.coefficient}_difference", fields)
        where = f" in {group.value}" if group.column else ""
        yield compared, f"Judges{where} ({task.coefficient}, {task.level.value} level, {task.average.value})"


def judge_differences(
    families: Sequence[Mapping[str, Sample]], task: AgreementTask
) -> list[list[tuple[PairDifference, dict[str, Any]]]]:
    """The difference of every two judges of each family (name -> scores beside people's), with fields of its row.

    All of them are corrected together. Every test is on the rows that people and both judges have.
    """
    twos = [list(combinations(judges.items(), 2)) for judges in families]
    size = sum(map(len, twos))
    tests = [[_tested(*first, *second, task, size) for first, second in pairs] for pairs in twos]
    whole = iter(corrected([pair for tested in tests for pair, _ in tested], task.testing.alpha))
    return [[(next(whole), fields) for _, fields in tested] for tested in tests]


def _tested(
    name: str, a: Sample, other: str, b: Sample, task: AgreementTask, family: int
) -> tuple[PairDifference, dict[str, Any]]:
    """The difference of two judges before the correction over `family` pairs, and fields of its row."""
    whole = common(a, b)
    both = whole.take(whole.kept)
    first, second = both.of(0, 2), both.of(1, 2)
    test = _pooled if task.average is Average.POOLED else _averaged
    pair, details = test((name, other), first, second, task, family)
    signatures = {"first_signature": a.judge.signature, "second_signature": b.judge.signature}
    lost = int((~np.isnan(whole.y)).sum()) - len(both)
    fields = {"signature": " vs ".join(signatures.values()), "details": {**details, **signatures}}
    return pair._replace(missing=lost), fields


def common(a: Sample, b: Sample) -> Sample:
    """Two judges and people (a sample of three raters) on every unit that people judged or either judge did."""
    return Sample.join([a.of(0), b.of(0), b.of(1)], a.units.context, explain=False)


def _pooled(
    names: tuple[str, str], first: Sample, second: Sample, task: AgreementTask, family: int
) -> tuple[PairDifference, dict[str, Any]]:
    kind, testing = task.coefficient, task.testing
    left, right = first.at(task.level), second.at(task.level)
    documents = left.units.document.codes if left.summaries is None else None
    units, by = (len(left), task.level.value) if documents is None else (len(np.unique(documents)), "document")
    most = testing.permutations if kind == "pearson" else min(testing.permutations, _RANK_EXCHANGES)
    most = max(most, enough_permutations(family, testing.alpha, 1))  # each costs a correlation
    sides = left.y, left.x, right.x
    if kind == AUROC:
        got = permute_agreements(*sides, PermutedStatistic(areas), documents, most, testing.seed)
    else:
        got = permute_correlations(*sides, kind, documents, most, testing.seed)
    details: dict[str, Any] = {"first_value": got.first, "second_value": got.second, "permutations": most}
    if kind == "pearson":
        test = williams(left.y, left.x, right.x)
        details |= {"williams_t": test.t, "p_williams": test.p}
    drawn = _interval(first, second, task, family) if got.difference is not None else None
    ends = (drawn.low, drawn.high, drawn.interval, drawn.reason) if drawn else (None, None, None, got.reason)
    low, high, text, why = ends
    if low is not None and high is not None:
        # Before the correction, which moves an end that would contradict the claim.
        details["standard_error"] = (high - low) / (2 * NormalDist().inv_cdf(1 - testing.alpha / family / 2))
    pair = PairDifference(
        *names, got.difference, low, high, got.p, None, family, got.n, 0, units, least_p(units, most), None, why,
        text, f"exchange of scores by {by}", by,
    )  # fmt: skip
    return pair, details


def _interval(first: Sample, second: Sample, task: AgreementTask, family: int) -> Estimate:
    """The difference over drawn documents; means of systems are formed anew in each draw."""
    testing = task.testing
    (left, clusters), (right, _) = (
        measured(side.at(task.level), STATISTICS[task.coefficient]) for side in (first, second)
    )
    bootstrap = Bootstrap(clusters, min(testing.resamples, _RESAMPLES), 1 - testing.alpha / family, testing.seed)
    return bootstrap.interval(lambda weights: left.weighted(weights) - right.weighted(weights), width=len(clusters))


def _averaged(
    names: tuple[str, str], first: Sample, second: Sample, task: AgreementTask, family: int
) -> tuple[PairDifference, dict[str, Any]]:
    """Correlations within each document (or system), exchanged as a whole."""
    labels, by = list(first.units.groups_of(task.average).labels()), task.average.value
    left, right = (correlation_by_group(side.x, side.y, labels, task.coefficient) for side in (first, second))
    a, b = (np.array([by_group[key].value for key in left], dtype=np.float64) for by_group in (left, right))
    testing, gaps = task.testing, (a - b)[:, None]
    (pair,) = permuted_differences([names], gaps, testing.alpha, family, testing.permutations, testing.seed, by)
    details = {"groups": pair.n, "groups_undefined": pair.missing}
    return pair._replace(n=len(first), method=f"exchange of the correlations within a {by}"), details
