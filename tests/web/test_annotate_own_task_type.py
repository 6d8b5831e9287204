"""A custom task type is displayed and answered in a browser."""

from __future__ import annotations

from typing import Any

import pytest
from web.steps import expect, sent, task

pytestmark = pytest.mark.web


def test_a_custom_task_type(site: Any, visit: Any) -> None:
    place = site("annotate.own_task_type:Headline", name="own")
    page = visit(place.link())
    task(page)
    expect(page.get_by_text("Could this stand as a headline?")).to_be_visible()
    page.get_by_role("group", name="As a headline, does it fit?").locator("label").get_by_text("No").click()
    page.locator("button.send").click()
    assert [answer["fits"] for answer in sent(place, 1, page)] == [False]
