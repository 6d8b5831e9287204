"""Fit how much the embedded network counts beside the words of `support`; write combination.json.

    python scripts/network/combine.py --data ../shared/nli_train [--keep ANSWERS] [--write]

The network is asked where the shipped words leave doubt; beside it stand words that have not seen the claim's group. It was not trained on people's claims; of the key facts in
`written`, those count here that it was not trained on. Weights of words and network are fitted within sources, then the
shift over all of them; figures are cross-fitted as in `scripts/support.py`.
"""

import argparse
import asyncio
import hashlib
import json
import pickle
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from support import (
    FOLDS,
    PACKAGE,
    SOURCES,
    Claim,
    Table,
    areas,
    balanced_accuracy,
    cross_fitted,
    facts,
    human,
    interval,
    measured,
)

from summeter.evaluators.support.network import MODEL, counted, in_doubt, premise
from summeter.evaluators.support.scorer import LexicalScorer, Look, Use
from summeter.evaluators.support.words import prepare
from summeter.models.local.load import local_network
from summeter.models.local.loaded_model import open_model
from summeter.models.networks import Entailment, Network, entailments
from summeter.text.split import split

BATCH = 256


def asked(claims: Iterable[Claim], use: Use, network: Network, kept: dict[tuple[str, str], Entailment]) -> np.ndarray:
    """(claims, 2): the log-odds of the words and those of the network, NaN where the words leave no doubt; in the order
    of `measured`. Answers are added to `kept`, by what the network read."""
    scorer = LexicalScorer(use)
    looks: list[tuple[str, str, Look]] = []
    text, evidence = None, None
    for claim in claims:
        if claim.text != text or evidence is None:
            text, evidence = claim.text, prepare(claim.text, split(claim.text))
        look = scorer.look(claim.claim, evidence)
        if isinstance(look, Look):
            doubted = in_doubt(scorer.log_odds(look))
            looks.append((premise(evidence, look.keys) if doubted else "", claim.claim, look))
    new = [pair for pair in dict.fromkeys((text, claim) for text, claim, _ in looks if text) if pair not in kept]
    print(f"{len(new)} of {len(looks)} claims to ask", file=sys.stderr)
    for start in range(0, len(new), BATCH):
        some = new[start : start + BATCH]
        kept |= dict(zip(some, asyncio.run(entailments(network, some)), strict=True))
    return np.array(
        [(scorer.log_odds(look), counted(kept[text, claim], look) if text else np.nan) for text, claim, look in looks]
    )


def fit(table: Table, words: np.ndarray, network: np.ndarray) -> dict[str, float]:
    """The numbers of `network.Weights`, by maximum likelihood on the claims that the network was asked about."""
    rows = np.intersect1d(table.least(words), np.flatnonzero(~np.isnan(network)))
    here, answers = table.of(rows), network[rows]
    terms = np.c_[words[rows], answers, answers * (1 - here.features[:, 1])]
    own = (here.sources[:, None] == np.array(sorted(set(here.sources)))).astype(float)
    relative = _logistic(np.c_[terms, own], here, [0.0] * 3 + [None] * own.shape[1])[:3]
    slope, shift = _logistic(np.c_[terms @ relative, np.ones(len(rows))], here, [0.0, None])
    weights = np.append(slope * relative, shift)
    return dict(zip(("words", "network", "reworded", "shift"), np.round(weights, 4).tolist(), strict=True))


def _logistic(columns: np.ndarray, table: Table, lowest: list[float | None]) -> np.ndarray:
    weights, signs = table.weights, 1 - 2 * table.labels
    found = minimize(
        lambda b: weights @ np.logaddexp(0, signs * (columns @ b)) + 1e-6 * b @ b,
        np.full(columns.shape[1], 0.1),
        bounds=[(low, None) for low in lowest],
    )
    return np.asarray(found.x)


def joint(model: dict[str, float], table: Table, words: np.ndarray, network: np.ndarray) -> np.ndarray:
    """The log-odds of words and network where it was asked, of the words elsewhere."""
    counts = model["network"] + model["reworded"] * (1 - table.features[:, 1])
    both = model["words"] * words + counts * network + model["shift"]
    return np.where(np.isnan(network), words, both)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of human.jsonl.gz")
    parser.add_argument("--keep", type=Path, help="keep the network's answers here (pickle), or read them back")
    parser.add_argument("--write", action="store_true", help="write combination.json")
    options = parser.parse_args()
    network = local_network(open_model(MODEL, "classifier"))
    kept = pickle.loads(options.keep.read_bytes()) if options.keep and options.keep.is_file() else {}
    unseen = [claim for claim in facts() if hashlib.sha256(claim.group.encode()).digest()[0] < 128]
    models: dict[str, Any] = {}
    for use, claims in (("source", list(human(options.data))), ("summary", unseen)):
        table, answers = measured(iter(claims), use), asked(claims, use, network, kept)
        if options.keep:
            options.keep.write_bytes(pickle.dumps(kept))
        answers[:, 0] = cross_fitted(table)
        models[use] = fit(table, *answers.T)
        if use == "source":
            shown = np.full(len(answers), np.nan)
            for held in (table.folds == fold for fold in range(FOLDS)):
                model = fit(table.of(~held), *answers[~held].T)
                shown[held] = joint(model, table.of(held), *answers[held].T)
            words, both = areas(table, answers[:, 0]), areas(table, shown)
            print(f"AUROC by source, joint: {dict(zip(SOURCES, both[:, 0].round(3).tolist(), strict=True))}")
            print(
                f"joint: {interval(both.mean(axis=0))}; against words: {interval((both - words).mean(axis=0), '+.3f')}"
            )
            for name, values in (("words", answers[:, 0]), ("joint", shown)):
                print(f"{name}: balanced accuracy {np.mean(list(balanced_accuracy(table, values).values())):.3f}")
    print(json.dumps(models, indent=1))
    if options.write:
        card = {
            "what": "what the words' log-odds and the embedded network mean together",
            "network": network.id,
            "words": LexicalScorer().id,
            "made": str(datetime.now(UTC).date()),
        }
        text = json.dumps({"card": card, "model": models}, indent=1)
        (PACKAGE / "combination.json").write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
