"""What a study looks at, chosen once for all studies: which judges, which gold, how merged, broken down by what."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import wraps
from typing import Any, NamedTuple, NoReturn, ParamSpec, TypedDict, TypeVar, Unpack

from summeter.choices import AggregationRule, Average, Items, Level, Tie, Use
from summeter.data.human import RAW
from summeter.meta.context import Context
from summeter.meta.gold import Aggregation, aspects, block_of, blocks, decisions, gold_scores
from summeter.meta.inputs import Gold, JudgeInput, RunLike, gold_input, judge_input
from summeter.meta.matrix import PairedScores, align
from summeter.meta.results import Row, RowStatus
from summeter.records import Message, Parameter, UsageError, nearest
from summeter.scoring.table import JudgmentTable

Choice = TypeVar("Choice", bound=StrEnum)
P = ParamSpec("P")
R = TypeVar("R")


class SelectionArgs(TypedDict, total=False):
    """The shared keywords of the studies, all optional; `Selection.of` gives the defaults and the checks.

    `aspect` is a name, `JUDGE:GOLD` for unlike ones, or several of these. `judge` is a judge's name or signature.
    `judgment_set` and `source` choose people's judgments; `merge`, `tie` and `min_votes` say how annotators become
    one value; `gold_at_least` turns their values into yes and no. `by` breaks the rows down by a column as well.
    `items` and `min_items` are for means of documents and systems.
    """

    aspect: str | Sequence[str] | None
    judge: str | None
    judgment_set: str
    source: str | None
    merge: str
    tie: str
    min_votes: int
    gold_at_least: float | None
    by: str | None
    items: str
    min_items: int


@dataclass(frozen=True)
class Selection:
    """Shared options of the studies.

    `aspects` are names, or `JUDGE:GOLD` for unlike ones ("overall:coherence"); none means every aspect that both
    sides have. `judge` is a judge's name or signature. `set_name` is the judgment set of the data; `source` the
    block within it (ratings, overall, sentence_labels...), else the first that has the aspect; `rule` says how
    annotators are merged; `gold_at_least` turns people's values into yes (1, from there on) and no (0). `by` breaks
    the rows down by a column as well. `items` and `min_items` are for means of documents and systems.
    """

    aspects: Sequence[str] = ()
    judge: str | None = None
    set_name: str = RAW
    source: str | None = None
    rule: Aggregation = field(default_factory=Aggregation)
    gold_at_least: float | None = None
    by: str | None = None
    items: Items = Items.COMMON
    min_items: int = 1

    @classmethod
    def of(cls, **args: Unpack[SelectionArgs]) -> Selection:
        """The selection of a study's keywords. Raises UsageError for a value that a keyword does not have.

        >>> Selection.of(aspect="overall", tie="low").rule.tie
        'low'
        """
        if strange := sorted(set(args) - set(SelectionArgs.__annotations__)):
            raise UsageError(
                f"there is no keyword {strange[0]!r}; there are: {', '.join(SelectionArgs.__annotations__)}"
            )
        aspect, items = args.get("aspect"), args.get("items", Items.COMMON)
        if items not in list(Items):
            raise UsageError(f"items is one of {', '.join(Items)}, not {items!r}")
        return cls(
            aspects=() if aspect is None else (aspect,) if isinstance(aspect, str) else tuple(aspect),
            judge=args.get("judge"),
            set_name=args.get("judgment_set", RAW),
            source=args.get("source"),
            rule=Aggregation(
                args.get("merge", AggregationRule.AUTO), args.get("tie", Tie.FINESURE), args.get("min_votes", 1)
            ),
            gold_at_least=args.get("gold_at_least"),
            by=args.get("by"),
            items=Items(items),
            min_items=args.get("min_items", 1),
        )


def checks_keywords(study: Callable[P, R]) -> Callable[P, R]:
    """Makes an unknown keyword of a study a UsageError that names the nearest one."""
    parameters = inspect.signature(study).parameters.values()
    shared = (
        SelectionArgs.__annotations__
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
        else ()
    )
    known = [*(parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY), *shared]
    accepted = {*known, *(parameter.name for parameter in parameters)}

    @wraps(study)
    def checked(*args: P.args, **keywords: P.kwargs) -> R:
        for name in keywords:
            if name not in accepted:
                _refuse(name, known)
        return study(*args, **keywords)

    return checked


def _refuse(keyword: str, known: Iterable[str]) -> NoReturn:
    names = list(known)
    raise UsageError(f"there is no keyword {keyword!r}{nearest(keyword, names)}; there are: {', '.join(names)}")


def choose(kind: type[Choice], value: str, name: str) -> Choice:
    """The member of an enumeration. Raises UsageError naming the keyword `name` and the nearest member."""
    check_known([value], [member.value for member in kind], name)
    return kind(value)


def check_known(values: Sequence[str], known: Sequence[str], name: str) -> None:
    """Raise UsageError for no value or one that is not known, naming the keyword `name` and the nearest that is."""
    if not values:
        raise UsageError(f"no {name} given; there are: {', '.join(known)}")
    for value in values:
        if value not in known:
            raise UsageError(f"no {name} {value!r}{nearest(value, known)}; there are: {', '.join(known)}")


class Group(NamedTuple):
    """The rows of one value of a column; both None for all rows."""

    column: str | None
    value: str | None
    pairs: PairedScores

    def fields(self) -> dict[str, Any]:
        """The grouping keys of a `Row`."""
        if self.column is None:
            return {}
        if self.column in {"system", "domain", "category"}:
            return {self.column: self.value}
        return {"details": {"by": self.column, "group": self.value}}


class MetaInput(NamedTuple):
    """Judge and people, read once."""

    judge: JudgeInput
    gold: JudgmentTable
    context: Context


def meta_input(run: RunLike, gold: Gold, selection: Selection) -> MetaInput:
    """Read a run and its gold. The context is the gold's data set's, else the run's."""
    judge = judge_input(run)
    columns, context = gold_input(gold, selection.set_name)
    known = context if context.domains else judge.context
    return MetaInput(judge, columns, known)


