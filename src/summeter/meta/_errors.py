"""Agreement on error types: does a judge find the kinds of error that people found (FineSurE, Table 2)?

A sentence has a set of types, compared under canonical names (`records.taxonomy`): FineSurE's nine or UniSumEval's
five; FRANK's short names (EntE, RelE ...) are FineSurE's under other names. Of the sentences that people call wrong,
the *localisation accuracy* of a type is the share to which the judge gives it too; the mean over types is the figure
of Table 2, and the pooled share stands beside it. The confusion counts are complete, "no error" included.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, assert_never

import numpy as np
from pydantic import Field

from summeter.choices import AggregationRule, Annotators, Match
from summeter.meta.gold import PEOPLE, check_named
from summeter.meta.inputs import Gold, RunLike
from summeter.meta.options import Choice, CommandLine, Judges, Merge, study
from summeter.meta.results import Row, Study, interval_row
from summeter.meta.selection import MetaInput, meta_input
from summeter.records import UsageError, canonical_error_type, joined_error_types
from summeter.records.taxonomy import FINESURE, NO_ERROR, SEPARATOR, UNISUMEVAL, error_type_stem
from summeter.scoring.table import JudgmentTable, Question
from summeter.stats.base import Estimate, undefined

STUDY = "errors"
UNKNOWN = "not named"
LOCALISATION = "localisation_accuracy"
FAITHFULNESS = "faithfulness"

Types = frozenset[str]
SentenceKey = tuple[str, str, int]
_CLEAN: Types = frozenset({NO_ERROR})


class ErrorsOptions(Judges, Merge):
    """The options of `errors`."""

    aspect: Annotated[str | Sequence[str] | None, CommandLine(metavar="A")] = Field(
        FAITHFULNESS, description="The aspect whose errors have types. Repeatable."
    )
    match: Annotated[str, Choice(Match, "match")] = Field(
        Match.ANY,
        description="When a judge's types of a sentence fit people's: any (one in common), all (the judge has all of "
        "theirs) or exact (the same types).",
    )
    annotators: Annotated[str, Choice(Annotators, "annotators")] = Field(
        Annotators.MAJORITY,
        description="Which types are people's: majority (types that more than half of them name, else the set that "
        "most of them give; a tie leaves the sentence out) or any (every type that someone names, where more than "
        "half see an error).",
    )
    rename: Annotated[Mapping[str, str] | None, CommandLine(metavar="TYPE=NAME")] = Field(
        None,
        description='Rename types, or joined types ("A+B"), on both sides before they are compared. Repeatable.',
    )

    def types(self, text: str) -> Types:
        """The types in a record's text under canonical names, renamed."""
        return named_types(text, self.rename or {})

    def fits(self, judge: Types, gold: Types) -> bool:
        """Whether a judge's types of a wrong sentence fit people's."""
        fitting = {Match.ANY: bool(judge & gold), Match.ALL: gold <= judge, Match.EXACT: gold == judge}
        return fitting[Match(self.match)]

    def names(self, judge: Types, gold: Types, kind: str) -> bool:
        """Whether a judge that gave these types has named `kind`, one of people's: by itself, or the same set."""
        return gold == judge if self.match == Match.EXACT else kind in judge

    @property
    def signature(self) -> str:
        """How people's types were merged and compared."""
        who = "" if self.merge in {AggregationRule.AUTO, AggregationRule.MAJORITY} else f"|annotator:{self.merge}"
        least = f"|min:{self.min_votes}" if self.min_votes > 1 else ""
        match = f"|match:{self.match}" if self.match != Match.ANY else ""
        return f"human.sentence_labels{who}|types:{self.annotators}{match}{least}|v:1"


