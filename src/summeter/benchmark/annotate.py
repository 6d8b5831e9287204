"""The step `annotate`: create annotation campaigns, wait for them, and import the labels.

UniSumEval (Lee et al., 2024) has three campaigns: key facts are validated, which drops or rewords some of them; every
sentence is verified; and every remaining key fact is aligned with every summary. SummQual has two campaigns: annotators
rate summaries and choose the best one, and they mark wrong passages. Each campaign is an ordinary campaign
(docs/annotate.md) in the step's work folder, and its labels become a judgment set. Simulated annotators, whose answers
are determined by the seed, can replace real ones.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from functools import reduce
from operator import getitem
from pathlib import Path
from random import Random
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from pydantic import Field, ValidationError, model_validator

from summeter.annotate.analysis.adjudicate import Decision, adjudicate, disputes
from summeter.annotate.analysis.aggregate import MERGED, judgments_of, merge, merged_of
from summeter.annotate.analysis.arms import arms
from summeter.annotate.analysis.key_facts import CHANGES, Change, changes_of, with_changes, write_changes
from summeter.annotate.analysis.quality import crowd_votes
from summeter.annotate.campaign.build import build
from summeter.annotate.campaign.config import Campaign, Show
from summeter.annotate.campaign.disputes import Dispute
from summeter.annotate.campaign.folder import CampaignFolder
from summeter.annotate.campaign.language import shipped_names
from summeter.annotate.campaign.log import RESTORE
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.campaign.state import TaskAnswer
from summeter.annotate.simulate import crowd, simulate
from summeter.annotate.tasks import task_type_named
from summeter.annotate.tasks.fact_verification import FactVerification
from summeter.annotate.tasks.key_fact_alignment import KeyFactAlignment
from summeter.annotate.tasks.key_fact_validation import KeyFactValidation
from summeter.annotate.tasks.simulation import Gold, Profile
from summeter.benchmark.select import DETECTOR
from summeter.benchmark.step import (
    Inputs,
    LeftOut,
    Manifest,
    Package,
    Result,
    Step,
    StepContext,
    StepSettings,
    WaitingError,
    hash_of,
)
from summeter.data.atomic import building, write_lines, write_text
from summeter.data.dataset import Dataset, load, save
from summeter.data.human import RAW
from summeter.data.human_judgments import list_id_of
from summeter.engine.sync import run_sync
from summeter.meta import Row, agree
from summeter.models.networks import Embed, Network
from summeter.records import InputError, Judgment, UsageError, digest, faults_in
from summeter.text.split import split

ADJUDICATED = "human.adjudicated"
KEY_FACTS = "key_facts."
"""Prefix of the judgment sets about validated key facts.

These sets contain only the key facts that were kept, so their agreement differs from that of the campaign, which is
recorded in the manifest.
"""
MADE = "made.json"
"""File in a campaign's folder with a hash of the settings and data, and the length of the log after creation."""
ANSWERS = "answers"
"""Field of the manifest with hashes of the answers and decisions behind the labels, by campaign folder."""
VALIDATED, PLANNED, SIMILAR = "validated", "plans", "similar"
"""Folders of the data with validated key facts, of the campaign files, and of the scores of similar sentences."""
RESERVED = frozenset({VALIDATED, PLANNED, SIMILAR})
SHOWN: tuple[Show, ...] = get_args(Show)
LOCAL = "local/"
TEXT_TASKS = frozenset({FactVerification.name, KeyFactValidation.name, KeyFactAlignment.name})
"""Task types whose tasks are about a sentence or a key fact."""
_UNISUMEVAL = {"attention": {"rate": 0.2, "form": "unisumeval"}, "answers_per_item": 3}
_SUMMQUAL = {"answers_per_item": 2}
PLANS: dict[str, dict[str, dict[str, Any]]] = {
    "unisumeval": {
        "key_facts": {"task_type": KeyFactValidation.name, **_UNISUMEVAL},
        "sentences": {"task_type": FactVerification.name, **_UNISUMEVAL},
        "alignment": {"task_type": KeyFactAlignment.name, **_UNISUMEVAL},
    },
    "summqual": {
        "ratings": {"task_type": "rating", "best": True, **_SUMMQUAL},
        "passages": {"task_type": "span_highlighting", **_SUMMQUAL},
    },
}
"""The campaigns of each paper, with the settings that the paper reports."""