def wanted(selection: Selection, judge: Sequence[str], gold: Sequence[str]) -> list[tuple[str, str]]:
    """The (judge's aspect, gold's aspect) pairs to study.

    >>> wanted(Selection(aspects=["overall:coherence"]), ["overall"], ["coherence"])
    [('overall', 'coherence')]

    Raises UsageError for an aspect that a side does not have, or where there is none in common.
    """
    if not selection.aspects:
        common = [(name, name) for name in judge if name in gold]
        if not common:
            raise UsageError(
                f"the judges' aspects ({_names(judge)}) and people's ({_names(gold)}) have none in common; "
                "name a pair with ",
                Parameter("aspect", "'JUDGE:GOLD'"),
            )
        return common
    found = []
    for text in selection.aspects:
        left, _, right = text.partition(":")
        pair = left.strip(), right.strip() or left.strip()
        for name, there, who in ((pair[0], judge, "the judges"), (pair[1], gold, "people")):
            if name not in there:
                raise UsageError(
                    Parameter("aspect", repr(text)), f": {who} have no {name!r}; they have: {_names(there)}"
                )
        found.append(pair)
    return list(dict.fromkeys(found))


def _names(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


def all_pairs(read: MetaInput, level: Level, selection: Selection, use: Use = Use.VALUE) -> Iterator[PairedScores]:
    """Paired scores of every judge and gold that the selection asks for, at the level that judgments are read at.

    Judges that have the aspect but nothing at the level are passed over. Raises UsageError where nothing is left.
    """
    questions = read.judge.questions(judge=selection.judge)
    if not questions:
        known = dict.fromkeys(one[0] for one in read.judge.questions())
        raise UsageError(f"no judge {selection.judge!r} in the run; it has: {_names(list(known))}")
    there = list(dict.fromkeys(one[2] for one in questions))
    empty: list[str] = []
    some = False
    for judge_aspect, gold_aspect in wanted(selection, there, aspects(read.gold)):
        golds = gold_scores(read.gold, gold_aspect, level, selection.rule, selection.source)
        if not golds:
            empty.append(f"people did not judge {gold_aspect} at the level {level.base}")
        for gold in golds:
            if selection.gold_at_least is not None:
                gold = decisions(gold, selection.gold_at_least)  # noqa: PLW2901 - the same gold, as yes and no
            for question in (one for one in questions if one[2] == judge_aspect):
                made = read.judge.scores(question, level, use)
                if len(made):
                    some = True
                    yield align(made, gold, read.context)
                else:
                    empty.append(f"{question[0]} judged {judge_aspect} at no {level.base}")
    if not some:
        raise UsageError("; ".join(dict.fromkeys(empty)) or "nothing to study")


def groups(pairs: PairedScores, by: str | None) -> Iterator[Group]:
    """All rows, then those of each value of a column."""
    yield Group(None, None, pairs)
    if by is not None:
        for value, part in pairs.split(by):
            yield Group(by, value, part)


def notes(read: MetaInput, selection: Selection, level: Level, found: Sequence[PairedScores]) -> list[str]:
    """What was chosen where there was a choice."""
    chosen: list[str] = []
    for gold in dict.fromkeys((pairs.gold.aspect, pairs.gold.signature) for pairs in found):
        aspect, signature = gold
        used = block_of(signature)
        others = [
            name for name in blocks(read.gold)
            if name not in {used, "spans"} and gold_scores(
                read.gold, aspect, level, Aggregation(AggregationRule.MEAN), name
            )
        ] if selection.source is None and not signature.startswith("composite(") else []  # fmt: skip
        if others:
            chosen.append(
                Message(
                    f"people's {aspect}: from {used} (there are also {', '.join(others)}: ",
                    Parameter("source", "..."),
                    ")",
                )
            )
    return chosen


def check(level: Level, average: Average) -> None:
    """Raise UsageError for a level and an average that make no sense together."""
    if average is not Average.POOLED and level in {Level.DOCUMENT, Level.SYSTEM}:
        raise UsageError(f"at the level {level} there is one value a {level}: average pooled, not by {average}")


def row(study: str, group: Group, statistic: str, value: float | None, **more: Any) -> Row:
    """A row about these pairs, with everything that names them filled in. `details` are added to the group's."""
    pairs = group.pairs
    named = group.fields()
    details = {**named.pop("details", {}), **more.pop("details", {})}
    if reasons := pairs.missing_reasons:
        details["missing_reasons"] = reasons
    if pairs.source is not None:
        details["items"] = pairs.source.n
        details["items_missing"] = pairs.source.missing
    status: RowStatus = more.pop("status", "undefined" if value is None else "ok")
    return Row(
        study=study, judge=pairs.judge.judge, signature=pairs.judge.signature, model=pairs.judge.model,
        aspect=pairs.judge.aspect, gold_aspect=pairs.gold.aspect, gold_signature=pairs.gold.signature,
        level=pairs.level.value, statistic=statistic, value=value, status=status, details=details, **named, **more,
    )  # fmt: skip


def selected(selection: Selection | None, aspect: str | Sequence[str] | None) -> Selection:
    """The selection with an aspect (or several) given beside it."""
    found = selection or Selection()
    if aspect is None:
        return found
    return replace(found, aspects=(aspect,) if isinstance(aspect, str) else tuple(aspect))
