"""Train the regression judge: a network that reads the document and the summary and predicts ratings.

The network reads both texts as a pair or in a prompt.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from pydantic import Field, model_validator

from summeter.data.atomic import write_text
from summeter.data.dataset import Dataset, load
from summeter.data.hub import is_address
from summeter.engine.progress import Progress
from summeter.evaluators.aspects import RATED, AspectDef, read_aspects
from summeter.evaluators.geval.geval import prompt_template
from summeter.models.local.loaded_model import LoadedModel, open_model
from summeter.models.local.names import LocalName, LocalSettings, file_hash, maybe_json, parse
from summeter.models.local.regressor import AT_ONCE, FILE, Layer, Pool, RegressionHead, framed, pooled_states
from summeter.records import UsageError
from summeter.runs.usage import Usage
from summeter.stats.base import Bools, Floats
from summeter.training.base import Task, Trained, Training
from summeter.training.card import Card, card_of
from summeter.training.figures import Figure, figures, yes_no_figures
from summeter.training.linear import CalibrationKind, calibrated, logistic, need_sklearn, ridge
from summeter.training.network import (
    Job,
    Lora,
    Mode,
    Schedule,
    Scores,
    export,
    need_torch,
    train_head,
    train_network,
)
from summeter.training.ratings import check_sizes, read_ratings
from summeter.training.split import FITTED
from summeter.training.work import Work

_HEADS: Final[Mapping[Mode, Literal["ridge", "linear"]]] = {"frozen": "ridge", "lora": "linear", "full": "linear"}
_HASHED = frozenset({".onnx", ".safetensors", ".onnx_data", ".data"})
SPAN_FREE = "span_free"
"""The name of the yes/no output, which predicts whether the summary has no inconsistent span."""


class Regression(Training):
    """Settings of a regression judge.

    `data` has the same meaning as in `summeter score`. `input` says what the network reads. With `pair`, it reads the
    document and the summary once for all aspects. With `geval`, it reads the G-Eval prompt of an aspect with both
    texts, as SummQual's evaluator does: all aspects share one network and one output, and each rated aspect of a
    summary is a training row; `aspect_file` defines aspects that have no prompt. `annotators` says whether an aspect
    has one output for the mean rating (`mean`) or one output per annotator (`separate`), in which case the outputs are
    averaged. `span_free` adds a yes/no output for summaries without inconsistent spans. `backbone` is the model string
    of an encoder. `mode` says what is trained: only a head (`frozen`), or also the backbone (`lora`, `full`). `head` is
    an affine map (`ridge` for frozen states, `linear` for trained states) or a network with a hidden layer of `hidden`
    units (`mlp`). `pool` is the input of the head. Its default is the similarities of the tokens of both texts
    (`match`) for frozen states, the mean state (`mean`) for trained states (use `last` for a decoder), and `last` for
    prompts. `max_tokens` is the maximum length of an input in tokens; its default is read from the backbone's files.
    `onnx` says whether a model.onnx is written; without it, the judge runs on torch, which is meant for backbones that
    cannot be exported to ONNX in fp32.
    """

    kind: Literal["regression"] = "regression"
    data: str
    input: Literal["pair", "geval"] = "pair"
    aspect_file: str | None = None
    annotators: Literal["mean", "separate"] = "mean"
    span_free: bool = False
    backbone: str
    mode: Mode = "frozen"
    head: Literal["ridge", "linear", "mlp"] | None = None
    hidden: int = Field(default=64, ge=1)
    pool: Pool | None = None
    max_tokens: int | None = Field(default=None, ge=16)
    onnx: bool = True
    calibration: CalibrationKind = "linear"
    schedule: Schedule | None = None
    lora: Lora = Lora()

    @model_validator(mode="after")
    def _check(self) -> Regression:
        other = {"frozen": "linear", "lora": "ridge", "full": "ridge"}[self.mode]
        if self.head == other:
            raise ValueError(f"head: with mode {self.mode} it must be {_HEADS[self.mode]} or mlp, not {other}")
        if self.pool == "match" and self.mode != "frozen":
            raise ValueError(f"pool: match is for mode frozen; in mode {self.mode}, both texts are encoded together")
        if self.input == "geval":
            for name, value, why in (
                ("annotators", self.annotators == "separate", "a prompt has a single output: remove annotators"),
                ("span_free", self.span_free, "a prompt is for the rating of an aspect: remove span_free"),
                ("pool", self.pool in ("match", "pair"), "a prompt is one text: choose pool last, mean or first"),
            ):
                if value:
                    raise ValueError(f"{name}: with input geval, {why}")
        elif self.aspect_file is not None:
            raise ValueError("aspect_file defines aspects for prompts: set input: geval, or remove aspect_file")
        for name, applies, where in (
            ("schedule", self.mode != "frozen" or self.head == "mlp", "mode lora or full, or head mlp"),
            ("lora", self.mode == "lora", "mode lora"),
            ("hidden", self.head == "mlp", "head mlp"),
        ):
            if name in self.model_fields_set and not applies:
                raise ValueError(
                    f"{name} has no effect with mode {self.mode} and head {self.usual_head}; it is for {where}"
                )
        return self

    @property
    def usual_head(self) -> Literal["ridge", "linear", "mlp"]:
        """The setting `head`, or by default the affine map that belongs to the mode."""
        return self.head or _HEADS[self.mode]

    @property
    def usual_pool(self) -> Pool:
        """The setting `pool`, or a default that depends on the input and the mode."""
        if self.input == "geval":
            return self.pool or "last"
        return self.pool or ("match" if self.mode == "frozen" else "mean")

    @property
    def usual_schedule(self) -> Schedule:
        """The setting `schedule`, or a default that depends on the mode."""
        if self.schedule is not None:
            return self.schedule
        if self.mode == "frozen":
            return Schedule(epochs=100, batch=32, learning_rate=1e-3, patience=10)
        return Schedule(learning_rate=2e-4 if self.mode == "lora" else 3e-5)

    def task(self, base: Path) -> RegressionTask:
        """Read and check the data and the backbone, and return the task."""
        on_torch = self.mode != "frozen" or not self.onnx
        if on_torch or self.head == "mlp":
            need_torch()
        need_sklearn()
        data = load_data(self.data, base, preset=self.preset, columns=self.map)
        backbone = open_backbone(self.backbone, base, self.max_tokens, on_torch=on_torch)
        if not self.onnx and not any(backbone.model.folder.glob("*.safetensors")):
            raise UsageError(
                f"onnx: without model.onnx the judge needs the weights of {backbone.model.name} as safetensors, but "
                f"{backbone.model.folder} has none; remove onnx: false, or save the backbone as safetensors"
            )
        known = RATED if self.aspect_file is None else {**RATED, **read_aspects(base / self.aspect_file)}
        return RegressionTask(self, data, backbone, known)


def load_data(data: str, base: Path, *, preset: str | None = None, columns: Mapping[str, str] | None = None) -> Dataset:
    """Load the dataset of a setting, which is an address on a hub or a path relative to `base`."""
    return load(data if is_address(data) else base / data, preset=preset, map=columns or None)


def open_backbone(text: str, base: Path, max_tokens: int | None, *, on_torch: bool = False) -> LoadedModel:
    """Open the encoder of a setting in fp32.

    A path is relative to `base` if the folder exists there, and otherwise to the working directory. With `on_torch`,
    the encoder runs on torch.
    """
    name = parse(text)
    if name.settings.precision not in ("auto", "fp32"):
        raise UsageError(f"backbone: judges are trained in fp32; remove precision={name.settings.precision}")
    settings = name.settings.model_copy(
        update={"precision": "fp32", "max_tokens": max_tokens or name.settings.max_tokens}
    )
    if on_torch:
        settings = settings.model_copy(update={"backend": "torch"})
    path = name.path
    if name.source == "local" and (base / Path(path).expanduser()).is_dir():
        path = str(base / Path(path).expanduser())
    return open_model(name.model_copy(update={"settings": settings, "path": path}), "encoder")


class RegressionTask(Task):
    """The training of a regression judge, with its data and backbone."""

    how: Regression

    def __init__(self, how: Regression, data: Dataset, backbone: LoadedModel, known: Mapping[str, AspectDef]) -> None:
        super().__init__(how, data, read_ratings(data, how.aspects, how.labels, span_free=how.span_free))
        self.backbone = backbone
        self.prompts: dict[str, str] = {}
        for aspect in self.ratings.aspects if how.input == "geval" else ():
            if aspect not in known:
                raise UsageError(
                    f"aspects: input geval needs a definition of {aspect!r} (defined: {', '.join(known)}); define it "
                    "in a YAML file and set aspect_file, or remove it from aspects"
                )
            self.prompts[aspect] = prompt_template(known[aspect])
        check_sizes(
            self.ratings, {name: rows for name, rows in self.rows.items() if name != "test" or how.look_at_test}
        )
        targets = {aspect: self.ratings.mean(aspect) for aspect in self.ratings.aspects}
        if how.span_free:
            targets[SPAN_FREE] = self.ratings.span_free
        for name, subset in product(targets, FITTED):
            values = targets[name][self.rows[subset]]
            if len(np.unique(values[~np.isnan(values)])) < 2:
                raise UsageError(
                    f"the values of {name} in the {subset} set are all equal or missing; remove it from the settings, "
                    "or draw another split (split.salt)"
                )
        self._check_room()
        paths: dict[str, Any] = {"data": "", "backbone": "", "preset": None, "map": {}, "aspect_file": None}
        self.key = how.model_copy(update=paths).digest(
            data=data.hash, ratings=self.ratings.digest, backbone=backbone.model.digest, limit=backbone.tokens.limit,
            prompts=self.prompts,
        )  # fmt: skip
        size = sum(file.stat().st_size for file in backbone.model.folder.glob("*.safetensors"))
        size += sum(file.stat().st_size for file in backbone.model.folder.glob("**/*.onnx"))
        self.space = 10_000_000 + (4 if how.mode == "frozen" else 12) * size

    def _check_room(self) -> None:
        """Raise UsageError if the prompt and the summary leave no room for the document in some input."""
        tokens = self.backbone.tokens
        if not self.prompts:
            return
        without: set[int] = set()
        for framing, texts in framed(self.ratings.pairs, self.prompts):
            for start in range(0, len(texts), AT_ONCE):
                inputs = tokens.inputs(texts[start : start + AT_ONCE], framing)
                without |= {start + index for index, input_ in enumerate(inputs) if not input_.has_room}
        if without:
            row = self.ratings.summaries[min(without)]
            raise UsageError(
                f"max_tokens: the prompt and the summary leave no room for the document in {tokens.limit} tokens, in "
                f"{len(without)} of {len(self.ratings.summaries)} summaries (the first: document {row.document_id}, "
                f"system {row.system}); set a higher max_tokens, or choose a backbone with a longer context"
            )

    def _stacked(self, rows: Bools) -> Bools:
        """Convert a mask of summaries to a mask of training rows."""
        return np.tile(rows, max(1, len(self.prompts)))

    def train(self, work: Work, show: Progress) -> Trained:
        """Fit and calibrate the judge, and compute the figures."""
        fitted = self.fit(work, show)
        half_widths = {aspect: scale.half_width for aspect, scale in fitted.head.scales.items()}
        show.note("figures")
        means = {aspect: float(np.nanmean(self.ratings.mean(aspect)[self.rows["train"]])) for aspect in fitted.ratings}
        rows = self.rows["test" if self.test else "dev"]
        listed = figures(
            self.ratings, fitted.ratings, half_widths, means, rows, resamples=self.how.resamples, seed=self.how.seed
        )
        if fitted.span_free is not None:
            listed += yes_no_figures(
                self.ratings, fitted.span_free, SPAN_FREE, rows, resamples=self.how.resamples, seed=self.how.seed
            )
        card = _card(self, fitted, listed)

        def write(folder: Path) -> None:
            shutil.copytree(fitted.folder, folder, dirs_exist_ok=True)
            write_text(folder / FILE, fitted.head.model_dump_json(by_alias=True, indent=1) + "\n")

        return Trained(card, Card(card).lines(), Card(card).readme(), write)

    def fit(self, work: Work, show: Progress) -> FittedRegression:
        """Fit and calibrate the judge."""
        folder, how = work.folder / "backbone", self.how
        targets, outputs = self._targets()
        rated = ~np.isnan(targets).all(axis=1)
        job = Job(
            self.backbone, self.ratings.pairs, self.prompts, self._stacked(self.rows["train"]) & rated,
            self._stacked(self.rows["dev"]), targets, outputs,
            len(outputs) - 1 if how.span_free else None, how.mode, how.usual_pool,
            how.hidden if how.head == "mlp" else None, how.lora, how.usual_schedule, how.seed, how.onnx,
        )  # fmt: skip
        scores: Scores | None = None
        layers: tuple[Layer, ...] = ()
        if how.mode == "frozen":
            export(self.backbone, folder, show, onnx=how.onnx)
        else:
            layers, scores = train_network(job, folder, work, show)
        settings = LocalSettings(precision="fp32", max_tokens=self.backbone.tokens.limit)
        trained = open_model(LocalName(source="local", path=str(folder), settings=settings), "encoder")
        states = self._states(trained, work, show)
        if how.mode == "frozen":
            layers, scores = self._head(job, states[:, :-1], work, show)
        hashed = [file for file in sorted(folder.iterdir()) if file.suffix in _HASHED or file.name == "tokenizer.json"]
        head = RegressionHead(
            pool=how.usual_pool, max_tokens=self.backbone.tokens.limit, layers=layers,
            outputs=tuple(name for name in outputs if name != SPAN_FREE), scales={}, span_free=job.yes_no,
            files={file.name: file_hash(file) for file in hashed}, prompts=self.prompts,
        )  # fmt: skip
        applied = head.apply(states[:, :-1])
        values = head.by_aspect(applied)
        dev = self.rows["dev"]
        codes = self.ratings.document_codes[dev]
        scales = {
            aspect: calibrated(
                predicted[dev], self.ratings.mean(aspect)[dev], codes, self.ends[aspect], how.calibration, how.coverage
            )
            for aspect, predicted in values.items()
        }
        ratings = {aspect: scales[aspect].rated(predicted) for aspect, predicted in values.items()}
        cut = states[:, -1].astype(int).reshape(-1, len(dev))
        log_odds = None if job.yes_no is None else applied[:, job.yes_no]
        return FittedRegression(head.model_copy(update={"scales": scales}), ratings, folder, cut, scores, log_odds)

    def _targets(self) -> tuple[Floats, tuple[str, ...]]:
        """Return the targets and the aspect of each output.

        The targets have shape (rows, outputs); ratings are scaled to the range from 0 to 1.
        """
        columns: list[Floats] = []
        names: list[str] = []
        for aspect in self.ratings.aspects:
            low, high = self.ends[aspect]
            votes = self.ratings.votes[aspect]
            for column in votes if self.how.annotators == "separate" else [self.ratings.mean(aspect)]:
                if np.isnan(column[self.rows["train"]]).all():
                    continue
                columns.append((column - low) / (high - low))
                names.append(aspect)
        if self.prompts:
            return np.concatenate(columns)[:, None], ("rating",)
        if self.how.span_free:
            columns.append(self.ratings.span_free)
            names.append(SPAN_FREE)
        return np.stack(columns, axis=1), tuple(names)

    def _states(self, opened: LoadedModel, work: Work, show: Progress) -> Floats:
        """Return the pooled states of all rows, with the number of truncated tokens in the last column."""
        usage = Usage()
        pairs = self.ratings.pairs
        show.start(len(pairs))
        # Summaries of the same document are adjacent, so that it is encoded once.
        order = np.argsort(self.ratings.document_codes, kind="stable")

        def compute(rows: range) -> Floats:
            inputs = framed([pairs[row] for row in order[rows]], self.prompts)
            pool = self.how.usual_pool
            return np.stack([pooled_states(opened, texts, pool, usage, framing) for framing, texts in inputs], axis=1)

        ordered = work.rows("states", len(pairs), compute, show=show)
        states = np.empty_like(ordered)
        states[order] = ordered
        return np.concatenate([states[:, prompt] for prompt in range(states.shape[1])])

    def _head(
        self, job: Job, states: Floats, work: Work, show: Progress
    ) -> tuple[tuple[Layer, ...], Scores | None]:  # fmt: skip
        if self.how.head == "mlp":
            return train_head(job, states, work, show)
        rated = np.arange(len(job.outputs)) != job.yes_no
        layer, _ = ridge(states, job.targets[:, rated], job.train, job.dev)
        if job.yes_no is not None:
            yes_no = logistic(states, job.targets[:, job.yes_no], job.train, job.dev)
            layer = Layer(np.hstack([layer.weight, yes_no.weight]), np.append(layer.bias, yes_no.bias))
        return (layer,), None


class FittedRegression(NamedTuple):
    """A fitted judge.

    `ratings` holds the judge's ratings of all summaries by aspect. `folder` contains the backbone. `cut` holds the
    numbers of truncated tokens in an array of shape (inputs per summary, summaries). `scores` holds the scores on dev
    by epoch, or is None if no network was trained. `span_free` holds the log-odds of all summaries from the yes/no
    output, or is None without such an output.
    """

    head: RegressionHead
    ratings: Mapping[str, Floats]
    folder: Path
    cut: Any
    scores: Scores | None
    span_free: Floats | None


def _card(task: RegressionTask, fitted: FittedRegression, listed: Sequence[Figure]) -> dict[str, Any]:
    how, ratings = task.how, task.ratings
    looked_at = "test" if task.test else "dev"
    backbone = task.backbone.model
    cut = fitted.cut
    scores = [-2.0 if score is None else score for score in fitted.scores or ()]  # lower than any correlation
    common = card_of(task, task.rows[looked_at], listed)
    data = {
        "citation": task.data.card.citation,
        "annotators": {aspect: len(ratings.annotators(aspect)) for aspect in ratings.aspects},
    }
    return {
        **common,
        "kind": "regression",
        "input": how.input, "mode": how.mode, "head": how.usual_head, "pool": how.usual_pool,
        "settings": how.model_dump(mode="json", exclude={"data", "backbone", "preset", "map", "aspect_file"}),
        "data": {**common["data"], **data},
        "backbone": {
            "name": backbone.name, "revision": backbone.revision, "hash": backbone.digest,
            "licence": _licence(backbone.folder),
        },
        "split": {**common["split"], "near_duplicates": sum(map(len, task.partition.groups))},
        "max_tokens": fitted.head.max_tokens,
        "cut": {"summaries": int((cut > 0).any(axis=0).sum()), "tokens": int(cut.sum())},
        "dev": {"scores": fitted.scores, "best_epoch": scores.index(max(scores)) + 1} if scores else None,
        "scales": {
            aspect: scale.model_dump(exclude={"outputs", "ratings"}) for aspect, scale in fitted.head.scales.items()
        },
        "looked_at": looked_at,
    }  # fmt: skip


def _licence(folder: Path) -> str | None:
    """Return the licence of a backbone, or None if it is not stated.

    The licence is read from the backbone's config, or else from the first lines of its README.md.
    """
    licence = maybe_json(folder / "config.json").get("license")
    card = folder / "README.md"
    if licence is None and card.is_file():
        for line in card.read_text("utf-8", "replace").splitlines()[:40]:
            key, colon, value = line.partition(":")
            if key.strip() == "license" and colon:
                return value.strip() or None
    return None if licence is None else str(licence)
