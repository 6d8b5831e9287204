"""People in a benchmark: campaigns made from the step before, followed, and taken back as judgment sets.

UniSumEval's three (Lee et al., 2024): key facts are validated, which drops and rewords some; every sentence is
verified; every key fact that is left is aligned with every summary. SummQual's two: summaries are rated and the best
is chosen, and passages that are wrong are marked. Each is an ordinary campaign (docs/annotate.md) in the step's work
folder; simulated annotators can take the place of people, and the same seed then gives the same answers.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
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
from summeter.annotate.campaign.answer import TaskAnswer
from summeter.annotate.campaign.build import build
from summeter.annotate.campaign.config import Campaign, Show
from summeter.annotate.campaign.disputes import Dispute
from summeter.annotate.campaign.folder import CampaignFolder
from summeter.annotate.campaign.language import shipped_names
from summeter.annotate.campaign.log import RESTORE
from summeter.annotate.campaign.service import CampaignService
from summeter.annotate.simulate.script import crowd, simulate
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
    Place,
    Result,
    Step,
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
from summeter.records import InputError, Judgment, Record, UsageError, digest
from summeter.text.split import split

ADJUDICATED = "human.adjudicated"
KEPT = "key_facts."
"""Begins the names of the sets of validated key facts. They are of those that were kept alone, so that agreement about
them says nothing of the campaign: they stay apart from the others. The campaign's own stands in the manifest."""
MADE = "made.json"
"""Says, in a campaign's folder, of which settings and data it was made, and how long its log was then."""
ANSWERS = "answers"
"""What a manifest calls the hashes of the answers and decisions that its labels follow from, by campaign folder."""
VALIDATED, PLANNED, SIMILAR = "validated", "plans", "similar"
"""The folders of the data with validated key facts, from which later campaigns are made, of the campaign files, and of
the scores of similar sentences."""
TAKEN = frozenset({VALIDATED, PLANNED, SIMILAR})
SHOWN: tuple[Show, ...] = get_args(Show)
LOCAL = "local/"
SHOWS_TEXTS = frozenset({FactVerification.name, KeyFactValidation.name, KeyFactAlignment.name})
"""The task types that ask about a sentence or a key fact."""
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
"""The campaigns of each paper, with what it says of them."""

Json = dict[str, Any]


class SimulatedAnnotators(Record):
    """Simulated annotators in place of people (see `annotate simulate`). None is excluded for failed checks unless
    `attention.pass_share` is given."""

    annotators: int = Field(3, ge=1, description="Annotators of each campaign.")
    accuracy: float = Field(0.9, ge=0, le=1, description="Share of their answers that are right.")
    bias: float = Field(0.0, ge=-1, le=1, description="How far ratings are above (or below) the right ones.")
    laziness: float = Field(0.0, ge=0, le=1, description="Share of tasks that are answered without reading.")
    trust: float = Field(0.0, ge=0, le=1, description="Share of the machine's verdicts that are followed.")
    trust_reasons: float | None = Field(None, ge=0, le=1, description="The same where its reason is shown.")
    lazy: int = Field(0, ge=0, description="Number of annotators that never read.")
    gold: str | None = Field(
        None, description="Data whose `human.raw` says what is right; what it does not say is drawn by the seed."
    )
    key_facts: dict[str, str | None] = Field(
        default_factory=dict, description="By text of a key fact: what the adjudicator writes instead; null drops it."
    )

    @model_validator(mode="after")
    def _some_read(self) -> SimulatedAnnotators:
        if self.lazy > self.annotators:
            raise ValueError(f"lazy: {self.lazy} of {self.annotators} annotators cannot be lazy")
        return self

    @property
    def profiles(self) -> list[Profile]:
        """One for each annotator of a campaign."""
        usual = Profile(
            accuracy=self.accuracy,
            bias=self.bias,
            laziness=self.laziness,
            trust=self.trust,
            trust_reasons=self.trust_reasons,
        )
        idle = usual.model_copy(update={"laziness": 1.0})
        return [usual] * (self.annotators - self.lazy) + [idle] * self.lazy


