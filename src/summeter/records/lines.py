"""Records in files of JSON lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from summeter.records.base import Record
from summeter.records.errors import Fault, InputError

R = TypeVar("R", bound=Record)


def read_lines(file: Path, record: type[R], damaged: list[Fault] | None = None) -> Iterator[R]:
    """Records of a JSONL file, none if it is absent. A torn last line (a killed writer) is passed over.

    Raises InputError naming file, line and field of a damaged line; given a list, notes it there and reads on.
    """
    if not file.exists():
        return
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.endswith(b"\n"):
                return
            try:
                yield record.model_validate_json(line)
            except ValidationError as error:
                first = error.errors()[0]
                field = ".".join(map(str, first["loc"])) or None
                fault = Fault(str(file), number, field, f"damaged: {first['msg']}")
                if damaged is None:
                    raise InputError([fault]) from error
                damaged.append(fault)
