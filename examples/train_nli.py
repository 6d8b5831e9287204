"""Train an NLI network: a sequence classifier with the classes entailment, neutral and contradiction.

    python examples/train_nli.py pairs.jsonl.gz --model FOLDER --dev dev.jsonl -o nli
    summeter score DATA -e summac -m nli=local/nli -o RUN

Each row has `premise`, `hypothesis` and `label`: entail, neutral, contradict, or "not" (neutral or contradict; its loss
is -log(p_neutral + p_contradict)). Rows of a `source` (default: the file's name; NAME means NAME:ANYTHING too) are
repeated or thinned by --weight, and limited by --cap. The same command resumes an interrupted training from its last
checkpoint, in OUTPUT.checkpoints. For a second stage give the first one's folder as --model. Needs summeter[train].
"""

import argparse
import gzip
import json
import random
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from sklearn.metrics import roc_auc_score
from transformers.trainer_utils import get_last_checkpoint

CLASSES = ("entailment", "neutral", "contradiction")
ALLOWED = {"entail": (1, 0, 0), "neutral": (0, 1, 0), "contradict": (0, 0, 1), "not": (0, 1, 1)}
Row = dict[str, Any]


def read(files: list[Path]) -> list[Row]:
    """Return the rows of the files; exit with file, line and field of the first that cannot be used."""
    rows = []
    for file in files:
        with (gzip.open if file.suffix == ".gz" else open)(file, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                row = json.loads(line)
                if faulty := [name for name in ("premise", "hypothesis") if not isinstance(row.get(name), str)]:
                    raise SystemExit(f"{file}:{number}: {faulty[0]}: is not a text")
                if row.get("label") not in ALLOWED:
                    raise SystemExit(f"{file}:{number}: label: is {row.get('label')!r}; labels: {', '.join(ALLOWED)}")
                rows.append({**row, "source": row.get("source") or file.name.partition(".")[0]})
    return rows


def mixed(rows: list[Row], weights: dict[str, str], caps: dict[str, str]) -> list[Row]:
    """Return the rows of an epoch: each source drawn up to its cap, then repeated by its weight (0.5: half of it)."""
    by_source: dict[str, list[Row]] = defaultdict(list)
    for row in random.sample(rows, len(rows)):
        group = row["source"].partition(":")[0]
        by_source[group if group in weights | caps else row["source"]].append(row)
    if unknown := (weights.keys() | caps.keys()) - by_source.keys():
        raise SystemExit(f"no row has the source {unknown.pop()!r}; sources: {', '.join(sorted(by_source))}")
    kept = []
    for source, drawn in by_source.items():
        own, weight = drawn[: int(caps.get(source, len(drawn)))], float(weights.get(source, 1))
        kept += own * int(weight) + own[: round(weight % 1 * len(own))]
    return kept


def ordered(rows: list[Row], epochs: int, batch: int) -> list[Row]:
    """Return the rows of all epochs: batches in random order, each of pairs of similar length."""
    order: list[Row] = []
    for _ in range(epochs):
        drawn = random.sample(rows, len(rows))
        for start in range(0, len(drawn), 50 * batch):
            some = sorted(drawn[start : start + 50 * batch], key=lambda row: len(row["premise"] + row["hypothesis"]))
            for at in random.sample(range(0, len(some), batch), -(-len(some) // batch)):
                order += some[at : at + batch]
    return order


def loss(outputs: Any, allowed: torch.Tensor, **_: Any) -> torch.Tensor:
    """Return the mean of -log of the summed probabilities of the allowed classes."""
    logs = outputs.logits.float().log_softmax(-1)
    return -logs.masked_fill(allowed == 0, float("-inf")).logsumexp(-1).mean()


def figures(predicted: transformers.EvalPrediction, rows: list[Row]) -> dict[str, float]:
    """Return accuracy, and AUROC of entailed pairs against the others by p(entailment), over all rows and by source."""
    logits, allowed = predicted.predictions, predicted.label_ids
    right = allowed[np.arange(len(logits)), logits.argmax(-1)] == 1
    odds = logits[:, 0] - np.logaddexp(logits[:, 1], logits[:, 2])
    values = {}
    for source in ["", *sorted({row["source"] for row in rows})]:
        own = np.array([source in ("", row["source"]) for row in rows])
        values[f"accuracy {source}".rstrip()] = float(right[own].mean())
        if len(set(allowed[own, 0])) == 2:
            values[f"auroc {source}".rstrip()] = float(roc_auc_score(allowed[own, 0], odds[own]))
    return values


def main() -> None:
    """Train, evaluate, and write the folder."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", nargs="+", type=Path, help="files of JSON Lines, also .gz")
    parser.add_argument("--model", required=True, help="folder or hub name of an encoder, or a folder of this script")
    parser.add_argument("-o", "--output", required=True, help="folder of the network")
    parser.add_argument("--dev", nargs="*", type=Path, default=[], help="files to evaluate on at each checkpoint")
    for name in ("--weight", "--cap"):
        parser.add_argument(name, nargs=2, action="append", default=[], metavar=("SOURCE", "NUMBER"))
    for name, usual, meaning in (
        ("epochs", 1, "times that the rows are read"), ("batch", 32, "pairs of a batch"),
        ("learning-rate", 1e-4, "its highest value"), ("max-tokens", 256, "tokens of a pair; the longer text is cut"),
        ("save-steps", 500, "batches between checkpoints"), ("seed", 0, "random seed"),
    ):  # fmt: skip
        parser.add_argument(f"--{name}", type=type(usual), default=usual, help=f"{meaning} (default {usual})")
    parser.add_argument("--bf16", action="store_true", help="bfloat16 on a CPU; a GPU that has it always uses it")
    given = parser.parse_args()
    transformers.set_seed(given.seed)
    rows, dev = mixed(read(given.data), dict(given.weight), dict(given.cap)), read(given.dev)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(
        given.model, id2label=dict(enumerate(CLASSES)), label2id={name: at for at, name in enumerate(CLASSES)}
    )
    tokenizer = transformers.AutoTokenizer.from_pretrained(given.model)
    longest = min(given.max_tokens, tokenizer.model_max_length)

    def collated(some: list[Row]) -> dict[str, torch.Tensor]:
        texts = [row["premise"] for row in some], [row["hypothesis"] for row in some]
        batch = tokenizer(*texts, truncation="longest_first", max_length=longest, padding=True, return_tensors="pt")
        return {**batch, "labels": torch.tensor([ALLOWED[row["label"]] for row in some])}

    arguments = transformers.TrainingArguments(
        output_dir=f"{given.output}.checkpoints", seed=given.seed, num_train_epochs=1,
        per_device_train_batch_size=given.batch, per_device_eval_batch_size=given.batch,
        learning_rate=given.learning_rate, warmup_steps=0.05, weight_decay=0.01, use_cpu=not torch.cuda.is_available(),
        bf16=given.bf16 or (torch.cuda.is_available() and torch.cuda.is_bf16_supported()),
        remove_unused_columns=False, dataloader_pin_memory=False, disable_tqdm=True, report_to="none",
        save_steps=given.save_steps, save_total_limit=2, logging_steps=min(100, given.save_steps),
        eval_strategy="steps" if dev else "no", eval_steps=given.save_steps,
        load_best_model_at_end=bool(dev), metric_for_best_model="auroc" if dev else None,
    )  # fmt: skip
    trainer = transformers.Trainer(
        model, arguments, data_collator=collated, compute_loss_func=loss, eval_dataset=dev,
        train_dataset=ordered(rows, given.epochs, given.batch), compute_metrics=lambda made: figures(made, dev),
    )  # fmt: skip
    # In the order of `ordered`, also where a training is resumed.
    trainer._get_train_sampler = torch.utils.data.SequentialSampler
    checkpoint = get_last_checkpoint(arguments.output_dir) if Path(arguments.output_dir).is_dir() else None
    print(f"{len(rows)} pairs: {dict(Counter(row['label'] for row in rows))}; resumed from: {checkpoint}", flush=True)
    trainer.train(resume_from_checkpoint=checkpoint)
    model.save_pretrained(given.output)
    tokenizer.save_pretrained(given.output)
    if dev:
        print(json.dumps(trainer.evaluate(), indent=1))


if __name__ == "__main__":
    main()
