"""Error types: the kinds of error that a sentence has, in one canonical spelling.

A sentence has a set of types. Records write the set as one text, the names sorted and joined by "+".
`error_types` reads such a text and `joined_error_types` writes it.
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
"""FRANK's short names in lower case, as its annotations and many later datasets write them."""


def canonical_error_type(name: str) -> str:
    """The canonical name of one error type; an unknown name is kept, without blanks around it.

    Case, hyphens, underscores, quotes, a full stop and the word "error" do not matter.

    >>> canonical_error_type("OutE"), canonical_error_type("Out of context"), canonical_error_type("invented")
    ('out-of-context error', 'out-of-context error', 'invented')
    """
    return FRANK.get(name.strip().casefold()) or _BY_STEM.get(error_type_stem(name)) or name.strip()


def error_types(text: str | None) -> frozenset[str]:
    """The canonical names in a record's text; "no error" beside an error says nothing and is left out.

    >>> sorted(error_types("OutE+EntE")), error_types("NoE"), error_types(None)
    (['entity error', 'out-of-context error'], frozenset({'no error'}), frozenset())
    """
    names = frozenset(canonical_error_type(name) for name in (text or "").split(SEPARATOR) if name.strip())
    return names - {NO_ERROR} or names


def joined_error_types(names: Iterable[str]) -> str | None:
    """The text of a record that holds these types, each once, sorted; None where there is none.

    Names keep their spelling; of several spellings of one type the first counts. A name may itself be a joined text.

    >>> joined_error_types(["OutE", "EntE", "out-of-context error"])
    'EntE+OutE'
    """
    kept: dict[str, str] = {}
    for text in names:
        for name in text.split(SEPARATOR):
            if name.strip():
                kept.setdefault(canonical_error_type(name), name.strip())
    if len(kept) > 1:
        kept.pop(NO_ERROR, None)
    return SEPARATOR.join(sorted(kept.values())) or None


def names_no_error(text: str) -> bool:
    """Whether a text says that there is no error ("no error"; FRANK: "NoE")."""
    return error_types(text) == {NO_ERROR}


def error_type_stem(name: str) -> str:
    """A name as it is compared; "no error" stays whole, since "no" names nothing.

    >>> error_type_stem("Out-of-Context Error.")
    'out of context'
    """
    words = name.casefold().replace("-", " ").replace("_", " ").strip(" .\"'").split()
    if words[-1:] in (["error"], ["errors"]):
        words = [*words[:-1], *(["error"] if words[:-1] == ["no"] else [])]
    return " ".join(words)


_BY_STEM = {error_type_stem(name): name for name in (*FINESURE, *UNISUMEVAL)}
