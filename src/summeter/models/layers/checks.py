"""Check requests before they are sent, and replies for truncated prompts.

Ollama truncates a prompt that is longer than the context length of the loaded model, and LM Studio removes the middle
of such a prompt; neither reports an error. The truncation is detected from the reported number of prompt tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from summeter.models.base import LLM, Completion, Layer, Request, attach_reply
from summeter.models.tokens import tokens
from summeter.records import ContextError, Parameter, UsageError, WriteError
from summeter.runs.batches import Submission

MIN_CONTEXT = 512  # tokens; servers that report fewer count differently
CONTEXT_STEP = 1024  # context lengths are multiples of this number, lengths of prompts rarely are
# Factors by which the estimate may be too large: usually, at most, and at most for scripts on which tokenizers differ.
USUAL_ERROR, MAX_ERROR, MAX_ERROR_OTHER_SCRIPTS = 1.1, 2.0, 4.0


class Checked(Layer):
    """Refuses requests that must not be sent, and replies to truncated prompts.

    A call in a batch that has not been read (`held`, by the keys of the calls) would be paid for twice. After a write
    error of the run, which `broken` returns, its reply would be lost. If the server `truncates` prompts, replies are
    checked; `context` is the context length that it reported in tokens, or None if it reported none.

    The layer is below the cache, so that only calls that are not stored are checked, and rejected replies are not
    stored. It is also below the rate limit and the retries, so that calls that wait there are checked when they are
    sent.
    """

    def __init__(
        self,
        llm: LLM,
        *,
        held: Mapping[str, Submission],
        broken: Callable[[], Exception | None],
        truncates: bool = False,
        context: int | None = None,
    ) -> None:
        super().__init__(llm)
        self._held, self._broken, self._truncates, self._context = held, broken, truncates, context

    async def complete(self, request: Request) -> Completion:
        """Return the reply.

        Raises UsageError or WriteError for a request that must not be sent, and ContextError for a truncated prompt.
        Running the same command again repeats such a call, for example after the server was restarted with a larger
        context.
        """
        if (submission := self._held.get(request.key)) is not None:
            raise UsageError(
                f"batch {submission.name} of this run ({len(submission.keys)} calls to {submission.model}, since "
                f"{submission.since}) contains calls that would be made again. Run the same command with ",
                Parameter("batch"),
                " to fetch its replies; or cancel it with `summeter batches cancel RUN`, fetch its replies, and the "
                "other calls are made again",
            )
        if (error := self._broken()) is not None:
            if isinstance(error, WriteError):
                raise WriteError(str(error)) from error
            raise WriteError.of(getattr(error, "filename", None) or "the run", "judgments", error) from error
        completion = await self.llm.complete(request)
        read = completion.tokens_in
        if self._truncates and read is not None:
            with attach_reply(completion):
                if (sent := truncated_prompt(request.prompt, read, self._context)) is not None:
                    raise ContextError(
                        f"{request.model} read {read:,} tokens of a prompt of about {sent:,}: its server truncated the "
                        "prompt silently. Start the server with a larger context (Ollama: OLLAMA_CONTEXT_LENGTH), or "
                        "set its context length with ",
                        Parameter("context", "TOKENS"),
                        ", so that long documents are read in windows",
                    )
        return completion


def truncated_prompt(prompt: str, read: int, context: int | None = None) -> int | None:
    """Return the estimated number of tokens of a truncated prompt.

    Returns None if the server read the whole prompt. `read` is the number of tokens that the server reports to have
    read. The prompt was truncated in three cases: if `read` fills a known `context`; if `context` is unknown, `read` is
    a multiple of 1024 and the estimate is at least 10 % higher; or if `read` is less than half of the estimate (a
    quarter for scripts on which tokenizers differ).

    >>> truncated_prompt("word " * 6000, 4096), truncated_prompt("word " * 6000, 5990)
    (5688, None)
    """
    if read < MIN_CONTEXT:
        return None
    sent = tokens(prompt)
    filled = context is not None and context - 1 <= read <= context
    rounded = context is None and read % CONTEXT_STEP == 0 and sent > USUAL_ERROR * read
    other_script = sum(1 for character in prompt if character > "\u024f") > len(prompt) / 10
    max_error = MAX_ERROR_OTHER_SCRIPTS if other_script else MAX_ERROR
    return sent if filled or rounded or sent > max_error * read else None
