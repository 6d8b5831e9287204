"""What people decided, beside what judges decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from summeter.records import Judgment, error_types
from summeter.report.blocks import Vote
from summeter.report.words import Kind, said_of

_ASPECTS = {("sentence", "faithfulness"), ("key_fact", "completeness"), ("sentence", "conciseness")}
_Unit = tuple[str, str, int, str | None]


class Votes:
    """Votes on the sentences and key facts of one summary."""

    def __init__(self, votes: Iterable[Judgment]) -> None:
        self._labels: dict[_Unit, dict[str, int | str]] = {}
        self._types: dict[_Unit, Counter[str]] = {}
        for one in votes:
            self._add(one)

    def _add(self, one: Judgment) -> None:
        """Take a vote. Where one person answered twice (a label and an alignment), the first answer counts."""
        target = one.target
        if one.status != "ok" or one.label is None or target.index is None:
            return
        if (target.unit, one.aspect) not in _ASPECTS:
            return
        unit = (target.unit, one.aspect, target.index, target.list_id)
        if one.judge in self._labels.setdefault(unit, {}):
            return
        self._labels[unit][one.judge] = one.label
        if one.error_type and one.label != 1:
            self._types.setdefault(unit, Counter()).update(error_types(one.error_type))

    def decided(self, judged: Iterable[tuple[int, Judgment]], facts: Mapping[str, int]) -> tuple[Vote, ...]:
        """What the majority says of each unit, and whether some judge decided otherwise. A tie differs from nobody.

        Votes on key facts count only where their list is known.
        """
        machine: dict[_Unit, set[int | str]] = {}
        for _, one in judged:
            if one.label is not None and one.target.index is not None:
                unit = (one.target.unit, one.aspect, one.target.index, one.target.list_id)
                machine.setdefault(unit, set()).add(one.label)
        return tuple(
            self._vote(unit, labels, machine.get(unit, set()), facts)
            for unit, labels in self._labels.items()
            if unit[3] is None or unit[3] in facts
        )

    def _vote(
        self, unit: _Unit, labels: Mapping[str, int | str], machine: set[int | str], facts: Mapping[str, int]
    ) -> Vote:
        kind_of, aspect, index, list_id = unit
        ayes, total = sum(label == 1 for label in labels.values()), len(labels)
        label = None if ayes * 2 == total else int(ayes * 2 > total)
        types = self._types.get(unit)
        named = None if types is None else min(types, key=lambda name: (-types[name], name))
        said = _said(aspect, label, named, "" if total == 1 else f" ({ayes if label else total - ayes} of {total})")
        look: Kind = "none" if label is None else "good" if label else "pad" if aspect == "conciseness" else "bad"
        differs = label is not None and any(other in (0, 1) and other != label for other in machine)
        return Vote(kind_of, aspect, index, facts[list_id] if list_id is not None else None, look, said, differs)


def _said(aspect: str, label: int | None, named: str | None, share: str) -> str:
    """A majority in words. The type of one person says it all; of several, `named` is the type most of them gave."""
    if label is None:
        return f"tied{share}"
    if label == 0 and aspect == "faithfulness":
        return (named or "error") if not share else f"error{share}{', ' + named if named else ''}"
    return f"{said_of(aspect, label, None)}{share}"
