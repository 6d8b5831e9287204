"""The questions of `annotate new --wizard`, and the file that follows from the answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import typer
import yaml
from pydantic import ValidationError

from summeter.annotate.campaign.config import Aspect, Attention, Campaign, Named, Option, OwnQuestion, Platform, Scale
from summeter.annotate.campaign.language import REFERENCE, SHIPPED, read_language, shipped_names
from summeter.annotate.tasks import kind_named
from summeter.choices import QuestionType
from summeter.data.atomic import write_text
from summeter.data.dataset import load
from summeter.records import SummeterError, UsageError

T = TypeVar("T")
Json = dict[str, Any]
KINDS = {
    "fact_verification": "does the document support each sentence of a summary? with error types",
    "rating": "how good is each summary of a document? on scales",
    "pairwise": "which of two summaries is better?",
    "span_highlighting": "which words of a summary are wrong?",
    "key_fact_validation": "is each key fact of a document one?",
    "key_fact_alignment": "which sentences of a summary speak of a key fact?",
}
TYPES = {
    QuestionType.SCALE: "a value on a scale",
    QuestionType.CHOICE: "one of several options",
    QuestionType.CHOICES: "one or more of several options",
    QuestionType.YES_NO: "yes or no",
    QuestionType.TEXT: "free text",
}


def ask_campaign(file: Path) -> None:
    """Ask for a campaign in the terminal and write its file, at the end. Raises UsageError where it exists."""
    if file.exists():
        raise UsageError(f"{file} exists; name a new file, or edit that one and leave out --wizard")
    typer.echo("An empty answer takes what stands in brackets. Ctrl-C ends this, and nothing is written.\n")
    try:
        fields = _fields(file)
    except typer.Abort:
        typer.echo("\nbroken off: nothing was written", err=True)
        raise typer.Exit(130) from None
    campaign = Campaign.model_validate(fields)
    write_text(file, rendered(fields))
    typer.echo(f"\n{campaign.name} written to {file}; everything in it can be changed there (docs/campaign-file.md)")


def rendered(fields: Json) -> str:
    """The file as one would write it: each field under a line that says what it is for."""
    parts = [
        f"# {' '.join((Campaign.model_fields[name].description or '').split())}\n{_yaml({name: value})}"
        for name, value in fields.items()
    ]
    return "# Every field: docs/campaign-file.md\n\n" + "\n".join(parts)


def _yaml(value: Json) -> str:
    return str(yaml.safe_dump(value, allow_unicode=True, sort_keys=False, width=110))


def _fields(file: Path) -> Json:
    fields: Json = {"name": _ask("A name for the campaign", _valid("name"), file.stem)}
    fields["title"] = _ask("Its title, as annotators read it", str, fields["name"])
    fields["kind"] = _choose("What is asked", KINDS)
    fields["data"] = _ask("The data: a file or a dataset folder", lambda given: _data(file.parent, given))
    fields["language"] = _ask("The language of the texts", _valid("language"), "en")
    usual = fields["language"] if fields["language"] in shipped_names() else REFERENCE
    fields["interface"] = _choose("The language of the pages", dict.fromkeys(shipped_names(), ""), usual)
    instructions = _ask("Instructions in a sentence or two (more can be written in the file)", str, "")
    if instructions:
        fields["instructions"] = instructions
    fields |= _own_shape(fields["kind"])
    questions = _questions(fields)
    if questions:
        fields["questions"] = questions
    fields["answers_per_item"] = _ask("People for each task", _valid("answers_per_item", int), "3")
    fields["platform"] = _platform()
    rate = _ask("The share of attention checks (tasks with a known answer)", _rate, "0.2")
    fields["attention"] = {"rate": rate}
    return fields


def _own_shape(kind: str) -> Json:
    """Dimensions, scales and error types, where the kind has any."""
    fields: Json = {}
    if kind in {"rating", "pairwise"} and _confirm("Dimensions of your own, in place of the usual ones?"):
        what = "A dimension (name: what is asked about it; empty: no more)"
        fields["aspects"] = _several(what, lambda given: _pair(given, Aspect, "question"))
    if kind == "rating" and _confirm("A scale of your own, in place of 1 (bad) to 5 (excellent)?"):
        fields["scale"] = _scale()
    if kind in {"fact_verification", "span_highlighting"} and _confirm("Error types of your own?"):
        what = "An error type (name: what it means; empty: no more)"
        fields["error_types"] = _several(what, lambda given: _pair(given, Named, "meaning"))
    return fields


def _scale() -> Json:
    shape = _choose(
        "The scale has",
        {"labels": "a text for every point", "points": "numbers with texts at the ends", "slider": "a slider"},
    )
    if shape == "labels":
        return _ask("The texts, lowest first, with commas between", lambda given: _checked(Scale, labels=_list(given)))
    low = _ask("From", _number, "1" if shape == "points" else "0")
    high = _ask("To", lambda given: _above(low, given), "5" if shape == "points" else "100")
    anchors = {
        "low": _ask("What the lowest means", str, ""),
        "middle": _ask("What the middle means", str, ""),
        "high": _ask("What the highest means", str, ""),
    }
    step = 1 if shape == "points" or high - low >= 100 else (high - low) / 100
    return _ask(
        "In steps of",
        lambda given: _checked(Scale, low=low, high=high, step=_number(given), anchors=anchors, show=_shown(shape)),
        f"{step:g}",
    )


def _shown(shape: str) -> str:
    return "slider" if shape == "slider" else "points"


def _questions(fields: Json) -> list[Json]:
    """The campaign's own questions, one after another."""
    questions: list[Json] = []
    while _confirm("Another question of your own?" if questions else "Questions of your own, beside the task's?"):
        what = "Its name, under which answers are exported"
        question: Json = {"name": _ask(what, lambda given: _name(fields, questions, given))}
        question["question"] = _ask("What annotators read", _not_empty)
        question["type"] = _choose("The answer is", {kind.value: text for kind, text in TYPES.items()})
        if question["type"] == QuestionType.SCALE:
            question["scale"] = _scale()
        if question["type"] in {QuestionType.CHOICE, QuestionType.CHOICES}:
            what = "An option (name, or name: what it means; empty: no more)"
            question["options"] = _several(what, lambda given: _pair(given, Option, "meaning"), least=2)
        if not _confirm("Must it be answered?", default=True):
            question["required"] = False
        known = _conditions(fields, questions)
        if known and _confirm("Only where another answer has a certain value?"):
            name = _choose("Which answer", dict.fromkeys(known, ""))
            values = {str(value).lower() if isinstance(value, bool) else str(value): value for value in known[name]}
            question["when"] = {name: values[_choose("The value", dict.fromkeys(values, ""))]}
        OwnQuestion.model_validate(question)
        questions.append(question)
    return questions


