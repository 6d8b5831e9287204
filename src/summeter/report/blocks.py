"""The blocks of a report: immutable values that are computed from runs and then rendered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from summeter.meta.results import Row
from summeter.records import Document, Judgment, Status, Summary
from summeter.report.views import RunView, Source
from summeter.report.words import Gloss, VerdictStyle
from summeter.scoring import PairScore, Score, SystemScore
from summeter.stats import PairDifference
from summeter.tables import Table

LISTED = 40
"""Maximum number of links listed for one group of failures."""


class RunBlock(NamedTuple):
    """Summary of a run: when it ran, what was judged, and how to repeat it.

    `counts` maps statuses to numbers of judgments; `wanted` is the number that were not skipped. `missing` and
    `truncated` are sentences about missing scores and about judgments of shortened documents. `replay` is the command
    that repeats the run without a model, or None if judgments were imported.
    """

    view: RunView
    data_name: str
    when: str
    judges: tuple[str, ...]
    judged: int
    counts: Mapping[str, int]
    wanted: int
    verdict: str
    missing: str | None
    truncated: str | None
    intervals: tuple[str, ...]
    options: tuple[tuple[str, str], ...]
    replayed_from: str | None
    replay: str | None
    rebuild: str


class Column(NamedTuple):
    """Scores of one source on one aspect."""

    about: Gloss
    source: str
    signature: str


class RankColumn(NamedTuple):
    """Means of systems by one source on one aspect, with an axis from `low` to `high`.

    `means` are over the documents that all systems share, `all_means` over all documents of each system. `best` is the
    system that is significantly better than all others, or None.
    """

    about: Gloss
    source: str
    signature: str
    low: float
    high: float
    means: Mapping[str, SystemScore | None]
    all_means: Mapping[str, SystemScore | None]
    best: str | None


class RankTable(NamedTuple):
    """Systems with their ranks, best first by the column `lead`; systems without a value there have no rank.

    `unlike` is True if systems of some column have scores for different documents; `note` describes the documents on
    which `lead` is computed.
    """

    title: str
    columns: tuple[RankColumn, ...]
    ranks: Mapping[str, int | None]
    lead: int
    unlike: bool
    note: str | None


class AspectRank(NamedTuple):
    """Rank of a system's mean among the `of` systems of the column, or None if higher values are not better."""

    source: str
    mean: SystemScore
    rank: int | None
    of: int


class ErrorCount(NamedTuple):
    """By one source: `unsupported` of `sentences` sentences are wrong, with error `types`, most frequent first."""

    source: str
    unsupported: int
    sentences: int
    types: tuple[tuple[str, int], ...]


class Panel(NamedTuple):
    """Strengths and weaknesses of one system; `strongest` and `weakest` are its means of `aspect` by domain."""

    system: str
    ranks: tuple[AspectRank, ...]
    aspect: str
    strongest: SystemScore | None
    weakest: SystemScore | None
    errors: tuple[ErrorCount, ...]


class DomainTable(NamedTuple):
    """Means by domain and system in one column of the ranking, with values from `low` to `high`.

    Systems are columns, or rows if there are many. `lowest` is the lowest mean of each system whose means differ.
    """

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[SystemScore | None, ...], ...]
    low: float
    high: float
    lowest: Mapping[str, float]


class PairMatrix(NamedTuple):
    """Preferences of row systems over column systems; None on the diagonal and for pairs that were not compared.

    `sentences` state the results in words.
    """

    title: str
    source: str
    signature: str
    interval: str
    systems: tuple[str, ...]
    cells: tuple[tuple[PairScore | None, ...], ...]
    sentences: tuple[str, ...]


class Reliability(NamedTuple):
    """Agreement of one judge's two ratings on each system (`rows`); `sentence` states the outcome."""

    judges: tuple[str, str]
    tolerance: float
    rows: tuple[Row, ...]
    sentence: str

    def flagged(self, row: Row) -> bool:
        """Return whether the two ratings agree less than the tolerance on a system, or their agreement is undefined."""
        # Rounded as in the study's verdict, to ignore rounding errors.
        return row.value is None or round(row.value, 12) < self.tolerance


class ItemLink(NamedTuple):
    """An item by its number and its name; for a pair, of its first summary, with the `rival`."""

    item: int
    doc_id: str
    system: str
    rival: str | None = None


class StudyTable(NamedTuple):
    """Rows of one type. `title` is None if the study has no other type.

    `names` holds the identifying cells of each row, in the order of `columns`; `folded` is True for a long table.
    """

    title: str | None
    meaning: str | None
    columns: tuple[str, ...]
    names: tuple[tuple[str, ...], ...]
    rows: tuple[Row, ...]
    folded: bool


