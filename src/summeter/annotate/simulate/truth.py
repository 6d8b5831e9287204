"""Truth: the right answer to every task, from gold judgments where there are any, else made from a seed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from summeter.annotate.people import fraction
from summeter.annotate.tasks.base import Task
from summeter.annotate.tasks.key_fact_validation import ASPECT as VALIDITY
from summeter.annotate.tasks.pairwise import TIE
from summeter.records import Judgment, Span

Json = dict[str, Any]
_Key = tuple[str, str, str | None, str, int | None, str]


class Truth:
    """The right answers of a campaign, in stored form and without the field `machine`.

    `gold` are merged judgments of people (see `aggregate.merge`). Where they say nothing of a task, the answer is
    drawn by hash from `seed`: each system is good to a degree of its own, between .55 and .95, and that is the chance
    that a sentence of it is supported, a key fact present, a summary clean.

    >>> from summeter.annotate.tasks.base import Task
    >>> task = Task(key="kv/d/0", kind="key_fact_validation", document_id="d", system="A", index=0,
    ...             body={"key_fact": "It rained."})
    >>> Truth(seed=1).answer(task)
    {'significant': True, 'correct': True, 'relevant': True, 'why': None}
    """

    def __init__(self, gold: Iterable[Judgment] = (), *, seed: int = 0) -> None:
        self.seed = seed
        self._gold: dict[_Key, Judgment] = {}
        self._spans: dict[tuple[str, str], list[Judgment]] = {}
        for one in gold:
            if one.status != "ok":
                continue
            target = one.target
            if target.unit == "span":
                self._spans.setdefault((target.document_id, target.system), []).append(one)
            key = (target.document_id, target.system, target.rival, target.unit, target.index, one.aspect)
            self._gold[key] = one

    def quality(self, system: str | None) -> float:
        """How good a system is, from .55 to .95."""
        return 0.55 + 0.4 * fraction("system", self.seed, system)

    def answer(self, task: Task) -> Json:
        """The right answer; of a check or a training task what it expects."""
        return _RIGHT[task.kind](self, task) if task.expected is None else _EXPECTED[task.kind](task, task.expected)

    def chance(self, task: Task, *parts: object) -> float:
        """A number in [0, 1) that is always the same for a task (and what is asked of it)."""
        return fraction("truth", self.seed, task.key, *parts)

    def said(self, task: Task, unit: str, aspect: str, system: str | None = None) -> Judgment | None:
        """What gold says of a task's target."""
        index = task.index if unit in {"sentence", "key_fact"} else None
        rival = task.rival if unit == "pair" else None
        return self._gold.get((task.document_id, system or task.system or "", rival, unit, index, aspect))

    def spans(self, task: Task) -> list[Judgment]:
        """The spans gold marks in a task's summary."""
        return self._spans.get((task.document_id, task.system or ""), [])


def supported(task: Task, kind: str | None = None, *, yes: bool) -> Json:
    """An answer to a fact verification."""
    names = [one["name"] for one in task.body["error_types"]]
    types = [] if yes else [kind] if kind in names else names[:1]
    return {"label": "supported" if yes else "not_supported", "error_types": types}


def valid(*, yes: bool) -> Json:
    """An answer to a key-fact validation."""
    return {"significant": yes, "correct": yes, "relevant": yes, "why": None}


def aligned(sentences: Iterable[int]) -> Json:
    """An answer to a key-fact alignment."""
    chosen = sorted(set(sentences))
    return {"sentences": chosen, "none": not chosen}


def marked(task: Task, spans: Iterable[tuple[int, int, str | None]]) -> Json:
    """An answer to a span highlighting; (start, end, category)."""
    names = [one["name"] for one in task.body["categories"]]
    kind = task.body["kinds"][-1]["name"]
    made = [
        {"start": start, "end": end, "kind": kind, "category": name if name in names else (names or [None])[0],
         "reason": None}
        for start, end, name in spans
    ]  # fmt: skip
    return {"spans": made, "none": not made}


def rated(task: Task, cells: dict[str, dict[str, int]]) -> Json:
    """An answer to a rating; the best is the one with the highest sum, the first of equals."""
    best = max(task.systems, key=lambda one: sum(cells[one].values())) if task.body["choose_best"] else None
    return {"ratings": cells, "best": best}


