"""The validated answer to a task, as stored in the log."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

LONGEST = 2000
"""Maximum number of characters of a comment, a reason or a free-text answer."""


class TaskAnswer(BaseModel):
    """An answer to a task.

    `values` maps the names of questions about the whole task to the values given. `summaries` contains one such mapping
    per system, for questions about each shown summary. `machine` says whether the annotator agrees with the machine
    verdict, or is None if no verdict was shown.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    values: dict[str, Any] = {}
    summaries: dict[str, dict[str, Any]] = {}
    machine: Literal["agree", "disagree"] | None = None
    comment: str | None = Field(default=None, max_length=LONGEST)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object for the log, without empty fields."""
        return self.model_dump(exclude_defaults=True)
