"""Merged labels: what was adjudicated, else the majority of the annotators; a tie is no label until it is adjudicated.

Labels (sentences, key facts, choices between two) are merged by majority, ratings by their mean. Sentences that a
key fact is aligned to, and characters that are marked, are those that more than half chose.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from summeter.annotate.judgments import judgments_of
from summeter.choices import AggregationRule, Tie
from summeter.data.human import PEOPLE
from summeter.data.human_judgments import SIGNATURES
from summeter.meta import of_judgments
from summeter.meta.gold import aggregate_votes
from summeter.records import Judgment, Span

if TYPE_CHECKING:
    from summeter.annotate.desk import Desk

MERGED = "human.merged"
"""The judgment set that is written of these."""
_MEANS = frozenset({SIGNATURES["ratings"], SIGNATURES["overall"], SIGNATURES["crowd_ratings"]})
_Unit = tuple[Any, ...]


def merged_of(desk: Desk, *, complete_only: bool = False) -> list[Judgment]:
    """One judgment a unit, by the judge `people`: adjudicated where somebody decided, else merged.

    A tie gives a judgment with the status skipped, whose reason says what the votes were. So does a task that has
    fewer answers than the campaign wants, with `complete_only`; without it the answers there are are merged.
    """
    settled = judgments_of(desk, adjudicated=True)
    own = {_item(one) for one in settled}
    found = [*settled, *merge(one for one in judgments_of(desk) if _item(one) not in own)]
    if complete_only:
        found = list(_complete(found, _short(desk)))
    if desk.campaign.kind != "key_fact_alignment":
        return found
    found = [one for one in found if one.target.unit == "key_fact"]
    return [*found, *_carrying(desk, found)]


def incomplete(desk: Desk) -> dict[int, int]:
    """How many tasks that nobody adjudicated have how many answers, fewer than the campaign wants; fewest first."""
    wanted, state = desk.campaign.answers_per_item, desk.state
    counts = Counter(len(slots.counted) for key, slots in state.items.items() if key not in state.adjudicated)
    return {answers: tasks for answers, tasks in sorted(counts.items()) if answers < wanted}


def _short(desk: Desk) -> dict[_Unit, str]:
    """What belongs to a task with too few answers, and how many there are in words."""
    wanted, found = desk.campaign.answers_per_item, {}
    for task in desk.tasks.work:
        answers = desk.state.counted_answers(task.key)
        if task.key in desk.state.adjudicated or not 0 < len(answers) < wanted:
            continue
        for answer in answers:
            for one in desk.kind.judgments(task, answer, desk.folder.sources[task.document_id]):
                found[_item(one)] = f"{len(answers)} of {wanted} answers"
    return found


def _complete(found: Iterable[Judgment], short: Mapping[_Unit, str]) -> Iterator[Judgment]:
    """Those of complete tasks; of the others only that their label is missing, and why."""
    for one in found:
        why = short.get(_item(one))
        if why is None:
            yield one
        elif one.target.unit != "span":
            yield Judgment(target=one.target, aspect=one.aspect, judge=one.judge, signature=one.signature,
                           status="skipped", reason=why)  # fmt: skip


def _item(one: Judgment) -> _Unit:
    """What is adjudicated as a whole: a sentence, a key fact, a summary with all its spans, a pair, a rating page."""
    target = one.target
    if target.unit in {"sentence", "key_fact"}:
        return target.document_id, target.system, target.unit, target.index
    return target.document_id, target.system, target.rival


def merge(judgments: Iterable[Judgment]) -> list[Judgment]:
    """Annotators' judgments merged, one a unit and aspect, in order of appearance.

    >>> from summeter.records import Target
    >>> votes = [Judgment(target=Target(document_id="d", system="A", unit="sentence", index=0), aspect="faithfulness",
    ...                   judge=who, signature="human.sentence_labels|v:1", label=label)
    ...          for who, label in (("anna", 1), ("ben", 0), ("cleo", 1))]
    >>> [(one.judge, one.label) for one in merge(votes)]
    [('people', 1)]
    """
    groups: dict[tuple[str, str, str | None], list[Judgment]] = {}
    spans: dict[tuple[str, str], list[Judgment]] = {}
    readers: dict[tuple[str, str], set[str]] = {}
    for one in judgments:
        target = one.target
        if target.unit == "span":
            spans.setdefault((target.document_id, target.system), []).append(one)
            continue
        if target.unit == "summary":
            readers.setdefault((target.document_id, target.system), set()).add(one.judge)
        groups.setdefault((one.aspect, one.signature, target.rival), []).append(one)
    found = [made for group in groups.values() for made in _merged(group)]
    for item, marks in spans.items():
        found += _marked(marks, len(readers.get(item, set()) | {one.judge for one in marks}))
    return found


def _merged(group: Sequence[Judgment]) -> Iterator[Judgment]:
    """The judgments of one aspect (and one rival), a unit at a time."""
    rule = AggregationRule.MEAN if group[0].signature in _MEANS else AggregationRule.MAJORITY
    columns = aggregate_votes(of_judgments(group), rule, Tie.DROP)
    keys = zip(columns.document.labels(), columns.system.labels(), columns.unit.labels(), columns.index.tolist(),
               strict=True)  # fmt: skip
    values = dict(zip(keys, columns.value.tolist(), strict=True))
    units: dict[tuple[Any, ...], list[Judgment]] = {}
    for one in group:
        index = -1 if one.target.index is None else one.target.index
        units.setdefault((one.target.document_id, one.target.system, one.target.unit, index), []).append(one)
    for key, votes in units.items():
        yield _one(votes, values[key], rule)


def _one(votes: Sequence[Judgment], value: float, rule: AggregationRule) -> Judgment:
    first = votes[0]
    about: dict[str, Any] = {
        "target": first.target, "aspect": first.aspect, "judge": PEOPLE, "signature": first.signature
    }  # fmt: skip
    if np.isnan(value):
        counts = Counter(str(one.label if one.label is not None else one.value) for one in votes)
        said = ", ".join(f"{count} for {label}" for label, count in counts.most_common())
        return Judgment(**about, status="skipped", reason=f"a tie ({said}): adjudicate it")
    if rule is AggregationRule.MEAN:
        return Judgment(**about, value=value)
    own = [one for one in votes if one.value == value]
    types = Counter(one.error_type for one in own if one.error_type is not None)
    label = own[0].label if own else int(value)
    return Judgment(**about, value=value, label=label, error_type=types.most_common(1)[0][0] if types else None,
                    evidence=_evidence(own))  # fmt: skip


def _evidence(own: Sequence[Judgment]) -> tuple[Span, ...]:
    """The spans that more than half of those who share the label chose; where none is, those with most votes."""
    counts = Counter((one.of, one.start, one.end) for vote in own for one in vote.evidence)
    if not counts:
        return ()
    needed = min(len(own) // 2 + 1, max(counts.values()))
    return tuple(Span(of=of, start=start, end=end) for (of, start, end), n in sorted(counts.items()) if n >= needed)


def _marked(marks: Sequence[Judgment], readers: int) -> Iterator[Judgment]:
    """The stretches of a summary that more than half of its readers marked."""
    ends = max(one.evidence[0].end for one in marks)
    covered = np.zeros(ends + 1, np.int64)
    for who in dict.fromkeys(one.judge for one in marks):
        own = np.zeros(ends + 1, np.int64)
        for one in marks:
            if one.judge == who:
                own[one.evidence[0].start : one.evidence[0].end] = 1
        covered += own
    inside = (covered * 2 > readers).astype(np.int64)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], inside])))
    for index, (start, end) in enumerate(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)):
        touching = [one for one in marks if one.evidence[0].start < end and start < one.evidence[0].end]
        types = Counter(one.error_type for one in touching if one.error_type is not None)
        first = touching[0]
        yield Judgment(
            target=first.target.model_copy(update={"index": index}), aspect=first.aspect, judge=PEOPLE,
            signature=first.signature, value=0.0, label=0,
            error_type=types.most_common(1)[0][0] if types else None,
            evidence=(Span(of="summary", start=start, end=end),),
        )  # fmt: skip


def _carrying(desk: Desk, facts: Sequence[Judgment]) -> Iterator[Judgment]:
    """Conciseness, of the merged alignment: a sentence carries some key fact or none, once all are decided."""
    done: dict[tuple[str, str], list[Judgment]] = {}
    for one in facts:
        if one.status == "ok":
            done.setdefault((one.target.document_id, one.target.system), []).append(one)
    for (document, system), own in done.items():
        source = desk.folder.sources[document]
        if len(own) < len(source.facts):
            continue
        carrying = {(span.start, span.end) for one in own for span in one.evidence if span.of == "summary"}
        summary = next(one for one in source.summaries if one.system == system)
        for index, span in enumerate(summary.sentences):
            label = int((span.start, span.end) in carrying)
            target = own[0].target.model_copy(update={"unit": "sentence", "index": index, "list_id": None})
            yield Judgment(target=target, aspect="conciseness", judge=PEOPLE, signature=SIGNATURES["alignment"],
                           value=float(label), label=label)  # fmt: skip
