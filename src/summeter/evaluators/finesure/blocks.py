"""The templates of the family, and what stands of them in a signature."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from summeter.models.prompts import Template
from summeter.records import digest

PACKAGE = "summeter.evaluators.finesure"


def template(name: str, override: Path | None) -> Template:
    """The template `name`, from the user's folder where it holds one."""
    return Template.load(PACKAGE, name, override)


def prompt_hash(names: Sequence[str], override: Path | None) -> str:
    """What stands in the signature for one template, or for several together."""
    hashes = [template(name, override).hash for name in names]
    return hashes[0] if len(hashes) == 1 else digest(hashes, 4)
