"""From the link to the end: consent, instructions, questions, training, work, pausing, the end, and the preview."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from web import annotate_campaigns as made

pytestmark = pytest.mark.web

FIVE_STAGES: dict[str, Any] = {
    "consent": "You may stop at any time.\n\nWe keep *no names*.",
    "instructions": made.INSTRUCTIONS,
    "qualification": {"questions": made.QUESTIONS, "attempts": 2},
    "training": {"made": 2},
    "pay": {"currency": "EUR", "per_batch": 2.5},
}


def until(page: Any, condition: Callable[[], bool]) -> None:
    for _ in range(200):
        if condition():
            return
        page.wait_for_timeout(50)
    raise AssertionError("it did not come to pass within ten seconds")


def heading(page: Any) -> str:
    return str(page.locator("h1").inner_text())


def reach(page: Any, title: str) -> None:
    until(page, lambda: title in heading(page))


def press(page: Any, *names: str) -> None:
    for name in names:
        page.keyboard.press(name)


@pytest.mark.parametrize("phone", [False, True])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_stages_by_keyboard(  # noqa: PLR0915 - one walk
    site: Any, visit: Any, shot: Any, phone: bool, scheme: str
) -> None:
    place = site("fact_verification", **FIVE_STAGES, batch={"size": 2, "per_annotator": 1})
    page = visit(place.link(), phone=phone, scheme=scheme)
    reach(page, "Summaries of 2031")
    assert page.locator("em", has_text="no names").is_visible()
    shot(page, "1-consent")
    press(page, "Tab", "Enter")
    reach(page, "Instructions")
    shot(page, "2-instructions")
    press(page, "Enter")
    reach(page, "A few questions first")
    press(page, "1", "2", "Enter")
    page.get_by_text("1 of 2 questions right").wait_for()
    shot(page, "3-questions")
    assert "one attempt" in page.locator(".lead").inner_text()
    page.locator("h1").focus()
    page.locator("fieldset input").first.focus()
    press(page, "2")
    page.locator("button.send").focus()
    press(page, "Enter")
    page.locator("form.task").wait_for()
    # Examples built like checks: a foreign sentence is never supported.
    press(page, *machine_first(page, supported=False), "1", "Enter")
    page.locator(".feedback.well").wait_for()
    shot(page, "4-training-right")
    press(page, "Enter")
    page.locator(".feedback").wait_for(state="detached")
    press(page, *machine_first(page, supported=True), "Enter")
    page.locator(".feedback.ill").wait_for()
    shot(page, "5-training-wrong")
    press(page, "Enter")
    page.locator("nav.dots").wait_for()
    press(page, "i")
    assert page.locator("#panel").is_visible()
    shot(page, "6-panel")
    press(page, "Escape")
    assert page.locator("#panel").is_hidden()
    assert page.evaluate("document.activeElement.id") == "open-instructions"
    press(page, "?")
    assert page.get_by_role("dialog").is_visible()
    shot(page, "7-keys")
    press(page, "Escape")
    for _ in range(2):
        page.locator("h1").focus()
        press(page, *machine_first(page, supported=True), "Enter")
    reach(page, "All tasks of this batch are answered")
    page.get_by_text("All your answers are saved").wait_for()
    shot(page, "8-finish")
    page.get_by_role("button", name="Finish this batch").focus()
    press(page, "Enter")
    reach(page, "Thank you")
    shot(page, "10-done")
    assert page.locator("output.code").inner_text() == place.desk.campaign.codes.completed
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def machine_first(page: Any, *, supported: bool) -> list[str]:
    """The keys that lead to a label, whatever the machine said; none where it is shown nothing."""
    if page.locator(".machine").count() == 0:
        return ["1" if supported else "2"]
    good = page.locator(".machine .chip.good").count() == 1
    return ["a" if good == supported else "d"]


def test_who_does_not_consent_is_told_and_thanked(site: Any, visit: Any) -> None:
    page = visit(site("pairwise", consent="Do you?").link())
    page.get_by_role("button", name="I do not agree").click()
    reach(page, "Thank you for your interest")
    page.reload()
    reach(page, "Thank you for your interest")


def test_the_code_is_copied(site: Any, visit: Any) -> None:
    place = site("pairwise", consent="Do you?")
    page = visit(place.link(), permissions=["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="I do not agree").click()
    page.get_by_role("button", name="Copy").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == place.desk.campaign.codes.screened_out


def test_a_preview_shows_the_work_and_writes_nothing(site: Any, visit: Any, shot: Any) -> None:
    place = site("rating", consent="Do you?", instructions="Read.")
    page = visit(place.preview)
    posts: list[str] = []
    page.on("request", lambda call: call.method == "POST" and posts.append(call.url))
    page.get_by_role("button", name="Go on with the preview").click()
    reach(page, "Instructions")
    press(page, "Enter")
    reach(page, "How good is each summary?")
    shot(page, "task")
    assert "nothing you enter is saved" in page.locator("#notices").inner_text()
    press(page, *"3" * page.locator("fieldset").count(), "Enter")
    assert "nothing is sent or saved" in page.locator(".wanting-text").inner_text()
    assert posts == []
    assert place.desk.log.last_seq == 0
    assert page.evaluate("localStorage.length") == 0


def test_without_a_link_nobody_works(site: Any, visit: Any) -> None:
    place = site("pairwise")
    page = visit(f"{place.url}/work")
    page.forgiven = "401"
    assert heading(page) == "Open this page with your link"
    page.goto(f"{place.url}/?token=anna.0000")
    assert heading(page) == "Open this page with your link"


def test_pausing_and_coming_back(site: Any, visit: Any, shot: Any) -> None:
    place = site("pairwise")
    page = visit(place.link())
    page.locator("form.task").wait_for()
    assert page.locator("#lease").inner_text() == "60 min left"
    press(page, "a", "Enter")
    until(page, lambda: len(place.answers()) == 1)
    page.get_by_role("button", name="Pause").click()
    assert "1 of 3 tasks are answered" in page.get_by_role("dialog").inner_text()
    assert "kept for you for 60 minutes" in page.get_by_role("dialog").inner_text()
    shot(page, "pause")
    press(page, "Escape")
    assert page.get_by_role("dialog").count() == 0
    elsewhere = visit(place.link(), phone=True)
    reach(elsewhere, "2 of 3")
    assert elsewhere.get_by_role("button", name="Task 1, answered").is_visible()


def test_open_tasks_can_be_given_back(site: Any, visit: Any) -> None:
    place = site("pairwise")
    page = visit(place.link())
    page.locator("form.task").wait_for()
    press(page, "a", "Enter")
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Give back 2 open tasks").click()
    page.get_by_role("button", name="Give them back").click()
    reach(page, "1 batch finished")
    assert len(place.events("returned")) == 2
    page.get_by_role("button", name="Work on the next batch").click()
    reach(page, "1 of 3")


def test_going_back_and_changing_an_answer(site: Any, visit: Any) -> None:
    place = site("pairwise", aspects=["coverage"])
    page = visit(place.link())
    page.locator("form.task").wait_for()
    press(page, "a", "Enter")
    reach(page, "2 of 3")
    until(page, lambda: len(place.answers()) == 1)
    press(page, "u")
    reach(page, "1 of 3")
    until(page, lambda: page.locator(".earlier").inner_text().startswith("Your answer is saved"))
    assert page.get_by_role("radio", name="Summary A").is_checked()
    press(page, "b", "Enter")
    systems = place.desk.letters("anna", place.desk.tasks.work[0])
    until(page, lambda: place.answers()[0]["choices"]["coverage"] == systems[1])
    assert len(place.answers()) == 1
    press(page, "[")
    reach(page, "1 of 3")
    press(page, "]", "]")
    reach(page, "3 of 3")


def test_single_keys_can_be_switched_off(site: Any, visit: Any) -> None:
    page = visit(site("pairwise").link())
    page.locator("form.task").wait_for()
    press(page, "?")
    page.get_by_label("Use single keys as shortcuts").uncheck()
    page.get_by_role("button", name="Close").click()
    press(page, "a", "?")
    assert page.locator("input:checked, dialog").count() == 0
    page.reload()
    page.locator("form.task").wait_for()
    press(page, "a")
    assert page.locator("input:checked").count() == 0


def test_keys_do_nothing_in_text_fields(site: Any, visit: Any) -> None:
    page = visit(site("pairwise").link())
    page.get_by_label("Why?").fill("")
    page.get_by_label("Why?").focus()
    page.keyboard.type("ab?i[]u 12")
    assert page.get_by_label("Why?").input_value() == "ab?i[]u 12"
    assert page.locator("input:checked, dialog").count() == 0


def test_the_least_time_is_asked_for_gently(site: Any, visit: Any) -> None:
    place = site("pairwise", minimum_seconds=2)
    page = visit(place.link())
    page.locator("form.task").wait_for()
    press(page, "a", "Enter")
    assert "A little longer with the text" in page.locator(".wanting-text").inner_text()
    assert place.answers() == []
    until(page, lambda: page.locator("button.send").get_attribute("aria-disabled") == "false")
    press(page, "Enter")
    reach(page, "2 of 3")
    until(page, lambda: len(place.answers()) == 1)


def test_pay_so_far(site: Any, visit: Any) -> None:
    page = visit(site("pairwise", pay={"currency": "EUR", "per_batch": 2.5}).link())
    page.locator("form.task").wait_for()
    assert page.locator("#pay").inner_text() == "Pay so far €0.00"
