"""Kind: what a kind of task can do. Everything that depends on the kind is a method here.

A new kind is one module with a subclass of `Kind` (or of `AssistedKind`, where a machine's verdict can be shown) and
one script of the same name beside it, which draws the task in the browser.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from pathlib import Path
from random import Random
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from summeter.annotate.campaign.assistance import Verdicts
from summeter.annotate.campaign.config import Aspect, Campaign, Named, OwnQuestion
from summeter.annotate.campaign.language import Language
from summeter.annotate.campaign.state import Answer
from summeter.annotate.tasks import questions as own
from summeter.annotate.tasks.simulation import Profile, Truth
from summeter.annotate.tasks.task import Json, Misfit, Others, Source, Task, key_of, summary_body
from summeter.records import Judgment, Summary, Target, Unit
from summeter.scoring.table import JudgmentTable

LONGEST = 2000
"""Characters of a comment or a reason."""
SHAPES = ("aspects", "scale", "best", "ties", "error_types")
"""The campaign's fields that shape what some kinds ask."""
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class AnswerModel(BaseModel):
    """What every answer may hold."""

    model_config = ConfigDict(extra="forbid", strict=True)

    machine: Literal["agree", "disagree"] | None = None
    comment: str | None = Field(default=None, max_length=LONGEST)


A = TypeVar("A", bound=AnswerModel)


class Disagreement(NamedTuple):
    """How answers to one task differ, in words; `even` where none has a majority."""

    text: str
    even: bool


