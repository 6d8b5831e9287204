"""Learns which reply format an endpoint can enforce, and asks for the strictest it can."""

from __future__ import annotations

from summeter.models.base import LLM, Completion, Format, Request
from summeter.models.layers.base import Layer
from summeter.records import CapabilityError

FORMATS: tuple[Format, ...] = ("json_schema", "json_object", "text")
"""From the strictest to the weakest."""


class FormatFallback(Layer):
    """Asks for the next weaker format when one is refused, and remembers what the endpoint lacks.

    A refusal counts only when a weaker format was then answered: servers refuse requests for many reasons
    and name few of them. It is remembered by schema (a server may dislike one and know others), and never
    once the format has worked. The layer sits below the cache, so that a call's key does not hang on what
    a server could do that day; `Completion.format` tells what was enforced.
    """

    def __init__(self, llm: LLM) -> None:
        super().__init__(llm)
        self._strictest: dict[str | None, int] = {}
        self._worked: set[tuple[str | None, int]] = set()

    async def complete(self, request: Request) -> Completion:
        schema = request.schema_name
        start = max(FORMATS.index(request.format), self._strictest.get(schema, 0))
        for level in range(start, len(FORMATS)):
            try:
                completion = await self.llm.complete(_with_format(request, FORMATS[level]))
            except CapabilityError as error:
                if error.lacks not in FORMATS or level == len(FORMATS) - 1:
                    raise
                continue
            self._learn(schema, start, level)
            return completion
        raise AssertionError("the weakest format either answers or raises")

    def _learn(self, schema: str | None, start: int, level: int) -> None:
        if level > start and (schema, start) not in self._worked:
            self._strictest[schema] = max(level, self._strictest.get(schema, 0))
        self._worked.add((schema, level))


def _with_format(request: Request, format_: Format) -> Request:
    return request if format_ == request.format else request.model_copy(update={"format": format_})
