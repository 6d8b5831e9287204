"""The items of a report: every summary with its document and all verdicts on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from summeter.choices import Level
from summeter.meta.options import People
from summeter.meta.selection import block_rows, merged_rows
from summeter.meta.verdicts import decision_words
from summeter.records import Document, Judgment, Phrase, Span, Status, Summary, error_types
from summeter.report.blocks import FactList, ItemView, Verdict, Vote
from summeter.report.ranks import ColumnKey
from summeter.report.views import RunView, Source
from summeter.report.words import VerdictStyle, gloss, reasons, style_of, verdict
from summeter.scoring import Score
from summeter.scoring.systems import FIRST
from summeter.scoring.table import JudgmentTable, Question

# Maps (run, document id, system) to the number of the item on the page
Where = Mapping[tuple[int, str, str], int]
# The subject of a verdict: aspect, unit, index and list
UnitKey = tuple[str, str, int | None, str | None]
CLOSE = 0.1
"""Maximum distance from the judge's threshold of a value that is called "close"."""
FAILED: frozenset[Status] = frozenset({"unparsed", "refused", "error"})
_FILTERED = ("faithfulness", "completeness", "conciseness")


class ItemList:
    """The items of several runs, lowest score first, with the data that they share.

    Summaries with the same text, sentences and source document are one item. Items are numbered by the score that ranks
    the systems of the first run, lowest first. Items without this score come last, because their quality is unknown,
    not bad; they are also listed among the failures. Given `order`, items are in the order of these (document, system).
    """

    def __init__(
        self, views: Sequence[RunView], sources: Sequence[Source], order: Sequence[tuple[str, str]] | None = None
    ) -> None:
        self.runs = views
        self.sources = sources
        self.columns = _columns(views)
        self.facts: dict[str, FactList] = {}
        for view in views:
            for name, facts in view.key_facts.items():
                self.facts.setdefault(name, FactList(facts.origin, facts.texts))
        self._source_numbers = {source.key: number for number, source in enumerate(sources)}
        entries = (judge for view in views for judge in view.judges)
        self._imported = {(judge.name, judge.signature) for judge in entries if judge.imported}
        self._columns = {key: number for number, key in enumerate(self.columns)}
        self._scores = [view.scores.by_item(view.listed) for view in views]
        leads = (ColumnKey(view.number, *lead) for view in views if (lead := view.table.lead()) is not None)
        self._lead = next(leads, None)
        documents: dict[Document, int] = {}
        items: list[tuple[int, Summary]] = []
        values: list[float | None] = []
        lead_values: dict[tuple[str, str], float | None] = {}
        if self._lead is not None:
            scores = views[self._lead.run].scores
            leading = scores.question(Question(*self._lead.key))
            for summary_key, rows in self._scores[self._lead.run].items():
                for row in rows:
                    if leading[row]:
                        lead_values[summary_key] = scores[row].value
        where: dict[tuple[int, str, str], int] = {}
        known: dict[tuple[int, str, str, tuple[Span, ...]], int] = {}
        for view in views:
            for document, summaries in view.shown.items():
                for summary in summaries:
                    if (document.id, summary.system) not in view.judged:
                        continue
                    number = documents.setdefault(document, len(documents))
                    item = known.setdefault((number, summary.system, summary.text, summary.sentences), len(items))
                    if item == len(items):
                        items.append((number, summary))
                        values.append(None)
                    where[view.number, document.id, summary.system] = item
                    if self._lead is not None and view.number == self._lead.run:
                        values[item] = lead_values.get((document.id, summary.system))
        if order is None:
            numbers = sorted(range(len(items)), key=lambda item: (values[item] is None, values[item] or 0.0, item))
        else:
            numbers = [where[0, *key] for key in order]
        position = {item: number for number, item in enumerate(numbers)}
        self.documents = list(documents)
        self.items = [items[item] for item in numbers]
        self.systems = list(dict.fromkeys(summary.system for _, summary in items))
        self.where = {key: position[item] for key, item in where.items()}

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[ItemView]:
        """Yield the views of all items; each is created when it is needed, because all may not fit into memory."""
        return map(self.view, range(len(self)))

    @property
    def domains(self) -> list[str]:
        """The domains of the documents, in order of first appearance."""
        return list(dict.fromkeys(each.domain for each in self.documents if each.domain is not None))

    @property
    def aspects(self) -> list[str]:
        """The aspects of the columns."""
        return list(dict.fromkeys(key.aspect for key in self.columns))

    @property
    def ordered_by(self) -> str | None:
        """The title of the aspect by which items are ordered, or None."""
        return None if self._lead is None else gloss(self._lead.aspect).title

    @cached_property
    def filters(self) -> dict[str, list[int]]:
        """The sources of each aspect that several sources judged, of which the reader can choose one."""
        judged: dict[str, set[int]] = {aspect: set() for aspect in _FILTERED}
        for view in self.runs:
            for judge, signature, aspect, _ in view.questions:
                number = self._source_numbers.get((view.number, judge, signature))
                if number is not None and aspect in judged:
                    judged[aspect].add(number)
        return {aspect: sorted(numbers) for aspect, numbers in judged.items() if len(numbers) > 1}

    @cached_property
    def people(self) -> bool:
        """Whether people judged a unit of some item."""
        humans = map(self._human, range(len(self)))
        return any(Votes(human).majorities((), dict.fromkeys(self._lists(human), 0)) for human in humans if human)

    def view(self, item: int) -> ItemView:
        """Return a summary with all verdicts on it.

        Raises InputError if the files of the run have changed in the meantime.
        """
        number, summary = self.items[item]
        document = self.documents[number]
        views = self._views_of(item)
        judgments = [(view, judgment) for view in views for judgment in view.items.read(document.id, summary.system)]
        judged = [
            (source, judgment)
            for view, judgment in judgments
            if (source := self._source_numbers.get((view.number, judgment.judge, judgment.signature))) is not None
        ]
        human = self._human(item)
        lists = self._lists([*(judgment for _, judgment in judgments), *human])
        list_numbers = {list_id: number for number, list_id in enumerate(lists)}
        votes = Votes(human).majorities(judged, list_numbers)
        scores: dict[int, Score] = {}
        for view in views:
            for row in self._scores[view.number].get((document.id, summary.system), ()):
                score = view.scores[row]
                scores[self._columns[ColumnKey(view.number, score.judge, score.signature, score.aspect)]] = score
        labels: dict[UnitKey, set[int | str]] = {}
        for _, judgment in judged:
            if judgment.label is not None and judgment.target.unit != "summary":
                labels.setdefault(unit_key(judgment), set()).add(judgment.label)
        return ItemView(
            document=number,
            summary=summary,
            verdicts=tuple(self._verdict(source, judgment, summary, list_numbers) for source, judgment in judged),
            votes=votes,
            facts=tuple(lists.values()),
            scores=dict(sorted(scores.items())),
            wrong=any(
                style_of(judgment.status, judgment.label, judgment.aspect) == "bad"
                for _, judgment in judged
                if judgment.aspect == "faithfulness" and judgment.status == "ok"
            ),
            failed=any(judgment.status in FAILED for _, judgment in judged),
            differs=any(vote.differs for vote in votes),
            changed=sum(len(distinct) > 1 for distinct in labels.values()),
        )

    def _views_of(self, item: int) -> list[RunView]:
        """Return the runs that judged an item."""
        number, summary = self.items[item]
        key = (self.documents[number].id, summary.system)
        return [view for view in self.runs if self.where.get((view.number, *key)) == item]

    def _human(self, item: int) -> list[Judgment]:
        """Return people's judgments of an item.

        The judgments belong to the data, so equal items of two runs have the same votes.
        """
        number, summary = self.items[item]
        return self._views_of(item)[0].people.read(self.documents[number].id, summary.system)

    def _lists(self, judgments: Sequence[Judgment]) -> dict[str, FactList]:
        """Return the known lists to which the targets of judgments refer.

        The texts of claims, and of key facts that a judge listed for one summary, are taken from their judgments.
        """
        claims: dict[str, list[str]] = {}
        origins: dict[str, str] = {}
        for judgment in judgments:
            list_id, index = judgment.target.list_id, judgment.target.index
            if judgment.claim is not None and list_id is not None and index is not None:
                texts = claims.setdefault(list_id, [])
                texts += [""] * (index + 1 - len(texts))
                texts[index] = judgment.claim.text
                origins[list_id] = "summary" if judgment.target.unit == "claim" else "document"
        lists: dict[str, FactList] = {}
        for list_id in (judgment.target.list_id for judgment in judgments):
            if list_id is None:
                continue
            if list_id in claims:
                lists[list_id] = FactList(origins[list_id], tuple(claims[list_id]))
            elif list_id in self.facts:
                lists[list_id] = self.facts[list_id]
        return lists

    def _verdict(self, source: int, judgment: Judgment, summary: Summary, lists: Mapping[str, int]) -> Verdict:
        target = judgment.target
        facts = lists.get(target.list_id) if target.list_id is not None else None
        # A unit of an unknown list (for example, from a legacy reply) cannot be located in the text on the page.
        foreign = target.list_id is not None and facts is None
        if target.unit == "sentence" and (target.index is None or target.index >= len(summary.sentences)):
            foreign = True
        threshold, distance = self.sources[source].entry.threshold, None
        if threshold is not None and judgment.value not in (None, 0, 1) and judgment.label in (0, 1):
            distance = "close" if abs(judgment.value - threshold) < CLOSE else "clear"
        return Verdict(
            judgment=judgment,
            source=source,
            facts=facts,
            foreign=foreign,
            style=style_of(judgment.status, judgment.label, judgment.aspect),
            decision=verdict(judgment, summary.system, distance),
            reasons=reasons(judgment, prose=(judgment.judge, judgment.signature) in self._imported),
        )


