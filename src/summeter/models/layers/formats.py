"""Request replies in the strictest format that an endpoint supports."""

from __future__ import annotations

from summeter.models.base import LLM, Completion, Format, Layer, Request
from summeter.records import CapabilityError

FORMATS: tuple[Format, ...] = ("json_schema", "json_object", "text")
"""The reply formats, from the strictest to the weakest."""


class KnownFormats:
    """The reply formats that an endpoint has refused and accepted, by schema.

    A refusal is taken into account only if a weaker format was accepted afterwards, since servers refuse requests for
    many reasons and state few of them. It is ignored if the refused format was accepted earlier.
    """

    def __init__(self) -> None:
        self._strictest: dict[str | None, int] = {}
        self._accepted: set[tuple[str | None, int]] = set()

    def strictest(self, request: Request) -> int:
        """Return the index in FORMATS of the strictest format to request."""
        return max(FORMATS.index(request.format), self._strictest.get(request.schema_name, 0))

    def learn(self, request: Request, answered: Format) -> None:
        """Record that a request was answered in this format, after the stricter formats were refused."""
        schema, start, level = request.schema_name, self.strictest(request), FORMATS.index(answered)
        if level > start and (schema, start) not in self._accepted:
            self._strictest[schema] = level
        self._accepted.add((schema, level))


class FormatFallback(Layer):
    """Requests the next weaker reply format when a format is refused, and remembers refused formats.

    The layer is below the cache, so that the key of a call does not depend on the capabilities of a server;
    `Completion.format` is the format that was enforced.
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
        raise AssertionError("unreachable: the weakest format returns or raises")


def refused_format(error: Exception) -> str | None:
    """Return the reply format that an endpoint refused with this error, or None for any other error."""
    return error.lacks if isinstance(error, CapabilityError) and error.lacks in FORMATS else None


def with_format(request: Request, format_: Format) -> Request:
    """Return the request with the given reply format."""
    return request if format_ == request.format else request.model_copy(update={"format": format_})
