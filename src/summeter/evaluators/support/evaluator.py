"""`support`: evidence by words. Deterministic; needs no key, no GPU and no download."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from pydantic import Field

from summeter.evaluators.base import Evaluator, JudgmentBuilder, Prepared, Tools
from summeter.evaluators.support.checks import LONGEST
from summeter.evaluators.support.key_facts import key_facts as facts_of_document
from summeter.evaluators.support.scorer import THRESHOLD, LexicalScorer
from summeter.evaluators.support.scorer import Support as Verdict
from summeter.evaluators.support.words import prepare as index
from summeter.records import Document, Item, Judgment, KeyFacts, Side, Span, Unit
from summeter.text.split import split


class Support(Evaluator):
    """Evidence by words: where a claim's words are in the text, and which numbers and names are not.

    `faithfulness` is the share of sentences that are supported (label 1: a value of at least .5), `completeness` the
    share of key facts that the summary supports, by the same scorer, and `conciseness` the share of sentences that
    convey some key fact. Key facts are the given ones, else the sentences of the first reference, else at most
    `max_key_facts` sentences of the document selected by a rule (`key_facts.py`). Every judgment has evidence and
    reasons. Values are probabilities from 0 to 1, calibrated for data in which half of the claims are supported;
    `base_rate` is the share in other data. The scorer compares words, not meaning: `reports/quality.md` reports how
    far its labels agree with people's.
    """

    name, version = "support", "3"
    summary = "evidence by words: where a claim's words are in the text, which numbers and names are not"
    aspects = ("faithfulness", "completeness", "conciseness")
    measured_agreement: ClassVar[Mapping[str, str]] = {
        "faithfulness": "balanced accuracy 0.61, AUROC 0.72 on seven data sets (reports/quality.md)",
        "completeness": "balanced accuracy 0.70, AUROC 0.82 on REALSumm (reports/quality.md)",
    }

    max_key_facts: int = Field(default=8, ge=1)
    base_rate: float = Field(default=0.5, gt=0, lt=1)

    @property
    def decision_threshold(self) -> float:
        """The lowest probability of a supported sentence or a present key fact."""
        return THRESHOLD

    def signature_fields(self) -> dict[str, object]:
        """Return the scorer's id, a hash of its weights and rules, and the settings that were changed."""
        return {"scorer": LexicalScorer().id, **super().signature_fields()}

    async def prepare(self, document: Document, tools: Tools) -> Prepared:
        """Derive the key facts of a document."""
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
        """Return one judgment per sentence (faithfulness, conciseness) and per key fact (completeness)."""
        builder = self.builder(item, prepared, tools)
        facts = KeyFacts.of(prepared.data["key_facts"], prepared.data["origin"])
        source = tools.once("source", lambda: index(item.document.text, _places(item.document.sentences)))
        verdicts = LexicalScorer("source", base_rate=self.base_rate).score(item.sentences, source)
        faithful = [
            _judgment(builder, "faithfulness", ("sentence", place), verdict, "document")
            for place, verdict in enumerate(verdicts)
        ]
        if not facts.facts:
            why = "no key facts: none are given, and there is neither a reference nor a sentence of the document"
            skipped = [builder.failed(aspect, "skipped", why) for aspect in ("completeness", "conciseness")]
            return [*faithful, *skipped]
        # Each key fact against the summary; then each sentence by the key fact it conveys best.
        spans = _places(item.summary.sentences)
        scorer = LexicalScorer("summary", base_rate=self.base_rate)
        found = scorer.score(facts.texts, index(item.summary.text, spans))
        present = [
            _judgment(builder, "completeness", ("key_fact", place), verdict, "summary", list_id=facts.id)
            for place, verdict in enumerate(found)
        ]
        return [*faithful, *present, *(self._carries(builder, place, facts, found) for place in range(len(spans)))]

    def _carries(self, builder: JudgmentBuilder, place: int, facts: KeyFacts, whole: Sequence[Verdict]) -> Judgment:
        """Find the key fact that a sentence conveys best, alone or as evidence for a fact in several sentences."""
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
        outcome = f"conveys key fact {1 - negative}" if carries else f"conveys no key fact; nearest: {1 - negative}"
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
