"""run.json: what was asked of a run, with what, and how far it came."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from summeter.records import Record

SCHEMA: Literal["summeter-run/1"] = "summeter-run/1"
RunStatus = Literal["running", "complete", "interrupted", "failed"]


class JudgeEntry(Record):
    """One evaluator of a run: its catalog name and settings, its signature, and how its scores are reduced.

    `file` is the stem of its files under judgments/ and prepared/. `imported` marks judgments read from
    raw outputs rather than made by the run.
    """

    name: str
    settings: dict[str, Any] = Field(default_factory=dict)
    signature: str
    model: str | None = None
    models: dict[str, str] = Field(default_factory=dict)
    aspects: tuple[str, ...]
    reduce: str
    file: str
    imported: bool = False
    prepares_only: bool = False


class DataEntry(Record):
    """The data a run judges; a copy lies in the run's data/ folder."""

    source: str
    hash: str
    documents: int
    summaries: int
    splitter: str


class Manifest(Record):
    """The whole of run.json. `options` are what the caller chose (seed, limit, temperature...)."""

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
