"""Agreement coefficients by the names of the field, on a matrix of votes, with intervals that draw documents whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from summeter.meta.agreement_draws import alpha_draws, cohen_draws, gwet_draws
from summeter.meta.grids import Draws
from summeter.records import UsageError
from summeter.stats import (
    Agreement,
    Level,
    Model,
    Statistic,
    Status,
    bootstrap,
    bootstrap_mean,
    cohen_kappa,
    fleiss_kappa,
    gwet_ac1,
    gwet_ac2,
    icc,
    krippendorff_alpha,
    mean_cohen_kappa,
    mean_pairwise,
    rater_deviation,
)
from summeter.stats.base import Floats, Ints

ALPHAS = ("alpha_nominal", "alpha_ordinal", "alpha_interval", "alpha_ratio")
KAPPAS = ("kappa_cohen", "kappa_fleiss", "ac1", "ac2")
PAIRWISE = ("mean_pairwise_pearson", "mean_pairwise_spearman", "mean_pairwise_kendall_b")
OTHERS = ("icc", "rater_deviation", "identical")
COEFFICIENTS = (*ALPHAS, *KAPPAS, *OTHERS, *PAIRWISE)
"""Every coefficient there is, besides `span_f1`."""

FOR_LABELS = ("alpha_nominal", "kappa_fleiss", "kappa_cohen", "ac1")
FOR_RATINGS = ("alpha_nominal", "alpha_ordinal", "alpha_interval", "ac2", "icc", "mean_pairwise_pearson",
               "rater_deviation")  # fmt: skip

ON_SCALE = frozenset({"kappa_cohen", "kappa_fleiss", "ac1", "ac2"})
_ANONYMOUS = frozenset({*ALPHAS, "kappa_fleiss", "ac1", "ac2", "rater_deviation", "identical"})
_MANY_RATERS = 10
_Function = Callable[[NDArray[Any]], Agreement | Statistic]
FEW = "fewer than 2 documents: no interval"


@dataclass(frozen=True)
class Measure:
    """How a coefficient is computed: the scale all votes are on, the weights of ac2, the form of the ICC.

    `scale` matters for kappas and AC1/AC2: the values that could have been given, in order. By default it is the
    values given to any unit of the aspect, so that it does not change from one domain to the next.
    """

    scale: tuple[float, ...] = ()
    weights: str = "quadratic"
    model: str = Model.ICC2.value


class Measured(NamedTuple):
    """A coefficient with its interval and what it rests on, before it is a row."""

    name: str
    value: float | None
    n: int
    missing: int
    p: float | None
    status: Status
    reason: str | None
    low: float | None
    high: float | None
    details: dict[str, Any]


def usual(values: Floats) -> tuple[str, ...]:
    """The coefficients that suit votes: those for labels where all are 0 or 1, else those for ratings.

    >>> usual(np.array([[1.0, 0.0], [1.0, np.nan]]))[0]
    'alpha_nominal'
    """
    seen = values[~np.isnan(values)]
    if not np.isin(seen, (0.0, 1.0)).all():
        return FOR_RATINGS
    return tuple(name for name in FOR_LABELS if name != "kappa_cohen" or len(values) <= _MANY_RATERS)


def check_names(names: Sequence[str]) -> None:
    """Raise UsageError for a coefficient that there is not."""
    for name in names:
        if name not in COEFFICIENTS:
            raise UsageError(f"no coefficient {name!r}; there are: {', '.join((*COEFFICIENTS, 'span_f1'))}")


def scale_of(values: Floats) -> tuple[float, ...]:
    """The values given, in order."""
    return tuple(np.unique(values[~np.isnan(values)]).tolist())


def measure(name: str, values: Floats, documents: Ints, how: Measure, draws: Draws | None = None) -> Measured:
    """One coefficient of votes (raters x units), NaN for none, with an interval by document where `draws` are given.

    >>> votes = np.array([[0.0, 0, 1, 1], [0, 1, 1, 1]])
    >>> round(measure("alpha_nominal", votes, np.arange(4), Measure()).value, 4)
    0.5333
    """
    check_names([name])
    draws = draws if draws is not None and draws.resamples else None
    raters = int((~np.isnan(values)).any(axis=1).sum())
    compact = slots(values) if name in _ANONYMOUS else values[(~np.isnan(values)).any(axis=1)]
    if name in PAIRWISE:
        return _pairwise(name, values, documents, raters, draws)
    if problem := _misfit(name, compact, how):
        units = values.shape[1]
        return Measured(name, None, 0, units, None, Status.UNDEFINED, problem, None, None, {"raters": raters})
    function = _function(name, how)
    got = function(compact)
    details: dict[str, Any] = {"raters": raters, **_said(name, how)}
    if isinstance(got, Agreement):
        details |= {"votes": got.votes, "observed": got.observed, "expected": got.expected}
    p = got.p if isinstance(got, Statistic) else None
    made = Measured(name, got.value, got.n, got.missing, p, Status(got.status), got.reason, None, None, details)
    if got.value is None or draws is None:
        return made
    numbered = np.unique(documents, return_inverse=True)[1].astype(np.int64)
    return _with_interval(made, function, compact, numbered, how, draws)


def slots(values: Floats) -> Floats:
    """The votes of each unit pushed together, without the raters' identity: as many rows as the most votes on a unit.

    >>> slots(np.array([[1.0, np.nan], [np.nan, 2.0], [3.0, np.nan]])).tolist()
    [[1.0, 2.0], [3.0, nan]]
    """
    order = np.argsort(np.isnan(values), axis=0, kind="stable")
    most = int((~np.isnan(values)).sum(axis=0).max(initial=0))
    return np.asarray(np.take_along_axis(values, order, axis=0)[: max(1, most)])


def identical(values: Floats) -> Statistic:
    """The share of units on which all votes are the same, of those with two or more.

    >>> identical(np.array([[1.0, 2.0, 3.0], [1.0, 3.0, np.nan]])).value
    0.5
    """
    kept = (~np.isnan(values)).sum(axis=0) >= 2
    n, missing = int(kept.sum()), int((~kept).sum())
    if not n:
        return Statistic("identical", None, 0, missing, None, Status.UNDEFINED, "no item has 2 votes")
    same = np.nanmax(values[:, kept], axis=0) == np.nanmin(values[:, kept], axis=0)
    return Statistic("identical", float(same.mean()), n, missing)


def _said(name: str, how: Measure) -> dict[str, Any]:
    """What was chosen, where it matters."""
    if name == "icc":
        return {"model": how.model}
    if name == "ac2":
        return {"weights": how.weights, "scale": list(how.scale)}
    return {"scale": list(how.scale)} if name in ON_SCALE else {}


def _function(name: str, how: Measure) -> _Function:
    scale = how.scale or None
    if name in ALPHAS:
        level = Level(name.removeprefix("alpha_"))
        return lambda votes: krippendorff_alpha(votes, level)
    made: dict[str, _Function] = {
        "kappa_cohen": lambda votes: _cohen(votes, scale),
        "kappa_fleiss": lambda votes: fleiss_kappa(votes, scale),
        "ac1": lambda votes: gwet_ac1(votes, scale),
        "ac2": lambda votes: gwet_ac2(votes, how.weights, scale),
        "icc": lambda votes: icc(votes, how.model),
        "rater_deviation": rater_deviation,
        "identical": identical,
    }
    return made[name]


def _cohen(votes: NDArray[Any], scale: Sequence[float] | None) -> Agreement:
    """Cohen's kappa of two raters; of more, the mean over their pairs (Light, 1971)."""
    if len(votes) == 2:
        return cohen_kappa(votes, scale=scale)
    return mean_cohen_kappa(votes, scale=scale)._replace(name="kappa_cohen")