class AnnotateSettings(StepSettings):
    """Which campaigns are made."""

    plan: Literal["unisumeval", "summqual"] = Field("unisumeval", description="The paper whose campaigns are made.")
    campaigns: dict[str, Json] = Field(
        default_factory=dict,
        description="Other campaigns in their place: by name, fields of a [campaign file](campaign-file.md) without "
        "`name` and `data`; and `arms`, which of `nothing`, `verdict` and `verdict_and_reason` are shown of the "
        "machine's verdict, each in a campaign with people of its own. The last one's labels count.",
    )
    campaign: Json = Field(default_factory=dict, description="Fields of all campaigns.")
    machine: str | None = Field(
        DETECTOR, description="Judgment set whose verdicts stand beside sentences, where the data have it."
    )
    embed: str | None = Field(
        None,
        description="Local network (`local/FOLDER`, `hf/ORG/NAME@REVISION`) by whose embeddings similar sentences are "
        "marked; default: by their words.",
    )
    adjudicate: Literal["ties", "all", "nothing"] = Field(
        "ties", description="Disputes that an adjudicator must decide before the labels are taken back."
    )
    simulate: SimulatedAnnotators | None = Field(
        None, description="Simulated annotators, and adjudicator, in place of people."
    )

    @model_validator(mode="after")
    def _fits(self) -> AnnotateSettings:
        planned = self.planned
        for plan in planned:
            _check_plan(plan)
        folders = Counter(name for plan in planned for name in plan.folders)
        for name, count in folders.items():
            if count > 1 or name in TAKEN:
                raise ValueError(f"campaigns: {name!r} would be the name of two folders; give a campaign another name")
        validations = [plan.name for plan in planned if plan.task_type == KeyFactValidation.name]
        if len(validations) > 1:
            raise ValueError(f"campaigns: {' and '.join(validations)} both validate key facts; one campaign can")
        return self

    @property
    def planned(self) -> list[Planned]:
        """The campaigns, in the order of the file."""
        usual = PLANS[self.plan]
        plans = []
        for name in self.campaigns or usual:
            fields = _joined(_joined(usual.get(name, {}), self.campaign), self.campaigns.get(name, {}))
            shown = tuple(fields.pop("arms", ()))
            plans.append(Planned(name, str(fields.get("task_type")), {"seed": self.seed, **fields}, shown))
        return plans

    def asked_models(self) -> Iterable[str]:
        """The network that embeds texts."""
        return () if self.embed is None else (self.embed,)

    def files(self) -> Iterable[Path]:
        """What campaigns read beside the data, and what simulated annotators take for right."""
        named = {path for plan in self.planned for path in _paths(plan.fields).values()}
        if self.simulate is not None and self.simulate.gold is not None:
            named.add(self.simulate.gold)
        if self.embed is not None and self.embed.startswith(LOCAL):
            named.add(self.embed.removeprefix(LOCAL))
        return map(Path, sorted(named))


class Planned(NamedTuple):
    """A campaign as it is planned: its name, task type, fields of its file, and what is shown in each of its arms."""

    name: str
    task_type: str
    fields: Json
    arms: tuple[Show, ...]

    @property
    def folders(self) -> dict[str, Show | None]:
        """The campaigns that it is made of, by the names of their folders: itself, or one an arm."""
        return {f"{self.name}-{arm}": arm for arm in self.arms} or {self.name: None}

    @property
    def main(self) -> str:
        """The campaign whose labels count: the last arm's."""
        return list(self.folders)[-1]


def _joined(usual: Mapping[str, Any], own: Mapping[str, Any]) -> Json:
    """Fields with others over them; what both have as mappings is joined in turn."""
    joined = dict(usual)
    for name, value in own.items():
        both = isinstance(joined.get(name), Mapping) and isinstance(value, Mapping)
        joined[name] = _joined(joined[name], value) if both else value
    return joined


