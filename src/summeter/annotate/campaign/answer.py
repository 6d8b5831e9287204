"""TaskAnswer: a validated answer to a task, as the log holds it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

LONGEST = 2000
"""Most characters of a comment, a reason or a text."""


class TaskAnswer(BaseModel):
    """An answer to a task: the values of its questions by their names.

    `values` are those of the questions asked once, `summaries` by system those asked of each shown summary. `machine`
    says whether the annotator agrees with the machine's verdict, where one is shown.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    values: dict[str, Any] = {}
    summaries: dict[str, dict[str, Any]] = {}
    machine: Literal["agree", "disagree"] | None = None
    comment: str | None = Field(default=None, max_length=LONGEST)

    def to_json(self) -> dict[str, Any]:
        """The answer as the log holds it; what is empty is left out."""
        return self.model_dump(exclude_defaults=True)
