"""Verdicts on comparisons of systems or judges, and their wording.

The report, the terminal, the studies, the gate and the analysis of annotations use this module.

Better      significant in a paired permutation test with Holm's correction over all pairs of one judge and aspect, on
            at least 6 documents (see `stats.paired_differences`). Two systems are compared on their common documents.
Leading     has the highest mean, is better than at least one rival, and no rival is better.
Best        leading, and better than every ranked rival.
Chance      the interval must lie above the value of a random judge, on at least 6 documents.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, pairwise

from summeter.meta.measure import STATISTICS
from summeter.pages.numbers import count
from summeter.records import Phrase, names_no_error
from summeter.scoring.systems import NEUTRAL, SystemTable
from summeter.stats import MIN_DOCUMENTS, PairDifference, clusters_of_equals, error_to_find, labels_to_find
from summeter.tables import interval, signed, with_interval

BETTER, HIGHER, AGREES_BETTER = "is better than", "is higher than", "agrees better with people than"
SAME = 1e-9
"""Maximum difference of two values that are considered equal because they differ only by rounding."""
ENOUGH = Phrase("at least {n} are needed", n=MIN_DOCUMENTS)
NAMED, FEW = 6, 3
"""Maximum number of names in a list, and of equal leaders that are named."""
MOST_NAMED = 8
"""Maximum number of members for which a verdict names significant pairs instead of counting them."""
_ALL_PAIRS = 6
"""Maximum number of pairs that a verdict names.

