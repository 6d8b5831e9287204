"""The judgments of annotators, and merged labels.

A merged label is the adjudicated label, or else the label of the majority; after a tie, there is no label until the
task is adjudicated. Ratings are merged by their mean. A merged judgment contains the aligned sentences, marked
characters and error types that more than half of the annotators chose.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.campaign.state import Answer
from summeter.annotate.tasks.task import Task
from summeter.choices import AggregationRule, QuestionType, Tie
from summeter.data.dataset import Dataset
from summeter.data.human import PEOPLE
from summeter.data.human_judgments import SIGNATURES, SPAN_LABELS
from summeter.meta.selection import aggregate_votes, default_rule
from summeter.records import Judgment, Span, Target, error_types, joined_error_types
from summeter.records.taxonomy import SEPARATOR
from summeter.scoring.table import JudgmentTable

MERGED = "human.merged"
"""Name of the judgment set with the merged labels."""
NAMES = frozenset({SIGNATURES[QuestionType.CHOICE], SIGNATURES[QuestionType.CHOICES]})
QUESTIONS = frozenset(SIGNATURES[question.value] for question in QuestionType)
"""Signatures of judgments that answer additional questions of a campaign."""
_Item = tuple[Any, ...]


def judgments_of(service: CampaignService, *, adjudicated: bool = False) -> list[Judgment]:
    """Return the judgments of the counted answers, in the order of the tasks.

    The judge is the annotator's pseudonym. With `adjudicated`, the judgments are the adjudicated ones, and the judge is
    `people`. Spans are numbered over all annotators of a summary.
    """
    judgments = _judgments(service, _decisions if adjudicated else _counted)
    return [*judgments, *service.task_type.derived(judgments, service.folder.sources)]


def votes_of(service: CampaignService) -> JudgmentTable:
    """Return the judgments of the counted answers as a table, without additional questions."""
    columns = service.task_type.columns(
        (task, answer) for task in service.tasks.work for answer in service.state.counted_answers(task.key)
    )
    if columns is not None:
        return columns
    return JudgmentTable.of(vote for vote in judgments_of(service) if vote.signature not in QUESTIONS)


def question_votes_of(service: CampaignService) -> list[Judgment]:
    """Return the judgments of the counted answers to the campaign's additional questions."""
    task_type, state = service.task_type, service.state
    if not task_type.own:
        return []
    answers = ((task, answer) for task in service.tasks.work for answer in state.counted_answers(task.key))
    return [judgment for task, answer in answers for judgment in task_type.judgments_of_own(task, answer)]


def merged_of(service: CampaignService, *, complete_only: bool = False) -> list[Judgment]:
    """Return one adjudicated or merged judgment per unit, by the judge `people`.

    Judgments that follow from several tasks (conciseness, which follows from the alignment of all key facts) are
    derived for each annotator, with adjudicated decisions in place of the annotator's answers, and then merged.

    A judgment has the status `skipped` and a reason if there is a tie, if the question was asked of no more than half
    of the annotators, or, with `complete_only`, if the task has fewer answers than the campaign requires.
    """
    decisions = _judgments(service, _decisions)
    decided_items = {_item(judgment) for judgment in decisions}
    votes = [judgment for judgment in _judgments(service, _counted) if _item(judgment) not in decided_items]
    not_asked = _rarely_asked(service)
    merged = [*decisions]
    for judgment in merge(votes):
        reason = not_asked.get((judgment.target, judgment.aspect)) if not_asked else None
        merged.append(judgment if reason is None else _skipped(judgment, reason))
    if complete_only:
        incomplete_items = _incomplete_items(service)
        reasons = [(judgment, incomplete_items.get(_item(judgment))) for judgment in merged]
        merged = [
            judgment if reason is None else _skipped(judgment, reason)
            for judgment, reason in reasons
            if reason is None or judgment.target.unit != "span"
        ]
        votes = [judgment for judgment in votes if _item(judgment) not in incomplete_items]
    # An adjudicated decision counts as the judgment of every annotator of the summary.
    annotators: dict[tuple[str, str | None], set[str]] = {}
    for task in service.tasks.work:
        annotators.setdefault((task.document_id, task.system), set()).update(service.state.items[task.key].counted)
    adopted = [
        judgment.model_copy(update={"judge": name})
        for judgment in decisions
        for name in sorted(annotators.get((judgment.target.document_id, judgment.target.system)) or {PEOPLE})
    ]
    derived = service.task_type.derived([*votes, *adopted], service.folder.sources)
    return [*merged, *merge(derived)]


def dataset_of(service: CampaignService, *, complete_only: bool = False) -> Dataset:
    """Return the data with the judgment sets of the campaign.

    The sets are `human.raw`, `human.merged` and, if there are adjudicated judgments, `human.adjudicated`.
    `complete_only` has the same meaning as in `merged_of`.
    """
    data = service.folder.data.with_judgments("human.raw", judgments_of(service))
    data = data.with_judgments(MERGED, merged_of(service, complete_only=complete_only))
    decisions = judgments_of(service, adjudicated=True)
    return data.with_judgments("human.adjudicated", decisions) if decisions else data


