"""`checklist`: written questions about a summary, answered by yes or no or by a grade.

The questions are those of a YAML file (`file=meeting.yaml`) or of a checklist of summeter (`pack=meeting`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self, get_args

from pydantic import Field, TypeAdapter, ValidationError, model_validator

from summeter.data.shipped import shipped_text
from summeter.evaluators.aspects import faults_of_list
from summeter.evaluators.base import JudgmentBuilder
from summeter.evaluators.entries import EntriesJudge, read_entries_by_name
from summeter.evaluators.finesure.fact_check import QUOTE, find_quotes, finder_of, quotes_of
from summeter.evaluators.llm import NO_DATA, material, texts
from summeter.evaluators.replies import (
    REASON,
    choice,
    field,
    object_schema,
    optional_text,
    read_reply,
    show,
    text_schema,
)
from summeter.models.structured import Answer, BoundLLM
from summeter.records import HASH, InputError, Item, Judgment, Record, ReplyError, Span, digest
from summeter.text.match import QuoteFinder

TOTAL = "checklist"
"""Aspect of the weighted mean of all applicable questions."""
NOT_APPLICABLE = "not applicable"
REPLY_TOKENS = 90  # per question
Pack = Literal["calls", "clinical", "meeting", "news"]
PACKS: tuple[Pack, ...] = get_args(Pack)


class Question(Record):
    """A question of a checklist.

    It is answered by yes or no, or, with `levels`, by the number of one of these descriptions, from worst to best.
    `good` is the answer that is good. `weight` is the weight in the mean over the checklist. With `not_applicable`, the
    judge can answer that the question does not apply.
    """

    name: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_.-]*$")
    question: str = Field(min_length=1)
    levels: tuple[str, ...] | None = Field(default=None, min_length=2, max_length=10)
    good: Literal["yes", "no"] = "yes"
    weight: float = Field(default=1.0, gt=0)
    not_applicable: bool = False

    @model_validator(mode="before")
    @classmethod
    def _yaml_booleans(cls, fields: Any) -> Any:
        # YAML reads an unquoted `no` as false.
        if isinstance(fields, dict) and isinstance(fields.get("good"), bool):
            return {**fields, "good": "yes" if fields["good"] else "no"}
        return fields

    @property
    def answers(self) -> tuple[str, ...]:
        """The accepted answers."""
        grades = tuple(str(number) for number in range(1, len(self.levels) + 1)) if self.levels else ("yes", "no")
        return (*grades, NOT_APPLICABLE) if self.not_applicable else grades

    def read(self, entry: dict[str, Any]) -> Replied:
        """Return the answer in the entry of a reply. Raises ReplyError if it is not an accepted one."""
        value = field(entry, "answer")
        answer = str(value) if isinstance(value, int) and not isinstance(value, bool) else choice(value)
        if answer not in self.answers:
            raise ReplyError(f"the answer is {show(value)}, not one of {', '.join(self.answers)}")
        return Replied(answer, optional_text(entry), quotes_of(entry))

    def value(self, answer: str) -> float:
        """Return the grade, or 1 for the good answer and 0 for the other."""
        return float(answer) if self.levels else float(answer == self.good)

    def share(self, value: float) -> float:
        """Return a value as a share of the best value, from 0 to 1."""
        return (value - 1) / (len(self.levels) - 1) if self.levels else value


class Replied(NamedTuple):
    """The answer to a question, with the reason and the quotes from the summary or the document."""

    answer: str
    reason: str | None
    quotes: tuple[str, ...]


Replies = dict[str, Replied | ReplyError]
"""The answer to each question, or the error if it has none."""


class Checklist(EntriesJudge[Replied]):
    """Answer the questions of a checklist about a summary.

    The checklist is one of summeter (`pack`), a YAML file (`file`), or a list of `questions`. With `calls="each"`, each
    question is asked in a call of its own. `prompts` is a folder; its template `checklist.txt` replaces the shipped
    one.

    Writes one judgment per question, with the name of the question as the aspect: 1 or 0 for answers of yes or no, or
    the grade. Quotes are evidence. A question that does not apply is skipped. A further judgment of the aspect
    `checklist` contains the weighted mean in [0, 1] of the questions that apply; it fails if one has no answer.

    >>> [question.name for question in Checklist(pack="meeting").questions][:2]
    ['decisions', 'decisions_right']
    """

    name, version = "checklist", "1"
    summary = "An LLM judge answers the questions of a checklist, each with a quote and a reason."
    aspects = (TOTAL,)
    reads_sentences = False

    file: Path | None = Field(default=None, exclude=True)
    pack: Pack = Field(default="news", exclude=True)
    calls: Literal["together", "each"] = "together"
    questions: tuple[Question, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _read(cls, fields: Any) -> Any:
        if not isinstance(fields, dict):
            return fields
        given = [name for name in ("file", "pack", "questions") if fields.get(name)]
        if len(given) > 1:
            raise ValueError(f"`{given[0]}` and `{given[1]}` cannot be combined; remove one")
        if given == ["file"]:
            return {**fields, "questions": read_checklist(Path(fields["file"]))}
        pack = fields.get("pack", "news")
        return {**fields, "questions": packed(pack)} if given != ["questions"] and pack in PACKS else fields

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        names = [question.name for question in self.questions]
        twice = next((name for name in names if names.count(name) > 1 or name == TOTAL), None)
        if twice is not None:
            raise ValueError(f"the name {twice!r} is used twice; the total has the name {TOTAL!r}")
        return self

    @property
    def active_aspects(self) -> tuple[str, ...]:
        """The names of the questions, and `checklist`."""
        return (*(question.name for question in self.questions), TOTAL)

    @property
    def decision_threshold(self) -> float:
        """A value between the two answers to a question without grades."""
        return 0.5

    def signature_fields(self) -> Mapping[str, object]:
        """Return the hash of the questions and of the prompt, and how they are asked."""
        listed = digest([question.model_dump(mode="json") for question in self.questions], HASH)
        return {"questions": listed, "calls": self.calls, "prompt": self.prompt_hash}

    def template_variables(self, item: Item, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the questions and the texts of the item."""
        return {"questions": data.get("questions", self.questions), **texts(item)}

    def expected_tokens(self, item: Item) -> int:
        """Return the expected number of tokens per question times the number of questions of a call."""
        return REPLY_TOKENS * (len(self.questions) if self.calls == "together" else 1)

    def reply_schema(self, item: Item, data: Mapping[str, Any] = NO_DATA) -> dict[str, Any]:
        """Return the schema of a reply, with one property per question: quote, reason, answer."""
        return object_schema({
            question.name: object_schema({
                "quote": text_schema(QUOTE), "reason": text_schema(REASON),
                "answer": {"type": "string", "enum": list(question.answers)},
            })
            for question in data.get("questions", self.questions)
        })  # fmt: skip

    def parse(self, text: str, item: Item, data: Mapping[str, Any] = NO_DATA) -> Replies:
        """Return an answer or an error for each question. Raises ReplyError if no question has an answer."""
        questions = {question.name: question for question in data.get("questions", self.questions)}
        return read_reply(
            text,
            lambda value: read_entries_by_name(
                value, questions, "question", lambda name, entry: questions[name].read(entry)
            ),
            same=lambda replies: [getattr(reply, "answer", None) for reply in replies.values()],
            material=material(item)[:2],
        )

    async def ask(self, llm: BoundLLM, item: Item, data: Mapping[str, Any]) -> Answer[Replies]:
        """Ask all questions at once, or each in a call of its own. Answers that remain missing after a repair fail."""
        if self.calls == "together":
            return await super().ask(llm, item, data)
        asked = {question.name: {**data, "questions": (question,)} for question in self.questions}
        return await self.ask_each(llm, item, asked)

    def judgments(self, reply: Replies, builder: JudgmentBuilder) -> list[Judgment]:
        """Return one judgment per question, and the one of the whole checklist."""
        judgments, shares, weights, missing = [], 0.0, 0.0, []
        texts_of = {"summary": builder.item.summary.text, "document": builder.item.document.text}
        finders = [(of, finder_of(text)) for of, text in texts_of.items()]
        for question in self.questions:
            replied = reply[question.name]
            if isinstance(replied, ReplyError):
                missing.append(question.name)
                judgments.append(builder.failed(question.name, "unparsed", str(replied)))
                continue
            spans, notes = _located(replied.quotes, finders)
            reason = " ".join(filter(None, [replied.reason, *notes])) or None
            if replied.answer == NOT_APPLICABLE:
                why = f"{NOT_APPLICABLE}: {reason}" if reason else NOT_APPLICABLE
                judgments.append(builder.failed(question.name, "skipped", why, evidence=spans))
                continue
            value = question.value(replied.answer)
            label = None if question.levels else int(value)
            judgments.append(builder.ok(question.name, value=value, label=label, reason=reason, evidence=spans))
            shares += question.weight * question.share(value)
            weights += question.weight
        if missing:
            total = builder.failed(TOTAL, "unparsed", f"no answer to {', '.join(missing)}")
        elif not weights:
            total = builder.failed(TOTAL, "skipped", "no question applies")
        else:
            applied = sum(judgment.status == "ok" for judgment in judgments)
            reason = f"{applied} of {len(self.questions)} questions apply"
            total = builder.ok(TOTAL, value=shares / weights, reason=reason)
        return [*judgments, total]


