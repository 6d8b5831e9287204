"""Bradley-Terry strengths from paired comparisons, with bootstrap intervals (Bradley & Terry, 1952; Hunter, 2004).

P(i beats j) = 1 / (1 + exp(s_j - s_i)). Strengths s are natural logarithms centred on 0; a difference of 1 is a
win probability of .73. A tie is half a win for each.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .base import Bools, Floats, Ints, Labels, Seed, Status, Values, codes, complete
from .resample import Bootstrap, Interval, nothing

_STEPS = 20_000
_CLOSE = 1e-12
_SPLIT = "some systems never lost (or never won) to the others: no finite strengths; give a prior"


class Strength(NamedTuple):
    """One system's strength with its interval."""

    system: int
    interval: Interval

    @property
    def strength(self) -> float:
        """The natural logarithm, 0 for the mean of all systems."""
        return float(self.interval.value or 0.0)

    @property
    def low(self) -> float | None:
        """The interval's lower end; None where the bootstrap gives none."""
        return self.interval.low

    @property
    def high(self) -> float | None:
        """The interval's upper end; None where the bootstrap gives none."""
        return self.interval.high


class BradleyTerry(NamedTuple):
    """Fitted strengths, best first; ``lost`` counts resamples in which they were not finite, left out."""

    strengths: list[Strength]
    n: int
    missing: int
    clusters: int
    lost: int
    status: Status
    reason: str | None


class Games(NamedTuple):
    """Comparisons as aligned arrays: two systems' numbers, the points of the first (0 to 1, a tie 0.5), a cluster."""

    first: Ints
    second: Ints
    points: Floats
    clusters: Labels | None = None


def games_from_scores(scores: Values) -> Games:
    """Turn a systems x documents matrix of scores into one comparison a pair and document, clustered by document."""
    matrix = np.asarray(scores, dtype=np.float64)
    systems, documents = matrix.shape
    one, two = np.triu_indices(systems, 1)
    gap = matrix[one] - matrix[two]
    return Games(
        np.repeat(one, documents).astype(np.int64),
        np.repeat(two, documents).astype(np.int64),
        ((np.sign(gap) + 1) / 2).ravel(),
        np.tile(np.arange(documents), len(one)),
    )


def bradley_terry(
    games: Games,
    systems: int,
    prior: float = 0.0,
    resamples: int = 1000,
    level: float = 0.95,
    seed: Seed = 0,
) -> BradleyTerry:
    """Fit strengths by Hunter's MM algorithm, with percentile intervals over clusters drawn whole.

    ``prior`` adds that many half-won games between every two systems, which keeps strengths finite when a system
    wins everything; 0 is maximum likelihood and leaves such a case undefined. Comparisons with a missing result
    are dropped and counted. All resamples are fitted together.

    Three wins to one: s = +- log(3) / 2.

    >>> import numpy as np
    >>> zeros = np.zeros(4, dtype=np.int64)
    >>> fit = bradley_terry(Games(zeros, zeros + 1, np.array([1, 1, 1, 0.0])), systems=2, resamples=10)
    >>> [round(s.strength, 4) for s in fit.strengths]
    [0.5493, -0.5493]
    """
    wins, n, missing = _cluster_wins(games, systems)
    shell = BradleyTerry([], n, missing, len(wins), 0, Status.UNDEFINED, None)
    if n == 0:
        return shell._replace(reason=nothing(missing))
    pseudo = np.full((systems, systems), prior / 2)
    np.fill_diagonal(pseudo, 0.0)
    table = wins.reshape(len(wins), -1)

    def fitted(weights: Floats) -> Floats:
        drawn = (weights @ table).reshape(-1, systems, systems) + pseudo
        finite = _connected(drawn)
        values = np.full((len(drawn), systems), np.nan)
        values[finite] = _fit(drawn[finite])
        return values

    whole = fitted(np.ones((1, len(wins))))[0]
    if np.isnan(whole).any():
        return shell._replace(reason=_SPLIT)
    bootstrap = Bootstrap(codes(range(len(wins))), resamples, level, seed)
    (samples,) = bootstrap.samples(fitted)
    intervals = [bootstrap.of_samples(float(whole[i]), samples[:, i], n=n, missing=missing) for i in range(systems)]
    order = np.argsort(-whole, kind="stable")
    return shell._replace(
        strengths=[Strength(int(i), intervals[i]) for i in order],
        lost=intervals[0].lost, status=intervals[0].status, reason=intervals[0].reason,
    )  # fmt: skip


def win_probability(first: float, second: float) -> float:
    """Return the chance that a system of strength ``first`` beats one of strength ``second``.

    >>> round(win_probability(1.0, 0.0), 4)
    0.7311
    """
    return 1 / (1 + math.exp(second - first))


def _cluster_wins(games: Games, systems: int) -> tuple[Floats, int, int]:
    """Return wins as clusters x systems x systems, the number of games used and the number dropped."""
    (result,), kept = complete(games.points)
    if len(games.first) != len(kept) or len(games.second) != len(kept):
        raise ValueError("first, second and points must have the same length")
    first, second = np.asarray(games.first)[kept], np.asarray(games.second)[kept]
    if (first == second).any() or ((result < 0) | (result > 1)).any():
        raise ValueError("a game needs two different systems and points between 0 and 1")
    labels = np.arange(len(kept)) if games.clusters is None else codes(games.clusters)
    units, place = np.unique(labels[kept], return_inverse=True)
    wins = np.zeros((len(units), systems, systems))
    np.add.at(wins, (place, first, second), result)
    np.add.at(wins, (place, second, first), 1 - result)
    return wins, len(result), int((~kept).sum())


def _connected(wins: Floats) -> Bools:
    """Tell for each table whether every system is linked to every other by a path of wins (Ford, 1957)."""
    reach = (wins > 0) | np.eye(wins.shape[1], dtype=np.bool_)
    for _ in range(max(1, math.ceil(math.log2(max(2, wins.shape[1]))))):
        reach = (reach.astype(np.float64) @ reach.astype(np.float64)) > 0
    return np.asarray(reach.all(axis=(1, 2)), dtype=np.bool_)


def _fit(wins: Floats) -> Floats:
    """Return centred log strengths of each wins table (tables x systems x systems), all iterated together.

    Hunter (2004), eq. 3: p_i <- W_i / sum_j n_ij / (p_i + p_j), until no log strength moves.
    """
    won = wins.sum(axis=2)
    played = wins + wins.transpose(0, 2, 1)
    strength: NDArray[np.float64] = np.ones(won.shape)
    active = np.arange(len(wins))
    for _ in range(_STEPS):
        current = strength[active]
        share = played[active] / (current[:, :, None] + current[:, None, :])
        updated = won[active] / share.sum(axis=2)
        updated /= np.exp(np.log(updated).mean(axis=1, keepdims=True))
        strength[active] = updated
        moved = np.abs(np.log(updated / current)).max(axis=1) > _CLOSE
        active = active[moved]
        if not len(active):
            break
    return np.log(strength)
