"""Write the pairs that the embedded network is trained on, and the settings of `summeter train` beside them.

    python scripts/network/training_rows.py --data ../shared/nli_train --fused W/fused.jsonl --backbone FOLDER --out W/rows
    summeter train W/rows/nli.yaml -o W/network

No premise that made_rows.held_out keeps is among them: combine.py fits the joint score on those. SHARES says how often
a pair of each file trains in an epoch.
"""

import argparse
import gzip
import json
import random
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import written_rows
from made_rows import SOURCES, held_out, made

SEED = 13
SHARES = {"nli": 1.5, "fact": 1.0, "synthetic": 0.6, "reasoning": 0.04, "made": 1.0, "fused": 0.5, "written": 2.0}
MADE = 20_000  # rows of our own, made from premises of SOURCES
EPOCHS = 3


def rows_of(data: Path, name: str) -> list[dict[str, str]]:
    with gzip.open(data / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [row for row in rows if not held_out(row["premise"])]


def write(folder: Path, name: str, pairs: Iterable[Sequence[str]]) -> None:
    with (folder / f"{name}.jsonl").open("w", encoding="utf-8") as handle:
        for premise, hypothesis, label in pairs:
            row = {"premise": premise, "hypothesis": hypothesis, "label": label}
            handle.write(json.dumps(row, ensure_ascii=False) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--fused", type=Path, required=True, help="rows of fused_rows.py")
    parser.add_argument("--backbone", type=Path, required=True, help="folder of all-MiniLM-L6-v2")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    premises: set[str] = set()
    for name in ("nli", "fact", "synthetic", "reasoning"):
        rows = rows_of(arguments.data, name)
        premises.update(row["premise"] for row in rows if row["source"].startswith(SOURCES))
        write(arguments.out, name, ((row["premise"], row["hypothesis"], row["label"]) for row in rows))
    write(arguments.out, "made", made(sorted(premises), MADE, random.Random(SEED)))
    write(arguments.out, "written", written_rows.pairs())
    shutil.copyfile(arguments.fused, arguments.out / "fused.jsonl")
    settings = {
        "kind": "nli",
        "seed": SEED,
        "backbone": f"local/{arguments.backbone.resolve()}",
        "data": [{"file": f"{name}.jsonl", "share": share} for name, share in SHARES.items()],
        "schedule": {"epochs": EPOCHS, "batch": 32, "learning_rate": 1e-4, "warmup": 0.05, "patience": EPOCHS},
    }
    (arguments.out / "nli.yaml").write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
