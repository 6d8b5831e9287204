"""Answers as judgments, and merged labels: what was adjudicated, else the majority; a tie is no label until decided.

Labels (sentences, key facts, choices between two) are merged by majority, ratings by their mean. Sentences that a
key fact is aligned to, characters that are marked, and error types are those that more than half chose.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.campaign.state import Answer
from summeter.annotate.tasks.rating import BEST, Rating
from summeter.annotate.tasks.task import Task
from summeter.choices import AggregationRule, QuestionType, Tie
from summeter.data.dataset import Dataset
from summeter.data.human import PEOPLE
from summeter.data.human_judgments import SIGNATURES, SPAN_LABELS
from summeter.meta.gold import aggregate_votes, default_rule
from summeter.records import Judgment, Span, Target, error_types, joined_error_types
from summeter.records.taxonomy import SEPARATOR
from summeter.scoring.table import Categorical, JudgmentTable

MERGED = "human.merged"
"""The judgment set of the merged labels."""
NAMES = frozenset({SIGNATURES[QuestionType.CHOICE], SIGNATURES[QuestionType.CHOICES]})
QUESTIONS = frozenset(SIGNATURES[question.value] for question in QuestionType)
"""How judgments of a campaign's own questions are signed."""
_Item = tuple[Any, ...]


def judgments_of(service: CampaignService, *, adjudicated: bool = False) -> list[Judgment]:
    """The counted answers (or the adjudicated ones, by the judge `people`) as judgments, in order of the tasks.

    The judge of an annotator's judgment is the pseudonym. Spans are numbered over all annotators of a summary.
    """
    judgments = _answered(service, _decisions if adjudicated else _counted)
    return [*judgments, *service.task_type.derived(judgments, service.folder.sources)]


def votes_of(service: CampaignService) -> JudgmentTable:
    """Return the judgments of the counted answers as a table, without the campaign's own questions."""
    if isinstance(service.task_type, Rating):
        return _rating_votes(service, service.task_type)
    return JudgmentTable.of(vote for vote in judgments_of(service) if vote.signature not in QUESTIONS)


def _rating_votes(service: CampaignService, rating: Rating) -> JudgmentTable:
    """Return the votes of rating pages as columns, which takes a fraction of the time of one record per vote."""
    exported = {question.name: question.signature for question in rating.asks if question.signature is not None}
    scales = [name for name in exported if name != BEST]
    documents, judges, counts = [], [], []
    systems: list[str] = []
    aspects: list[str] = []
    values: list[float] = []
    for task in service.tasks.work:
        for answer in service.state.counted_answers(task.key):
            start = len(values)
            for system in task.systems:
                ratings = answer.answer.summaries[system]
                systems += [system] * len(scales)
                aspects += scales
                values += [ratings[name] for name in scales]
            if (best := answer.answer.values.get(BEST)) is not None:
                systems += task.systems
                aspects += [BEST] * len(task.systems)
                values += [system == best for system in task.systems]
            documents.append(task.document_id)
            judges.append(answer.annotator)
            counts.append(len(values) - start)
    aspect = Categorical.of(aspects)
    return JudgmentTable.of_values(
        document=Categorical.of(documents).repeat(counts),
        system=Categorical.of(systems),
        aspect=aspect,
        judge=Categorical.of(judges).repeat(counts),
        signature=Categorical.of(exported.get(name or "") for name in aspect.names).take(aspect.codes),
        value=np.array(values, np.float64),
    )


def question_votes_of(service: CampaignService) -> list[Judgment]:
    """What the counted answers say to the campaign's own questions."""
    task_type, state = service.task_type, service.state
    if not task_type.own:
        return []
    answers = ((task, answer) for task in service.tasks.work for answer in state.counted_answers(task.key))
    return [judgment for task, answer in answers for judgment in task_type.judgments_of_own(task, answer)]


def merged_of(service: CampaignService, *, complete_only: bool = False) -> list[Judgment]:
    """One judgment a unit, by the judge `people`: adjudicated where somebody decided, else merged.

    What follows from several tasks (conciseness from the alignment of all key facts) is derived for each annotator,
    with the adjudicated tasks as they were decided, and then merged.

    A tie gives a judgment with the status skipped, whose reason says what the votes were. So does a question whose
    condition holds for half of a task's answers or fewer; and a task that has fewer answers than the campaign wants,
    with `complete_only`; without it the answers there are are merged.
    """
    decided = _answered(service, _decisions)
    items = {_item(judgment) for judgment in decided}
    votes = [judgment for judgment in _answered(service, _counted) if _item(judgment) not in items]
    unasked = _asked_of_few(service)
    merged = [*decided, *(_if_asked(judgment, unasked) for judgment in merge(votes))]
    if complete_only:
        incomplete_items = _incomplete_items(service)
        merged = list(_complete(merged, incomplete_items))
        votes = [judgment for judgment in votes if _item(judgment) not in incomplete_items]
    derived = service.task_type.derived([*votes, *_adopted(decided, service)], service.folder.sources)
    return [*merged, *merge(derived)]