@study(ErrorsOptions, command="RUN...")
def errors(run: RunLike, gold: Gold, options: ErrorsOptions) -> Study:
    """Compare the types of errors that judges find with those people find, sentence by sentence.

    Rows have the study "errors": `localisation_accuracy` of each type (its name in `details.group`), their mean
    (`details.group` "mean of types"), of all wrong sentences pooled ("all errors", with the confusion counts in
    `details`), and `detection`: the share of wrong sentences that get any error type. `missing` counts sentences
    without a usable verdict. Raises UsageError where no one named types.
    """
    both = meta_input(run, gold, options)
    rows: list[Row] = []
    for aspect in options.aspects or (FAITHFULNESS,):
        types = _gold_types(both.gold, aspect, options)
        if not types:
            raise UsageError(f"people named no error types of sentences on {aspect}")
        for question in both.judge.questions(aspect, options.judge):
            if question in both.judge.rows:
                rows.extend(_rows(both, question, types, options))
        if not rows:
            raise UsageError(f"no judge of the run named error types of sentences on {aspect}")
    return Study(STUDY, rows)


def named_types(text: str, rename: Mapping[str, str]) -> Types:
    """The types in a record's text under canonical names, renamed; either side of `rename` may be joined types.

    >>> named_types("OutE", {"out of context": "out-of-article error"})
    frozenset({'out-of-article error'})
    >>> sorted(named_types("RelE+OutE+EntE", {"EntE+RelE": "fact", "OutE": "a+b"}))
    ['a', 'b', 'fact']
    """
    left, types = _split(text), set()
    for old, new in sorted(rename.items(), key=lambda pair: -len(_split(pair[0]))):
        stems = {error_type_stem(name) for name in _split(old)}
        hits = [name for name in left if stems & _stems(name)]
        if stems and stems <= {stem for name in hits for stem in _stems(name)}:
            left = [name for name in left if name not in hits]
            types |= set(_split(new))
    types |= {canonical_error_type(name) for name in left}
    return frozenset(types - {NO_ERROR} or types)


def _split(text: str) -> list[str]:
    return [name.strip() for name in text.split(SEPARATOR) if name.strip()]


def _stems(name: str) -> set[str]:
    """A type as it is spelled and under its canonical name, for comparison."""
    return {error_type_stem(name), error_type_stem(canonical_error_type(name))}


def _typed(columns: JudgmentTable, aspect: str) -> Iterator[tuple[SentenceKey, str, str | None, str]]:
    """(sentence, judge, types as text, status) of every judged sentence; a label 1 without types is "no error"."""
    rows = columns.take(columns.unit.equal("sentence") & columns.aspect.equal(aspect))
    named = zip(
        rows.document.labels(), rows.system.labels(), rows.index.tolist(), rows.judge.labels(),
        rows.error_type.labels(), rows.named.labels(), rows.label.tolist(), rows.status.labels(), strict=True,
    )  # fmt: skip
    for document, system, index, judge, kind, name, label, status in named:
        yield (document, system, index), judge, kind or name or (NO_ERROR if label == 1 else None), status


def _gold_types(columns: JudgmentTable, aspect: str, options: ErrorsOptions) -> dict[SentenceKey, Types]:
    """People's types of each sentence, none where they are unclear; nothing at all where no one named a type."""
    rule = options.merge
    check_named(options.rule, columns.judge.used())
    if rule not in set(AggregationRule) and rule not in columns.judge.used():
        raise UsageError(f"no annotator {rule!r} among people's judgments")
    votes: dict[SentenceKey, list[Types]] = {}
    merged: set[SentenceKey] = set()
    for key, annotator, text, _ in _typed(columns, aspect):
        given = votes.setdefault(key, [])
        if text is not None and (rule in set(AggregationRule) or annotator in {rule, PEOPLE}):
            given.append(options.types(text))
            if annotator == PEOPLE:
                merged.add(key)
    if all(types == _CLEAN for given in votes.values() for types in given):
        return {}
    least, annotators = options.min_votes, Annotators(options.annotators)
    return {key: _merged(given, 1 if key in merged else least, annotators) for key, given in votes.items()}


