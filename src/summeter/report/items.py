"""The items: every summary beside its source, with all verdicts on it, worst first; each made when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import overload

from summeter.records import Document, Judgment, Status, Summary
from summeter.report.blocks import (
    DocumentView,
    FactList,
    ItemList,
    ItemScore,
    ItemView,
    JudgeFilter,
    ScoreColumn,
    Verdict,
)
from summeter.report.people import Votes
from summeter.report.ranks import ColumnKey, label_of
from summeter.report.views import RunView, Source
from summeter.report.words import gloss, kind, told, verdict
from summeter.scoring import COMPOSITE, Score
from summeter.scoring.systems import FIRST

# (run, document id, system) -> the item's number on the page.
Where = Mapping[tuple[int, str, str], int]
# What a verdict is about: aspect, unit, index, list.
UnitKey = tuple[str, str, int | None, str | None]
FAILED: frozenset[Status] = frozenset({"unparsed", "refused", "error"})
_FILTERED = ("faithfulness", "completeness", "conciseness")


class ItemViews(Sequence[ItemView]):
    """Views by number. None is kept: a run may hold more of them than fit into memory."""

    def __init__(self, make: Callable[[int], ItemView], count: int) -> None:
        self._make, self._places = make, range(count)

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[ItemView]:
        # A sequence's own way would take an IndexError from within a view for the end of the list.
        return map(self._make, self._places)

    @overload
    def __getitem__(self, at: int) -> ItemView: ...

    @overload
    def __getitem__(self, at: slice) -> list[ItemView]: ...

    def __getitem__(self, at: int | slice) -> ItemView | list[ItemView]:
        if isinstance(at, slice):
            return [self._make(one) for one in self._places[at]]
        return self._make(self._places[at])


class ItemListBuilder:
    """Gathers items over runs. Summaries that are equal, text and sentences and source, are one item.

    Items are numbered as they stand on the page: by composite where there is one, else by the first score there is,
    the lowest first. Those without that score come last; they are unknown, not bad, and listed among the failures.
    """

    def __init__(self, views: Sequence[RunView], sources: Sequence[Source]) -> None:
        self.views = views
        self.sources = sources
        self.columns = _columns(views)
        self.facts: dict[str, FactList] = {}
        for view in views:
            for name, facts in view.key_facts.items():
                self.facts.setdefault(name, FactList(facts.origin, facts.texts))
        self._numbers = {(one.run, one.judge, one.signature): at for at, one in enumerate(sources)}
        entries = (judge for view in views for judge in view.judges)
        self._imported = {(judge.name, judge.signature) for judge in entries if judge.imported}
        self._columns = {place: at for at, place in enumerate(self.columns)}
        self._scores = [view.scores.by_item() for view in views]
        gathered = _Gathered(views)
        self.documents = list(gathered.documents)
        self.systems = tuple(dict.fromkeys(summary.system for _, summary in gathered.items))
        values = self._values(gathered)
        order = sorted(range(len(values)), key=lambda item: (values[item] is None, values[item] or 0.0, item))
        self.items = [gathered.items[item] for item in order]
        place = {item: at for at, item in enumerate(order)}
        # How judgments and scores find their item.
        self.where = {key: place[item] for key, item in gathered.where.items()}

    def _lead(self) -> int | None:
        for at, place in enumerate(self.columns):
            if place.aspect == COMPOSITE:
                return at
        return 0 if self.columns else None

    def _values(self, gathered: _Gathered) -> list[float | None]:
        """What each item is ordered by."""
        found: list[float | None] = [None] * len(gathered.items)
        if (lead := self._lead()) is None:
            return found
        view = self.views[self.columns[lead].run]
        for score in view.scores:
            item = gathered.where.get((view.place, score.doc_id, score.system))
            if item is not None and _place(view, score) == self.columns[lead]:
                found[item] = score.value
        return found

    def build(self, filters: Sequence[JudgeFilter]) -> ItemList:
        """Every item, with what the views share."""
        lead = self._lead()
        documents = tuple(DocumentView(one.id, one.text, one.domain, one.references) for one in self.documents)
        return ItemList(
            documents=documents, sources=tuple(source.label for source in self.sources),
            signatures=tuple(source.signature for source in self.sources),
            columns=tuple(self._column(place) for place in self.columns),
            views=ItemViews(self.view, len(self.items)),
            systems=self.systems,
            domains=tuple(dict.fromkeys(one.domain for one in documents if one.domain is not None)),
            filters=tuple(filters),
            aspects=tuple(dict.fromkeys(place.aspect for place in self.columns)),
            people=any(self._voted(item) for item in range(len(self.items))),
            ordered_by=None if lead is None else gloss(self.columns[lead].aspect).title,
        )  # fmt: skip

    def _column(self, place: ColumnKey) -> ScoreColumn:
        label = label_of(place, self.views[place.run], self.sources)
        return ScoreColumn(gloss(place.aspect).title, label, place.signature)

    def view(self, item: int) -> ItemView:
        """A summary with everything that was said of it. InputError where the run's files have changed meanwhile."""
        number, summary = self.items[item]
        document = self.documents[number]
        views = self._views_of(item)
        read = [(view, one) for view in views for one in view.items.read(document.id, summary.system)]
        judged = [
            (source, one) for view, one in read
            if (source := self._numbers.get((view.place, one.judge, one.signature))) is not None
        ]  # fmt: skip
        said = self._said(item)
        lists = self._lists([*(one for _, one in read), *said])
        numbers = {name: at for at, name in enumerate(lists)}
        decided = Votes(said).decided(judged, numbers)
        scores = sorted(score for view in views for score in self._scores_of(view, document.id, summary.system))
        own = [one for _, one in judged if one.aspect == "faithfulness" and one.status == "ok"]
        return ItemView(
            document=number, system=summary.system, text=summary.text,
            sentences=tuple((span.start, span.end) for span in summary.sentences),
            verdicts=tuple(self._verdict(source, one, summary, numbers) for source, one in judged),
            votes=decided, facts=tuple(lists.values()), scores=tuple(scores),
            order=next((score.value for score in scores if score.column == self._lead()), None),
            wrong=any(kind(one) == "bad" for one in own), failed=any(one.status in FAILED for _, one in judged),
            differs=any(vote.differs for vote in decided), changed=_flips(judged),
        )  # fmt: skip

    def _views_of(self, item: int) -> list[RunView]:
        """The runs that judged an item."""
        number, summary = self.items[item]
        key = (self.documents[number].id, summary.system)
        return [view for view in self.views if self.where.get((view.place, *key)) == item]

    def _scores_of(self, view: RunView, document_id: str, system: str) -> list[ItemScore]:
        places = self._scores[view.place].get((document_id, system), ())
        return [_score(score, self._columns[_place(view, score)]) for score in map(view.scores.__getitem__, places)]

    def _said(self, item: int) -> list[Judgment]:
        """What people said. They speak of a dataset: equal items of two runs have one set of votes."""
        number, summary = self.items[item]
        return self._views_of(item)[0].people.read(self.documents[number].id, summary.system)

    def _voted(self, item: int) -> bool:
        """Whether people decided on anything that a view shows."""
        said = self._said(item)
        return bool(said and Votes(said).decided((), dict.fromkeys(self._lists(said), 0)))

    def _lists(self, found: Sequence[Judgment]) -> dict[str, FactList]:
        """The lists that these count in, so far as they are known. A summary's claims stand in the judgments on
        them."""
        claims: dict[str, list[str]] = {}
        for one in found:
            name, at = one.target.list_id, one.target.index
            if one.claim is not None and name is not None and at is not None:
                held = claims.setdefault(name, [])
                held += [""] * (at + 1 - len(held))
                held[at] = one.claim.text
        lists: dict[str, FactList] = {}
        for name in dict.fromkeys(one.target.list_id for one in found if one.target.list_id is not None):
            if name in claims:
                lists[name] = FactList("summary", tuple(claims[name]))
            elif name in self.facts:
                lists[name] = self.facts[name]
        return lists

    def _verdict(self, source: int, one: Judgment, summary: Summary, lists: Mapping[str, int]) -> Verdict:
        target = one.target
        facts = lists.get(target.list_id) if target.list_id is not None else None
        # A unit counted in a list that nobody kept (a legacy reply's own) cannot be laid over our text.
        foreign = target.list_id is not None and facts is None
        if target.unit == "sentence" and (target.index is None or target.index >= len(summary.sentences)):
            foreign = True
        return Verdict(
            source=source, aspect=one.aspect, unit=target.unit, at=target.index, facts=facts, foreign=foreign,
            kind=kind(one), said=verdict(one, summary.system),
            reasons=told(one, prose=(one.judge, one.signature) in self._imported),
            evidence=one.evidence,
        )  # fmt: skip


