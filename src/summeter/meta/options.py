"""Options of studies: shared option models, and the decorator that turns a function into a study.

A study consists of an options model and a function of its inputs and options:

    class BiasOptions(Judges, People, Draws):
        length: Annotated[str, Choice(LENGTHS, "length")] = Field("words", description="Unit of length.")

    @study(BiasOptions)
    def bias(run: RunLike, gold: Gold, options: BiasOptions) -> Study: ...

Callers write `bias(run, gold, length="words", resamples=0)`. The command `summeter meta bias`, its options and the
reference page are generated from the same model.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from types import NoneType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Concatenate,
    Generic,
    NamedTuple,
    ParamSpec,
    Protocol,
    Self,
    TypeVar,
    cast,
    get_args,
    get_type_hints,
    overload,
)

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    ValidationError,
    field_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, core_schema

from summeter.choices import USUAL_COEFFICIENTS, AggregationRule, Tie
from summeter.data.human import RAW
from summeter.meta.inputs import RunLike, gold_notes, judge_input, run_notes
from summeter.meta.results import Study, resampling
from summeter.records import Parameter, UsageError, nearest
from summeter.runs.run import RunFolder
from summeter.stats.correlation import CORRELATIONS
from summeter.stats.resample import Resampling

P = ParamSpec("P")
OptionsT = TypeVar("OptionsT")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
R_co = TypeVar("R_co", covariant=True)
A_contra = TypeVar("A_contra", contravariant=True)
B_contra = TypeVar("B_contra", contravariant=True)


@dataclass(frozen=True)
class Choice:
    """The values that an option accepts: strings or the members of an enumeration.

    `name` is the word for a value in messages. The static type of such an option is `str`, so that callers can write
    `level="document"`.
    """

    values: Iterable[str]
    name: str

    def member(self, value: object) -> str:
        """Return the accepted value that equals `value`.

        If there is none, raises ValueError with the nearest accepted value.
        """
        known = [str(each) for each in self.values]
        if value not in known:
            raise ValueError(f"unknown {self.name} {value!r}{nearest(value, known)}; choose one of {', '.join(known)}")
        return next(each for each in self.values if each == value)

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = core_schema.no_info_plain_validator_function(self.member)
        return core_schema.nullable_schema(schema) if NoneType in get_args(source) else schema


@dataclass(frozen=True)
class CommandLine:
    """The names (by default `--name`) and the metavar of an option on the command line.

    If `python_only` is True, the option does not exist on the command line.
    """

    names: tuple[str, ...] = ()
    metavar: str | None = None
    python_only: bool = False


LISTED = BeforeValidator(
    lambda value: [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value
)
"""Validator of an option whose values can also be one comma-separated string, such as `1,2,3`."""


class Options(BaseModel):
    """Base class of the options of all studies."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    @classmethod
    def checked(cls, keywords: Mapping[str, object]) -> Self:
        """Return the validated options. Raises UsageError for an unknown keyword or an invalid value."""
        for name in keywords:
            if name not in cls.model_fields:
                known = ", ".join(cls.ordered())
                raise UsageError(f"unknown keyword {name!r}{nearest(name, cls.model_fields)}; choose one of {known}")
        try:
            return cls.model_validate(dict(keywords))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            name, text = str(first["loc"][0]), first["msg"].replace("Input should be", "must be")
            if first["type"] == "value_error":
                raise UsageError(text.removeprefix("Value error, ")) from error
            if first["type"] == "missing" and len(first["loc"]) == 1:
                raise UsageError(f"{name} is missing; give {name}=...") from error
            raise UsageError(Parameter(name), f" {text}, not {first['input']!r}") from error

    @classmethod
    def ordered(cls) -> dict[str, FieldInfo]:
        """Return the fields of the class itself, then those of each base class in order."""
        names = dict.fromkeys(
            [*inspect.get_annotations(cls), *(name for base in cls.__bases__ for name in _names(base))]
        )
        return {name: cls.model_fields[name] for name in names if name in cls.model_fields}


def _names(model: type) -> Iterator[str]:
    """Yield the annotated names of a class and its base classes, base classes first."""
    for base in model.__bases__:
        yield from _names(base)
    yield from inspect.get_annotations(model)


