"""All stages of annotation: consent, instructions, questions, training, work, pausing, the end, and the preview."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from web import annotate_campaigns as made
from web.steps import begins, expect, fits, moving_on, press, reach, sent, task, until

pytestmark = pytest.mark.web

FIVE_STAGES: dict[str, Any] = {
    "consent": "You may stop at any time.\n\nWe keep *no names*.",
    "instructions": made.INSTRUCTIONS,
    "qualification": {"questions": made.QUESTIONS, "attempts": 2},
    "training": {"made": 2},
    "pay": {"currency": "EUR", "per_batch": 2.5},
}


@pytest.mark.parametrize(("phone", "scheme"), [(False, "light"), (True, "dark")])
def test_all_stages_by_keyboard(site: Any, visit: Any, shot: Any, phone: bool, scheme: str) -> None:
    place = site("fact_verification", **FIVE_STAGES, batch={"size": 2, "per_annotator": 1})
    page = visit(place.link(), phone=phone, scheme=scheme)
    reach(page, "Summaries of 2031")
    expect(page.locator("em", has_text="no names")).to_be_visible()
    shot(page, "1-consent")
    press(page, "Tab")
    expect(page.get_by_role("button", name="I agree to take part")).to_be_focused()
    press(page, "Enter")
    reach(page, "Instructions")
    shot(page, "2-instructions")
    press(page, "Enter")
    reach(page, "A few questions first")
    press(page, "1", "2")
    expect(page.locator("fieldset input:checked")).to_have_count(2)
    press(page, "Enter")
    expect(page.get_by_text("1 of 2 questions right")).to_be_visible()
    shot(page, "3-questions")
    expect(page.locator(".lead")).to_contain_text("one attempt")
    page.locator("fieldset input").first.focus()
    press(page, "2")
    expect(page.locator("fieldset input").nth(1)).to_be_checked()
    page.locator("button.send").focus()
    press(page, "Enter")
    task(page)
    # The examples are built like checks: a sentence from another document is never supported.
    press(page, *machine_first(page, supported=False), "3", "Enter")
    expect(page.locator(".feedback.well")).to_be_visible()
    shot(page, "4-training-right")
    press(page, "Enter")
    reach(page, "2 of 2")
    press(page, *machine_first(page, supported=True), "Enter")
    expect(page.locator(".feedback.ill")).to_be_visible()
    shot(page, "5-training-wrong")
    press(page, "Enter")
    expect(page.locator("nav.dots")).to_be_visible()
    reach(page, "1 of 2")
    press(page, "i")
    expect(page.locator("#panel")).to_be_visible()
    shot(page, "6-panel")
    press(page, "Escape")
    expect(page.locator("#panel")).to_be_hidden()
    expect(page.locator("#open-instructions")).to_be_focused()
    press(page, "?")
    expect(page.get_by_role("dialog")).to_be_visible()
    shot(page, "7-keys")
    press(page, "Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    for _ in range(2):
        page.locator("h1").focus()
        moving_on(page, lambda: press(page, *machine_first(page, supported=True), "Enter"))
    reach(page, "All tasks of this batch are answered")
    expect(page.get_by_text("All your answers are saved")).to_be_visible()
    shot(page, "8-finish")
    page.get_by_role("button", name="Finish this batch").press("Enter")
    reach(page, "Thank you")
    shot(page, "10-done")
    expect(page.locator("output.code")).to_have_text(place.service.campaign.codes.completed)
    fits(page)


def machine_first(page: Any, *, supported: bool) -> list[str]:
    """Return the keys that choose a label, with or without an assisting judge.

    Looks only once, so the task must have been drawn.
    """
    if page.locator(".machine").count() == 0:
        return ["1" if supported else "2"]
    good = page.locator(".machine .chip.good").count() == 1
    return ["a" if good == supported else "d"]


def test_a_pair_task_has_one_text_field(site: Any, visit: Any) -> None:
    page = visit(site("pairwise").link())
    task(page)
    expect(page.locator("form.task textarea")).to_have_count(1)
    expect(page.get_by_text("Add a comment")).to_have_count(0)


def test_the_completion_code_is_copied(site: Any, visit: Any) -> None:
    place = site("pairwise", consent="Do you?")
    page = visit(place.link(), permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="I do not agree").click()
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == place.service.campaign.codes.screened_out


def test_a_preview_stores_nothing(site: Any, visit: Any, shot: Any) -> None:
    place = site("rating", consent="Do you?", instructions="Read.")
    page = visit(place.preview)
    posts: list[str] = []
    page.on("request", lambda call: call.method == "POST" and posts.append(call.url))
    page.get_by_role("button", name="Continue with the preview").click()
    reach(page, "Instructions")
    press(page, "Enter")
    reach(page, "How good is each summary?")
    shot(page, "task")
    expect(page.locator("#notices")).to_contain_text("nothing you enter is saved")
    press(page, *"3" * page.locator("fieldset").count(), "Enter")
    expect(page.locator(".wanting-text")).to_contain_text("nothing is sent or saved")
    assert posts == []
    assert place.service.log.last_seq == 0
    assert page.evaluate("localStorage.length") == 0


def test_pausing_and_coming_back(site: Any, visit: Any, shot: Any) -> None:
    place = site("pairwise")
    page = visit(place.link())
    task(page)
    # Tasks are reserved for sixty minutes; on a slow machine one may have passed.
    expect(page.locator("#lease")).to_have_text(re.compile(r"^(60|59) min left$"))
    moving_on(page, lambda: press(page, "a", "Enter"))
    sent(place, 1, page)
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("dialog")).to_contain_text("1 of 3 tasks are answered")
    expect(page.get_by_role("dialog")).to_contain_text(re.compile("reserved for you for (60|59) minutes"))
    shot(page, "pause")
    press(page, "Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    elsewhere = visit(place.link(), phone=True)
    reach(elsewhere, "2 of 3")
    expect(elsewhere.get_by_role("button", name="Task 1, answered")).to_be_visible()


def test_open_tasks_can_be_given_back(site: Any, visit: Any) -> None:
    place = site("pairwise")
    page = visit(place.link())
    task(page)
    moving_on(page, lambda: press(page, "a", "Enter"))
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Return 2 unanswered tasks").click()
    page.get_by_role("button", name="Return them").click()
    reach(page, "1 batch finished")
    assert len(place.events("returned")) == 2
    page.get_by_role("button", name="Start the next batch").click()
    reach(page, "1 of 3")


def test_going_back_and_changing_an_answer(site: Any, visit: Any) -> None:
    place = site("pairwise", aspects=["coverage"])
    page = visit(place.link())
    reach(page, "1 of 3")
    press(page, "a", "Enter")
    reach(page, "2 of 3")
    sent(place, 1, page)
    press(page, "u")
    reach(page, "1 of 3")
    expect(page.locator(".earlier")).to_have_text(begins("Your answer is saved"))
    expect(page.get_by_role("radio", name="Summary A")).to_be_checked()
    press(page, "b", "Enter")
    reach(page, "2 of 3")
    systems = place.service.folder.letters("anna", place.service.tasks.work[0])
    until(page, lambda: place.answers()[0]["coverage"] == systems[1])
    assert len(place.answers()) == 1
    press(page, "[")
    reach(page, "1 of 3")
    press(page, "]")
    reach(page, "2 of 3")
    press(page, "]")
    reach(page, "3 of 3")


def test_single_keys_can_be_switched_off(site: Any, visit: Any) -> None:
    page = visit(site("pairwise").link())
    task(page)
    press(page, "?")
    page.get_by_label("Use single keys as shortcuts").uncheck()
    page.get_by_role("button", name="Close").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    press(page, "a", "?")
    expect(page.locator("input:checked, dialog")).to_have_count(0)
    page.reload()
    reach(page, "1 of 3")
    press(page, "a")
    expect(page.locator("input:checked")).to_have_count(0)


def test_keys_do_nothing_in_text_fields(site: Any, visit: Any) -> None:
    page = visit(site("pairwise").link())
    page.get_by_label("Why?").focus()
    page.keyboard.type("ab?i[]u 12")
    expect(page.get_by_label("Why?")).to_have_value("ab?i[]u 12")
    expect(page.locator("input:checked, dialog")).to_have_count(0)


def test_an_answer_below_the_minimum_time_must_wait(site: Any, visit: Any) -> None:
    # The test sets both clocks, so the speed of the machine does not matter.
    ahead = [0.0]
    place = site("pairwise", clock=lambda: time.time() + ahead[0], minimum_seconds=40)
    page = visit(f"{place.url}/")
    page.clock.install()
    page.goto(place.link())
    reach(page, "1 of 3")
    press(page, "a", "Enter")
    expect(page.locator(".wanting-text")).to_contain_text("Please read a little longer")
    assert place.answers() == []
    expect(page.locator("button.send")).to_have_attribute("aria-disabled", "true")
    ahead[0] = 41.0
    page.clock.run_for(41_000)
    expect(page.locator("button.send")).to_have_attribute("aria-disabled", "false")
    press(page, "Enter")
    reach(page, "2 of 3")
    assert sent(place, 1, page)


def test_pay_so_far(site: Any, visit: Any) -> None:
    page = visit(site("pairwise", pay={"currency": "EUR", "per_batch": 2.5}).link())
    expect(page.locator("#pay")).to_have_text("Pay so far €0.00")
