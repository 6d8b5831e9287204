"""`geval_plus.rating`: completeness or conciseness from 1 to 5 in G-Eval's form (G-Eval+; UniSumEval, 2024).

The form is that of UniSumEval's prompts: role, criterion, three fixed steps, document, summary, and a form for the
score only. Its text puts the hyper-parameters at those of G-Eval, so the variants are G-Eval's. No code was released
that reads the replies; the wordings, the JSON reply and the place of the document are ours.
"""

from __future__ import annotations

from typing import ClassVar, Self

from pydantic import model_validator

from summeter.evaluators.geval.common import ScoreForm

RATED_PLUS = ("completeness", "conciseness")


class GEvalPlusRating(ScoreForm):
    """One rating from 1 to 5: `aspect` is completeness or conciseness, or one of the user's own.

    As `geval`, with three steps that stand in the template; `variant` and `n` are its.
    """

    name: ClassVar[str] = "geval_plus.rating"
    version: ClassVar[str] = "1"
    summary: ClassVar[str] = "Completeness or conciseness from 1 to 5 in three fixed steps (G-Eval+)."
    aspects: ClassVar[tuple[str, ...]] = RATED_PLUS

    aspect: str = "completeness"

    @model_validator(mode="after")
    def _plus(self) -> Self:
        if self.definition is None and self.aspect not in RATED_PLUS:
            raise ValueError(
                f"G-Eval+ rates {' and '.join(RATED_PLUS)}, not {self.aspect!r} "
                "(faithfulness is judged by the sentence: geval_plus.faithfulness; other aspects: geval)"
            )
        return self

    @property
    def template(self) -> str:
        """The name of its prompt template."""
        return "geval_plus_rating"
