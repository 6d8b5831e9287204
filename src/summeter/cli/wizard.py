"""The questions of `annotate new --wizard`, and the file that follows from the answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any, TypeVar

import typer
import yaml
from pydantic import TypeAdapter, ValidationError

from summeter.annotate.campaign.build import build, tasks_of
from summeter.annotate.campaign.config import (
    Anchors,
    Aspect,
    Attention,
    Campaign,
    Named,
    Number,
    Option,
    OwnQuestion,
    Platform,
    Scale,
)
from summeter.annotate.campaign.language import REFERENCE, SHIPPED, read_language, shipped_names
from summeter.annotate.tasks import kind_named
from summeter.choices import QuestionType
from summeter.data.atomic import write_text
from summeter.data.dataset import Dataset, load, save
from summeter.records import InputError, SummeterError, UsageError

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
        with TemporaryDirectory() as scratch:
            rules = _Rules(file, Path(scratch))
            fields = _fields(rules)
            while (refusal := rules.refusal(fields)) is not None:
                place, reason = refusal
                typer.echo(f"\n`annotate new` would refuse {'.'.join(place) or 'this'}: {reason}")
                _ask_again(fields, rules, place)
    except typer.Abort:
        typer.echo("\nbroken off: nothing was written", err=True)
        raise typer.Exit(130) from None
    write_text(file, rendered(fields))
    typer.echo(f"\n{fields['name']} written to {file}; everything in it can be changed there (docs/campaign-file.md)")


class _Rules:
    """The rules of `annotate new`, for answers that are in no file yet.

    A list or a question is checked on one document of the data, so that no answer waits for all of them.
    """

    def __init__(self, file: Path, scratch: Path) -> None:
        self.file = file
        self._scratch = scratch
        self._campaign = scratch / "campaign.yaml"

    def read_data(self, given: str) -> str:
        """The name of the data as it was given; they are read, and described."""
        data = load(self.file.parent / _not_empty(given))
        typer.echo(f"  {len(data.documents)} documents, {len(data.summaries)} summaries by {', '.join(data.systems)}")
        documents = dict(list(data.documents.items())[:1])
        summaries = [summary for summary in data.summaries if summary.document_id in documents]
        self._sample = Path(mkdtemp(dir=self._scratch)) / "data"
        save(Dataset(documents, summaries, {}, data.card), self._sample)
        return given

    def check(self, fields: Json) -> None:
        """Raises ValueError where a file with these fields would be refused."""
        campaign = Campaign.model_validate(fields | {"data": str(self._sample)})
        try:
            tasks_of(campaign, self._campaign)
        except UsageError as error:
            place, reason = self._refused(error)
            if place:  # else the one document is at fault; all of them are checked at the end
                raise ValueError(reason) from error

    def refusal(self, fields: Json) -> tuple[list[str], str] | None:
        """What `annotate new` would refuse in the file with these fields, and why; None where it would not.

        A field as a path; an empty one where the data have nothing for the kind of task.
        """
        data = str((self.file.parent / fields["data"]).absolute())
        write_text(self._campaign, rendered(fields | {"data": data}))
        with TemporaryDirectory(dir=self._scratch) as folder:
            try:
                build(self._campaign, Path(folder) / "campaign")
            except SummeterError as error:
                return self._refused(error)
        return None

    def _refused(self, error: SummeterError) -> tuple[list[str], str]:
        for fault in error.faults if isinstance(error, InputError) else ():
            if fault.file == str(self._campaign) and fault.field:
                return fault.field.split("."), str(fault.message)
        return [], str(error)


def rendered(fields: Json) -> str:
    """The file as one would write it: each field under a line that says what it is for."""
    parts = [
        f"# {' '.join((Campaign.model_fields[name].description or '').split())}\n{_yaml({name: value})}"
        for name, value in fields.items()
    ]
    return "# Every field: docs/campaign-file.md\n\n" + "\n".join(parts)


def _yaml(value: Json) -> str:
    return str(yaml.safe_dump(value, allow_unicode=True, sort_keys=False, width=110))


def _fields(rules: _Rules) -> Json:
    fields: Json = {}
    for name in ("name", "title"):
        fields[name] = ASKED[name](fields, rules)
    _ask_kind_and_data(fields, rules)
    for name in ("language", "interface"):
        fields[name] = ASKED[name](fields, rules)
    instructions = _ask("Instructions in a sentence or two (more can be written in the file)", str, "")
    if instructions:
        fields["instructions"] = instructions
    _ask_own_shape(fields, rules)
    _ask_questions(fields, rules)
    for name in ("answers_per_item", "platform", "attention"):
        fields[name] = ASKED[name](fields, rules)
    return fields


def _interface(fields: Json) -> str:
    usual = fields["language"] if fields["language"] in shipped_names() else REFERENCE
    return _choose("The language of the pages", dict.fromkeys(shipped_names(), ""), usual)


def _ask_kind_and_data(fields: Json, rules: _Rules) -> None:
    """The kind of task and the data, which must have something for it."""
    while True:
        fields["kind"] = _choose("What is asked", KINDS, fields.get("kind"))
        fields["data"] = _ask("The data: a file or a dataset folder", rules.read_data, fields.get("data"))
        refusal = rules.refusal({name: fields[name] for name in ("name", "kind", "data")})
        if refusal is None:
            return
        typer.echo(f"  {refusal[1]}")


def _ask_own_shape(fields: Json, rules: _Rules) -> None:
    """Dimensions, scales and error types, where the kind has any."""
    kind = fields["kind"]
    if kind in {"rating", "pairwise"} and _confirm("Dimensions of your own, in place of the usual ones?"):
        _ask_names("aspects", fields, rules)
    if kind == "rating" and _confirm("A scale of your own, in place of 1 (bad) to 5 (excellent)?"):
        fields["scale"] = _scale()
    if kind in {"fact_verification", "span_highlighting"} and _confirm("Error types of your own?"):
        _ask_names("error_types", fields, rules)


NAMES: dict[str, tuple[str, type[Named], str]] = {
    "aspects": ("A dimension (name: what is asked about it{})", Aspect, "question"),
    "error_types": ("An error type (name: what it means{})", Named, "meaning"),
}


def _ask_names(field: str, fields: Json, rules: _Rules) -> None:
    text, model, second = NAMES[field]
    fields[field] = _several(
        text.format("; empty: no more"),
        lambda given: _pair(given, model, second),
        lambda entries: rules.check(fields | {field: entries}),
    )


def _ask_again(fields: Json, rules: _Rules, place: list[str]) -> None:
    """Ask once more for what `annotate new` refuses, and for nothing else."""
    match place:
        case ["questions", index, *_] if index.isdecimal():
            position = int(index)
            before, after = fields["questions"][:position], fields["questions"][position + 1 :]
            fields["questions"] = [*before, _question(fields | {"questions": before}, rules), *after]
        case [("aspects" | "error_types") as field, index, *_] if index.isdecimal():
            _ask_name_again(field, int(index), fields, rules)
        case [name, *_] if name in ASKED:
            fields[name] = ASKED[name](fields, rules)
        case _:
            _ask_kind_and_data(fields, rules)


def _ask_name_again(field: str, index: int, fields: Json, rules: _Rules) -> None:
    text, model, second = NAMES[field]
    entries = fields[field]
    others = [*entries[:index], *entries[index + 1 :]]

    def read(given: str) -> Any:
        entry = _added(others, _pair(given, model, second))
        rules.check(fields | {field: [*entries[:index], entry, *entries[index + 1 :]]})
        return entry

    entry = _ask(f"{text.format('')} in place of {_name_of(entries[index])!r}", read)
    fields[field] = [*entries[:index], entry, *entries[index + 1 :]]


def _scale() -> Json:
    shape = _choose(
        "The scale has",
        {"labels": "a text for every point", "points": "numbers with texts at the ends", "slider": "a slider"},
    )
    if shape == "labels":
        return _ask("The texts, lowest first, with commas between", lambda given: _checked(Scale, labels=_list(given)))
    low = _ask("From", _bounded, "1" if shape == "points" else "0")
    high = _ask("To", lambda given: _above(low, given), "5" if shape == "points" else "100")
    anchors = {
        "low": _ask("What the lowest means", _anchor, ""),
        "middle": _ask("What the middle means", _anchor, ""),
        "high": _ask("What the highest means", _anchor, ""),
    }
    step = 1 if shape == "points" or high - low >= 100 else (high - low) / 100
    return _ask(
        "In steps of",
        lambda given: _checked(Scale, low=low, high=high, step=_number(given), anchors=anchors, show=_shown(shape)),
        f"{step:g}",
    )


def _shown(shape: str) -> str:
    return "slider" if shape == "slider" else "points"


def _ask_questions(fields: Json, rules: _Rules) -> None:
    """The campaign's own questions, one after another."""
    most = Campaign.model_json_schema()["properties"]["questions"]["maxItems"]
    questions: list[Json] = []
    while len(questions) < most and _confirm(
        "Another question of your own?" if questions else "Questions of your own, beside the task's?"
    ):
        questions.append(_question(fields | {"questions": questions}, rules))
        fields["questions"] = questions


