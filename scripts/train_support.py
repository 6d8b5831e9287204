"""Fit the weights of the `support` scorer and write them, with their card, beside the code.

    python scripts/train_support.py --data ../shared/nli_train            prints the held-out figures, writes nothing
    python scripts/train_support.py --data ../shared/nli_train --write    also writes weights.json

Fitted are, on people's labels, proxies made by rule and claims written for it (support_data.py): the weight of each
feature, none against its meaning, and for each check the probability that what it finds is an error (`Weights.score`). Each
set has its own intercept, thrown away afterwards: sets differ in how much their claims copy, and without it the model learns
which set a claim is from. Labels weigh the same within a set, and sets as SHARES says. A summary counts by its worst sentence,
found anew in each round. The calibration of sentences is fitted on people's labels, equal weight for each source and label,
on scores from which the claim's group was left out; that of key facts on the proxies and written claims of that kind.
No set that the figures of docs/quality.md are measured on last is read here, nor may it be.
"""

import argparse
import hashlib
import json
import pickle
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize
from support_data import (
    FOLDS,
    SOURCES,
    Table,
    auroc,
    balanced,
    balanced_accuracy,
    calibration_error,
    human,
    joined,
    least,
    measured,
    of_written,
    proxies,
    scores,
)
from support_proxies import FILES, SEED, load

from summeter.evaluators.support.checks import CHECKS, CONFLICTS
from summeter.evaluators.support.features import FEATURES, PENALTIES, REVISION
from summeter.evaluators.support.weights import THRESHOLD, Calibration, Use, Weights

HERE = Path(__file__).resolve().parent.parent / "src/summeter/evaluators/support"
RIDGE, TINY, ROUNDS, EACH = 0.002, 1e-6, 3, 800
LEAST, LARGEST = 0.6, 0.95
"""A decisive check is right more often than not, and none is right for certain."""
DECISIVE = np.isin(CONFLICTS, [check.kind for check in CHECKS if check.counts == "decisive"])
SIGNS = np.array([-1.0 if name in PENALTIES else 1.0 for name in FEATURES])


def share(name: str, use: Use) -> float:
    """What a set counts in the fit of a use. Where true claims are reworded on purpose, words can learn nothing."""
    if name.startswith("long."):
        return 0.0
    if use == "summary":
        return 1.0 if name.startswith("facts.") else 0.3 * name.startswith("pairs.")
    if name in SOURCES or name.startswith("facts."):
        return 1.0
    return 0.5 if name.startswith(("written.", "twins")) else 0.3


def fit(table: Table, use: Use) -> Weights:
    """The weights of a use, a summary of several sentences by its worst."""
    table = table.of(np.flatnonzero([share(name, use) > 0 for name in table.sets]))
    worst = table.features[:, 0]
    for _ in range(ROUNDS):
        weights = likeliest(table.of(least(table.claims, worst)), use)
        worst = scores(table, weights)
    return weights


def likeliest(table: Table, use: Use) -> Weights:
    """Maximum likelihood of log-odds z = intercept of the set + features, P = sigmoid(z) * prod (1 - check) ** count.

    The intercept is the mean of those of the SOURCES, where they are among the sets.
    """
    columns, labels, sets = table.features * SIGNS, table.labels, table.sets
    names = sorted(set(sets))
    weights = balanced(sets, labels) * np.array([share(name, use) for name in sets])
    weights /= weights.sum()
    mean, spread = columns.mean(axis=0), columns.std(axis=0) + 1e-9
    scaled = (columns - mean) / spread
    own = (sets[:, None] == np.array(names)).astype(float)
    k, n = columns.shape[1], table.conflicts.shape[1]

    def loss(b: np.ndarray) -> tuple[float, np.ndarray]:
        z = scaled @ b[:k] + own @ b[k + n :]
        log_p = -np.logaddexp(0, -z) - table.conflicts @ b[k : k + n]
        p = np.clip(np.exp(log_p), 1e-9, 1 - 1e-9)
        value = -float(weights @ (labels * log_p + (1 - labels) * np.log1p(-p))) + RIDGE * b[:k] @ b[:k]
        slope = weights * ((1 - labels) * p / (1 - p) - labels)
        inner = slope / (1 + np.exp(z))
        return value, np.r_[scaled.T @ inner + 2 * RIDGE * b[:k], -table.conflicts.T @ slope, own.T @ inner]

    lowest = np.where(DECISIVE & (use == "source"), -np.log(1 - LEAST), 0.0)
    bounds = [(0.0, None)] * k + [(low, -np.log(1 - LARGEST)) for low in lowest] + [(None, None)] * len(names)
    start = np.r_[np.full(k, 0.1), lowest + 0.1, np.zeros(len(names))]
    b = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    intercepts = dict(zip(names, b[k + n :] - b[:k] @ (mean / spread), strict=True))
    middle = float(np.mean([value for name, value in intercepts.items() if name in SOURCES or use == "summary"]))
    coefficients = {
        name: round(float(value * sign), 4) for name, value, sign in zip(FEATURES, b[:k] / spread, SIGNS, strict=True)
    }
    checks = {kind: round(1 - float(np.exp(-value)), 3) for kind, value in zip(CONFLICTS, b[k:], strict=False)}
    return Weights(
        round(middle, 4), {name: value for name, value in coefficients.items() if value}, checks, Calibration(1.0, 0.0)
    )


