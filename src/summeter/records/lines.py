"""Records in files of JSON lines."""

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
    """Records of a JSONL file, none if it is absent. A torn last line (a killed writer) is passed over.

    Raises InputError naming file, line and field of a damaged line; given a list, notes it there and reads on.
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
    """The lines of a file, each with its line feed, without a torn last one; none if the file is absent."""
    if file.exists():
        with file.open("rb") as lines:
            yield from (line for line in lines if line.endswith(b"\n"))


def damaged_line(file: Path, number: int, error: ValidationError) -> Fault:
    """What is wrong with a line, and where."""
    first = faults_in(file, number, error)[0]
    return first._replace(message=f"damaged: {first.message}")
