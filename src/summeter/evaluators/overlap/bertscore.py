"""`bertscore`: similarity of contextual token embeddings between summary and references."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from pydantic import Field, model_validator

from summeter.evaluators.base import Evaluator, JudgmentBuilder, Prepared, Role, Tools, named_file
from summeter.evaluators.overlap.backbones import BASELINE_FILE, Baseline, baseline_of, layer_of
from summeter.evaluators.overlap.greedy import IDF_COUNTS, IDF_SCRIPT, Frequencies, Greedy, greedy
from summeter.models.fitted import DataFile
from summeter.models.networks import CountLayers, Encode, Network, TokenStates
from summeter.records import Document, Item, Judgment, count
from summeter.text.spans import TextSpan, evidence

PRECISION, RECALL, F1 = ASPECTS = ("bertscore_precision", "bertscore_recall", "bertscore_f1")
SHOWN = 3
MATCHED = 0.995
"""Minimum similarity of a token that counts as present in the reference."""


class BertScore(Evaluator):
    """Compute precision, recall and F1 of token embeddings (BERTScore: Zhang et al., ICLR 2020).

    The network has the role `encoder`. If there are several references, the best value of each measure counts, as in
    the released package. `layer` is the layer of the embeddings; None selects the layer published for the model
    (`backbones.LAYERS`). `idf` is a file of token counts over references (written by `scripts/bertscore_idf.py`), which
    gives rare tokens more weight. If `rescale` is true, scores are rescaled so that unrelated sentences have a score of
    0, using the published baseline of the model or that of the file `baseline`.

    Writes three judgments of the summary, and one of each sentence: the precision of its tokens against the reference
    with the best F1, with its least similar words as evidence. Values are in [-1, 1] before rescaling and mostly high;
    compare them with each other, not with a fixed threshold.
    """

    name, version = "bertscore", "1"
    summary = "Contextual embeddings of tokens, matched greedily with those of references (BERTScore)."
    aspects = ASPECTS
    needs = frozenset({"reference"})
    roles: ClassVar[Mapping[str, Role]] = {"encoder": Role("encoder")}
    reduce = "whole"
    value_range = None

    layer: int | None = Field(default=None, ge=0)
    idf: Annotated[DataFile | None, named_file(IDF_COUNTS, f"; {IDF_SCRIPT} creates one")] = None
    rescale: bool = False
    baseline: Annotated[DataFile | None, named_file(BASELINE_FILE)] = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.baseline is not None and not self.rescale:
            raise ValueError("baseline requires rescale=true")
        return self

    def signature_fields(self) -> Mapping[str, object]:
        """Return the changed settings and the hashes of the files."""
        return {**super().signature_fields(), **({"idf": Frequencies.load(self.idf).id} if self.idf else {})}

    async def prepare(self, document: Document, tools: Tools) -> Prepared:
        """Compute the embeddings of the references and cache them for all summaries of the document."""
        await self._references(document, tools)
        return Prepared(document_id=document.id)

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """Return three judgments of the summary and one per sentence."""
        encoder = tools.network("encoder")
        builder = self.builder(item, prepared, tools, model=encoder.id)
        layer = await self._layer(encoder)
        base = baseline_of(encoder.id, layer, self.baseline) if self.rescale else None
        counts = tools.once("idf", lambda: Frequencies.load(self.idf) if self.idf else None)
        references = await self._references(item.document, tools)
        text = item.summary.text
        (candidate,) = await encoder.ask([Encode(text.strip(), layer)])
        matches = [match for reference in references if (match := greedy(candidate, reference, counts)) is not None]
        if not matches:
            why = "the summary or every reference has no token with a weight"
            return builder.skipped(why)
        scores = [(match.precision, match.recall, match.f1) for match in matches]
        if base is not None:
            scores = [base.rescaled(score) for score in scores]
        reason = f"best of {count(len(matches), 'reference')}"
        if candidate.truncated or any(reference.truncated for reference in references):
            reason += "; texts were truncated to the encoder's limit"
        return [
            *(
                builder.ok(aspect, value=max(column), reason=reason)
                for aspect, column in zip(ASPECTS, zip(*scores, strict=True), strict=True)
            ),
            *_sentences(builder, candidate, max(matches, key=lambda match: match.f1), base),
        ]

    async def _layer(self, encoder: Network) -> int:
        if self.layer is not None:
            return self.layer
        (layers,) = await encoder.ask([CountLayers()])
        return layer_of(encoder.id, layers)

    async def _references(self, document: Document, tools: Tools) -> list[TokenStates]:
        if "references" not in tools.scratch:
            encoder = tools.network("encoder")
            texts = [text.strip() for text in document.references if text.strip()]
            layer = await self._layer(encoder)
            tools.scratch["references"] = await encoder.ask([Encode(text, layer) for text in texts])
        references: list[TokenStates] = tools.scratch["references"]
        return references


def _sentences(
    builder: JudgmentBuilder, candidate: TokenStates, match: Greedy, base: Baseline | None
) -> list[Judgment]:
    """Return a judgment of each sentence.

    A sentence is skipped if none of its tokens has a weight or was read by the encoder.
    """
    text = builder.item.summary.text
    shift = len(text) - len(text.lstrip())
    spans = [TextSpan.of(text, start + shift, end + shift) for start, end in candidate.offsets]

    def verdict(tokens: Sequence[int]) -> Mapping[str, Any]:
        """Return the fields of the judgment of these tokens."""
        value = float(match.best[tokens] @ match.weights[tokens] / match.weights[tokens].sum())
        if base is not None:
            value = base.rescaled((value, value, value))[0]
        # The least similar words first; adjacent tokens form one word.
        words: list[tuple[float, TextSpan]] = []
        for at in tokens:
            similar, span = float(match.best[at]), spans[at]
            if not any(map(str.isalnum, span.text)):
                continue
            if words and words[-1][1].end == span.start:
                before, word = words.pop()
                similar, span = min(similar, before), TextSpan.of(text, word.start, span.end)
            words.append((similar, span))
        worst = sorted(words, key=lambda scored: (scored[0], scored[1].start))[:SHOWN]
        worst = [(similar, word) for similar, word in worst if similar < MATCHED]
        shown = ", ".join(f"'{word.text}' ({similar:.2f})" for similar, word in worst)
        reason = f"least similar to the reference: {shown}" if shown else "every word has a match in the reference"
        return {"value": value, "reason": reason, "evidence": evidence((word for _, word in worst), "summary")}

    weighted = [(spans[at].start, at) for at in np.flatnonzero(match.weights > 0).tolist()]
    missing = "no token of the sentence has a weight, or it is beyond the encoder's limit"
    return builder.by_sentence(PRECISION, weighted, verdict, missing)
