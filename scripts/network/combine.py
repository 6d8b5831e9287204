"""Fit how much the embedded network is heard beside the words, and what the joint score means; write combination.json.

    python scripts/network/combine.py --data ../shared/nli_train --fused WORK/kept.jsonl --log NETWORK/card.json [--write]

Reads nothing the network was trained on: rows of held-out premises, made into the proxies of support_proxies.py;
claims that copy and fuse in ways never trained on (`fused_rows.py --kept`), hidden among other sentences; texts and
claims written for it, the development half (written_rows.py). Shown but not fitted on are proxies whose false claims are
spliced as training rows are (LIKE_TRAINING), and those written so that true claims share fewer words with the text than
false ones (AGAINST_WORDS), which would teach that words mislead. Fitted are: one weight for all uses, by logistic regression with an
intercept of its own for each proxy (as in train_support.py); calibration and decision of each use, by the same rules as
for the words alone. One group of documents in five is kept for the figures. No human-annotated evaluation set is read
here, nor may it be.
"""

import argparse
import json
import random
import sys
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import support_proxies
from made_rows import SOURCES, held_out
from support_proxies import Example, examples, hidden, load, sentences_of
from train_support import (
    PRIOR,
    accuracies,
    auroc,
    balance,
    calibration,
    decision_for,
    fold_of,
    knots_for,
    rouge_precision,
)
from written_rows import kept, written

from summeter.evaluators.support.evidence import prepare
from summeter.evaluators.support.network import BOUND, MODEL, log_odds
from summeter.evaluators.support.premises import premises
from summeter.evaluators.support.scorer import LexicalScorer, Look
from summeter.evaluators.support.weights import Calibration, shipped
from summeter.models.local.nli import LocalNLI
from summeter.models.local.opened import open_model
from summeter.text.split import split

HERE = Path(__file__).resolve().parent.parent.parent / "src/summeter/evaluators/support"
EXAMPLES = 250  # of a proxy
SEED = 3
WRITTEN = {
    "copy": "fused.written copy", "fuse": "fused.written fuse", "reword": "abstract.written reword",
    "abstract": "abstract.written condensed", "fact": "facts.written",
}  # fmt: skip
AGAINST_WORDS = ("abstract.written reword", "abstract.written condensed", "fused.written fuse")
LIKE_TRAINING = ("extract.stories", "extract.science", "facts.stories", "facts.science")
RIDGE = 0.001


def development(data: Path, fused: Path) -> list[Example]:
    """Everything that is fitted on or shown."""
    rows = [row for row in load(data) if held_out(row.premise)]
    support_proxies.PER_PROXY = EXAMPLES
    made = examples(rows, dict(shipped().common))
    rng = random.Random(SEED)
    others = [row.premise for row in rows if row.source.startswith(SOURCES)]
    with fused.open(encoding="utf-8") as lines:
        for row in islice(map(json.loads, lines), 4 * EXAMPLES):
            text = hidden(sentences_of(row["premise"]), others, rng, rng.randint(100, 400))
            claim = row["hypothesis"].lower() if rng.random() < 0.5 else row["hypothesis"]
            made.append(Example("fused.parsed", text, claim, row["label"] == "entail", row["premise"]))
    for one in written():
        if kept(one.id):
            text = tuple(one.text[start:end] for start, end in split(one.text))
            made.append(Example(WRITTEN[one.style], text, one.claim, one.supported, one.id))
    return made


def looked_at(made: list[Example]) -> list[tuple[int, Look, tuple[str, ...]]]:
    """(place, what the words show, the premises of the network) of each example that has words to check."""
    found = []
    scorer = LexicalScorer()
    for place, example in enumerate(made):
        spans, at = [], 0
        for sentence in example.sentences:
            spans.append((at, at + len(sentence)))
            at += len(sentence) + 1
        evidence = prepare(" ".join(example.sentences), spans)
        look = scorer.look(example.claim, evidence)
        if isinstance(look, Look):
            found.append((place, look, premises(evidence, look.keys)))
    return found


def answers(looks: list[tuple[int, Look, tuple[str, ...]]]) -> tuple[np.ndarray, str]:
    """Log-odds of the network for each example, and the network's id."""
    import asyncio

    nli = LocalNLI((opened := open_model(MODEL, "classifier")).id, opened)
    pairs = list(dict.fromkeys((text, look.claim) for _, look, texts in looks for text in texts))
    random.Random(0).shuffle(pairs)
    said = dict(zip(pairs, asyncio.run(nli.classify(pairs)), strict=True))
    return np.array([log_odds([said[text, look.claim] for text in texts]) for _, look, texts in looks]), nli.id


