"""The parsers FineSurE released with its paper, in their effects: to reproduce published figures.

They differ from strict reading wherever a reply is not plain: an empty reply, a refusal or a cut list
counts as one faithful sentence; counts are not compared with the summary; line numbers are not checked.
docs/finesure.md lists the differences. Nothing here is meant for new measurements.
"""

from __future__ import annotations

import ast
import warnings
from typing import Any, NamedTuple

from summeter.records.taxonomy import NO_ERROR

LIST = "legacy"  # the list_id of units that are whatever the reply held, not the item's own
_ERRORS = (
    "out-of-context error", "entity error", "predicate error", "circumstantial error",
    "grammatical error", "coreference error", "linking error", "other error",
)  # fmt: skip
# All that reading a literal and picking it apart can raise; the released code caught everything.
_ANY = (ValueError, SyntaxError, TypeError, LookupError, AttributeError, OverflowError, MemoryError, RecursionError)


class Alignment(NamedTuple):
    """The released alignment: one 0/1 per returned item, and the set of all line numbers seen."""

    present: list[int]
    lines: set[int]


def parse_fact_check(output: str) -> list[str]:
    """The category of each sentence as the released parser read them; empty where it failed. All but "no error", in
    whatever case, are errors.

    >>> parse_fact_check("I cannot help with that.")
    ['no error']
    """
    start = output.find("[")
    is_list = start != -1
    if is_list:
        # To the first closing bracket of the text, matching or not; an empty slice where it comes earlier.
        fragment = output[start : output.find("]") + 1].replace("\n", "")
    else:
        fragment = output[output.find("{") : output.find("}") + 1]
    try:
        value = _literal(fragment)
    except _ANY:
        # Whichever error is found in a chunk, it counts as the last: the name left over from the released loop.
        chunks = fragment.split("category")
        return [_ERRORS[-1] if any(error in chunk for error in _ERRORS) else NO_ERROR for chunk in chunks]
    try:
        return [
            entry["category"].replace("\n", "").replace("[", "").replace("]", "")
            for entry in (value if is_list else [value])
        ]
    except _ANY:
        # The released code now splits what is no longer a text, and gives up.
        return []


def parse_alignment(output: str) -> Alignment:
    """The alignment as the released parser read it; no items where it failed."""
    text = output.replace("```", "")
    try:
        entries = _literal(text[text.find("[") :])
        present = [int(entry["response"].lower() == "yes") for entry in entries]
        lines = {
            int(number.replace("[", "").replace("]", "") if isinstance(number, str) else number)
            for entry in entries
            for number in entry["line number"]
        }
    except _ANY:
        return Alignment([], set())
    return Alignment(present, lines)


def _literal(text: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a judge's stray backslash is no concern of the user's
        return ast.literal_eval(text)
