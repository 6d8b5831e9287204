"""TRAINING: judges and networks fitted to people's labels, each kind one module, all in one frame.

`train` reads one file of settings, checks everything before any work, keeps checkpoints, and writes a folder with a
card, whole or not at all.
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
