"""How much the models of a run read, where the user did not say: asked once, and kept in the run.

A document that does not fit is shown in parts, so what a judge is asked hangs on this number. A replay and a run that
is carried on go by the number of the run before; a server that now reads less is handed no more than it reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from summeter.models.context_length import ContextLength, Lookup, context_lengths
from summeter.runs.manifest import ModelContext
from summeter.runs.run import MANIFEST, read_manifest

if TYPE_CHECKING:
    from summeter.engine.options import Options


async def contexts(
    models: Mapping[str, str], options: Options, folder: Path | None, *, replay: Path | None = None, load: bool = True
) -> dict[str, ModelContext]:  # fmt: skip
    """Model string -> what it reads, of the models (by role) whose context was not told.

    `folder` is the run that is carried on, if it is there; `replay` the one that answers, which nobody is asked about.
    With `load` a server may load its model to know. Nothing here fails a run.
    """
    wanted = dict.fromkeys(model for role, model in models.items() if options.context_of(role) is None)
    if replay is not None:
        recorded = _recorded(replay)
        return {model: recorded[model] for model in wanted if model in recorded}
    recorded = _recorded(folder) if folder is not None else {}
    asked = await context_lengths(wanted, Lookup(options.base_url, load, options.timeout))
    return {model: _settled(recorded.get(model), found) for model, found in asked.items()}


def _recorded(folder: Path) -> dict[str, ModelContext]:
    return dict(read_manifest(folder).contexts) if (folder / MANIFEST).exists() else {}


def _settled(before: ModelContext | None, now: ContextLength) -> ModelContext:
    if before is None or before.tokens is None:
        return ModelContext(tokens=now.tokens, said=now.said)
    if now.tokens is None or now.tokens >= before.tokens:
        return before
    return ModelContext(tokens=now.tokens, said=f"{now.said}, and it was {before.tokens:,} in an earlier session")
