"""The blocks a report is made of: frozen values, computed once from runs, drawn by whoever renders them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from summeter.records import Span
from summeter.report.words import Kind


class Count(NamedTuple):
    """How many judgments have a status, and their share of all."""

    status: str
    number: int
    share: float


class RunHead(NamedTuple):
    """What a run judged, with what, when, and how far it came."""

    letter: str
    name: str
    status: str
    alarm: str | None
    when: str
    judges: tuple[str, ...]
    data_name: str
    documents: int
    summaries: int
    judged: int
    systems: int
    domains: int
    counts: tuple[Count, ...]
    wanted: int
    coverage: float | None
    verdict: str
    left_out: str | None


class Column(NamedTuple):
    """One column of a ranking: an aspect as one source scores it, on an axis from `low` to `high`."""

    title: str
    source: str
    signature: str
    meaning: str
    formula: str
    low: float
    high: float


class Cell(NamedTuple):
    """A mean in a table. `marked` is the highest value of a ranking's column, the weakest domain of a system, or a pair
    that is settled; `shade` goes from 0 (low) to 6 (high) where a table is coloured."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    missing: int = 0
    marked: bool = False
    reason: str | None = None
    shade: int = 0
    flip_rate: float | None = None


class RankRow(NamedTuple):
    """A system with its rank (None without a value in the leading column)."""

    system: str
    rank: int | None
    cells: tuple[Cell | None, ...]


class RankTable(NamedTuple):
    """Systems, best first by the column `lead`."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[RankRow, ...]
    lead: int


class AspectRank(NamedTuple):
    """The rank of a system in a column among the `of` systems that have a value there. No rank where more is not
    better."""

    title: str
    source: str
    cell: Cell
    rank: int | None
    of: int


class Panel(NamedTuple):
    """Strengths and weaknesses of one system.

    `strongest` and `weakest` are domains with their means of `aspect`; `errors` counts sentences by error type, most
    frequent first; `unsupported` of `sentences` judged sentences are wrong.
    """

    system: str
    ranks: tuple[AspectRank, ...]
    aspect: str
    strongest: tuple[str, Cell] | None
    weakest: tuple[str, Cell] | None
    errors: tuple[tuple[str, int], ...]
    unsupported: int
    sentences: int
    judge: str


class Heat(NamedTuple):
    """Means by domain and system in one column. `by_system` says that systems are the rows."""

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]
    by_system: bool


class HeadToHead(NamedTuple):
    """Pairs of systems as one judge compares them on one aspect: rows over columns, in the order of `systems`.

    No cell on the diagonal, and where two were not compared. `said` says the same in plain words.
    """

    title: str
    source: str
    signature: str
    interval: str
    systems: tuple[str, ...]
    cells: tuple[tuple[Cell | None, ...], ...]
    said: tuple[str, ...]


class ItemLink(NamedTuple):
    """An item by its number in the list, and its name; of a pair, its first summary and the `rival`."""

    item: int
    doc_id: str
    system: str
    rival: str | None = None


class StudyRow(NamedTuple):
    """A number of a study: what it is about, in the order of the table's columns, and how sure it is.

    No `value` without a number; `reason` then says why, and beside a number why it has no interval.
    """

    names: tuple[str, ...]
    value: float | None
    digits: int
    low: float | None
    high: float | None
    bare: bool
    p: float | None
    n: int
    missing: int
    reason: str | None


class StudyTable(NamedTuple):
    """Rows of one kind. `title` is None where the study has no other; `tested` and `lacking` say whether some row has
    a p-value, and something missing; `folded` that it is long."""

    title: str | None
    meaning: str | None
    columns: tuple[str, ...]
    rows: tuple[StudyRow, ...]
    tested: bool
    lacking: bool
    folded: bool


class StudyBlock(NamedTuple):
    """A study of judges and people: its tables, what they say in words, and what they depend on."""

    title: str
    tables: tuple[StudyTable, ...]
    verdicts: tuple[str, ...]
    notes: tuple[str, ...]
    signatures: tuple[str, ...]
    people: tuple[str, ...]
    intervals: tuple[str, ...]


class Reliable(NamedTuple):
    """How far one judge, asked in two ways, agrees with itself on a system's `n` summaries: rho, and in words.

    `flagged` where that is under the tolerance, or cannot be told.
    """

    system: str
    value: float | None
    n: int
    missing: int
    flagged: bool
    words: str


class Reliability(NamedTuple):
    """Reliability of a judge's ratings on one aspect, system by system; `said` is the outcome in a sentence."""

    title: str
    judge: str
    model: str | None
    signature: str
    tolerance: float
    systems: tuple[Reliable, ...]
    said: str


