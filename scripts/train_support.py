"""Fit the weights of the `support` scorer and write them, with their card, beside the code.

    python scripts/train_support.py --data ../shared/nli_train            prints the proxy table, writes nothing
    python scripts/train_support.py --data ../shared/nli_train --write    also writes weights.json and common.json

The rows are made into proxies (support_proxies.py). The fit is a logistic regression with non-negative weights on
oriented features and an intercept of its own for each proxy: proxies differ in how much their claims copy, and without
it the model learns which proxy a claim is from instead of which claim of a proxy is supported. Proxies where the model
is behind ROUGE precision get more weight, within bounds. Ridge strength, bounds and the dropping of `length` were
chosen by leaving out one proxy, and one situation, at a time (docs/quality.md). Probabilities come from isotonic
regression on cross-fitted scores, once for summary sentences and once for short facts. One group of documents in five
is kept for the figures on calibration and decisions. No human-annotated evaluation set is read here, nor may it be.
"""

import argparse
import hashlib
import json
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.stats import rankdata
from sklearn.isotonic import IsotonicRegression
from support_proxies import FILES, SEED, Example, common_words, examples, load

from summeter.evaluators.support.analysis import analyse
from summeter.evaluators.support.evidence import prepare
from summeter.evaluators.support.features import FEATURES, PENALTIES, REVISION, measure
from summeter.evaluators.support.weights import Calibration, Weights
from summeter.text.ngrams import matched, ngrams, words

HERE = Path(__file__).resolve().parent.parent / "src/summeter/evaluators/support"
USED = [name for name in FEATURES if name != "length"]
RIDGE, BOUND, ROUNDS, STEP = 0.05, 1.5, 6, 4.0
SITUATIONS = {"extract": 1.0, "fused": 1.0, "abstract": 1.0, "facts": 1.0, "pairs": 0.5}
FOLDS = 5
# The share of supported claims that decisions are made for. Where claims are reworded, words in common decide little,
# and the doubt is given to the summary: most sentences of today's systems are supported.
PRIOR = {"extract": 0.5, "fused": 0.5, "abstract": 2 / 3, "pairs": 2 / 3, "facts": 0.5}


def rouge_precision(claim: str, text: str, n: int) -> float:
    mine = ngrams(words(claim), n)
    return matched(mine, ngrams(words(text), n)) / max(1, sum(mine.values()))


def measured(made: list[Example], common: dict[str, float]) -> tuple[np.ndarray, np.ndarray]:
    """(examples, features) and (examples, 2) with ROUGE-1 and ROUGE-2 precision; examples without words are NaN."""
    table = np.full((len(made), len(FEATURES)), np.nan)
    rouge = np.full((len(made), 2), np.nan)
    for i, example in enumerate(made):
        spans, at = [], 0
        for sentence in example.sentences:
            spans.append((at, at + len(sentence)))
            at += len(sentence) + 1
        text = " ".join(example.sentences)
        claim = analyse(example.claim)
        if any(word.content for word in claim):
            found = measure(claim, prepare(text, spans), common).features
            table[i] = [found[name] for name in FEATURES]
            rouge[i] = [rouge_precision(example.claim, text, n) for n in (1, 2)]
    return table, rouge


def auroc(scores: np.ndarray, labels: np.ndarray) -> float:
    ranks, ones = rankdata(scores), labels.sum()
    return float((ranks[labels == 1].sum() - ones * (ones + 1) / 2) / (ones * (len(labels) - ones)))


def fold_of(group: str) -> int:
    return int(hashlib.sha256(group.encode()).hexdigest(), 16) % FOLDS


def balance(proxies: np.ndarray) -> np.ndarray:
    """Each situation its share, split evenly over its proxies; sums to 1."""
    names = sorted(set(proxies))
    weights = np.zeros(len(proxies))
    for name in names:
        situation = name.split(".")[0]
        members = sum(other.startswith(situation + ".") for other in names)
        weights[proxies == name] = SITUATIONS[situation] / members / (proxies == name).sum()
    return weights / weights.sum()


