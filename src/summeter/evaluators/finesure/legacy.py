"""Parsers that reproduce the effects of those released with FineSurE.

The results differ from those of strict parsing if a reply is irregular. An empty reply, a refusal or a truncated list
counts as one faithful sentence. The number of entries is not compared with the summary, and line numbers are not
checked. docs/finesure.md lists the differences. Do not use these parsers for new measurements.
"""

from __future__ import annotations

import ast
import warnings
from typing import Any

from summeter.records.taxonomy import NO_ERROR

LIST = "legacy"  # the list_id of units that are defined by the reply, not by the item
_ERRORS = (
    "out-of-context error", "entity error", "predicate error", "circumstantial error",
    "grammatical error", "coreference error", "linking error", "other error",
)  # fmt: skip
# Everything that parsing a literal and its fields can raise; the released code caught all exceptions.
_ANY = (ValueError, SyntaxError, TypeError, LookupError, AttributeError, OverflowError, MemoryError, RecursionError)


def parse_fact_check(output: str) -> list[str]:
    """Return the category of each sentence as read by the released parser.

    The list is empty if that parser fails.

    Any category other than "no error" (in upper or lower case) is an error.

    >>> parse_fact_check("I cannot help with that.")
    ['no error']
    """
    start = output.find("[")
    is_list = start != -1
    if is_list:
        # Up to the first closing bracket of the text, matching or not; empty if that precedes the opening bracket.
        fragment = output[start : output.find("]") + 1].replace("\n", "")
    else:
        fragment = output[output.find("{") : output.find("}") + 1]
    try:
        value = _literal(fragment)
    except _ANY:
        # Any error in a chunk counts as the last one, because the released code uses its loop variable.
        chunks = fragment.split("category")
        return [_ERRORS[-1] if any(error in chunk for error in _ERRORS) else NO_ERROR for chunk in chunks]
    try:
        return [
            entry["category"].replace("\n", "").replace("[", "").replace("]", "")
            for entry in (value if is_list else [value])
        ]
    except _ANY:
        # The released code fails here, because it splits a value that is not a string.
        return []


def parse_alignment(output: str) -> tuple[list[int], set[int]]:
    """Return 0 or 1 per item and all line numbers as read by the released parser, both empty if that parser fails."""
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
        return [], set()
    return present, lines


def _literal(text: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes in a reply
        return ast.literal_eval(text)
