"""Batches that a run submitted to vendors, in `batches.jsonl`: written before anything is waited for, append-only.

One line an event: `submitting` (before the request), `submitted` (its id came, or was `found` later), `mistaken` (the
batch with that id is another's), `ended` (its results were read; which of its calls failed), `withdrawn` (it
was not made). A batch of which only the first line is there may or may not have arrived.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from summeter.records import InputError, WriteError

BATCHES = "batches.jsonl"
_ANNOUNCED = ("nonce", "model", "address", "at", "keys")
"""The fields of a submission that are known before its request."""


@dataclass
class Submission:
    """A batch as the log has it. `at` is in seconds since 1970; `failed` holds the calls that failed, by key, each with
    the reply format that was refused, or None. `found`: its id did not come, but was looked for."""

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
        """Its id, as far as it is known."""
        return self.id or "of which no id came back"

    @property
    def since(self) -> str:
        """When it was submitted, in words (UTC)."""
        return datetime.fromtimestamp(self.at, UTC).strftime("%Y-%m-%d %H:%M UTC")


class BatchLog:
    """The batches of one run. `path` None keeps them in memory."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._all: dict[str, Submission] = {}
        self._strange: set[str] = set()
        if path is not None and path.is_file():
            self._read(path)

    def of(self, model: str) -> list[Submission]:
        """The batches of a model, the earliest first."""
        return [batch for batch in self._all.values() if batch.model == model]

    def held(self, model: str) -> dict[str, Submission]:
        """Calls to a model, by key, and the latest batch that answers each: all but those that failed there."""
        held: dict[str, Submission] = {}
        for batch in self.of(model):
            for key in batch.keys:
                if key in batch.failed:
                    held.pop(key, None)
                else:
                    held[key] = batch
        return held

    def refused(self, model: str) -> dict[str, str]:
        """Calls to a model, by key, that were refused for their reply format, and the format."""
        return {key: lacks for batch in self.of(model) for key, lacks in batch.failed.items() if lacks is not None}

    @property
    def open(self) -> list[Submission]:
        """The batches whose results were not read."""
        return [batch for batch in self._all.values() if not batch.ended]

    @property
    def ids(self) -> frozenset[str]:
        """The ids of all batches that have one, and of those that were taken for one of them."""
        return frozenset(batch.id for batch in self._all.values() if batch.id is not None) | self._strange

    def submitting(self, batch: Submission) -> None:
        """It is about to be submitted."""
        self._add({"event": "submitting", **{name: getattr(batch, name) for name in _ANNOUNCED}})

    def submitted(self, nonce: str, id: str, *, found: bool = False) -> None:  # noqa: A002 - as in the log
        """It has an id, which came or was `found`."""
        self._add({"event": "submitted", "nonce": nonce, "id": id, **({"found": True} if found else {})})

    def mistaken(self, nonce: str, id: str) -> None:  # noqa: A002 - as in the log
        """The batch with this id is another's."""
        self._add({"event": "mistaken", "nonce": nonce, "id": id})

    def ended(self, nonce: str, failed: Mapping[str, str | None]) -> None:
        """Its results were read."""
        self._add({"event": "ended", "nonce": nonce, "failed": dict(failed)})

    def withdrawn(self, nonce: str) -> None:
        """It was rejected, or never arrived."""
        self._add({"event": "withdrawn", "nonce": nonce})

    def _add(self, event: dict[str, Any]) -> None:
        if self._path is not None:
            try:
                _append(self._path, json.dumps(event).encode() + b"\n")
            except OSError as error:
                raise WriteError.of(self._path, "the log of batches", error) from error
        self._apply(event)

    def _read(self, path: Path) -> None:
        whole = path.read_bytes()
        sound = whole[: whole.rfind(b"\n") + 1]
        if len(sound) < len(whole):  # a kill while a line was being written: what it announces was not done
            os.truncate(path, len(sound))
        for number, line in enumerate(sound.splitlines(), 1):
            try:
                self._apply(json.loads(line))
            except (ValueError, KeyError, TypeError) as error:
                raise InputError.at(path, number, None, f"is no line of a log of batches ({error})") from error

    def _apply(self, event: Mapping[str, Any]) -> None:
        nonce = event["nonce"]
        match event["event"]:
            case "submitting":
                fields = {name: event[name] for name in _ANNOUNCED}
                self._all[nonce] = Submission(**{**fields, "keys": tuple(event["keys"])})
            case "submitted":
                self._all[nonce].id, self._all[nonce].found = event["id"], bool(event.get("found"))
            case "mistaken":
                self._strange.add(event["id"])
                self._all[nonce].id, self._all[nonce].found = None, False
            case "ended":
                self._all[nonce].ended = True
                self._all[nonce].failed |= event["failed"]
            case "withdrawn":
                self._all.pop(nonce, None)
            case kind:
                raise ValueError(f"unknown event {kind!r}")


def _append(path: Path, line: bytes) -> None:
    """Add a line, on the disk when this returns; of one that could not be written, nothing stays."""
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


def waiting_words(batches: Iterable[Submission]) -> Sequence[str]:
    """A line for each batch that is still at the vendor's."""
    return [
        f"batch {batch.name} ({len(batch.keys)} calls to {batch.model}, since {batch.since})"
        " goes on without this command"
        for batch in batches
    ]
