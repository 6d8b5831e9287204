"""`fenice`: alignment of the claims of a summary with passages of the document by a network.

The score of a passage for a claim is computed from the NLI probabilities of the claim given the passage. In the paper
(Scirè et al., Findings of ACL 2024, section 3.2), the score is p_entail - p_contradict. The best sentence, with
coreferences resolved, decides unless its score is below T; in that case, the best window or the whole document decides.
In the released code, the score is p_entail - p_neutral, and the best passage of all levels decides, without a gate.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator

from summeter.evaluators.base import Prepared, PromptedEvaluator, Role, Tools
from summeter.evaluators.claims.extract import PACKAGE, TEMPLATE, extract_claims, generate_claims, sentence_claims
from summeter.evaluators.entailment.premises import CONTRADICT, ENTAIL, NEUTRAL, Floats, Premises, fitted
from summeter.evaluators.entailment.reasons import TELLING, against, rounded, shares, short
from summeter.evaluators.fenice import resolver
from summeter.evaluators.fenice.coref import Clusters, Version, legacy_versions, versions
from summeter.interrupt import checkpoint
from summeter.models.networks import FindCoreference, Network, entailments
from summeter.models.prompts import Template
from summeter.records import Document, Item, Judgment, Status, Unit
from summeter.text.chunks import windows
from summeter.text.spans import TextSpan, evidence, ranges_by_source, sentence_spans

FAITHFULNESS = "faithfulness"
LONGEST = 120
"""Maximum number of characters of a claim in a reason; longer claims are truncated."""

LevelName = Literal["sentence", "coref", "window", "document"]
Variant = Literal["paper", "legacy"]
Step = Literal["full", "nli_coref", "nli_claim", "nli_sent"]


class Best(NamedTuple):
    """A passage: its level, its score, the network's probabilities, and its spans in the document."""

    level: LevelName
    score: float
    row: Floats
    spans: tuple[TextSpan, ...]
    version: Version | None = None


