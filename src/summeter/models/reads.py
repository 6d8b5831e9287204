"""How much the models of a run read, asked of the servers that know: once a run, and never a reason to fail."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol, runtime_checkable

from summeter.models.base import LLM
from summeter.models.contexts import known_context
from summeter.models.providers.options import TIMEOUT
from summeter.models.resolve import resolve
from summeter.records import ModelError, UsageError

PATIENCE = 5.0
"""Seconds for an answer; a model that has to be loaded first has a whole call's time."""


class Reads(NamedTuple):
    """`tokens` a model reads and writes together, or None; `said` is by whom, or why nobody says."""

    tokens: int | None
    said: str


class Asking(NamedTuple):
    """How servers are asked: at `base_url` where one is given, loading their models if need be (`load`), within
    `timeout` seconds for that; `environ` stands in for the process's own."""

    base_url: str | None = None
    load: bool = True
    timeout: float = TIMEOUT
    environ: Mapping[str, str] | None = None


@runtime_checkable
class Telling(Protocol):
    """An LLM whose server may say how much it reads."""

    def asks(self) -> str | None:
        """How it is asked: the name of a way, or None where there is none."""
        ...

    async def reads(self, *, load: bool) -> int | None:
        """The tokens; None where the server does not say. Raises as a call does."""
        ...


async def reads(models: Iterable[str], how: Asking | None = None) -> dict[str, Reads]:
    """How much each model reads: hosted ones by the table, others as their servers say. Nothing of the data is sent.

    What went wrong (a server that is down, a missing key) is told in `said` and raises nothing; so is it told of a
    model that the table does not know and nobody can be asked about. Only scripted ones, which read whatever they are
    shown, are left out.
    """
    wanted = [model for model in dict.fromkeys(models) if not model.startswith("scripted/")]
    found = await asyncio.gather(*(_one(model, how or Asking()) for model in wanted))
    return dict(zip(wanted, found, strict=True))


async def _one(model: str, how: Asking) -> Reads:
    known = known_context(model)
    if known is not None and not model.startswith("openrouter/"):
        return Reads(known, "its vendor")
    try:
        asked = await _asked(model, how)
    except (ModelError, UsageError) as error:
        asked = Reads(None, str(error))
    return Reads(known, "its vendor") if known is not None and asked.tokens is None else asked


async def _asked(model: str, how: Asking) -> Reads:
    llm = resolve(model, base_url=how.base_url, timeout=how.timeout, environ=how.environ)
    way = llm.asks() if isinstance(llm, Telling) else None
    if way is None or not isinstance(llm, Telling):
        await llm.close()
        return Reads(None, f"it is in no table of summeter's, and {model.partition('/')[0]} cannot be asked")
    try:
        async with asyncio.timeout(how.timeout if how.load and way == "ollama" else min(PATIENCE, how.timeout)):
            tokens = await llm.reads(load=how.load)
    except TimeoutError as error:
        raise ModelError(f"{_address(llm)} did not answer in time") from error
    finally:
        await llm.close()
    if tokens is not None:
        return Reads(tokens, f"the server at {_address(llm)}")
    waits = " before the model is loaded" if way == "lmstudio" or (way == "ollama" and not how.load) else ""
    return Reads(None, f"the server at {_address(llm)} does not say{waits}")


def _address(llm: LLM) -> str:
    return str(getattr(llm, "address", llm.id))
