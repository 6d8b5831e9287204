"""Reliability of judges: agreement with people, and agreement of RTS and MCQ ratings.

A judge that is asked for a rating in two ways, as RTS and as MCQ, should give the same answer (Shen et al., 2023,
section 5). According to the paper, if the two ratings of a system's summaries correlate weakly, the ratings of that
system also agree less with people. Some of these ratings should then be checked by hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from summeter.meta import agreement_with_people, reliability, trust
from summeter.meta._reliability import NoTwoJudgesError
from summeter.meta._trust import CONSTANT
from summeter.meta.results import Row
from summeter.meta.trust_study import by_judge
from summeter.meta.verdicts import ABOVE, listed
from summeter.pages.numbers import count, number
from summeter.records import Phrase, UsageError
from summeter.report.blocks import Reliability
from summeter.report.ranks import ColumnKey, label_of
from summeter.report.views import RunView, Source
from summeter.report.words import gloss
from summeter.runs.run import RunFolder

TOLERANCE = 0.4
"""Spearman coefficient below which a system is flagged.

The paper gives no value. The value here was chosen for summeter: 21 of the 48 coefficients in Table 29 of the paper
(ChatGPT, 12 systems, four aspects) are below it."""
PAIRED_PROMPTS = (("rts", "mcq"), ("rts2", "mcq2"))
"""Pairs of judges that ask for the same rating in two ways."""
COEFFICIENT = "spearman"


def reliabilities(runs: Sequence[RunFolder], *, tolerance: float = TOLERANCE) -> tuple[Reliability, ...]:
    """Return one block for each aspect that a model rated in both ways.

    The two ratings may be in one run or in two runs over the same data.
    """
    by_data: dict[str, list[RunFolder]] = {}
    for run in runs:
        by_data.setdefault(run.manifest.data.hash, []).append(run)
    blocks: list[Reliability] = []
    for group in by_data.values():
        judges = [judge for run in group for judge in run.manifest.judges]
        for names in PAIRED_PROMPTS:
            first, second = (
                {aspect for judge in judges if judge.name == name for aspect in judge.aspects} for name in names
            )
            if first & second:
                blocks += _blocks(group, names, tolerance)
    return tuple(blocks)


class Agreement(NamedTuple):
    """The agreement of a judge with people on the data of a run, and how far it can be trusted.

    `source` is the label of the judge, `row` a row of `agreement_with_people`, and `trust` the row of `trust` with the
    verdict, or None if there is none for this aspect.
    """

    source: str
    row: Row
    trust: Row | None

    @property
    def caution(self) -> bool:
        """Whether the judge was not shown to be better than a constant."""
        return self.row.details["verdict"] != ABOVE or (
            self.trust is not None and self.trust.details["verdict"] == CONSTANT
        )


def agreements(view: RunView, sources: Sequence[Source]) -> Iterator[Agreement]:
    """Yield the agreement of each judge of a run with people."""
    rows = agreement_with_people(view.folder, seed=view.seed).rows
    verdicts: dict[tuple[str | None, str | None], Row] = {}
    if rows:
        with suppress(UsageError):  # judge and people have no votes on the same units
            verdicts = {
                (head.signature, head.aspect): head for _, head, _ in by_judge(trust(view.folder, seed=view.seed))
            }
    for row in rows:
        column = ColumnKey(view.number, row.judge or "", row.signature or "", row.aspect or "")
        yield Agreement(label_of(column, view, sources), row, verdicts.get((row.signature, row.aspect)))


def cautions(agreed: Sequence[Agreement]) -> Iterator[Phrase]:
    """Yield a sentence on the aspects on which a judge was found to be not better than a constant, by judge."""
    aspects: dict[str, list[str]] = {}
    for each in agreed:
        if each.trust is not None and each.trust.details["verdict"] == CONSTANT:
            aspects.setdefault(each.source, []).append(gloss(each.row.aspect or "").title)
    for source, names in aspects.items():
        yield Phrase(
            "On {aspects}, {judge} is not better than a constant judge, by the human judgments in the data.",
            aspects=listed(names), judge=source,
        )  # fmt: skip


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
    except NoTwoJudgesError:  # one of the judges has no score yet, or is a later judge of a cascade
        return []
    for row in study:
        # Only pairs with the same model and the same repeat are informative.
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
    judges = listed(block.judges)
    values = {"aspect": title, "judges": judges, "bound": number(block.tolerance)}
    if not low and not unknown:
        return Phrase("On {aspect}, {judges} correlate on every system (rho of at least {bound}).", **values)
    parts = []
    if low:
        text = (
            "On {aspect}, {judges} correlate weakly (rho under {bound}) on {n} of {all}: {systems}. Check the judge's "
            "scores of these by hand."
        )
        systems, everything = ", ".join(low), count(len(block.rows), "system")
        parts.append(Phrase(text, **values, n=len(low), all=everything, systems=systems))
    if unknown:
        which = Phrase("any system") if len(unknown) == len(block.rows) else ", ".join(unknown)
        text = "The correlation of {judges} on {aspect} is undefined for {systems}."
        parts.append(Phrase(text, judges=judges, aspect=title, systems=which))
    return Phrase.join(" ", parts)
