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
from collections.abc import Sequence
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
    least,
    measured,
    of_written,
    proxies,
    scores,
)
from support_proxies import FILES, SEED, load

from summeter.evaluators.support.checks import CHECKS, CONFLICTS
from summeter.evaluators.support.features import FEATURES, PENALTIES, REVISION
from summeter.evaluators.support.weights import THRESHOLD, Calibration, Use, Weights, weights_of

HERE = Path(__file__).resolve().parent.parent / "src/summeter/evaluators/support"
RIDGE, ROUNDS, EACH = 0.002, 3, 800
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


def fit(
    columns: np.ndarray, conflicts: np.ndarray, labels: np.ndarray, sets: np.ndarray, use: Use
) -> tuple[np.ndarray, np.ndarray, float]:
    """Weights of the columns, probabilities of the checks, and the mean intercept (of the SOURCES, where
    they are in it).

    Maximum likelihood of log-odds z = intercept of the set + columns, P = sigmoid(z) * prod (1 - check) ** count.
    """
    names = sorted(set(sets))
    weights = balanced(sets, labels) * np.array([share(name, use) for name in sets])
    weights /= weights.sum()
    mean, spread = columns.mean(axis=0), columns.std(axis=0) + 1e-9
    scaled = (columns - mean) / spread
    own = (sets[:, None] == np.array(names)).astype(float)
    k, n = columns.shape[1], conflicts.shape[1]

    def loss(b: np.ndarray) -> tuple[float, np.ndarray]:
        z = scaled @ b[:k] + own @ b[k + n :]
        log_p = -np.logaddexp(0, -z) - conflicts @ b[k : k + n]
        p = np.clip(np.exp(log_p), 1e-9, 1 - 1e-9)
        value = -float(weights @ (labels * log_p + (1 - labels) * np.log1p(-p))) + RIDGE * b[:k] @ b[:k]
        slope = weights * ((1 - labels) * p / (1 - p) - labels)
        inner = slope / (1 + np.exp(z))
        return value, np.r_[scaled.T @ inner + 2 * RIDGE * b[:k], -conflicts.T @ slope, own.T @ inner]

    lowest = np.where(DECISIVE & (use == "source"), -np.log(1 - LEAST), 0.0)
    bounds = [(0.0, None)] * k + [(low, -np.log(1 - LARGEST)) for low in lowest] + [(None, None)] * len(names)
    start = np.r_[np.full(k, 0.1), lowest + 0.1, np.zeros(len(names))]
    b = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    intercepts = dict(zip(names, b[k + n :] - b[:k] @ (mean / spread), strict=True))
    middle = float(np.mean([value for name, value in intercepts.items() if name in SOURCES or use == "summary"]))
    return b[:k] / spread, 1 - np.exp(-b[k : k + n]), middle


def fitted(table: Table, columns: np.ndarray, names: Sequence[str], use: Use) -> Weights:
    """The weights of these columns in a use, each summary by its worst sentence."""
    places = np.flatnonzero([share(name, use) > 0 for name in table.sets])
    table, columns = table.of(places), columns[places]
    worst = columns[:, 0]
    for _ in range(ROUNDS):
        at = least(table.claims, worst)
        values = fit(columns[at], table.conflicts[at], table.labels[at], table.sets[at], use)
        weights = weights_of(as_stored(*values, names))
        worst = scored(table, columns, weights)
    return weights


def scored(table: Table, columns: np.ndarray, weights: Weights) -> np.ndarray:
    network = columns[:, -1] if columns.shape[1] > len(FEATURES) else None
    return scores(table, weights, network)


def as_stored(values: np.ndarray, checks: np.ndarray, intercept: float, names: Sequence[str]) -> dict[str, Any]:
    """Weights as they are stored. `values` are those of features turned so that more is better."""
    coefficients = {
        name: round(float(value) * (-1 if name in PENALTIES else 1), 4)
        for name, value in zip(names, values, strict=True)
    }
    return {
        "intercept": round(intercept, 4),
        "coefficients": {name: value for name, value in coefficients.items() if value},
        "checks": {kind: round(float(value), 3) for kind, value in zip(CONFLICTS, checks, strict=True)},
        "calibration": [1.0, 0.0],
    }


