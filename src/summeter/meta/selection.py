"""Select the data of a study: judges, gold, merging of annotators, and groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from summeter.choices import Average, Level, ValueOrLabel
from summeter.meta.context import CROSSED, Context
from summeter.meta.gold import aspects, block_of, blocks, decisions, gold_scores
from summeter.meta.inputs import Gold, JudgeInput, RunLike, gold_input, judge_input, restricted
from summeter.meta.options import GoldAtLeast, Judges, JudgmentSet, People, Selection
from summeter.meta.results import Row, merged, named
from summeter.meta.sample import Grid, Sample
from summeter.records import Parameter, UsageError, nearest
from summeter.scoring.table import JudgmentTable


def check_known(values: Sequence[str], known: Sequence[str], name: str) -> None:
    """Raise UsageError if there are no values or if a value is unknown.

    The message contains the keyword `name` and the nearest known value.
    """
    if not values:
        raise UsageError(f"{name} is empty; choose from: {', '.join(known)}")
    for value in values:
        if value not in known:
            raise UsageError(f"unknown {name} {value!r}{nearest(value, known)}; choose from: {', '.join(known)}")


class Group(NamedTuple):
    """Votes on the units that have a given value in a column.

    Column and value are None for the group of all units.
    """

    column: str | None
    value: str | None
    sample: Sample

    @property
    def grid(self) -> Grid:
        """Votes as a grid of systems and documents."""
        return Grid.of(self.sample)

    def fields(self) -> dict[str, Any]:
        """Return the grouping fields of a `Row`."""
        return {} if self.column is None or self.value is None else group_fields(self.column, self.value)

    def about(self) -> dict[str, Any]:
        """Return the fields of a `Row` that identify the judge, people and the group."""
        return merged(named(self.sample.judge, self.sample.gold), self.fields())


def group_fields(column: str, value: str) -> dict[str, Any]:
    """Return the grouping fields of a `Row` for one value of a column or of crossed columns ("a*b").

    >>> group_fields("domain*length", "news * short")
    {'domain': 'news', 'details': {'by': 'domain*length', 'group': 'news * short'}}
    """
    names, values = [name.strip() for name in column.split("*")], value.split(CROSSED)
    value_of = dict(zip(names, values, strict=True)) if len(names) == len(values) else {column: value}
    fields: dict[str, Any] = {name: value_of[name] for name in value_of if name in {"system", "domain", "category"}}
    return fields if len(fields) == len(value_of) else {**fields, "details": {"by": column, "group": value}}


def group_label(row: Row) -> str | None:
    """Return the group of a row apart from its system, or None if the row is about all summaries.

    >>> fields = group_fields("domain*length", "news * short")
    >>> group_label(Row(study="gate", statistic="mean", value=0.5, n=9, **fields))
    'news * short'
    """
    group: str | None = row.details.get("group")
    # A group of crossed columns contains the domain and the category.
    names = [group.removesuffix(f"{CROSSED}{row.system}")] if group else [row.domain, row.category]
    return CROSSED.join(filter(None, names)) or None


class MetaInput(NamedTuple):
    """The judgments of judges and people, and the context of the data."""

    judge: JudgeInput
    gold: JudgmentTable
    context: Context


def meta_input(run: RunLike, gold: Gold, options: JudgmentSet) -> MetaInput:
    """Return the judgments of a run and its gold.

    The context is that of the gold if there is one, and otherwise that of the run. Raises UsageError if they have no
    document, or no system, in common.
    """
    judge = judge_input(run)
    table, context = gold_input(gold, options.judgment_set)
    for name, columns in (("document", ("document",)), ("system", ("system", "rival"))):
        judged, rated = (
            list(dict.fromkeys(each for column in columns for each in getattr(side, column).used() if each is not None))
            for side in (judge.table, table)
        )
        if judged and rated and set(judged).isdisjoint(rated):
            examples = f"the first of the judges is {judged[0]!r}, and of people {rated[0]!r}"
            raise UsageError(f"judges and people have no {name} in common: {examples}")
    return MetaInput(judge, restricted(table, judge.common), context if context.domains else judge.context)


def wanted(options: Judges, judge: Sequence[str], gold: Sequence[str]) -> list[tuple[str, str]]:
    """Return the pairs (aspect of the judges, aspect of the gold) to study.

    >>> wanted(Judges(aspect=["overall:coherence"]), ["overall"], ["coherence"])
    [('overall', 'coherence')]

    Raises UsageError if a selected aspect is missing on one side, or if the sides have no aspect in common.
    """
    if not options.aspects:
        common = [(name, name) for name in judge if name in gold]
        if not common:
            raise UsageError(
                f"the aspects of the judges ({_names(judge)}) and of people ({_names(gold)}) have none in common; "
                "give a pair with ",
                Parameter("aspect", "JUDGE:GOLD"),
            )
        return common
    for text, pair in zip(options.aspects, options.aspect_pairs, strict=True):
        for name, known, side in ((pair[0], judge, "the judges"), (pair[1], gold, "people")):
            if name not in known:
                raise UsageError(f"aspect {text!r}: {side} have no {name!r}; they have: {_names(known)}")
    return list(dict.fromkeys(options.aspect_pairs))


def _names(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


def golds(gold: JudgmentTable, aspect: str, level: Level, options: People) -> list[Sample]:
    """Return the human values of an aspect, merged from the selected source.

    The values are converted to labels if `gold_at_least` is selected.
    """
    merged_scores = gold_scores(gold, aspect, level, options)
    if isinstance(options, GoldAtLeast) and options.gold_at_least is not None:
        return [decisions(scores, options.gold_at_least) for scores in merged_scores]
    return merged_scores


def all_pairs(
    read: MetaInput, level: Level, options: Selection, use: ValueOrLabel = ValueOrLabel.VALUE
) -> Iterator[Sample]:
    """Yield the joined values of each selected judge and gold, at the given level.

    Judges without values at the level are skipped. Raises UsageError if no judge has any.
    """
    questions = read.judge.questions(judge=options.judge)
    if not questions:
        known = dict.fromkeys(question.judge for question in read.judge.questions())
        raise UsageError(f"the run has no judge {options.judge!r}; it has: {_names(list(known))}")
    judged = list(dict.fromkeys(question.aspect for question in questions))
    reasons: list[str] = []
    found = False
    for judge_aspect, gold_aspect in wanted(options, judged, aspects(read.gold)):
        by_people = golds(read.gold, gold_aspect, level, options)
        if not by_people:
            others = [other.base for other in Level if golds(read.gold, gold_aspect, other, options)]
            instead = f", but at the level {' or '.join(dict.fromkeys(others))}" if others else ""
            reasons.append(f"people did not judge {gold_aspect} at the level {level.base}{instead}")
        for gold in by_people:
            for question in (question for question in questions if question.aspect == judge_aspect):
                scores = read.judge.scores(question, level, use)
                if len(scores):
                    found = True
                    yield Sample.join([scores, gold], read.context)
                else:
                    reasons.append(f"{question.judge} did not judge {judge_aspect} at the level {level.base}")
    if not found:
        raise UsageError("; ".join(dict.fromkeys(reasons)) or "the run and the human judgments have none in common")


def pairs_by_level(
    read: MetaInput, levels: Sequence[Level], options: Selection, use: ValueOrLabel = ValueOrLabel.VALUE
) -> Iterator[tuple[Level, list[Sample]]]:
    """Yield each level at which judges and people have values, with the joined values (see `all_pairs`).

    Raises UsageError, with the reason for the first level, if there is no such level.
    """
    reason: UsageError | None = None
    found = False
    for level in levels:
        try:
            pairs = list(all_pairs(read, level, options, use))
        except UsageError as error:
            reason = reason or error
        else:
            found = True
            yield level, pairs
    if reason is not None and not found:
        raise reason


def summary_groups(read: MetaInput, options: Selection, by: str | None = None) -> list[Group]:
    """Return the votes of people and of each judge on summaries, as groups.

    There is one group for all summaries and one for each value of the column `by`. The studies of systems (`prefer`,
    `stability`, `bias`) use these groups. Raises UsageError if no summaries were judged on the selected aspects (see
    `all_pairs`).
    """
    return [group for whole in all_pairs(read, Level.SUMMARY, options) for group in groups(whole, by)]


def groups(sample: Sample, by: str | None) -> Iterator[Group]:
    """Yield all votes, then the votes on the units of each value of a column."""
    yield Group(None, None, sample)
    if by is not None:
        for value, part in sample.split(by):
            yield Group(by, value, part)


def dev_split(sample: Sample, dev: str) -> tuple[str, Sample, Sample]:
    """Return the name and the rows of a dev split, and the other rows.

    `dev` is COLUMN=VALUE or a value of the column `split`. The name is, for example, "split=dev". Raises UsageError if
    the split or the rest is empty.
    """
    name = dev if "=" in dev else f"split={dev}"
    column, _, value = name.partition("=")
    rows = sample.units.column(column).equal(value)
    if not rows.any() or rows.all():
        known = ", ".join(str(name) for name in sample.units.column(column).used() if name is not None) or "none"
        why = "no other rows are left to measure on" if rows.any() else f"no row has {name}; the values are: {known}"
        raise UsageError(f"no threshold can be tuned on {name}: {why}")
    return name, sample.take(rows), sample.take(~rows)


def notes(read: MetaInput, options: People, level: Level, studied: Sequence[Sample]) -> list[str]:
    """Return notes on labelled summaries that the judges lack, and on sources that were chosen automatically."""
    texts: list[str] = []
    ours, theirs = (
        set(zip(of.document.labels(), of.system.labels(), strict=True)) for of in (read.judge.table, read.gold)
    )
    if alone := theirs - ours:
        document, system = min(alone, key=str)
        texts.append(
            f"{len(alone):,} of {len(theirs):,} summaries that people judged have no judgment by the judges, such as "
            f"that of {document} by {system}"
        )
    if options.source is not None:
        return texts
    for aspect, signature in dict.fromkeys((pairs.gold.aspect, pairs.gold.signature) for pairs in studied):
        if signature.startswith("composite("):
            continue
        used = block_of(signature)
        others = [name for name in blocks(read.gold) if name not in {used, "spans"}]
        others = [name for name in others if gold_scores(read.gold, aspect, level, People(merge="mean", source=name))]
        if others:
            texts.append(f"people's {aspect} is from {used}; also available: {', '.join(others)} (option source)")
    return texts


def check_average(level: Level, average: Average) -> None:
    """Raise UsageError if values at a level cannot be averaged in the given way."""
    if average is not Average.POOLED and level in {Level.DOCUMENT, Level.SYSTEM}:
        raise UsageError(f"the level {level} has one value per {level}; use the average pooled, not {average}")
