"""What work took: calls of LLMs, tokens, money, seconds, inputs of local models."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass
class Usage:
    """Counts of one model, judge or session; what does not apply stays 0. `+` adds two of them, `+=` adds in place.

    A call to an LLM was stored (`hits`), shared with another's (`joined`) or `sent`. `asked` counts the results that a
    local model was asked for, which were `stored` or are `computed`.
    `retries` are the tries beyond each call's first; `failures` the calls that came to nothing, each once, however many
    joined it. `calls` have a reply, `batched` of them from a batch.

    Tokens are sums over the replies that came, also those that could not be used: `tokens_cached` and `tokens_written`
    are the parts of `tokens_in` that the provider's own cache served and stored; `untold` replies came without their
    tokens. `cost` is in US dollars; where it is not known (None), `reason` says why. `priced` names the prices.

    `truncated` inputs of a local model were cut at its length, or their outputs were; `tokens` are those of its inputs,
    `padding` the padding beside them. `seconds` are those of replies as the provider tells them, or of computing, and
    `items` the summaries or pairs that were judged.
    """

    asked: int = 0
    hits: int = 0
    joined: int = 0
    sent: int = 0
    stored: int = 0
    computed: int = 0
    retries: int = 0
    failures: int = 0
    calls: int = 0
    batched: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    tokens_written: int = 0
    untold: int = 0
    cost: float | None = 0.0
    reason: str | None = None
    priced: str | None = None
    truncated: int = 0
    tokens: int = 0
    padding: int = 0
    seconds: float = 0.0
    items: int = 0

    @property
    def total_tokens(self) -> int:
        """Prompts and replies together."""
        return self.tokens_in + self.tokens_out

    def __iadd__(self, other: Usage) -> Usage:
        if other.cost is None:
            self.cost = None  # a cost is known where both are
        for name, more in vars(other).items():
            if isinstance(more, str):
                setattr(self, name, getattr(self, name) or more)
            elif more and (mine := getattr(self, name)) is not None:
                setattr(self, name, mine + more)
        return self

    def __add__(self, other: Usage) -> Usage:
        total = replace(self)
        total += other
        return total

    def __sub__(self, other: Usage) -> Usage:
        """What is left without `other`, which was added before."""
        numbers = {name: more for name, more in vars(other).items() if isinstance(more, int | float) and more}
        return replace(self, **{name: getattr(self, name) - more for name, more in numbers.items()})

    def take(self) -> Usage:
        """The counts, which begin again at zero here."""
        taken = replace(self)
        for name, value in vars(Usage()).items():
            setattr(self, name, value)
        return taken

    def fields(self, names: tuple[str, ...]) -> dict[str, float | str | None]:
        """Some of the fields, by name."""
        return {name: getattr(self, name) for name in names}
