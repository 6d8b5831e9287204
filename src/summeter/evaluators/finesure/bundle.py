"""`finesure`: fact check and key-fact alignment together, hence all three of FineSurE's aspects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Self

from pydantic import Field, model_validator

from summeter.evaluators.base import Evaluator, Role
from summeter.evaluators.finesure.align import Align
from summeter.evaluators.finesure.fact_check import FactCheck, Taxonomy, check_strategy
from summeter.evaluators.finesure.key_facts import MOST, Source
from summeter.evaluators.finesure.strategies import Strategy
from summeter.models.prompts import PromptFolder


class FineSurE(Evaluator):
    """Faithfulness, completeness and conciseness in two calls a summary, plus one a document where key
    facts have to be extracted, and one a document for each validator of them.

    `strategy` is the prompt strategy of the fact check, `align_strategy` that of the alignment; the other settings are
    those of the parts.

    A bundle: `parts()` do the work, and their judgments carry the parts' own names and signatures.

    >>> [part.name for part in FineSurE().parts()]
    ['finesure.fact_check', 'finesure.align']
    """

    name: ClassVar[str] = "finesure"
    version: ClassVar[str] = "2"
    summary: ClassVar[str] = "Faithfulness, completeness and conciseness by an LLM judge (FineSurE)."
    aspects: ClassVar[tuple[str, ...]] = ("faithfulness", "completeness", "conciseness")
    roles: ClassVar[Mapping[str, Role]] = {"judge": Role()}

    taxonomy: Taxonomy = "finesure"
    strategy: Strategy = "reasoning"
    align_strategy: Strategy = "instruction"
    source: Source = "auto"
    at_most: int | None = Field(default=None, ge=1, le=MOST)
    validators: int = Field(default=0, ge=0)
    prompts: PromptFolder | None = None

    @model_validator(mode="after")
    def _means_something(self) -> Self:
        check_strategy(self.strategy, self.taxonomy)
        return self

    @property
    def required_roles(self) -> tuple[str, ...]:
        """The judge, and the validators of key facts."""
        return tuple(dict.fromkeys(role for part in self.parts() for role in part.required_roles))

    def parts(self) -> tuple[Evaluator, ...]:
        """The fact check and the alignment, with this bundle's settings."""
        return (
            FactCheck(taxonomy=self.taxonomy, strategy=self.strategy, prompts=self.prompts),
            Align(
                strategy=self.align_strategy,
                source=self.source,
                at_most=self.at_most,
                validators=self.validators,
                prompts=self.prompts,
            ),
        )
