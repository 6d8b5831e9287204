"""`lettucedetect`: unsupported words of the summary, by a token classifier (LettuceDetect: arXiv 2502.17125)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from summeter.evaluators.base import Checkpoint, Evaluator, Prepared, Role, Tools
from summeter.evaluators.entailment.classified import unread
from summeter.models.networks import ClassifyTokens, CountTokens, Framing, softmax
from summeter.records import Document, Item, Judgment, UsageError
from summeter.text.chunks import runs
from summeter.text.spans import TextSpan, evidence, ranges_by_source, sentence_spans

FAITHFULNESS = "faithfulness"

Language = Literal["en", "de", "fr", "es", "it", "pl", "cn", "hu"]

# The prompts for summaries of the released code (lettucedetect 0.2.3, MIT), which are part of the training. White space
# at their ends differs between the languages.
PROMPTS: Mapping[Language, str] = {
    "en": "Summarize the following text:\npassage 1: {}\noutput:",
    "de": "Fasse den folgenden Text zusammen:\nPassage 1: {}\nAusgabe:\n",
    "fr": "Résume le texte suivant :\npassage 1: {}\nSortie : ",
    "es": "Resume el siguiente texto:\npasaje 1: {}\nSalida: ",
    "it": "Riassumi il seguente testo:\nbrano 1: {}\nRisposta: ",
    "pl": "Streść następujący tekst:\nfragment 1: {}\nWynik: ",
    "cn": "请总结以下文本：\n段落 1: {}\n输出：\n",
    "hu": "Foglalja össze az alábbi szöveget:\nszövegrészlet 1: {}\noutput:\n\n\n",
}
FRAMING = Framing("only_first", limit=4096)
# Version 2 (canonicalize_prompts.py, model_card_v2_mmbert_base.md and transformer.py of KRLabsOrg/LettuceDetect):
# without a question, the training data have the bare document, the card separates document, question and answer, and
# the code uses the prompts above.
LANGUAGES_OF_V2 = "English, German, French, Spanish, Italian, Polish, Chinese"


class LettuceDetect(Evaluator):
    """Find the words of the summary that the document does not support (LettuceDetect).

    - `lang`: the language of the prompt, which must be that of the network: `en` (default), `de`, `fr`, `es`, `it`,
      `pl`, `cn` or `hu`.
    - `chunk`: maximum length of a chunk of whole sentences of the document, in tokens. A word is supported if any chunk
      supports it. By default, the document is one passage, which is truncated at its end if it does not fit into 4,096
      tokens together with the prompt and the summary, and the omitted tokens are counted in `truncated_tokens`.
    - `threshold`: words whose probability of being supported is lower are unsupported; values of at least `threshold`
      have the label 1.

    The network (role `lettucedetect`) computes for each token of the summary the probability that it is unsupported.
    The value is 1 minus the highest of these probabilities. The evidence consists of the unsupported spans of the
    summary, which are runs of unsupported tokens without white space at their ends; the reason quotes them with their
    highest probabilities. Several chunks are combined by the lowest probability of each token; the released code takes
    the highest, so that a chunk would reject what another one supports. Writes one judgment of the summary and one per
    stored sentence (aspect faithfulness), in [0, 1].
    """

    name, version = "lettucedetect", "1"
    summary = "A token classifier finds the unsupported spans of the summary (LettuceDetect)."
    aspects = (FAITHFULNESS,)
    roles: ClassVar[Mapping[str, Role]] = {
        "lettucedetect": Role(
            "token_classifier",
            checkpoints=(
                Checkpoint(
                    "KRLabsOrg/lettucedect-base-modernbert-en-v1", "MIT", size=150, tokens=4096, languages="English"
                ),
                Checkpoint(
                    "KRLabsOrg/lettucedect-large-modernbert-en-v1", "MIT", size=396, tokens=4096, languages="English"
                ),
                *(
                    Checkpoint(
                        f"KRLabsOrg/lettucedect-{size}m-eurobert-LANG-v1",
                        "MIT",
                        size=size,
                        tokens=4096,
                        languages="German, French, Spanish, Italian, Polish or Chinese; LANG is de, fr, es, it, pl, cn",
                    )
                    for size in (210, 610)
                ),
                Checkpoint(
                    "KRLabsOrg/lettucedect-v2-mmbert-base",
                    "Apache-2.0",
                    languages=LANGUAGES_OF_V2,
                    unavailable="its training data, its card and the released code arrange the input in three ways",
                ),
                Checkpoint(
                    "KRLabsOrg/lettucedect-v2-taxonomy-head",
                    "Apache-2.0",
                    languages=LANGUAGES_OF_V2,
                    unavailable="it types the spans of lettucedect-v2-mmbert-base, which is not available",
                ),
                Checkpoint(
                    "KRLabsOrg/lettucedect-v2-qwen-2b",
                    "Apache-2.0",
                    size=2000,
                    unavailable="no evaluator has been written for its prompt and its typed spans",
                ),
            ),
        )
    }
    code_licence = "MIT"
    reduce = "whole"
    positional_setting = "lang"

    lang: Language = "en"
    chunk: int | None = Field(default=None, ge=16)
    threshold: float = Field(default=0.5, ge=0, le=1)

    async def prepare(self, document: Document, tools: Tools) -> Prepared:
        """Return the ranges of sentences that form the chunks, if the document is divided."""
        if self.chunk is None or not document.text.strip():
            return Prepared(document_id=document.id)
        spans, longest = sentence_spans(document), self.chunk
        lengths = await tools.network("lettucedetect").ask([CountTokens(span.text) for span in spans])
        chunks = ranges_by_source(document, spans, lambda first, last: runs(lengths[first:last], longest))
        return Prepared(document_id=document.id, data={"chunks": chunks})

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """Return one judgment of the summary and one per sentence.

        Raises UsageError if the name of the network contains another language.
        """
        network, text = tools.network("lettucedetect"), item.summary.text
        named = re.search(r"bert-(en|de|fr|es|it|pl|cn|hu)-v\d", network.id)
        if named and named[1] != self.lang:
            raise UsageError(f"the language of {network.id} is {named[1]}: use lettucedetect[lang={named[1]}]")
        chunks = [item.document.text]
        if ranges := prepared.data.get("chunks"):
            spans = sentence_spans(item.document)
            chunks = [item.document.text[spans[first].start : spans[last - 1].end] for first, last in ranges]
        prompts = [PROMPTS[self.lang].format(chunk) for chunk in chunks]
        found = await network.ask([ClassifyTokens((prompt, text), 2, FRAMING) for prompt in prompts])
        truncated = await unread(network, prompts, [text], FRAMING)
        builder = self.builder(item, prepared, tools, model=network.id, truncated_tokens=truncated)
        # A summary that leaves no room for a chunk is truncated, not to the same length beside every chunk.
        size = min(int((tokens.text == 1).sum()) for tokens in found)
        risks = [softmax(tokens.logits.astype(np.float64))[tokens.text == 1, 1][:size] for tokens in found]
        offsets = found[0].offsets[found[0].text == 1][:size].tolist()
        # Tokens without text, such as parts of a character, are not judged.
        judged = [
            (start, end, risk) for (start, end), risk in zip(offsets, np.min(risks, axis=0), strict=True) if end > start
        ]
        if not judged:
            return builder.skipped("the network finds no tokens in the summary")
        supported = 1 - np.array([risk for *_, risk in judged])

        def verdict(indices: Sequence[int]) -> Mapping[str, Any]:
            """Return the fields of the judgment of these tokens."""
            value = float(supported[indices].min())
            unsupported = []
            for rejected, run in groupby(indices, key=lambda index: supported[index] < self.threshold):
                members = list(run)
                start, end = judged[members[0]][0], judged[members[-1]][1]
                if rejected and (bare := text[start:end].strip()):
                    start += text[start:end].index(bare)
                    span = TextSpan(bare, start, start + len(bare))
                    unsupported.append((span, 1 - float(supported[members].min())))
            quoted = ", ".join(f"{span.text!r} ({risk:.2f})" for span, risk in unsupported)
            return {
                "value": value,
                "label": int(value >= self.threshold),
                "reason": f"unsupported: {quoted}" if quoted else f"no unsupported words (lowest {value:.2f})",
                "evidence": evidence([span for span, _ in unsupported], "summary"),
            }

        # A token may begin with the space before its word, and thus before the sentence.
        starts = [end - len(text[start:end].lstrip()) for start, end, _ in judged]
        whole = builder.ok(FAITHFULNESS, **verdict(range(len(judged))))
        missing = "the network reads no tokens of the sentence"
        entries = [(start, index) for index, start in enumerate(starts) if start < judged[index][1]]
        return [whole, *builder.by_sentence(FAITHFULNESS, entries, verdict, missing)]
