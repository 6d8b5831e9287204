"""Typed questions: validation, comparison, export and simulation of the values of answers.

The questions of the task type come first, followed by the campaign's additional questions. An answer maps the names of
the questions that were asked and answered to values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from summeter.annotate.campaign.config import Named, OwnQuestion, Scale
from summeter.annotate.campaign.state import LONGEST
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
    """A description of how answers to a task differ.

    `even` is True if no value has a majority.
    """

    text: str
    even: bool


class Mark(BaseModel):
    """A marked span; `start` and `end` are code-point offsets in the summary."""

    model_config = ConfigDict(extra="forbid", strict=True)

    start: int
    end: int
    kind: str
    category: str | None = None
    reason: str | None = Field(default=None, max_length=LONGEST)


class Question(Record):
    """A question of a form. The possible values depend on its `type`:

    - `scale`: a number on `scale`
    - `yes_no`: a boolean
    - `text`: a string of at most `longest` characters
    - `choice`: the name of one of `options`; `choices`: a list of one or more names
    - `sentences`: a list of indexes of summary sentences, which may be empty
    - `spans`: a list of marked spans of the summary (`Mark`), which may be empty. Each span has a kind from `options`
      and, if there are `categories`, one of these.
    - `summary`: the system of one of the shown summaries, or a tie if `ties` is set. This question is asked if two or
      more summaries are shown.

    Annotators read `label`, if given, and `text`. With `each_summary`, the question is asked about each shown summary.
    If `when` is not empty, the question is asked only if one of its conditions holds. A condition maps the names of
    earlier questions to the values that they must have; for sentences and spans, the value says whether any is chosen.
    `compared` says whether different values count as a disagreement. If the question has a `signature`, answers are
    exported as judgments whose aspect is the question's name. `own` marks additional questions of the campaign.
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
        """Return an additional question of the campaign."""
        return cls(
            name=question.name,
            type=question.type.value,
            text=question.question,
            hint=question.hint,
            options=tuple(Named(name=option.name, meaning=option.meaning) for option in question.options),
            scale=question.scale or Scale(),
            longest=question.longest,
            required=question.required,
            each_summary=each_summary,
            when=(dict(question.when),) if question.when else (),
            signature=SIGNATURES[question.type.value],
            own=True,
        )

    @property
    def option_names(self) -> list[str]:
        """Names of the options, in order."""
        return [option.name for option in self.options]

    @property
    def condition_values(self) -> tuple[Any, ...]:
        """Values of this question that the condition of a later question may name."""
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
        """Return the JSON of the question for pages."""
        shown = {"name", "type", "text", "label", "hint", "ties", "longest", "required", "each_summary", "when", "own"}
        return {
            **self.model_dump(mode="json", include=shown),
            "options": [option.model_dump(include={"name", "label", "meaning"}) for option in self.options],
            "categories": [option.model_dump(include={"name", "label", "meaning"}) for option in self.categories],
            "scale": self.scale.to_page() if self.type == "scale" else None,
        }

    def read(self, value: Any, task: Task, path: Sequence[str]) -> Any:
        """Return the value to store. Raises InvalidAnswer if the value does not fit the question."""
        match self.type:
            case "scale":
                if isinstance(value, bool) or not isinstance(value, int | float) or not self.scale.has(value):
                    raise InvalidAnswer(path, f"must be {self.scale.described}")
                return self.scale.nearest(value)
            case "yes_no":
                if not isinstance(value, bool):
                    raise InvalidAnswer(path, "must be true or false")
                return value
            case "choice":
                return self._names([value], path)[0]
            case "choices":
                return self._names(value, path)
            case "text":
                if not isinstance(value, str) or not value.strip() or len(value) > self.longest:
                    raise InvalidAnswer(path, f"must be a string of 1 to {self.longest} characters")
                return value
            case "sentences":
                count = len(task.body["summary"]["sentences"])
                indexes = value if isinstance(value, list) else [None]
                if any(type(index) is not int or not 0 <= index < count for index in indexes):
                    raise InvalidAnswer(path, f"must be a list of sentence indexes from 0 to {count - 1}")
                if len(set(indexes)) != len(indexes):
                    raise InvalidAnswer(path, "contains a sentence twice")
                return sorted(indexes)
            case "spans":
                return self._marks(value, len(task.body["summary"]["text"]), path)
            case "summary":
                if value not in task.systems and not (self.ties and value == TIE):
                    raise InvalidAnswer(path, f"must be a summary on the page{' or a tie' if self.ties else ''}")
                return value

    def _names(self, names: Any, path: Sequence[str]) -> list[str]:
        known = self.option_names
        if not isinstance(names, list) or not names or any(name not in known for name in names):
            number = "a list of one or more" if self.type == "choices" else "one"
            raise InvalidAnswer(path, f"must be {number} of: {', '.join(known)}")
        if len(set(names)) != len(names):
            raise InvalidAnswer(path, "contains a name twice")
        return [name for name in known if name in names]

    def _marks(self, value: Any, length: int, path: Sequence[str]) -> list[Json]:
        if not isinstance(value, list) or len(value) > MOST_SPANS:
            raise InvalidAnswer(path, f"must be a list of at most {MOST_SPANS} spans")
        try:
            marks = sorted((Mark.model_validate(mark) for mark in value), key=lambda mark: mark.start)
        except ValidationError as error:
            first = error.errors()[0]
            raise InvalidAnswer([*path, *map(str, first["loc"])], first["msg"]) from error
        categories, previous_end = [option.name for option in self.categories], 0
        for mark in marks:
            if not 0 <= mark.start < mark.end <= length:
                raise InvalidAnswer(path, f"a span must lie between 0 and {length} and must not be empty")
            if mark.start < previous_end:
                raise InvalidAnswer(path, "two spans overlap")
            previous_end = mark.end
            for name, known in ((mark.kind, self.option_names), (mark.category or "", categories)):
                if known and name not in known:
                    raise InvalidAnswer(path, f"{name[:80]!r} must be one of: {', '.join(known)}")
        return [mark.model_dump() for mark in marks]

    def described(self, value: Any, task: Task, *, labelled: bool = False) -> str:
        """Return a short description of a value, with names of options or, if `labelled`, with their labels."""
        named = {each.name: each.label for each in (*self.options, *self.categories) if labelled and each.label}
        match self.type:
            case "yes_no":
                return "yes" if value else "no"
            case "scale":
                return f"{value:g}"
            case "choices":
                return ", ".join(named.get(name, name) for name in value)
            case "sentences":
                return ", ".join(str(index + 1) for index in value) or "none"
            case "spans":
                text = task.body["summary"]["text"]
                marks = []
                for mark in value:
                    chosen = [name for name in (mark["kind"], mark["category"]) if name]
                    names = ", ".join(named.get(name, name.replace("_", " ")) for name in chosen)
                    reason = f": {mark['reason']}" if mark["reason"] else ""
                    marks.append(f"“{text[mark['start'] : mark['end']]}” ({names}){reason}")
                return "; ".join(marks) or "none"
            case _:
                return str(named.get(value, value))

    def differing(self, values: Sequence[Any], task: Task) -> Disagreement | None:
        """Return how values differ, or None if they agree.

        Values on a scale disagree if they are at least half the scale apart.
        """
        match self.type:
            case "text":
                return None
            case "scale":
                if not self.scale.is_far(max(values) - min(values)):
                    return None
                split = split_of([f"{value:g}" for value in values])
                return None if split is None else split._replace(even=False)
            case "spans":
                split = split_of(["marked" if value else "clean" for value in values])
                return split or _lone_marks(values)
            case _:
                return split_of([self.described(value, task) for value in values])

    def judgments(self, value: Any, target: Target, task: Task, judge: str, reason: str | None) -> Iterator[Judgment]:
        """Yield the judgments of a value.

        - `scale`: the number as value
        - `yes_no`: the label 1 or 0
        - `choice` and `text`: the name or text as label; `choices`: the names joined by "+"
        - `sentences` and `spans`: the label 1 if any is chosen and 0 otherwise, with the chosen ones as evidence
        - `summary`: for a pair, the value 1, 0 or 0.5 (tie); otherwise the value 1 for the chosen summary and 0 for the
          others
        """
        fields: dict[str, Any] = {
            "target": target, "aspect": self.name, "judge": judge, "signature": self.signature, "reason": reason,
        }  # fmt: skip
        match self.type:
            case "scale":
                yield Judgment(**fields, value=float(value))
            case "yes_no":
                yield Judgment(**fields, value=float(value), label=int(value))
            case "choices":
                yield Judgment(**fields, label=SEPARATOR.join(value))
            case "choice" | "text":
                yield Judgment(**fields, label=value)
            case "summary" if task.rival is not None:
                yield Judgment(**fields, value=0.5 if value == TIE else float(value == task.system))
            case "summary":
                for system in task.systems:
                    yield Judgment(**{**fields, "target": task.target(system=system)}, value=float(system == value))
            case "sentences":
                spans = [Span(of="summary", start=start, end=end) for start, end in task.body["summary"]["sentences"]]
                yield Judgment(**fields, value=float(bool(value)), label=int(bool(value)),
                               evidence=tuple(spans[index] for index in value))  # fmt: skip
            case "spans":
                evidence = tuple(Span(of="summary", start=mark["start"], end=mark["end"]) for mark in value)
                yield Judgment(**fields, value=float(bool(value)), label=int(bool(value)), evidence=evidence)

    def right(self, task: Task, target: Target, gold: Gold) -> Any:
        """Return the gold value, or else a pseudo-random value depending on the system's quality."""
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
                names = set(str(known.label).split(SEPARATOR)) if known is not None else set()
                return [name for name in self.option_names if name in names] or [
                    self.option_names[int(chance * len(self.options))]
                ]
            case "text":
                return f"A simulated answer to “{self.name}”."[: self.longest]
            case "summary":
                if known is not None and known.value == 0.5 and self.ties:
                    return TIE
                if known is not None and known.value is not None and known.value != 0.5 and task.rival is not None:
                    return task.system if known.value > 0.5 else task.rival
                qualities = {
                    system: gold.quality(system) + 0.4 * (gold.chance(task, system, self.name) - 0.5)
                    for system in task.systems
                }
                return max(task.systems, key=qualities.__getitem__)
            case "sentences":
                return self._somewhere(task, gold.chance(task, self.name, "place")) if chance < 0.5 else []
            case "spans":
                return []

    def _somewhere(self, task: Task, place: float) -> list[Any]:
        """Return one sentence of the summary as the value of a question for sentences or spans.

        `place` is its position in the summary, in [0, 1). The list is empty if the summary has no sentences.
        """
        sentences = task.body["summary"]["sentences"]
        index = int(place * len(sentences))
        return [self.mark(*sentences[index]) if self.type == "spans" else index] if sentences else []

    def mark(self, start: int, end: int, category: str | None = None) -> Json:
        """Return a span without a reason, with the last kind; an unknown category is replaced by the first one."""
        names = [option.name for option in self.categories]
        category = category if category in names else next(iter(names), None)
        return Mark(start=start, end=end, kind=self.option_names[-1], category=category).model_dump()

    def first(self, order: Sequence[str]) -> Any:
        """Return the value that an annotator who does not read would give.

        `order` contains the systems in the order in which they are shown.
        """
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
            case "sentences":
                return [0]
            case "spans":
                return []

    def noisy(self, right: Any, task: Task, profile: Profile, rng: Random) -> Any:
        """Return the right value with the probability `profile.accuracy`, or else a random value."""
        match self.type:
            case "scale":
                return self.scale.noisy(right, profile.accuracy, profile.bias, rng)
            case "yes_no":
                return profile.label(right, rng)
            case "text":
                return right
            case "sentences":
                chooses = profile.label(bool(right), rng)
                return (right or self._somewhere(task, rng.random())) if chooses else []
            case "spans":
                clean = profile.label(not right, rng)
                return [] if clean else (right or self._somewhere(task, rng.random()))
        if rng.random() < profile.accuracy:
            return right
        match self.type:
            case "choice":
                return rng.choice(self.option_names)
            case "choices":
                chosen = rng.sample(self.option_names, rng.randint(1, len(self.options)))
                return [name for name in self.option_names if name in chosen]
            case "summary":
                choices = [*task.systems, *([TIE] if self.ties else [])]
                return rng.choice([choice for choice in choices if choice != right])