If there are more pairs, the verdict names neighbours in the ranking, and the clusters.
"""
POWER = 0.8
"""Power of the comparison with `labels_needed` documents."""


# ---- numbers and names in a sentence ----


def same(value: float | None, other: float | None) -> bool:
    """Return whether two numbers are equal up to rounding.

    >>> same(0.1 + 0.2, 0.3), same(0.3, 0.301), same(None, None)
    (True, False, False)
    """
    return value is not None and other is not None and abs(value - other) <= SAME


def reaches(value: float | None, bound: float) -> bool:
    """Return whether a mean is at least `bound`, up to rounding, or False if the mean is missing.

    >>> reaches(0.7999999999999999, 0.8), reaches(0.799, 0.8), reaches(None, 0.8)
    (True, False, False)
    """
    return value is not None and (value >= bound or same(value, bound))


def show_p(p: float) -> str:
    """Return a p-value as text for a sentence.

    >>> show_p(0.0042), show_p(0.00004), show_p(0.3123), show_p(1.0)
    ('p = .004', 'p < .001', 'p = .31', 'p = 1')
    """
    if p < 0.001:
        return "p < .001"
    digits = f"{p:.3f}" if p < 0.0995 else f"{p:.2f}"
    return "p = 1" if float(digits) == 1 else f"p = {digits.lstrip('0')}"


def listed(names: Sequence[str]) -> str:
    """Return names joined for a sentence; a long list is shortened.

    >>> listed(["a", "b"]), listed([str(number) for number in range(9)])
    ('a and b', '0, 1, 2, 3, 4, 5 and 3 more')
    """
    if len(names) > NAMED:
        return Phrase("{names} and {n} more", names=", ".join(names[:NAMED]), n=len(names) - NAMED)
    if len(names) < 2:
        return "".join(names)
    return Phrase("{names} and {last}", names=", ".join(names[:-1]), last=names[-1])


# ---- decisions on units ----


def decision_words(aspect: str, label: int | str | None, error_type: str | None) -> str | None:
    """Return a decision in words, or None if there is no decision."""
    if label is None or isinstance(label, str):
        return label
    if aspect == "completeness":
        return "covered" if label == 1 else "missing"
    if aspect == "conciseness":
        return "conveys a key fact" if label == 1 else "padding"
    if label == 1:
        return "supported"
    return "unsupported" if error_type is None or names_no_error(error_type) else error_type


# ---- comparisons ----


@dataclass(frozen=True)
class Comparison:
    """Pairwise comparison of members (systems or judges) on one aspect.

    Systems are compared by their means, and judges by their agreement with people. `values` rank the members (None if a
    member is not ranked). `pairs` are the differences of all pairs of members, corrected together at the level `alpha`.
    `title` is the name of the aspect in sentences, and `verb` is the phrase for "is better than". `scoreless` members
    have no score. If there are several `groups` of members, values are comparable only within each.
    """

    values: Mapping[str, float | None]
    pairs: Sequence[PairDifference]
    aspect: str
    alpha: float = 0.05
    title: str | None = None
    verb: str | None = None
    scoreless: Collection[str] = ()
    groups: Sequence[Collection[str]] = ()

    @classmethod
    def of(cls, table: SystemTable, column: tuple[str, str, str], title: str | None = None) -> Comparison:
        """Return the comparison of the systems in a column by means over their common documents."""
        systems = [row.system for row in table.rows if (row.judge, row.signature, row.aspect) == column]
        cells, documents = table.shared(column) or {}, table.documents(column)
        values = {name: cells[name].value if name in cells else None for name in systems}
        scoreless = [name for name in systems if (own := table.cell(name, column)) is None or own.value is None]
        groups = () if documents is None else [group.counts for group in documents.groups]
        return cls(values, table.pairs(column), column[2], title=title, scoreless=scoreless, groups=groups)

    @cached_property
    def parts(self) -> Sequence[Comparison]:
        """Comparison within each group, or this comparison if there are not several groups."""
        if len(self.groups) < 2:
            return [self]
        return [
            replace(
                self,
                values={name: value for name, value in self.values.items() if name in group},
                pairs=[pair for pair in self.pairs if pair.first in group and pair.second in group],
                groups=(),
            )
            for group in self.groups
        ]

    @cached_property
    def ranked(self) -> list[str]:
        """Members with a value, in descending order."""
        return sorted(
            (name for name, value in self.values.items() if value is not None),
            key=lambda name: -(self.values[name] or 0.0),
        )

    @cached_property
    def highest(self) -> list[str]:
        """Members with the highest value (of their group)."""
        if len(self.parts) > 1:
            return [name for part in self.parts for name in part.highest]
        return [name for name in self.values if self.ranked and same(self.values[name], self.values[self.ranked[0]])]

    @cached_property
    def better(self) -> list[tuple[str, str]]:
        """Pairs that differ significantly, with the better member first."""
        return [
            (pair.better, pair.second if pair.better == pair.first else pair.first)
            for pair in self.pairs
            if pair.better is not None
        ]

    @cached_property
    def leader(self) -> str | None:
        """Member with the highest value, if it is better than another member and none is better than it."""
        if self.aspect in NEUTRAL or len(self.highest) != 1:
            return None
        (name,) = self.highest
        wins, losses = ([pair for pair in self.better if pair[side] == name] for side in (0, 1))
        return name if wins and not losses else None

    @cached_property
    def best(self) -> frozenset[str]:
        """Leader of each group, if it is better than every other ranked member of the group."""
        if len(self.parts) > 1:
            return frozenset[str]().union(*(part.best for part in self.parts))
        beaten = {worse for better, worse in self.better if better == self.leader}
        return frozenset(name for name in (self.leader,) if name is not None and {name, *beaten} >= set(self.ranked))

    @cached_property
    def clusters(self) -> dict[str, int | None]:
        """Cluster of each member; cluster 1 has the highest values (of a group).

        In descending order of values, a cluster ends if the next member is worse than one of the cluster's members.
        Members with fewer than 6 common documents are never separated.
        """
        if len(self.parts) > 1:
            of_parts = {name: cluster for part in self.parts for name, cluster in part.clusters.items()}
            return {name: of_parts.get(name) for name in self.values}
        place = {name: number for number, name in enumerate(self.values)}
        p_values: list[list[float | None]] = [[None] * len(self.values) for _ in self.values]
        for better, worse in self.better:
            p_values[place[better]][place[worse]] = 0.0
        numbers = clusters_of_equals(list(self.values.values()), p_values, self.alpha)
        cluster_of = dict(zip(self.values, numbers, strict=True))
        # Merge clusters that separate members with too few common documents.
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
        """Pairs of members of different clusters (of a group) without a significant difference."""
        if len(self.parts) > 1:
            return [pair for part in self.parts for pair in part.across_clusters]
        cluster = self.clusters
        ranked = [pair for pair in self.pairs if None not in (cluster[pair.first], cluster[pair.second])]
        return [pair for pair in ranked if pair.better is None and cluster[pair.first] != cluster[pair.second]]

    # ---- sentences ----

    @property
    def _title(self) -> str:
        return self.title or self.aspect

    def sentence(self, pair: PairDifference, subject: str | None = None) -> str:
        """Return a sentence with the verdict on a pair, about the better member, or about `subject` if it is worse.

        >>> pair = PairDifference("aster", "birch", 0.1, 0.02, 0.18, 0.0007, 0.0042, 6, 18, 0, better="aster")
        >>> Comparison({}, [pair], "composite").sentence(pair)
        'aster is better than birch on composite: +0.10 [0.02, 0.18], p = .004 after Holm over 6 pairs'
        """
        if pair.difference is None or pair.p_holm is None:
            reason = pair.reason or "no common documents"
            named = {"first": pair.first, "second": pair.second, "aspect": self._title}
            return Phrase("{first} and {second} were not compared on {aspect}: {reason}", **named, reason=reason)
        if pair.better is None:
            named = {"first": pair.first, "second": pair.second, "aspect": self._title}
            figures = self._figures(pair, pair.first)
            return Phrase("{first} and {second} cannot be told apart on {aspect}: {figures}", **named, figures=figures)
        worse = pair.second if pair.better == pair.first else pair.first
        if subject == worse:
            says = "is lower than" if self.aspect in NEUTRAL else "is worse than"
            first, second = worse, pair.better
        else:
            says = self.verb or (HIGHER if self.aspect in NEUTRAL else BETTER)
            first, second = pair.better, worse
        pattern, figures = f"{{first}} {says} {{second}} on {{aspect}}: {{figures}}", self._figures(pair, first)
        return Phrase(pattern, first=first, second=second, aspect=self._title, figures=figures)

    def _figures(self, pair: PairDifference, member: str) -> str:
        """Return the difference from the side of `member`, with the corrected p or why there is no test."""
        sign = 1 if member == pair.first else -1
        size = signed(sign * (pair.difference or 0.0), 2)
        if pair.low is not None and pair.high is not None and not same(pair.low, pair.high):
            low, high = sorted((sign * pair.low, sign * pair.high))
            size += f" {interval(low, high, 2)}"
        p, pairs = show_p(pair.p_holm or 0.0), count(pair.family, "pair")
        after = self._too_few(pair) or Phrase("{p} after Holm over {pairs}", p=p, pairs=pairs)
        lost = [Phrase("{n} without both scores", n=pair.missing)] if pair.missing else []
        return Phrase.join(", ", [size, after, *lost])

    def _too_few(self, pair: PairDifference) -> str | None:
        """Return why no difference can be significant after the correction, or None if a difference can."""
        least = min(1.0, pair.least_p * pair.family)
        few = pair.units < MIN_DOCUMENTS and pair.units
        if pair.p_holm is None or (least <= self.alpha and not few):
            return None
        pairs, units = count(pair.family, "pair"), count(pair.units, pair.by)
        why = ENOUGH if few else Phrase("{p} at best after Holm over {pairs}", p=show_p(least), pairs=pairs)
        one = f"{units} is too few for a verdict ({why})" if pair.units == 1 else None
        return Phrase("{units} are too few for a verdict ({why})", shown=one, units=units, why=why)

    def _smallest_p(self, pairs: Sequence[PairDifference]) -> str:
        """Return why no tested pair is significant.

        The reason is too few documents for all pairs, or else the smallest corrected p.
        """
        too_few = [self._too_few(pair) for pair in pairs]
        if all(too_few):
            return too_few[0] or ""
        pattern = "{p} after Holm over {pairs}" if len(pairs) == 1 else "smallest {p} after Holm over {pairs}"
        p = show_p(min(pair.p_holm for pair in pairs if pair.p_holm is not None))
        return Phrase(pattern, p=p, pairs=count(pairs[0].family, "pair"))

    def verdict(self) -> str:
        """Return one sentence that says which members are better and which cannot be told apart."""
        # A member that is not ranked, because it has too few documents in common with all others, has comparable pairs.
        paired = [name for name in self.values if name not in self.ranked and name not in self.scoreless]
        lost = [name for name in self.values if name in self.scoreless]
        unranked = [f"{', '.join(lost)} ha{'s' if len(lost) == 1 else 've'} no score on {self._title}"] if lost else []
        unranked += [f"{', '.join(paired)} {'is' if len(paired) == 1 else 'are'} not ranked"] if paired else []
        if len(self.parts) > 1:
            within = {frozenset((pair.first, pair.second)) for part in self.parts for pair in part.pairs}
            across = [pair for pair in self.pairs if pair.better and frozenset((pair.first, pair.second)) not in within]
            return "; ".join([*(part.verdict() for part in self.parts), *map(self.sentence, across), *unranked])
        if not self.better:
            return "; ".join([self._no_difference([*self.ranked, *paired]), *unranked])
        numbers = sorted({number for number in self.clusters.values() if number is not None})
        members = [", ".join(name for name in self.values if self.clusters[name] == number) for number in numbers]
        mixed = any(self.clusters[better] == self.clusters[worse] for better, worse in self.better)
        order = " > ".join(f"{{{names}}}" for names in members)
        clusters = [f"clusters{'' if mixed else ' of equals'}, best first: {order}"] if members else []
        if len(self.values) > MOST_NAMED:
            differ = f"{len(self.better)} of {count(len(self.pairs), 'pair')} differ on {self._title}"
            return "; ".join([f"{differ} (p <= {self.alpha:g} after Holm)", *unranked, *clusters])
        by_name = {frozenset((pair.first, pair.second)): pair for pair in self.pairs}
        few = len(self.pairs) <= _ALL_PAIRS
        names_of_pairs = combinations([*self.ranked, *paired], 2) if few else pairwise(self.ranked)
        shown = [by_name[frozenset(names)] for names in names_of_pairs]
        shown += [] if few else [pair for pair in self.pairs if pair.better and {pair.first, pair.second} & set(paired)]
        sizes_differ = len({pair.units for pair in self.pairs}) > 1
        better = [
            self.sentence(pair) + (f" on {count(pair.units, pair.by)}" if sizes_differ else "")
            for pair in shown
            if pair.better
        ]
        others = [self._not_significant(pair) for pair in shown if pair.p_holm is not None and not pair.better]
        return "; ".join([*better, *others, *unranked, *([] if few else clusters)])

    def _no_difference(self, names: Sequence[str]) -> str:
        tested = [pair for pair in self.pairs if pair.p_holm is not None]
        if len(names) < 2 or not tested:
            return f"nothing can be compared on {self._title}"
        verdict = f"{', '.join(names[:-1])} and {names[-1]} cannot be told apart on {self._title}"
        why, lost = self._smallest_p(tested), sum(pair.missing for pair in self.pairs)
        if lost:
            why += f"; {lost} without both scores" if len(self.pairs) == 1 else "; some documents lack a score"
        return f"{verdict}: {why}" if all(map(self._too_few, tested)) else f"{verdict} ({why})"

    def _not_significant(self, pair: PairDifference) -> str:
        lost = f", {pair.missing} without both scores" if pair.missing else ""
        if pair.units < MIN_DOCUMENTS and (why := self._too_few(pair)):
            return f"{pair.first} and {pair.second} cannot be told apart: {why}{lost}"
        return f"{pair.first} and {pair.second} cannot be told apart ({show_p(pair.p_holm or 0.0)}{lost})"

    def leading(self, shown: str) -> str:
        """Return a clause that names the leader, or the highest member and those not told apart from it.

        `shown` is the highest value as a string. If there are no ranked members, the result is `verdict()`.

        >>> from summeter.stats import paired_differences
        >>> scores = {"aster": [5, 4, 5, 4, 5, 4, 5], "birch": [3, 2, 4, 3, 3, 3, 2]}
        >>> (pairs,) = paired_differences([scores])
        >>> Comparison({"aster": 4.57, "birch": 2.86}, pairs, "fluency").leading("4.57")
        'aster leads on fluency, 4.57, and is better than birch: +1.71 [1.00, 2.50], p = .016 after Holm over 1 pair'
        """
        if not self.ranked:
            return self.verdict()
        if len(self.ranked) == 1:
            return Phrase("{system} has {aspect} {value}", system=self.ranked[0], aspect=self._title, value=shown)
        if len(self.highest) > 1:
            equal = len(self.highest) == len(self.ranked)
            who = listed(self.highest) if len(self.highest) <= FEW else count(len(self.highest), "system")
            claimed = [pair for pair in self.pairs if pair.better and {pair.first, pair.second} <= set(self.highest)]
            none = Phrase("no difference between them is claimed")
            but = Phrase.join("; ", map(self.sentence, claimed)) if claimed else none
            pattern = (
                "{systems} have the same {aspect}, {value}: {claims}" if equal
                else "{systems} share the highest {aspect}, {value}: {claims}"
            )  # fmt: skip
            return Phrase(pattern, systems=who, aspect=self._title, value=shown, claims=but)
        (name,) = self.highest
        best = {"system": name, "aspect": self._title, "value": shown}
        highest = Phrase("{system} has the highest {aspect}, {value}", **best)
        if self.aspect in NEUTRAL:
            return Phrase("{highest}; neither high nor low is good in itself", highest=highest)
        pair_with = {
            pair.second if pair.first == name else pair.first: pair
            for pair in self.pairs
            if name in (pair.first, pair.second) and {pair.first, pair.second} <= set(self.ranked)
        }
        says = self.verb or BETTER
        if ahead := [pair for pair in pair_with.values() if pair.better not in {None, name}]:
            # Means are over the documents that all systems share; a pair is compared on the documents that the two
            # share.
            claims = Phrase.join("; ", map(self.sentence, ahead))
            return Phrase("{highest}, but {claims}", highest=highest, claims=claims)
        beaten = [other for other, pair in pair_with.items() if pair.better == name]
        level = [other for other in pair_with if other not in beaten]
        if len(pair_with) == 1:
            ((other, pair),) = pair_with.items()
            figures = self._figures(pair, name)
            if beaten:
                pattern = f"{{system}} leads on {{aspect}}, {{value}}, and {says} {{other}}: {{figures}}"
                return Phrase(pattern, **best, other=other, figures=figures)
            apart = "{highest}, but cannot be told apart from {other}: {figures}"
            return Phrase(apart, highest=highest, other=other, figures=figures)
        if not beaten:
            why = self._smallest_p([pair for pair in pair_with.values() if pair.p_holm is not None])
            pattern = "{highest}, but cannot be told apart from any of the other {n}: {why}"
            return Phrase(pattern, highest=highest, n=len(level), why=why)
        than, others = (
            listed(names) if len(names) <= NAMED else Phrase("{n} others", n=len(names)) for names in (beaten, level)
        )
        pairs = count(next(iter(pair_with.values())).family, "pair")
        after = Phrase("(p <= {alpha} after Holm over {pairs})", alpha=f"{self.alpha:g}", pairs=pairs)
        leads = f"{{system}} leads on {{aspect}}, {{value}}, and {says}"
        if not level:
            return Phrase(f"{leads} each of the other {{n}} {{after}}", **best, n=len(beaten), after=after)
        pattern = f"{leads} {{than}} {{after}}, but cannot be told apart from {{others}}"
        return Phrase(pattern, **best, than=than, after=after, others=others)


# ---- agreement with people ----


ABOVE, BELOW, UNDECIDED = "above chance", "below chance", "cannot be told from chance"
UNITS = {"sentence": "sentences", "key_fact": "key facts", "summary": "summaries"}
"""Plural noun for the units of each level."""


def against_chance(statistic: str, low: float | None, high: float | None, documents: int | None = None) -> str:
    """Return the verdict on a statistic's interval: `ABOVE`, `BELOW` or `UNDECIDED`.

    The interval is compared with the value of the statistic for a random judge. The result is `UNDECIDED` if there is
    no interval or if there are fewer than 6 `documents` (None if the number is unknown).

    >>> against_chance("spearman", 0.1, 0.3), against_chance("auroc", 0.1, 0.3), against_chance("spearman", 0.1, 0.3, 5)
    ('above chance', 'below chance', 'cannot be told from chance')
    """
    chance = STATISTICS[statistic].chance
    if low is None or high is None or chance is None or (documents is not None and documents < MIN_DOCUMENTS):
        return UNDECIDED
    return ABOVE if low > chance else BELOW if high < chance else UNDECIDED


def agreement_name(statistic: str) -> str:
    """Return the display name of a statistic of agreement with people.

    >>> agreement_name("balanced_accuracy"), agreement_name("spearman")
    ('balanced accuracy', 'rank correlation')
    """
    return {"auroc": "AUROC", "balanced_accuracy": "balanced accuracy", "spearman": "rank correlation"}[statistic]


def agreement(
    statistic: str, value: float | None, low: float | None, high: float | None, *, verdict: str | None, n: int,
    level: str, reason: str | None = None,
) -> str:  # fmt: skip
    """Return a phrase that states a judge's agreement with people and the number of units.

    >>> agreement("balanced_accuracy", 0.71, 0.62, 0.8, verdict="above chance", n=120, level="sentence")
    'balanced accuracy 0.71 [0.62, 0.80], above chance (120 sentences)'
    """
    units = f"{n:,} {UNITS[level]}"
    if value is None:
        return f"{agreement_name(statistic)} is undefined, {reason} ({units})"
    shown = with_interval(value, low, high, 2)
    return f"{agreement_name(statistic)} {shown}{f', {verdict}' if verdict else ''} ({units})"


# ---- labels needed ----


def labels_needed(pair: PairDifference, error: float | None, alpha: float) -> int | None:
    """Return the number of labelled documents that detects a pair's difference with power `POWER`.

    The test uses the corrected level of the pair. `error` is the standard error of the difference on the present
    documents. Returns None if the difference is 0 or its standard error is unknown.
    """
    if not pair.difference or error is None:
        return None
    return labels_to_find(pair.units, error, error_to_find(abs(pair.difference), 1 - alpha / pair.family, POWER))


def labels_sentence(labels: int, shows: str = "tell them apart", units: str = "documents") -> str:
    """Return a sentence with the number of labelled units that are needed.

    >>> labels_sentence(1200)
    'about 1,200 labelled documents would tell them apart with probability 0.8'
    """
    return f"about {labels:,} labelled {units} would {shows} with probability {POWER:g}"