def _located(quotes: Sequence[str], finders: Sequence[tuple[str, QuoteFinder]]) -> tuple[tuple[Span, ...], list[str]]:
    """Return the spans of quotes in the summary or else in the document, and a note on each missing quote."""
    spans: list[Span] = []
    notes: list[str] = []
    for quote in quotes:
        found = next((here for of, finder in finders if (here := find_quotes([quote], finder, of)[0])), ())
        spans += found
        notes += [] if found else [f"[not in the texts: {show(quote, 120)}]"]
    return tuple(dict.fromkeys(spans)), notes


_QUESTIONS = TypeAdapter(tuple[Question, ...])


def packed(name: str) -> tuple[Question, ...]:
    """Return the questions of a checklist of summeter."""
    import yaml

    return _QUESTIONS.validate_python(yaml.safe_load(shipped_text(__package__ or "", f"packs/{name}.yaml")))


def read_checklist(file: Path) -> tuple[Question, ...]:
    """Read the questions of a checklist from a YAML file, which contains a list of `Question` fields.

    Raises InputError with the file and the field of each error.
    """
    from summeter.data.mapping import read_yaml

    value = read_yaml(file)
    if not isinstance(value, list):
        raise InputError.at(file, "must be a list of questions")
    try:
        return _QUESTIONS.validate_python(value)
    except ValidationError as error:
        raise InputError(faults_of_list(file, error, "question", "must be a mapping of fields")) from error
