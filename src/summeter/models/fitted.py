"""Files of fitted numbers (weights, token counts, baselines), read and written here: evaluators open no file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import model_serializer

from summeter.records import InputError, Record, UsageError


class DataFile(Record):
    """A file of numbers that a setting names, read once: when it is named. In a run's settings it stands by its path;
    the run keeps the text."""

    path: Path
    text: str

    @staticmethod
    def read(file: str | Path | DataFile, what: str, hint: str = "", *, inside: str | None = None) -> DataFile:
        """The file as it is now, or where that is a folder the file `inside` it; `what` names the numbers in messages.
        UsageError where there is none, InputError where it cannot be read as UTF-8."""
        if isinstance(file, DataFile):
            return file
        if inside is not None and Path(file).is_dir():
            file = Path(file) / inside
        try:
            return DataFile(path=Path(file), text=Path(file).read_text("utf-8"))
        except FileNotFoundError as error:
            raise UsageError(f"there is no file of {what}: {file}{hint}") from error
        except (OSError, UnicodeDecodeError) as error:
            raise InputError.at(file, None, None, f"cannot be read as {what}: {error}") from error

    @model_serializer
    def _named(self) -> str:
        return str(self.path)


def read_fitted(file: str | Path | DataFile, schema: str, what: str, script: str) -> dict[str, Any]:
    """The JSON object that `write_fitted` wrote, without its schema.

    `what` names the numbers and `script` what makes such a file, for messages. UsageError where there is no such file,
    InputError where it is no JSON object of this schema.
    """
    numbers = DataFile.read(file, what, f"; {script} makes one")
    try:
        values = json.loads(numbers.text)
    except ValueError as error:
        raise InputError.at(numbers.path, None, None, f"cannot be read as {what}: {error}") from error
    if not isinstance(values, dict) or values.pop("schema", None) != schema:
        raise InputError.at(numbers.path, None, "schema", f"is not {schema} ({what}); {script} writes such files")
    return values


def write_fitted(file: Path, schema: str, values: Mapping[str, Any], indent: int | None = None) -> None:
    """Write numbers as JSON under their schema."""
    file.write_text(json.dumps({"schema": schema, **values}, ensure_ascii=False, indent=indent) + "\n", "utf-8")
