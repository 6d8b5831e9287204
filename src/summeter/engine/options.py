"""The options of a run, besides data, evaluators and models.

`evaluate` and similar functions take the options as keywords and list them in their help texts; the commands have the
same options.
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
"""The key of the context length that applies to all roles."""


class Options(Record):
    """The options of a run, created from keywords by `Options.of`."""

    limit: int | None = Field(
        default=None, ge=1, description="Judge only the first N documents, with all their summaries."
    )
    seed: int | None = Field(default=None, description="Random seed of the bootstrap, and of models if given.")
    temperature: float | None = Field(
        default=0.0, ge=0, le=10, description="Sampling temperature, or none for the provider's default."
    )
    max_reply: int | None = Field(default=None, ge=1, description="Maximum length of a reply, in tokens.")
    repeats: int = Field(
        default=1,
        ge=1,
        le=100,
        description="Number of times each LLM evaluator judges every item, to measure its consistency.",
    )
    concurrency: int = Field(default=16, ge=1, description="Maximum number of concurrent calls and documents.")
    rpm: float | None = Field(default=None, ge=1, description="Rate limit of each endpoint, in requests per minute.")
    tpm: float | None = Field(default=None, ge=1, description="Rate limit of each endpoint, in tokens per minute.")
    timeout: float = Field(default=120.0, gt=0, description="Timeout of a call, in seconds.")
    item_timeout: float | None = Field(
        default=None, gt=0, description="Timeout of an item, in seconds, including all calls and retries."
    )
    max_retries: int = Field(default=8, ge=0, description="Maximum number of retries of a call.")
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
        default=None, description="YAML file with your own prices, which take precedence over the bundled ones."
    )
    base_url: str | None = Field(
        default=None,
        repr=False,
        description="Base URL of the model endpoint; separate several servers of the same model by commas.",
    )
    context: dict[str, Annotated[int, Field(ge=1)]] = Field(
        default_factory=dict,
        description="Context length of the models in tokens (input and output), by role or for all roles.",
    )
    on_overflow: Overflow = Field(
        default="window",
        description="What to do with documents that exceed the context: judge them in windows (window), truncate them "
        "(truncate), or fail (error).",
    )
    batch: bool = Field(
        default=False,
        description="Send all calls through the vendor's batch API, at half the price and within a day. The command "
        "may be stopped; run it again to fetch the replies. The vendor's limits and timeouts apply.",
    )
    offline: bool = Field(default=False, description="Do not download local models.")
    by_source: bool = Field(
        default=False,
        description="Also judge each source of a document alone if it has several, in RUN/by_source, to see which "
        "source supports what.",
    )

    @classmethod
    def of(cls, **options: Any) -> Options:
        """Return options created from keywords.

        Raises UsageError for an unknown option or an invalid value.
        """
        for name in options:
            if name not in cls.model_fields:
                known = ", ".join(cls.model_fields)
                raise UsageError(f"there is no option {name!r}{nearest(name, cls.model_fields)}. Options are: {known}")
        try:
            return cls(**options)
        except ValidationError as error:
            fault = error.errors()[0]
            name, *inner = map(str, fault["loc"])
            where = f"[{'.'.join(inner)!r}]" if inner else ""
            raise UsageError(Parameter(name), f"{where} {problem_of(fault)}") from error

    @field_validator("context", mode="before")
    @classmethod
    def _expand_context(cls, value: Any) -> Any:
        return {ALL: value} if isinstance(value, int) else value

    @field_serializer("base_url")
    def _mask_base_url(self, base_url: str | None) -> Any:
        return masked({BASE_URL: base_url})[BASE_URL]

    def context_of(self, role: str) -> int | None:
        """Return the context length given for the model in a role, in tokens.

        Returns None if none was given.
        """
        return self.context.get(role, self.context.get(ALL))

    @property
    def sampling(self) -> dict[str, object]:
        """The options that are part of the signatures of all evaluators that call a model."""
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
    """The types of the options as keyword arguments, for type checkers.

    A test compares them with `Options`.
    """

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
    by_source: bool
    context: dict[str, int] | int
    on_overflow: Overflow


def with_options(function: Callable[P, R]) -> Callable[P, R]:
    """Add the options to the signature and the docstring of a function, and return the function.

    The function must take the options as keywords (`OptionArgs`).
    """
    fields, hints = Options.model_fields, get_type_hints(OptionArgs)
    parameters = inspect.signature(function).parameters.values()
    named = [parameter for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD]
    keywords = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=hints[name],
            default=field.get_default(call_default_factory=True),
        )
        for name, field in fields.items()
    ]
    signature = inspect.signature(function).replace(parameters=[*named, *keywords])
    lines = [
        fill(f"{name}: {field.description}", 110, initial_indent="    ", subsequent_indent="        ")
        for name, field in fields.items()
    ]
    function.__signature__ = signature  # type: ignore[attr-defined] # what `inspect` and `help` read
    function.__doc__ = "\n".join([dedent("    " + (function.__doc__ or "")).strip(), "", "Options:", *lines])
    return function
