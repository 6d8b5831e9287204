"""`finesure.fact_check`: is each sentence of the summary true to the document, and if not, how not.

FineSurE, sections 3.1 and 3.3 (Song et al., ACL 2024); the five-category variant after UniSumEval (Lee et al.,
EMNLP 2024). One call a summary. faithfulness = share of sentences without error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar, Self

from pydantic import model_validator

from summeter.evaluators.base import JudgmentBuilder
from summeter.evaluators.fences import fence_code, lines
from summeter.evaluators.finesure import legacy
from summeter.evaluators.finesure.verdicts import WANTED, Strategy, Taxonomy, VerdictForm
from summeter.evaluators.llm import NO_DATA, NoVerdict, material
from summeter.evaluators.replies import clean, read_reply, show
from summeter.evaluators.supported import SentenceJudge, SupportVerdict, support_judgment
from summeter.records import Item, Judgment, ReplyError, Span
from summeter.text.match import QuoteFinder

Verdicts = tuple[SupportVerdict | NoVerdict, ...]


class FactCheck(SentenceJudge):
    """A verdict on each summary sentence, from an LLM judge.

    `strategy` is the prompt strategy of FineSurE's section 3.3. Each asks for all that the one before it does:

    - "basic": is the sentence supported, yes or no; nothing else
    - "instruction": the same, with the steps to take
    - "categorization": with those steps, which category of error (or none) instead of yes or no
    - "reasoning", the default and what FineSurE ships: before the category, the reason in one sentence
    - "evidence": before both, the passage of the document that decides, word for word

    `taxonomy`: "finesure" (nine categories) or "unisumeval" (five). `prompts`: a folder whose templates
    replace the shipped ones of the same name.

    Writes one judgment per sentence (aspect faithfulness): label 1 and value 1.0 for "no error" (or yes), else
    0 and 0.0; `error_type` is the category where one was asked for; `evidence` the places of the document that
    were quoted. A quote that is not in the document is no evidence, and the reason says so. A reply that cannot be used
    gives one failed judgment per sentence.
    """

    name: ClassVar[str] = "finesure.fact_check"
    version: ClassVar[str] = "2"
    summary: ClassVar[str] = "An LLM judge finds the factual errors of each sentence (FineSurE)."
    reply_tokens: ClassVar[int] = 80  # reason and quote included

    taxonomy: Taxonomy = "finesure"
    strategy: Strategy = "reasoning"

    @model_validator(mode="after")
    def _means_something(self) -> Self:
        check_strategy(self.strategy, self.taxonomy)
        return self

    @property
    def template(self) -> str:
        """The name of its prompt template."""
        if not self._form.wanted.category:
            return "fact_check_yes_no"
        return "fact_check" if self.taxonomy == "finesure" else f"fact_check_{self.taxonomy}"

    @property
    def form_name(self) -> str:
        """What the schema is called when it is sent."""
        return "fact_check"

    def holes(self, item: Item, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """The document first: the same beginning for all evaluators and all summaries of a document, so that a
        provider's prefix cache can serve it."""
        del data
        return {
            "document": item.document.text,
            "document_code": fence_code(item.document.text),
            "sentences": lines(item.sentences),
            "summary_code": fence_code(item.document.text, item.summary.text),
            **WANTED[self.strategy]._asdict(),
        }

    def reply_schema(self, item: Item, data: Mapping[str, Any] = NO_DATA) -> dict[str, Any]:
        """One verdict a sentence, with what the strategy asks for."""
        del data
        return self._form.schema(len(item.sentences))

    def parse(self, text: str, item: Item, data: Mapping[str, Any] = NO_DATA) -> Verdicts:
        """One verdict a sentence, in this evaluator's form or the released code's."""
        del data
        return read_reply(
            text,
            lambda value: self._form.read(value, item.sentences),
            same=lambda verdicts: [(verdict.supported, verdict.category) for verdict in verdicts],
            material=material(item)[:2],
            wordless=not self._form.wanted.reason,
        )

    def parse_released(self, text: str, item: Item, data: Mapping[str, Any] = NO_DATA) -> Verdicts:
        """One verdict per label that the released parser reads, however many there are."""
        del item, data
        labels = legacy.parse_fact_check(text)
        if not labels:
            raise ReplyError(f"the released parser finds no verdict in {show(text)}", fault="no_json")
        return tuple(SupportVerdict(not label.error, clean(label.type) or None) for label in labels)

    def judgments(self, reply: Verdicts, builder: JudgmentBuilder) -> list[Judgment]:
        """One judgment a verdict. Where their count is not the summary's (which only the released parser lets pass),
        they name no sentence of it: they stand in the list "legacy", and indexes may run past the last sentence."""
        if len(reply) != len(builder.item.sentences):
            return [
                support_judgment(builder, verdict, place, list_id=legacy.LIST)
                for place, verdict in enumerate(reply)
                if isinstance(verdict, SupportVerdict)
            ]
        return super().judgments(reply, builder)

    def verdict_judgment(self, verdict: SupportVerdict, place: int, builder: JudgmentBuilder) -> Judgment:
        """The judgment, with the places of the document that were quoted."""
        if verdict.quotes is None:
            return support_judgment(builder, verdict, place)
        evidence, reason = _evidence(verdict, builder.item.document.text)
        return support_judgment(builder, verdict._replace(reason=reason), place, evidence)

    @property
    def _form(self) -> VerdictForm:
        return VerdictForm(WANTED[self.strategy], self.taxonomy)


def check_strategy(strategy: Strategy, taxonomy: Taxonomy) -> None:
    """Raises ValueError where a taxonomy is chosen and no category asked for: it would be signed, and do nothing."""
    if taxonomy != "finesure" and not WANTED[strategy].category:
        raise ValueError(
            f"strategy={strategy} asks for yes or no and for no category, so taxonomy={taxonomy} has no effect; "
            "leave one of them out"
        )


def _evidence(verdict: SupportVerdict, document: str) -> tuple[tuple[Span, ...], str | None]:
    """Where the quotes stand in the document; and the reason, with a note on those that stand nowhere."""
    spans, notes = find_quotes(verdict.quotes or (), _finder(document), "document")
    if verdict.supported and not verdict.quotes:
        notes.append("[no quote given]")
    return spans, " ".join(filter(None, [verdict.reason, *notes])) or None


def find_quotes(quotes: Sequence[str], finder: QuoteFinder, of: Any) -> tuple[tuple[Span, ...], list[str]]:
    """Where quotes stand in a text, each once; and a note on each that stands nowhere."""
    spans, notes = [], []
    for quote in quotes:
        place = finder.find(quote)
        if place is None:
            notes.append(f"[not in the {of}: {show(quote, 120)}]")
        else:
            spans.append(Span(of=of, start=place.start, end=place.end))
    return tuple(dict.fromkeys(spans)), notes


@lru_cache(maxsize=32)
def _finder(document: str) -> QuoteFinder:
    """One for all summaries of a document: preparing it is expensive."""
    return QuoteFinder(document)
