"""TaskType: what a kind of annotation task declares, and the one engine that every task type shares.

A task type declares what is shown, which typed questions are asked, how attention checks are made and which judgments
follow from an answer. The engine validates answers, compares and describes them, exports judgments, shows a machine's
verdict and simulates annotators; `app/static/form.js` draws the form.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, ClassVar

from pydantic import ValidationError

from summeter.annotate.campaign.answer import TaskAnswer
from summeter.annotate.campaign.assistance import Verdicts, decided
from summeter.annotate.campaign.config import Aspect, Campaign, Named
from summeter.annotate.campaign.language import Language
from summeter.annotate.campaign.state import Answer
from summeter.annotate.tasks.questions import TIE, Disagreement, Question, asked, read, split_of
from summeter.annotate.tasks.simulation import Gold, Profile
from summeter.annotate.tasks.task import InvalidAnswer, Json, Material, Source, Task, key_of, summary_body
from summeter.records import Judgment, Target, Unit

SHAPES = ("aspects", "scale", "best", "ties", "error_types")
"""The campaign's fields that change what some task types ask."""
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_MACHINE = {"about": "", "yes": "_yes", "no": "_no"}
NAMED = 4
"""The most disagreements that are named of one task."""


class TaskType(ABC):
    """A kind of annotation task, in a campaign. A subclass is its declaration:

    - `name`, and `code`, with which the keys of its tasks begin; `needs` says what the data must hold
    - `unit` is what an adjudicator decides on; `aspects` are those of its judgments
    - `coefficients` measure agreement, annotators are compared by the first; an annotator's mean agreement leaves out
      `side_aspects`
    - `focused` is the field of the body whose like is highlighted in the document
    - `usual`: what is asked where the campaign names nothing of its own, by field of the campaign (`aspects`,
      `error_types`) the name and the key of its words in the language files (`KEY`, `KEY_text`)
    - `words_in_checks`: attention checks use `attention.foreign_sentence` and `attention.paraphrases`
    - `shaped_by`: the campaign's fields of `SHAPES` that it uses; None does not say
    - `accepting`: the values that accept what is asked about (supported, valid), for a task type that decides
    - `machine_aspect` and `machine_unit`: those of the judgments that can be shown as a machine's verdict
    - `title` heads a task, `verdict_words` introduce a machine's verdict, where the language files have no texts for
      the task type (`NAME.title`, `NAME.machine`, `.machine_yes`, `.machine_no`)

    `ask`, `tasks` and `check` are to be written; `passed`, `judgments_of_task`, `right`, `decides` and `deciding` where
    the questions alone do not say it.
    """

    name: ClassVar[str]
    code: ClassVar[str]
    needs: ClassVar[str]
    unit: ClassVar[Unit] = "summary"
    aspects: ClassVar[frozenset[str]] = frozenset()
    coefficients: ClassVar[tuple[str, ...]] = ("alpha_nominal", "ac1", "identical")
    side_aspects: ClassVar[frozenset[str]] = frozenset()
    focused: ClassVar[str | None] = None
    usual: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    words_in_checks: ClassVar[bool] = False
    each_summary: ClassVar[bool] = False
    shaped_by: ClassVar[frozenset[str] | None] = None
    accepting: ClassVar[Mapping[str, Any]] = {}
    machine_aspect: ClassVar[str | None] = None
    machine_unit: ClassVar[Unit] = "sentence"
    title: ClassVar[str] = "What do you say of this?"
    verdict_words: ClassVar[Mapping[str, str]] = {"about": "The machine says:", "yes": "yes", "no": "no"}

    def __init__(self, campaign: Campaign, language: Language) -> None:
        usual = {
            field: tuple(
                Aspect(name=name, label="" if language.text(key) == name else language.text(key),
                       question=language.text(f"{key}_text"))
                for name, key in names.items()
            )
            for field, names in self.usual.items()
            if not getattr(campaign, field)
        }  # fmt: skip
        self.campaign = campaign.model_copy(update=usual)
        self.language = language
        self.asks = tuple(self.ask())
        self.own = tuple(Question.of_campaign(one, each_summary=self.each_summary) for one in campaign.questions)
        every = (*self.asks, *self.own)
        self.of_summary = tuple(question for question in every if question.each_summary)
        self.of_task = tuple(question for question in every if not question.each_summary)
        self.questions = (*self.of_summary, *self.of_task)

    # ---- the declaration ----

    @abstractmethod
    def ask(self) -> Iterator[Question]:
        """What is asked, in order; `self.campaign` and `self.language` say how."""

    @abstractmethod
    def tasks(self, source: Source) -> Iterator[Task]:
        """The work on one document."""

    @abstractmethod
    def check(self, source: Source, number: int, material: Material) -> Task | None:
        """The `number`-th attention check, about this document; None where it offers nothing to make one of."""

    def passed(self, task: Task, answer: TaskAnswer) -> bool:
        """Whether an answer is what a check (or training task) expects: here, each value that `expected` names."""
        return all(answer.values.get(name) == value for name, value in task.expects.items() if name != "machine")

    def judgments_of_task(self, task: Task, answer: Answer, source: Source) -> Iterator[Judgment]:
        """The judgments of what the task type asks: here, of each question with a signature."""
        return self._judgments(self.asks, task, answer, self.reason(answer.answer))

    def reason(self, answer: TaskAnswer) -> str | None:
        """What the annotator gives as the reason of an answer."""
        return answer.comment

    def opinion(self, task: Task, answer: TaskAnswer) -> str | None:
        """What an answer says as a whole, to be compared; None where the values of the questions are compared."""
        return None

    def decides(self, answer: TaskAnswer) -> bool | None:
        """Whether an answer accepts what is asked about; None for a task type that decides nothing of the kind."""
        if not self.accepting:
            return None
        return all(answer.values[name] == value for name, value in self.accepting.items())

    def deciding(self, task: Task, *, accepts: bool, rng: Random | None = None) -> Json:
        """Values that accept (or reject) what is asked about, any with `rng`, else the first at hand."""
        return dict(self.accepting) if accepts else self._rejecting()

    def right(self, task: Task, gold: Gold) -> TaskAnswer:
        """What is known to be right: what a check expects, else what gold says; the questions' own gold fills it up."""
        if task.expected is not None:
            return TaskAnswer(values={name: value for name, value in task.expects.items() if name != "machine"})
        if not self.accepting:
            return TaskAnswer()
        known = gold.of(task.target(self.unit), self.machine_aspect or "")
        accepts = known.label == 1 if known is not None else gold.chance(task) < gold.quality(task.system)
        return TaskAnswer(values=self.deciding(task, accepts=accepts))

    def derived(self, judgments: Sequence[Judgment], sources: Mapping[str, Source]) -> Iterator[Judgment]:
        """Judgments that follow from those of several tasks; `sources` by document."""
        yield from ()

    # ---- tasks ----

    def work_task(self, source: Source, *parts: str | int, group: str | None = None, **fields: Any) -> Task:
        """A task of the work on a document, named by `parts`; it stays together with those of its `group`."""
        document = source.document.id
        key = key_of(self.code, document, *parts)
        together = key_of(document) if group is None else key_of(document, group)
        return Task(key=key, document_id=document, group=together, **fields)

    def check_task(self, source: Source, number: int, **fields: Any) -> Task:
        """The `number`-th attention check, about a document."""
        key = key_of(f"{self.code}-check", number)
        return Task(key=key, role="check", document_id=source.document.id, **fields)

    def options(self, section: str, *names: str) -> tuple[Named, ...]:
        """Options with their words from the language files: `SECTION.NAME`, and `SECTION.NAME_text` if given."""
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
        """The text whose like is highlighted in the document."""
        return None if self.focused is None else str(task.body[self.focused])

    # ---- the form ----

    @property
    def script(self) -> Path | None:
        """A script of the task type's own, beside its module under the same name; None where the form needs none."""
        script = Path(inspect.getfile(type(self))).with_suffix(".js")
        return script if script.is_file() else None

    @property
    def reserved(self) -> frozenset[str]:
        """Names that no question of a campaign may have."""
        return self.aspects | {question.name for question in self.asks}

    def form(self) -> Json:
        """What a page needs to draw the form of any of its tasks."""
        said = {
            part: self.language.text(key)
            for part in ("title", "machine", "machine_yes", "machine_no")
            if (key := f"{self.name}.{part}") in self.language.strings
        }
        return {
            "name": self.name,
            "title": said.get("title", self.title),
            "machine": {
                part: said.get(f"machine{suffix}", self.verdict_words[part]) for part, suffix in _MACHINE.items()
            },
            "script": self.script is not None,
            "questions": [question.to_page() for question in self.questions],
        }

    def shown(self, body: Json, letters: Sequence[str]) -> Json:
        """The body as a browser gets it; `letters` are the systems in the order of showing."""
        if "summaries" not in body:
            return body
        by_system = {summary["system"]: summary for summary in body["summaries"]}
        summaries = [
            {"id": letter, "text": by_system[system]["text"], "sentences": by_system[system]["sentences"]}
            for letter, system in zip(LETTERS, letters, strict=False)
        ]
        return {**body, "summaries": summaries}

    def shown_machine(self, machine: Json | None) -> Json | None:
        """A machine's verdict as a browser gets it: with the values that accept, that agree and that disagree."""
        if machine is None:
            return None
        accepts = machine["accepts"]
        values = {name: value for name, value in machine["values"].items() if name in {one.name for one in self.asks}}
        if not self.accepting:
            agree, disagree = values, {}
        else:
            both = {True: dict(self.accepting), False: self._rejecting() if len(self.accepting) == 1 else {}}
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

    # ---- answers ----

    def scopes(self, systems: Sequence[str]) -> Iterator[tuple[str | None, Sequence[Question]]]:
        """The questions by what they are asked of: each summary, by system, then the task (None)."""
        if self.of_summary:
            yield from ((system, self.of_summary) for system in systems)
        yield None, self.of_task

    def answers_of(
        self, task: Task, answer: TaskAnswer, order: Sequence[str] | None = None
    ) -> Iterator[tuple[str | None, Question, Any]]:
        """Every value of an answer with its question, and the system of the summary it is about (None: the task)."""
        for system, questions in self.scopes(order or task.systems):
            values = values_of(answer, system)
            for question in questions:
                if question.name in values:
                    yield system, question, values[question.name]

    def read(self, given: Any, task: Task, letters: Sequence[str] | None = None) -> TaskAnswer:
        """An answer, validated. `letters` are the systems in the order of showing, None where it names systems.

        Raises InvalidAnswer, which names the first part that does not fit.
        """
        try:
            answer = TaskAnswer.model_validate(given)
        except ValidationError as error:
            first = error.errors()[0]
            raise InvalidAnswer(["answer", *map(str, first["loc"])], first["msg"]) from error
        if letters is not None:
            answer = self._renamed(answer, lambda letter, path: system_of(letter, letters, path))
        if not set(answer.summaries) <= (set(task.systems) if self.of_summary else set()):
            raise InvalidAnswer("answer.summaries", "answers questions about summaries that are not on the page")
        values: Json = {}
        summaries: dict[str, Json] = {}
        # In the order of showing: that of the systems would tell, by the first part at fault, which letter is whose.
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
            raise InvalidAnswer("answer.machine", f"says {answer.machine}, but the answer itself says otherwise")
        return checked

    def page_answer(self, answer: TaskAnswer, letters: Sequence[str]) -> Json:
        """A stored answer as a browser sends it, in the order of the letters: that of the names would tell systems."""
        ordered = {system: answer.summaries[system] for system in letters if system in answer.summaries}
        answer = answer.model_copy(update={"summaries": ordered})
        return self._renamed(answer, lambda system, _: LETTERS[list(letters).index(system)]).model_dump()

    def _renamed(self, answer: TaskAnswer, name: Callable[[Any, str], str]) -> TaskAnswer:
        """The answer with other names of the summaries."""
        choosing = {question.name for question in self.of_task if question.type == "summary"}
        values = {
            field: name(value, f"answer.values.{field}") if field in choosing and value not in (None, TIE) else value
            for field, value in answer.values.items()
        }
        summaries = {name(system, "answer.summaries"): cells for system, cells in answer.summaries.items()}
        return answer.model_copy(update={"values": values, "summaries": summaries})

    def parts(self, task: Task, answer: TaskAnswer, letters: Sequence[str] = ()) -> list[tuple[str, str]]:
        """An answer question by question, in words; `letters` (the systems as shown) take the place of the systems."""
        names = dict(zip(letters, LETTERS, strict=False))
        return [
            (
                question.name if system is None else f"{names.get(system, system)} {question.name}",
                question.described(names.get(value, value) if question.type == "summary" else value, task),
            )
            for system, question, value in self.answers_of(task, answer, letters or task.systems)
        ]

    def described(self, task: Task, answer: TaskAnswer) -> str:
        """An answer in a few words."""
        return "; ".join(f"{name}: {text}" for name, text in self.parts(task, answer))

    def disagreement(self, task: Task, answers: Sequence[TaskAnswer]) -> Disagreement | None:
        """How answers to a task differ; None where they agree. A question that was left out differs from no value."""
        opinions = [self.opinion(task, answer) for answer in answers]
        split = split_of([opinion for opinion in opinions if opinion is not None])
        texts, even = ([], False) if split is None else ([split.text], split.even)
        for system, questions in self.scopes(task.systems):
            values = [values_of(answer, system) for answer in answers]
            for question in questions:
                given = [one[question.name] for one in values if question.name in one]
                found = question.differing(given, task) if question.compared and given else None
                if found is not None:
                    texts.append(f"{system or ''} {question.name}: {found.text}".strip())
                    even = even or found.even
        more = f" and {len(texts) - NAMED} more" if len(texts) > NAMED else ""
        return Disagreement("; ".join(texts[:NAMED]) + more, even) if texts else None

    # ---- judgments ----

    def judgments(self, task: Task, answer: Answer, source: Source) -> Iterator[Judgment]:
        """A stored answer to a task of the work as judgments."""
        yield from self.judgments_of_task(task, answer, source)
        yield from self.judgments_of_own(task, answer)

    def judgments_of_own(self, task: Task, answer: Answer) -> Iterator[Judgment]:
        """The judgments of the campaign's own questions."""
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
        """The campaign's own questions with a condition, by target and name: whether the annotator was asked each."""
        conditional = {question.name for question in self.own if question.when}
        if not conditional:
            return
        for system, questions in self.scopes(task.systems):
            shown = {question.name for question in asked(questions, values_of(answer, system), task)}
            for question in questions:
                if question.name in conditional:
                    yield self._target(task, system), question.name, question.name in shown

    # ---- a machine's verdict: `{"accepts": bool, "values": {...}, "reason": text or null}` ----

    def machine_judgment(self, task: Task, verdicts: Verdicts) -> Judgment | None:
        """The machine's judgment of what a task asks."""
        return verdicts.of_summary(task.document_id, task.system or "", task.index or 0)

    def verdict(self, judgment: Judgment, task: Task) -> Json | None:
        """A judgment as a verdict; None where it decides nothing."""
        accepts = decided(judgment)
        if accepts is None:
            return None
        values = self.verdict_values(judgment, task, accepts=accepts)
        return {"accepts": accepts, "values": values, "reason": judgment.reason or None}

    def verdict_values(self, judgment: Judgment, task: Task, *, accepts: bool) -> Json:
        """The values that a verdict holds besides its decision."""
        return {}

    def same(self, machine: Json, answer: TaskAnswer) -> bool:
        """Whether an answer says what a verdict says."""
        return self.decides(answer) is machine["accepts"]

    def agrees(self, task: Task, answer: TaskAnswer) -> bool | None:
        """Whether the answer says what the machine's verdict said; None where there is none."""
        return None if task.machine is None else self.same(task.machine, answer)

    def following(self, task: Task, machine: Json) -> TaskAnswer:
        """The answer of somebody who repeats a verdict."""
        return self._filled(task, self._repeating(task, machine), lambda question, _: question.first(task.systems))

    def _repeating(self, task: Task, machine: Json) -> TaskAnswer:
        return TaskAnswer(values={**self.deciding(task, accepts=machine["accepts"]), **machine["values"]})

    # ---- simulated annotators ----

    def right_answer(self, task: Task, gold: Gold) -> TaskAnswer:
        """The right answer to a task of the work; of a check or a training task what it expects."""
        return self._filled(
            task,
            self.right(task, gold),
            lambda question, system: question.right(task, self._target(task, system), gold),
        )

    def simulated(
        self, task: Task, machine: Json | None, profile: Profile, gold: Gold, rng: Random, *, order: Sequence[str]
    ) -> tuple[TaskAnswer, bool]:
        """How an annotator of this profile answers, and whether without reading; `order` are the systems as shown."""
        lazy = rng.random() < profile.laziness

        def pick(question: Question, system: str | None) -> Any:
            if lazy:
                return question.first(order) if question.required else None
            right = values_of(known, system).get(question.name)
            if right is None:
                right = question.right(task, self._target(task, system), gold)
            return question.noisy(right, task, profile, rng)

        known = TaskAnswer() if lazy else self.right(task, gold)
        start = TaskAnswer()
        decides = bool(self.accepting) or type(self).decides is not TaskType.decides
        if machine is not None and (lazy or profile.trusts(machine, rng)):
            start = self._repeating(task, machine)
        elif lazy and decides:
            start = TaskAnswer(values=self.deciding(task, accepts=True))
        elif decides:
            right = bool(self.decides(known))
            accepts = profile.label(right, rng)
            start = known if accepts == right else TaskAnswer(values=self.deciding(task, accepts=accepts, rng=rng))
        answer = self._filled(task, start, pick)
        agrees = None if machine is None else self.agrees(task, answer)
        said = None if agrees is None else "agree" if agrees else "disagree"
        return answer.model_copy(update={"machine": said}), lazy

    def _rejecting(self) -> Json:
        """The accepting values turned round: the other of two options, the other of yes and no."""
        by_name = {question.name: question for question in self.asks}
        return {
            name: (not value)
            if isinstance(value, bool)
            else next(option for option in by_name[name].option_names if option != value)
            for name, value in self.accepting.items()
        }

    def _filled(self, task: Task, start: TaskAnswer, pick: Callable[[Question, str | None], Any]) -> TaskAnswer:
        """The answer with a value for every question that is asked, except optional ones of the task type."""
        values: Json = {}
        summaries: dict[str, Json] = {}
        for system, questions in self.scopes(task.systems):
            found = values if system is None else summaries.setdefault(system, {})
            given = values_of(start, system)
            for question in questions:
                if question not in list(asked(questions, found, task)):
                    continue
                value = given.get(question.name)
                if value is None and (question.required or question.own):
                    value = pick(question, system)
                if value is not None:
                    found[question.name] = value
        return start.model_copy(update={"values": values, "summaries": summaries})