def _check_plan(plan: Planned) -> None:
    """Raise ValueError for what no campaign file could hold."""
    given = [name for name in ("name", "data", "preset", "format", "map") if name in plan.fields]
    if given:
        raise ValueError(f"campaigns.{plan.name}: {given[0]} is the step's to say; leave it out")
    if any(arm not in SHOWN for arm in plan.arms) or len(set(plan.arms)) != len(plan.arms):
        known = ", ".join(SHOWN)
        raise ValueError(f"campaigns.{plan.name}.arms: are {', '.join(map(str, plan.arms))}; each is one of {known}")
    try:
        task_type = task_type_named(plan.task_type)
        Campaign.model_validate({"name": plan.main, "data": "data", **plan.fields})
    except UsageError as error:
        raise ValueError(f"campaigns.{plan.name}.task_type: {error}") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, [f"campaigns.{plan.name}", *first["loc"]]))
        raise ValueError(f"{place}: {first['msg'].removeprefix('Value error, ')}") from error
    if plan.arms and task_type.machine_aspect is None:
        raise ValueError(f"campaigns.{plan.name}.arms: no machine's verdict is shown beside {plan.task_type}")


_PATHS: tuple[tuple[str, ...], ...] = (
    ("assistance", "machine", "run"),
    ("assistance", "similar", "scores"),
    ("select", "items"),
    ("interface",),
)
"""The fields of a campaign file that name files."""


def _paths(fields: Mapping[str, Any]) -> dict[tuple[str, ...], str]:
    """The files that fields of a campaign file name, by place."""
    named = {}
    for place in _PATHS:
        value: Any = fields
        for part in place:
            value = value.get(part) if isinstance(value, Mapping) else None
        if isinstance(value, str) and not (place == ("interface",) and value in shipped_names()):
            named[place] = value
    return named


# ---- making campaigns ----


