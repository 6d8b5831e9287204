"""The network and the texts of the parity fixture `parity.json`.

The weights are drawn by numpy's RandomState, whose stream is frozen, so the network is the same in all versions of
torch. The vocabulary of the tokenizer is the words of the texts and letters.
"""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from evaluators.judging import judgments_of
from evaluators.networks import FakeNetwork
from neural.asking import ask
from neural.asking import network as network_of

from summeter.evaluators.base import Evaluator, Tools
from summeter.evaluators.entailment.convolution import released
from summeter.evaluators.entailment.summac import SummaC
from summeter.evaluators.fenice.evaluator import Fenice
from summeter.evaluators.overlap.bertscore import BertScore
from summeter.evaluators.overlap.greedy import Frequencies
from summeter.models.networks import Encode, FindCoreference
from summeter.records import Document, Item, Judgment, Span, Summary

FIXTURE = Path(__file__).with_name("parity.json")
NAMES = {0: "entailment", 1: "neutral", 2: "contradiction"}
SIZE, INNER, LAYERS, HEADS, POSITIONS = 32, 64, 2, 4, 2048
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def fixture() -> dict[str, Any]:
    """Return the texts and the results of the packages."""
    found: dict[str, Any] = json.loads(FIXTURE.read_text("utf-8"))
    return found


