"""Head-to-head comparisons: a matrix and sentences for each judge and aspect."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from summeter.meta.verdicts import ENOUGH, NAMED, listed
from summeter.pages.numbers import count, number, with_interval
from summeter.records import Phrase
from summeter.report.blocks import PairMatrix
from summeter.report.ranks import ColumnKey, label_of
from summeter.report.views import RunView, Source
from summeter.report.words import gloss
from summeter.scoring import PairScore
from summeter.stats import MIN_DOCUMENTS

Group = Sequence[PairScore]


def head_to_head(views: Sequence[RunView], sources: Sequence[Source]) -> tuple[PairMatrix, ...]:
    """Return one matrix per run, judge and aspect, in the order of runs and judges."""
    matrices = []
    for view in views:
        for group in columns_of(view.pairs):
            first = group[0]
            sides = {(side.system, side.rival): side for pair in group for side in (pair, pair.turned())}
            systems = _by_mean(sides)
            matrices.append(
                PairMatrix(
                    title=gloss(first.aspect).title,
                    signature=first.signature,
                    interval=next((pair.test for pair in group if pair.test), "no interval"),
                    source=label_of(ColumnKey(view.number, first.judge, first.signature, first.aspect), view, sources),
                    systems=tuple(systems),
                    cells=tuple(tuple(sides.get((row, column)) for column in systems) for row in systems),
                    sentences=(_preferred(group), _flips(group)),
                )
            )
    return tuple(matrices)


def verdict(view: RunView) -> str:
    """Return a sentence with the result of a run without scores, for its first aspect."""
    groups = columns_of(view.pairs)
    more = Phrase("{comparisons} below.", comparisons=count(len(groups) - 1, "more comparison"))
    return Phrase.join(" ", [_preferred(groups[0]), *([more] if len(groups) > 1 else [])])


def columns_of(pairs: Sequence[PairScore]) -> list[list[PairScore]]:
    """Return the preferences, grouped by judge and aspect."""
    groups: dict[tuple[str, str, str], list[PairScore]] = {}
    for pair in pairs:
        groups.setdefault((pair.judge, pair.signature, pair.aspect), []).append(pair)
    return list(groups.values())


def _by_mean(sides: dict[tuple[str, str], PairScore]) -> list[str]:
    """Return the systems by their mean preference over other systems, highest first.

    With this order, the dark cells of the matrix are above the diagonal.
    """
    names = dict.fromkeys(system for system, _ in sides)
    means = {
        name: fmean([side.value for side in sides.values() if side.system == name and side.value is not None] or [-1.0])
        for name in names
    }
    return sorted(names, key=lambda name: (-means[name], name))


def _preferred(group: Group) -> str:
    title = gloss(group[0].aspect).title
    known = [pair.leading() for pair in group if pair.value is not None]
    if not known:
        return Phrase("On {aspect}, no pair has a verdict: see what could not be judged.", aspect=title)
    if len(group) == 1:
        return Phrase("On {aspect}, {claim}", aspect=title, claim=_pair_sentence(known[0]))
    settled = sorted((pair for pair in known if pair.settled), key=lambda pair: (-(pair.value or 0.0), pair.system))
    if not settled:
        return Phrase("On {aspect}, none of the {n} pairs can be told apart.", aspect=title, n=len(group))
    rivals: dict[str, list[str]] = {}
    for pair in settled[:NAMED]:
        rivals.setdefault(pair.system, []).append(f"{pair.rival} ({number(pair.value)})")
    results = [
        Phrase("{system} is preferred to {others}", system=system, others=listed(names))
        for system, names in rivals.items()
    ]
    if len(settled) > NAMED:
        results.append(Phrase("and {n} more", n=len(settled) - NAMED))
    text = "On {aspect}, {n} of {all} pairs can be told apart: {claims}."
    claim = Phrase(text, aspect=title, n=len(settled), all=len(group), claims=Phrase.join("; ", results))
    rest = [Phrase("The others cannot be told apart.")] if len(settled) < len(group) else []
    return Phrase.join(" ", [claim, *rest])


def _pair_sentence(pair: PairScore) -> str:
    if pair.value == 0.5:
        text = "neither {system} nor {rival} is preferred: {value} over {documents}."
    elif pair.settled:
        text = "{system} is preferred to {rival}: {value} over {documents}."
    elif pair.n >= MIN_DOCUMENTS:
        text = "{system} and {rival} cannot be told apart: {value} for {system} over {documents}."
    else:
        text = (
            "{system} and {rival} cannot be told apart: {value} for {system} over {documents}, too few for a verdict "
            "({why})."
        )
    value, documents = with_interval(pair.value, *pair.ends), count(pair.n, "document")
    return Phrase(text, system=pair.system, rival=pair.rival, value=value, documents=documents, why=ENOUGH)


def _flips(group: Group) -> str:
    """Return a sentence about how many verdicts changed with the order of presentation."""
    twice, flips = sum(pair.twice for pair in group), sum(pair.flips for pair in group)
    if not twice:
        return "No pair of summaries was judged in both orders, so the share of verdicts that change is unknown."
    pairs = count(twice, "pair of summaries", "pairs of summaries")
    if not flips:
        return Phrase("Of {pairs} judged in both orders, no verdict changed with the order.", pairs=pairs)
    text = (
        "Of {pairs} judged in both orders, {n} ({share} %) got a verdict that changed with the order. Such a verdict "
        "counts as a tie."
    )
    return Phrase(text, pairs=pairs, n=flips, share=f"{100 * flips / twice:.0f}")
