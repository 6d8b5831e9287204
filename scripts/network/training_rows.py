"""Write the rows that the embedded network was trained on, and the settings of its training (`summeter train` read
them up to commit a46c92ff; `examples/train_nli.py` trains networks of another architecture).

    python scripts/network/training_rows.py --data ../shared/nli_train --backbone FOLDER --out W/rows
    summeter train W/rows/nli.yaml -o W/network

Training goes on from the weights that come along (`--start` names others; `none` begins with the encoder alone, which
may then be another one, and more public rows train). What it reads of a written document is what
`support` would put before it, and the sentences that decide the claim. No premise that `held_out` keeps and no
document that `written_rows.kept` keeps is among the rows: combine.py fits the joint score on those. Nor are people's
claims (human.jsonl.gz): the network is judged on them.
"""

import argparse
import gzip
import hashlib
import json
import random
from collections.abc import Iterable
from pathlib import Path

import written_rows

from summeter.evaluators.support.network import MODEL

SEED = 23
SHARES = {"long": 1.2, "written": 0.6, "twins": 0.2, "nli": 0.6, "fact": 0.6, "synthetic": 0.6}
"""How often a row of each file trains in an epoch."""
REPLAY = {"nli": 2000, "fact": 1500, "synthetic": 2500}
"""Rows of its first training, so that it forgets nothing."""
FIRST = {"nli": 20_000, "fact": 10_000, "synthetic": 9000}
"""The same for an encoder that was not trained before; of each the share of SHARES trains."""


def held_out(premise: str) -> bool:
    """Whether every row with this premise stays out of the training (one premise in twenty)."""
    return hashlib.sha256(premise.encode()).digest()[0] < 13


def public(data: Path, name: str) -> list[dict[str, str]]:
    """Rows of a file of public pairs, without the premises held out."""
    with gzip.open(data / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [
        {key: row[key] for key in ("premise", "hypothesis", "label")} for row in rows if not held_out(row["premise"])
    ]


def write(folder: Path, name: str, rows: Iterable[dict[str, str]]) -> None:
    with (folder / f"{name}.jsonl").open("w", encoding="utf-8") as handle:
        handle.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the public rows")
    parser.add_argument("--written", type=Path, default=written_rows.FOLDER, help="folder of the written rows")
    parser.add_argument(
        "--backbone", type=Path, required=True, help="folder of the encoder (the embedded network's: all-MiniLM-L6-v2)"
    )
    parser.add_argument("--start", default=MODEL, help=f"weights it starts from (default {MODEL}), or none")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    rng = random.Random(arguments.seed)
    for name, rows in written_rows.training(arguments.written).items():
        write(arguments.out, name, rows)
    start = None if arguments.start == "none" else arguments.start
    for name, count in (REPLAY if start else FIRST).items():
        rows = public(arguments.data, name)
        write(arguments.out, name, rng.sample(rows, min(count, len(rows))))
    settings = {
        "kind": "nli",
        "seed": arguments.seed,
        "backbone": f"local/{arguments.backbone.resolve()}",
        "warm_start": start,
        "max_tokens": 256,
        "arithmetic": "bf16",
        "twins": 0.5,
        "data": [{"file": f"{name}.jsonl", "share": share} for name, share in SHARES.items()],
        "split": {"dev": 0.02, "test": 0.0},
        "look_at_test": False,
        "schedule": {
            "epochs": arguments.epochs,
            "batch": 12,
            "learning_rate": 7e-5 if start else 4e-5,
            "warmup": 0.05,
            "average": 0.99,
            "patience": arguments.epochs,
        },
    }
    (arguments.out / "nli.yaml").write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
