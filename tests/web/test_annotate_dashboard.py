"""The dashboard in a browser: live figures, excluding and reinstating annotators, hostile names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from annotate import crowds
from report import xss
from web.steps import begins, expect, fits, moving_on, press, resize, sent, task, until
from web.test_annotate_safe import axe

pytestmark = pytest.mark.web
__all__ = ["axe"]


OVERFLOWING = "[...document.querySelectorAll('.scroll')].filter((box) => box.scrollWidth > box.clientWidth + 1).length"


def figure(page: Any, name: str) -> Any:
    return page.locator(".figures div", has=page.get_by_text(name, exact=True)).locator("dd")


def names(board: Any, *wanted: str) -> None:
    """Wait until the table lists the annotators in this order."""
    expect(board.locator("table.people tbody th")).to_have_text([re.compile(f"^{one}") for one in wanted])


def working(place: Any, visit: Any) -> Any:
    page = visit(place.link())
    task(page)
    moving_on(page, lambda: press(page, "a", "Enter"))
    sent(place, 1, page)
    return page


def test_the_dashboard_updates_while_annotators_work(site: Any, visit: Any, shot: Any, axe: Any) -> None:
    place = site("pairwise", pay={"currency": "EUR", "per_batch": 2.5})
    board = visit(place.admin)
    expect(board.get_by_text("There are no annotators yet.")).to_be_visible()
    assert axe(board) == []
    page = working(place, visit)
    expect(board.locator(".lead")).to_contain_text("1 of")
    expect(figure(board, "Annotators")).to_have_text(begins("1"))
    expect(figure(board, "In progress")).to_have_text(begins("2"))
    names(board, "anna$")
    shot(board, "board")
    assert axe(board) == []
    resize(board, 390)
    fits(board)
    moving_on(page, lambda: press(page, "a", "Enter"))
    expect(board.locator(".lead")).to_contain_text("2 of")


def test_excluding_needs_a_reason_and_can_be_undone(site: Any, visit: Any, shot: Any, axe: Any) -> None:
    place = site("pairwise")
    working(place, visit)
    board = visit(place.admin)
    board.get_by_role("link", name="anna", exact=True).click()
    board.locator("#exclude summary").click()
    board.get_by_role("button", name="Exclude").click()
    expect(board.get_by_label("Reason")).to_be_focused()  # the browser asks for it
    assert place.events("excluded") == []
    assert axe(board) == []
    shot(board, "asked")
    board.get_by_label("Reason").fill("copied answers")
    board.get_by_role("button", name="Exclude").click()
    expect(board.locator("#exclude summary")).to_have_text("Reinstate anna")
    expect(board.get_by_role("region", name="Exclusions")).to_contain_text("copied answers")
    assert place.events("excluded")[0].data["reason"] == "copied answers"
    board.locator("#exclude summary").press("Enter")
    board.get_by_label("Reason").focus()
    board.keyboard.type("it was a mistake")
    board.get_by_role("button", name="Reinstate").click()
    expect(board.locator("#exclude summary")).to_have_text("Exclude anna")
    assert [one.data["reason"] for one in place.events("reinstated")] == ["it was a mistake"]


def test_a_refresh_keeps_sort_order_focus_and_open_sections(site: Any, visit: Any) -> None:
    place = site("pairwise")
    working(place, visit)
    board = visit(place.admin)
    names(board, "anna")
    board.locator("#sort-1").press("Enter")
    expect(board.locator("[aria-sort='descending']")).to_have_text("Annotator")
    board.clock.install()
    board.reload()
    board.locator("#links summary").click()
    board.get_by_role("link", name="anna", exact=True).focus()
    task(visit(place.link("ben")))
    board.clock.run_for(6000)
    names(board, "ben", "anna")
    expect(board.get_by_role("link", name="anna", exact=True)).to_be_focused()
    expect(board.locator("#links")).not_to_have_attribute("open", re.compile(""))


def test_hostile_texts_do_nothing_on_the_dashboard(site: Any, visit: Any) -> None:
    place = site("pairwise", title=xss.CORPUS[1], contact=xss.CORPUS[3], platform={"name": "prolific"})
    page = visit(f"{place.url}/")
    # The server refuses such texts, and the page may be left before the reply arrives.
    page.forgiven = "40[013]"
    for text in xss.CORPUS:
        page.goto(f"{place.url}/?{urlencode({'PROLIFIC_PID': text, 'STUDY_ID': text, 'SESSION_ID': text})}")
    board = visit(place.admin)
    expect(board.locator("table.people, .scroll p.muted").first).to_be_visible()
    expect(board.locator("img, iframe, base, math, svg, main script, main style")).to_have_count(0)
    expect(board).to_have_title(xss.CORPUS[1])


def test_files_are_downloaded(site: Any, visit: Any, shot: Any) -> None:
    place = site("pairwise")
    working(place, visit)
    board = visit(place.admin)
    expect(board.get_by_label("Link: ben")).to_have_value(place.link("ben"))
    shot(board, "links")
    for name, file, count in (
        ("All 2 links with names (txt)", "links.txt", 2),
        ("Events (jsonl)", "pairwise-events.jsonl", 1 + place.service.log.last_seq),
    ):
        with board.expect_download() as coming:
            board.get_by_role("link", name=name).click()
        assert coming.value.suggested_filename == file
        assert len(Path(coming.value.path()).read_text(encoding="utf-8").splitlines()) == count


def test_a_hidden_page_sends_no_requests(site: Any, visit: Any) -> None:
    place = site("pairwise")
    board = visit(place.admin)
    expect(board.get_by_text("There are no annotators yet.")).to_be_visible()
    board.clock.install()
    asked: list[str] = []
    board.on("request", lambda call: asked.append(call.url))
    board.reload()
    expect(board.get_by_text("There are no annotators yet.")).to_be_visible()
    board.evaluate("Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true })")
    board.clock.run_for(6000)  # what was waited for already is asked once more at most
    asked.clear()
    board.clock.run_for(120_000)
    assert asked == []
    board.evaluate("delete document.visibilityState; document.dispatchEvent(new Event('visibilitychange'))")
    until(board, lambda: asked == [f"{place.url}/admin"])


def test_the_page_of_one_annotator(site: Any, visit: Any, shot: Any, axe: Any) -> None:
    place = site("fact_verification", pay={"currency": "EUR", "per_batch": 2.5}, attention={"rate": 0.2})
    keys = [task.key for task in place.service.tasks.work]
    for key in keys[:29]:
        crowds.say(place.service, key, {"anna": crowds.YES, "ben": crowds.YES})
    crowds.say(place.service, keys[29], {"anna": {**crowds.NO, "comment": xss.CORPUS[0]}, "ben": crowds.YES})
    crowds.say(place.service, place.service.tasks.checks[0].key, {"anna": crowds.YES})
    board = visit(place.admin)
    board.get_by_role("link", name="anna", exact=True).click()
    expect(board.locator("h1")).to_have_text("Annotator anna")
    expect(figure(board, "Answers")).to_have_text(begins("31"))
    expect(figure(board, "Checks passed")).to_have_text(begins("0 of 1"))
    answers = board.get_by_role("region", name="Answers").locator("tbody tr")
    expect(answers).to_have_count(25)
    assert axe(board) == []
    shot(board, "annotator")
    board.get_by_role("link", name="Older").click()
    expect(answers).to_have_count(6)
    board.get_by_role("link", name="Others differ").press("Enter")
    expect(answers).to_have_count(1)
    answers.get_by_role("link").click()
    expect(board.locator("h1")).to_have_text(begins("Task "))
    expect(answers).to_have_count(2)
    assert axe(board) == []
    shot(board, "task")
    board.go_back()
    expect(answers).to_contain_text("entity error")
    expect(answers).to_contain_text("0 of 1 agree")
    board.get_by_role("link", name="Failed checks").click()
    expect(answers).to_contain_text("check failed")
    board.goto(f"{place.url}/admin/annotator?name=anna")
    resize(board, 390)
    fits(board)
    expect(board.locator("img, iframe, main script")).to_have_count(0)
    # The page displays a change of the log without a reload.
    board.clock.install()
    board.reload()
    expect(figure(board, "Answers")).to_have_text(begins("31"))
    crowds.say(place.service, keys[30], {"anna": crowds.YES})
    board.clock.run_for(16_000)
    expect(figure(board, "Answers")).to_have_text(begins("32"))


@pytest.mark.parametrize("width", [390, 1020, 1030, 1440])
def test_no_dashboard_page_scrolls_sideways(width: int, site: Any, visit: Any) -> None:
    place = site("fact_verification", pay={"currency": "EUR", "per_batch": 2.5}, attention={"rate": 0.2})
    for number, one in enumerate(place.service.tasks.work[:8]):
        odd = crowds.NO if number % 3 == 0 else crowds.YES
        crowds.say(place.service, one.key, {"anna": crowds.YES, "ben": odd, "un-helped": crowds.NO})
    place.service.exclude("ben", "a reason", by="lead")
    page = visit(place.admin)
    resize(page, width)
    for path in ("/admin", "/admin/annotator?name=anna", "/admin/quality"):
        page.goto(f"{place.url}{path}")
        expect(page.locator("table.people:visible").last).to_be_visible()
        page.evaluate("document.querySelectorAll('main details').forEach((fold) => { fold.open = true; })")
        fits(page)
        until(page, lambda: page.evaluate(OVERFLOWING) == 0)