def _question(fields: Json, rules: _Rules) -> Json:
    """A question that may stand behind those of the fields."""
    before: list[Json] = fields["questions"]

    def read_name(given: str) -> str:
        if given in _conditions(fields, before) or given in {question["name"] for question in before}:
            raise ValueError(f"{given!r} is asked already; give another name")
        question = {"name": given, "question": "?", "type": QuestionType.TEXT.value}
        rules.check(fields | {"questions": [*before, question]})
        return given

    while True:
        question = _described(_ask("Its name, under which answers are exported", read_name))
        known = _conditions(fields, before)
        if known and _confirm("Only where another answer has a certain value?"):
            name = _choose("Which answer", dict.fromkeys(known, ""))
            values = {str(value).lower() if isinstance(value, bool) else str(value): value for value in known[name]}
            question["when"] = {name: values[_choose("The value", dict.fromkeys(values, ""))]}
        try:
            rules.check(fields | {"questions": [*before, question]})
        except ValueError as error:
            typer.echo(f"  {_reason(error)}; this question once more")
        else:
            return question


def _described(name: str) -> Json:
    """A question of this name: what is asked, and how it is answered."""

    def read_text(given: str) -> str:
        return OwnQuestion(name=name, question=_not_empty(given), type=QuestionType.TEXT).question

    def check_options(entries: list[Any]) -> None:
        fields = {"name": name, "question": "?", "type": QuestionType.CHOICES, "options": entries}
        OwnQuestion.model_validate(fields)

    question: Json = {"name": name, "question": _ask("What annotators read", read_text)}
    question["type"] = _choose("The answer is", {kind.value: text for kind, text in TYPES.items()})
    if question["type"] == QuestionType.SCALE:
        question["scale"] = _scale()
    if question["type"] in {QuestionType.CHOICE, QuestionType.CHOICES}:
        what = "An option (name, or name: what it means; empty: no more)"
        question["options"] = _several(what, lambda given: _pair(given, Option, "meaning"), check_options, least=2)
    if not _confirm("Must it be answered?", default=True):
        question["required"] = False
    return question


