"""Which judge for these data? Agreement with people, cost, systems, length, and what more labels would settle.

One statistic serves all judges of an aspect, so that they can be compared: AUROC where people said yes or no (of a
judge that says only 0 and 1 it is the balanced accuracy), else Spearman's correlation. It is taken over sentences where
people and every judge have them, else over summaries. Judges are compared as `compare` compares them: pair by pair, by
the permutation test, corrected for the number of pairs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from summeter.choices import AggregationRule, Average, Level
from summeter.meta._compare import AgreementTask, judge_differences, pair_row
from summeter.meta.coefficients import AUROC
from summeter.meta.gold import aspects as judged_aspects
from summeter.meta.inputs import Gold
from summeter.meta.measure import estimate
from summeter.meta.options import Choice, Draws, GoldAtLeast, Selection, Significance, study
from summeter.meta.results import (
    Row,
    Study,
    interval_row,
    judge_key,
    judge_labels,
    merged,
    named,
    status_of,
)
from summeter.meta.sample import Sample, are_decisions
from summeter.meta.selection import MetaInput, all_pairs, meta_input, wanted
from summeter.meta.verdicts import (
    ABOVE,
    AGREES_BETTER,
    POWER,
    Comparison,
    against_chance,
    agreement,
    labels_needed,
    labels_sentence,
)
from summeter.records import JudgeKey, UsageError, judge_names
from summeter.runs.calls import CallStore
from summeter.runs.run import CALLS, RunFolder
from summeter.scoring import COMPOSITE
from summeter.scoring.table import Question
from summeter.stats import MIN_DOCUMENTS, Estimate, PairDifference
from summeter.stats.resample import Resampling
from summeter.tables import Column, Table, number, plain
from summeter.tables import interval as shown_interval

STUDY = "advise"
SPEARMAN = "spearman"
FREE = "no model was paid for"


class Candidate(NamedTuple):
    """A judge on one aspect: its agreement, its US dollars per 1,000 summaries (None, and why, where unknown)."""

    run: RunFolder
    pairs: Sample
    statistic: str
    agreement: Estimate
    cost: float | None
    reason: str | None

    @property
    def verdict(self) -> str:
        """Whether the labels tell the judge from chance."""
        own = self.agreement
        return against_chance(self.statistic, own.low, own.high, own.clusters)

    @property
    def words(self) -> str:
        """Its agreement with people, and why the labels do not show that it is better than chance where they do not."""
        own = self.agreement
        shown = agreement(
            self.statistic, own.value, own.low, own.high, verdict=self.verdict, n=own.n, level=str(self.pairs.level)
        )
        few = f"; {own.clusters} labelled document{'s' * (own.clusters != 1)}, fewer than {MIN_DOCUMENTS}"
        return shown + (few if own.clusters < MIN_DOCUMENTS else "")

    def fields(self) -> dict[str, Any]:
        """What names it in a row."""
        about = {"study": STUDY, "level": str(self.pairs.level), "average": "pooled"}
        return {**named(self.pairs.judge, self.pairs.gold), **about}


class AdviseOptions(Selection, GoldAtLeast, Draws):
    """The options of `advise`."""

    level: Annotated[str | None, Choice(Level, "level")] = Field(
        None, description="sentence or summary; default: sentences where people and all judges judged them."
    )


@study(AdviseOptions)
def advise(runs: RunFolder | Sequence[RunFolder], gold: Gold | None, options: AdviseOptions) -> Study:
    """Say which judge of these runs suits such data, by agreement, cost, time and bias, and whether labels suffice.

    `gold` is by default what people judged in the first run's data.

    Rows of the study "advise": for each judge `auroc` or `spearman`, with `details.frontier` (no judge agrees better
    for less money) and `details.recommended`; `cost_per_1000` and `seconds_per_1000` (for 1,000 summaries: US dollars,
    and seconds that calls took, one after the other, and that this processor computed); for the best judge and the
    recommended one, else the next best ("A-B"), the `difference` (fields as in `compare_evaluators`) and
    `labels_needed`, how many labelled documents would tell them apart with probability 0.8. A judge that cannot be
    compared has a row `agreement` without a value, and the reason. The notes contain the recommendation.

    The recommended judge is the cheapest one that agrees with people above chance (its interval excludes chance, with
    at least 6 documents) and is not significantly worse than the best such judge. If no judge does, none is
    recommended. Raises UsageError if no judge shares an aspect with people.
    """
    folders = [runs] if isinstance(runs, RunFolder) else list(runs)
    if not folders:
        raise UsageError("no run given")
    resample = options.resampling
    if options.merge == AggregationRule.EACH:
        raise UsageError(
            "judges are set beside one value of people for each unit; the option merge must be a rule that makes one "
            "value of several (auto, mean, majority ...), or the id of one annotator"
        )
    people = folders[0].data if gold is None else gold
    reads = [(folder, meta_input(folder, people, options)) for folder in folders]
    found, rows = _candidates(reads, options, resample)
    names = judge_names(
        [*(judge_key(candidate.pairs.judge) for candidate in found), *(judge_key_of(row) for row in rows)]
    )
    notes = [f"left out: {names[judge_key_of(row)]} on {row.aspect}: {row.reason}" for row in rows]
    testing = Significance(resamples=options.resamples, confidence=options.confidence, seed=options.seed)
    for aspect in dict.fromkeys(candidate.pairs.gold.aspect for candidate in found):
        of_aspect = [candidate for candidate in found if candidate.pairs.gold.aspect == aspect]
        named_candidates = {names[judge_key(candidate.pairs.judge)]: candidate for candidate in of_aspect}
        block, advice = _of_aspect(aspect, named_candidates, testing)
        rows += block
        notes.append(advice)
    return Study(STUDY, rows, notes)


def overview(study: Study) -> Table:
    """A line a judge and aspect: agreement, price, time, and marks: `frontier` where no judge agrees better for less
    money, `use` where it is recommended."""
    whole = [row for row in study if row.statistic in (AUROC, SPEARMAN)]
    lines = []
    for name, row in zip(judge_labels(whole), whole, strict=True):
        own = study.where(signature=row.signature, aspect=row.aspect, gold_aspect=row.gold_aspect)
        figures = {each.statistic: each.value for each in own}
        marks = [mark for key, mark in (("frontier", "frontier"), ("recommended", "use")) if row.details[key]]
        lines.append((
            name, row.aspect if row.aspect == row.gold_aspect else f"{row.aspect}:{row.gold_aspect}", row.level,
            row.statistic, row.value, shown_interval(row.low, row.high), row.n, figures.get("cost_per_1000"),
            figures.get("seconds_per_1000"), ", ".join(marks),
        ))  # fmt: skip
    heads = ("judge", "aspect", "level", "statistic", "value", "interval", "n", "$ per 1000", "s per 1000", "")
    shown = {"value": number, "$ per 1000": number, "s per 1000": number}
    return Table(tuple(Column(head, show=shown.get(head, plain)) for head in heads), tuple(lines))


def judge_key_of(row: Row) -> JudgeKey:
    """What tells the judge of a row from its namesakes."""
    return JudgeKey(row.judge or "", row.signature or "", row.model)


def _candidates(
    reads: Sequence[tuple[RunFolder, MetaInput]], options: AdviseOptions, resample: Resampling
) -> tuple[list[Candidate], list[Row]]:
    """The judges that can be compared with people, and a row for each that cannot."""
    questions = {run.folder: read.judge.questions(judge=options.judge) for run, read in reads}
    there = list(dict.fromkeys(question.aspect for own in questions.values() for question in own))
    people = judged_aspects(reads[0][1].gold)
    aspects = wanted(options, there, people) if there else []
    by_level: dict[Level, dict[tuple[str, str, str], tuple[RunFolder, Sample]]] = {}
    lost: UsageError | None = None
    for level in [Level(options.level)] if options.level is not None else [Level.SENTENCE, Level.SUMMARY]:
        at_level = by_level.setdefault(level, {})
        for run, read in reads:
            in_run = {question.aspect for question in questions[run.folder]}
            own = tuple(f"{judge}:{gold}" for judge, gold in aspects if judge in in_run)
            if there and not own:
                continue
            try:
                for pairs in all_pairs(read, level, options.model_copy(update={"aspect": own})):
                    at_level.setdefault(_key(pairs), (run, pairs))
            except UsageError as error:
                lost = error
    found: list[Candidate] = []
    levels: dict[str, Level] = {}
    for aspect in dict.fromkeys(key[0] for at_level in by_level.values() for key in at_level):
        of_aspect = {
            level: [own for key, own in at_level.items() if key[0] == aspect] for level, at_level in by_level.items()
        }
        # Sentences where every judge has them, else summaries.
        levels[aspect] = max(of_aspect, key=lambda level: len(of_aspect[level]))
        judged = of_aspect[levels[aspect]]
        statistic = AUROC if all(are_decisions(pairs.y) for _, pairs in judged) else SPEARMAN
        found += [
            Candidate(run, pairs, statistic, estimate(pairs, statistic, resample), *_cost(run, pairs.judge.signature))
            for run, pairs in judged
        ]
    if not found:
        raise lost or UsageError("nobody judged what people judged")
    compared = {_key(candidate.pairs)[1:] for candidate in found}
    golds = dict(aspects)
    left_out: dict[Question, Row] = {}
    for question in chain.from_iterable(questions.values()):
        asked = question.aspect in golds or not options.aspects
        if (question.signature, question.aspect) in compared or question.aspect == COMPOSITE or not asked:
            continue
        gold = golds.get(question.aspect)
        left_out[question] = Row(
            study=STUDY, **question._asdict(), gold_aspect=gold, statistic="agreement", value=None, status="undefined",
            n=0, reason=f"people did not judge {question.aspect}" if gold is None
            else f"it has no score of a {levels[gold].value if gold in levels else 'unit'} that people judged",
        )  # fmt: skip
    return found, list(left_out.values())


def _key(pairs: Sample) -> tuple[str, str, str]:
    """People's aspect, and the judge's signature and aspect: what makes a candidate."""
    return pairs.gold.aspect, pairs.judge.signature, pairs.judge.aspect


def _cost(run: RunFolder, signature: str) -> tuple[float | None, str | None]:
    """US dollars for 1,000 summaries, or why nobody knows."""
    parts = signature.split(" + ")  # a composite's parts
    entries = [judge for judge in run.manifest.judges if judge.signature in parts]
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
    """Seconds that the calls behind 1,000 summaries took, added up, and those that this processor computed for them;
    None where none is known."""
    parts = signature.split(" + ")  # a composite's parts
    work = [run.totals.work[part] for part in parts if part in run.totals.work]
    entries = [judge for judge in run.manifest.judges if judge.signature in parts]
    rests_on = dict.fromkeys(chain(parts, *(judge.members for judge in entries)))
    items = max((each.items for each in work), default=0)
    total, timed = 0.0, 0
    for name in rests_on:
        spent, judged = run.manifest.compute.get(name), run.totals.work.get(name)
        if spent is not None and spent.items and judged is not None and items:
            # What a cascade's member judged is a part of the cascade's items.
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


def _of_aspect(aspect: str, named: Mapping[str, Candidate], testing: Significance) -> tuple[list[Row], str]:
    """The rows of the judges of one aspect, and the recommendation."""
    ranked = sorted(
        (name for name, own in named.items() if own.agreement.value is not None),
        key=lambda name: (-(named[name].agreement.value or 0.0), named[name].cost is None, named[name].cost or 0.0),
    )
    pairs: dict[tuple[str, str], tuple[PairDifference, dict[str, Any]]] = {}
    if len(ranked) > 1:
        first = named[ranked[0]]
        task = AgreementTask(first.statistic, Level(first.pairs.level), Average.POOLED, testing)
        (tested,) = judge_differences([{name: named[name].pairs for name in ranked}], task)
        pairs = {(pair.first, pair.second): (pair, fields) for pair, fields in tested}
    sound = [name for name in ranked if named[name].verdict == ABOVE]
    equal = [name for name in sound if name == sound[0] or pairs[sound[0], name][0].better != sound[0]]
    priced = [name for name in equal if named[name].cost is not None]
    recommended = equal[0] if equal else None
    if priced and named[equal[0]].cost is not None:
        recommended = min(priced, key=lambda name: named[name].cost or 0.0)
    rows: list[Row] = []
    for name, own in named.items():
        details = {"frontier": name in ranked and _on_frontier(own, named.values()), "recommended": name == recommended}
        rows.append(interval_row(own.agreement, own.fields(), statistic=own.statistic, details=details))
        rows.append(
            Row(**own.fields(), statistic="cost_per_1000", value=own.cost, n=len(own.pairs.units.document.used()),
                status="undefined" if own.cost is None else "ok", reason=own.reason)
        )  # fmt: skip
        seconds = _seconds(own.run, own.pairs.judge.signature)
        rows.append(
            Row(**own.fields(), statistic="seconds_per_1000", value=seconds, n=len(own.pairs.units.document.used()),
                status="undefined" if seconds is None else "ok",
                reason="the run says nothing of its time" if seconds is None else None)
        )  # fmt: skip
    if not ranked:
        return rows, f"{aspect}: no judge can be recommended: {next(iter(named.values())).agreement.reason}."
    if recommended is None:
        return rows, f"{aspect}: no judge can be recommended: the best is {ranked[0]}, {named[ranked[0]].words}."
    own = named[recommended]
    price = own.reason if own.cost is None else f"${own.cost:.2f} per 1,000 summaries" if own.cost else FREE
    advice = f"{aspect}: use {recommended} ({own.words}; {price})."
    if len(ranked) == 1:
        return rows, f"{advice} It is the only judge of {aspect} here."
    best = sound[0]
    other = next(name for name in (recommended, *sound[1:], *ranked) if name != best)
    pair, fields = pairs[(best, other) if (best, other) in pairs else (other, best)]
    about = merged(own.fields(), fields, judge=None, model=None)
    of_pair = pair_row(pair, testing, about, statistic="difference", details={"of": own.statistic})
    needed = labels_needed(pair, fields["details"].get("standard_error"), testing.alpha)
    about |= {"details": {"power": POWER}, "pair": of_pair.pair, "n": pair.units}
    rows += [
        of_pair,
        Row(**about, statistic="labels_needed", value=needed, status=status_of(needed),
            reason=None if needed is not None else "the two agree with people alike, or there is no interval"),
    ]  # fmt: skip
    advice = f"{advice} {Comparison({}, [pair], aspect, testing.alpha, verb=AGREES_BETTER).sentence(pair)}"
    if pair.better is None and needed is not None:
        advice += f"; {labels_sentence(needed)} (there are {pair.units:,})"
    return rows, f"{advice}."


def _on_frontier(own: Candidate, others: Any) -> bool:
    if own.cost is None or own.agreement.value is None:
        return False
    return not any(
        other.cost is not None and other.agreement.value is not None
        and (other.cost, -other.agreement.value) != (own.cost, -own.agreement.value)
        and other.cost <= own.cost and other.agreement.value >= own.agreement.value
        for other in others
    )  # fmt: skip
