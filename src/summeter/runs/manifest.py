"""run.json: what was asked of a run, with what, and how far it came."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, FieldSerializationInfo, field_serializer

from summeter.records import Record, digest
from summeter.runs.usage import Usage

SCHEMA: Literal["summeter-run/1"] = "summeter-run/1"
RunStatus = Literal["running", "complete", "incomplete", "interrupted", "failed"]

# A file of a run lies in the run: a stem that names another folder, or hides, is no stem.
STEM = re.compile(r"[A-Za-z0-9_][\w.\-]*")
LONGEST = 60


def stem(name: str, signature: str) -> str:
    """The stem of a judge's files: what a file name can hold of its name, and six digits of its signature.

    >>> stem("../my judge", "rts|v:1").rpartition(".")[0]
    '_my_judge'
    """
    safe = re.sub(r"\.{2,}", ".", re.sub(r"[^A-Za-z0-9_.\-]", "_", name)).lstrip(".-")
    return f"{safe[:LONGEST].rstrip('.') or '_'}.{digest(signature, 6)}"


def _stem(text: str) -> str:
    if not STEM.fullmatch(text) or ".." in text:
        raise ValueError(f"{text[:80]!r} is not the stem of a file in the run")
    return text


class JudgeEntry(Record):
    """One evaluator of a run: its catalog name and settings, its signature, and how its scores are reduced.

    `file` is the stem of its files under judgments/ and prepared/ (see `stem`). `imported` marks judgments read from
    raw outputs rather than made by the run. `members` are the signatures of the judges that a derived judge is computed
    from; `roles` names the roles of the run that its own roles took, where they are others (`{"judge": "second"}`).
    `threshold` is the value from which on it labels 1, where its labels are thresholds of its values. `restricted`
    names weights that it is meant for and whose licence forbids commercial use. `partial`: it judged what a cascade
    asked of it alone, which is no fair picture of the data: it has no scores of its own.
    """

    name: str
    settings: dict[str, Any] = Field(default_factory=dict)
    signature: str
    model: str | None = None
    models: dict[str, str] = Field(default_factory=dict)
    aspects: tuple[str, ...]
    reduce: str
    file: Annotated[str, AfterValidator(_stem)]
    imported: bool = False
    prepares_only: bool = False
    members: tuple[str, ...] = ()
    roles: dict[str, str] = Field(default_factory=dict)
    threshold: float | None = None
    restricted: tuple[str, ...] = ()
    partial: bool = False


class DataEntry(Record):
    """The data a run judges; a copy lies in the run's data/ folder."""

    source: str
    hash: str
    documents: int
    summaries: int
    splitter: str


class ModelContext(Record):
    """How many tokens a model reads and writes together, as it was asked of its server, and who `said` so; None, and
    why, where nobody did."""

    tokens: int | None = None
    said: str = ""


_CALLS = ("calls", "tokens_in", "tokens_cached", "tokens_out", "cost", "reason")
USAGE_FIELDS = {
    "usage": (*_CALLS, "retries", "failures", "priced", "batched"),
    "judge_usage": (*_CALLS, "items"),
    "local": ("asked", "stored", "computed", "truncated", "tokens", "padding"),
    "compute": ("seconds", "items"),
}
"""The fields of `Usage` that each part of run.json holds."""


class Manifest(Record):
    """The whole of run.json. `options` are what the caller chose in the last session (seed, limit, temperature...); a
    judge's signature holds what it was asked with.

    What was taken in all sessions: `usage` by each model string (with the tokens and cost of replies that could not be
    used), `judge_usage` by the calls behind each signature (a call behind several counts with each), `local` by each
    local model, by its id. `compute`, by signature, is how long this processor computed in sessions that ended by
    themselves, and the items judged in them; a replay that reads the results of local models has none. `contexts` is by
    model string, where it was not told; `stopped` says why an interrupted run ended, where it was not the user;
    `documents_per_part` is how workers cut the data, once a session had workers."""

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
    def _usage_fields(self, part: dict[str, Usage], info: FieldSerializationInfo) -> dict[str, dict[str, Any]]:
        return {name: usage.fields(USAGE_FIELDS[info.field_name]) for name, usage in part.items()}
