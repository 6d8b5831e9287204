"""How far a judge can be trusted: its agreement with people, its errors, and a verdict with the rule behind it.

The votes are those of a run and its human judgments, or of any file with a judge and people. Everything is computed
from one sample, whose first rater is the judge and whose other raters are people.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from statistics import NormalDist
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from summeter.choices import AggregationRule, Level, Tie, ValueOrLabel
from summeter.data.dataset import Dataset
from summeter.meta._agree import VotesOptions, pair_with_others, votes_to_compare
from summeter.meta._bias import LENGTHS, family_gap, length_estimates, own_family
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
from summeter.meta.sample import Rater, Sample, are_decisions, mostly_within, rounded, rows_by_name
from summeter.meta.selection import PEOPLE, check_known, group_fields, merged_votes, meta_input
from summeter.meta.texts import Texts
from summeter.meta.trust_study import COEFFICIENTS, STUDY, TrustStudy
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
from summeter.stats.base import Floats, mean_present, ratio, undefined
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
        judged = _Judged.of(items, options)
        rows += judged.rows()
        notes += judged.notes
    return TrustStudy(STUDY, rows, notes)


# ---- votes ----


def _items(source: Any, gold: Gold | None, options: TrustOptions) -> Iterator[JudgedItems]:
    if isinstance(source, str | Path) and Path(source).is_dir():
        source = RunFolder(Path(source))
    if isinstance(source, Sequence) and not isinstance(source, str) and source and isinstance(source[0], RunFolder):
        source = judge_input(source)
    if isinstance(source, RunFolder | JudgeInput):
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
    if options.judge is not None:
        known = dict.fromkeys(name for each in machine.questions() for name in (each.judge, each.signature))
        check_known([options.judge], list(known), "judge")
    selected = {"aspect": options.aspect, "judgment_set": options.judgment_set, "source": options.source}
    found = False
    for question in machine.questions(judge=options.judge):
        pairs = [pair for pair in options.aspect_pairs if pair[0] == question.aspect]
        for _, aspect in pairs or ([] if options.aspects else [(question.aspect, question.aspect)]):
            for level in [options.level] if options.level is not None else [None, "summary"]:
                chosen = VotesOptions(**{**selected, "aspect": aspect, "level": level})
                try:
                    votes = next(iter(votes_to_compare(read.gold, chosen)), None)
                except UsageError:
                    votes = None
                if votes is None or votes.level == "pair" or votes.names:
                    continue
                at = Level(votes.level)
                scores = machine.scores(question, at, ValueOrLabel.VALUE if at is Level.SUMMARY else ValueOrLabel.LABEL)
                values = scores.values_on(votes.units) if len(scores) else np.full(len(votes), np.nan)
                if np.isnan(values).all():
                    continue
                found = True
                units = replace(votes.units, context=read.context)
                both = Sample.of_values(units, [scores.judge, *votes.raters], np.vstack([values, votes.matrix]))
                columns = [name for name in ("system", "domain") if units.column(name).used() != [None]]
                yield JudgedItems(
                    replace(both, rule=votes.rule, scale=votes.scale, source=votes.source),
                    tuple(columns), units.column, None if texts is None else _lengths(texts, both),
                )  # fmt: skip
                break
    if not found:
        judged = ", ".join(dict.fromkeys(question.aspect for question in machine.questions(judge=options.judge)))
        people = ", ".join(dict.fromkeys(name for name in read.gold.aspect.used() if name)) or "nothing"
        raise UsageError(
            f"judge and people have no votes on the same units: the judges judged {judged or 'nothing'}, and people "
            f"{people}; give a pair JUDGE:GOLD with ", Parameter("aspect"), ", or other data with ", Parameter("gold")
        )  # fmt: skip


def _lengths(data: Dataset, sample: Sample) -> Floats | None:
    """Return the number of words of each summary or sentence, or None for other units."""
    if sample.level not in {Level.SUMMARY, Level.SENTENCE}:
        return None
    units, of_data = sample.units, Texts(data)
    places = zip(units.document.labels(), units.system.labels(), units.index.tolist(), strict=True)
    texts = [of_data.unit(units.level, *place) for place in places]
    return np.array([np.nan if text is None else float(LENGTHS["words"](text)) for text in texts])


@dataclass(frozen=True)
class _Judged:
    """The votes of a judge and of people on one aspect, and what is computed from them.

    `judge` and `people` are votes after thresholds, `scores` the values of the judge before. `labels` says whether
    votes are labels, and `on_scale` whether the judge uses the scale of people.
    """

    items: JudgedItems
    options: TrustOptions
    judge: Floats
    people: Floats
    scores: Floats
    labels: bool
    on_scale: bool
    notes: tuple[str, ...]

    @classmethod
    def of(cls, items: JudgedItems, options: TrustOptions) -> _Judged:
        """Apply the thresholds, and recognise the scale."""
        sample, notes = items.sample, list(items.notes)
        scores, people = sample.matrix[0], sample.matrix[1:]
        for side, name in ((scores, sample.judge.judge), (people, "people")):
            if np.isnan(side).all():
                raise UsageError(f"{name} {'have' if side is people else 'has'} no vote on any item")
        gold_at_least, at_least = options.gold_at_least, options.judge_at_least
        if sample.names and (gold_at_least, at_least) != (None, None):
            raise UsageError(
                "votes are labels without an order; a threshold has no effect, but ", Parameter("positive")
            )
        if gold_at_least is not None:
            people = np.where(np.isnan(people), np.nan, people >= gold_at_least)
        labels = bool(sample.names) or options.scale == LABELS or are_decisions(people)
        if at_least is None and labels and not sample.names and not are_decisions(scores):
            if not (np.nanmin(scores) >= 0 and np.nanmax(scores) <= 1):
                what = (
                    "people's votes are 0 and 1, but the judge's are not; give the lowest value that counts as 1 with "
                )
                raise UsageError(what, Parameter("judge_at_least", "..."))
            at_least = 0.5
            notes.append("scores of the judge of at least 0.5 count as 1 (option judge_at_least)")
        judge = scores if at_least is None else np.where(np.isnan(scores), np.nan, scores >= at_least)
        low, high = sample.scale[:: max(1, len(sample.scale) - 1)] or (np.nanmin(people), np.nanmax(people))
        known = judge[~np.isnan(judge)]
        on_scale = labels or mostly_within(known, low, high)
        if not on_scale:
            notes.append(
                f"the judge ({known.min():g} to {known.max():g}) is not on people's scale ({low:g} to {high:g}), so "
                "that only the order of items is compared"
            )
        return cls(items, options, judge, people, scores, labels, on_scale, tuple(notes))

    @cached_property
    def merged(self) -> Floats:
        """People's majority of labels (NaN if tied) or mean of ratings."""
        if not self.labels:
            return rounded(mean_present(self.people))
        rater, unit = (each.astype(np.int64) for each in np.nonzero(~np.isnan(self.people)))
        return merged_votes(unit, self.people[rater, unit], len(self.judge), AggregationRule.MAJORITY, Tie.DROP)

    @property
    def names(self) -> tuple[str, ...]:
        """The labels, if they are neither numbers nor 0 and 1."""
        return self.items.sample.names

    @cached_property
    def known(self) -> Any:
        """Mask of the items with votes of both sides."""
        return ~np.isnan(self.judge) & ~np.isnan(self.merged)

    @property
    def annotators(self) -> int:
        """Number of people who voted."""
        return int((~np.isnan(self.people)).any(axis=1).sum())

    @property
    def documents(self) -> Any:
        """Document of each item."""
        return self.items.sample.units.document.codes

    @property
    def coefficient(self) -> str:
        """Name of the coefficient of agreement."""
        return self.options.chosen_or_usual(labels=self.labels, on_scale=self.on_scale)

    def pair(self, judge: Floats, gold: Floats) -> Sample:
        """Return the votes of two sides on the items that both judged."""
        rule = AggregationRule.MAJORITY if self.labels else AggregationRule.MEAN
        aspect, source = self.items.sample.gold.aspect, self.items.sample.source
        people = Rater(PEOPLE, f"human.{source}|merge:{rule}|v:1", None, aspect)
        whole = Sample.of_values(self.items.sample.units, [self.items.sample.judge, people], np.stack([judge, gold]))
        return replace(whole.take(whole.complete), names=self.names)

    def agreement(self, judge: Floats, coefficient: str | None = None) -> Estimate:
        """Return the agreement of a judge's votes with people's merged votes."""
        return estimate(self.pair(judge, self.merged), coefficient or self.coefficient, self.options.resampling)

    def rows(self) -> list[Row]:
        """Return all rows."""
        pair = self.pair(self.judge, self.merged)
        about = merged(named(pair.judge, pair.gold), study=STUDY, level=str(pair.level), average="pooled")
        about |= {"aspect": pair.judge.aspect or None, "gold_aspect": pair.gold.aspect or None}
        missing = len(self.judge) - pair.n
        agreement = replace(self.agreement(self.judge), missing=missing)
        order = None if self.names else self.agreement(self.scores, "spearman")
        tests = self._alt_tests()
        saving = self._saving()
        ranking = self._ranking(about)
        documents = len(np.unique(self.documents[self.known]))
        gain, confidence = self._gain(), self.options.confidence
        verdict = verdict_of(agreement, order, gain, tests, saving, documents, confidence)
        biases = list(self._biases(about))
        sentence = self._sentence(verdict, agreement, order, tests, saving, biases[0])
        if ranking.details.get("reversed"):
            sentence += " It reverses {reversed} of {significant} pairs of systems that people tell apart.".format(
                **ranking.details
            )
        details = {
            "verdict": verdict, "rule": RULE[verdict], "sentence": sentence, "coefficient": self.coefficient,
            "scale": "labels" if self.labels else "ratings", "saving": saving,
            "order": None if order is None else order.value,
            "same": float((self.judge == self.merged)[self.known].mean()) if pair.n else None, "gain": gain.value,
            "documents": documents, "annotators": self.annotators,
        }  # fmt: skip
        rows = [interval_row(agreement, about, statistic="agreement", details=details)]
        rows += self._ceiling(about)
        rows += self._baselines(about)
        rows += self._alt_rows(tests, about)
        rows += self._rates(about)
        rows += biases
        rows.append(ranking)
        rows.append(interval_row(self._needed(verdict, agreement, tests), about, statistic="labels_needed"))
        return rows

    def _sentence(
        self, verdict: str, agreement: Estimate, order: Estimate | None, tests: _Tests, saving: float | None, bias: Row
    ) -> str:
        judge = self.items.sample.judge
        coefficient = COEFFICIENTS.get(self.coefficient, self.coefficient)
        facts = [f"{coefficient} is undefined ({agreement.reason})"]
        if agreement.value is not None:
            shown = with_interval(agreement.value, agreement.low, agreement.high, 2)
            facts = [f"{coefficient} {shown} on {agreement.n:,} items"]
        if verdict == RANKS and order is not None and self.coefficient != "spearman":
            facts.append(f"rank correlation {with_interval(order.value, order.low, order.high, 2)}")
        if (test := tests.main).winning_rate is not None:
            facts.append(
                f"it can replace {_count(test)} (epsilon {test.epsilon:g}), and a constant {_count(tests.constant)}"
            )
        if verdict == CONSTANT and self.labels:
            same = [float(np.equal(votes, self.merged)[self.known].mean()) for votes in (self.judge, self.usual)]
            facts.append(f"it is right on {same[0]:.0%} of the items, and people's usual vote on {same[1]:.0%}")
        if saving is not None and verdict in (CORRECTED, RANKS):
            facts.append(f"its scores save {saving:.0%} of the labels")
        if bias.value is not None and bias.low is not None and bias.high is not None and bias.low * bias.high > 0:
            more = "more" if bias.value > 0 else "less"
            facts.append(f"it gives {abs(bias.value):.2f} {more} than people on average")
        about = f"{judge.judge}{f' on {judge.aspect}' if judge.aspect else ''}"
        text = f"{about}: {verdict}. {'; '.join(facts)}."
        if tests.constant.passed:
            held = "the judge passes" if tests.balanced_passed else "the judge does not pass"
            text += (
                " A constant judge passes the alt-test on these skewed labels too, so that passing proves nothing; "
                f"with labels weighted equally, {held}."
            )
        return text

    def _ceiling(self, about: Mapping[str, Any]) -> Iterator[Row]:
        if self.annotators < 2:
            reason = "one annotator, or merged votes; at least 2 are needed"
            yield interval_row(undefined(reason, 0, len(self.judge)), about, statistic="human_ceiling")
            return
        sample = self.items.sample
        rule = AggregationRule.MAJORITY if self.labels else AggregationRule.MEAN
        votes = Sample.of_values(sample.units, sample.raters[1:], self.people)
        votes = replace(votes, rule=rule, names=sample.names, scale=sample.scale)
        pairs = pair_with_others(votes)
        whole = pairs.take(pairs.complete)
        got = estimate(replace(whole, names=self.names), self.coefficient, self.options.resampling)
        beside = Sample.of_values(pairs.units, pairs.raters, np.stack([self.judge[votes.unit], pairs.y]))
        beside = replace(beside, names=self.names)
        both = beside.take(beside.complete & pairs.complete)
        judge = estimate(both, self.coefficient, _NO_DRAWS) if both.n else None
        details = {"annotators": self.annotators, "judge": None if judge is None else judge.value}
        yield interval_row(got, about, statistic="human_ceiling", details=details)

    def _baselines(self, about: Mapping[str, Any]) -> Iterator[Row]:
        known = self.known
        judged, gold = self.judge[known], self.merged[known]
        everywhere = np.where(known, 1.0, np.nan)
        typical = _mode if self.labels else np.median
        values: dict[str, Floats | str] = {
            "constant": everywhere * typical(judged) if len(judged) else everywhere,
            "majority": everywhere * self.usual,
            "length": "no text of the items, or labels without an order",
            "random": np.full(len(known), np.nan),
        }
        rng = np.random.default_rng(self.options.seed)
        values["random"][known] = rng.permutation(judged)  # type: ignore[index]
        lengths = self.items.lengths
        if lengths is not None and not self.names:
            usable = known & ~np.isnan(lengths)
            ranked = np.argsort(np.argsort(lengths[usable], kind="stable"), kind="stable")
            rising = correlate(lengths[usable], self.merged[usable], "spearman").value or 0.0
            ordered = np.sort(self.merged[usable])
            assigned = np.full(len(known), np.nan)
            assigned[usable] = (ordered if rising >= 0 else ordered[::-1])[ranked]
            values["length"] = assigned
        for name, votes in values.items():
            got = undefined(votes) if isinstance(votes, str) else self.agreement(votes)
            same = None if isinstance(votes, str) or not len(gold) else float((votes == self.merged)[known].mean())
            yield interval_row(got, about, statistic=f"baseline_{name}", details={"same": same})

    # ---- alternative annotator test ----

    def _alt_tests(self) -> _Tests:
        options, sample = self.options, self.items.sample
        score = options.similarity or options.score or ("accuracy" if self.labels else "neg_rmse")
        voters = (~np.isnan(self.people)).any(axis=1)
        why, expert, people, raters = None, None, self.people, sample.raters[1:]
        if options.expert is not None:
            ids = [rater.judge for rater in raters]
            if options.expert not in ids:
                raise UsageError(
                    Parameter("expert"), f": no annotator {options.expert!r}; annotators are: {listed(ids)}"
                )
            expert = people[ids.index(options.expert)]
            kept = np.array([name != options.expert for name in ids])
            people, raters = people[kept], tuple(rater for rater, keep in zip(raters, kept, strict=True) if keep)
        if sample.exchangeable:
            why = "the votes are anonymous, and the test compares annotators"
        elif voters.sum() < 2:
            why = "the test needs at least 2 annotators"
        elif not self.on_scale and options.similarity is None:
            why = "the judge is not on people's scale"
        if why is not None:
            none = AltTest(None, None, (), options.epsilon, 0.05, why)
            return _Tests(none, none, None, None, None, None, None, None, ())
        compare: Any = score
        if options.similarity is not None and self.names:
            similarity, names = options.similarity, self.names
            compare = lambda first, second: similarity(names[int(first)], names[int(second)])  # noqa: E731
        votes = people[~np.isnan(people)]
        best = _mode(votes) if self.labels or options.similarity or score == "accuracy" else float(votes.mean())
        won, constant = (
            wins(judge, people, compare, expert) for judge in (self.judge, np.where(np.isnan(self.judge), np.nan, best))
        )
        clusters = self.documents if len(np.unique(self.documents)) < len(self.documents) else None
        plain, of_constant = (alt_test(each, options.epsilon) for each in (won, constant))
        clustered = None if clusters is None else alt_test(won, options.epsilon, clusters=clusters)
        balanced = of_balanced_constant = None
        if of_constant.passed and (weights := balance(people)) is not None:
            balanced, of_balanced_constant = (
                alt_test(each, options.epsilon, weights=weights, clusters=clusters) for each in (won, constant)
            )
        return _Tests(plain, of_constant, clustered, balanced, of_balanced_constant, won, constant, clusters, raters)

    def _alt_rows(self, tests: _Tests, about: Mapping[str, Any]) -> Iterator[Row]:
        def row(
            statistic: str, test: AltTest, won: Wins | None = None, clusters: Any = None, **details: Any
        ) -> Row:  # fmt: skip
            each = [{**one._asdict(), "annotator": tests.raters[one.annotator].judge} for one in test.annotators]
            n = max((one.n for one in test.annotators), default=0)
            got = undefined(test.reason or "", n) if test.winning_rate is None else Estimate(test.winning_rate, n)
            details |= {"epsilon": test.epsilon, "alpha": test.alpha, "advantage": test.advantage, "annotators": each}
            if won is not None:
                rates = (alt_test(won, epsilon, clusters=clusters).winning_rate for epsilon in _CURVE)
                details["curve"] = [list(point) for point in zip(_CURVE, rates, strict=True)]
            return interval_row(got, about, statistic=statistic, details=details)

        yield row("alt_test_winning_rate", tests.plain, tests.won)
        yield interval_row(self._advantage(tests), about, statistic="alt_test_advantage_probability")
        yield row("alt_test_winning_rate_of_constant", tests.constant, tests.constant_won)
        if tests.clustered is not None:
            yield row("alt_test_winning_rate_by_document", tests.clustered, tests.won, tests.clusters)
        if tests.balanced is not None and tests.balanced_constant is not None:
            constant = tests.balanced_constant.winning_rate
            yield row("alt_test_winning_rate_balanced", tests.balanced, of_constant=constant)

    def _advantage(self, tests: _Tests) -> Estimate:
        if tests.won is None or tests.plain.advantage is None:
            return undefined(tests.plain.reason or "")
        tested = [one.annotator for one in tests.plain.annotators]
        won = tests.won.judge[tested].T
        kept = ~np.isnan(won).all(axis=1)
        bootstrap = self.options.resampling(self.documents[kept])
        sums, counts = (
            bootstrap.sums(np.nan_to_num(won[kept])),
            bootstrap.sums((~np.isnan(won[kept])).astype(np.float64)),
        )
        return bootstrap.interval(lambda weights: mean_present(ratio(weights @ sums, weights @ counts), axis=1))

    # ---- errors, rates and biases ----

    def _rates(self, about: Mapping[str, Any]) -> Iterator[Row]:
        draws, known = self.options.resampling, self.known
        binary = self.labels and not self.names
        why = "labels without an order (option positive)" if self.names else "ratings (option gold_at_least)"
        for name in ("sensitivity", "specificity"):
            got = self.agreement(self.judge, name) if binary else undefined(why)
            yield interval_row(got, about, statistic=name)
        for column, value, mask in self._groups():
            for name in ("sensitivity", "specificity") if binary else ():
                part = self.pair(np.where(mask, self.judge, np.nan), self.merged)
                yield interval_row(estimate(part, name, draws), about, group_fields(column, value), statistic=name)
        judged = ~np.isnan(self.judge)
        raw, corrected, powered = (undefined(why) for _ in range(3))
        votes = np.where(np.isnan(self.merged), mean_present(self.people), self.merged)  # a tie of 0 and 1 is 0.5
        rest, labelled = judged & np.isnan(votes), judged & ~np.isnan(votes)
        if not self.names:
            raw = draws(self.documents).mean(self.judge)
            powered = ppi_mean(votes, self.judge, self.documents, self.options.confidence).estimate
        if binary and not rest.any():
            reason = "no unlabelled items: people's own rate"
            corrected = replace(draws(self.documents[labelled]).mean(votes[labelled]), reason=reason)
        elif binary:
            shares = [
                (float(said.mean()) if len(said) else 0.0, effective_size(said, self.documents[mask]))
                for mask, label in ((rest, 1), (known & (votes == 1), 1), (known & (votes == 0), 0))
                for said in [(self.judge[mask] == label).astype(np.float64)]
            ]
            corrected = rogan_gladen(*shares[0], *shares[1], *shares[2], level=self.options.confidence)
            corrected = replace(corrected, n=int(rest.sum()))
        yield interval_row(raw, about, statistic="rate_raw", missing=int((~judged).sum()))
        unlabelled = {"unlabelled": int(rest.sum())}
        yield interval_row(corrected, about, statistic="rate_corrected", details=unlabelled)
        yield interval_row(powered, about, statistic="rate_ppi", details=unlabelled)

    def _groups(self) -> Iterator[tuple[str, str, Any]]:
        """Yield the column, the value and the mask of each group of items."""
        columns = self.items.columns if self.options.by is None else (self.options.by,)
        for name in columns:
            groups = list(rows_by_name(self.items.column(name)))
            if 1 < len(groups) <= _MOST_GROUPS:
                yield from ((name, value, mask) for value, mask in groups)

    def _biases(self, about: Mapping[str, Any]) -> Iterator[Row]:
        draws, lengths = self.options.resampling, self.items.lengths
        gap = self.judge - self.merged
        if self.names or not self.on_scale:
            why = "labels without an order" if self.names else "the judge is not on people's scale"
            for name in ("bias", "bias_own_family"):
                yield interval_row(undefined(why), about, statistic=name)
        else:
            whole = draws(self.documents[self.known]).mean(gap[self.known])
            yield interval_row(whole, about, statistic="bias")
            for column, value, mask in self._groups():
                rows = mask & self.known
                got = draws(self.documents[rows]).mean(gap[rows])
                yield interval_row(got, about, group_fields(column, value), statistic="bias")
            yield self._own_family(gap, about)
        if lengths is not None and not self.names and (used := self.known & ~np.isnan(lengths)).any():
            bootstrap = draws(self.documents[used])
            yield from length_estimates(
                self.scores[used], self.merged[used], lengths[used], bootstrap.codes, bootstrap, about
            )

    def _own_family(self, gap: Floats, about: Mapping[str, Any]) -> Row:
        """Return the judge's bias on the systems of its family, minus its bias on the others."""
        system, judge = self.items.sample.units.system, self.items.sample.judge
        names = [name for name in system.used() if name is not None]
        family, own, why = own_family(judge.judge, judge.signature, judge.model, names, self.options)
        details = {"family": family, "own_systems": own}
        known = self.known & ~system.equal(None)
        if why is not None:
            return interval_row(undefined(why, int(known.sum())), about, statistic="bias_own_family", details=details)
        bootstrap = self.options.resampling(self.documents[known])
        got = family_gap(gap[known], system.equal(*own)[known], bootstrap.codes, bootstrap)
        return interval_row(got, about, statistic="bias_own_family", details=details)

    def _ranking(self, about: Mapping[str, Any]) -> Row:
        system = self.items.sample.units.system
        names = [name for name in system.used() if name is not None]
        if len(names) < 2 or self.names:
            why = "labels without an order" if self.names else f"{len(names)} system{'s' * (len(names) != 1)}"
            return interval_row(undefined(why), about, statistic="system_ranking")
        known = self.known & ~system.equal(None)
        systems, documents = (column.take(known).dense() for column in (system, self.items.sample.units.document))
        counts = np.zeros((len(systems.names), len(documents.names)))
        np.add.at(counts, (systems.codes, documents.codes), 1.0)
        tables = []
        for votes in (self.scores, self.merged):
            sums = np.zeros_like(counts)
            np.add.at(sums, (systems.codes, documents.codes), votes[known])
            tables.append((ratio(sums, counts), rounded(ratio(sums.sum(axis=1), counts.sum(axis=1)))))
        by_judge, by_people = (
            paired_differences(
                [dict(zip(map(str, systems.names), table, strict=True))], permutations=_PERMUTATIONS,
                seed=self.options.seed,
            )[0]
            for table, _ in tables
        )  # fmt: skip
        first, second = np.triu_indices(len(systems.names), 1)
        signs = [
            np.where(np.abs(gap) <= SAME, 0.0, np.sign(gap))
            for _, mean in tables
            for gap in [mean[first] - mean[second]]
        ]
        found = [pair.better for pair in by_people]
        turned = [
            [pair.first, pair.second]
            for pair, a, b in zip(by_people, *signs, strict=True)
            if pair.better is not None and a * b < 0
        ]
        details = {
            "systems": len(systems.names), "significant": sum(better is not None for better in found),
            "confirmed": sum(a is not None and a == b.better for a, b in zip(found, by_judge, strict=True)),
            "reversed": len(turned), "reversed_pairs": turned,
            "means": {str(name): pair for name, *pair in zip(systems.names, tables[0][1], tables[1][1], strict=True)},
        }  # fmt: skip
        alike = Estimate(float((signs[0] == signs[1]).mean()), len(first))
        return interval_row(alike, about, statistic="system_ranking", details=details)

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

    @cached_property
    def usual(self) -> float:
        """People's most common label, or their mean rating."""
        votes = self.people[~np.isnan(self.people)]
        return _mode(votes) if self.labels else float(votes.mean())

    def _gain(self) -> Estimate:
        """Return how much closer to people the judge is than their usual vote.

        It is the difference of the shares of equal labels, or of the mean squared errors.
        """
        if not self.on_scale or not self.known.any():
            return undefined("the judge is not on people's scale")
        judge, gold = self.judge[self.known], self.merged[self.known]
        if self.labels:
            gap = (judge == gold).astype(np.float64) - (gold == self.usual)
        else:
            gap = (gold - self.usual) ** 2 - (gold - judge) ** 2
        return self.options.resampling(self.documents[self.known]).mean(gap)

    def _needed(self, verdict: str, agreement: Estimate, tests: _Tests) -> Estimate:
        """Return the number of labelled items with which a better verdict is likely."""
        n = agreement.n
        if verdict in (REPLACES, CONSTANT):
            return undefined("the labels settle the verdict", n)
        if verdict != TOO_FEW:
            test = (tests.balanced if tests.constant.passed else None) or tests.main
            growth = test.growth_needed(POWER)
            if growth is None:
                why = (
                    test.reason or f"the judge is more than {test.epsilon:g} behind people; more labels would not help"
                )
                return undefined(why, n)
            needed = max(n, FEWEST_ITEMS, math.ceil(n * growth))
            return Estimate(float(needed), n, details={"to": "pass the alt-test", "power": POWER})
        error, value = _error(agreement, self.options.confidence), agreement.value
        needed = FEWEST_ITEMS
        if error and value is not None:
            above = value > USEFUL / 2
            target = error_to_find(
                value if above else USEFUL - value, SURE if above else self.options.confidence, POWER
            )
            needed = max(needed, labels_to_find(max(2, n), error, target))
        return Estimate(float(needed), n, details={"to": "tell it from a constant", "power": POWER})


@dataclass(frozen=True)
class _Tests:
    """The alternative annotator tests of the judge and of the best constant, and their variants."""

    plain: AltTest
    constant: AltTest
    clustered: AltTest | None
    balanced: AltTest | None
    balanced_constant: AltTest | None
    won: Wins | None
    constant_won: Wins | None
    clusters: Any
    raters: tuple[Rater, ...]

    @property
    def main(self) -> AltTest:
        """The test by document if documents have several items, else the plain test."""
        return self.clustered or self.plain

    @property
    def balanced_passed(self) -> bool:
        """Whether the judge passes with labels weighted equally, and the constant does not."""
        if self.balanced is None or self.balanced_constant is None:
            return False
        return self.balanced.passed and not self.balanced_constant.passed

    @property
    def passed(self) -> bool:
        """Whether the judge passes a test that the constant fails."""
        return self.main.passed and (not self.constant.passed or self.balanced_passed)


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


def _count(test: AltTest) -> str:
    replaced = sum(one.replaced for one in test.annotators)
    return f"{replaced} of {len(test.annotators)} annotators"


def _mode(values: Floats) -> float:
    known, counts = np.unique(values, return_counts=True)
    return float(known[counts.argmax()])