class Fenice(PromptedEvaluator):
    """Check the claims of a summary against passages of the document (FENICE).

    - `claims`: the source of the claims: `seq2seq` (a network in the role `seq2seq`, such as the T5 of the paper),
      `llm` (an LLM in the role `extractor`), or `sentence` (each sentence is one claim, without a model).
    - `variant`: `paper`, or `legacy` for the arithmetic of the released code.
    - `coref`: whether mentions in the best sentence are replaced by their antecedents. With `true`, the antecedents are
      found by a coreference model (role `coref`); with `llm`, they are quoted by an LLM (role `resolver`).
    - `gate`: the value T below which the score of the best sentence does not decide (only for `paper`). `window`: the
      number of sentences per window. `stride`: the number of sentences from the start of one window to that of the
      next.
    - `step`: the step of the paper's ablation: `nli_sent` uses summary sentences as claims, `nli_claim` compares claims
      with sentences, `nli_coref` adds coreference, and `full` adds windows and the document.
    - `nearest`: the number of sentences, and of larger passages, with which each claim is compared, which are those
      that share the most words with the claim. This setting is for long documents and is not part of FENICE.
    - `threshold`: the lowest score with the label 1; the score of the summary does not depend on it.
    - `prompts`: a folder whose templates `claims` and `coref` replace the shipped ones.

    If the document exceeds the network's limit, it is split into sequences of whole sentences, the best of which
    represents the document level. With `legacy`, the network truncates the whole document instead.

    Writes one judgment per claim, or per sentence for `nli_sent` (aspect faithfulness). The value is p_entail -
    p_contradict of the deciding passage (p_entail - p_neutral for `legacy`), in [-1, 1]. The label is 1 if the value is
    at least `threshold`, and the evidence is the deciding passage. The score of the summary is the mean of the values.
    If there are no claims, writes one failed judgment of the summary.
    """

    name, version = "fenice", "1"
    summary = "An NLI network aligns each claim of the summary with passages of the document (FENICE)."
    aspects = (FAITHFULNESS,)
    roles: ClassVar[Mapping[str, Role]] = {
        "nli": Role(
            "classifier", hint="The paper's network is hf/MoritzLaurer/DeBERTa-v3-large-mnli-fever-anli-ling-wanli"
        ),
        "coref": Role("coreference", hint="fenice[coref=llm] asks an LLM (role 'resolver') instead"),
        "seq2seq": Role(
            "seq2seq",
            hint="The paper's network is hf/Babelscape/t5-base-summarization-claim-extractor (CC BY-NC-SA 4.0); "
            "`python examples/train_claims.py` creates one. fenice[claims=llm] asks an LLM (role 'extractor') instead, "
            "and fenice[claims=sentence] uses each sentence as a claim",
        ),
        "extractor": Role(),
        "resolver": Role(),
    }
    code_licence = "CC BY-NC-SA 4.0"
    reduce = "mean"
    value_range = (-1.0, 1.0)

    variant: Variant = "paper"
    claims: Literal["sentence", "seq2seq", "llm"] = "seq2seq"
    step: Step = "full"
    coref: bool | Literal["llm"] = False
    gate: float = Field(default=0.8, ge=-1, le=1)
    window: int = Field(default=5, ge=1)
    stride: int = Field(default=1, ge=1)
    nearest: int | None = Field(default=None, ge=1)
    threshold: float = Field(default=0.5, ge=-1, le=1)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.coref and self.step in {"nli_sent", "nli_claim"}:
            raise ValueError(f"step={self.step} does not use coreference; remove coref")
        if self.variant == "paper" and self.stride > self.window:
            raise ValueError(f"stride={self.stride} would skip sentences between windows of {self.window} sentences")
        return self

    @property
    def resolves(self) -> bool:
        """Whether mentions are replaced by their antecedents."""
        return bool(self.coref) or self.step == "nli_coref"

    @property
    def required_roles(self) -> tuple[str, ...]:
        """The roles of the NLI network and of the models for coreference and claims."""
        roles = ["nli"]
        if self.resolves:
            roles.append("resolver" if self.coref == "llm" else "coref")
        if self.claims != "sentence" and self.step != "nli_sent":
            roles.append("extractor" if self.claims == "llm" else "seq2seq")
        return tuple(roles)

    @property
    def templates(self) -> tuple[str, ...]:
        """The names of the templates for claims and coreference, if LLMs are used for these steps."""
        by_role = {"extractor": TEMPLATE, "resolver": resolver.TEMPLATE}
        return tuple(by_role[role] for role in self.required_roles if role in by_role)

    def load_template(self, name: str) -> Template:
        """Return the user's template or the shipped one.

        The shipped template for claims is that of `factscore`.
        """
        return Template.load(PACKAGE, name, self.prompts) if name == TEMPLATE else super().load_template(name)

    def score(self, table: Floats) -> Floats:
        """Return the scores of passages, in [-1, 1], from probabilities of shape (..., 3).

        >>> Fenice().score(np.array([[0.5, 0.1, 0.4]])).round(9).tolist()
        [0.1]
        >>> Fenice(variant="legacy").score(np.array([[0.5, 0.1, 0.4]])).round(9).tolist()
        [0.4]
        """
        scores: Floats = table[..., ENTAIL] - table[..., {"paper": CONTRADICT, "legacy": NEUTRAL}[self.variant]]
        return scores

    async def prepare(self, document: Document, tools: Tools) -> Prepared:
        """Return the spans of the document level and the coreference clusters."""
        data: dict[str, object] = {}
        if self.step == "full" and self.variant == "paper":
            text, sentences = document.text, sentence_spans(document)
            parts = [TextSpan.of(text, *part) for part in document.parts]
            whole = await fitted(text, parts, sentences, tools.network("nli"))
            data["whole"] = [span.offsets for span in whole]
        if self.coref == "llm":
            if not document.text.strip():
                return Prepared(document_id=document.id)
            template = self.load_template(resolver.TEMPLATE)
            resolved = await resolver.resolve(document, tools.llm("resolver"), template)
            return resolved.model_copy(update={"data": {**data, **resolved.data}})
        if self.resolves:
            (data["clusters"],) = await tools.network("coref").ask([FindCoreference(document.text)])
        return Prepared(document_id=document.id, data=data)

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """Align all claims at once.

        Results for pairs that occurred with another summary are reused.
        """
        builder = self.builder(item, prepared, tools)
        if self.step == "nli_sent" or self.claims == "sentence":
            extracted = sentence_claims(item.summary)
        elif self.claims == "seq2seq":
            extracted = await generate_claims(item.summary, tools.network("seq2seq"))
        else:
            extracted = await extract_claims(item.summary, tools.llm("extractor"), self.load_template(TEMPLATE))
        if not extracted.claims:
            builder = replace(builder, model=extracted.model, calls=extracted.calls)
            status: Status = "skipped" if extracted.status == "ok" else extracted.status
            return [builder.failed(FAITHFULNESS, status, extracted.reason or "the summary has no claim")]
        builder = replace(builder, model=tools.network("nli").id, calls=extracted.calls)
        aligner = tools.once("aligner", lambda: Aligner(item.document, prepared.data, tools.network("nli"), self))
        sentences = aligner.sentences
        judgments = []
        aligned = await aligner.align([claim.text for claim in extracted.claims])
        for index, (claim, (best, narrow, table)) in enumerate(zip(extracted.claims, aligned, strict=True)):
            supported = best.score >= self.threshold
            worst = None if supported else against(table)
            contradicted = worst is not None or (not supported and best.row[CONTRADICT] >= TELLING)
            if worst is not None and sentences[worst] in best.spans:
                worst = None  # the deciding passage is cited anyway
            reason = self._reason(claim.text, best, narrow, sentences)
            if worst is not None:
                probabilities = shares(table[worst], neutral=self.variant == "legacy")
                reason += f"; sentence {worst + 1} contradicts it ({probabilities})"
            unit: Unit = "sentence" if self.step == "nli_sent" else "claim"
            fields = {} if unit == "sentence" else {"list_id": extracted.id, "claim": claim}
            judgments.append(
                builder.ok(
                    FAITHFULNESS,
                    unit,
                    index,
                    value=best.score,
                    label=int(supported),
                    reason=reason,
                    evidence=evidence([*best.spans, *([] if worst is None else [sentences[worst]])]),
                    contradicted=bool(contradicted),
                    **fields,
                )
            )
        return judgments

    def _reason(self, claim: str, best: Best, narrow: Best, sentences: Sequence[TextSpan]) -> str:
        """Return the claim, the deciding passage, and a better sentence (`narrow`) that is below the gate."""
        if best.score >= self.threshold:
            how, limit = "supported by", ""
        elif best.row[CONTRADICT] >= TELLING:
            how, limit = "contradicted by", ""
        else:
            how, limit = "supported by no passage; best:", f"; threshold {short(self.threshold)}"
        score = f"score {rounded(best.score, self.threshold)} ({shares(best.row, neutral=self.variant == 'legacy')})"
        reason = f"{quoted(claim)} is {how} {place(best, sentences)}: {score}{limit}"
        if narrow.score > best.score:
            reason += f"; {place(narrow, sentences)} has {short(narrow.score)}, which is below the gate of "
            reason += f"{short(self.gate)} and does not decide"
        return reason