class _Campaigns:
    """The campaigns of a step in its work folder: those that are left are made."""

    def __init__(self, settings: AnnotateSettings, place: Place) -> None:
        self.settings, self.work, self.log = settings, place.work.resolve(), place.log
        self.network = None if settings.embed is None else embedder(settings.embed)

    def made(self, plan: Planned, data: Dataset, source: Path) -> list[Path]:
        """The folders of the plan's campaigns over the data at `source`."""
        simulated = self.settings.simulate
        accounts = self._accounts(plan)
        folders = []
        for number, (name, show) in enumerate(plan.folders.items()):
            fields = self._fields(plan, data, name, show, accounts[number])
            similar = fields.get("assistance", {}).get("similar", {})
            network = self.network  # unless nothing is marked, or the campaign has scores of its own
            if similar is None or similar.get("scores") is not None or plan.task_type not in SHOWS_TEXTS:
                network = None
            made: Json = {
                "fields": fields,
                "data": data.hash,
                "verdicts": _verdicts(fields, data),
                "similar": None if network is None else network.id,
            }
            if simulated is not None:  # what people have worked by is frozen in their campaign
                made["simulate"] = [simulated.model_dump(mode="json"), self.settings.adjudicate]
                made["files"] = {path.as_posix(): hash_of(path) for path in self.settings.files()}
            folder, key = self.work / name, digest(made)
            if not self._there(folder, key):
                if network is not None:
                    scores = self.work / SIMILAR / f"{plan.name}.jsonl"
                    write_scores(scores, plan.task_type, data, network, language=str(fields.get("language", "en")))
                    fields["assistance"] = _joined(fields.get("assistance", {}), {"similar": {"scores": str(scores)}})
                self._build(folder, {**fields, "data": str(source.resolve())}, key)
            folders.append(folder)
        return folders

    def _fields(self, plan: Planned, data: Dataset, name: str, show: Show | None, accounts: Sequence[str]) -> Json:
        """The campaign's file, but for its data."""
        fields = _joined({}, plan.fields)
        for (*outer, last), path in _paths(fields).items():
            inner = fields
            for part in outer:
                inner[part] = dict(inner[part])
                inner = inner[part]
            inner[last] = str(Path(path).resolve())
        if self.settings.simulate is not None:  # by chance alone some who are right nine times in ten would be excluded
            fields["attention"] = {"pass_share": 0.0, **(fields.get("attention") or {})}
        help_ = dict(fields.get("assistance") or {})
        usual = self.settings.machine
        if plan.task_type == FactVerification.name and "machine" not in help_ and usual in data.judgment_sets:
            help_["machine"] = {"set": usual}
        if show is not None:
            if not help_.get("machine"):
                raise UsageError(
                    f"annotate: campaigns.{plan.name}.arms: there are no verdicts of a machine to show; name a set of "
                    "the data or a run under assistance.machine"
                )
            help_["machine"] = {**help_["machine"], "show": show}
        if help_:
            fields["assistance"] = help_
        if accounts:
            fields["platform"] = {**fields.get("platform", {}), "accounts": list(accounts)}
        return {"name": name, **fields}

    def _accounts(self, plan: Planned) -> list[Sequence[str]]:
        """The local accounts of each of the plan's campaigns: arms share them out, drawn by the seed."""
        platform = plan.fields.get("platform", {})
        if platform.get("name", "local") != "local":
            return [() for _ in plan.folders]
        count, simulated = len(plan.folders), self.settings.simulate
        known = list(platform.get("accounts", ()))
        if not known and simulated is not None:
            known = [f"annotator-{number}" for number in range(1, simulated.annotators * count + 1)]
        if count > 1:
            Random(f"{self.settings.seed}/{plan.name}/arms").shuffle(known)
        shares = [sorted(known[place::count]) for place in range(count)]
        wanted = max(plan.fields.get("answers_per_item", 3), simulated.annotators if simulated is not None else 0)
        if min(map(len, shares)) < wanted:
            each = " in each arm" if count > 1 else ""
            raise UsageError(
                f"annotate: campaigns.{plan.name}: {len(known)} accounts are too few for {wanted} people{each}; "
                "name more under campaign.platform.accounts"
            )
        return list(shares)

    def _there(self, folder: Path, key: str) -> bool:
        """Whether the campaign is there as it should be. Raises UsageError where it was made of other settings or data
        and holds answers or decisions that came after; without any, it may be replaced."""
        if not folder.is_dir():
            return False
        file = folder / MADE
        made: Json = json.loads(file.read_text("utf-8")) if file.is_file() else {"key": None, "events": 0}
        if made["key"] == key:
            return True
        with _opened(folder) as service:
            people = service.state.people.values()
            answers = sum(answer.seq > made["events"] for person in people for answer in person.answers.values())
            decisions = sum(decision.seq > made["events"] for decision in service.state.adjudicated.values())
        if answers or decisions:
            raise UsageError(
                f"annotate: {folder} was made from other settings, data or validated key facts, and holds {answers} "
                f"answers and {decisions} decisions that a new campaign would lose. Fix: undo the change (`summeter "
                "annotate adjudicate` shows decisions about key facts), or move that folder away to begin anew"
            )
        return False

    def _build(self, folder: Path, fields: Json, key: str) -> None:
        """Make a campaign whole; simulated annotators do all of their work in it before it is there at all."""
        simulated = self.settings.simulate
        plan = self.work / PLANNED / f"{folder.name}.yaml"
        write_text(plan, json.dumps(fields, ensure_ascii=False, indent=1) + "\n")  # JSON is YAML, too
        with building(folder) as fresh:
            build(plan, fresh, token=None if simulated is None else _tokens(f"{self.settings.seed}/{folder.name}"))
            if simulated is not None:
                self.log({"event": "simulating", "campaign": folder.name})
                _simulate(fresh, simulated, self.settings)
            with CampaignService(CampaignFolder(fresh)) as service:  # begins the log where nobody did
                events = service.log.last_seq
            write_text(fresh / MADE, json.dumps({"key": key, "events": events}) + "\n")


