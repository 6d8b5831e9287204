"""The blocks of a report: immutable values computed from runs and then rendered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from summeter.meta._versions import ChangedItem
from summeter.meta.results import Row
from summeter.meta.verdicts import Comparison
from summeter.pages.figures import Figure
from summeter.records import Judgment, Status, Summary
from summeter.report.views import RunView
from summeter.report.words import Gloss, VerdictStyle
from summeter.scoring import PairScore, Score, SystemScore
from summeter.stats import PairDifference
from summeter.tables import Table

LISTED = 40
"""Maximum number of links that are listed for one group of failures."""


class RunBlock(NamedTuple):
    """Summary of a run: when it ran, what was judged, and how to repeat it.

    `verdict` contains sentences, of which the first is the most important. `counts` maps statuses to numbers of
    judgments, and `wanted` is the number of judgments that were not skipped. `missing` and `truncated` are sentences
    about missing scores and about judgments of shortened documents, or None.
    `replay` is the command that repeats the run without a model, or None if the judgments were imported. `browse` and
    `trust` are the commands that show all summaries and that explain the verdicts on trust.
    """

    view: RunView
    data_name: str
    when: str
    judges: tuple[str, ...]
    judged: int
    counts: Mapping[str, int]
    wanted: int
    verdict: tuple[str, ...]
    missing: str | None
    truncated: str | None
    intervals: tuple[str, ...]
    options: tuple[tuple[str, str], ...]
    replayed_from: str | None
    replay: str | None
    rebuild: str
    browse: str
    trust: str


class RankColumn(NamedTuple):
    """The means of systems by one source on one aspect, with an axis from `low` to `high`.

    `means` are computed over the documents that the systems of a ranking share, and `all_means` over all documents of
    each system. `comparison` tells which differences are significant. `flags` says of systems that they are in another
    ranking than others, or not ranked.
    """

    about: Gloss
    source: str
    signature: str
    low: float
    high: float
    means: Mapping[str, SystemScore | None]
    all_means: Mapping[str, SystemScore | None]
    comparison: Comparison
    flags: Mapping[str, str | None]

    @property
    def pairs(self) -> dict[tuple[str, str], PairDifference]:
        """The tested differences, each from the side of both of its systems."""
        tested = [pair for pair in self.comparison.pairs if pair.p_holm is not None]
        return {names: pair for pair in tested for names in ((pair.first, pair.second), (pair.second, pair.first))}


class RankTable(NamedTuple):
    """Systems with their ranks, best first.

    Systems are ranked by the first column, separately if they have no document in common; systems without a ranking in
    this column have no rank.
    `unlike` is True if, in some column, systems have scores for different documents. `note` describes the documents
    over which the first column is computed. `counts` states n and the number of missing scores if all cells have the
    same, and `flags` has the flag of each system that has the same in all columns.
    """

    title: str
    columns: tuple[RankColumn, ...]
    ranks: Mapping[str, int | None]
    unlike: bool
    note: str | None
    counts: str | None
    flags: Mapping[str, str | None]

    @property
    def ranked(self) -> bool:
        """Whether any system has a rank."""
        return any(rank is not None for rank in self.ranks.values())


class AspectRank(NamedTuple):
    """Rank of a system's mean in one column.

    `of` is the number of systems in the column. `rank` is None if higher values are not better.
    """

    source: str
    mean: SystemScore
    rank: int | None
    of: int


class ErrorCount(NamedTuple):
    """Errors that one source found in the sentences of a system.

    Of `sentences` judged sentences, `unsupported` are wrong. `types` contains the error types with their counts, most
    frequent first.
    """

    source: str
    unsupported: int
    sentences: int
    types: tuple[tuple[str, int], ...]

    def of(self, error_type: str | None) -> int:
        """Return the number of errors of a type, or of all wrong sentences."""
        return self.unsupported if error_type is None else dict(self.types).get(error_type, 0)


class Panel(NamedTuple):
    """Strengths and weaknesses of one system.

    `strongest` and `weakest` are the highest and lowest mean of `aspect` over domains, or None.
    """

    system: str
    ranks: tuple[AspectRank, ...]
    aspect: str
    strongest: SystemScore | None
    weakest: SystemScore | None
    errors: tuple[ErrorCount, ...]


class PairMatrix(NamedTuple):
    """Preferences of row systems over column systems.

    Cells on the diagonal and for pairs that were not compared are None. `sentences` state the results in words.
    """

    title: str
    source: str
    signature: str
    interval: str
    systems: tuple[str, ...]
    cells: tuple[tuple[PairScore | None, ...], ...]
    sentences: tuple[str, ...]


class Reliability(NamedTuple):
    """Agreement of two ratings by one judge, with one row per system.

    `sentence` states the outcome in words.
    """

    judges: tuple[str, str]
    tolerance: float
    rows: tuple[Row, ...]
    sentence: str

    def flagged(self, row: Row) -> bool:
        """Return whether the agreement on a system is below the tolerance or undefined."""
        # Rounded as in the study's verdict, to ignore rounding errors.
        return row.value is None or round(row.value, 12) < self.tolerance


class ItemLink(NamedTuple):
    """The number and the name of an item.

    For a pair of summaries, these are the number and name of its first summary; `rival` is the other system.
    """

    item: int
    doc_id: str
    system: str
    rival: str | None = None


class StudyTable(NamedTuple):
    """Rows of one type in a study.

    `title` is None if the study has only this type. `names` contains the identifying cells of each row, in the order of
    `columns`. `folded` is True if the table is long and therefore collapsed at first.
    """

    title: str | None
    meaning: str | None
    columns: tuple[str, ...]
    names: tuple[tuple[str, ...], ...]
    rows: tuple[Row, ...]
    folded: bool


class StudyBlock(NamedTuple):
    """A study: tables, verdicts and notes, and the signatures and intervals behind them.

    `matrices` is not empty if the study compares many pairs.
    """

    title: str
    matrices: tuple[Table, ...]
    tables: tuple[StudyTable, ...]
    verdicts: tuple[str, ...]
    notes: tuple[str, ...]
    signatures: tuple[str, ...]
    people: tuple[str, ...]
    intervals: tuple[str, ...]
    figure: Figure | None = None


class TrustPart(NamedTuple):
    """A part of the section on a judge: sentences, figures and tables below a title."""

    title: str
    texts: tuple[str, ...]
    figures: tuple[Figure, ...]
    tables: tuple[Table, ...]


class TrustBlock(NamedTuple):
    """How far a judge can be trusted on an aspect.

    `facts` are the numbers that decide the verdict, as titles and texts. `sources` says where the numbers come from.
    """

    id: str
    name: str
    verdict: str
    sentence: str
    rule: str
    facts: tuple[tuple[str, str], ...]
    parts: tuple[TrustPart, ...]
    sources: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...]


class ColumnDifferences(NamedTuple):
    """Differences between two runs on one aspect by one judge, with one row per system or group, or one in all."""

    title: str
    source: str
    rows: tuple[Row, ...]


@dataclass
class FailureGroup:
    """Judgments that are missing for one reason.

    `links` contains the affected items that are on the page, by number, and `items` all affected items. `pairs` is True
    if the items are pairs of summaries.
    """

    status: Status
    source: str
    reason: str
    pairs: bool
    judgments: int = 0
    aspects: dict[str, None] = field(default_factory=dict)
    links: dict[tuple[int, ...], ItemLink] = field(default_factory=dict)
    items: set[tuple[int, ...] | tuple[str, ...]] = field(default_factory=set)

    @property
    def listed(self) -> list[ItemLink]:
        """The first links in order, as many as are listed."""
        return [self.links[items] for items in sorted(self.links)[:LISTED]]


class Passage(NamedTuple):
    """A part of a text. It is marked if it differs from another text, or if it is evidence."""

    text: str
    marked: bool


class ShownVerdict(NamedTuple):
    """The verdict of one run on a unit in words, with its style, reason, and the texts of its evidence."""

    style: VerdictStyle
    words: str
    reason: str | None
    quotes: tuple[str, ...]


class ChangedVerdict(NamedTuple):
    """A change of a verdict; `old` or `new` is None if a run did not judge the unit."""

    kind: str
    aspect: str
    judge: str
    unit: str
    text: str | None
    old: ShownVerdict | None
    new: ShownVerdict | None


class ChangedSummary(NamedTuple):
    """A summary that differs between two runs, in its text, verdicts or scores.

    `old` and `new` are its texts, in which differing words are marked, and `source` is the document, in which the
    evidence of both runs is marked. `more` is the number of further changed verdicts. `scores` contains aspect, judge,
    old and new score. `links` lead to the summaries on the page.
    """

    item: ChangedItem
    old: tuple[Passage, ...]
    new: tuple[Passage, ...]
    source: tuple[Passage, ...]
    verdicts: tuple[ChangedVerdict, ...]
    more: int
    scores: tuple[tuple[str, str, str, str], ...]
    links: tuple[ItemLink | None, ItemLink | None]


class RunComparison(NamedTuple):
    """Comparison of two runs: the verdict, differences of means, and the summaries that changed most.

    `first` and `second` are the letters of the runs, and `system` is the only system, or None. `differences` are those
    of all summaries, and `by_group` those of systems and groups. `families` are the numbers of tests that were
    corrected together.
    """

    first: str
    second: str
    names: tuple[str, str]
    sentences: tuple[str, ...]
    notes: tuple[str, ...]
    system: str | None
    differences: tuple[ColumnDifferences, ...]
    by_group: tuple[ColumnDifferences, ...]
    families: tuple[int, ...]
    changed: tuple[ChangedSummary, ...]
    changed_items: int


class Verdict(NamedTuple):
    """A judgment with its description in words and its style.

    `source` is the index of the source, and `facts` the index of the view's list of facts, or None. `foreign` is True
    if the judged unit is not one of the units on the page.
    """

    judgment: Judgment
    source: int
    facts: int | None
    foreign: bool
    style: VerdictStyle
    decision: str
    reasons: tuple[str, ...]


class Vote(NamedTuple):
    """The decision of people on a sentence or key fact.

    `at` is the index of the unit. `differs` is True if some judge decided otherwise.
    """

    unit: str
    aspect: str
    at: int | None
    facts: int | None
    style: VerdictStyle
    decision: str
    differs: bool


class FactList(NamedTuple):
    """A list of key facts or claims, with its origin."""

    origin: str
    texts: tuple[str, ...]


class ItemView(NamedTuple):
    """One summary with all verdicts on it.

    `document` is the index of the source document, `facts` contains the lists that verdicts refer to, and `scores` maps
    indexes of columns to scores.
    """

    document: int
    summary: Summary
    verdicts: tuple[Verdict, ...]
    votes: tuple[Vote, ...]
    facts: tuple[FactList, ...]
    scores: Mapping[int, Score]
    wrong: bool
    failed: bool
    differs: bool
    changed: int
