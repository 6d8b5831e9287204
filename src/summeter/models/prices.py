"""What tokens cost: a dated table that comes with the package, which a user's own file overrides."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Mapping
from datetime import date
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Self

from pydantic import Field, ValidationError

from summeter.records import InputError, Message, Parameter, Record

MILLION = 1_000_000
# A dated snapshot costs what its model costs, unless the table says otherwise. Not so "latest", whose model changes.
_SNAPSHOT = re.compile(r"[-@](\d{4}-\d{2}-\d{2}|\d{8}|00\d)$")


class Rates(Record):
    """US dollars per million tokens: of the prompt, of prompt tokens that come from the provider's cache or are written
    into it (as `input` where nothing is said), of the reply."""

    input: float = Field(ge=0)
    cached: float | None = Field(default=None, ge=0)
    written: float | None = Field(default=None, ge=0)
    output: float = Field(ge=0)

    def times(self, share: float) -> Self:
        """The same at a share of the price."""
        rates = {name: getattr(self, name) for name in ("input", "cached", "written", "output")}
        return self.model_copy(update={name: rate * share for name, rate in rates.items() if rate is not None})


class LongRates(Rates):
    """The rates of calls whose prompt has more than `above` tokens: they hold for every token of such a call."""

    above: int = Field(ge=1)


ADDED_WITH = Parameter("prices", "FILE")
"""How a price that is missing is added."""


class Price(Rates):
    """What a model costs; `date` is when that was so. `long` are other rates for long prompts, where the vendor has
    such. `batch` is the share of it that a call in a batch costs: half, as OpenAI and Anthropic have it for all their
    models."""

    long: LongRates | None = None
    batch: float = Field(default=0.5, ge=0, le=1)
    date: date

    @property
    def free(self) -> bool:
        """Whether nothing costs anything, so that tokens need not be known."""
        dear = self.long is not None and (self.long.input or self.long.output)
        return self.input == self.output == 0 and not dear

    @property
    def batched(self) -> Price:
        """The price of calls in batches."""
        long = None if self.long is None else self.long.times(self.batch)
        return self.times(self.batch).model_copy(update={"long": long})

    def cost(self, tokens_in: int, tokens_out: int, cached: int = 0, written: int = 0) -> float:
        """US dollars for one call; `cached` of its `tokens_in` came from the provider's cache, `written` of the rest
        went into it.

        >>> Price(input=2.0, cached=0.5, output=10.0, date="2026-01-31").cost(1_000_000, 100_000, 400_000)
        2.4
        """
        rates: Rates = self if self.long is None or tokens_in <= self.long.above else self.long
        cached = min(cached, tokens_in)
        written = min(written, tokens_in - cached)
        parts = (
            (tokens_in - cached - written, rates.input), (tokens_out, rates.output),
            (cached, rates.input if rates.cached is None else rates.cached),
            (written, rates.input if rates.written is None else rates.written),
        )  # fmt: skip
        return sum(tokens * rate for tokens, rate in parts) / MILLION


class Prices:
    """Prices by model string. What costs nothing by declaration is 0; what the table does not know is None."""

    def __init__(self, models: Mapping[str, Price]) -> None:
        self._models = dict(models)

    def of(self, model: str, *, batched: bool = False) -> Price | None:
        """The price of a model string: its own, that of its undated name, or that of a pattern with `*`; of calls in
        batches where they are `batched`."""
        price = self._find(model)
        return price.batched if batched and price is not None else price

    def _find(self, model: str) -> Price | None:
        for name in (model, _SNAPSHOT.sub("", model)):
            if name in self._models:
                return self._models[name]
        patterns = [name for name in self._models if "*" in name and fnmatch.fnmatchcase(model, name)]
        return self._models[max(patterns, key=len)] if patterns else None

    def why(self, model: str) -> Message | None:
        """Why there is no price for a model, and what to do; None where there is one."""
        if self.of(model) is not None:
            return None
        return Message(f"no price for {model}; add it with ", ADDED_WITH)


def default_file(environ: Mapping[str, str] | None = None) -> Path:
    """Where a user's own prices are looked for: summeter/prices.yaml in the configuration folder (XDG)."""
    environ = os.environ if environ is None else environ
    base = environ.get("XDG_CONFIG_HOME") or str(Path(environ.get("HOME") or "~").expanduser() / ".config")
    return Path(base) / "summeter" / "prices.yaml"


def prices(file: str | Path | None = None) -> Prices:
    """The package's table, overridden by `file`, else by the user's own file where there is one.

    A file that is not as described in docs/running.md is an InputError.
    """
    own = Path(file) if file is not None else default_file()
    known = dict(_shipped())
    if file is not None or own.is_file():
        known |= _read(own)
    return Prices(known)


@cache
def _shipped() -> Mapping[str, Price]:
    text = resources.files("summeter.models").joinpath("prices.yaml").read_text("utf-8")
    return _parse(text, "prices.yaml")


def _read(path: Path) -> dict[str, Price]:
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError as error:
        raise InputError.at(path, None, None, "there is no such file of prices") from error
    except (OSError, UnicodeDecodeError) as error:
        raise InputError.at(path, None, None, f"cannot be read: {error}") from error
    return _parse(text, path)


def _parse(text: str, path: str | Path) -> dict[str, Price]:
    from summeter.data.mapping import parse_yaml

    table = parse_yaml(text, Path(path))
    models = table.get("models") if isinstance(table, dict) else None
    if not isinstance(models, dict):
        raise InputError.at(path, None, "models", "is missing: write `models:` and below it `PROVIDER/MODEL: {...}`")
    return {str(name): _price(row, table.get("date"), path, str(name)) for name, row in models.items()}


def _price(row: Any, dated: Any, path: str | Path, name: str) -> Price:
    if not isinstance(row, dict):
        raise InputError.at(path, None, name, "must be {input: USD, output: USD}, per million tokens")
    try:
        return Price.model_validate({"date": dated, **row})
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        what = "give the day it was so, here or for the whole file" if field == "date" else first["msg"]
        raise InputError.at(path, None, f"{name}: {field}", what) from error