def _conditions(fields: Json, questions: Sequence[Json]) -> dict[str, tuple[Any, ...]]:
    """What a question may depend on: the kind's own answer, and the questions before."""
    campaign = _so_far(fields)
    known = kind_named(campaign.kind).conditions(campaign)
    return known | {
        question["name"]: values for question in questions if (values := OwnQuestion.model_validate(question).values)
    }


def _so_far(fields: Json) -> Campaign:
    campaign = Campaign.model_validate(fields)
    return kind_named(campaign.kind).completed(campaign, read_language(SHIPPED / f"{REFERENCE}.yaml"))


def _platform(fields: Json, rules: _Rules) -> Json:
    name = _choose(
        "Annotators come from", {"local": "links that you hand out", "prolific": "Prolific", "mturk": "Mechanical Turk"}
    )
    if name != "local":
        return {"name": name}

    def read(given: str) -> Json:
        platform = _checked(Platform, name=name, accounts=_list(_not_empty(given)))
        rules.check(fields | {"platform": platform})
        return platform

    return _ask("Their names, with commas between", read)


ASKED: dict[str, Callable[[Json, _Rules], Any]] = {
    "name": lambda _, rules: _ask("A name for the campaign", _valid("name"), rules.file.stem),
    "title": lambda fields, _: _ask("Its title, as annotators read it", str, fields["name"]),
    "language": lambda *_: _ask("The language of the texts", _valid("language"), "en"),
    "interface": lambda fields, _: _interface(fields),
    "scale": lambda *_: _scale(),
    "answers_per_item": lambda *_: _ask("People for each task", _valid("answers_per_item", int), "3"),
    "platform": _platform,
    "attention": lambda *_: {"rate": _ask("The share of attention checks (tasks with a known answer)", _rate, "0.2")},
}
"""Fields that have one value, by the question that asks for it."""


