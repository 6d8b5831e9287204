"""The options of studies: the models they are put together from, and the decorator that makes a function a study.

A study is a model of its options and a function of its inputs and these:

    class BiasOptions(Judges, People, Draws):
        length: Annotated[str, Choice(LENGTHS, "length")] = Field("words", description="Unit of length.")

    @study(BiasOptions)
    def bias(run: RunLike, gold: Gold, options: BiasOptions) -> Study: ...

Callers write `bias(run, gold, length="words", resamples=0)`. The command `summeter meta bias` with its options, and the
reference page, are made from the same model.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import wraps
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
from pydantic_core import CoreSchema, ErrorDetails, core_schema

from summeter.choices import USUAL_COEFFICIENTS, AggregationRule, Tie
from summeter.data.human import RAW
from summeter.meta.gold import Aggregation
from summeter.meta.results import resampling
from summeter.records import UsageError, nearest
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
    """The values that an option accepts: an enumeration, whose member the value becomes, or names.

    `name` is what one of them is called. The static type of such an option is `str`, so that callers can write
    `level="document"`.
    """

    values: Iterable[str]
    name: str

    def member(self, value: object) -> str:
        """The value, as a member where the values are an enumeration. Raises ValueError naming the nearest value."""
        known = [str(each) for each in self.values]
        if value not in known:
            raise ValueError(f"no {self.name} {value!r}{nearest(value, known)}; there are: {', '.join(known)}")
        return next(each for each in self.values if each == value)

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = core_schema.no_info_plain_validator_function(self.member)
        return core_schema.nullable_schema(schema) if NoneType in get_args(source) else schema


@dataclass(frozen=True)
class CommandLine:
    """How the command line shows an option: its names where they are not just `--name`, and what its value is.

    `python_only` leaves an option out of the command line.
    """

    names: tuple[str, ...] = ()
    metavar: str | None = None
    python_only: bool = False


def _listed(value: object) -> object:
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


LISTED = BeforeValidator(_listed)
"""Marks an option whose values may also be given as one text: `1,2,3`, which is how the command line takes them."""


class Options(BaseModel):
    """Base of the options of all studies."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    @classmethod
    def of(cls, keywords: Mapping[str, object]) -> Self:
        """The options with these values. Raises UsageError for an unknown keyword or a value it cannot have."""
        for name in keywords:
            if name not in cls.model_fields:
                known = ", ".join(cls.ordered())
                raise UsageError(f"there is no keyword {name!r}{nearest(name, cls.model_fields)}; there are: {known}")
        try:
            return cls.model_validate(dict(keywords))
        except ValidationError as error:
            raise UsageError(explained(error.errors(include_url=False)[0])) from error

    @classmethod
    def ordered(cls) -> dict[str, FieldInfo]:
        """The fields: a study's own, then those of each base in the order in which the class names its bases."""
        names = dict.fromkeys(
            [*inspect.get_annotations(cls), *(name for base in cls.__bases__ for name in _names(base))]
        )
        return {name: cls.model_fields[name] for name in names if name in cls.model_fields}


def _names(model: type) -> Iterator[str]:
    """The names annotated in a class and its bases, those of the bases first."""
    for base in model.__bases__:
        yield from _names(base)
    yield from inspect.get_annotations(model)


