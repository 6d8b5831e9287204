"""Head-to-head verdicts as arrays: who won a pair on a document when shown first, and when shown second."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from summeter.meta.matrix import Scores
from summeter.scoring.table import JudgmentTable
from summeter.stats import OrderEffect, order_effect
from summeter.stats.base import Floats


@dataclass(frozen=True)
class Verdicts:
    """One judge's verdicts on one aspect.

    `pairs` name two systems each, in alphabetical order. `ab` and `ba` are matrices pairs x documents of the points
    of a pair's first system, 1, 1/2 or 0, when its summary was shown first and when it was shown second; NaN where
    there is no verdict. `asked` says for each of the two orders which verdicts were asked for at all.
    """

    judge: str
    signature: str
    model: str | None
    aspect: str
    pairs: tuple[tuple[str, str], ...]
    documents: tuple[str, ...]
    ab: Floats
    ba: Floats
    asked: tuple[Floats, Floats]

    def both(self, pair: tuple[str, str]) -> tuple[Floats, Floats]:
        """The points of the first named system: where it was shown first, and where it was shown second."""
        if pair in self.pairs:
            place = self.pairs.index(pair)
            return self.ab[place], self.ba[place]
        place = self.pairs.index(pair[::-1])
        return 1 - self.ba[place], 1 - self.ab[place]

    def points(self, pair: tuple[str, str], documents: Sequence[str] | None = None) -> Floats:
        """Points of the first named system a document: both orders summed and halved.

        A document with a verdict in one order only has none, unless that is all that was ever asked of the pair.
        All NaN for a pair that was not judged.
        """
        if pair not in self.pairs and pair[::-1] not in self.pairs:
            return np.full(len(self.documents if documents is None else documents), np.nan)
        first, second = self.both(pair)
        place = self.pairs.index(pair if pair in self.pairs else pair[::-1])
        asked = [bool(order[place].any()) for order in self.asked]
        halved = (first + second) / 2 if all(asked) else np.where(np.isnan(first), second, first)
        if documents is None:
            return halved
        column = {name: number for number, name in enumerate(self.documents)}
        return np.array([halved[column[name]] if name in column else np.nan for name in documents])

    def effect(self, pair: tuple[str, str]) -> OrderEffect:
        """How verdicts on a pair change when the summaries swap places."""
        return order_effect(*self.both(pair))

    def order_details(self, pair: tuple[str, str]) -> dict[str, Any]:
        """What order did to a pair, for the details of its row; empty for a pair that was not judged."""
        if pair not in self.pairs and pair[::-1] not in self.pairs:
            return {}
        found = self.effect(pair)
        if not found.n:
            return {"orders": 1}
        return {
            "orders": 2, "flip_rate": found.flip_rate, "first_slot": found.first_slot,
            "second_slot": found.second_slot, "half_tied": found.half_tied,
            "ties": int((self.points(pair) == 0.5).sum()),
        }  # fmt: skip

    def fields(self, gold: Scores | None = None) -> dict[str, Any]:
        """The fields that every row about these verdicts has."""
        return {
            "judge": self.judge, "signature": self.signature, "model": self.model, "aspect": self.aspect,
            "gold_aspect": gold.aspect if gold else None, "gold_signature": gold.signature if gold else None,
        }  # fmt: skip


def verdicts(columns: JudgmentTable, judge: str | None = None) -> Iterator[Verdicts]:
    """The verdicts of every head-to-head judge and aspect, in order of first appearance.

    A judgment of (A, B) with the value v shows A first and gives it v; more than a half is a win. `judge` is a name
    or a signature.
    """
    rows = columns.take(columns.unit.equal("pair"))
    for (name, signature, aspect), place in rows.questions().items():
        if judge is None or judge in (name, signature):
            yield _one(rows.take(place), name, signature, aspect)


def _one(rows: JudgmentTable, judge: str, signature: str, aspect: str) -> Verdicts:
    documents = [str(name) for name in rows.document.used()]
    shown = list(zip(rows.system.labels(), rows.rival.labels(), strict=True))
    pairs = list(dict.fromkeys((min(pair), max(pair)) for pair in shown))
    place = {pair: number for number, pair in enumerate(pairs)}
    column = {name: number for number, name in enumerate(documents)}
    decided = np.where(np.isnan(rows.value), rows.label, rows.value)
    gained = np.where(np.isnan(decided), np.nan, (np.sign(decided - 0.5) + 1) / 2)
    gained[~rows.status.equal("ok")] = np.nan
    size = len(pairs), len(documents)
    grids = [np.full(size, np.nan), np.full(size, np.nan)]
    asked = (np.zeros(size), np.zeros(size))
    for (first, second), document, points in zip(shown, rows.document.labels(), gained, strict=True):
        turned = first > second
        cell = place[min(first, second), max(first, second)], column[document]
        grids[turned][cell] = 1 - points if turned else points
        asked[turned][cell] = 1.0
    models = [name for name in rows.model.used() if name is not None]
    return Verdicts(
        judge, signature, ",".join(models) or None, aspect, tuple(pairs), tuple(documents), grids[0], grids[1], asked
    )  # fmt: skip
