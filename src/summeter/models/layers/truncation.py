"""Reject replies to prompts that the server truncated.

Ollama truncates a prompt that is longer than the context length of the loaded model, and LM Studio removes the middle
of such a prompt; neither reports an error. The truncation is detected from the reported number of prompt tokens.
"""

from __future__ import annotations

from summeter.models.base import Completion, Request
from summeter.models.tokens import tokens
from summeter.records import ContextError, Parameter

MIN_CONTEXT = 512  # tokens; servers that report fewer count differently
CONTEXT_STEP = 1024  # context lengths are multiples of this number, lengths of prompts rarely are
# Factors by which the estimate may be too large: usually, at most, and at most for scripts on which tokenizers differ.
USUAL_ERROR, MAX_ERROR, MAX_ERROR_OTHER_SCRIPTS = 1.1, 2.0, 4.0


def check_truncation(context: int | None, request: Request, completion: Completion) -> None:
    """Raise ContextError for a reply to a truncated prompt.

    `context` is the context length that the server reported in tokens, or None if it reported none. Running the same
    command again repeats the call, for example after the server was restarted with a larger context.
    """
    read = completion.tokens_in
    if read is not None and (sent := truncated_prompt(request.prompt, read, context)) is not None:
        raise ContextError(
            f"{request.model} read {read:,} tokens of a prompt of about {sent:,}: its server truncated the prompt"
            " silently. Start the server with a larger context (Ollama: OLLAMA_CONTEXT_LENGTH), or set its context "
            "length with ",
            Parameter("context", "TOKENS"),
            ", so that long documents are read in windows",
        )


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