def asked(questions: Sequence[Question], values: Values, task: Task) -> Iterator[Question]:
    """Yield the questions that are asked, given the values of other questions.

    The values of questions that are not asked are ignored.
    """
    shown: dict[str, Any] = {}
    for question in questions:
        if question.type == "summary" and len(task.systems) < 2:
            continue
        if not question.when or any(
            all(_holds(shown.get(name), expected) for name, expected in condition.items())
            for condition in question.when
        ):
            if question.name in values:
                value = values[question.name]
                shown[question.name] = bool(value) if question.type in {"sentences", "spans"} else value
            yield question


def _holds(answer: Any, expected: Sequence[Any]) -> bool:
    values = answer if isinstance(answer, list) else [answer]
    return any(same_value(value, other) for value in values for other in expected)


def same_value(value: Any, other: Any) -> bool:
    """Return whether two values are equal; 1 equals 1.0, but not True."""
    return bool(value == other) and isinstance(value, bool) == isinstance(other, bool)


def read(questions: Sequence[Question], content: Values, task: Task, path: Sequence[str]) -> Json:
    """Validate the values of a form.

    Raises InvalidAnswer if a value is invalid or missing, or was not asked for.
    """
    known = {question.name for question in questions}
    for name in content:
        if name not in known:
            raise InvalidAnswer([*path, name], "is not a question of this campaign")
    values = {
        question.name: question.read(content[question.name], task, [*path, question.name])
        for question in questions
        if content.get(question.name) is not None
    }
    shown = {question.name for question in asked(questions, values, task)}
    for question in questions:
        field = [*path, question.name]
        if question.name in values and question.name not in shown:
            raise InvalidAnswer(field, "is not asked after these answers")
        if question.required and question.name in shown and question.name not in values:
            raise InvalidAnswer(field, "is not answered")
    return values


COMPARABLE = frozenset(SIGNATURES[type_.value] for type_ in QuestionType if type_ is not QuestionType.TEXT)
"""Signatures of the additional questions for which agreement can be computed."""


def split_of(labels: Sequence[str]) -> Disagreement | None:
    """Return the counts of the different labels, or None if all labels are equal.

    >>> split_of(["supported", "not supported", "supported"])
    Disagreement(text='2 supported, 1 not supported', even=False)
    """
    counts = Counter(labels).most_common()
    if len(counts) < 2:
        return None
    return Disagreement(", ".join(f"{n} {label}" for label, n in counts), counts[0][1] * 2 <= len(labels))


def _lone_marks(answers: Sequence[Sequence[Json]]) -> Disagreement | None:
    """Return a disagreement about spans that overlap no other annotator's span, or None."""
    spans = [(reader, mark["start"], mark["end"]) for reader, marks in enumerate(answers) for mark in marks]
    lone = sum(
        not any(other != reader and low < end and start < high for other, low, high in spans)
        for reader, start, end in spans
    )
    message = f"{lone} of {len(spans)} spans do not overlap another annotator's span"
    return Disagreement(message, even=False) if lone else None
