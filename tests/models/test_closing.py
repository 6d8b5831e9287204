"""The closing dates of hosted models, and the warnings before a run."""

from __future__ import annotations

import datetime

import pytest

from summeter.models.closing import closing_dates, closing_warnings
from summeter.models.providers.provider import providers

CLOSES = datetime.date(2026, 12, 11)  # openai/gpt-5


def test_every_date_has_its_source_and_the_day_it_was_read() -> None:
    rows = closing_dates().values()
    assert len(rows) > 50
    for row in rows:
        assert row.model.partition("/")[0] in providers()
        assert row.source.startswith("https://")
        assert row.read >= datetime.date(2026, 11, 28)
        assert row.closes is None or row.not_before is None


@pytest.mark.parametrize(
    ("days", "said"),
    [(91, None), (90, "closes on 2026-12-11, in 90 days"), (0, "closed on 2026-12-11"), (-400, "closed")],
)
def test_a_warning_is_given_from_90_days_before_the_closing_date(days: int, said: str | None) -> None:
    told = closing_warnings(["openai/gpt-5", "openai/gpt-5"], CLOSES - datetime.timedelta(days))
    assert len(told) == (said is not None)
    assert said is None or f"openai/gpt-5 {said}" in told[0]


def test_dates_of_a_vendor_do_not_apply_to_other_platforms() -> None:
    models = ["azure/gpt-5", "openrouter/openai/gpt-5", "openai/gpt-5-lookalike", "anthropic/claude-opus-4-5"]
    assert closing_warnings(models, CLOSES) == []