def _adopted(decided: Iterable[Judgment], service: CampaignService) -> Iterator[Judgment]:
    """The decisions as judgments of each annotator of the same summary; of `people` where nobody judged it."""
    annotators: dict[tuple[str, str | None], set[str]] = {}
    for task in service.tasks.work:
        annotators.setdefault((task.document_id, task.system), set()).update(service.state.items[task.key].counted)
    for judgment in decided:
        names = annotators.get((judgment.target.document_id, judgment.target.system)) or {PEOPLE}
        yield from (judgment.model_copy(update={"judge": name}) for name in sorted(names))


def dataset_of(service: CampaignService, *, complete_only: bool = False) -> Dataset:
    """The data with what people said: human.raw, human.merged, and human.adjudicated where there is any.

    With `complete_only` human.merged has no label where there are fewer answers than wanted (`merged_of`).
    """
    data = service.folder.data.with_judgments("human.raw", judgments_of(service))
    data = data.with_judgments(MERGED, merged_of(service, complete_only=complete_only))
    decided = judgments_of(service, adjudicated=True)
    return data.with_judgments("human.adjudicated", decided) if decided else data


def incomplete(service: CampaignService) -> dict[int, int]:
    """How many tasks that nobody adjudicated have how many answers, fewer than the campaign wants; fewest first."""
    state = service.state
    counts = Counter(len(slots.counted) for key, slots in state.items.items() if not state.is_complete(key))
    return dict(sorted(counts.items()))


