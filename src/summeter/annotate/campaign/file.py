"""campaign.yaml as it is read: every fault with its line, its field and, for a misspelt name, the nearest one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from summeter.annotate.campaign.config import Campaign
from summeter.annotate.tasks import kind_named
from summeter.data.mapping import faults_of, in_order, line_of, place_of, read_mapping, repetitions, yaml_lines
from summeter.records import Fault, InputError, UsageError


def read_campaign(file: str | Path) -> Campaign:
    """The campaign of a YAML file. Raises InputError with every fault, by line and field."""
    path = Path(file)
    given = read_mapping(path, "a campaign needs at least name, kind and data")
    lines, repeated = yaml_lines(path)
    faults = list(repetitions(path, repeated))
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
        raise in_order(faults)
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
