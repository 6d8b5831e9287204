"""Read records from JSON Lines files."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from summeter.records.base import Record
from summeter.records.errors import Fault, InputError
from summeter.records.validation import faults_in

R = TypeVar("R", bound=Record)


def read_lines(file: Path, record: type[R], damaged: list[Fault] | None = None) -> Iterator[R]:
    """Yield the records of a JSON Lines file, or nothing if the file does not exist.

    An incomplete last line, left by a killed process, is ignored. Raises InputError with file, line and field if a line
    is damaged; if the list `damaged` is given, the fault is instead appended to this list and reading continues.
    """
    for number, line in enumerate(whole_lines(file), 1):
        try:
            yield record.model_validate_json(line)
        except ValidationError as error:
            fault = damaged_line(file, number, error)
            if damaged is None:
                raise InputError([fault]) from error
            damaged.append(fault)


def whole_lines(file: Path) -> Generator[bytes, None, None]:
    """Yield the complete lines of a file with line feeds, or nothing if the file does not exist."""
    if file.exists():
        with file.open("rb") as lines:
            yield from (line for line in lines if line.endswith(b"\n"))


def damaged_line(file: Path, number: int, error: ValidationError) -> Fault:
    """Return the first fault of a damaged line."""
    first = faults_in(file, number, error)[0]
    return first._replace(message=f"damaged: {first.message}")
