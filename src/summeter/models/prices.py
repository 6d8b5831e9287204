"""What tokens cost: the vendors' list prices from the package genai-prices, which a user's own file overrides.

The data are those in the installed package; nothing is looked up on the network. It has a price for batches for some
models only, in 0.2.3 half of the usual one for each, as the vendors say for all their models: half is taken.
"""

from __future__ import annotations

import datetime
import fnmatch
import os
import re
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Self

from pydantic import Field, ValidationError

from summeter.records import InputError, Message, Parameter, Record, faults_in

MILLION = 1_000_000
VENDORS = {
    "openai": "openai",
    "anthropic": "anthropic",
    "google": "google",
    "mistral": "mistral",
    "openrouter": "openrouter",
    "bedrock": "aws",
}
"""Providers whose models genai-prices knows, by the names it has for them. An Azure deployment has its owner's name."""
FREE = frozenset({"ollama", "vllm", "llamacpp", "lmstudio", "scripted"})
"""Providers of models that you serve yourself: no money per token, by declaration."""
# In a user's file a dated snapshot costs what its model costs, unless it is listed itself.
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
    """What a model costs; `date` is when that was so, None for a price of genai-prices. `long` are other rates for
    long prompts, where the vendor has such. `batch` is the share of it that a call in a batch costs."""

    long: LongRates | None = None
    batch: float = Field(default=0.5, ge=0, le=1)
    date: datetime.date | None = None

    @property
    def source(self) -> str:
        """Where the price is from: the date of a user's own, or the version of genai-prices."""
        if self.date is not None:
            return self.date.isoformat()
        return "free" if self.free else f"genai-prices {version('genai-prices')}"

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
    """Prices by model string: a user's `own`, then the list prices. What nobody knows is None, never 0."""

    def __init__(self, own: Mapping[str, Price]) -> None:
        self._own = dict(own)

    def of(self, model: str, *, batched: bool = False) -> Price | None:
        """The price of a model string: its own, that of its undated name, that of a pattern with `*`, its list price;
        of calls in batches where they are `batched`."""
        names = [name for name in (model, _SNAPSHOT.sub("", model)) if name in self._own]
        patterns = [name for name in self._own if "*" in name and fnmatch.fnmatchcase(model, name)]
        names += sorted(patterns, key=len, reverse=True)
        price = self._own[names[0]] if names else _list_price(model)
        return price.batched if batched and price is not None else price

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
    """List prices, overridden by `file`, else by the user's own file where there is one.

    A file that is not as described in docs/running.md is an InputError.
    """
    own = Path(file) if file is not None else default_file()
    return Prices(_read(own) if file is not None or own.is_file() else {})


@cache
def _list_price(model: str) -> Price | None:
    """The vendor's list price today; None for a model that is not sold by the token, or at several thresholds."""
    provider, _, name = model.partition("/")
    if provider in FREE:
        return Price(input=0, output=0)
    if provider not in VENDORS:
        return None
    # Imported here: it takes .15 s, mostly for an HTTP client that is not used.
    from genai_prices import Usage, calc_price
    from genai_prices.types import TieredPrices

    try:
        listed = calc_price(Usage(), name, provider_id=VENDORS[provider]).model_price
    except LookupError:
        return None
    usual, long, above = {}, {}, set()
    for ours, theirs in (
        ("input", "input"),
        ("cached", "cache_read"),
        ("written", "cache_write"),
        ("output", "output"),
    ):
        rate = getattr(listed, f"{theirs}_mtok")
        tiers = rate.tiers if isinstance(rate, TieredPrices) else []
        above |= {tier.start for tier in tiers}
        if rate is not None:
            usual[ours] = float(rate.base if isinstance(rate, TieredPrices) else rate)
            long[ours] = float(tiers[-1].price) if tiers else usual[ours]
    if not usual.keys() >= {"input", "output"} or len(above) > 1:
        return None
    return Price(**usual, long=LongRates(**long, above=above.pop()) if above else None)


def _read(path: Path) -> dict[str, Price]:
    """A user's own prices, by model string or pattern."""
    from summeter.data.mapping import parse_yaml

    try:
        table = parse_yaml(path.read_text("utf-8"), path)
    except FileNotFoundError as error:
        raise InputError.at(path, None, None, "there is no such file of prices") from error
    except (OSError, UnicodeDecodeError) as error:
        raise InputError.at(path, None, None, f"cannot be read: {error}") from error
    models = table.get("models") if isinstance(table, dict) else None
    if not isinstance(models, dict):
        raise InputError.at(path, None, "models", "is missing: write `models:` and below it `PROVIDER/MODEL: {...}`")
    own = {}
    for name, row in models.items():
        if not isinstance(row, dict):
            raise InputError.at(path, None, str(name), "must be {input: USD, output: USD}, per million tokens")
        fields = {"date": table.get("date"), **row}
        if fields["date"] is None:
            raise InputError.at(path, None, f"{name}: date", "give the day it was so, here or for the whole file")
        try:
            own[str(name)] = Price.model_validate(fields)
        except ValidationError as error:
            faults = faults_in(path, None, error)
            raise InputError([fault._replace(field=f"{name}: {fault.field}") for fault in faults]) from error
    return own