def network(folder: Path, texts: list[str]) -> Path:
    """Write a frozen BERT classifier and its tokenizer in the old and the new format."""
    from safetensors.numpy import save_file
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    folder.mkdir(parents=True, exist_ok=True)
    letters = [chr(one) for one in range(33, 127) if not chr(one).isupper()]
    words = sorted({word for text in texts for word in re.findall(r"\w+", text.lower())} - set(letters))
    vocabulary = [*SPECIAL, *letters, *(f"##{one}" for one in letters), *words]
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n", "utf-8")
    made = Tokenizer(models.WordPiece({one: place for place, one in enumerate(vocabulary)}, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    made.add_special_tokens(SPECIAL)
    made.save(str(folder / "tokenizer.json"))
    told = {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": POSITIONS}
    (folder / "tokenizer_config.json").write_text(json.dumps(told))
    config = {
        "model_type": "bert", "architectures": ["BertForSequenceClassification"], "vocab_size": len(vocabulary),
        "hidden_size": SIZE, "intermediate_size": INNER, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
        "max_position_embeddings": POSITIONS, "type_vocab_size": 2, "pad_token_id": 0, "hidden_act": "gelu",
        "layer_norm_eps": 1e-12, "id2label": NAMES, "label2id": {name: one for one, name in NAMES.items()},
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    save_file(_weights(len(vocabulary)), folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def _weights(words: int) -> dict[str, Any]:
    draw = np.random.RandomState(7)
    found: dict[str, Any] = {}

    def matrix(name: str, *shape: int, scale: float) -> None:
        found[name] = (draw.randn(*shape) * scale).astype(np.float32)

    def linear(name: str, out: int, into: int, scale: float = 0.3) -> None:
        matrix(f"{name}.weight", out, into, scale=scale)
        matrix(f"{name}.bias", out, scale=0.1)

    def norm(name: str) -> None:
        found[f"{name}.weight"] = (1 + draw.randn(SIZE) * 0.1).astype(np.float32)
        matrix(f"{name}.bias", SIZE, scale=0.1)

    for name, many in (("word", words), ("position", POSITIONS), ("token_type", 2)):
        matrix(f"bert.embeddings.{name}_embeddings.weight", many, SIZE, scale=0.3 if name == "position" else 1.0)
    norm("bert.embeddings.LayerNorm")
    for layer in range(LAYERS):
        here = f"bert.encoder.layer.{layer}"
        for name in ("query", "key", "value"):
            linear(f"{here}.attention.self.{name}", SIZE, SIZE)
        linear(f"{here}.attention.output.dense", SIZE, SIZE)
        norm(f"{here}.attention.output.LayerNorm")
        linear(f"{here}.intermediate.dense", INNER, SIZE)
        linear(f"{here}.output.dense", SIZE, INNER)
        norm(f"{here}.output.LayerNorm")
    linear("bert.pooler.dense", SIZE, SIZE)
    linear("classifier", 3, SIZE, scale=0.6)
    return found


def items(task: dict[str, Any], *, several: bool = False) -> list[Item]:
    """Return the task's summaries with their documents and stored sentences.

    The reference is the document, or with `several` each document of the task.
    """
    every = tuple(one["text"] for one in task["documents"])
    documents = [
        Document(
            id=f"d{place}", text=one["text"], references=every if several else (one["text"],),
            sentences=tuple(Span(of="document", start=start, end=end) for start, end in one["sentences"]),
        )
        for place, one in enumerate(task["documents"])
    ]  # fmt: skip
    return [
        Item(document=documents[one["document"]], summary=_summary(one, place))
        for place, one in enumerate(task["summaries"])
    ]


def _summary(one: dict[str, Any], place: int) -> Summary:
    spans, start = [], 0
    for claim in one["claims"]:
        start = one["text"].index(claim, start)
        spans.append(Span(of="summary", start=start, end=start + len(claim)))
        start += len(claim)
    return Summary(
        document_id=f"d{one['document']}", system=f"s{place}", text=one["text"], sentences=tuple(spans),
        splitter="given",
    )  # fmt: skip


def clusters(task: dict[str, Any]) -> FakeNetwork:
    """Return the coreference clusters by text."""
    known = {
        one["text"]: [[(start, end) for start, end in some] for some in one["clusters"]] for one in task["documents"]
    }
    return FakeNetwork({FindCoreference: lambda request: known[request.text]}, "given")


def judged(
    evaluator: Evaluator, task: dict[str, Any], bound: dict[str, Any], *, several: bool = False
) -> list[list[Judgment]]:
    """Return the judgments of each summary with the models of `bound`."""

    async def run() -> list[list[Judgment]]:
        found, scratch = [], {}
        for item in items(task, several=several):
            tools = Tools("s", scratch=scratch.setdefault(item.document.id, {}), networks=bound)
            prepared = await evaluator.prepare(item.document, tools)
            found.append(list(await judgments_of(evaluator, item, prepared, tools)))
        return found

    return asyncio.run(run())


def ours(case: dict[str, Any], task: dict[str, Any], folder: Path, place: Path) -> list[Any]:
    """Return summeter's results in the form of the package's `case["scores"]`; `place` is a folder for files."""
    if case["package"] == "bert-score":
        return _bertscore(case, task, folder, place)
    settings = dict(case["settings"])
    if "conv" in case:
        state = {name: np.array(one, np.float64).tolist() for name, one in case["conv"].items()}
        made = released(
            (state["mlp.weight"][0], state["mlp.bias"][0]), (state["layer_final.weight"], state["layer_final.bias"]),
            bins=case["bins"],
        )  # fmt: skip
        made.save(place / "conv.json")
        settings["weights"] = place / "conv.json"
    evaluator = Fenice(claims="sentence", **settings) if case["package"] == "fenice" else SummaC(**settings)
    bound: dict[str, Any] = {"nli": network_of(f"{folder}{case['model']}")}
    if settings.get("coref"):
        bound["coref"] = clusters(task)
    every = judged(evaluator, task, bound)
    if case["package"] == "summac":
        return [next(one.value for one in some if one.target.unit == "summary") for some in every]
    values = [[one.value for one in some] for some in every]
    return [{"score": float(np.mean(some)), "claims": some} for some in values]


def _bertscore(case: dict[str, Any], task: dict[str, Any], folder: Path, place: Path) -> list[Any]:
    settings = dict(case["settings"])
    encoder = network_of(folder, "encoder")
    if settings.pop("weighted", False):
        references = [one["text"] for one in task["documents"]]
        counted = Frequencies.of(ask(encoder, [Encode(text, settings["layer"]) for text in references]))
        counted.save(place / "idf.json", {})
        settings["idf"] = place / "idf.json"
    if "baseline" in case:
        (place / "baseline.csv").write_text(case["baseline"])
        settings |= {"rescale": True, "baseline": place / "baseline.csv"}
    every = judged(BertScore(**settings), task, {"encoder": encoder}, several="several" in case)
    return [[one.value for one in some if one.target.unit == "summary"] for some in every]


def texts(tasks: dict[str, Any]) -> list[str]:
    """Return all texts, whose words are in the vocabulary."""
    return [
        one["text"] for task in tasks.values() for some in ("documents", "summaries") for one in task[some]
    ]  # fmt: skip


def flat(found: Any) -> list[float]:
    """Return all numbers in order."""
    if isinstance(found, dict):
        return [one for name in sorted(found) for one in flat(found[name])]
    if isinstance(found, list):
        return [one for some in found for one in flat(some)]
    return [float(found)]
