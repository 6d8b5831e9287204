"""Is a judge as good on good systems as on bad ones? (Shen et al., 2023, section 4.2.)

The correlation with people is computed for every system over its own summaries (study `per_candidate`), and then set
against how good people find the systems: the meta-correlation M = rho(Q, P), where P_i is the judge's correlation on
system i and Q_i the mean of people's scores of it (study `meta_correlation`). A negative M says that the judge is
the less to be trusted the better the systems are. `candidate_spread` says how much the correlations differ at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from summeter.choices import Coefficient, Level
from summeter.meta.grids import Draws, PairedMatrix, drawn_row, merged_details, paired_matrices, system_means
from summeter.meta.inputs import Gold, RunLike
from summeter.meta.results import Row, Study
from summeter.meta.selection import Selection, meta_input, selected
from summeter.records import UsageError
from summeter.stats import Statistic, Status, correlate
from summeter.stats.base import Bools, Floats
from summeter.stats.correlation import raw, weighted_correlations

USUAL = ("pearson", "spearman", "kendall_b")
FEWEST = 3
_DIGITS = 12
_SPREADS = ("range", "deviation")


@dataclass(frozen=True)
class Steady:
    """How stability is measured.

    `coefficients` are computed each with itself in both steps. `together` drops a system on which any of them is
    undefined from all of them (as Shen et al. do), so that all rest on the same systems; else each drops its own.
    """

    coefficients: Sequence[str] = USUAL
    together: bool = True

    def __post_init__(self) -> None:
        check_coefficients(self.coefficients)


def check_coefficients(names: Sequence[str]) -> None:
    """Raise UsageError for none, or for a coefficient that there is not."""
    known = [one.value for one in Coefficient]
    strange = [name for name in names if name not in known]
    if strange or not names:
        raise UsageError(f"no coefficient {strange[0] if strange else ''!r}; there are: {', '.join(known)}")


class Candidates(NamedTuple):
    """The correlation of two matrices on each system, by coefficient, and the draws of it (draws x systems)."""

    found: dict[str, list[Statistic]]
    drawn: dict[str, Floats]

    def values(self, name: str) -> Floats:
        """The correlations of one coefficient, NaN where undefined."""
        return np.array([np.nan if one.value is None else one.value for one in self.found[name]])

    def defined(self, name: str, *, together: bool) -> Bools:
        """The systems that count for a coefficient."""
        names = list(self.found) if together else [name]
        return np.asarray(~np.any([np.isnan(self.values(one)) for one in names], axis=0))


def stability(
    run: RunLike, gold: Gold, *, aspect: str | Sequence[str] | None = None, select: Selection | None = None,
    steady: Steady | None = None, draws: Draws | None = None,
) -> Study:  # fmt: skip
    """Per-candidate correlations and the meta-correlation of every judge and aspect.

    Intervals draw documents, the same ones for all systems, and compute everything anew. The p-value of the
    meta-correlation is that of a correlation of k systems.
    """
    chosen, steady, draws = selected(select, aspect), steady or Steady(), draws or Draws()
    rows: list[Row] = []
    for one in paired_matrices(meta_input(run, gold, chosen), chosen):
        got = candidates(one.judge, one.gold, steady.coefficients, draws)
        rows += per_system_rows("per_candidate", one.systems, one.fields(), got, draws)
        for name in steady.coefficients:
            rows += _spread(one, got, name, draws)
            rows.append(_meta(one, got, name, steady, draws))
    return Study("stability", rows)


def candidates(one: Floats, two: Floats, coefficients: Sequence[str], draws: Draws) -> Candidates:
    """Correlate two matrices systems x documents on each system, with the draws of documents.

    >>> got = candidates(np.array([[1.0, 2.0, 3.0]]), np.array([[1.0, 3.0, 2.0]]), ["spearman"], Draws(10))
    >>> round(got.found["spearman"][0].value, 12), got.drawn["spearman"].shape
    (0.5, (10, 1))
    """
    times = draws.times(max(1, one.shape[1]))
    found: dict[str, list[Statistic]] = {}
    drawn: dict[str, Floats] = {}
    for name in coefficients:
        kind = Coefficient(name)
        found[name] = [correlate(x, y, kind) for x, y in zip(one, two, strict=True)]
        drawn[name] = np.full((draws.resamples, len(one)), np.nan)
        for place, (x, y) in enumerate(zip(one, two, strict=True)):
            here = ~(np.isnan(x) | np.isnan(y))
            if found[name][place].value is not None:
                drawn[name][:, place] = _drawn(x[here], y[here], times[:, here], kind)
    return Candidates(found, drawn)


def _drawn(x: Floats, y: Floats, times: np.ndarray[Any, np.dtype[np.int64]], kind: Coefficient) -> Floats:
    """The correlation of each draw, NaN where too little was drawn or it is constant."""
    enough = times.sum(axis=1) > 0
    values = np.full(len(times), np.nan)
    if not enough.any():
        return values
    values[enough] = weighted_correlations(x, y, times[enough].astype(np.float64), kind)
    return values


def per_system_rows(
    study: str, systems: Sequence[str], fields: dict[str, Any], got: Candidates, draws: Draws
) -> list[Row]:
    """One row a system and coefficient."""
    rows = []
    for name, found in got.found.items():
        for place, stat in enumerate(found):
            about = {**fields, "study": study, "level": Level.SUMMARY.value, "average": "pooled", "statistic": name,
                     "system": systems[place], "n": stat.n, "missing": stat.missing, "p": stat.p,
                     "reason": stat.reason}  # fmt: skip
            ends = draws.ends(got.drawn[name][:, place]) if stat.value is not None and stat.n > 2 else None
            rows.append(drawn_row(about, stat.value, ends, draws))
    return rows


def _spread(one: PairedMatrix, got: Candidates, name: str, draws: Draws) -> list[Row]:
    """How far the systems' correlations lie apart: their range and their standard deviation (population)."""
    values = got.values(name)
    kept = ~np.isnan(values)
    n = int(kept.sum())
    about = {**one.fields(), "study": "candidate_spread", "level": Level.SYSTEM.value, "n": n,
             "missing": len(values) - n, "reason": None if n >= 2 else "fewer than 2 systems"}  # fmt: skip
    about = merged_details(about, coefficient=name)
    if n < 2:
        return [drawn_row({**about, "statistic": f"{what}_{name}"}, None, None, draws) for what in _SPREADS]
    lowest, highest = one.systems[int(np.nanargmin(values))], one.systems[int(np.nanargmax(values))]
    about = merged_details(about, lowest=lowest, highest=highest)
    drawn = got.drawn[name][:, kept]
    whole = drawn[~np.isnan(drawn).any(axis=1)]
    return [
        drawn_row({**about, "statistic": f"range_{name}"}, float(np.ptp(values[kept])),
                  draws.ends(np.ptp(whole, axis=1)), draws),
        drawn_row({**about, "statistic": f"deviation_{name}"}, float(values[kept].std()),
                  draws.ends(whole.std(axis=1)), draws),
    ]  # fmt: skip