def _conditions(fields: Json, questions: Sequence[Json]) -> dict[str, tuple[Any, ...]]:
    """What a question may depend on: the kind's own answer, and the questions before."""
    campaign = _so_far(fields)
    known = kind_named(campaign.kind).conditions(campaign)
    return known | {one["name"]: values for one in questions if (values := OwnQuestion.model_validate(one).values)}


def _so_far(fields: Json) -> Campaign:
    campaign = Campaign.model_validate(fields)
    return kind_named(campaign.kind).completed(campaign, read_language(SHIPPED / f"{REFERENCE}.yaml"))


def _name(fields: Json, questions: Sequence[Json], given: str) -> str:
    question = OwnQuestion(name=given, question="?", type=QuestionType.TEXT)
    campaign = _so_far(fields)
    if given in kind_named(campaign.kind).aspects(campaign) or given in _conditions(fields, questions):
        raise ValueError(f"{given!r} is asked already; give another name")
    return question.name


def _platform() -> Json:
    name = _choose(
        "Annotators come from", {"local": "links that you hand out", "prolific": "Prolific", "mturk": "Mechanical Turk"}
    )
    if name != "local":
        return {"name": name}
    return _ask(
        "Their names, with commas between",
        lambda given: _checked(Platform, name=name, accounts=_list(_not_empty(given))),
    )


# ---- one question at a time ----


def _ask(text: str, read: Callable[[str], T], default: str | None = None) -> T:
    """An answer as `read` makes it; asked again, with the reason, where it raises."""
    while True:
        given = str(typer.prompt(text, default=default, show_default=bool(default))).strip()
        try:
            return read(given)
        except ValidationError as error:
            typer.echo(f"  {error.errors()[0]['msg'].removeprefix('Value error, ')}")
        except (ValueError, OverflowError, SummeterError, OSError) as error:
            typer.echo(f"  {error}")


def _confirm(text: str, *, default: bool = False) -> bool:
    return typer.confirm(text, default=default)


def _choose(text: str, options: dict[str, str], default: str | None = None) -> str:
    """One of several, by its number or its name."""
    names = list(options)
    for number, name in enumerate(names, 1):
        typer.echo(f"  {number}  {name}{f': {options[name]}' if options[name] else ''}")

    def read(given: str) -> str:
        if given.isdigit() and 1 <= int(given) <= len(names):
            return names[int(given) - 1]
        if given in names:
            return given
        raise ValueError(f"give a number from 1 to {len(names)}")

    return _ask(text, read, str(names.index(default) + 1) if default else "1")


def _several(text: str, read: Callable[[str], Any], least: int = 1) -> list[Any]:
    """Answers until an empty one."""
    entries: list[Any] = []
    while True:
        entry = _ask(text, lambda given: read(given) if given else None, "")
        if entry is not None:
            entries.append(entry)
        elif len(entries) >= least:
            return entries
        else:
            typer.echo(f"  at least {least}")


def _pair(given: str, model: type[Named] | type[Option], second: str) -> Any:
    """`name: text` as fields of a model; a name alone as it is."""
    name, _, text = (part.strip() for part in given.partition(":"))
    _checked(model, name=name, **{second: text})
    return {"name": name, second: text} if text else name


def _checked(model: Any, **fields: Any) -> Json:
    """The fields, which the model takes; empty ones left out."""
    model.model_validate(fields)
    anchors = {name: text for name, text in fields.get("anchors", {}).items() if text}
    kept = {**fields, "anchors": anchors} if "anchors" in fields else fields
    return {name: value for name, value in kept.items() if value not in ("", {}, [])}


def _valid(field: str, read: Callable[[str], Any] = str) -> Callable[[str], Any]:
    """A reader of one of the campaign's fields."""

    def check(given: str) -> Any:
        value = read(given)
        Campaign.model_validate({"name": "x", "kind": "rating", "data": "x", field: value})
        return value

    return check


def _data(place: Path, given: str) -> str:
    data = load(place / _not_empty(given))
    typer.echo(f"  {len(data.documents)} documents, {len(data.summaries)} summaries by {', '.join(data.systems)}")
    return given


def _rate(given: str) -> float:
    return Attention(rate=float(given)).rate


def _above(low: float, given: str) -> float:
    high = _number(given)
    if high <= low:
        raise ValueError(f"give more than {low:g}")
    return high


def _number(given: str) -> float:
    value = float(given)
    return int(value) if value == int(value) else value


def _list(given: str) -> list[str]:
    return [part.strip() for part in given.split(",") if part.strip()]


def _not_empty(given: str) -> str:
    if not given:
        raise ValueError("an answer is needed here")
    return given
