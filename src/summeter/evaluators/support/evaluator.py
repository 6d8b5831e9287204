"""`support`: the embedded local evaluator. Deterministic, no key, no download."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from pydantic import Field

from summeter.evaluators.base import Evaluator, JudgmentBuilder, Prepared, Role, Tools
from summeter.evaluators.support.checks import LONGEST
from summeter.evaluators.support.key_facts import key_facts as facts_of_document
from summeter.evaluators.support.network import MODEL, score, signed
from summeter.evaluators.support.scorer import THRESHOLD, LexicalScorer, Use
from summeter.evaluators.support.scorer import Support as Verdict
from summeter.evaluators.support.words import Evidence
from summeter.evaluators.support.words import prepare as index
from summeter.models.networks import Network
from summeter.records import Document, Item, Judgment, KeyFacts, Side, Span, Unit
from summeter.text.split import split


class Support(Evaluator):
    """Is each sentence of the summary supported by the document, and is each key fact in the summary?

    faithfulness: share of sentences that are supported (label 1: their value is at least .5);
    completeness: share of key facts the summary supports, by the same scorer; conciseness: share of
    sentences that carry some key fact. Key facts are the given ones, else the sentences of the first
    reference, else sentences of the document picked by a local rule (`key_facts.py`), at most
    `max_key_facts`. `network`: a small NLI network that comes with summeter is weighed beside the words
    where they leave doubt (`summeter[local]`; slower, and no better on held-out claims). Every verdict names its
    evidence and its reasons. Values are probabilities, calibrated where half of the claims are supported; `base_rate`
    moves them to another share. `reports/quality.md` shows how far they can be trusted.
    """

    name, version = "support", "3"
    summary = "embedded local evaluator: evidence, numbers, names and negation checked in the document"
    aspects = ("faithfulness", "completeness", "conciseness")
    roles: ClassVar[Mapping[str, Role]] = {"support": Role("classifier", default=MODEL)}

    network: bool = False
    max_key_facts: int = Field(default=8, ge=1)
    base_rate: float = Field(default=0.5, gt=0, lt=1)

    @property
    def decision_threshold(self) -> float:
        """A sentence is supported, a key fact present, from this probability on."""
        return THRESHOLD

    def signature_fields(self) -> dict[str, object]:
        """The scorer's id, which hashes weights and rules, and changed settings."""
        network = signed() if self.network else {}
        return {"scorer": LexicalScorer().id, **network, **super().signature_fields()}

    @property
    def required_roles(self) -> tuple[str, ...]:
        """The embedded network, unless words alone are asked for."""
        return tuple(self.roles) if self.network else ()

    async def prepare(self, document: Document, tools: Tools) -> Prepared:
        """The key facts the document's summaries are judged by."""
        reference = next((text for text in document.references if text.strip()), None)
        if document.key_facts:
            facts = KeyFacts.of(document.key_facts, "given")
        elif reference is not None:
            facts = KeyFacts.of([reference[start:end] for start, end in split(reference)], "reference")
        else:
            picked = facts_of_document(document.text, _places(document.sentences), self.max_key_facts)
            facts = KeyFacts.of([document.text[start:end] for start, end in picked], "document")
        data = {"key_facts": list(facts.texts), "origin": facts.origin}
        return Prepared(document_id=document.id, data=data)

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """One judgment a sentence (faithfulness), a key fact (completeness), a sentence (conciseness)."""
        builder = self.builder(item, prepared, tools)
        facts = KeyFacts.of(prepared.data["key_facts"], prepared.data["origin"])
        network = tools.network("support") if self.network else None
        source = tools.once("source", lambda: index(item.document.text, _places(item.document.sentences)))
        verdicts = await self._verdicts(item.sentences, source, "source", network)
        faithful = [
            _judgment(builder, "faithfulness", ("sentence", place), verdict, "document")
            for place, verdict in enumerate(verdicts)
        ]
        if not facts.facts:
            why = "no key facts: none given, no reference, and the document has no sentence to take one from"
            skipped = [builder.failed(aspect, "skipped", why) for aspect in ("completeness", "conciseness")]
            return [*faithful, *skipped]
        # Each key fact against the summary; then each sentence by the key fact it carries best.
        spans = _places(item.summary.sentences)
        found = await self._verdicts(facts.texts, index(item.summary.text, spans), "summary", network)
        present = [
            _judgment(builder, "completeness", ("key_fact", place), verdict, "summary", list_id=facts.id)
            for place, verdict in enumerate(found)
        ]
        return [*faithful, *present, *(self._carries(builder, place, facts, found) for place in range(len(spans)))]

    async def _verdicts(
        self, claims: Sequence[str], evidence: Evidence, use: Use, network: Network | None
    ) -> list[Verdict]:
        """By words and network, or by the words alone if it is missing."""
        if network is None:
            return LexicalScorer(use, base_rate=self.base_rate).score(claims, evidence)
        return await score(claims, evidence, use, network, self.base_rate)

    def _carries(self, builder: JudgmentBuilder, place: int, facts: KeyFacts, whole: Sequence[Verdict]) -> Judgment:
        """The key fact a sentence carries best: alone, or as evidence for one that takes several sentences."""
        text, span = builder.item.sentences[place], builder.item.summary.sentences[place]
        scorer = LexicalScorer("summary", base_rate=self.base_rate)
        alone = scorer.probabilities(facts.texts, index(text, [(0, len(text))]))
        together = [
            verdict.probability
            if any(span.start < end and start < span.end for start, end in verdict.evidence)
            else None
            for verdict in whole
        ]
        candidates = [
            (probability, -number)
            for probabilities in (alone, together)
            for number, probability in enumerate(probabilities)
            if probability is not None
        ]
        if not candidates:
            return builder.failed("conciseness", "skipped", "no key fact has words to compare", "sentence", place)
        probability, negative = max(candidates)
        carries = probability >= THRESHOLD
        outcome = f"carries key fact {1 - negative}" if carries else f"carries no key fact; nearest: {1 - negative}"
        fact, room = facts.texts[-negative], LONGEST - len(outcome) - 3
        if len(fact) > room:
            kept = fact[:room]  # one more than fits, to see whether a word ends there
            fact = (kept[: kept.rfind(" ")] if " " in kept else kept[:-1]).rstrip(" ,;:.") + "…"
        reason = f"{outcome} ({fact})"
        return builder.ok("conciseness", "sentence", place, value=probability, label=int(carries), reason=reason)


def _judgment(
    builder: JudgmentBuilder, aspect: str, unit: tuple[Unit, int], verdict: Verdict, of: Side, **fields: Any
) -> Judgment:
    reason = "; ".join(verdict.reasons) or None
    if verdict.probability is None:
        return builder.failed(aspect, "skipped", reason or "nothing to check", *unit, **fields)
    evidence = tuple(Span(of=of, start=start, end=end) for start, end in verdict.evidence)
    return builder.ok(
        aspect, *unit, value=verdict.probability, label=int(bool(verdict.supported)), reason=reason, evidence=evidence,
        **fields,
    )  # fmt: skip


def _places(spans: Iterable[Span]) -> list[tuple[int, int]]:
    return [(span.start, span.end) for span in spans]
