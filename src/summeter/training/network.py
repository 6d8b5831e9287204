"""Train or adapt the network of a regression judge with the Trainer of transformers, and export backbones.

Backbones are exported as model.onnx.
"""

from __future__ import annotations

import shutil
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field

from summeter.data.atomic import building, write_text
from summeter.engine.progress import Progress
from summeter.interrupt import checkpoint
from summeter.models.local.export import write_encoder_onnx
from summeter.models.local.loaded_model import LoadedModel
from summeter.models.local.regressor import Layer, framed
from summeter.models.local.tokens import reads_segments
from summeter.records import InstallError, ModelError, Record, digest
from summeter.training.linear import mean_pearson, unscaled
from summeter.training.work import Work

if TYPE_CHECKING:
    import torch

    from summeter.models.local.regressor import Pool
    from summeter.stats.base import Bools, Floats

Mode = Literal["frozen", "lora", "full"]
SAVE_EVERY = 30.0
"""Seconds between checkpoints within an epoch; a checkpoint is also written at the end of each epoch."""
_SMALL = (".json", ".txt", ".model")
_DEV = "pearson"  # the Trainer's name for the score on dev
_UNDEFINED = -2.0  # lower than any correlation


class Lora(Record):
    """Settings of the low-rank adaptation (Hu et al., 2022) of all linear layers.

    The adapters are merged into the weights at the end of the training.
    """

    rank: int = Field(default=8, ge=1)
    alpha: int = Field(default=16, ge=1)
    dropout: float = Field(default=0.05, ge=0, lt=1)


class Schedule(Record):
    """The training schedule: AdamW with a linear warmup and a linear decay to 0.

    The warmup takes the share `warmup` of all steps. `batch` is the number of rows per step, and `clip` the maximum
    norm of the gradient. Training stops after `patience` epochs without a better score on dev, and the best weights are
    used.
    """

    epochs: int = Field(default=10, ge=1)
    batch: int = Field(default=16, ge=1)
    learning_rate: float = Field(default=2e-5, gt=0)
    weight_decay: float = Field(default=0.01, ge=0)
    warmup: float = Field(default=0.1, ge=0, lt=1)
    clip: float = Field(default=1.0, gt=0)
    patience: int = Field(default=3, ge=1)


Scores = tuple[float | None, ...]
"""The score on dev after each epoch, None if undefined."""


class Job(NamedTuple):
    """The data and settings for the training of a network.

    `pairs` holds the (document, summary) texts. `hidden` is the number of units of the hidden layer, or None for a
    linear head. `train` and `dev` are masks of the rows of `targets`. `outputs` holds the aspect of each output.
    `yes_no` is the index of the output that predicts a yes/no label, or None if there is no such output. With `prompts`
    (see `regressor.framed`), the rows of all summaries with the first prompt are followed by those with the next
    prompt, and the single output is the rating of the row's aspect. `onnx` says whether a model.onnx is written.
    """

    backbone: LoadedModel
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
        """Return the mean over aspects of Pearson's r between the outputs `values` and the targets of dev.

        Returns None if the correlation is undefined for an aspect.
        """
        targets = self.targets[self.dev]
        if self.prompts:
            outputs, ratings = (array.reshape(len(self.prompts), -1).T for array in (values, targets))
            return mean_pearson(outputs, ratings, list(self.prompts))
        columns = [column for column in range(len(self.outputs)) if column != self.yes_no]
        return mean_pearson(values[:, columns], targets[:, columns], [self.outputs[column] for column in columns])


def need_torch() -> None:
    """Raise InstallError if torch, transformers, accelerate or peft is not installed."""
    try:
        import accelerate  # noqa: F401 - availability check
        import peft  # noqa: F401
        import torch  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as error:
        raise InstallError.missing(error.name or "torch", "train") from error