class Kind(ABC):
    """A kind of task. `needs` says in words what the data must hold for it; keys of its tasks begin with `code`.

    `unit` is what an adjudicator decides on. `coefficients` are the measures of agreement; annotators are compared by
    the first. An annotator's mean agreement leaves out `side_aspects`. `focused` is the field of the body whose like
    is highlighted in the document. `usual` names what is asked where the campaign names nothing of its own: by field
    of the campaign (`aspects`, `error_types`) the name and the key of its words in the language files (`KEY`,
    `KEY_text`). `words_in_checks` says that attention checks hold words of the campaign's settings
    (`attention.stranger`, `attention.paraphrases`). `questions` are the campaign's own, which each task asks too
    (`asking`); where `each_summary`, of each summary that it shows. `shaped_by` are those of the campaign's fields
    `SHAPES` that it heeds; None: it does not say.

    A subclass writes what it asks itself (`read`, `judgments`, `disagreement`, `describe`, ...); what goes with the
    campaign's own questions follows from it (`read_answer`, `answer_judgments`, ...), and is what others call.
    """

    name: ClassVar[str]
    code: ClassVar[str]
    needs: ClassVar[str]
    unit: ClassVar[Unit] = "summary"
    coefficients: ClassVar[tuple[str, ...]] = ("alpha_nominal", "ac1", "identical")
    side_aspects: ClassVar[frozenset[str]] = frozenset()
    focused: ClassVar[str | None] = None
    usual: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    words_in_checks: ClassVar[bool] = False
    each_summary: ClassVar[bool] = False
    shaped_by: ClassVar[frozenset[str] | None] = None
    questions: tuple[OwnQuestion, ...] = ()
    _pages: Sequence[Json] = ()

    def asking(self, questions: Sequence[OwnQuestion]) -> Self:
        """The kind with a campaign's own questions."""
        kind = copy(self)
        kind.questions = tuple(questions)
        kind._pages = [question.to_page() for question in questions]
        return kind

    def aspects(self, campaign: Campaign) -> frozenset[str]:
        """The aspects of its judgments, which no question may be named like."""
        return frozenset(aspect.name for aspect in campaign.aspects)

    def conditions(self, campaign: Campaign) -> dict[str, tuple[Any, ...]]:
        """The fields of its answers that a question's `when` may name, each with its values."""
        return {}

    def facts(self, answer: Json, system: str | None) -> Json:
        """The fields of a stored answer that `when` names; where `each_summary`, of one system's summary."""
        return answer

    def asked(self, letters: Sequence[str]) -> Json:
        """What a page needs for the campaign's own questions: the questions, and of which summaries they are asked."""
        if not self.questions:
            return {"questions": [], "subjects": None}
        subjects = list(LETTERS[: len(letters)]) if self.each_summary else None
        return {"questions": list(self._pages), "subjects": subjects}

    def read_answer(self, answer: Any, task: Task, letters: Sequence[str] | None = None) -> Json:
        """A whole answer as it is stored; `letters` are the systems in the order of showing, None where the answer
        names systems. Raises Misfit."""
        given = answer if letters is None else self.unlettered(answer, letters)
        if not self.questions or not isinstance(given, dict):
            return self.read(given, task)
        values = given.get("questions", {})
        stored = self.read({name: value for name, value in given.items() if name != "questions"}, task)
        path = ("answer", "questions")
        if not self.each_summary:
            return {**stored, "questions": own.read(self.questions, values, self.facts(stored, None), path)}
        if isinstance(values, dict) and letters is not None:
            values = {system_of(letter, letters, "answer.questions"): cells for letter, cells in values.items()}
        if not isinstance(values, dict) or not set(values) <= set(task.systems):
            raise Misfit(path, "answer the questions of every summary on the page, and no other")
        read = {
            system: own.read(self.questions, values.get(system, {}), self.facts(stored, system), (*path, system))
            for system in task.systems
        }
        return {**stored, "questions": read}

    def page_answer(self, answer: Json, letters: Sequence[str]) -> Json:
        """A stored answer as the browser sent it."""
        shown = self.relettered(answer, letters)
        if not self.each_summary or "questions" not in answer:
            return shown
        given = answer["questions"]  # in the order of the letters: that of the names would tell which is whose
        values = {letter_of(system, letters): given[system] for system in letters if system in given}
        return {**shown, "questions": values}

    def values_by_target(self, task: Task, answer: Json) -> list[tuple[Target, Json]]:
        """What the campaign's own questions were answered with, each set of values with what it is about."""
        values = answer.get("questions", {})
        if not self.each_summary:
            return [(task.target(self.unit), values)]
        return [(task.target(self.unit, system=system), values.get(system, {})) for system in values or task.systems]

    def answer_judgments(self, task: Task, answer: Answer, source: Source) -> Iterator[Judgment]:
        """A whole stored answer as judgments: the kind's own, then those of the campaign's questions."""
        yield from self.judgments(task, answer, source)
        yield from self.question_judgments(task, answer)

    def question_judgments(self, task: Task, answer: Answer) -> Iterator[Judgment]:
        """What a stored answer says to the campaign's own questions, as judgments."""
        if not self.questions:
            return
        for target, values in self.values_by_target(task, answer.answer):
            yield from own.judgments(self.questions, values, target, answer.annotator)

    def conditional_questions(self, task: Task, answer: Json) -> Iterator[tuple[Target, str, bool]]:
        """The campaign's own questions with a condition, by what they are about and name: whether a stored answer was
        asked each."""
        conditional = [question for question in self.questions if question.when]
        for target, values in self.values_by_target(task, answer) if conditional else ():
            shown = list(own.asked(self.questions, self.facts(answer, target.system), values))
            for question in conditional:
                yield target, question.name, question in shown

    def answer_disagreement(self, task: Task, answers: Sequence[Answer]) -> Disagreement | None:
        """How whole stored answers differ; None where they agree."""
        split = self.disagreement(task, answers)
        if not self.questions:
            return split
        texts, even = ([], False) if split is None else ([split.text], split.even)
        for sets in zip(*(self.values_by_target(task, answer.answer) for answer in answers), strict=True):
            where = f"{sets[0][0].system} " if self.each_summary else ""
            for name, given in own.differing(self.questions, [values for _, values in sets]):
                counted = split_of(given)
                if counted is not None:
                    texts.append(f"{where}{name}: {counted.text}")
                    even = even or counted.even
        return Disagreement("; ".join(texts), even) if texts else None

    def answer_text(self, task: Task, answer: Json) -> str:
        """A whole stored answer in a few words."""
        several = [
            (f"{target.system}: " if self.each_summary else "") + own.described(values)
            for target, values in self.values_by_target(task, answer)
            if values
        ]
        return "; ".join([self.describe(task, answer), *several])

    def answer_parts(self, task: Task, answer: Json) -> list[tuple[str, str]]:
        """A whole answer part by part, as `parts`."""
        values = [
            (f"{target.system} {name}" if self.each_summary else name, text)
            for target, given in self.values_by_target(task, answer)
            for name, text in own.texts(given)
        ]
        return [*self.parts(task, answer), *values]

    def made_up_values(self, task: Task, answer: Json, respondent: own.Respondent) -> Json:
        """How a made-up annotator answers the campaign's own questions beside an answer in stored form."""
        sets = {
            target.system: own.made_up(self.questions, self.facts(answer, target.system), task, target, respondent)
            for target, _ in self.values_by_target(task, {})
        }
        return sets if self.each_summary else next(iter(sets.values()))

    def completed(self, campaign: Campaign, language: Language) -> Campaign:
        """The campaign with what is usually asked, in the language of its pages, where it names nothing of its own."""
        fields = {field: names for field, names in self.usual.items() if not getattr(campaign, field)}
        return campaign.model_copy(
            update={
                field: tuple(_worded(name, key, language) for name, key in names.items())
                for field, names in fields.items()
            }
        )

    @property
    def script(self) -> Path:
        """The script that draws the task: it stands beside the module, under the same name."""
        return Path(inspect.getfile(type(self))).with_suffix(".js")

    def work_task(self, source: Source, *parts: str | int, group: str | None = None, **fields: Any) -> Task:
        """A task of the work on a document, named by `parts`; it stays together with those of its `group`."""
        document = source.document.id
        key = key_of(self.code, document, *parts)
        together = key_of(document) if group is None else key_of(document, group)
        return Task(key=key, kind=self.name, document_id=document, group=together, **fields)

    def check_task(self, source: Source, number: int, **fields: Any) -> Task:
        """The `number`-th attention check, about a document."""
        key = key_of(f"{self.code}-check", number)
        return Task(key=key, kind=self.name, role="check", document_id=source.document.id, **fields)

    @abstractmethod
    def tasks(self, source: Source, campaign: Campaign) -> Iterator[Task]:
        """The work on one document."""

    @abstractmethod
    def check(self, source: Source, number: int, others: Others, campaign: Campaign) -> Task | None:
        """The `number`-th attention check, about this document; None where it offers nothing to make one of."""

    @abstractmethod
    def read(self, answer: Any, task: Task) -> Json:
        """A browser's answer as it is stored (letters already replaced). Raises Misfit."""

    @abstractmethod
    def passed(self, task: Task, answer: Json) -> bool:
        """Whether a stored answer is what a check (or training task) expects."""

    @abstractmethod
    def judgments(self, task: Task, answer: Answer, source: Source) -> Iterator[Judgment]:
        """A stored answer to a task of the work as judgments."""

    def columns(self, answered: Iterable[tuple[Task, Sequence[Answer]]]) -> JudgmentTable | None:
        """The judgments of answers to the work as a table, for a kind whose answers hold many each.

        Equal to the table of the records of `judgments`, row by row. None: the kind makes records only.
        """
        return None

    @abstractmethod
    def disagreement(self, task: Task, answers: Sequence[Answer]) -> Disagreement | None:
        """How stored answers to a task differ; None where they agree."""

    @abstractmethod
    def describe(self, task: Task, answer: Json) -> str:
        """A stored answer in a few words."""

    def parts(self, task: Task, answer: Json) -> list[tuple[str, str]]:
        """A stored answer part by part, to be compared with another: what was asked, and what was answered."""
        return [("answer", self.describe(task, answer))]

    @abstractmethod
    def true_answer(self, task: Task, truth: Truth) -> Json:
        """The right answer to a task of the work, in stored form without `machine` and `comment`."""

    @abstractmethod
    def expected_answer(self, task: Task) -> Json:
        """An answer that passes a check, in the same form."""

    @abstractmethod
    def noisy_answer(self, task: Task, right: Json, profile: Profile, rng: Random) -> Json:
        """The answer of a made-up annotator who has read the texts, where `right` is right."""

    @abstractmethod
    def careless_answer(self, task: Task, letters: Sequence[str]) -> Json:
        """The answer of somebody who reads nothing; `letters` are the systems in the order of showing."""

    def right_answer(self, task: Task, truth: Truth) -> Json:
        """The right answer to a task of the work; of a check or a training task what it expects."""
        return self.true_answer(task, truth) if task.expected is None else self.expected_answer(task)

    def derived(self, judgments: Sequence[Judgment], sources: Mapping[str, Source]) -> Iterator[Judgment]:
        """Judgments that follow from those of several tasks; `sources` by document."""
        yield from ()

    def focus(self, task: Task) -> str | None:
        """The text whose like is highlighted in the document."""
        return None if self.focused is None else str(task.body[self.focused])

    def disputed(self, task: Task, answers: Sequence[Json]) -> str | None:
        """The text on which these stored answers differ; None where it is all that the task shows."""
        return self.focus(task)

    def agrees(self, task: Task, answer: Json) -> bool | None:
        """Whether the answer says what the machine's verdict said; None where no verdict is shown."""
        return None

    def shown(self, body: Json, letters: Sequence[str]) -> Json:
        """The body as a browser gets it; `letters` are the systems in the order of showing."""
        return body

    def unlettered(self, answer: Any, letters: Sequence[str]) -> Any:
        """A browser's answer with systems in place of letters. Raises Misfit for a letter that is not on the page."""
        return answer

    def relettered(self, answer: Json, letters: Sequence[str]) -> Json:
        """A stored answer as the browser sent it."""
        return answer


