"""List prices, prices of the user, and unknown prices."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from together import together

from summeter.models.prices import FREE, VENDORS, LongRates, Price, default_file, prices
from summeter.models.providers.provider import PROVIDERS
from summeter.records import InputError


@pytest.fixture(autouse=True)
def _no_file_of_my_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


CACHED = Price(input=3.0, cached=0.3, output=15.0, date=date(2026, 1, 1))
WRITTEN = CACHED.model_copy(update={"written": 3.75})
PLAIN = Price(input=3.0, output=15.0, date=date(2026, 1, 1))
LONG = WRITTEN.model_copy(
    update={"long": LongRates(above=200_000, input=6, cached=0.6, written=7.5, output=22.5), "date": None}
)


@together(
    "price, tokens, millionths",
    [
        # Tokens of the prompt and the reply, and those of the prompt that were read from and written to the cache.
        (CACHED, (1000, 100, 600), 400 * 3 + 600 * 0.3 + 100 * 15),
        (CACHED, (1000, 100, 5000), 1000 * 0.3 + 100 * 15),  # no more can be cached than was sent
        (PLAIN, (1000, 100, 200, 600), 1000 * 3 + 100 * 15),
        (WRITTEN, (1000, 100, 200, 600), 200 * 3 + 200 * 0.3 + 600 * 3.75 + 100 * 15),
        (WRITTEN, (1000, 100, 200, 5000), 200 * 0.3 + 800 * 3.75 + 100 * 15),
        # A long prompt costs more for every token.
        (LONG, (200_000, 1000), 200_000 * 3 + 1000 * 15),
        (LONG, (200_001, 1000), 200_001 * 6 + 1000 * 22.5),
        (LONG, (200_001, 0, 50_000, 50_000), 100_001 * 6 + 50_000 * 0.6 + 50_000 * 7.5),
        (LONG.batched, (200_001, 1000), (200_001 * 6 + 1000 * 22.5) / 2),
        (LONG.batched, (1000, 0, 0, 1000), 1000 * 3.75 / 2),
    ],
)
def test_costs_of_calls(price: Price, tokens: tuple[int, ...], millionths: float) -> None:
    assert price.cost(*tokens) == pytest.approx(millionths / 1e6)


def test_a_price_for_long_prompts_only_is_not_free() -> None:
    rows = {"input": 0, "output": 0, "date": "2026-01-01"}
    assert Price.model_validate(rows).free
    assert not Price.model_validate({**rows, "long": {"above": 10, "input": 1, "output": 0}}).free


@pytest.mark.parametrize(
    ("model", "same"),
    [("openai/gpt-4o-2024-08-06", "openai/gpt-4o"),
     ("anthropic/claude-haiku-4-5-20251001", "anthropic/claude-haiku-4-5"),
     ("google/gemini-2.0-flash-001", "google/gemini-2.0-flash"), ("ollama/a/b:7b", "ollama/c"),
     ("bedrock/eu.anthropic.claude-haiku-4-5-20251001-v1:0", "bedrock/us.anthropic.claude-haiku-4-5-20251001-v1:0")],
)  # fmt: skip
def test_a_snapshot_has_the_price_of_its_model(model: str, same: str) -> None:
    assert prices().of(model) == prices().of(same) is not None


def test_a_snapshot_with_a_price_of_its_own_keeps_it() -> None:
    assert prices().of("openai/gpt-4o-2024-05-13") != prices().of("openai/gpt-4o")


@pytest.mark.parametrize(
    "model", ["openai-api/lab/gpt-4o", "openai/gpt-4o-next", "azure/gpt-4o", "mistral/mistral-ocr-latest"]
)
def test_an_unknown_model_has_no_price_and_is_never_free(model: str) -> None:
    assert prices().of(model) is None
    assert prices().why(model) == f"no price for {model}; add it with prices=FILE"


@pytest.mark.parametrize("provider", ["ollama", "vllm", "llamacpp", "lmstudio", "scripted"])
def test_self_hosted_models_are_free(provider: str) -> None:
    price = prices().of(f"{provider}/any")
    assert price is not None
    assert price.free


def test_list_prices_are_those_of_the_package() -> None:
    from genai_prices import Usage, calc_price

    used = Usage(input_tokens=300_000, cache_read_tokens=1_000, output_tokens=2_000)
    for model in ("openai/gpt-4o", "openai/gpt-5.4", "anthropic/claude-sonnet-4-5", "google/gemini-2.5-pro",
                  "mistral/mistral-large-2411", "openrouter/openai/gpt-4o"):  # fmt: skip
        provider, _, name = model.partition("/")
        price = prices().of(model)
        assert price is not None
        assert price.source.startswith("genai-prices ")
        total = calc_price(used, name, provider_id=provider).total_price
        assert price.cost(300_000, 2_000, 1_000) == pytest.approx(float(total))


def test_every_vendor_with_prices_is_a_provider() -> None:
    assert {*VENDORS, *FREE} <= PROVIDERS.keys()


def test_the_users_file_overrides_list_prices(tmp_path: Path) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text(
        "date: 2026-02-03\nmodels:\n  openai/gpt-4o: {input: 1, output: 2}\n"
        "  openai-api/lab/*: {input: 0, output: 0, date: 2026-05-06}\n"
    )
    table = prices(file)
    assert table.of("openai/gpt-4o") == Price(input=1, output=2, date=date(2026, 2, 3))
    assert table.of("openai-api/lab/big") == Price(input=0, output=0, date=date(2026, 5, 6))
    assert table.of("openai/gpt-4o-mini") == prices().of("openai/gpt-4o-mini")


def test_the_default_file_is_read(tmp_path: Path) -> None:
    file = default_file()
    assert file == tmp_path / "config" / "summeter" / "prices.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("date: 2026-02-03\nmodels:\n  x/y: {input: 1, output: 2}\n")
    assert prices().of("x/y") is not None


@pytest.mark.parametrize(
    ("text", "words"),
    [("models: [", "is not YAML"), ("a: 1", "models: is missing"), ("1", "write `models:`"),
     ("models: {x/y: 3}", "models.x/y"),
     ("models: {x/y: {input: 1, output: 2}}", "give the date of the price"),
     ("date: 2026-01-01\nmodels: {x/y: {input: -1, output: 2}}", "x/y.input"),
     ("date: 2026-01-01\nmodels: {x/y: {input: 1}}", "x/y.output"),
     ("date: 2026-01-01\nmodels: {x/y: {input: 1, output: 2, prise: 3}}", "prise")],
)  # fmt: skip
def test_errors_of_a_file_have_a_message(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(text)
    with pytest.raises(InputError, match=r"p\.yaml") as caught:
        prices(file)
    assert words in str(caught.value)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.yaml"):
        prices(tmp_path / "none.yaml")
