"""Command-line options of a run, generated from `summeter.engine.options.Options`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from summeter.cli.common import keyword, with_options
from summeter.engine.options import ALL, Options

# Type, default and settings of options whose values have different types on the command line and in Python
_SHAPES: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "temperature": (str, "0", {"metavar": "NUMBER|none"}),
    "prices": (Path | None, None, {"metavar": "FILE"}),
    "context": (list[str] | None, None, {"metavar": "[ROLE=]TOKENS"}),
    "max_cost": (float | None, None, {"metavar": "USD"}),
}
_NAMES = {"concurrency": "--max-connections"}


def run_options(*only: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds the options of a run, or `only` some of them, to a command.

    The command receives the options as `**options`, converted to keywords of `evaluate`.
    """
    options = [_parameter(name) for name in only or Options.model_fields]
    convert: dict[str, Callable[[Any], Any]] = {
        "temperature": temperature_of,
        "prices": lambda file: file and str(file),
        "context": lambda texts: contexts_of(texts or []),
    }

    def converted(values: dict[str, Any]) -> dict[str, Any]:
        return {name: convert[name](value) if name in convert else value for name, value in values.items()}

    return lambda command: with_options(command, "options", options, converted)


def _parameter(name: str) -> inspect.Parameter:
    field = Options.model_fields[name]
    bounds = {
        limit: getattr(bound, mark) for bound in field.metadata for limit, mark in (("min", "ge"), ("max", "le"))
        if hasattr(bound, mark)
    }  # fmt: skip
    shape, default, changed = _SHAPES.get(name, (field.annotation, field.default, bounds))
    more = "; repeatable" if name == "context" else ""
    about = f"{(field.description or '').removesuffix('.')}{more}."
    option = typer.Option(_NAMES.get(name, f"--{name.replace('_', '-')}"), help=about, **changed)
    return keyword(name, Annotated[shape, option], default)


def contexts_of(texts: Sequence[str]) -> dict[str, int]:
    """Parse `--context` options into numbers of tokens by role, where `*` means all roles.

    >>> contexts_of(["8192", "second=32768"])
    {'*': 8192, 'second': 32768}
    """
    from summeter.records import UsageError

    contexts: dict[str, int] = {}
    for text in texts:
        role, _, number = text.rpartition("=")
        digits = number.strip().replace(",", "").replace("_", "")
        if not (digits.isascii() and digits.isdigit() and int(digits) > 0):
            raise UsageError(f"--context {text!r} is not [ROLE=]TOKENS with a positive integer")
        contexts[role.strip() or ALL] = int(digits)
    return contexts


def temperature_of(text: str) -> float | None:
    """Parse `--temperature`: a number from 0 to 10, or `none`, which gives None."""
    from summeter.records import UsageError

    if text.strip().lower() == "none":
        return None
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 10:
        raise UsageError(f"--temperature {text!r} is neither a number from 0 to 10 nor `none`")
    return number
