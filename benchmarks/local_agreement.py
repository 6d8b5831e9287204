"""How far scores move when the network is asked about the nearest passages only (`nearest=`), on a trained network.

    python benchmarks/local_agreement.py --model FOLDER [--sentences 600] [--claims 32] [--nearest 16 32 64 128]

FOLDER is an NLI classifier as summeter takes it (config.json, tokenizer.json, model.onnx or weights). On a network
whose head is drawn by seed agreement would mean nothing: a supported claim has no higher score there than another.

Texts are made by rule. Of the claims a quarter each: a sentence shortened; one with its verb, people and qualities
exchanged for synonyms, which share fewer words with their passage; one with other things in it; one about nothing in
the text. A claim's score is fenice's (`--variant`), over sentences, windows of five and the document's stretches; a
summary's score is the mean of four claims. For each `nearest`: the share of claims scored the same to 1e-4, mean and
largest difference, Kendall's tau-b between the summaries' scores. `--keep FILE` keeps what the network said, for a
later run with other settings.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import numpy as np  # noqa: E402
from local_data import PEOPLE, THINGS, length, sentence  # noqa: E402

from summeter.evaluators.entailment.premises import fitted  # noqa: E402
from summeter.evaluators.fenice.align import Aligner, Rules  # noqa: E402
from summeter.models.local.load import build, identify  # noqa: E402
from summeter.records import Document, Span  # noqa: E402
from summeter.runs.results import ResultStore  # noqa: E402
from summeter.runs.usage import Usage  # noqa: E402
from summeter.stats import correlate  # noqa: E402
from summeter.text.spans import TextSpan, sentence_spans  # noqa: E402

_SAID = (
    "engineer=technician mayor=burgomaster farmer=grower teacher=instructor clerk=official "
    "doctor=physician sailor=mariner painter=artist repaired=mended described=depicted crossed=traversed "
    "inspected=checked ignored=disregarded visited=toured remembered=recalled examined=scrutinised "
    "abandoned=deserted studied=analysed protected=guarded opened=unlocked praised=applauded followed=pursued "
    "finished=completed carried=transported old=aged quiet=silent expensive=costly broken=damaged famous=renowned "
    "bright=brilliant distant=remote crowded=packed empty=vacant modern=contemporary heavy=weighty small=little"
)
SYNONYMS = dict(one.split("=") for one in _SAID.split())
SUMMARY = 4
SAME = 1e-4
KINDS = ("shortened", "synonyms", "other things", "invented")


def claim(draw: random.Random, sentences: Sequence[str], kind: str) -> str:
    """A claim of a kind."""
    if kind == "invented":
        return sentence(draw, 9)
    words = draw.choice([one for one in sentences if len(one.split()) > 9]).rstrip(".").split()
    words = words[: draw.randint(8, 14)]
    if kind == "synonyms":
        words = [SYNONYMS.get(one, one) for one in words]
    if kind == "other things":
        words = [
            draw.choice(THINGS) if one in THINGS else draw.choice(PEOPLE) if one in PEOPLE else one for one in words
        ]
    return " ".join(words) + "."


def texts(sentences: int, claims: int) -> list[tuple[list[str], list[str]]]:
    """Texts of so many sentences, and sixteen claims of each."""
    draw = random.Random(11)
    found = []
    for _ in range(-(-claims // 16)):
        text = [sentence(draw, length(draw, 14)) for _ in range(sentences)]
        found.append((text, [claim(draw, text, KINDS[one % 4]) for one in range(16)]))
    return found


async def score(nli: Any, told: Sequence[tuple[list[str], list[str]]], rules: Rules) -> np.ndarray:
    """The score of each claim."""
    found = []
    for at, (text, claims) in enumerate(told):
        document = _document(f"t{at}", text)
        whole = await fitted(document.text, [TextSpan.of(document.text)], sentence_spans(document), nli)
        aligner = Aligner(document, nli, rules, whole)
        found += [one.best.score for one in await aligner.verdicts(claims)]
    return np.array(found)


def _document(name: str, sentences: Sequence[str]) -> Document:
    starts = np.cumsum([0, *(len(one) + 1 for one in sentences)]).tolist()
    spans = tuple(
        Span(of="document", start=start, end=start + len(one)) for start, one in zip(starts, sentences, strict=False)
    )
    return Document(id=name, text=" ".join(sentences), sentences=spans)


def line(exact: np.ndarray, near: np.ndarray) -> str:
    """What there is to say of one setting."""
    gap = np.abs(exact - near)
    summaries = [rows.reshape(-1, SUMMARY).mean(1) for rows in (_mixed(exact), _mixed(near))]
    tau = correlate(*summaries, "kendall_b").value
    kinds = ", ".join(
        f"{kind} {(gap[at::4] < SAME).mean():.0%} (mean {gap[at::4].mean():.4f})" for at, kind in enumerate(KINDS)
    )
    return (
        f"within 1e-4 {(gap < SAME).mean():.1%}, difference mean {gap.mean():.4f} largest {gap.max():.3f}, "
        f"tau of summaries {'undefined' if tau is None else f'{tau:.3f}'}\n      {kinds}"
    )


def _mixed(rows: np.ndarray) -> np.ndarray:
    """Claims of one text in an order by seed, so that summaries hold different shares of each kind."""
    draw = random.Random(5)
    order = [base + one for base in range(0, len(rows), 16) for one in draw.sample(range(16), 16)]
    return rows[order]


async def measure(model: str, told: argparse.Namespace) -> None:
    """All settings."""
    network = identify("nli", model, "classifier")
    usage: dict[str, Usage] = {}
    with ResultStore(told.keep) as store:
        nli = build([network], store, usage)["nli"]
        given = texts(told.sentences, told.claims)
        for variant in told.variant:
            spent = time.process_time()
            exact = await score(nli, given, Rules(variant))
            spent = time.process_time() - spent
            used = usage[network.id]
            print(f"{network.id}, {variant}: {len(given)} texts of {told.sentences} sentences, {len(exact)} claims, "
                  f"{used.computed} pairs computed, {spent:.0f} s of the processor")  # fmt: skip
            means = ", ".join(f"{kind} {exact[at::4].mean():.2f}" for at, kind in enumerate(KINDS))
            print(f"  mean score: {means}", flush=True)
            for most in told.nearest:
                near = await score(nli, given, Rules(variant, nearest=most))
                print(f"  nearest={most}: {line(exact, near)}", flush=True)


def main() -> None:
    """See the module's text."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="a folder, or embedded/NAME")
    parser.add_argument("--sentences", type=int, default=600)
    parser.add_argument("--claims", type=int, default=32, help="rounded up to whole texts of 16")
    parser.add_argument("--nearest", type=int, nargs="+", default=[16, 32, 64, 128])
    parser.add_argument("--variant", nargs="+", default=["legacy", "paper"], choices=("legacy", "paper"))
    parser.add_argument("--keep", type=Path, help="a file for what the network said")
    told = parser.parse_args()
    model = told.model if told.model.startswith(("embedded/", "hf/", "local/")) else f"local/{told.model}"
    print("load of the machine before: " + " ".join(f"{one:.1f}" for one in os.getloadavg()))
    asyncio.run(measure(model, told))


if __name__ == "__main__":
    main()
