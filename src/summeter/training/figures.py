"""How good a judge is on documents it was not trained on, beside baselines without training, and beside people."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from summeter.interrupt import checkpoint
from summeter.meta.verdicts import ABOVE, against_chance
from summeter.records import Record
from summeter.stats import Bootstrap, Estimate, classification_interval, correlate, correlation_of, krippendorff_alpha
from summeter.stats.base import Bools, Floats
from summeter.stats.correlation import raw
from summeter.text.ngrams import words
from summeter.text.rouge import rouge_n
from summeter.training.ratings import Ratings

JUDGE = "judge"
CONSTANT, LENGTH, LEAD, ROUGE = "constant", "length", "lead", "rouge1"
BASELINES = {
    CONSTANT: "the mean rating of the training documents, for every summary",
    LENGTH: "words of the summary",
    LEAD: "ROUGE-1 F1 with as many first words of the document as the summary has",
    ROUGE: "ROUGE-1 F1 with the best reference; with the document where there is none",
}
CHEAP = (LENGTH, LEAD, ROUGE)
"""The baselines that differ from summary to summary."""
BEYOND = "pearson_beyond_"
"""The statistics `pearson_beyond_length`, ...: the judge's Pearson's r less the baseline's absolute one."""
COEFFICIENTS = ("pearson", "spearman", "kendall_b")
PEOPLE = "people"
AUROC = "auroc"


class Figure(Record):
    """One number of the card: a statistic of a judge or a baseline on an aspect, in a domain (None: all)."""

    of: str
    aspect: str
    domain: str | None = None
    level: str = "summary"
    statistic: str
    value: float | None
    low: float | None = None
    high: float | None = None
    n: int
    reason: str | None = None
    interval: str | None = None

    @classmethod
    def interval_of(cls, estimate: Estimate, **about: Any) -> Figure:
        """From an interval of the statistics room."""
        return cls(
            value=estimate.value, low=estimate.low, high=estimate.high, n=estimate.n, reason=estimate.reason,
            interval=estimate.interval, **about,
        )  # fmt: skip


class Scored(NamedTuple):
    """A judge's values beside people's on some rows: by aspect what it gives, and its intervals' half-widths."""

    values: Mapping[str, Floats]
    half_widths: Mapping[str, float | None]


def baselines(ratings: Ratings) -> dict[str, Floats]:
    """The values of the baselines that look at no label, for each row."""
    length, lead, rouge = [], [], []
    for row in ratings.summaries:
        checkpoint()
        document = ratings.documents[row.document_id]
        spans = words(document.text)
        count = sum(1 for _ in words(row.text))
        first = " ".join(word.text for word, _ in zip(spans, range(count), strict=False))
        references = [text for text in document.references if text.strip()] or [document.text]
        length.append(float(count))
        lead.append(rouge_n(row.text, [first], 1).f1)
        rouge.append(rouge_n(row.text, references, 1).f1)
    return {LENGTH: np.array(length), LEAD: np.array(lead), ROUGE: np.array(rouge)}


def figures(
    ratings: Ratings, scored: Scored, means: Mapping[str, float], rows: Bools, *, resamples: int, seed: int
) -> list[Figure]:
    """All figures on the chosen rows: a judge's, the baselines', people's. `means` are the ratings of the constant."""
    kept = ratings.take(rows)
    plain = baselines(kept)
    domains = list(dict.fromkeys(kept.documents[row.document_id].domain for row in kept.summaries))
    listed: list[Figure] = []
    for aspect in scored.values:
        gold = kept.mean(aspect)
        judges = {JUDGE: scored.values[aspect][rows], CONSTANT: np.full(len(gold), means[aspect]), **plain}
        for domain in [None, *(own for own in domains if len(domains) > 1)]:
            inside = np.array([domain in (None, kept.documents[row.document_id].domain) for row in kept.summaries])
            draws = Draws(kept.take(inside), resamples, seed)
            for name, values in judges.items():
                listed += draws.correlations(values[inside], gold[inside], of=name, aspect=aspect, domain=domain)
                if name in (JUDGE, CONSTANT):
                    listed.append(draws.error(values[inside], gold[inside], of=name, aspect=aspect, domain=domain))
            listed += draws.beyond_baselines(judges, gold, inside, aspect, domain)
            listed += draws.covered(judges[JUDGE][inside], gold[inside], scored.half_widths[aspect], aspect, domain)
            listed += draws.agreement(aspect, domain)
        for name, values in judges.items():
            listed += system_level(kept, values, gold, of=name, aspect=aspect, resamples=resamples, seed=seed)
    return listed