def platt(values: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> Calibration:
    """Slope and shift of the log-odds, by weighted maximum likelihood."""

    def loss(b: np.ndarray) -> float:
        return float(weights @ np.logaddexp(0, (1 - 2 * labels) * (b[0] * values + b[1])))

    slope, shift = minimize(loss, np.array([1.0, 0.0]), method="Nelder-Mead", options={"xatol": 1e-5, "fatol": 1e-9}).x
    return Calibration(round(float(slope), 4), round(float(shift), 4))


def probabilities(curve: Calibration, values: np.ndarray) -> np.ndarray:
    return np.array([curve.probability(value) for value in values.tolist()])


def cross_fitted(table: Table, columns: np.ndarray, names: Sequence[str]) -> np.ndarray:
    """The probability of each of people's claims, from weights and a calibration that have not seen its group."""
    theirs = np.isin(table.sets, SOURCES)
    shown = np.full(len(theirs), np.nan)
    for fold in range(FOLDS):
        held = theirs & (table.folds == fold)
        weights = fitted(table.of(~held), columns[~held], names, "source")
        every = scored(table, columns, weights)
        shown[held] = probabilities(of_people(table, every, theirs & ~held), every[held])
    return shown


def of_people(table: Table, values: np.ndarray, where: np.ndarray) -> Calibration:
    """The calibration of these claims, each summary by its worst sentence, equal weight for each source and label."""
    places = np.flatnonzero(where)
    places = places[least([table.claims[i] for i in places], values[places])]
    labels, sets = table.labels[places], table.sets[places]
    return platt(values[places], labels, balanced(sets, labels))


def figures(table: Table, shown: np.ndarray) -> dict[str, Any]:
    """Held-out figures on people's claims: AUROC and balanced accuracy by source, and the calibration error."""
    theirs = np.flatnonzero(np.isin(table.sets, SOURCES))
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


def facts_of(table: Table, columns: np.ndarray, names: Sequence[str]) -> tuple[dict[str, Any], dict[str, float]]:
    """Weights of key facts as they are stored, and figures on a fifth of the groups that was left out."""
    facts = np.char.startswith(table.sets, "facts.")

    def of(rest: np.ndarray) -> tuple[Weights, Calibration]:
        weights = fitted(table.of(rest), columns[rest], names, "summary")
        here = facts & rest
        labels, values = table.labels[here], scored(table.of(here), columns[here], weights)
        return weights, platt(values, labels, balanced(table.sets[here], labels))

    held = facts & (table.folds == 0)
    weights, curve = of(table.folds > 0)
    shown = probabilities(curve, scored(table.of(held), columns[held], weights))
    labels, sets = table.labels[held], table.sets[held]
    figures: dict[str, Any] = {
        "auroc": {name: auroc(shown[sets == name], labels[sets == name]) for name in sorted(set(sets))},
        "ece": calibration_error(shown, labels, balanced(sets, labels)),
        "balanced_accuracy": balanced_accuracy(shown >= THRESHOLD, labels),
    }
    weights, curve = of(np.ones(len(facts), dtype=bool))
    return stored_with(weights, curve), figures


def stored_with(weights: Weights, curve: Calibration) -> dict[str, Any]:
    return {
        "intercept": weights.intercept,
        "coefficients": dict(weights.coefficients),
        "checks": dict(weights.checks),
        "calibration": list(curve),
    }


def complete(table: Table, columns: np.ndarray, names: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The model as it is stored, and the held-out figures for its card."""
    held_out: dict[str, Any] = {"source": figures(table, cross_fitted(table, columns, names))}
    weights = fitted(table, columns, names, "source")
    every = scored(table, columns, weights)
    curve = of_people(table, every, np.isin(table.sets, SOURCES))
    summary, held_out["summary"] = facts_of(table, columns, names)
    made = {}
    for name in sorted(set(table.sets) - set(SOURCES)):
        here = table.sets == name
        if table.claims[int(np.flatnonzero(here)[0])].use == "source":
            labels, called = table.labels[here], probabilities(curve, every[here]) >= THRESHOLD
            made[name] = {
                "n": int(here.sum()),
                "auroc": auroc(every[here], labels),
                "unsupported_found": float(1 - called[labels == 0].mean()),
                "false_alarms": float(1 - called[labels == 1].mean()),
            }
    return {"source": stored_with(weights, curve), "summary": summary}, {**held_out, "made": made}


def all_claims(data: Path, kept: Path | None) -> Table:
    """What is fitted on, measured; read from `kept` where it is kept."""
    if kept is not None and kept.is_file():
        with kept.open("rb") as file:
            table: Table = pickle.load(file)
            return table
    parts = [measured(human(data)), measured(of_written()), measured(proxies(data, EACH))]
    arrays = (np.concatenate([part[i] for part in parts]) for i in (1, 2, 3))
    table = Table([claim for part in parts for claim in part.claims], *arrays)
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
    model, held_out = complete(table, table.features * SIGNS, FEATURES)
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
