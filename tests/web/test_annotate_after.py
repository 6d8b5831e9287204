"""The researcher's pages in a real browser: quality and adjudication, by keyboard too, hostile texts inert."""

from __future__ import annotations

from typing import Any

import pytest
from annotate import crowds
from report import xss
from web.steps import expect, fits, moving_on, press, resize, task, until
from web.test_annotate_safe import axe

pytestmark = pytest.mark.web
__all__ = ["axe"]


def split(place: Any) -> list[str]:
    keys = [one.key for one in place.service.tasks.work[:2]]
    for key in keys:
        crowds.say(place.service, key, {"anna": crowds.YES, "ben": {**crowds.NO, "comment": xss.CORPUS[0]}})
    return keys


def test_adjudication_by_keyboard(site: Any, visit: Any, shot: Any, axe: Any) -> None:
    place = site("fact_verification")
    keys = split(place)
    page = visit(place.admin)
    page.get_by_role("link", name="Adjudication").click()
    task(page)
    expect(page.locator(".queue .item")).to_have_count(2)
    assert axe(page) == []
    shot(page, "queue")
    press(page, "c")
    page.keyboard.type("the date is wrong")
    ben = page.locator(".answers .option", has_text="not supported").locator("input")
    ben.focus()
    page.keyboard.press("Space")
    expect(ben).to_be_checked()
    moving_on(page, lambda: press(page, "Control+Enter"))
    until(page, lambda: len(place.events("adjudicated")) == 1)
    event = place.events("adjudicated")[0]
    assert event.task in keys
    assert (event.data["answer"]["label"], event.data["reason"]) == ("not_supported", "the date is wrong")
    expect(page.locator(".queue .item")).to_have_count(1)
    resize(page, 390)
    fits(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_quality_page(scheme: str, site: Any, visit: Any, shot: Any, axe: Any) -> None:
    place = site("fact_verification")
    split(place)
    page = visit(place.admin, scheme=scheme)
    page.get_by_role("link", name="Quality").click()
    expect(page.get_by_role("heading", name="Do annotators agree?")).to_be_visible()
    page.locator("details summary").click()
    expect(page.get_by_role("region", name="Agreement", exact=True)).to_have_count(2)
    assert axe(page) == []
    shot(page, "quality")
    expect(page.locator("table.people").nth(1)).to_be_visible()
    resize(page, 390)
    fits(page)