class StudyBlock(NamedTuple):
    """A study: its tables, verdicts and notes, and the signatures and intervals they depend on.

    `matrices` are shown if there are many pairs.
    """

    title: str
    matrices: tuple[Table, ...]
    tables: tuple[StudyTable, ...]
    verdicts: tuple[str, ...]
    notes: tuple[str, ...]
    signatures: tuple[str, ...]
    people: tuple[str, ...]
    intervals: tuple[str, ...]


class Difference(NamedTuple):
    """Means of a system in two runs over the shared items, the test of the difference, and its outcome in words."""

    system: str
    first: float | None
    second: float | None
    pair: PairDifference
    outcome: str


class ColumnDifferences(NamedTuple):
    """Differences between two runs on one aspect, with the sources of both."""

    title: str
    sources: tuple[str, str]
    rows: tuple[Difference, ...]


@dataclass
class FailureGroup:
    """Judgments that are missing for one reason.

    `links` are the items on the page, by their numbers; `items` are all items. `pairs` is True if the items are pairs
    of summaries.
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
        """The first links, sorted."""
        return [self.links[items] for items in sorted(self.links)[:LISTED]]


class Changed(NamedTuple):
    """An item with changed verdicts: `flips` of `compared` verdicts, and the largest change of a score."""

    link: ItemLink
    flips: int
    compared: int
    largest: float | None
    aspect: str | None


class RunComparison(NamedTuple):
    """Comparison of a run with the first run: shared items, differences of means, and the items that changed most."""

    first: str
    second: str
    common: int
    alone: tuple[int, int]
    differences: tuple[ColumnDifferences, ...]
    changed: tuple[Changed, ...]
    changed_items: int
    note: str | None


class Verdict(NamedTuple):
    """A judgment in words and with a style.

    `source` is the index of the source, and `facts` that of the view's list of facts. `foreign` is True if its unit is
    not one of the units on the page.
    """

    judgment: Judgment
    source: int
    facts: int | None
    foreign: bool
    style: VerdictStyle
    decision: str
    reasons: tuple[str, ...]


class Vote(NamedTuple):
    """People's decision on a sentence or key fact (number `at`); `differs` is True if some judge disagrees."""

    unit: str
    aspect: str
    at: int | None
    facts: int | None
    style: VerdictStyle
    decision: str
    differs: bool


class FactList(NamedTuple):
    """A list of key facts (or of claims) and its origin."""

    origin: str
    texts: tuple[str, ...]


class ItemView(NamedTuple):
    """One summary with its source, the lists of facts that verdicts refer to, and its scores by column number."""

    document: int
    summary: Summary
    verdicts: tuple[Verdict, ...]
    votes: tuple[Vote, ...]
    facts: tuple[FactList, ...]
    scores: Mapping[int, Score]
    order: float | None
    wrong: bool
    failed: bool
    differs: bool
    changed: int


class ItemList(NamedTuple):
    """All summaries, lowest score first, with shared data. Views are created on access.

    `sample` says which summaries are listed if the runs are too large to list all. `filters` maps the aspects that
    several sources judged to these sources, among which the reader chooses.
    """

    documents: tuple[Document, ...]
    sources: tuple[str, ...]
    signatures: tuple[str, ...]
    columns: tuple[Column, ...]
    views: Sequence[ItemView]
    systems: tuple[str, ...]
    domains: tuple[str, ...]
    filters: Mapping[str, tuple[int, ...]]
    aspects: tuple[str, ...]
    people: bool
    ordered_by: str | None
    sample: str | None = None


class Page(NamedTuple):
    """A report. Without `runs` it shows studies only. `agreements` pairs source labels with agreement rows;
    `agreements_elsewhere` are sentences about judges whose agreement was measured on other data only."""

    title: str
    runs: tuple[RunBlock, ...]
    tables: tuple[RankTable, ...]
    panels: tuple[Panel, ...]
    by_domain: tuple[DomainTable, ...]
    head_to_head: tuple[PairMatrix, ...]
    agreements: tuple[tuple[str, Row], ...]
    agreements_elsewhere: tuple[str, ...]
    reliabilities: tuple[Reliability, ...]
    studies: tuple[StudyBlock, ...]
    failures: tuple[FailureGroup, ...]
    items: ItemList
    comparisons: tuple[RunComparison, ...]
    sources: tuple[Source, ...]
    glossary: tuple[Gloss, ...]