Json = dict[str, Any]


class SimulatedAnnotators(Profile):
    """Simulated annotators (see `annotate simulate`).

    Nobody is excluded for failed checks unless `attention.pass_share` is given.
    """

    annotators: int = Field(3, ge=1, description="Number of annotators per campaign.")
    lazy: int = Field(0, ge=0, description="Number of annotators who answer without reading.")
    gold: str | None = Field(
        None, description="Data whose `human.raw` holds correct answers; missing answers are drawn with the seed."
    )
    key_facts: dict[str, str | None] = Field(
        default_factory=dict, description="Adjudicator's replacement of each key fact, by its text; null drops it."
    )

    @model_validator(mode="after")
    def _check_lazy(self) -> SimulatedAnnotators:
        if self.lazy > self.annotators:
            raise ValueError(f"lazy: there are only {self.annotators} annotators, so {self.lazy} cannot be lazy")
        return self

    @property
    def profiles(self) -> Sequence[Profile]:
        """The profiles of the simulated annotators of a campaign."""
        careless = self.model_copy(update={"laziness": 1.0})
        return [self] * (self.annotators - self.lazy) + [careless] * self.lazy


class AnnotateSettings(StepSettings):
    """Create annotation campaigns and import their labels."""

    plan: Literal["unisumeval", "summqual"] = Field("unisumeval", description="Paper whose campaigns are created.")
    campaigns: dict[str, Json] = Field(
        default_factory=dict,
        description="Campaigns to create instead, by name: fields of a [campaign file](campaign-file.md) without "
        "`name` and `data`. The additional field `arms` lists how much of the machine's verdict is shown (`nothing`, "
        "`verdict`, `verdict_and_reason`). Each arm is a campaign with its own annotators; the labels of the last arm "
        "count.",
    )
    campaign: Json = Field(default_factory=dict, description="Fields of all campaigns.")
    machine: str | None = Field(
        DETECTOR, description="Judgment set whose verdicts are shown next to sentences, if the data have it."
    )
    embed: str | None = Field(
        None,
        description="Local network (`local/FOLDER`, `hf/ORG/NAME@REVISION`) whose embeddings decide which similar "
        "sentences are highlighted; default: shared words.",
    )
    adjudicate: Literal["ties", "all", "nothing"] = Field(
        "ties", description="Disputes that an adjudicator must decide before the labels are imported."
    )
    simulate: SimulatedAnnotators | None = Field(
        None, description="Simulated annotators and adjudicator; default: wait for real ones."
    )

    @model_validator(mode="after")
    def _check(self) -> AnnotateSettings:
        for plan in self.planned:
            _check_plan(plan)
        folders = Counter([*RESERVED, *(name for plan in self.planned for name in plan.folders)])
        for name, count in folders.items():
            if count > 1:
                raise ValueError(f"campaigns: {name!r} would be the name of two folders; rename a campaign")
        validations = [plan.name for plan in self.planned if plan.task_type == KeyFactValidation.name]
        if len(validations) > 1:
            raise ValueError(
                f"campaigns: {' and '.join(validations)} both validate key facts; only one campaign may do so"
            )
        return self

    @property
    def planned(self) -> list[PlannedCampaign]:
        """The campaigns, in the order of the file."""
        defaults = PLANS[self.plan]
        plans = []
        for name in self.campaigns or defaults:
            fields = _merged(_merged(defaults.get(name, {}), self.campaign), self.campaigns.get(name, {}))
            arms = tuple(fields.pop("arms", ()))
            plans.append(PlannedCampaign(name, str(fields.get("task_type")), {"seed": self.seed, **fields}, arms))
        return plans

    def asked_models(self) -> Iterable[str]:
        """Return the network that embeds texts."""
        return () if self.embed is None else (self.embed,)

    def packages(self) -> Iterable[Package]:
        """Return the packages for the network, and for serving the campaigns to annotators."""
        return [*super().packages(), *([] if self.simulate else [Package("markdown_it", "annotate")])]

    def files(self) -> Iterable[Path]:
        """Return the files of campaigns, the gold data for simulation, and a local network."""
        paths: set[str | None] = {path for plan in self.planned for path in _paths(plan.fields).values()}
        paths.add(self.simulate.gold if self.simulate else None)
        paths.add(self.embed.removeprefix(LOCAL) if self.embed and self.embed.startswith(LOCAL) else None)
        return map(Path, sorted(filter(None, paths)))


