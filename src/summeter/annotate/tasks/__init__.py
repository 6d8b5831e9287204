"""The kinds of tasks: each is a module with its script (`rating.py`, `rating.js`); `kind_named("rating")`."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path

from summeter.annotate.tasks.base import Kind
from summeter.records import UsageError, nearest


def kind_names() -> list[str]:
    """The kinds that come with summeter."""
    return sorted(file.stem for file in Path(__file__).parent.glob("*.js"))


@cache
def kind_named(name: str) -> Kind:
    """The kind of that name; a kind of your own is named by its class, `"my_module:MyKind"`.

    Raises UsageError for an unknown name, or where the class cannot be loaded or has no script beside it.
    """
    module, colon, attribute = name.partition(":")
    if not colon:
        if name not in kind_names():
            known = kind_names()
            near = nearest(name, known)
            raise UsageError(f"is none of {', '.join(known)}{near}, nor a class of your own, my_module:MyKind")
        loaded = import_module(f"{__name__}.{name}")
        (cls,) = (cls for cls in vars(loaded).values() if isinstance(cls, type) and cls.__dict__.get("name") == name)
    else:
        try:
            cls = getattr(import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise UsageError(f"cannot be loaded: {error}") from error
    if not (isinstance(cls, type) and issubclass(cls, Kind)):
        raise UsageError(f"{name} is no Kind (summeter.annotate.tasks.base)")
    kind = cls()
    if not kind.script.is_file():
        raise UsageError(f"lacks its script {kind.script}")
    return kind