def changed(work: Path, manifest: Manifest) -> str | None:
    """Which campaign has other answers or decisions by now than the labels of a finished step; None where none has."""
    for name, known in manifest.details.get(ANSWERS, {}).items():
        if (work / name).is_dir():
            try:
                with _opened(work / name) as service:
                    now = _answers_hash(service)
            except InputError as error:
                return str(error)
            if now != known:
                return f"the answers or decisions of the campaign {name} have changed"
    return None


def _answers_hash(service: CampaignService) -> str:
    """A hash of which answers count and which decisions stand."""
    counted = [answer.seq for key in service.state.items for answer in service.state.counted_answers(key)]
    return digest([sorted(counted), sorted(decision.seq for decision in service.state.adjudicated.values())])


@contextmanager
def _opened(folder: Path) -> Iterator[CampaignService]:
    """A campaign to be read. Raises InputError for a log that was changed: its labels are nobody's."""
    with CampaignService(CampaignFolder(folder), readonly=True) as service:
        if service.log.broken is not None:
            raise InputError.at(str(service.log.file), None, None, f"{service.log.broken}; {RESTORE}")
        yield service


def embedder(name: str) -> Network:
    """The network that embeds texts. Raises UsageError for a name that is none, InstallError without its packages."""
    from summeter.models.local.load import build as build_networks
    from summeter.models.local.load import identify

    return build_networks([identify("embed", name, "encoder")])["embed"]


def write_scores(file: Path, task_type: str, data: Dataset, network: Network, *, language: str = "en") -> int:
    """Write the similarity of each document sentence to each text that a campaign of this task type shows.

    The scores are cosines of embeddings, in the format of `assistance.similar.scores`. Returns the number of texts.
    """

    async def rows() -> list[Json]:
        lines = []
        for document, summaries in data.items():
            sentences = document.sentence_texts or [
                document.text[start:end] for start, end in split(document.text, language)
            ]
            of_kind = (text for summary in summaries for text in summary.sentence_texts)
            texts = list(dict.fromkeys(of_kind if task_type == FactVerification.name else document.key_facts))
            if not texts or not sentences:
                continue
            embedded = await network.ask([Embed(text) for text in (*sentences, *texts)])
            vectors = np.stack(embedded)
            near = vectors[len(sentences) :] @ vectors[: len(sentences)].T
            for text, scores in zip(texts, near.tolist(), strict=True):
                # Below 0 nothing is alike; and what scores 0 is never marked.
                marks = [round(max(0.0, score), 6) for score in scores]
                lines.append({"doc_id": document.id, "text": text, "scores": marks})
        return lines

    return write_lines(file, (json.dumps(row, ensure_ascii=False) for row in run_sync(rows())))


def _verdicts(fields: Mapping[str, Any], data: Dataset) -> str | None:
    """A hash of the verdicts that a campaign takes from its data."""
    machine = (fields.get("assistance") or {}).get("machine") or {}
    if "set" not in machine:
        return None
    sha256 = hashlib.sha256()
    for judgment in data.iter_judgments(machine["set"]):
        sha256.update(judgment.line.encode() + b"\n")
    return sha256.hexdigest()


def _tokens(seed: str) -> Callable[[], str]:
    """The secrets of a campaign without people: the same for the same seed, so that all that hangs on them is too."""
    numbers = itertools.count()
    return lambda: hashlib.sha256(f"{seed}/{next(numbers)}".encode()).hexdigest()


def _simulate(folder: Path, simulated: SimulatedAnnotators, settings: AnnotateSettings) -> None:
    """Have simulated annotators and an adjudicator do a whole campaign."""
    seed = settings.seed
    ticks = itertools.count(1_700_000_000)
    campaign = CampaignFolder(folder)
    gold = () if simulated.gold is None else load(simulated.gold).judgments(RAW)
    known = Gold(merge(gold), seed=seed)
    with CampaignService(campaign, durable=False, clock=lambda: next(ticks) / 1000) as service:
        for number in itertools.count(seed):  # again, where somebody's exclusion has opened tasks for others
            given = simulate(service, crowd(campaign, simulated.profiles, known, seed=number), seed=number)
            slots = service.state.items.values()
            if not given or all(task.open == 0 for task in slots):
                break
        adjudicate(service, _decisions(service, simulated, known, settings.adjudicate))


