"""Frozen networks of the encoder-decoder judges; weights from numpy's RandomState, as in parity.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from neural import checkpoints

SIZE, INNER, POSITIONS = 32, 48, 1024


def bart(folder: Path) -> Path:
    """Write a network with BARTScore's architecture, a letter tokenizer and at most 1,024 tokens."""
    import transformers

    config = transformers.BartConfig(
        vocab_size=checkpoints.byte_level(folder), d_model=SIZE, encoder_layers=2, decoder_layers=2,
        encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=INNER, decoder_ffn_dim=INNER,
        max_position_embeddings=POSITIONS, pad_token_id=1, bos_token_id=0, eos_token_id=2, decoder_start_token_id=2,
    )  # fmt: skip
    tokenizer = json.loads((folder / "tokenizer.json").read_text("utf-8"))["model"]
    # BartTokenizer, which the released class asks for, reads the old form.
    (folder / "vocab.json").write_text(json.dumps(tokenizer["vocab"]))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    return _frozen(folder, transformers.BartForConditionalGeneration(config), 5)


def t5(folder: Path) -> Path:
    """Write a network with the architecture of UniEval and TrueTeacher, with tokens for their answers."""
    import transformers

    config = transformers.T5Config(
        vocab_size=checkpoints.unigram(folder, ("▁Yes", "▁No", "▁1")), d_model=SIZE, d_kv=16, d_ff=INNER, num_layers=2,
        num_heads=2, decoder_start_token_id=0, pad_token_id=0, eos_token_id=1, feed_forward_proj="gated-gelu",
        tie_word_embeddings=False,
    )  # fmt: skip
    return _frozen(folder, transformers.T5ForConditionalGeneration(config), 9)


def _frozen(folder: Path, network: Any, seed: int) -> Path:
    import torch

    draw = np.random.RandomState(seed)
    with torch.no_grad():
        for name, weights in sorted(network.named_parameters()):
            shape = tuple(weights.shape)
            if len(shape) > 1:
                values = draw.randn(*shape) * (0.3 if "embed" in name or "shared" in name else 0.2)
            else:
                values = draw.randn(*shape) * 0.1 + (1.0 if "norm" in name and name.endswith("weight") else 0.0)
            weights.copy_(torch.from_numpy(values.astype(np.float32)))
    network.save_pretrained(folder)
    return folder
