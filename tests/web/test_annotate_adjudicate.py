"""Adjudication in a browser: by mouse, keys and touch, for every task type."""

from __future__ import annotations

from typing import Any

import pytest
from annotate import crowds
from report import xss
from web import annotate_campaigns as made
from web.steps import expect, fits, moving_on, press, reach, resize, task, until
from web.test_annotate_keys import chips
from web.test_annotate_safe import axe

pytestmark = pytest.mark.web
__all__ = ["axe"]

TYPES = ["entity error", "relation error"]
ACCOUNTS = {"name": "local", "accounts": ["zoe-annotator", "kim-annotator"]}
ZOE, KIM = ACCOUNTS["accounts"]


def opposed(place: Any, work: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return two stored answers to a task that differ; the second contains a text that its annotator typed."""
    yes = dict.fromkeys(("significant", "correct", "relevant"), True)
    mark = {"start": 0, "end": 3, "kind": "contradicted", "category": TYPES[0], "reason": "Not that one."}
    asks = place.service.task_type.asks
    first, second = {
        "fact_verification": ({"label": "supported"}, {"label": "not_supported", "error_types": TYPES}),
        "key_fact_validation": (yes, {**yes, "correct": False, "why": "The year is wrong."}),
        "key_fact_alignment": ({"sentences": [0]}, {"sentences": []}),
        "span_highlighting": ({"spans": []}, {"spans": [mark]}),
    }.get(place.service.task_type.name, ({}, {}))
    if place.service.task_type.name == "pairwise":
        first, second = ({one.name: system for one in asks if one.type == "summary"} for system in work.systems)
    if place.service.task_type.name != "rating":
        return {"values": first}, {"values": second, "comment": "I read it twice."}
    high, low = (
        {system: {one.name: value for one in asks if one.each_summary} for system in work.systems} for value in (4, 2)
    )
    best, other = ({"best": work.systems[at]} for at in (0, -1))
    return {"values": best, "summaries": high}, {"values": other, "summaries": low}


def opened(
    site: Any, visit: Any, task_type: str, most: int | None = None, **options: Any
) -> tuple[Any, Any, list[Any]]:
    """Open the adjudicator's page at its first task; two annotators differ on the first `most` tasks."""
    looks = {name: options.pop(name) for name in ("phone", "scheme") if name in options}
    place = site(task_type, platform=ACCOUNTS, instructions=made.INSTRUCTIONS, **options)
    tasks = list(place.service.tasks.work[:most])
    for work in tasks:
        first, second = opposed(place, work)
        crowds.say(place.service, work.key, {ZOE: first, KIM: second})
    page = visit(place.admin, **looks)
    page.goto(f"{place.url}/admin/adjudicate?name=lead")
    task(page)
    return place, page, tasks


def decided(place: Any, count: int, page: Any) -> list[Any]:
    """Wait until the log has `count` answers of the adjudicator, and return them."""

    def events() -> list[Any]:
        return [one for one in place.events("answered") if one.annotator == "adjudicator:lead"]

    until(page, lambda: len(events()) >= count)
    return events()


@pytest.mark.parametrize("task_type", made.TASK_TYPES)
def test_adjudicates_every_task_type_by_mouse(site: Any, visit: Any, shot: Any, axe: Any, task_type: str) -> None:
    place, page, _ = opened(site, visit, task_type, 2)
    expect(page.locator(".answers .option")).to_have_count(2)
    expect(page.locator(".pane")).to_be_visible()
    assert axe(page) == []
    shot(page, "desk")
    page.locator(".answers .option label").nth(1).click()
    expect(page.locator(".answers input").nth(1)).to_be_checked()
    shot(page, "taken")
    moving_on(page, lambda: page.locator("button.send").click())
    (event,) = decided(place, 1, page)
    stored = event.data["answer"]
    given = opposed(place, place.service.tasks.by_key[event.task])
    assert (stored["values"], stored.get("summaries", {})) in [
        (one["values"], one.get("summaries", {})) for one in given
    ]
    for width in (1440, 390):
        resize(page, width)
        fits(page)
        shot(page, f"{width}")


@pytest.mark.parametrize("task_type", made.TASK_TYPES)
def test_adjudicates_every_task_type_by_keyboard(site: Any, visit: Any, task_type: str) -> None:
    """One key adopts an answer and another sends it; a later answer replaces the first."""
    place, page, _ = opened(site, visit, task_type, 2)
    shown = chips(page)
    assert [shown[key]["label"] for key in ("q", "w")] == ["Answer 1", "Answer 2"]
    press(page, "w")
    expect(page.locator("button.send")).to_be_focused()
    moving_on(page, lambda: press(page, "Enter"))
    (first,) = decided(place, 1, page)
    press(page, "u")
    expect(page.locator(".answers input").nth(1)).to_be_checked()
    press(page, "q")
    moving_on(page, lambda: press(page, "Enter"))
    second = decided(place, 2, page)[-1]
    assert second.task == first.task
    assert second.data["answer"]["values"] != first.data["answer"]["values"]
    assert place.service.state.adjudicated[first.task].seq == second.seq


def test_the_adjudicator_enters_and_withdraws_a_new_answer(site: Any, visit: Any) -> None:
    place, page, _ = opened(site, visit, "fact_verification", 1)
    press(page, "c")
    page.keyboard.type("neither of the two")
    other = page.locator(".answers .option", has_text="Not supported").locator("label")
    other.click()
    page.locator("label", has_text="sentence error").click()
    expect(page.locator(".answers input:checked")).to_have_count(0)
    page.locator("button.send").click()
    reach(page, "No disputes are left")
    (event,) = decided(place, 1, page)
    answer = event.data["answer"]
    assert (answer["comment"], answer["values"]["error_types"]) == ("neither of the two", [*TYPES, "sentence error"])
    press(page, "u")
    page.get_by_role("button", name="Revert the decision").click()
    expect(page.locator(".earlier")).to_have_count(0)
    until(page, lambda: place.service.state.adjudicated == {})
    # The form shows the entered answer, which can be changed and sent again.
    expect(page.get_by_role("checkbox", name="sentence error")).to_be_checked()
    moving_on(page, lambda: page.locator("button.send").click())
    decided(place, 2, page)


def test_later_disagreements_are_offered(site: Any, visit: Any) -> None:
    place, page, (work,) = opened(site, visit, "fact_verification", 1)
    press(page, "q")
    moving_on(page, lambda: press(page, "Enter"))
    reach(page, "No disputes are left")
    later = next(one for one in place.service.tasks.work if one.key != work.key)
    crowds.say(place.service, later.key, {ZOE: crowds.YES, KIM: crowds.NO})
    page.get_by_role("button", name="Check for more disputes").click()
    task(page)
    expect(page.locator("h1")).to_contain_text("2 of 2")


@pytest.mark.parametrize("task_type", ["rating", "span_highlighting"])
def test_adjudicates_by_touch_on_a_phone_in_dark_mode(site: Any, visit: Any, shot: Any, task_type: str) -> None:
    place, page, _ = opened(site, visit, task_type, 1, phone=True, scheme="dark")
    page.locator(".answers .option label").first.tap()
    expect(page.locator(".answers input").first).to_be_checked()
    fits(page)
    shot(page, "phone")
    moving_on(page, lambda: page.locator("button.send").tap())
    decided(place, 1, page)
    reach(page, "No disputes are left")
    fits(page)


def test_hostile_texts_are_displayed_as_text(site: Any, visit: Any, axe: Any) -> None:
    place = site("fact_verification", platform=ACCOUNTS)
    crowds.say(place.service, place.service.tasks.work[0].key,
               {ZOE: crowds.YES, KIM: {**crowds.NO, "comment": xss.CORPUS[0]}})  # fmt: skip
    page = visit(place.admin)
    page.goto(f"{place.url}/admin/adjudicate")
    task(page)
    expect(page.locator(".answers")).to_contain_text(xss.CORPUS[0])
    assert axe(page) == []