# ---- one question at a time ----


def _ask(text: str, read: Callable[[str], T], default: str | None = None) -> T:
    """An answer as `read` makes it; asked again, with the reason, where it raises."""
    while True:
        given = str(typer.prompt(text, default=default, show_default=bool(default))).strip()
        try:
            return read(given)
        except (ValueError, OverflowError, SummeterError, OSError) as error:
            typer.echo(f"  {_reason(error)}")


def _reason(error: Exception) -> str:
    """Why an answer is refused, in a line."""
    if isinstance(error, ValidationError):
        return error.errors()[0]["msg"].removeprefix("Value error, ")
    return str(error)


def _confirm(text: str, *, default: bool = False) -> bool:
    return typer.confirm(text, default=default)


def _choose(text: str, options: dict[str, str], default: str | None = None) -> str:
    """One of several, by its name, or by its number in the list; numbers are chosen by their value alone."""
    names = list(options)
    numbers = _numbers(names)
    if numbers:
        typer.echo(f"  {', '.join(names if len(names) <= SHOWN else [*names[:3], '...', names[-1]])}")
    else:
        for number, name in enumerate(names, 1):
            typer.echo(f"  {number}  {name}{f': {options[name]}' if options[name] else ''}")

    def read(given: str) -> str:
        if given in names:
            return given
        if numbers:
            if (name := numbers.get(_number(given))) is not None:
                return name
            raise ValueError(f"{given} is none of the values")
        if given.isdecimal() and 1 <= int(given) <= len(names):
            return names[int(given) - 1]
        raise ValueError(f"give a number from 1 to {len(names)}")

    chosen = _ask(text, read, default or names[0])
    typer.echo(f"  taken: {chosen}")
    return chosen


SHOWN = 12
"""So many numbers are listed at most."""


def _numbers(names: Sequence[str]) -> dict[float, str]:
    """The names by their value where all are numbers; else nothing."""
    try:
        return {_number(name): name for name in names}
    except (ValueError, OverflowError):
        return {}


def _several(text: str, read: Callable[[str], Any], check: Callable[[list[Any]], object], least: int = 1) -> list[Any]:
    """Answers until an empty one; `check` raises where the list may not be as it is with the last."""
    entries: list[Any] = []

    def read_entry(given: str) -> Any:
        if not given:
            return None
        entry = _added(entries, read(given))
        check([*entries, entry])
        return entry

    while True:
        entry = _ask(text, read_entry, "")
        if entry is not None:
            entries.append(entry)
        elif len(entries) >= least:
            return entries
        else:
            typer.echo(f"  at least {least}")


def _added(entries: Sequence[Any], entry: Any) -> Any:
    """The entry, which has a name of its own."""
    if _name_of(entry) in map(_name_of, entries):
        raise ValueError(f"{_name_of(entry)!r} is named already; give another")
    return entry


def _name_of(entry: Any) -> str:
    return str(entry["name"] if isinstance(entry, dict) else entry)


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


def _rate(given: str) -> float:
    return Attention(rate=float(given)).rate


def _above(low: float, given: str) -> float:
    high = _bounded(given)
    if high <= low:
        raise ValueError(f"give more than {low:g}")
    return high


def _number(given: str) -> float:
    value = float(given)
    return int(value) if value == int(value) else value


def _bounded(given: str) -> float:
    """A number that an end of a scale may be."""
    value = _number(given)
    TypeAdapter(Number).validate_python(value)
    return value


def _anchor(given: str) -> str:
    return Anchors(low=given).low


def _list(given: str) -> list[str]:
    return [part.strip() for part in given.split(",") if part.strip()]


def _not_empty(given: str) -> str:
    if not given:
        raise ValueError("an answer is needed here")
    return given
