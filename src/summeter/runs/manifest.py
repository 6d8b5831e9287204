"""Define the manifest of a run (run.json): configuration, progress and usage."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, FieldSerializationInfo, field_serializer

from summeter.records import Record, digest
from summeter.runs.usage import Usage

SCHEMA: Literal["summeter-run/1"] = "summeter-run/1"
RunStatus = Literal["running", "complete", "incomplete", "interrupted", "failed"]

# A stem must refer neither to another folder nor to a hidden file.
STEM = re.compile(r"[A-Za-z0-9_][\w.\-]*")
MAX_STEM = 60


def stem(name: str, signature: str) -> str:
    """Return the file name of a judge's files without suffix.

    It consists of the name, as a valid file name, and six digits of a hash of the signature.

    >>> stem("../my judge", "rts|v:1").rpartition(".")[0]
    '_my_judge'
    """
    return f"{safe_name(name)}.{digest(signature, 6)}"


def safe_name(name: str) -> str:
    """Return a name as a valid name of a file or folder."""
    safe = re.sub(r"\.{2,}", ".", re.sub(r"[^A-Za-z0-9_.\-]", "_", name)).lstrip(".-")
    return safe[:MAX_STEM].rstrip(".") or "_"


def _check_stem(text: str) -> str:
    if not STEM.fullmatch(text) or ".." in text:
        raise ValueError(f"{text[:80]!r} is not a valid stem of a file in the run")
    return text


class JudgeEntry(Record):
    """A judge of a run: catalog name, settings, signature, and reduction of units to a score.

    `file` is the stem of the judge's files in judgments/ and prepared/ (see `stem`). `imported` is true if the
    judgments were read from raw outputs. `members` are the signatures of the judges from which a derived judge is
    computed. `roles` maps roles of the judge to roles of the run if their names differ (`{"judge": "second"}`).
    `threshold` is the minimum value for the label 1, or None if the labels are not thresholded values. `restricted`
    names weights whose licence forbids commercial use. A `partial` judge judged only the items that a cascade passed
    on; because these are not representative, the judge has no scores. `measured_agreement` is the judge's agreement
    with people by aspect, as measured on other data.
    """

    name: str
    settings: dict[str, Any] = Field(default_factory=dict)
    signature: str
    model: str | None = None
    models: dict[str, str] = Field(default_factory=dict)
    aspects: tuple[str, ...]
    reduce: str
    file: Annotated[str, AfterValidator(_check_stem)]
    imported: bool = False
    prepares_only: bool = False
    members: tuple[str, ...] = ()
    roles: dict[str, str] = Field(default_factory=dict)
    threshold: float | None = None
    restricted: tuple[str, ...] = ()
    partial: bool = False
    measured_agreement: dict[str, str] = Field(default_factory=dict)

    def judgments_in(self, folder: Path) -> Path:
        """Return the file of the judge's judgments in the folder of a run."""
        return folder / "judgments" / f"{self.file}.jsonl"

    def prepared_in(self, folder: Path) -> Path:
        """Return the file of the data that the judge prepared in the folder of a run."""
        return folder / "prepared" / f"{self.file}.jsonl"


class DataEntry(Record):
    """The data of a run, which are copied to the folder data/ of the run."""

    source: str
    hash: str
    documents: int
    summaries: int
    splitter: str


class ModelContext(Record):
    """The context length of a model, and the source of this information (`said`).

    `tokens` is the number of input and output tokens together, or None if it is unknown; in this case, `said` contains
    the reason.
    """

    tokens: int | None = None
    said: str = ""


_CALLS = ("calls", "tokens_in", "tokens_cached", "tokens_out", "cost", "reason")
USAGE_FIELDS = {
    "usage": (*_CALLS, "retries", "failures", "priced", "batched"),
    "judge_usage": (*_CALLS, "items"),
    "local": ("asked", "stored", "computed", "truncated", "tokens", "padding"),
    "compute": ("seconds", "items"),
}
"""The fields of `Usage` in each field of run.json."""


class Manifest(Record):
    """The contents of run.json.

    `options` are the options of the last session (seed, limit, temperature and so on); the signature of a judge
    contains the options of its calls. The usage in all sessions is given by model string (`usage`, including unusable
    replies), by signature (`judge_usage`, where a shared call counts for each of the judges) and by the id of the local
    model (`local`). `compute` is the computing time and the number of items by signature in sessions that were not
    killed; it is empty for a replay of local models. `contexts` contains the detected context lengths by model string.
    `stopped` is the reason for an interruption, or None if there was none or the user interrupted the run.
    `documents_per_part` is the number of documents in each part that a worker judges.
    """

    schema_: Literal["summeter-run/1"] = Field(default=SCHEMA, alias="schema", serialization_alias="schema")
    summeter: str
    python: str
    created: str
    updated: str
    status: RunStatus = "running"
    data: DataEntry
    judges: tuple[JudgeEntry, ...] = ()
    options: dict[str, Any] = Field(default_factory=dict)
    replayed_from: str | None = None
    counts: dict[str, int] = Field(default_factory=dict)
    coverage: float | None = None
    usage: dict[str, Usage] = Field(default_factory=dict)
    judge_usage: dict[str, Usage] = Field(default_factory=dict)
    local: dict[str, Usage] = Field(default_factory=dict)
    compute: dict[str, Usage] = Field(default_factory=dict)
    contexts: dict[str, ModelContext] = Field(default_factory=dict)
    stopped: str | None = None
    documents_per_part: int | None = None

    @field_serializer(*USAGE_FIELDS)
    def _usage_fields(self, usages: dict[str, Usage], info: FieldSerializationInfo) -> dict[str, dict[str, Any]]:
        return {name: usage.fields(USAGE_FIELDS[info.field_name]) for name, usage in usages.items()}