def _decisions(service: CampaignService, simulated: SimulatedAnnotators, gold: Gold, which: str) -> list[Decision]:
    """What the adjudicator decides who knows what is right."""
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
                reason = "goes" if text is None else "reads better so"
                values = {"significant": text is not None, "correct": False, "relevant": True, "why": reason}
                answer = TaskAnswer(values=values if text is None else {**values, "edit": text}, comment=reason)
                decisions[task.key] = Decision(task.key, answer)
    return list(decisions.values())


# ---- taking them back ----


def _step(inputs: Inputs, settings: AnnotateSettings, place: Place) -> Result:
    data, source = inputs.dataset, inputs.folder
    if source is None or not data.summaries:
        raise UsageError("annotate: there are no summaries to annotate; summarize the documents first")
    campaigns = _Campaigns(settings, place)
    plans = settings.planned
    validation = next((plan for plan in plans if plan.task_type == KeyFactValidation.name), None)
    folders = {
        plan.name: campaigns.made(plan, data, source) for plan in plans if plan.task_type != KeyFactAlignment.name
    }
    changes: list[Change] = []
    validating = [] if validation is None else _waiting(folders[validation.name], settings.adjudicate)
    if validation is not None and not validating:
        with _opened(place.work / validation.main) as service:
            changes = changes_of(service)
        data = with_changes(data, changes)
        source = place.work / VALIDATED
        save(data, source, force=True)
    if not validating:  # key facts are aligned as they were validated
        for plan in plans:
            if plan.task_type == KeyFactAlignment.name:
                folders[plan.name] = campaigns.made(plan, data, source)
    others = [name for name in folders if validation is None or name != validation.name]
    waiting = [*validating, *(line for name in others for line in _waiting(folders[name], settings.adjudicate))]
    if waiting and settings.simulate is not None:
        raise UsageError(
            "annotate: the simulated annotators cannot finish; give more of them, or attention.pass_share: 0 so that "
            f"none is excluded: {'; '.join(waiting)}"
        )
    if waiting:
        raise WaitingError(f"annotate waits for people (the same command carries on): {'; '.join(waiting)}")
    models = {} if campaigns.network is None else {"embed": campaigns.network.id}
    return _taken_back(data, changes, plans, {plan.name: folders[plan.name] for plan in plans}, models, place)


def _waiting(folders: Sequence[Path], adjudicate: str) -> list[str]:
    """What is still to be done in campaigns, in words; empty where they are finished."""
    lines = []
    for folder in folders:
        with _opened(folder) as service:
            slots = service.state.items.values()
            wanted = service.campaign.answers_per_item
            if not all(map(service.state.is_complete, service.state.items)):
                given = sum(len(task.counted) for task in slots)
                lines.append(
                    f"{folder.name} has {given} of {wanted * len(slots)} answers (`summeter annotate serve {folder}`)"
                )
            elif undecided := _undecided(service, adjudicate):
                tasks = "1 task waits" if len(undecided) == 1 else f"{len(undecided)} tasks wait"
                lines.append(f"{folder.name}: {tasks} for adjudication (`summeter annotate adjudicate {folder}`)")
            elif isinstance(service.task_type, KeyFactValidation):
                try:
                    changes_of(service)
                except UsageError as error:
                    lines.append(f"{folder.name}: {error} {folder}")
    return lines


def _undecided(service: CampaignService, which: str) -> list[Dispute]:
    """The disputes that an adjudicator is still to decide: `ties`, `all` or `nothing`."""
    if which == "nothing":
        return []
    return [dispute for dispute in disputes(service) if dispute.even or which == "all"]


