"""The deck: every summary beside its source, with all verdicts on it, worst first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from summeter.records import Document, Judgment, Status, Summary
from summeter.report.blocks import Card, CardScore, Deck, DeckColumn, DocumentCard, Evidence, FactList, Switch, Verdict
from summeter.report.people import Votes
from summeter.report.standing import Place, label_of
from summeter.report.views import RunView, Source
from summeter.report.words import gloss, kind, told, verdict
from summeter.scoring import COMPOSITE, Score
from summeter.scoring.systems import FIRST

ItemKey = tuple[str, str, int]
FAILED: frozenset[Status] = frozenset({"unparsed", "refused", "error"})
_SWITCHED = ("faithfulness", "completeness", "conciseness")


class DeckBuilder:
    """Gathers items over runs. Summaries that are equal, text and sentences and source, are one item."""

    def __init__(self, views: Sequence[RunView], sources: Sequence[Source]) -> None:
        self.views = views
        self.sources = sources
        self.documents: dict[Document, int] = {}
        self.facts: dict[str, int] = {}
        self.fact_lists: list[FactList] = []
        self.items: dict[tuple[int, str, str, tuple[tuple[int, int], ...]], int] = {}
        self.texts: list[tuple[int, Document, Summary]] = []
        # (run, document id, system) -> item: how judgments and scores find their card.
        self.where: dict[tuple[int, str, str], int] = {}
        self._places = {(one.run, one.judge, one.signature): at for at, one in enumerate(sources)}
        entries = (judge for view in views for judge in view.judges)
        self._imported = {(judge.name, judge.signature) for judge in entries if judge.imported}
        self.columns = _columns(views)
        for view in views:
            self._gather(view)

    def _gather(self, view: RunView) -> None:
        for name, facts in view.key_facts.items():
            if name not in self.facts:
                self.facts[name] = len(self.fact_lists)
                self.fact_lists.append(FactList(facts.origin, facts.texts))
        for document, summaries in view.data.items():
            for summary in summaries:
                if (document.id, summary.system) in view.judged:
                    item = self._item(document, summary)
                    self.where[view.place, document.id, summary.system] = item

    def _item(self, document: Document, summary: Summary) -> int:
        at = self.documents.setdefault(document, len(self.documents))
        spans = tuple((span.start, span.end) for span in summary.sentences)
        key = (at, summary.system, summary.text, spans)
        if key not in self.items:
            self.items[key] = len(self.items)
            self.texts.append((at, document, summary))
        return self.items[key]

    def deck(self) -> Deck:
        """Every item, worst first: by composite where there is one, else by the first score there is.

        Items without that score come last; they are unknown, not bad, and listed among the failures.
        """
        lead = self._lead()
        judgments = self._sorted_in()
        scores = self._scores()
        votes = self._votes()
        cards = [self._card(item, judgments[item], scores[item], votes[item], lead) for item in range(len(self.texts))]
        order = sorted(range(len(cards)), key=lambda at: (cards[at].order is None, cards[at].order or 0.0, at))
        self.position = {item: at for at, item in enumerate(order)}
        documents = tuple(
            DocumentCard(one.id, one.text, one.domain, one.references) for one in self.documents
        )  # fmt: skip
        return Deck(
            documents=documents, sources=tuple(source.label for source in self.sources),
            signatures=tuple(source.signature for source in self.sources),
            columns=tuple(self._column(place) for place in self.columns), facts=tuple(self.fact_lists),
            cards=tuple(cards[at] for at in order),
            systems=tuple(dict.fromkeys(summary.system for _, _, summary in self.texts)),
            domains=tuple(dict.fromkeys(one.domain for one in documents if one.domain is not None)),
            switches=self._switches(),
            aspects=tuple(dict.fromkeys(place.aspect for place in self.columns)),
            people=any(card.votes for card in cards),
            ordered_by=None if lead is None else gloss(self.columns[lead].aspect).title,
        )  # fmt: skip

    def _lead(self) -> int | None:
        for at, place in enumerate(self.columns):
            if place.aspect == COMPOSITE:
                return at
        return 0 if self.columns else None

    def _column(self, place: Place) -> DeckColumn:
        label = label_of(place, self.views[place.run], self.sources)
        return DeckColumn(gloss(place.aspect).title, label, place.signature)

    def _sorted_in(self) -> list[list[tuple[int, Judgment]]]:
        found: list[list[tuple[int, Judgment]]] = [[] for _ in self.texts]
        for view in self.views:
            for one in view.judgments:
                self._claim(one)
                document, system, rival = one.target.item
                source = self._places.get((view.place, one.judge, one.signature))
                # A verdict on a pair stands on the cards of both.
                for name in (system, rival):
                    item = self.where.get((view.place, document, name)) if name is not None else None
                    if item is not None and source is not None:
                        found[item].append((source, one))
        return found

    def _claim(self, one: Judgment) -> None:
        """A summary's claims stand in the judgments on them; each list is put together here."""
        name, at = one.target.list_id, one.target.index
        if one.claim is None or name is None or at is None:
            return
        if name not in self.facts:
            self.facts[name] = len(self.fact_lists)
            self.fact_lists.append(FactList("summary", ()))
        held = list(self.fact_lists[self.facts[name]].texts)
        held += [""] * (at + 1 - len(held))
        held[at] = one.claim.text
        self.fact_lists[self.facts[name]] = FactList("summary", tuple(held))

    def _scores(self) -> list[list[CardScore]]:
        at = {place: number for number, place in enumerate(self.columns)}
        found: list[list[CardScore]] = [[] for _ in self.texts]
        for view in self.views:
            for score in view.scores:
                item = self.where.get((view.place, score.doc_id, score.system))
                if item is not None:
                    found[item].append(_score(score, at[_place(view, score)]))
        return found

    def _votes(self) -> list[Votes]:
        """People speak of a dataset: equal items of two runs have one set of votes."""
        found = [Votes() for _ in self.texts]
        heard: set[int] = set()
        for view in self.views:
            here = {key: item for key, item in self.where.items() if key[0] == view.place and item not in heard}
            for one in view.people:
                item = here.get((view.place, one.target.document_id, one.target.system))
                if item is not None:
                    found[item].add(one)
            heard.update(here.values())
        return found

    def _card(
        self, item: int, judged: Sequence[tuple[int, Judgment]], scores: Sequence[CardScore], votes: Votes,
        lead: int | None,
    ) -> Card:  # fmt: skip
        document, _, summary = self.texts[item]
        decided = votes.decided(judged, self.facts)
        own = [one for _, one in judged if one.aspect == "faithfulness" and one.status == "ok"]
        return Card(
            document=document, system=summary.system, text=summary.text,
            sentences=tuple((span.start, span.end) for span in summary.sentences),
            verdicts=tuple(self._verdict(source, one, summary) for source, one in judged),
            votes=decided, scores=tuple(sorted(scores)),
            order=next((score.value for score in scores if score.column == lead), None),
            wrong=any(kind(one) == "bad" for one in own), failed=any(one.status in FAILED for _, one in judged),
            differs=any(vote.differs for vote in decided), changed=_flips(judged),
        )  # fmt: skip

    def _verdict(self, source: int, one: Judgment, summary: Summary) -> Verdict:
        target = one.target
        facts = self.facts.get(target.list_id) if target.list_id is not None else None
        # A unit counted in a list that nobody kept (a legacy reply's own) cannot be laid over our text.
        foreign = target.list_id is not None and facts is None
        if target.unit == "sentence" and (target.index is None or target.index >= len(summary.sentences)):
            foreign = True
        return Verdict(
            source=source, aspect=one.aspect, unit=target.unit, at=target.index, facts=facts, foreign=foreign,
            kind=kind(one), said=verdict(one, summary.system),
            reasons=told(one, prose=(one.judge, one.signature) in self._imported),
            evidence=tuple(Evidence(span.of[0], span.start, span.end) for span in one.evidence),
        )  # fmt: skip

    def _switches(self) -> tuple[Switch, ...]:
        made = []
        for aspect in _SWITCHED:
            found = {
                self._places[view.place, one.judge, one.signature]
                for view in self.views
                for one in view.judgments
                if one.aspect == aspect and (view.place, one.judge, one.signature) in self._places
            }
            if len(found) > 1:
                made.append(Switch(aspect, tuple(sorted(found))))
        return tuple(made)


def _columns(views: Sequence[RunView]) -> list[Place]:
    places = dict.fromkeys(_place(view, score) for view in views for score in view.scores)

    def order(place: Place) -> tuple[int, int]:
        return place.run, FIRST.index(place.aspect) if place.aspect in FIRST else len(FIRST)

    return sorted(places, key=order)


def _place(view: RunView, score: Score) -> Place:
    return Place(view.place, score.judge, score.signature, score.aspect)


def _score(score: Score, column: int) -> CardScore:
    return CardScore(column, score.value, score.n, score.missing, score.status, score.reason)


def unit_key(one: Judgment) -> tuple[str, str, int | None, str | None]:
    """What a verdict is about, whoever gave it."""
    return one.aspect, one.target.unit, one.target.index, one.target.list_id


def _flips(judged: Iterable[tuple[int, Judgment]]) -> int:
    """Units on which two sources decided differently."""
    labels: dict[tuple[str, str, int | None, str | None], set[int | str]] = {}
    for _, one in judged:
        if one.label is not None and one.target.unit != "summary":
            labels.setdefault(unit_key(one), set()).add(one.label)
    return sum(len(found) > 1 for found in labels.values())
