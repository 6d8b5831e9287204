"""`unieval`: questions about the summary that a network answers with Yes or No.

See UniEval (Zhong et al., EMNLP 2022).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from summeter.evaluators.base import Checkpoint, Choices, Evaluator, JudgmentBuilder, Prepared, Role, Tools
from summeter.models.networks import FirstWord, Framing, Network
from summeter.records import Item, Judgment, count
from summeter.text.spans import Splitter, SummarySentences, evidence

if TYPE_CHECKING:
    from numpy.typing import NDArray

Dimension = Literal["coherence", "consistency", "fluency", "relevance"]
OVERALL = "overall"
LONGEST = 1024
"""Maximum number of tokens of an input. Longer inputs are truncated at their end."""


# These texts are part of the checkpoints' training and must not be changed.
_QUESTIONS: Mapping[Dimension, str] = {
    "coherence": "question: Is this a coherent summary to the document? {eos} summary: {0} {eos} document: {1}",
    "consistency": "question: Is this claim consistent with the document? {eos} claim: {0} {eos} document: {1}",
    "fluency": "question: Is this a fluent paragraph? {eos} paragraph: {0}",
    "relevance": "question: Is this summary relevant to the reference? {eos} summary: {0} {eos} reference: {1}",
}
_BY_SENTENCE: frozenset[Dimension] = frozenset({"consistency", "fluency"})
_WORDS: Mapping[Dimension, str] = {
    "coherence": "it is a coherent summary of the document",
    "consistency": "it is consistent with the document",
    "fluency": "it is fluent",
    "relevance": "it is relevant to the reference",
}


class UniEval(Evaluator):
    """Compute the probability of Yes relative to No for a question about the summary (UniEval).

    With `task=sum`, the network in the role `unieval` judges the `dimensions` (separated by semicolons): coherence,
    consistency, fluency and relevance. Relevance needs a reference; the first non-blank one is used. With `task=fact`,
    the network in the role `unieval_fact` judges only consistency. `threshold` is the lowest value with the label 1;
    scores do not depend on it. With `variant=legacy`, marks such as `</s>` inside a text are read as special tokens, as
    in the released class. `sentences` is `punkt` to split the summary as the released class does (with NLTK's English
    Punkt), or `stored` to use the sentences of the data.

    The value is p(Yes) / (p(Yes) + p(No)), where p is the probability of the first token of each word at the first
    step. Questions about coherence and relevance concern the whole summary. Questions about consistency and fluency
    concern each sentence, and the value of the summary is the mean over its sentences. Each stored sentence has a
    judgment, but a sentence that Punkt does not produce is not included in the mean. If there are several dimensions,
    an additional judgment with the aspect `overall` is the mean of them. Inputs are truncated to 1,024 tokens, at the
    end of the document or reference.
    """

    name, version = "unieval", "1"
    summary = "A network answers Yes or No about coherence, consistency, fluency and relevance (UniEval)."
    aspects = (*_QUESTIONS, OVERALL)
    roles: ClassVar[Mapping[str, Role]] = {
        "unieval": Role(
            "seq2seq",
            hint="The paper's network is hf/MingZhong/unieval-sum.",
            checkpoints=(
                Checkpoint("MingZhong/unieval-sum", "none stated", size=783, tokens=1024, languages="English"),
            ),
        ),
        "unieval_fact": Role(
            "seq2seq",
            hint="The paper's network is hf/MingZhong/unieval-fact.",
            checkpoints=(
                Checkpoint("MingZhong/unieval-fact", "none stated", size=783, tokens=1024, languages="English"),
            ),
        ),
    }
    code_licence = "MIT"
    reduce = "whole"
    positional_setting = "dimensions"

    task: Literal["sum", "fact"] = "sum"
    dimensions: Choices[Dimension] = ("coherence", "consistency", "fluency", "relevance")
    threshold: float = Field(default=0.5, ge=0, le=1)
    variant: Literal["paper", "legacy"] = "paper"
    sentences: Splitter = "punkt"

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.task == "fact" and "dimensions" in self.model_fields_set and self.dimensions != ("consistency",):
            raise ValueError("dimensions: task=fact judges only consistency; remove dimensions")
        return self

    @property
    def _questions(self) -> tuple[Dimension, ...]:
        return self.dimensions if self.task == "sum" else ("consistency",)

    @property
    def active_aspects(self) -> tuple[str, ...]:
        """The dimensions and, if there are several, `overall`."""
        return self._questions if len(self._questions) == 1 else (*self._questions, OVERALL)

    @property
    def required_roles(self) -> tuple[str, ...]:
        """The role of the network for the task."""
        return ("unieval",) if self.task == "sum" else ("unieval_fact",)

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """Return judgments of the summary and, for consistency and fluency, of its sentences."""
        network = tools.network(self.required_roles[0])
        builder = self.builder(item, prepared, tools, model=network.id)
        reference = next(iter(item.references), None)
        text, sentences = item.summary.text, SummarySentences.of(item.summary, self.sentences)
        judgments: list[Judgment] = []
        values: dict[Dimension, float] = {}
        for dimension in self._questions:
            if dimension == "relevance" and reference is None:
                judgments.append(builder.failed(dimension, "skipped", "there is no reference summary"))
                continue
            other = reference if dimension == "relevance" else None if dimension == "fluency" else item.document.text
            if dimension not in _BY_SENTENCE:
                (answer,) = await self._answers(network, dimension, [text], other)
                values[dimension] = float(answer)
                judgments.append(self._answer(builder, dimension, values[dimension]))
                continue
            answers = await self._answers(network, dimension, sentences.texts, other)
            scored = answers[: sentences.scored]
            value, weakest = float(scored.mean()), int(scored.argmin())
            values[dimension] = value
            judgments.append(
                builder.ok(
                    dimension,
                    value=value,
                    label=int(value >= self.threshold),
                    reason=f"mean of {count(len(scored), 'sentence')}; lowest {scored[weakest]:.2f}",
                    evidence=evidence([sentences.spans[weakest]], "summary"),
                )
            )
            judgments += [
                self._answer(builder, dimension, float(answers[claim]), place)
                for place, claim in enumerate(sentences.judged)
            ]
        missing = [dimension for dimension in self._questions if dimension not in values]
        if len(self._questions) > 1 and missing:
            why = f"{missing[0]} is missing: there is no reference summary"
            judgments.append(builder.failed(OVERALL, "skipped", why))
        elif len(self._questions) > 1:
            value = float(np.mean(list(values.values())))
            shown = ", ".join(f"{dimension} {one:.2f}" for dimension, one in values.items())
            label = int(value >= self.threshold)
            judgments.append(builder.ok(OVERALL, value=value, label=label, reason=f"mean of {shown}"))
        return judgments

    async def _answers(
        self, network: Network, dimension: Dimension, texts: Sequence[str], other: str | None
    ) -> NDArray[np.float64]:
        """Return p(Yes) / (p(Yes) + p(No)) for each text."""
        rows = [(text,) if other is None else (text, other) for text in texts]
        framing = Framing(template=_QUESTIONS[dimension], limit=LONGEST, marks=self.variant == "legacy")
        first = np.array(await network.ask([FirstWord(row, ("Yes", "No"), framing) for row in rows])).reshape(-1, 2)
        values: NDArray[np.float64] = 1 / (1 + np.exp(first[:, 1] - first[:, 0]))
        return values

    def _answer(
        self, builder: JudgmentBuilder, dimension: Dimension, value: float, place: int | None = None
    ) -> Judgment:
        reason = f"probability of Yes to whether {_WORDS[dimension]}: {value:.2f}"
        unit: Literal["summary", "sentence"] = "summary" if place is None else "sentence"
        return builder.ok(dimension, unit, place, value=value, label=int(value >= self.threshold), reason=reason)