class PlannedCampaign(NamedTuple):
    """A campaign to create: the name, the task type, the fields and the arms.

    `arms` contains the part of the machine verdict that each arm shows; it is empty if the campaign has no arms.
    """

    name: str
    task_type: str
    fields: Json
    arms: tuple[Show, ...]

    @property
    def folders(self) -> dict[str, Show | None]:
        """The folder of each arm with the part it shows, or the campaign's folder with None."""
        return {f"{self.name}-{arm}": arm for arm in self.arms} or {self.name: None}

    @property
    def main(self) -> str:
        """The folder of the campaign whose labels count, which is that of the last arm."""
        return list(self.folders)[-1]


def _merged(defaults: Mapping[str, Any], fields: Mapping[str, Any]) -> Json:
    """Merge fields into defaults; mappings are merged recursively."""
    merged = dict(defaults)
    for name, value in fields.items():
        both = isinstance(merged.get(name), Mapping) and isinstance(value, Mapping)
        merged[name] = _merged(merged[name], value) if both else value
    return merged


def _check_plan(plan: PlannedCampaign) -> None:
    """Raise ValueError if the fields of a campaign are not valid in a campaign file."""
    reserved = [name for name in ("name", "data", "preset", "format", "map") if name in plan.fields]
    if reserved:
        raise ValueError(f"campaigns.{plan.name}: {reserved[0]} is set by the step; leave it out")
    if any(arm not in SHOWN for arm in plan.arms) or len(set(plan.arms)) != len(plan.arms):
        arms = ", ".join(map(str, plan.arms))
        raise ValueError(f"campaigns.{plan.name}.arms: must be different values of {', '.join(SHOWN)}, not {arms}")
    try:
        Campaign.model_validate({"name": plan.main, "data": "data", **plan.fields})
        task_type = task_type_named(plan.task_type)
    except ValidationError as error:
        first, *_ = faults_in("", None, error)
        raise ValueError(f"campaigns.{plan.name}.{first.field}: {first.message}") from error
    except UsageError as error:
        raise ValueError(f"campaigns.{plan.name}.task_type: {error}") from error
    if plan.arms and task_type.machine_aspect is None:
        raise ValueError(f"campaigns.{plan.name}.arms: {plan.task_type} shows no machine verdicts, so it has no arms")


_PATHS: tuple[tuple[str, ...], ...] = (
    ("assistance", "machine", "run"),
    ("assistance", "similar", "scores"),
    ("select", "items"),
    ("interface",),
)
"""Fields of a campaign file whose values are paths of files."""


def _paths(fields: Mapping[str, Any]) -> dict[tuple[str, ...], str]:
    """Return the files that the fields of a campaign file name, by field."""
    paths = {}
    for field in _PATHS:
        value: Any = fields
        for name in field:
            value = value.get(name) if isinstance(value, Mapping) else None
        if isinstance(value, str) and not (field == ("interface",) and value in shipped_names()):
            paths[field] = value
    return paths


# ---- creation of campaigns ----


