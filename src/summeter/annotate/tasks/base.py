"""The base class of task types.

A task type declares which texts are shown, which typed questions are asked, how attention checks are made, and which
judgments follow from an answer. The base class validates, compares and describes answers, exports judgments, shows
machine verdicts and simulates annotators. The form is rendered by `app/static/form.js`.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, ClassVar

from pydantic import ValidationError

from summeter.annotate.campaign.assistance import Verdicts, decided
from summeter.annotate.campaign.config import Aspect, Campaign, Named
from summeter.annotate.campaign.state import Answer, TaskAnswer
from summeter.annotate.tasks.questions import TIE, Disagreement, Question, asked, read, split_of
from summeter.annotate.tasks.simulation import Gold, Profile
from summeter.annotate.tasks.task import InvalidAnswer, Json, Material, Source, Task, key_of, summary_body
from summeter.pages.language import Language
from summeter.records import Judgment, Target, Unit
from summeter.scoring.table import JudgmentTable

SHAPES = ("aspects", "scale", "best", "ties", "error_types")
"""Fields of a campaign file that only some task types use."""
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_MACHINE = {"about": "", "yes": "_yes", "no": "_no"}
LISTED = 4
"""Maximum number of disagreements listed in a message."""


class TaskType(ABC):
    """The base class of a task type in a campaign.

    A subclass sets class attributes:

    - `name`; `code`, the prefix of its task keys; `needs`, a description of the data that it requires
    - `unit`: unit of the decision in a task; `aspects`: aspects of its judgments
    - `coefficients`: agreement coefficients. The first one is used to compare annotators, whose mean agreement ignores
      `side_aspects`.
    - `focused`: field of the body whose text is compared with the document sentences to highlight similar ones
    - `default_entries`: default `aspects` or `error_types`, by field of the campaign. Each entry has a name and the key
      of its texts in the language files (`KEY`, `KEY_text`).
    - `words_in_checks`: whether attention checks use `attention.foreign_sentence` and `attention.paraphrases`
    - `shaped_by`: fields of `SHAPES` that the task type uses, or None if this is unknown
    - `accepting`: for yes-or-no decisions, the values of a positive answer (supported, valid), by question
    - `machine_aspect`: aspect of judgments on `unit` that can be shown as machine verdicts, or None
    - `title` and `verdict_words`: heading of a task and words for machine verdicts, used if the language files have no
      texts for the task type (`NAME.title`, `NAME.machine`, `NAME.machine_yes`, `NAME.machine_no`)

    A subclass implements `ask`, `tasks` and `check`. It overrides `passed`, `judgments_of_task`, `right`, `decides` and
    `deciding` if the defaults, which follow from the questions, do not fit.
    """

    name: ClassVar[str]
    code: ClassVar[str]
    needs: ClassVar[str]
    unit: ClassVar[Unit] = "summary"
    aspects: ClassVar[frozenset[str]] = frozenset()
    coefficients: ClassVar[tuple[str, ...]] = ("alpha_nominal", "ac1", "identical")
    side_aspects: ClassVar[frozenset[str]] = frozenset()
    focused: ClassVar[str | None] = None
    default_entries: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    words_in_checks: ClassVar[bool] = False
    each_summary: ClassVar[bool] = False
    shaped_by: ClassVar[frozenset[str] | None] = None
    accepting: ClassVar[Mapping[str, Any]] = {}
    machine_aspect: ClassVar[str | None] = None
    title: ClassVar[str] = "What is your answer?"
    verdict_words: ClassVar[Mapping[str, str]] = {"about": "The machine says:", "yes": "yes", "no": "no"}

    def __init__(self, campaign: Campaign, language: Language) -> None:
        default_entries = {
            field: tuple(
                Aspect(name=name, label="" if language.text(key) == name else language.text(key),
                       question=language.text(f"{key}_text"))
                for name, key in names.items()
            )
            for field, names in self.default_entries.items()
            if not getattr(campaign, field)
        }  # fmt: skip
        self.campaign = campaign.model_copy(update=default_entries)
        self.language = language
        self.asks = tuple(self.ask())
        self.own = tuple(Question.of_campaign(one, each_summary=self.each_summary) for one in campaign.questions)
        all_questions = (*self.asks, *self.own)
        self.of_summary = tuple(question for question in all_questions if question.each_summary)
        self.of_task = tuple(question for question in all_questions if not question.each_summary)
        self.questions = (*self.of_summary, *self.of_task)

    # Declaration

    @abstractmethod
    def ask(self) -> Iterator[Question]:
        """Yield the questions in order, using `self.campaign` and `self.language`."""

    @abstractmethod
    def tasks(self, source: Source) -> Iterator[Task]:
        """Yield the tasks on one document and its summaries."""

    @abstractmethod
    def check(self, source: Source, number: int, material: Material) -> Task | None:
        """Return the attention check with the given number on a document.

        Returns None if no such check can be made for the document.
        """

    def passed(self, task: Task, answer: TaskAnswer) -> bool:
        """Return whether an answer to a check or training task is right.

        By default, an answer is right if it has all expected values.
        """
        return all(answer.values.get(name) == value for name, value in task.expected.items())

    def judgments_of_task(self, task: Task, answer: Answer, source: Source) -> Iterator[Judgment]:
        """Yield the judgments of the task type's questions.

        By default, these are the judgments of all questions with a signature.
        """
        return self._judgments(self.asks, task, answer, self.reason(answer.answer))

    def reason(self, answer: TaskAnswer) -> str | None:
        """Return the reason that the annotator gives for an answer, or None."""
        return answer.comment

    def opinion(self, task: Task, answer: TaskAnswer) -> str | None:
        """Return a description of the answer by which answers are compared.

        If this is None, the values of the questions are compared.
        """
        return None

    def decides(self, answer: TaskAnswer) -> bool | None:
        """Return whether an answer is positive, or None without a yes-or-no decision."""
        if not self.accepting:
            return None
        return all(answer.values[name] == value for name, value in self.accepting.items())

    def deciding(self, *, accepts: bool) -> Json:
        """Return the values of a positive answer, which are `accepting`, or of a negative one, which are opposite."""
        by_name = {question.name: question for question in self.asks}
        return {
            name: value
            if accepts
            else (not value)
            if isinstance(value, bool)
            else next(option for option in by_name[name].option_names if option != value)
            for name, value in self.accepting.items()
        }

    def right(self, task: Task, gold: Gold) -> TaskAnswer:
        """Return the known part of the right answer.

        For an attention check, this is the expected answer, and otherwise the gold decision. `right_answer` adds the
        gold values of the other questions.
        """
        if task.expected:
            return TaskAnswer(values=dict(task.expected))
        if not self.accepting:
            return TaskAnswer()
        known = gold.of(task.target(self.unit), self.machine_aspect or "")
        accepts = known.label == 1 if known is not None else gold.chance(task) < gold.quality(task.system)
        return TaskAnswer(values=self.deciding(accepts=accepts))

    def derived(self, judgments: Sequence[Judgment], sources: Mapping[str, Source]) -> Iterator[Judgment]:
        """Yield judgments that follow from the judgments of several tasks.

        `sources` maps the identifiers of documents to the documents with their summaries.
        """
        yield from ()

    # Tasks

    def work_task(self, source: Source, *parts: str | int, group: str | None = None, **fields: Any) -> Task:
        """Return a task on a document.

        The key of the task is made of `parts`. Tasks with the same `group` stay together.
        """
        document = source.document.id
        key = key_of(self.code, document, *parts)
        group_key = key_of(document) if group is None else key_of(document, group)
        return Task(key=key, document_id=document, group=group_key, **fields)

    def check_task(self, source: Source, number: int, **fields: Any) -> Task:
        """Return an attention check on a document."""
        key = key_of(f"{self.code}-check", number)
        return Task(key=key, role="check", document_id=source.document.id, **fields)

    def options(self, section: str, *names: str) -> tuple[Named, ...]:
        """Return options with the texts of the language file.

        The keys of these texts are `SECTION.NAME` and, if it exists, `SECTION.NAME_text`.
        """
        strings = self.language.strings
        return tuple(
            Named(
                name=name,
                label=self.language.text(f"{section}.{name}"),
                meaning=self.language.text(meaning) if (meaning := f"{section}.{name}_text") in strings else "",
            )
            for name in names
        )

    def focus(self, task: Task) -> str | None:
        """Return the text to which the highlighted document sentences are similar, or None."""
        return None if self.focused is None else str(task.body[self.focused])

    # Form

    @property
    def script(self) -> Path | None:
        """The JavaScript file beside the module with the same name, or None if there is none."""
        script = Path(inspect.getfile(type(self))).with_suffix(".js")
        return script if script.is_file() else None

    @property
    def reserved(self) -> frozenset[str]:
        """Names that additional questions must not have."""
        return self.aspects | {question.name for question in self.asks}

    def form(self) -> Json:
        """Return the JSON object from which pages render the form of a task."""
        texts = {
            part: self.language.text(key)
            for part in ("title", "machine", "machine_yes", "machine_no")
            if (key := f"{self.name}.{part}") in self.language.strings
        }
        return {
            "name": self.name,
            "title": texts.get("title", self.title),
            "machine": {
                part: texts.get(f"machine{suffix}", self.verdict_words[part]) for part, suffix in _MACHINE.items()
            },
            "script": self.script is not None,
            "questions": [question.to_page() for question in self.questions],
        }

    def shown(self, body: Json, letters: Sequence[str]) -> Json:
        """Return the body for browsers, with letters in place of the names of systems.

        `letters` contains the systems in the order of the letters.
        """
        if "summaries" not in body:
            return body
        by_system = {summary["system"]: summary for summary in body["summaries"]}
        summaries = [
            {"id": letter, "text": by_system[system]["text"], "sentences": by_system[system]["sentences"]}
            for letter, system in zip(LETTERS, letters, strict=False)
        ]
        return {**body, "summaries": summaries}

    def shown_machine(self, machine: Json | None) -> Json | None:
        """Return a machine verdict for browsers.

        It includes the values for accepting the text, and for agreeing and disagreeing with the verdict.
        """
        if machine is None:
            return None
        accepts = machine["accepts"]
        values = {name: value for name, value in machine["values"].items() if name in {one.name for one in self.asks}}
        if not self.accepting:
            agree, disagree = values, {}
        else:
            both = {True: dict(self.accepting), False: self.deciding(accepts=False) if len(self.accepting) == 1 else {}}
            agree, disagree = both[accepts], both[not accepts]
        types = machine["values"].get("error_types", [])
        labels = {entry.name: entry.label or entry.name for entry in self.campaign.error_types}
        return {
            **machine,
            "accept": dict(self.accepting) or None,
            "agree": agree,
            "disagree": disagree,
            "types": [labels.get(name, name) for name in types],
        }

    # Answers

    def scopes(self, systems: Sequence[str]) -> Iterator[tuple[str | None, Sequence[Question]]]:
        """Yield the questions by system.

        The questions about the whole task come last, with None instead of a system.
        """
        if self.of_summary:
            yield from ((system, self.of_summary) for system in systems)
        yield None, self.of_task

    def answers_of(
        self, task: Task, answer: TaskAnswer, order: Sequence[str] | None = None
    ) -> Iterator[tuple[str | None, Question, Any]]:
        """Yield each value of an answer, with the system and the question.

        The system is None for questions about the whole task.
        """
        for system, questions in self.scopes(order or task.systems):
            values = values_of(answer, system)
            for question in questions:
                if question.name in values:
                    yield system, question, values[question.name]

    def read(self, content: Any, task: Task, letters: Sequence[str] | None = None) -> TaskAnswer:
        """Validate an answer.

        `letters` contains the systems in the order of the letters, or is None if the answer names the systems
        themselves. Raises InvalidAnswer with the first invalid field.
        """
        try:
            answer = TaskAnswer.model_validate(content)
        except ValidationError as error:
            first = error.errors()[0]
            raise InvalidAnswer(["answer", *map(str, first["loc"])], first["msg"]) from error
        if letters is not None:
            answer = self._renamed(answer, lambda letter, path: system_of(letter, letters, path))
        if not set(answer.summaries) <= (set(task.systems) if self.of_summary else set()):
            raise InvalidAnswer("answer.summaries", "has answers about summaries that are not shown")
        values: Json = {}
        summaries: dict[str, Json] = {}
        # The order is that on the page, so that the first invalid field does not reveal the system behind a letter.
        for system, questions in self.scopes(letters or task.systems):
            path = ("answer", "values") if system is None else ("answer", "summaries", system)
            found = read(questions, values_of(answer, system), task, path)
            if system is None:
                values = found
            else:
                summaries[system] = found
        checked = answer.model_copy(update={"values": values, "summaries": summaries})
        agrees = self.agrees(task, checked)
        if agrees is not None and answer.machine is not None and (answer.machine == "agree") != agrees:
            raise InvalidAnswer("answer.machine", f"says {answer.machine}, which contradicts the answer")
        return checked

    def page_answer(self, answer: TaskAnswer, letters: Sequence[str]) -> Json:
        """Return the JSON of a stored answer for browsers, with letters in place of the names of systems.

        `letters` contains the systems in the order of the letters.
        """
        ordered = {system: answer.summaries[system] for system in letters if system in answer.summaries}
        answer = answer.model_copy(update={"summaries": ordered})
        return self._renamed(answer, lambda system, _: LETTERS[list(letters).index(system)]).model_dump()

    def _renamed(self, answer: TaskAnswer, name: Callable[[Any, str], str]) -> TaskAnswer:
        """Return the answer with the names of the summaries replaced."""
        choices = {question.name for question in self.of_task if question.type == "summary"}
        values = {
            field: name(value, f"answer.values.{field}") if field in choices and value not in (None, TIE) else value
            for field, value in answer.values.items()
        }
        summaries = {name(system, "answer.summaries"): cells for system, cells in answer.summaries.items()}
        return answer.model_copy(update={"values": values, "summaries": summaries})

    def parts(
        self, task: Task, answer: TaskAnswer, letters: Sequence[str] = (), *, labelled: bool = False
    ) -> list[tuple[str, str]]:
        """Return the name and a description of the value of each question.

        If `letters` is given, letters replace the systems. If `labelled`, questions and options have the labels that
        annotators read.
        """
        names = dict(zip(letters, LETTERS, strict=False))
        found = []
        for system, question, value in self.answers_of(task, answer, letters or task.systems):
            name = (question.label or question.text or question.name) if labelled else question.name
            shown = names.get(value, value) if question.type == "summary" else value
            text = question.described(shown, task, labelled=labelled)
            found.append((name if system is None else f"{names.get(system, system)} {name}", text))
        return found

    def described(self, task: Task, answer: TaskAnswer) -> str:
        """Return a short description of an answer."""
        return "; ".join(f"{name}: {text}" for name, text in self.parts(task, answer))

    def disagreement(self, task: Task, answers: Sequence[TaskAnswer]) -> Disagreement | None:
        """Return how answers to a task differ, or None if the answers agree.

        A missing value agrees with every other value.
        """
        opinions = [self.opinion(task, answer) for answer in answers]
        split = split_of([opinion for opinion in opinions if opinion is not None])
        texts, even = ([], False) if split is None else ([split.text], split.even)
        for system, questions in self.scopes(task.systems):
            values_by_answer = [values_of(answer, system) for answer in answers]
            for question in questions:
                values = [one[question.name] for one in values_by_answer if question.name in one]
                difference = question.differing(values, task) if question.compared and values else None
                if difference is not None:
                    texts.append(f"{system or ''} {question.name}: {difference.text}".strip())
                    even = even or difference.even
        more = f" and {len(texts) - LISTED} more" if len(texts) > LISTED else ""
        return Disagreement("; ".join(texts[:LISTED]) + more, even) if texts else None

    # Judgments

    def judgments(self, task: Task, answer: Answer, source: Source) -> Iterator[Judgment]:
        """Yield all judgments of an answer."""
        yield from self.judgments_of_task(task, answer, source)
        yield from self.judgments_of_own(task, answer)

    def columns(self, answers: Iterable[tuple[Task, Answer]]) -> JudgmentTable | None:
        """Return the judgments of answers, without own questions, if the task type can collect them as columns.

        This is much faster than building one record per judgment. Returns None if there is no such way.
        """
        return None

    def judgments_of_own(self, task: Task, answer: Answer) -> Iterator[Judgment]:
        """Yield the judgments of the campaign's additional questions."""
        return self._judgments(self.own, task, answer, None)

    def _judgments(
        self, questions: Sequence[Question], task: Task, answer: Answer, reason: str | None
    ) -> Iterator[Judgment]:
        exported = [question for question in questions if question.signature is not None]
        for system, _ in self.scopes(task.systems) if exported else ():
            target, values = self._target(task, system), values_of(answer.answer, system)
            for question in exported:
                if question.name in values and question.each_summary == (system is not None):
                    yield from question.judgments(values[question.name], target, task, answer.annotator, reason)

    def _target(self, task: Task, system: str | None) -> Target:
        return task.target(self.unit) if system is None else task.target(system=system)

    def conditional_questions(self, task: Task, answer: TaskAnswer) -> Iterator[tuple[Target, str, bool]]:
        """Yield the target and name of each conditional question, and whether it was asked."""
        conditional = {question.name for question in self.own if question.when}
        if not conditional:
            return
        for system, questions in self.scopes(task.systems):
            shown = {question.name for question in asked(questions, values_of(answer, system), task)}
            for question in questions:
                if question.name in conditional:
                    yield self._target(task, system), question.name, question.name in shown

    # Machine verdicts, as JSON: `{"accepts": bool, "values": {...}, "reason": string or null}`

    def machine_judgment(self, task: Task, verdicts: Verdicts) -> Judgment | None:
        """Return the machine's judgment on the unit of a task, or None."""
        return verdicts.get((task.document_id, task.system, task.index))

    def verdict(self, judgment: Judgment, task: Task) -> Json | None:
        """Return the machine verdict that follows from a judgment, or None if it is undecided."""
        accepts = decided(judgment)
        if accepts is None:
            return None
        values = self.verdict_values(judgment, task, accepts=accepts)
        return {"accepts": accepts, "values": values, "reason": judgment.reason or None}

    def verdict_values(self, judgment: Judgment, task: Task, *, accepts: bool) -> Json:
        """Return the values that a machine verdict has in addition to its decision."""
        return {}

    def same(self, machine: Json, answer: TaskAnswer) -> bool:
        """Return whether an answer agrees with a machine verdict."""
        return self.decides(answer) is machine["accepts"]

    def agrees(self, task: Task, answer: TaskAnswer) -> bool | None:
        """Return whether an answer agrees with the task's machine verdict.

        Returns None if there is no verdict.
        """
        return None if task.machine is None else self.same(task.machine, answer)

    def following(self, task: Task, machine: Json) -> TaskAnswer:
        """Return the answer of an annotator who repeats a machine verdict."""
        return self._filled(task, self._repeating(machine), lambda question, _: question.first(task.systems))

    def _repeating(self, machine: Json) -> TaskAnswer:
        return TaskAnswer(values={**self.deciding(accepts=machine["accepts"]), **machine["values"]})

    # Simulated annotators

    def right_answer(self, task: Task, gold: Gold) -> TaskAnswer:
        """Return the right answer to a task; checks and training tasks contain it."""
        return self._filled(
            task,
            self.right(task, gold),
            lambda question, system: question.right(task, self._target(task, system), gold),
        )

    def simulated(
        self, task: Task, machine: Json | None, profile: Profile, gold: Gold, rng: Random, *, order: Sequence[str]
    ) -> tuple[TaskAnswer, bool]:
        """Return the answer of a simulated annotator, and whether it was given without reading.

        `order` contains the systems in the order in which they are shown.
        """
        lazy = rng.random() < profile.laziness
        known = TaskAnswer() if lazy else self.right(task, gold)

        def pick(question: Question, system: str | None) -> Any:
            if lazy:
                return question.first(order) if question.required else None
            right = values_of(known, system).get(question.name)
            if right is None:
                right = question.right(task, self._target(task, system), gold)
            return question.noisy(right, task, profile, rng)

        start = TaskAnswer()
        if machine is not None and (lazy or profile.trusts(machine, rng)):
            start = self._repeating(machine)
        elif self.accepting:
            right = lazy or self.decides(known) is True
            accepts = lazy or profile.label(right, rng)
            start = known if accepts == right and not lazy else TaskAnswer(values=self.deciding(accepts=accepts))
        answer = self._filled(task, start, pick)
        agrees = None if machine is None else self.agrees(task, answer)
        agreement = None if agrees is None else "agree" if agrees else "disagree"
        return answer.model_copy(update={"machine": agreement}), lazy

    def _filled(self, task: Task, start: TaskAnswer, pick: Callable[[Question, str | None], Any]) -> TaskAnswer:
        """Return the answer completed with values for all questions that are asked.

        Optional questions of the task type are left unanswered.
        """
        values: Json = {}
        summaries: dict[str, Json] = {}
        for system, questions in self.scopes(task.systems):
            found = values if system is None else summaries.setdefault(system, {})
            start_values = values_of(start, system)
            for question in questions:
                if question not in list(asked(questions, found, task)):
                    continue
                value = start_values.get(question.name)
                if value is None and (question.required or question.own):
                    value = pick(question, system)
                if value is not None:
                    found[question.name] = value
        return start.model_copy(update={"values": values, "summaries": summaries})


