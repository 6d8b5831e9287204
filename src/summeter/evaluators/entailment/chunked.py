"""Judges of claims: each claim is compared with chunks of the document, and its best chunk decides.

A subclass provides the values of all pairs of a chunk and a claim. By default, an LLM is asked about each pair.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field

from summeter.evaluators.base import Evaluator, JudgmentBuilder, Prepared, Tools
from summeter.evaluators.entailment.classified import at_best_chunk, over_sentences
from summeter.evaluators.entailment.premises import Floats
from summeter.evaluators.llm import NoVerdict
from summeter.evaluators.windows import LEAST, RESERVE
from summeter.models.prompts import Prompt
from summeter.models.structured import Answer, BoundLLM
from summeter.models.tokens import tokens
from summeter.records import ContextError, Document, Item, Judgment, Parameter, ReplyError
from summeter.text.chunks import runs, tiles
from summeter.text.spans import Splitter, SummarySentences, TextSpan, ranges_by_source, sentence_spans

FAITHFULNESS = "faithfulness"
SPARE = 300
"""The number of tokens reserved for the claim and the rest of the prompt when a document is divided into chunks."""

Claims = Literal["sentence", "summary"]

_LINES = re.compile(r"\n|[^\n]+")


class Verdicts(NamedTuple):
    """The degree to which each chunk supports each claim, in [0, 1], shape (chunks, claims).

    `failures` maps the index of a claim without a verdict to the failure. `calls` maps the index of a claim to the LLM
    calls about the claim. `explanations` maps (chunk, claim) to a text.
    """

    values: Floats
    truncated_tokens: int | None = None
    failures: Mapping[int, NoVerdict] = {}
    calls: Mapping[int, tuple[str, ...]] = {}
    explanations: Mapping[tuple[int, int], str] = {}


class ClaimChecker(Evaluator):
    """Base class of judges that compare claims with chunks of whole sentences of the document.

    The class attribute `places` is the maximum number of tokens of the LLM's input, or None if only the server limits
    it, and `reply_tokens` the number of tokens reserved for the reply. If `rejoins`, a chunk consists of its sentences,
    joined by spaces as in MiniCheck; otherwise it is a part of the document as it is.
    """

    aspects = (FAITHFULNESS,)
    reduce = "whole"
    places: ClassVar[int | None] = None
    reply_tokens: ClassVar[int] = 1
    rejoins: ClassVar[bool] = True

    chunk: int | None = Field(default=None, ge=16)
    claims: Claims | None = None
    pool: Literal["mean", "min"] = "mean"
    sentences: Splitter = "punkt"
    threshold: float = Field(default=0.5, ge=0, le=1)

    # --- may be overridden ---

    @property
    def usual_claims(self) -> Claims:
        """The default value of `claims`."""
        return "sentence"

    async def sizes(self, spans: Sequence[TextSpan], tools: Tools) -> tuple[Sequence[int], int]:
        """Return the length of each piece of the document, and the maximum length of a chunk.

        Default: estimated tokens, and the input length of the LLM.
        """
        room = self.readable(tools.llm("judge")) - SPARE
        return [tokens(span.text) for span in spans], min(self.chunk or sys.maxsize, max(LEAST, room))

    async def verdicts(self, chunks: Sequence[TextSpan], claims: Sequence[str], tools: Tools) -> Verdicts:
        """Return the verdicts on all pairs of a chunk and a claim.

        Default: ask one question per pair. After an unusable reply, ask no more questions about that claim.
        """
        llm = tools.llm("judge")
        values, cut = np.zeros((len(chunks), len(claims))), [0] * len(chunks)
        failures, calls = dict[int, NoVerdict](), dict[int, tuple[str, ...]]()
        explanations = dict[tuple[int, int], str]()
        lengths = [tokens(chunk.text) for chunk in chunks]
        for at, claim in enumerate(claims):
            frame = sum(tokens(message.content) for message in self.question("", claim).messages)
            room = self.readable(llm) - frame - 1
            for number, chunk in enumerate(chunks):
                length, text = lengths[number], chunk.text
                if length > room:
                    why = f"a chunk of the document has about {length:,} tokens, but {llm.id} has room for {room:,} "
                    why += "beside the claim"
                    if room < LEAST:
                        raise ContextError(
                            why, "; use a server with a longer context (", Parameter("context", "TOKENS"), ")"
                        )
                    if llm.settings.on_overflow == "error":
                        option = Parameter("on_overflow", "truncate")
                        raise ContextError(why, "; choose a smaller `chunk`, or ", option)
                    text = tiles(text, (), room, tokens)[0].text
                    cut[number] = max(cut[number], length - tokens(text))
                answer = await self.ask(self.question(text, claim), llm)
                calls[at] = (*calls.get(at, ()), *answer.calls)
                where = "" if len(chunks) == 1 else f"chunk {number + 1} of {len(chunks)}: "
                if answer.data is None:
                    failures[at] = NoVerdict(answer.status, f"{where}{answer.reason or 'no usable reply'}")
                    break
                try:
                    values[number, at], explanations[number, at] = self.verdict(answer.data, answer, llm)
                except ReplyError as error:
                    failures[at] = NoVerdict(error.kind, f"{where}{error}")
                    break
        return Verdicts(values, sum(cut) or None, failures, calls, explanations)

    def question(self, document: str, claim: str) -> Prompt:
        """Return the prompt about a pair. Required of judges that ask an LLM."""
        raise NotImplementedError

    async def ask(self, prompt: Prompt, llm: BoundLLM) -> Answer[Any]:
        """Ask the LLM about a pair. Required of judges that ask an LLM."""
        raise NotImplementedError

    def verdict(self, data: Any, answer: Answer[Any], llm: BoundLLM) -> tuple[float, str]:
        """Return the value of a pair and an explanation, which may be empty, from the parsed reply `data`.

        Raises ReplyError if there is no verdict. Default: `data` is the value and the explanation.
        """
        value, explanation = data
        return value, explanation

    # --- the same for all ---

    def readable(self, llm: BoundLLM) -> int:
        """Return the usable input length of the LLM in tokens.

        It is the limit of the training or of the server, whichever is lower, minus a reserve.
        """
        limits = [sys.maxsize if self.places is None else self.places]
        if llm.context is not None:
            limits.append(int(llm.context * (1 - RESERVE)))
        return min(limits) - (self.reply_tokens - 1)

    def signature_fields(self) -> Mapping[str, object]:
        """Return the changed settings, with `claims` only if it differs from the default."""
        fields = dict(super().signature_fields())
        if self.claims == self.usual_claims:
            del fields["claims"]
        return fields

    async def prepare(self, document: Document, tools: Tools) -> Prepared:
        """Return the ranges of pieces of the document that form the chunks."""
        if not document.text.strip():
            return Prepared(document_id=document.id)
        spans = pieces(document, self.sentences)
        lengths, longest = await self.sizes(spans, tools)
        chunks = ranges_by_source(document, spans, lambda first, last: runs(lengths[first:last], longest))
        return Prepared(document_id=document.id, data={"chunks": chunks})

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """Return one judgment of the summary and, if the claims are sentences, one per sentence."""
        (role,) = self.required_roles
        model = (tools.llm if self.asks_llm else tools.network)(role).id
        builder = self.builder(item, prepared, tools, model=model)
        chunks = tools.once("chunks", lambda: self._chunks(item.document, prepared.data["chunks"]))
        if (self.claims or self.usual_claims) == "summary":
            verdicts = await self.verdicts(chunks, [item.summary.text], tools)
            builder = replace(builder, truncated_tokens=verdicts.truncated_tokens)
            return [self._of_claim(builder, None, chunks, verdicts, 0)]
        sentences = SummarySentences.of(item.summary, self.sentences)
        verdicts = await self.verdicts(chunks, sentences.texts, tools)
        builder = replace(builder, truncated_tokens=verdicts.truncated_tokens)
        of_sentences = [
            self._of_claim(builder, at, chunks, verdicts, claim) for at, claim in enumerate(sentences.judged)
        ]
        scored = range(sentences.scored)
        builder = replace(builder, calls=tuple(key for claim in scored for key in verdicts.calls.get(claim, ())))
        if failed := [claim for claim in scored if claim in verdicts.failures]:
            failure = verdicts.failures[failed[0]]
            why = f"sentence {failed[0] + 1} of {len(scored)}: {failure.reason}"
            return [builder.failed(FAITHFULNESS, failure.status, why), *of_sentences]
        best = verdicts.values[:, scored].max(axis=0)
        whole = over_sentences(builder, best, chunks, self.threshold, self.pool)
        pairs = [(chunk, claim) for chunk in range(len(chunks)) for claim in scored]
        agreeing = [pair for pair in pairs if (verdicts.values[pair] >= self.threshold) == bool(whole.label)]
        return [explained(whole, verdicts, agreeing), *of_sentences]

    def _chunks(self, document: Document, ranges: Sequence[tuple[int, int]]) -> list[TextSpan]:
        if not self.rejoins and len(ranges) == 1:
            return [TextSpan.of(document.text)]
        chunks = joined(pieces(document, self.sentences), ranges)
        return chunks if self.rejoins else [TextSpan.of(document.text, chunk.start, chunk.end) for chunk in chunks]

    def _of_claim(
        self, builder: JudgmentBuilder, at: int | None, chunks: Sequence[TextSpan], verdicts: Verdicts, claim: int
    ) -> Judgment:
        builder = replace(builder, calls=verdicts.calls.get(claim, ()))
        if failure := verdicts.failures.get(claim):
            unit: Literal["summary", "sentence"] = "summary" if at is None else "sentence"
            return builder.failed(FAITHFULNESS, failure.status, failure.reason, unit, at)
        column = verdicts.values[:, claim]
        verdict_texts = ("supported by", "not supported; nearest:")
        judgment = at_best_chunk(builder, at, column, chunks, self.threshold, verdict_texts)
        return explained(judgment, verdicts, [(int(column.argmax()), claim)])


def explained(judgment: Judgment, verdicts: Verdicts, pairs: Iterable[tuple[int, int]]) -> Judgment:
    """Return the judgment with the explanations of these pairs of a chunk and a claim appended to its reason."""
    texts = " ".join(dict.fromkeys(filter(None, (verdicts.explanations.get(pair) for pair in pairs))))
    return judgment.model_copy(update={"reason": f"{judgment.reason}: {texts}"}) if texts else judgment


def pieces(document: Document, splitter: Splitter = "punkt") -> list[TextSpan]:
    """Return a span for each sentence of each line, and a span for each line break.

    The span of the first sentence of a line found by Punkt includes the white space before the sentence.

    >>> [piece.text for piece in pieces(Document(id="d", text="A b. C d.\\n\\nE f."))]
    ['A b.', 'C d.', '\\n', '\\n', 'E f.']
    """
    text, found = document.text, list[TextSpan]()
    if splitter == "punkt":
        from summeter.text.punkt import punkt_split

        for line in _LINES.finditer(text):
            if line[0] == "\n":
                found.append(TextSpan("\n", *line.span()))
            else:
                at = line.start()
                found += [TextSpan.of(text, at + start, at + end) for start, end in punkt_split(line[0])]
        return found
    # The sentences of the data and the text between them, split at line breaks.
    edges = [0, *(edge for span in sentence_spans(document) for edge in span.offsets), len(text)]
    for first, last in pairwise(edges):
        for line in _LINES.finditer(text, first, last):
            start = line.start() + len(line[0]) - len(line[0].lstrip())
            if line[0] == "\n":
                found.append(TextSpan("\n", *line.span()))
            elif bare := line[0].strip():
                found.append(TextSpan(bare, start, start + len(bare)))
    return found


def joined(spans: Sequence[TextSpan], chunks: Iterable[tuple[int, int]]) -> list[TextSpan]:
    """Return the text of each range of pieces, without chunks that consist only of line breaks."""
    found = []
    for first, last in chunks:
        inside = spans[first:last]
        text = " ".join(piece.text for piece in inside).replace(" \n ", "\n").strip()
        if text:
            sentences = [piece for piece in inside if piece.text != "\n"]
            found.append(TextSpan(text, sentences[0].start, sentences[-1].end))
    return found
