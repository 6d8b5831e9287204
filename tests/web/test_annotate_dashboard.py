"""The dashboard in a real browser: figures that follow the work, excluding and reinstating, hostile names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest
from report import xss
from web.test_annotate_safe import axe

pytestmark = pytest.mark.web
__all__ = ["axe"]


def until(page: Any, condition: Callable[[], bool]) -> None:
    for _ in range(300):
        if condition():
            return
        page.wait_for_timeout(50)
    raise AssertionError("it did not come to pass within fifteen seconds")


def figure(page: Any, name: str) -> str:
    return str(page.locator(".figures div", has=page.get_by_text(name, exact=True)).locator("dd").inner_text())


def working(place: Any, visit: Any) -> Any:
    page = visit(place.link())
    page.locator("form.task").wait_for()
    page.keyboard.press("a")
    page.keyboard.press("Enter")
    until(page, lambda: len(place.answers()) == 1)
    return page


def test_the_dashboard_follows_the_work(site: Any, visit: Any, shot: Any, axe: Any) -> None:
    place = site("pairwise", pay={"currency": "EUR", "per_batch": 2.5})
    board = visit(place.admin)
    board.get_by_text("Nobody has come yet.").wait_for()
    assert axe(board) == []
    page = working(place, visit)
    board.locator("table.people").wait_for()
    until(board, lambda: "1 of" in board.locator(".lead").inner_text())
    assert figure(board, "Annotators").startswith("1")
    assert figure(board, "Being worked on").startswith("2")
    row = board.locator("table.people tbody tr")
    assert row.locator("th").inner_text() == "anna"
    shot(board, "board")
    assert axe(board) == []
    board.set_viewport_size({"width": 390, "height": 844})
    assert board.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.keyboard.press("a")
    page.keyboard.press("Enter")
    until(board, lambda: "2 of" in board.locator(".lead").inner_text())


def test_excluding_asks_for_a_reason_and_can_be_undone(site: Any, visit: Any, shot: Any) -> None:
    place = site("pairwise")
    working(place, visit)
    board = visit(place.admin)
    board.get_by_role("button", name="Exclude anna").click()
    board.get_by_role("button", name="Exclude", exact=True).click()
    assert "A reason is needed" in board.locator(".wanting-text").inner_text()
    board.get_by_label("Reason").fill("copied answers")
    shot(board, "asked")
    board.get_by_role("button", name="Exclude", exact=True).click()
    board.get_by_role("button", name="Reinstate anna").wait_for()
    assert place.events("excluded")[0].data["reason"] == "copied answers"
    assert "excluded" in board.locator("table.people tbody th").inner_text()
    board.get_by_role("button", name="Reinstate anna").focus()
    board.keyboard.press("Enter")
    board.keyboard.type("it was a mistake")
    board.get_by_role("button", name="Reinstate", exact=True).click()
    board.get_by_role("button", name="Exclude anna").wait_for()


def test_the_table_sorts_and_keeps_the_focus(site: Any, visit: Any) -> None:
    place = site("pairwise")
    working(place, visit)
    other = visit(place.link("ben"))
    other.locator("form.task").wait_for()
    board = visit(place.admin)
    board.locator("table.people").wait_for()
    names = board.locator("table.people tbody th")
    assert names.all_inner_texts() == ["anna", "ben"]
    board.get_by_role("button", name="Annotator").focus()
    board.keyboard.press("Enter")
    assert names.all_inner_texts() == ["ben", "anna"]
    assert board.evaluate("document.activeElement.textContent") == "Annotator"
    board.get_by_role("button", name="Answers").click()
    assert names.all_inner_texts() == ["anna", "ben"]


def test_without_the_token_there_is_no_dashboard(site: Any, visit: Any) -> None:
    place = site("pairwise")
    page = visit(f"{place.url}/admin")
    page.forgiven = "40[14]"
    assert page.locator("h1").inner_text() == "Open this page with your link"
    assert page.goto(f"{place.url}/admin?token=guess").status == 401
    assert page.goto(f"{place.url}/api/admin/people").status == 401


def test_hostile_words_do_nothing_on_the_dashboard(site: Any, visit: Any) -> None:
    place = site("pairwise", title=xss.CORPUS[1], contact=xss.CORPUS[3], platform={"name": "prolific"})
    page = visit(f"{place.url}/")
    page.forgiven = "40[01]"
    for text in xss.CORPUS:
        page.goto(f"{place.url}/?{urlencode({'PROLIFIC_PID': text, 'STUDY_ID': text, 'SESSION_ID': text})}")
    board = visit(place.admin)
    until(board, lambda: board.locator(".figures div").count() > 0)
    assert board.locator("img, iframe, base, math, svg, main script, main style").count() == 0
    assert board.title() == xss.CORPUS[1]
