"""`similarity`: how close the summary as a whole lies to the document, or to a reference, in an embedding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from summeter.evaluators.base import Evaluator, JudgmentBuilder, Prepared, Role, Tools
from summeter.models.networks import Embed, Network
from summeter.records import Document, Item, Judgment
from summeter.text.spans import TextSpan, evidence, sentence_spans
from summeter.text.split import split

SIMILARITY = "similarity"
Floats = NDArray[np.float64]


class _Against(NamedTuple):
    """What summaries are compared with: one vector a text, and (against the document) one a sentence of it."""

    texts: Floats
    sentences: Floats | None = None


class Similarity(Evaluator):
    """The cosine of the summary's embedding and the document's, or the nearest reference's; in [-1, 1].

    Role `embed`. `against`: document or reference. `pool`: `whole` embeds a text as one (what is longer than the
    network reads is cut); `sentences` takes the mean of its sentences' vectors, so that nothing of a long document is
    lost.

    It says whether two texts are about the same, not whether what one says is true of the other: a summary with its
    numbers changed lies nearly as close as the right one.

    Writes one judgment of the summary, and against the document one of each sentence: the cosine with the nearest
    sentence of the document, which is its evidence.
    """

    name, version = "similarity", "1"
    summary = "cosine of the summary's embedding with the document's or the reference's"
    aspects = (SIMILARITY,)
    roles: ClassVar[Mapping[str, Role]] = {"embed": Role("encoder")}
    reduce = "whole"
    value_range = (-1.0, 1.0)

    against: Literal["document", "reference"] = "document"
    pool: Literal["whole", "sentences"] = "whole"

    def skip_reason(self, item: Item) -> str | None:
        """As for all, and where there is no reference to compare with."""
        if (
            (why := super().skip_reason(item)) is None
            and self.against == "reference"
            and not _references(item.document)
        ):
            return "there is no reference summary"
        return why

    async def prepare(self, document: Document, tools: Tools) -> Prepared:
        """The document's or the references' vectors, kept for all summaries of the document."""
        await self._other(document, tools)
        return Prepared(document_id=document.id)

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """One judgment of the summary; against the document, one a sentence."""
        network = tools.network("embed")
        builder = self.builder(item, prepared, tools, model=network.id)
        other = await self._other(item.document, tools)
        cut = [text for text in item.sentences if text.strip()] or [item.summary.text]
        own = await _vectors(network, [item.summary.text, *cut])
        vector = own[0] if self.pool == "whole" else _mean(own[1:])
        near = other.texts @ vector
        to = "the reference" if len(near) == 1 else f"the nearest of {len(near)} references"
        reason = f"cosine with {'the document' if self.against == 'document' else to}"
        whole = builder.ok(SIMILARITY, value=_clipped(near.max()), reason=reason)
        if other.sentences is None:
            return [whole]
        return [whole, *_parts(builder, own[1:], other.sentences)]

    async def _other(self, document: Document, tools: Tools) -> _Against:
        if "against" not in tools.scratch:
            network, texts = tools.network("embed"), _references(document)
            if self.against == "document":
                cut = [sentence.text for sentence in sentence_spans(document)] or [document.text]
                vectors = await _vectors(network, [document.text, *cut])
                of_texts = vectors[:1] if self.pool == "whole" else _mean(vectors[1:])[None]
                tools.scratch["against"] = _Against(of_texts, vectors[1:])
            elif self.pool == "whole" or not texts:
                tools.scratch["against"] = _Against(await _vectors(network, texts) if texts else np.zeros((0, 0)))
            else:
                cuts = [[text[start:end] for start, end in split(text)] for text in texts]
                tools.scratch["against"] = _Against(np.stack([_mean(await _vectors(network, cut)) for cut in cuts]))
        other: _Against = tools.scratch["against"]
        return other


def _references(document: Document) -> list[str]:
    return [text for text in document.references if text.strip()]


async def _vectors(network: Network, texts: list[str]) -> Floats:
    vectors: Floats = np.array(await network.ask([Embed(text) for text in texts]), dtype=np.float64)
    return vectors


def _mean(vectors: Floats) -> Floats:
    """The direction of the mean of unit vectors."""
    total: Floats = vectors.sum(axis=0)
    length = float(np.linalg.norm(total))
    return total / length if length else total


def _clipped(cosine: Any) -> float:
    return float(np.clip(cosine, -1.0, 1.0))


def _parts(builder: JudgmentBuilder, own: Floats, document: Floats) -> list[Judgment]:
    cosines = own @ document.T
    sentences = sentence_spans(builder.item.document) or [TextSpan.of(builder.item.document.text)]
    numbers = [place for place, text in enumerate(builder.item.sentences) if text.strip()]
    judgments = []
    for place, row in zip(numbers, cosines, strict=False):
        at = int(row.argmax())
        reason = f"cosine {row[at]:.2f} with the nearest sentence"
        judgments.append(
            builder.ok(
                SIMILARITY,
                "sentence",
                place,
                value=_clipped(row[at]),
                reason=reason,
                evidence=evidence([sentences[at]]),
            )
        )
    return judgments
