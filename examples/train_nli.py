"""Train an NLI network: a sequence classifier with the classes entailment, neutral and contradiction.

    python examples/train_nli.py pairs.jsonl.gz --model FOLDER --dev dev.jsonl -o nli
    summeter score DATA -e summac -m nli=local/nli -o RUN

Each row has `premise`, `hypothesis` and `label`: entail, neutral, contradict, or "not" (neutral or contradict, with the
loss -log(p_neutral + p_contradict)). The rows of a `source` (default: the name of the file; NAME includes NAME:SUFFIX)
are repeated or subsampled by --weight and limited by --cap. The same command resumes an interrupted training from its
last checkpoint, in OUTPUT.checkpoints. For a second stage, give the folder of the first as --model. Needs
summeter[train].
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
    """Return the rows of the files; exit with file, line and field of the first invalid row."""
    rows = []
    for file in files:
        with (gzip.open if file.suffix == ".gz" else open)(file, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                row = json.loads(line)
                if invalid := [name for name in ("premise", "hypothesis") if not isinstance(row.get(name), str)]:
                    raise SystemExit(f"{file}:{number}: {invalid[0]}: must be a text")
                if row.get("label") not in ALLOWED:
                    raise SystemExit(f"{file}:{number}: label: {row.get('label')!r} is not one of {', '.join(ALLOWED)}")
                rows.append({**row, "source": row.get("source") or file.name.partition(".")[0]})
    return rows


def mix(rows: list[Row], weights: dict[str, str], caps: dict[str, str]) -> list[Row]:
    """Return the rows of an epoch: each source sampled up to its cap, and repeated by its weight (0.5: half of it)."""
    by_source: dict[str, list[Row]] = defaultdict(list)
    for row in random.sample(rows, len(rows)):
        group = row["source"].partition(":")[0]
        by_source[group if group in weights | caps else row["source"]].append(row)
    if unknown := (weights.keys() | caps.keys()) - by_source.keys():
        raise SystemExit(f"no row has the source {unknown.pop()!r}; sources: {', '.join(sorted(by_source))}")
    epoch = []
    for source, group in by_source.items():
        sampled, weight = group[: int(caps.get(source, len(group)))], float(weights.get(source, 1))
        epoch += sampled * int(weight) + sampled[: round(weight % 1 * len(sampled))]
    return epoch


def order(rows: list[Row], epochs: int, batch: int) -> list[Row]:
    """Return the rows of all epochs in batches of pairs of similar length, in random order."""
    ordered: list[Row] = []
    for _ in range(epochs):
        shuffled = random.sample(rows, len(rows))
        for start in range(0, len(shuffled), 50 * batch):
            chunk = shuffled[start : start + 50 * batch]
            chunk.sort(key=lambda row: len(row["premise"] + row["hypothesis"]))
            for first in random.sample(range(0, len(chunk), batch), -(-len(chunk) // batch)):
                ordered += chunk[first : first + batch]
    return ordered


def loss(outputs: Any, allowed: torch.Tensor, **_: Any) -> torch.Tensor:
    """Return the mean of -log(p), with p the total probability of the allowed classes of a pair."""
    logs = outputs.logits.float().log_softmax(-1)
    return -logs.masked_fill(allowed == 0, float("-inf")).logsumexp(-1).mean()


def figures(predicted: transformers.EvalPrediction, rows: list[Row]) -> dict[str, float]:
    """Return the accuracy, and the AUROC of p(entailment), over all rows and by source."""
    logits, allowed = predicted.predictions, predicted.label_ids
    correct = allowed[np.arange(len(logits)), logits.argmax(-1)] == 1
    log_odds = logits[:, 0] - np.logaddexp(logits[:, 1], logits[:, 2])
    values = {}
    for source in ["", *sorted({row["source"] for row in rows})]:
        mask = np.array([source in ("", row["source"]) for row in rows])
        values[f"accuracy {source}".rstrip()] = float(correct[mask].mean())
        if len(set(allowed[mask, 0])) == 2:
            values[f"auroc {source}".rstrip()] = float(roc_auc_score(allowed[mask, 0], log_odds[mask]))
    return values


def main() -> None:
    """Train, evaluate, and write the folder."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", nargs="+", type=Path, help="JSON Lines files (also .gz)")
    parser.add_argument("--model", required=True, help="folder or hub name of an encoder or of an earlier output")
    parser.add_argument("-o", "--output", required=True, help="output folder")
    parser.add_argument("--dev", nargs="*", type=Path, default=[], help="files for evaluation at each checkpoint")
    for name in ("--weight", "--cap"):
        parser.add_argument(name, nargs=2, action="append", default=[], metavar=("SOURCE", "NUMBER"))
    for name, default, meaning in (
        ("epochs", 1, "number of epochs"), ("batch", 32, "pairs per batch"),
        ("learning-rate", 1e-4, "maximum learning rate"),
        ("max-tokens", 256, "maximum tokens of a pair (truncates the longer text)"),
        ("save-steps", 500, "batches between checkpoints"), ("seed", 0, "random seed"),
    ):  # fmt: skip
        parser.add_argument(f"--{name}", type=type(default), default=default, help=f"{meaning} (default {default})")
    parser.add_argument("--bf16", action="store_true", help="use bfloat16 on a CPU (GPUs use it if available)")
    options = parser.parse_args()
    transformers.set_seed(options.seed)
    rows, dev = mix(read(options.data), dict(options.weight), dict(options.cap)), read(options.dev)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(
        options.model, id2label=dict(enumerate(CLASSES)), label2id={name: index for index, name in enumerate(CLASSES)}
    )
    tokenizer = transformers.AutoTokenizer.from_pretrained(options.model)
    longest = min(options.max_tokens, tokenizer.model_max_length)

    def collate(batch: list[Row]) -> dict[str, torch.Tensor]:
        texts = [row["premise"] for row in batch], [row["hypothesis"] for row in batch]
        inputs = tokenizer(*texts, truncation="longest_first", max_length=longest, padding=True, return_tensors="pt")
        return {**inputs, "labels": torch.tensor([ALLOWED[row["label"]] for row in batch])}

    arguments = transformers.TrainingArguments(
        output_dir=f"{options.output}.checkpoints", seed=options.seed, num_train_epochs=1,
        per_device_train_batch_size=options.batch, per_device_eval_batch_size=options.batch,
        learning_rate=options.learning_rate, warmup_steps=0.05, weight_decay=0.01,
        use_cpu=not torch.cuda.is_available(),
        bf16=options.bf16 or (torch.cuda.is_available() and torch.cuda.is_bf16_supported()),
        remove_unused_columns=False, dataloader_pin_memory=False, disable_tqdm=True, report_to="none",
        save_steps=options.save_steps, save_total_limit=2, logging_steps=min(100, options.save_steps),
        eval_strategy="steps" if dev else "no", eval_steps=options.save_steps,
        load_best_model_at_end=bool(dev), metric_for_best_model="auroc" if dev else None,
    )  # fmt: skip
    trainer = transformers.Trainer(
        model, arguments, data_collator=collate, compute_loss_func=loss, eval_dataset=dev,
        train_dataset=order(rows, options.epochs, options.batch),
        compute_metrics=lambda predicted: figures(predicted, dev),
    )  # fmt: skip
    # Keeps the order of the rows, also in a resumed training.
    trainer._get_train_sampler = torch.utils.data.SequentialSampler
    checkpoint = get_last_checkpoint(arguments.output_dir) if Path(arguments.output_dir).is_dir() else None
    print(f"{len(rows)} pairs: {dict(Counter(row['label'] for row in rows))}; resumed from: {checkpoint}", flush=True)
    trainer.train(resume_from_checkpoint=checkpoint)
    model.save_pretrained(options.output)
    tokenizer.save_pretrained(options.output)
    if dev:
        print(json.dumps(trainer.evaluate(), indent=1))


if __name__ == "__main__":
    main()
