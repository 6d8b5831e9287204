"""What is to be judged, and what of it is left to do."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from summeter.data.dataset import Dataset
from summeter.evaluators.base import Evaluator
from summeter.records import Document, Item, Summary, UsageError
from summeter.runs.journal import DoneKey, ItemKey
from summeter.runs.manifest import JudgeEntry, stem


@dataclass(frozen=True)
class Job:
    """One evaluator as it runs here: with its signature and its entry in the manifest; `repeat` counts from 1."""

    evaluator: Evaluator
    entry: JudgeEntry
    repeat: int = 1

    @property
    def signature(self) -> str:
        """What its judgments are signed with."""
        return self.entry.signature


@dataclass(frozen=True)
class Unit:
    """The unit of work: one document, and what is left to judge there for each job (by its place)."""

    document: Document
    todo: Mapping[int, tuple[Item, ...]]

    @property
    def size(self) -> int:
        """How many items are to be judged."""
        return sum(len(items) for items in self.todo.values())


def jobs(
    evaluators: Sequence[Evaluator], models: Mapping[str, str], splitter: str, sampling: Mapping[str, object],
    repeats: int = 1,
) -> list[Job]:  # fmt: skip
    """A job for every part of every evaluator, each signature once; `repeats` jobs, signed `rep:1` and so on, for one
    that asks an LLM.

    Raises UsageError for a role without a model, and for no evaluators at all.
    """
    made: dict[str, Job] = {}
    for evaluator in (part for whole in evaluators for part in whole.parts()):
        unbound = [role for role in evaluator.required_roles if role not in models]
        if unbound:
            role = unbound[0]
            how = (
                f"-m {role}=local/FOLDER or -m {role}=hf/ORG/NAME@REVISION" if role in evaluator.local_model_kinds
                else f"-m {role}=PROVIDER/MODEL (for example -m {role}=openai/gpt-4o)"
            )  # fmt: skip
            raise UsageError(f"{evaluator.name} asks a model in the role {role!r}; bind one with {how}")
        for repeat in range(1, repeats + 1 if evaluator.samples else 2):
            told = {**sampling, "rep": repeat} if repeats > 1 else sampling
            signed = evaluator.sign(models, splitter, told)
            made.setdefault(signed, Job(evaluator, _entry(evaluator, signed, models), repeat))
    if not made:
        raise UsageError("no evaluators given; `summeter list evaluators` shows them")
    return list(made.values())


def _entry(evaluator: Evaluator, signed: str, models: Mapping[str, str]) -> JudgeEntry:
    bound = {role: models[role] for role in evaluator.required_roles}
    return JudgeEntry(
        name=evaluator.name, settings=evaluator.model_dump(mode="json", exclude_defaults=True), signature=signed,
        model=",".join(dict.fromkeys(bound.values())) or None, models=bound, aspects=evaluator.measured,
        reduce=evaluator.reduce, file=stem(evaluator.name, signed), prepares_only=evaluator.prepares_only,
    )  # fmt: skip


def splitter(data: Dataset) -> str:
    """Who drew the sentence boundaries: of the summaries, then of the documents where that differs.

    `given+rules-1`: the summaries came with sentences, the documents were split by rules.
    """
    drawn = sorted({summary.splitter for summary in data.summaries})
    return "+".join(dict.fromkeys([*drawn, data.card.splitter]))


def suit(work: Sequence[Job], data: Dataset) -> None:
    """Raises UsageError for an evaluator that has nothing to do in the data."""
    systems = {summary.system for summary in data.summaries}
    for job in work:
        if why := job.evaluator.incompatible(systems):
            raise UsageError(why)


class ItemOrder(dict[ItemKey, int]):
    """Item -> its place in the data. A pair, which is worked out when asked for, stands behind its first
    summary, in the order of its second."""

    def __init__(self, data: Dataset) -> None:
        self.step = len(data.summaries) + 1
        keys = ((document.id, summary.system, None) for document, summaries in data.items() for summary in summaries)
        super().__init__((key, place * self.step) for place, key in enumerate(keys))

    def __missing__(self, key: ItemKey) -> int:
        document_id, system, rival = key
        if rival is None:
            raise KeyError(key)
        return self[document_id, system, None] + 1 + self[document_id, rival, None] // self.step


def units(data: Dataset, work: Sequence[Job], done: Collection[DoneKey], limit: int | None) -> Iterator[Unit]:
    """The documents that still have something to judge, in the order of the data."""
    for place, (document, summaries) in enumerate(data.items()):
        if limit is not None and place >= limit:
            return
        todo = {
            index: left
            for index, job in enumerate(work)
            if (left := tuple(one for one in job.evaluator.items(document, summaries) if _key(job, one) not in done))
        }
        if todo:
            yield Unit(document, todo)


def _key(job: Job, one: Item) -> DoneKey:
    return job.signature, *item_key(one)


def item_key(one: Item) -> ItemKey:
    """(document, system, rival)."""
    return one.document.id, one.summary.system, one.rival.system if one.rival else None


def item(document: Document, summary: Summary, rival: Summary | None = None) -> Item:
    """The item of a summary, or of a pair."""
    # The parts were validated when the data was read.
    return Item.model_construct(document=document, summary=summary, rival=rival)