class Judges(Options):
    """Selection of judges and aspects."""

    aspect: Annotated[str | Sequence[str] | None, CommandLine(metavar="A|JUDGE:GOLD")] = Field(
        None,
        description="Aspect to study, or JUDGE:GOLD if judges and people use different names. Repeatable. "
        "Default: all aspects that both judged.",
    )
    judge: str | None = Field(None, description="Study only this judge (name or signature).")

    @property
    def aspects(self) -> tuple[str, ...]:
        """Selected aspects. The tuple is empty if all aspects that both sides have are selected."""
        if self.aspect is None:
            return ()
        return (self.aspect,) if isinstance(self.aspect, str) else tuple(self.aspect)

    @property
    def aspect_pairs(self) -> list[tuple[str, str]]:
        """The judges' name and people's name for each selected aspect.

        >>> Judges(aspect=["fluency", "overall: coherence"]).aspect_pairs
        [('fluency', 'fluency'), ('overall', 'coherence')]
        """
        sides = [[side.strip() for side in aspect.partition(":")[::2]] for aspect in self.aspects]
        return [(judge, gold or judge) for judge, gold in sides]

    @property
    def judge_aspects(self) -> list[str]:
        """The judges' name for each selected aspect."""
        return [judge for judge, _ in self.aspect_pairs]

    @property
    def gold_aspects(self) -> list[str]:
        """People's name for each selected aspect."""
        return [gold for _, gold in self.aspect_pairs]


class By(Options):
    """Column by which results are broken down."""

    by: Annotated[str | None, CommandLine(metavar="COLUMN")] = Field(
        None,
        description="Add rows for each value of this column (domain, category, system, split...). "
        "a*b crosses two columns.",
    )


class JudgmentSet(Options):
    """Selection of the human judgments."""

    judgment_set: Annotated[str, CommandLine(metavar="NAME")] = Field(RAW, description="Judgment set of the data.")


class Merge(JudgmentSet):
    """Rules for merging several people's judgments of a unit into one value."""

    merge: str = Field(
        AggregationRule.AUTO.value,
        description="How to merge annotators: auto (majority of labels, mean of ratings), mean, majority, "
        "mode_else_mean, each, or the id of one annotator.",
    )
    min_votes: int = Field(1, ge=1, description="Leave out units with fewer votes.")


class People(Merge):
    """Selection of a block of human judgments, and rules for merging them.

    `auto` merges labels by majority and ratings by their mean. `min_votes` does not apply to values that are already
    merged in the data (FineSurE uses 2), and `tie` applies only to majorities.
    """

    source: str | None = Field(
        None,
        description="Block of human judgments: sentence_labels, key_fact_labels, conciseness_labels, alignment, "
        "ratings... Default: labels of units, else ratings, else overall.",
    )
    tie: Annotated[str, Choice(Tie, "tie rule")] = Field(
        Tie.FINESURE,
        description="How a majority resolves ties. finesure: a sentence counts as supported, other units as absent.",
    )


class Selection(Judges, People):
    """Selection of judges, and of the human judgments with which they are compared."""


class GoldAtLeast(People):
    """Threshold that turns human values into labels 0 and 1."""

    gold_at_least: float | None = Field(None, description="Human values of at least this count as 1, others as 0.")


class Draws(Options):
    """Settings of the bootstrap by document."""

    resamples: int = Field(1000, ge=0, description="Resamples of the bootstrap by document; 0 for no intervals.")
    confidence: float = Field(0.95, gt=0, lt=1, description="Confidence level of the intervals.")
    seed: int = Field(0, description="Random seed.")

    @property
    def resampling(self) -> Resampling:
        """Function that creates the bootstrap of given clusters."""
        return resampling(self.resamples, self.confidence, self.seed)


class Significance(Draws):
    """Settings of significance tests."""

    resamples: int = Field(2000, ge=0, description="Resamples of the bootstrap by document; 0 for no intervals.")
    permutations: int = Field(
        10_000,
        ge=1,
        description="Number of permutations of the test; fewer if there are not as many, and more for many pairs.",
    )
    alpha: float = Field(
        0.05,
        gt=0,
        lt=1,
        description="Significance level after correction; intervals of differences have confidence 1 - alpha.",
    )


