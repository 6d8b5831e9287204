"""Typed questions: how values are checked, drawn, compared, turned into judgments and simulated.

Every task type asks `Question`s, and a campaign's own questions come after them. An answer holds the value of each
question that was asked and answered, by the question's name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from summeter.annotate.campaign.answer import LONGEST
from summeter.annotate.campaign.config import Named, OwnQuestion, Scale
from summeter.annotate.tasks.simulation import Gold, Profile
from summeter.annotate.tasks.task import InvalidAnswer, Json, Task
from summeter.choices import QuestionType
from summeter.data.human_judgments import SIGNATURES
from summeter.records import Judgment, Record, Span, Target
from summeter.records.taxonomy import SEPARATOR

TIE = "tie"
MOST_SPANS = 200
Values = Mapping[str, Any]
Type = Literal["scale", "yes_no", "choice", "choices", "text", "sentences", "spans", "summary"]


class Disagreement(NamedTuple):
    """How answers to one task differ, in words; `even` where no value has a majority."""

    text: str
    even: bool


class Mark(BaseModel):
    """One marked passage, in code points of the summary."""

    model_config = ConfigDict(extra="forbid", strict=True)

    start: int
    end: int
    kind: str
    category: str | None = None
    reason: str | None = Field(default=None, max_length=LONGEST)


class Question(Record):
    """A question of a form. `type` says which values it takes:

    - `scale`: a number on `scale`; `yes_no`: a boolean; `text`: at most `longest` characters
    - `choice`: one of `options`, by name; `choices`: one or more of them
    - `sentences`: indexes of the shown summary's sentences; an empty list says that none applies
    - `spans`: passages of the shown summary (`Mark`), each of a kind from `options` and, where there are any, with one
      of `categories`; an empty list says that nothing is marked
    - `summary`: one of the shown summaries, by system, or with `ties` a tie; asked where there are two or more

    `text` is what annotators read, after a short `label` where it has one. With `each_summary` the question is asked of
    each shown summary. It is asked where one of `when` holds: earlier answers by name, each with the values that fit
    (of sentences and spans: whether any is chosen). `compared` says whether different values are a disagreement.
    Answers are exported as judgments with `signature`, if given, and the name as aspect.
    """

    name: str
    type: Type
    text: str
    label: str = ""
    hint: str = ""
    options: tuple[Named, ...] = ()
    categories: tuple[Named, ...] = ()
    scale: Scale = Scale()
    ties: bool = False
    longest: int = LONGEST
    required: bool = True
    each_summary: bool = False
    when: tuple[dict[str, tuple[Any, ...]], ...] = ()
    compared: bool = True
    signature: str | None = None
    own: bool = False

    @classmethod
    def of_campaign(cls, question: OwnQuestion, *, each_summary: bool) -> Question:
        """A question from the campaign's file."""
        return cls(
            name=question.name,
            type=question.type.value,
            text=question.question,
            hint=question.hint,
            options=tuple(Named(name=option.name, meaning=option.meaning) for option in question.options),
            scale=question.on_scale,
            longest=question.longest,
            required=question.required,
            each_summary=each_summary,
            when=(dict(question.when),) if question.when else (),
            signature=SIGNATURES[question.type.value],
            own=True,
        )

    @property
    def option_names(self) -> list[str]:
        """The names of the options, in order."""
        return [option.name for option in self.options]

    @property
    def condition_values(self) -> tuple[Any, ...]:
        """The values that a later question's `when` may name."""
        match self.type:
            case "scale":
                return tuple(self.scale.values)
            case "yes_no" | "sentences" | "spans":
                return (True, False)
            case "choice" | "choices":
                return tuple(self.option_names)
            case _:
                return ()

    def to_page(self) -> Json:
        """The question as a page draws it."""
        shown = {"name", "type", "text", "label", "hint", "ties", "longest", "required", "each_summary", "when", "own"}
        return {
            **self.model_dump(mode="json", include=shown),
            "options": [option.model_dump(include={"name", "label", "meaning"}) for option in self.options],
            "categories": [option.model_dump(include={"name", "label", "meaning"}) for option in self.categories],
            "scale": self.scale.to_page() if self.type == "scale" else None,
        }

    def read(self, given: Any, task: Task, path: Sequence[str]) -> Any:
        """A value as it is stored. Raises InvalidAnswer for one that does not fit the question."""
        match self.type:
            case "scale":
                if isinstance(given, bool) or not isinstance(given, int | float) or not self.scale.has(given):
                    raise InvalidAnswer(path, f"is {self.scale.described}")
                return self.scale.nearest(given)
            case "yes_no":
                if not isinstance(given, bool):
                    raise InvalidAnswer(path, "is true or false")
                return given
            case "choice":
                return self._names([given], path)[0]
            case "choices":
                return self._names(given, path)
            case "text":
                if not isinstance(given, str) or not given.strip() or len(given) > self.longest:
                    raise InvalidAnswer(path, f"is a text of at most {self.longest} characters, not empty")
                return given
            case "sentences":
                most = len(task.body["summary"]["sentences"])
                indexes = given if isinstance(given, list) else [None]
                if any(type(index) is not int or not 0 <= index < most for index in indexes):
                    raise InvalidAnswer(path, f"lists sentences of the summary, which has {most}, counted from 0")
                if len(set(indexes)) != len(indexes):
                    raise InvalidAnswer(path, "names a sentence twice")
                return sorted(indexes)
            case "spans":
                return self._marks(given, len(task.body["summary"]["text"]), path)
            case "summary":
                if given not in task.systems and not (self.ties and given == TIE):
                    raise InvalidAnswer(path, f"names a summary on the page{', or a tie' if self.ties else ''}")
                return given

    def _names(self, given: Any, path: Sequence[str]) -> list[str]:
        known = self.option_names
        if not isinstance(given, list) or not given or any(value not in known for value in given):
            several = "a list of one or more" if self.type == "choices" else "one"
            raise InvalidAnswer(path, f"is {several} of: {', '.join(known)}")
        if len(set(given)) != len(given):
            raise InvalidAnswer(path, "names something twice")
        return [name for name in known if name in given]

    def _marks(self, given: Any, length: int, path: Sequence[str]) -> list[Json]:
        if not isinstance(given, list) or len(given) > MOST_SPANS:
            raise InvalidAnswer(path, f"is a list of at most {MOST_SPANS} passages")
        try:
            marks = sorted((Mark.model_validate(one) for one in given), key=lambda mark: mark.start)
        except ValidationError as error:
            first = error.errors()[0]
            raise InvalidAnswer([*path, *map(str, first["loc"])], first["msg"]) from error
        categories, before = [option.name for option in self.categories], 0
        for mark in marks:
            if not 0 <= mark.start < mark.end <= length:
                raise InvalidAnswer(path, f"a span lies between 0 and {length} and is not empty")
            if mark.start < before:
                raise InvalidAnswer(path, "two spans overlap")
            before = mark.end
            for name, known in ((mark.kind, self.option_names), (mark.category or "", categories)):
                if known and name not in known:
                    raise InvalidAnswer(path, f"{name[:80]!r} is not one of: {', '.join(known)}")
        return [mark.model_dump() for mark in marks]

    def described(self, value: Any, task: Task) -> str:
        """A value in a few words."""
        match self.type:
            case "yes_no":
                return "yes" if value else "no"
            case "scale":
                return f"{value:g}"
            case "choices":
                return ", ".join(value)
            case "sentences":
                return ", ".join(str(index + 1) for index in value) or "none"
            case "spans":
                text = task.body["summary"]["text"]
                return "; ".join(_mark_text(mark, text) for mark in value) or "none"
            case _:
                return str(value)

    def differing(self, values: Sequence[Any], task: Task) -> Disagreement | None:
        """How values differ; None where they agree. On a scale only values half of it apart contradict each other."""
        match self.type:
            case "text":
                return None
            case "scale":
                far = len(values) > 1 and self.scale.is_far(max(values) - min(values))
                split = split_of([f"{value:g}" for value in values]) if far else None
                return None if split is None else split._replace(even=False)
            case "spans":
                split = split_of(["marked" if value else "clean" for value in values])
                return split or _lone_marks(values)
            case _:
                return split_of([self.described(value, task) for value in values])

    def judgments(self, value: Any, target: Target, task: Task, judge: str, reason: str | None) -> Iterator[Judgment]:
        """A value as judgments: the aspect is the question's name.

        A scale gives its value, yes or no the label 1 or 0, a choice its name, several choices their names joined by
        "+", a text itself as the label. Sentences and spans give the label 1 where any is chosen, and are its evidence.
        The chosen of a pair of summaries gives 1, 0 or, for a tie, 0.5; the chosen of more of them 1 for itself and 0
        for each other.
        """
        about: dict[str, Any] = {
            "target": target, "aspect": self.name, "judge": judge, "signature": self.signature, "reason": reason,
        }  # fmt: skip
        match self.type:
            case "scale":
                yield Judgment(**about, value=float(value))
            case "yes_no":
                yield Judgment(**about, value=float(value), label=int(value))
            case "choices":
                yield Judgment(**about, label=SEPARATOR.join(value))
            case "choice" | "text":
                yield Judgment(**about, label=value)
            case "summary" if task.rival is not None:
                yield Judgment(**about, value=0.5 if value == TIE else float(value == task.system))
            case "summary":
                for system in task.systems:
                    yield Judgment(**{**about, "target": task.target(system=system)}, value=float(system == value))
            case "sentences":
                spans = [Span(of="summary", start=start, end=end) for start, end in task.body["summary"]["sentences"]]
                yield Judgment(**about, value=float(bool(value)), label=int(bool(value)),
                               evidence=tuple(spans[index] for index in value))  # fmt: skip
            case "spans":
                evidence = tuple(Span(of="summary", start=mark["start"], end=mark["end"]) for mark in value)
                yield Judgment(**about, value=float(bool(value)), label=int(bool(value)), evidence=evidence)

    def right(self, task: Task, target: Target, gold: Gold) -> Any:
        """What is right: the gold judgment of this name, else a value drawn from the task and the system's quality."""
        known = gold.of(target, self.name)
        chance = gold.chance(task, target.system, self.name)
        match self.type:
            case "scale":
                if known is not None and known.value is not None:
                    return self.scale.nearest(known.value)
                return self.scale.at(gold.quality(target.system) + 0.6 * (chance - 0.5))
            case "yes_no":
                return known.label == 1 if known is not None else chance < gold.quality(target.system)
            case "choice":
                if known is not None and known.label in self.option_names:
                    return known.label
                return self.option_names[int(chance * len(self.options))]
            case "choices":
                named = set(str(known.label).split(SEPARATOR)) if known is not None else set()
                return [name for name in self.option_names if name in named] or [
                    self.option_names[int(chance * len(self.options))]
                ]
            case "text":
                return f"A simulated answer to “{self.name}”."[: self.longest]
            case "summary":
                if known is not None and known.value == 0.5 and self.ties:
                    return TIE
                if known is not None and known.value is not None and known.value != 0.5 and task.rival is not None:
                    return task.system if known.value > 0.5 else task.rival
                drawn = {
                    system: gold.quality(system) + 0.4 * (gold.chance(task, system, self.name) - 0.5)
                    for system in task.systems
                }
                return max(task.systems, key=drawn.__getitem__)
            case "sentences":
                place = int(gold.chance(task, self.name, "place") * len(task.body["summary"]["sentences"]))
                return [place] if chance < 0.5 else []
            case _:
                return []

    def first(self, order: Sequence[str]) -> Any:
        """The answer of somebody who reads nothing; `order` are the systems as they are shown."""
        match self.type:
            case "scale":
                return self.scale.at(0.5)
            case "yes_no":
                return True
            case "choice":
                return self.option_names[0]
            case "choices":
                return [self.option_names[0]]
            case "text":
                return "-"
            case "summary":
                return order[0]
            case _:
                return []

    def noisy(self, right: Any, task: Task, profile: Profile, rng: Random) -> Any:
        """The right value with the chance of the profile's accuracy, else any other."""
        match self.type:
            case "scale":
                return self.scale.noisy(right, profile.accuracy, profile.bias, rng)
            case "yes_no":
                return profile.label(right, rng)
            case "text":
                return right
        if rng.random() < profile.accuracy:
            return right
        match self.type:
            case "choice":
                return rng.choice(self.option_names)
            case "choices":
                chosen = rng.sample(self.option_names, rng.randint(1, len(self.options)))
                return [name for name in self.option_names if name in chosen]
            case "summary":
                every = [*task.systems, *([TIE] if self.ties else [])]
                return rng.choice([other for other in every if other != right])
            case "sentences":
                return [] if right else [rng.randrange(len(task.body["summary"]["sentences"]))]
            case _:
                return right