def incomplete(service: CampaignService) -> dict[int, int]:
    """Return the number of incomplete tasks for each number of answers, in ascending order."""
    state = service.state
    counts = Counter(len(slots.counted) for key, slots in state.items.items() if not state.is_complete(key))
    return dict(sorted(counts.items()))


def _judgments(
    service: CampaignService, answers_of: Callable[[CampaignService, Task], Sequence[Answer]]
) -> list[Judgment]:
    judgments: list[Judgment] = []
    for task in service.tasks.work:
        spans = 0
        source = service.folder.sources[task.document_id]
        for answer in answers_of(service, task):
            for judgment in service.task_type.judgments(task, answer, source):
                if judgment.target.unit == "span":
                    target = judgment.target.model_copy(update={"index": spans})
                    spans += 1
                    judgments.append(judgment.model_copy(update={"target": target}))
                else:
                    judgments.append(judgment)
    return judgments


def _counted(service: CampaignService, task: Task) -> Sequence[Answer]:
    return service.state.counted_answers(task.key)


def _decisions(service: CampaignService, task: Task) -> Sequence[Answer]:
    answer = service.state.adjudicated.get(task.key)
    return [] if answer is None else [replace(answer, annotator=PEOPLE)]


def _rarely_asked(service: CampaignService) -> dict[tuple[Target, str], str]:
    """Return the reasons for skipping rarely asked questions, by target and question name.

    A question is rarely asked if no more than half of a task's annotators were asked. The merged answers would not meet
    the condition of such a question.
    """
    reasons: dict[tuple[Target, str], str] = {}
    for task in service.tasks.work:
        shown_by_question: dict[tuple[Target, str], list[bool]] = {}
        for answer in service.state.counted_answers(task.key):
            for target, name, is_shown in service.task_type.conditional_questions(task, answer.answer):
                shown_by_question.setdefault((target, name), []).append(is_shown)
        for key, shown in shown_by_question.items():
            if 2 * sum(shown) <= len(shown):
                reasons[key] = f"asked of {sum(shown)} of {len(shown)} annotators only"
    return reasons


def _skipped(judgment: Judgment, reason: str) -> Judgment:
    return Judgment(**_question(judgment), status="skipped", reason=reason)


def _incomplete_items(service: CampaignService) -> dict[_Item, str]:
    """Return the items of incomplete tasks, with a text such as `2 of 3 answers`."""
    required, items = service.campaign.answers_per_item, {}
    for task in service.tasks.work:
        answers = service.state.counted_answers(task.key)
        if not answers or service.state.is_complete(task.key):
            continue
        for answer in answers:
            for judgment in service.task_type.judgments(task, answer, service.folder.sources[task.document_id]):
                items[_item(judgment)] = f"{len(answers)} of {required} answers"
    return items


def _item(judgment: Judgment) -> _Item:
    """Return a key for the sentence, key fact, pair or summary that is adjudicated as a whole."""
    target = judgment.target
    if target.unit in {"sentence", "key_fact"}:
        return target.document_id, target.system, target.unit, target.index
    return target.document_id, target.system, target.rival


def merge(judgments: Iterable[Judgment]) -> list[Judgment]:
    """Merge the judgments of annotators into one per unit and aspect, in order of appearance.

    Labels are merged by majority and numbers by their mean (see `default_rule`). For a question with several answers,
    the answers given by more than half of the annotators are kept. Merged spans consist of the characters marked by
    more than half of the annotators who searched for spans. Free text is not merged.

    >>> from summeter.records import Target
    >>> votes = [Judgment(target=Target(document_id="d", system="A", unit="sentence", index=0), aspect="faithfulness",
    ...                   judge=who, signature="human.sentence_labels|v:1", label=label)
    ...          for who, label in (("anna", 1), ("ben", 0), ("cleo", 1))]
    >>> [(judgment.judge, judgment.label) for judgment in merge(votes)]
    [('people', 1)]
    """
    groups: dict[tuple[str, str, str | None], list[Judgment]] = {}
    spans: dict[tuple[str, str], list[Judgment]] = {}
    readers: dict[tuple[str, str], set[str]] = {}
    for judgment in judgments:
        target = judgment.target
        summary = target.document_id, target.system
        if target.unit == "span" or judgment.signature in SPAN_LABELS:
            readers.setdefault(summary, set()).add(judgment.judge)
        if target.unit == "span":
            spans.setdefault(summary, []).append(judgment)
        elif judgment.signature != SIGNATURES[QuestionType.TEXT]:
            groups.setdefault((judgment.aspect, judgment.signature, target.rival), []).append(judgment)
    merged: list[Judgment] = []
    for (_, signature, _), group in groups.items():
        merged += _merged_names(group) if signature in NAMES else _merged(group)
    for summary, marks in spans.items():
        merged += _merged_spans(marks, len(readers[summary]))
    return merged


