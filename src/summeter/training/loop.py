"""The loop that trains a network: the same weights for the same seed, also where it was killed and carried on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from pydantic import Field

from summeter.data.atomic import writing
from summeter.engine.progress import Progress
from summeter.interrupt import checkpoint
from summeter.records import InstallError, ModelError, Record

if TYPE_CHECKING:
    import torch

SAVE_EVERY = 30.0
"""Seconds between checkpoints within an epoch; one is kept at the end of each."""
_ALIKE = 30  # batches among whose examples those of like size are sought


class Schedule(Record):
    """How a network is trained: AdamW, the learning rate rising over the share `warmup` of all steps and then falling
    to 0; after `patience` epochs that do not do better on dev the best weights are taken. `average`: a running mean of
    the weights, which keeps this share of itself at each step, is scored on dev and taken (0: the weights themselves).
    """

    epochs: int = Field(default=10, ge=1)
    batch: int = Field(default=16, ge=1)
    learning_rate: float = Field(default=2e-5, gt=0)
    weight_decay: float = Field(default=0.01, ge=0)
    warmup: float = Field(default=0.1, ge=0, lt=1)
    clip: float = Field(default=1.0, gt=0)
    patience: int = Field(default=3, ge=1)
    average: float = Field(default=0.0, ge=0, lt=1)


class Fitted(NamedTuple):
    """How a training went: the score on dev after each epoch (None: undefined), and the best epoch, from 1."""

    scores: tuple[float | None, ...]
    best: int


def need_torch() -> None:
    """InstallError where torch, transformers or peft is missing."""
    try:
        import peft  # noqa: F401 - only whether it is there
        import torch  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as error:
        raise InstallError.missing(error.name or "torch", "train") from error


def seeded(seed: int) -> None:
    """Let torch draw from `seed`, and take only operations that give the same result every time, where there are."""
    import torch

    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(mode=True, warn_only=True)


def batches_of(examples: int, batch: int, seed: int, epoch: int, sizes: Sequence[int] | None = None) -> list[list[int]]:
    """The examples of an epoch in batches, by number; with `sizes` those of like size together, so that little is
    padding."""
    rng = np.random.default_rng([seed, epoch])
    order: list[int] = rng.permutation(examples).tolist()
    if sizes is not None:
        many = batch * _ALIKE
        drawn = (order[start : start + many] for start in range(0, examples, many))
        order = [at for some in drawn for at in sorted(some, key=lambda at: sizes[at])]
    batches = [order[start : start + batch] for start in range(0, examples, batch)]
    return batches if sizes is None else [batches[at] for at in rng.permutation(len(batches)).tolist()]


def fit(
    network: torch.nn.Module,
    examples: int,
    loss: Callable[[Sequence[int]], torch.Tensor],
    score: Callable[[], float | None],
    how: Schedule,
    *,
    seed: int,
    state: Path,
    show: Progress,
    rate_of: Callable[[str], float] | None = None,
    sizes: Sequence[int] | None = None,
) -> Fitted:
    """Train the parameters of `network` that require gradients, and leave the best ones in it.

    `loss` gives that of a batch of examples by number, `score` the network's score on dev (higher is better; None: it
    has none, and is worse than any), asked after each epoch with the network in evaluation mode. The file `state` holds
    the last checkpoint, from which an interrupted training goes on with the same numbers. `rate_of` says how many times
    the learning rate a parameter of a name learns at; `sizes` are those of the examples (`batches_of`).
    ModelError where the loss is no number.
    """
    import torch

    run = _Run(network, examples, how, seed, state, rate_of or (lambda _: 1.0))
    run.load()
    total = how.epochs * run.steps
    show.start(total)
    for _ in range(run.epoch * run.steps + run.step):
        show.advance(ok=True)
    saved = time.monotonic()
    while run.epoch < how.epochs and run.waited < how.patience:
        network.train()
        batches = batches_of(examples, how.batch, seed, run.epoch, sizes)
        while run.step < run.steps:
            checkpoint()
            current = loss(batches[run.step])
            if not bool(torch.isfinite(current)):
                raise ModelError(
                    f"the loss is {float(current.detach())} at step {run.epoch * run.steps + run.step + 1}; try a "
                    f"learning_rate below {how.learning_rate:g}"
                )
            run.advance(current)
            show.advance(ok=True)
            if time.monotonic() - saved > SAVE_EVERY:
                run.save()
                saved = time.monotonic()
        network.eval()
        with run.averaged(), torch.inference_mode():
            run.ended(score())
        shown = run.scores[-1]
        show.note(f"epoch {run.epoch}: dev {'undefined' if shown is None else f'{shown:.3f}'}")
        run.save()
    run.restore_best()
    network.eval()
    return Fitted(tuple(run.scores), run.best_epoch)


class _Run:
    """A training on its way: everything that decides what comes next, in one state that can be stored."""

    def __init__(
        self, network: torch.nn.Module, examples: int, how: Schedule, seed: int, file: Path,
        rate_of: Callable[[str], float],
    ) -> None:  # fmt: skip
        import torch

        self.network, self.file, self.how = network, file, how
        self.steps = -(-examples // how.batch)
        self.epoch = self.step = self.waited = self.best_epoch = 0
        self.scores: list[float | None] = []
        self.best: dict[str, torch.Tensor] | None = None
        self._trained = {name: weights for name, weights in network.named_parameters() if weights.requires_grad}
        averaged = self._trained if how.average else {}
        self._average = {name: weights.detach().clone() for name, weights in averaged.items()}
        self._times = [rate_of(name) for name in self._trained]
        groups = [{"params": [weights]} for weights in self._trained.values()]
        self._optimizer = torch.optim.AdamW(groups, lr=how.learning_rate, weight_decay=how.weight_decay)
        torch.manual_seed(seed)

    def rate(self) -> float:
        """The share of the learning rate at this step."""
        total = self.how.epochs * self.steps
        rising = max(1, round(self.how.warmup * total))
        at = self.epoch * self.steps + self.step
        return (at + 1) / rising if at < rising else max(0.0, (total - at) / max(1, total - rising))

    def advance(self, loss: torch.Tensor) -> None:
        """One step down."""
        import torch

        for group, times in zip(self._optimizer.param_groups, self._times, strict=True):
            group["lr"] = self.how.learning_rate * self.rate() * times
        self._optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._trained.values(), self.how.clip)
        self._optimizer.step()
        self.step += 1
        # The first weights count little: their share is that of a mean of as many steps.
        kept = min(self.how.average, (run := self.epoch * self.steps + self.step) / (run + 9))
        for name, mean in self._average.items():
            mean.lerp_(self._trained[name].detach(), 1 - kept)

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """The mean weights in the network for a while, where there are any."""
        import torch

        with torch.no_grad():
            own = {name: self._trained[name].detach().clone() for name in self._average}
            for name, mean in self._average.items():
                self._trained[name].copy_(mean)
        try:
            yield
        finally:
            with torch.no_grad():
                for name, weights in own.items():
                    self._trained[name].copy_(weights)

    def ended(self, score: float | None) -> None:
        """An epoch has ended with a score on dev."""
        known = [value for value in self.scores if value is not None]
        better = self.best is None or (score is not None and (not known or score > max(known)))
        self.scores.append(score)
        self.epoch, self.step = self.epoch + 1, 0
        self.waited = 0 if better else self.waited + 1
        if better:
            self.best_epoch = self.epoch
            self.best = {name: weights.detach().clone() for name, weights in self._trained.items()}

    def restore_best(self) -> None:
        """The best weights, in the network."""
        import torch

        with torch.no_grad():
            for name, weights in (self.best or {}).items():
                self._trained[name].copy_(weights)

    def save(self) -> None:
        """Keep all of it, whole or not at all."""
        import torch

        state: dict[str, Any] = {
            "epoch": self.epoch, "step": self.step, "waited": self.waited, "best_epoch": self.best_epoch,
            "scores": self.scores, "best": self.best, "optimizer": self._optimizer.state_dict(),
            "weights": {name: weights.detach() for name, weights in self._trained.items()}, "average": self._average,
            "random": torch.get_rng_state(),
        }  # fmt: skip
        with writing(self.file) as handle:
            torch.save(state, handle)

    def load(self) -> None:
        """Go on from what was kept, if anything was."""
        import torch

        if not self.file.is_file():
            return
        state = torch.load(self.file, weights_only=True)
        for name in ("epoch", "step", "waited", "best_epoch", "scores", "best"):
            setattr(self, name, state[name])
        self._average = state["average"]
        self._optimizer.load_state_dict(state["optimizer"])
        with torch.no_grad():
            for name, weights in state["weights"].items():
                self._trained[name].copy_(weights)
        torch.set_rng_state(state["random"])
