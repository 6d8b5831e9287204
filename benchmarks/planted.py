"""Rates at which `support` labels planted errors, and their faithful twins, as unsupported.

    python benchmarks/planted.py

planted_errors.jsonl has 20 documents and 60 sentences about them, each with a twin that differs in one point. The
errors are of six types; half of the sentences are worded differently from the document. The author of the sentences did
not know the checks, and nothing was fitted or selected on them. Intervals are Wilson intervals at 95 %.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from math import sqrt
from pathlib import Path
from typing import Any

from summeter.engine.api import evaluate

PLANTED = Path(__file__).with_name("planted_errors.jsonl")


def rows() -> Iterator[dict[str, Any]]:
    """Yield each sentence as a summary of its document, by the system `faithful` or `planted`."""
    documents: dict[str, str] = {}
    for line in PLANTED.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if "text" in row:
            documents[row["id"]] = row["text"]
            continue
        for system in ("faithful", "planted"):
            yield {
                "doc_id": row["id"], "system": system, "document": documents[row["document_id"]],
                "summary": row[system], "sentences": [row[system]], "kind": row["kind"],
                "words": "other words" if row["paraphrased"] else "its words",
            }  # fmt: skip


def groups_of(row: dict[str, Any]) -> tuple[str, ...]:
    """Return the table rows in which a sentence is counted."""
    return "all", row["words"], row["kind"]


def wilson(hits: int, n: int) -> str:
    """Return a share with its Wilson interval."""
    z, share = 1.959964, hits / n
    middle, half = share + z * z / (2 * n), z * sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    low, high = ((middle + sign * half) / (1 + z * z / n) for sign in (-1, 1))
    return f"{share:.2f} ({low:.2f} to {high:.2f})"


def main() -> None:
    """Judge all sentences and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    sentences = list(rows())
    run = evaluate(sentences, ["support"])
    about = {(row["doc_id"], row["system"]): row for row in sentences}
    labels = {
        (judgment.target.document_id, judgment.target.system): judgment.label
        for judgment in run.judgments()
        if judgment.aspect == "faithfulness" and judgment.status == "ok"
    }
    assert set(labels) == set(about), "every sentence has a label"

    def share(system: str, group: str) -> str:
        matching = [labels[key] for key, row in about.items() if key[1] == system and group in groups_of(row)]
        return wilson(sum(label == 0 for label in matching), len(matching))

    print(run.manifest.judges[0].signature)
    print("| sentences | n | errors labelled unsupported | twins labelled unsupported |\n|---|---|---|---|")
    counts = Counter(group for row in sentences for group in groups_of(row))
    for group, n in counts.items():
        print(f"| {group} | {n // 2} | {share('planted', group)} | {share('faithful', group)} |")


if __name__ == "__main__":
    main()
