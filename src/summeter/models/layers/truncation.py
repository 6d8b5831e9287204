"""A reply to a prompt of which the server read only a part is no reply.

Ollama cuts a prompt that is longer than the context it loaded the model with, LM Studio takes out its middle; both then
answer as if nothing had happened. What gives them away is the number of prompt tokens they say they read.
"""

from __future__ import annotations

from summeter.models.base import LLM, Completion, Request, turned_away
from summeter.models.layers.base import Layer
from summeter.models.tokens import tokens
from summeter.records import ContextError, Parameter

LEAST = 512  # tokens: no server has a smaller context, and one that tells fewer counts otherwise
GRAIN = 1024  # contexts are whole multiples of it, prompts hardly ever
# What the estimate may be off by, and what it may be off by at most where tokenizers differ most.
OFF, FAR, FOREIGN = 1.1, 2.0, 4.0


class TruncationCheck(Layer):
    """Passes on replies to prompts that were read whole. `context` is how much the model reads, where its server said.

    The layer sits below the cache: what it turns away is not stored, so that the same command asks again once the
    server reads more.
    """

    def __init__(self, llm: LLM, context: int | None = None) -> None:
        super().__init__(llm)
        self._context = context

    async def complete(self, request: Request) -> Completion:
        completion = await self.llm.complete(request)
        read = completion.tokens_in
        if read is not None and (sent := was_cut(request.prompt, read, self._context)) is not None:
            with turned_away(completion):
                raise ContextError(
                    f"{self.id} read {read:,} tokens of a prompt of about {sent:,}: its server cut it and said nothing."
                    " Start it with a larger context (Ollama: OLLAMA_CONTEXT_LENGTH), or say how much it reads with ",
                    Parameter("context", "TOKENS"),
                    ", and long documents are read in windows",
                )
        return completion


def was_cut(prompt: str, read: int, context: int | None = None) -> int | None:
    """About how many tokens the prompt has, if the server cannot have read all of it; else None.

    It has not where the prompt filled the context to its last token; where that is not known, where a round number of
    tokens was read and a tenth more sent; and where less than half of the estimate was read (a quarter, where most of
    the text is in scripts on which tokenizers differ).

    >>> was_cut("word " * 6000, 4096), was_cut("word " * 6000, 5990)
    (5688, None)
    """
    if read < LEAST:
        return None
    sent = tokens(prompt)
    filled = context is not None and context - 1 <= read <= context
    rounded = context is None and read % GRAIN == 0 and sent > OFF * read
    foreign = sum(1 for sign in prompt if sign > "\u024f") > len(prompt) / 10
    return sent if filled or rounded or sent > (FOREIGN if foreign else FAR) * read else None
