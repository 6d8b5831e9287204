"""CampaignFolder reads what `build` wrote; read_campaign reads campaign.yaml, with every fault by line and field."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from summeter.annotate.campaign.config import Campaign
from summeter.annotate.campaign.language import REFERENCE, Language, language_file, read_language
from summeter.annotate.campaign.people import Names
from summeter.annotate.campaign.state import Person
from summeter.annotate.tasks import task_type_named
from summeter.annotate.tasks.base import TaskType
from summeter.annotate.tasks.task import Source, Task
from summeter.data.dataset import Dataset, load
from summeter.data.human_judgments import list_id_of
from summeter.data.mapping import faults_of, in_order, line_of, place_of, read_mapping, repetitions, yaml_lines
from summeter.records import Fault, InputError, UsageError, digest, read_lines

CAMPAIGN = "campaign.yaml"
DATA = "data"
INTERFACE = "interface.yaml"
"""A language file of the campaign's own."""
TASKS = "tasks.jsonl"
KEYS = "keys.json"
EVENTS = "events.sqlite"
JUDGMENTS = "judgments"


class Tasks(NamedTuple):
    """A campaign's tasks by role; `work` is in the order of offering."""

    work: tuple[Task, ...]
    checks: tuple[Task, ...]
    training: tuple[Task, ...]
    by_key: Mapping[str, Task]


class Keys(NamedTuple):
    """Secrets: the key of names and cookies, the admin token."""

    secret: str
    admin: str


class CampaignFolder:
    """A folder made by `summeter annotate new`. Raises UsageError where it is none."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        if not (self.folder / TASKS).is_file():
            raise UsageError(f"{self.folder} is no campaign: it has no {TASKS}; make one with `summeter annotate new`")
        self.campaign: Campaign = read_campaign(self.folder / CAMPAIGN)
        self._task_ids: dict[str, dict[str, str]] = {}

    @cached_property
    def task_type(self) -> TaskType:
        """The task type, with what this campaign asks."""
        return task_type_named(self.campaign.task_type)(self.campaign, self.language)

    @cached_property
    def language(self) -> Language:
        """The language of the annotators' pages. Folders of the version before name none: theirs are English."""
        return read_language(language_file(self.campaign.interface or REFERENCE, self.folder))

    @cached_property
    def data(self) -> Dataset:
        """The data the tasks are about."""
        return load(self.folder / DATA)

    @cached_property
    def sources(self) -> dict[str, Source]:
        """Documents with their summaries, by id."""
        return {source.document.id: source for source in sources_of(self.data)}

    @cached_property
    def tasks(self) -> Tasks:
        """All tasks."""
        every = tuple(read_lines(self.folder / TASKS, Task))
        work, checks, training = (
            tuple(task for task in every if task.role == role) for role in ("work", "check", "training")
        )
        return Tasks(work, checks, training, {task.key: task for task in every})

    @cached_property
    def groups(self) -> Mapping[str, Sequence[str]]:
        """For each task of the work, the tasks of its group in order."""
        by_name: dict[str, list[str]] = {}
        for task in self.tasks.work:
            by_name.setdefault(task.group, []).append(task.key)
        return {task.key: by_name[task.group] for task in self.tasks.work}

    @cached_property
    def checks_by_document(self) -> Mapping[str, Sequence[Task]]:
        """The attention checks by document."""
        by_document: dict[str, list[Task]] = {}
        for task in self.tasks.checks:
            by_document.setdefault(task.document_id, []).append(task)
        return by_document

    @cached_property
    def keys(self) -> Keys:
        """The secret and the admin token."""
        file = self.folder / KEYS
        try:
            stored = json.loads(file.read_text(encoding="utf-8"))
            return Keys(str(stored["secret"]), str(stored["admin"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError.at(file, None, None, "cannot be read; without it links and names are lost") from error

    @cached_property
    def names(self) -> Names:
        """Names made with the secret."""
        return Names(self.keys.secret)

    @property
    def owner(self) -> str:
        """What a database of this campaign is marked with: changes with any task."""
        return f"{self.campaign.name}:{digest([task.key for task in self.tasks.by_key.values()], 16)}"

    def preload(self) -> None:
        """Read now what the first request would wait for."""
        _ = self.sources, self.groups, self.checks_by_document, self.language

    def links(self) -> dict[str, str]:
        """The query of each local account's link, by account."""
        return {account: f"?token={self.names.account(account)}" for account in self.campaign.platform.accounts}

    def task_key(self, person: Person, task_id: object) -> str | None:
        """The key of one of a person's own tasks, from what their browser calls it."""
        known = self._task_ids.setdefault(person.annotator, {})
        if len(known) < len(person.assigned):
            known.update({self.names.task(person.annotator, key): key for key in person.assigned})
        return known.get(task_id) if isinstance(task_id, str) else None

    def letters(self, annotator: str, task: Task) -> tuple[str, ...]:
        """The systems of a task in the order in which a person sees them."""
        return self.names.order(annotator, task.key, task.systems)


def sources_of(data: Dataset) -> list[Source]:
    """The documents with their summaries, in order; documents without a summary have nothing to judge."""
    return [
        Source(document, tuple(summaries), list_id_of(document.key_facts))
        for document, summaries in data.items()
        if summaries
    ]


def read_campaign(file: str | Path) -> Campaign:
    """The campaign of a YAML file. Raises InputError with every fault, by line and field."""
    path = Path(file)
    given = read_mapping(path, "a campaign needs at least name, task_type and data")
    lines, repeated = yaml_lines(path)
    faults = list(repetitions(path, repeated))
    if isinstance(given.get("task_type"), str):
        try:
            task_type_named(given["task_type"])
        except UsageError as error:
            faults.append(Fault(str(path), line_of(lines, ("task_type",)), "task_type", str(error)))
    try:
        campaign = Campaign.model_validate(given)
    except ValidationError as error:
        faults += faults_of(path, lines, error, Campaign)
    if faults:
        raise in_order(faults)
    return campaign


@contextmanager
def by_line(file: Path) -> Iterator[None]:
    """Faults of the campaign's file that are found later get their lines."""
    try:
        yield
    except InputError as error:
        if not any(fault.file == str(file) and fault.line is None and fault.field for fault in error.faults):
            raise
        lines, _ = yaml_lines(file)
        placed = [
            fault._replace(line=line_of(lines, place_of(fault.field)))
            if fault.file == str(file) and fault.line is None and fault.field
            else fault
            for fault in error.faults
        ]
        raise InputError(placed) from error
