"""What a provider's factory is told beside the model's name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

TIMEOUT = 120.0
MAX_CONNECTIONS = 16


@dataclass(frozen=True)
class Options:
    """`timeout`: seconds a call may take in all. `environ`: where keys and addresses are looked up."""

    base_url: str | None = None
    timeout: float = TIMEOUT
    max_connections: int = MAX_CONNECTIONS
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
