"""Usage of models: calls, tokens, cost, seconds, inputs of local models."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass
class Usage:
    """Usage of one model, judge or session. Counts that do not apply are 0.

    A call to an LLM was found in the store (`hits`), shared with an identical call (`joined`) or `sent`. `asked` counts
    the results requested from a local model, which were `stored` or `computed`. `retries` are the attempts after each
    call's first. `failures` are failed calls; a failure counts once, even if other calls joined it. `calls` have a
    reply, `batched` of them from a batch.

    Tokens are sums over all replies, including unusable ones. `tokens_cached` and `tokens_written` are the parts of
    `tokens_in` that the provider's cache served and stored; `without_tokens` counts replies without token counts.
    `cost` is in US dollars, or None with a `reason` if it is unknown. `priced` names the price list.

    `truncated` counts inputs and outputs of a local model that were truncated at its maximum length. `tokens` are the
    tokens of its inputs, `padding` the padding tokens. `seconds` are the response times reported by the provider, or
    the computing time. `items` are the summaries or pairs that were judged.
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
    without_tokens: int = 0
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
        """The tokens of prompts and replies."""
        return self.tokens_in + self.tokens_out

    def __iadd__(self, other: Usage) -> Usage:
        if other.cost is None:
            self.cost = None  # the sum is known only if both costs are
        for name, value in vars(other).items():
            if isinstance(value, str):
                setattr(self, name, getattr(self, name) or value)
            elif value and (total := getattr(self, name)) is not None:
                setattr(self, name, total + value)
        return self

    def __add__(self, other: Usage) -> Usage:
        total = replace(self)
        total += other
        return total

    def __sub__(self, other: Usage) -> Usage:
        """Subtract the counts of `other`, which must be included in this usage."""
        counts = {name: value for name, value in vars(other).items() if isinstance(value, int | float) and value}
        return replace(self, **{name: getattr(self, name) - value for name, value in counts.items()})

    def take(self) -> Usage:
        """Return a copy of the counts, and reset them to zero."""
        usage = replace(self)
        for name, value in vars(Usage()).items():
            setattr(self, name, value)
        return usage

    def fields(self, names: tuple[str, ...]) -> dict[str, float | str | None]:
        """Return the fields with these names."""
        return {name: getattr(self, name) for name in names}
