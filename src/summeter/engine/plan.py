"""Plan a run: determine its jobs and models, and the items that are left to judge."""

from __future__ import annotations

import logging
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from summeter.data.dataset import Dataset, Source, load
from summeter.engine.options import ALL, Options
from summeter.engine.roles import local_models, models_of, replay_sessions
from summeter.evaluators.base import Evaluator
from summeter.evaluators.catalog import build, rebuild
from summeter.evaluators.derived import DerivedEvaluator
from summeter.models.closing import closing_warnings
from summeter.models.structured import Settings
from summeter.records import Document, Item, Parameter, Summary, UsageError
from summeter.runs.manifest import DataEntry, JudgeEntry, Manifest, ModelContext, stem
from summeter.runs.progress import DoneItems, DoneKey, ItemKey

if TYPE_CHECKING:
    from summeter.models.local.load import BoundNetwork

log = logging.getLogger(__name__)

Data = Dataset | Source
Evaluators = Evaluator | str | Sequence[Evaluator | str] | None
DEFAULT = ("support", "abstractiveness")
"""The evaluators of a run for which none are given."""


@dataclass(frozen=True)
class Job:
    """An evaluator in a run, with its entry in the manifest; `repeat` counts from 1."""

    evaluator: Evaluator
    entry: JudgeEntry
    repeat: int = 1

    @property
    def signature(self) -> str:
        """The signature of the job's judgments."""
        return self.entry.signature

    @property
    def roles(self) -> dict[str, str]:
        """The mapping from the evaluator's roles to the roles of the run."""
        return {role: self.entry.roles.get(role, role) for role in self.evaluator.required_roles}


@dataclass(frozen=True)
class WorkItem:
    """A document with its remaining items by the index of the job.

    `position` is the position of the document in the data.
    """

    document: Document
    todo: Mapping[int, tuple[Item, ...]]
    position: int = 0

    @property
    def size(self) -> int:
        """The number of remaining items."""
        return sum(len(items) for items in self.todo.values())


def jobs(
    evaluators: Sequence[Evaluator],
    models: Mapping[str, str],
    splitter: str,
    sampling: Mapping[str, object],
    repeats: int = 1,
    data: Dataset | None = None,
) -> list[Job]:
    """Return the jobs of the evaluators, one per signature.

    The members of a derived judge precede the derived judge. If `repeats` is above 1, an evaluator that calls an LLM
    has this number of jobs, whose signatures contain `rep:1`, `rep:2`, ... `splitter` and `sampling` are parts of the
    signatures. Evaluators that use more of the dataset than an item receive `data`. Raises UsageError for a role
    without a model, or if there are no evaluators.
    """
    planned: dict[str, Job] = {}
    complete: set[str] = set()  # signatures of judges that judge every item

    def add(evaluator: Evaluator, repeat: int, renamed: Mapping[str, str], *, partial: bool = False) -> str:
        """Plan an evaluator, with some roles renamed in the run, and return its signature."""
        evaluator = evaluator if data is None else evaluator.with_data(data)
        members: list[str] = []
        if isinstance(evaluator, DerivedEvaluator):
            for member in evaluator.members:
                other = {"judge": renamed.get(member.role, member.role)} if member.role else {}
                members.append(add(member.evaluator, repeat, {**renamed, **other}, partial=member.partial))
            evaluator.check_members(members)
        roles = {role: renamed.get(role, role) for role in evaluator.required_roles}
        bound = models_of(evaluator, roles, models)
        number = repeat if evaluator.asks_llm else 1
        signed = evaluator.sign(bound, splitter, {**sampling, "rep": number} if repeats > 1 else sampling)
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
            measured_agreement=dict(evaluator.measured_agreement),
        )
        if not partial:
            complete.add(signed)
        first = planned.setdefault(signed, Job(evaluator, entry, number))
        if (merged := first.evaluator.merged(evaluator)) is not first.evaluator:
            settings = merged.model_dump(mode="json", exclude_defaults=True)
            planned[signed] = replace(first, evaluator=merged, entry=entry.model_copy(update={"settings": settings}))
        return signed

    for evaluator in _expand(evaluators):
        for repeat in range(1, repeats + 1 if evaluator.asks_llm else 2):
            add(evaluator, repeat, {})
    if not planned:
        raise UsageError("no evaluators were given. Give one or more with ", Parameter("evaluators"))
    return [
        job if signed in complete else replace(job, entry=job.entry.model_copy(update={"partial": True}))
        for signed, job in planned.items()
    ]


def _expand(evaluators: Sequence[Evaluator]) -> Iterator[Evaluator]:
    """Yield the evaluators, with bundles replaced by their components."""
    for evaluator in evaluators:
        yield from (evaluator,) if isinstance(evaluator, DerivedEvaluator) else evaluator.components()