def _columns(views: Sequence[RunView]) -> list[ColumnKey]:
    columns = ((view.number, *question[:3]) for view in views for question in view.scores.questions())
    keys = dict.fromkeys(ColumnKey(*column) for column in columns)

    def order(key: ColumnKey) -> tuple[int, int]:
        return key.run, FIRST.index(key.aspect) if key.aspect in FIRST else len(FIRST)

    return sorted(keys, key=order)


def unit_key(judgment: Judgment) -> UnitKey:
    """Return the subject of a verdict, which does not depend on the judge."""
    return judgment.aspect, judgment.target.unit, judgment.target.index, judgment.target.list_id


# ---- people


VOTED = ((Level.SENTENCE, "faithfulness"), (Level.KEY_FACT, "completeness"), (Level.SENTENCE, "conciseness"))


class Votes:
    """The votes of people on the sentences and key facts of one summary.

    Votes are aggregated by the default rule of studies.
    """

    def __init__(self, judgments: Iterable[Judgment]) -> None:
        self._votes: dict[UnitKey, list[int]] = {}
        self._types: dict[UnitKey, Counter[str]] = {}
        self._merged: dict[UnitKey, int | None] = {}
        table = JudgmentTable.of(judgments)
        for level, aspect in VOTED:
            rows = block_rows(table, aspect, level)
            if rows is None:
                continue
            for unit, label, named in zip(
                _units(rows, aspect), rows.label.tolist(), rows.error_type.labels(), strict=True
            ):
                if label in (0, 1):
                    self._votes.setdefault(unit, []).append(int(label))
                    if named and not label:
                        self._types.setdefault(unit, Counter()).update(error_types(named))
            merged, _ = merged_rows(rows, aspect, People())
            for unit, label in zip(_units(merged, aspect), merged.label.tolist(), strict=True):
                self._merged[unit] = int(label) if label in (0, 1) else None

    def majorities(self, judged: Iterable[tuple[int, Judgment]], lists: Mapping[str, int]) -> tuple[Vote, ...]:
        """Return the aggregated label of each unit, and whether any judge decided otherwise.

        Votes on key facts are included only if the list of key facts is known.
        """
        by_judges: dict[UnitKey, set[int | str]] = {}
        for _, judgment in judged:
            if judgment.label is not None and judgment.target.index is not None:
                by_judges.setdefault(unit_key(judgment), set()).add(judgment.label)
        return tuple(
            self._vote(unit, votes, by_judges.get(unit, set()), lists)
            for unit, votes in self._votes.items()
            if unit[3] is None or unit[3] in lists
        )

    def _vote(self, key: UnitKey, votes: list[int], by_judges: set[int | str], lists: Mapping[str, int]) -> Vote:
        aspect, unit, index, list_id = key
        label, total = self._merged[key], len(votes)
        types = self._types.get(key)
        error_type = None if types is None else min(types, key=lambda name: (-types[name], name))
        words = str(decision_words(aspect, label, None))
        if label == 0 and aspect == "faithfulness":
            # The error type that one person gave; for several people, the shares and the most frequent type
            words = "error" if total > 1 else error_type or "error"
        if total > 1:
            share = "({n} of {all})" if 2 * sum(votes) != total else "(tied, {n} of {all})"
            words = Phrase.join(" ", [words, Phrase(share, n=sum(votes) if label else total - sum(votes), all=total)])
            if label == 0 and aspect == "faithfulness" and error_type:
                words = Phrase.join(", ", [words, error_type])
        style: VerdictStyle = (
            "none" if label is None else "good" if label else "pad" if aspect == "conciseness" else "bad"
        )
        return Vote(
            unit=unit,
            aspect=aspect,
            at=index,
            facts=lists[list_id] if list_id is not None else None,
            style=style,
            decision=words,
            differs=label is not None and any(other in (0, 1) and other != label for other in by_judges),
        )


def _units(rows: JudgmentTable, aspect: str) -> Iterator[UnitKey]:
    """Yield the subject of each row."""
    units = zip(rows.unit.labels(), rows.index.tolist(), rows.list_id.labels(), strict=True)
    return ((aspect, str(unit), index, list_id) for unit, index, list_id in units)
