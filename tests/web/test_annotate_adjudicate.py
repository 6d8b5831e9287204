"""The adjudication page in a real browser: every kind of task, mouse, keys alone, touch, blind unless asked, undone."""

from __future__ import annotations

from typing import Any

import pytest
from annotate import crowds
from web import annotate_campaigns as made
from web.steps import expect, fits, moving_on, resize, task, until
from web.test_annotate_safe import axe

pytestmark = pytest.mark.web
__all__ = ["axe"]

TYPES = ["entity error", "relation error"]
ACCOUNTS = {"name": "local", "accounts": ["zoe-annotator", "kim-annotator"]}
ZOE, KIM = ACCOUNTS["accounts"]


def opposed(work: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Two stored answers to a task that differ, the second with a text that its annotator typed."""
    body, why = work.body, {"comment": "I read it twice."}
    match work.kind:
        case "fact_verification":
            return {"label": "supported", "error_types": []}, {"label": "not_supported", "error_types": TYPES, **why}
        case "key_fact_validation":
            yes = dict.fromkeys(("significant", "correct", "relevant"), True)
            return {**yes, "why": None}, {**yes, "correct": False, "why": "The year is wrong."}
        case "key_fact_alignment":
            return {"sentences": [0], "none": False}, {"sentences": [], "none": True, **why}
        case "rating":
            cells = {system: {entry["name"]: 4 for entry in body["aspects"]} for system in work.systems}
            low = {system: dict.fromkeys(given, 2) for system, given in cells.items()}
            return {"ratings": cells, "best": work.systems[0]}, {"ratings": low, "best": work.systems[-1], **why}
        case "span_highlighting":
            mark = {"start": 0, "end": 3, "kind": "contradicted", "category": TYPES[0], "reason": "Not that one."}
            return {"spans": [], "none": True}, {"spans": [mark], "none": False}
        case "pairwise":
            left, right = (dict.fromkeys([entry["name"] for entry in body["aspects"]], one) for one in work.systems)
            return {"choices": left, "reason": None}, {"choices": right, "reason": "It is shorter."}
    raise AssertionError(work.kind)


def split(place: Any, most: int | None = None) -> list[Any]:
    """Two annotators who differ on the first `most` tasks; the tasks in the order of the work."""
    tasks = list(place.service.tasks.work[:most])
    for work in tasks:
        first, second = opposed(work)
        crowds.say(place.service, work.key, {ZOE: first, KIM: second})
    return tasks


def queue(page: Any, place: Any) -> Any:
    """The page, at its first task."""
    page.goto(f"{place.url}/admin/adjudicate")
    task(page)
    return page


def opened(site: Any, visit: Any, kind: str, most: int | None = None, **options: Any) -> tuple[Any, Any, list[Any]]:
    looks = {name: options.pop(name) for name in ("phone", "scheme") if name in options}
    place = site(kind, platform=ACCOUNTS, instructions=made.INSTRUCTIONS, **options)
    tasks = split(place, most)
    return place, queue(visit(place.admin, **looks), place), tasks


def decisions(place: Any, count: int, page: Any) -> list[Any]:
    """The decisions in the log, once there are `count`."""
    until(page, lambda: len(place.events("adjudicated")) >= count)
    return list(place.events("adjudicated"))


@pytest.mark.parametrize("kind", made.KINDS)
def test_every_kind_by_mouse(site: Any, visit: Any, shot: Any, axe: Any, kind: str) -> None:
    place, page, _ = opened(site, visit, kind, 2)
    expect(page.locator(".answers .option")).to_have_count(2)
    expect(page.locator(".pane")).to_be_visible()
    assert axe(page) == []
    shot(page, "desk")
    sent: list[str] = []
    page.on("request", lambda call: sent.append(call.url))
    page.locator(".answers .option label").nth(1).click()
    expect(page.locator(".answers input").nth(1)).to_be_checked()
    shot(page, "taken")
    taken = page.locator(".answers .option").nth(1).locator("dd").all_inner_texts()
    moving_on(page, lambda: page.locator("button.send").click())
    (event,) = decisions(place, 1, page)
    work = place.service.tasks.by_key[event.task]
    answers = [{"machine": None, "comment": None, **one} for one in opposed(work)]
    assert {**event.data["answer"], "comment": None} in [{**one, "comment": None} for one in answers]
    assert (event.data["by"], event.data["blind"]) == ("admin", True)
    letters = place.service.folder.letters("adjudicator", work)
    shown = place.service.kind.parts(work, place.service.kind.relettered(event.data["answer"], letters))
    assert {value for _, value in shown} <= set(taken)
    for width in (1100, 390):
        resize(page, width)
        fits(page)
        shot(page, f"{width}")
