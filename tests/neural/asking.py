"""Open networks in folders, and send them requests."""

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
    """Return the network in a folder; settings may follow its name."""
    return local_network(open_model(f"local/{folder}", head), **more)


def ask(network: LocalNetwork, requests: Iterable[NetworkRequest[T]]) -> list[T]:
    """Return the results of requests."""
    return asyncio.run(network.ask(list(requests)))
