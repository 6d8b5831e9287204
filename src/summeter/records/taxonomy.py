"""Convert the error types of sentences to one canonical spelling.

A sentence has a set of types. Records store the set as one string: the sorted names, joined by "+".
"""

from __future__ import annotations

from collections.abc import Iterable

NO_ERROR = "no error"
SEPARATOR = "+"
FINESURE = (
    NO_ERROR, "out-of-context error", "entity error", "predicate error", "circumstantial error", "grammatical error",
    "coreference error", "linking error", "other error",
)  # fmt: skip
"""The categories of FineSurE (Song et al., 2024), after FRANK (Pagnoni et al., 2021)."""
UNISUMEVAL = (NO_ERROR, "out-of-article error", "entity error", "relation error", "sentence error")
"""The categories of UniSumEval (Lee et al., 2024)."""
FRANK = {
    "noe": NO_ERROR, "oute": "out-of-context error", "ente": "entity error", "rele": "predicate error",
    "prede": "predicate error", "circe": "circumstantial error", "grame": "grammatical error",
    "corefe": "coreference error", "linke": "linking error", "othere": "other error",
}  # fmt: skip
"""The abbreviations of FRANK, in lower case, which are also used in many later datasets."""


def canonical_error_type(name: str) -> str:
    """Return the canonical name of an error type.

    Case, hyphens, underscores, quotes, a final full stop and the word "error" are ignored. An unknown name is returned
    without surrounding blanks.

    >>> canonical_error_type("OutE"), canonical_error_type("Out of context"), canonical_error_type("invented")
    ('out-of-context error', 'out-of-context error', 'invented')
    """
    return FRANK.get(name.strip().casefold()) or _BY_STEM.get(error_type_stem(name)) or name.strip()


def error_types(text: str | None) -> frozenset[str]:
    """Return the canonical error types in a string. "no error" is omitted if there are others.

    >>> sorted(error_types("OutE+EntE")), error_types("NoE"), error_types(None)
    (['entity error', 'out-of-context error'], frozenset({'no error'}), frozenset())
    """
    names = frozenset(canonical_error_type(name) for name in (text or "").split(SEPARATOR) if name.strip())
    return names - {NO_ERROR} or names


def joined_error_types(names: Iterable[str]) -> str | None:
    """Return the sorted distinct error types as one string, or None if there are none.

    The spelling of names is preserved; if a type has several spellings, the first one is used. A name may itself be a
    joined string.

    >>> joined_error_types(["OutE", "EntE", "out-of-context error"])
    'EntE+OutE'
    """
    spellings: dict[str, str] = {}
    for text in names:
        for name in text.split(SEPARATOR):
            if name.strip():
                spellings.setdefault(canonical_error_type(name), name.strip())
    if len(spellings) > 1:
        spellings.pop(NO_ERROR, None)
    return SEPARATOR.join(sorted(spellings.values())) or None


def names_no_error(text: str) -> bool:
    """Return whether a string means that there is no error ("no error", or "NoE" in FRANK)."""
    return error_types(text) == {NO_ERROR}


def error_type_stem(name: str) -> str:
    """Return a name in lower case, without punctuation and the word "error".

    >>> error_type_stem("Out-of-Context Error.")
    'out of context'
    """
    words = name.casefold().replace("-", " ").replace("_", " ").strip(" .\"'").split()
    if words[-1:] in (["error"], ["errors"]):
        words = [*words[:-1], *(["error"] if words[:-1] == ["no"] else [])]
    return " ".join(words)


_BY_STEM = {error_type_stem(name): name for name in (*FINESURE, *UNISUMEVAL)}