class Coefficients(Options):
    """Selection of coefficients among those of the study (the class variable `known`)."""

    known: ClassVar[Sequence[str]] = tuple(CORRELATIONS)

    coefficients: Annotated[Sequence[str], CommandLine(("--coefficient", "--coefficients"))] = Field(
        USUAL_COEFFICIENTS, min_length=1, description="Coefficients to compute. Repeatable."
    )

    @field_validator("coefficients")
    @classmethod
    def _known(cls, names: Sequence[str]) -> Sequence[str]:
        return [Choice(cls.known, "coefficient").member(name) for name in names]

    @classmethod
    def ordered(cls) -> dict[str, FieldInfo]:
        """Return the fields. The description of `coefficients` lists the known coefficients."""
        fields = super().ordered()
        info = copy(fields["coefficients"])
        info.description = f"{info.description} Choose from: {', '.join(cls.known)}."
        return {**fields, "coefficients": info}


class AgreementCoefficient(Options):
    """Selection of one coefficient of agreement between a judge and people."""

    known: ClassVar[Sequence[str]] = (
        "kappa_cohen", "alpha_nominal", "alpha_ordinal", "alpha_interval", "icc", "spearman", "pearson",
    )  # fmt: skip

    coefficient: Annotated[str | None, Choice(known, "coefficient"), CommandLine(metavar="NAME")] = Field(
        None,
        description="Coefficient of agreement. Default: kappa_cohen of labels, alpha_interval of ratings, spearman if "
        f"the scales differ. Choose from: {', '.join(known)}.",
    )

    def chosen_or_usual(self, *, labels: bool, on_scale: bool) -> str:
        """Return the selected coefficient, or the default for labels or for ratings on people's scale or on another.

        >>> AgreementCoefficient().chosen_or_usual(labels=False, on_scale=True)
        'alpha_interval'
        """
        usual = "kappa_cohen" if labels else "alpha_interval" if on_scale else "spearman"
        return self.coefficient or usual


class Pairs(Options):
    """Selection of pairs of systems."""

    pairs: Annotated[Sequence[str | tuple[str, str]] | None, LISTED, CommandLine(("--pair", "--pairs"), "A-B")] = Field(
        None, description="Compare only these pairs of systems. Repeatable. Default: all pairs."
    )

    def pairs_of(self, systems: Sequence[str]) -> list[tuple[str, str]] | None:
        """Return the selected pairs, or None for all pairs. Raises UsageError if a system is unknown.

        In "A-B", the names can contain hyphens if there is only one way to split the pair into two known systems.

        >>> Pairs(pairs=["gpt-4-t5"]).pairs_of(["gpt-4", "t5"])
        [('gpt-4', 't5')]
        """
        if self.pairs is None:
            return None
        all_systems = ", ".join(systems)
        selected = []
        for pair in self.pairs:
            if isinstance(pair, str):
                splits = [(pair[:at], pair[at + 1 :]) for at, sign in enumerate(pair) if sign == "-"]
                known = [split for split in splits if split[0] in systems and split[1] in systems and len({*split}) > 1]
                if len(known) != 1:
                    why = "is ambiguous" if known else "does not name two systems"
                    raise UsageError(f"the pair {pair} {why}; the systems are: {all_systems}")
                selected += known
            else:
                for name in pair:
                    if name not in systems:
                        raise UsageError(f"unknown system {name!r}{nearest(name, systems)}; choose from: {all_systems}")
                selected.append(pair)
        return selected


class Families(Options):
    """Families of systems and judges, such as the vendor of their models."""

    families: Annotated[Mapping[str, str] | None, CommandLine(("--family", "--families"), "SYSTEM=NAME")] = Field(
        None, description="Family of a system. Repeatable."
    )
    judge_families: Annotated[
        Mapping[str, str] | None, CommandLine(("--judge-family", "--judge-families"), "JUDGE=NAME")
    ] = Field(
        None,
        description="Family of a judge (name, signature or model). Repeatable. Default: the family whose name is part "
        "of the name of the judge's model.",
    )


@dataclass(frozen=True)
class Input:
    """An input of a study.

    The fields say whether the input can be None, and whether it can be left out, which means None.
    """

    name: str
    nullable: bool
    optional: bool


