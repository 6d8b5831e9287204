"""The service of a campaign, which executes each request as one command on the log.

The service is used by the server, the command line and the simulation.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

from summeter.annotate.campaign.bodies import Json
from summeter.annotate.campaign.folder import CAMPAIGN, DATA, EVENTS, INTERFACE, KEYS, TASKS, CampaignFolder
from summeter.annotate.campaign.log import EventLog, Transaction
from summeter.annotate.campaign.people import Visitor
from summeter.annotate.campaign.requests import REQUESTS, PersonRequest
from summeter.annotate.campaign.stages import end_overdue
from summeter.annotate.campaign.state import Event, State
from summeter.data.atomic import building
from summeter.records import UsageError


class CampaignService:
    """An open campaign, which is thread-safe.

    As a context manager, the service closes the campaign on exit. The parameters `readonly`, `durable` and `clock` are
    those of `EventLog`.
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
        """Return the state before the first event."""
        lease = int(self.campaign.batch.lease_minutes * 60_000)
        return State([task.key for task in self.tasks.work], self.campaign.answers_per_item, lease)

    @property
    def state(self) -> State:
        """The state after all events up to `log.last_seq`."""
        return self.log.state

    def now(self) -> int:
        """Return the time in milliseconds since 1970 (UTC)."""
        return int(self._clock() * 1000)

    def close(self) -> None:
        """Commit all submitted commands and close the log."""
        self.log.close()

    def __enter__(self) -> CampaignService:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(self, name: str, visitor: Visitor, body: Json | None = None) -> Future[Json]:
        """Submit a request, whose name is a key of `requests.REQUESTS`.

        An example is `submit("answers", visitor, {...})`. The future returns the reply after the events are committed,
        or raises Refusal if the request is not allowed. A session request logs nothing, except that a known annotator
        returned under another submission.
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
        """Submit a request and wait for the reply."""
        return self.submit(name, visitor, body).result()

    def exclude(self, annotator: str, reason: str, *, by: str, rule: str | None = None) -> Event:
        """Exclude an annotator.

        The annotator's answers no longer count, and the tasks are offered to others. Raises UsageError if the annotator
        is unknown or already excluded.
        """
        return self._set_excluded("excluded", annotator, {"reason": reason, "by": by, "rule": rule})

    def reinstate(self, annotator: str, reason: str, *, by: str, rule: str | None = None) -> Event:
        """Reinstate an excluded annotator.

        The annotator's answers count again if the tasks still need answers. Raises UsageError if the annotator is
        unknown or not excluded.
        """
        return self._set_excluded("reinstated", annotator, {"reason": reason, "by": by, "rule": rule})

    def _set_excluded(self, event: str, annotator: str, data: Json) -> Event:
        def decide(transaction: Transaction) -> Event:
            person = transaction.state.people.get(annotator)
            if person is None:
                raise UsageError(f"there is no annotator {annotator!r} in this campaign")
            if person.excluded == (event == "excluded"):
                raise UsageError(f"{annotator} is {'already' if person.excluded else 'not'} excluded")
            return transaction.emit(event, annotator, data=data)

        return self.log.do(decide)

    def backup(self, target: Path) -> None:
        """Copy the campaign to a new folder; the log may be in use.

        The copy of the log is consistent. Raises UsageError if `target` exists.
        """
        if target.exists():
            raise UsageError(f"{target} already exists; give a new folder")
        with building(target) as copy:
            for name in (CAMPAIGN, TASKS, KEYS, INTERFACE):
                if (self.folder.folder / name).is_file():
                    shutil.copy2(self.folder.folder / name, copy / name)
            shutil.copytree(self.folder.folder / DATA, copy / DATA)
            self.log.backup(copy / EVENTS)
