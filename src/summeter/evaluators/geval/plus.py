"""`geval_plus`: faithfulness by the sentence, completeness and conciseness from 1 to 5 (G-Eval+; Lee et al., 2024)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from summeter.evaluators.base import Evaluator
from summeter.evaluators.geval.common import SAMPLES, counted
from summeter.evaluators.geval.rating import RATED_PLUS, GEvalPlusRating
from summeter.evaluators.geval.support import GEvalPlusFaithfulness
from summeter.evaluators.supported import FAITHFULNESS


class GEvalPlus(Evaluator):
    """G-Eval+ of UniSumEval: the share of supported sentences, and two ratings from 1 to 5.

    A bundle: `parts()` do the work, and their judgments carry the parts' own names and signatures. `aspect`:
    "all" or one of the three; `variant` and `n` are those of the ratings (see `geval`). A share and ratings
    have no mean, so there is no composite.

    >>> [part.name for part in GEvalPlus().parts()]
    ['geval_plus.faithfulness', 'geval_plus.rating', 'geval_plus.rating']
    """

    name: ClassVar[str] = "geval_plus"
    version: ClassVar[str] = "1"
    summary: ClassVar[str] = "Faithfulness by the sentence, completeness and conciseness from 1 to 5 (G-Eval+)."
    aspects: ClassVar[tuple[str, ...]] = (FAITHFULNESS, *RATED_PLUS)
    roles: ClassVar[tuple[str, ...]] = ("judge",)
    positional_setting: ClassVar[str | None] = "variant"

    aspect: Literal["all", "faithfulness", "completeness", "conciseness"] = "all"
    variant: Literal["logprob", "sample", "single"] = "logprob"
    n: int = Field(default=SAMPLES, ge=1, le=1000)
    prompts: Path | None = None

    @model_validator(mode="before")
    @classmethod
    def _counted(cls, fields: Any) -> Any:
        return counted(fields)

    @property
    def measured(self) -> tuple[str, ...]:
        """All three aspects, or the one chosen."""
        return self.aspects if self.aspect == "all" else (self.aspect,)

    def parts(self) -> tuple[Evaluator, ...]:
        """The judges of the aspects chosen, with this bundle's settings."""
        made: list[Evaluator] = []
        if FAITHFULNESS in self.measured:
            made.append(GEvalPlusFaithfulness(prompts=self.prompts))
        return (
            *made,
            *(
                GEvalPlusRating(aspect=one, variant=self.variant, n=self.n, prompts=self.prompts)
                for one in RATED_PLUS
                if one in self.measured
            ),
        )
