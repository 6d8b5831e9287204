"""Reading a campaign folder and its campaign file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from summeter.annotate.campaign.config import Campaign
from summeter.annotate.campaign.language import REFERENCE, language_file, read_language
from summeter.annotate.campaign.people import Names
from summeter.annotate.campaign.state import Person
from summeter.annotate.tasks import task_type_named
from summeter.annotate.tasks.base import TaskType
from summeter.annotate.tasks.task import Source, Task
from summeter.data.dataset import Dataset, load
from summeter.data.human_judgments import list_id_of
from summeter.data.mapping import line_of, location_of, read_model, yaml_lines
from summeter.pages.language import Language
from summeter.records import InputError, UsageError, digest, read_lines

CAMPAIGN = "campaign.yaml"
DATA = "data"
INTERFACE = "interface.yaml"
"""Name of the copy of a custom language file in the campaign folder."""
TASKS = "tasks.jsonl"
KEYS = "keys.json"
EVENTS = "events.sqlite"
JUDGMENTS = "judgments"


class Tasks(NamedTuple):
    """The tasks of a campaign by role; `work` is in the order in which tasks are offered."""

    work: tuple[Task, ...]
    checks: tuple[Task, ...]
    training: tuple[Task, ...]
    by_key: Mapping[str, Task]


class CampaignFolder:
    """A campaign folder, as created by `summeter annotate new`.

    Raises UsageError if the folder is not a campaign folder.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        if not (self.folder / TASKS).is_file():
            raise UsageError(
                f"{self.folder} is not a campaign folder (it has no {TASKS}); create one with `summeter annotate new`"
            )
        self.campaign: Campaign = read_campaign(self.folder / CAMPAIGN)
        self._task_ids: dict[str, dict[str, str]] = {}

    @cached_property
    def task_type(self) -> TaskType:
        """The task type, with the settings of the campaign."""
        return task_type_named(self.campaign.task_type)(self.campaign, self.language)

    @cached_property
    def language(self) -> Language:
        """The language of the annotators' pages."""
        return read_language(language_file(self.campaign.interface or REFERENCE, self.folder))

    @cached_property
    def data(self) -> Dataset:
        """The data that is annotated."""
        return load(self.folder / DATA)

    @cached_property
    def sources(self) -> dict[str, Source]:
        """The documents with their summaries, by document identifier."""
        return {source.document.id: source for source in sources_of(self.data)}

    @cached_property
    def tasks(self) -> Tasks:
        """All tasks. Raises InputError if the file of tasks contains no work."""
        tasks = tuple(read_lines(self.folder / TASKS, Task))
        work, checks, training = (
            tuple(task for task in tasks if task.role == role) for role in ("work", "check", "training")
        )
        if not work:
            message = "has no tasks for annotators; restore the file from a backup"
            raise InputError.at(self.folder / TASKS, message)
        return Tasks(work, checks, training, {task.key: task for task in tasks})

    @cached_property
    def groups(self) -> Mapping[str, Sequence[str]]:
        """For the key of each task, the keys of the tasks in the same group, in order."""
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
    def keys(self) -> dict[str, str]:
        """The campaign's `secret` and the `admin` token."""
        file = self.folder / KEYS
        try:
            stored = json.loads(file.read_text(encoding="utf-8"))
            return {name: str(stored[name]) for name in ("secret", "admin")}
        except (OSError, ValueError, KeyError, TypeError) as error:
            message = "cannot be read; restore it from a backup, since links and pseudonyms depend on it"
            raise InputError.at(file, message) from error

    @cached_property
    def names(self) -> Names:
        """The pseudonyms, tokens and cookies, which are derived from the campaign's secret."""
        return Names(self.keys["secret"])

    @property
    def owner(self) -> str:
        """The identifier of the campaign in its log, which changes if any task changes."""
        return f"{self.campaign.name}:{digest([task.key for task in self.tasks.by_key.values()], 16)}"

    def preload(self) -> None:
        """Load the data that requests need, so that the first request is not slow."""
        _ = self.sources, self.groups, self.checks_by_document, self.language

    def links(self) -> dict[str, str]:
        """Return the query strings of the links of local accounts, by account."""
        return {account: f"?token={self.names.account(account)}" for account in self.campaign.platform.accounts}

    def adjudication_link(self) -> str:
        """Return the path and the query string of the link of adjudicators.

        The token in it opens only the adjudication page.
        """
        return f"admin/adjudicate?token={self.names.mark('adjudication', self.keys['admin'], length=40)}"

    def task_key(self, person: Person, task_id: object) -> str | None:
        """Return the key of the task that an annotator's browser calls `task_id`, or None."""
        known = self._task_ids.setdefault(person.annotator, {})
        if len(known) < len(person.assigned):
            known.update({self.names.task(person.annotator, key): key for key in person.assigned})
        return known.get(task_id) if isinstance(task_id, str) else None

    def letters(self, annotator: str, task: Task) -> tuple[str, ...]:
        """Return the systems of a task in the order in which an annotator sees their summaries."""
        return self.names.order(annotator, task.key, task.systems)


def sources_of(data: Dataset) -> list[Source]:
    """Return the documents that have summaries, each with its summaries, in order."""
    return [
        Source(document, tuple(summaries), list_id_of(document.key_facts))
        for document, summaries in data.items()
        if summaries
    ]


def read_campaign(file: str | Path) -> Campaign:
    """Return the settings in a campaign file.

    Raises InputError with all faults, by line and field.
    """
    path = Path(file)
    campaign = read_model(path, Campaign, "a campaign file needs at least name, task_type and data")
    with by_line(path):
        try:
            task_type_named(campaign.task_type)
        except UsageError as error:
            raise InputError.at(path, str(error), field="task_type") from error
    return campaign


@contextmanager
def by_line(file: Path) -> Iterator[None]:
    """Add line numbers to the faults in the campaign file that are raised in this context."""
    try:
        yield
    except InputError as error:
        if not any(fault.file == str(file) and fault.line is None and fault.field for fault in error.faults):
            raise
        lines, _ = yaml_lines(file)
        placed = [
            fault._replace(line=line_of(lines, location_of(fault.field)))
            if fault.file == str(file) and fault.line is None and fault.field
            else fault
            for fault in error.faults
        ]
        raise InputError(placed) from error
