"""Networks and texts of the parity fixture of AlignScore, MiniCheck, A3CU and Lite2Pyramid.

The weights are drawn by numpy's RandomState, whose stream is frozen. The vocabularies of the tokenizers are the words
of the texts and letters. benchmarks/parity/classified.py computes the results of the released code in
`classified.json`.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from evaluators.judging import judgments_of
from neural import asking

from summeter.evaluators.base import Evaluator, Tools
from summeter.evaluators.entailment.alignscore import AlignScore
from summeter.evaluators.entailment.lite2pyramid import Lite2Pyramid
from summeter.evaluators.entailment.minicheck import MiniCheck
from summeter.evaluators.overlap.a3cu import A3CU
from summeter.models.local.convert import convert
from summeter.records import Document, Item, Judgment, Summary

FIXTURE = Path(__file__).with_name("classified.json")
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48}
EOS = {"roberta": "</s>", "deberta": "[SEP]", "t5": "</s>"}


def fixture() -> dict[str, Any]:
    """Return the texts and the results of the released code."""
    held: dict[str, Any] = json.loads(FIXTURE.read_text("utf-8"))
    return held


def frozen(network: Any, seed: int, size: float = 0.3) -> Any:
    """Set the weights of a network by numpy, parameter by parameter in the order of their names."""
    import torch

    draw = np.random.RandomState(seed)
    with torch.no_grad():
        for name, weights in sorted(network.named_parameters()):
            scale, shift = (0.1, 1.0) if "LayerNorm.weight" in name or "layer_norm.weight" in name else (size, 0.0)
            drawn = shift + scale * draw.randn(*weights.shape)
            weights.copy_(torch.from_numpy(drawn.astype(np.float32)))
    return network.eval()


def _words(texts: Sequence[str]) -> list[str]:
    letters = {chr(place) for place in range(33, 127)}
    return sorted({word for text in texts for word in re.findall(r"\w+", text)} - letters)


def _tokenizer(folder: Path, texts: Sequence[str], marks: Sequence[str], *, roberta: bool, lines: bool = False) -> int:
    """Write a tokenizer of words and letters, with the special tokens of RoBERTa or BERT.

    With `lines`, a line break is a token, as for RoBERTa, and so is every space after another one.
    """
    from tokenizers import AddedToken, Regex, Tokenizer, models, pre_tokenizers, processors

    letters = [*(chr(place) for place in range(33, 127)), *(["\n", " "] if lines else [])]
    vocabulary = [*marks, *letters, *(f"##{letter}" for letter in letters), *_words(texts)]
    places = {word: place for place, word in enumerate(vocabulary)}
    begin, pad, end, unknown = marks[:4]
    tokenizer = Tokenizer(models.WordPiece(places, unk_token=unknown))
    tokenizer.pre_tokenizer = (
        pre_tokenizers.Split(Regex(r"\w+|[^\w ]|(?<= ) "), "removed", invert=True)
        if lines
        else pre_tokenizers.BertPreTokenizer()
    )
    kind = processors.RobertaProcessing if roberta else processors.BertProcessing
    tokenizer.post_processor = kind((end, places[end]), (begin, places[begin]))
    tokenizer.add_special_tokens([AddedToken(mark, special=True) for mark in marks])
    return _saved(tokenizer, folder, begin=begin, pad=pad, end=end, unknown=unknown)


def _unigram(folder: Path, texts: Sequence[str]) -> int:
    """Write a tokenizer like T5's with the ids of MiniCheck: 3 for the first token of "0", 209 for that of "1"."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors

    letters = [chr(place) for place in range(33, 127)]
    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -2.0), *((letter, -6.0) for letter in letters)]
    pieces += [(f"<{place}>", -20.0) for place in range(len(pieces), 209)]
    pieces += [("▁1", -1.5), *((f"▁{word}", -3.0) for word in _words(texts) if word != "1")]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=2))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    tokenizer.add_special_tokens([AddedToken(mark, special=True) for mark in ("<pad>", "</s>", "<unk>")])
    return _saved(tokenizer, folder, begin="</s>", pad="<pad>", end="</s>", unknown="<unk>")