def weight_of(words: np.ndarray, network: np.ndarray, labels: np.ndarray, proxies: np.ndarray) -> float:
    """How much a unit of the network's log-odds counts beside a unit of the words' score."""
    table = np.c_[words, network]
    spread = table.std(axis=0)
    scaled, shares = table / spread, balance(proxies)
    own = (proxies[:, None] == np.array(sorted(set(proxies)))).astype(float)

    def loss(b: np.ndarray) -> tuple[float, np.ndarray]:
        z = scaled @ b[:2] + own @ b[2:]
        value = float(shares @ np.logaddexp(0, (1 - 2 * labels) * z) + RIDGE * b[:2] @ b[:2])
        slope = shares * (1 / (1 + np.exp(-z)) - labels)
        return value, np.r_[scaled.T @ slope + 2 * RIDGE * b[:2], own.T @ slope]

    bounds = [(0.0, None)] * 2 + [(None, None)] * own.shape[1]
    found = minimize(loss, np.ones(2 + own.shape[1]) / 10, jac=True, method="L-BFGS-B", bounds=bounds).x[:2] / spread
    return float(found[1] / found[0])


def report(proxies: np.ndarray, labels: np.ndarray, columns: dict[str, np.ndarray]) -> list[dict[str, Any]]:
    rows = []
    for name in dict.fromkeys(proxies):
        here = proxies == name
        row = {key: round(auroc(column[here], labels[here]), 3) for key, column in columns.items()}
        rows.append({"proxy": str(name), "n": int(here.sum()), **row})
        print(f"{name:18s} n {here.sum():4d}  " + "  ".join(f"{key} {value:.3f}" for key, value in row.items()))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the training rows")
    parser.add_argument("--fused", type=Path, required=True, help="rows of fused_rows.py --kept")
    parser.add_argument("--log", type=Path, help="card.json of the network's training, for the card")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    made = development(options.data, options.fused)
    looks = looked_at(made)
    made = [made[place] for place, _, _ in looks]
    network, named = answers(looks)
    words = np.array([look.score for _, look, _ in looks])
    copied, absent = (
        np.array([look.measured.features[name] for _, look, _ in looks]) for name in ("copied", "numbers")
    )
    labels = np.array([float(example.supported) for example in made])
    proxies = np.array([example.proxy for example in made])
    folds = np.array([fold_of(example.group) for example in made])
    kind = np.array([name.split(".")[0] for name in proxies])
    top = float(words.max())
    used = ~np.isin(proxies, LIKE_TRAINING + AGAINST_WORDS)
    here = used & (folds > 0)
    weight = round(weight_of(words[here], network[here], labels[here], proxies[here]), 3)
    scores = words + weight * network
    short = kind == "facts"
    model: dict[str, Any] = {"network": named, "weight": weight, "calibration": {}}
    figures: dict[str, Any] = {}
    for use, here in (("source", ~short), ("summary", short)):
        fitted, held = here & used & (folds > 0), here & used & (folds == 0)
        knots = knots_for(scores[fitted], labels[fitted], balance(proxies[fitted]), top + weight * BOUND)
        curve = Calibration(tuple((z, p) for z, p in knots), ())
        decision = decision_for(
            scores[fitted], copied[fitted], absent[fitted] == 0, labels[fitted], proxies[fitted], use,
            stretch=float(scores.std() / words.std()),
        )  # fmt: skip
        needed = np.interp(copied[held], *np.array(decision).T)
        said = (scores[held] >= needed) & (absent[held] == 0)
        probability = np.array([curve.probability(z) for z in scores[held].tolist()])
        figures[use] = {
            **calibration(probability, labels[held], balance(proxies[held])),
            "balanced_accuracy": accuracies(said, labels[held], proxies[held]),
        }
        model["calibration"][use] = {"knots": knots, "decision": decision}
        print(f"{use}: weight {weight}, decision {decision}, held-out {figures[use]}")
    rouge = np.array([[rouge_precision(one.claim, " ".join(one.sentences), n) for n in (1, 2)] for one in made])
    columns = {"rouge1": rouge[:, 0], "rouge2": rouge[:, 1], "words": words, "network": network, "support": scores}
    table = report(proxies, labels, columns)
    card = {
        "what": "weight of the embedded network beside the words, calibration and decision of the joint score",
        "words": shipped().digest,
        "made": datetime.now(UTC).date().isoformat(),
        "settings": {"ridge": RIDGE, "examples": EXAMPLES, "bound": BOUND, "prior": PRIOR},
        "held_out": {**figures, "proxies": table},
        "training": json.loads(options.log.read_text()) if options.log else None,
    }
    print(json.dumps(model, indent=1))
    if options.write:
        rounded = json.loads(json.dumps(card), parse_float=lambda text: round(float(text), 4))
        stored = json.dumps({"card": rounded, "model": model}, indent=1, ensure_ascii=False)
        (HERE / "combination.json").write_text(stored + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