def sentence_windows(count: int, size: int, stride: int = 1, variant: Variant = "paper") -> list[tuple[int, int]]:
    """Return windows of consecutive sentences as (first, last + 1), with sentence indexes from 0.

    In the paper, i = 1..n-j+1, so a document of fewer than j sentences has no window; with a stride, the last window
    ends at the end of the document. In the released code, a short document has one window, which is never used, and a
    stride can drop the last sentences.

    >>> sentence_windows(12, 5, 5, "legacy")
    [(0, 5), (5, 10)]
    >>> sentence_windows(12, 5, 5)
    [(0, 5), (5, 10), (7, 12)]
    """
    if variant == "legacy":
        return [(first, first + size) for first in range(0, count - size + 1, stride)] or [(0, count)]
    return windows(count, size, stride) if count >= size else []


class Aligner:
    """A document prepared for the alignment with the claims of all its summaries.

    `data` contains the spans of the document level and the coreference clusters (`Fenice.prepare`).
    """

    def __init__(self, document: Document, data: Mapping[str, Any], network: Network, judge: Fenice) -> None:
        self.judge = judge
        self.text = document.text
        self.sentences = sentence_spans(document)
        self.clusters: Clusters = data.get("clusters") or []
        self._network = network
        self._narrow: list[tuple[LevelName, TextSpan]] = [("sentence", span) for span in self.sentences]
        self._larger: list[tuple[LevelName, TextSpan]] = []
        cut = ranges_by_source(
            document,
            self.sentences,
            lambda first, last: sentence_windows(last - first, judge.window, judge.stride, judge.variant),
        )
        # The released code uses windows and the document only if there are at least two windows.
        if judge.step == "full" and (judge.variant == "paper" or len(cut) > 1):
            self._larger += [("window", TextSpan.joined(self.sentences[first:last])) for first, last in cut]
            # If the network cannot read the document in one pass, there are several spans.
            whole = data.get("whole") or [(0, len(self.text))]
            self._larger += [("document", TextSpan.of(self.text, *offsets)) for offsets in whole]
        self._premises, self._wide = (
            Premises(network, [span.text for _, span in passages], judge.nearest)
            for passages in (self._narrow, self._larger)
        )

    async def align(self, claims: Sequence[str]) -> list[tuple[Best, Best, Floats]]:
        """Return, for each claim, the deciding passage, the best sentence, and the probabilities of all sentences."""
        tables = await self._premises.against(claims)
        best = [self._best(table, self._narrow) for table in tables]
        if self.judge.resolves:
            best = await self._resolved(claims, best)
        deciding = list(best)
        if self._larger:
            # A larger passage replaces a sentence below the gate (paper) or a sentence with a lower score (legacy).
            gated = self.judge.variant == "paper"
            undecided = [at for at, current in enumerate(best) if not gated or current.score < self.judge.gate]
            wide_tables = await self._wide.against([claims[at] for at in undecided])
            for at, table in zip(undecided, wide_tables, strict=True):
                found = self._best(table, self._larger)
                if gated or found.score > best[at].score:
                    deciding[at] = found
        return list(zip(deciding, best, tables, strict=True))

    def _best(self, table: Floats, passages: Sequence[tuple[LevelName, TextSpan]]) -> Best:
        scores = self.judge.score(table)
        at = int(np.nanargmax(scores))  # ties go to the first
        level, span = passages[at]
        return Best(level, float(scores[at]), table[at], (span,))

    async def _resolved(self, claims: Sequence[str], best: Sequence[Best]) -> list[Best]:
        """Return the best sentences, with mentions replaced where this increases the score."""
        by_claim = []
        for current in best:
            sentence = current.spans[0]
            if self.judge.variant == "legacy":
                # The released code finds the sentence by its text, that is, the first with the same text.
                first = next(span for span in self.sentences if span.text.strip() == sentence.text.strip())
                by_claim.append(legacy_versions(self.text, first, self.clusters))
            else:
                by_claim.append(versions(self.text, sentence, self.clusters))
        pairs = [
            (version.text, claim) for claim, candidates in zip(claims, by_claim, strict=True) for version in candidates
        ]
        rows = dict(zip(pairs, await entailments(self._network, pairs), strict=True))
        resolved = []
        for claim, current, candidates in zip(claims, best, by_claim, strict=True):
            for version in candidates:
                checkpoint()
                row = np.array(rows[version.text, claim])
                score = float(self.judge.score(row))
                if score > current.score:
                    current = Best("coref", score, row, (current.spans[0], version.antecedent), version)  # noqa: PLW2901
            resolved.append(current)
        return resolved


