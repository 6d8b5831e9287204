"""What a caller may choose about a run, beside the data, the evaluators and the models."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from pydantic import Field, field_validator

from summeter.models.structured import Overflow
from summeter.records import Record

ALL = "*"
"""Stands for every role."""


class Options(Record):
    """Choices of one run, all with defaults that suit most.

    `limit` judges only the first so many documents (with all their summaries). `seed` draws the bootstrap,
    and is sent to the models when given. `temperature` None leaves it to the provider. `max_reply` is the longest
    reply in tokens. `repeats` asks every evaluator that asks a model so many times, as independent samples.

    For each endpoint: `concurrency` is the number of connections (and of documents in flight), `rpm` and `tpm` the
    requests and tokens a minute. `timeout` ends one call, `item_timeout` one item with all its calls and retries,
    both in seconds. `max_cost` (US dollars, at the prices of the package and of the file `prices`) and `max_tokens`
    end the run before the call that would pass them; a run that is carried on counts on.

    `batch` sends every call through the vendor's batch API: at half the price, within a day. The limits and timeouts
    above are then the vendor's, all documents are in flight, and `item_timeout` cannot be kept.

    `offline` fetches no local model from the hub: it must be on this machine.

    `context` is how many tokens the models read and write together, by role (a number alone: of all roles);
    `on_overflow` what becomes of a document that does not fit (`summeter.evaluators.windows`).
    """

    limit: int | None = Field(default=None, ge=1)
    seed: int | None = None
    temperature: float | None = Field(default=0.0, ge=0)
    max_reply: int | None = Field(default=None, ge=1)
    repeats: int = Field(default=1, ge=1, le=100)
    concurrency: int = Field(default=16, ge=1)
    rpm: float | None = Field(default=None, ge=1)
    tpm: float | None = Field(default=None, ge=1)
    timeout: float = Field(default=120.0, gt=0)
    item_timeout: float | None = Field(default=None, gt=0)
    max_retries: int = Field(default=8, ge=0)
    max_cost: float | None = Field(default=None, gt=0)
    max_tokens: int | None = Field(default=None, ge=1)
    prices: str | None = None
    base_url: str | None = None
    batch: bool = False
    offline: bool = False
    context: dict[str, Annotated[int, Field(ge=1)]] = Field(default_factory=dict)
    on_overflow: Overflow = "window"

    @field_validator("context", mode="before")
    @classmethod
    def _of_all(cls, given: Any) -> Any:
        return {ALL: given} if isinstance(given, int) else given

    def context_of(self, role: str) -> int | None:
        """The context of the model in a role, where it was told."""
        return self.context.get(role, self.context.get(ALL))

    @property
    def sampling(self) -> dict[str, object]:
        """What stands in the signature of every evaluator that asks a model."""
        temperature = "default" if self.temperature is None else self.temperature
        contexts = ",".join(f"{tokens}" if role == ALL else f"{role}={tokens}" for role, tokens in self.context.items())
        overflow = None if self.on_overflow == "window" else self.on_overflow
        return {
            "t": temperature, "seed": self.seed, "max": self.max_reply, "ctx": contexts or None, "overflow": overflow,
        }  # fmt: skip


class OptionArgs(TypedDict, total=False):
    """`Options` as keyword arguments."""

    limit: int | None
    seed: int | None
    temperature: float | None
    max_reply: int | None
    repeats: int
    concurrency: int
    rpm: float | None
    tpm: float | None
    timeout: float
    item_timeout: float | None
    max_retries: int
    max_cost: float | None
    max_tokens: int | None
    prices: str | None
    base_url: str | None
    batch: bool
    offline: bool
    context: dict[str, int] | int
    on_overflow: Overflow
