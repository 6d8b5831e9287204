"""The network of a regression judge on torch: its backbone trained or adapted, and every backbone as model.onnx."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field

from summeter.data.atomic import building, write_text
from summeter.engine.progress import Progress
from summeter.models.local.export import write_encoder_onnx
from summeter.models.local.opened import Opened
from summeter.models.local.regressor import Layer, framed
from summeter.models.local.tokens import reads_segments
from summeter.records import Record, digest
from summeter.training.heads import Spread, mean_pearson
from summeter.training.loop import Fitted, Schedule, fit, seeded
from summeter.training.work import Work

if TYPE_CHECKING:
    import torch

    from summeter.models.local.regressor import Pool
    from summeter.models.local.tokens import Input
    from summeter.stats.base import Bools, Floats

Mode = Literal["frozen", "lora", "full"]
_SMALL = (".json", ".txt", ".model")


class Lora(Record):
    """Low-rank adaptation (Hu et al., 2022) of all linear layers, merged into the weights at the end."""

    rank: int = Field(default=8, ge=1)
    alpha: int = Field(default=16, ge=1)
    dropout: float = Field(default=0.05, ge=0, lt=1)


class Job(NamedTuple):
    """What a network is trained on, and how. `hidden` is None for a linear head; `train` and `dev` are masks of the
    rows of `targets`, of which the output `yes_no` is a label; the others' aspects are `outputs`. With `prompts` (see
    `regressor.framed`) there is a row for each summary in the first prompt, then one for each in the next, and the one
    output is of the aspect of its row. `onnx`: whether a model.onnx is written."""

    backbone: Opened
    pairs: Sequence[tuple[str, str]]
    prompts: Mapping[str, str]
    train: Bools
    dev: Bools
    targets: Floats
    outputs: Sequence[str]
    yes_no: int | None
    mode: Mode
    pool: Pool
    hidden: int | None
    lora: Lora
    schedule: Schedule
    seed: int
    onnx: bool

    def score(self, values: Floats) -> float | None:
        """The mean Pearson's r over aspects of what is given for the rows of dev."""
        if self.prompts:
            given, wanted = (own.reshape(len(self.prompts), -1).T for own in (values, self.targets[self.dev]))
            return mean_pearson(given, wanted, list(self.prompts))
        rated = [place for place in range(len(self.outputs)) if place != self.yes_no]
        return mean_pearson(values[:, rated], self.targets[self.dev][:, rated], [self.outputs[at] for at in rated])


def _files(source: Path, target: Path, limit: int) -> None:
    """Config and tokenizer of a backbone, and the length that the judge reads."""
    for file in sorted(source.iterdir()):
        if file.is_file() and file.suffix in _SMALL and not file.name.endswith(".index.json"):
            shutil.copyfile(file, target / file.name)
    write_text(target / "sentence_bert_config.json", f'{{"max_seq_length": {limit}}}\n')


def export(backbone: Opened, folder: Path, show: Progress, *, onnx: bool) -> None:
    """Write the backbone as it is, with its tokenizer, to `folder` unless it is there; with `onnx` also model.onnx."""
    if folder.is_dir():
        return
    source = backbone.model.folder
    with building(folder) as fresh:
        _files(source, fresh, backbone.tokens.limit)
        if backbone.runtime.file is not None:
            for file in backbone.runtime.file.parent.iterdir():
                if file.name == "model.onnx" or file.name.startswith(("model.onnx_data", "model.onnx.data")):
                    shutil.copyfile(file, fresh / file.name)
            return
        for file in sorted(source.glob("*.safetensors*")):  # shards, and their index
            shutil.copyfile(file, fresh / file.name)
        if onnx:
            show.note("writing model.onnx")
            write_encoder_onnx(_loaded(source), fresh)


def _loaded(folder: Path) -> Any:
    """The encoder of a folder on torch, in fp32."""
    import torch
    import transformers

    transformers.utils.logging.disable_progress_bar()
    return transformers.AutoModel.from_pretrained(
        folder, dtype=torch.float32, local_files_only=True, trust_remote_code=False, attn_implementation="eager"
    ).eval()


def _layers(sizes: Sequence[int]) -> torch.nn.ModuleList:
    from torch import nn

    return nn.ModuleList(nn.Linear(before, after) for before, after in pairwise(sizes))


def _applied(layers: torch.nn.ModuleList, values: torch.Tensor) -> torch.Tensor:
    import torch

    for number, layer in enumerate(layers):
        values = layer(torch.tanh(values) if number else values)
    return values


def _as_arrays(layers: torch.nn.ModuleList) -> tuple[Layer, ...]:
    return tuple(
        Layer(layer.weight.detach().double().cpu().numpy().T.copy(), layer.bias.detach().double().cpu().numpy())
        for layer in layers
    )


def _loss(outputs: torch.Tensor, targets: torch.Tensor, span_free: int | None) -> torch.Tensor:
    """The mean squared error of the ratings that there are, and the logistic loss of the yes/no output."""
    import torch

    given = ~torch.isnan(targets)
    rated = given.clone()
    if span_free is not None:
        rated[:, span_free] = False
    wanted = torch.nan_to_num(targets)
    total = (((outputs - wanted) ** 2) * rated).sum() / rated.sum().clamp(min=1)
    if span_free is not None:
        own = torch.nn.functional.binary_cross_entropy_with_logits(
            outputs[:, span_free], wanted[:, span_free], reduction="none"
        )
        total = total + (own * given[:, span_free]).sum() / given[:, span_free].sum().clamp(min=1)
    return total


