"""Train a claim extractor: an encoder-decoder that generates the claims of a summary, one sentence each.

    python examples/train_claims.py RUN --model google-t5/t5-base -o claims
    summeter score DATA -e fenice -m nli=local/NLI -m seq2seq=local/claims -o OUT

RUN is the folder of a run whose judge extracted claims with an LLM (fenice[claims=llm], factscore), or a JSON Lines
file with `summary` and `claims`, a list of strings. Rows are split by `document` (default: the summary), so that no
document is in both sets. A tenth of the documents is the dev set, whose likelihood selects the epoch. The same command
resumes an interrupted training from its last checkpoint, in OUTPUT.checkpoints. Needs `pip install 'summeter[train]'`.
"""

import argparse
import gzip
import hashlib
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers.trainer_utils import get_last_checkpoint

from summeter.runs.run import RunFolder

Row = dict[str, Any]


def read(source: Path) -> list[Row]:
    """Return the summaries of a file or a run with their claims; exit with file, line and field of an invalid row."""
    if source.is_dir():
        run = RunFolder(source)
        claims: dict[tuple[str, str | None], dict[str, None]] = defaultdict(dict)
        for judgment in run.judgments():
            if judgment.claim is not None:
                claims[judgment.target.document_id, judgment.target.system][judgment.claim.text] = None
        return [
            {
                "document": run.data.documents[summary.document_id].text,
                "summary": summary.text,
                "claims": [*claims[summary.document_id, summary.system]],
            }
            for summary in run.data.summaries
        ]
    rows = []
    with (gzip.open if source.suffix == ".gz" else open)(source, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            row = json.loads(line)
            if not isinstance(row.get("summary"), str):
                raise SystemExit(f"{source}:{number}: summary: must be a text")
            if not isinstance(row.get("claims"), list) or not all(isinstance(text, str) for text in row["claims"]):
                raise SystemExit(f"{source}:{number}: claims: must be a list of strings")
            rows.append({"document": row["summary"], **row})
    return rows


def target(claims: list[str]) -> str:
    """Return the target text of the network."""
    return " ".join(claim if claim.endswith((".", "!", "?")) else f"{claim}." for claim in claims)


def is_dev(document: str) -> bool:
    """Return whether a document is in the dev set: one in ten, by the hash of its text."""
    return int(hashlib.sha256(document.encode()).hexdigest(), 16) % 10 == 0


def main() -> None:
    """Train, select the best epoch, and write the folder."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", nargs="+", type=Path, help="runs, or JSON Lines files (also .gz)")
    parser.add_argument("--model", required=True, help="folder or hub name of an encoder-decoder")
    parser.add_argument("-o", "--output", required=True, help="output folder")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--learning-rate", type=float, default=1e-4)
    parser.add_argument("--max-tokens", type=int, default=512, help="maximum tokens of a summary, and of its claims")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    transformers.set_seed(options.seed)
    rows = [row for source in options.data for row in read(source) if row["claims"]]
    if len({is_dev(row["document"]) for row in rows}) < 2:
        raise SystemExit(f"{len(rows)} summaries with claims are too few for a dev set of a tenth of their documents")
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(options.model)
    tokenizer = transformers.AutoTokenizer.from_pretrained(options.model)
    longest = min(options.max_tokens, tokenizer.model_max_length)
    inputs = tokenizer([row["summary"] for row in rows], truncation=True, max_length=longest)
    labels = tokenizer([target(row["claims"]) for row in rows], truncation=True, max_length=longest)
    pairs = [
        {"input_ids": source, "attention_mask": mask, "labels": claims}
        for source, mask, claims in zip(inputs["input_ids"], inputs["attention_mask"], labels["input_ids"], strict=True)
    ]
    arguments = transformers.Seq2SeqTrainingArguments(
        output_dir=f"{options.output}.checkpoints", seed=options.seed, num_train_epochs=options.epochs,
        per_device_train_batch_size=options.batch, per_device_eval_batch_size=options.batch,
        learning_rate=options.learning_rate, warmup_steps=0.1, weight_decay=0.01,
        use_cpu=not torch.cuda.is_available(), dataloader_pin_memory=False,
        bf16=torch.cuda.is_available() and torch.cuda.is_bf16_supported(),
        eval_strategy="epoch", save_strategy="epoch", save_total_limit=2, load_best_model_at_end=True,
        logging_strategy="epoch", report_to="none", disable_tqdm=True,
    )  # fmt: skip
    trainer = transformers.Seq2SeqTrainer(
        model, arguments, data_collator=transformers.DataCollatorForSeq2Seq(tokenizer, model),
        train_dataset=[pair for pair, row in zip(pairs, rows, strict=True) if not is_dev(row["document"])],
        eval_dataset=[pair for pair, row in zip(pairs, rows, strict=True) if is_dev(row["document"])],
        processing_class=tokenizer,
    )  # fmt: skip
    folder = Path(arguments.output_dir)
    trainer.train(resume_from_checkpoint=get_last_checkpoint(folder) if folder.is_dir() else None)
    # By default, transformers generates at most 20 tokens.
    model.generation_config.max_length = None
    model.generation_config.max_new_tokens = options.max_tokens
    model.save_pretrained(options.output)
    tokenizer.save_pretrained(options.output)


if __name__ == "__main__":
    main()
