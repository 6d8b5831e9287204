"""What a study looks at, chosen once for all studies: which judges, which gold, how merged, broken down by what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from summeter.choices import AggregationRule, Average, Level, ValueOrLabel
from summeter.meta.context import CROSSED, Context
from summeter.meta.gold import Aggregation, aspects, block_of, blocks, decisions, gold_scores
from summeter.meta.inputs import Gold, JudgeInput, RunLike, gold_input, judge_input
from summeter.meta.options import GoldAtLeast, Judges, JudgmentSet, People, Selection
from summeter.meta.results import merged, named
from summeter.meta.sample import Grid, Sample
from summeter.records import UsageError, nearest
from summeter.scoring.table import JudgmentTable


def check_known(values: Sequence[str], known: Sequence[str], name: str) -> None:
    """Raise UsageError for no value or one that is not known, naming the keyword `name` and the nearest that is."""
    if not values:
        raise UsageError(f"no {name} given; there are: {', '.join(known)}")
    for value in values:
        if value not in known:
            raise UsageError(f"no {name} {value!r}{nearest(value, known)}; there are: {', '.join(known)}")


class Group(NamedTuple):
    """The votes on the units with one value of a column; both None for all units."""

    column: str | None
    value: str | None
    sample: Sample

    @property
    def grid(self) -> Grid:
        """The votes as tables systems x documents."""
        return Grid.of(self.sample)

    def fields(self) -> dict[str, Any]:
        """The grouping keys of a `Row`."""
        return {} if self.column is None or self.value is None else group_fields(self.column, self.value)

    def about(self) -> dict[str, Any]:
        """Judge, people and the grouping keys, as fields of a `Row`."""
        return merged(named(self.sample.judge, self.sample.gold), self.fields())


def group_fields(column: str, value: str) -> dict[str, Any]:
    """The fields of a `Row` about the rows with one value of a column, or of several that are crossed ("a*b").

    >>> group_fields("domain*length", "news * short")
    {'domain': 'news', 'details': {'by': 'domain*length', 'group': 'news * short'}}
    """
    names, values = [name.strip() for name in column.split("*")], value.split(CROSSED)
    own = dict(zip(names, values, strict=True)) if len(names) == len(values) else {column: value}
    fields: dict[str, Any] = {name: own[name] for name in own if name in {"system", "domain", "category"}}
    return fields if len(fields) == len(own) else {**fields, "details": {"by": column, "group": value}}


class MetaInput(NamedTuple):
    """Judge and people, read once."""

    judge: JudgeInput
    gold: JudgmentTable
    context: Context


def meta_input(run: RunLike, gold: Gold, options: JudgmentSet) -> MetaInput:
    """Read a run and its gold. The context is the gold's data set's, else the run's."""
    judge = judge_input(run)
    columns, context = gold_input(gold, options.judgment_set)
    known = context if context.domains else judge.context
    return MetaInput(judge, columns, known)


def wanted(options: Judges, judge: Sequence[str], gold: Sequence[str]) -> list[tuple[str, str]]:
    """The (judge's aspect, gold's aspect) pairs to study.

    >>> wanted(Judges(aspect=["overall:coherence"]), ["overall"], ["coherence"])
    [('overall', 'coherence')]

    Raises UsageError for an aspect that a side does not have, or where there is none in common.
    """
    if not options.aspects:
        common = [(name, name) for name in judge if name in gold]
        if not common:
            raise UsageError(
                f"the judges' aspects ({_names(judge)}) and people's ({_names(gold)}) have none in common; "
                "name a pair as JUDGE:GOLD with the option aspect"
            )
        return common
    for text, pair in zip(options.aspects, options.aspect_pairs, strict=True):
        for name, there, who in ((pair[0], judge, "the judges"), (pair[1], gold, "people")):
            if name not in there:
                raise UsageError(f"aspect {text!r}: {who} have no {name!r}; they have: {_names(there)}")
    return list(dict.fromkeys(options.aspect_pairs))


