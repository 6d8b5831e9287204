"""Context lengths of hosted models, as stated by their vendors in November 2026.

A context length is the number of tokens of the prompt and the reply together. The context length of a self-hosted model
(vLLM, llama.cpp, Ollama) depends on how its server was started. For self-hosted models and for models that are not
listed, it is set with `--context` and never guessed.
"""

from __future__ import annotations

from functools import cache

from summeter.models.providers.provider import find_provider

CONTEXTS: dict[str, int] = {
    "gpt-3.5-turbo": 16_385,
    "gpt-3.5-turbo-0301": 4_096,
    "gpt-3.5-turbo-0613": 4_096,
    "gpt-4": 8_192,
    "gpt-4-32k": 32_768,
    "gpt-4-turbo": 128_000,
    "gpt-4o": 128_000,
    "gpt-4.1": 1_047_576,
    "gpt-4.5-preview": 128_000,
    "gpt-5": 272_000,
    "gpt-5.1": 272_000,
    "gpt-5.2": 272_000,
    "gpt-5.3": 128_000,
    "gpt-5.4": 922_000,
    "gpt-5.4-mini": 272_000,
    "gpt-5.4-nano": 272_000,
    "gpt-5.5": 872_000,
    "gpt-5.6": 922_000,
    "gpt-6": 922_000,
    "gpt-6.1": 922_000,
    "o1": 128_000,
    "o3": 200_000,
    "o4-mini": 200_000,
    "claude-": 200_000,
    "claude-fable-5": 1_000_000,
    "claude-haiku-5-5": 1_000_000,
    "claude-mythos-5": 1_000_000,
    "claude-opus-4-6": 1_000_000,
    "claude-opus-4-7": 1_000_000,
    "claude-opus-4-8": 1_000_000,
    "claude-opus-5": 1_000_000,
    "claude-sonnet-4-6": 1_000_000,
    "claude-sonnet-5": 1_000_000,
    "gemini-": 1_048_576,
    "mistral-large": 128_000,
    "mistral-large-2512": 262_144,
    "mistral-large-4": 1_048_576,
    "open-mistral-7b": 32_768,
    "open-mixtral-8x7b": 32_768,
}
"""Numbers of tokens by the prefix of a model's name; the longest matching prefix is used. For OpenAI's newer models,
the number is that of the longest prompt: their contexts hold a further 128,000 tokens for the reply."""


# Every judgment asks for it, and the provider of another package is looked up among all packages.
@cache
def known_context(model: str) -> int | None:
    """Return the context length of a model string in tokens, or None if it is unknown.

    >>> known_context("openai/gpt-4o-2024-08-06"), known_context("vllm/meta-llama/Llama-3.1-8B")
    (128000, None)
    """
    provider, _, name = model.partition("/")
    row = find_provider(provider)
    if row is None or not row.known_contexts:
        return None
    bare = name.rpartition("/")[2]
    # gpt-4-0613 is a gpt-4, but gpt-4.5 is not.
    matching = [
        start
        for start in CONTEXTS
        if bare == start or (bare.startswith(start) and (start.endswith("-") or bare[len(start)] in "-:@"))
    ]
    return CONTEXTS[max(matching, key=len)] if matching else None
