"""run.json: what was asked of a run, with what, and how far it came."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from summeter.records import Record, digest

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


class Taken(Record):
    """What calls took: how many there were, their tokens (`tokens_cached`: that part of `tokens_in` which the
    provider's own cache served), and US dollars; where these are unknown, or not all known, `reason` says why."""

    calls: int = 0
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_out: int = 0
    cost: float | None = None
    reason: str | None = None


class ModelUsage(Taken):
    """What one model took in all sessions of a run. `retries` are tries beyond each call's first, `failures` calls that
    came to nothing; of those whose reply came and could not be used, tokens and cost count too. `priced` is the date of
    the price, or whose list it is; `batched` are the calls that were made in batches."""

    retries: int = 0
    failures: int = 0
    priced: str | None = None
    batched: int = 0


class LocalTaken(Record):
    """What a local model did in all sessions of a run: inputs asked for, found in the store, computed; of those
    computed, how many were cut at the model's length or ended there, their tokens, and the padding beside these."""

    asked: int = 0
    stored: int = 0
    computed: int = 0
    truncated: int = 0
    tokens: int = 0
    padding: int = 0


class ModelContext(Record):
    """How many tokens a model reads and writes together, as it was asked of its server, and who `said` so; None, and
    why, where nobody did."""

    tokens: int | None = None
    said: str = ""


class JudgeUsage(Taken):
    """What the calls behind one judge's verdicts took; a call behind those of several counts with each. `items` are the
    summaries (or pairs) it judged."""

    items: int = 0


class Computed(Record):
    """How many seconds this processor computed for a judge (its own code, and local models), in all sessions that ended
    by themselves, and the items that it judged in them. A replay that reads the results of local models has none."""

    seconds: float = 0.0
    items: int = 0


class Manifest(Record):
    """The whole of run.json. `options` are what the caller chose (seed, limit, temperature...); `usage` is by model
    string, `judge_usage` and `compute` by signature, `local` by the ids of local models, `contexts` (where they were
    not told) by model string; `stopped` says why an interrupted run ended, where it was not the user;
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
    usage: dict[str, ModelUsage] = Field(default_factory=dict)
    judge_usage: dict[str, JudgeUsage] = Field(default_factory=dict)
    local: dict[str, LocalTaken] = Field(default_factory=dict)
    compute: dict[str, Computed] = Field(default_factory=dict)
    contexts: dict[str, ModelContext] = Field(default_factory=dict)
    stopped: str | None = None
    documents_per_part: int | None = None
