"""Error categories of the fact check, and the many ways judges write them.

Two taxonomies: FineSurE's nine (after FRANK, Pagnoni et al., 2021) and UniSumEval's five (Lee et al.,
2024). Their meanings stand in the prompt templates.
"""

from __future__ import annotations

from typing import Any, Literal

from summeter.evaluators.replies import choice, show
from summeter.records import ReplyError

Taxonomy = Literal["finesure", "unisumeval"]

NO_ERROR = "no error"
CATEGORIES: dict[Taxonomy, tuple[str, ...]] = {
    "finesure": (
        NO_ERROR, "out-of-context error", "entity error", "predicate error", "circumstantial error",
        "grammatical error", "coreference error", "linking error", "other error",
    ),
    "unisumeval": (NO_ERROR, "out-of-article error", "entity error", "relation error", "sentence error"),
}  # fmt: skip

# FRANK's short names, as its gold labels and many later datasets write them.
_FRANK = {
    "noe": NO_ERROR, "oute": "out-of-context error", "ente": "entity error", "rele": "predicate error",
    "prede": "predicate error", "circe": "circumstantial error", "grame": "grammatical error",
    "corefe": "coreference error", "linke": "linking error", "othere": "other error",
}  # fmt: skip


def category(value: Any, taxonomy: Taxonomy) -> str:
    """The category a judge means; ReplyError where it is none of the taxonomy's.

    Case, blanks, hyphens, quotes, a full stop and the word "error" do not matter.

    >>> category("Out of context.", "finesure")
    'out-of-context error'
    """
    said = choice(value)
    if said is None:
        raise ReplyError(f"the category is {show(value)}, not a text")
    stem = _stem(said)
    for name in CATEGORIES[taxonomy]:
        if stem == _stem(name):
            return name
    short = _FRANK.get(said)
    if short in CATEGORIES[taxonomy]:
        return str(short)
    raise ReplyError(f"{show(value)} is none of the categories: {', '.join(CATEGORIES[taxonomy])}")


def _stem(name: str) -> str:
    """A category without hyphens and without the word "error"; "no error" stays whole, since "no" is no category."""
    words = name.replace("-", " ").split()
    if words[-1:] in (["error"], ["errors"]):
        words = [*words[:-1], *(["error"] if words[:-1] == ["no"] else [])]
    return " ".join(words)
