"""The batches of an epoch."""

from __future__ import annotations

from summeter.training.loop import batches_of


def test_each_example_is_in_one_batch_and_epochs_differ() -> None:
    first, again, second = (batches_of(100, 8, 3, epoch) for epoch in (0, 0, 1))
    assert sorted(at for batch in first for at in batch) == list(range(100))
    assert [len(batch) for batch in first] == [8] * 12 + [4]
    assert first == again != second


def test_examples_of_like_size_share_a_batch() -> None:
    sizes = [at * 37 % 240 for at in range(240)]
    batches = batches_of(240, 8, 3, 0, sizes)
    assert sorted(at for batch in batches for at in batch) == list(range(240))
    spread = [max(sizes[at] for at in batch) - min(sizes[at] for at in batch) for batch in batches]
    assert max(spread) < 10
    means = [sum(sizes[at] for at in batch) for batch in batches]
    assert means not in (sorted(means), sorted(means, reverse=True))
