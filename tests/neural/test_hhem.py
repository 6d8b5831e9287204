"""HHEM: a small random checkpoint in the released form gives what the released code computes from it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from neural import checkpoints

import summeter as sm
from summeter.models.local.convert import convert

PROMPT = "<pad> Determine if the hypothesis is true given the premise?\n\nPremise: {}\n\nHypothesis: {}"
LONG = "Ada sold the mill.\n\n" + "It rained in May. " * 40
ROWS = [
    {"doc_id": "a", "document": LONG, "summary": "Ada sold it. It rained."},
    {"doc_id": "b", "document": " I am in California", "summary": "I am in <pad> United States.</s>"},
    {"doc_id": "c", "document": "It rained.", "summary": "No."},
]


def test_it_equals_the_released_computation(tmp_path: Path) -> None:
    torch, transformers = (pytest.importorskip(name, reason=f"needs {name}") for name in ("torch", "transformers"))
    base = tmp_path / "base"
    config = transformers.T5Config(
        vocab_size=checkpoints.unigram(base), d_model=32, d_kv=16, d_ff=48, num_layers=2, num_heads=2,
        decoder_start_token_id=0, pad_token_id=0, eos_token_id=1,
    )  # fmt: skip
    config.save_pretrained(base)
    torch.manual_seed(1)
    network = transformers.T5ForTokenClassification(config).eval()
    for weights in network.parameters():
        weights.data.mul_(4.0 if weights.dim() > 1 else 1.0)
    network.classifier.weight.data.mul_(0.01)
    state = {f"t5.{name}": value for name, value in network.state_dict().items() if "embed_tokens" not in name}
    torch.save(state, tmp_path / "pytorch_model.bin")
    (folder,) = convert("hhem", tmp_path / "pytorch_model.bin", tmp_path / "hhem", base)

    tokenizer = transformers.AutoTokenizer.from_pretrained(base)
    # A special token in a text is text here: "(pad>" instead of "<pad>".
    texts = [
        PROMPT.format(row["document"], row["summary"].replace("<pad>", "(pad>").replace("</s>", "(/s>")) for row in ROWS
    ]
    inputs = tokenizer(texts, return_tensors="pt", padding=True, truncation=False)
    with torch.inference_mode():
        logits = network(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"]).logits[:, 0]
    wanted = dict(zip("abc", torch.softmax(logits, dim=-1)[:, 1].tolist(), strict=True))
    assert np.std(list(wanted.values())) > 1e-3

    run = sm.evaluate(ROWS, ["hhem"], models={"hhem": f"local/{folder}"}, out=tmp_path / "run")
    found = {row.target.document_id: row.value for row in run.judgments()}
    assert found == {name: pytest.approx(value, abs=1e-5) for name, value in wanted.items()}

    # In chunks, the best chunk decides.
    run = sm.evaluate(
        ROWS, ["hhem[chunk=32,claims=sentence]"], models={"hhem": f"local/{folder}"}, out=tmp_path / "chunks"
    )
    units = [(row.target.document_id, row.target.unit) for row in run.judgments()]
    assert sorted(units)[:3] == [("a", "sentence"), ("a", "sentence"), ("a", "summary")]