def export(backbone: LoadedModel, folder: Path, show: Progress, *, onnx: bool) -> None:
    """Write the unchanged backbone and its tokenizer to `folder`, unless the folder exists.

    With `onnx`, a model.onnx is written too.
    """
    if folder.is_dir():
        return
    source = backbone.model.folder
    with building(folder) as fresh:
        _copy_config(source, fresh, backbone.tokens.limit)
        if backbone.runtime.file is not None:
            for file in backbone.runtime.file.parent.iterdir():
                if file.name == "model.onnx" or file.name.startswith(("model.onnx_data", "model.onnx.data")):
                    shutil.copyfile(file, fresh / file.name)
            return
        for file in sorted(source.glob("*.safetensors*")):  # with shards and their index
            shutil.copyfile(file, fresh / file.name)
        if onnx:
            show.note("writing model.onnx")
            write_encoder_onnx(_loaded(source), fresh)


def _copy_config(source: Path, target: Path, limit: int) -> None:
    """Copy the config and the tokenizer of a backbone, and write the maximum input length."""
    for file in sorted(source.iterdir()):
        if file.is_file() and file.suffix in _SMALL and not file.name.endswith(".index.json"):
            shutil.copyfile(file, target / file.name)
    write_text(target / "sentence_bert_config.json", f'{{"max_seq_length": {limit}}}\n')


def _loaded(folder: Path) -> Any:
    """Load the encoder in a folder with torch in fp32, ready for inference."""
    import torch
    import transformers

    transformers.utils.logging.disable_progress_bar()
    return transformers.AutoModel.from_pretrained(
        folder, dtype=torch.float32, local_files_only=True, trust_remote_code=False, attn_implementation="eager"
    ).eval()


