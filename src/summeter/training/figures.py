"""Measure the quality of a judge on documents outside its training set.

The judge is compared with untrained baselines and with the annotators.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from summeter.interrupt import checkpoint
from summeter.meta.verdicts import ABOVE, against_chance
from summeter.records import Record
from summeter.stats import Bootstrap, Estimate, auroc, correlate, correlation_of, krippendorff_alpha
from summeter.stats.base import Bools, Floats
from summeter.stats.correlation import raw
from summeter.text.ngrams import words
from summeter.text.rouge import rouge_n
from summeter.training.ratings import Ratings, known_mean

JUDGE = "judge"
CONSTANT, LENGTH, LEAD, ROUGE = "constant", "length", "lead", "rouge1"
BASELINES = {
    CONSTANT: "the mean rating of the training documents, for every summary",
    LENGTH: "words of the summary",
    LEAD: "ROUGE-1 F1 with the first words of the document, as many as the summary has",
    ROUGE: "ROUGE-1 F1 with the best reference, or with the document if there is no reference",
}
UNTRAINED = (LENGTH, LEAD, ROUGE)
"""The baselines whose values differ between summaries."""
BEYOND = "pearson_beyond_"
"""The prefix of the statistics `pearson_beyond_length`, ...: Pearson's r of the judge minus the absolute value of that
of a baseline."""
COEFFICIENTS = ("pearson", "spearman", "kendall_b")
PEOPLE = "people"
AUROC = "auroc"


class Figure(Record):
    """A figure of the card: a statistic of a judge or a baseline for an aspect.

    `domain` is the domain of the documents, or None for all domains together.
    """

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
        """Return a figure made from an estimate and its interval."""
        return cls(
            value=estimate.value, low=estimate.low, high=estimate.high, n=estimate.n, reason=estimate.reason,
            interval=estimate.interval, **about,
        )  # fmt: skip


def baselines(ratings: Ratings) -> dict[str, Floats]:
    """Return the values of the untrained baselines for each row."""
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
    ratings: Ratings, values: Mapping[str, Floats], half_widths: Mapping[str, float | None],
    means: Mapping[str, float], rows: Bools, *, resamples: int, seed: int,
) -> list[Figure]:  # fmt: skip
    """Return the figures of the judge, the baselines and the annotators for the selected rows.

    All mappings are by aspect: `values` are the judge's for all rows, `half_widths` are those of its intervals (None
    for no interval), and `means` are the values of the constant baseline.
    """
    selected = ratings.take(rows)
    untrained = baselines(selected)
    domains = list(dict.fromkeys(selected.documents[row.document_id].domain for row in selected.summaries))
    listed: list[Figure] = []
    for aspect, predicted in values.items():
        gold = selected.mean(aspect)
        judges = {JUDGE: predicted[rows], CONSTANT: np.full(len(gold), means[aspect]), **untrained}
        for domain in [None, *(domains if len(domains) > 1 else ())]:
            inside = np.array([
                domain in (None, selected.documents[row.document_id].domain) for row in selected.summaries
            ])  # fmt: skip
            draws = Draws(selected.take(inside), resamples, seed)
            for name, of_judge in judges.items():
                listed += draws.correlations(of_judge[inside], gold[inside], of=name, aspect=aspect, domain=domain)
                if name in (JUDGE, CONSTANT):
                    listed.append(draws.error(of_judge[inside], gold[inside], of=name, aspect=aspect, domain=domain))
            listed += draws.beyond_baselines(judges, gold, inside, aspect, domain)
            listed += draws.covered(judges[JUDGE][inside], gold[inside], half_widths[aspect], aspect, domain)
            listed += draws.agreement(aspect, domain)
        for name, of_judge in judges.items():
            listed += system_level(selected, of_judge, gold, of=name, aspect=aspect, resamples=resamples, seed=seed)
    return listed


def yes_no_figures(
    ratings: Ratings, values: Floats, aspect: str, rows: Bools, *, resamples: int, seed: int
) -> list[Figure]:
    """Return the AUROC of a yes/no output and of each untrained baseline as predictors of `ratings.span_free`.

    An AUROC of 0.5 is chance level.
    """
    labelled = rows & ~np.isnan(ratings.span_free)
    selected = ratings.take(labelled)
    bootstrap = Bootstrap(selected.document_codes, resamples=resamples, seed=seed)
    labels = selected.span_free.astype(np.int64).tolist()
    return [
        Figure.interval_of(
            auroc(labels, scores, bootstrap.codes).estimate(bootstrap), of=name, aspect=aspect, statistic=AUROC
        )
        for name, scores in {JUDGE: values[labelled], **baselines(selected)}.items()
    ]


class Draws:
    """Computes statistics with intervals from bootstrap resamples of documents."""

    def __init__(self, ratings: Ratings, resamples: int, seed: int) -> None:
        self._ratings, self._resamples, self._seed = ratings, resamples, seed

    def _bootstrap(self, rows: Bools) -> Bootstrap:
        return Bootstrap(self._ratings.document_codes[rows], resamples=self._resamples, seed=self._seed)

    def correlations(self, values: Floats, gold: Floats, **about: Any) -> list[Figure]:
        """Return Pearson's r, Spearman's rho and Kendall's tau-b over summaries."""
        complete = ~np.isnan(values + gold)
        bootstrap = self._bootstrap(complete)
        listed = []
        for name in COEFFICIENTS:
            checkpoint()
            x, y = values[complete], gold[complete]
            statistic = correlation_of(x, y, bootstrap.codes, name)
            why = correlate(x, y, name).reason or "undefined"
            listed.append(Figure.interval_of(bootstrap.interval(statistic, undefined=why), statistic=name, **about))
        return listed

    def error(self, values: Floats, gold: Floats, **about: Any) -> Figure:
        """Return the mean absolute error, in points of the rating scale."""
        complete = ~np.isnan(values + gold)
        estimate = self._bootstrap(complete).mean(np.abs(values - gold)[complete])
        return Figure.interval_of(estimate, statistic="mean_absolute_error", **about)

    def covered(
        self, values: Floats, gold: Floats, half_width: float | None, aspect: str, domain: str | None
    ) -> list[Figure]:
        """Return the share of mean ratings within the judge's interval, or an empty list if there is no interval."""
        if half_width is None:
            return []
        rated = ~np.isnan(gold)
        inside = (np.abs(values - gold) <= half_width)[rated].astype(np.float64)
        estimate = self._bootstrap(rated).mean(inside)
        return [Figure.interval_of(estimate, of=JUDGE, statistic="coverage", aspect=aspect, domain=domain)]

    def beyond_baselines(
        self, judges: Mapping[str, Floats], gold: Floats, inside: Bools, aspect: str, domain: str | None
    ) -> list[Figure]:
        """Return the judge's Pearson's r minus the absolute Pearson's r of each untrained baseline.

        The correlation of a baseline whose values are all equal counts as 0.
        """
        rated = ~np.isnan(gold[inside])
        bootstrap = self._bootstrap(rated)
        people = gold[inside][rated]
        judge = correlation_of(judges[JUDGE][inside][rated], people, bootstrap.codes, "pearson")
        listed = []
        for name in UNTRAINED:
            checkpoint()
            baseline = correlation_of(judges[name][inside][rated], people, bootstrap.codes, "pearson")

            def difference(weights: Floats, baseline: Callable[[Floats], Floats] = baseline) -> Floats:
                beyond: Floats = judge(weights) - np.nan_to_num(np.abs(baseline(weights)))
                return beyond

            about = {"statistic": f"{BEYOND}{name}", "aspect": aspect, "domain": domain}
            listed.append(Figure.interval_of(bootstrap.interval(difference), of=JUDGE, **about))
        return listed

    def agreement(self, aspect: str, domain: str | None) -> list[Figure]:
        """Return the agreement of the annotators, or an empty list if there are fewer than two.

        It is measured by Krippendorff's alpha and, if the annotators are known, by the mean over annotators of
        Pearson's r with the mean rating of the other annotators.
        """
        votes = self._ratings.votes_of_annotators(aspect)
        if len(votes) < 2:
            return []
        bootstrap = self._bootstrap(np.ones(votes.shape[1], dtype=bool))
        about: dict[str, Any] = {"of": PEOPLE, "aspect": aspect, "domain": domain}
        alpha = krippendorff_alpha(votes, "interval", bootstrap.codes).estimate(bootstrap)
        listed = [Figure.interval_of(alpha, statistic="alpha_interval", **about)]
        if not any(rater.startswith("?") for rater in self._ratings.annotators(aspect)):
            known = []
            for number, ratings in enumerate(votes):
                mean = known_mean(np.delete(votes, number, axis=0), axis=0)
                if (value := correlate(ratings, mean, "pearson").value) is not None:
                    known.append(value)
            listed.append(
                Figure(
                    statistic="pearson_with_others", value=float(np.mean(known)) if known else None, n=len(known),
                    reason=None if known else "no two annotators rated enough summaries in common", **about,
                )
            )  # fmt: skip
        return listed


