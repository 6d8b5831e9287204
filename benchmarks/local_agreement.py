"""How far scores move when the network is asked about the nearest passages only (`nearest=`), on a trained network.

    python benchmarks/local_agreement.py --model FOLDER [--sentences 60] [--claims 208] [--nearest 4 8 16 32]

FOLDER is an NLI classifier as summeter takes it (config.json, tokenizer.json, model.onnx or weights). On a network
whose head is drawn by seed agreement would mean nothing: a supported claim has no higher score there than another.

Texts are made by rule. Of the claims a quarter each: a sentence shortened; one with its verb, people and qualities
exchanged for synonyms, which share fewer words with their passage; one with other things in it; one about nothing in
the text. A claim's score is the largest p_entail - p_contradict of all sentences, or of the nearest; a summary's score
is the mean of four claims. For each `nearest`: the share of claims whose best sentence was among those asked about,
mean and largest difference of a claim's score, Kendall's tau-b between the summaries' scores.
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

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import numpy as np  # noqa: E402
from local_data import PEOPLE, THINGS, length, sentence  # noqa: E402

from summeter.evaluators.entailment.premises import CONTRADICT, ENTAIL, Premises  # noqa: E402
from summeter.models.base import Entailment  # noqa: E402
from summeter.models.local.bind import build, identify  # noqa: E402
from summeter.stats.correlation import kendall_b  # noqa: E402

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
KINDS = ("shortened", "synonyms", "other things", "invented")


class Kept:
    """A network that answers what it was asked before from memory."""

    def __init__(self, nli: object) -> None:
        self.nli = nli
        self.known: dict[tuple[str, str], Entailment] = {}

    async def classify(self, pairs: Sequence[tuple[str, str]]) -> list[Entailment]:
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self.known]
        if new:
            self.known.update(zip(new, await self.nli.classify(new), strict=True))
        return [self.known[pair] for pair in pairs]


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


async def score(nli: Kept, told: Sequence[tuple[list[str], list[str]]], nearest: int | None) -> np.ndarray:
    """Of each claim (score, place of the best sentence)."""
    found = []
    for text, claims in told:
        for table in await Premises(nli, text, nearest).against(claims):
            margin = table[:, ENTAIL] - table[:, CONTRADICT]
            best = int(np.nanargmax(margin))
            found.append((margin[best], best))
    return np.array(found)


def line(exact: np.ndarray, near: np.ndarray) -> str:
    """What there is to say of one setting."""
    gap = np.abs(exact[:, 0] - near[:, 0])
    summaries = [rows[:, 0].reshape(-1, SUMMARY).mean(1) for rows in (_mixed(exact), _mixed(near))]
    tau = kendall_b(*summaries).value
    kinds = ", ".join(
        f"{kind} {(exact[at::4, 1] == near[at::4, 1]).mean():.0%}/{gap[at::4].mean():.3f}"
        for at, kind in enumerate(KINDS)
    )
    return (
        f"best sentence kept {(exact[:, 1] == near[:, 1]).mean():.1%}, difference mean {gap.mean():.4f} largest "
        f"{gap.max():.3f}, within 1e-4 {(gap < 1e-4).mean():.1%}, tau of summaries {tau:.3f}\n      (kept/mean) {kinds}"
    )


def _mixed(rows: np.ndarray) -> np.ndarray:
    """Claims of one text in an order by seed, so that summaries hold different shares of each kind."""
    draw = random.Random(5)
    order = [base + one for base in range(0, len(rows), 16) for one in draw.sample(range(16), 16)]
    return rows[order]


async def measure(model: str, sentences: int, claims: int, nearest: Sequence[int]) -> None:
    """All settings."""
    network = identify("nli", model, "nli")
    nli = Kept(build([network])["nli"])
    told = texts(sentences, claims)
    spent = time.process_time()
    exact = await score(nli, told, None)
    spent = time.process_time() - spent
    print(f"{network.id}: {len(told)} texts of {sentences} sentences, {len(exact)} claims, "
          f"{len(nli.known)} pairs, {spent:.0f} s of the processor")  # fmt: skip
    print("  mean score: " + ", ".join(f"{kind} {exact[at::4, 0].mean():.2f}" for at, kind in enumerate(KINDS)))
    for most in nearest:
        print(f"  nearest={most}: {line(exact, await score(nli, told, most))}", flush=True)


def main() -> None:
    """See the module's text."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="a folder, or embedded/NAME")
    parser.add_argument("--sentences", type=int, default=60)
    parser.add_argument("--claims", type=int, default=208, help="rounded up to whole texts of 16")
    parser.add_argument("--nearest", type=int, nargs="+", default=[4, 8, 16, 32])
    told = parser.parse_args()
    model = told.model if told.model.startswith(("embedded/", "hf/", "local/")) else f"local/{told.model}"
    print("load of the machine before: " + " ".join(f"{one:.1f}" for one in os.getloadavg()))
    asyncio.run(measure(model, told.sentences, told.claims, told.nearest))


if __name__ == "__main__":
    main()
