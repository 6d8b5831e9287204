"""Judgments -> one score a summary, judge and aspect. The only place where this arithmetic stands.

FineSurE (Song et al., 2024): faithfulness = |S_fact| / |S|, completeness = |{k : (k, s) in E}| / |K|,
conciseness = |{s : (k, s) in E}| / |S|; composite (UniSumEval) is the mean of the three. FENICE's
faithfulness is the mean over claims instead, as the evaluator's `reduce` says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from summeter.records import Judgment, Record, Status, composite_signature

COMPOSITE = "composite"
COMPOSED = ("faithfulness", "completeness", "conciseness")
_UNITS = frozenset({"sentence", "key_fact", "claim"})
# Parts of a signature that say what a judge was asked with, rather than what it does. Not the validators and the
# source of key facts: of a family's members only the alignment has them.
_ASKED = frozenset({"judge", "second", "extractor", "t", "seed", "max", "rep", "split", "parser"})
_IMPORTED = "source:import"
# The worst status names a score that could not be had.
_GRAVITY: tuple[Status, ...] = ("error", "refused", "unparsed", "skipped")


class Score(Record):
    """One summary's score on one aspect by one judge.

    `value` is None unless `status` is "ok"; `n` units were used and `missing` had no usable judgment.
    A score that is ok may still have missing units: they are left out of `value` and counted here.
    """

    doc_id: str
    system: str
    judge: str
    signature: str
    model: str | None
    aspect: str
    value: float | None
    n: int
    missing: int
    status: Status
    reason: str | None = None


def dedupe(judgments: Iterable[Judgment]) -> list[Judgment]:
    """One judgment a question: the last one asked counts; the order of first asking is kept."""
    return list({judgment.key: judgment for judgment in judgments}.values())


def summary_scores(judgments: Iterable[Judgment], reduce: Mapping[str, str]) -> list[Score]:
    """Scores of every (judge, signature, document, system, aspect), in order of first appearance.

    `reduce` maps a judge's name to "share" (of labels that are 1; the default), "mean" (of values) or "whole" (the
    judgment of the whole summary goes before those of its parts, where there is one).
    Judgments of a whole summary are averaged as they are; judgments of its sentences, key facts or
    claims are reduced. Pairs, spans and documents are not scored here. Composites follow their parts.
    """
    scores = unit_scores(dedupe(judgments), reduce)
    return scores + composites(scores)


def unit_scores(judgments: Iterable[Judgment], reduce: Mapping[str, str]) -> list[Score]:
    """`summary_scores` of judgments of which none answers a question twice, without the composites."""
    groups: dict[tuple[str, ...], list[Judgment]] = {}
    for judgment in judgments:
        if judgment.target.unit == "summary" or judgment.target.unit in _UNITS:
            target = judgment.target
            key = (judgment.judge, judgment.signature, target.document_id, target.system, judgment.aspect)
            groups.setdefault(key, []).append(judgment)
    return [_score(group, reduce.get(key[0], "share")) for key, group in groups.items()]


def _score(group: Sequence[Judgment], reduce: str) -> Score:
    whole = [one for one in group if one.target.unit == "summary"]
    parts = [one for one in group if one.target.unit != "summary"]
    if parts and not (whole and reduce == "whole"):
        # A failed attempt at the whole summary beside judged parts is superseded by them.
        numbers = [number for one in parts if (number := _number(one, reduce)) is not None]
        used: Sequence[Judgment] = parts
    else:
        numbers = [one.value for one in whole if one.status == "ok" and one.value is not None]
        used = whole
    return _make(used, numbers)


def _number(judgment: Judgment, reduce: str) -> float | None:
    if judgment.status != "ok":
        return None
    if reduce == "mean":
        return judgment.value
    label = judgment.label if judgment.label is not None else judgment.value
    return float(label) if isinstance(label, int | float) else None


def _make(used: Sequence[Judgment], numbers: Sequence[float]) -> Score:
    first = used[0]
    missing = len(used) - len(numbers)
    status, reason = ("ok", None) if numbers else _why(used)
    return Score(
        doc_id=first.target.document_id, system=first.target.system, judge=first.judge,
        signature=first.signature, model=first.model, aspect=first.aspect,
        value=fmean(numbers) if numbers else None, n=len(numbers), missing=missing,
        status=status, reason=reason,
    )  # fmt: skip


def _why(used: Sequence[Judgment]) -> tuple[Status, str]:
    for status in _GRAVITY:
        for one in used:
            if one.status == status:
                return status, one.reason or status
    return "error", "the judgments hold neither a number nor a label of 0 or 1"


def composites(scores: Sequence[Score]) -> list[Score]:
    """Mean of faithfulness, completeness and conciseness of one judge family and summary.

    A signature that gives all three aspects has composites of its own. The others are joined by family, which
    is what stands before the first dot of the judge's name (`finesure.fact_check` and `finesure.align` are
    one), and only where they were asked alike: same models, same sampling, same splitter. A family of which an
    aspect has two signatures has no composite, since nobody could say of what. If any of the three has no value,
    neither has the composite. Ratings (see `is_rating`) join none: a mark from 1 to 5 is no share.

    >>> rows = [Score(doc_id="d", system="s", judge="j", signature="j|v:1", model=None, aspect=a, value=v,
    ...               n=1, missing=0, status="ok") for a, v in zip(COMPOSED, (1.0, 0.5, 0.75))]
    >>> composites(rows)[0].value
    0.75
    """
    groups = _joinable(scores)
    whole = _whole_signatures(part for found in groups.values() for parts in found.values() for part in parts)
    made = []
    for (family, *_), by_aspect in groups.items():
        sources = {aspect: {score.signature for score in found} for aspect, found in by_aspect.items()}
        for signature in sorted(set().union(*sources.values()) & whole):
            made += _joined(family, by_aspect, dict.fromkeys(COMPOSED, signature))
        rest = {aspect: found - whole for aspect, found in sources.items()}
        if all(len(rest.get(aspect, ())) == 1 for aspect in COMPOSED):
            made += _joined(family, by_aspect, {aspect: next(iter(rest[aspect])) for aspect in COMPOSED})
    return made


class _Part(NamedTuple):
    """Of a score what a composite needs: many are held at once."""

    doc_id: str
    system: str
    signature: str
    model: str | None
    aspect: str
    value: float | None
    status: Status
    reason: str | None


def _joinable(scores: Sequence[Score]) -> dict[tuple[str, ...], dict[str, list[_Part]]]:
    """Scores by kin and aspect, of those kin that have all three aspects: those of others join none."""
    kin: dict[tuple[str, str], tuple[str, ...]] = {}
    aspects: dict[tuple[str, ...], set[str]] = {}

    def wanted() -> Iterator[tuple[tuple[str, ...], Score]]:
        for score in scores:
            if score.aspect in COMPOSED:
                source = (score.judge, score.signature)
                if source not in kin:
                    kin[source] = () if is_rating(score.signature) else _kin(score)
                if kin[source]:
                    yield kin[source], score

    for family, score in wanted():
        aspects.setdefault(family, set()).add(score.aspect)
    groups: dict[tuple[str, ...], dict[str, list[_Part]]] = {}
    if any(len(found) == len(COMPOSED) for found in aspects.values()):
        for family, one in wanted():
            if len(aspects[family]) == len(COMPOSED):
                part = _Part(
                    one.doc_id, one.system, one.signature, one.model, one.aspect, one.value, one.status, one.reason
                )
                groups.setdefault(family, {}).setdefault(one.aspect, []).append(part)
    return groups


def is_rating(signature: str) -> bool:
    """Whether a signature names the scale of a rating, so that its values are no shares.

    >>> is_rating("rts|aspect:faithfulness|prompt:c1a0|scale:1-5|v:2"), is_rating("finesure.fact_check|v:1")
    (True, False)
    """
    return any(part.startswith("scale:") for part in signature.split("|")[1:])


def _kin(score: Score) -> tuple[str, ...]:
    """The family of a score's judge, and what it was asked with."""
    asked = (part for part in score.signature.split("|")[1:] if part == _IMPORTED or part.partition(":")[0] in _ASKED)
    return score.judge.split(".")[0], *asked


