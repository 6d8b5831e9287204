"""What a caller may choose about a run, beside the data, the evaluators and the models: the one list of these options.

`evaluate` and its kin take them as keywords, and show them in `help`; the command line makes its options of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from textwrap import dedent, fill
from typing import Annotated, Any, ParamSpec, TypedDict, TypeVar, get_type_hints

from pydantic import Field, ValidationError, field_serializer, field_validator

from summeter.models.structured import Overflow
from summeter.records import Parameter, Record, UsageError, nearest, problem_of
from summeter.records.addresses import BASE_URL, masked

P = ParamSpec("P")
R = TypeVar("R")

ALL = "*"
"""Stands for every role."""


class Options(Record):
    """Choices of one run, all with defaults that suit most. Made by `Options.of`, which explains what cannot be."""

    limit: int | None = Field(default=None, ge=1, description="Judge only the first N documents, with all summaries.")
    seed: int | None = Field(default=None, description="Seed of the bootstrap, and of the models where given.")
    temperature: float | None = Field(
        default=0.0, ge=0, le=10, description="Sampling temperature; none leaves it to the provider."
    )
    max_reply: int | None = Field(default=None, ge=1, description="Longest reply, in tokens.")
    repeats: int = Field(
        default=1,
        ge=1,
        le=100,
        description="Number of times that every LLM evaluator is asked, to measure how far it agrees with itself.",
    )
    concurrency: int = Field(default=16, ge=1, description="Calls (and documents) at a time.")
    rpm: float | None = Field(default=None, ge=1, description="Requests a minute, for each endpoint.")
    tpm: float | None = Field(default=None, ge=1, description="Tokens a minute, for each endpoint.")
    timeout: float = Field(default=120.0, gt=0, description="Timeout of a call, in seconds.")
    item_timeout: float | None = Field(
        default=None, gt=0, description="Seconds one summary may take an evaluator, retries included."
    )
    max_retries: int = Field(default=8, ge=0, description="Tries after the first, where trying again can help.")
    max_cost: float | None = Field(
        default=None,
        gt=0,
        description="Budget in US dollars: the run stops before the call that would exceed it, and can be resumed.",
    )
    max_tokens: int | None = Field(
        default=None,
        ge=1,
        description="Budget in tokens: the run stops before the call that would exceed it, and can be resumed.",
    )
    prices: str | None = Field(
        default=None, description="Your own prices (a YAML file), which take precedence over the bundled ones."
    )
    base_url: str | None = Field(
        default=None,
        repr=False,
        description="Address of an endpoint; several servers of one model, separated by commas, share its calls.",
    )
    context: dict[str, Annotated[int, Field(ge=1)]] = Field(
        default_factory=dict,
        description="How many tokens a model reads and writes in all: by role, or one number for all roles.",
    )
    on_overflow: Overflow = Field(
        default="window",
        description="A longer document: read in windows, cut (truncate), or not judged (error).",
    )
    batch: bool = Field(
        default=False,
        description="Send all calls through the vendor's batch API: half the price, within a day. May be stopped; "
        "the same again fetches the replies. Limits and timeouts are then the vendor's.",
    )
    offline: bool = Field(default=False, description="Take local models from this machine only, never from the hub.")

    @classmethod
    def of(cls, **given: Any) -> Options:
        """The options given as keywords. UsageError for one that is unknown (with the nearest name) or out of range."""
        for name in given:
            if name not in cls.model_fields:
                known = ", ".join(cls.model_fields)
                raise UsageError(f"there is no option {name!r}{nearest(name, cls.model_fields)}; options are: {known}")
        try:
            return cls(**given)
        except ValidationError as error:
            fault = error.errors()[0]
            name, *inner = map(str, fault["loc"])
            where = f"[{'.'.join(inner)!r}]" if inner else ""
            raise UsageError(Parameter(name), f"{where} {problem_of(fault)}") from error

    @field_validator("context", mode="before")
    @classmethod
    def _of_all(cls, given: Any) -> Any:
        return {ALL: given} if isinstance(given, int) else given

    @field_serializer("base_url")
    def _shown(self, base_url: str | None) -> Any:
        return masked({BASE_URL: base_url})[BASE_URL]

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
            "t": temperature,
            "seed": self.seed,
            "max": self.max_reply,
            "ctx": contexts or None,
            "overflow": overflow,
        }


class OptionArgs(TypedDict, total=False):
    """The types of `Options` as keyword arguments, for type checkers: a test holds the two together."""

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


def with_options(function: Callable[P, R]) -> Callable[P, R]:
    """Show the options in the signature and the help of a function that takes them as keywords (`OptionArgs`)."""
    fields, hints = Options.model_fields, get_type_hints(OptionArgs)
    parameters = inspect.signature(function).parameters.values()
    own = [parameter for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD]
    keywords = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=hints[name],
            default=field.get_default(call_default_factory=True),
        )
        for name, field in fields.items()
    ]
    signature = inspect.signature(function).replace(parameters=[*own, *keywords])
    lines = [
        fill(f"{name}: {field.description}", 110, initial_indent="    ", subsequent_indent="        ")
        for name, field in fields.items()
    ]
    function.__signature__ = signature  # type: ignore[attr-defined] # what `inspect` and `help` read
    function.__doc__ = "\n".join([dedent("    " + (function.__doc__ or "")).strip(), "", "Options:", *lines])
    return function