def system_level(
    ratings: Ratings, values: Floats, gold: Floats, *, of: str, aspect: str, resamples: int, seed: int
) -> list[Figure]:
    """Return Kendall's tau-b between the mean values and the mean ratings of systems.

    Its interval is computed from bootstrap resamples of the documents.
    """
    complete = ~np.isnan(values + gold)
    names = list(dict.fromkeys(row.system for row in ratings.summaries))
    systems = np.array([names.index(row.system) for row in ratings.summaries])[complete]
    bootstrap = Bootstrap(ratings.document_codes[complete], resamples=resamples, seed=seed)
    tables = np.zeros((3, bootstrap.units, len(names)))
    for table, column in zip(tables, (values[complete], gold[complete], np.ones(int(complete.sum()))), strict=True):
        np.add.at(table, (bootstrap.codes, systems), column)

    def tau(weights: Floats) -> Floats:
        x, y, count = (weights @ table for table in tables)
        with np.errstate(divide="ignore", invalid="ignore"):
            predicted, people = (x / count).round(10), (y / count).round(10)
        taus = np.full(len(weights), np.nan)
        for row in np.flatnonzero((count > 0).all(axis=1)):
            if (value := raw(predicted[row], people[row], "kendall_b")) is not None:
                taus[row] = value
        return taus

    why = "fewer than two systems, or all means are equal"
    estimate = replace(bootstrap.interval(tau, undefined=why), n=len(names))
    return [Figure.interval_of(estimate, of=of, aspect=aspect, level="system", statistic="kendall_b")]


def warnings(listed: Sequence[Figure]) -> list[str]:
    """Return warnings for the aspects for which the judge does not beat an untrained baseline or chance.

    Each interval is that of a single difference; there is no correction for multiple comparisons.
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
            texts.append(f"{figure.aspect}: it is unknown whether the judge beats {baseline} ({figure.reason})")
        elif figure.value <= 0:
            texts.append(f"{figure.aspect}: the judge does not beat {baseline}; do not use it for this aspect")
        elif figure.low is None or figure.low <= 0:
            texts.append(f"{figure.aspect}: the judge does not beat {baseline} significantly")
    return texts
