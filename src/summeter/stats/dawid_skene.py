"""Labels and error rates of raters without gold labels (Dawid & Skene, 1979)."""

from typing import NamedTuple

import numpy as np

from .base import Floats, Values, floats, ratio

_LEAST = 1e-10


class DawidSkene(NamedTuple):
    """The estimated labels and error rates.

    ``probabilities`` holds the probability of each of the ``classes`` for each item (items x classes, NaN for an item
    without votes), ``prior`` their mean, and ``errors`` the probability that a rater gives a label to an item of a
    class (raters x labels x classes).
    """

    classes: Floats
    probabilities: Floats
    prior: Floats
    errors: Floats


def dawid_skene(votes: Values, rounds: int = 100, tolerance: float = 1e-5) -> DawidSkene:
    """Return the probability of each label of each item, by expectation maximisation from the shares of votes.

    ``votes`` is a raters x items matrix of labels; NaN or None is no vote. Raters are assumed to err independently, so
    that raters with the same errors are believed too much. The estimation stops when the evidence lower bound grows by
    less than ``tolerance`` per vote, or after ``rounds`` rounds. Results equal those of crowd-kit, whose lower bound
    counts the prior once per vote. Raises ValueError if there are no votes.

    Of three raters, the second disagrees on the second item. After one round, its probability of 1 is 8/9:

    >>> got = dawid_skene([[1, 1, 0], [1, 0, 0], [1, 1, 0]], rounds=1)
    >>> got.probabilities[:, 1].round(4).tolist()
    [1.0, 0.8889, 0.0]
    """
    cells = floats(votes, 2)
    classes = np.unique(cells[~np.isnan(cells)])
    voted = ~np.isnan(cells).all(axis=0)
    if not voted.any():
        raise ValueError("no votes")
    said = (cells[:, voted, None] == classes).astype(np.float64)  # raters x items x labels
    used = np.broadcast_to(said.any(axis=1)[:, :, None], (len(cells), len(classes), len(classes)))
    counts = said.sum(axis=0)
    sizes = counts.sum(axis=1, keepdims=True)
    truth, bound = counts / sizes, -np.inf
    for turn in range(rounds + 1):
        prior = np.maximum(truth.mean(axis=0), _LEAST)
        errors = np.where(used, np.maximum(np.einsum("wik,ic->wkc", said, truth), _LEAST), 0.0)
        errors = ratio(errors, errors.sum(axis=1, keepdims=True))
        evidence = np.einsum("wik,wkc->ic", said, np.log(errors, out=np.zeros(errors.shape), where=used))
        if turn:
            sure = np.maximum(truth, _LEAST)
            gain = (truth * (evidence + sizes * np.log(prior))).sum() - (sure * np.log(sure)).sum()
            if turn == rounds or gain / sizes.sum() - bound < tolerance:
                break
            bound = gain / sizes.sum()
        scores = evidence + np.log(prior)
        truth = np.exp(scores - scores.max(axis=1, keepdims=True))
        truth /= truth.sum(axis=1, keepdims=True)
    probabilities = np.full((cells.shape[1], len(classes)), np.nan)
    probabilities[voted] = truth
    return DawidSkene(classes, probabilities, prior, errors)