class _Campaigns:
    """The campaigns of a step, which are in its work folder."""

    def __init__(self, settings: AnnotateSettings, context: StepContext) -> None:
        self.settings, self.work, self.log = settings, context.work.resolve(), context.log
        self.network = None if settings.embed is None else embedder(settings.embed)

    def create(self, plan: PlannedCampaign, data: Dataset, source: Path) -> list[Path]:
        """Create the missing campaigns of a plan, and return the folders of all its campaigns."""
        simulated = self.settings.simulate
        accounts = self._accounts(plan)
        folders = []
        for number, (name, show) in enumerate(plan.folders.items()):
            fields = self._fields(plan, data, name, show, accounts[number])
            similar = fields.get("assistance", {}).get("similar", {})
            network = self.network  # needed unless nothing is highlighted or the campaign has its own scores
            if similar is None or similar.get("scores") is not None or plan.task_type not in TEXT_TASKS:
                network = None
            made: Json = {
                "fields": fields,
                "data": data.hash,
                "verdicts": _verdicts_hash(fields, data),
                "similar": None if network is None else network.id,
            }
            if simulated is not None:  # for real annotators, all of this is stored in their campaign
                made["simulate"] = [simulated.model_dump(mode="json"), self.settings.adjudicate]
                made["files"] = {path.as_posix(): hash_of(path) for path in self.settings.files()}
            folder, key = self.work / name, digest(made)
            if not self._is_current(folder, key):
                if network is not None:
                    scores = self.work / SIMILAR / f"{plan.name}.jsonl"
                    write_scores(scores, plan.task_type, data, network, language=str(fields.get("language", "en")))
                    fields["assistance"] = _merged(fields.get("assistance", {}), {"similar": {"scores": str(scores)}})
                self._build(folder, {**fields, "data": str(source.resolve())}, key)
            folders.append(folder)
        return folders

    def _fields(
        self, plan: PlannedCampaign, data: Dataset, name: str, show: Show | None, accounts: Sequence[str]
    ) -> Json:
        """Return the fields of the campaign file, without `data`."""
        fields = deepcopy(plan.fields)
        for (*outer, last), path in _paths(fields).items():
            reduce(getitem, outer, fields)[last] = str(Path(path).resolve())
        if self.settings.simulate is not None:  # otherwise, some annotators would be excluded by chance
            fields["attention"] = {"pass_share": 0.0, **(fields.get("attention") or {})}
        assistance = dict(fields.get("assistance") or {})
        if plan.task_type == FactVerification.name and self.settings.machine in data.judgment_sets:
            assistance.setdefault("machine", {"set": self.settings.machine})
        if show is not None:
            if not assistance.get("machine"):
                raise UsageError(
                    f"annotate: campaigns.{plan.name}.arms: there are no machine verdicts to show. Name a judgment set "
                    "of the data or a run under assistance.machine"
                )
            assistance["machine"] = {**assistance["machine"], "show": show}
        if assistance:
            fields["assistance"] = assistance
        if accounts:
            fields["platform"] = {**fields.get("platform", {}), "accounts": list(accounts)}
        return {"name": name, **fields}

    def _accounts(self, plan: PlannedCampaign) -> list[Sequence[str]]:
        """Assign the local accounts to the arms of a plan, at random with the seed."""
        platform = plan.fields.get("platform", {})
        if platform.get("name", "local") != "local":
            return [() for _ in plan.folders]
        count, simulated = len(plan.folders), self.settings.simulate
        accounts = list(platform.get("accounts", ()))
        if not accounts and simulated is not None:
            accounts = [f"annotator-{number}" for number in range(1, simulated.annotators * count + 1)]
        if count > 1:
            Random(f"{self.settings.seed}/{plan.name}/arms").shuffle(accounts)
        shares = [sorted(accounts[start::count]) for start in range(count)]
        required = max(plan.fields.get("answers_per_item", 3), simulated.annotators if simulated is not None else 0)
        if min(map(len, shares)) < required:
            each = " in each arm" if count > 1 else ""
            raise UsageError(
                f"annotate: campaigns.{plan.name}: {len(accounts)} accounts are too few for {required} annotators"
                f"{each}. Add accounts under campaign.platform.accounts"
            )
        return list(shares)

    def _is_current(self, folder: Path, key: str) -> bool:
        """Return whether a campaign with these settings and data exists.

        Returns False if there is no campaign or if it may be replaced. Raises UsageError if a campaign with other
        settings or data has answers or decisions of people.
        """
        if not folder.is_dir():
            return False
        file = folder / MADE
        made: Json = json.loads(file.read_text("utf-8")) if file.is_file() else {"key": None, "events": 0}
        if made["key"] == key:
            return True
        with _open_campaign(folder) as service:
            people = service.state.people.values()
            answers = sum(answer.seq > made["events"] for person in people for answer in person.answers.values())
            decisions = sum(decision.seq > made["events"] for decision in service.state.adjudicated.values())
        if answers or decisions:
            raise UsageError(
                f"annotate: {folder} was created with different settings, data or validated key facts. A new campaign "
                f"would lose its {answers:,} answers and {decisions:,} decisions. Fix: undo the change (`summeter "
                "annotate adjudicate` shows decisions about key facts), or move that folder away to start over"
            )
        return False

    def _build(self, folder: Path, fields: Json, key: str) -> None:
        """Create a campaign atomically, with all answers of simulated annotators."""
        simulated = self.settings.simulate
        plan = self.work / PLANNED / f"{folder.name}.yaml"
        write_text(plan, json.dumps(fields, ensure_ascii=False, indent=1) + "\n")  # JSON is valid YAML
        with building(folder) as fresh:
            numbers = itertools.count()

            def token() -> str:  # depends only on the seed
                return hashlib.sha256(f"{self.settings.seed}/{folder.name}/{next(numbers)}".encode()).hexdigest()

            build(plan, fresh, token=None if simulated is None else token)
            if simulated is not None:
                self.log({"event": "simulating", "campaign": folder.name})
                _simulate(fresh, simulated, self.settings)
            with CampaignService(CampaignFolder(fresh), readonly=True) as service:
                events = service.log.last_seq
            write_text(fresh / MADE, json.dumps({"key": key, "events": events}) + "\n")


