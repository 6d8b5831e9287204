"""Compare systems or judges pairwise, with a correction for multiple comparisons.

Two systems are compared on the documents for which both have a score, by a paired permutation test that exchanges their
scores within documents. Holm's (1979) correction covers all pairs of one judge and aspect, the intervals are
simultaneous (see `stats.paired_differences`), and systems that do not differ significantly share a cluster.

Judges are compared by their correlation with people on the same items. The two correlations are dependent, so a test
for independent correlations is not valid (Graham & Baldwin, 2014; Deutsch et al., 2021). Each pair is therefore tested
on the units judged by people and by both judges, with a permutation test that exchanges the judges' scores within
documents; for Pearson's correlation, Williams' test is reported too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations, islice
from statistics import NormalDist
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from summeter.choices import Average, CompareTarget, Level
from summeter.meta.inputs import Gold, JudgeInput, RunLike, gold_input, judge_input
from summeter.meta.measure import STATISTICS, estimate, pooled_measurement
from summeter.meta.options import By, Choice, GoldAtLeast, Selection, Significance, study
from summeter.meta.results import (
    Row,
    Study,
    interval_row,
    judge_labels,
    merged,
    named,
    pair_name,
    resampling,
    status_of,
    unique_labels,
)
from summeter.meta.sample import Context, Sample
from summeter.meta.selection import Group, all_pairs, check_average, golds, group_label, groups, meta_input, notes
from summeter.meta.selection import aspects as judged_aspects
from summeter.meta.verdicts import AGREES_BETTER, Comparison
from summeter.records import Parameter, Phrase, UsageError, judge_names
from summeter.scoring.systems import shared_documents
from summeter.stats import (
    Bootstrap,
    PairDifference,
    corrected,
    correlation_by_group,
    enough_permutations,
    least_p,
    paired_differences,
    permute_correlations,
    permuted_differences,
    williams,
)
from summeter.stats.base import Values
from summeter.stats.correlation import CORRELATIONS
from summeter.tables import Table, interval, number

STUDY = "compare"
SYSTEM_DIFFERENCE = "mean_difference"
_MAX_RANK_PERMUTATIONS = 1000
"""Maximum number of permutations of a test of rank correlations, which are computed one by one."""
_MAX_RESAMPLES = 1000
"""Maximum number of resamples for an interval of a difference of correlations, which are slow to compute."""


class CompareOptions(Selection, GoldAtLeast, By, Significance):
    """The options of `compare`."""

    of: Annotated[str | None, Choice(CompareTarget, "of")] = Field(
        None,
        description="Compare systems by each judge (systems), judges by agreement with people (judges), or systems by "
        "human judgments (people). Default: judges if human judgments are given with a run, or several runs have them; "
        "else systems or people.",
    )
    level: Annotated[str, Choice(Level, "level")] = Field(Level.SUMMARY, description="Level of the correlated values.")
    average: Annotated[str, Choice(Average, "average")] = Field(
        Average.POOLED, description="Correlate all values at once (pooled), or within each document or system."
    )
    coefficient: Annotated[str, Choice(CORRELATIONS, "coefficient")] = Field(
        "pearson", description="Coefficient of the agreement with people."
    )
    seed: int | None = Field(None, description="Random seed; default: the seed of the (first) run.")  # type: ignore[assignment]


_OF_JUDGES = ("level", "average", "coefficient")
_WITHOUT_EFFECT: Mapping[CompareTarget, Sequence[str]] = {
    CompareTarget.SYSTEMS: (*GoldAtLeast.model_fields, *_OF_JUDGES),
    CompareTarget.PEOPLE: ("judge", *_OF_JUDGES),
}


def compare_scores(
    scores: Mapping[str, Values], *, alpha: float = 0.05, permutations: int = 10_000, seed: int = 0
) -> list[PairDifference]:
    """Return the comparison of all pairs of systems by their scores, as in `meta compare`.

    `scores` maps each system to one score per document (None or NaN if missing), with the documents in the same order.
    Each `PairDifference` has the mean difference over the `n` documents that both systems have, its simultaneous
    interval, p, p after Holm's correction over all pairs, and `better`, the significantly better system (None if the
    difference is not significant or fewer than 6 documents are shared). Raises ValueError if the systems have different
    numbers of scores.

    >>> (pair,) = compare_scores({"aster": [5, 4, 5, 4, 5, 4, 5], "birch": [3, 2, 4, 3, 3, 3, 2]})
    >>> round(pair.difference, 3), pair.p, pair.better
    (1.714, 0.015625, 'aster')
    """
    return paired_differences([scores], alpha, permutations, seed)[0]


@study(CompareOptions)
def compare(runs: RunLike | None, gold: Gold | None, options: CompareOptions) -> Study:
    """Test which systems, or which judges, differ significantly.

    With one run alone, systems are compared by each judge and aspect. With `gold` alone, systems are compared by human
    judgments. With both, or with several runs over labelled data, judges are compared by their correlation with people.
    The keyword `of` overrides this choice; the human judgments are then by default those in the data of the first run.

    Rows have the study "compare" and one of these statistics: `mean` (one per system, with an interval; the system has
    scores on `details.own_documents` documents; means with the same `details.ranking` are comparable, and a system
    without a ranking shares too few documents), `mean_difference` (one per pair; `pair` is "a-b", the value is a's
    mean minus b's over their common documents, `p` is the p-value of the permutation test, `details.p_holm` is the
    corrected p-value, and `details.better` is the significantly better system) and `cluster` (one per system; 1 is the
    best of a ranking). With `by`, the comparison is repeated within each value of a column, with one correction over
    all these groups.

    For judges, there is one row per judge with the judge's correlation on all units that people also judged
    (`statistic` is the coefficient), one per pair (`<coefficient>_difference`, on the units that both judged, with
    `details.p_williams` for Williams' test if it applies), and one `cluster` row per judge. With an average by document
    or system, the test exchanges the correlations within each document or system. `permutations` is limited to 1,000
    for rank coefficients, and `resamples` to 1,000 for intervals of differences.

    Raises UsageError if fewer than two systems or judges can be compared, or if a keyword has no effect.

        print(sm.meta.compare(run, aspect="faithfulness").notes[0])
    """
    judges = None if runs is None else judge_input(runs)
    target = CompareTarget.SYSTEMS
    if options.of:
        target = CompareTarget(options.of)
    elif judges is None:
        target = CompareTarget.PEOPLE
    elif gold is not None or (len(judges.folders) > 1 and judges.data and judges.data.judgment_sets):
        target = CompareTarget.JUDGES
    for name in _WITHOUT_EFFECT.get(target, ()):
        if name in options.model_fields_set:
            raise UsageError(Parameter(name, "..."), " has no effect with ", Parameter("of", target), "; leave it out")
    if options.seed is None:
        seeds = [] if judges is None else [folder.seed for folder in judges.folders.values()]
        options = options.model_copy(update={"seed": seeds[0] if seeds else 0})
    if judges is not None and target is CompareTarget.SYSTEMS:
        return _systems(judges, options)
    people = judges.data if gold is None and judges is not None else gold
    if target is CompareTarget.PEOPLE and people is not None:
        return _by_people(people, options)
    if judges is not None and people is not None:
        return _judges(judges, people, options)
    raise UsageError("give ", Parameter("runs", "..."), ", or human judgments with ", Parameter("gold", "DATA"))


def _systems(judges: JudgeInput, options: CompareOptions) -> Study:
    questions = judges.questions(options.judge_aspects, options.judge)
    judged = {question.aspect for question in questions}
    for name in options.judge_aspects:
        if name not in judged:
            known = ", ".join(sorted({f"{each.judge} ({each.aspect})" for each in judges.questions()}))
            by_judge = f" by {options.judge}" if options.judge else ""
            raise UsageError(f"the run has no score of {name}{by_judge}; it has: {known or 'none'}")
    return _compare([judges.scores(question, Level.SUMMARY) for question in questions], judges.context, options)


def _by_people(gold: Gold, options: CompareOptions) -> Study:
    columns, context = gold_input(gold, options.judgment_set)
    known = judged_aspects(columns)
    wanted = options.gold_aspects or known
    for name in wanted:
        if name not in known:
            raise UsageError(f"people did not judge {name!r}; they judged: {', '.join(known) or 'nothing'}")
    merged_scores = [scores for name in wanted for scores in golds(columns, name, Level.SUMMARY, options)]
    return _compare(merged_scores, context, options)


def _compare(series: Sequence[Sample], context: Context, options: CompareOptions) -> Study:
    usable = [scores for scores in series if len(scores.units.system.used()) > 1]
    if not usable:
        raise UsageError("a comparison needs scores of at least 2 systems by the same judge")
    rows: list[Row] = []
    notes: list[str] = []
    labels = {
        aspect: judge_names(scores.judge.key for scores in usable if scores.judge.aspect == aspect)
        for aspect in dict.fromkeys(scores.judge.aspect for scores in usable)
    }
    for scores in usable:
        judge = scores.judge
        label = labels[judge.aspect][judge.key]
        whole, *split = groups(replace(scores, units=replace(scores.units, context=context)), options.by)
        split = [group for group in split if len(group.sample.units.system.used()) > 1]
        if options.by is not None and not split:
            raise UsageError(f"no value of {options.by!r} has summaries of at least 2 systems")
        for family in ([whole], split):
            tables = [dict(zip(group.grid.systems, group.grid.judge, strict=True)) for group in family]
            pairs = paired_differences(tables, options.alpha, options.permutations, options.seed or 0)
            for group, table, differences in zip(family, tables, pairs, strict=True):
                about = merged(named(judge), group.fields(), study=STUDY, level=Level.SUMMARY.value)
                shared = shared_documents(table)
                means = {}
                for name, of_system in table.items():
                    # The mean is over the documents of the system's ranking, or over all if it is not ranked.
                    ranking = shared.ranking_of.get(name)
                    bootstrap = Bootstrap(len(of_system), options.resamples, options.confidence, options.seed or 0)
                    kept = True if ranking is None else shared.groups[ranking - 1].documents
                    details = {"own_documents": int((~np.isnan(of_system)).sum()), "ranking": ranking}
                    mean = bootstrap.mean(np.where(kept, of_system, np.nan))
                    means[name] = interval_row(mean, about, system=name, statistic="mean", details=details)
                values = {name: None if row.details["ranking"] is None else row.value for name, row in means.items()}
                scoreless = [name for name, row in means.items() if not row.details["own_documents"]]
                ranked = [each.counts for each in shared.groups]
                compared = Comparison(
                    values, differences, judge.aspect, options.alpha, scoreless=scoreless, groups=ranked
                )
                rows += _rows(means, compared, about, options, SYSTEM_DIFFERENCE)
                notes.append(f"By {label}{f' in {group.value}' if group.column else ''}: {compared.verdict()}")
                notes += [f"{judge.aspect}: {shared.note}"] if shared.note is not None else []
    return Study(STUDY, rows, notes)


def _rows(
    members: Mapping[str, Row],
    compared: Comparison,
    about: Mapping[str, Any],
    testing: Significance,
    statistic: str,
    fields: Sequence[Mapping[str, Any]] = (),
) -> Iterator[Row]:
    """Yield the rows of members (systems or judges), given by name, and those of their pairs and clusters.

    `fields` are additional fields of the row of each pair.
    """
    yield from members.values()
    for place, pair in enumerate(compared.pairs):
        yield pair_row(pair, testing.alpha, about, *fields[place : place + 1], statistic=statistic)
    undecided = [{pair.first, pair.second} for pair in compared.across_clusters]
    for name, row in members.items():
        number = compared.clusters[name]
        part = next(part for part in compared.parts if name in part.values or part is compared.parts[-1])
        reason = "no value to rank by" if row.value is None else "not ranked"
        same = {name: row.details[name] for name in ("run", "ranking") if name in row.details}
        details = {
            "member": name,
            "of": row.value,
            "equals": [] if number is None else [other for other, at in part.clusters.items() if at == number],
            "not_told_apart": [other for other in members if {name, other} in undecided],
            "alpha": testing.alpha,
        }
        update: dict[str, Any] = dict.fromkeys(("p", "low", "high", "interval"))
        update |= {"statistic": "cluster", "value": None if number is None else float(number)}
        update |= {"status": status_of(number), "reason": None if number is not None else reason}
        yield row.model_copy(update={**update, "details": {**about.get("details", {}), **same, **details}})


_OF_PAIR = {
    "first": "first", "second": "second", "p_holm": "p_holm", "family": "comparisons", "better": "better",
    "least_p": "least_p", "method": "method", "units": "units", "by": "unit",
}  # fmt: skip
"""Names in `details` of the fields of a `PairDifference` for which a row has no field."""


def pair_row(pair: PairDifference, alpha: float, *about: Mapping[str, Any], **fields: Any) -> Row:
    """Return the row of a pair, with the corrected test in `details`."""
    details = {name: getattr(pair, field) for field, name in _OF_PAIR.items()} | {"alpha": alpha}
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


def pair_sentence(row: Row, names: Mapping[str, str] | None = None, subject: str | None = None) -> str:
    """Return a sentence with the verdict on the pair of a row made by `pair_row`.

    `names` replaces the names of the members. For `subject`, see `Comparison.sentence`.
    """
    of_row = {name: getattr(row, name) for name in ("p", "low", "high", "n", "missing", "reason")}
    of_pair = {field: row.details[name] for field, name in _OF_PAIR.items() if name in row.details}
    for side in ("first", "second", "better"):
        of_pair[side] = (names or {}).get(of_pair[side], of_pair[side])
    pair = PairDifference(difference=row.value, **of_row, **of_pair)
    verb = None if row.statistic == SYSTEM_DIFFERENCE else AGREES_BETTER
    aspect = row.gold_aspect or row.aspect or ""
    return Comparison({}, [pair], aspect, row.details["alpha"], Phrase(aspect), verb).sentence(pair, subject)


# ---- matrices ----


def matrices(study: Study) -> list[Table]:
    """Return one table per family of pairs, with one line per member and one column per rival.

    The best member is first. `+` means that the member of the line is significantly better than the rival, `-` that it
    is significantly worse, and `.` that the two do not differ significantly.
    """
    tables: list[Table] = []
    family: list[Row] = []
    labels = judge_labels(study.rows)
    for place, row in enumerate(study):
        family.append(row)
        is_last = place + 1 == len(study) or study[place + 1].statistic != "cluster"
        if row.statistic == "cluster" and is_last:
            tables.append(_matrix(family, labels[place]))
            family = []
    return tables


def _matrix(family: Sequence[Row], judge: str | None) -> Table:
    clustered = [row for row in family if row.statistic == "cluster"]
    members = {row.details["member"]: member for row, member in zip(clustered, family, strict=False)}
    better: dict[frozenset[str], str | None] = {
        frozenset((row.details["first"], row.details["second"])): row.details["better"] for row in family if row.pair
    }
    order = sorted(
        clustered,
        key=lambda row: (
            row.value is None, row.details.get("ranking") or 0, row.value or 0.0, -(row.details["of"] or 0.0)
        ),
    )  # fmt: skip
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
    groups = (group_label(first), None if of_systems else first.system)
    inside = "".join(f" in {group}" for group in groups if group)
    title = f"{first.aspect} by {judge}{inside}" if of_systems else f"{first.gold_aspect}, judges and people{inside}"
    heads = ["", "", first.statistic, "interval", "n", "cluster", *map(str, range(1, len(names) + 1))]
    return Table.of(heads, lines, align="rlrlrr", title=title)


# ---- judges ----


def _judges(judge: JudgeInput, gold: Gold, options: CompareOptions) -> Study:
    level, average = Level(options.level), Average(options.average)
    check_average(level, average)
    read = meta_input(judge, gold, options)
    samples = list(all_pairs(read, level, options))
    sentences = notes(read, options, level, samples)
    by_gold: dict[tuple[str, str], list[Sample]] = {}
    for pairs in samples:
        by_gold.setdefault((pairs.gold.aspect, pairs.gold.signature), []).append(pairs)
    rows: list[Row] = []
    draws = resampling(min(options.resamples, _MAX_RESAMPLES), options.confidence, options.seed or 0)
    for judges in by_gold.values():
        people = judges[0].gold
        if len(judges) == 1:
            sentences.append(f"{people.aspect}: only {judges[0].judge.judge} judged it, so nothing is compared")
            continue
        groups_of: dict[tuple[str | None, str | None], tuple[Group, dict[str, Sample]]] = {}
        for name, pairs in zip(unique_labels([pairs.judge for pairs in judges]), judges, strict=True):
            for group in groups(pairs, options.by):
                groups_of.setdefault((group.column, group.value), (group, {}))[1][name] = group.sample
        # One family of tests has all units, and the other the groups that several judges judged.
        whole, *split = groups_of.values()
        for family in ([whole], [part for part in split if len(part[1]) > 1]):
            samples_of = [of_judges for _, of_judges in family]
            differences = judge_differences(samples_of, options.coefficient, level, average, options)
            for (group, of_judges), tested in zip(family, differences, strict=True):
                about = merged(
                    group.fields(), study=STUDY, gold_aspect=people.aspect, gold_signature=people.signature,
                    level=level.value, average=average.value,
                )  # fmt: skip
                members = {}
                for name, paired in of_judges.items():
                    got = estimate(paired.at(level), options.coefficient, draws, average)
                    row = {"statistic": options.coefficient, "details": {"name": name}}
                    members[name] = interval_row(got, about, named(paired.judge), row)
                aspects = {paired.judge.aspect for paired in of_judges.values()}
                about |= {"aspect": next(iter(aspects)) if len(aspects) == 1 else None}
                values = {name: row.value for name, row in members.items()}
                compared = Comparison(
                    values, [pair for pair, _ in tested], people.aspect, options.alpha, verb=AGREES_BETTER
                )
                fields = [fields for _, fields in tested]
                rows += _rows(members, compared, about, options, f"{options.coefficient}_difference", fields)
                where = f" in {group.value}" if group.column else ""
                what = f"{options.coefficient}, {level.value} level, {average.value}"
                sentences.append(f"Judges{where} ({what}): {compared.verdict()}")
    if not rows:
        raise UsageError("a comparison needs at least 2 judges of the same aspect; give further runs")
    return Study(STUDY, rows, sentences)


def judge_differences(
    families: Sequence[Mapping[str, Sample]],
    coefficient: str,
    level: Level,
    average: Average,
    testing: Significance,
) -> list[list[tuple[PairDifference, dict[str, Any]]]]:
    """Return the differences of all pairs of judges in each family, with additional row fields.

    A family maps names to samples of a judge and people. One correction covers all families. Each test uses the units
    judged by people and by both judges. `coefficient` is a correlation, or AUROC, which must be pooled and below the
    system level.
    """
    pairs_of = [list(combinations(judges.items(), 2)) for judges in families]
    size = sum(map(len, pairs_of))
    differences: list[PairDifference] = []
    fields: list[dict[str, Any]] = []
    for (name, a), (other, b) in chain.from_iterable(pairs_of):
        union = Sample.join([a.of_raters(0), b.of_raters(0), b.of_raters(1)], a.units.context, explain=False)
        both = union.take(union.complete)
        sides = (name, other), both.of_raters(0, 2), both.of_raters(1, 2), coefficient
        if average is Average.POOLED:
            pair, details = _pooled(*sides, level, testing, size)
        else:
            pair, details = _averaged(*sides, average, testing, size)
        differences.append(pair._replace(missing=int((~np.isnan(union.y)).sum()) - len(both)))
        signatures = {"first_signature": a.judge.signature, "second_signature": b.judge.signature}
        fields.append({"signature": " vs ".join(signatures.values()), "details": {**details, **signatures}})
    tested = zip(corrected(differences, testing.alpha), fields, strict=True)
    return [list(islice(tested, len(pairs))) for pairs in pairs_of]


def _pooled(
    names: tuple[str, str], first: Sample, second: Sample, kind: str, level: Level, testing: Significance, family: int
) -> tuple[PairDifference, dict[str, Any]]:
    left, right = first.at(level), second.at(level)
    documents = left.units.document.codes if left.summaries is None else None
    units, by = (len(left), level.value) if documents is None else (len(np.unique(documents)), "document")
    permutations = testing.permutations if kind == "pearson" else min(testing.permutations, _MAX_RANK_PERMUTATIONS)
    permutations = max(permutations, enough_permutations(family, testing.alpha, 1))  # each is a correlation
    sides = left.y, left.x, right.x
    got = permute_correlations(*sides, kind, documents, permutations, testing.seed)
    details: dict[str, Any] = {f"{side}_value": value for side, value in got.details.items()}
    details["permutations"] = permutations
    if kind == "pearson":
        test = williams(left.y, left.x, right.x)
        details |= {"williams_t": test.details.get("t"), "p_williams": test.p}
    low, high, interval_text, why = None, None, None, got.reason
    if got.value is not None:
        # The interval resamples documents; means of systems are recomputed in each draw.
        (of_first, clusters), (of_second, _) = (pooled_measurement(side, STATISTICS[kind]) for side in (left, right))
        bootstrap = Bootstrap(
            clusters, min(testing.resamples, _MAX_RESAMPLES), 1 - testing.alpha / family, testing.seed
        )
        drawn = bootstrap.interval(
            lambda weights: of_first.weighted(weights) - of_second.weighted(weights), width=len(clusters)
        )
        low, high, interval_text, why = drawn.low, drawn.high, drawn.interval, drawn.reason
    if low is not None and high is not None:
        # The correction can later move an end of an interval that contradicts the test.
        details["standard_error"] = (high - low) / (2 * NormalDist().inv_cdf(1 - testing.alpha / family / 2))
    pair = PairDifference(
        *names, got.value, low, high, got.p, None, family, got.n, 0, units, least_p(units, permutations),
        better=None, reason=why, text=interval_text, method=f"exchange of scores by {by}", by=by,
    )  # fmt: skip
    return pair, details


def _averaged(
    names: tuple[str, str],
    first: Sample,
    second: Sample,
    kind: str,
    average: Average,
    testing: Significance,
    family: int,
) -> tuple[PairDifference, dict[str, Any]]:
    """Return the difference of averaged correlations of two judges.

    The test exchanges the correlations within documents (or systems).
    """
    labels, by = list(first.units.groups_of(average).labels()), average.value
    left, right = (correlation_by_group(side.x, side.y, labels, kind) for side in (first, second))
    a, b = (np.array([by_group[key].value for key in left], dtype=np.float64) for by_group in (left, right))
    (pair,) = permuted_differences(
        [names], (a - b)[:, None], testing.alpha, family, testing.permutations, testing.seed, by
    )
    details = {"groups": pair.n, "groups_undefined": pair.missing}
    return pair._replace(n=len(first), method=f"exchange of the correlations within a {by}"), details