def _whole_signatures(parts: Iterable[_Part]) -> set[str]:
    """Signatures that give all three aspects."""
    aspects: dict[str, set[str]] = {}
    for part in parts:
        aspects.setdefault(part.signature, set()).add(part.aspect)
    return {signature for signature, found in aspects.items() if len(found) == len(COMPOSED)}


def _joined(family: str, by_aspect: Mapping[str, Sequence[_Part]], sources: Mapping[str, str]) -> list[Score]:
    """A composite for every summary that has a score of each aspect from the given signatures."""
    parts: dict[tuple[str, str], list[_Part]] = {}
    for aspect in COMPOSED:
        for score in by_aspect.get(aspect, ()):
            if score.signature == sources[aspect]:
                parts.setdefault((score.doc_id, score.system), []).append(score)
    return [_composite(family, found) for found in parts.values() if len(found) == len(COMPOSED)]


def _composite(family: str, parts: Sequence[_Part]) -> Score:
    values = [part.value for part in parts if part.value is not None]
    absent = [part for part in parts if part.value is None]
    worst = min(absent, key=lambda part: _GRAVITY.index(part.status)) if absent else None
    models = dict.fromkeys(part.model for part in parts if part.model is not None)
    return Score(
        doc_id=parts[0].doc_id, system=parts[0].system, judge=family,
        signature=composite_signature([part.signature for part in parts]),
        model=",".join(models) or None, aspect=COMPOSITE,
        value=None if worst else fmean(values), n=len(values), missing=len(absent),
        status=worst.status if worst else "ok",
        reason=f"{worst.aspect}: {worst.reason}" if worst else None,
    )  # fmt: skip


def coverage(scores: Iterable[Score], preferences: Iterable[tuple[int, int]] = ()) -> float | None:
    """Share of what was to be judged that has a usable judgment, each summary and aspect counting once.

    A score counts by its share of usable units, a score that could not be had as 0; composites repeat their
    parts and are left out, and so is what was skipped, which could not have been judged. `preferences` are (n,
    missing) of pairs. None where nothing was to be judged.

    Two summaries, one with 3 of 4 sentences usable, one in error: (3/4 + 0) / 2 = 0.375.
    """
    shares = [
        0.0 if score.value is None else score.n / (score.n + score.missing)
        for score in scores
        if score.aspect != COMPOSITE and score.status != "skipped"
    ]
    shares += [n / (n + missing) for n, missing in preferences]
    return fmean(shares) if shares else None