class RunPlan(NamedTuple):
    """The plan of a run.

    `models` holds model strings by role, `networks` holds the local models by role, and `contexts` holds the detected
    context lengths by model string.
    """

    data: Dataset
    jobs: list[Job]
    models: dict[str, str]
    options: Options
    networks: dict[str, BoundNetwork]
    contexts: Mapping[str, ModelContext] = MappingProxyType({})

    def with_evaluators(self, evaluators: Sequence[Evaluator]) -> RunPlan:
        """Return the plan of a run of other evaluators with the same roles."""
        return _plan(self.data, evaluators, self.models, self.options, self.networks)

    def by_source(self) -> RunPlan:
        """Return the plan for judging each source alone, of the documents that have several.

        Raises UsageError if there is no such document.
        """
        options, documents = self.options, self.data.documents.values()
        several = {document.id: len(document.sources) for document in documents if len(document.sources) > 1}
        limit = sum(several.get(doc_id, 0) for doc_id in islice(self.data.documents, options.limit))
        if not limit:
            raise UsageError(Parameter("by_source"), ": no document has several sources")
        changes = {"by_source": False, "limit": None if options.limit is None else limit}
        data = self.data.with_documents(several).by_source()
        return self._replace(data=data, options=options.model_copy(update=changes))

    def asking(self, role: str) -> Settings:
        """Return the call settings of the model in a role."""
        options, context = self.options, self.options.context_of(role)
        if context is None and (length := self.contexts.get(self.models.get(role, ""))) is not None:
            context = length.tokens
        return Settings(
            options.temperature, options.max_reply, options.seed, on_overflow=options.on_overflow, context=context
        )


def make_plan(
    data: Data,
    evaluators: Evaluators,
    models: Mapping[str, str] | str | None,
    options: Options,
    *,
    fetch: bool = True,
) -> RunPlan:
    """Return the plan of a run.

    Local models are identified by their weights. Without `fetch`, no model is downloaded, and a missing model is
    identified by its name. A warning is logged for a hosted model that has closed or closes soon. Raises UsageError for
    invalid data, evaluators, models or options.
    """
    judges, bound = chosen(evaluators), _by_role(models)
    _check_context(options, bound)
    dataset, networks = _load(data), local_models(judges, bound, offline=options.offline, fetch=fetch)
    plan = _plan(dataset, judges, bound, options, networks)
    for warning in closing_warnings(plan.models.values()):
        log.warning(warning)
    return plan


def replay_plans(
    data: Data,
    evaluators: Evaluators,
    models: Mapping[str, str] | str | None,
    options: Options,
    run: Manifest,
) -> list[RunPlan]:
    """Return the plans that together replay a recorded run, in the order in which they must be carried out.

    There are several plans if a role had several models. Raises UsageError in the same cases as `make_plan`.
    """
    dataset, bound = _load(data), _by_role(models)
    sampling = {**options.sampling, "rep": 1} if options.repeats > 1 else options.sampling
    judges = [evaluator.with_data(dataset) for evaluator in _expand(chosen(evaluators, run))]
    sessions = replay_sessions(judges, run, bound, sampling)
    _check_context(options, [role for _, roles in sessions for role in roles])
    return [
        _plan(dataset, evaluators, roles, options, local_models(evaluators, roles, offline=options.offline, replay=run))
        for evaluators, roles in sessions or [([], bound)]
    ]


def chosen(evaluators: Evaluators, recorded: Manifest | None = None) -> list[Evaluator]:
    """Return the given evaluators, or else those of a recorded run, or else the default.

    Raises UsageError for a value that is neither an evaluator nor its name.
    """
    if evaluators is None and recorded is not None:
        # Members with renamed roles and partial members of cascades are included in their derived judges.
        judges = [judge for judge in recorded.judges if not (judge.imported or judge.roles or judge.partial)]
        return [rebuild(judge.name, judge.settings) for judge in judges]
    given: Any = DEFAULT if evaluators is None else evaluators
    listed = [given] if isinstance(given, Evaluator | str) or not isinstance(given, Iterable) else list(given)
    for evaluator in listed:
        if not isinstance(evaluator, Evaluator | str):
            is_class = isinstance(evaluator, type) and issubclass(evaluator, Evaluator)
            what = f"the class {evaluator.__name__}; give {evaluator.__name__}()" if is_class else repr(evaluator)
            accepted = " takes an evaluator, its name such as 'support', or a list of these, not "
            raise UsageError(Parameter("evaluators"), accepted, what)
    return [build(evaluator) if isinstance(evaluator, str) else evaluator for evaluator in listed]