def logistic(
    columns: np.ndarray, labels: np.ndarray, weights: np.ndarray, least_values: Sequence[float | None]
) -> np.ndarray:
    """Weighted maximum likelihood of log-odds = columns, each weight at least what is given."""

    def loss(b: np.ndarray) -> tuple[float, np.ndarray]:
        z = columns @ b
        slope = weights * (1 / (1 + np.exp(-z)) - labels)
        return float(weights @ np.logaddexp(0, (1 - 2 * labels) * z)) + TINY * b @ b, columns.T @ slope + 2 * TINY * b

    found = minimize(
        loss, np.zeros(columns.shape[1]), jac=True, method="L-BFGS-B", bounds=[(low, None) for low in least_values]
    )
    return np.asarray(found.x)


def calibration(table: Table, terms: np.ndarray) -> Calibration:
    """What the `terms` of Calibration.probability mean (the score of the words; then, where the network was asked, its
    log-odds, and these times the share of unmatched words), a summary by its worst sentence, equal weight for each set
    and label. How the terms weigh against each other is fitted within sets, for sets differ in how much they copy."""
    relative = np.r_[1.0, np.zeros(terms.shape[1] - 1)]
    for _ in range(ROUNDS if len(relative) > 1 else 1):
        at = least(table.claims, terms @ relative)
        labels, sets = table.labels[at], table.sets[at]
        weights = balanced(sets, labels)
        if len(relative) > 1:
            own = sets[:, None] == np.array(sorted(set(sets)))
            limits = [0.0] * len(relative) + [None] * own.shape[1]
            relative = logistic(np.c_[terms[at], own], labels, weights, limits)[: len(relative)]
    columns = np.c_[terms[at] @ relative, np.ones(len(at)), table.dialogue[at]]
    slope, shift, dialogue = (round(float(value), 4) for value in logistic(columns, labels, weights, [None] * 3))
    return Calibration(
        round(slope * relative[0], 4), shift, dialogue, *(round(slope * value, 4) for value in relative[1:])
    )


def probabilities(table: Table, terms: np.ndarray, curve: Calibration) -> np.ndarray:
    """The calibrated probability of each claim."""
    log_odds = terms @ np.array([curve.words, curve.network, curve.reworded])[: terms.shape[1]]
    shown: np.ndarray = 1 / (1 + np.exp(-(log_odds + curve.dialogue * table.dialogue + curve.shift)))
    return shown


def folds(table: Table) -> Iterator[tuple[np.ndarray, Weights]]:
    """Which of people's claims are held out, with the weights of words that have not seen their groups."""
    for fold in range(FOLDS):
        held = table.is_human & (table.folds == fold)
        yield held, fit(table.of(~held), "source")


def cross_fitted(table: Table) -> np.ndarray:
    """The probability of each of people's claims, from weights and a calibration that have not seen its group."""
    shown = np.full(len(table.claims), np.nan)
    for held, weights in folds(table):
        seen, unseen = table.of(table.is_human & ~held), table.of(held)
        curve = calibration(seen, scores(seen, weights)[:, None])
        shown[held] = probabilities(unseen, scores(unseen, weights)[:, None], curve)
    return shown


def figures(table: Table, shown: np.ndarray) -> dict[str, Any]:
    """Held-out figures on people's claims: AUROC and balanced accuracy by source, and the calibration error."""
    theirs = np.flatnonzero(table.is_human)
    places = theirs[least([table.claims[i] for i in theirs], shown[theirs])]
    labels, sets = table.labels[places], table.sets[places]
    rows = {}
    for name in SOURCES:
        here = places[sets == name]
        rows[name] = {
            "n": len(here),
            **{f"rouge{n}": auroc_of_bags(table, table.rouge[:, n - 1], table.sets == name) for n in (1, 2)},
            "auroc": auroc(shown[here], table.labels[here]),
            "balanced_accuracy": balanced_accuracy(shown[here] >= THRESHOLD, table.labels[here]),
        }
    keys = ("rouge1", "rouge2", "auroc", "balanced_accuracy")
    mean = {key: float(np.mean([row[key] for row in rows.values()])) for key in keys}
    error = calibration_error(shown[places], labels, balanced(sets, labels))
    return {"sources": rows, "mean": mean, "ece": error}


def auroc_of_bags(table: Table, values: np.ndarray, where: np.ndarray) -> float:
    """AUROC of these claims, each summary by its worst sentence."""
    places = np.flatnonzero(where)
    places = places[least([table.claims[i] for i in places], values[places])]
    return auroc(values[places], table.labels[places])