def changed(work: Path, manifest: Manifest) -> str | None:
    """Return a message if answers or decisions have changed since the step finished, or None."""
    for name, stored in manifest.details.get(ANSWERS, {}).items():
        try:
            if (work / name).is_dir():
                with _open_campaign(work / name) as service:
                    if _answers_hash(service) != stored:
                        return f"the answers or decisions of the campaign {name} have changed"
        except InputError as error:
            return str(error)
    return None


def _answers_hash(service: CampaignService) -> str:
    """Return a hash of the answers and decisions of a campaign that count."""
    counted = [answer.seq for key in service.state.items for answer in service.state.counted_answers(key)]
    return digest([sorted(counted), sorted(decision.seq for decision in service.state.adjudicated.values())])


@contextmanager
def _open_campaign(folder: Path) -> Iterator[CampaignService]:
    """Open a campaign for reading. Raises InputError if its log was tampered with."""
    with CampaignService(CampaignFolder(folder), readonly=True) as service:
        if service.log.broken is not None:
            raise InputError.at(str(service.log.file), f"{service.log.broken}; {RESTORE}")
        yield service


def embedder(name: str) -> Network:
    """Return the network that embeds texts.

    Raises UsageError if the name is unknown, and InstallError if the packages for networks are not installed.
    """
    from summeter.models.local.load import build as build_networks
    from summeter.models.local.load import identify

    return build_networks([identify("embed", name, "encoder")])["embed"]


