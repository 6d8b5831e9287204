"""Recommend a judge for a dataset by agreement with people and by cost.

All judges of an aspect are compared by the same statistic: AUROC if human values are 0 or 1 (which equals balanced
accuracy for a judge that makes decisions), and otherwise Spearman's correlation. The units are sentences if people and
all judges judged sentences, and otherwise summaries. Pairs of judges are tested as in `compare`, with a permutation
test and a correction for the number of pairs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from summeter.choices import AggregationRule, Average, Level
from summeter.meta._compare import judge_differences, pair_row
from summeter.meta._trust import TrustOptions, trust
from summeter.meta.inputs import Gold, RunLike, judge_input
from summeter.meta.measure import AUROC, STATISTICS, estimate
from summeter.meta.options import Choice, Draws, GoldAtLeast, Selection, Significance, study
from summeter.meta.results import (
    Row,
    Study,
    interval_row,
    judge_labels,
    key_of,
    merged,
    named,
)
from summeter.meta.sample import Sample, are_decisions
from summeter.meta.selection import MetaInput, meta_input, pairs_by_level, wanted
from summeter.meta.selection import aspects as judged_aspects
from summeter.meta.verdicts import (
    ABOVE,
    AGREES_BETTER,
    POWER,
    UNDECIDED,
    Comparison,
    against_chance,
    agreement,
    labels_needed,
    labels_sentence,
)
from summeter.records import UsageError, judge_names
from summeter.runs.calls import CallStore
from summeter.runs.run import CALLS, RunFolder
from summeter.scoring import COMPOSITE
from summeter.stats import MIN_DOCUMENTS, Estimate, PairDifference, error_to_find, labels_to_find
from summeter.stats.base import undefined
from summeter.tables import Column, Table, number, plain
from summeter.tables import interval as shown_interval

STUDY = "advise"
SPEARMAN = "spearman"
FREE = "no paid model"


class Candidate(NamedTuple):
    """A judge on one aspect, with its agreement and its cost.

    The cost is in US dollars per 1,000 summaries; if it is None, `reason` says why.
    """

    run: RunFolder
    pairs: Sample
    statistic: str
    agreement: Estimate
    cost: float | None
    reason: str | None

    @property
    def verdict(self) -> str:
        """Verdict on whether the agreement differs significantly from chance."""
        return against_chance(self.statistic, self.agreement.low, self.agreement.high, self.agreement.clusters)

    @property
    def words(self) -> str:
        """Phrase that states the agreement with people, and whether there are too few documents."""
        own = self.agreement
        shown = agreement(
            self.statistic, own.value, own.low, own.high, verdict=self.verdict, n=own.n, level=str(self.pairs.level)
        )
        few = f"; {own.clusters} labelled document{'s' * (own.clusters != 1)}, fewer than {MIN_DOCUMENTS}"
        return shown + (few if own.clusters < MIN_DOCUMENTS else "")

    def fields(self) -> dict[str, Any]:
        """Return the fields that identify a row of this judge."""
        about = {"study": STUDY, "level": str(self.pairs.level), "average": "pooled"}
        return {**named(self.pairs.judge, self.pairs.gold), **about}

    def labels_needed(self, confidence: float) -> int | None:
        """Return the number of labelled documents that would tell the judge from chance with power `POWER`.

        Returns None if the judge does not agree better than chance, or if the agreement has no interval.
        """
        own, chance = self.agreement, STATISTICS[self.statistic].chance
        above = (own.value or 0.0) - (chance or 0.0)
        if self.verdict != UNDECIDED or above <= 0 or own.low is None or own.high is None or own.clusters is None:
            return None
        error = error_to_find((own.high - own.low) / 2, confidence)
        return max(MIN_DOCUMENTS, labels_to_find(own.clusters, error, error_to_find(above, confidence, POWER)))


class AdviseOptions(Selection, GoldAtLeast, Draws):
    """The options of `advise`."""

    level: Annotated[str | None, Choice(Level, "level")] = Field(
        None,
        description="Level of the units: sentence or summary. Default: sentences if people and all judges judged them.",
    )


@study(AdviseOptions)
def advise(runs: RunLike, gold: Gold | None, options: AdviseOptions) -> Study:
    """Recommend one of the judges of the runs, by agreement with people, cost and time.

    `gold` is by default the human judgments in the data of the first run.

    Rows have the study "advise". Each judge has a row `auroc` or `spearman`, with `details.frontier` (True if no
    cheaper judge agrees as well), `details.recommended` and, for the recommended judge, `details.trust` (the verdict of
    `trust`, or None if it cannot compare the judge with people), and the rows `cost_per_1000` and `seconds_per_1000`
    (US dollars and seconds per 1,000 summaries; the seconds include sequential calls and local computation). The best
    judge is compared with the recommended one, or with the next best if it is recommended itself, in the rows
    `difference` ("A-B", with the fields of `compare`) and `labels_needed`, the number of labelled documents needed to
    detect the difference with power 0.8. If no judge is recommended, because the best cannot be told from chance, its
    row `labels_needed` is the number that would tell it from chance with that power. A judge that cannot be compared
    has a row `agreement` without a value. The notes contain the recommendation.

    The recommended judge is the cheapest of those that agree significantly better than chance (on at least 6 documents)
    and are not significantly worse than the best of these. If no judge qualifies, none is recommended. Raises
    UsageError if no judge has an aspect in common with people.
    """
    judges = judge_input(runs)
    if not judges.folders:
        raise UsageError("no run given")
    if options.merge == AggregationRule.EACH:
        raise UsageError(
            "judges are compared with one human value per unit; the option merge must be auto, mean, majority, "
            "mode_else_mean or the id of one annotator"
        )
    read = meta_input(judges, judges.data if gold is None else gold, options)  # type: ignore[arg-type]  # a run has data
    found, rows = _candidates(read, options)
    names = judge_names([*(candidate.pairs.judge.key for candidate in found), *map(key_of, rows)])
    notes = [f"left out: {names[key_of(row)]} on {row.aspect}: {row.reason}" for row in rows if row.gold_aspect]
    testing = Significance(resamples=options.resamples, confidence=options.confidence, seed=options.seed)
    for aspect in dict.fromkeys(candidate.pairs.gold.aspect for candidate in found):
        of_aspect = [candidate for candidate in found if candidate.pairs.gold.aspect == aspect]
        named_candidates = {names[candidate.pairs.judge.key]: candidate for candidate in of_aspect}
        block, advice = _of_aspect(aspect, named_candidates, testing, lambda chosen: _trust(chosen, gold, options))
        rows += block
        notes.append(advice)
    return Study(STUDY, rows, notes)


def overview(study: Study) -> Table:
    """Return a table with one line per judge and aspect: agreement, cost, time and marks.

    The mark `frontier` means that no cheaper judge agrees as well, and `use` that the judge is recommended.
    """
    whole = [row for row in study if row.statistic in (AUROC, SPEARMAN)]
    lines = []
    for name, row in zip(judge_labels(whole), whole, strict=True):
        own = study.where(aspect=row.aspect, gold_aspect=row.gold_aspect)
        figures = {each.statistic: each.value for each in own if key_of(each) == key_of(row)}
        marks = [mark for key, mark in (("frontier", "frontier"), ("recommended", "use")) if row.details[key]]
        lines.append((
            name, row.aspect if row.aspect == row.gold_aspect else f"{row.aspect}:{row.gold_aspect}", row.level,
            row.statistic, row.value, shown_interval(row.low, row.high), row.n, figures.get("cost_per_1000"),
            figures.get("seconds_per_1000"), ", ".join(marks),
        ))  # fmt: skip
    heads = ("judge", "aspect", "level", "statistic", "value", "interval", "n", "$ per 1000", "s per 1000", "advice")
    shown = {"value": number, "$ per 1000": number, "s per 1000": number}
    return Table(tuple(Column(head, show=shown.get(head, plain)) for head in heads), tuple(lines))


def _candidates(read: MetaInput, options: AdviseOptions) -> tuple[list[Candidate], list[Row]]:
    """Return the judges that can be compared with people, and a row for each other judge."""
    questions = read.judge.questions(judge=options.judge)
    wanted_levels = [Level(options.level)] if options.level is not None else [Level.SENTENCE, Level.SUMMARY]
    by_level = dict(pairs_by_level(read, wanted_levels, options))
    found: list[Candidate] = []
    levels: dict[str, Level] = {}
    for aspect in dict.fromkeys(pairs.gold.aspect for at_level in by_level.values() for pairs in at_level):
        of_aspect = {
            level: [pairs for pairs in at_level if pairs.gold.aspect == aspect] for level, at_level in by_level.items()
        }
        # The units are sentences if every judge judged sentences, and otherwise summaries.
        levels[aspect] = max(of_aspect, key=lambda level: len(of_aspect[level]))
        judged = of_aspect[levels[aspect]]
        statistic = AUROC if all(are_decisions(pairs.y) for pairs in judged) else SPEARMAN
        for pairs in judged:
            run, signature = read.judge.folders[pairs.judge.run], pairs.judge.signature
            agreement = estimate(pairs, statistic, options.resampling)
            found.append(Candidate(run, pairs, statistic, agreement, *_cost(run, signature)))
    compared = {(judge.signature, judge.aspect, judge.run) for judge in (candidate.pairs.judge for candidate in found)}
    golds = dict(wanted(options, [question.aspect for question in questions], judged_aspects(read.gold)))
    left_out: list[Row] = []
    for question in questions:
        selected = question.aspect in golds or not options.aspects
        if question[1:] in compared or question.aspect == COMPOSITE or not selected:
            continue
        gold = golds.get(question.aspect)
        reason = (
            f"people did not judge {question.aspect}" if gold is None
            else f"no score of a {levels[gold].value if gold in levels else 'unit'} that people judged"
        )  # fmt: skip
        fields = {**read.judge.fields(question), "gold_aspect": gold, "study": STUDY, "statistic": "agreement"}
        left_out.append(interval_row(undefined(reason), fields))
    return found, left_out


def _cost(run: RunFolder, signature: str) -> tuple[float | None, str | None]:
    """Return the cost of 1,000 summaries in US dollars, or None and the reason."""
    components = signature.split(" + ")  # of a composite
    entries = [judge for judge in run.manifest.judges if judge.signature in components]
    if entries and all(judge.imported for judge in entries):
        return None, "its judgments were imported"
    total = 0.0
    for judge in entries:
        used = run.manifest.judge_usage.get(judge.signature)
        if used is None or not used.calls:
            continue
        if used.cost is None or not used.items:
            return None, used.reason or "it judged nothing"
        total += 1000 * used.cost / used.items
    return total, None


def _seconds(run: RunFolder, signature: str) -> float | None:
    """Return the seconds of calls and local computation for 1,000 summaries, or None if unknown."""
    components = signature.split(" + ")  # of a composite
    work = [run.totals.work[name] for name in components if name in run.totals.work]
    entries = [judge for judge in run.manifest.judges if judge.signature in components]
    rests_on = dict.fromkeys(chain(components, *(judge.members for judge in entries)))
    items = max((each.items for each in work), default=0)
    total, timed = 0.0, 0
    for name in rests_on:
        spent, judged = run.manifest.compute.get(name), run.totals.work.get(name)
        if spent is not None and spent.items and judged is not None and items:
            # A member of a cascade judged only some of the items.
            total, timed = total + 1000 * spent.seconds / spent.items * judged.items / items, timed + 1
    if not (run.folder / CALLS).is_file() or not any(each.items for each in work):
        return total if timed else None
    with CallStore(run.folder / CALLS, readonly=True) as store:
        for each in work:
            for completion in store.values(tuple(each.calls)).values():
                seconds = json.loads(completion).get("seconds")
                if isinstance(seconds, int | float):
                    total, timed = total + 1000 * seconds / max(1, each.items), timed + 1
    return total if timed else None


def _trust(candidate: Candidate, gold: Gold | None, options: AdviseOptions) -> str | None:
    """Return the verdict of `trust` on a judge, or None if `trust` cannot compare its votes with people's."""
    judge = candidate.pairs.judge
    shared = AdviseOptions.model_fields.keys() & TrustOptions.model_fields.keys()
    keywords = {name: getattr(options, name) for name in shared}
    keywords |= {"judge": judge.signature, "aspect": f"{judge.aspect}:{candidate.pairs.gold.aspect}", "level": None}
    try:
        return trust(candidate.run, gold, **keywords).verdict
    except UsageError:
        return None