class AssistedKind(Kind):
    """A kind beside whose tasks a machine's verdict can be shown.

    `machine_aspect` and `machine_unit` are those of the run's judgments. The verdict holds its decision in the field
    `decision` and what `no_details` names besides.
    """

    machine_aspect: ClassVar[str]
    machine_unit: ClassVar[Unit]
    decision: ClassVar[str] = "verdict"
    no_details: ClassVar[Json] = {"reason": None}

    def machine_judgment(self, task: Task, verdicts: Verdicts) -> Judgment | None:
        """The machine's judgment of what a task asks."""
        return verdicts.of_summary(task.document_id, task.system or "", task.index or 0)

    @abstractmethod
    def shown_verdict(self, judgment: Judgment, task: Task) -> Json | None:
        """A judgment as a page gets it (design/annotate.md); None where it decides nothing."""

    @abstractmethod
    def accepts(self, machine: Json) -> bool:
        """Whether a verdict is a positive one: supported, valid, aligned."""

    @abstractmethod
    def following(self, task: Task, machine: Json) -> Json:
        """The answer that says what a machine's verdict says."""

    @abstractmethod
    def same(self, machine: Json, answer: Json) -> bool:
        """Whether an answer says what a verdict says."""

    def agrees(self, task: Task, answer: Json) -> bool | None:
        """Whether the answer says what the machine's verdict said; None where no verdict is shown."""
        return None if task.machine is None else self.same(task.machine, answer)

    def check_machine(self, task: Task, answer: Json) -> Json:
        """The answer. Raises Misfit where agreeing with the machine and the answer itself say different things."""
        agrees = self.agrees(task, answer)
        if agrees is not None and answer["machine"] is not None and (answer["machine"] == "agree") != agrees:
            raise Misfit("answer.machine", f"says {answer['machine']}, but the answer itself says otherwise")
        return answer


