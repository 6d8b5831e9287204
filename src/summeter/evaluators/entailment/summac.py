"""`summac`: NLI between each passage of the document and each summary sentence.

See Laban et al. (TACL 2022).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from summeter.evaluators.base import Evaluator, JudgmentBuilder, Prepared, Role, Tools, named_file
from summeter.evaluators.entailment.convolution import SCRIPT, WEIGHTS, Convolution, load
from summeter.evaluators.entailment.premises import CONTRADICT, ENTAIL, Floats, Premises, fitted
from summeter.evaluators.entailment.reasons import TELLING, against, shares
from summeter.models.fitted import DataFile
from summeter.records import Document, Item, Judgment, count
from summeter.text.spans import Splitter, TextSpan, evidence, paragraph_spans, sentence_spans

Grain = Literal["sentence", "2sents", "paragraph", "mixed", "document"]
FAITHFULNESS = "faithfulness"


class SummaC(Evaluator):
    """Compute how well the best passage of the document entails each sentence of the summary (SummaC).

    - `method`: `zs` computes the highest probability of entailment over passages and then the mean over sentences;
      `conv` applies a trained convolution to the histogram of all probabilities. `weights`: a file of weights for
      `conv`, written by `scripts/train_summac.py`.
    - `granularity`: the passages of the document (sentence, 2sents, paragraph, mixed or document) and, after a hyphen
      if different, the judged units of the summary (sentence, paragraph or document), such as `paragraph-sentence`.
    - `labels` (only for `zs`): `e` uses only entailment, as in the paper; `ec` subtracts the highest probability of
      contradiction, which is the default of the released class.
    - `least`: passages of at most this number of characters are left out. `most`: the maximum number of passages. The
      released code uses 10 and 100; by default, nothing is left out.
    - `nearest` (only for `zs`): the number of passages with which each sentence is compared, which are those that share
      the most words with the sentence. This setting is for long documents and is not part of SummaC.
    - `sentences`: `punkt` to split both texts as the released code does (with NLTK's English Punkt, keeping line
      breaks), or `stored` to use the sentences of the data.
    - `threshold`: the lowest value with the label 1; the score does not depend on it.

    Passages longer than the network's limit are split into sequences of whole sentences.

    Writes one judgment per stored sentence and one of the summary (aspect faithfulness), in [0, 1] ([-1, 1] for `ec`).
    The value of the judgment of the summary is its score; a stored sentence that Punkt does not produce is not included
    in this score. The evidence is the passage that entails best and, for an unsupported sentence, the passage that
    contradicts most.
    """

    name, version = "summac", "1"
    summary = "An NLI network compares each summary sentence with every passage (SummaC-ZS, SummaC-Conv)."
    aspects = (FAITHFULNESS,)
    roles: ClassVar[Mapping[str, Role]] = {"nli": Role("classifier")}
    reduce = "whole"
    value_range = (-1.0, 1.0)

    method: Literal["zs", "conv"] = "zs"
    granularity: str = "sentence"
    labels: Literal["e", "ec"] = "e"
    weights: Annotated[DataFile | None, named_file(WEIGHTS, f"; {SCRIPT} creates one")] = None
    least: int = Field(default=0, ge=0)
    most: int | None = Field(default=None, ge=1)
    nearest: int | None = Field(default=None, ge=1)
    sentences: Splitter = "punkt"
    threshold: float = Field(default=0.5, ge=-1, le=1)

    @model_validator(mode="after")
    def _check(self) -> Self:
        grain, of_summary = self._grains
        if grain not in Grain.__args__ or of_summary not in {"sentence", "paragraph", "document"}:  # type: ignore[attr-defined]
            raise ValueError(
                f"granularity {self.granularity!r} is invalid: use one of {', '.join(Grain.__args__)} for the "  # type: ignore[attr-defined]
                "document, and after a hyphen sentence, paragraph or document for the summary"
            )
        if self.method == "zs" and self.weights is not None:
            raise ValueError("weights requires method=conv. Remove weights, or set method=conv")
        if self.method == "conv" and self.weights is None:
            raise ValueError(
                "method=conv needs trained weights. Set weights=FILE (scripts/train_summac.py trains them on labelled "
                "summaries), or method=zs"
            )
        # The weights define which probabilities are counted, and those of all passages are.
        for name, changed in (("labels", self.labels != "e"), ("nearest", self.nearest is not None)):
            if self.method == "conv" and changed:
                raise ValueError(f"{name} requires method=zs")
        return self

    @property
    def _grains(self) -> tuple[Grain, Grain]:
        grain, _, judged = self.granularity.partition("-")
        # By default, the summary has the same granularity as the document, if possible.
        of_summary = judged or (grain if grain in {"paragraph", "document"} else "sentence")
        return grain, of_summary  # type: ignore[return-value]

    def signature_fields(self) -> Mapping[str, object]:
        """Return the changed settings and the hash of the weights."""
        return {**super().signature_fields(), **({"weights": load(self.weights).id} if self.weights else {})}

    async def prepare(self, document: Document, tools: Tools) -> Prepared:
        """Return the offsets of the passages, unless the passages are the sentences.

        If the text of a passage differs from that of the document (joined sentences), the text is returned, too.
        """
        grain, text = self._grains[0], document.text
        if grain == "sentence":
            return Prepared(document_id=document.id)
        sentences = sentence_spans(document, self.sentences)
        passages = passages_of(text, sentences, grain, self.least)
        data = [
            [*passage.offsets, *([] if passage.text == text[passage.start : passage.end] else [passage.text])]
            for passage in await fitted(text, passages, sentences, tools.network("nli"))
        ]
        return Prepared(document_id=document.id, data={"passages": data})

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """Return one judgment of the summary and one per sentence."""
        nli = tools.network("nli")
        builder = self.builder(item, prepared, tools, model=nli.id)
        text = item.document.text
        passages = passages_of(text, sentence_spans(item.document, self.sentences), "sentence", self.least)
        if "passages" in prepared.data:
            passages = [
                TextSpan(joined[0] if joined else text[start:end], start, end)
                for start, end, *joined in prepared.data["passages"]
            ]
        passages = passages[: self.most]
        text = item.summary.text
        scored = passages_of(text, sentence_spans(item.summary, self.sentences), self._grains[1], self.least)
        if not passages or not scored:
            side = "the document" if not passages else "the summary"
            why = f"{side} has no passage of more than {self.least} characters"
            return builder.skipped(why)
        premises = tools.once("premises", lambda: Premises(nli, [passage.text for passage in passages], self.nearest))
        stored = enumerate(sentence_spans(item.summary)) if self._grains[1] == "sentence" else ()
        judged = {at: sentence for at, sentence in stored if len(sentence.text) > self.least}
        tables = await premises.against([passage.text for passage in (*scored, *judged.values())])
        convolution = tools.once("convolution", lambda: load(self.weights) if self.weights else None)
        of_sentences = [
            self._of_sentence(builder, index, table, self._value(table, convolution), passages)
            for index, table in zip(judged, tables[len(scored) :], strict=True)
        ]
        values = [self._value(table, convolution) for table in tables[: len(scored)]]
        if convolution is None:
            value = float(np.mean(values))
        else:
            value = convolution.probability(list(map(convolution.score, tables[: len(scored)])))
        weakest = values.index(min(values))
        overall = builder.ok(
            FAITHFULNESS,
            value=value,
            label=int(value >= self.threshold),
            reason=f"{count(len(scored), 'passage')} of the summary judged; lowest {values[weakest]:.2f}",
            evidence=evidence([scored[weakest]], "summary"),
        )
        return [overall, *of_sentences]

    def _value(self, table: Floats, convolution: Convolution | None) -> float:
        """Return the value of a sentence.

        For `conv`, it is that of a summary that consists only of this sentence.
        """
        if convolution is not None:
            return convolution.probability([convolution.score(table)])
        best = float(np.nanmax(table[:, ENTAIL]))  # NaN: passages beyond `nearest`
        return best - float(np.nanmax(table[:, CONTRADICT])) if self.labels == "ec" else best

    def _of_sentence(
        self, builder: JudgmentBuilder, index: int, table: Floats, value: float, passages: Sequence[TextSpan]
    ) -> Judgment:
        best, supported = int(np.nanargmax(table[:, ENTAIL])), value >= self.threshold
        worst = None if supported else against(table)
        verdict = "entailed by" if supported else "no passage entails it; nearest:"
        if not supported and table[best, CONTRADICT] >= TELLING:
            verdict = "contradicted by"
        reason, cited = f"{verdict} a passage ({shares(table[best])})", [best]
        if worst is not None and worst != best:
            reason += f"; another passage contradicts it ({shares(table[worst])})"
            cited.append(worst)
        fields = {"evidence": evidence([passages[number] for number in cited]), "contradicted": worst is not None}
        return builder.ok(FAITHFULNESS, "sentence", index, value=value, label=int(supported), reason=reason, **fields)


def passages_of(text: str, sentences: Sequence[TextSpan], grain: Grain, least: int = 0) -> list[TextSpan]:
    """Return the passages of a text that have more than `least` characters.

    `2sents` returns every sentence together with the next one, and the last sentence alone, as in the released code.
    `mixed` returns the sentences followed by the paragraphs. `document` returns the whole text.

    >>> [one.text for one in passages_of("A b. C d.", [TextSpan("A b.", 0, 4), TextSpan("C d.", 5, 9)], "2sents")]
    ['A b. C d.', 'C d.']
    """
    long = [sentence for sentence in sentences if len(sentence.text) > least]
    paragraphs = [span for span in paragraph_spans(text) if len(span.text) > least]
    passages: dict[Grain, list[TextSpan]] = {
        "sentence": long,
        "2sents": [TextSpan.joined(long[at : at + 2]) for at in range(len(long))],
        "paragraph": paragraphs,
        "mixed": [*long, *paragraphs],
        "document": [TextSpan.of(text)],
    }
    return passages[grain]
