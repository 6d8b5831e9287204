"""Train a classifier of the error types of a summary sentence, given the document.

    python examples/train_error_types.py DATA --model facebook/bart-large -o types
    summeter score NEW -e error_types -m error_types=local/types -o RUN
    summeter meta errors RUN --gold NEW

DATA are any data that `summeter score` reads, with human labels and error types of sentences (for FRANK's files, give
--preset frank). The classes are "no error" and the types in the data; a sentence may have several. A tenth of the
documents is the dev set, whose F1 selects the epoch. The same command resumes an interrupted training from its last
checkpoint, in OUTPUT.checkpoints. Needs `pip install 'summeter[train]'`.
"""

import argparse
import hashlib
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import transformers
from sklearn.metrics import f1_score
from transformers.trainer_utils import get_last_checkpoint

import summeter as sm
from summeter.records import error_types
from summeter.records.taxonomy import NO_ERROR


class Row(NamedTuple):
    """A sentence of a summary with its error types."""

    document: str
    sentence: str
    types: frozenset[str]


def read(data: Any, labels: str) -> list[Row]:
    """Return the labelled sentences.

    A sentence has the types given by more than half of its annotators, else the most frequent set of types.
    """
    votes: dict[tuple[str, str | None, int | None], list[frozenset[str]]] = defaultdict(list)
    for judgment in data.iter_judgments(labels):
        if judgment.target.unit == "sentence" and judgment.aspect == "faithfulness" and judgment.label is not None:
            types = frozenset({NO_ERROR}) if judgment.label == 1 else error_types(judgment.error_type)
            if types:
                votes[judgment.target.document_id, judgment.target.system, judgment.target.index].append(types)
    rows = []
    for summary in data.summaries:
        for index, sentence in enumerate(summary.sentence_texts):
            if given := votes[summary.document_id, summary.system, index]:
                counts = Counter(name for types in given for name in types)
                majority = frozenset(name for name, count in counts.items() if 2 * count > len(given))
                mode = Counter(given).most_common(1)[0][0]
                rows.append(Row(data.documents[summary.document_id].text, sentence, majority or mode))
    return rows


def is_dev(document: str) -> bool:
    """Return whether a document is in the dev set: one in ten, by the hash of its text."""
    return int(hashlib.sha256(document.encode()).hexdigest(), 16) % 10 == 0


def figures(predicted: transformers.EvalPrediction) -> dict[str, float]:
    """Return micro and macro F1 of the predicted types: those of probability at least 0.5, else the most likely one."""
    logits = np.asarray(predicted.predictions[0] if isinstance(predicted.predictions, tuple) else predicted.predictions)
    chosen = (logits >= 0) | (logits == logits.max(axis=1, keepdims=True))
    return {
        f"f1_{average}": float(f1_score(predicted.label_ids, chosen, average=average, zero_division=0))
        for average in ("micro", "macro")
    }


def main() -> None:
    """Train, select the best epoch, and write the folder."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", help="data that `summeter score` reads")
    parser.add_argument("--preset", help="format of the data (`summeter list presets`)")
    parser.add_argument("--labels", default="human.raw", help="judgment set with the labels (default human.raw)")
    parser.add_argument("--model", required=True, help="folder or hub name of an encoder, or of BART")
    parser.add_argument("-o", "--output", required=True, help="output folder")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--learning-rate", type=float, default=2e-5)
    parser.add_argument(
        "--max-tokens", type=int, default=1024, help="maximum tokens of an input (truncates the document)"
    )
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    transformers.set_seed(options.seed)
    rows = read(sm.load(options.data, preset=options.preset), options.labels)
    if len({is_dev(row.document) for row in rows}) < 2:
        raise SystemExit(f"{len(rows)} labelled sentences are too few for a dev set of a tenth of their documents")
    names = [NO_ERROR, *sorted({name for row in rows for name in row.types} - {NO_ERROR})]
    model = transformers.AutoModelForSequenceClassification.from_pretrained(
        options.model, problem_type="multi_label_classification", num_labels=len(names), ignore_mismatched_sizes=True,
        id2label=dict(enumerate(names)), label2id={name: index for index, name in enumerate(names)},
    )  # fmt: skip
    tokenizer = transformers.AutoTokenizer.from_pretrained(options.model)
    longest = min(options.max_tokens, tokenizer.model_max_length)
    inputs = tokenizer(
        [row.document for row in rows], [row.sentence for row in rows], truncation="only_first", max_length=longest
    )
    inputs["labels"] = [[float(name in row.types) for name in names] for row in rows]
    pairs = [{name: column[index] for name, column in inputs.items()} for index in range(len(rows))]
    arguments = transformers.TrainingArguments(
        output_dir=f"{options.output}.checkpoints", seed=options.seed, num_train_epochs=options.epochs,
        per_device_train_batch_size=options.batch, per_device_eval_batch_size=options.batch,
        learning_rate=options.learning_rate, warmup_steps=0.1, weight_decay=0.01,
        use_cpu=not torch.cuda.is_available(), dataloader_pin_memory=False,
        bf16=torch.cuda.is_available() and torch.cuda.is_bf16_supported(),
        eval_strategy="epoch", save_strategy="epoch", save_total_limit=2, load_best_model_at_end=True,
        metric_for_best_model="f1_micro", logging_strategy="epoch", report_to="none", disable_tqdm=True,
    )  # fmt: skip
    trainer = transformers.Trainer(
        model, arguments, data_collator=transformers.DataCollatorWithPadding(tokenizer), processing_class=tokenizer,
        train_dataset=[pair for pair, row in zip(pairs, rows, strict=True) if not is_dev(row.document)],
        eval_dataset=[pair for pair, row in zip(pairs, rows, strict=True) if is_dev(row.document)],
        compute_metrics=figures,
    )  # fmt: skip
    folder = Path(arguments.output_dir)
    trainer.train(resume_from_checkpoint=get_last_checkpoint(folder) if folder.is_dir() else None)
    model.save_pretrained(options.output)
    tokenizer.save_pretrained(options.output)


if __name__ == "__main__":
    main()