def labelled(judge: str, target: Target, aspect: str, signature: str, *, yes: bool, **more: Any) -> Judgment:
    """A judgment with the label 1 or 0."""
    about = {"target": target, "aspect": aspect, "judge": judge, "signature": signature}
    return Judgment(**about, value=float(yes), label=int(yes), **more)


def parsed(model: type[A], answer: Any) -> A:
    """An answer as its model; Misfit names the first field that is wrong."""
    try:
        return model.model_validate(answer)
    except ValidationError as error:
        first = error.errors()[0]
        path = ["answer", *(str(part) for part in first["loc"])]
        raise Misfit(path, first["msg"].removeprefix("Value error, ")) from error


def _worded(name: str, key: str, language: Language) -> Aspect:
    label, text = language.text(key), language.text(f"{key}_text")
    return Aspect(name=name, label="" if label == name else label, question=text)


def listed(names: Sequence[Named], about: str) -> list[dict[str, str]]:
    """Aspects or error types as a page needs them; `about` names the field of what is said about each."""
    return [
        {"name": entry.name, **({"label": entry.label} if entry.label else {}), about: entry.question or entry.meaning}
        for entry in names
    ]


def check_chosen(names: Sequence[str], known: Sequence[str], field: str) -> None:
    """Raise Misfit unless each name is known and named once."""
    for name in names:
        if name not in known:
            raise Misfit(field, f"{name[:80]!r} is not one of: {', '.join(known)}")
    if len(set(names)) != len(names):
        raise Misfit(field, "names something twice")


