"""Read and write `batches.jsonl`, the append-only log of batches submitted to vendors.

Each line is an event: `submitting` (before the request), `submitted` (the id was returned, or `found` later),
`mistaken` (the batch with that id does not belong to the run), `ended` (the results were read; some calls may have
failed), or `withdrawn` (the batch was not created). If only the first event was logged, the batch may or may not exist
at the vendor.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from summeter.records import InputError, WriteError

BATCHES = "batches.jsonl"
_INITIAL = ("nonce", "model", "address", "at", "keys")
"""The fields of a submission that are known before the request."""


@dataclass
class Submission:
    """A batch that is recorded in the log.

    `at` is the time of submission in seconds since 1970. `keys` are the keys of the calls. `failed` maps the keys of
    failed calls to the refused reply format, or to None if no format was refused. `found` is true if the id was found
    by a search instead of being returned.
    """

    nonce: str
    model: str
    address: str
    at: float
    keys: tuple[str, ...]
    id: str | None = None
    ended: bool = False
    failed: dict[str, str | None] = field(default_factory=dict)
    found: bool = False

    @property
    def name(self) -> str:
        """The name of the batch for messages."""
        return self.id or "without an id"

    @property
    def since(self) -> str:
        """The time of submission (UTC) as a string."""
        return datetime.fromtimestamp(self.at, UTC).strftime("%Y-%m-%d %H:%M UTC")


class BatchLog:
    """The batches of a run. If `path` is None, they are stored in memory."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._all: dict[str, Submission] = {}
        self._foreign: set[str] = set()
        if path is not None and path.is_file():
            content = path.read_bytes()
            complete = content[: content.rfind(b"\n") + 1]
            if len(complete) < len(content):  # a crash while a line was written: the action was not performed
                os.truncate(path, len(complete))
            for number, line in enumerate(complete.splitlines(), 1):
                try:
                    self._apply(json.loads(line))
                except (ValueError, KeyError, TypeError) as error:
                    raise InputError.at(path, f"is not a line of a batch log ({error})", line=number) from error

    def of(self, model: str) -> list[Submission]:
        """Return the batches of a model, the earliest first."""
        return [batch for batch in self._all.values() if batch.model == model]

    def held(self, model: str) -> dict[str, Submission]:
        """Return the latest batch of each call to a model, by call key. Failed calls are excluded."""
        held: dict[str, Submission] = {}
        for batch in self.of(model):
            for key in batch.keys:
                if key in batch.failed:
                    held.pop(key, None)
                else:
                    held[key] = batch
        return held

    def refused(self, model: str) -> dict[str, str]:
        """Return the refused reply formats of calls to a model, by call key."""
        return {
            key: format_ for batch in self.of(model) for key, format_ in batch.failed.items() if format_ is not None
        }

    @property
    def open(self) -> list[Submission]:
        """The batches whose results have not been read."""
        return [batch for batch in self._all.values() if not batch.ended]

    @property
    def ids(self) -> frozenset[str]:
        """The ids of all batches, including those mistaken for a batch of this run."""
        return frozenset(batch.id for batch in self._all.values() if batch.id is not None) | self._foreign

    def submitting(self, batch: Submission) -> None:
        """Record that a batch is about to be submitted."""
        self._add({"event": "submitting", **{name: getattr(batch, name) for name in _INITIAL}})

    def submitted(self, nonce: str, id: str, *, found: bool = False) -> None:  # noqa: A002 - as in the log
        """Record the id of a batch. `found` says that the id was found by a search."""
        self._add({"event": "submitted", "nonce": nonce, "id": id, **({"found": True} if found else {})})

    def mistaken(self, nonce: str, id: str) -> None:  # noqa: A002 - as in the log
        """Record that the batch with this id does not belong to the run."""
        self._add({"event": "mistaken", "nonce": nonce, "id": id})

    def ended(self, nonce: str, failed: Mapping[str, str | None]) -> None:
        """Record that the results of a batch were read."""
        self._add({"event": "ended", "nonce": nonce, "failed": dict(failed)})

    def withdrawn(self, nonce: str) -> None:
        """Record that a batch was rejected or never arrived."""
        self._add({"event": "withdrawn", "nonce": nonce})

    def _add(self, event: dict[str, Any]) -> None:
        if self._path is not None:
            try:
                _append(self._path, json.dumps(event).encode() + b"\n")
            except OSError as error:
                raise WriteError.of(self._path, "the batch log", error) from error
        self._apply(event)

    def _apply(self, event: Mapping[str, Any]) -> None:
        nonce = event["nonce"]
        match event["event"]:
            case "submitting":
                fields = {name: event[name] for name in _INITIAL}
                self._all[nonce] = Submission(**{**fields, "keys": tuple(event["keys"])})
            case "submitted":
                self._all[nonce].id, self._all[nonce].found = event["id"], bool(event.get("found"))
            case "mistaken":
                self._foreign.add(event["id"])
                self._all[nonce].id, self._all[nonce].found = None, False
            case "ended":
                self._all[nonce].ended = True
                self._all[nonce].failed |= event["failed"]
            case "withdrawn":
                self._all.pop(nonce, None)
            case other:
                raise ValueError(f"unknown event {other!r}")


def _append(path: Path, line: bytes) -> None:
    """Append a line and flush it to disk.

    If the line cannot be written completely, it is removed.
    """
    with path.open("ab", buffering=0) as file:
        before = file.tell()
        try:
            if file.write(line) != len(line):
                raise OSError(errno.ENOSPC, "the disk is full", str(path))
            os.fsync(file.fileno())
        except OSError:
            with suppress(OSError):
                file.truncate(before)
            raise
