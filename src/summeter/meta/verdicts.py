"""Decide and word every verdict: who is better, who leads, what exceeds chance, how many labels are needed.

The report, the terminal, the studies, the gate and the analysis of annotations all ask this module.

Better      the paired permutation test, Holm's correction over all pairs of one judge and aspect, at least 6 documents
            (see `stats.paired_differences`). Two systems are compared on the documents that both have.
Leading     the highest mean, where it is better than some rival and no rival is better than it.
Best        leading, and better than each rival that is ranked.
Chance      the interval must lie above the value of guessing, over at least 6 documents.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise

from summeter.meta.coefficients import STATISTICS
from summeter.pages.numbers import count
from summeter.scoring.systems import NEUTRAL, SystemTable
from summeter.stats import MIN_DOCUMENTS, PairDifference, clusters_of_equals, error_to_find, labels_to_find
from summeter.tables import interval, with_interval

BETTER, HIGHER, AGREES_BETTER = "is better than", "is higher than", "agrees better with people than"
SAME = 1e-9
"""Values no further apart are equal: they differ only by rounding."""
ENOUGH = f"at least {MIN_DOCUMENTS} are needed"
NAMED, FEW = 6, 3
"""Number of names that a list shows, and of equal leaders that are named."""
MOST_NAMED = 8
"""With more members a verdict counts the pairs that differ instead of naming them."""
_ALL_PAIRS = 6
"""Up to so many pairs a verdict tells all of them; beyond, the neighbours in the ranking and the clusters."""
_NAMED_PAIRS = 3
"""Number of pairs of different clusters without a claim that are named."""
POWER = 0.8
"""Probability with which `labels_needed` documents tell two judges or systems apart."""


# ---- numbers and names in a sentence ----


def same(value: float | None, other: float | None) -> bool:
    """Return whether two numbers are equal but for rounding.

    >>> same(0.1 + 0.2, 0.3), same(0.3, 0.301), same(None, None)
    (True, False, False)
    """
    return value is not None and other is not None and abs(value - other) <= SAME


def reaches(value: float | None, bound: float) -> bool:
    """Return whether a mean is at least its bound, but for rounding; a missing mean is not.

    >>> reaches(0.7999999999999999, 0.8), reaches(0.799, 0.8), reaches(None, 0.8)
    (True, False, False)
    """
    return value is not None and (value >= bound or same(value, bound))


def show_p(p: float) -> str:
    """Return a p-value as a sentence prints it.

    >>> show_p(0.0042), show_p(0.00004), show_p(0.3123), show_p(1.0)
    ('p = .004', 'p < .001', 'p = .31', 'p = 1')
    """
    if p < 0.001:
        return "p < .001"
    digits = f"{p:.3f}" if p < 0.0995 else f"{p:.2f}"
    return "p = 1" if float(digits) == 1 else f"p = {digits.lstrip('0')}"


def listed(names: Sequence[str]) -> str:
    """Return names as a list in a sentence; of many the first ones.

    >>> listed(["a", "b"]), listed([str(number) for number in range(9)])
    ('a and b', '0, 1, 2, 3, 4, 5 and 3 more')
    """
    shown = [*names[:NAMED], *([f"{len(names) - NAMED} more"] if len(names) > NAMED else [])]
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)


# ---- who is better ----


@dataclass(frozen=True)
class Comparison:
    """Systems by their means, or judges by their agreement with people, on one aspect, compared pair by pair.

    `values` rank the members (None: not ranked). `pairs` are the differences of every two members, corrected together
    at the level `alpha`. `title` is how sentences name the aspect, `verb` what they say of the better member;
    `scoreless` are the members that have no score at all.
    """

    values: Mapping[str, float | None]
    pairs: Sequence[PairDifference]
    aspect: str
    alpha: float = 0.05
    title: str | None = None
    verb: str | None = None
    scoreless: Collection[str] = ()

    @classmethod
    def of(cls, table: SystemTable, column: tuple[str, str, str], title: str | None = None) -> Comparison:
        """The systems of a column of scores, by their means on the documents that all of them have."""
        shared, systems = (
            table.shared(column),
            [row.system for row in table.rows if (row.judge, row.signature, row.aspect) == column],
        )
        cells = {} if shared is None else shared.cells
        scored = () if shared is None else (*shared.documents.counts, *shared.documents.left_out)
        values = {name: cells[name].value if name in cells else None for name in systems}
        scoreless = [name for name in systems if name not in scored]
        return cls(values, table.pairs(column), column[2], title=title, scoreless=scoreless)

    @cached_property
    def ranked(self) -> list[str]:
        """The members with a value, highest first."""
        return sorted(
            (name for name, value in self.values.items() if value is not None),
            key=lambda name: -(self.values[name] or 0.0),
        )

    @cached_property
    def highest(self) -> list[str]:
        """The members with the highest value, in the order given."""
        return [name for name in self.values if self.ranked and same(self.values[name], self.values[self.ranked[0]])]

    @cached_property
    def better(self) -> list[tuple[str, str]]:
        """The pairs with a claim, the better member first."""
        return [
            (pair.better, pair.second if pair.better == pair.first else pair.first)
            for pair in self.pairs
            if pair.better is not None
        ]

    @cached_property
    def leader(self) -> str | None:
        """The member with the highest value, where it is better than another and none is better than it."""
        if self.aspect in NEUTRAL or len(self.highest) != 1:
            return None
        (name,) = self.highest
        wins, losses = ([pair for pair in self.better if pair[side] == name] for side in (0, 1))
        return name if wins and not losses else None

    @cached_property
    def best(self) -> str | None:
        """The leader, where it is better than every other ranked member."""
        beaten = {worse for better, worse in self.better if better == self.leader}
        return self.leader if self.leader is not None and {self.leader, *beaten} >= set(self.ranked) else None

    @cached_property
    def clusters(self) -> dict[str, int | None]:
        """The cluster of each member, 1 for the highest values; no cut parts two that share fewer than 6 documents.

        Going down the ranking, a cluster ends where the next member is worse than one of its members.
        """
        place = {name: number for number, name in enumerate(self.values)}
        claimed: list[list[float | None]] = [[None] * len(self.values) for _ in self.values]
        for better, worse in self.better:
            claimed[place[better]][place[worse]] = 0.0
        numbers = clusters_of_equals(list(self.values.values()), claimed, self.alpha)
        cluster_of = dict(zip(self.values, numbers, strict=True))
        # Cuts between two members that too few documents compare are taken back.
        untested = [pair for pair in self.pairs if pair.better is None and pair.units < MIN_DOCUMENTS]
        ends = [(cluster_of[pair.first], cluster_of[pair.second]) for pair in untested]
        spans = [(min(one, two), max(one, two)) for one, two in ends if one is not None and two is not None]
        joined: dict[int | None, int | None] = {None: None}
        last = 0
        for cluster in sorted({number for number in numbers if number is not None}):
            last += not any(low < cluster <= high for low, high in spans)
            joined[cluster] = last
        return {name: joined[cluster] for name, cluster in cluster_of.items()}

    @cached_property
    def across_clusters(self) -> list[PairDifference]:
        """The pairs of members of different clusters between which nothing is claimed."""
        of = self.clusters
        ranked = [pair for pair in self.pairs if None not in (of[pair.first], of[pair.second])]
        return [pair for pair in ranked if pair.better is None and of[pair.first] != of[pair.second]]

    # ---- in words ----

    @property
    def _on(self) -> str:
        return self.title or self.aspect

    def sentence(self, pair: PairDifference) -> str:
        """Return the verdict on a pair.

        >>> pair = PairDifference("aster", "birch", 0.1, 0.02, 0.18, 0.0007, 0.0042, 6, 18, 0, better="aster")
        >>> Comparison({}, [pair], "composite").sentence(pair)
        'aster is better than birch on composite: +0.10 [0.02, 0.18], p = .004 after Holm over 6 pairs'
        """
        if pair.difference is None or pair.p_holm is None:
            return (
                f"{pair.first} and {pair.second} were not compared on {self._on}: {pair.reason or 'nothing in common'}"
            )
        if pair.better is None:
            return (
                f"{pair.first} and {pair.second} cannot be told apart on {self._on}: {self._figures(pair, pair.first)}"
            )
        worse = pair.second if pair.better == pair.first else pair.first
        says = self.verb or (HIGHER if self.aspect in NEUTRAL else BETTER)
        return f"{pair.better} {says} {worse} on {self._on}: {self._figures(pair, pair.better)}"

    def _figures(self, pair: PairDifference, member: str) -> str:
        """The difference as seen from a member, and the corrected p or why no difference could be claimed."""
        sign = 1 if member == pair.first else -1
        size = f"{sign * (pair.difference or 0.0) + 0.0:+.2f}"
        if pair.low is not None and pair.high is not None and not same(pair.low, pair.high):
            low, high = sorted((sign * pair.low, sign * pair.high))
            size += f" {interval(low, high, 2)}"
        after = self._too_few(pair) or f"{show_p(pair.p_holm or 0.0)} after Holm over {count(pair.family, 'pair')}"
        return f"{size}, {after}" + (f", {pair.missing} without both scores" if pair.missing else "")

    def _too_few(self, pair: PairDifference) -> str | None:
        """Why no difference at all could be claimed after the correction; None where one could."""
        least = min(1.0, pair.least_p * pair.family)
        few = pair.units < MIN_DOCUMENTS and pair.units
        if pair.p_holm is None or (least <= self.alpha and not few):
            return None
        why = f"{show_p(least)} at the least after Holm over {count(pair.family, 'pair')}"
        if few:
            why = ENOUGH
        return f"{count(pair.units, pair.by)} {'is' if pair.units == 1 else 'are'} too few for a verdict ({why})"

    def _smallest_p(self, pairs: Sequence[PairDifference]) -> str:
        """Why nothing is claimed of some tested pairs: too few documents for all, else the smallest corrected p."""
        too_few = [self._too_few(pair) for pair in pairs]
        if all(too_few):
            return str(too_few[0])
        least = "" if len(pairs) == 1 else "smallest "
        p = show_p(min(pair.p_holm for pair in pairs if pair.p_holm is not None))
        return f"{least}{p} after Holm over {count(pairs[0].family, 'pair')}"

    def verdict(self) -> str:
        """Return one sentence about all members: who is better, and who cannot be told apart."""
        # Some are compared two by two, though there is no mean over the documents of all to rank them by.
        apart = [name for name in self.values if name not in self.ranked and name not in self.scoreless]
        lost = [name for name in self.values if name in self.scoreless]
        unranked = [f"{', '.join(lost)} ha{'s' if len(lost) == 1 else 've'} no score on {self._on}"] if lost else []
        unranked += [f"{', '.join(apart)} {'is' if len(apart) == 1 else 'are'} not ranked"] if apart else []
        if not self.better:
            return "; ".join([self._none_better([*self.ranked, *apart]), *unranked])
        numbers = sorted({number for number in self.clusters.values() if number is not None})
        alike = [", ".join(name for name in self.values if self.clusters[name] == number) for number in numbers]
        mixed = any(self.clusters[better] == self.clusters[worse] for better, worse in self.better)
        order = " > ".join(f"{{{names}}}" for names in alike)
        equals = [f"clusters{'' if mixed else ' of equals'}, best first: {order}"] if alike else []
        if len(self.values) > MOST_NAMED:
            claimed = f"{len(self.better)} of {count(len(self.pairs), 'pair')} differ on {self._on}"
            return "; ".join([f"{claimed} (p <= {self.alpha:g} after Holm)", *unranked, *equals])
        by_name = {frozenset((pair.first, pair.second)): pair for pair in self.pairs}
        few = len(self.pairs) <= _ALL_PAIRS
        two_by_two = combinations([*self.ranked, *apart], 2) if few else pairwise(self.ranked)
        shown = [by_name[frozenset(two)] for two in two_by_two]
        shown += [] if few else [pair for pair in self.pairs if pair.better and {pair.first, pair.second} & set(apart)]
        unlike = len({pair.units for pair in self.pairs}) > 1
        better = [
            self.sentence(pair) + (f" on {count(pair.units, pair.by)}" if unlike else "")
            for pair in shown
            if pair.better
        ]
        others = [self._alike(pair) for pair in shown if pair.p_holm is not None and not pair.better]
        return "; ".join([*better, *others, *unranked, *([] if few else equals)])

    def _none_better(self, names: Sequence[str]) -> str:
        tested = [pair for pair in self.pairs if pair.p_holm is not None]
        if len(names) < 2 or not tested:
            return f"nothing can be compared on {self._on}"
        who = f"{', '.join(names[:-1])} and {names[-1]} cannot be told apart on {self._on}"
        why, lost = self._smallest_p(tested), sum(pair.missing for pair in self.pairs)
        unseen = f"; {lost} without both scores" if len(self.pairs) == 1 else "; some documents lack a score"
        why += unseen if lost else ""
        return f"{who}: {why}" if all(map(self._too_few, tested)) else f"{who} ({why})"

    def _alike(self, pair: PairDifference) -> str:
        lost = f", {pair.missing} without both scores" if pair.missing else ""
        if pair.units < MIN_DOCUMENTS and (why := self._too_few(pair)):
            return f"{pair.first} and {pair.second} cannot be told apart: {why}{lost}"
        return f"{pair.first} and {pair.second} cannot be told apart ({show_p(pair.p_holm or 0.0)}{lost})"

    def cluster_note(self) -> str | None:
        """Return what the clusters leave open; None where all members of different clusters are told apart."""
        parted = self.across_clusters
        if not parted:
            return None
        named = [f"{pair.first} and {pair.second}" for pair in parted[:_NAMED_PAIRS]]
        more = f" and {len(parted) - _NAMED_PAIRS} more" if len(parted) > _NAMED_PAIRS else ""
        return (
            f"a cluster ends where the next is worse than one of its members; {count(len(parted), 'pair')} of "
            f"different clusters cannot be told apart ({', '.join(named)}{more})"
        )

    def leading(self, shown: str) -> str:
        """Return who leads, or has the highest value and cannot be told from which others, in one clause.

        `shown` is the highest value as the reader sees it. Without a ranked member it is `verdict()`.

        >>> from summeter.stats import paired_differences
        >>> scores = {"aster": [5, 4, 5, 4, 5, 4, 5], "birch": [3, 2, 4, 3, 3, 3, 2]}
        >>> (pairs,) = paired_differences([scores])
        >>> Comparison({"aster": 4.57, "birch": 2.86}, pairs, "fluency").leading("4.57")
        'aster leads on fluency, 4.57, and is better than birch: +1.71 [1.00, 2.50], p = .016 after Holm over 1 pair'
        """
        if not self.ranked:
            return self.verdict()
        if len(self.ranked) == 1:
            return f"{self.ranked[0]} has {self._on} {shown}"
        if len(self.highest) > 1:
            alike = len(self.highest) == len(self.ranked)
            who = listed(self.highest) if len(self.highest) <= FEW else count(len(self.highest), "system")
            claimed = [pair for pair in self.pairs if pair.better and {pair.first, pair.second} <= set(self.highest)]
            but = "; ".join(map(self.sentence, claimed)) or "no difference between them is claimed"
            return f"{who} {'have the same' if alike else 'share the highest'} {self._on}, {shown}: {but}"
        (name,) = self.highest
        highest = f"{name} has the highest {self._on}, {shown}"
        if self.aspect in NEUTRAL:
            return f"{highest}; neither high nor low is good in itself"
        own = {
            pair.second if pair.first == name else pair.first: pair
            for pair in self.pairs
            if name in (pair.first, pair.second) and {pair.first, pair.second} <= set(self.ranked)
        }
        says = self.verb or BETTER
        if ahead := [pair for pair in own.values() if pair.better not in {None, name}]:
            # The means are over the documents that all share, a pair is compared on those that the two share.
            return f"{highest}, but {'; '.join(map(self.sentence, ahead))}"
        beaten = [other for other, pair in own.items() if pair.better == name]
        level = [other for other in own if other not in beaten]
        if len(own) == 1:
            ((other, pair),) = own.items()
            figures = self._figures(pair, name)
            if beaten:
                return f"{name} leads on {self._on}, {shown}, and {says} {other}: {figures}"
            return f"{highest}, but cannot be told apart from {other}: {figures}"
        if not beaten:
            why = self._smallest_p([pair for pair in own.values() if pair.p_holm is not None])
            return f"{highest}, but cannot be told apart from any of the other {len(level)}: {why}"
        after = f"(p <= {self.alpha:g} after Holm over {count(next(iter(own.values())).family, 'pair')})"
        if not level:
            return f"{name} leads on {self._on}, {shown}, and {says} each of the other {len(beaten)} {after}"
        apart = f"but cannot be told apart from {listed(level)}"
        return f"{name} leads on {self._on}, {shown}, and {says} {listed(beaten)} {after}, {apart}"


# ---- agreement with people ----


ABOVE, BELOW, NOT_TOLD = "above chance", "below chance", "cannot be told from chance"
UNITS = {"sentence": "sentences", "key_fact": "key facts", "summary": "summaries"}
"""What agreement with people is counted in, by level."""


def against_chance(statistic: str, low: float | None, high: float | None, documents: int | None = None) -> str:
    """Return `ABOVE`, `BELOW` or `NOT_TOLD`: where the interval of a statistic lies beside its value for guessing.

    Without an interval, and with fewer than 6 `documents` (None: their number is not known), it cannot be told.

    >>> against_chance("spearman", 0.1, 0.3), against_chance("auroc", 0.1, 0.3), against_chance("spearman", 0.1, 0.3, 5)
    ('above chance', 'below chance', 'cannot be told from chance')
    """
    chance = STATISTICS[statistic].chance
    if low is None or high is None or chance is None or (documents is not None and documents < MIN_DOCUMENTS):
        return NOT_TOLD
    return ABOVE if low > chance else BELOW if high < chance else NOT_TOLD


def agreement_name(statistic: str) -> str:
    """Return a statistic of agreement with people as a reader calls it.

    >>> agreement_name("balanced_accuracy"), agreement_name("spearman")
    ('balanced accuracy', 'rank correlation')
    """
    return {"auroc": "AUROC", "balanced_accuracy": "balanced accuracy", "spearman": "rank correlation"}[statistic]


def agreement(
    statistic: str, value: float | None, low: float | None, high: float | None, *, verdict: str | None, n: int,
    level: str, reason: str | None = None,
) -> str:  # fmt: skip
    """Return how far a judge agrees with people, over so many units.

    >>> agreement("balanced_accuracy", 0.71, 0.62, 0.8, verdict="above chance", n=120, level="sentence")
    'balanced accuracy 0.71 [0.62, 0.80], above chance (120 sentences)'
    """
    units = f"{n:,} {UNITS[level]}"
    if value is None:
        return f"{agreement_name(statistic)} is not known, {reason} ({units})"
    shown = with_interval(value, low, high, 2)
    return f"{agreement_name(statistic)} {shown}{f', {verdict}' if verdict else ''} ({units})"


# ---- labels needed ----


def labels_needed(pair: PairDifference, error: float | None, alpha: float) -> int | None:
    """Return how many labelled documents would show a difference with probability `POWER`.

    That is at the pair's corrected level; `error` is the standard error over the documents there are. None where the
    difference is 0, or its standard error is not known.
    """
    if not pair.difference or error is None:
        return None
    return labels_to_find(pair.units, error, error_to_find(abs(pair.difference), 1 - alpha / pair.family, POWER))


def labels_sentence(labels: int, shows: str = "tell them apart", units: str = "documents") -> str:
    """Return how many labelled units would show something.

    >>> labels_sentence(1200)
    'about 1,200 labelled documents would tell them apart with probability 0.8'
    """
    return f"about {labels:,} labelled {units} would {shows} with probability {POWER:g}"