def split_of(labels: Sequence[str]) -> Disagreement | None:
    """How labels are split; None where all are the same.

    >>> split_of(["supported", "not supported", "supported"])
    Disagreement(text='2 supported, 1 not supported', even=False)
    """
    counts = Counter(labels).most_common()
    if len(counts) < 2:
        return None
    return Disagreement(", ".join(f"{n} {label}" for label, n in counts), counts[0][1] * 2 <= len(labels))


class LetteredKind(Kind):
    """A kind whose body has `summaries` with a `system` each; a browser gets them under letters, shuffled."""

    def shown(self, body: Json, letters: Sequence[str]) -> Json:
        """The summaries in the person's order, without their systems."""
        by_system = {summary["system"]: summary for summary in body["summaries"]}
        summaries = [
            {"id": letter, "text": by_system[system]["text"], "sentences": by_system[system]["sentences"]}
            for letter, system in zip(LETTERS, letters, strict=False)
        ]
        return {**body, "summaries": summaries}


def system_of(letter: Any, letters: Sequence[str], field: str) -> str:
    """The system under a letter. Raises Misfit for what is no letter on the page."""
    place = LETTERS.find(letter) if isinstance(letter, str) and len(letter) == 1 else -1
    if not 0 <= place < len(letters):
        raise Misfit(field, f"name a summary on the page, {LETTERS[0]} to {LETTERS[len(letters) - 1]}")
    return letters[place]


def letter_of(system: str, letters: Sequence[str]) -> str:
    """The letter of a system."""
    return LETTERS[list(letters).index(system)]


def summaries_body(summaries: Sequence[Summary]) -> list[Json]:
    """Summaries with their systems, as the body of a lettered kind holds them."""
    return [{"system": summary.system, **summary_body(summary)} for summary in summaries]


def with_jumble(body: Json, system: str, text: str) -> Json:
    """The body with another text in place of a system's summary."""
    odd = {"system": system, "text": text, "sentences": [[0, len(text)]]}
    summaries = [odd if summary["system"] == system else summary for summary in body["summaries"]]
    return {**body, "summaries": summaries}
