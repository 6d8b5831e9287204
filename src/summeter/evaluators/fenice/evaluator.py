"""`fenice`: claims of the summary, each aligned with the passages of the document by a network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from summeter.evaluators.base import Prepared, PromptedEvaluator, Role, Tools
from summeter.evaluators.claims.extract import (
    PACKAGE,
    TEMPLATE,
    Claims,
    extract_claims,
    generate_claims,
    sentence_claims,
)
from summeter.evaluators.entailment.premises import fitted
from summeter.evaluators.fenice import resolver
from summeter.evaluators.fenice.align import Aligner, Rules, Variant
from summeter.evaluators.fenice.reasons import explanation, opposed
from summeter.models.networks import FindCoreference
from summeter.models.prompts import Template
from summeter.records import Document, Item, Judgment, Status, Summary, Unit
from summeter.text.spans import TextSpan, evidence, sentence_spans

FAITHFULNESS = "faithfulness"

Step = Literal["full", "nli_coref", "nli_claim", "nli_sent"]


class Fenice(PromptedEvaluator):
    """Claims of the summary against the document's sentences, windows of them, and the whole (FENICE, 2024).

    `claims`: the source of the claims: `seq2seq` (a network in the role `seq2seq`, such as the paper's T5), `llm` (an
    LLM in the role `extractor`), `sentence` (each sentence is one claim; no model). `variant`: `paper`, or `legacy` for
    what the released code computes instead (`align`). `coref`: whether mentions in the best sentence are replaced by
    their antecedents: `true`, found by a coreference model (role `coref`), or `llm`, quoted by an LLM (role
    `resolver`). `gate`: T, below which the sentence does not decide (paper). `window`: sentences a window; `stride`:
    sentences from one window to the next. `step`: the ablation of the paper: `nli_sent` takes summary sentences for
    claims, `nli_claim` claims against sentences, `nli_coref` adds coreference, `full` adds windows and document.
    `nearest`: ask the network about only so many sentences a claim, and as many larger passages, those that share most
    words with it (for long stories; it is no longer FENICE then). `threshold`: a claim is called supported from this
    score on; the score does not depend on it. `prompts`: a folder whose templates `claims` and `coref` replace the
    shipped ones.

    Where the document is longer than the network reads, the document level is the best of neighbouring stretches of
    whole sentences (`legacy`: the whole, of which the network reads the beginning).

    Writes one judgment a claim (a sentence for `nli_sent`), aspect faithfulness: value = p_entail - p_contradict of the
    passage that decides (`legacy`: p_entail - p_neutral), in [-1, 1]; label 1 from `threshold` on; evidence that
    passage; reason in words. The summary's score is the mean of values. Where no claims could be had, one failed
    judgment of the summary.
    """

    name, version = "fenice", "1"
    summary = "claims of the summary, each aligned with passages of the document by an NLI network (FENICE)"
    aspects = (FAITHFULNESS,)
    roles: ClassVar[Mapping[str, Role]] = {
        "nli": Role(
            "classifier", hint="The paper's network is hf/MoritzLaurer/DeBERTa-v3-large-mnli-fever-anli-ling-wanli"
        ),
        "coref": Role("coreference", hint="fenice[coref=llm] asks an LLM (role 'resolver') instead"),
        "seq2seq": Role(
            "seq2seq",
            hint="The paper's network is hf/Babelscape/t5-base-summarization-claim-extractor (CC BY-NC-SA 4.0); "
            "`python examples/train_claims.py` makes one. fenice[claims=llm] asks an LLM (role 'extractor') instead, "
            "and fenice[claims=sentence] takes each sentence for a claim",
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
    def _fits(self) -> Self:
        if self.coref and self.step in {"nli_sent", "nli_claim"}:
            raise ValueError(f"step {self.step} is without coreference; leave coref out")
        if self.variant == "paper" and self.stride > self.window:
            raise ValueError(f"a stride of {self.stride} would skip sentences between windows of {self.window}")
        return self

    @property
    def resolves(self) -> bool:
        """Whether mentions are replaced by what they stand for."""
        return bool(self.coref) or self.step == "nli_coref"

    @property
    def required_roles(self) -> tuple[str, ...]:
        """The NLI network, and the models that coreference and claims need."""
        roles = ["nli"]
        if self.resolves:
            roles.append("resolver" if self.coref == "llm" else "coref")
        if self.claims != "sentence" and self.step != "nli_sent":
            roles.append("extractor" if self.claims == "llm" else "seq2seq")
        return tuple(roles)

    @property
    def decision_threshold(self) -> float:
        """The setting `threshold`."""
        return self.threshold

    @property
    def templates(self) -> tuple[str, ...]:
        """Those of the claims and of the mentions, where an LLM draws them."""
        by_role = {"extractor": TEMPLATE, "resolver": resolver.TEMPLATE}
        return tuple(by_role[role] for role in self.required_roles if role in by_role)

    def load_template(self, name: str) -> Template:
        """The user's own, else the shipped one; that of the claims is the one that `factscore` draws claims with."""
        return Template.load(PACKAGE, name, self.prompts) if name == TEMPLATE else super().load_template(name)

    @property
    def rules(self) -> Rules:
        """What is compared with what."""
        return Rules(
            self.variant, self.window, self.stride, self.gate, self.resolves, self.step == "full", self.nearest
        )

    async def prepare(self, document: Document, tools: Tools) -> Prepared:
        """The stretches that stand for the whole document, and the clusters of mentions."""
        data: dict[str, object] = {}
        if self.rules.levels and self.variant == "paper":
            text, sentences = document.text, sentence_spans(document)
            whole = await fitted(text, [TextSpan.of(text)], sentences, tools.network("nli"))
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
        """All passages and claims go to the network at once; what another summary asked about is known."""
        builder = self.builder(item, prepared, tools)
        drawn = await self._claims(item.summary, tools)
        if not drawn.claims:
            builder = replace(builder, model=drawn.model, calls=drawn.calls)
            status: Status = "skipped" if drawn.status == "ok" else drawn.status
            return [builder.failed(FAITHFULNESS, status, drawn.reason or "the summary holds no claim")]
        builder = replace(builder, model=tools.network("nli").id, calls=drawn.calls)
        aligner = tools.once("aligner", lambda: self._aligner(item.document, prepared, tools))
        verdicts = await aligner.verdicts([claim.text for claim in drawn.claims])
        judgments = []
        for place, (claim, verdict) in enumerate(zip(drawn.claims, verdicts, strict=True)):
            best, supported = verdict.best, verdict.best.score >= self.threshold
            reason = explanation(claim.text, verdict, aligner.sentences, self.rules, self.threshold)
            worst = opposed(verdict, aligner.sentences, self.threshold)
            shown = [*best.spans, *([] if worst is None else [aligner.sentences[worst]])]
            unit: Unit = "sentence" if self.step == "nli_sent" else "claim"
            fields = {} if unit == "sentence" else {"list_id": drawn.id, "claim": claim}
            judgments.append(
                builder.ok(
                    FAITHFULNESS,
                    unit,
                    place,
                    value=best.score,
                    label=int(supported),
                    reason=reason,
                    evidence=evidence(shown),
                    **fields,
                )
            )
        return judgments

    async def _claims(self, summary: Summary, tools: Tools) -> Claims:
        if self.step == "nli_sent" or self.claims == "sentence":
            return sentence_claims(summary)
        if self.claims == "seq2seq":
            return await generate_claims(summary, tools.network("seq2seq"))
        return await extract_claims(summary, tools.llm("extractor"), self.load_template(TEMPLATE))

    def _aligner(self, document: Document, prepared: Prepared, tools: Tools) -> Aligner:
        """The document made ready, once for all its summaries."""
        whole = [TextSpan.of(document.text, *offsets) for offsets in prepared.data.get("whole") or [()]]
        clusters = [[(start, end) for start, end in cluster] for cluster in prepared.data.get("clusters") or []]
        return Aligner(document, tools.network("nli"), self.rules, whole, clusters)
