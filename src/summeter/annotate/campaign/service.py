"""CampaignService: everything that can be asked of a campaign, each as one command on the log.

The server, the command line and the simulation all come here; nothing else decides.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

from summeter.annotate.campaign.bodies import Json
from summeter.annotate.campaign.events import Event
from summeter.annotate.campaign.folder import CAMPAIGN, DATA, EVENTS, INTERFACE, KEYS, TASKS, CampaignFolder
from summeter.annotate.campaign.log import EventLog, Transaction
from summeter.annotate.campaign.people import Visitor
from summeter.annotate.campaign.requests import REQUESTS, PersonRequest
from summeter.annotate.campaign.stages import end_overdue
from summeter.annotate.campaign.state import State
from summeter.data.atomic import building
from summeter.records import UsageError


class CampaignService:
    """One open campaign. Safe from any thread; close it when done (or use `with`).

    The log is the folder's SQLite file. `clock` gives seconds since 1970. Without `durable` a commit does not wait for
    the disk (`EventLog`).
    """

    def __init__(
        self,
        folder: CampaignFolder,
        *,
        readonly: bool = False,
        durable: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.folder = folder
        self.campaign = folder.campaign
        self.tasks = folder.tasks
        self.task_type = folder.task_type
        self.names = folder.names
        self._clock = clock
        self.log = EventLog(
            folder.folder / EVENTS,
            self.empty_state,
            owner=folder.owner,
            readonly=readonly,
            durable=durable,
            clock=clock,
        )

    def empty_state(self) -> State:
        """The state before the first event."""
        lease = int(self.campaign.batch.lease_minutes * 60_000)
        return State([task.key for task in self.tasks.work], self.campaign.answers_per_item, lease)

    @property
    def state(self) -> State:
        """What follows from the log, up to `log.last_seq`."""
        return self.log.state

    def now(self) -> int:
        """Milliseconds since 1970."""
        return int(self._clock() * 1000)

    def close(self) -> None:
        """Let go of the log, once what was submitted is committed."""
        self.log.close()

    def __enter__(self) -> CampaignService:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(self, name: str, visitor: Visitor, body: Json | None = None) -> Future[Json]:
        """A request of `requests.REQUESTS`, by name: `submit("answers", visitor, {...})`.

        The future gives the reply once the events are committed, or Refusal for what is not allowed. A session writes
        at most that somebody known has come from another submission.
        """
        command = REQUESTS[name]

        def decide(transaction: Transaction) -> Json:
            if not self.log.readonly:
                end_overdue(transaction, self.campaign)
            request = PersonRequest(self.folder, transaction, visitor)
            if name != "session":
                request.require_writable()
            if not self.log.readonly:
                request.arrive()
            transaction.keep()
            return command(request, body or {})

        return self.log.submit(decide)

    def request(self, name: str, visitor: Visitor, body: Json | None = None) -> Json:
        """`submit`, and wait for the reply."""
        return self.submit(name, visitor, body).result()

    def exclude(self, annotator: str, reason: str, *, by: str, rule: str | None = None) -> Event:
        """The person's answers stop counting and their slots open. Raises UsageError for an unknown person."""
        return self._rule("excluded", annotator, {"reason": reason, "by": by, "rule": rule})

    def reinstate(self, annotator: str, reason: str, *, by: str, rule: str | None = None) -> Event:
        """The person's answers count again, where a slot is still free."""
        return self._rule("reinstated", annotator, {"reason": reason, "by": by, "rule": rule})

    def _rule(self, kind: str, annotator: str, data: Json) -> Event:
        def decide(transaction: Transaction) -> Event:
            person = transaction.state.people.get(annotator)
            if person is None:
                raise UsageError(f"nobody called {annotator!r} has taken part")
            if person.excluded == (kind == "excluded"):
                raise UsageError(f"{annotator} is {'already' if person.excluded else 'not'} excluded")
            return transaction.emit(kind, annotator, data=data)

        return self.log.do(decide)

    def backup(self, target: Path) -> None:
        """Copy the campaign with a consistent copy of its log to a new folder, while people may be answering.

        Raises UsageError where `target` exists.
        """
        if target.exists():
            raise UsageError(f"{target} exists already; name a new folder")
        with building(target) as copy:
            for name in (CAMPAIGN, TASKS, KEYS, INTERFACE):
                if (self.folder.folder / name).is_file():
                    shutil.copy2(self.folder.folder / name, copy / name)
            shutil.copytree(self.folder.folder / DATA, copy / DATA)
            self.log.backup(copy / EVENTS)
