"""Task types, one module each; `task_type_named("rating")` returns the class of one."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from summeter.annotate.tasks.base import TaskType
from summeter.records import UsageError, nearest

TASK_TYPES = (
    "fact_verification",
    "key_fact_alignment",
    "key_fact_validation",
    "pairwise",
    "rating",
    "span_highlighting",
)
"""Names of the built-in task types, which are the modules of this package."""


@cache
def task_type_named(name: str) -> type[TaskType]:
    """Return the class of a built-in or custom task type.

    The name of a custom task type has the form `"my_module:MyTask"`. Raises UsageError if the name is unknown or the
    class cannot be loaded.
    """
    module, colon, attribute = name.partition(":")
    if not colon:
        if name not in TASK_TYPES:
            known, near = ", ".join(TASK_TYPES), nearest(name, TASK_TYPES)
            raise UsageError(f"{name!r} is unknown; use one of {known}{near}, or a class such as my_module:MyTask")
        module, attribute = f"{__name__}.{name}", "".join(word.title() for word in name.split("_"))
    try:
        cls = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"{name!r} cannot be loaded: {error}") from error
    if not (isinstance(cls, type) and issubclass(cls, TaskType)):
        raise UsageError(f"{name!r} is not a subclass of summeter.annotate.tasks.base.TaskType")
    return cls
