"""List prices, prices of the user, and unknown prices."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from summeter.models.prices import FREE, VENDORS, LongRates, Price, default_file, prices
from summeter.models.providers.provider import PROVIDERS
from summeter.records import InputError


@pytest.fixture(autouse=True)
def _no_file_of_my_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def test_cached_tokens_have_their_own_price() -> None:
    price = Price(input=3.0, cached=0.3, output=15.0, date=date(2026, 1, 1))
    # (1,000 - 600) * 3 + 600 * 0.3 + 100 * 15 = 1,200 + 180 + 1,500 = 2,880 millionths of a dollar
    assert price.cost(1000, 100, 600) == pytest.approx(0.00288)
    assert price.cost(1000, 100, 5000) == price.cost(1000, 100, 1000)  # no more can be cached than was sent
    assert Price(input=3.0, output=15.0, date=date(2026, 1, 1)).cost(1000, 0, 600) == pytest.approx(0.003)


def test_what_is_written_into_a_cache_has_its_own_price() -> None:
    price = Price(input=3.0, cached=0.3, written=3.75, output=15.0, date=date(2026, 1, 1))
    # (1,000 - 200 - 600) * 3 + 200 * 0.3 + 600 * 3.75 + 100 * 15 = 600 + 60 + 2,250 + 1,500 = 4,410 millionths
    assert price.cost(1000, 100, 200, 600) == pytest.approx(0.00441)
    assert price.cost(1000, 100, 200, 5000) == price.cost(1000, 100, 200, 800)
    plain = Price(input=3.0, output=15.0, date=date(2026, 1, 1))
    assert plain.cost(1000, 100, 200, 600) == plain.cost(1000, 100)


def test_a_long_prompt_costs_more_for_every_token() -> None:
    long = LongRates(above=200_000, input=6, cached=0.6, written=7.5, output=22.5)
    price = Price(input=3, cached=0.3, written=3.75, output=15, long=long)
    # Up to 200,000 tokens 3 and 15 dollars a million, beyond 6 and 22.5; what is cached and written as well.
    assert price.cost(200_000, 1000) == pytest.approx(0.6 + 0.015)
    assert price.cost(200_001, 1000) == pytest.approx(1.200006 + 0.0225)
    # 100,001 * 6 + 50,000 * 0.6 + 50,000 * 7.5 = 600,006 + 30,000 + 375,000 millionths
    assert price.cost(200_001, 0, 50_000, 50_000) == pytest.approx(1.005006)
    assert price.batched.cost(200_001, 1000) == pytest.approx((1.200006 + 0.0225) / 2)
    assert price.batched.cost(1000, 0, 0, 1000) == pytest.approx(3.75 * 0.0005)


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