def _misfit(name: str, votes: Floats, how: Measure) -> str | None:
    """Why votes cannot be measured so; None where they can."""
    seen = votes[~np.isnan(votes)]
    if name in ON_SCALE and not np.isin(seen, how.scale).all():
        return f"some votes are not on the scale {', '.join(f'{value:g}' for value in how.scale)}"
    return "ratio votes must not be negative" if name == "alpha_ratio" and (seen < 0).any() else None


def _with_interval(
    made: Measured, function: _Function, votes: Floats, documents: Ints, how: Measure, draws: Draws
) -> Measured:
    """The quickest way to an interval by document; `documents` are numbered 0..D-1."""
    several = documents.max(initial=0) > 0
    if not several:
        return made._replace(status=Status.NO_INTERVAL, reason=FEW)
    if made.name in ("rater_deviation", "identical"):
        return _mean_interval(made, votes, documents, draws)
    drawn = _drawn(made.name, votes, documents, how, draws)
    if drawn is None:
        return _slow_interval(made, function, votes, documents, draws)
    ends = draws.ends(drawn)
    if ends is None:
        return made._replace(status=Status.NO_INTERVAL, reason="the coefficient is undefined in most resamples")
    return made._replace(low=ends[0], high=ends[1])


def _drawn(name: str, votes: Floats, documents: Ints, how: Measure, draws: Draws) -> Floats | None:
    """The coefficient of each draw, where there is a quick way to all of them."""
    times = draws.times(int(documents.max(initial=0)) + 1)
    if name in ALPHAS:
        return alpha_draws(votes, documents, times, name.removeprefix("alpha_"))
    if name == "kappa_cohen":
        return cohen_draws(votes, documents, times, how.scale)
    return gwet_draws(name, votes, documents, times, how.scale, how.weights) if name in ON_SCALE else None


