"""Untrusted texts as the lines of a prompt."""

from __future__ import annotations

from collections.abc import Sequence


def lines(texts: Sequence[str]) -> list[str]:
    """Each text on one line: a line break inside a sentence would break the numbering."""
    return [" ".join(text.split()) for text in texts]