class StudyEntry(NamedTuple):
    """A study: its name, docstring, inputs and options, and the function that users call.

    `command` is the metavar of the runs ("RUN...") if the command is generated from the options alone. It is None if
    the study has no command or if `cli.meta` defines the command.
    """

    name: str
    doc: str
    inputs: tuple[Input, ...]
    options: type[Options]
    function: Callable[..., Any]
    command: str | None = None

    @property
    def about(self) -> str:
        """First paragraph of the docstring, on one line."""
        return " ".join(self.doc.partition("\n\n")[0].split())


STUDIES: dict[str, StudyEntry] = {}
"""All studies, by the name of their function."""


class OfOptionalGold(Protocol[A_contra, B_contra, P, R_co]):
    """A study whose second input is optional."""

    def __call__(self, run: A_contra, gold: B_contra | None = None, *args: P.args, **options: P.kwargs) -> R_co: ...


class StudyDecorator(Generic[P, OptionsT]):
    """A decorator that turns a function of one to three inputs and an options model into a study.

    If `command` is given, it also creates the command `summeter meta NAME`. Callers pass options as keywords. Several
    runs are joined into one `JudgeInput`, and judges without a row are named in the notes. The study raises UsageError
    for an unknown keyword or an invalid value (see also `StudyEntry`).
    """

    def __init__(self, options: Callable[P, OptionsT], *, command: str | None = None) -> None:
        self.options = cast("type[Options]", options)
        self.command = command

    @overload
    def __call__(self, function: Callable[[A, OptionsT], R_co]) -> Callable[Concatenate[A, P], R_co]: ...
    @overload
    def __call__(self, function: Callable[[A, B | None, OptionsT], R_co]) -> OfOptionalGold[A, B, P, R_co]: ...
    @overload
    def __call__(self, function: Callable[[A, B, OptionsT], R_co]) -> Callable[Concatenate[A, B, P], R_co]: ...
    @overload
    def __call__(self, function: Callable[[A, B, C, OptionsT], R_co]) -> Callable[Concatenate[A, B, C, P], R_co]: ...
    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        hints = get_type_hints(function)
        *names, _ = inspect.signature(function).parameters
        nullable = [NoneType in get_args(hints[name]) for name in names]
        inputs = tuple(Input(name, nullable[at], all(nullable[at:])) for at, name in enumerate(names))
        parameters = [
            inspect.Parameter(
                each.name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=None if each.optional else inspect.Parameter.empty,
                annotation=hints[each.name],
            )
            for each in inputs
        ]
        positional = inspect.Signature(parameters)
        judged = [name for name in names if {*get_args(RunLike)} <= {*get_args(hints[name])}]

        @wraps(function)
        def checked(*args: object, **keywords: object) -> Any:
            named_inputs = {name: keywords.pop(name) for name in names if name in keywords}
            options = self.options.checked(keywords)
            bound = positional.bind(*args, **named_inputs)
            bound.apply_defaults()
            for name, value in bound.arguments.items():
                types = (hints[name], *get_args(hints[name]))
                if isinstance(value, str | Path) and str not in types:
                    if RunFolder not in types:
                        raise UsageError(f"{name} is a path; read the data with sm.load({str(value)!r})")
                    bound.arguments[name] = RunFolder(value)
            for name in judged:
                if not isinstance(value := bound.arguments[name], RunFolder | None):
                    bound.arguments[name] = judge_input(value)
            result = function(*bound.args, options)
            if isinstance(result, Study):
                for name in judged:
                    if (run := bound.arguments[name]) is not None:
                        selected, judge = getattr(options, "judge_aspects", ()), getattr(options, "judge", None)
                        notes = [*result.notes, *run_notes(run, result, selected, judge)]
                        notes += gold_notes(bound.arguments.get("gold"), getattr(options, "judgment_set", None))
                        result = Study(result.name, result.rows, notes)
            return result

        keywords = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if field.is_required() else field.default,
                annotation=field.annotation,
            )
            for name, field in self.options.ordered().items()
        ]
        checked.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # inspect reads it
            [*parameters, *keywords], return_annotation=hints["return"]
        )
        lines = [f"    {name}: {field.description}" for name, field in self.options.ordered().items()]
        doc = inspect.cleandoc(function.__doc__ or "")
        checked.__doc__ = "\n".join([doc, "", "Keywords:", "", *lines])
        STUDIES[function.__name__] = StudyEntry(function.__name__, doc, inputs, self.options, checked, self.command)
        return checked


study = StudyDecorator
