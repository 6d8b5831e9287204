"""Agreement on error types: does a judge find the kind of error that people found (FineSurE, Table 2)?

Types are compared under canonical names, FineSurE's nine or UniSumEval's five; FRANK's short names (EntE, RelE ...)
are FineSurE's under other names. Of the sentences that people call wrong, the *localisation accuracy* of a type is
the share to which the judge gives the same type; the mean over types is the figure of Table 2, and the pooled share
stands beside it. The confusion counts are complete, "no error" included.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from summeter.choices import AggregationRule, Match
from summeter.meta.columns import Columns
from summeter.meta.gold import PEOPLE
from summeter.meta.inputs import Gold, JudgeInput, Question, RunLike
from summeter.meta.results import Row, Study
from summeter.meta.selection import MetaInput, Selection, meta_input
from summeter.records import UsageError

STUDY = "errors"
NO_ERROR = "no error"
UNKNOWN = "not named"
LOCALISATION = "localisation_accuracy"

FINESURE = (
    NO_ERROR, "out-of-context error", "entity error", "predicate error", "circumstantial error", "grammatical error",
    "coreference error", "linking error", "other error",
)  # fmt: skip
UNISUMEVAL = (NO_ERROR, "out-of-article error", "entity error", "relation error", "sentence error")

_FRANK = {
    "noe": NO_ERROR, "oute": FINESURE[1], "ente": FINESURE[2], "rele": FINESURE[3], "prede": FINESURE[3],
    "circe": FINESURE[4], "grame": FINESURE[5], "corefe": FINESURE[6], "linke": FINESURE[7], "othere": FINESURE[8],
}  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """How error types are compared.

    `mapping` renames types on both sides before they are compared (for taxonomies of one's own, or to join types);
    names it does not know are kept. `match` says which annotators' types count. `min_votes` is as for labels.
    """

    mapping: Mapping[str, str] = field(default_factory=dict)
    match: Match = Match.MAJORITY
    min_votes: int = 1


class Unit(NamedTuple):
    """One sentence: what people call it (most common first), and what the judge does (None: nothing usable)."""

    document: str
    gold: tuple[str, ...]
    said: str | None


def canonical_type(name: str, mapping: Mapping[str, str] | None = None) -> str:
    """The common name of an error type; case, hyphens and the word "error" do not matter.

    >>> canonical_type("RelE"), canonical_type("Out of context"), canonical_type("NoE"), canonical_type("invented")
    ('predicate error', 'out-of-context error', 'no error', 'invented')
    """
    own = {_stem(key): value for key, value in (mapping or {}).items()}
    known = {_stem(one): one for one in (*FINESURE, *UNISUMEVAL)}
    stem = _stem(name)
    found = _FRANK.get(name.strip().casefold()) or known.get(stem) or name.strip()
    return own.get(stem) or own.get(_stem(found)) or found


def _stem(name: str) -> str:
    words = name.casefold().replace("-", " ").replace("_", " ").strip(" .\"'").split()
    return " ".join(words[:-1] if words[-1:] in (["error"], ["errors"]) and words[:-1] != ["no"] else words)


def errors(
    run: RunLike, gold: Gold, *, aspect: str = "faithfulness", select: Selection | None = None,
    settings: Settings | None = None,
) -> Study:  # fmt: skip
    """Do the judges of a run name the error types people name, sentence by sentence?

    Rows have the study "errors": `localisation_accuracy` for each type (its name in `details.group`), their mean
    (`details.group` "mean of types"), all wrong sentences pooled ("all errors", with the confusion counts in
    `details`), and `detection` - the share of wrong sentences that get any error type. `missing` counts sentences
    without a usable verdict, or without enough votes. Raises UsageError where no one named types.
    """
    chosen, plan = select or Selection(), settings or Settings()
    read = meta_input(run, gold, chosen)
    types = _gold_types(read.gold, aspect, chosen, plan)
    if not types:
        raise UsageError(f"people named no error types of sentences on {aspect}")
    rows: list[Row] = []
    for question in read.judge.questions(aspect, chosen.judge):
        units, lost = _units(read, question, types, plan)
        if units is not None:
            rows.extend(_rows(read.judge, question, units, _Lost(lost, _mark(chosen, plan))))
    if not rows:
        raise UsageError(f"no judge of the run named error types of sentences on {aspect}")
    return Study(STUDY, rows)


_Key = tuple[str, str, int]


class _Lost(NamedTuple):
    """Sentences without a usable gold type, and how the gold was merged."""

    unclear: int
    signature: str


def _mark(chosen: Selection, plan: Settings) -> str:
    who = (
        ""
        if chosen.rule.merge in {AggregationRule.AUTO, AggregationRule.MAJORITY}
        else f"|annotator:{chosen.rule.merge}"
    )
    least = f"|min:{plan.min_votes}" if plan.min_votes > 1 else ""
    return f"human.sentence_labels{who}|types:{plan.match.value}{least}|v:1"


def _typed(columns: Columns, aspect: str) -> Iterable[tuple[_Key, str, str | None, str]]:
    """(sentence, judge, type, status) of every judged sentence; a label 1 is "no error" where no type is named."""
    rows = columns.take(columns.unit.equal("sentence") & columns.aspect.equal(aspect))
    named = zip(
        rows.document.labels(), rows.system.labels(), rows.index.tolist(), rows.judge.labels(),
        rows.error_type.labels(), rows.named.labels(), rows.label.tolist(), rows.status.labels(), strict=True,
    )  # fmt: skip
    for document, system, index, judge, kind, name, label, status in named:
        said = kind or name or (NO_ERROR if label == 1 else None)
        yield (document, system, index), judge, said, status


def _gold_types(columns: Columns, aspect: str, chosen: Selection, plan: Settings) -> dict[_Key, tuple[str, ...]]:
    """The types of each sentence: the winner of the votes, all types with `any`, none where it is unclear."""
    rule = chosen.rule.merge
    if rule not in set(AggregationRule) and rule not in columns.judge.used():
        raise UsageError(f"no annotator {rule!r} among people's judgments")
    cast: dict[_Key, list[str]] = {}
    named = False
    for key, judge, kind, _ in _typed(columns, aspect):
        found = cast.setdefault(key, [])
        if kind is not None and (rule in set(AggregationRule) or judge in {rule, PEOPLE}):
            found.append(canonical_type(kind, plan.mapping))
            named = named or kind != NO_ERROR
    if not named:
        return {}
    return {key: _winner(kinds, plan) for key, kinds in cast.items()}


def _winner(kinds: Sequence[str], plan: Settings) -> tuple[str, ...]:
    if len(kinds) < plan.min_votes or not kinds:
        return ()
    ranked = Counter(kinds).most_common()
    wrong = sum(number for kind, number in ranked if kind != NO_ERROR)
    if plan.match is Match.ANY:
        # Whether it is an error at all is for the majority; which kind, for anyone who called it one.
        if wrong * 2 <= len(kinds):
            return (NO_ERROR,)
        return tuple(kind for kind, _ in ranked if kind != NO_ERROR)
    tied = len(ranked) > 1 and ranked[0][1] == ranked[1][1]
    return () if tied else (ranked[0][0],)


def _units(
    read: MetaInput, question: Question, types: Mapping[_Key, tuple[str, ...]], plan: Settings
) -> tuple[list[Unit] | None, int]:
    rows = read.judge.columns.take(read.judge.rows[question]) if question in read.judge.rows else None
    if rows is None:
        return None, 0
    said: dict[_Key, str | None] = {}
    for key, _, kind, status in _typed(rows, question[2]):
        said[key] = (canonical_type(kind, plan.mapping) if kind else UNKNOWN) if status == "ok" else None
    if not any(kind not in {None, NO_ERROR, UNKNOWN} for kind in said.values()):
        return None, 0
    units = [Unit(key[0], gold, said.get(key)) for key, gold in types.items() if gold]
    return units, sum(not gold for gold in types.values())


def _rows(judge: JudgeInput, question: Question, units: Sequence[Unit], lost: _Lost) -> Iterable[Row]:
    name, signature, aspect = question
    models = [one for one in judge.columns.take(judge.rows[question]).model.used() if one is not None]
    usable = [unit for unit in units if unit.said is not None]
    wrong = [unit for unit in usable if unit.gold[0] != NO_ERROR]
    confusion: dict[str, dict[str, int]] = {}
    for unit in usable:
        row = confusion.setdefault(unit.gold[0], {})
        row[unit.said or UNKNOWN] = row.get(unit.said or UNKNOWN, 0) + 1
    absent = [unit for unit in units if unit.said is None]

    def made(statistic: str, group: str, hits: Sequence[float], missing: int, **details: Any) -> Row:
        return Row(
            study=STUDY, judge=name, signature=signature, model=",".join(models) or None, aspect=aspect,
            gold_aspect=aspect, gold_signature=lost.signature, level="sentence", average="pooled",
            statistic=statistic, value=float(np.mean(hits)) if hits else None, n=len(hits), missing=missing,
            status="ok" if hits else "undefined", reason=None if hits else "people found no such error",
            details={"by": "error_type", "group": group, **details},
        )  # fmt: skip

    by_type: dict[str, list[float]] = {}
    for unit in wrong:
        by_type.setdefault(unit.gold[0], []).append(float(unit.said in unit.gold))
    missing_wrong = sum(unit.gold[0] != NO_ERROR for unit in absent)
    for kind in sorted(by_type, key=_order):
        none = sum(unit.gold[0] == kind for unit in absent)
        yield made(LOCALISATION, kind, by_type[kind], none, said=dict(confusion[kind]))
    means = [float(np.mean(hits)) for hits in by_type.values()]
    mean = made(LOCALISATION, "mean of types", means, missing_wrong, types=len(means))
    yield mean.model_copy(update={"n": len(wrong)})
    yield made(
        LOCALISATION, "all errors", [float(unit.said in unit.gold) for unit in wrong], missing_wrong,
        confusion=confusion, gold_unclear=lost.unclear,
    )  # fmt: skip
    yield made("detection", "all errors", [float(unit.said != NO_ERROR) for unit in wrong], missing_wrong)


def _order(kind: str) -> tuple[int, str]:
    known = (*FINESURE, *UNISUMEVAL)
    return (known.index(kind), "") if kind in known else (len(known), kind)