def yes_no_figures(
    ratings: Ratings, values: Floats, aspect: str, rows: Bools, *, resamples: int, seed: int
) -> list[Figure]:
    """AUROC of a yes/no output, and of each untrained baseline, for `ratings.span_free`; .5 is chance."""
    given = rows & ~np.isnan(ratings.span_free)
    kept = ratings.take(given)
    bootstrap = Bootstrap(kept.document_codes, resamples=resamples, seed=seed)
    labels = kept.span_free.astype(np.int64).tolist()
    return [
        Figure.interval_of(
            classification_interval(labels, own.tolist(), AUROC, bootstrap), of=name, aspect=aspect, statistic=AUROC
        )
        for name, own in {JUDGE: values[given], **baselines(kept)}.items()
    ]


class Draws:
    """The statistics of some rows, drawn again by document."""

    def __init__(self, ratings: Ratings, resamples: int, seed: int) -> None:
        self._ratings, self._resamples, self._seed = ratings, resamples, seed

    def _of(self, given: Bools) -> Bootstrap:
        return Bootstrap(self._ratings.document_codes[given], resamples=self._resamples, seed=self._seed)

    def correlations(self, values: Floats, gold: Floats, **about: Any) -> list[Figure]:
        """Pearson, Spearman and Kendall's tau-b over summaries."""
        given = ~np.isnan(values + gold)
        bootstrap = self._of(given)
        listed = []
        for name in COEFFICIENTS:
            checkpoint()
            x, y = values[given], gold[given]
            statistic = correlation_of(x, y, bootstrap.codes, name)
            why = correlate(x, y, name).reason or "undefined"
            listed.append(Figure.interval_of(bootstrap.interval(statistic, undefined=why), statistic=name, **about))
        return listed

    def error(self, values: Floats, gold: Floats, **about: Any) -> Figure:
        """The mean absolute error, in points of the scale."""
        given = ~np.isnan(values + gold)
        estimate = self._of(given).mean(np.abs(values - gold)[given])
        return Figure.interval_of(estimate, statistic="mean_absolute_error", **about)

    def covered(
        self, values: Floats, gold: Floats, half_width: float | None, aspect: str, domain: str | None
    ) -> list[Figure]:
        """The share of people's ratings that lie within the judge's interval."""
        if half_width is None:
            return []
        given = ~np.isnan(gold)
        inside = (np.abs(values - gold) <= half_width)[given].astype(np.float64)
        estimate = self._of(given).mean(inside)
        return [Figure.interval_of(estimate, of=JUDGE, statistic="coverage", aspect=aspect, domain=domain)]

    def beyond_baselines(
        self, judges: Mapping[str, Floats], gold: Floats, inside: Bools, aspect: str, domain: str | None
    ) -> list[Figure]:
        """The difference between the judge's Pearson's r and the absolute value of each untrained baseline's; a
        baseline that is the same for all summaries counts as 0."""
        given = ~np.isnan(gold[inside])
        bootstrap = self._of(given)
        people = gold[inside][given]
        own = correlation_of(judges[JUDGE][inside][given], people, bootstrap.codes, "pearson")
        listed = []
        for name in CHEAP:
            checkpoint()
            plain = correlation_of(judges[name][inside][given], people, bootstrap.codes, "pearson")

            def difference(weights: Floats, plain: Callable[[Floats], Floats] = plain) -> Floats:
                beyond: Floats = own(weights) - np.nan_to_num(np.abs(plain(weights)))
                return beyond

            about = {"statistic": f"{BEYOND}{name}", "aspect": aspect, "domain": domain}
            listed.append(Figure.interval_of(bootstrap.interval(difference), of=JUDGE, **about))
        return listed

    def agreement(self, aspect: str, domain: str | None) -> list[Figure]:
        """How far people agree: Krippendorff's alpha, and each one's Pearson's r with the mean of the others."""
        votes = self._ratings.votes_of_annotators(aspect)
        if len(votes) < 2:
            return []
        everyone = np.ones(votes.shape[1], dtype=bool)
        bootstrap = self._of(everyone)
        about: dict[str, Any] = {"of": PEOPLE, "aspect": aspect, "domain": domain}
        alpha = krippendorff_alpha(votes, "interval", bootstrap.codes).estimate(bootstrap)
        listed = [Figure.interval_of(alpha, statistic="alpha_interval", **about)]
        if not any(rater.startswith("?") for rater in self._ratings.annotators(aspect)):
            known = []
            for number, own in enumerate(votes):
                others = np.delete(votes, number, axis=0)
                given = ~np.isnan(others)
                count = given.sum(axis=0)
                sums = np.where(given, others, 0.0).sum(axis=0)
                mean = np.where(count > 0, sums / np.maximum(count, 1), np.nan)
                if (value := correlate(own, mean, "pearson").value) is not None:
                    known.append(value)
            listed.append(
                Figure(
                    statistic="pearson_with_others", value=float(np.mean(known)) if known else None, n=len(known),
                    reason=None if known else "no two annotators share enough ratings", **about,
                )
            )  # fmt: skip
        return listed


