"""`minicheck`: whether the document supports each summary sentence, or the summary as one claim.

By a network or an LLM trained on synthetic errors (MiniCheck: Tang et al., EMNLP 2024).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import ClassVar, Literal, NamedTuple, Self, assert_never

import numpy as np
from pydantic import Field, model_validator

from summeter.evaluators.base import Checkpoint, Evaluator, JudgmentBuilder, Prepared, Role, Tools
from summeter.evaluators.entailment.classified import at_best_chunk, over_sentences, unread
from summeter.evaluators.entailment.premises import Floats
from summeter.evaluators.llm import NoVerdict
from summeter.evaluators.windows import LEAST, RESERVE
from summeter.models.base import Message, TokenLogprobs
from summeter.models.networks import Classify, CountTokens, FirstWord, Framing, softmax
from summeter.models.prompts import Prompt
from summeter.models.structured import BoundLLM, Form, Sampling
from summeter.models.tokens import tokens
from summeter.records import (
    HASH,
    CapabilityError,
    ContextError,
    Document,
    Item,
    Judgment,
    Parameter,
    ReplyError,
    digest,
)
from summeter.text.chunks import runs, tiles
from summeter.text.spans import Splitter, SummarySentences, TextSpan, sentence_spans

FAITHFULNESS = "faithfulness"
PLACES, SPARE = 32768, 300
"""Maximum input of the LLM in tokens (as in its training), and the tokens reserved for the rest of the prompt."""
CHUNKS = {"encoder": 400, "t5": 500, "llm": PLACES - SPARE}
"""Length of a chunk, in tokens of the encoder, words (T5), or estimated tokens (LLM)."""
TEMPLATES = {"encoder": "{0}{eos}{1}", "t5": "predict: {0}{eos}{1}"}
"""Input formats of the checkpoints' training."""
WORDS = ("0", "1")
"""T5's first tokens: not supported, supported."""
LONGEST = 2048
"""Maximum tokens of an input, if the network has so many positions (RoBERTa: 512)."""

# These texts are part of the LLM's training and must not be changed.
SYSTEM = (
    "Determine whether the provided claim is consistent with the corresponding document. Consistency in this context "
    "implies that all information presented in the claim is substantiated by the document. If not, it should be "
    "considered inconsistent. Please assess the claim's consistency with the document by responding with either "
    '"Yes" or "No".'
)
USER = ("Document: ", "\nClaim: ")
ALTERNATIVES = 5
"""Number of most probable first tokens requested from the LLM."""
FIRST_TOKEN = Sampling(temperature=0.0, max_tokens=1, top_logprobs=ALTERNATIVES)
PLAIN: Form[str] = Form("minicheck", None, str)

Network = Literal["encoder", "t5", "llm"]
Claims = Literal["sentence", "summary"]

_LINES = re.compile(r"\n|[^\n]+")


class Verdicts(NamedTuple):
    """The probability that each chunk supports each claim, shape (chunks, claims).

    `failures` and `calls` are keyed by the claim's number: why it has no verdict, and the LLM calls made for it.
    """

    values: Floats
    truncated_tokens: int | None = None
    failures: Mapping[int, NoVerdict] = {}
    calls: Mapping[int, tuple[str, ...]] = {}


