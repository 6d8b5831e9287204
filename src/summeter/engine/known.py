"""What earlier sessions of a run prepared: where each row stands, read when it is asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from summeter.engine.plan import Job
from summeter.evaluators.base import Prepared
from summeter.records import InputError

Key = tuple[str, str]


class Known(Mapping[Key, Prepared]):
    """Prepared data by signature and document. Of two rows the later one counts.

    Making one and asking it read files: neither is for the thread of an event loop. InputError where a line is damaged.
    """

    def __init__(self, folder: Path, work: Sequence[Job]) -> None:
        self._places: dict[Key, tuple[Path, int]] = {}
        for job in work:
            file = folder / "prepared" / f"{job.entry.file}.jsonl"
            if file.exists():
                with file.open("rb") as lines:
                    start = 0
                    for number, line in enumerate(lines, 1):
                        self._places[job.signature, _document(file, number, line)] = file, start
                        start += len(line)

    def __getitem__(self, key: Key) -> Prepared:
        file, start = self._places[key]
        with file.open("rb") as lines:
            lines.seek(start)
            row = json.loads(lines.readline())
        del row["id"], row["signature"]
        return Prepared.model_validate(row)

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def __iter__(self) -> Iterator[Key]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def _document(file: Path, number: int, line: bytes) -> str:
    try:
        return str(json.loads(line)["document_id"])
    except (ValueError, KeyError, TypeError) as error:
        raise InputError.at(file, number, None, "damaged: not a row of prepared data") from error