def asked(questions: Sequence[Question], values: Values, task: Task) -> Iterator[Question]:
    """The questions that are shown beside these values: those with a condition that holds.

    A value of a question that is not shown decides nothing.
    """
    shown: dict[str, Any] = {}
    for question in questions:
        if question.type == "summary" and len(task.systems) < 2:
            continue
        if not question.when or any(
            all(_holds(shown.get(name), wanted) for name, wanted in condition.items()) for condition in question.when
        ):
            if question.name in values:
                value = values[question.name]
                shown[question.name] = bool(value) if question.type in {"sentences", "spans"} else value
            yield question


def _holds(given: Any, wanted: Sequence[Any]) -> bool:
    """Whether a value, or one of several, is among those wanted."""
    several = given if isinstance(given, list) else [given]
    return any(same_value(value, other) for value in several for other in wanted)


def same_value(value: Any, other: Any) -> bool:
    """Whether two values of answers are the same: 1 is 1.0, but not true."""
    return bool(value == other) and isinstance(value, bool) == isinstance(other, bool)


def read(questions: Sequence[Question], given: Values, task: Task, path: Sequence[str]) -> Json:
    """The values of a form, validated. Raises InvalidAnswer for one that does not fit, lacks, or was not asked."""
    known = {question.name for question in questions}
    for name in given:
        if name not in known:
            raise InvalidAnswer([*path, name], "is no question of this campaign")
    values = {
        question.name: question.read(given[question.name], task, [*path, question.name])
        for question in questions
        if given.get(question.name) is not None
    }
    shown = {question.name for question in asked(questions, values, task)}
    for question in questions:
        place = [*path, question.name]
        if question.name in values and question.name not in shown:
            raise InvalidAnswer(place, "is not asked beside this answer")
        if question.required and question.name in shown and question.name not in values:
            raise InvalidAnswer(place, "is not answered")
    return values