def values_of(answer: TaskAnswer, system: str | None) -> Json:
    """The values of an answer about one system's summary, or about the task (None)."""
    return answer.values if system is None else answer.summaries.get(system, {})


def labelled(judge: str, target: Target, aspect: str, signature: str, *, yes: bool, **more: Any) -> Judgment:
    """A judgment with the label 1 or 0."""
    about = {"target": target, "aspect": aspect, "judge": judge, "signature": signature}
    return Judgment(**about, value=float(yes), label=int(yes), **more)


def system_of(letter: Any, letters: Sequence[str], field: str) -> str:
    """The system under a letter. Raises InvalidAnswer for what is no letter on the page."""
    place = LETTERS.find(letter) if isinstance(letter, str) and len(letter) == 1 else -1
    if not 0 <= place < len(letters):
        raise InvalidAnswer(field, f"name a summary on the page, {LETTERS[0]} to {LETTERS[len(letters) - 1]}")
    return letters[place]


def summaries_body(source: Source, systems: Sequence[str], scrambled: Mapping[str, str] | None = None) -> list[Json]:
    """Summaries of a document, each with its system; `scrambled` are texts that take the place of some."""
    body = []
    for system in systems:
        text = (scrambled or {}).get(system)
        shown = summary_body(source.summary(system)) if text is None else {"text": text, "sentences": [[0, len(text)]]}
        body.append({"system": system, **shown})
    return body
