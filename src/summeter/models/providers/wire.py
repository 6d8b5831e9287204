"""Requests beside the one POST a call: what batch APIs need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from summeter.models.base import Request
from summeter.models.providers import replies
from summeter.records import AccessError, ModelError

if TYPE_CHECKING:
    from yarl import URL

    from summeter.models.providers.http import HttpLLM

# Stands for the prompt where a failure is not that of one.
NO_PROMPT = Request(model="", messages=(), temperature=None)


class Exchange(NamedTuple):
    """A request on the wire."""

    method: str
    url: URL
    body: bytes | None = None
    headers: Mapping[str, str] | None = None


async def parsed(llm: HttpLLM, sent: Exchange) -> dict[str, Any]:
    """The JSON object that is the answer; raises as a call does."""
    answer = await llm.exchange(sent)
    if answer.status != 200:
        raise failed(answer, llm)
    return replies.body(answer)


def failed(answer: replies.Answer, llm: HttpLLM) -> ModelError:
    """What an answer other than 200 stands for."""
    error = replies.failure(answer, NO_PROMPT, llm.key_variable)
    if answer.status == 404 and isinstance(error, AccessError):
        said = f"{llm.id}: {answer.address} answered 404 to its batch API"
        return AccessError(
            f"{said}: it may have none (run without --batch), the base URL or the model may be another, or the batch "
            "is not of this key's account"
        )
    return error