def _answered(
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


def _asked_of_few(service: CampaignService) -> dict[tuple[Target, str], str]:
    """The questions that no more than half of a task's annotators were asked, by target and name, with the reason.

    The merged label of such a question would stand beside merged answers for which it is not asked.
    """
    reasons: dict[tuple[Target, str], str] = {}
    for task in service.tasks.work:
        shown_by_question: dict[tuple[Target, str], list[bool]] = {}
        for answer in service.state.counted_answers(task.key):
            for target, name, shown in service.task_type.conditional_questions(task, answer.answer):
                shown_by_question.setdefault((target, name), []).append(shown)
        for key, shown_to in shown_by_question.items():
            if 2 * sum(shown_to) <= len(shown_to):
                reasons[key] = f"not asked of the majority ({sum(shown_to)} of {len(shown_to)} annotators were asked)"
    return reasons


def _if_asked(judgment: Judgment, unasked: Mapping[tuple[Target, str], str]) -> Judgment:
    """The merged judgment, without its label where the majority was not asked."""
    why = unasked.get((judgment.target, judgment.aspect)) if unasked else None
    return judgment if why is None else Judgment(**_about(judgment), status="skipped", reason=why)


def _incomplete_items(service: CampaignService) -> dict[_Item, str]:
    """What belongs to a task with too few answers, and how many there are in words."""
    wanted, items = service.campaign.answers_per_item, {}
    for task in service.tasks.work:
        answers = service.state.counted_answers(task.key)
        if not answers or service.state.is_complete(task.key):
            continue
        for answer in answers:
            for judgment in service.task_type.judgments(task, answer, service.folder.sources[task.document_id]):
                items[_item(judgment)] = f"{len(answers)} of {wanted} answers"
    return items


def _complete(judgments: Iterable[Judgment], incomplete_items: Mapping[_Item, str]) -> Iterator[Judgment]:
    """Those of complete tasks; of the others only that their label is missing, and why."""
    for judgment in judgments:
        why = incomplete_items.get(_item(judgment))
        if why is None:
            yield judgment
        elif judgment.target.unit != "span":
            yield Judgment(**_about(judgment), status="skipped", reason=why)


def _item(judgment: Judgment) -> _Item:
    """What is adjudicated as a whole: a sentence, a key fact, a summary with all its spans, a pair, a rating page."""
    target = judgment.target
    if target.unit in {"sentence", "key_fact"}:
        return target.document_id, target.system, target.unit, target.index
    return target.document_id, target.system, target.rival


def merge(judgments: Iterable[Judgment]) -> list[Judgment]:
    """Annotators' judgments merged, one a unit and aspect, in order of appearance.

    Labels are merged by majority, numbers by their mean (`default_rule`); of a question with several answers those
    remain that more than half gave. Spans are the characters that more than half of the annotators who
    looked for spans marked. Free text is not merged.

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
    for (_, mark, _), group in groups.items():
        merged += _merged_names(group) if mark in NAMES else _merged(group)
    for summary, marks in spans.items():
        merged += _merged_spans(marks, len(readers[summary]))
    return merged


def _merged(group: Sequence[Judgment]) -> Iterator[Judgment]:
    """The judgments of one aspect (and one rival), a unit at a time."""
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
        yield _merged_unit(votes, values[key], rule)


def _merged_unit(votes: Sequence[Judgment], value: float, rule: AggregationRule) -> Judgment:
    about = _about(votes[0])
    if np.isnan(value):
        counts = Counter(_vote_text(vote) for vote in votes)
        split = ", ".join(f"{count} for {label}" for label, count in counts.most_common())
        return Judgment(**about, status="skipped", reason=f"a tie ({split}): adjudicate it")
    if rule is AggregationRule.MEAN:
        return Judgment(**about, value=value)
    winners = [vote for vote in votes if vote.value == value]
    label = winners[0].label if winners else int(value)
    return Judgment(
        **about, value=value, label=label, error_type=_merged_types(winners), evidence=_merged_evidence(winners)
    )


def _merged_names(group: Sequence[Judgment]) -> Iterator[Judgment]:
    """Names, or sets of them, of one aspect: those that more than half of a unit's annotators gave."""
    units: dict[Target, list[Judgment]] = {}
    for judgment in group:
        units.setdefault(judgment.target, []).append(judgment)
    for votes in units.values():
        sets = [str(vote.label).split(SEPARATOR) for vote in votes if vote.label is not None]
        counts = Counter(name for names in sets for name in names)
        frequent = [name for name, count in counts.items() if 2 * count > len(sets)]
        about = _about(votes[0])
        if frequent:
            yield Judgment(**about, label=SEPARATOR.join(sorted(frequent)))
        else:
            split = ", ".join(f"{count} for {name}" for name, count in counts.most_common())
            yield Judgment(**about, status="skipped", reason=f"no majority ({split}): adjudicate it")


def _about(judgment: Judgment) -> dict[str, Any]:
    return {"target": judgment.target, "aspect": judgment.aspect, "judge": PEOPLE, "signature": judgment.signature}


def _vote_text(vote: Judgment) -> str:
    if vote.label is not None:
        return str(vote.label)
    if vote.target.rival is not None and vote.value is not None:
        return "a tie" if vote.value == 0.5 else str(vote.target.system if vote.value > 0.5 else vote.target.rival)
    return str(vote.value)


def _merged_types(winners: Sequence[Judgment]) -> str | None:
    """The error types that more than half of those who named any named; where none is, the one named most."""
    sets = [error_types(vote.error_type) for vote in winners if vote.error_type is not None]
    counts = Counter(name for names in sets for name in sorted(names))
    frequent = [name for name, count in counts.items() if 2 * count > len(sets)]
    return joined_error_types(frequent or [name for name, _ in counts.most_common(1)])


def _merged_evidence(winners: Sequence[Judgment]) -> tuple[Span, ...]:
    """The spans that more than half of those who share the label chose; where none is, those with most votes."""
    counts = Counter((span.of, span.start, span.end) for vote in winners for span in vote.evidence)
    if not counts:
        return ()
    needed = min(len(winners) // 2 + 1, max(counts.values()))
    return tuple(Span(of=of, start=start, end=end) for (of, start, end), n in sorted(counts.items()) if n >= needed)


def _merged_spans(marks: Sequence[Judgment], readers: int) -> Iterator[Judgment]:
    """The stretches of a summary that more than half of its readers marked."""
    length = max(mark.evidence[0].end for mark in marks)
    marked_by: dict[str, np.ndarray[Any, np.dtype[np.bool_]]] = {}
    for mark in marks:
        own = marked_by.setdefault(mark.judge, np.zeros(length + 1, np.bool_))
        own[mark.evidence[0].start : mark.evidence[0].end] = True
    inside = 2 * np.sum(list(marked_by.values()), axis=0) > readers
    edges = np.flatnonzero(np.diff(inside.astype(np.int64), prepend=0))
    for index, (start, end) in enumerate(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)):
        touching = [mark for mark in marks if mark.evidence[0].start < end and start < mark.evidence[0].end]
        about = _about(touching[0])
        about["target"] = touching[0].target.model_copy(update={"index": index})
        yield Judgment(
            **about,
            value=0.0,
            label=0,
            error_type=_merged_types(touching),
            evidence=(Span(of="summary", start=start, end=end),),
        )
