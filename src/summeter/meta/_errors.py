"""Agreement on error types: does a judge find the error types that people found (FineSurE, Table 2)?

A sentence has a set of types, which are compared under canonical names (`records.taxonomy`): the nine types of FineSurE
or the five of UniSumEval. The short names of FRANK (EntE, RelE ...) are aliases of FineSurE's. The *localisation
accuracy* of a type is the share of sentences to which the judge assigns the type, among those to which people assign
it. FineSurE reports the mean over types; the pooled share is also computed. The confusion counts include "no error".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, assert_never

import numpy as np
from pydantic import Field

from summeter.choices import AggregationRule, Annotators, Match
from summeter.meta.inputs import Gold, RunLike
from summeter.meta.options import Choice, CommandLine, Judges, Merge, study
from summeter.meta.results import Row, Study, interval_row
from summeter.meta.selection import PEOPLE, MetaInput, check_has_names, meta_input
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
        FAITHFULNESS, description="Aspect whose errors have types. Repeatable."
    )
    match: Annotated[str, Choice(Match, "match")] = Field(
        Match.ANY,
        description="When the judge's types of a sentence match people's: any (one in common), all (the judge has all "
        "of people's types) or exact (the same types).",
    )
    annotators: Annotated[str, Choice(Annotators, "annotators")] = Field(
        Annotators.MAJORITY,
        description="How to merge the types of annotators: majority (types that more than half name, else the most "
        "frequent set; a tie leaves the sentence out) or any (all named types if more than half find an error).",
    )
    rename: Annotated[Mapping[str, str] | None, CommandLine(metavar="TYPE=NAME")] = Field(
        None,
        description='Rename a type, or joined types ("A+B"), on both sides before the comparison. Repeatable.',
    )

    def types(self, text: str) -> Types:
        """Return the canonical, renamed types in a string of error types."""
        return named_types(text, self.rename or {})

    def matches(self, judge: Types, gold: Types) -> bool:
        """Return whether the judge's types for a sentence match people's types."""
        return {Match.ANY: bool(judge & gold), Match.ALL: gold <= judge, Match.EXACT: gold == judge}[Match(self.match)]

    def finds(self, judge: Types, gold: Types, kind: str) -> bool:
        """Return whether the judge found `kind`, one of people's types.

        With `match="exact"`, the judge must have found exactly people's types.
        """
        return gold == judge if self.match == Match.EXACT else kind in judge

    @property
    def signature(self) -> str:
        """Gold signature, which records how types were merged and compared."""
        who = "" if self.merge in {AggregationRule.AUTO, AggregationRule.MAJORITY} else f"|annotator:{self.merge}"
        least = f"|min:{self.min_votes}" if self.min_votes > 1 else ""
        match = f"|match:{self.match}" if self.match != Match.ANY else ""
        return f"human.sentence_labels{who}|types:{self.annotators}{match}{least}|v:1"


@study(ErrorsOptions, command="RUN...")
def errors(run: RunLike, gold: Gold, options: ErrorsOptions) -> Study:
    """Compare the error types that judges and people assign.

    Rows have the study "errors" and the statistic `localisation_accuracy` or `detection`. There is one
    `localisation_accuracy` for each type (given in `details.group`), for the mean over types (`details.group` is "mean
    of types") and for all erroneous sentences pooled ("all errors", with the confusion counts in `details`).
    `detection` is the share of erroneous sentences to which the judge assigns any error type. `missing` counts
    sentences without a usable judgment. Raises UsageError if people or judges assigned no error types.
    """
    both = meta_input(run, gold, options)
    rows: list[Row] = []
    for aspect in options.aspects or (FAITHFULNESS,):
        types = _gold_types(both.gold, aspect, options)
        if not types:
            raise UsageError(f"people assigned no error types to sentences for {aspect}")
        for question in both.judge.questions([aspect], options.judge):
            if question in both.judge.rows:
                rows.extend(_rows(both, question, types, options))
        if not rows:
            raise UsageError(f"no judge of the run assigned error types to sentences for {aspect}")
    return Study(STUDY, rows)


def named_types(text: str, rename: Mapping[str, str]) -> Types:
    """Return the canonical, renamed types in a string of error types joined by "+".

    Both sides of `rename` can also be joined types.

    >>> named_types("OutE", {"out of context": "out-of-article error"})
    frozenset({'out-of-article error'})
    >>> sorted(named_types("RelE+OutE+EntE", {"EntE+RelE": "fact", "OutE": "a+b"}))
    ['a', 'b', 'fact']
    """
    remaining, types = _split(text), set()
    for old, new in sorted(rename.items(), key=lambda pair: -len(_split(pair[0]))):
        stems = {error_type_stem(name) for name in _split(old)}
        hits = [name for name in remaining if stems & _stems(name)]
        if stems and stems <= {stem for name in hits for stem in _stems(name)}:
            remaining = [name for name in remaining if name not in hits]
            types |= set(_split(new))
    types |= {canonical_error_type(name) for name in remaining}
    return frozenset(types - {NO_ERROR} or types)


def _split(text: str) -> list[str]:
    return [name.strip() for name in text.split(SEPARATOR) if name.strip()]


def _stems(name: str) -> set[str]:
    """Return the stems of a type's name as spelled and of its canonical name."""
    return {error_type_stem(name), error_type_stem(canonical_error_type(name))}


def _typed(columns: JudgmentTable, aspect: str) -> Iterator[tuple[SentenceKey, str, str | None, str]]:
    """Yield (sentence, judge, string of types, status) for each judged sentence.

    A label 1 without types is "no error".
    """
    rows = columns.take(columns.unit.equal("sentence") & columns.aspect.equal(aspect))
    named = zip(
        rows.document.labels(), rows.system.labels(), rows.index.tolist(), rows.judge.labels(),
        rows.error_type.labels(), rows.named.labels(), rows.label.tolist(), rows.status.labels(), strict=True,
    )  # fmt: skip
    for document, system, index, judge, kind, name, label, status in named:
        yield (document, system, index), judge, kind or name or (NO_ERROR if label == 1 else None), status


def _gold_types(columns: JudgmentTable, aspect: str, options: ErrorsOptions) -> dict[SentenceKey, Types]:
    """Return people's types for each sentence (empty if unclear).

    The result is an empty dict if no annotator assigned a type.
    """
    rule = options.merge
    check_has_names(rule, columns.judge.used())
    if rule not in set(AggregationRule) and rule not in columns.judge.used():
        raise UsageError(f"the human judgments have no annotator {rule!r}")
    votes: dict[SentenceKey, list[Types]] = {}
    merged: set[SentenceKey] = set()
    for key, annotator, text, _ in _typed(columns, aspect):
        votes_on_sentence = votes.setdefault(key, [])
        if text is not None and (rule in set(AggregationRule) or annotator in {rule, PEOPLE}):
            votes_on_sentence.append(options.types(text))
            if annotator == PEOPLE:
                merged.add(key)
    if all(types == _CLEAN for cast in votes.values() for types in cast):
        return {}
    annotators = Annotators(options.annotators)
    return {key: _merged(cast, 1 if key in merged else options.min_votes, annotators) for key, cast in votes.items()}


def _merged(votes: Sequence[Types], min_votes: int, annotators: Annotators) -> Types:
    """Return the annotators' merged types for a sentence, or an empty set if they are unclear.

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
    """Yield the rows of one judge, or nothing if the judge assigned no error type."""
    types_of_judge: dict[SentenceKey, Types | None] = {}
    for key, _, text, status in _typed(both.judge.table.take(both.judge.rows[question]), question.aspect):
        named = options.types(text) if text else frozenset({UNKNOWN})
        types_of_judge[key] = named if status == "ok" else None
    if not any(named and not named <= {NO_ERROR, UNKNOWN} for named in types_of_judge.values()):
        return
    # Pairs of people's types and the judge's types (None if there is no usable judgment).
    sentences = [(gold, types_of_judge.get(key)) for key, gold in types.items() if gold]
    wrong = [(gold, judge) for gold, judge in sentences if gold != _CLEAN]
    judged = [(gold, judge) for gold, judge in wrong if judge is not None]
    fields = both.judge.fields(question) | {
        "study": STUDY, "gold_aspect": question.aspect, "gold_signature": options.signature,
        "level": "sentence", "average": "pooled",
    }  # fmt: skip
    accuracies = []
    known = (*FINESURE, *UNISUMEVAL)
    kinds = {kind for gold, _ in judged for kind in gold}
    for kind in sorted(kinds, key=lambda kind: (known.index(kind), "") if kind in known else (len(known), kind)):
        pairs = [(gold, judge) for gold, judge in judged if kind in gold]
        hits = [options.finds(judge, gold, kind) for gold, judge in pairs]
        missing = sum(kind in gold for gold, judge in wrong if judge is None)
        counts = dict(Counter(_name(judge) for _, judge in pairs))
        accuracies.append(float(np.mean(hits)))
        yield _share(fields, LOCALISATION, kind, hits, missing, said=counts)
    not_judged, unclear = len(wrong) - len(judged), sum(not gold for gold in types.values())
    mean = _share(
        fields, LOCALISATION, "mean of types", accuracies, not_judged, types=len(accuracies), gold_unclear=unclear
    )
    yield mean.model_copy(update={"n": len(judged)})
    confusion: dict[str, Counter[str]] = {}
    for gold, types_named in sentences:
        if types_named is not None:
            confusion.setdefault(_name(gold), Counter())[_name(types_named)] += 1
    hits = [options.matches(judge, gold) for gold, judge in judged]
    counts_by_type = {name: dict(counts) for name, counts in confusion.items()}
    yield _share(fields, LOCALISATION, "all errors", hits, not_judged, confusion=counts_by_type, gold_unclear=unclear)
    detected = [judge != _CLEAN for _, judge in judged]
    yield _share(fields, "detection", "all errors", detected, not_judged, gold_unclear=unclear)


def _share(
    fields: Mapping[str, Any], statistic: str, group: str, hits: Sequence[float], missing: int, **details: Any
) -> Row:
    if hits:
        share = Estimate(float(np.mean(hits)), len(hits), missing)
    else:
        unclear = details.get("gold_unclear")
        reason = "the judge has no usable judgment of such an error" if missing else "people found no such error"
        if unclear:
            reason += f"; people disagree on the types of {unclear} sentences"
        share = undefined(reason, missing=missing)
    return interval_row(share, fields, statistic=statistic, details={"by": "error_type", "group": group, **details})


def _name(types: Types) -> str:
    return joined_error_types(types) or UNKNOWN
