"""Many scores held as columns of numbers: a record is made when it is asked for.

A run of 10,000 summaries has some 100,000 scores; as records they would take fifty times the memory.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, overload

from summeter.records import Status
from summeter.scoring.scores import Score


class Source(NamedTuple):
    """What the scores of a column share."""

    judge: str
    signature: str
    model: str | None
    aspect: str


class HeldScores(Sequence[Score]):
    """Scores in the order they were added, about 30 bytes each.

    >>> held = HeldScores([Score(doc_id="d", system="s", judge="j", signature="j|v:1", model=None, aspect="a",
    ...                          value=0.5, n=2, missing=0, status="ok")])
    >>> held[0].value, len(held)
    (0.5, 1)
    """

    def __init__(self, scores: Iterable[Score] = ()) -> None:
        self._sources: dict[Source, int] = {}
        self._items: dict[tuple[str, str], int] = {}
        self._source, self._item = array("L"), array("L")
        self._value, self._n, self._missing = array("d"), array("L"), array("L")
        # Of those that have no value or a status to explain: few, mostly.
        self._told: dict[int, tuple[Status, str | None, bool]] = {}
        self._source_list: list[Source] = []
        self._item_list: list[tuple[str, str]] = []
        self.extend(scores)

    def extend(self, scores: Iterable[Score]) -> None:
        """Add scores behind those that are there."""
        for one in scores:
            source = Source(one.judge, one.signature, one.model, one.aspect)
            if (at := self._sources.get(source)) is None:
                at = self._sources[source] = len(self._source_list)
                self._source_list.append(source)
            if (item := self._items.get((one.doc_id, one.system))) is None:
                item = self._items[one.doc_id, one.system] = len(self._item_list)
                self._item_list.append((one.doc_id, one.system))
            if one.status != "ok" or one.value is None or one.reason is not None:
                self._told[len(self._value)] = (one.status, one.reason, one.value is None)
            self._source.append(at)
            self._item.append(item)
            self._value.append(0.0 if one.value is None else one.value)
            self._n.append(one.n)
            self._missing.append(one.missing)

    def __len__(self) -> int:
        return len(self._value)

    @overload
    def __getitem__(self, at: int) -> Score: ...

    @overload
    def __getitem__(self, at: slice) -> list[Score]: ...

    def __getitem__(self, at: int | slice) -> Score | list[Score]:
        if isinstance(at, slice):
            return [self._made(one) for one in range(*at.indices(len(self)))]
        return self._made(range(len(self))[at])

    def __iter__(self) -> Iterator[Score]:
        return map(self._made, range(len(self)))

    def _made(self, at: int) -> Score:
        source, (doc_id, system) = self._source_list[self._source[at]], self._item_list[self._item[at]]
        status, reason, absent = self._told.get(at, ("ok", None, False))
        # It was validated when it was first made.
        return Score.model_construct(
            doc_id=doc_id, system=system, judge=source.judge, signature=source.signature, model=source.model,
            aspect=source.aspect, value=None if absent else self._value[at], n=self._n[at],
            missing=self._missing[at], status=status, reason=reason,
        )  # fmt: skip

    def by_item(self) -> dict[tuple[str, str], array[int]]:
        """(document, system) -> the places of its scores."""
        found: dict[tuple[str, str], array[int]] = {}
        for at, item in enumerate(self._item):
            found.setdefault(self._item_list[item], array("L")).append(at)
        return found