def train_head(job: Job, states: Floats, work: Work, show: Progress) -> tuple[tuple[Layer, ...], Fitted]:
    """A small network on states that do not change."""
    import torch

    seeded(job.seed)
    rows = np.flatnonzero(job.train)
    spread = Spread.of(states[rows])
    scaled = torch.from_numpy(spread.scaled(states).astype(np.float32))
    wanted = torch.from_numpy(job.targets.astype(np.float32))
    layers = _layers(_sizes(job, states.shape[1]))

    def loss(batch: Sequence[int]) -> torch.Tensor:
        places = rows[list(batch)]
        return _loss(_applied(layers, scaled[places]), wanted[places], job.yes_no)

    def score() -> float | None:
        return job.score(_applied(layers, scaled[np.flatnonzero(job.dev)]).double().numpy())

    state = work.folder / f"checkpoint-{digest(rows.tolist(), 16)}.pt"
    how = fit(layers, len(rows), loss, score, job.schedule, seed=job.seed, state=state, show=show)
    first, *rest = _as_arrays(layers)
    # Standardising is part of the first map, so that the judge reads raw states.
    weight = first.weight / spread.deviations[:, None]
    return (Layer(weight, first.bias - spread.means @ weight), *rest), how


def train_network(job: Job, folder: Path, work: Work, show: Progress) -> tuple[tuple[Layer, ...], Fitted]:
    """The backbone with its head, trained whole (`full`) or by low-rank adaptation (`lora`), and written to `folder`:
    safetensors, and model.onnx where the job asks for it."""
    import torch

    seeded(job.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    network = _judge(job, _loaded(job.backbone.model.folder)).to(device)
    inputs = [
        input_
        for framing, texts in framed(job.pairs, job.prompts)
        for input_ in job.backbone.tokens.inputs(texts, framing)
    ]
    wanted = torch.from_numpy(job.targets.astype(np.float32)).to(device)
    rows, dev = np.flatnonzero(job.train), np.flatnonzero(job.dev).tolist()

    def outputs_of(places: Sequence[int]) -> torch.Tensor:
        given: torch.Tensor = network(*_batch(job, [inputs[place] for place in places], device))
        return given

    def loss(batch: Sequence[int]) -> torch.Tensor:
        places = rows[list(batch)].tolist()
        return _loss(outputs_of(places), wanted[places], job.yes_no)

    def score() -> float | None:
        size = job.schedule.batch
        values = torch.cat([outputs_of(dev[at : at + size]) for at in range(0, len(dev), size)])
        return job.score(values.double().cpu().numpy())

    fitted = fit(network, len(rows), loss, score, job.schedule, seed=job.seed, state=work.state, show=show)
    network = network.cpu()
    trained = network.backbone.merge_and_unload() if job.mode == "lora" else network.backbone
    shutil.rmtree(folder, ignore_errors=True)
    with building(folder) as fresh:
        _files(job.backbone.model.folder, fresh, job.backbone.tokens.limit)
        trained.save_pretrained(fresh)
        if job.onnx:
            show.note("writing model.onnx")
            write_encoder_onnx(trained, fresh)
    return _as_arrays(network.layers), fitted


def _sizes(job: Job, width: int) -> list[int]:
    return [width, *([] if job.hidden is None else [job.hidden]), len(job.outputs)]


def _batch(job: Job, inputs: Sequence[Input], device: str) -> tuple[torch.Tensor, ...]:
    import torch

    batch = job.backbone.tokens.padded(inputs)
    text = np.full(batch.ids.shape, -1, dtype=np.int64)
    for row, input_ in enumerate(inputs):
        text[row, : len(input_.ids)] = input_.text
    return tuple(torch.from_numpy(array).to(device) for array in (batch.ids, batch.mask, batch.segments, text))


def _judge(job: Job, backbone: Any) -> Any:
    """The network: a backbone, pooled states, and a head."""
    from torch import nn

    segmented = reads_segments(backbone.config)
    width = int(backbone.config.hidden_size) * (4 if job.pool == "pair" else 1)
    if job.mode == "lora":
        import peft

        lora = peft.LoraConfig(
            r=job.lora.rank, lora_alpha=job.lora.alpha, lora_dropout=job.lora.dropout, target_modules="all-linear"
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of what peft itself calls in transformers
            backbone = peft.get_peft_model(backbone, lora)

    class Judge(nn.Module):  # type: ignore[misc] # torch has no types where the code is checked
        def __init__(self) -> None:
            super().__init__()
            self.backbone = backbone
            self.layers = _layers(_sizes(job, width))

        def forward(
            self, ids: torch.Tensor, mask: torch.Tensor, segments: torch.Tensor, text: torch.Tensor
        ) -> torch.Tensor:
            given = {"token_type_ids": segments} if segmented else {}
            states = self.backbone(input_ids=ids, attention_mask=mask, **given).last_hidden_state
            return _applied(self.layers, _pooled(states, mask, text, job.pool))

    return Judge()


def _pooled(states: torch.Tensor, mask: torch.Tensor, text: torch.Tensor, pool: str) -> torch.Tensor:
    """As `models.local.regressor` pools them."""
    import torch

    def mean(kept: torch.Tensor) -> torch.Tensor:
        share = kept.unsqueeze(-1).to(states.dtype)
        return (states * share).sum(1) / share.sum(1).clamp(min=1)

    if pool == "first":
        return states[:, 0]
    if pool == "last":
        return states[torch.arange(len(states)), mask.sum(1) - 1]
    if pool == "mean":
        return mean(mask)
    document, summary = mean(text == 0), mean(text == 1)
    return torch.cat([document, summary, (document - summary).abs(), document * summary], dim=1)
