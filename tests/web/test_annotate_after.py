"""The researcher's pages in a real browser: quality and adjudication, by keyboard too, hostile texts inert."""

from __future__ import annotations

from typing import Any

import pytest
from annotate import crowds
from report import xss
from web.test_annotate_dashboard import until
from web.test_annotate_safe import axe

pytestmark = pytest.mark.web
__all__ = ["axe"]


def split(place: Any) -> list[str]:
    keys = [one.key for one in place.desk.tasks.work[:2]]
    for key in keys:
        crowds.say(place.desk, key, {"anna": crowds.YES, "ben": {**crowds.NO, "comment": xss.CORPUS[0]}})
    return keys


def test_adjudication_by_keyboard(site: Any, visit: Any, shot: Any, axe: Any) -> None:
    place = site("fact_verification")
    keys = split(place)
    page = visit(place.admin)
    page.get_by_role("link", name="Adjudication").click()
    page.locator(".dispute").first.wait_for()
    assert page.locator(".dispute").count() == 2
    assert axe(page) == []
    shot(page, "queue")
    page.get_by_label("Reason (stands in the log)").first.focus()
    page.keyboard.type("the date is wrong")
    page.get_by_role("button", name="Take the answer of ben").first.focus()
    page.keyboard.press("Enter")
    until(page, lambda: page.locator(".dispute").count() == 1)
    event = place.events("adjudicated")[0]
    assert event.task in keys
    assert (event.data["answer"]["label"], event.data["reason"]) == ("not_supported", "the date is wrong")
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_quality_page(scheme: str, site: Any, visit: Any, shot: Any, axe: Any) -> None:
    place = site("fact_verification")
    split(place)
    page = visit(place.admin, scheme=scheme)
    page.get_by_role("link", name="Quality").click()
    page.get_by_role("heading", name="Do annotators agree?").wait_for()
    page.locator("details summary").click()
    assert axe(page) == []
    shot(page, "quality")
    assert page.locator("table.people").count() >= 2
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