class FailureGroup(NamedTuple):
    """Judgments that could not be had for one reason; `more` items are not listed. `pairs` says that the items are
    pairs of summaries."""

    status: str
    meaning: str
    source: str
    aspects: tuple[str, ...]
    reason: str
    judgments: int
    items: int
    listed: tuple[ItemLink, ...]
    more: int
    pairs: bool


class Difference(NamedTuple):
    """Second run minus first, for a system in a column, over the items both judged."""

    system: str
    first: float | None
    second: float | None
    difference: float | None
    low: float | None
    high: float | None
    n: int
    words: str


class Contrast(NamedTuple):
    """Two sources of two runs on one aspect, system by system."""

    title: str
    first: str
    second: str
    rows: tuple[Difference, ...]


class Changed(NamedTuple):
    """An item whose verdicts changed: `flips` of `compared`, and the largest change of a score."""

    link: ItemLink
    flips: int
    compared: int
    largest: float | None
    aspect: str | None


class Comparison(NamedTuple):
    """One run against the first: what both judged, means, and the items that changed most."""

    first: str
    second: str
    common: int
    alone: tuple[int, int]
    contrasts: tuple[Contrast, ...]
    changed: tuple[Changed, ...]
    changed_items: int
    note: str | None


class Signed(NamedTuple):
    """A source with all that its numbers depend on."""

    letter: str
    label: str
    judge: str
    model: str | None
    aspects: tuple[str, ...]
    reduce: str
    signature: str
    imported: bool


class Provenance(NamedTuple):
    """How to make a run's numbers again."""

    letter: str
    name: str
    data_name: str
    data_hash: str
    splitter: str
    summeter: str
    python: str
    intervals: tuple[str, ...]
    options: tuple[tuple[str, str], ...]
    replayed_from: str | None
    replay: str | None
    rebuild: str
    taken: tuple[str, ...] = ()


class Verdict(NamedTuple):
    """One judgment as the page shows it: of the unit number `at`. `source` counts in the list's sources, `facts` in
    the view's; `foreign` says that the unit is none of those that are shown."""

    source: int
    aspect: str
    unit: str
    at: int | None
    facts: int | None
    foreign: bool
    kind: Kind
    said: str
    reasons: tuple[str, ...]
    evidence: tuple[Span, ...]


class Vote(NamedTuple):
    """What people decided about the sentence or key fact number `at`; `differs` where some judge decided otherwise."""

    unit: str
    aspect: str
    at: int
    facts: int | None
    kind: Kind
    said: str
    differs: bool


class ItemScore(NamedTuple):
    """A summary's score in a column of the list."""

    column: int
    value: float | None
    n: int
    missing: int
    status: str
    reason: str | None


class FactList(NamedTuple):
    """A list of key facts (or of claims) and where it came from."""

    origin: str
    texts: tuple[str, ...]


class ItemView(NamedTuple):
    """One summary beside its source, with the lists that verdicts on it count in."""

    document: int
    system: str
    text: str
    sentences: tuple[tuple[int, int], ...]
    verdicts: tuple[Verdict, ...]
    votes: tuple[Vote, ...]
    facts: tuple[FactList, ...]
    scores: tuple[ItemScore, ...]
    order: float | None
    wrong: bool
    failed: bool
    differs: bool
    changed: int


class DocumentView(NamedTuple):
    """A source text."""

    id: str
    text: str
    domain: str | None
    references: tuple[str, ...]


class ScoreColumn(NamedTuple):
    """A score that a summary may have."""

    title: str
    source: str
    signature: str


class JudgeFilter(NamedTuple):
    """An aspect that several sources judged: the reader chooses whose verdicts are shown."""

    aspect: str
    sources: tuple[int, ...]


class ItemList(NamedTuple):
    """Every summary, worst first, with what the views share. The views are made when they are asked for."""

    documents: tuple[DocumentView, ...]
    sources: tuple[str, ...]
    signatures: tuple[str, ...]
    columns: tuple[ScoreColumn, ...]
    views: Sequence[ItemView]
    systems: tuple[str, ...]
    domains: tuple[str, ...]
    filters: tuple[JudgeFilter, ...]
    aspects: tuple[str, ...]
    people: bool
    ordered_by: str | None


class Page(NamedTuple):
    """A whole report. One without `heads` shows studies only."""

    title: str
    summeter: str
    heads: tuple[RunHead, ...]
    tables: tuple[RankTable, ...]
    panels: tuple[Panel, ...]
    heats: tuple[Heat, ...]
    duels: tuple[HeadToHead, ...]
    reliabilities: tuple[Reliability, ...]
    studies: tuple[StudyBlock, ...]
    failures: tuple[FailureGroup, ...]
    items: ItemList
    comparisons: tuple[Comparison, ...]
    signed: tuple[Signed, ...]
    provenance: tuple[Provenance, ...]
    glossary: tuple[tuple[str, str, str], ...]
