"""The raters x items matrix of votes that every agreement coefficient reads."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .base import Floats, Ints, Labels, Seed, Status, floats
from .resample import Interval, bootstrap

Votes = Sequence[Sequence[Any]] | NDArray[Any]


class Agreement(NamedTuple):
    """An agreement coefficient and what it rests on.

    ``n`` items entered, ``missing`` did not (too few votes); ``votes`` were given to the items that entered by
    ``raters`` raters. ``observed`` and ``expected`` are the two ingredients: shares of agreement for the kappas,
    disagreements for alpha, None for coefficients without them.
    """

    name: str
    value: float | None
    n: int
    missing: int
    raters: int
    votes: int
    observed: float | None = None
    expected: float | None = None
    status: Status = Status.OK
    reason: str | None = None


Parts = Callable[[Floats], tuple[Floats, Floats]]
"""Weights (draws x clusters) to what is observed and what is expected in each draw."""

_SURE = 1e-12


class AgreementFunction(NamedTuple):
    """An agreement coefficient as one function of the weights of clusters: a weight of 1 for all gives the coefficient.

    ``shell`` says what it rests on, and why there is none where it is undefined. ``value`` makes the coefficient of
    what is observed and expected, where the latter leaves room for it. ``width`` is how many numbers a draw takes.
    """

    shell: Agreement
    parts: Parts
    value: Callable[[Floats, Floats], Floats]
    width: int
    room: Callable[[Floats], Floats] = lambda expected: expected

    def __call__(self, weights: Floats) -> Floats:
        """Return the coefficient of each draw, NaN where it is undefined."""
        with np.errstate(divide="ignore", invalid="ignore"):
            observed, expected = self.parts(weights)
            room = self.room(expected)
            return np.asarray(np.where(room > _SURE * (1 + room), self.value(observed, expected), np.nan))

    def agreement(self) -> Agreement:
        """Return the coefficient with what it rests on."""
        if not self.shell.n:
            return self.shell
        units = np.ones((1, self.width))
        with np.errstate(divide="ignore", invalid="ignore"):
            observed, expected = (float(part[0]) for part in self.parts(units))
        value = float(self(units)[0])
        if np.isnan(value):
            known = [None if np.isnan(part) else part for part in (observed, expected)]
            return self.shell._replace(observed=known[0], expected=known[1])
        return self.shell._replace(value=value, observed=observed, expected=expected, status=Status.OK, reason=None)


class Counted(NamedTuple):
    """Votes counted: items x categories, the categories in order, and the number of raters who voted at all."""

    table: Floats
    categories: tuple[Hashable, ...]
    raters: int


def as_matrix(votes: Votes) -> NDArray[Any]:
    """Return votes as a two-dimensional array: floats where all are numbers or missing, objects where any is not.

    Raises ValueError when the votes are not a matrix.
    """
    array = votes if isinstance(votes, np.ndarray) else np.array(list(votes), dtype=object)
    if array.ndim != 2:
        raise ValueError(f"votes must be a raters x items matrix, got shape {array.shape}")
    if array.dtype.kind != "O" or any(isinstance(vote, str) for vote in array.ravel()):
        return array
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError):
        return array


def number_matrix(votes: Votes) -> Floats:
    """Return votes as a float matrix raters x items, NaN where there is none; ValueError for anything else."""
    return floats(as_matrix(votes), 2)


def voters(matrix: Floats) -> int:
    """Return how many raters gave at least one vote."""
    return int((~np.isnan(matrix)).any(axis=1).sum())


def code_matrix(votes: Votes, scale: Sequence[Hashable] | None = None) -> tuple[Ints, tuple[Hashable, ...]]:
    """Return votes as category numbers raters x items (-1 = no vote), and the categories in order.

    The categories are ``scale`` when given, else the values seen, sorted. Raises ValueError for a ragged matrix or
    a vote that is not on the scale.

    >>> code_matrix([["b", "a", None]])[0].tolist()
    [[1, 0, -1]]
    """
    array = as_matrix(votes)
    if array.dtype.kind in "fiub":
        seen, index = np.unique(array, return_inverse=True)
        values: list[Any] = seen.tolist()
        cells = index.reshape(array.shape).astype(np.int64)
    else:
        values, cells = _codes_of_objects(array)
    empty = {i for i, value in enumerate(values) if value is None or value != value}  # noqa: PLR0124 - NaN
    categories = tuple(scale) if scale is not None else _sorted(v for i, v in enumerate(values) if i not in empty)
    place = {category: i for i, category in enumerate(categories)}
    strange = [value for i, value in enumerate(values) if i not in empty and value not in place]
    if strange:
        raise ValueError(f"votes not on the scale {list(categories)}: {strange[:5]}")
    lookup = np.array([-1 if i in empty else place[value] for i, value in enumerate(values)], np.int64)
    return (lookup[cells] if len(lookup) else cells), categories


def count_votes(votes: Votes, scale: Sequence[Hashable] | None = None) -> Counted:
    """Count the votes of each item for each category."""
    cells, categories = code_matrix(votes, scale)
    items, width = cells.shape[1], max(1, len(categories))
    raters, columns = np.nonzero(cells >= 0)
    flat = columns * width + cells[raters, columns]
    table = np.bincount(flat, minlength=items * width).reshape(items, width).astype(np.float64)
    return Counted(table, categories, len(np.unique(raters)))


def agreement_interval(
    coefficient: Callable[[NDArray[Any]], Agreement],
    votes: Votes,
    clusters: Labels | None = None,
    resamples: int = 1000,
    level: float = 0.95,
    seed: Seed = 0,
) -> Interval:
    """Return an agreement coefficient with a bootstrap interval over items, drawn whole by cluster (document).

    ``coefficient`` maps a votes matrix to an Agreement (use ``functools.partial`` or a lambda to set its scale or
    level). Draws without a value, as when all drawn votes are alike, are left out and counted in ``reason``.
    ``n`` and ``missing`` count items as the coefficient itself does.
    """
    array = as_matrix(votes)
    whole = coefficient(array)

    def value(columns: Floats) -> float | None:
        return coefficient(array[:, columns.astype(np.int64)]).value

    got = bootstrap(value, [np.arange(array.shape[1])], clusters, resamples, level, seed)
    return got._replace(n=whole.n, missing=whole.missing, reason=whole.reason or got.reason)


def _codes_of_objects(array: NDArray[Any]) -> tuple[list[Any], Ints]:
    seen: dict[Hashable, int] = {}
    flat = [seen.setdefault(_plain(value), len(seen)) for value in array.ravel().tolist()]
    return list(seen), np.array(flat, np.int64).reshape(array.shape)


def _plain(value: Any) -> Hashable:
    """Return a hashable vote in which every missing value is None."""
    missing = value is None or value != value  # noqa: PLR0124 - only NaN differs from itself
    return None if missing else value


def _sorted(values: Any) -> tuple[Hashable, ...]:
    seen = list(values)
    try:
        return tuple(sorted(seen))
    except TypeError:
        return tuple(sorted(seen, key=str))
