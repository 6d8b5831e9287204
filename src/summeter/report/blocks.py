"""The blocks a report is made of: frozen values, computed once from runs, drawn by whoever renders them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from summeter.meta.results import Row
from summeter.records import Document, Judgment, Status, Summary
from summeter.report.views import RunView, Source
from summeter.report.words import Gloss, Kind
from summeter.scoring import PairScore, Score, SystemScore
from summeter.stats import PairDifference
from summeter.tables import Table

LISTED = 40
"""Items that could not be judged for one reason, as many as are listed."""


class RunBlock(NamedTuple):
    """What a page says of a run beside what the `view` holds: when it ran, how far it came, and how to repeat it.

    `counts` are judgments by status; `wanted` of them were not skipped. `missing` says how many scores there are not,
    `truncated` how many judgments rest on a document that was not shown whole. `replay` is the command that repeats the
    run without a model, None where judgments were imported.
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
    """Means of systems by one source on one aspect, on an axis from `low` to `high`.

    `means` are over the documents that all systems have, `own` over each system's own; `best` is better than all.
    """

    about: Gloss
    source: str
    signature: str
    low: float
    high: float
    means: Mapping[str, SystemScore | None]
    own: Mapping[str, SystemScore | None]
    best: str | None


class RankTable(NamedTuple):
    """Systems with their ranks, best first by the column `lead`; those without a value there have none.

    `unlike` says that systems of some column have scores for different documents, `note` which count in `lead`.
    """

    title: str
    columns: tuple[RankColumn, ...]
    ranks: Mapping[str, int | None]
    lead: int
    unlike: bool
    note: str | None


class AspectRank(NamedTuple):
    """The rank of a system's mean among the `of` systems that have one in that column. No rank where more is not
    better."""

    source: str
    mean: SystemScore
    rank: int | None
    of: int


class ErrorCount(NamedTuple):
    """By one source `unsupported` of `sentences` judged sentences are wrong; `types` of errors, most frequent first."""

    source: str
    unsupported: int
    sentences: int
    types: tuple[tuple[str, int], ...]


class Panel(NamedTuple):
    """Strengths and weaknesses of one system; `strongest` and `weakest` are the means of `aspect` on two domains."""

    system: str
    ranks: tuple[AspectRank, ...]
    aspect: str
    strongest: SystemScore | None
    weakest: SystemScore | None
    errors: tuple[ErrorCount, ...]


class DomainTable(NamedTuple):
    """Means by domain and system in one column of the ranking, whose values lie between `low` and `high`.

    Systems are columns, or rows where there are many. `lowest` is each system's lowest mean, if its means differ.
    """

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[SystemScore | None, ...], ...]
    low: float
    high: float
    lowest: Mapping[str, float]


class PairMatrix(NamedTuple):
    """Preferences of the system of a row over that of a column; None on the diagonal, and where two were not compared.

    `sentences` say the same in plain words.
    """

    title: str
    source: str
    signature: str
    interval: str
    systems: tuple[str, ...]
    cells: tuple[tuple[PairScore | None, ...], ...]
    sentences: tuple[str, ...]


class Reliability(NamedTuple):
    """How far one judge, asked in two ways, agrees with itself on each system (`rows`); `sentence` is the outcome."""

    judges: tuple[str, str]
    tolerance: float
    rows: tuple[Row, ...]
    sentence: str

    def flagged(self, row: Row) -> bool:
        """Whether the two ratings agree less than the tolerance on a system, or this cannot be told."""
        # As the study's own verdict: a difference in the thirteenth digit is rounding.
        return row.value is None or round(row.value, 12) < self.tolerance


class ItemLink(NamedTuple):
    """An item by its number in the list, and its name; of a pair, its first summary and the `rival`."""

    item: int
    doc_id: str
    system: str
    rival: str | None = None


class StudyTable(NamedTuple):
    """Rows of one kind. `title` is None where the study has no other; `names` say what each row is about, in the order
    of `columns`; `folded` says that the table is long."""

    title: str | None
    meaning: str | None
    columns: tuple[str, ...]
    names: tuple[tuple[str, ...], ...]
    rows: tuple[Row, ...]
    folded: bool


class StudyBlock(NamedTuple):
    """A study of judges and people: its tables, what they say in words, and what they depend on.

    `matrices` stand for the rows of many pairs.
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
    """The means of a system in two runs over the items both judged, the test of the second minus the first, and its
    outcome in words."""

    system: str
    first: float | None
    second: float | None
    pair: PairDifference
    outcome: str


class ColumnDifferences(NamedTuple):
    """Differences between two runs on one aspect, by one source of each."""

    title: str
    sources: tuple[str, str]
    rows: tuple[Difference, ...]


@dataclass
class FailureGroup:
    """Judgments that could not be had for one reason. `links` are the items on the page by their numbers, `items` all
    items; `pairs` says that these are pairs of summaries."""

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
        """The first items on the page."""
        return [self.links[items] for items in sorted(self.links)[:LISTED]]


class Changed(NamedTuple):
    """An item whose verdicts changed: `flips` of `compared`, and the largest change of a score."""

    link: ItemLink
    flips: int
    compared: int
    largest: float | None
    aspect: str | None


class RunComparison(NamedTuple):
    """One run against the first: what both judged, differences of means, and the items that changed most."""

    first: str
    second: str
    common: int
    alone: tuple[int, int]
    differences: tuple[ColumnDifferences, ...]
    changed: tuple[Changed, ...]
    changed_items: int
    note: str | None


class Verdict(NamedTuple):
    """A judgment in words and with a look. `source` counts in the list's sources, `facts` in the view's lists;
    `foreign` says that its unit is none of those that are shown."""

    judgment: Judgment
    source: int
    facts: int | None
    foreign: bool
    kind: Kind
    decision: str
    reasons: tuple[str, ...]


class Vote(NamedTuple):
    """What people decided about the sentence or key fact number `at`; `differs` where some judge decided otherwise."""

    unit: str
    aspect: str
    at: int | None
    facts: int | None
    kind: Kind
    decision: str
    differs: bool


class FactList(NamedTuple):
    """A list of key facts (or of claims) and where it came from."""

    origin: str
    texts: tuple[str, ...]


class ItemView(NamedTuple):
    """One summary beside its source, with the lists that verdicts on it count in, and its scores by column number."""

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
    """Every summary, worst first, with what the views share. The views are made when they are asked for. `sample` says
    which are listed of runs that are too large to list all.

    `filters` are the aspects that several sources judged, with these: the reader chooses whose verdicts are shown.
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
    """A whole report. One without `runs` shows studies only. `agreements` with people are rows beside their sources."""

    title: str
    runs: tuple[RunBlock, ...]
    tables: tuple[RankTable, ...]
    panels: tuple[Panel, ...]
    by_domain: tuple[DomainTable, ...]
    head_to_head: tuple[PairMatrix, ...]
    agreements: tuple[tuple[str, Row], ...]
    reliabilities: tuple[Reliability, ...]
    studies: tuple[StudyBlock, ...]
    failures: tuple[FailureGroup, ...]
    items: ItemList
    comparisons: tuple[RunComparison, ...]
    sources: tuple[Source, ...]
    glossary: tuple[Gloss, ...]