def place(best: Best, sentences: Sequence[TextSpan]) -> str:
    """Return a description of a passage.

    >>> sentences = [TextSpan("A b.", 0, 4), TextSpan("C d.", 5, 9), TextSpan("E f.", 10, 14)]
    >>> row = (0.5, 0.5, 0.0)
    >>> place(Best("window", 0.5, row, (TextSpan("A b. C d.", 0, 9),)), sentences)
    'the window of sentences 1 to 2 (of 3)'
    >>> place(Best("document", 0.5, row, (TextSpan("A b. C d. E f.", 0, 14),)), sentences)
    'the whole document'
    """
    span = best.spans[0]
    first = bisect_left(sentences, span.start, key=attrgetter("start"))
    last = bisect_right(sentences, span.end, key=attrgetter("end")) - 1
    if best.level == "document" and first == 0 and last == len(sentences) - 1:
        return "the whole document"
    where = f"sentence {first + 1}" if first >= last else f"sentences {first + 1} to {last + 1}"
    where += f" (of {len(sentences)})"
    if best.version is not None:
        return f"{where} with '{best.version.mention}' read as '{best.version.replacement}'"
    named = {"window": f"the window of {where}", "document": f"the passage of {where}"}
    return named.get(best.level, where)


def quoted(claim: str) -> str:
    """Return a claim in quotation marks, shortened if it is long.

    >>> quoted("Ada sold the mill.")
    '"Ada sold the mill."'
    """
    text = " ".join(claim.split())
    if len(text) > LONGEST:
        text = text[:LONGEST].rpartition(" ")[0] or text[:LONGEST]
        return f'"{text} ..."'
    return f'"{text}"'
