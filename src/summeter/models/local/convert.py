"""Checkpoints of released code written as folders that transformers loads: safetensors, config, tokenizer, and a card.

Pickles are read with weights_only, so that a file can bring numbers and nothing that runs. The tensors are given the
names of a plain transformers class, and every name and shape is checked before anything is written.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from summeter.models.local.names import CONFIG, file_hash, read_json
from summeter.records import InstallError, Parameter, UsageError, nearest

Tensors = dict[str, Any]

_TOKENIZER = (
    "tokenizer.json", "tokenizer_config.json", "vocab.json", "vocab.txt", "merges.txt", "special_tokens_map.json",
    "added_tokens.json", "generation_config.json",
)  # fmt: skip


class Head(NamedTuple):
    """One folder to write: its name below the target ("" for the target itself), the transformers class, its tensors,
    and what its config says differently from that of the base."""

    name: str
    class_: str
    tensors: Tensors
    config: Mapping[str, Any]


@dataclass(frozen=True)
class Release:
    """A checkpoint that can be converted: what it is, the model whose config and tokenizer it has, and its licences."""

    about: str
    base: str
    code_licence: str
    weight_licence: str
    heads: Callable[[Tensors], list[Head]]


def convert(kind: str, file: Path, out: Path, base: Path | None = None) -> list[Path]:
    """Write the released checkpoint `file` of `kind` (alignscore, a3cu, dae, bartscore) as a folder `out`; AlignScore
    as a folder for each of its heads below it. `base` holds the config and the tokenizer of the model it was trained
    from (default: the folder of `file`). Returns the folders.

    UsageError for another kind, a file that is no such checkpoint (with the names that are missing or unknown), and an
    `out` that is there already; InstallError without torch and transformers. Nothing is left half-written.
    """
    if kind not in RELEASES:
        raise UsageError(f"no checkpoint {kind!r} is known{nearest(kind, RELEASES)}; known: {', '.join(RELEASES)}")
    release = RELEASES[kind]
    if out.exists():
        raise UsageError(f"{out} is there already; name a new folder")
    source = base or file.parent
    if not (source / CONFIG).is_file():
        raise UsageError(
            f"{source / CONFIG} is missing: name a folder with the config and the tokenizer of {release.base} as ",
            Parameter("base"),
        )
    config = read_json(source / CONFIG)
    heads = release.heads(_tensors(file))
    digest = file_hash(file)
    out.parent.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    try:
        for head in heads:
            _write(head, config, source, place / head.name, kind)
            form = f"{head.class_}{f', head {head.name}' if head.name else ''}"
            card = (
                f"---\nlicense: {json.dumps(release.weight_licence)}\n---\n\n# {release.about}\n\n"
                f"Written by `summeter models convert {kind}` as {form}.\n\n"
                f"- source: {file.name}\n- sha256 of the source: {digest}\n"
                f"- licence of the weights: {release.weight_licence}\n"
                f"- licence of the released code: {release.code_licence}\n"
            )
            (place / head.name / "README.md").write_text(card, "utf-8")
        place.chmod(0o755)
        place.rename(out)
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise
    return [out / head.name for head in heads]


def _tensors(file: Path) -> Tensors:
    """The tensors of a file by name. UsageError for what holds none."""
    try:
        import torch
    except ImportError as error:
        raise InstallError.missing("torch (converting checkpoints)", "torch") from error
    if not file.is_file():
        raise UsageError(f"there is no checkpoint {file}")
    try:
        if file.suffix == ".safetensors":
            from safetensors.torch import load_file

            values: Any = load_file(file)
        else:
            values = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:  # pickles and safetensors raise what they like
        # What torch says of pickles begins with the advice to load them unsafely.
        said = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
        why = said[0]
        if why.startswith("Weights only load failed"):
            named = next((line for line in said[1:] if "GLOBAL" in line), None)
            why = f"it holds code or objects ({named})" if named else "it is damaged, or no checkpoint of torch"
        raise UsageError(f"{file} cannot be read as tensors alone (weights_only): {why}") from error
    # Lightning and training scripts put the tensors one level down.
    for inner in ("state_dict", "model_state_dict", "model"):
        if isinstance(values, Mapping) and isinstance(values.get(inner), Mapping):
            values = values[inner]
    tensors = {str(name): value for name, value in values.items()} if isinstance(values, Mapping) else {}
    tensors = {name: value for name, value in tensors.items() if isinstance(value, torch.Tensor)}
    if not tensors:
        raise UsageError(f"{file} holds no tensors by name")
    return tensors


def _write(head: Head, config: Mapping[str, Any], source: Path, folder: Path, kind: str) -> None:
    try:
        import torch
        import transformers
    except ImportError as error:
        raise InstallError.missing(f"{error.name or 'torch'} (converting checkpoints)", "torch") from error
    class_ = getattr(transformers, head.class_)
    if config.get("model_type") != class_.config_class.model_type:
        raise UsageError(
            f"the base in {source} is a {config.get('model_type')} model, and {kind} needs a "
            f"{class_.config_class.model_type} one"
        )
    made = class_.config_class.from_dict({**config, **head.config, "architectures": [head.class_]})
    with torch.device("meta"):
        wanted = {name: tuple(value.shape) for name, value in class_(made).state_dict().items()}
    given = {name: tuple(value.shape) for name, value in head.tensors.items() if not name.endswith("position_ids")}
    faults = [
        *(f"{name} is missing" for name in wanted if name not in given),
        *(f"{name} is not known" for name in given if name not in wanted),
        *(
            f"{name} has shape {given[name]} instead of {wanted[name]}"
            for name in wanted
            if name in given and given[name] != wanted[name]
        ),
    ]
    if faults:
        raise UsageError(
            f"this is no checkpoint of {kind} over the base in {source}: {'; '.join(faults[:3])}"
            f"{f' (and {len(faults) - 3} more)' if len(faults) > 3 else ''}"
        )
    transformers.utils.logging.disable_progress_bar()
    network = class_(made)
    network.load_state_dict({name: head.tensors[name].float() for name in given})
    network.save_pretrained(folder)
    for name in _TOKENIZER:
        if (source / name).is_file():
            shutil.copy(source / name, folder / name)


def _renamed(tensors: Tensors, prefixes: Sequence[tuple[str, str]]) -> Tensors:
    """The tensors whose names begin so, under the names that begin otherwise; the first prefix that fits counts."""
    renamed = {}
    for name, value in tensors.items():
        for old, new in prefixes:
            if name.startswith(old):
                renamed[new + name.removeprefix(old)] = value
                break
    return renamed


def _need(tensors: Tensors, names: Sequence[str], kind: str) -> None:
    missing = [name for name in names if name not in tensors]
    if missing:
        shown = ", ".join(list(tensors)[:3])
        raise UsageError(f"this is no checkpoint of {kind}: it has no {', '.join(missing)} (it begins with {shown})")


def _alignscore(tensors: Tensors) -> list[Head]:
    """One encoder under three heads: the head of pretraining (`mlm_head`) goes."""
    layers = {"nli": ("tri_layer", 3), "bin": ("bin_layer", 2), "reg": ("reg_layer", 1)}
    names = [f"{layer}.weight" for layer, _ in layers.values()]
    _need(tensors, ["base_model.pooler.dense.weight", *names], "alignscore")
    labels = {
        "nli": {0: "entailment", 1: "neutral", 2: "contradiction"},
        "bin": {0: "not aligned", 1: "aligned"},
        "reg": {0: "alignment"},
    }
    return [
        Head(
            name,
            "RobertaForSequenceClassification",
            _renamed(
                tensors,
                (
                    ("base_model.pooler.dense.", "classifier.dense."),
                    ("base_model.", "roberta."),
                    (f"{layer}.", "classifier.out_proj."),
                ),
            ),
            _labels(labels[name]),
        )
        for name, (layer, _) in layers.items()
    ]


def _a3cu(tensors: Tensors) -> list[Head]:
    """One number at the first token; the pooler is not used."""
    _need(tensors, ["bert.embeddings.word_embeddings.weight", "linear.weight"], "a3cu")
    kept = {name: value for name, value in tensors.items() if not name.startswith("bert.pooler.")}
    renamed = _renamed(kept, (("linear.", "classifier."), ("bert.", "bert.")))
    return [Head("", "BertForTokenClassification", renamed, _labels({0: "a3cu"}))]


def _dae(tensors: Tensors) -> list[Head]:
    """A layer over (child, head) becomes one over each token: arc logits are the first two of the child's outputs plus
    the last two of the head's."""
    import torch

    layer = "dep_label_classifier"
    _need(tensors, ["electra.embeddings.word_embeddings.weight", f"{layer}.weight", f"{layer}.bias"], "dae")
    weight, bias = tensors[f"{layer}.weight"], tensors[f"{layer}.bias"]
    size = weight.shape[1] // 2
    if weight.shape[0] != 2 or weight.shape[1] % 2:
        raise UsageError(f"this is no checkpoint of dae: {layer}.weight has shape {tuple(weight.shape)}")
    renamed = _renamed(tensors, (("electra.", "electra."),))
    renamed["classifier.weight"] = torch.cat([weight[:, :size], weight[:, size:]])
    renamed["classifier.bias"] = torch.cat([bias, torch.zeros_like(bias)])
    labels = {0: "child not entailed", 1: "child entailed", 2: "head not entailed", 3: "head entailed"}
    return [Head("", "ElectraForTokenClassification", renamed, _labels(labels))]


def _bartscore(tensors: Tensors) -> list[Head]:
    _need(tensors, ["model.shared.weight"], "bartscore")
    return [Head("", "BartForConditionalGeneration", dict(tensors), {})]


def _labels(names: Mapping[int, str]) -> dict[str, Any]:
    return {"id2label": dict(names), "label2id": {name: place for place, name in names.items()}}


RELEASES: dict[str, Release] = {
    "alignscore": Release(
        "AlignScore (Zha et al., ACL 2023)", "roberta-base or roberta-large", "MIT", "MIT", _alignscore
    ),
    "a3cu": Release("A3CU (Liu et al., EMNLP 2023)", "bert-large-cased", "none", "none stated", _a3cu),
    "dae": Release("DAE (Goyal and Durrett, NAACL 2021)", "electra-base-discriminator", "none", "none stated", _dae),
    "bartscore": Release(
        "BARTScore, CNN and ParaBank (Yuan et al., NeurIPS 2021)", "bart-large-cnn", "Apache-2.0", "none stated",
        _bartscore,
    ),
}  # fmt: skip
"""What can be converted, by name."""
