"""Batches of a local model's inputs: `plan` puts so many tokens at a time into a batch, over inputs sorted by length;
`halving` is what happens where memory ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from summeter.records import ModelError

T = TypeVar("T")
WASTE = 0.05
"""The share of a batch that may be padding."""


def plan(lengths: Sequence[int], budget: int, *, waste: float = WASTE, most: int | None = None) -> list[list[int]]:
    """Places of inputs of these lengths, batch by batch, the longest first.

    Every input is padded to the longest of its batch. A batch holds at most `budget` tokens and `most` inputs, and at
    most the share `waste` of it is padding; an input over the budget has a batch to itself.

    >>> plan([3, 10, 3, 9], 20, waste=0.1)
    [[1, 3], [0, 2]]
    """
    batches: list[list[int]] = []
    longest = real = 0
    for place in sorted(range(len(lengths)), key=lambda place: (-lengths[place], place)):
        if batches:
            count = len(batches[-1]) + 1
            size, tokens = count * longest, real + lengths[place]
            if count <= (most or count) and size <= budget and size - tokens <= waste * size:
                batches[-1].append(place)
                real = tokens
                continue
        batches.append([place])
        longest = real = lengths[place]
    return batches


def padding(lengths: Sequence[int], batches: Sequence[Sequence[int]]) -> tuple[int, int]:
    """(padding tokens, tokens with padding) of batches.

    >>> padding([3, 10, 3, 9], [[1, 3], [0, 2]])
    (1, 26)
    """
    full = sum(len(batch) * max(lengths[place] for place in batch) for batch in batches)
    return full - sum(lengths[place] for batch in batches for place in batch), full


def halving(
    batch: Sequence[int], compute: Callable[[Sequence[int]], Sequence[T]], ended: Callable[[BaseException], bool]
) -> list[T]:
    """What `compute` gives for a batch; where memory ends (`ended` knows the error) for its halves, and theirs.

    ModelError where memory does not even hold one input.
    """
    try:
        return list(compute(batch))
    except Exception as error:
        if not ended(error):
            raise
        if len(batch) == 1:
            raise ModelError(
                f"memory does not hold one input ({error}); set max_tokens lower, or device=cpu, behind the model's "
                "name: local/FOLDER[max_tokens=512]"
            ) from error
    # Outside the handler: the failed pass keeps its memory for as long as its error is being handled.
    middle = len(batch) // 2
    return halving(batch[:middle], compute, ended) + halving(batch[middle:], compute, ended)


def out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ended: Python's own, torch's on any device, ONNX Runtime's."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    words = str(error).lower()
    return isinstance(error, RuntimeError) and any(
        sign in words for sign in ("out of memory", "can't allocate memory", "failed to allocate memory", "bad_alloc")
    )