def write_scores(file: Path, task_type: str, data: Dataset, network: Network, *, language: str = "en") -> int:
    """Write the similarities between document sentences and the texts that a campaign shows.

    The texts are those shown by tasks of `task_type`. The similarities are cosines of embeddings, in the format of
    `assistance.similar.scores`. Returns the number of texts.
    """

    async def rows() -> list[Json]:
        lines = []
        for document, summaries in data.items():
            sentences = document.sentence_texts or [
                document.text[start:end] for start, end in split(document.text, language)
            ]
            summary_sentences = (text for summary in summaries for text in summary.sentence_texts)
            texts = list(dict.fromkeys(summary_sentences if task_type == FactVerification.name else document.key_facts))
            if not texts or not sentences:
                continue
            embeddings = await network.ask([Embed(text) for text in (*sentences, *texts)])
            vectors = np.stack(embeddings)
            cosines = vectors[len(sentences) :] @ vectors[: len(sentences)].T
            for text, row in zip(texts, cosines.tolist(), strict=True):
                scores = [round(max(0.0, score), 6) for score in row]  # sentences with score 0 are never highlighted
                lines.append({"doc_id": document.id, "text": text, "scores": scores})
        return lines

    return write_lines(file, (json.dumps(row, ensure_ascii=False) for row in run_sync(rows())))


def _verdicts_hash(fields: Mapping[str, Any], data: Dataset) -> str | None:
    """Return a hash of the machine verdicts that a campaign shows from its data, or None."""
    machine = (fields.get("assistance") or {}).get("machine") or {}
    if "set" not in machine:
        return None
    sha256 = hashlib.sha256()
    for judgment in data.iter_judgments(machine["set"]):
        sha256.update(judgment.line.encode() + b"\n")
    return sha256.hexdigest()


def _simulate(folder: Path, simulated: SimulatedAnnotators, settings: AnnotateSettings) -> None:
    """Complete a campaign with simulated annotators and a simulated adjudicator."""
    seed = settings.seed
    ticks = itertools.count(1_700_000_000)
    campaign = CampaignFolder(folder)
    gold = () if simulated.gold is None else load(simulated.gold).judgments(RAW)
    merged_gold = Gold(merge(gold), seed=seed)
    with CampaignService(campaign, durable=False, clock=lambda: next(ticks) / 1000) as service:
        for number in itertools.count(seed):  # repeat, because an exclusion reopens tasks for the other annotators
            answers = simulate(service, crowd(campaign, simulated.profiles, merged_gold, seed=number), seed=number)
            slots = service.state.items.values()
            if not answers or all(task.open == 0 for task in slots):
                break
        adjudicate(service, _decisions(service, simulated, merged_gold, settings.adjudicate))


def _decisions(service: CampaignService, simulated: SimulatedAnnotators, gold: Gold, which: str) -> list[Decision]:
    """Return the decisions of an adjudicator who knows the gold judgments."""
    task_type = service.task_type
    decisions: dict[str, Decision] = {}
    for dispute in _undecided(service, which):
        answer = task_type.right_answer(dispute.task, gold).model_copy(update={"comment": "read again"})
        decisions[dispute.task.key] = Decision(dispute.task.key, answer)
    if isinstance(task_type, KeyFactValidation):
        for task in service.tasks.work:
            fact = str(task.body["key_fact"])
            if fact in simulated.key_facts:
                text = simulated.key_facts[fact]
                reason = "not needed" if text is None else "better wording"
                values = {"significant": text is not None, "correct": False, "relevant": True, "why": reason}
                answer = TaskAnswer(values=values if text is None else {**values, "edit": text}, comment=reason)
                decisions[task.key] = Decision(task.key, answer)
    return list(decisions.values())


# ---- import of labels ----


