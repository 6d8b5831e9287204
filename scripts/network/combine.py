"""Fit how much the embedded network counts beside the words, and what both mean together; write combination.json.

    python scripts/network/combine.py --data ../shared/nli_train --human OUT_OF_FOLD.jsonl [--keep ANSWERS] [--write]

The words count by the score of weights.json; fitted are the five numbers of `Calibration`. That needs answers of a network that has not
been trained on the claim: for people's claims those of `--human` (a line {"row", "sentence", "log_odds"} for each
sentence: the row of human.jsonl.gz and the sentence of its hypothesis, both from 0; `log_odds` as `network.log_odds` gives
them), written by networks trained on the other folds; without it the network that comes along is asked, which is right only
where it has seen none of them. Other claims are those of the development halves (`written_rows.kept`), and proxies of
held-out premises; about these the network that comes along is asked. The minimal pairs among them (`long*`) are one more
source beside people's: where true and false claims alike are in other words, only the network tells them apart.

Claims to which the words give a probability outside DOUBT are not asked about, in the figures as in use.
"""

import argparse
import asyncio
import json
import pickle
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from support_data import Claim, Table, human, joined, measured, of_written, proxies, scores
from train_support import (
    all_claims,
    as_stored,
    calibration,
    facts,
    figures,
    figures_by_set,
    figures_of_facts,
    folds,
    probabilities,
    write,
)
from training_rows import held_out as held_out_premise
from written_rows import kept

from summeter.evaluators.support.checks import CONFLICTS
from summeter.evaluators.support.evidence import prepare
from summeter.evaluators.support.network import DOUBT, MODEL, log_odds
from summeter.evaluators.support.premises import premise
from summeter.evaluators.support.scorer import LexicalScorer, Look
from summeter.evaluators.support.weights import Calibration, Weights, shipped
from summeter.models.local.bind import local_network
from summeter.models.local.opened import open_model
from summeter.models.networks import Network, entailments

EACH = 250  # examples of a proxy
BATCH = 512


def others(data: Path) -> Table:
    """Claims on which the network was not trained: of documents kept out, and of premises held out."""
    unseen = (claim for claim in of_written() if kept(claim.group) and not claim.set.startswith("twins"))
    claims = (claim for claim in proxies(data, EACH, held_out_premise) if claim.set.startswith("facts."))
    return joined([measured(unseen), measured(claims)])


def given(file: Path, claims: list[Claim], data: Path) -> np.ndarray:
    """The log-odds of `--human` for each of people's claims, in order."""
    with file.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    known = {(row["row"], row["sentence"]): float(row["log_odds"]) for row in rows}
    numbers: dict[tuple[str, str], tuple[int, int]] = {}
    last, sentence = "", 0
    for claim in human(data):
        sentence = sentence + 1 if claim.bag == last else 0
        last = claim.bag
        numbers.setdefault((claim.bag, claim.claim), (int(claim.bag.partition(".")[2]), sentence))
    missing = [claim for claim in claims if numbers[claim.bag, claim.claim] not in known]
    if missing:
        raise SystemExit(
            f"{file} has no log-odds for {len(missing)} claims, as {numbers[missing[0].bag, missing[0].claim]}"
        )
    return np.array([known[numbers[claim.bag, claim.claim]] for claim in claims])


def answers(claims: list[Claim], nli: Network, file: Path | None) -> np.ndarray:
    """Log-odds of the network for each claim; kept in `file` by what it read, so that nothing is asked twice."""
    kept_answers: dict[tuple[str, str, str], float] = {}
    if file is not None and file.is_file():
        with file.open("rb") as handle:
            kept_answers = pickle.load(handle)
    asked = [(nli.id, premise_of(claim), claim.claim) for claim in claims]
    new = [key for key in dict.fromkeys(asked) if key not in kept_answers]
    for start in range(0, len(new), BATCH):
        some = new[start : start + BATCH]
        rows = asyncio.run(entailments(nli, [(text, claim) for _, text, claim in some]))
        kept_answers |= {key: log_odds(row) for key, row in zip(some, rows, strict=True)}
        if file is not None:
            with file.open("wb") as handle:
                pickle.dump(kept_answers, handle)
    return np.array([kept_answers[key] for key in asked])


def premise_of(claim: Claim) -> str:
    """What the network reads beside the claim."""
    evidence = prepare(claim.text, claim.spans)
    look = LexicalScorer(claim.use).look(claim.claim, evidence)
    assert isinstance(look, Look)
    return premise(evidence, look.keys)