def train_head(job: Job, states: Floats, work: Work, show: Progress) -> tuple[tuple[Layer, ...], Scores]:
    """Train a head on fixed states, and return its layers and the scores on dev."""
    import torch
    from sklearn.preprocessing import StandardScaler

    rows = np.flatnonzero(job.train)
    scaler = StandardScaler().fit(states[rows])
    scaled = torch.from_numpy(scaler.transform(states).astype(np.float32))

    class RegressionHead(torch.nn.Module):  # type: ignore[misc] # torch is untyped when it is not installed
        def __init__(self) -> None:
            super().__init__()
            self.layers = _layers(job, states.shape[1])

        def forward(self, states: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
            return _with_loss(self.layers, states, labels, job)

    folder = work.folder / f"head-{digest(rows.tolist(), 16)}"
    network, scores = _fitted(job, RegressionHead, lambda indices: {"states": scaled[indices]}, folder, show)
    first, *rest = _as_arrays(network.layers)
    # Standardisation becomes part of the first layer.
    return (unscaled(first.weight.T, first.bias, scaler), *rest), scores


def train_network(job: Job, folder: Path, work: Work, show: Progress) -> tuple[tuple[Layer, ...], Scores]:
    """Train the backbone, completely (`full`) or by low-rank adaptation (`lora`), together with its head.

    The backbone is written to `folder` as safetensors, and also as model.onnx if the job requires it. Returns the
    layers of the head and the scores on dev.
    """
    import torch

    inputs = [
        input_
        for framing, texts in framed(job.pairs, job.prompts)
        for input_ in job.backbone.tokens.inputs(texts, framing)
    ]

    class Judge(torch.nn.Module):  # type: ignore[misc] # torch is untyped when it is not installed
        def __init__(self) -> None:
            super().__init__()
            backbone = _loaded(job.backbone.model.folder).train()
            self.segmented = reads_segments(backbone.config)
            self.layers = _layers(job, int(backbone.config.hidden_size) * (4 if job.pool == "pair" else 1))
            if job.mode == "lora":
                import peft

                lora = peft.LoraConfig(
                    r=job.lora.rank, lora_alpha=job.lora.alpha, lora_dropout=job.lora.dropout,
                    target_modules="all-linear",
                )  # fmt: skip
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", FutureWarning)  # from calls of peft to transformers
                    backbone = peft.get_peft_model(backbone, lora)
            self.backbone = backbone

        def forward(
            self, ids: torch.Tensor, mask: torch.Tensor, segments: torch.Tensor, text: torch.Tensor,
            labels: torch.Tensor,
        ) -> dict[str, torch.Tensor]:  # fmt: skip
            more = {"token_type_ids": segments} if self.segmented else {}
            states = self.backbone(input_ids=ids, attention_mask=mask, **more).last_hidden_state
            return _with_loss(self.layers, _pooled(states, mask, text, job.pool), labels, job)

    def batch(indices: Sequence[int]) -> dict[str, torch.Tensor]:
        chosen = [inputs[index] for index in indices]
        padded = job.backbone.tokens.padded(chosen)
        text = np.full(padded.ids.shape, -1, dtype=np.int64)
        for row, input_ in enumerate(chosen):
            text[row, : len(input_.ids)] = input_.text
        arrays = {"ids": padded.ids, "mask": padded.mask, "segments": padded.segments, "text": text}
        return {name: torch.from_numpy(array) for name, array in arrays.items()}

    network, scores = _fitted(job, Judge, batch, work.folder / "network", show)
    trained = network.backbone.merge_and_unload() if job.mode == "lora" else network.backbone
    shutil.rmtree(folder, ignore_errors=True)
    with building(folder) as fresh:
        _copy_config(job.backbone.model.folder, fresh, job.backbone.tokens.limit)
        trained.save_pretrained(fresh)
        if job.onnx:
            show.note("writing model.onnx")
            write_encoder_onnx(trained, fresh)
    return _as_arrays(network.layers), scores


def _fitted(
    job: Job, make: Callable[[], torch.nn.Module], batch: Callable[[Sequence[int]], dict[str, Any]], folder: Path,
    show: Progress,
) -> tuple[Any, Scores]:  # fmt: skip
    """Train the network that `make` returns, and load the weights of the epoch that is best on dev.

    The network is trained on the job's rows. `batch` returns the inputs for rows given by their indices. `folder` holds
    the Trainer's checkpoints, from which an interrupted training resumes with the same results. Raises ModelError if
    the loss is not finite.
    """
    import torch
    import transformers
    from transformers.trainer_utils import get_last_checkpoint

    schedule = job.schedule
    transformers.set_seed(job.seed)
    torch.use_deterministic_algorithms(mode=True, warn_only=True)
    targets = torch.from_numpy(job.targets.astype(np.float32))

    def scored(predicted: Any) -> dict[str, float]:
        score = job.score(np.asarray(predicted.predictions, dtype=np.float64))
        return {_DEV: _UNDEFINED if score is None else score}

    class Watch(transformers.TrainerCallback):  # type: ignore[misc]
        """Shows the progress, stops the training on an interruption, and saves a checkpoint every 30 seconds."""

        def __init__(self) -> None:
            self.saved = time.monotonic()

        def on_train_begin(self, _: Any, state: Any, control: Any, **more: Any) -> None:
            del control, more
            show.start(state.max_steps)
            for _step in range(state.global_step):
                show.advance(ok=True)

        def on_step_end(self, _: Any, state: Any, control: Any, **more: Any) -> None:
            del state, more
            checkpoint()
            show.advance(ok=True)
            control.should_save = control.should_save or time.monotonic() - self.saved > SAVE_EVERY

        def on_save(self, *_: Any, **__: Any) -> None:
            self.saved = time.monotonic()

        def on_evaluate(self, _: Any, state: Any, control: Any, metrics: Mapping[str, float], **more: Any) -> None:
            del control, more
            score = metrics[f"eval_{_DEV}"]
            shown = "undefined" if score == _UNDEFINED else f"{score:.3f}"
            show.note(f"epoch {round(state.epoch)}: dev {shown}")

    transformers.utils.logging.set_verbosity_error()
    arguments = transformers.TrainingArguments(
        output_dir=str(folder), seed=job.seed, num_train_epochs=schedule.epochs,
        per_device_train_batch_size=schedule.batch, per_device_eval_batch_size=schedule.batch,
        learning_rate=schedule.learning_rate, weight_decay=schedule.weight_decay,
        warmup_steps=schedule.warmup, max_grad_norm=schedule.clip, use_cpu=not torch.cuda.is_available(),
        eval_strategy="epoch", save_strategy="epoch", save_total_limit=1, load_best_model_at_end=True,
        metric_for_best_model=_DEV, greater_is_better=True, logging_strategy="no", report_to="none", disable_tqdm=True,
        remove_unused_columns=False, dataloader_pin_memory=False, label_names=["labels"],
    )  # fmt: skip
    trainer = transformers.Trainer(
        make(), arguments, data_collator=lambda indices: {**batch(indices), "labels": targets[list(indices)]},
        train_dataset=np.flatnonzero(job.train).tolist(), eval_dataset=np.flatnonzero(job.dev).tolist(),
        compute_metrics=scored, callbacks=[transformers.EarlyStoppingCallback(schedule.patience), Watch()],
    )  # fmt: skip
    trainer.remove_callback(transformers.PrinterCallback)
    trainer.train(resume_from_checkpoint=get_last_checkpoint(str(folder)) if folder.is_dir() else None)
    scores = [row[f"eval_{_DEV}"] for row in trainer.state.log_history if f"eval_{_DEV}" in row]
    return trainer.model.cpu().eval(), tuple(None if score == _UNDEFINED else score for score in scores)


def _layers(job: Job, width: int) -> torch.nn.ModuleList:
    """Return the affine layers of the head."""
    from torch import nn

    sizes = [width, *([] if job.hidden is None else [job.hidden]), len(job.outputs)]
    return nn.ModuleList(nn.Linear(before, after) for before, after in pairwise(sizes))


def _as_arrays(layers: torch.nn.ModuleList) -> tuple[Layer, ...]:
    return tuple(
        Layer(layer.weight.detach().double().numpy().T.copy(), layer.bias.detach().double().numpy()) for layer in layers
    )


def _with_loss(layers: torch.nn.ModuleList, values: torch.Tensor, labels: torch.Tensor, job: Job) -> dict[str, Any]:
    """Return the outputs of the head and their loss.

    The loss is the mean squared error over the known ratings, plus the mean logistic loss of the yes/no output if there
    is one.
    """
    import torch

    for number, layer in enumerate(layers):
        values = layer(torch.tanh(values) if number else values)
    known, targets = ~torch.isnan(labels), torch.nan_to_num(labels)
    rated = known.clone()
    if job.yes_no is not None:
        rated[:, job.yes_no] = False
    loss = (((values - targets) ** 2) * rated).sum() / rated.sum().clamp(min=1)
    if job.yes_no is not None:
        logits, labelled = values[:, job.yes_no], known[:, job.yes_no]
        losses = torch.nn.functional.binary_cross_entropy_with_logits(logits, targets[:, job.yes_no], reduction="none")
        loss = loss + (losses * labelled).sum() / labelled.sum().clamp(min=1)
    if not bool(torch.isfinite(loss)):
        raise ModelError(
            f"the loss is {float(loss.detach())}; set a learning_rate below {job.schedule.learning_rate:g}"
        )
    return {"loss": loss, "logits": values}


def _pooled(states: torch.Tensor, mask: torch.Tensor, text: torch.Tensor, pool: str) -> torch.Tensor:
    """Return the pooled states, computed in the same way as in `models.local.regressor`."""
    import torch

    def mean(selected: torch.Tensor) -> torch.Tensor:
        weights = selected.unsqueeze(-1).to(states.dtype)
        return (states * weights).sum(1) / weights.sum(1).clamp(min=1)

    if pool == "first":
        return states[:, 0]
    if pool == "last":
        return states[torch.arange(len(states)), mask.sum(1) - 1]
    if pool == "mean":
        return mean(mask)
    document, summary = mean(text == 0), mean(text == 1)
    return torch.cat([document, summary, (document - summary).abs(), document * summary], dim=1)
