"""The options of a run on the command line, made from `summeter.engine.options.Options`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from summeter.engine.options import ALL, Options

# What a terminal takes in another shape than Python does: its type, its default, its option.
_SHAPES: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "temperature": (str, "0", {"metavar": "NUMBER|none"}),
    "prices": (Path | None, None, {"metavar": "FILE"}),
    "context": (list[str] | None, None, {"metavar": "[ROLE=]TOKENS"}),
    "max_cost": (float | None, None, {"metavar": "USD"}),
}
_NAMES = {"concurrency": "--max-connections"}


def run_options(*only: str, **about: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a command the options of a run (or `only` some), which it takes as `**options`, ready for `evaluate`.

    `about` words the help of an option that means something else here.
    """
    names = only or tuple(Options.model_fields)

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command, eval_str=True)
        own = [parameter for parameter in signature.parameters.values() if parameter.kind is not parameter.VAR_KEYWORD]
        parameters = [*own, *(_parameter(name, about.get(name)) for name in names)]

        @wraps(command)
        def run(**given: Any) -> None:
            options = {name: given.pop(name) for name in names}
            command(**given, **_read(options))

        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined] # typer reads it
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return run

    return decorate


def _parameter(name: str, text: str | None) -> inspect.Parameter:
    field = Options.model_fields[name]
    bounds = {
        limit: getattr(bound, mark) for bound in field.metadata for limit, mark in (("min", "ge"), ("max", "le"))
        if hasattr(bound, mark)
    }  # fmt: skip
    shape, default, changed = _SHAPES.get(name, (field.annotation, field.default, bounds))
    more = "; repeatable" if name == "context" else ""
    about = f"{(text or field.description or '').removesuffix('.')}{more}."
    option = typer.Option(_NAMES.get(name, f"--{name.replace('_', '-')}"), help=about, **changed)
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[shape, option]
    )  # fmt: skip


def _read(options: dict[str, Any]) -> dict[str, Any]:
    """The options as Python takes them."""
    if "temperature" in options:
        options["temperature"] = temperature_of(options["temperature"])
    if options.get("prices") is not None:
        options["prices"] = str(options["prices"])
    if "context" in options:
        options["context"] = contexts_of(options["context"] or [])
    return options


def contexts_of(texts: Sequence[str]) -> dict[str, int]:
    """`--context` options by role; without a role, of all roles.

    >>> contexts_of(["8192", "second=32768"])
    {'*': 8192, 'second': 32768}
    """
    from summeter.records import UsageError

    contexts: dict[str, int] = {}
    for text in texts:
        role, _, number = text.rpartition("=")
        digits = number.strip().replace(",", "").replace("_", "")
        if not (digits.isascii() and digits.isdigit() and int(digits) > 0):
            raise UsageError(f"--context {text!r} is not [ROLE=]TOKENS, a whole number from 1")
        contexts[role.strip() or ALL] = int(digits)
    return contexts


def temperature_of(text: str) -> float | None:
    """`--temperature`: a number from 0, or `none`."""
    from summeter.records import UsageError

    if text.strip().lower() == "none":
        return None
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 10:
        raise UsageError(f"--temperature {text!r} is neither a number from 0 nor `none`")
    return number