class Asked:
    """Claims with the network's log-odds, and what words and network say of them."""

    def __init__(self, table: Table, network: np.ndarray) -> None:
        pairs = np.char.startswith(table.sets, "long.")
        merged = [
            claim._replace(set="long") if pair else claim for claim, pair in zip(table.claims, pairs, strict=True)
        ]
        strange = table.conflicts[:, CONFLICTS.index("number")] > 0
        self.table = table._replace(claims=merged)
        self.network = np.where(strange, np.minimum(network, 0), network)  # as `LexicalScorer.seen` has it

    def of(self, places: np.ndarray) -> "Asked":
        """The claims at these places."""
        return Asked(self.table.of(places), self.network[places])

    def terms(self, weights: Weights) -> np.ndarray:
        """What the calibration weighs."""
        return np.c_[scores(self.table, weights), self.network, self.network * self.table.unmatched]

    def fit(self, weights: Weights) -> Calibration:
        """What words and network mean together."""
        return calibration(self.table, self.terms(weights))

    def shown(self, weights: Weights, words: Calibration, both: Calibration) -> np.ndarray:
        """The probability of each claim: by the words where they leave no doubt, else by both."""
        terms = self.terms(weights)
        alone = probabilities(self.table, terms[:, :1], words)
        return np.where((alone < DOUBT[0]) | (alone > DOUBT[1]), alone, probabilities(self.table, terms, both))


def cross_fitted(asked: Asked, words: Table) -> np.ndarray:
    """The probability of people's and the paired claims, from fits that have not seen their groups; `words`: what the
    weights of words are fitted on."""
    shown = np.full(len(asked.network), np.nan)
    for fold, (unseen, weights) in enumerate(folds(words)):
        rest = words.of(words.is_human & ~unseen)
        alone = calibration(rest, scores(rest, weights)[:, None])
        held = asked.table.folds == fold
        shown[held] = asked.of(held).shown(weights, alone, asked.of(~held).fit(weights))
    return shown


def complete(asked: Asked, words: Table) -> tuple[dict[str, Any], dict[str, Any]]:
    """The combination as it is stored, and the held-out figures for its card."""
    fact = facts(asked.table)
    of_facts, of_sentences = asked.of(fact), asked.of(~fact & (asked.table.is_human | (asked.table.sets == "long")))
    uses = shipped().uses
    shown = cross_fitted(of_sentences, words)
    pairs = of_sentences.table.sets == "long"
    held, rest = of_facts.of(of_facts.table.folds == 0), of_facts.of(of_facts.table.folds > 0)
    facts_shown = held.shown(uses["summary"], uses["summary"].calibration, rest.fit(uses["summary"]))
    curve = of_sentences.fit(uses["source"])
    copied = asked.of(~fact & ~asked.table.is_human & (asked.table.sets != "long"))
    copied_shown = copied.shown(uses["source"], uses["source"].calibration, curve)
    held_out = {
        "source": figures(of_sentences.table, shown),
        "summary": figures_of_facts(held.table, facts_shown),
        "made": {
            **figures_by_set(of_sentences.table.of(pairs), shown[pairs]),
            **figures_by_set(copied.table, copied_shown),
        },
    }
    return {"source": as_stored(curve), "summary": as_stored(of_facts.fit(uses["summary"]))}, held_out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the training rows")
    parser.add_argument("--human", type=Path, help="out-of-fold log-odds of people's claims (JSON Lines)")
    parser.add_argument("--features", type=Path, help="what train_support.py measured and kept")
    parser.add_argument("--keep", type=Path, help="keep the network's answers here (pickle), or read them back")
    parser.add_argument("--log", type=Path, help="card.json of the network's training, for the card")
    parser.add_argument("--write", action="store_true", help="write combination.json beside the code")
    options = parser.parse_args()
    nli = local_network(open_model(MODEL, "classifier"))
    words = all_claims(options.data, options.features)
    theirs, made = words.of(words.is_human), others(options.data)
    network = (
        given(options.human, theirs.claims, options.data)
        if options.human
        else answers(theirs.claims, nli, options.keep)
    )
    asked = Asked(joined([theirs, made]), np.r_[network, answers(made.claims, nli, options.keep)])
    model, held_out = complete(asked, words)
    print(json.dumps({"model": model, "held_out": held_out}, indent=1))
    if options.write:
        card = {
            "what": "what the words' score and the embedded network mean together",
            "network": nli.id,
            "words": shipped().digest,
            "made": datetime.now(UTC).date().isoformat(),
            "examples": len(asked.network),
            "held_out": held_out,
            "training": json.loads(options.log.read_text()) if options.log else None,
        }
        write("combination.json", card, model)


if __name__ == "__main__":
    main()
