"""The dashboard in a real browser: figures that follow the work, excluding and reinstating, hostile names."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlencode

import pytest
from report import xss
from web.steps import begins, expect, fits, moving_on, press, resize, sent, task
from web.test_annotate_safe import axe

pytestmark = pytest.mark.web
__all__ = ["axe"]


def figure(page: Any, name: str) -> Any:
    return page.locator(".figures div", has=page.get_by_text(name, exact=True)).locator("dd")


def names(board: Any, *wanted: str) -> None:
    """Waits for the table's annotators, in this order."""
    expect(board.locator("table.people tbody th")).to_have_text([re.compile(f"^{one}") for one in wanted])


def working(place: Any, visit: Any) -> Any:
    page = visit(place.link())
    task(page)
    moving_on(page, lambda: press(page, "a", "Enter"))
    sent(place, 1, page)
    return page


def test_the_dashboard_follows_the_work(site: Any, visit: Any, shot: Any, axe: Any) -> None:
    place = site("pairwise", pay={"currency": "EUR", "per_batch": 2.5})
    board = visit(place.admin)
    expect(board.get_by_text("Nobody has come yet.")).to_be_visible()
    assert axe(board) == []
    page = working(place, visit)
    expect(board.locator(".lead")).to_contain_text("1 of")
    expect(figure(board, "Annotators")).to_have_text(begins("1"))
    expect(figure(board, "Being worked on")).to_have_text(begins("2"))
    names(board, "anna$")
    shot(board, "board")
    assert axe(board) == []
    resize(board, 390)
    fits(board)
    moving_on(page, lambda: press(page, "a", "Enter"))
    expect(board.locator(".lead")).to_contain_text("2 of")


def test_excluding_asks_for_a_reason_and_can_be_undone(site: Any, visit: Any, shot: Any) -> None:
    place = site("pairwise")
    working(place, visit)
    board = visit(place.admin)
    board.get_by_role("button", name="Exclude anna").click()
    board.get_by_role("button", name="Exclude", exact=True).click()
    expect(board.locator(".wanting-text")).to_contain_text("A reason is needed")
    board.get_by_label("Reason").fill("copied answers")
    shot(board, "asked")
    board.get_by_role("button", name="Exclude", exact=True).click()
    expect(board.get_by_role("button", name="Reinstate anna")).to_be_visible()
    assert place.events("excluded")[0].data["reason"] == "copied answers"
    names(board, "anna excluded$")
    board.get_by_role("button", name="Reinstate anna").press("Enter")
    expect(board.get_by_label("Reason")).to_be_focused()
    board.keyboard.type("it was a mistake")
    board.get_by_role("button", name="Reinstate", exact=True).click()
    expect(board.get_by_role("button", name="Exclude anna")).to_be_visible()
    assert [one.data["reason"] for one in place.events("reinstated")] == ["it was a mistake"]


def test_the_table_sorts_and_keeps_the_focus(site: Any, visit: Any) -> None:
    place = site("pairwise")
    working(place, visit)
    other = visit(place.link("ben"))
    task(other)
    board = visit(place.admin)
    names(board, "anna", "ben")
    annotator = board.get_by_role("button", name="Annotator")  # its whole name ends with the arrow of the order
    annotator.press("Enter")
    names(board, "ben", "anna")
    expect(annotator).to_be_focused()
    board.get_by_role("button", name="Answers").click()
    names(board, "anna", "ben")


def test_without_the_token_there_is_no_dashboard(site: Any, visit: Any) -> None:
    place = site("pairwise")
    page = visit(f"{place.url}/admin")
    page.forgiven = "40[14]"
    expect(page.locator("h1")).to_have_text("Open this page with your link")
    assert page.goto(f"{place.url}/admin?token=guess").status == 401
    assert page.goto(f"{place.url}/api/admin/people").status == 401


def test_hostile_words_do_nothing_on_the_dashboard(site: Any, visit: Any) -> None:
    place = site("pairwise", title=xss.CORPUS[1], contact=xss.CORPUS[3], platform={"name": "prolific"})
    page = visit(f"{place.url}/")
    # Refused is what such words are, and a page may be left before it hears of it.
    page.forgiven = "40[013]"
    for text in xss.CORPUS:
        page.goto(f"{place.url}/?{urlencode({'PROLIFIC_PID': text, 'STUDY_ID': text, 'SESSION_ID': text})}")
    board = visit(place.admin)
    expect(board.locator("table.people, .scroll p.muted").first).to_be_visible()
    expect(board.locator("img, iframe, base, math, svg, main script, main style")).to_have_count(0)
    expect(board).to_have_title(xss.CORPUS[1])
