"""The manifest of a run (run.json): configuration, progress and usage."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, FieldSerializationInfo, field_serializer

from summeter.records import Record, digest
from summeter.runs.usage import Usage

SCHEMA: Literal["summeter-run/1"] = "summeter-run/1"
RunStatus = Literal["running", "complete", "incomplete", "interrupted", "failed"]

# A stem must not refer to another folder or a hidden file.
STEM = re.compile(r"[A-Za-z0-9_][\w.\-]*")
MAX_STEM = 60


def stem(name: str, signature: str) -> str:
    """Return the stem of a judge's files: its name as a valid file name, and six digits of a hash of its signature.

    >>> stem("../my judge", "rts|v:1").rpartition(".")[0]
    '_my_judge'
    """
    safe = re.sub(r"\.{2,}", ".", re.sub(r"[^A-Za-z0-9_.\-]", "_", name)).lstrip(".-")
    return f"{safe[:MAX_STEM].rstrip('.') or '_'}.{digest(signature, 6)}"


def _check_stem(text: str) -> str:
    if not STEM.fullmatch(text) or ".." in text:
        raise ValueError(f"{text[:80]!r} is not a valid stem of a file in the run")
    return text


class JudgeEntry(Record):
    """A judge of a run: its catalog name and settings, its signature, and the reduction of its scores.

    `file` is the stem of its files under judgments/ and prepared/ (see `stem`). `imported` marks judgments that were
    read from raw outputs. `members` are the signatures of the judges from which a derived judge is computed. `roles`
    maps its roles to roles of the run if their names differ (`{"judge": "second"}`). `threshold` is the minimum value
    of the label 1, if its labels are thresholded values. `restricted` names weights whose licence forbids commercial
    use. A `partial` judge judged only the items that a cascade passed on, which are not representative, so it has no
    scores. `measured_agreement` is its agreement with people by aspect, as measured on other data.
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


class DataEntry(Record):
    """The data of a run, which are copied to its folder data/."""

    source: str
    hash: str
    documents: int
    summaries: int
    splitter: str


class ModelContext(Record):
    """The context length of a model in tokens, input and output together, and the source that `said` so.

    `tokens` is None if the length is unknown; then `said` holds the reason.
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
    """The content of run.json.

    `options` are those of the last session (seed, limit, temperature...); a judge's signature holds the options of its
    calls. The usage of all sessions is `usage` by model string, including unusable replies; `judge_usage` by signature,
    where a shared call counts for every judge; and `local` by the id of the local model. `compute` is the computing
    time and number of items by signature, for sessions that were not killed; a replay of local models has none.
    `contexts` holds detected context lengths by model string. `stopped` is the reason for an interruption, unless the
    user interrupted the run. `documents_per_part` is the size of the parts that workers judge.
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