def _taken_back(
    data: Dataset,
    changes: Sequence[Change],
    plans: Sequence[Planned],
    folders: Mapping[str, list[Path]],
    models: Mapping[str, str],
    place: Place,
) -> Result:
    """The data with the labels of finished campaigns. Of an arm that does not count only the votes are taken, in a set
    of their own."""
    sets: dict[str, list[Judgment]] = {}
    details: dict[str, Any] = {"campaigns": [], ANSWERS: {}}
    for plan in plans:
        with ExitStack() as stack:
            services = {folder.name: stack.enter_context(_opened(folder)) for folder in folders[plan.name]}
            for (name, service), arm in zip(services.items(), plan.folders.values(), strict=True):
                details[ANSWERS][name] = _answers_hash(service)
                details["campaigns"].append({"campaign": plan.name, **_row(service, arm)})
                own = {RAW: judgments_of(service)}
                if name == plan.main:
                    own |= {ADJUDICATED: judgments_of(service, adjudicated=True), MERGED: merged_of(service)}
                for set_name, taken in own.items():
                    label = set_name if name == plan.main else f"{set_name}.{arm}"
                    if isinstance(service.task_type, KeyFactValidation):
                        sets[f"{KEPT}{label}"] = list(_of_kept(taken, changes, data))
                    else:
                        sets.setdefault(label, []).extend(taken)
            if plan.arms:
                study = arms(dict(zip(plan.arms, services.values(), strict=True)), seed=int(plan.fields["seed"]))
                for row in study:
                    numbers = {"value": row.value, "low": row.low, "high": row.high}
                    rounded = {name: None if value is None else round(value, 6) for name, value in numbers.items()}
                    about = {"arm": row.details["arm"], "aspect": row.aspect, "statistic": row.statistic}
                    details.setdefault("arms", []).append({"campaign": plan.name, **about, **rounded, "n": row.n})
    place_of = {(summary.document_id, summary.system): number for number, summary in enumerate(data.summaries)}
    for name, judgments in sets.items():
        if not judgments:
            continue
        # Campaigns ask in random order; the data have their own.
        judgments.sort(key=lambda judgment: place_of[judgment.target.document_id, judgment.target.system])
        known = data.judgments(name) if name in data.judgment_sets else ()
        data = data.with_judgments(name, [*known, *judgments])
    if changes:
        write_changes(place.out / CHANGES, changes)
    dropped = [
        LeftOut("key fact", f"{change.document_id}/{change.index}", "not valid", _why(change))
        for change in changes
        if change.action == "dropped"
    ]
    actions = Counter(change.action for change in changes)
    counts = {f"key_facts_{action}": count for action, count in sorted(actions.items())}
    return Result(data, dropped, counts=counts, models=models, details=details)


def _of_kept(judgments: Iterable[Judgment], changes: Sequence[Change], data: Dataset) -> Iterator[Judgment]:
    """The judgments of key facts that stand in the data as they were judged, at their places there."""
    kept = {(change.document_id, change.index): change.key_fact for change in changes if change.action == "kept"}
    for judgment in judgments:
        target = judgment.target
        fact = kept.get((target.document_id, target.index or 0))
        if fact is not None:
            facts = data.documents[target.document_id].key_facts
            here = {"index": facts.index(fact), "list_id": list_id_of(facts)}
            yield judgment.model_copy(update={"target": target.model_copy(update=here)})


def _row(service: CampaignService, arm: Show | None) -> Json:
    """What the manifest says of a campaign."""
    people = list(service.state.people.values())
    try:
        votes = crowd_votes(service)
        rows: Iterable[Row] = agree(votes, coefficients=service.task_type.coefficients[:1], resamples=0)
    except UsageError:
        rows = ()  # nothing that two people judged
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
        "differ": len(disputes(service, settled=True)),
        "adjudicated": len(service.state.adjudicated),
        "agreement": "; ".join(agreement),
    }


def _why(change: Change) -> str:
    review = change.review
    lacks = ", ".join(f"not {name}: {count}" for name, count in review.lacks.items())
    parts = [f"“{change.key_fact}”", f"valid for {review.valid} of {review.answers}", lacks, *review.why]
    by = [f"decided by {review.decided_by}"] if review.decided_by is not None else []
    return "; ".join(part for part in (*parts, *by) if part)


STEP = Step("annotate", AnnotateSettings, _step, changed)
