"""How far a judge can be trusted: its agreement with people, its errors, and a verdict with the rule behind it.

The votes are those of a run and its human judgments, or of any file with a judge and people. Everything is computed
from one sample, whose first rater is the judge and whose other raters are people.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import NormalDist
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import Field

from summeter.choices import AggregationRule, Level, Tie, ValueOrLabel
from summeter.data.dataset import Dataset
from summeter.meta._agree import VotesOptions, pair_with_others, votes_to_compare
from summeter.meta._bias import LENGTHS, NO_FAMILY, difference_of_means, length_estimates, own_family
from summeter.meta.inputs import Gold, JudgeInput, judge_input
from summeter.meta.judged_file import LABELS, FileOptions, JudgedItems, read_judged
from summeter.meta.measure import estimate
from summeter.meta.options import (
    AgreementCoefficient,
    By,
    Choice,
    CommandLine,
    Draws,
    Families,
    JudgmentSet,
    study,
)
from summeter.meta.results import Row, interval_row, merged, named, resampling
from summeter.meta.sample import (
    Rater,
    Sample,
    Units,
    are_decisions,
    group_means,
    mostly_within,
    rounded,
    rows_by_name,
)
from summeter.meta.selection import PEOPLE, group_fields, merged_votes, meta_input
from summeter.meta.texts import Texts
from summeter.meta.trust_study import STUDY, TrustStudy, coefficient_name
from summeter.meta.verdicts import POWER, SAME, listed
from summeter.records import Parameter, UsageError
from summeter.runs.run import RunFolder
from summeter.stats import (
    MIN_DOCUMENTS,
    Estimate,
    correlate,
    error_to_find,
    labels_to_find,
    paired_differences,
    ppi_mean,
)
from summeter.stats.alt_test import FEWEST_ITEMS, SCORES, AltTest, Wins, alt_test, balance, wins
from summeter.stats.base import Bools, Floats, Ints, mean_present, ratio, undefined
from summeter.stats.prevalence import effective_size, rogan_gladen
from summeter.tables import with_interval

REPLACES = "replaces people here"
CORRECTED = "useful with correction"
RANKS = "for ranking only"
CONSTANT = "not better than a constant"
TOO_FEW = "too few labels to tell"
USEFUL = 0.4
"""Agreement below which a judge without any other use is no better than a constant."""
SAVING = 0.1
"""Share of the labels that a judge must save, after correction, to be useful."""
SURE = 0.999
"""Confidence with which agreement must be above 0."""
RULE = {
    REPLACES: f"its agreement is above 0 with {SURE:.1%} confidence, and it passes the alternative annotator test "
    "in a form that a constant judge fails",
    CORRECTED: f"its agreement is above 0 with {SURE:.1%} confidence, and its scores save at least {SAVING:.0%} of the "
    "labels, but the test does not show that it can replace people",
    RANKS: f"its order of items agrees with people's with {SURE:.1%} confidence, but its values do not agree with "
    f"theirs, or save less than {SAVING:.0%} of the labels",
    CONSTANT: f"its agreement and its rank correlation are below {USEFUL:g} with 95% confidence, and they cannot be "
    "told from 0, or people's usual vote is closer to people than the judge",
    TOO_FEW: f"fewer than {FEWEST_ITEMS} items or {MIN_DOCUMENTS} documents have both votes, or its agreement can be "
    f"told neither from 0 ({SURE:.1%} confidence) nor from {USEFUL:g} (95%)",
}
"""The rule of each verdict."""
_CURVE = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
_PERMUTATIONS = 2000
_NO_DRAWS = resampling(0)
_MOST_GROUPS = 30
Source = RunFolder | JudgeInput | str | Path | Sequence[RunFolder] | Sequence[Mapping[str, Any]]
"""A run or several, the path of a run or of a file with votes, or rows in memory (also a data frame)."""
Similarity = Callable[[Any, Any], float]


class TrustOptions(FileOptions, JudgmentSet, AgreementCoefficient, By, Families, Draws):
    """The options of `trust`."""

    judge_at_least: float | None = Field(
        None, description="Values of the judge of at least this count as 1. Default: 0.5 if people's votes are 0 and 1."
    )
    score: Annotated[str | None, Choice(SCORES, "score")] = Field(
        None, description="Score of the alt-test: accuracy or neg_rmse. Default: accuracy of labels, else neg_rmse."
    )
    similarity: Annotated[Similarity | None, CommandLine(python_only=True)] = Field(
        None, description="Function of two votes that replaces `score`."
    )
    epsilon: float = Field(
        0.1,
        ge=0,
        lt=1,
        description="Price of people in the alt-test: 0.2 for experts, 0.15 for skilled, 0.1 for crowd.",
    )
    expert: Annotated[str | None, CommandLine(metavar="NAME")] = Field(
        None, description="Annotator against whom judge and others are scored in the alt-test. Default: all others."
    )
    gold_at_least: float | None = Field(None, description="Human values of at least this count as 1, others as 0.")
    source: str | None = Field(
        None, description="Block of human judgments of a RUN. Default: labels of units, else ratings, else overall."
    )
    level: Annotated[str | None, Choice(("sentence", "key_fact", "summary"), "level")] = Field(
        None, description="Level of the votes in a run. Default: the level of people's votes."
    )
    resamples: int = Field(1000, ge=20, description="Resamples of the bootstrap by document.")


@study(TrustOptions)
def trust(votes: Source, gold: Gold | None, options: TrustOptions) -> TrustStudy:
    """Measure how far a judge can be trusted, and give a verdict.

    `votes` is a run, or a file with the votes of a judge and of people: CSV, JSONL and the like, with a row per item
    or a row per vote. `gold` has the human judgments of a run (default: those of its data).

    Rows have the study "trust" and, for each judge and aspect, these statistics: `agreement` with people
    (`details.verdict` and `details.rule`), `human_ceiling` (each annotator with the others), `baseline_constant`,
    `baseline_majority`, `baseline_length` and `baseline_random` (by the same coefficient), `alt_test_winning_rate`
    (`details.curve` over epsilon), `alt_test_advantage_probability`, `alt_test_winning_rate_of_constant`, the variants
    `alt_test_winning_rate_by_document` and `alt_test_winning_rate_balanced` where they matter, `sensitivity`,
    `specificity`, `rate_raw`, `rate_corrected`, `rate_ppi`, `bias` (judge minus people), `bias_own_family` (the bias on
    systems of the judge's family minus that on the others), `partial_pearson`, `length_judge`, `length_people`,
    `length_gap`, `system_ranking` and `labels_needed`.

    Raises InputError for faulty votes, and UsageError if a column or the judge is absent or ambiguous.
    """
    rows: list[Row] = []
    notes: list[str] = []
    for items in _items(votes, gold, options):
        judged = _Judged(items, options)
        rows += judged.rows()
        notes += judged.notes
    return TrustStudy(STUDY, rows, notes)


# ---- votes ----


def _items(source: Any, gold: Gold | None, options: TrustOptions) -> Iterator[JudgedItems]:
    if isinstance(source, str | Path) and Path(source).is_dir():
        source = RunFolder(Path(source))
    several = isinstance(source, Sequence) and not isinstance(source, str)
    if isinstance(source, RunFolder | JudgeInput) or (several and source and isinstance(source[0], RunFolder)):
        yield from _of_run(judge_input(source), gold, options)
        return
    if gold is not None:
        raise UsageError(Parameter("gold"), " belongs to a run; a file of votes contains people's votes")
    yield from read_judged(source, options)


def _of_run(machine: JudgeInput, gold: Gold | None, options: TrustOptions) -> Iterator[JudgedItems]:
    """Yield the votes of each judge of a run, and of people, on the units that people judged."""
    for name in ("human", "item", "document", "system", "text", "value", "positive"):
        if getattr(options, name):
            raise UsageError(Parameter(name), " has no effect on a run; leave it out")
    data = machine.data if gold is None else gold
    if data is None:
        raise UsageError("judgments without a run need human judgments; give ", Parameter("gold"))
    read = meta_input(machine, data, options)
    texts = machine.data or (data if isinstance(data, Dataset) else None)
    questions = machine.questions(judge=options.judge)
    found = False
    for question in questions:
        pairs = options.aspect_pairs or [(question.aspect, question.aspect)]
        for aspect in (people for judge_aspect, people in pairs if judge_aspect == question.aspect):
            for level in (options.level,) if options.level is not None else (None, "summary"):
                selected = {"aspect": aspect, "judgment_set": options.judgment_set, "source": options.source}
                try:
                    votes = next(votes_to_compare(read.gold, VotesOptions(**selected, level=level)), None)
                except UsageError:  # people did not judge the aspect at the level
                    votes = None
                if votes is None or votes.level == "pair" or votes.names:
                    continue
                use = ValueOrLabel.VALUE if votes.level == Level.SUMMARY else ValueOrLabel.LABEL
                scores = machine.scores(question, Level(votes.level), use)
                values = scores.values_on(votes.units) if len(scores) else np.full(len(votes), np.nan)
                if np.isnan(values).all():
                    continue
                found = True
                units = replace(votes.units, context=read.context)
                both = Sample.of_values(units, [scores.judge, *votes.raters], np.vstack([values, votes.matrix]))
                columns = [name for name in ("system", "domain") if units.column(name).used() != [None]]
                sample = replace(both, rule=votes.rule, scale=votes.scale, source=votes.source)
                lengths = None if texts is None else _lengths(texts, units)
                yield JudgedItems(sample, tuple(columns), units.column, lengths)
                break
    if not found:
        judged = ", ".join(dict.fromkeys(question.aspect for question in questions)) or "nothing"
        people = ", ".join(name for name in read.gold.aspect.used() if name) or "nothing"
        raise UsageError(
            f"judge and people have no votes on the same units: the judges judged {judged}, and people {people}; "
            "give a pair JUDGE:GOLD with ", Parameter("aspect"), ", or other data with ", Parameter("gold")
        )  # fmt: skip


def _lengths(data: Dataset, units: Units) -> Floats | None:
    """Return the number of words of each summary or sentence, or None for other units."""
    if units.level not in {Level.SUMMARY, Level.SENTENCE}:
        return None
    of_data = Texts(data)
    places = zip(units.document.labels(), units.system.labels(), units.index.tolist(), strict=True)
    texts = [of_data.unit(units.level, *place) for place in places]
    return np.array([np.nan if text is None else float(LENGTHS["words"](text)) for text in texts])


class _Tests(NamedTuple):
    """The alternative annotator tests of the judge and of the best constant, and their variants.

    `clustered` is the test by document, if documents have several items. `balanced` weighs labels equally, if the
    constant passes. `won` are the wins of the judge and of the constant, and `raters` the tested annotators.
    """

    plain: AltTest
    constant: AltTest
    clustered: AltTest | None = None
    balanced: tuple[AltTest, AltTest] | None = None
    won: tuple[Wins, Wins] | None = None
    clusters: Ints | None = None
    raters: Sequence[Rater] = ()

    @property
    def main(self) -> AltTest:
        """The test by document if documents have several items, else the plain test."""
        return self.clustered or self.plain

    @property
    def balanced_passed(self) -> bool:
        """Whether the judge passes with labels weighted equally, and the constant does not."""
        return self.balanced is not None and self.balanced[0].passed and not self.balanced[1].passed

    @property
    def passed(self) -> bool:
        """Whether the judge passes a test that the constant fails."""
        return self.main.passed and (not self.constant.passed or self.balanced_passed)


class _Judged:
    """The votes of a judge and of people on one aspect, and what is computed from them.

    `judge` and `people` are votes after thresholds, `scores` the values of the judge before. `merged` is people's
    majority of labels (NaN if tied) or mean of ratings, `usual` their most common label or mean rating, and `known` the
    mask of the items with votes of both sides. `labels` says whether votes are labels, and `on_scale` whether the judge
    uses the scale of people. `names` are the labels, if they are neither numbers nor 0 and 1.
    """

    def __init__(self, items: JudgedItems, options: TrustOptions) -> None:
        """Apply the thresholds, recognise the scale, and merge people's votes."""
        self.items, self.options, self.sample = items, options, items.sample
        sample, self.names, self.draws = items.sample, items.sample.names, options.resampling
        self.documents, self.notes = sample.units.document.codes, list(items.notes)
        scores, people = sample.matrix[0], sample.matrix[1:]
        for side, name in ((scores, f"{sample.judge.judge} has"), (people, "people have")):
            if np.isnan(side).all():
                raise UsageError(f"{name} no vote on any item")
        gold_at_least, at_least = options.gold_at_least, options.judge_at_least
        if self.names and (gold_at_least, at_least) != (None, None):
            raise UsageError(
                "votes are labels without an order; a threshold has no effect, but ", Parameter("positive")
            )
        if gold_at_least is not None:
            people = np.where(np.isnan(people), np.nan, people >= gold_at_least)
        self.labels = bool(self.names) or options.scale == LABELS or are_decisions(people)
        if at_least is None and self.labels and not self.names and not are_decisions(scores):
            if not (np.nanmin(scores) >= 0 and np.nanmax(scores) <= 1):
                what = "people's votes are 0 and 1, but the judge's are not; give the lowest value that counts as 1 "
                raise UsageError(what, "with ", Parameter("judge_at_least", "..."))
            at_least = 0.5
            self.notes.append("scores of the judge of at least 0.5 count as 1 (option judge_at_least)")
        judge = scores if at_least is None else np.where(np.isnan(scores), np.nan, scores >= at_least)
        low, high = sample.scale[:: max(1, len(sample.scale) - 1)] or (np.nanmin(people), np.nanmax(people))
        said = judge[~np.isnan(judge)]
        self.on_scale = self.labels or mostly_within(said, low, high)
        if not self.on_scale:
            self.notes.append(
                f"the judge ({said.min():g} to {said.max():g}) is not on people's scale ({low:g} to {high:g}), so "
                "that only the order of items is compared"
            )
        self.scores, self.judge, self.people = scores, judge, people
        voted = ~np.isnan(people)
        self.annotators = int(voted.any(axis=1).sum())
        self.rule = AggregationRule.MAJORITY if self.labels else AggregationRule.MEAN
        if self.labels:
            self.merged = merged_votes(np.nonzero(voted)[1], people[voted], len(judge), self.rule, Tie.DROP)
            self.usual = _mode(people[voted])
        else:
            self.merged, self.usual = rounded(mean_present(people)), float(people[voted].mean())
        self.known = ~np.isnan(judge) & ~np.isnan(self.merged)
        self.coefficient = options.chosen_or_usual(labels=self.labels, on_scale=self.on_scale)
        gold = Rater(PEOPLE, f"human.{sample.source}|merge:{self.rule}|v:1", None, sample.gold.aspect)
        self.raters = sample.judge, gold
        self.about = merged(named(*self.raters), study=STUDY, level=str(sample.level), average="pooled")
        self.about |= {"aspect": sample.judge.aspect or None, "gold_aspect": gold.aspect or None}

    def agreement(self, judge: Floats, coefficient: str | None = None) -> Estimate:
        """Return the agreement of a judge's votes with people's merged votes."""
        whole = Sample.of_values(self.sample.units, self.raters, np.stack([judge, self.merged]))
        pair = replace(whole.take(whole.complete), names=self.names)
        return estimate(pair, coefficient or self.coefficient, self.draws)

    def mean(self, values: Floats, rows: Bools) -> Estimate:
        """Return the mean of the values of some items."""
        return self.draws(self.documents[rows]).mean(values[rows])

    def row(self, statistic: str, got: Estimate | str, *about: Mapping[str, Any], **fields: Any) -> Row:
        """Return a row; a text is the reason why there is no value."""
        got = undefined(got) if isinstance(got, str) else got
        return interval_row(got, self.about, *about, statistic=statistic, **fields)

    def rows(self) -> list[Row]:
        """Return all rows."""
        agreement = replace(self.agreement(self.judge), missing=int((~self.known).sum()))
        order = None if self.names else self.agreement(self.scores, "spearman")
        tests, saving, gain = self._alt_tests(), self._saving(), self._gain()
        documents, confidence = len(np.unique(self.documents[self.known])), self.options.confidence
        verdict = verdict_of(agreement, order, gain, tests, saving, documents, confidence)
        biases, ranking = list(self._biases()), self._ranking()
        sentence = self._sentence(verdict, agreement, order, tests, saving, biases[0])
        if ranking.details.get("reversed"):
            sentence += " It reverses {reversed} of {significant} pairs of systems that people tell apart.".format(
                **ranking.details
            )
        details = {
            "verdict": verdict, "rule": RULE[verdict], "sentence": sentence, "coefficient": self.coefficient,
            "scale": "labels" if self.labels else "ratings", "saving": saving,
            "order": None if order is None else order.value,
            "same": self._same(self.judge), "gain": gain.value,
            "documents": documents, "annotators": self.annotators,
        }  # fmt: skip
        return [
            self.row("agreement", agreement, details=details),
            self._ceiling(),
            *self._baselines(),
            *self._alt_rows(tests),
            *self._rates(),
            *biases,
            ranking,
            self.row("labels_needed", self._needed(verdict, agreement, tests)),
        ]

    def _same(self, votes: Floats) -> float | None:
        """Return the share of items with votes of both sides on which these votes are people's."""
        return float((votes == self.merged)[self.known].mean()) if self.known.any() else None

    def _sentence(
        self, verdict: str, agreement: Estimate, order: Estimate | None, tests: _Tests, saving: float | None, bias: Row
    ) -> str:
        coefficient = coefficient_name(self.coefficient)
        facts = [f"{coefficient} is undefined ({agreement.reason})"]
        if agreement.value is not None:
            shown = with_interval(agreement.value, agreement.low, agreement.high, 2)
            facts = [f"{coefficient} {shown} on {agreement.n:,} items"]
        if verdict == RANKS and order is not None and self.coefficient != "spearman":
            facts.append(f"rank correlation {with_interval(order.value, order.low, order.high, 2)}")
        if (test := tests.main).winning_rate is not None:
            replaced = [
                f"{sum(one.replaced for one in each.annotators)} of {len(each.annotators)} annotators"
                for each in (test, tests.constant)
            ]
            facts.append(f"it can replace {replaced[0]} (epsilon {test.epsilon:g}), and a constant {replaced[1]}")
        if verdict == CONSTANT and self.labels:
            own, usual = (self._same(votes) or 0.0 for votes in (self.judge, np.full(len(self.judge), self.usual)))
            facts.append(f"it is right on {own:.0%} of the items, and people's usual vote on {usual:.0%}")
        if saving is not None and verdict in (CORRECTED, RANKS):
            facts.append(f"its scores save {saving:.0%} of the labels")
        if bias.value is not None and bias.low is not None and bias.high is not None and bias.low * bias.high > 0:
            more = "more" if bias.value > 0 else "less"
            facts.append(f"it gives {abs(bias.value):.2f} {more} than people on average")
        judge = self.sample.judge
        text = f"{judge.judge}{f' on {judge.aspect}' if judge.aspect else ''}: {verdict}. {'; '.join(facts)}."
        if tests.constant.passed:
            held = "the judge passes" if tests.balanced_passed else "the judge does not pass"
            text += (
                " A constant judge passes the alt-test on these skewed labels too, so that passing proves nothing; "
                f"with labels weighted equally, {held}."
            )
        return text

    def _ceiling(self) -> Row:
        if self.annotators < 2:
            reason = "one annotator, or merged votes; at least 2 are needed"
            return self.row("human_ceiling", undefined(reason, 0, len(self.judge)))
        sample = self.sample
        votes = Sample.of_values(sample.units, sample.raters[1:], self.people)
        pairs = pair_with_others(replace(votes, rule=self.rule, names=self.names, scale=sample.scale))
        got = estimate(replace(pairs.take(pairs.complete), names=self.names), self.coefficient, self.draws)
        beside = Sample.of_values(pairs.units, pairs.raters, np.stack([self.judge[votes.unit], pairs.y]))
        both = replace(beside.take(beside.complete & pairs.complete), names=self.names)
        judge = estimate(both, self.coefficient, _NO_DRAWS).value if both.n else None
        return self.row("human_ceiling", got, details={"annotators": self.annotators, "judge": judge})

    def _baselines(self) -> Iterator[Row]:
        known, judged, size = self.known, self.judge[self.known], len(self.judge)
        typical = _mode if self.labels else np.median
        shuffled = np.full(size, np.nan)
        shuffled[known] = np.random.default_rng(self.options.seed).permutation(judged)
        lengths, by_length = self.items.lengths, None
        if lengths is not None and not self.names:
            usable = known & ~np.isnan(lengths)
            ranked = np.argsort(np.argsort(lengths[usable], kind="stable"), kind="stable")
            rising = correlate(lengths[usable], self.merged[usable], "spearman").value or 0.0
            ordered = np.sort(self.merged[usable])
            by_length = np.full(size, np.nan)
            by_length[usable] = (ordered if rising >= 0 else ordered[::-1])[ranked]
        for name, votes in (
            ("constant", np.where(known, typical(judged) if len(judged) else 1.0, np.nan)),
            ("majority", np.where(known, self.usual, np.nan)),
            ("length", by_length),
            ("random", shuffled),
        ):
            got = "no text of the items, or labels without an order" if votes is None else self.agreement(votes)
            same = None if votes is None else self._same(votes)
            yield self.row(f"baseline_{name}", got, details={"same": same})

    # ---- alternative annotator test ----

    def _alt_tests(self) -> _Tests:
        options, people, raters, expert = self.options, self.people, list(self.sample.raters[1:]), None
        if options.expert is not None:
            ids = [rater.judge for rater in raters]
            if options.expert not in ids:
                raise UsageError(
                    Parameter("expert"), f": no annotator {options.expert!r}; annotators are: {listed(ids)}"
                )
            place = ids.index(options.expert)
            expert, people = people[place], np.delete(people, place, axis=0)
            del raters[place]
        why = None
        if self.sample.exchangeable:
            why = "the votes are anonymous, and the test compares annotators"
        elif self.annotators < 2:
            why = "the test needs at least 2 annotators"
        elif not self.on_scale and options.similarity is None:
            why = "the judge is not on people's scale"
        if why is not None:
            none = AltTest(None, None, (), options.epsilon, 0.05, why)
            return _Tests(none, none)
        score = options.score or ("accuracy" if self.labels else "neg_rmse")
        compare: Any = options.similarity or score
        if options.similarity is not None and self.names:
            similarity, names = options.similarity, self.names
            compare = lambda first, second: similarity(names[int(first)], names[int(second)])  # noqa: E731
        votes = people[~np.isnan(people)]
        best = _mode(votes) if self.labels or options.similarity or score == "accuracy" else float(votes.mean())
        constant = np.where(np.isnan(self.judge), np.nan, best)
        won = wins(self.judge, people, compare, expert), wins(constant, people, compare, expert)
        clusters = self.documents if len(np.unique(self.documents)) < len(self.documents) else None
        plain, of_constant = (alt_test(each, options.epsilon) for each in won)
        clustered = None if clusters is None else alt_test(won[0], options.epsilon, clusters=clusters)
        balanced = None
        if of_constant.passed and (weights := balance(people)) is not None:
            first, second = (alt_test(each, options.epsilon, weights=weights, clusters=clusters) for each in won)
            balanced = first, second
        return _Tests(plain, of_constant, clustered, balanced, won, clusters, raters)

    def _alt_rows(self, tests: _Tests) -> Iterator[Row]:
        def row(
            statistic: str, test: AltTest, won: Wins | None = None, clusters: Ints | None = None, **details: Any
        ) -> Row:
            each = [{**one._asdict(), "annotator": tests.raters[one.annotator].judge} for one in test.annotators]
            n = max((one.n for one in test.annotators), default=0)
            got = undefined(test.reason or "", n) if test.winning_rate is None else Estimate(test.winning_rate, n)
            details |= {"epsilon": test.epsilon, "alpha": test.alpha, "advantage": test.advantage, "annotators": each}
            if won is not None:
                rates = (alt_test(won, epsilon, clusters=clusters).winning_rate for epsilon in _CURVE)
                details["curve"] = [list(point) for point in zip(_CURVE, rates, strict=True)]
            return self.row(statistic, got, details=details)

        won, constant = tests.won or (None, None)
        advantage: Estimate | str = tests.plain.reason or ""
        if won is not None and tests.plain.advantage is not None:
            shares = won.judge[[one.annotator for one in tests.plain.annotators]].T
            kept = ~np.isnan(shares).all(axis=1)
            bootstrap = self.draws(self.documents[kept])
            sums = bootstrap.sums(np.nan_to_num(shares[kept]))
            counts = bootstrap.sums((~np.isnan(shares[kept])).astype(np.float64))
            advantage = bootstrap.interval(
                lambda weights: mean_present(ratio(weights @ sums, weights @ counts), axis=1)
            )
        yield row("alt_test_winning_rate", tests.plain, won)
        yield self.row("alt_test_advantage_probability", advantage)
        yield row("alt_test_winning_rate_of_constant", tests.constant, constant)
        if tests.clustered is not None:
            yield row("alt_test_winning_rate_by_document", tests.clustered, won, tests.clusters)
        if tests.balanced is not None:
            of_judge, of_constant = tests.balanced
            yield row("alt_test_winning_rate_balanced", of_judge, of_constant=of_constant.winning_rate)

    # ---- errors, rates and biases ----

    def _rates(self) -> Iterator[Row]:
        known, judge = self.known, self.judge
        binary = self.labels and not self.names
        why = "labels without an order (option positive)" if self.names else "ratings (option gold_at_least)"
        for name in ("sensitivity", "specificity"):
            yield self.row(name, self.agreement(judge, name) if binary else why)
        for group, mask in self._groups() if binary else ():
            for name in ("sensitivity", "specificity"):
                yield self.row(name, self.agreement(np.where(mask, judge, np.nan), name), group)
        judged = ~np.isnan(judge)
        raw, corrected, powered = (undefined(why) for _ in range(3))
        votes = np.where(np.isnan(self.merged), mean_present(self.people), self.merged)  # a tie of 0 and 1 is 0.5
        rest, labelled = judged & np.isnan(votes), judged & ~np.isnan(votes)
        if not self.names:
            raw = self.draws(self.documents).mean(judge)
            if raw.value is not None and not self.on_scale:
                raw = replace(raw, reason="on the judge's scale")
            powered = ppi_mean(votes, judge, self.documents, self.options.confidence).estimate
        if binary and not rest.any():
            corrected = replace(self.mean(votes, labelled), reason="no unlabelled items: people's own rate")
        elif binary:
            shares = [
                (float(said.mean()) if len(said) else 0.0, effective_size(said, self.documents[mask]))
                for mask, label in ((rest, 1), (known & (votes == 1), 1), (known & (votes == 0), 0))
                for said in [(judge[mask] == label).astype(np.float64)]
            ]
            corrected = rogan_gladen(*shares[0], *shares[1], *shares[2], level=self.options.confidence)
            corrected = replace(corrected, n=int(rest.sum()))
        unlabelled = {"unlabelled": int(rest.sum())}
        yield self.row("rate_raw", raw, missing=int((~judged).sum()))
        yield self.row("rate_corrected", corrected, details=unlabelled)
        yield self.row("rate_ppi", powered, details=unlabelled)

    def _groups(self) -> Iterator[tuple[dict[str, Any], Bools]]:
        """Yield the fields and the mask of each group of items."""
        for name in self.items.columns if self.options.by is None else (self.options.by,):
            groups = list(rows_by_name(self.items.column(name)))
            if 1 < len(groups) <= _MOST_GROUPS:
                yield from ((group_fields(name, value), mask) for value, mask in groups)

    def _biases(self) -> Iterator[Row]:
        gap, known = self.judge - self.merged, self.known
        if self.names or not self.on_scale:
            why = "labels without an order" if self.names else "the judge is not on people's scale"
            yield self.row("bias", why)
            yield self.row("bias_own_family", why)
        else:
            yield self.row("bias", self.mean(gap, known))
            for group, mask in self._groups():
                yield self.row("bias", self.mean(gap, mask & known), group)
            # The bias on the systems of the judge's family, minus that on the others.
            judge, system = self.sample.judge, self.sample.units.system
            names = [name for name in system.used() if name is not None]
            family, own, reason = own_family(judge.judge, judge.signature, judge.model, names, self.options)
            of_systems = known & ~system.equal(None)
            got = undefined(reason or "", int(of_systems.sum()))
            if reason is None:
                own_rows, bootstrap = system.equal(*own)[of_systems], self.draws(self.documents[of_systems])
                got = difference_of_means(gap[of_systems], own_rows, bootstrap, NO_FAMILY)
            yield self.row("bias_own_family", got, details={"family": family, "own_systems": own})
        lengths = self.items.lengths
        if lengths is not None and not self.names and (used := known & ~np.isnan(lengths)).any():
            bootstrap = self.draws(self.documents[used])
            sides = self.scores[used], self.merged[used], lengths[used]
            yield from length_estimates(*sides, bootstrap.codes, bootstrap, self.about)

    def _ranking(self) -> Row:
        units = self.sample.units
        names = [name for name in units.system.used() if name is not None]
        if len(names) < 2 or self.names:
            why = "labels without an order" if self.names else f"{len(names)} system{'s' * (len(names) != 1)}"
            return self.row("system_ranking", why)
        known = self.known & ~units.system.equal(None)
        systems, documents = (column.take(known).dense() for column in (units.system, units.document))
        size, cells = len(systems.names), systems.codes * len(documents.names) + documents.codes
        found, means = [], []
        for votes in (self.scores, self.merged):
            values = group_means(votes[known], cells, size * len(documents.names)).reshape(size, -1)
            table = dict(zip(map(str, systems.names), values, strict=True))
            found.append(paired_differences([table], permutations=_PERMUTATIONS, seed=self.options.seed)[0])
            means.append(dict(zip(table, group_means(votes[known], systems.codes, size).tolist(), strict=True)))
        pairs = [(pair.first, pair.second, pair.better, other.better) for other, pair in zip(*found, strict=True)]
        gaps = np.array([[of[first] - of[second] for first, second, *_ in pairs] for of in means])
        signs = np.where(np.abs(gaps) <= SAME, 0.0, np.sign(gaps))
        turned = [
            [first, second]
            for (first, second, better, _), opposite in zip(pairs, signs.prod(axis=0) < 0, strict=True)
            if better is not None and opposite
        ]
        details = {
            "systems": size, "significant": sum(better is not None for *_, better, _ in pairs),
            "confirmed": sum(better is not None and better == by_judge for *_, better, by_judge in pairs),
            "reversed": len(turned), "reversed_pairs": turned,
            "means": {name: [by_judge, means[1][name]] for name, by_judge in means[0].items()},
        }  # fmt: skip
        return self.row("system_ranking", Estimate(float((signs[0] == signs[1]).mean()), len(pairs)), details=details)

    # ---- verdict ----

    def _saving(self) -> float | None:
        """Return the share of labels that corrected scores save if all items were judged: the squared correlation.

        It is None if the judge is not on people's scale.
        """
        if not self.on_scale:
            return None
        if self.names:
            value = self.agreement(self.judge, "kappa_cohen").value
        else:
            value = correlate(self.judge[self.known], self.merged[self.known], "pearson").value
        return None if value is None else max(0.0, value) ** 2

    def _gain(self) -> Estimate:
        """Return how much closer to people the judge is than their usual vote.

        It is the difference of the shares of equal labels, or of the mean squared errors.
        """
        if not self.on_scale or not self.known.any():
            return undefined("the judge is not on people's scale")
        if self.labels:
            gap = (self.judge == self.merged).astype(np.float64) - (self.merged == self.usual)
        else:
            gap = (self.merged - self.usual) ** 2 - (self.merged - self.judge) ** 2
        return self.mean(gap, self.known)

    def _needed(self, verdict: str, agreement: Estimate, tests: _Tests) -> Estimate:
        """Return the number of labelled items with which a better verdict is likely."""
        n, confidence = agreement.n, self.options.confidence
        if verdict in (REPLACES, CONSTANT):
            return undefined("the labels settle the verdict", n)
        if verdict != TOO_FEW:
            test = tests.balanced[0] if tests.constant.passed and tests.balanced is not None else tests.main
            growth = test.growth_needed(POWER)
            if growth is None:
                behind = f"the judge is more than {test.epsilon:g} behind people; more labels would not help"
                return undefined(test.reason or behind, n)
            needed = max(n, FEWEST_ITEMS, math.ceil(n * growth))
            return Estimate(float(needed), n, details={"to": "pass the alt-test", "power": POWER})
        needed, error, value = FEWEST_ITEMS, _error(agreement, confidence), agreement.value
        if error and value is not None:
            above = value > USEFUL / 2
            target = error_to_find(value if above else USEFUL - value, SURE if above else confidence, POWER)
            needed = max(needed, labels_to_find(max(2, n), error, target))
        return Estimate(float(needed), n, details={"to": "tell it from a constant", "power": POWER})


def _error(got: Estimate, confidence: float) -> float | None:
    if got.low is None or got.high is None:
        return None
    return error_to_find((got.high - got.low) / 2, confidence)


def verdict_of(
    agreement: Estimate, order: Estimate | None, gain: Estimate, tests: _Tests, saving: float | None, documents: int,
    confidence: float,
) -> str:  # fmt: skip
    """Return the verdict, by the rules in `RULE`.

    `order` is the rank correlation (None for labels without an order; a constant judge has no value), and `gain` is how
    much closer to people the judge is than their usual vote. `confidence` is that of the intervals.
    """
    if agreement.n < FEWEST_ITEMS or documents < MIN_DOCUMENTS:
        return TOO_FEW

    def bound(got: Estimate | None, level: float, side: int) -> float:
        """Return the end of an interval at a level; without an interval it contains everything."""
        error = None if got is None else _error(got, confidence)
        if got is None or got.value is None or error is None:
            return side * math.inf
        return got.value + side * NormalDist().inv_cdf((1 + level) / 2) * error

    worse = bound(gain, 0.95, 1) < 0
    if bound(agreement, SURE, -1) > 0:
        if tests.passed:
            return REPLACES
        if (saving or 0.0) >= SAVING or (order is None and not worse):
            return CORRECTED
    weak = bound(agreement, 0.95, 1) < USEFUL and (
        order is None or order.value is None or bound(order, 0.95, 1) < USEFUL
    )
    if bound(order, SURE, -1) > 0 and not (weak and worse):
        return RANKS
    return CONSTANT if weak else TOO_FEW


def _mode(values: Floats) -> float:
    known, counts = np.unique(values, return_counts=True)
    return float(known[counts.argmax()])
