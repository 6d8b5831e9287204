"""Convert checkpoints of released code to folders that transformers loads.

A folder contains safetensors, a config, a tokenizer and a card. Pickles are read with `weights_only`, so that no code
in a file is executed. The tensors are renamed for a standard transformers class, and all names and shapes are checked
before anything is written.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
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
    """A model to write, with one of the heads in the checkpoint.

    `prefixes` maps the beginnings of tensor names in the checkpoint to those in transformers; the first that matches is
    replaced, None leaves a tensor out, and tensors without a match are left out too. `labels` holds the names of the
    outputs.
    """

    prefixes: Mapping[str, str | None]
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Release:
    """A kind of checkpoint that can be converted.

    `about` is its description, `class_` the transformers class, and `models` the models to write by the name of their
    folder in the target folder ("" for the target folder itself). `adapt` changes renamed tensors where more than
    their names differ.
    """

    about: str
    base: str
    code_licence: str
    weight_licence: str
    class_: str
    models: Mapping[str, ConvertedModel]
    adapt: Callable[[Tensors], None] = lambda _: None


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
    tensors = _tensors(file)
    digest = file_hash(file)
    out.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    try:
        for name, model in release.models.items():
            _write(kind, model, tensors, config, source, temporary / name)
            form = f"{release.class_}{f', head {name}' if name else ''}"
            card = (
                f"---\nlicense: {json.dumps(release.weight_licence)}\n---\n\n# {release.about}\n\n"
                f"Written by `summeter models convert {kind}` as {form}.\n\n"
                f"- source: {file.name}\n- sha256 of the source: {digest}\n"
                f"- licence of the weights: {release.weight_licence}\n"
                f"- licence of the released code: {release.code_licence}\n"
            )
            (temporary / name / "README.md").write_text(card, "utf-8")
        temporary.chmod(0o755)
        temporary.rename(out)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    return [out / name for name in release.models]


def _tensors(file: Path) -> Tensors:
    """Return the tensors in a file by name.

    Raises UsageError if the file contains none or cannot be read.
    """
    try:
        import torch
        import transformers  # noqa: F401 - raises now if it is not installed
    except ImportError as error:
        raise InstallError.missing(f"{error.name or 'torch'} (converting checkpoints)", "torch") from error
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


def _write(
    kind: str, model: ConvertedModel, tensors: Tensors, config: Mapping[str, Any], source: Path, folder: Path
) -> None:
    import torch
    import transformers

    release = RELEASES[kind]
    class_ = getattr(transformers, release.class_)
    if config.get("model_type") != class_.config_class.model_type:
        raise UsageError(
            f"the base in {source} is a {config.get('model_type')} model, but {kind} needs a "
            f"{class_.config_class.model_type} model"
        )
    labels = {"id2label": dict(enumerate(model.labels)), "label2id": {name: n for n, name in enumerate(model.labels)}}
    changed = {**(labels if model.labels else {}), "architectures": [release.class_]}
    new_config = class_.config_class.from_dict({**config, **changed})
    renamed: Tensors = {}
    for name, value in tensors.items():
        old = next((old for old in model.prefixes if name.startswith(old)), None)
        new = None if old is None else model.prefixes[old]
        if old is not None and new is not None:
            renamed[new + name.removeprefix(old)] = value
    release.adapt(renamed)
    with torch.device("meta"):
        expected = {name: tuple(value.shape) for name, value in class_(new_config).state_dict().items()}
    found = {name: tuple(value.shape) for name, value in renamed.items() if not name.endswith("position_ids")}
    faults = [
        f"{name} is missing" if name not in found
        else f"{name} is unknown" if name not in expected
        else f"{name} has shape {found[name]} instead of {expected[name]}"
        for name in {**expected, **found}
        if found.get(name) != expected.get(name)
    ]  # fmt: skip
    if faults:
        raise UsageError(
            f"this is not a checkpoint of {kind} with the base in {source}: {'; '.join(faults[:3])}"
            f"{f' (and {len(faults) - 3} more)' if len(faults) > 3 else ''}"
        )
    transformers.utils.logging.disable_progress_bar()
    network = class_(new_config)
    network.load_state_dict({name: renamed[name].float() for name in found})
    network.save_pretrained(folder)
    for name in _TOKENIZER:
        if (source / name).is_file():
            shutil.copy(source / name, folder / name)


def _split_arcs(tensors: Tensors) -> None:
    """Change the layer of DAE over (child, head) pairs to one over tokens.

    The logits of an arc are the first two outputs of the child plus the last two outputs of the head.
    """
    import torch

    weight, bias = tensors.get("classifier.weight"), tensors.get("classifier.bias")
    if weight is not None and bias is not None and weight.shape[1] % 2 == 0:
        tensors["classifier.weight"] = torch.cat(weight.chunk(2, dim=1))
        tensors["classifier.bias"] = torch.cat([bias, torch.zeros_like(bias)])


def _embed_twice(tensors: Tensors) -> None:
    """Give the encoder of T5 the shared embeddings, which HHEM's checkpoint contains once."""
    if (shared := tensors.get("transformer.shared.weight")) is not None:
        tensors.setdefault("transformer.encoder.embed_tokens.weight", shared)


def _align(layer: str, *labels: str) -> ConvertedModel:
    """Return a model with one of AlignScore's heads, without the pretraining head (`mlm_head`)."""
    pooler = {"base_model.pooler.dense.": "classifier.dense.", "base_model.": "roberta."}
    return ConvertedModel({**pooler, f"{layer}.": "classifier.out_proj."}, labels)


RELEASES: dict[str, Release] = {
    "alignscore": Release(
        "AlignScore (Zha et al., ACL 2023)", "roberta-base or roberta-large", "MIT", "MIT",
        "RobertaForSequenceClassification",
        {
            "nli": _align("tri_layer", "entailment", "neutral", "contradiction"),
            "bin": _align("bin_layer", "not aligned", "aligned"),
            "reg": _align("reg_layer", "alignment"),
        },
    ),
    "a3cu": Release(  # a regression on the first token; the pooler is not used
        "A3CU (Liu et al., EMNLP 2023)", "bert-large-cased", "none", "none stated", "BertForTokenClassification",
        {"": ConvertedModel({"bert.pooler.": None, "bert.": "bert.", "linear.": "classifier."}, ("a3cu",))},
    ),
    "dae": Release(
        "DAE (Goyal and Durrett, NAACL 2021)", "electra-base-discriminator", "none", "none stated",
        "ElectraForTokenClassification",
        {"": ConvertedModel(
            {"electra.": "electra.", "dep_label_classifier.": "classifier."},
            ("child not entailed", "child entailed", "head not entailed", "head entailed"),
        )},
        _split_arcs,
    ),
    "bartscore": Release(
        "BARTScore, CNN and ParaBank (Yuan et al., NeurIPS 2021)", "bart-large-cnn", "Apache-2.0", "none stated",
        "BartForConditionalGeneration", {"": ConvertedModel({"": ""})},
    ),
    "hhem": Release(  # two outputs per token, of which the first token's are used
        "HHEM-2.1-Open (Vectara, 2024)", "google/flan-t5-base", "Apache-2.0", "Apache-2.0", "T5ForTokenClassification",
        {"": ConvertedModel({"t5.": ""}, ("hallucinated", "consistent"))}, _embed_twice,
    ),
}  # fmt: skip
"""The checkpoints that can be converted, by name."""
