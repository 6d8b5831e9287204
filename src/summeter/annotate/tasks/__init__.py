"""The kinds of tasks, one file each: `kind_named("rating")`."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from summeter.annotate.tasks.base import Kind

KINDS = {
    "fact_verification": "fact_verification:FactVerification",
    "key_fact_validation": "key_fact_validation:KeyFactValidation",
    "key_fact_alignment": "key_fact_alignment:KeyFactAlignment",
    "rating": "rating:Rating",
    "span_highlighting": "span_highlighting:SpanHighlighting",
    "pairwise": "pairwise:Pairwise",
}


@cache
def kind_named(name: str) -> Kind:
    """The kind of that name."""
    module, _, cls = KINDS[name].partition(":")
    made: Kind = getattr(import_module(f"{__name__}.{module}"), cls)()
    return made
