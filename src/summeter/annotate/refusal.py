"""Refusal: a request that is not granted, as the browser hears it."""

from __future__ import annotations

from summeter.records import UsageError


class Refusal(UsageError):
    """`status` is that of HTTP, `code` one of design/annotate.md, `field` the part of the body at fault."""

    def __init__(self, status: int, code: str, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.field = field

    def to_json(self) -> dict[str, dict[str, str]]:
        """`{"error": {...}}`."""
        field = {} if self.field is None else {"field": self.field}
        return {"error": {"code": self.code, "message": self.message, **field}}
