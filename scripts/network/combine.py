"""Fit how much the embedded network counts beside the words, and what the joint score means; write combination.json.

    python scripts/network/combine.py --data ../shared/nli_train --human OUT_OF_FOLD.jsonl [--keep ANSWERS] [--write]

The fit is that of the words (train_support.py) with one column more: the log-odds of the network. It needs answers of a network that has not
been trained on the claim: for people's claims those of `--human` (a line {"row", "sentence", "log_odds"} for each
sentence: the row of human.jsonl.gz and the sentence of its hypothesis, both from 0; `log_odds` as `network.log_odds` gives
them), written by networks trained on the other folds; without it the network that comes along is asked, which is right only
where it has seen none of them. Other claims are those of the development halves (`written_rows.kept`), and proxies of
held-out premises; about these the network that comes along is asked.
"""

import argparse
import asyncio
import json
import pickle
import sys
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from made_rows import held_out as held_out_premise
from support_data import Claim, Table, human, measured, of_written, proxies
from train_support import SIGNS, complete, write
from written_rows import kept

from summeter.evaluators.support.evidence import prepare
from summeter.evaluators.support.features import FEATURES
from summeter.evaluators.support.network import MODEL, log_odds
from summeter.evaluators.support.premises import premises
from summeter.evaluators.support.scorer import LexicalScorer, Look
from summeter.evaluators.support.weights import NETWORK, shipped
from summeter.models.local.nli import LocalNLI
from summeter.models.local.opened import open_model

EACH = 250  # examples of a proxy
BATCH = 512


def others(data: Path) -> Table:
    """Claims on which the network was not trained: of documents kept out, and of premises held out."""
    unseen = (claim for claim in of_written() if kept(claim.group) and not claim.set.startswith("twins"))
    facts = (claim for claim in proxies(data, EACH, held_out_premise) if claim.set.startswith("facts."))
    tables = [measured(unseen), measured(facts)]
    return joined(tables)


def joined(tables: list[Table]) -> Table:
    arrays = (np.concatenate([table[i] for table in tables]) for i in (1, 2, 3))
    return Table([claim for table in tables for claim in table.claims], *arrays)


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


def answers(claims: list[Claim], nli: LocalNLI, file: Path | None) -> np.ndarray:
    """Log-odds of the network for each claim; kept in `file` by claim, so that what was asked is not asked again."""
    kept_answers: dict[tuple[str, str, str], float] = {}
    if file is not None and file.is_file():
        with file.open("rb") as handle:
            kept_answers = pickle.load(handle)
    new = [claim for claim in claims if (nli.id, claim.text, claim.claim) not in kept_answers]
    for start in range(0, len(new), BATCH):
        some = new[start : start + BATCH]
        texts = [premises_of(claim) for claim in some]
        pairs = [(text, claim.claim) for claim, own in zip(some, texts, strict=True) for text in own]
        entailments = iter(asyncio.run(nli.classify(pairs)))
        for claim, own in zip(some, texts, strict=True):
            kept_answers[nli.id, claim.text, claim.claim] = log_odds([next(entailments) for _ in own])
        if file is not None:
            with file.open("wb") as handle:
                pickle.dump(kept_answers, handle)
    return np.array([kept_answers[nli.id, claim.text, claim.claim] for claim in claims])


def premises_of(claim: Claim) -> tuple[str, ...]:
    """What the network reads beside the claim."""
    evidence = prepare(claim.text, claim.spans)
    look = LexicalScorer(claim.use).look(claim.claim, evidence)
    assert isinstance(look, Look)
    return premises(evidence, look.keys)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the training rows")
    parser.add_argument("--human", type=Path, help="out-of-fold log-odds of people's claims (JSON Lines)")
    parser.add_argument("--keep", type=Path, help="keep the network's answers here (pickle), or read them back")
    parser.add_argument("--log", type=Path, help="card.json of the network's training, for the card")
    parser.add_argument("--write", action="store_true", help="write combination.json beside the code")
    options = parser.parse_args()
    nli = LocalNLI((opened := open_model(MODEL, "classifier")).id, opened)
    theirs, made = measured(human(options.data)), others(options.data)
    first = (
        given(options.human, theirs.claims, options.data)
        if options.human
        else answers(theirs.claims, nli, options.keep)
    )
    table = joined([theirs, made])
    network = np.r_[first, answers(made.claims, nli, options.keep)]
    model, held_out = complete(table, np.c_[table.features * SIGNS, network], (*FEATURES, NETWORK))
    print(json.dumps({"model": model, "held_out": held_out}, indent=1))
    if options.write:
        card = {
            "what": "weights of words and embedded network together, and the calibration of the joint score",
            "network": nli.id,
            "words": shipped().digest,
            "made": datetime.now(UTC).date().isoformat(),
            "examples": len(table.claims),
            "held_out": held_out,
            "training": json.loads(options.log.read_text()) if options.log else None,
        }
        write("combination.json", card, model)


if __name__ == "__main__":
    main()
