"""Fences around untrusted texts in a prompt, which the texts cannot forge, and their lines numbered."""

from __future__ import annotations

from collections.abc import Sequence

from summeter.records import digest


def fence_code(*texts: str) -> str:
    """Sixteen hex digits drawn from the texts themselves.

    A text cannot hold the code of its own fence without being a preimage of its hash, so it cannot close
    the fence; and equal texts give equal prompts, so stored calls are found again.
    """
    return digest(list(texts), 16)


def lines(texts: Sequence[str]) -> list[str]:
    """Each text on one line: a line break inside a sentence would break the numbering."""
    return [" ".join(text.split()) for text in texts]
