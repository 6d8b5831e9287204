"""`support`: a deterministic evaluator based on word overlap, without API key, GPU or download."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from summeter.evaluators.base import Evaluator, JudgmentBuilder, Prepared, Tools
from summeter.evaluators.support.checks import shorten_reason
from summeter.evaluators.support.key_facts import key_facts as select_key_facts
from summeter.evaluators.support.scorer import THRESHOLD, ClaimSupport, LexicalScorer
from summeter.evaluators.support.words import index_text
from summeter.records import Document, Item, Judgment, KeyFacts, Side, Span, Unit
from summeter.text.language import language_of
from summeter.text.split import split


class Support(Evaluator):
    """Compare the words of each claim with a text, and report missing numbers and names.

    `faithfulness` is the share of supported sentences (label 1, a value of at least 0.5). `completeness` is the share
    of key facts that the summary supports, by the same scorer. `conciseness` is the share of sentences that convey a
    key fact. Key facts are those of the document, or else the sentences of the first reference, or else at most
    `max_key_facts` sentences of the document that a rule selects (`key_facts.py`). Judgments contain evidence and
    reasons. Values are probabilities from 0 to 1, calibrated for data in which half of the claims are supported. For
    other data, set `base_rate` to the share of supported claims. The scorer compares words, not meaning.

    The scorer was fitted on English. Summaries of documents in another language are skipped, unless `language` is
    "any", which compares them word by word, or character by character in scripts without spaces.

    `reports/quality.md` reports its agreement with human labels.
    """

    name, version = "support", "4"
    summary = "Words of the document that support a claim, and numbers and names that it lacks (no model)."
    aspects = ("faithfulness", "completeness", "conciseness")
    measured_agreement: ClassVar[Mapping[str, str]] = {
        "faithfulness": "balanced accuracy 0.61, AUROC 0.72 on seven datasets (reports/quality.md)",
        "completeness": "balanced accuracy 0.70, AUROC 0.82 on REALSumm (reports/quality.md)",
    }

    max_key_facts: int = Field(default=8, ge=1)
    base_rate: float = Field(default=0.5, gt=0, lt=1)
    language: Literal["en", "any"] = "en"

    @property
    def decision_threshold(self) -> float:
        """The lowest probability of a supported sentence or a present key fact."""
        return THRESHOLD

    def signature_fields(self) -> dict[str, object]:
        """Return the id of the scorer and the changed settings."""
        return {"scorer": LexicalScorer().id, **super().signature_fields()}

    def skip_reason(self, item: Item) -> str | None:
        """Return the reason for which an item is skipped: an empty text, or a document in another language."""
        if (why := super().skip_reason(item)) is not None or self.language == "any":
            return why
        language = language_of(item.document.text)
        if language in ("en", None):
            return None
        return f"not for this language ({language}): support is for English; support[language=any] compares words"

    async def prepare(self, document: Document, tools: Tools) -> Prepared:
        """Return the key facts of a document, which are selected by a rule if none are given."""
        reference = next((text for text in document.references if text.strip()), None)
        if document.key_facts:
            facts = KeyFacts.of(document.key_facts, "given")
        elif reference is not None:
            facts = KeyFacts.of([reference[start:end] for start, end in split(reference)], "reference")
        else:
            selected = select_key_facts(document.text, _offsets(document.sentences), self.max_key_facts)
            facts = KeyFacts.of([document.text[start:end] for start, end in selected], "document")
        data = {"key_facts": list(facts.texts), "origin": facts.origin}
        return Prepared(document_id=document.id, data=data)

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """Return one judgment per sentence (faithfulness, conciseness) and per key fact (completeness)."""
        builder = self.builder(item, prepared, tools)
        facts = KeyFacts.of(prepared.data["key_facts"], prepared.data["origin"])
        source = tools.once("source", lambda: index_text(item.document.text, _offsets(item.document.sentences)))
        support = LexicalScorer("source", base_rate=self.base_rate).score(item.sentences, source)
        faithfulness = [
            _judgment(builder, "faithfulness", ("sentence", position), claim, "document")
            for position, claim in enumerate(support)
        ]
        if not facts.texts:
            why = "no key facts: the document has no key facts, no reference and no sentences"
            skipped = [builder.failed(aspect, "skipped", why) for aspect in ("completeness", "conciseness")]
            return [*faithfulness, *skipped]
        # Compare each key fact with the summary, and then find the key fact that each sentence conveys best.
        spans = _offsets(item.summary.sentences)
        scorer = LexicalScorer("summary", base_rate=self.base_rate)
        fact_support = scorer.score(facts.texts, index_text(item.summary.text, spans))
        completeness = [
            _judgment(builder, "completeness", ("key_fact", position), fact, "summary", list_id=facts.id)
            for position, fact in enumerate(fact_support)
        ]
        conciseness = []
        for position, (text, span) in enumerate(zip(item.sentences, item.summary.sentences, strict=True)):
            # The fact that the sentence conveys best, alone or together with other sentences.
            alone = scorer.probabilities(facts.texts, index_text(text, [(0, len(text))]))
            together = [
                fact.probability if any(span.start < end and start < span.end for start, end in fact.evidence) else None
                for fact in fact_support
            ]
            candidates = [
                (probability, -number)
                for probabilities in (alone, together)
                for number, probability in enumerate(probabilities)
                if probability is not None
            ]
            if not candidates:
                why = "no key fact has words to compare"
                conciseness.append(builder.failed("conciseness", "skipped", why, "sentence", position))
                continue
            probability, negative = max(candidates)
            conveyed = probability >= THRESHOLD
            outcome = "conveys key fact" if conveyed else "conveys no key fact; nearest:"
            reason = shorten_reason(f"{outcome} {1 - negative} ({facts.texts[-negative]})")
            fields = {"value": probability, "label": int(conveyed), "reason": reason}
            conciseness.append(builder.ok("conciseness", "sentence", position, **fields))
        return [*faithfulness, *completeness, *conciseness]


def _judgment(
    builder: JudgmentBuilder, aspect: str, unit: tuple[Unit, int], support: ClaimSupport, of: Side, **fields: Any
) -> Judgment:
    reason = "; ".join(support.reasons) or None
    if support.probability is None:
        return builder.failed(aspect, "skipped", reason or "nothing to check", *unit, **fields)
    evidence = tuple(Span(of=of, start=start, end=end) for start, end in support.evidence)
    return builder.ok(
        aspect, *unit, value=support.probability, label=int(bool(support.supported)), reason=reason, evidence=evidence,
        **fields,
    )  # fmt: skip


def _offsets(spans: Iterable[Span]) -> list[tuple[int, int]]:
    return [(span.start, span.end) for span in spans]
