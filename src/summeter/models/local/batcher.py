"""Divide the inputs of a local model into batches.

Inputs are sorted by length, batches are limited by tokens, and a batch that exhausts the memory is halved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from summeter.records import ModelError

T = TypeVar("T")
WASTE = 0.05
"""Maximum share of padding in a batch."""


def plan(lengths: Sequence[int], budget: int, *, waste: float = WASTE, most: int | None = None) -> list[list[int]]:
    """Return the indices of the inputs in each batch, with the longest inputs first.

    `lengths` holds the lengths of the inputs in tokens. Each input is padded to the length of the longest input in its
    batch. A batch has at most `budget` tokens, at most `most` inputs (None for no limit), and at most the share `waste`
    of padding. An input longer than the budget is a batch of its own.

    >>> plan([3, 10, 3, 9], 20, waste=0.1)
    [[1, 3], [0, 2]]
    """
    batches: list[list[int]] = []
    longest = real = 0
    for index in sorted(range(len(lengths)), key=lambda index: (-lengths[index], index)):
        if batches:
            count = len(batches[-1]) + 1
            size, tokens = count * longest, real + lengths[index]
            if count <= (most or count) and size <= budget and size - tokens <= waste * size:
                batches[-1].append(index)
                real = tokens
                continue
        batches.append([index])
        longest = real = lengths[index]
    return batches


def halving(batch: Sequence[int], compute: Callable[[Sequence[int]], Sequence[T]]) -> list[T]:
    """Return the results of `compute` for a batch.

    If the memory is exhausted, the batch is halved recursively. Raises ModelError if the memory does not suffice for a
    single input.
    """
    try:
        return list(compute(batch))
    except Exception as error:
        if not out_of_memory(error):
            raise
        if len(batch) == 1:
            raise ModelError(
                f"there is not enough memory for a single input ({error}); set a lower max_tokens, or "
                "device=cpu, after the name of the model: local/FOLDER[max_tokens=512]"
            ) from error
    # Outside the handler, since the memory of the failed pass is held while its error is handled.
    middle = len(batch) // 2
    return halving(batch[:middle], compute) + halving(batch[middle:], compute)


def out_of_memory(error: BaseException) -> bool:
    """Return whether an error means that the memory is exhausted.

    Errors of Python, torch (on any device) and ONNX Runtime are recognised.
    """
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    message = str(error).lower()
    return isinstance(error, RuntimeError) and any(
        phrase in message
        for phrase in ("out of memory", "can't allocate memory", "failed to allocate memory", "bad_alloc")
    )
