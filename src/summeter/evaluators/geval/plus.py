"""G-Eval+ of UniSumEval (Lee et al., EMNLP 2024): a judge of faithfulness and two ratings.

`geval_plus.faithfulness` asks whether each sentence is supported, yes or no. As in UniSumEval, one reply covers all
sentences; the score is the share of yes (section 3.3 of the paper).

`geval_plus.rating` rates completeness or conciseness from 1 to 5. Its prompts have the structure of UniSumEval's: role,
criterion, three fixed steps, document, summary, and a form that contains only the score. The paper uses the
hyper-parameters of G-Eval, so the score is computed as in `geval`.

No code that reads the replies was released. The wording, the JSON replies and the position of the document were chosen
for summeter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import model_validator

from summeter.evaluators.base import Evaluator, Role
from summeter.evaluators.geval.common import Sampled, ScoreForm
from summeter.evaluators.llm import NO_DATA, NoVerdict, material
from summeter.evaluators.replies import NO_YES, field, keyed_schema, read_entries, yes
from summeter.evaluators.supported import FAITHFULNESS, SentenceJudge, SupportVerdict
from summeter.models.prompts import PromptFolder, lines
from summeter.records import Item

RATED_PLUS = ("completeness", "conciseness")


class GEvalPlusFaithfulness(SentenceJudge):
    """Judge whether each sentence is supported, yes or no, in one call per summary.

    Writes one judgment per sentence (aspect faithfulness), with label 1 and value 1.0 if the sentence is supported, and
    otherwise 0 and 0.0. The summary's score is the share of supported sentences. An unusable reply gives one failed
    judgment per sentence.
    """

    name, version = "geval_plus.faithfulness", "1"
    summary = "An LLM judge decides whether the document supports each sentence (G-Eval+)."
    binary_units = frozenset({"sentence"})
    reply_tokens = 12

    def template_variables(self, item: Item, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the template variables. The document comes first, as for every judge."""
        return {"sentences": lines(item.sentences), **super().template_variables(item, data)}

    def reply_schema(self, item: Item, data: Mapping[str, Any] = NO_DATA) -> dict[str, Any]:
        """Return the schema of a reply, with one required property per sentence."""
        return keyed_schema(len(item.sentences), "verdict", {"response": NO_YES})

    def parse(self, text: str, item: Item, data: Mapping[str, Any] = NO_DATA) -> tuple[SupportVerdict | NoVerdict, ...]:
        """Parse yes or no for every sentence."""
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
    """Rate one aspect from 1 to 5: completeness, conciseness or a user-defined aspect.

    The judge works like `geval`, but with three fixed steps in the template. `scoring` and `draws` are those of
    `geval`.
    """

    name, version = "geval_plus.rating", "1"
    summary = "Completeness or conciseness from 1 to 5 in three fixed steps (G-Eval+)."
    aspects = RATED_PLUS

    aspect: str = "completeness"

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.definition is None and self.aspect not in RATED_PLUS:
            raise ValueError(
                f"G-Eval+ rates {' and '.join(RATED_PLUS)}, not {self.aspect!r} "
                "(use geval_plus.faithfulness for faithfulness, geval for other aspects)"
            )
        return self


class GEvalPlus(Sampled):
    """G-Eval+ of UniSumEval: the share of supported sentences, and two ratings from 1 to 5.

    This evaluator is a bundle: `components()` write the judgments, which have the names and signatures of the
    components. `aspect` is "all" or one of the three aspects. `scoring` and `draws` apply to the ratings (see `geval`).
    There is no overall score, because a share and ratings cannot be combined.

    >>> [component.name for component in GEvalPlus().components()]
    ['geval_plus.faithfulness', 'geval_plus.rating', 'geval_plus.rating']
    """

    name, version = "geval_plus", "1"
    summary = "Faithfulness by sentence, completeness and conciseness from 1 to 5 (G-Eval+)."
    aspects = (FAITHFULNESS, *RATED_PLUS)
    roles: ClassVar[Mapping[str, Role]] = {"judge": Role()}

    aspect: Literal["all", "faithfulness", "completeness", "conciseness"] = "all"
    prompts: PromptFolder | None = None

    def without_logprobs(self) -> Self | None:
        """Return the bundle with samples, unless `scoring` was set or only faithfulness is judged."""
        return None if self.aspect == FAITHFULNESS else super().without_logprobs()

    @property
    def active_aspects(self) -> tuple[str, ...]:
        """All three aspects, or the selected one."""
        return self.aspects if self.aspect == "all" else (self.aspect,)

    def components(self) -> tuple[Evaluator, ...]:
        """Return the judges of the selected aspects, with the settings of this bundle."""
        judges: dict[str, Evaluator] = {FAITHFULNESS: GEvalPlusFaithfulness(prompts=self.prompts)}
        for aspect in RATED_PLUS:
            judges[aspect] = GEvalPlusRating(
                aspect=aspect, scoring=self.scoring, draws=self.draws, prompts=self.prompts
            )
        return tuple(judges[aspect] for aspect in self.active_aspects)
