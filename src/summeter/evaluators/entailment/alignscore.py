"""`alignscore`: the alignment of each summary sentence with the best chunk of the document.

One network trained on many tasks computes the alignment (AlignScore: Zha et al., ACL 2023).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from summeter.evaluators.base import Checkpoint, Evaluator, Prepared, Role, Tools
from summeter.evaluators.entailment.classified import at_best_chunk, over_sentences, unread
from summeter.evaluators.entailment.premises import Floats
from summeter.models.networks import Classes, Classify, CountTokens, Framing, Network, TokenLimit, softmax
from summeter.records import Document, Item, Judgment
from summeter.text.chunks import windows
from summeter.text.spans import Splitter, SummarySentences, TextSpan, ranges_by_source, sentence_spans

FAITHFULNESS = "faithfulness"
WORDS = 350
"""Number of words per chunk; the number of chunks of a document is rounded up."""
AT_ONCE = 32
"""Number of inputs in a batch of the released code. If one of them is too long, all are truncated differently."""

Mode = Literal["nli_sp", "bin_sp", "reg_sp", "nli", "bin", "reg"]
CLASSES: dict[str, Classes] = {"nli": "nli", "bin": 2, "reg": 1}


class AlignScore(Evaluator):
    """Compute how well the best chunk of the document supports each summary sentence (AlignScore).

    `mode` selects the head of the checkpoint and the texts to compare. `nli` (as in the paper) is the probability of
    "aligned" among three classes, `bin` the probability among two classes, and `reg` an unbounded regression. With the
    suffix `_sp` (as in the paper), each sentence of the summary is compared with chunks of about 350 words of the
    document, and the score is the mean over sentences of the maximum over chunks. Without the suffix, the whole texts
    are compared in one pass. Each head is a separate checkpoint (`summeter models convert alignscore`), bound to the
    role `alignscore`.

    `variant` is `paper`, or `legacy` for the released code, which reads marks such as `</s>` inside a text as special
    tokens and, if a claim leaves no room for a chunk, truncates the longer text of every pair in the same batch.
    `sentences` is `punkt` to split both texts as the released code does (with NLTK's English Punkt, keeping line
    breaks), or `stored` to use the sentences of the data. `threshold` is the lowest value with the label 1; the score
    does not depend on it.

    A chunk that does not fit together with a sentence is truncated, and the omitted tokens are counted in
    `truncated_tokens`. Writes one judgment per stored sentence (with `_sp`), with the best chunk as evidence, and one
    of the summary (aspect faithfulness). A stored sentence that Punkt does not produce is judged but not included in
    the score.
    """

    name, version = "alignscore", "1"
    summary = "An alignment network compares summary sentences with chunks of the document (AlignScore)."
    aspects = (FAITHFULNESS,)
    roles: ClassVar[Mapping[str, Role]] = {
        "alignscore": Role(
            "classifier",
            checkpoints=(
                Checkpoint("yzha/AlignScore", "MIT", size=355, tokens=512, languages="English", convert="alignscore"),
            ),
        )
    }
    code_licence = "MIT"
    reduce = "whole"
    value_range = None
    positional_setting = "mode"

    mode: Mode = "nli_sp"
    variant: Literal["paper", "legacy"] = "paper"
    sentences: Splitter = "punkt"
    threshold: float = Field(default=0.5, allow_inf_nan=False)

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """Return one judgment of the summary and, in the `_sp` modes, one per sentence."""
        network = tools.network("alignscore")
        builder = self.builder(item, prepared, tools, model=network.id)
        if not self.mode.endswith("_sp"):
            document, claims = [TextSpan.of(item.document.text)], [item.summary.text]
            value = float((await self._values(network, document, claims))[0, 0])
            missing = await unread(network, [item.document.text], claims, Framing())
            return [
                replace(builder, truncated_tokens=missing).ok(
                    FAITHFULNESS,
                    value=value,
                    label=int(value >= self.threshold),
                    reason="the whole summary and the document",
                )
            ]
        chunks = tools.once("chunks", lambda: document_chunks(item.document, self.sentences))
        sentences = SummarySentences.of(item.summary, self.sentences)
        claims, scored = sentences.texts, sentences.scored
        values = await self._values(network, chunks, claims[:scored])
        if unscored := claims[scored:]:
            values = np.hstack([values, await self._values(network, chunks, unscored)])
        missing = await unread(network, [chunk.text for chunk in chunks], claims, Framing())
        builder = replace(builder, truncated_tokens=missing)
        verdicts = ("aligned with", "best aligned with")
        return [
            over_sentences(builder, values[:, :scored].max(axis=0), chunks, self.threshold),
            *(
                at_best_chunk(builder, index, values[:, claim], chunks, self.threshold, verdicts)
                for index, claim in enumerate(sentences.judged)
            ),
        ]

    async def _values(self, network: Network, chunks: Sequence[TextSpan], claims: Sequence[str]) -> Floats:
        """Return the alignment of each claim with each chunk, shape (chunks, claims)."""
        head = self.mode.removesuffix("_sp")
        classes = CLASSES[head]
        rows = [(chunk.text, claim) for chunk in chunks for claim in claims]
        framings = [Framing("only_first")] * len(rows)
        if self.variant == "legacy":
            lengths = dict(zip(claims, await network.ask([CountTokens(claim) for claim in claims]), strict=True))
            (limit,) = await network.ask([TokenLimit()])
            for start in range(0, len(rows), AT_ONCE):
                batch = slice(start, start + AT_ONCE)
                fits = all(lengths[claim] < limit for _, claim in rows[batch])
                how = Framing("only_first" if fits else "longest_first", marks=True)
                framings[batch] = [how] * len(rows[batch])
        requests = [Classify(row, classes, how) for row, how in zip(rows, framings, strict=True)]
        logits = np.array(await network.ask(requests), dtype=np.float64).reshape(len(chunks), len(claims), -1)
        if head == "reg":
            return logits[:, :, 0]
        return softmax(logits)[:, :, 1 if head == "bin" else 0]


def document_chunks(document: Document, splitter: Splitter = "punkt") -> list[TextSpan]:
    """Return consecutive chunks of whole sentences, one per 350 words (AlignScore, section 3.3).

    All chunks except the last have the same number of sentences, rounded as in the released code. The document must not
    be empty.

    >>> one = Document(id="d", text="A b. " * 31)
    >>> len(document_chunks(one)), document_chunks(Document(id="d", text="A b. C d."))
    (1, [TextSpan(text='A b. C d.', start=0, end=9)])
    """
    spans = sentence_spans(document, splitter) or [TextSpan.of(document.text)]
    size = max(len(spans) // (len(document.text.split()) // WORDS + 1), 1)
    ranges = ranges_by_source(document, spans, lambda first, last: windows(last - first, size, size, tail="short"))
    return [TextSpan.joined(spans[first:last]) for first, last in ranges]
