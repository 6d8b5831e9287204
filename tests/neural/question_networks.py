"""Frozen networks of DAE, QAEval and coreference; weights from numpy's RandomState, as in parity.py."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from neural import parity


def arcs(folder: Path, texts: list[str]) -> Path:
    """Write DAE's network, an ELECTRA token classifier with four outputs."""
    bias = [0.2, -0.1, 0.0, 0.0]
    return _electra(folder, texts, "ElectraForTokenClassification", "classifier", bias)


def answers(folder: Path, texts: list[str]) -> Path:
    """Write an ELECTRA network for extractive question answering."""
    return _electra(folder, texts, "ElectraForQuestionAnswering", "qa_outputs", [0.1, -0.1])


def questions(folder: Path) -> Path:
    """Write a BART for question generation, with the special tokens `<m>` and `</m>`.

    Its generation config has the entries of the published BART that change the generation of transformers.
    """
    import transformers
    from neural import checkpoints, seq2seq_networks
    from safetensors.numpy import load_file, save_file
    from tokenizers import Tokenizer

    checkpoints.byte_level(folder)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.add_tokens(["<m>", "</m>"])
    tokenizer.save(str(folder / "tokenizer.json"))
    size = tokenizer.get_vocab_size()
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps({**settings, "model_max_length": 1024}))
    config = transformers.BartConfig(
        vocab_size=size, d_model=parity.SIZE, encoder_layers=parity.LAYERS, decoder_layers=parity.LAYERS,
        encoder_attention_heads=parity.HEADS, decoder_attention_heads=parity.HEADS, encoder_ffn_dim=parity.INNER,
        decoder_ffn_dim=parity.INNER, max_position_embeddings=1024, pad_token_id=1, bos_token_id=0, eos_token_id=2,
        decoder_start_token_id=2,
    )  # fmt: skip
    seq2seq_networks._frozen(folder, transformers.BartForConditionalGeneration(config), 29)
    weights = load_file(folder / "model.safetensors")
    bias = np.full((1, size), -40.0, dtype=np.float32)
    letters = [tokenizer.token_to_id(letter) for letter in "abcdefghijklmnopqrstuvwxyzĠ.?"]
    bias[0, [2, *letters]] = 0.0
    # The mean is 0: otherwise the state is near the embedding of the last letter, which is then generated again.
    last = f"model.decoder.layers.{parity.LAYERS - 1}.final_layer_norm.weight"
    weights[last] = (np.random.RandomState(17).randn(parity.SIZE) * 0.5).astype(np.float32)
    save_file({**weights, "final_logits_bias": bias}, folder / "model.safetensors", metadata={"format": "pt"})
    generation = {"no_repeat_ngram_size": 3, "min_length": 12, "length_penalty": 2.0, "early_stopping": True,
                  "num_beams": 4, "forced_bos_token_id": 0, "repetition_penalty": 1.3}  # fmt: skip
    ids = {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2}
    (folder / "generation_config.json").write_text(json.dumps({**generation, **ids}))
    return folder


FFNN, BIAS = 24, 2.0


def coref(folder: Path) -> Path:
    """Write a coreference model in the format of f-coref on a small RoBERTa, with segments of 40 tokens."""
    from neural import checkpoints
    from safetensors.numpy import save_file

    size = checkpoints.byte_level(folder)
    draw = np.random.RandomState(31)
    held = {
        name.replace("bert.", "roberta."): values
        for name, values in parity._weights(size).items()
        if not name.startswith(("bert.pooler", "classifier"))
    }
    segments = held["roberta.embeddings.token_type_embeddings.weight"]
    held["roberta.embeddings.token_type_embeddings.weight"] = segments[:1].copy()
    for mlp in ("start_mention_mlp", "end_mention_mlp", "start_coref_mlp", "end_coref_mlp"):
        held[f"{mlp}.dense.weight"] = draw.randn(FFNN, parity.SIZE) * 0.3
        held[f"{mlp}.dense.bias"] = draw.randn(FFNN) * 0.1
        held[f"{mlp}.layer_norm.weight"] = 1 + draw.randn(FFNN) * 0.1
        held[f"{mlp}.layer_norm.bias"] = draw.randn(FFNN) * 0.1
    for name in ("mention_start", "mention_end"):
        held[f"{name}_classifier.weight"] = draw.randn(1, FFNN) * 0.2
        held[f"{name}_classifier.bias"] = draw.randn(1) * 0.1 - BIAS
    for name in ("mention_s2e", *(f"antecedent_{pair}" for pair in ("s2s", "e2e", "s2e", "e2s"))):
        held[f"{name}_classifier.weight"] = draw.randn(FFNN, FFNN) * 0.1
        held[f"{name}_classifier.bias"] = draw.randn(FFNN) * 0.1
    config = {
        "model_type": "roberta", "architectures": ["FCorefModel"], "vocab_size": size, "hidden_size": parity.SIZE,
        "intermediate_size": parity.INNER, "num_hidden_layers": parity.LAYERS, "num_attention_heads": parity.HEADS,
        "max_position_embeddings": parity.POSITIONS, "type_vocab_size": 1, "pad_token_id": 1, "bos_token_id": 0,
        "eos_token_id": 2, "hidden_act": "gelu", "layer_norm_eps": 1e-5, "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
        "coref_head": {"max_segment_len": 40, "max_span_length": 12, "top_lambda": 0.25, "ffnn_size": FFNN,
                       "dropout_prob": 0.0},
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    weights = {name: np.ascontiguousarray(values, dtype=np.float32) for name, values in held.items()}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def _electra(folder: Path, texts: list[str], architecture: str, head: str, bias: list[float]) -> Path:
    from safetensors.numpy import save_file

    parity.network(folder, texts)
    weights = {
        name.replace("bert.", "electra."): values
        for name, values in parity._weights(len((folder / "vocab.txt").read_text("utf-8").splitlines())).items()
        if not name.startswith(("bert.pooler", "classifier"))
    }
    draw = np.random.RandomState(23)
    weights[f"{head}.weight"] = (draw.randn(len(bias), parity.SIZE) * 0.2).astype(np.float32)
    weights[f"{head}.bias"] = np.array(bias, dtype=np.float32)
    config = json.loads((folder / "config.json").read_text())
    names = {place: f"LABEL_{place}" for place in range(len(bias))}
    config |= {
        "model_type": "electra", "architectures": [architecture], "embedding_size": parity.SIZE,
        "id2label": names, "label2id": {name: place for place, name in names.items()},
        "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    tokenizer = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps({**tokenizer, "model_max_length": 512}))
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder
