"""campaign.yaml as it is read: every fault with its line, its field and, for a misspelt name, the nearest one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from summeter.annotate.campaign.config import Campaign
from summeter.annotate.tasks import kind_named
from summeter.data.mapping import faults_of, field_of, line_of, place_of, read_mapping, yaml_lines
from summeter.records import Fault, InputError, UsageError


def read_campaign(file: str | Path) -> Campaign:
    """The campaign of a YAML file. Raises InputError with every fault, by line and field."""
    path = Path(file)
    given = read_mapping(path, "a campaign needs at least name, kind and data")
    faults: list[Fault] = []
    lines, repeated = yaml_lines(path)
    for place, line in repeated:
        faults.append(Fault(str(path), line, field_of(place), "is given twice; the file would not say which counts"))
    if isinstance(given.get("kind"), str):
        try:
            kind_named(given["kind"])
        except UsageError as error:
            faults.append(Fault(str(path), line_of(lines, ("kind",)), "kind", str(error)))
    try:
        campaign = Campaign.model_validate(given)
    except ValidationError as error:
        faults += faults_of(path, lines, error, Campaign)
    if faults:
        raise InputError(sorted(faults, key=lambda fault: fault.line or 0))
    return campaign


@contextmanager
def by_line(file: Path) -> Iterator[None]:
    """Faults of the campaign's file that are found later get their lines."""
    try:
        yield
    except InputError as error:
        if not any(fault.file == str(file) and fault.line is None and fault.field for fault in error.faults):
            raise
        lines, _ = yaml_lines(file)
        placed = [
            fault._replace(line=line_of(lines, place_of(fault.field)))
            if fault.file == str(file) and fault.line is None and fault.field
            else fault
            for fault in error.faults
        ]
        raise InputError(placed) from error