_BOUNDS = {
    "greater_than": ("above", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("below", "lt"),
    "less_than_equal": ("at most", "le"),
}


def explained(fault: ErrorDetails) -> str:
    """What is wrong with a value, in one sentence that names its keyword."""
    name, kind, value = fault["loc"][0], fault["type"], fault["input"]
    if kind == "value_error":
        return fault["msg"].removeprefix("Value error, ")
    if kind == "missing" and len(fault["loc"]) == 1:
        return f"{name} is missing; give {name}=..."
    if kind == "too_short":
        return f"{name} is empty; give at least one"
    if kind in _BOUNDS:
        words, bound = _BOUNDS[kind]
        return f"{name} must be {words} {fault['ctx'][bound]:g}, not {value!r}"
    expected = fault["msg"].removeprefix("Input should be ")
    return f"{name}: {expected}" if expected == fault["msg"] else f"{name} must be {expected}, not {value!r}"


class Aspects(Options):
    """Which aspects are studied."""

    aspect: Annotated[str | Sequence[str] | None, CommandLine(metavar="A|JUDGE:GOLD")] = Field(
        None,
        description="An aspect, or JUDGE:GOLD where the judge and people name it differently. Repeatable. "
        "Default: every aspect that both judged.",
    )

    @property
    def aspects(self) -> tuple[str, ...]:
        """The aspects asked for; none means every aspect that both sides have."""
        if self.aspect is None:
            return ()
        return (self.aspect,) if isinstance(self.aspect, str) else tuple(self.aspect)

    @property
    def aspect_pairs(self) -> list[tuple[str, str]]:
        """The judge's and people's name of each aspect asked for.

        >>> Aspects(aspect=["fluency", "overall: coherence"]).aspect_pairs
        [('fluency', 'fluency'), ('overall', 'coherence')]
        """
        sides = [[side.strip() for side in aspect.partition(":")[::2]] for aspect in self.aspects]
        return [(own, gold or own) for own, gold in sides]

    @property
    def judge_aspects(self) -> list[str]:
        """The judge's name of each aspect asked for."""
        return [own for own, _ in self.aspect_pairs]

    @property
    def gold_aspects(self) -> list[str]:
        """People's name of each aspect asked for."""
        return [gold for _, gold in self.aspect_pairs]


class Judges(Aspects):
    """Which judges and aspects are studied."""

    judge: str | None = Field(None, description="Only this judge (name or signature).")


class By(Options):
    """A column by which results are broken down."""

    by: Annotated[str | None, CommandLine(metavar="COLUMN")] = Field(
        None,
        description="Also a row for each value of this column (domain, category, system, split...); a*b crosses two.",
    )


class JudgmentSet(Options):
    """Which people's judgments are read."""

    judgment_set: Annotated[str, CommandLine(metavar="NAME")] = Field(RAW, description="The judgment set of the data.")


class Merge(JudgmentSet):
    """How several people's judgments of a unit become one value."""

    merge: str = Field(
        AggregationRule.AUTO.value,
        description="How annotators are merged: auto (majority of labels, mean of ratings), mean, majority, "
        "mode_else_mean, each; or the id of one annotator.",
    )
    min_votes: int = Field(1, ge=1, description="Leave out units with fewer votes.")

    @property
    def rule(self) -> Aggregation:
        """How annotators are merged."""
        return Aggregation(self.merge, min_votes=self.min_votes)


class People(Merge):
    """Which of people's judgments are used, and how they are merged."""

    source: str | None = Field(
        None,
        description="Which of people's judgments: sentence_labels, key_fact_labels, conciseness_labels, alignment, "
        "ratings... Default: labels of units, else ratings, else overall.",
    )
    tie: Annotated[str, Choice(Tie, "tie rule")] = Field(
        Tie.FINESURE,
        description="What a majority does with a tie; finesure: a sentence is then supported, anything else absent.",
    )

    @property
    def rule(self) -> Aggregation:
        """How annotators are merged.

        >>> People(tie="low", min_votes=2).rule
        Aggregation(merge='auto', tie=<Tie.LOW: 'low'>, min_votes=2)
        """
        return Aggregation(self.merge, self.tie, self.min_votes)


class Selection(Judges, People):
    """Which judges are compared with which of people's judgments."""


class GoldAtLeast(People):
    """A threshold that turns people's values into yes and no."""

    gold_at_least: float | None = Field(
        None, description="People's values from this one on count as yes, others as no."
    )


class MinItems(Options):
    """The fewest items of a mean."""

    min_items: int = Field(1, ge=1, description="Leave out systems or documents with fewer items.")


class Draws(Options):
    """The bootstrap by document."""

    resamples: int = Field(1000, ge=0, description="Resamples of the bootstrap by document; 0 for no intervals.")
    confidence: float = Field(0.95, gt=0, lt=1, description="Level of the intervals.")
    seed: int = Field(0, description="Random seed.")

    @property
    def resampling(self) -> Resampling:
        """Makes the bootstrap of the clusters it is given."""
        return resampling(self.resamples, self.confidence, self.seed)


class Significance(Draws):
    """How differences are tested."""

    resamples: int = Field(2000, ge=0, description="Resamples of the bootstrap by document; 0 for no intervals.")
    permutations: int = Field(
        10_000,
        ge=1,
        description="Permutations of the test: all of them where there are no more; raised for many pairs.",
    )
    alpha: float = Field(
        0.05,
        gt=0,
        lt=1,
        description="The corrected p-value from which a difference counts; intervals of differences hold at 1 - alpha.",
    )


class Coefficients(Options):
    """Coefficients: some of those that are `known`, a class variable of each study."""

    known: ClassVar[Sequence[str]] = tuple(CORRELATIONS)

    coefficients: Annotated[Sequence[str], CommandLine(("--coefficient", "--coefficients"))] = Field(
        USUAL_COEFFICIENTS, min_length=1, description="Coefficients to compute. Repeatable."
    )

    @field_validator("coefficients")
    @classmethod
    def _all_known(cls, names: Sequence[str]) -> Sequence[str]:
        return [Choice(cls.known, "coefficient").member(name) for name in names]

    @classmethod
    def ordered(cls) -> dict[str, FieldInfo]:
        """The fields, of which that of coefficients lists those that are known in its description."""
        fields = super().ordered()
        info = copy(fields["coefficients"])
        info.description = f"{info.description} Any of: {', '.join(cls.known)}."
        return {**fields, "coefficients": info}


class Together(Coefficients):
    """On which systems several coefficients are compared."""

    together: Annotated[bool, CommandLine(("--together/--pairwise-complete",))] = Field(
        default=True,
        description="Leave out a system on which any coefficient is undefined from all of them (Shen et al., 2023), "
        "or only from the one that is undefined on it.",
    )


class Pairs(Options):
    """Pairs of systems."""

    pairs: Annotated[Sequence[str | tuple[str, str]] | None, LISTED, CommandLine(("--pair", "--pairs"), "A-B")] = Field(
        None, description="Only these pairs of systems; default: all. Repeatable."
    )

    def pairs_of(self, systems: Sequence[str]) -> list[tuple[str, str]] | None:
        """The pairs asked for, None for all. Raises UsageError for a name that is none of the systems'.

        In "A-B" the names may hold hyphens themselves, as long as only one cut gives two systems.

        >>> Pairs(pairs=["gpt-4-t5"]).pairs_of(["gpt-4", "t5"])
        [('gpt-4', 't5')]
        """
        if self.pairs is None:
            return None
        there = ", ".join(systems)
        found = []
        for pair in self.pairs:
            if isinstance(pair, str):
                cuts = [(pair[:at], pair[at + 1 :]) for at, sign in enumerate(pair) if sign == "-"]
                known = [cut for cut in cuts if cut[0] in systems and cut[1] in systems and cut[0] != cut[1]]
                if len(known) != 1:
                    why = "can be read in two ways" if known else "names no two systems"
                    raise UsageError(f"the pair {pair} {why}; the systems are: {there}")
                found += known
            else:
                for name in pair:
                    if name not in systems:
                        raise UsageError(f"no system {name!r}{nearest(name, systems)}; there are: {there}")
                found.append(pair)
        return found


class Families(Options):
    """Who made systems and judges."""

    families: Annotated[Mapping[str, str] | None, CommandLine(("--family", "--families"), "SYSTEM=NAME")] = Field(
        None, description="The family that a system belongs to. Repeatable."
    )
    judge_families: Annotated[
        Mapping[str, str] | None, CommandLine(("--judge-family", "--judge-families"), "JUDGE=NAME")
    ] = Field(
        None,
        description="The family that a judge (name, signature or model) belongs to; default: the family whose name is "
        "part of its model's name. Repeatable.",
    )


@dataclass(frozen=True)
class Input:
    """An input of a study: whether it may be None, and whether it may be left out, which says the same."""

    name: str
    nullable: bool
    optional: bool


class StudyEntry(NamedTuple):
    """A study: its name and docstring, what it takes, and the function that users call.

    `command` is the argument for runs of a command that needs nothing besides the options ("RUN..."); None where the
    study has no command of its own, or one that is written out in `cli.meta`.
    """

    name: str
    doc: str
    inputs: tuple[Input, ...]
    options: type[Options]
    function: Callable[..., Any]
    command: str | None = None

    @property
    def about(self) -> str:
        """The first paragraph of the docstring, on one line."""
        return " ".join(self.doc.partition("\n\n")[0].split())


STUDIES: dict[str, StudyEntry] = {}
"""All studies by the name of their function."""


class OfOptionalGold(Protocol[A_contra, B_contra, P, R_co]):
    """A study whose second input can be left out."""

    def __call__(self, run: A_contra, gold: B_contra | None = None, *args: P.args, **options: P.kwargs) -> R_co: ...


class StudyDecorator(Generic[P, OptionsT]):
    """What `study` returns: applied to a function of one to three inputs and the options, it makes it a study."""

    def __init__(self, options: type[Options], command: str | None) -> None:
        self.options = options
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

        @wraps(function)
        def checked(*args: object, **keywords: object) -> Any:
            given = {name: keywords.pop(name) for name in names if name in keywords}
            options = self.options.of(keywords)
            bound = positional.bind(*args, **given)
            bound.apply_defaults()
            return function(*bound.args, options)

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


def study(options: Callable[P, OptionsT], *, command: str | None = None) -> StudyDecorator[P, OptionsT]:
    """Make a function a study with these options; with `command` also `summeter meta NAME` (see `StudyEntry`).

    The function takes the study's inputs and then its options as one model; callers pass the options as keywords.
    Raises UsageError, when it is called, for an unknown keyword or a value that a keyword cannot have.
    """
    return StudyDecorator(cast("type[Options]", options), command)
