"""Fences around untrusted texts in a prompt, which the texts cannot forge, and their lines numbered."""

from __future__ import annotations

from collections.abc import Sequence

from summeter.models.prompts import FenceCode
from summeter.records import digest


def fence_code(*texts: str) -> FenceCode:
    """Sixteen hex digits drawn from the texts themselves.

    A text cannot hold the code of its own fence without being a preimage of its hash, so it cannot close
    the fence; and equal texts give equal prompts, so stored calls are found again. What a run sends has this code keyed
    by the secret of its call store, so that who writes one text and knows the others cannot compute it either.
    """
    return FenceCode(digest(list(texts), 16))


def lines(texts: Sequence[str]) -> list[str]:
    """Each text on one line: a line break inside a sentence would break the numbering."""
    return [" ".join(text.split()) for text in texts]