def _of_aspect(
    aspect: str, named: Mapping[str, Candidate], testing: Significance, verdict: Callable[[Candidate], str | None]
) -> tuple[list[Row], str]:
    """Return the rows of the judges of one aspect, and the recommendation with the verdict on the recommended judge."""
    ranked = sorted(
        (name for name, candidate in named.items() if candidate.agreement.value is not None),
        key=lambda name: (-(named[name].agreement.value or 0.0), named[name].cost is None, named[name].cost or 0.0),
    )
    pairs: dict[tuple[str, str], tuple[PairDifference, dict[str, Any]]] = {}
    if len(ranked) > 1:
        first = named[ranked[0]]
        samples = {name: named[name].pairs for name in ranked}
        (tested,) = judge_differences([samples], first.statistic, Level(first.pairs.level), Average.POOLED, testing)
        pairs = {(pair.first, pair.second): (pair, fields) for pair, fields in tested}
    sound = [name for name in ranked if named[name].verdict == ABOVE]
    equal = [name for name in sound if name == sound[0] or pairs[sound[0], name][0].better != sound[0]]
    priced = [name for name in equal if named[name].cost is not None]
    recommended = equal[0] if equal else None
    if priced and named[equal[0]].cost is not None:
        recommended = min(priced, key=lambda name: named[name].cost or 0.0)
    trusted = None if recommended is None else verdict(named[recommended])
    rows: list[Row] = []
    for name, own in named.items():
        details: dict[str, Any] = {"frontier": _on_frontier(own, named.values()), "recommended": name == recommended}
        if name == recommended:
            details["trust"] = trusted
        rows.append(interval_row(own.agreement, own.fields(), statistic=own.statistic, details=details))
        documents = len(own.pairs.units.document.used())
        seconds = _seconds(own.run, own.pairs.judge.signature)
        for statistic, value, why in (
            ("cost_per_1000", own.cost, own.reason),
            ("seconds_per_1000", seconds, "the run did not record its time"),
        ):
            got = undefined(why or "", documents) if value is None else Estimate(value, documents)
            rows.append(interval_row(got, own.fields(), statistic=statistic))
    if not ranked:
        return rows, f"{aspect}: no judge can be recommended: {next(iter(named.values())).agreement.reason}."
    if recommended is None:
        own = named[ranked[0]]
        advice = f"{aspect}: no judge can be recommended: the best is {ranked[0]}, {own.words}."
        needed, documents = own.labels_needed(testing.confidence), own.agreement.clusters or 0
        if needed is not None:
            got = Estimate(needed, documents, details={"power": POWER})
            rows.append(interval_row(got, own.fields(), statistic="labels_needed"))
            settles = labels_sentence(needed, "tell it from chance")
            advice += f" There are too few labels: {settles} (there are {documents:,})."
        return rows, advice
    own = named[recommended]
    price = own.reason if own.cost is None else f"${own.cost:.2f} per 1,000 summaries" if own.cost else FREE
    if trusted is not None:
        price = f"{price}; `summeter trust`: {trusted}"
    if len(ranked) == 1:
        return rows, f"{aspect}: {recommended} is the only judge here ({own.words}; {price})."
    best = sound[0]
    other = next(name for name in (recommended, *sound[1:], *ranked) if name != best)
    pair, fields = pairs[(best, other) if (best, other) in pairs else (other, best)]
    about = merged(own.fields(), fields, judge=None, model=None)
    of_pair = pair_row(pair, testing.alpha, about, statistic="difference", details={"of": own.statistic})
    needed = labels_needed(pair, fields["details"].get("standard_error"), testing.alpha)
    why = "the difference is 0, or it has no interval"
    got = undefined(why, pair.units) if needed is None else Estimate(needed, pair.units)
    more = {"statistic": "labels_needed", "pair": of_pair.pair, "details": {"power": POWER}}
    rows += [of_pair, interval_row(got, about | more)]
    sentence = Comparison({}, [pair], aspect, testing.alpha, verb=AGREES_BETTER).sentence(pair)
    advice = f"{aspect}: use {recommended} ({own.words}; {price}). {sentence}"
    if pair.better is None and needed is not None:
        advice += f"; {labels_sentence(needed)} (there are {pair.units:,})"
    return rows, f"{advice}."


def _on_frontier(own: Candidate, others: Iterable[Candidate]) -> bool:
    """Return whether no cheaper judge agrees as well, and no judge of the same cost agrees better."""
    if own.cost is None or own.agreement.value is None:
        return False
    place = own.cost, -own.agreement.value
    places = [
        (other.cost, -other.agreement.value)
        for other in others
        if other.cost is not None and other.agreement.value is not None
    ]
    return not any(other != place and other[0] <= place[0] and other[1] <= place[1] for other in places)
