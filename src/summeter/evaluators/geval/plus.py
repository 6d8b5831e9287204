"""G-Eval+ of UniSumEval (Lee et al., EMNLP 2024): faithfulness by the sentence, two ratings from 1 to 5.

`geval_plus.faithfulness`: is each sentence supported, yes or no. That sentences are asked about one by one in a single
reply is UniSumEval's; that the score is the share of yes is drawn from its section 3.3.

`geval_plus.rating`: completeness or conciseness from 1 to 5, in the form of UniSumEval's prompts: role, criterion,
three fixed steps, document, summary, and a form for the score only. Its text puts the hyper-parameters at those of
G-Eval, so the ways to have the score are G-Eval's.

No code was released that reads the replies; the wordings, the JSON replies and the place of the document are ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from summeter.evaluators.base import Evaluator, Role
from summeter.evaluators.geval.common import ScoreForm, Scoring, sampled_by_draws
from summeter.evaluators.llm import NO_DATA, NoVerdict, material
from summeter.evaluators.replies import NO_YES, field, keyed_schema, read_entries, yes
from summeter.evaluators.supported import FAITHFULNESS, SentenceJudge, SupportVerdict
from summeter.models.prompts import PromptFolder, lines
from summeter.records import Item

RATED_PLUS = ("completeness", "conciseness")


class GEvalPlusFaithfulness(SentenceJudge):
    """Yes or no a sentence, in one call a summary.

    Writes one judgment a sentence (aspect faithfulness): label 1 and value 1.0 where it is supported, else 0 and
    0.0; the summary's score is the share that is. A reply that cannot be used gives one failed judgment a sentence.
    """

    name, version = "geval_plus.faithfulness", "1"
    summary = "An LLM judge says of each sentence whether the document supports it (G-Eval+)."
    binary_units = frozenset({"sentence"})
    reply_tokens = 12

    def template_variables(self, item: Item, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """The document first, as for every judge."""
        return {"sentences": lines(item.sentences), **super().template_variables(item, data)}

    def reply_schema(self, item: Item, data: Mapping[str, Any] = NO_DATA) -> dict[str, Any]:
        """An object with one required property a sentence."""
        return keyed_schema(len(item.sentences), "verdict", {"response": NO_YES})

    def parse(self, text: str, item: Item, data: Mapping[str, Any] = NO_DATA) -> tuple[SupportVerdict | NoVerdict, ...]:
        """Yes or no for every sentence."""
        return read_entries(
            text,
            len(item.sentences),
            "sentence",
            lambda entry, _: SupportVerdict(yes(entry if isinstance(entry, str) else field(entry, "response"))),
            decision=lambda verdict: verdict.supported,
            material=material(item)[:2],
            wordless=True,
            bare=True,
        )


class GEvalPlusRating(ScoreForm):
    """One rating from 1 to 5: `aspect` is completeness or conciseness, or one of the user's own.

    As `geval`, with three steps that stand in the template; `scoring` and `draws` are its.
    """

    name, version = "geval_plus.rating", "1"
    summary = "Completeness or conciseness from 1 to 5 in three fixed steps (G-Eval+)."
    aspects = RATED_PLUS

    aspect: str = "completeness"

    @model_validator(mode="after")
    def _plus(self) -> Self:
        if self.definition is None and self.aspect not in RATED_PLUS:
            raise ValueError(
                f"G-Eval+ rates {' and '.join(RATED_PLUS)}, not {self.aspect!r} "
                "(faithfulness is judged by the sentence: geval_plus.faithfulness; other aspects: geval)"
            )
        return self


class GEvalPlus(Evaluator):
    """G-Eval+ of UniSumEval: the share of supported sentences, and two ratings from 1 to 5.

    A bundle: `components()` do the work, and their judgments carry the parts' own names and signatures. `aspect`:
    "all" or one of the three; `scoring` and `draws` are those of the ratings (see `geval`). A share and ratings
    have no mean, so there is no composite.

    >>> [part.name for part in GEvalPlus().components()]
    ['geval_plus.faithfulness', 'geval_plus.rating', 'geval_plus.rating']
    """

    name, version = "geval_plus", "1"
    summary = "Faithfulness by the sentence, completeness and conciseness from 1 to 5 (G-Eval+)."
    aspects = (FAITHFULNESS, *RATED_PLUS)
    roles: ClassVar[Mapping[str, Role]] = {"judge": Role()}
    positional_setting = "scoring"

    aspect: Literal["all", "faithfulness", "completeness", "conciseness"] = "all"
    scoring: Scoring = "logprob"
    draws: int | None = Field(default=None, ge=1, le=1000)
    prompts: PromptFolder | None = None

    @model_validator(mode="before")
    @classmethod
    def _sampled_by_draws(cls, fields: Any) -> Any:
        return sampled_by_draws(fields)

    @property
    def active_aspects(self) -> tuple[str, ...]:
        """All three aspects, or the one chosen."""
        return self.aspects if self.aspect == "all" else (self.aspect,)

    def components(self) -> tuple[Evaluator, ...]:
        """The judges of the aspects chosen, with this bundle's settings."""
        judges: dict[str, Evaluator] = {FAITHFULNESS: GEvalPlusFaithfulness(prompts=self.prompts)}
        for aspect in RATED_PLUS:
            judges[aspect] = GEvalPlusRating(
                aspect=aspect, scoring=self.scoring, draws=self.draws, prompts=self.prompts
            )
        return tuple(judges[aspect] for aspect in self.active_aspects)
