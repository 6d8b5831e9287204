"""Train a classifier of error types: which errors a sentence of a summary has, given the document.

    python examples/train_error_types.py DATA --model facebook/bart-large -o types
    summeter score NEW -e error_types -m error_types=local/types -o RUN
    summeter meta errors RUN --gold NEW

DATA is anything that `summeter score` reads, with people's labels of sentences and their error types (for FRANK's files
give --preset frank). The classes are "no error" and the types that people named; a sentence may have several. A tenth
of the documents chooses the epoch. The same command resumes an interrupted training from its last checkpoint, in
OUTPUT.checkpoints. Needs `pip install 'summeter[train]'`.
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
    """A sentence of a summary, and its types."""

    document: str
    sentence: str
    types: frozenset[str]


def read(data: Any, labels: str) -> list[Row]:
    """Return the labelled sentences; a sentence has the types that more than half of its annotators name, else the set
    that most of them give."""
    votes: dict[tuple[str, str | None, int | None], list[frozenset[str]]] = defaultdict(list)
    for judgment in data.iter_judgments(labels):
        if judgment.target.unit == "sentence" and judgment.aspect == "faithfulness" and judgment.label is not None:
            types = frozenset({NO_ERROR}) if judgment.label == 1 else error_types(judgment.error_type)
            if types:
                votes[judgment.target.document_id, judgment.target.system, judgment.target.index].append(types)
    rows = []
    for summary in data.summaries:
        for index, sentence in enumerate(summary.sentence_texts):
            own = votes[summary.document_id, summary.system, index]
            if own:
                counts = Counter(name for types in own for name in types)
                named = frozenset(name for name, count in counts.items() if 2 * count > len(own))
                usual = Counter(own).most_common(1)[0][0]
                rows.append(Row(data.documents[summary.document_id].text, sentence, named or usual))
    return rows


def develops(document: str) -> bool:
    """Return whether a document chooses the epoch: one in ten, by the hash of its text."""
    return int(hashlib.sha256(document.encode()).hexdigest(), 16) % 10 == 0


def figures(predicted: transformers.EvalPrediction) -> dict[str, float]:
    """Return the F1 of types, micro and macro, as the judge chooses them: probability .5 and more, or the likeliest."""
    logits = np.asarray(predicted.predictions[0] if isinstance(predicted.predictions, tuple) else predicted.predictions)
    chosen = (logits >= 0) | (logits == logits.max(axis=1, keepdims=True))
    return {
        f"f1_{average}": float(f1_score(predicted.label_ids, chosen, average=average, zero_division=0))
        for average in ("micro", "macro")
    }


def main() -> None:
    """Train, choose the epoch, and write the folder."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", help="a data set or file that `summeter score` reads")
    parser.add_argument("--preset", help="how to read it (`summeter list presets`)")
    parser.add_argument("--labels", default="human.raw", help="judgment set with people's labels")
    parser.add_argument("--model", required=True, help="folder or hub name of an encoder, or of BART")
    parser.add_argument("-o", "--output", required=True, help="folder of the network")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--learning-rate", type=float, default=2e-5)
    parser.add_argument("--max-tokens", type=int, default=1024, help="tokens of an input; the document is cut")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    transformers.set_seed(given.seed)
    rows = read(sm.load(given.data, preset=given.preset), given.labels)
    if len({develops(row.document) for row in rows}) < 2:
        raise SystemExit(f"{len(rows)} labelled sentences are too few to keep a tenth of their documents apart")
    names = [NO_ERROR, *sorted({name for row in rows for name in row.types} - {NO_ERROR})]
    model = transformers.AutoModelForSequenceClassification.from_pretrained(
        given.model, problem_type="multi_label_classification", num_labels=len(names), ignore_mismatched_sizes=True,
        id2label=dict(enumerate(names)), label2id={name: at for at, name in enumerate(names)},
    )  # fmt: skip
    tokenizer = transformers.AutoTokenizer.from_pretrained(given.model)
    longest = min(given.max_tokens, tokenizer.model_max_length)
    inputs = tokenizer(
        [row.document for row in rows], [row.sentence for row in rows], truncation="only_first", max_length=longest
    )
    inputs["labels"] = [[float(name in row.types) for name in names] for row in rows]
    pairs = [{name: column[at] for name, column in inputs.items()} for at in range(len(rows))]
    arguments = transformers.TrainingArguments(
        output_dir=f"{given.output}.checkpoints", seed=given.seed, num_train_epochs=given.epochs,
        per_device_train_batch_size=given.batch, per_device_eval_batch_size=given.batch,
        learning_rate=given.learning_rate, warmup_steps=0.1, weight_decay=0.01,
        use_cpu=not torch.cuda.is_available(), dataloader_pin_memory=False,
        bf16=torch.cuda.is_available() and torch.cuda.is_bf16_supported(),
        eval_strategy="epoch", save_strategy="epoch", save_total_limit=2, load_best_model_at_end=True,
        metric_for_best_model="f1_micro", logging_strategy="epoch", report_to="none", disable_tqdm=True,
    )  # fmt: skip
    trainer = transformers.Trainer(
        model, arguments, data_collator=transformers.DataCollatorWithPadding(tokenizer), processing_class=tokenizer,
        train_dataset=[pair for pair, row in zip(pairs, rows, strict=True) if not develops(row.document)],
        eval_dataset=[pair for pair, row in zip(pairs, rows, strict=True) if develops(row.document)],
        compute_metrics=figures,
    )  # fmt: skip
    folder = Path(arguments.output_dir)
    trainer.train(resume_from_checkpoint=get_last_checkpoint(folder) if folder.is_dir() else None)
    model.save_pretrained(given.output)
    tokenizer.save_pretrained(given.output)


if __name__ == "__main__":
    main()