class MiniCheck(Evaluator):
    """The probability that the best chunk supports each summary sentence (MiniCheck).

    - `network`: `encoder` for MiniCheck's RoBERTa and DeBERTa (role `minicheck`), `t5` for Flan-T5 (role
      `minicheck_t5`), `llm` for Bespoke-MiniCheck-7B on a server with log-probabilities (role `judge`).
    - `chunk`: maximum length of a chunk of whole sentences, in tokens of the encoder (400), for T5 in words (500), for
      the LLM in estimated tokens (32,468, or its server's limit).
    - `claims`: `sentence` judges each sentence of the summary, as in the training of the small checkpoints (their
      default); `summary` judges it as one claim, as in the paper's table on AggreFact (the LLM's default).
    - `pool`: the summary's score is the `mean` or `min` of its sentences'.
    - `variant`: `paper`, or `legacy` for the released code with long or unusual texts: an input that is too long loses
      its end, which contains the claim; marks such as `</s>` inside a text are special tokens (not for the LLM).
    - `sentences`: `punkt` splits texts like the released code (NLTK's English Punkt, each line of a document by
      itself), `stored` uses the sentences of the data.
    - `threshold`: lowest value with the label 1; the score does not depend on it.

    The LLM's probability is that of `yes`, in any case, among the five most probable first tokens; 0 if only `no` is
    among them; no verdict if neither is. A chunk that does not fit beside a claim (one very long sentence) is truncated
    and counted in `truncated_tokens`, for T5 only at the end of the run. Writes one judgment per stored sentence, whose
    evidence is the best chunk, and one of the summary, aspect faithfulness, in [0, 1]. A stored sentence that Punkt
    does not produce is judged but does not count in the score.
    """

    name, version = "minicheck", "1"
    summary = "summary sentences against chunks of the document, by a fact-checking network (MiniCheck)"
    aspects = (FAITHFULNESS,)
    roles: ClassVar[Mapping[str, Role]] = {
        "minicheck": Role(
            "classifier",
            checkpoints=(
                Checkpoint("lytang/MiniCheck-RoBERTa-Large", "MIT"),
                Checkpoint("lytang/MiniCheck-DeBERTa-v3-Large", "MIT"),
            ),
        ),
        "minicheck_t5": Role("seq2seq", checkpoints=(Checkpoint("lytang/MiniCheck-Flan-T5-Large", "MIT"),)),
        "judge": Role(
            checkpoints=(
                Checkpoint(
                    "bespokelabs/Bespoke-MiniCheck-7B", "CC BY-NC 4.0", commercial=False, alias="bespoke-minicheck"
                ),
            )
        ),
    }
    code_licence = "Apache-2.0"
    reduce = "whole"
    positional_setting = "network"

    network: Network = "encoder"
    chunk: int | None = Field(default=None, ge=16)
    claims: Claims | None = None
    pool: Literal["mean", "min"] = "mean"
    sentences: Splitter = "punkt"
    variant: Literal["paper", "legacy"] = "paper"
    threshold: float = Field(default=0.5, ge=0, le=1)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.network == "llm" and self.variant == "legacy":
            raise ValueError("variant=legacy requires network=encoder or network=t5")
        return self

    @property
    def required_roles(self) -> tuple[str, ...]:
        """The role of the network."""
        return ({"encoder": "minicheck", "t5": "minicheck_t5", "llm": "judge"}[self.network],)

    @property
    def usual_claims(self) -> Claims:
        """The default of `claims` for the network."""
        return "summary" if self.network == "llm" else "sentence"

    def signature_fields(self) -> Mapping[str, object]:
        """Return changed settings; `claims` only if it is not the network's default."""
        fields = dict(super().signature_fields())
        if self.claims == self.usual_claims:
            del fields["claims"]
        return fields

    async def prepare(self, document: Document, tools: Tools) -> Prepared:
        """Return which pieces of the document form each chunk."""
        if not document.text.strip():
            return Prepared(document_id=document.id)
        items = pieces(document, self.sentences)
        longest = self.chunk or CHUNKS[self.network]
        match self.network:
            case "encoder":
                lengths = await tools.network("minicheck").ask([CountTokens(piece.text) for piece in items])
            case "t5":
                lengths = [len(piece.text.split()) for piece in items]
            case "llm":
                lengths = [tokens(piece.text) for piece in items]
                longest = min(longest, max(LEAST, readable(tools.llm("judge")) - SPARE))
            case _:
                assert_never(self.network)
        return Prepared(document_id=document.id, data={"chunks": runs(lengths, longest)})

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """Return one judgment of the summary and, if sentences are the claims, one per sentence."""
        (role,) = self.required_roles
        model = (tools.llm if self.network == "llm" else tools.network)(role).id
        builder = self.builder(item, prepared, tools, model=model)
        chunks = tools.once("chunks", lambda: joined(pieces(item.document, self.sentences), prepared.data["chunks"]))
        if (self.claims or self.usual_claims) == "summary":
            verdicts = await self._verdicts(chunks, [item.summary.text], tools)
            builder = replace(builder, truncated_tokens=verdicts.truncated_tokens)
            return [self._of_claim(builder, None, chunks, verdicts, 0)]
        sentences = SummarySentences.of(item.summary, self.sentences)
        verdicts = await self._verdicts(chunks, sentences.texts, tools)
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
        return [over_sentences(builder, best, chunks, self.threshold, self.pool), *of_sentences]

    def _of_claim(
        self, builder: JudgmentBuilder, at: int | None, chunks: Sequence[TextSpan], verdicts: Verdicts, claim: int
    ) -> Judgment:
        builder = replace(builder, calls=verdicts.calls.get(claim, ()))
        if failure := verdicts.failures.get(claim):
            unit: Literal["summary", "sentence"] = "summary" if at is None else "sentence"
            return builder.failed(FAITHFULNESS, failure.status, failure.reason, unit, at)
        suffix, column = "", verdicts.values[:, claim]
        if self.network == "llm" and column.max() == 0:
            suffix = f"; the {ALTERNATIVES} most probable first tokens contain no but not yes"
        verdict_texts = ("supported by", "not supported; nearest:")
        return at_best_chunk(builder, at, column, chunks, self.threshold, verdict_texts, suffix)

    async def _verdicts(self, chunks: Sequence[TextSpan], claims: Sequence[str], tools: Tools) -> Verdicts:
        """Return the network's verdicts on each chunk and claim."""
        if self.network == "llm":
            return await self._llm_verdicts(chunks, claims, tools.llm("judge"))
        legacy = self.variant == "legacy"
        how = Framing("longest_first" if legacy else "only_first", TEMPLATES[self.network], marks=legacy, limit=LONGEST)
        rows, shape = [(chunk.text, claim) for chunk in chunks for claim in claims], (len(chunks), len(claims))
        match self.network:
            case "encoder":
                network = tools.network("minicheck")
                logits = await network.ask([Classify(row, 2, how) for row in rows])
                values = softmax(np.array(logits, dtype=np.float64).reshape(*shape, -1))[:, :, 1]
                return Verdicts(values, await unread(network, [chunk.text for chunk in chunks], claims, how))
            case "t5":
                # The softmax of two log-probabilities equals that of their logits.
                firsts = await tools.network("minicheck_t5").ask([FirstWord(row, WORDS, how) for row in rows])
                return Verdicts(softmax(np.array(firsts).reshape(*shape, -1))[:, :, 1])
            case _:
                assert_never(self.network)

    async def _llm_verdicts(self, chunks: Sequence[TextSpan], claims: Sequence[str], llm: BoundLLM) -> Verdicts:
        """Ask one question per chunk and claim; stop asking about a claim after an unusable reply."""
        values, cut = np.zeros((len(chunks), len(claims))), [0] * len(chunks)
        failures, calls = dict[int, NoVerdict](), dict[int, tuple[str, ...]]()
        lengths = [tokens(chunk.text) for chunk in chunks]
        for at, claim in enumerate(claims):
            room = readable(llm) - sum(tokens(message.content) for message in question("", claim).messages) - 1
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
                answer, keys = await answered(question(text, claim), llm)
                calls[at] = (*calls.get(at, ()), *keys)
                if isinstance(answer, NoVerdict):
                    where = "" if len(chunks) == 1 else f"chunk {number + 1} of {len(chunks)}: "
                    failures[at] = answer._replace(reason=f"{where}{answer.reason}")
                    break
                values[number, at] = answer
        return Verdicts(values, sum(cut) or None, failures, calls)


