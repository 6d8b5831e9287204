"""What a caller may choose about a run, beside the data, the evaluators and the models."""

from __future__ import annotations

from typing import TypedDict

from pydantic import Field

from summeter.records import Record


class Options(Record):
    """Choices of one run, all with defaults that suit most.

    `limit` judges only the first so many documents (with all their summaries). `seed` draws the bootstrap,
    and is sent to the models when given. `temperature` None leaves it to the provider. `concurrency` is the
    number of documents in flight and of connections an endpoint. `timeout` ends one call, in seconds.
    """

    limit: int | None = Field(default=None, ge=1)
    seed: int | None = None
    temperature: float | None = Field(default=0.0, ge=0)
    max_tokens: int | None = Field(default=None, ge=1)
    concurrency: int = Field(default=16, ge=1)
    timeout: float = Field(default=120.0, gt=0)
    max_retries: int = Field(default=8, ge=0)
    base_url: str | None = None

    @property
    def sampling(self) -> dict[str, object]:
        """What stands in the signature of every evaluator that asks a model."""
        temperature = "default" if self.temperature is None else self.temperature
        return {"t": temperature, "seed": self.seed, "max": self.max_tokens}


class OptionArgs(TypedDict, total=False):
    """`Options` as keyword arguments."""

    limit: int | None
    seed: int | None
    temperature: float | None
    max_tokens: int | None
    concurrency: int
    timeout: float
    max_retries: int
    base_url: str | None