def _saved(tokenizer: Any, folder: Path, *, begin: str, pad: str, end: str, unknown: str) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    held = {
        "tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 512, "pad_token": pad, "unk_token": unknown,
        "cls_token": begin, "sep_token": end, "eos_token": end, "bos_token": begin,
    }  # fmt: skip
    (folder / "tokenizer_config.json").write_text(json.dumps(held))
    return int(tokenizer.get_vocab_size())


def roberta(folder: Path, texts: Sequence[str], classes: int, seed: int, *, lines: bool = False) -> Any:
    """Write a frozen RoBERTa classifier; three classes are those of NLI. With `lines`, line breaks are tokens."""
    import transformers

    size = _tokenizer(folder, texts, ("<s>", "<pad>", "</s>", "<unk>"), roberta=True, lines=lines)
    names = ("entailment", "neutral", "contradiction")[:classes] if classes == 3 else map(str, range(classes))
    labels = dict(enumerate(names))
    config = transformers.RobertaConfig(
        vocab_size=size, max_position_embeddings=514, type_vocab_size=1, pad_token_id=1, id2label=labels,
        label2id={name: place for place, name in labels.items()}, **SIZES,
    )  # fmt: skip
    network = frozen(transformers.RobertaForSequenceClassification(config), seed)
    network.save_pretrained(folder)
    return network


def deberta(folder: Path, texts: Sequence[str], seed: int) -> Any:
    """Write a frozen DeBERTa-v2 classifier with two classes and relative positions."""
    import transformers

    size = _tokenizer(folder, texts, ("[CLS]", "[PAD]", "[SEP]", "[UNK]"), roberta=False)
    config = transformers.DebertaV2Config(
        vocab_size=size, max_position_embeddings=64, relative_attention=True, position_buckets=16,
        norm_rel_ebd="layer_norm", share_att_key=True, pos_att_type=["p2c", "c2p"], position_biased_input=False,
        type_vocab_size=0, pad_token_id=1, num_labels=2, **SIZES,
    )  # fmt: skip
    network = frozen(transformers.DebertaV2ForSequenceClassification(config), seed)
    network.save_pretrained(folder)
    return network


def t5(folder: Path, texts: Sequence[str], seed: int) -> Any:
    """Write a frozen T5."""
    import transformers

    config = transformers.T5Config(
        vocab_size=_unigram(folder, texts), d_model=32, d_kv=16, d_ff=48, num_layers=2, num_heads=2,
        decoder_start_token_id=0, pad_token_id=0, eos_token_id=1,
    )  # fmt: skip
    network = frozen(transformers.T5ForConditionalGeneration(config), seed)
    network.save_pretrained(folder)
    return network


def bert(folder: Path, texts: Sequence[str], seed: int) -> tuple[Any, Any]:
    """Write a frozen BERT with a linear layer on its first token, a tokenizer and a config."""
    import torch
    import transformers

    size = _tokenizer(folder, texts, ("[CLS]", "[PAD]", "[SEP]", "[UNK]"), roberta=False)
    config = transformers.BertConfig(vocab_size=size, max_position_embeddings=512, pad_token_id=1, **SIZES)
    config.save_pretrained(folder)
    return frozen(transformers.BertModel(config), seed), frozen(torch.nn.Linear(32, 1), seed + 1, 0.1)


def alignscore(folder: Path, texts: Sequence[str], file: Path, *, lines: bool = False) -> tuple[Any, dict[str, Any]]:
    """Write a frozen encoder with its heads in the format of AlignScore's checkpoints to `file`."""
    import torch
    import transformers

    encoder = frozen(transformers.RobertaModel(roberta(folder, texts, 3, 11, lines=lines).config), 12)
    heads = {
        f"{name}_layer": frozen(torch.nn.Linear(32, size), seed, 0.1 if name == "reg" else 0.3)
        for seed, (name, size) in enumerate((("tri", 3), ("bin", 2), ("reg", 1)), 13)
    }
    state = {f"base_model.{name}": value for name, value in encoder.state_dict().items()}
    state |= {f"{name}.{part}": value for name, head in heads.items() for part, value in head.state_dict().items()}
    torch.save({"state_dict": state}, file)
    return encoder, heads


