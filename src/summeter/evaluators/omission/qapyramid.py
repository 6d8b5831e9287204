"""`qapyramid`: questions with answers from a reference, and which of them a summary answers alike.

See QAPyramid (Zhang et al., arXiv 2412.07096). There, people or a parser (QASem) write the questions, and an LLM
decides for one question at a time. The prompts here are those of summeter, and an LLM writes the questions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Final, Literal, NamedTuple

from pydantic import Field

from summeter.evaluators.base import ExpectedJudgment, JudgmentBuilder, Parser, Prepared, Tools
from summeter.evaluators.entries import EntriesJudge, read_entries_by_name
from summeter.evaluators.finesure.align import COMPLETENESS
from summeter.evaluators.finesure.fact_check import QUOTE, find_quotes, finder_of, quotes_of
from summeter.evaluators.finesure.key_facts import ABSENT, FACT, MOST, KeyFactExtraction, Source
from summeter.evaluators.llm import NO_DATA
from summeter.evaluators.replies import (
    YES_NO,
    Texts,
    choice,
    field,
    is_object,
    keyed_schema,
    list_schema,
    listed_in,
    object_schema,
    read_reply,
    required_text,
    show,
    text_schema,
    yes,
)
from summeter.models.prompts import fence_code, lines
from summeter.models.structured import Answer, BoundLLM, Form
from summeter.records import Document, Item, Judgment, KeyFacts, Origin, ReplyError

REPLY_TOKENS: Final = 40
"""Expected number of tokens of the entry of a question."""
MARKS: Final = "?？؟"
"""Question marks, one of which separates a question from its answer."""
_ANSWERED = re.compile(rf"\w.*[{MARKS}]\s*\S", re.DOTALL)


class QuestionExtraction(KeyFactExtraction):
    """Derive questions with answers from the reference or the document.

    A key fact is a question followed by its answer, as in "Who sold the boat? Ana". Key facts in the data are used if
    all of them have this form.
    """

    extraction: ClassVar[Mapping[Origin, str]] = {"reference": "questions_reference", "document": "questions_document"}
    absent: ClassVar[Mapping[Source, str]] = {
        **ABSENT, "given": "the key facts in the data are not questions, each with its answer",
    }  # fmt: skip

    def accepts(self, key_facts: Sequence[str]) -> bool:
        """Return whether there are key facts, and all are questions with answers."""
        return bool(key_facts) and all(_ANSWERED.search(text) for text in key_facts)

    def form(self, source: str, limit: int) -> Form[Texts]:
        """Return the schema of a reply with at most `limit` questions about a text, with its parser."""
        entry = object_schema({"question": text_schema(FACT), "answer": text_schema(FACT)})
        schema = object_schema({"questions": list_schema(entry, limit)})
        return Form("questions", schema, partial(read_questions, material=(source,)))


def read_questions(reply: str, material: Sequence[str] = ()) -> Texts:
    """Parse questions with answers from a reply.

    `material` contains the text from which they were derived.

    >>> read_questions('{"questions": [{"question": "Who left?", "answer": "Ana"}]}').texts
    ('Who left? Ana',)
    """

    def texts(value: Any) -> Texts:
        listed = listed_in(value, ["questions"], "question")
        distinct: dict[str, str] = {}
        for place, entry in enumerate(listed, 1):
            if not isinstance(entry, dict):
                raise ReplyError(f"question {place} is {show(entry)}, not an object")
            question, answer = required_text(entry, "question"), required_text(entry, "answer")
            if not any(map(str.isalnum, question)):
                raise ReplyError(f"question {place} is {show(question)}, not a question")
            text = f"{question}{'' if question[-1] in MARKS else '?'} {answer}"
            distinct.setdefault(choice(text) or text, text)
        return Texts(tuple(distinct.values()), len(listed) - len(distinct))

    return read_reply(reply, texts, wanted=is_object, material=material)


class Presence(NamedTuple):
    """Whether a summary answers a question alike, and the quotes from the summary."""

    present: bool
    quotes: tuple[str, ...]


Entries = dict[str, Presence | ReplyError]


class QAPyramid(EntriesJudge[Presence]):
    """Judge which questions about a reference a summary answers alike (QAPyramid).

    The questions are the key facts in the data if all of them are questions with answers ("Who left? Ana"), or else the
    judge writes them in one call per document: from the first reference, or else from the document. `source` and
    `at_most` are those of `finesure.key_facts`. With `calls="each"`, as published, each question is decided in a call
    of its own. `prompts` is a folder whose templates replace the shipped ones.

    Writes one judgment per question (aspect completeness, unit key_fact; `list_id` identifies the list), with the
    quoted words of the summary as evidence. The label is 1 if the summary conveys the question and the answer, and
    otherwise 0. A question without a usable entry in the reply fails alone.
    """

    name, version = "qapyramid", "1"
    summary = "An LLM judge finds which questions about the reference the summary answers (QAPyramid)."
    aspects = (COMPLETENESS,)
    binary_units = frozenset({"key_fact"})
    code_licence = "MIT"
    long_documents = "unread"
    reads_sentences = False

    source: Source = "auto"
    at_most: int = Field(default=30, ge=1, le=MOST)
    calls: Literal["together", "each"] = "together"

    @property
    def templates(self) -> tuple[str, ...]:
        """The names of the templates of the questions and the decision."""
        return (self.template, *self._extraction.templates)

    @property
    def _extraction(self) -> QuestionExtraction:
        return QuestionExtraction(source=self.source, at_most=self.at_most, order="importance", prompts=self.prompts)

    async def prepare(self, document: Document, tools: Tools) -> Prepared:
        """Return the questions with their answers."""
        return await self._extraction.prepare(document, tools)

    def stored_data(self, item: Item) -> Mapping[str, Any]:
        """Return the questions that are given in the data."""
        return {"key_facts": item.key_facts, "origin": "given"}

    def read(self, output: str, item: Item, parser: Parser, signature: str) -> list[Judgment]:
        """Return judgments from a stored reply about the questions that are given in the data."""
        if not self._extraction.accepts(item.key_facts):
            why = "the data contain no questions with answers to compare the reply with"
            return JudgmentBuilder(self, item, signature).skipped(why)
        return super().read(output, item, parser, signature)

    def template_variables(self, item: Item, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the questions, which come first because all summaries share them, and the summary."""
        asked = _asked(data)
        return {
            "questions": dict(zip(asked, lines(list(asked.values())), strict=True)),
            "questions_code": fence_code(*asked.values()),
            "summary": item.summary.text,
            "summary_code": fence_code(*asked.values(), item.summary.text),
        }

    def expected_tokens(self, item: Item) -> int:
        """Return the expected number of tokens per question times the number of questions of a call."""
        return REPLY_TOKENS * (self.at_most if self.calls == "together" else 1)

    def reply_schema(self, item: Item, data: Mapping[str, Any] = NO_DATA) -> dict[str, Any]:
        """Return the schema of a reply, with one entry per question: quote, present."""
        return keyed_schema(list(_asked(data)), "verdict", {"quote": text_schema(QUOTE), "present": YES_NO})

    def parse(self, text: str, item: Item, data: Mapping[str, Any] = NO_DATA) -> Entries:
        """Return an entry or an error for each question. Raises ReplyError if no question has an entry.

        The keys are the questions with their numbers, as in "1. Who left? Ana".
        """
        asked = _asked(data)

        def entries(value: Any) -> Entries:
            found = read_entries_by_name(
                value, asked, "question", lambda _, entry: Presence(yes(field(entry, "present")), quotes_of(entry))
            )
            return {f"{number}. {asked[number]}": entry for number, entry in found.items()}

        return read_reply(
            text,
            entries,
            same=lambda found: [getattr(entry, "present", None) for entry in found.values()],
            material=(item.summary.text, *asked.values()),
        )

    async def ask(self, llm: BoundLLM, item: Item, data: Mapping[str, Any]) -> Answer[Entries]:
        """Ask about all questions at once, or about each in a call of its own."""
        if self.calls == "together":
            return await super().ask(llm, item, data)
        asked = _asked(data)
        each = {f"{number}. {text}": {**data, "asked": {number: text}} for number, text in asked.items()}
        return await self.ask_each(llm, item, each)

    def expected(self, item: Item, data: Mapping[str, Any], parser: Parser = "strict") -> list[ExpectedJudgment]:
        """Return one expected judgment per question, or one of the summary if there are no questions."""
        list_id = KeyFacts.of(data.get("key_facts", ()), "given").id
        places = range(len(data.get("key_facts", ())))
        questions = [ExpectedJudgment(COMPLETENESS, "key_fact", place, list_id) for place in places]
        return questions or [ExpectedJudgment(COMPLETENESS)]

    def judgments(self, reply: Entries, builder: JudgmentBuilder) -> list[Judgment]:
        """Return one judgment per question."""
        list_id = KeyFacts.of([question.partition(". ")[2] for question in reply], "given").id
        finder = finder_of(builder.item.summary.text)
        judgments = []
        for index, entry in enumerate(reply.values()):
            if isinstance(entry, ReplyError):
                fields: dict[str, Any] = {"status": "unparsed", "reason": str(entry)}
            else:
                spans, notes = find_quotes(entry.quotes, finder, "summary")
                value = float(entry.present)
                fields = {"value": value, "label": int(value), "evidence": spans, "reason": " ".join(notes) or None}
            judgments.append(builder.ok(COMPLETENESS, "key_fact", index, list_id=list_id, **fields))
        return judgments


def _asked(data: Mapping[str, Any]) -> dict[str, str]:
    """Return the questions of a call by their number, as a string."""
    asked: dict[str, str] | None = data.get("asked")
    if asked is not None:
        return asked
    return {str(number): text for number, text in enumerate(data.get("key_facts", ()), 1)}
