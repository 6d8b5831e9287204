"""Networks of folders, and what they answer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

from summeter.models.local.load import local_network
from summeter.models.local.loaded_model import open_model
from summeter.models.local.network import LocalNetwork
from summeter.models.networks import NetworkRequest

T = TypeVar("T")


def network(folder: Path | str, head: Any = "classifier", **more: Any) -> LocalNetwork:
    """The network of a folder, whose name settings may follow."""
    return local_network(open_model(f"local/{folder}", head), **more)


def ask(network: LocalNetwork, requests: Iterable[NetworkRequest[T]]) -> list[T]:
    """The results of requests."""
    return asyncio.run(network.ask(list(requests)))
