"""Learns which reply format an endpoint can enforce, and asks for the strictest it can."""

from __future__ import annotations

from summeter.models.base import LLM, Completion, Format, Request
from summeter.models.layers.base import Layer
from summeter.records import CapabilityError

FORMATS: tuple[Format, ...] = ("json_schema", "json_object", "text")
"""From the strictest to the weakest."""


class KnownFormats:
    """Which reply formats an endpoint was seen to refuse and to enforce, by schema (it may know others).

    A refusal counts only when a weaker format was then answered: servers refuse requests for many reasons and name few
    of them. It never counts once the format has worked.
    """

    def __init__(self) -> None:
        self._strictest: dict[str | None, int] = {}
        self._worked: set[tuple[str | None, int]] = set()

    def strictest(self, request: Request) -> int:
        """The place in FORMATS of the strictest format to ask for."""
        return max(FORMATS.index(request.format), self._strictest.get(request.schema_name, 0))

    def learn(self, request: Request, answered: Format) -> None:
        """A request was answered in this format, after the stricter ones were refused."""
        schema, start, level = request.schema_name, self.strictest(request), FORMATS.index(answered)
        if level > start and (schema, start) not in self._worked:
            self._strictest[schema] = level
        self._worked.add((schema, level))


class FormatFallback(Layer):
    """Asks for the next weaker format when one is refused, and remembers what the endpoint lacks.

    The layer sits below the cache, so that a call's key does not depend on what a server could do that day;
    `Completion.format` tells what was enforced.
    """

    def __init__(self, llm: LLM) -> None:
        super().__init__(llm)
        self._known = KnownFormats()

    async def complete(self, request: Request) -> Completion:
        for name in FORMATS[self._known.strictest(request) :]:
            try:
                completion = await self.llm.complete(with_format(request, name))
            except CapabilityError as error:
                if refused_format(error) is None or name == FORMATS[-1]:
                    raise
                continue
            self._known.learn(request, name)
            return completion
        raise AssertionError("the weakest format either answers or raises")


def refused_format(error: Exception) -> str | None:
    """The reply format that an endpoint refused with this error; None for any other error."""
    return error.lacks if isinstance(error, CapabilityError) and error.lacks in FORMATS else None


def with_format(request: Request, format_: Format) -> Request:
    """The request with another reply format."""
    return request if format_ == request.format else request.model_copy(update={"format": format_})