def system_level(
    ratings: Ratings, values: Floats, gold: Floats, *, of: str, aspect: str, resamples: int, seed: int
) -> list[Figure]:
    """Kendall's tau-b of systems' means, drawn again by document."""
    given = ~np.isnan(values + gold)
    names = list(dict.fromkeys(row.system for row in ratings.summaries))
    place = np.array([names.index(row.system) for row in ratings.summaries])[given]
    bootstrap = Bootstrap(ratings.document_codes[given], resamples=resamples, seed=seed)
    tables = np.zeros((3, bootstrap.units, len(names)))
    for table, column in zip(tables, (values[given], gold[given], np.ones(int(given.sum()))), strict=True):
        np.add.at(table, (bootstrap.codes, place), column)

    def tau(weights: Floats) -> Floats:
        x, y, count = (weights @ table for table in tables)
        with np.errstate(divide="ignore", invalid="ignore"):
            own, people = (x / count).round(10), (y / count).round(10)
        taus = np.full(len(weights), np.nan)
        for row in np.flatnonzero((count > 0).all(axis=1)):
            if (value := raw(own[row], people[row], "kendall_b")) is not None:
                taus[row] = value
        return taus

    why = "fewer than two systems, or all alike"
    estimate = replace(bootstrap.interval(tau, undefined=why), n=len(names))
    return [Figure.interval_of(estimate, of=of, aspect=aspect, level="system", statistic="kendall_b")]


def warnings(listed: Sequence[Figure]) -> list[str]:
    """What a user must know before trusting the judge: the aspects, and the untrained baselines that it does not beat.

    The intervals are those of single differences, without a correction for the number of baselines.
    """
    texts = []
    for figure in listed:
        if figure.of == JUDGE and figure.statistic == AUROC:
            verdict = against_chance(AUROC, figure.low, figure.high)
            texts += [f"{figure.aspect}: the yes/no output {verdict}"] if verdict != ABOVE else []
        if not figure.statistic.startswith(BEYOND) or figure.domain is not None:
            continue
        baseline = figure.statistic.removeprefix(BEYOND)
        if figure.value is None:
            texts.append(f"{figure.aspect}: whether the judge beats {baseline} is not known ({figure.reason})")
        elif figure.value <= 0:
            texts.append(f"{figure.aspect}: the judge does not beat {baseline}; do not use it for this")
        elif figure.low is None or figure.low <= 0:
            texts.append(f"{figure.aspect}: that the judge beats {baseline} is within chance")
    return texts