def _fact(truth: Truth, task: Task) -> Json:
    gold = truth.said(task, "sentence", "faithfulness")
    if gold is not None:
        return supported(task, gold.error_type, yes=gold.label == 1)
    types = [one["name"] for one in task.body["error_types"]] or [None]
    usual = types[int(truth.chance(task, "type") * len(types))]
    return supported(task, usual, yes=truth.chance(task) < truth.quality(task.system))


def _validity(truth: Truth, task: Task) -> Json:
    gold = truth.said(task, "key_fact", VALIDITY)
    return valid(yes=gold.label == 1 if gold is not None else truth.chance(task) < 0.85)


def _alignment(truth: Truth, task: Task) -> Json:
    sentences = [(one[0], one[1]) for one in task.body["summary"]["sentences"]]
    usual = int(truth.chance(task, "place") * len(sentences))
    gold = truth.said(task, "key_fact", "completeness")
    if gold is None:
        return aligned([usual] if truth.chance(task) < truth.quality(task.system) else [])
    if gold.label != 1:
        return aligned([])
    return aligned(_touched(sentences, gold.evidence) or [usual])


def _touched(sentences: list[tuple[int, int]], evidence: Iterable[Span]) -> list[int]:
    spans = [one for one in evidence if one.of == "summary"]
    return [place for place, (start, end) in enumerate(sentences)
            if any(one.start < end and start < one.end for one in spans)]  # fmt: skip


def _rating(truth: Truth, task: Task) -> Json:
    cells: dict[str, dict[str, int]] = {}
    for system in task.systems:
        cells[system] = {}
        for aspect in (one["name"] for one in task.body["aspects"]):
            gold = truth.said(task, "summary", aspect, system)
            level = truth.quality(system) + 0.6 * (truth.chance(task, system, aspect) - 0.5)
            value = 1 + 4 * level if gold is None or gold.value is None else gold.value
            cells[system][aspect] = min(5, max(1, round(value)))
    return rated(task, cells)


def _spans(truth: Truth, task: Task) -> Json:
    found = [(one.evidence[0].start, one.evidence[0].end, one.error_type) for one in truth.spans(task) if one.evidence]
    if found or truth.said(task, "summary", "faithfulness_spans") is not None:
        return marked(task, found)
    sentences = task.body["summary"]["sentences"]
    if not sentences or truth.chance(task) < truth.quality(task.system):
        return marked(task, [])
    start, end = sentences[int(truth.chance(task, "place") * len(sentences))]
    return marked(task, [(start, end, None)])


def _pair(truth: Truth, task: Task) -> Json:
    choices: dict[str, str] = {}
    for aspect in (one["name"] for one in task.body["aspects"]):
        gold = truth.said(task, "pair", aspect)
        if gold is not None and gold.value is not None:
            gap = gold.value - 0.5
        else:
            gap = truth.quality(task.system) - truth.quality(task.rival) + 0.4 * (truth.chance(task, aspect) - 0.5)
        tie = TIE if task.body["ties"] else task.systems[0]
        choices[aspect] = tie if gap == 0 else str(task.system if gap > 0 else task.rival)
    return {"choices": choices, "reason": None}


def _odd_rating(task: Task, expected: Json) -> Json:
    names = [one["name"] for one in task.body["aspects"]]
    return rated(task, {one: dict.fromkeys(names, 1 if one == expected["worst"] else 4) for one in task.systems})


def _odd_pair(task: Task, expected: Json) -> Json:
    winner = next(one for one in task.systems if one != expected["loser"])
    return {"choices": {one["name"]: winner for one in task.body["aspects"]}, "reason": None}


def _paraphrase(_: Task, expected: Json) -> Json:
    return aligned([] if expected["sentence"] is None else [expected["sentence"]])


_RIGHT: dict[str, Callable[[Truth, Task], Json]] = {
    "fact_verification": _fact, "key_fact_validation": _validity, "key_fact_alignment": _alignment, "rating": _rating,
    "span_highlighting": _spans, "pairwise": _pair,
}  # fmt: skip

_EXPECTED: dict[str, Callable[[Task, Json], Json]] = {
    "fact_verification": lambda task, expected: supported(task, yes=expected["label"] == "supported"),
    "key_fact_validation": lambda _, expected: valid(yes=expected["valid"]),
    "key_fact_alignment": _paraphrase, "rating": _odd_rating,
    "span_highlighting": lambda task, expected: marked(task, [(*expected["touch"], None)]), "pairwise": _odd_pair,
}  # fmt: skip
