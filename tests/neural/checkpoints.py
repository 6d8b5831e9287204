"""Small checkpoints of real architectures with random weights and letter tokenizers.

They are loaded by the real loading code, without the hub.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

LETTERS = [chr(one) for one in range(33, 127)]
NLI = {0: "entailment", 1: "neutral", 2: "contradiction"}
BERT_INPUTS = ["input_ids", "token_type_ids", "attention_mask"]
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48}


def wordpiece(folder: Path) -> int:
    """Write a tokenizer like BERT's, and return the size of its vocabulary."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *LETTERS, *(f"##{one}" for one in LETTERS)]
    made = Tokenizer(models.WordPiece({one: place for place, one in enumerate(vocabulary)}, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return _save(made, folder, {"pad_token": "[PAD]", "model_input_names": BERT_INPUTS})


def byte_level(folder: Path) -> int:
    """Write a tokenizer like those of RoBERTa and BART."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

    vocabulary = ["<s>", "<pad>", "</s>", "<unk>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    made = Tokenizer(models.BPE({one: place for place, one in enumerate(vocabulary)}, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return _save(made, folder, {"pad_token": "<pad>"})


def unigram(folder: Path, answers: tuple[str, ...] = ()) -> int:
    """Write a tokenizer like T5's; each of `answers` (`▁Yes`) is a token."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -2.0), *((one, -3.0) for one in LETTERS)]
    pieces += [(answer, -1.0) for answer in answers]
    made = Tokenizer(models.Unigram(pieces, unk_id=2))
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    made.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    return _save(made, folder, {"pad_token": "<pad>"})


def _save(made: Any, folder: Path, config: dict[str, Any]) -> int:
    from tokenizers import AddedToken

    folder.mkdir(parents=True, exist_ok=True)
    made.add_special_tokens([AddedToken(one, special=True) for one in (config["pad_token"], "</s>", "[SEP]", "[CLS]")
                             if made.token_to_id(one) is not None])  # fmt: skip
    made.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", **config, "model_max_length": 64})
    )
    return int(made.get_vocab_size())


def classifier(folder: Path, kind: str, labels: dict[int, str] | None = None, seed: int = 0) -> Path:
    """Write a sequence classifier: bert, roberta or deberta (v2)."""
    import transformers

    named = NLI if labels is None else labels
    known = {"id2label": named, "label2id": {name: place for place, name in named.items()}}
    if kind == "roberta":
        size = byte_level(folder)
        config = transformers.RobertaConfig(
            vocab_size=size, max_position_embeddings=130, type_vocab_size=1, pad_token_id=1, **SIZES, **known
        )
        return _model(folder, transformers.RobertaForSequenceClassification, config, seed)
    size = wordpiece(folder)
    if kind == "bert":
        config = transformers.BertConfig(vocab_size=size, max_position_embeddings=128, **SIZES, **known)
        return _model(folder, transformers.BertForSequenceClassification, config, seed)
    config = transformers.DebertaV2Config(
        vocab_size=size, max_position_embeddings=64, relative_attention=True, position_buckets=16,
        norm_rel_ebd="layer_norm", share_att_key=True, pos_att_type=["p2c", "c2p"], position_biased_input=False,
        type_vocab_size=0, pad_token_id=0, **SIZES, **known,
    )  # fmt: skip
    return _model(folder, transformers.DebertaV2ForSequenceClassification, config, seed)


def token_classifier(folder: Path, classes: int, *, answers: bool = False, seed: int = 0) -> Path:
    """Write a BERT token classifier, or a BERT model for extractive question answering (two outputs)."""
    import transformers

    config = transformers.BertConfig(
        vocab_size=wordpiece(folder), max_position_embeddings=128, num_labels=classes, **SIZES
    )
    kind = transformers.BertForQuestionAnswering if answers else transformers.BertForTokenClassification
    return _model(folder, kind, config, seed)


def modernbert(folder: Path, seed: int = 0) -> Path:
    """Write a ModernBERT token classifier with two outputs; all layers but the first see 8 tokens to each side."""
    import transformers

    config = transformers.ModernBertConfig(
        vocab_size=byte_level(folder), max_position_embeddings=8192, local_attention=16, pad_token_id=1,
        bos_token_id=0, eos_token_id=2, cls_token_id=0, sep_token_id=2, **{**SIZES, "num_hidden_layers": 3},
    )  # fmt: skip
    return _model(folder, transformers.ModernBertForTokenClassification, config, seed)


def encoder(folder: Path, seed: int = 0) -> Path:
    """Write a BERT encoder without a head."""
    import transformers

    config = transformers.BertConfig(vocab_size=wordpiece(folder), max_position_embeddings=128, **SIZES)
    return _model(folder, transformers.BertModel, config, seed)


def mpnet(folder: Path, seed: int = 0) -> Path:
    """Write an MPNet encoder, with relative positions and without segments."""
    import transformers

    config = transformers.MPNetConfig(
        vocab_size=byte_level(folder), max_position_embeddings=130, pad_token_id=1, **SIZES
    )
    return _model(folder, transformers.MPNetModel, config, seed)


def seq2seq(folder: Path, kind: str, seed: int = 0, answers: tuple[str, ...] = ()) -> Path:
    """Write an encoder-decoder: t5, with tokens for `answers`, or bart."""
    import transformers

    if kind == "t5":
        config: Any = transformers.T5Config(
            vocab_size=unigram(folder, answers), d_model=32, d_kv=16, d_ff=48, num_layers=2, num_heads=2,
            decoder_start_token_id=0, pad_token_id=0, eos_token_id=1, n_positions=64,
        )  # fmt: skip
        return _model(folder, transformers.T5ForConditionalGeneration, config, seed)
    config = transformers.BartConfig(
        vocab_size=byte_level(folder), d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=48, decoder_ffn_dim=48, max_position_embeddings=128,
        pad_token_id=1, bos_token_id=0, eos_token_id=2, decoder_start_token_id=2, forced_eos_token_id=2,
    )  # fmt: skip
    return _model(folder, transformers.BartForConditionalGeneration, config, seed)


def _model(folder: Path, kind: Any, config: Any, seed: int) -> Path:
    import torch

    torch.manual_seed(seed)
    network = kind(config).eval()
    with torch.no_grad():
        for weights in network.parameters():
            # Fresh weights are so small that every answer would be the same.
            if weights.dim() > 1:
                weights.mul_(4.0)
    network.save_pretrained(folder)
    return folder


def to_onnx(folder: Path, target: Path, output: str, *, quantised: bool = False, tokens: bool = False) -> Path:
    """Write the checkpoint as model.onnx, with its other files, to another folder."""
    import shutil

    import torch
    import transformers

    kinds = {"logits": transformers.AutoModelForSequenceClassification, "last_hidden_state": transformers.AutoModel}
    kind = transformers.AutoModelForTokenClassification if tokens else kinds[output]
    network = kind.from_pretrained(folder, attn_implementation="eager").eval()

    class Plain(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any = None) -> Any:
            segments = {} if token_type_ids is None else {"token_type_ids": token_type_ids}
            return getattr(self.network(input_ids=input_ids, attention_mask=attention_mask, **segments), output)

    target.mkdir(parents=True)
    for file in folder.glob("*.json"):
        shutil.copy(file, target / file.name)
    ones = torch.ones((2, 9), dtype=torch.int64)
    segmented = network.config.model_type != "modernbert"
    names = ["input_ids", "attention_mask", *["token_type_ids"] * segmented]
    axes = {name: {0: "batch", 1: "tokens"} for name in names} | {output: {0: "batch"}}
    if tokens or output != "logits":
        axes[output][1] = "tokens"
    torch.onnx.export(
        Plain(), (ones, ones, *[torch.zeros_like(ones)] * segmented), str(target / "model.onnx"), input_names=names,
        output_names=[output], dynamic_axes=axes, dynamo=False, opset_version=17,
    )  # fmt: skip
    if quantised:
        from onnxruntime.quantization import QuantType, quantize_dynamic

        quantize_dynamic(str(target / "model.onnx"), str(target / "model_int8.onnx"), weight_type=QuantType.QInt8)
    return target
