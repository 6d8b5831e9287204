"""`finesure`: fact check and key-fact alignment together, hence all three of FineSurE's aspects."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from pydantic import Field

from summeter.evaluators.base import Evaluator
from summeter.evaluators.finesure.align import Align
from summeter.evaluators.finesure.fact_check import FactCheck
from summeter.evaluators.finesure.key_facts import Source
from summeter.evaluators.finesure.taxonomy import Taxonomy


class FineSurE(Evaluator):
    """Faithfulness, completeness and conciseness in two calls a summary, plus one a document where key
    facts have to be extracted.

    A bundle: `parts()` do the work, and their judgments carry the parts' own names and signatures.

    >>> [part.name for part in FineSurE().parts()]
    ['finesure.fact_check', 'finesure.align']
    """

    name: ClassVar[str] = "finesure"
    version: ClassVar[str] = "1"
    summary: ClassVar[str] = "Faithfulness, completeness and conciseness by an LLM judge (FineSurE)."
    aspects: ClassVar[tuple[str, ...]] = ("faithfulness", "completeness", "conciseness")
    roles: ClassVar[tuple[str, ...]] = ("judge",)

    taxonomy: Taxonomy = "finesure"
    source: Source = "auto"
    at_most: int | None = Field(default=None, ge=1)
    prompts: Path | None = None

    def parts(self) -> tuple[Evaluator, ...]:
        """The fact check and the alignment, with this bundle's settings."""
        return (
            FactCheck(taxonomy=self.taxonomy, prompts=self.prompts),
            Align(source=self.source, at_most=self.at_most, prompts=self.prompts),
        )
