"""Verdicts on pairs -> a preference with ties. A verdict that turns with the order of showing is a tie.

Preferences of a pair of systems -> their mean over documents, with interval, n, missing and flip rate.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import isnan
from statistics import fmean

from pydantic import Field

from summeter.records import Judgment, Record
from summeter.scoring.systems import LEVEL, RESAMPLES
from summeter.scoring.table import JudgmentTable
from summeter.stats import Bootstrap, paired_differences


class Preference(Record):
    """How far `system` is preferred to `rival` on one document: 1 always, 0 never, 0.5 a tie.

    `n` verdicts were used and `missing` had none; `flipped` says that two decided verdicts disagreed.
    """

    doc_id: str
    system: str
    rival: str
    judge: str
    signature: str
    aspect: str
    value: float | None
    n: int
    missing: int
    flipped: bool


class Claim(Record):
    """A preference among all pairs of one judge and aspect: `low`-`high` leaves out 0.5 exactly where it is `settled`,
    by a permutation test of documents with Holm's correction."""

    low: float | None
    high: float | None
    settled: bool
    text: str | None


class PairScore(Record):
    """How far `system` is preferred to `rival` over all documents: mean preference, 0.5 for neither.

    `low`-`high` is the bootstrap percentile interval over documents (None with fewer than two). `n` documents
    have a preference, `missing` have none. Of `twice` documents judged more than once, the verdicts turned
    with the order on `flips`; `flip_rate` is their share, None where no document was judged twice.
    """

    system: str
    rival: str
    judge: str
    signature: str
    aspect: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    missing: int
    flip_rate: float | None
    flips: int
    twice: int
    interval: str
    reason: str | None = None

    claim: Claim | None = Field(default=None, exclude=True, repr=False)

    @property
    def settled(self) -> bool:
        """Whether one of the two is preferred by more than chance, corrected for all pairs."""
        return self.claim is not None and self.claim.settled

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """The interval for a reader: that of the claim, corrected for all pairs; (None, None) without one."""
        return (self.claim.low, self.claim.high) if self.claim else (None, None)

    def turned(self) -> PairScore:
        """The same, seen from the rival's side.

        aster over birch 0.7 [0.6, 0.9] is birch over aster 0.3 [0.1, 0.4].
        """
        claim = self.claim
        other = {
            "system": self.rival, "rival": self.system, "value": _rest(self.value),
            "low": _rest(self.high), "high": _rest(self.low), "claim": claim and claim.model_copy(
                update={"low": _rest(claim.high), "high": _rest(claim.low)}
            ),
        }  # fmt: skip
        return self.model_copy(update=other)

    def leading(self) -> PairScore:
        """From the side of the system that is preferred; as it is where neither is."""
        return self.turned() if self.value is not None and self.value < 0.5 else self


def _rest(value: float | None) -> float | None:
    return None if value is None else 1.0 - value


def preferences(judgments: Iterable[Judgment] | JudgmentTable) -> list[Preference]:
    """One Preference a document, pair of systems, judge and aspect; the pair is named in alphabetical order.

    A pair judgment's value is 1 when `system` wins, 0 when `rival` does, 0.5 for a tie. The order of
    showing is the order of the names in the target, so (B, A) with value v counts as 1 - v for (A, B).

    Both orders, A wins first and B wins second: values 1 and 1 - 1 = 0, mean 0.5, flipped.
    """
    pairs = JudgmentTable.of(judgments).where(unit="pair")
    columns = (pairs.document, pairs.system, pairs.rival, pairs.judge, pairs.signature, pairs.aspect)
    verdicts: dict[tuple[str, ...], list[float | None]] = {}
    rows = zip(*(column.labels() for column in columns), pairs.value.tolist(), strict=True)
    for document, system, rival, judge, signature, aspect, number in rows:
        if rival is None:
            continue
        value = None if isnan(number) else number
        turned = system > rival
        first, second = (rival, system) if turned else (system, rival)
        key = (document, first, second, judge, signature, aspect)
        verdicts.setdefault(key, []).append(1.0 - value if turned and value is not None else value)
    made = []
    for (doc_id, system, rival, judge, signature, aspect), values in verdicts.items():
        known = [value for value in values if value is not None]
        made.append(
            Preference(
                doc_id=doc_id,
                system=system,
                rival=rival,
                judge=judge,
                signature=signature,
                aspect=aspect,
                value=fmean(known) if known else None,
                n=len(known),
                missing=len(values) - len(known),
                flipped=any(value > 0.5 for value in known) and any(value < 0.5 for value in known),
            )
        )
    return made


def pair_scores(rows: Iterable[Preference], *, seed: int = 0) -> list[PairScore]:
    """Means by (pair of systems, judge, signature, aspect), in order of first appearance.

    Two documents, preferences 1 and 0.5, the second flipped: value 0.75, flip rate 0.5.
    """
    groups: dict[tuple[str, ...], list[Preference]] = {}
    for row in rows:
        groups.setdefault((row.system, row.rival, row.judge, row.signature, row.aspect), []).append(row)
    families: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for key in groups:
        families.setdefault(key[2:], []).append(key)
    claims: dict[tuple[str, ...], Claim] = {}
    for keys in families.values():
        # The difference of the two sides' points, 2 p - 1, is exchanged document by document.
        sides = [{key[0]: [row.value for row in groups[key]], key[1]: [_rest(row.value) for row in groups[key]]}
                 for key in keys]  # fmt: skip
        for key, (pair,) in zip(keys, paired_differences(sides, seed=seed), strict=True):
            low, high = (None if end is None else (1 + end) / 2 for end in (pair.low, pair.high))
            claims[key] = Claim(low=low, high=high, settled=pair.better is not None, text=pair.text)
    scores = []
    for key, group in groups.items():
        got = Bootstrap([row.doc_id for row in group], RESAMPLES, LEVEL, seed).mean([row.value for row in group])
        system, rival, judge, signature, aspect = key
        twice = [row.flipped for row in group if row.n > 1]
        scores.append(
            PairScore(
                system=system,
                rival=rival,
                judge=judge,
                signature=signature,
                aspect=aspect,
                value=got.value,
                low=got.low,
                high=got.high,
                n=got.n,
                missing=got.missing,
                reason=got.reason,
                flip_rate=fmean(twice) if twice else None,
                flips=sum(twice),
                twice=len(twice),
                interval=got.method or "",
                claim=claims[key],
            )
        )
    return scores