def values_of(answer: TaskAnswer, system: str | None) -> Json:
    """Return an answer's values about a system's summary, or about the whole task (None)."""
    return answer.values if system is None else answer.summaries.get(system, {})


def labelled(judge: str, target: Target, aspect: str, signature: str, *, yes: bool, **fields: Any) -> Judgment:
    """Return a judgment with the label 1 or 0; `fields` contains its other fields."""
    question = {"target": target, "aspect": aspect, "judge": judge, "signature": signature}
    return Judgment(**question, value=float(yes), label=int(yes), **fields)


def system_of(letter: Any, letters: Sequence[str], field: str) -> str:
    """Return the system behind a letter. Raises InvalidAnswer if the letter is not on the page."""
    index = LETTERS.find(letter) if isinstance(letter, str) and len(letter) == 1 else -1
    if not 0 <= index < len(letters):
        raise InvalidAnswer(field, f"must be a letter from {LETTERS[0]} to {LETTERS[len(letters) - 1]}")
    return letters[index]


def summaries_body(source: Source, systems: Sequence[str], scrambled: Mapping[str, str] | None = None) -> list[Json]:
    """Return the JSON of the systems' summaries; `scrambled` maps systems to replacement texts."""
    body = []
    for system in systems:
        text = (scrambled or {}).get(system)
        shown = summary_body(source.summary(system)) if text is None else {"text": text, "sentences": [[0, len(text)]]}
        body.append({"system": system, **shown})
    return body