def _meta(one: PairedMatrix, got: Candidates, name: str, steady: Steady, draws: Draws) -> Row:
    """M = rho(Q, P) over the systems on which P is defined."""
    quality = system_means(one.gold)
    kept = got.defined(name, together=steady.together) & ~np.isnan(quality)
    dropped = [system for system, here in zip(one.systems, kept, strict=True) if not here]
    found = over_systems(name, quality[kept], got.values(name)[kept])
    times = draws.times(one.gold.shape[1]).astype(np.float64)
    means = _drawn_means(one.gold[kept], times)
    ends = draws.ends(correlate_draws(means, got.drawn[name][:, kept], name)) if found.value is not None else None
    about = merged_details(one.fields(), k=found.n, dropped=dropped)
    about |= {"study": "meta_correlation", "level": Level.SYSTEM.value, "statistic": name, "n": found.n,
              "missing": len(one.systems) - found.n, "p": found.p, "reason": found.reason}  # fmt: skip
    return drawn_row(about, found.value, ends, draws)


def over_systems(name: str, one: Floats, two: Floats) -> Statistic:
    """A correlation over systems; with fewer than three it says nothing, and is undefined.

    The values are correlations and means themselves: what is equal in exact arithmetic must tie, so they are rounded.
    """
    if len(one) < FEWEST:
        reason = f"{len(one)} systems; at least {FEWEST} are needed"
        return Statistic(name, None, len(one), 0, None, Status.UNDEFINED, reason)
    return correlate(np.round(one, _DIGITS), np.round(two, _DIGITS), name)


def _drawn_means(values: Floats, times: Floats) -> Floats:
    """The mean of each system in each draw (draws x systems)."""
    there = ~np.isnan(values)
    counts = times @ there.T.astype(np.float64)
    sums = times @ np.where(there, values, 0.0).T
    means = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
    return np.asarray(np.round(means, _DIGITS))


def correlate_draws(one: Floats, two: Floats, name: str) -> Floats:
    """Row by row, the correlation of two matrices draws x systems, over the systems that have both; NaN where none.

    >>> correlate_draws(np.array([[1.0, 2.0, 3.0]]), np.array([[2.0, 4.0, 5.0]]), "spearman").round(12).tolist()
    [1.0]
    """
    kind = Coefficient(name)
    left, right = np.round(one, _DIGITS), np.round(two, _DIGITS)
    there = ~(np.isnan(left) | np.isnan(right))
    values = np.full(len(left), np.nan)
    for draw in np.flatnonzero(there.sum(axis=1) >= FEWEST):
        value = raw(left[draw, there[draw]], right[draw, there[draw]], kind)
        values[draw] = np.nan if value is None else value
    return values
