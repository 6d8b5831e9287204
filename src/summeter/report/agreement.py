"""How far the judges of a run agree with people on its very data, where the data hold people's judgments."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from summeter.meta import classify, correlate
from summeter.meta.results import Row, Study
from summeter.records import UsageError
from summeter.report.blocks import Agreement, Source
from summeter.report.ranks import ColumnKey, label_of
from summeter.report.views import RunView
from summeter.report.words import gloss

RESAMPLES = 500
CHANCE = {"balanced_accuracy": 0.5, "spearman": 0.0}
"""What guessing reaches."""
_WORDS = {"balanced_accuracy": "balanced accuracy", "spearman": "rank correlation"}
_UNITS = {"sentence": "sentences", "key_fact": "key facts", "summary": "summaries"}


def agreements(view: RunView, sources: Sequence[Source]) -> tuple[Agreement, ...]:
    """One figure a judge and aspect: balanced accuracy of decisions on units, else rank correlation of summary scores.

    >>> CHANCE["balanced_accuracy"]
    0.5
    """
    if not view.data.judgment_sets:
        return ()
    asked: tuple[Callable[[], Study], ...] = (
        lambda: classify(view.folder, view.data, level="sentence", resamples=RESAMPLES, seed=view.seed),
        lambda: classify(view.folder, view.data, level="key_fact", resamples=RESAMPLES, seed=view.seed),
        lambda: correlate(
            view.folder, view.data, level="summary", coefficients=("spearman",), resamples=RESAMPLES, seed=view.seed
        ),
    )
    found: dict[tuple[str | None, str | None, str | None], Agreement] = {}
    for study in asked:
        try:
            rows = [row for row in study() if row.statistic in CHANCE and row.n]
        except UsageError:  # people have not judged that
            continue
        for row in rows:
            found.setdefault((row.judge, row.signature, row.aspect), _agreement(row, view, sources))
    return tuple(found.values())


def _agreement(row: Row, view: RunView, sources: Sequence[Source]) -> Agreement:
    column = ColumnKey(view.place, row.judge or "", row.signature or "", row.aspect or "")
    gold = "" if row.gold_aspect in (None, row.aspect) else f" against {gloss(row.gold_aspect).title}"
    return Agreement(
        source=label_of(column, view, sources),
        title=f"{gloss(row.aspect or '').title}{gold}",
        statistic=_WORDS[row.statistic],
        units=_UNITS[row.level or "summary"],
        value=row.value,
        low=row.low,
        high=row.high,
        n=row.n,
        missing=row.missing,
        verdict=beside_chance(row.statistic, row.value, row.low, row.high, row.reason),
    )


def beside_chance(
    statistic: str, value: float | None, low: float | None, high: float | None, reason: str | None = None
) -> str:
    """Whether a judge agrees with people more than guessing does.

    >>> beside_chance("balanced_accuracy", 0.7, 0.6, 0.8), beside_chance("spearman", 0.1, -0.1, 0.3)
    ('above chance', 'at chance')
    """
    if value is None:
        return reason or "undefined"
    if low is None or high is None:
        return "too few documents to tell it from chance"
    if low > CHANCE[statistic]:
        return "above chance"
    return "below chance" if high < CHANCE[statistic] else "at chance"