def texts_of(held: dict[str, Any]) -> list[str]:
    """Return all texts, whose words are in the vocabularies."""
    rows = held["texts"]
    return [text for row in rows for text in (row["document"], row["summary"], *row["units"])]


def ours(case: str, held: dict[str, Any], place: Path) -> list[list[float]]:
    """Return summeter's results, one list per item, in the form of the released code's `held["cases"][case]`."""
    texts = texts_of(held)
    name, _, kind = case.partition(" ")
    if name == "alignscore":
        alignscore(place / "base", texts, place / "a.ckpt")
        convert("alignscore", place / "a.ckpt", place / "made", place / "base")
        folder = place / "made" / kind.removesuffix("_sp")
        evaluator: Evaluator = AlignScore(mode=kind, variant="legacy")  # type: ignore[arg-type]
        return _scores(evaluator, held, classifier("alignscore", folder))
    if name == "minicheck":
        if kind == "t5":
            t5(place / "net", texts, 21)
            networks: dict[str, Any] = {"minicheck_t5": asking.network(place / "net", "seq2seq")}
            evaluator = MiniCheck(network="t5", claims="summary", chunk=60, variant="legacy")
        else:
            if kind == "roberta":
                roberta(place / "net", texts, 2, 22)
            else:
                deberta(place / "net", texts, 23)
            networks = classifier("minicheck", place / "net")
            evaluator = MiniCheck(claims="summary", chunk=60, variant="legacy")
        return _scores(evaluator, held, networks)
    if name == "a3cu":
        import torch

        network, linear = bert(place / "base", texts, 31)
        state = {f"bert.{part}": value for part, value in network.state_dict().items()}
        state |= {f"linear.{part}": value for part, value in linear.state_dict().items()}
        torch.save(state, place / "model.bin")
        convert("a3cu", place / "model.bin", place / "made", place / "base")
        scorer = asking.network(place / "made", "tokens")
        return _scores(A3CU(variant="legacy"), held, {"a3cu": scorer})
    roberta(place / "net", texts, 3, 43)
    evaluator = Lite2Pyramid(score=kind, variant="legacy")  # type: ignore[arg-type]
    return _scores(evaluator, held, classifier("lite2pyramid", place / "net"))


def classifier(role: str, folder: Path) -> dict[str, Any]:
    """Return the network in the folder, in its role."""
    return {role: asking.network(folder)}


def _scores(evaluator: Evaluator, held: dict[str, Any], networks: dict[str, Any]) -> list[list[float]]:
    items = [_item(row, place) for place, row in enumerate(held["texts"])]
    return [
        [row.value for row in rows if row.target.unit == "summary" and row.value is not None]
        for rows in judged(evaluator, items, networks)
    ]


def judged(evaluator: Evaluator, items: Sequence[Item], networks: dict[str, Any]) -> list[list[Judgment]]:
    """Return the judgments of each item."""

    async def run() -> list[list[Judgment]]:
        rows = []
        for item in items:
            tools = Tools("s", networks=networks)
            rows.append(list(await judgments_of(evaluator, item, await evaluator.prepare(item.document, tools), tools)))
        return rows

    return asyncio.run(run())


def _item(row: dict[str, Any], place: int) -> Item:
    document = Document(
        id=f"d{place}", text=row["document"], references=(row["document"],), key_facts=tuple(row["units"])
    )
    return Item(document=document, summary=Summary(document_id=document.id, system="s", text=row["summary"],
                                                   splitter="rules-1"))  # fmt: skip
