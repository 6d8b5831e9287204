"""Error categories of the fact check, and the many ways judges write them.

Two taxonomies: FineSurE's nine (after FRANK, Pagnoni et al., 2021) and UniSumEval's five (Lee et al.,
2024). Their meanings stand in the prompt templates.
"""

from __future__ import annotations

from typing import Any, Literal

from summeter.evaluators.replies import choice, show
from summeter.records import ReplyError, canonical_error_type
from summeter.records.taxonomy import FINESURE, UNISUMEVAL

Taxonomy = Literal["finesure", "unisumeval"]

CATEGORIES: dict[Taxonomy, tuple[str, ...]] = {"finesure": FINESURE, "unisumeval": UNISUMEVAL}


def category(value: Any, taxonomy: Taxonomy) -> str:
    """The category a judge means; ReplyError where it is none of the taxonomy's.

    Case, blanks, hyphens, quotes, a full stop and the word "error" do not matter.

    >>> category("Out of context.", "finesure")
    'out-of-context error'
    """
    said = choice(value)
    if said is None:
        raise ReplyError(f"the category is {show(value)}, not a text")
    name = canonical_error_type(said)
    if name in CATEGORIES[taxonomy]:
        return name
    raise ReplyError(f"{show(value)} is none of the categories: {', '.join(CATEGORIES[taxonomy])}")