def _by_role(models: Mapping[str, str] | str | None) -> dict[str, str]:
    bound = {"judge": models} if isinstance(models, str) else models or {}
    if not isinstance(bound, Mapping) or not all(isinstance(model, str) for model in bound.values()):
        raise UsageError(Parameter("models"), f" takes the name of a model, or a dict of names by role, not {models!r}")
    return dict(bound)


def _load(data: Data) -> Dataset:
    """Return the data as a dataset.

    Raises UsageError if the data contain no summaries.
    """
    dataset = load(data)
    if not dataset.document_count:
        raise UsageError("the data contain no summaries")
    return dataset


def _check_context(options: Options, roles: Collection[str]) -> None:
    """Raise UsageError if a context length is given for a role without a model."""
    if unknown := [role for role in options.context if role != ALL and role not in roles]:
        raise UsageError(
            Parameter("context"),
            f" names the role {unknown[0]!r}, which has no model. Roles with a model: {', '.join(roles) or 'none'}",
        )


def _plan(
    data: Dataset,
    evaluators: Sequence[Evaluator],
    models: Mapping[str, str],
    options: Options,
    networks: dict[str, BoundNetwork],
) -> RunPlan:
    bound = dict(models)
    bound |= {role: network.id for role, network in networks.items()}
    planned = jobs(evaluators, bound, splitter(data), options.sampling, options.repeats, data)
    systems = set(data.systems)
    for job in planned:
        if why := job.evaluator.incompatible(systems):
            raise UsageError(why)
    used = {role for job in planned for role in job.roles.values()}
    llms = {role: model for role, model in bound.items() if role in used and role not in networks}
    return RunPlan(data, planned, llms, options, networks)


def data_entry(data: Dataset) -> DataEntry:
    """Return the entry that describes the data in a manifest."""
    return DataEntry(
        source=data.card.name,
        hash=data.hash,
        documents=data.document_count,
        summaries=len(data),
        splitter=splitter(data),
    )


def splitter(data: Dataset) -> str:
    """Return the names of the sentence splitters of the summaries and, if it differs, of the documents.

    For example, `given+rules-1` means that the sentences of the summaries are given in the data and that the documents
    were split by rules.
    """
    return "+".join(dict.fromkeys([*data.splitters, data.card.splitter]))


ItemFilter = Mapping[str, Container[ItemKey]]
"""The items to which judges are restricted, by signature; judges that are not listed may judge all items."""


def work_items(
    data: Dataset,
    jobs: Sequence[Job],
    done: Container[DoneKey],
    limit: int | None,
    only: ItemFilter = MappingProxyType({}),
) -> Iterator[WorkItem]:
    """Yield the documents with remaining items, in the order of the data.

    `limit` is the maximum number of documents, or None for all documents. A judge that is listed in `only` judges only
    the items given there. If the items of all jobs are single summaries, the texts of finished documents are not read.
    """

    def remains(job: Job, item: Item) -> bool:
        allowed = only.get(job.signature)
        key = item_key(item)
        return (job.signature, *key) not in done and (allowed is None or key in allowed)

    begun = isinstance(done, DoneItems) and all(done.count(job.signature) for job in jobs) and _are_summaries(jobs)
    for position, (document_id, systems) in enumerate(islice(data.systems_by_document().items(), limit)):
        if begun and all((job.signature, document_id, system, None) in done for job in jobs for system in systems):
            continue
        document, summaries = data.item(position)
        todo = {
            index: items
            for index, job in enumerate(jobs)
            if (items := tuple(item for item in job.evaluator.items(document, summaries) if remains(job, item)))
        }
        if todo:
            yield WorkItem(document, todo, position)


def items_left(
    data: Dataset, jobs: Sequence[Job], done: DoneItems, limit: int | None, only: ItemFilter = MappingProxyType({})
) -> int:
    """Return the number of remaining items.

    The data are not read if each item is a single summary and neither `limit` nor `only` is given.
    """
    if limit is None and _are_summaries(jobs) and not only:
        return sum(len(data) - done.count(job.signature) for job in jobs)
    return sum(work_item.size for work_item in work_items(data, jobs, done, limit, only))


def _are_summaries(jobs: Sequence[Job]) -> bool:
    """Return whether the items of all jobs are single summaries."""
    return all(type(job.evaluator).items is Evaluator.items and not job.evaluator.pairwise for job in jobs)


def item_key(item: Item) -> ItemKey:
    """Return the key of an item, (document, system, rival).

    The rival is None unless the item is a pair.
    """
    return item.document.id, item.summary.system, item.rival.system if item.rival else None


def item_of(document: Document, summary: Summary, rival: Summary | None = None) -> Item:
    """Return the item for a summary or, with `rival`, for a pair, without validating the texts again."""
    return Item.model_construct(document=document, summary=summary, rival=rival)