def fit(table: np.ndarray, labels: np.ndarray, proxies: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Non-negative weights of oriented features, with one intercept a proxy that is then thrown away."""
    mean, spread = table.mean(axis=0), table.std(axis=0) + 1e-9
    scaled = (table - mean) / spread
    own = (proxies[:, None] == np.array(sorted(set(proxies)))).astype(float)
    k = table.shape[1]

    def loss(b: np.ndarray) -> tuple[float, np.ndarray]:
        z = scaled @ b[:k] + own @ b[k:]
        value = float(weights @ np.logaddexp(0, (1 - 2 * labels) * z) + RIDGE * b[:k] @ b[:k])
        slope = weights * (1 / (1 + np.exp(-z)) - labels)
        return value, np.r_[scaled.T @ slope + 2 * RIDGE * b[:k], own.T @ slope]

    bounds = [(0.0, None)] * k + [(None, None)] * own.shape[1]
    found = minimize(loss, np.zeros(k + own.shape[1]), jac=True, method="L-BFGS-B", bounds=bounds)
    return np.asarray(found.x[:k] / spread)


def robust_fit(table: np.ndarray, labels: np.ndarray, proxies: np.ndarray, rouge: np.ndarray) -> np.ndarray:
    """The fit, repeated with more weight on proxies that are behind the better ROUGE precision."""
    names = sorted(set(proxies))
    best = {n: max(auroc(rouge[proxies == n, k], labels[proxies == n]) for k in (0, 1)) for n in names}
    extra = dict.fromkeys(names, 0.0)
    base = balance(proxies)
    found = np.zeros(table.shape[1])
    for _ in range(ROUNDS):
        weights = base * np.exp([extra[n] for n in proxies])
        found = fit(table, labels, proxies, weights / weights.sum())
        for n in names:
            ahead = auroc(table[proxies == n] @ found, labels[proxies == n]) - best[n]
            extra[n] = float(np.clip(extra[n] - STEP * (ahead - 0.01), -BOUND, BOUND))
    return found


def knots_for(scores: np.ndarray, labels: np.ndarray, weights: np.ndarray, top: float) -> list[list[float]]:
    """Isotonic calibration read off at quantiles, made strictly rising so that no two scores become one.

    ``top`` is the highest score there can be (a verbatim copy); the last knot stands there.
    """
    curve = IsotonicRegression(y_min=0.02, y_max=0.98, out_of_bounds="clip").fit(scores, labels, sample_weight=weights)
    places = np.unique(np.r_[np.quantile(scores, [0.02, 0.05, *np.arange(1, 10) / 10, 0.95]), top].round(4))
    # Between quantiles the mean of the curve, so that one step of it does not decide a whole stretch.
    edges = np.r_[-np.inf, (places[1:] + places[:-1]) / 2, np.inf]
    values = []
    for low, high in pairwise(edges):
        here = (scores >= low) & (scores < high)
        values.append(float(np.average(curve.predict(scores[here]), weights=weights[here])) if here.any() else 0.0)
    rising = np.maximum.accumulate(np.array(values) + 0.002 * np.arange(len(values)))
    return [[float(z), round(float(min(p, 0.99)), 4)] for z, p in zip(places, rising, strict=True)]


def calibration(probability: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> dict[str, float]:
    """Brier score and expected calibration error over ten equal bins, both weighted."""
    weights = weights / weights.sum()
    bins = np.minimum((probability * 10).astype(int), 9)
    gaps = [abs(float(weights[bins == b] @ (probability - labels)[bins == b])) for b in range(10)]
    return {"brier": float(weights @ (probability - labels) ** 2), "ece": sum(gaps)}


def accuracies(
    said: np.ndarray, labels: np.ndarray, proxies: np.ndarray, prior: dict[str, float] | None = None
) -> dict[str, float]:
    """Accuracy of decisions in each proxy, if its situation's share `prior` were supported (default: balanced)."""
    found = {}
    for name in sorted(set(proxies)):
        here, share = proxies == name, (prior or {}).get(name.split(".")[0], 0.5)
        kept, caught = said[here & (labels == 1)].mean(), 1 - said[here & (labels == 0)].mean()
        found[name] = float(share * kept + (1 - share) * caught)
    return found


def situation_mean(by_proxy: dict[str, float]) -> float:
    """Mean over situations of the mean over their proxies, weighed as in the fit."""
    total, share = 0.0, 0.0
    for situation, weight in SITUATIONS.items():
        own = [value for name, value in by_proxy.items() if name.startswith(situation + ".")]
        if own:
            total, share = total + weight * float(np.mean(own)), share + weight
    return total / share


def decision_for(
    scores: np.ndarray, copied: np.ndarray, sound: np.ndarray, labels: np.ndarray, proxies: np.ndarray, use: str,
    stretch: float = 1.0,
) -> list[list[float]]:  # fmt: skip
    """The (copied share, score) points that err least at each situation's PRIOR, averaged over situations.

    `sound` claims have no number that is absent from the text; the others are not supported whatever their score.

    `stretch` is how much wider the scores lie than those of the words. Key facts get one score for all. Sentences get two points from a grid: up to the first share claims need its score,
    from the second on that of the second, and between them it rises evenly.
    """

    def accuracy(needed: np.ndarray | float) -> float:
        return situation_mean(accuracies((scores >= needed) & sound, labels, proxies, PRIOR))

    low, high = np.arange(-1.0, 2.01, 0.2) * stretch, np.arange(2.4, 3.81, 0.2) * stretch
    if use == "summary":
        return [[0.0, round(float(max(np.arange(0.0, 4.01, 0.1) * stretch, key=accuracy)), 2)]]
    options = (
        (accuracy(np.interp(copied, [c0, c1], [z0, z1])), c0, float(z0), c1, float(z1))
        for c0 in (0.3, 0.4, 0.5, 0.6)
        for c1 in (0.75, 0.8, 0.85, 0.9, 0.95)
        for z0 in low
        for z1 in high
    )
    _, c0, z0, c1, z1 = max(options)
    return [[c0, round(z0, 2) + 0.0], [c1, round(z1, 2)]]  # + 0.0: never minus zero


def report(made: list[Example], scores: np.ndarray, rouge: np.ndarray, labels: np.ndarray) -> list[dict[str, Any]]:
    names = np.array([example.proxy for example in made])
    rows = []
    for name in dict.fromkeys(names):
        here = names == name
        one, two, own = (auroc(s[here], labels[here]) for s in (rouge[:, 0], rouge[:, 1], scores))
        rows.append({"proxy": name, "n": int(here.sum()), "rouge1": one, "rouge2": two, "support": own})
        print(f"{name:18s} n {here.sum():5d}   R1 {one:.3f}   R2 {two:.3f}   support {own:.3f}")
    return rows


def kept_or_measured(path: Path | None, made: list[Example], common: dict[str, float]) -> tuple[np.ndarray, np.ndarray]:
    """The measured features, read from ``path`` where they are kept, else measured and kept there."""
    if path is not None and path.is_file():
        held = np.load(path)
        return held["table"], held["rouge"]
    table, rouge = measured(made, common)
    if path is not None:
        np.savez(path, table=table, rouge=rouge)
    return table, rouge


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the training rows")
    parser.add_argument("--write", action="store_true", help="write weights.json and common.json beside the code")
    parser.add_argument("--features", type=Path, help="keep the measured features here (.npz), or read them back")
    options = parser.parse_args()
    rows = load(options.data)
    common = common_words(rows)
    made = examples(rows, common)
    table, rouge = kept_or_measured(options.features, made, common)
    kept = ~np.isnan(table[:, 0])
    made = [example for example, keep in zip(made, kept, strict=True) if keep]
    signs = np.array([-1.0 if name in PENALTIES else 1.0 for name in FEATURES])
    chosen = [FEATURES.index(name) for name in USED]
    oriented, rouge = (table * signs)[kept][:, chosen], rouge[kept]
    labels = np.array([float(example.supported) for example in made])
    proxies = np.array([example.proxy for example in made])
    folds = np.array([fold_of(example.group) for example in made])
    train, dev = folds > 0, folds == 0

    inner = np.zeros(len(made))
    for fold in range(1, FOLDS):
        rest = train & (folds != fold)
        weights = robust_fit(oriented[rest], labels[rest], proxies[rest], rouge[rest])
        own = float(sum(weights[i] for i, name in enumerate(USED) if name not in PENALTIES))
        inner[folds == fold] = oriented[folds == fold] @ weights - own
    coefficients = robust_fit(oriented[train], labels[train], proxies[train], rouge[train])
    top = float(sum(coefficients[i] for i, name in enumerate(USED) if name not in PENALTIES))
    # Cross-fitted scores differ a little in scale from fold to fold: align them at a verbatim copy, the highest.
    inner += top
    model: dict[str, Any] = {
        "coefficients": {
            name: round(float(weight * signs[at]), 5)
            for name, weight, at in zip(USED, coefficients, chosen, strict=True)
            if weight > 5e-5
        },
        "calibration": {},
    }
    final = Weights(model["coefficients"], {}, common, {}, "")
    scores = np.array([final.score(dict(zip(FEATURES, row, strict=True))) for row in table[kept].tolist()])
    copied, absent = (table[kept][:, FEATURES.index(name)] for name in ("copied", "numbers"))
    figures: dict[str, dict[str, Any]] = {}
    short = np.char.startswith(proxies, "facts.")
    for use, here in (("source", ~short), ("summary", short)):
        fitted, held = train & here, dev & here
        knots = knots_for(inner[fitted], labels[fitted], balance(proxies[fitted]), top)
        curve = Calibration(tuple((z, p) for z, p in knots), ())
        probability = np.array([curve.probability(z) for z in scores[held].tolist()])
        decision = decision_for(
            inner[fitted], copied[fitted], absent[fitted] == 0, labels[fitted], proxies[fitted], use
        )
        model["calibration"][use] = {"knots": knots, "decision": decision}
        needed = np.interp(copied[held], *np.array(decision).T)
        said = (scores[held] >= needed) & (absent[held] == 0)
        figures[use] = {
            **calibration(probability, labels[held], balance(proxies[held])),
            "balanced_accuracy": accuracies(said, labels[held], proxies[held]),
            "supported_with_an_absent_number": float(labels[fitted & (absent > 0)].mean()),
        }
        print(f"{use}: decision {decision}, held-out {figures[use]}")
    table_rows = report([made[i] for i in np.flatnonzero(dev)], scores[dev], rouge[dev], labels[dev])
    print(json.dumps(model, indent=1))
    card = {
        "what": "logistic model over lexical features; probability that a text supports a claim",
        "licence": "Apache-2.0 for the numbers; the rows are not distributed",
        "sources": sorted({f"{row.source} ({row.licence})" for row in rows}),
        "data_sha256": {name: hashlib.sha256((options.data / name).read_bytes()).hexdigest() for name in FILES},
        "seed": SEED,
        "made": datetime.now(UTC).date().isoformat(),
        "feature_revision": REVISION,
        "features": USED,
        "examples": {"fit": int(train.sum()), "held_out": int(dev.sum())},
        "settings": {
            "ridge": RIDGE,
            "bound": BOUND,
            "rounds": ROUNDS,
            "step": STEP,
            "prior": PRIOR,
            "situations": SITUATIONS,
        },
        "held_out": {**figures, "proxies": table_rows},
    }
    if options.write:
        rounded = json.loads(json.dumps(card), parse_float=lambda text: round(float(text), 4))
        stored = json.dumps({"card": rounded, "model": model}, indent=1, ensure_ascii=False)
        (HERE / "weights.json").write_text(stored + "\n", encoding="utf-8")
        (HERE / "common.json").write_text(
            json.dumps(common, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
