"""Task types: one module each; `task_type("rating")` is the class."""

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
"""Names of the task types that come with summeter; each is a module of this package."""


@cache
def task_type_named(name: str) -> type[TaskType]:
    """The task type of that name; one of your own is named by its class, `"my_module:MyTask"`.

    Raises UsageError for an unknown name, or where the class cannot be loaded.
    """
    module, colon, attribute = name.partition(":")
    if not colon:
        if name not in TASK_TYPES:
            near = nearest(name, TASK_TYPES)
            raise UsageError(f"is none of {', '.join(TASK_TYPES)}{near}, nor a class of your own, my_module:MyTask")
        module, attribute = f"{__name__}.{name}", "".join(word.title() for word in name.split("_"))
    try:
        cls = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"cannot be loaded: {error}") from error
    if not (isinstance(cls, type) and issubclass(cls, TaskType)):
        raise UsageError(f"{name} is no TaskType (summeter.annotate.tasks.base)")
    return cls
