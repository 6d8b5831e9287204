"""CampaignFolder: reads what `build` wrote, and opens the log."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from summeter.annotate.build import CAMPAIGN, DATA, KEYS, TASKS, sources_of
from summeter.annotate.campaign import Campaign, read_campaign
from summeter.annotate.people import Names
from summeter.annotate.tasks.base import Source, Task
from summeter.data.dataset import Dataset, load
from summeter.records import InputError, UsageError, digest, read_lines

if TYPE_CHECKING:
    from summeter.annotate.desk import Desk

EVENTS = "events.sqlite"
JUDGMENTS = "judgments"


class Tasks(NamedTuple):
    """A campaign's tasks by role; `work` is in the order of offering."""

    work: tuple[Task, ...]
    checks: tuple[Task, ...]
    training: tuple[Task, ...]
    by_key: Mapping[str, Task]


class Keys(NamedTuple):
    """What nobody outside may know: the secret of names and cookies, the admin token."""

    secret: str
    admin: str


class CampaignFolder:
    """A folder made by `summeter annotate new`. Raises UsageError where it is none."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        if not (self.folder / TASKS).is_file():
            raise UsageError(f"{self.folder} is no campaign: it has no {TASKS}; make one with `summeter annotate new`")
        self.campaign: Campaign = read_campaign(self.folder / CAMPAIGN)

    @cached_property
    def data(self) -> Dataset:
        """The data the tasks are about."""
        return load(self.folder / DATA)

    @cached_property
    def sources(self) -> dict[str, Source]:
        """Documents with their summaries, by id."""
        return {one.document.id: one for one in sources_of(self.data)}

    @cached_property
    def tasks(self) -> Tasks:
        """All tasks."""
        every = tuple(read_lines(self.folder / TASKS, Task))
        roles = {role: tuple(one for one in every if one.role == role) for role in ("work", "check", "training")}
        return Tasks(roles["work"], roles["check"], roles["training"], {one.key: one for one in every})

    @cached_property
    def keys(self) -> Keys:
        """The secret and the admin token."""
        file = self.folder / KEYS
        try:
            found = json.loads(file.read_text(encoding="utf-8"))
            return Keys(str(found["secret"]), str(found["admin"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError.at(file, None, None, "cannot be read; without it links and names are lost") from error

    @property
    def owner(self) -> str:
        """What a database of this campaign is marked with: changes with any task."""
        return f"{self.campaign.name}:{digest([one.key for one in self.tasks.by_key.values()], 16)}"

    def open(
        self, database: str | None = None, *, readonly: bool = False, clock: Callable[[], float] = time.time
    ) -> Desk:
        """The desk of this campaign, on its SQLite file or on the PostgreSQL database of a URL.

        Raises InstallError without the extra `annotate`.
        """
        from summeter.annotate.desk import Desk

        return Desk(self, database or self.folder / EVENTS, readonly=readonly, clock=clock)

    def links(self) -> dict[str, str]:
        """The query of each local account's link, by account."""
        names = Names(self.keys.secret)
        return {one: f"?token={names.account(one)}" for one in self.campaign.platform.accounts}

    def dataset(self, desk: Desk, *, complete_only: bool = False) -> Dataset:
        """The data with what people said: human.raw, human.merged, and human.adjudicated where there is any.

        With `complete_only` human.merged has no label where there are fewer answers than wanted (`merged_of`).
        """
        from summeter.annotate.aggregate import MERGED, merged_of
        from summeter.annotate.judgments import judgments_of

        merged = merged_of(desk, complete_only=complete_only)
        data = self.data.with_judgments("human.raw", judgments_of(desk)).with_judgments(MERGED, merged)
        settled = judgments_of(desk, adjudicated=True)
        return data.with_judgments("human.adjudicated", settled) if settled else data