def _names(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


def golds(gold: JudgmentTable, aspect: str, level: Level, options: People) -> list[Sample]:
    """People's values of an aspect as the options ask for them: merged, from one source, as yes and no."""
    merged_scores = gold_scores(gold, aspect, level, options.rule, options.source)
    if isinstance(options, GoldAtLeast) and options.gold_at_least is not None:
        return [decisions(scores, options.gold_at_least) for scores in merged_scores]
    return merged_scores


def all_pairs(
    read: MetaInput, level: Level, options: Selection, use: ValueOrLabel = ValueOrLabel.VALUE
) -> Iterator[Sample]:
    """Paired scores of every judge and gold that the options ask for, at the level that judgments are read at.

    Judges that have the aspect but nothing at the level are passed over. Raises UsageError where nothing is left.
    """
    questions = read.judge.questions(judge=options.judge)
    if not questions:
        known = dict.fromkeys(question.judge for question in read.judge.questions())
        raise UsageError(f"no judge {options.judge!r} in the run; it has: {_names(list(known))}")
    there = list(dict.fromkeys(question.aspect for question in questions))
    empty: list[str] = []
    some = False
    for judge_aspect, gold_aspect in wanted(options, there, aspects(read.gold)):
        by_people = golds(read.gold, gold_aspect, level, options)
        if not by_people:
            empty.append(f"people did not judge {gold_aspect} at the level {level.base}")
        for gold in by_people:
            for question in (question for question in questions if question.aspect == judge_aspect):
                scores = read.judge.scores(question, level, use)
                if len(scores):
                    some = True
                    yield Sample.join([scores, gold], read.context)
                else:
                    empty.append(f"{question.judge} judged {judge_aspect} at no {level.base}")
    if not some:
        raise UsageError("; ".join(dict.fromkeys(empty)) or "nothing to study")


def summary_groups(read: MetaInput, options: Selection, by: str | None = None) -> list[Group]:
    """The votes on summaries of every judge beside people, and of each value of the column to break down by.

    Studies of systems (`prefer`, `stability`, `bias`) start here. Raises UsageError where nobody judged summaries on
    what is asked (see `all_pairs`).
    """
    return [group for whole in all_pairs(read, Level.SUMMARY, options) for group in groups(whole, by)]


def groups(sample: Sample, by: str | None) -> Iterator[Group]:
    """All votes, then those on the units with each value of a column."""
    yield Group(None, None, sample)
    if by is not None:
        for value, part in sample.split(by):
            yield Group(by, value, part)


def dev_split(sample: Sample, dev: str) -> tuple[str, Sample, Sample]:
    """The name ("split=dev") and the rows of a dev split (COLUMN=VALUE, or a value of `split`), and the other rows.

    Raises UsageError where there are none on a side.
    """
    name = dev if "=" in dev else f"split={dev}"
    column, _, value = name.partition("=")
    rows = sample.units.column(column).equal(value)
    if not rows.any() or rows.all():
        there = ", ".join(str(name) for name in sample.units.column(column).used() if name is not None) or "none"
        rest = "nothing is left to measure on" if rows.any() else f"no row has {name}; there are: {there}"
        raise UsageError(f"no threshold can be tuned on {name}: {rest}")
    return name, sample.take(rows), sample.take(~rows)


def notes(read: MetaInput, options: People, level: Level, studied: Sequence[Sample]) -> list[str]:
    """What was chosen where there was a choice."""
    chosen: list[str] = []
    if options.source is not None:
        return chosen
    mean = Aggregation(AggregationRule.MEAN)
    for aspect, signature in dict.fromkeys((pairs.gold.aspect, pairs.gold.signature) for pairs in studied):
        if signature.startswith("composite("):
            continue
        used = block_of(signature)
        others = [name for name in blocks(read.gold) if name not in {used, "spans"}]
        others = [name for name in others if gold_scores(read.gold, aspect, level, mean, name)]
        if others:
            chosen.append(f"people's {aspect}: from {used} (also there: {', '.join(others)}; option source)")
    return chosen


def check(level: Level, average: Average) -> None:
    """Raise UsageError for a level and an average that make no sense together."""
    if average is not Average.POOLED and level in {Level.DOCUMENT, Level.SYSTEM}:
        raise UsageError(f"at the level {level} there is one value a {level}: average pooled, not by {average}")
