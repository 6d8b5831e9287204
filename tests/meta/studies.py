"""The studies of judges and people by name, as functions of judgments, gold and the number of resamples."""

from __future__ import annotations

from collections.abc import Callable

from summeter.meta import (
    agree,
    agreement_with_people,
    bias,
    bridge,
    classify,
    compare,
    correlate,
    errors,
    estimate,
    jury,
    prefer,
    reliability,
    self_consistency,
    simulate,
    stability,
)
from summeter.meta.results import Study
from summeter.records import Judgment

Made = Callable[[list[Judgment], list[Judgment], int], Study]

STUDIES: dict[str, Made] = {
    "correlate": lambda one, gold, draws: correlate(one, gold, resamples=draws),
    "correlate by system": lambda one, gold, draws: correlate(one, gold, by="system", resamples=draws),
    "correlate averaged": lambda one, gold, draws: correlate(one, gold, average="system", resamples=draws),
    "correlate of systems": lambda one, gold, draws: correlate(one, gold, level="system", resamples=draws),
    "stability": lambda one, gold, draws: stability(one, gold, resamples=draws),
    "reliability": lambda one, gold, draws: reliability(one, gold, tolerance=0.4, resamples=draws),
    "prefer": lambda one, gold, draws: prefer(one, gold, resamples=draws),
    "prefer by system": lambda one, gold, draws: prefer(one, gold, by="system", prior=1.0, resamples=draws),
    "prefer alone": lambda _, gold, draws: prefer(None, gold, resamples=draws),
    "agree": lambda one, gold, draws: agree(gold, judges=[one], resamples=draws),
    "bias": lambda one, gold, draws: bias(one, gold, families={"A": "acme", "B": "other"}, resamples=draws),
    "classify": lambda one, gold, draws: classify(
        one, gold, level="summary", threshold=1.5, merge="mean", gold_at_least=2, by="system", resamples=draws
    ),
    "compare systems": lambda one, _, draws: compare(one, resamples=draws, permutations=30),
    "compare systems by document": lambda one, _, draws: compare(one, by="document", resamples=draws, permutations=30),
    "compare people": lambda _, gold, draws: compare(None, gold, resamples=draws, permutations=30),
    "compare judges": lambda one, gold, draws: compare(one, gold, resamples=draws, permutations=30),
    "compare judges by system": lambda one, gold, draws: compare(
        one, gold, by="system", resamples=draws, permutations=30
    ),
    "compare judges of systems": lambda one, gold, draws: compare(
        one, gold, level="system", resamples=draws, permutations=30
    ),
    "compare judges of documents": lambda one, gold, draws: compare(
        one, gold, level="document", coefficient="spearman", resamples=draws, permutations=30
    ),
    "compare judges averaged": lambda one, gold, draws: compare(
        one, gold, average="document", resamples=draws, permutations=30
    ),
    "bridge": lambda one, _, draws: bridge(one, one, resamples=draws, permutations=30),
    "errors": lambda one, gold, _: errors(one, gold),
    "estimate": lambda one, gold, _: estimate(one, gold),
    "simulate": lambda one, gold, _: simulate(one, gold, 3, draws=20),
    "self_consistency": lambda one, gold, draws: self_consistency([one, gold], resamples=draws),
    "jury": lambda one, gold, draws: jury(one, gold, resamples=draws),
    "people": lambda one, gold, draws: agreement_with_people(one, gold, resamples=draws),
}