def pieces(document: Document, splitter: Splitter = "punkt") -> list[TextSpan]:
    """Return the sentences of each line, and a span for each line break.

    Punkt keeps white space before the first sentence of a line.

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
    """Return the text of each range of pieces, without chunks that are only line breaks."""
    found = []
    for first, last in chunks:
        inside = spans[first:last]
        text = " ".join(piece.text for piece in inside).replace(" \n ", "\n").strip()
        if text:
            sentences = [piece for piece in inside if piece.text != "\n"]
            found.append(TextSpan(text, sentences[0].start, sentences[-1].end))
    return found


def readable(llm: BoundLLM) -> int:
    """Return the usable input length of the LLM in tokens: of its training or server, less a reserve."""
    return PLACES if llm.context is None else min(PLACES, int(llm.context * (1 - RESERVE)))


def question(document: str, claim: str) -> Prompt:
    """Return the LLM's prompt, in the words of its training.

    >>> question("Ada ran.", "She ran.").messages[1].content
    'Document: Ada ran.\\nClaim: She ran.'
    """
    user = f"{USER[0]}{document}{USER[1]}{claim}"
    turns = (Message(role="system", content=SYSTEM), Message(role="user", content=user))
    return Prompt("minicheck", digest([SYSTEM, *USER], HASH), turns)


async def answered(prompt: Prompt, llm: BoundLLM) -> tuple[float | NoVerdict, tuple[str, ...]]:
    """Return the probability of yes, or why it is missing, and the calls.

    Raises CapabilityError if the server gives no log-probabilities.
    """
    answer = await llm.ask(prompt, PLAIN, FIRST_TOKEN)
    if answer.data is None:
        return NoVerdict(answer.status, answer.reason or "no usable reply"), answer.calls
    if answer.logprobs:
        try:
            return probability(answer.logprobs[0]), answer.calls
        except ReplyError as error:
            return NoVerdict(error.kind, str(error)), answer.calls
    if not answer.data.strip():
        return NoVerdict("unparsed", "the reply is empty"), answer.calls
    raise CapabilityError(
        f"{llm.id} answered without log-probabilities, which minicheck[llm] requires", lacks="logprobs"
    )


def probability(first: TokenLogprobs) -> float:
    """Return p(yes) at the first token, summed over its spellings.

    It is 0 if only no is among the most probable tokens. Raises ReplyError if neither is.

    >>> round(probability(TokenLogprobs(token="No", logprob=-0.2, top=(("No", -0.2), ("Yes", -2.0)))), 6)
    0.135335
    """
    mass = {"yes": list[float](), "no": list[float]()}
    for text, logprob in first.alternatives:
        if (word := text.lower()) in mass:
            mass[word].append(math.exp(logprob))
    if not mass["yes"] and not mass["no"]:
        raise ReplyError(
            f"neither yes nor no is among the most probable first tokens; the reply starts with {first.token[:40]!r}"
        )
    return min(1.0, math.fsum(mass["yes"]))
