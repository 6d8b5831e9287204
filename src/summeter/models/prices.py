"""Token prices: the vendors' list prices, overridden by the user's price file.

The list prices are those of the package genai-prices; they are included in the installed package; nothing is looked up
on the network. Calls in batches cost half the usual price, as the vendors state for all their models; genai-prices
(0.2.3) lists batch prices for some models only.
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
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, model_validator

from summeter.records import Message, Parameter, Record

MILLION = 1_000_000
VENDORS = {
    "openai": "openai",
    "anthropic": "anthropic",
    "google": "google",
    "mistral": "mistral",
    "openrouter": "openrouter",
    "bedrock": "aws",
}
"""Providers whose models genai-prices lists, with the names that it uses for them. Azure is absent, since its users
choose the names of their deployments."""
FREE = frozenset({"ollama", "vllm", "llamacpp", "lmstudio", "scripted"})
"""Providers of self-hosted models, which cost nothing per token."""
# In a price file, a dated snapshot has the price of its model unless the snapshot itself is listed.
_SNAPSHOT = re.compile(r"[-@](\d{4}-\d{2}-\d{2}|\d{8}|00\d)$")


class Rates(Record):
    """Rates in US dollars per million tokens of the prompt (`input`) and of the reply (`output`).

    `cached` and `written` are the rates for prompt tokens that are read from and written to the provider's cache; None
    stands for the rate `input`.
    """

    input: float = Field(ge=0)
    cached: float | None = Field(default=None, ge=0)
    written: float | None = Field(default=None, ge=0)
    output: float = Field(ge=0)

    def times(self, share: float) -> Self:
        """Return the rates multiplied by `share`."""
        rates = {name: getattr(self, name) for name in ("input", "cached", "written", "output")}
        return self.model_copy(update={name: rate * share for name, rate in rates.items() if rate is not None})


class LongRates(Rates):
    """The rates for all tokens of a call whose prompt has more than `above` tokens."""

    above: int = Field(ge=1)


ADDED_WITH = Parameter("prices", "FILE")
"""The option that adds a missing price."""


class Price(Rates):
    """The price of a model.

    `long` holds the rates for long prompts, or None if they do not differ. `batch` is the fraction of the price that is
    charged for a call in a batch. `date` is the date of the price in a user's file, or None for a price from
    genai-prices.
    """

    long: LongRates | None = None
    batch: float = Field(default=0.5, ge=0, le=1)
    date: datetime.date | None = None

    @property
    def source(self) -> str:
        """The source of the price: the date of a user's price, "free", or the version of genai-prices."""
        if self.date is not None:
            return self.date.isoformat()
        return "free" if self.free else f"genai-prices {version('genai-prices')}"

    @property
    def free(self) -> bool:
        """Whether all calls are free of charge, so that token counts are not needed."""
        charged = self.long is not None and (self.long.input or self.long.output)
        return self.input == self.output == 0 and not charged

    @property
    def batched(self) -> Price:
        """The price for calls in batches."""
        long = None if self.long is None else self.long.times(self.batch)
        return self.times(self.batch).model_copy(update={"long": long})

    def cost(self, tokens_in: int, tokens_out: int, cached: int = 0, written: int = 0) -> float:
        """Return the cost of one call in US dollars.

        `cached` and `written` say how many of the `tokens_in` were read from and written to the provider's cache.

        >>> Price(input=2.0, cached=0.5, output=10.0, date="2026-01-31").cost(1_000_000, 100_000, 400_000)
        2.4
        """
        rates: Rates = self if self.long is None or tokens_in <= self.long.above else self.long
        cached = min(cached, tokens_in)
        written = min(written, tokens_in - cached)
        charged = (
            (tokens_in - cached - written, rates.input), (tokens_out, rates.output),
            (cached, rates.input if rates.cached is None else rates.cached),
            (written, rates.input if rates.written is None else rates.written),
        )  # fmt: skip
        return sum(tokens * rate for tokens, rate in charged) / MILLION


def _dated(price: Price) -> Price:
    if price.date is None:
        raise ValueError("give the date of the price, here or for the file")
    return price


class PriceFile(Record):
    """A user's price file; a price without a `date` of its own has that of the file."""

    date: datetime.date | None = None
    models: dict[str, Annotated[Price, AfterValidator(_dated)]]

    @model_validator(mode="before")
    @classmethod
    def _date_rows(cls, file: Any) -> Any:
        if not isinstance(models := file.get("models"), dict):
            return file
        dated = {
            name: {"date": file.get("date"), **row} if isinstance(row, dict) else row for name, row in models.items()
        }
        return {**file, "models": dated}


class Prices:
    """Prices by model string: those in a user's file (`overrides`), or else the list prices."""

    def __init__(self, overrides: Mapping[str, Price]) -> None:
        self._overrides = dict(overrides)

    def of(self, model: str, *, batched: bool = False) -> Price | None:
        """Return the price of a model string, or None if it is unknown.

        With `batched`, this is the price for calls in batches.

        An entry for the model itself takes precedence, followed by an entry for its undated name, a pattern with `*`,
        and the list price.
        """
        names = [name for name in (model, _SNAPSHOT.sub("", model)) if name in self._overrides]
        patterns = [name for name in self._overrides if "*" in name and fnmatch.fnmatchcase(model, name)]
        names += sorted(patterns, key=len, reverse=True)
        price = self._overrides[names[0]] if names else _list_price(model)
        return price.batched if batched and price is not None else price

    def why(self, model: str) -> Message | None:
        """Return a message that the model has no price and how to add it.

        Returns None if the model has a price.
        """
        if self.of(model) is not None:
            return None
        return Message(f"no price for {model}; add it with ", ADDED_WITH)


def default_file() -> Path:
    """Return the default path of the user's price file: summeter/prices.yaml in the XDG configuration folder."""
    base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(base) / "summeter" / "prices.yaml"


def prices(file: str | Path | None = None) -> Prices:
    """Return the list prices, overridden by `file`, or else by the user's default price file if it exists.

    Raises InputError if the file does not have the format described in docs/running.md.
    """
    path = Path(file) if file is not None else default_file()
    if file is None and not path.is_file():
        return Prices({})
    from summeter.data.mapping import read_model

    return Prices(read_model(path, PriceFile, "write `models:` and below it `PROVIDER/MODEL: {...}`").models)


@cache
def _list_price(model: str) -> Price | None:
    """Return the vendor's current list price, or None if it is unknown or has several prompt-length thresholds."""
    provider, _, name = model.partition("/")
    if provider in FREE:
        return Price(input=0, output=0)
    if provider not in VENDORS:
        return None
    # Imported here: the import takes 0.15 s, mostly for an unused HTTP client.
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