def _merged(group: Sequence[Judgment]) -> Iterator[Judgment]:
    """Yield the merged judgments of one aspect and rival system, unit by unit."""
    table = JudgmentTable.of(group)
    rule = default_rule(table)
    columns = aggregate_votes(table, rule, Tie.DROP)
    keys = zip(
        columns.document.labels(), columns.system.labels(), columns.unit.labels(), columns.index.tolist(), strict=True
    )
    values = dict(zip(keys, columns.value.tolist(), strict=True))
    units: dict[tuple[Any, ...], list[Judgment]] = {}
    for judgment in group:
        target = judgment.target
        index = -1 if target.index is None else target.index
        units.setdefault((target.document_id, target.system, target.unit, index), []).append(judgment)
    for key, votes in units.items():
        question, value = _question(votes[0]), values[key]
        winners = [vote for vote in votes if vote.value == value]
        if np.isnan(value):
            counts = Counter(_vote_text(vote) for vote in votes)
            split = ", ".join(f"{count} for {label}" for label, count in counts.most_common())
            yield _skipped(votes[0], f"a tie ({split}); adjudicate it")
        elif rule is AggregationRule.MEAN:
            yield Judgment(**question, value=value)
        else:
            yield Judgment(
                **question,
                value=value,
                label=winners[0].label if winners else int(value),
                error_type=_merged_types(winners),
                evidence=_merged_evidence(winners),
            )


def _merged_names(group: Sequence[Judgment]) -> Iterator[Judgment]:
    """Yield the options of one aspect that more than half of a unit's annotators chose."""
    units: dict[Target, list[Judgment]] = {}
    for judgment in group:
        units.setdefault(judgment.target, []).append(judgment)
    for votes in units.values():
        sets = [str(vote.label).split(SEPARATOR) for vote in votes if vote.label is not None]
        counts = Counter(name for names in sets for name in names)
        frequent = [name for name, count in counts.items() if 2 * count > len(sets)]
        if frequent:
            yield Judgment(**_question(votes[0]), label=SEPARATOR.join(sorted(frequent)))
        else:
            split = ", ".join(f"{count} for {name}" for name, count in counts.most_common())
            yield _skipped(votes[0], f"no majority ({split}); adjudicate it")


def _question(judgment: Judgment) -> dict[str, Any]:
    return {"target": judgment.target, "aspect": judgment.aspect, "judge": PEOPLE, "signature": judgment.signature}


def _vote_text(vote: Judgment) -> str:
    if vote.label is not None:
        return str(vote.label)
    if vote.target.rival is not None and vote.value is not None:
        return "a tie" if vote.value == 0.5 else str(vote.target.system if vote.value > 0.5 else vote.target.rival)
    return str(vote.value)


def _merged_types(winners: Sequence[Judgment]) -> str | None:
    """Return the error types chosen by more than half of the annotators who chose any.

    If there is no such type, return the most frequent one; return None if no one chose any.
    """
    sets = [error_types(vote.error_type) for vote in winners if vote.error_type is not None]
    counts = Counter(name for names in sets for name in sorted(names))
    frequent = [name for name, count in counts.items() if 2 * count > len(sets)]
    return joined_error_types(frequent or [name for name, _ in counts.most_common(1)])


def _merged_evidence(winners: Sequence[Judgment]) -> tuple[Span, ...]:
    """Return the spans chosen by more than half of the annotators who gave the label.

    If there are no such spans, return the most frequent ones.
    """
    counts = Counter((span.of, span.start, span.end) for vote in winners for span in vote.evidence)
    if not counts:
        return ()
    least = min(len(winners) // 2 + 1, max(counts.values()))
    return tuple(Span(of=of, start=start, end=end) for (of, start, end), n in sorted(counts.items()) if n >= least)


def _merged_spans(marks: Sequence[Judgment], readers: int) -> Iterator[Judgment]:
    """Yield the spans of a summary that more than half of its readers marked."""
    length = max(mark.evidence[0].end for mark in marks)
    marked_by: dict[str, np.ndarray[Any, np.dtype[np.bool_]]] = {}
    for mark in marks:
        marked = marked_by.setdefault(mark.judge, np.zeros(length + 1, np.bool_))
        marked[mark.evidence[0].start : mark.evidence[0].end] = True
    inside = 2 * np.sum(list(marked_by.values()), axis=0) > readers
    edges = np.flatnonzero(np.diff(inside.astype(np.int64), prepend=0))
    for index, (start, end) in enumerate(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)):
        overlapping = [mark for mark in marks if mark.evidence[0].start < end and start < mark.evidence[0].end]
        question = _question(overlapping[0])
        question["target"] = overlapping[0].target.model_copy(update={"index": index})
        yield Judgment(
            **question,
            value=0.0,
            label=0,
            error_type=_merged_types(overlapping),
            evidence=(Span(of="summary", start=start, end=end),),
        )
