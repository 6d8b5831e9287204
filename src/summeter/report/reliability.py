"""Can a judge be trusted? People on the same data; RTS against MCQ, system by system (Shen et al., 2023, section 5).

One judge asked for a rating in two ways ought to say the same. Where its two answers hardly go together on a system's
summaries, the paper finds its ratings of that system to agree less with people too: look at some by hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from summeter.meta import agreement_with_people, reliability
from summeter.meta._reliability import NoTwoJudgesError
from summeter.meta.results import Row
from summeter.pages.numbers import count, number
from summeter.report.blocks import Reliability
from summeter.report.ranks import ColumnKey, label_of
from summeter.report.views import RunView, Source
from summeter.report.words import gloss
from summeter.runs.run import RunFolder

TOLERANCE = 0.4
"""The r below which a system is flagged. The paper leaves it open, and this one is ours: of the 48 Spearman
coefficients in its Table 29 (ChatGPT, 12 systems, four aspects) 21 lie below it."""
PAIRED_PROMPTS = (("rts", "mcq"), ("rts2", "mcq2"))
"""Judges that ask for one rating in two ways."""
COEFFICIENT = "spearman"


def reliabilities(runs: Sequence[RunFolder], *, tolerance: float = TOLERANCE) -> tuple[Reliability, ...]:
    """One block for each aspect that one model rated in both ways, in a run or in runs over the same data."""
    by_data: dict[str, list[RunFolder]] = {}
    for run in runs:
        by_data.setdefault(run.manifest.data.hash, []).append(run)
    return tuple(
        block
        for group in by_data.values()
        for names in PAIRED_PROMPTS
        if _both(group, names)
        for block in _blocks(group, names, tolerance)
    )


def agreements(view: RunView, sources: Sequence[Source]) -> Iterator[tuple[str, Row]]:
    """How far each judge of a run agrees with the people who judged its data, beside its source; none where nobody
    did."""
    for row in agreement_with_people(view.folder, seed=view.seed):
        column = ColumnKey(view.place, row.judge or "", row.signature or "", row.aspect or "")
        yield label_of(column, view, sources), row


def _both(runs: Sequence[RunFolder], names: tuple[str, str]) -> bool:
    """Whether both judges rated one aspect: only then is anything read."""
    first, second = (
        {aspect for run in runs for judge in run.manifest.judges if judge.name == name for aspect in judge.aspects}
        for name in names
    )
    return bool(first & second)


def _blocks(runs: Sequence[RunFolder], names: tuple[str, str], tolerance: float) -> list[Reliability]:
    aspects = [
        aspect for run in runs for judge in run.manifest.judges if judge.name in names for aspect in judge.aspects
    ]
    by_judge: dict[tuple[str, str], list[Row]] = {}
    try:
        study = reliability(
            list(runs),
            aspect=list(dict.fromkeys(aspects)),
            judges=names,
            coefficients=(COEFFICIENT,),
            dependence=False,
            resamples=0,
        )
    except NoTwoJudgesError:  # one of them has no score yet, or judged for another (a cascade's later judge)
        return []
    for row in study:
        # One model, and one repeat: two models that differ say nothing of either.
        repeats = [
            [part for part in signature.split("|") if part.startswith("rep:")]
            for signature in (row.signature or "").split(" + ")
        ]
        same = " + " not in (row.model or "") and all(repeat == repeats[0] for repeat in repeats)
        if row.study == "reliability" and same:
            by_judge.setdefault((row.aspect or "", row.signature or ""), []).append(row)
    blocks = [Reliability(names, tolerance, tuple(rows), "") for rows in by_judge.values()]
    return [block._replace(sentence=_sentence(block)) for block in blocks]


def _sentence(block: Reliability) -> str:
    title = gloss(block.rows[0].aspect or "").title
    low = [row.system or "" for row in block.rows if block.flagged(row) and row.value is not None]
    unknown = [row.system or "" for row in block.rows if row.value is None]
    names, bound = " and ".join(block.judges), number(block.tolerance)
    both = f"On {title}, {names}"
    if not low and not unknown:
        return f"{both} go together on every system (rho of at least {bound})."
    parts = []
    if low:
        which = "that system" if len(low) == 1 else "those systems"
        parts.append(
            f"{both} hardly go together (rho under {bound}) on {len(low)} of {count(len(block.rows), 'system')}: "
            f"{', '.join(low)}. Check the judge's scores of {which} by hand."
        )
    if unknown:
        where = "any system" if len(unknown) == len(block.rows) else ", ".join(unknown)
        parts.append(f"{'It' if low else f'Whether on {title} {names} go together'} cannot be told of {where}.")
    return " ".join(parts)