def _annotate(inputs: Inputs, settings: AnnotateSettings, context: StepContext) -> Result:
    data, source = inputs.dataset, inputs.folder
    if source is None or not data.summaries:
        raise UsageError("annotate: there are no summaries to annotate. Summarize the documents first")
    campaigns = _Campaigns(settings, context)
    plans = settings.planned
    validation = next((plan for plan in plans if plan.task_type == KeyFactValidation.name), None)
    folders = {
        plan.name: campaigns.create(plan, data, source) for plan in plans if plan.task_type != KeyFactAlignment.name
    }
    changes: list[Change] = []
    unvalidated = [] if validation is None else _remaining_work(folders[validation.name], settings.adjudicate)
    if validation is not None and not unvalidated:
        with _open_campaign(context.work / validation.main) as service:
            changes = changes_of(service)
        data = with_changes(data, changes)
        source = context.work / VALIDATED
        save(data, source, force=True)
    if not unvalidated:  # only validated key facts are aligned
        for plan in plans:
            if plan.task_type == KeyFactAlignment.name:
                folders[plan.name] = campaigns.create(plan, data, source)
    others = [each for name, each in folders.items() if validation is None or name != validation.name]
    remaining = [*unvalidated, *_remaining_work(itertools.chain(*others), settings.adjudicate)]
    if remaining and settings.simulate is not None:
        raise UsageError(
            f"annotate: the simulated annotators cannot finish ({'; '.join(remaining)}). Use more of them, or set "
            "attention.pass_share to 0 so that no annotator is excluded"
        )
    if remaining:
        raise WaitingError(f"annotate is waiting: {'; '.join(remaining)}. Run the command again when this is done")
    models = {} if campaigns.network is None else {"embed": campaigns.network.id}
    return _import_labels(data, changes, plans, folders, models, context)


def _remaining_work(folders: Iterable[Path], adjudicate: str) -> list[str]:
    """Return a message for each unfinished campaign."""
    lines = []
    for folder in folders:
        with _open_campaign(folder) as service:
            slots = service.state.items.values()
            serve = f"`summeter annotate serve {folder}`"
            required = service.campaign.answers_per_item * len(slots)
            if not all(map(service.state.is_complete, service.state.items)):
                answers = sum(len(task.counted) for task in slots)
                lines.append(f"{folder.name} has {answers} of {required} answers ({serve})")
            elif undecided := _undecided(service, adjudicate):
                tasks = "1 task waits" if len(undecided) == 1 else f"{len(undecided)} tasks wait"
                how = f"{serve} prints the adjudicator's link; or `summeter annotate adjudicate {folder}`"
                lines.append(f"{folder.name}: {tasks} for adjudication ({how})")
            elif isinstance(service.task_type, KeyFactValidation):
                try:
                    changes_of(service)
                except UsageError as error:
                    lines.append(f"{folder.name}: {error} {folder}")
    return lines


def waits(work: Path, settings: AnnotateSettings) -> str | None:
    """Return what the campaigns in the work folder wait for, or None."""
    folders = [work.resolve() / name for plan in settings.planned for name in plan.folders]
    try:
        return "; ".join(_remaining_work([each for each in folders if each.is_dir()], settings.adjudicate)) or None
    except InputError as error:
        return str(error)


def _undecided(service: CampaignService, which: str) -> list[Dispute]:
    """Return the open disputes that an adjudicator must decide: `ties`, `all` or `nothing`."""
    if which == "nothing":
        return []
    return [dispute for dispute in disputes(service) if dispute.even or which == "all"]


