"""`similarity`: cosine similarity between the summary and the document or a reference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from summeter.evaluators.base import Evaluator, Prepared, Role, Tools
from summeter.models.networks import Embed, Network
from summeter.records import Document, Item, Judgment
from summeter.text.spans import TextSpan, evidence, sentence_spans
from summeter.text.split import split

SIMILARITY = "similarity"
Floats = NDArray[np.float64]


Embeddings = tuple[Floats, Floats | None]
"""One vector per text to compare with and, if that text is the document, one vector per sentence of the document."""


class Similarity(Evaluator):
    """Compute the cosine similarity between the summary and the document or a reference.

    Values are in [-1, 1]. If there are several references, the most similar one counts.

    The network has the role `embed`. `against` is `document` or `reference`. If `pool` is `whole`, a text is embedded
    in one pass and truncated to the network's limit. If it is `sentences`, the embedding of a text is the mean of the
    embeddings of its sentences, which covers long documents.

    The similarity measures whether two texts are about the same topic, not whether they agree. A summary with changed
    numbers is nearly as similar as the original.

    Writes one judgment of the summary and, against the document, one of each sentence: the cosine similarity to the
    most similar sentence of the document, which is the evidence.
    """

    name, version = "similarity", "1"
    summary = "The cosine of the embeddings of the summary and of the document or reference."
    aspects = (SIMILARITY,)
    roles: ClassVar[Mapping[str, Role]] = {"embed": Role("encoder")}
    reduce = "whole"
    value_range = (-1.0, 1.0)

    against: Literal["document", "reference"] = "document"
    pool: Literal["whole", "sentences"] = "whole"

    def skip_reason(self, item: Item) -> str | None:
        """Return the reason for skipping the item, such as a missing reference, or None."""
        if why := super().skip_reason(item):
            return why
        missing = self.against == "reference" and not _references(item.document)
        return "there is no reference summary" if missing else None

    async def prepare(self, document: Document, tools: Tools) -> Prepared:
        """Compute the embeddings of the document or the references and cache them for all summaries."""
        await self._embeddings(document, tools)
        return Prepared(document_id=document.id)

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """Return one judgment of the summary and, against the document, one per sentence."""
        network = tools.network("embed")
        builder = self.builder(item, prepared, tools, model=network.id)
        of_texts, of_sentences = await self._embeddings(item.document, tools)
        sentences = [text for text in item.sentences if text.strip()] or [item.summary.text]
        vectors = await _vectors(network, [item.summary.text, *sentences])
        vector = vectors[0] if self.pool == "whole" else _mean(vectors[1:])
        cosines = of_texts @ vector
        reference = "the reference" if len(cosines) == 1 else f"the most similar of {len(cosines)} references"
        reason = f"cosine with {'the document' if self.against == 'document' else reference}"
        judgments = [builder.ok(SIMILARITY, value=_clipped(cosines.max()), reason=reason)]
        if of_sentences is None:
            return judgments
        spans = sentence_spans(item.document) or [TextSpan.of(item.document.text)]
        numbers = [place for place, text in enumerate(item.sentences) if text.strip()]
        for place, row in zip(numbers, vectors[1:] @ of_sentences.T, strict=False):
            at = int(row.argmax())
            judgments.append(
                builder.ok(
                    SIMILARITY,
                    "sentence",
                    place,
                    value=_clipped(row[at]),
                    reason=f"cosine {row[at]:.2f} with the most similar sentence",
                    evidence=evidence([spans[at]]),
                )
            )
        return judgments

    async def _embeddings(self, document: Document, tools: Tools) -> Embeddings:
        if "embeddings" not in tools.scratch:
            network, texts = tools.network("embed"), _references(document)
            if self.against == "document":
                sentences = [sentence.text for sentence in sentence_spans(document)] or [document.text]
                vectors = await _vectors(network, [document.text, *sentences])
                of_texts = vectors[:1] if self.pool == "whole" else _mean(vectors[1:])[None]
                tools.scratch["embeddings"] = of_texts, vectors[1:]
            elif self.pool == "whole" or not texts:
                tools.scratch["embeddings"] = await _vectors(network, texts) if texts else np.zeros((0, 0)), None
            else:
                by_text = [[text[start:end] for start, end in split(text)] for text in texts]
                means = [_mean(await _vectors(network, sentences)) for sentences in by_text]
                tools.scratch["embeddings"] = np.stack(means), None
        embeddings: Embeddings = tools.scratch["embeddings"]
        return embeddings


def _references(document: Document) -> list[str]:
    return [text for text in document.references if text.strip()]


async def _vectors(network: Network, texts: list[str]) -> Floats:
    vectors: Floats = np.array(await network.ask([Embed(text) for text in texts]), dtype=np.float64)
    return vectors


def _mean(vectors: Floats) -> Floats:
    """Return the mean of the vectors, normalised to unit length."""
    total: Floats = vectors.sum(axis=0)
    length = float(np.linalg.norm(total))
    return total / length if length else total


def _clipped(cosine: Any) -> float:
    return float(np.clip(cosine, -1.0, 1.0))
