"""Preferences between two systems, per document and on average, from judgments of pairs.

If two verdicts on a pair contradict each other when the order is swapped, the pair is a tie.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import isnan
from statistics import fmean
from typing import Any

from pydantic import Field

from summeter.records import Judgment, Record
from summeter.scoring.systems import LEVEL, RESAMPLES
from summeter.scoring.table import JudgmentTable
from summeter.stats import Bootstrap, PairDifference, paired_differences

_PAIR = ("system", "rival", "judge", "signature", "aspect")
"""Fields that identify the preference between two systems."""


class Preference(Record):
    """Preference for `system` over `rival` on one document: 1 always, 0 never, 0.5 for a tie.

    `n` verdicts were used and `missing` verdicts have no value; `flipped` is True if two verdicts contradict each
    other.
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


class PairScore(Record):
    """Mean preference of `system` over `rival` over all documents; 0.5 means no preference.

    `low` and `high` are the ends of the percentile bootstrap interval over documents (None with fewer than two
    documents). `n` documents have a preference and `missing` documents have none. `twice` documents were judged more
    than once; on `flips` of these the verdicts contradict each other, and `flip_rate` is the share `flips` / `twice`
    (None if no document was judged twice).

    The preference is also tested, with a permutation test over documents and Holm's correction for all pairs of one
    judge and aspect: `ends` is the interval of this test, which `test` describes. It excludes 0.5 exactly if one of the
    two systems is `settled`, which means significantly preferred.
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

    settled: bool = Field(default=False, exclude=True, repr=False)
    ends: tuple[float | None, float | None] = Field(default=(None, None), exclude=True, repr=False)
    test: str | None = Field(default=None, exclude=True, repr=False)

    def turned(self) -> PairScore:
        """Return the same score from the rival's side.

        aster over birch 0.7 [0.6, 0.9] becomes birch over aster 0.3 [0.1, 0.4].
        """
        other = {
            "system": self.rival, "rival": self.system, "value": _complement(self.value),
            "low": _complement(self.high), "high": _complement(self.low), "ends": (*map(_complement, self.ends[::-1]),),
        }  # fmt: skip
        return self.model_copy(update=other)

    def leading(self) -> PairScore:
        """Return the score from the side of the preferred system; unchanged if neither is preferred."""
        return self.turned() if self.value is not None and self.value < 0.5 else self


def _complement(value: float | None) -> float | None:
    return None if value is None else 1.0 - value


def preferences(judgments: Iterable[Judgment] | JudgmentTable) -> list[Preference]:
    """Return one preference per document, pair of systems, judge and aspect.

    The systems of a pair are in alphabetical order. The value of a judgment is 1 if `system` wins, 0 if `rival` wins,
    and 0.5 for a tie. The order of presentation is the order of the names in the target, so that a value v of (B, A)
    counts as 1 - v for (A, B).

    If the summary shown first wins in both orders, the values for (A, B) are 1 and 1 - 1 = 0: their mean is 0.5, and
    the pair is flipped.
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
    result = []
    for judged, values in verdicts.items():
        known = [value for value in values if value is not None]
        fields: dict[str, Any] = dict(zip(("doc_id", *_PAIR), judged, strict=True))
        flipped = any(value > 0.5 for value in known) and any(value < 0.5 for value in known)
        mean, missing = fmean(known) if known else None, len(values) - len(known)
        result.append(Preference(**fields, value=mean, n=len(known), missing=missing, flipped=flipped))
    return result


def pair_scores(rows: Iterable[Preference], *, seed: int = 0) -> list[PairScore]:
    """Return mean preferences by (pair of systems, judge, signature, aspect).

    The results are in order of first appearance. If two documents have the preferences 1 and 0.5 and the second is
    flipped, the value is 0.75 and the flip rate 0.5.
    """
    groups: dict[tuple[str, ...], list[Preference]] = {}
    for row in rows:
        groups.setdefault(tuple(getattr(row, name) for name in _PAIR), []).append(row)
    families: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for key in groups:
        families.setdefault(key[2:], []).append(key)
    tests: dict[tuple[str, ...], PairDifference] = {}
    for keys in families.values():
        # The test flips the sign of the difference of the two systems' points, 2 p - 1, document by document.
        sides = [{key[0]: [row.value for row in groups[key]], key[1]: [_complement(row.value) for row in groups[key]]}
                 for key in keys]  # fmt: skip
        for key, (pair,) in zip(keys, paired_differences(sides, seed=seed), strict=True):
            tests[key] = pair
    scores = []
    for key, group in groups.items():
        got = Bootstrap([row.doc_id for row in group], RESAMPLES, LEVEL, seed).mean([row.value for row in group])
        fields: dict[str, Any] = dict(zip(_PAIR, key, strict=True))
        ends = tuple(None if end is None else (1 + end) / 2 for end in (tests[key].low, tests[key].high))
        twice = [row.flipped for row in group if row.n > 1]
        rate = fmean(twice) if twice else None
        scores.append(PairScore(
            **fields, value=got.value, low=got.low, high=got.high, n=got.n, missing=got.missing, reason=got.reason,
            flip_rate=rate, flips=sum(twice), twice=len(twice), interval=got.method or "",
            settled=tests[key].better is not None, ends=ends, test=tests[key].text,
        ))  # fmt: skip
    return scores