def _mean_interval(made: Measured, votes: Floats, documents: Ints, draws: Draws) -> Measured:
    """The interval of what is a mean over units."""
    kept = (~np.isnan(votes)).sum(axis=0) >= 2
    inside = votes[:, kept]
    each = np.nanstd(inside, axis=0) if made.name == "rater_deviation" else np.nanmax(inside, 0) == np.nanmin(inside, 0)
    got = bootstrap_mean(each.astype(np.float64), documents[kept], draws.resamples, draws.level, draws.seed)
    return made._replace(low=got.low, high=got.high, status=Status(got.status), reason=got.reason)


def _slow_interval(made: Measured, function: _Function, votes: Floats, documents: Ints, draws: Draws) -> Measured:
    got = bootstrap(
        lambda columns: function(votes[:, columns.astype(np.int64)]).value, [np.arange(votes.shape[1])],
        documents, draws.resamples, draws.level, draws.seed,
    )  # fmt: skip
    return made._replace(low=got.low, high=got.high, status=Status(got.status), reason=got.reason)


def _pairwise(name: str, values: Floats, documents: Ints, raters: int, draws: Draws | None) -> Measured:
    """The mean correlation of two raters within a document, averaged over documents (SummQual's agreement)."""
    kind = name.removeprefix("mean_pairwise_")
    order = list(dict.fromkeys(documents.tolist()))
    found: list[float | None] = []
    for document in order:
        inside = values[:, documents == document]
        found.append(mean_pairwise(inside[(~np.isnan(inside)).any(axis=1)], kind).value if inside.size else None)
    defined = [one for one in found if one is not None]
    here = (~np.isnan(values)).sum(axis=0) >= 2
    n, missing = int(here.sum()), int((~here).sum())
    details = {"raters": raters, "documents": len(defined), "undefined_documents": len(found) - len(defined)}
    if not defined:
        reason = "no document has two raters whose votes vary" if n else "no item has 2 votes"
        return Measured(name, None, n, missing, None, Status.UNDEFINED, reason, None, None, details)
    made = Measured(name, float(np.mean(defined)), n, missing, None, Status.OK, None, None, None, details)
    if draws is None:
        return made
    got = bootstrap_mean(defined, None, draws.resamples, draws.level, draws.seed)
    return made._replace(low=got.low, high=got.high, status=Status(got.status), reason=got.reason)