class _Gathered:
    """Items in the order of the data, run after run."""

    def __init__(self, views: Sequence[RunView]) -> None:
        self.documents: dict[Document, int] = {}
        self.items: list[tuple[int, Summary]] = []
        self.where: dict[tuple[int, str, str], int] = {}
        self._known: dict[tuple[int, str], list[int]] = {}
        for view in views:
            for document, summaries in view.data.items():
                for summary in summaries:
                    if (document.id, summary.system) in view.judged:
                        self.where[view.place, document.id, summary.system] = self._item(document, summary)

    def _item(self, document: Document, summary: Summary) -> int:
        number = self.documents.setdefault(document, len(self.documents))
        alike = self._known.setdefault((number, summary.system), [])
        for item in alike:
            other = self.items[item][1]
            if (other.text, other.sentences) == (summary.text, summary.sentences):
                return item
        alike.append(len(self.items))
        self.items.append((number, summary))
        return alike[-1]


class JudgeFilters:
    """Which sources judged what a reader may choose among, while judgments are read."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._numbers = {(one.run, one.judge, one.signature): at for at, one in enumerate(sources)}
        self._found: dict[str, set[int]] = {aspect: set() for aspect in _FILTERED}

    def add(self, run: int, one: Judgment) -> None:
        """Take a judgment of a run."""
        source = self._numbers.get((run, one.judge, one.signature))
        if source is not None and one.aspect in self._found:
            self._found[one.aspect].add(source)

    def filters(self) -> tuple[JudgeFilter, ...]:
        """Of each aspect that several judged, who did."""
        return tuple(
            JudgeFilter(aspect, tuple(sorted(found))) for aspect, found in self._found.items() if len(found) > 1
        )


def _columns(views: Sequence[RunView]) -> list[ColumnKey]:
    places = dict.fromkeys(_place(view, score) for view in views for score in view.scores)

    def order(place: ColumnKey) -> tuple[int, int]:
        return place.run, FIRST.index(place.aspect) if place.aspect in FIRST else len(FIRST)

    return sorted(places, key=order)


def _place(view: RunView, score: Score) -> ColumnKey:
    return ColumnKey(view.place, score.judge, score.signature, score.aspect)


def _score(score: Score, column: int) -> ItemScore:
    return ItemScore(column, score.value, score.n, score.missing, score.status, score.reason)


def unit_key(one: Judgment) -> UnitKey:
    """What a verdict is about, whoever gave it."""
    return one.aspect, one.target.unit, one.target.index, one.target.list_id


def _flips(judged: Iterable[tuple[int, Judgment]]) -> int:
    """Units on which two sources decided differently."""
    labels: dict[UnitKey, set[int | str]] = {}
    for _, one in judged:
        if one.label is not None and one.target.unit != "summary":
            labels.setdefault(unit_key(one), set()).add(one.label)
    return sum(len(found) > 1 for found in labels.values())