def _import_labels(
    data: Dataset,
    changes: Sequence[Change],
    plans: Sequence[PlannedCampaign],
    folders: Mapping[str, list[Path]],
    models: Mapping[str, str],
    context: StepContext,
) -> Result:
    """Add the labels of finished campaigns to the data.

    From arms other than the main one, only the votes are imported, each as a separate judgment set.
    """
    sets: dict[str, list[Judgment]] = {}
    details: dict[str, Any] = {"campaigns": [], ANSWERS: {}}
    for plan in plans:
        with ExitStack() as stack:
            services = {folder.name: stack.enter_context(_open_campaign(folder)) for folder in folders[plan.name]}
            # The hash is of the answers that are read below, even if others are added in the meantime.
            details[ANSWERS] |= {name: _answers_hash(service) for name, service in services.items()}
            for (name, service), arm in zip(services.items(), plan.folders.values(), strict=True):
                details["campaigns"].append({"campaign": plan.name, **_campaign_row(service, arm)})
                new_sets = {RAW: judgments_of(service)}
                if name == plan.main:
                    new_sets |= {ADJUDICATED: judgments_of(service, adjudicated=True), MERGED: merged_of(service)}
                for set_name, judgments in new_sets.items():
                    label = set_name if name == plan.main else f"{set_name}.{arm}"
                    if isinstance(service.task_type, KeyFactValidation):
                        sets[f"{KEY_FACTS}{label}"] = list(_judgments_of_kept(judgments, changes, data))
                    else:
                        sets.setdefault(label, []).extend(judgments)
            if plan.arms:
                study = arms(dict(zip(plan.arms, services.values(), strict=True)), seed=int(plan.fields["seed"]))
                for row in study:
                    numbers = {"value": row.value, "low": row.low, "high": row.high}
                    rounded = {name: None if value is None else round(value, 6) for name, value in numbers.items()}
                    labels = {"arm": row.details["arm"], "aspect": row.aspect, "statistic": row.statistic}
                    details.setdefault("arms", []).append({"campaign": plan.name, **labels, **rounded, "n": row.n})
    position = {(summary.document_id, summary.system): number for number, summary in enumerate(data.summaries)}
    for name, judgments in sets.items():
        if not judgments:
            continue
        # Campaigns show items in random order.
        judgments.sort(key=lambda judgment: position[judgment.target.document_id, judgment.target.system])
        existing = data.judgments(name) if name in data.judgment_sets else ()
        data = data.with_judgments(name, [*existing, *judgments])
    if changes:
        write_changes(context.out / CHANGES, changes)
    dropped = []
    for change in changes:
        if change.action == "dropped":
            review = change.review
            faults = ", ".join(f"not {name}: {count}" for name, count in review.lacks.items())
            decided = [] if review.decided_by is None else [f"decided by {review.decided_by}"]
            valid = f"valid for {review.valid} of {review.answers}"
            detail = "; ".join(filter(None, [f"“{change.key_fact}”", valid, faults, *review.why, *decided]))
            dropped.append(LeftOut("key fact", f"{change.document_id}/{change.index}", "not valid", detail))
    actions = Counter(change.action for change in changes)
    counts = {f"key_facts_{action}": count for action, count in sorted(actions.items())}
    return Result(data, dropped, counts=counts, models=models, details=details)


def _judgments_of_kept(judgments: Iterable[Judgment], changes: Sequence[Change], data: Dataset) -> Iterator[Judgment]:
    """Yield the judgments of the key facts that were kept, with their indexes in the data."""
    kept = {(change.document_id, change.index): change.key_fact for change in changes if change.action == "kept"}
    for judgment in judgments:
        target = judgment.target
        fact = kept.get((target.document_id, target.index or 0))
        if fact is not None:
            facts = data.documents[target.document_id].key_facts
            new_target = target.model_copy(update={"index": facts.index(fact), "list_id": list_id_of(facts)})
            yield judgment.model_copy(update={"target": new_target})


def _campaign_row(service: CampaignService, arm: Show | None) -> Json:
    """Return the manifest's row about a campaign."""
    people = list(service.state.people.values())
    try:
        votes = crowd_votes(service)
        rows: Iterable[Row] = agree(votes, coefficients=service.task_type.coefficients[:1], resamples=0)
    except UsageError:
        rows = ()  # no item was judged by two or more annotators
    agreement = [
        f"{row.aspect} {row.statistic} {'undefined' if row.value is None else f'{row.value:.3f}'}" for row in rows
    ]
    return {
        "kind": service.campaign.task_type,
        "arm": arm or "",
        "tasks": len(service.tasks.work),
        "checks": len(service.tasks.checks),
        "answers": sum(len(slots.counted) for slots in service.state.items.values()),
        "annotators": len(people),
        "excluded": sum(person.excluded for person in people),
        "checks_seen": sum(person.checks_seen for person in people),
        "checks_passed": sum(person.checks_passed for person in people),
        "differ": len(disputes(service, include_adjudicated=True)),
        "adjudicated": len(service.state.adjudicated),
        "agreement": "; ".join(agreement),
    }


STEP = Step("annotate", AnnotateSettings, _annotate, changed, waits)