def figures_of_facts(table: Table, shown: np.ndarray) -> dict[str, Any]:
    """Figures on key facts, by set."""
    labels, sets = table.labels, table.sets
    return {
        "auroc": {name: auroc(shown[sets == name], labels[sets == name]) for name in sorted(set(sets))},
        "ece": calibration_error(shown, labels, balanced(sets, labels)),
        "balanced_accuracy": balanced_accuracy(shown >= THRESHOLD, labels),
    }


def figures_by_set(table: Table, shown: np.ndarray) -> dict[str, Any]:
    """AUROC and labels by set: how many unsupported claims are found, and how many supported ones are called so."""
    rows = {}
    for name in sorted(set(table.sets)):
        labels, supported = table.labels[table.sets == name], shown[table.sets == name] >= THRESHOLD
        rows[name] = {
            "n": len(labels),
            "auroc": auroc(shown[table.sets == name], labels),
            "unsupported_found": float(1 - supported[labels == 0].mean()),
            "false_alarms": float(1 - supported[labels == 1].mean()),
        }
    return rows


def facts(table: Table) -> np.ndarray:
    """Which claims are key facts."""
    return np.char.startswith(table.sets, "facts.")


def of_words(table: Table, use: Use, where: np.ndarray) -> tuple[Weights, Calibration]:
    """Weights fitted on all claims, and their calibration on some of them."""
    weights, some = fit(table, use), table.of(where)
    return weights, calibration(some, scores(some, weights)[:, None])


def complete(table: Table) -> tuple[dict[str, Any], dict[str, Any]]:
    """The model as it is stored, and the held-out figures for its card."""
    held_out: dict[str, Any] = {"source": figures(table, cross_fitted(table))}
    held, rest = table.of(facts(table) & (table.folds == 0)), table.of(table.folds > 0)
    weights, curve = of_words(rest, "summary", facts(rest))
    held_out["summary"] = figures_of_facts(held, probabilities(held, scores(held, weights)[:, None], curve))
    source, summary = of_words(table, "source", table.is_human), of_words(table, "summary", facts(table))
    made = table.of(~table.is_human & ~facts(table))
    held_out["made"] = figures_by_set(made, probabilities(made, scores(made, source[0])[:, None], source[1]))
    return {"source": stored(*source), "summary": stored(*summary)}, held_out


def stored(weights: Weights, curve: Calibration) -> dict[str, Any]:
    """Weights as they are stored."""
    return {
        "intercept": weights.intercept,
        "coefficients": dict(weights.coefficients),
        "checks": dict(weights.checks),
        "calibration": as_stored(curve),
    }


def as_stored(curve: Calibration) -> dict[str, float]:
    """A calibration as it is stored, without weights of 0."""
    return {name: value for name, value in curve._asdict().items() if value or name in ("words", "shift")}


def all_claims(data: Path, kept: Path | None) -> Table:
    """What is fitted on, measured; read from `kept` where it is kept."""
    if kept is not None and kept.is_file():
        with kept.open("rb") as file:
            table: Table = pickle.load(file)
            return table
    table = joined([measured(human(data)), measured(of_written()), measured(proxies(data, EACH))])
    if kept is not None:
        with kept.open("wb") as file:
            pickle.dump(table, file)
    return table


def write(name: str, card: dict[str, Any], model: dict[str, Any]) -> None:
    rounded = json.loads(json.dumps(card), parse_float=lambda text: round(float(text), 4))
    stored = json.dumps({"card": rounded, "model": model}, indent=1, ensure_ascii=False)
    (HERE / name).write_text(stored + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the training rows")
    parser.add_argument("--write", action="store_true", help="write weights.json beside the code")
    parser.add_argument("--features", type=Path, help="keep what is measured here (pickle), or read it back")
    options = parser.parse_args()
    table = all_claims(options.data, options.features)
    model, held_out = complete(table)
    print(json.dumps({"model": model, "held_out": held_out}, indent=1))
    if options.write:
        rows = load(options.data)
        card = {
            "what": "logistic model over lexical features and checks; probability that a text supports a claim",
            "licence": "Apache-2.0 for the numbers; the rows are not distributed",
            "sources": [
                "human: WiCE (ODC-BY), BUMP, DiaSumFact, RAGTruth (MIT), GO FIGURE (Apache-2.0), FactCC (BSD-3-Clause)",
                *sorted({f"{row.source} ({row.licence})" for row in rows}),
            ],
            "data_sha256": {
                name: hashlib.sha256((options.data / name).read_bytes()).hexdigest()
                for name in (*FILES, "human.jsonl.gz")
            },
            "seed": SEED,
            "made": datetime.now(UTC).date().isoformat(),
            "feature_revision": REVISION,
            "examples": len(table.claims),
            "settings": {"ridge": RIDGE, "rounds": ROUNDS, "proxy_examples": EACH, "decisive": LEAST},
            "held_out": held_out,
        }
        write("weights.json", card, model)


if __name__ == "__main__":
    main()
