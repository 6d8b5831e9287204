"""Count the usage of models: calls, tokens, cost, seconds, and inputs of local models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace


@dataclass
class Usage:
    """The usage of one model, judge or session. Counts that do not apply are 0.

    A call to an LLM was either found in the store (`hits`), shared with an identical call (`joined`) or `sent`. `asked`
    counts the results requested from a local model, which were either `stored` or `computed`. `retries` counts the
    attempts after the first attempt of each call. `failures` counts failed calls; a failed call counts once, even if
    other calls joined it. `calls` counts the calls with a reply, and `batched` those whose reply came from a batch.

    Token counts are sums over all replies, including unusable ones. `tokens_cached` and `tokens_written` say how many
    of the `tokens_in` were read from and written to the provider's cache; `without_tokens` counts the replies for which
    the provider reported no tokens. `cost` is in US dollars; if it is unknown, it is None and `reason` says why.
    `priced` names the price list.

    `truncated` counts the inputs and outputs of a local model that were truncated at its maximum length. `tokens`
    counts the input tokens of a local model, and `padding` the padding tokens. `seconds` is the sum of the response
    times reported by the provider, or the computing time. `items` counts the summaries or pairs that were judged.
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
        """The number of tokens in prompts and replies."""
        return self.tokens_in + self.tokens_out

    def __iadd__(self, other: Usage) -> Usage:
        if other.cost is None:
            self.cost = None  # the sum is known only if both costs are known
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
        """Return the difference from `other`, whose counts must be included in this usage."""
        counts = {name: value for name, value in vars(other).items() if isinstance(value, int | float) and value}
        return replace(self, **{name: getattr(self, name) - value for name, value in counts.items()})

    def take(self) -> Usage:
        """Return a copy of the counts, and reset them to zero."""
        usage = replace(self)
        for name, value in vars(Usage()).items():
            setattr(self, name, value)
        return usage

    def fields(self, names: tuple[str, ...]) -> dict[str, float | str | None]:
        """Return the values of the fields with these names, by name."""
        return {name: getattr(self, name) for name in names}


def add_usage(totals: dict[str, Usage], added: Mapping[str, Usage]) -> None:
    """Add usages by name to those with the same name in `totals`."""
    for name, usage in added.items():
        totals[name] = totals.get(name, Usage()) + usage
