"""`faithjudge`: the consistency of a summary, judged with examples of other summaries that people annotated.

See FaithJudge (Tamber et al., arXiv 2505.04847). The wording of the prompt is that of summeter, because the released
one has no licence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from pydantic import Field, PrivateAttr

from summeter.data.human import RAW
from summeter.data.human_judgments import SPAN_LABELS
from summeter.evaluators.base import JudgmentBuilder, Prepared, Tools
from summeter.evaluators.finesure.fact_check import QUOTE, find_quotes, finder_of, quotes_of
from summeter.evaluators.llm import NO_DATA, LLMJudge, material, texts
from summeter.evaluators.replies import (
    REASON,
    by_choice,
    choice,
    field,
    is_object,
    list_schema,
    object_schema,
    optional_text,
    read_reply,
    show,
    text_schema,
    unwrap,
)
from summeter.evaluators.supported import FAITHFULNESS
from summeter.models.prompts import fence_code
from summeter.records import HASH, Item, Judgment, Record, ReplyError, Summary, digest, names_no_error
from summeter.text.ngrams import matched, ngrams, words

if TYPE_CHECKING:
    from summeter.data.dataset import Dataset

ADJUDICATED: Final = "human.adjudicated"
NEARLY: Final = 0.6
"""Least share of the word pairs of the shorter of two summaries, at which they count as nearly the same text."""
MOST_ERRORS: Final = 20
"""Maximum number of quoted errors in a reply."""
VERDICTS: Final = ("inconsistent", "consistent", "invalid")


class Passage(Record):
    """A passage of a summary that an annotator found wrong, with the error type and a note, if any."""

    text: str
    error_type: str | None = None
    note: str | None = None


class Finding(Record):
    """The errors that one annotator found in a summary."""

    annotator: str
    passages: tuple[Passage, ...]


class Example(Record):
    """A summary that people annotated, with its sentences and their findings."""

    system: str
    text: str
    sentences: tuple[str, ...]
    findings: tuple[Finding, ...]

    def discloses(self, summary: Summary) -> bool:
        """Return whether the findings could be findings about `summary`.

        This is the case for the same system, a text with nearly the same words, and a sentence that both contain.
        """
        if self.system == summary.system:
            return True
        one, other = words(self.text), words(summary.text)
        pairs, other_pairs = ngrams(one, 2), ngrams(other, 2)
        shorter = min(pairs.total(), other_pairs.total())
        if matched(pairs, other_pairs) >= NEARLY * shorter if shorter else _bare(self.text) == _bare(summary.text):
            return True
        return not {*map(_bare, self.sentences)}.isdisjoint(map(_bare, summary.sentence_texts))


def _bare(text: str) -> tuple[str, ...]:
    return tuple(word.text for word in words(text))


class Decision(Record):
    """A parsed reply."""

    verdict: str
    reason: str | None
    quotes: tuple[str, ...]


class FaithJudge(LLMJudge[Decision]):
    """Decide whether a summary is consistent with its document, with annotated summaries as examples (FaithJudge).

    The examples are other summaries of the same document, with the errors that people found in them: their labels of
    sentences, spans and summaries in the data of the run (the adjudicated ones of a summary, if there are any).
    A summary is never judged with its own labels, nor with those of a summary that has nearly the same text or shares a
    sentence with it. At most `at_most` examples are shown, in the order of the data. If a document has no other
    annotated summary, `unannotated` decides: "skip" writes a skipped judgment, and "ask" asks without examples.

    Writes one judgment of the summary (aspect faithfulness), whose label is 1 for consistent and 0 for inconsistent.
    The evidence are the words of the summary that are wrong. A reply that the text is not a summary gives a skipped
    judgment. The hash of all examples is part of the signature.
    """

    name, version = "faithjudge", "1"
    summary = "An LLM judge decides on consistency, shown other summaries with people's findings (FaithJudge)."
    aspects = (FAITHFULNESS,)
    binary_units = frozenset({"summary"})
    reads_sentences = False

    at_most: int = Field(default=10, ge=1)
    unannotated: Literal["skip", "ask"] = "skip"
    _examples: Mapping[str, tuple[Example, ...]] = PrivateAttr(default_factory=dict)

    def with_data(self, data: Dataset) -> Self:
        """Return this judge with the annotated summaries of a dataset as examples."""
        known = self.model_copy()
        known._examples = annotated(data)
        return known

    def signature_fields(self) -> Mapping[str, object]:
        """Return the changed settings, and the hashes of the prompt and of the examples."""
        listed = {
            document: [example.model_dump(mode="json") for example in examples]
            for document, examples in self._examples.items()
        }
        return {**super().signature_fields(), **({"examples": digest(listed, HASH)} if listed else {})}

    def examples(self, item: Item) -> Iterator[Example]:
        """Yield the examples that are shown with an item."""
        known = self._examples.get(item.document.id, ())
        yield from islice((example for example in known if not example.discloses(item.summary)), self.at_most)

    async def judge(self, item: Item, prepared: Prepared, tools: Tools) -> list[Judgment]:
        """Return the judgment of the summary, which is skipped if there are no examples and `unannotated` is "skip"."""
        if self.unannotated == "skip" and next(self.examples(item), None) is None:
            why = "the data contain no findings of people on another summary of the document"
            return self.builder(item, prepared, tools).skipped(why)
        return await super().judge(item, prepared, tools)

    def template_variables(self, item: Item, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the examples and the texts of the item."""
        examples = [example.model_dump(include={"text", "findings"}) for example in self.examples(item)]
        return {"examples": examples, "examples_code": fence_code(item.document.titled(), str(examples)), **texts(item)}

    def reply_schema(self, item: Item, data: Mapping[str, Any] = NO_DATA) -> dict[str, Any]:
        """Return the schema of a reply: reason, quotes and verdict."""
        quotes = list_schema(text_schema(QUOTE), MOST_ERRORS, least=None)
        verdict = {"type": "string", "enum": list(VERDICTS)}
        return object_schema({"reason": text_schema(REASON), "quotes": quotes, "verdict": verdict})

    def parse(self, text: str, item: Item, data: Mapping[str, Any] = NO_DATA) -> Decision:
        """Return the decision of a reply. Raises ReplyError if the verdict is missing or unknown."""

        def decision(value: Any) -> Decision:
            value = unwrap(value)
            if not isinstance(value, dict):
                raise ReplyError(f"expected an object, got {show(value)}")
            entry = by_choice(value)
            verdict = choice(field(entry, "verdict"))
            if verdict not in VERDICTS:
                raise ReplyError(f"the verdict is {show(entry['verdict'])}, not one of {', '.join(VERDICTS)}")
            quotes = quotes_of({"quote": entry.get("quotes")})
            return Decision(verdict=verdict, reason=optional_text(entry), quotes=quotes)

        return read_reply(
            text, decision, wanted=is_object, same=lambda found: found.verdict, material=material(item)[:2]
        )

    def judgments(self, reply: Decision, builder: JudgmentBuilder) -> list[Judgment]:
        """Return the judgment of the summary."""
        if reply.verdict == "invalid":
            why = " ".join(filter(None, ["not a summary of the document:", reply.reason]))
            return [builder.failed(FAITHFULNESS, "skipped", why.removesuffix(":"))]
        spans, notes = find_quotes(reply.quotes, finder_of(builder.item.summary.text), "summary")
        label = int(reply.verdict == "consistent")
        reason = " ".join(filter(None, [reply.reason, *notes])) or None
        return [builder.ok(FAITHFULNESS, value=float(label), label=label, evidence=spans, reason=reason)]


def annotated(data: Dataset) -> dict[str, tuple[Example, ...]]:
    """Return the summaries of each document in which people looked for errors, with what they found."""
    found: dict[tuple[str, str], dict[str, list[Judgment]]] = {}
    for name in {RAW, ADJUDICATED}.intersection(data.judgment_sets):
        of_set: dict[tuple[str, str], dict[str, list[Judgment]]] = {}
        for judgment in data.iter_judgments(name):
            target = judgment.target
            # A negative label that is derived from spans repeats the spans.
            repeats = judgment.signature in SPAN_LABELS and not judgment.label
            if judgment.aspect == FAITHFULNESS and judgment.label is not None and target.rival is None and not repeats:
                item = target.document_id, target.system
                of_set.setdefault(item, {}).setdefault(judgment.judge, []).append(judgment)
        found = found | of_set if name == ADJUDICATED else of_set | found
    examples: dict[str, tuple[Example, ...]] = {}
    if not found:
        return examples
    for summary in data.summaries:
        by_annotator = found.get((summary.document_id, summary.system))
        if by_annotator is not None:
            example = Example(
                system=summary.system,
                text=summary.text,
                sentences=summary.sentence_texts,
                findings=tuple(_findings(summary, by_annotator.values())),
            )
            examples[summary.document_id] = (*examples.get(summary.document_id, ()), example)
    return examples


def _findings(summary: Summary, by_annotator: Iterable[Sequence[Judgment]]) -> Iterable[Finding]:
    for number, judgments in enumerate(by_annotator, 1):
        passages = []
        for judgment in judgments:
            label, index = judgment.label, judgment.target.index
            if label == 1 or (isinstance(label, str) and names_no_error(label)):
                continue
            if judgment.target.unit == "sentence" and index is not None:
                text = summary.sentence_texts[index]
            elif judgment.evidence:
                text = " [...] ".join(span.cut(summary.text) for span in judgment.evidence if span.of == "summary")
            else:
                text = summary.text
            error_type = label if isinstance(label, str) else judgment.error_type
            passages.append(Passage(text=text, error_type=error_type, note=judgment.reason))
        yield Finding(annotator=f"Annotator {number}", passages=tuple(dict.fromkeys(passages)))
