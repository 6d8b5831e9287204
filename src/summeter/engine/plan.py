"""What is to be judged, with what, and what of it is left to do."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from summeter.data.dataset import Dataset, load
from summeter.engine.options import ALL, Options
from summeter.engine.roles import ModelLookup, default_models, models_of, replay_sessions
from summeter.evaluators.base import Evaluator
from summeter.evaluators.catalog import build
from summeter.evaluators.derived import DerivedEvaluator
from summeter.models.structured import Settings
from summeter.records import Document, Item, Parameter, Summary, UsageError
from summeter.runs.manifest import DataEntry, JudgeEntry, Manifest, ModelContext, stem
from summeter.runs.progress import DoneItems, DoneKey, ItemKey

if TYPE_CHECKING:
    from summeter.models.local.load import BoundNetwork

Data = Dataset | str | Path | Sequence[Mapping[str, Any]]


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

    @property
    def roles(self) -> dict[str, str]:
        """Its own roles -> the roles of the run whose models it asks."""
        return {role: self.entry.roles.get(role, role) for role in self.evaluator.required_roles}


@dataclass(frozen=True)
class WorkItem:
    """The unit of work: one document, what is left to judge there for each job (by the job's place), and the place of
    the document in the data."""

    document: Document
    todo: Mapping[int, tuple[Item, ...]]
    place: int = 0

    @property
    def size(self) -> int:
        return sum(len(items) for items in self.todo.values())


def jobs(
    evaluators: Sequence[Evaluator],
    models: Mapping[str, str],
    splitter: str,
    sampling: Mapping[str, object],
    repeats: int = 1,
) -> list[Job]:
    """A job for every part of every evaluator, each signature once, the members of a derived judge before it; `repeats`
    jobs, signed `rep:1` and so on, for one that asks an LLM.

    Raises UsageError for a role without a model, and for no evaluators at all.
    """
    planned: dict[str, Job] = {}
    whole: set[str] = set()  # signatures of those that judge every item

    def add(evaluator: Evaluator, repeat: int, renamed: Mapping[str, str], *, partial: bool = False) -> str:
        """Plan an evaluator, whose roles `renamed` go by other names in the run; returns its signature."""
        members: list[str] = []
        if isinstance(evaluator, DerivedEvaluator):
            for member in evaluator.members:
                other = {"judge": renamed.get(member.role, member.role)} if member.role else {}
                members.append(add(member.evaluator, repeat, {**renamed, **other}, partial=member.partial))
            evaluator.check_members(members)
        roles = {role: renamed.get(role, role) for role in evaluator.required_roles}
        bound = models_of(evaluator, roles, models)
        draw = repeat if evaluator.asks_llm else 1
        signed = evaluator.sign(bound, splitter, {**sampling, "rep": draw} if repeats > 1 else sampling)
        entry = JudgeEntry(
            name=evaluator.name,
            settings=evaluator.model_dump(mode="json", exclude_defaults=True),
            signature=signed,
            model=",".join(dict.fromkeys(bound.values())) or None,
            models=bound,
            aspects=evaluator.active_aspects,
            reduce=evaluator.reduce,
            file=stem(evaluator.name, signed),
            prepares_only=evaluator.prepares_only,
            members=tuple(members),
            roles={role: name for role, name in roles.items() if role != name},
            threshold=evaluator.decision_threshold,
            restricted=evaluator.noncommercial_weights(bound),
        )
        if not partial:
            whole.add(signed)
        first = planned.setdefault(signed, Job(evaluator, entry, draw))
        if (merged := first.evaluator.merged(evaluator)) is not first.evaluator:
            settings = merged.model_dump(mode="json", exclude_defaults=True)
            planned[signed] = replace(first, evaluator=merged, entry=entry.model_copy(update={"settings": settings}))
        return signed

    for evaluator in _planned(evaluators):
        for repeat in range(1, repeats + 1 if evaluator.asks_llm else 2):
            add(evaluator, repeat, {})
    if not planned:
        raise UsageError("no evaluators given; give one or more with ", Parameter("evaluators"))
    return [
        job if signed in whole else replace(job, entry=job.entry.model_copy(update={"partial": True}))
        for signed, job in planned.items()
    ]


def _planned(evaluators: Sequence[Evaluator]) -> Iterator[Evaluator]:
    """The parts of bundles, and all others; a derived judge is planned with its members."""
    for evaluator in evaluators:
        yield from (evaluator,) if isinstance(evaluator, DerivedEvaluator) else evaluator.components()


class RunPlan(NamedTuple):
    """A run before it starts: the data, the jobs, the LLMs and the local models by role, the options; by model string,
    how much those LLMs read whose context was not told."""

    data: Dataset
    jobs: list[Job]
    models: dict[str, str]
    options: Options
    networks: dict[str, BoundNetwork]
    contexts: Mapping[str, ModelContext] = MappingProxyType({})

    def asking(self, role: str) -> Settings:
        """How the model in a role is asked."""
        options, context = self.options, self.options.context_of(role)
        if context is None and (length := self.contexts.get(self.models.get(role, ""))) is not None:
            context = length.tokens
        return Settings(
            options.temperature, options.max_reply, options.seed, on_overflow=options.on_overflow, context=context
        )


def make_plan(
    data: Data,
    evaluators: Sequence[Evaluator | str],
    models: Mapping[str, str] | str | None,
    options: Options,
    *,
    fetch: bool = True,
) -> RunPlan:
    """Raises UsageError for what cannot be done as asked. Local models are found, and signed by their weights; without
    `fetch` none is fetched from the hub, and one that is not here keeps the name it was given."""
    built, bound = _built(evaluators), _by_role(models)
    _check_context(options, {**default_models(built), **bound})
    return _plan(_with_summaries(data), built, bound, options, ModelLookup(options.offline, fetch))


def replay_plans(
    data: Data,
    evaluators: Sequence[Evaluator | str],
    models: Mapping[str, str] | str | None,
    options: Options,
    run: Manifest,
) -> list[RunPlan]:
    """The plans that repeat a recorded run one after the other: more than one where a role had more than one model.
    Raises UsageError as `make_plan` does."""
    dataset, given = _with_summaries(data), _by_role(models)
    sampling = {**options.sampling, "rep": 1} if options.repeats > 1 else options.sampling
    sessions = replay_sessions(_planned(_built(evaluators)), run, given, sampling)
    lookup = ModelLookup(options.offline, replay=run)
    _check_context(options, [role for session in sessions for role in session.models])
    if not sessions:
        return [_plan(dataset, [], given, options, lookup)]
    return [_plan(dataset, session.evaluators, session.models, options, lookup) for session in sessions]


def _built(evaluators: Sequence[Evaluator | str]) -> list[Evaluator]:
    return [build(evaluator) if isinstance(evaluator, str) else evaluator for evaluator in evaluators]


def _by_role(models: Mapping[str, str] | str | None) -> dict[str, str]:
    return {"judge": models} if isinstance(models, str) else dict(models or {})


def _with_summaries(data: Data) -> Dataset:
    """The data, loaded. UsageError where they hold no summaries."""
    dataset = data if isinstance(data, Dataset) else load(data)
    if not dataset.document_count:
        raise UsageError("the data hold no summaries")
    return dataset


def _check_context(options: Options, roles: Collection[str]) -> None:
    """UsageError where a context length is given for a role without a model."""
    if strange := [role for role in options.context if role != ALL and role not in roles]:
        raise UsageError(
            Parameter("context"),
            f" names the role {strange[0]!r}, which no model is bound to ({', '.join(roles) or 'none is bound'})",
        )


def _plan(
    data: Dataset, evaluators: Sequence[Evaluator], models: Mapping[str, str], options: Options, lookup: ModelLookup
) -> RunPlan:
    bound = {**default_models(evaluators), **models}
    networks = lookup.find(evaluators, bound)
    bound |= {role: network.id for role, network in networks.items()}
    work = jobs(evaluators, bound, splitter(data), options.sampling, options.repeats)
    suit(work, data)
    used = {role for job in work for role in job.roles.values()}
    llms = {role: model for role, model in bound.items() if role in used and role not in networks}
    return RunPlan(data, work, llms, options, networks)


def data_entry(data: Dataset) -> DataEntry:
    """What a manifest says of the data."""
    return DataEntry(
        source=data.card.name,
        hash=data.hash,
        documents=data.document_count,
        summaries=len(data),
        splitter=splitter(data),
    )


def splitter(data: Dataset) -> str:
    """Who drew the sentence boundaries: of the summaries, then of the documents where that differs.

    `given+rules-1`: the summaries came with sentences, the documents were split by rules.
    """
    return "+".join(dict.fromkeys([*data.splitters, data.card.splitter]))


def suit(work: Sequence[Job], data: Dataset) -> None:
    """Raises UsageError for an evaluator that has nothing to do in the data."""
    systems = set(data.systems)
    for job in work:
        if why := job.evaluator.incompatible(systems):
            raise UsageError(why)


class ItemOrder:
    """Item -> its place in the data: `order[document, system, rival]`. A pair stands behind its first summary, in the
    order of its second. Memory holds some numbers a document, and each list of systems once.

    >>> order = ItemOrder(load([{"doc_id": "d", "system": name, "document": "x", "summary": "y"} for name in "ab"]))
    >>> order["d", "a", None] < order["d", "a", "b"] < order["d", "b", None], order.of_document("d")
    (True, 0)
    """

    def __init__(self, data: Dataset) -> None:
        self._step = len(data) + 1
        self._places: dict[str, int] = {}
        self._first, self._systems = array("q"), list[dict[str, int]]()
        known: dict[tuple[str, ...], dict[str, int]] = {}
        first = 0
        for document_id, names in data.systems_by_document().items():
            systems = tuple(names)
            if systems not in known:
                known[systems] = {system: place for place, system in enumerate(systems)}
            self._places[document_id] = len(self._first)
            self._first.append(first)
            self._systems.append(known[systems])
            first += len(systems)

    def __getitem__(self, key: ItemKey) -> int:
        document_id, system, rival = key
        document = self._places[document_id]
        first, systems = self._first[document], self._systems[document]
        place = (first + systems[system]) * self._step
        return place if rival is None else place + 1 + first + systems[rival]

    def of_document(self, document_id: str) -> int:
        """The place of a document."""
        return self._places[document_id]


Wanted = Mapping[str, Container[ItemKey]]
"""By signature, the items to which a judge is confined."""


def units(
    data: Dataset,
    work: Sequence[Job],
    done: Container[DoneKey],
    limit: int | None,
    wanted: Wanted = MappingProxyType({}),
) -> Iterator[WorkItem]:
    """The documents that still have something to judge, in the order of the data; of a judge that is in `wanted`, only
    what is wanted of it. Texts of documents of which everything is judged are not read."""

    def left(job: Job, item: Item) -> bool:
        confined = wanted.get(job.signature)
        key = item_key(item)
        return (job.signature, *key) not in done and (confined is None or key in confined)

    begun = isinstance(done, DoneItems) and all(done.count(job.signature) for job in work) and _are_summaries(work)
    for place, (document_id, systems) in enumerate(islice(data.systems_by_document().items(), limit)):
        if begun and all((job.signature, document_id, system, None) in done for job in work for system in systems):
            continue
        document, summaries = data.item(place)
        todo = {
            index: items
            for index, job in enumerate(work)
            if (items := tuple(item for item in job.evaluator.items(document, summaries) if left(job, item)))
        }
        if todo:
            yield WorkItem(document, todo, place)


def items_left(
    data: Dataset, work: Sequence[Job], done: DoneItems, limit: int | None, wanted: Wanted = MappingProxyType({})
) -> int:
    """How many items `units` has; where each summary is one, the data are not read for that."""
    if limit is None and _are_summaries(work) and not wanted:
        return sum(len(data) - done.count(job.signature) for job in work)
    return sum(unit.size for unit in units(data, work, done, limit, wanted))


def _are_summaries(work: Sequence[Job]) -> bool:
    """Whether the items of all jobs are the summaries, one by one."""
    return all(type(job.evaluator).items is Evaluator.items and not job.evaluator.pairwise for job in work)


def item_key(item: Item) -> ItemKey:
    """(document, system, rival)."""
    return item.document.id, item.summary.system, item.rival.system if item.rival else None


def item_of(document: Document, summary: Summary, rival: Summary | None = None) -> Item:
    """The item of a summary, or of a pair."""
    # The parts were validated when the data was read.
    return Item.model_construct(document=document, summary=summary, rival=rival)