MEASURED = frozenset(SIGNATURES[kind.value] for kind in QuestionType if kind is not QuestionType.TEXT)
"""Signatures of the judgments of a campaign's own questions whose answers can agree."""


def split_of(labels: Sequence[str]) -> Disagreement | None:
    """How labels are split; None where all are the same.

    >>> split_of(["supported", "not supported", "supported"])
    Disagreement(text='2 supported, 1 not supported', even=False)
    """
    counts = Counter(labels).most_common()
    if len(counts) < 2:
        return None
    return Disagreement(", ".join(f"{n} {label}" for label, n in counts), counts[0][1] * 2 <= len(labels))


def _lone_marks(answers: Sequence[Sequence[Json]]) -> Disagreement | None:
    """Marks that overlap with those of no other answer."""
    spans = [(reader, mark["start"], mark["end"]) for reader, marks in enumerate(answers) for mark in marks]
    lone = sum(
        not any(other != reader and low < end and start < high for other, low, high in spans)
        for reader, start, end in spans
    )
    return Disagreement(f"{lone} of {len(spans)} marks overlap with no other annotator's", even=False) if lone else None


def _mark_text(mark: Json, text: str) -> str:
    about = ", ".join(name.replace("_", " ") for name in (mark["kind"], mark["category"]) if name)
    return f"“{text[mark['start'] : mark['end']]}” ({about})" + (f": {mark['reason']}" if mark["reason"] else "")
