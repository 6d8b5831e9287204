"""Untrusted texts in a prompt: numbered lines, and fences that the texts cannot forge."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from summeter.models.prompts import Template
from summeter.records import digest

PACKAGE = "summeter.evaluators.finesure"


def fence_code(*texts: str) -> str:
    """Sixteen hex digits drawn from the texts themselves.

    A text cannot hold the code of its own fence without being a preimage of its hash, so it cannot close
    the fence; and equal texts give equal prompts, so stored calls are found again.
    """
    return digest(list(texts), 16)


def lines(texts: Sequence[str]) -> list[str]:
    """Each text on one line: a line break inside a sentence would break the numbering."""
    return [" ".join(text.split()) for text in texts]


def template(name: str, override: Path | None) -> Template:
    """The template `name`, from the user's folder where it holds one."""
    return Template.load(PACKAGE, name, override)


def prompt_hash(names: Sequence[str], override: Path | None) -> str:
    """What stands in the signature for one template, or for several together."""
    hashes = [template(name, override).hash for name in names]
    return hashes[0] if len(hashes) == 1 else digest(hashes, 4)