def _merged(votes: Sequence[Types], min_votes: int, annotators: Annotators) -> Types:
    """The types of a sentence from each annotator's; none where they are unclear.

    >>> votes = [frozenset({"a", "b"}), frozenset({"a"}), frozenset({"b"})]
    >>> sorted(_merged(votes, 1, Annotators.MAJORITY)), _merged(votes[1:], 1, Annotators.MAJORITY)
    (['a', 'b'], frozenset())
    """
    if not votes or len(votes) < min_votes:
        return frozenset()
    match annotators:
        case Annotators.ANY:
            wrong = [types for types in votes if types != _CLEAN]
            return frozenset().union(*wrong) if 2 * len(wrong) > len(votes) else _CLEAN
        case Annotators.MAJORITY:
            counts = Counter(name for types in votes for name in types)
            if most := frozenset(name for name, count in counts.items() if 2 * count > len(votes)):
                return most
            ranked = Counter(votes).most_common(2)
            return frozenset() if len(ranked) > 1 and ranked[0][1] == ranked[1][1] else ranked[0][0]
        case _:
            assert_never(annotators)


def _rows(
    both: MetaInput, question: Question, types: Mapping[SentenceKey, Types], options: ErrorsOptions
) -> Iterable[Row]:
    """The rows of one judge; none where it named no type of error."""
    given: dict[SentenceKey, Types | None] = {}
    for key, _, text, status in _typed(both.judge.table.take(both.judge.rows[question]), question.aspect):
        named = options.types(text) if text else frozenset({UNKNOWN})
        given[key] = named if status == "ok" else None
    if not any(named and not named <= {NO_ERROR, UNKNOWN} for named in given.values()):
        return
    # The types people give a sentence, and those the judge does (None: no usable verdict).
    sentences = [(gold, given.get(key)) for key, gold in types.items() if gold]
    wrong = [(gold, said) for gold, said in sentences if gold != _CLEAN]
    judged = [(gold, said) for gold, said in wrong if said is not None]
    fields = both.judge.fields(question) | {
        "study": STUDY, "gold_aspect": question.aspect, "gold_signature": options.signature,
        "level": "sentence", "average": "pooled",
    }  # fmt: skip
    accuracies = []
    known = (*FINESURE, *UNISUMEVAL)
    kinds = {kind for gold, _ in judged for kind in gold}
    for kind in sorted(kinds, key=lambda kind: (known.index(kind), "") if kind in known else (len(known), kind)):
        pairs = [(gold, judge) for gold, judge in judged if kind in gold]
        hits = [options.names(judge, gold, kind) for gold, judge in pairs]
        missing = sum(kind in gold for gold, said in wrong if said is None)
        counts = dict(Counter(_name(judge) for _, judge in pairs))
        accuracies.append(float(np.mean(hits)))
        yield _share(fields, LOCALISATION, kind, hits, missing, said=counts)
    lost, unclear = len(wrong) - len(judged), sum(not gold for gold in types.values())
    mean = _share(fields, LOCALISATION, "mean of types", accuracies, lost, types=len(accuracies), gold_unclear=unclear)
    yield mean.model_copy(update={"n": len(judged)})
    confusion: dict[str, Counter[str]] = {}
    for gold, said in sentences:
        if said is not None:
            confusion.setdefault(_name(gold), Counter())[_name(said)] += 1
    fits = [options.fits(judge, gold) for gold, judge in judged]
    counts_by_type = {name: dict(counts) for name, counts in confusion.items()}
    yield _share(fields, LOCALISATION, "all errors", fits, lost, confusion=counts_by_type, gold_unclear=unclear)
    yield _share(
        fields, "detection", "all errors", [judge != _CLEAN for _, judge in judged], lost, gold_unclear=unclear
    )


def _share(
    fields: Mapping[str, Any], statistic: str, group: str, hits: Sequence[float], missing: int, **details: Any
) -> Row:
    if hits:
        share = Estimate(float(np.mean(hits)), len(hits), missing)
    else:
        unclear = details.get("gold_unclear")
        none = "the judge has no usable verdict on such an error" if missing else "people found no such error"
        reason = f"{none}; the types people give {unclear} sentences are unclear" if unclear else none
        share = undefined(reason, missing=missing)
    return interval_row(share, fields, statistic=statistic, details={"by": "error_type", "group": group, **details})


def _name(types: Types) -> str:
    return joined_error_types(types) or UNKNOWN
