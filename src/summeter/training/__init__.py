"""Train judges on human ratings.

A judge is a regression with a network or a fusion of the judgments of other evaluators. `train` reads a settings file,
checks the settings and the data before the training, writes checkpoints, and writes a folder with a card either
completely or not at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from summeter.lazy import attributes

if TYPE_CHECKING:
    from summeter.training.run import Outcome as Outcome
    from summeter.training.run import train as train

_HOMES = {"Outcome": "summeter.training.run", "train": "summeter.training.run"}

__all__ = ["Outcome", "train"]
__getattr__, __dir__ = attributes(__name__, _HOMES)
