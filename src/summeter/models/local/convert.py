"""Convert checkpoints of released code to folders that transformers loads.

A folder contains safetensors, a config, a tokenizer and a card. Pickles are read with `weights_only`, so that no code
in a file is executed. The tensors are renamed for a standard transformers class, and all names and shapes are checked
before anything is written.
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


class ConvertedModel(NamedTuple):
    """A folder to write.

    `name` is the name of the folder in the target folder ("" for the target folder itself), `class_` is the
    transformers class, and `config` holds the entries of the config that differ from those of the base model.
    """

    name: str
    class_: str
    tensors: Tensors
    config: Mapping[str, Any]


@dataclass(frozen=True)
class Release:
    """A kind of checkpoint that can be converted.

    `about` is its description, and `models` the function that converts its tensors.
    """

    about: str
    base: str
    code_licence: str
    weight_licence: str
    models: Callable[[Tensors], list[ConvertedModel]]


def convert(kind: str, file: Path, out: Path, base: Path | None = None) -> list[Path]:
    """Convert a released checkpoint and return the new folders.

    `kind` is the kind of the checkpoint `file`: alignscore, a3cu, dae, bartscore or hhem. The new folder is `out`; for
    AlignScore, each head has a folder in `out`. `base` is the folder with the config and the tokenizer of the base
    model, by default the folder of `file`. Either all folders are written or none.

    Raises UsageError for an unknown kind, for a file that is not a checkpoint of this kind (with the missing or unknown
    names), or if `out` exists, and InstallError if torch or transformers is not installed.
    """
    if kind not in RELEASES:
        raise UsageError(f"unknown checkpoint {kind!r}{nearest(kind, RELEASES)}; known: {', '.join(RELEASES)}")
    release = RELEASES[kind]
    if out.exists():
        raise UsageError(f"{out} already exists; give a new folder")
    source = base or file.parent
    if not (source / CONFIG).is_file():
        raise UsageError(
            f"{source / CONFIG} is missing: give a folder with the config and the tokenizer of {release.base} as ",
            Parameter("base"),
        )
    config = read_json(source / CONFIG)
    models = release.models(_tensors(file))
    digest = file_hash(file)
    out.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    try:
        for model in models:
            _write(model, config, source, temporary / model.name, kind)
            form = f"{model.class_}{f', head {model.name}' if model.name else ''}"
            card = (
                f"---\nlicense: {json.dumps(release.weight_licence)}\n---\n\n# {release.about}\n\n"
                f"Written by `summeter models convert {kind}` as {form}.\n\n"
                f"- source: {file.name}\n- sha256 of the source: {digest}\n"
                f"- licence of the weights: {release.weight_licence}\n"
                f"- licence of the released code: {release.code_licence}\n"
            )
            (temporary / model.name / "README.md").write_text(card, "utf-8")
        temporary.chmod(0o755)
        temporary.rename(out)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    return [out / model.name for model in models]


def _tensors(file: Path) -> Tensors:
    """Return the tensors in a file by name.

    Raises UsageError if the file contains none or cannot be read.
    """
    try:
        import torch
    except ImportError as error:
        raise InstallError.missing("torch (converting checkpoints)", "torch") from error
    if not file.is_file():
        raise UsageError(f"the checkpoint {file} does not exist")
    try:
        if file.suffix == ".safetensors":
            from safetensors.torch import load_file

            values: Any = load_file(file)
        else:
            values = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:  # pickle and safetensors raise various errors
        # The message of torch begins with the advice to load pickles unsafely.
        lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
        why = lines[0]
        if why.startswith("Weights only load failed"):
            detail = next((line for line in lines[1:] if "GLOBAL" in line), None)
            why = f"it contains code or objects ({detail})" if detail else "it is damaged or not a torch checkpoint"
        raise UsageError(f"{file} cannot be read with weights_only: {why}") from error
    # Lightning and training scripts nest the tensors one level deeper.
    for inner in ("state_dict", "model_state_dict", "model"):
        if isinstance(values, Mapping) and isinstance(values.get(inner), Mapping):
            values = values[inner]
    tensors = {str(name): value for name, value in values.items()} if isinstance(values, Mapping) else {}
    tensors = {name: value for name, value in tensors.items() if isinstance(value, torch.Tensor)}
    if not tensors:
        raise UsageError(f"{file} contains no named tensors")
    return tensors


def _write(model: ConvertedModel, config: Mapping[str, Any], source: Path, folder: Path, kind: str) -> None:
    try:
        import torch
        import transformers
    except ImportError as error:
        raise InstallError.missing(f"{error.name or 'torch'} (converting checkpoints)", "torch") from error
    class_ = getattr(transformers, model.class_)
    if config.get("model_type") != class_.config_class.model_type:
        raise UsageError(
            f"the base in {source} is a {config.get('model_type')} model, but {kind} needs a "
            f"{class_.config_class.model_type} model"
        )
    new_config = class_.config_class.from_dict({**config, **model.config, "architectures": [model.class_]})
    with torch.device("meta"):
        expected = {name: tuple(value.shape) for name, value in class_(new_config).state_dict().items()}
    found = {name: tuple(value.shape) for name, value in model.tensors.items() if not name.endswith("position_ids")}
    faults = [
        *(f"{name} is missing" for name in expected if name not in found),
        *(f"{name} is unknown" for name in found if name not in expected),
        *(
            f"{name} has shape {found[name]} instead of {expected[name]}"
            for name in expected
            if name in found and found[name] != expected[name]
        ),
    ]
    if faults:
        raise UsageError(
            f"this is not a checkpoint of {kind} with the base in {source}: {'; '.join(faults[:3])}"
            f"{f' (and {len(faults) - 3} more)' if len(faults) > 3 else ''}"
        )
    transformers.utils.logging.disable_progress_bar()
    network = class_(new_config)
    network.load_state_dict({name: model.tensors[name].float() for name in found})
    network.save_pretrained(folder)
    for name in _TOKENIZER:
        if (source / name).is_file():
            shutil.copy(source / name, folder / name)


def _renamed(tensors: Tensors, prefixes: Sequence[tuple[str, str]]) -> Tensors:
    """Return the tensors whose names begin with an old prefix, under names with the new prefix.

    If several old prefixes match, the first one is replaced.
    """
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
        first = ", ".join(list(tensors)[:3])
        raise UsageError(f"this is not a checkpoint of {kind}: {', '.join(missing)} missing (its first names: {first})")


def _alignscore(tensors: Tensors) -> list[ConvertedModel]:
    """Convert an encoder with three heads, without the pretraining head (`mlm_head`)."""
    layers = {"nli": ("tri_layer", 3), "bin": ("bin_layer", 2), "reg": ("reg_layer", 1)}
    names = [f"{layer}.weight" for layer, _ in layers.values()]
    _need(tensors, ["base_model.pooler.dense.weight", *names], "alignscore")
    labels = {
        "nli": {0: "entailment", 1: "neutral", 2: "contradiction"},
        "bin": {0: "not aligned", 1: "aligned"},
        "reg": {0: "alignment"},
    }
    return [
        ConvertedModel(
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


def _a3cu(tensors: Tensors) -> list[ConvertedModel]:
    """Convert an encoder with a regression on the first token, without the unused pooler."""
    _need(tensors, ["bert.embeddings.word_embeddings.weight", "linear.weight"], "a3cu")
    used = {name: value for name, value in tensors.items() if not name.startswith("bert.pooler.")}
    renamed = _renamed(used, (("linear.", "classifier."), ("bert.", "bert.")))
    return [ConvertedModel("", "BertForTokenClassification", renamed, _labels({0: "a3cu"}))]


def _dae(tensors: Tensors) -> list[ConvertedModel]:
    """Convert an encoder with a layer over (child, head) pairs to one with a layer over tokens.

    The logits of an arc are the first two outputs of the child plus the last two outputs of the head.
    """
    import torch

    layer = "dep_label_classifier"
    _need(tensors, ["electra.embeddings.word_embeddings.weight", f"{layer}.weight", f"{layer}.bias"], "dae")
    weight, bias = tensors[f"{layer}.weight"], tensors[f"{layer}.bias"]
    size = weight.shape[1] // 2
    if weight.shape[0] != 2 or weight.shape[1] % 2:
        raise UsageError(f"this is not a checkpoint of dae: {layer}.weight has shape {tuple(weight.shape)}")
    renamed = _renamed(tensors, (("electra.", "electra."),))
    renamed["classifier.weight"] = torch.cat([weight[:, :size], weight[:, size:]])
    renamed["classifier.bias"] = torch.cat([bias, torch.zeros_like(bias)])
    labels = {0: "child not entailed", 1: "child entailed", 2: "head not entailed", 3: "head entailed"}
    return [ConvertedModel("", "ElectraForTokenClassification", renamed, _labels(labels))]


def _bartscore(tensors: Tensors) -> list[ConvertedModel]:
    _need(tensors, ["model.shared.weight"], "bartscore")
    return [ConvertedModel("", "BartForConditionalGeneration", dict(tensors), {})]


def _hhem(tensors: Tensors) -> list[ConvertedModel]:
    """Convert the encoder of T5 with two outputs per token, of which the first token's are used."""
    _need(tensors, ["t5.transformer.shared.weight", "t5.classifier.weight"], "hhem")
    renamed = _renamed(tensors, (("t5.", ""),))
    renamed.setdefault("transformer.encoder.embed_tokens.weight", renamed["transformer.shared.weight"])
    return [ConvertedModel("", "T5ForTokenClassification", renamed, _labels({0: "hallucinated", 1: "consistent"}))]


def _labels(names: Mapping[int, str]) -> dict[str, Any]:
    return {"id2label": dict(names), "label2id": {name: index for index, name in names.items()}}


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
    "hhem": Release("HHEM-2.1-Open (Vectara, 2024)", "google/flan-t5-base", "Apache-2.0", "Apache-2.0", _hhem),
}  # fmt: skip
"""The checkpoints that can be converted, by name."""
