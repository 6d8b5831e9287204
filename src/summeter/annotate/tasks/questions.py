"""A campaign's own questions: an answer's values, checked, as judgments, in words, and made up.

Questions come after what the kind asks, in the order of the campaign's file: once a task, or once a summary where a
task shows several. The values of an answer are a dict by the question's name, which holds what was asked and answered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple, assert_never

from summeter.annotate.campaign.config import OwnQuestion
from summeter.annotate.tasks.simulation import Profile, Truth
from summeter.annotate.tasks.task import Json, Misfit, Task
from summeter.choices import QuestionType
from summeter.data.human_judgments import SIGNATURES
from summeter.records import Judgment, Target
from summeter.records.taxonomy import SEPARATOR

Values = Mapping[str, Any]


def asked(questions: Sequence[OwnQuestion], facts: Values, values: Values) -> Iterator[OwnQuestion]:
    """The questions that are shown beside an answer: those whose conditions hold.

    `facts` are the fields of the kind's own answer, `values` what the questions were answered with.
    """
    shown: dict[str, Any] = {}
    for question in questions:
        if all(_holds(shown.get(name, facts.get(name)), wanted) for name, wanted in question.when.items()):
            if question.name in values:
                shown[question.name] = values[question.name]
            yield question


def _holds(given: Any, wanted: Sequence[Any]) -> bool:
    """Whether a value, or one of several, is among those wanted; true is not 1."""
    several = given if isinstance(given, list) else [given]
    return any(same_value(value, other) for value in several for other in wanted)


def same_value(value: Any, other: Any) -> bool:
    """Whether two values of answers are the same: 1 is 1.0, but not true."""
    return bool(value == other) and isinstance(value, bool) == isinstance(other, bool)


def read(questions: Sequence[OwnQuestion], given: Any, facts: Values, path: Sequence[str]) -> Json:
    """The values of an answer, checked. Raises Misfit for one that does not fit, that lacks, or that was not asked."""
    if not isinstance(given, dict):
        raise Misfit(path, "answer each question by its name")
    known = {question.name for question in questions}
    for name in given:
        if name not in known:
            raise Misfit([*path, name], "is no question of this campaign")
    values = {
        question.name: _read(question, given[question.name], [*path, question.name])
        for question in questions
        if given.get(question.name) is not None
    }
    shown = {question.name: question for question in asked(questions, facts, values)}
    for question in questions:
        place = [*path, question.name]
        if question.name in values and question.name not in shown:
            raise Misfit(place, "is not asked beside this answer")
        if question.required and question.name in shown and question.name not in values:
            raise Misfit(place, "is not answered")
    return values


def _read(question: OwnQuestion, given: Any, path: Sequence[str]) -> Any:
    """One value, as it is stored."""
    match question.type:
        case QuestionType.SCALE:
            if isinstance(given, bool) or not isinstance(given, int | float) or not question.on_scale.has(given):
                raise Misfit(path, f"is {question.on_scale.described}")
            return question.on_scale.nearest(given)
        case QuestionType.YES_NO:
            if not isinstance(given, bool):
                raise Misfit(path, "is true or false")
            return given
        case QuestionType.CHOICE:
            return _read_names(question, [given], path)[0]
        case QuestionType.CHOICES:
            return _read_names(question, given, path)
        case QuestionType.TEXT:
            if not isinstance(given, str) or not given.strip() or len(given) > question.longest:
                raise Misfit(path, f"is a text of at most {question.longest} characters, not empty")
            return given
        case kind:
            assert_never(kind)


def _read_names(question: OwnQuestion, given: Any, path: Sequence[str]) -> list[str]:
    """Options by name, in the order of the question."""
    known = question.option_names
    if not isinstance(given, list) or not given or any(value not in known for value in given):
        several = "a list of one or more" if question.type is QuestionType.CHOICES else "one"
        raise Misfit(path, f"is {several} of: {', '.join(known)}")
    if len(set(given)) != len(given):
        raise Misfit(path, "names something twice")
    return [name for name in known if name in given]


MEASURED = frozenset(SIGNATURES[kind.value] for kind in QuestionType if kind is not QuestionType.TEXT)
"""How judgments of questions are signed whose answers can agree."""


def judgments(questions: Sequence[OwnQuestion], values: Values, target: Target, judge: str) -> Iterator[Judgment]:
    """A judgment a question that was answered: the aspect is its name, the signature says its type.

    A scale gives its value, yes or no the label 1 or 0, a choice its name, several choices their names joined by "+",
    a text itself as the label.
    """
    for question in questions:
        if question.name not in values:
            continue
        about: dict[str, Any] = {
            "target": target, "aspect": question.name, "judge": judge, "signature": SIGNATURES[question.type.value],
        }  # fmt: skip
        value = values[question.name]
        match question.type:
            case QuestionType.SCALE:
                yield Judgment(**about, value=float(value))
            case QuestionType.YES_NO:
                yield Judgment(**about, value=float(value), label=int(value))
            case QuestionType.CHOICES:
                yield Judgment(**about, label=SEPARATOR.join(value))
            case QuestionType.CHOICE | QuestionType.TEXT:
                yield Judgment(**about, label=value)
            case kind:
                assert_never(kind)


def differing(questions: Sequence[OwnQuestion], answers: Sequence[Values]) -> Iterator[tuple[str, list[str]]]:
    """The questions on which answers differ, each with what was said: on a scale by half of it or more.

    A text differs from no other; neither does a question that was left out.
    """
    for question in questions:
        given = [values[question.name] for values in answers if question.name in values]
        match question.type:
            case QuestionType.TEXT:
                differ = False
            case QuestionType.SCALE:
                differ = len(given) > 1 and question.on_scale.is_far(max(given) - min(given))
            case QuestionType.CHOICE | QuestionType.CHOICES | QuestionType.YES_NO:
                differ = any(value != given[0] for value in given)
            case kind:
                assert_never(kind)
        if differ:
            yield question.name, [_said(value) for value in given]


def described(values: Values) -> str:
    """Values in a few words.

    >>> described({"sure": 4, "offensive": False, "tone": ["dry", "odd"]})
    'sure: 4; offensive: no; tone: dry, odd'
    """
    return "; ".join(f"{name}: {text}" for name, text in texts(values))


def texts(values: Values) -> list[tuple[str, str]]:
    """Each question with its value in words."""
    return [(name, _said(value)) for name, value in values.items()]


def _said(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(value)
    return f"{value:g}" if isinstance(value, int | float) else str(value)


class Respondent(NamedTuple):
    """A made-up annotator at a task: what is right, how well they see it, and whether they read at all."""

    truth: Truth
    profile: Profile
    rng: Random
    careless: bool


def made_up(
    questions: Sequence[OwnQuestion], facts: Values, task: Task, target: Target, respondent: Respondent
) -> Json:
    """The values of a made-up annotator. What is right is gold's, else drawn by the task; the first at hand where
    somebody is careless, who leaves out what is not required."""
    truth, profile, rng, careless = respondent
    values: Json = {}
    for question in questions:
        if question not in list(asked(questions, facts, values)):
            continue
        if careless and not question.required:
            continue
        right = _right(question, truth.chance(task, "question", target.system, question.name), target, truth)
        values[question.name] = _first(question) if careless else _noisy(question, right, profile, rng)
    return values


def _right(question: OwnQuestion, chance: float, target: Target, truth: Truth) -> Any:
    gold = truth.gold_of(target, question.name)
    match question.type:
        case QuestionType.SCALE:
            if gold is not None and gold.value is not None:
                return question.on_scale.nearest(gold.value)
            return question.on_scale.at(chance)
        case QuestionType.YES_NO:
            return gold.label == 1 if gold is not None else chance < 0.5
        case QuestionType.CHOICE:
            known = gold.label if gold is not None and gold.label in question.option_names else None
            return known or _drawn(question.option_names, chance)
        case QuestionType.CHOICES:
            named = set(str(gold.label).split(SEPARATOR)) if gold is not None else set()
            known_names = [name for name in question.option_names if name in named]
            return known_names or [_drawn(question.option_names, chance)]
        case QuestionType.TEXT:
            return f"A made-up answer to “{question.name}”."[: question.longest]
        case kind:
            assert_never(kind)


def _drawn(names: Sequence[str], chance: float) -> str:
    return names[int(chance * len(names))]


def _first(question: OwnQuestion) -> Any:
    match question.type:
        case QuestionType.SCALE:
            return question.on_scale.at(0.5)
        case QuestionType.YES_NO:
            return True
        case QuestionType.CHOICE:
            return question.option_names[0]
        case QuestionType.CHOICES:
            return [question.option_names[0]]
        case QuestionType.TEXT:
            return "-"
        case kind:
            assert_never(kind)


def _noisy(question: OwnQuestion, right: Any, profile: Profile, rng: Random) -> Any:
    match question.type:
        case QuestionType.SCALE:
            return question.on_scale.noisy(right, profile.accuracy, profile.bias, rng)
        case QuestionType.YES_NO:
            return profile.label(right, rng)
        case QuestionType.CHOICE:
            return right if rng.random() < profile.accuracy else rng.choice(question.option_names)
        case QuestionType.CHOICES:
            if rng.random() < profile.accuracy:
                return right
            number = rng.randint(1, len(question.option_names))
            chosen = rng.sample(question.option_names, number)
            return [name for name in question.option_names if name in chosen]
        case QuestionType.TEXT:
            return right
        case kind:
            assert_never(kind)
