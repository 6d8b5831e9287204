"""Read and write files of fitted numbers (weights, token counts, baselines).

Evaluators do not open files themselves.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import model_serializer

from summeter.records import InputError, Record, UsageError


class DataFile(Record):
    """A data file that is given as a setting and read when the setting is validated.

    The settings of a run contain the path of the file; the run's folder contains a copy of its text.
    """

    path: Path
    text: str

    @staticmethod
    def read(file: str | Path | DataFile, what: str, hint: str = "", *, inside: str | None = None) -> DataFile:
        """Read a file or, if `file` is a folder, the file named `inside` in it.

        `what` describes the contents in error messages, and `hint` is appended to the message for a missing file.

        Raises UsageError if the file does not exist, and InputError if it cannot be read as UTF-8.
        """
        if isinstance(file, DataFile):
            return file
        if inside is not None and Path(file).is_dir():
            file = Path(file) / inside
        try:
            return DataFile(path=Path(file), text=Path(file).read_text("utf-8"))
        except FileNotFoundError as error:
            raise UsageError(f"the file of {what} does not exist: {file}{hint}") from error
        except (OSError, UnicodeDecodeError) as error:
            raise InputError.at(file, f"cannot be read as {what}: {error}") from error

    @model_serializer
    def _named(self) -> str:
        return str(self.path)


def read_fitted(file: str | Path | DataFile, schema: str, what: str, script: str) -> dict[str, Any]:
    """Return the JSON object in a file written by `write_fitted`, without the entry `schema`.

    In error messages, `what` describes the contents and `script` names the script that writes such files. Raises
    UsageError if the file does not exist, and InputError if it is not a JSON object with this schema name.
    """
    numbers = DataFile.read(file, what, f"; {script} writes one")
    try:
        values = json.loads(numbers.text)
    except ValueError as error:
        raise InputError.at(numbers.path, f"cannot be read as {what}: {error}") from error
    if not isinstance(values, dict) or values.pop("schema", None) != schema:
        raise InputError.at(numbers.path, f"must be {schema} ({what}); {script} writes such files", field="schema")
    return values


def write_fitted(file: Path, schema: str, values: Mapping[str, Any], indent: int | None = None) -> None:
    """Write `values` with the schema name as a JSON object."""
    file.write_text(json.dumps({"schema": schema, **values}, ensure_ascii=False, indent=indent) + "\n", "utf-8")
