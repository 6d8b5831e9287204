"""The adjudication page in a real browser: every kind of task, mouse, keys alone, touch, blind unless asked, undone."""

from __future__ import annotations

from typing import Any

import pytest
from annotate import campaigns, crowds
from report import xss
from web import annotate_campaigns as made
from web.steps import begins, expect, fits, moving_on, press, reach, resize, task, until
from web.test_annotate_keys import chips
from web.test_annotate_safe import axe

from summeter.annotate.analysis.adjudicate import Decision, adjudicate

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
            return {**yes, "why": None, "edit": None}, {
                **yes,
                "correct": False,
                "why": "The year is wrong.",
                "edit": None,
            }
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


def many(site: Any, visit: Any, count: int, **options: Any) -> tuple[Any, Any, list[Any]]:
    """At least `count` disputed sentences."""
    return opened(site, visit, "fact_verification", count, given=campaigns.rows((count + 3) // 4), **options)


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


@pytest.mark.parametrize("kind", made.KINDS)
def test_every_kind_by_keys_alone(site: Any, visit: Any, kind: str) -> None:
    """What is beside a chip is what is decided; a key that takes an answer and one that sends it are enough."""
    place, page, _ = opened(site, visit, kind, 2)
    shown = chips(page)
    assert [shown[key]["label"] for key in ("q", "w")] == ["Answer 1", "Answer 2"]
    card = page.locator(".answers .option").nth(1).locator(".parts")
    values = card.evaluate_all(
        "nodes => nodes.flatMap((one) => [...one.querySelectorAll('dd')].map((dd) => dd.textContent))"
    )
    press(page, "w")
    expect(page.locator("button.send")).to_be_focused()
    moving_on(page, lambda: press(page, "Enter"))
    (event,) = decisions(place, 1, page)
    work = place.service.tasks.by_key[event.task]
    letters = place.service.folder.letters("adjudicator", work)
    parts = place.service.kind.parts(work, place.service.kind.relettered(event.data["answer"], letters))
    assert {value for _, value in parts} <= set(values)
    press(page, "u")
    expect(page.locator(".answers input").nth(1)).to_be_checked()
    assert [one.task for one in place.events("reopened")] == [event.task]
    assert place.service.state.adjudicated == {}


def test_fifty_by_keys_alone_with_at_most_three_keys_each(site: Any, visit: Any) -> None:
    place, page, tasks = many(site, visit, 50)
    assert len(tasks) == 50
    pressed = 0
    for at in range(50):
        expect(page.locator(".answers input")).to_have_count(2)
        title = page.locator("h1")
        before = title.inner_text()
        for key in ("qw"[at % 2], "Enter"):
            press(page, key)
            pressed += 1
        expect(title).not_to_have_text(before)
    reach(page, "Nothing is left to decide")
    events = decisions(place, 50, page)
    assert len({event.task for event in events}) == len(events) == 50
    assert pressed <= 3 * 50
    order = place.service.folder.names.order
    for at, event in enumerate(events):
        who = order("adjudicator", event.task, (ZOE, KIM))[at % 2]
        answer = place.service.state.people[who].answers[event.task].answer
        assert event.data["answer"]["label"] == answer["label"]
        assert event.data["answer"]["error_types"] == answer["error_types"]


def test_an_answer_of_ones_own_in_the_tasks_form(site: Any, visit: Any, shot: Any) -> None:
    """A third answer, begun from one of the two; all error types of it are stored, with the reason."""
    place, page, _ = opened(site, visit, "fact_verification", 1, assistance={"similar": {"share": 0.3}})
    page.locator(".answers .option", has_text="not supported").locator("label").click()
    page.get_by_role("group", name="What is wrong with it?").locator("label", has_text="sentence error").click()
    expect(page.locator(".answers input:checked")).to_have_count(0)
    press(page, "c")
    page.keyboard.type("All three.")
    shot(page, "own")
    moving_on(page, lambda: press(page, "Control+Enter"))
    (event,) = decisions(place, 1, page)
    assert event.data["answer"]["error_types"] == [*TYPES, "sentence error"]
    assert (event.data["answer"]["comment"], event.data["reason"]) == ("All three.", "All three.")


def test_what_was_entered_comes_back_after_an_answer_was_taken(site: Any, visit: Any) -> None:
    place, page, _ = opened(site, visit, "span_highlighting", 1)
    page.locator(".marking").focus()
    press(page, "ArrowRight", "ArrowRight", "Enter")
    page.get_by_label("Why? (may be left empty)").fill("typed by hand")
    back = page.get_by_role("button", name="Back to what you had entered")
    expect(back).to_have_count(0)
    page.locator(".answers .option label").first.click()
    expect(page.locator(".answers input").first).to_be_checked()
    back.click()
    expect(page.get_by_label("Why? (may be left empty)")).to_have_value("typed by hand")
    expect(page.locator(".answers input:checked")).to_have_count(0)
    assert place.events("adjudicated") == []


def test_nothing_typed_is_lost_and_what_is_incomplete_is_not_sent(site: Any, visit: Any) -> None:
    place, page, _ = opened(site, visit, "fact_verification", 3)
    press(page, "2")
    press(page, "c")
    page.keyboard.type("half a thought")
    page.locator("h1").click()
    moving_on(page, lambda: press(page, "]"))
    press(page, "q")
    moving_on(page, lambda: press(page, "Enter"))
    decisions(place, 1, page)
    page.reload()
    reach(page, "1 of 3")
    expect(page.get_by_label("Reason, if you give one")).to_have_value("half a thought")
    expect(page.get_by_role("radio", name="Not supported")).to_be_checked()
    page.locator("button.send").click()
    expect(page.locator(".wanting-text")).to_have_text(begins("Say what is wrong"))
    assert len(place.events("adjudicated")) == 1


def test_more_than_twenty_open_and_what_is_decided_can_be_found_and_changed(
    site: Any, visit: Any, shot: Any, axe: Any
) -> None:
    place, page, _ = many(site, visit, 28)
    items = page.locator(".queue .item")
    expect(items).to_have_count(20)
    page.get_by_role("button", name="Show 8 more of 8").click()
    expect(items).to_have_count(28)
    page.get_by_label("Find in texts and documents").fill("doc6")
    expect(items).to_have_count(4)
    moving_on(page, lambda: items.nth(3).click())
    reach(page, "28 of 28")
    press(page, "q")
    moving_on(page, lambda: press(page, "Enter"))
    (first,) = decisions(place, 1, page)
    page.get_by_label("Find in texts and documents").fill("")
    page.get_by_role("button", name="Decided (1)").click()
    expect(items).to_have_count(1)
    shot(page, "decided")
    moving_on(page, items.first.click)
    expect(page.locator(".earlier")).to_have_text(begins("Decided by admin: "))
    expect(page.locator(".answers input").nth(0)).to_be_checked()
    assert axe(page) == []
    press(page, "w")
    moving_on(page, lambda: press(page, "Enter"))
    last = decisions(place, 2, page)[-1]
    assert (first.task, first.data["answer"]["label"]) != (last.task, last.data["answer"]["label"])
    assert first.task == last.task
    press(page, "u")  # back to the first decision
    until(page, lambda: place.service.state.adjudicated[first.task].data["answer"] == first.data["answer"])
    expect(page.locator(".earlier")).to_have_text(begins("Decided by admin: "))
    page.get_by_role("button", name="Take it back").click()
    until(page, lambda: place.service.state.adjudicated == {})
    expect(page.locator(".differing")).to_contain_text("1 supported")


def test_undo_leaves_the_decision_of_another_as_it_was(site: Any, visit: Any) -> None:
    place = site("fact_verification", platform=ACCOUNTS)
    (work,) = split(place, 1)
    (first,) = adjudicate(place.service, [Decision(work.key, opposed(work)[0], "the date", "lead")])
    page = visit(place.admin)
    page.goto(f"{place.url}/admin/adjudicate")
    reach(page, "Nothing is left to decide")
    page.locator(".queue .item").click()
    task(page)
    page.locator(".answers .option", has_text="not supported").locator("label").click()
    page.locator("button.send").click()
    reach(page, "Nothing is left to decide")
    assert decisions(place, 2, page)[-1].data["by"] == "admin"
    press(page, "u")
    expect(page.locator(".earlier")).to_have_text(begins("Decided by lead: supported – the date."))
    assert place.service.state.adjudicated == {work.key: first}
    assert len(place.events("adjudicated")) == 2


def test_a_reason_that_was_cleared_stays_cleared(site: Any, visit: Any) -> None:
    place = site("fact_verification", platform=ACCOUNTS)
    (work,) = split(place, 1)
    adjudicate(place.service, [Decision(work.key, opposed(work)[0], "the date", "lead")])
    page = visit(place.admin)
    page.goto(f"{place.url}/admin/adjudicate")
    page.locator(".queue .item").click()
    reason = page.get_by_label("Reason, if you give one")
    expect(reason).to_have_value("the date")
    reason.fill("")
    page.locator(".answers .option", has_text="not supported").locator("label").click()
    expect(page.locator(".answers .option", has_text="not supported").locator("input")).to_be_checked()
    expect(reason).to_have_value("")
    page.reload()
    page.locator(".queue .item").click()
    expect(reason).to_have_value("")
    page.locator("button.send").click()
    reach(page, "Nothing is left to decide")
    assert decisions(place, 2, page)[-1].data["reason"] is None


def test_blind_until_asked(site: Any, visit: Any, axe: Any) -> None:
    """Neither the page nor anything that was sent to it names a system or an annotator."""
    place = site("pairwise", platform=ACCOUNTS, attention={"rate": 0.2})
    split(place, 2)
    page = visit(place.admin)
    sent: list[Any] = []
    page.on("response", lambda reply: sent.append(reply) if "/api/admin/disp" in reply.url else None)
    queue(page, place)
    systems = {name for work in place.service.tasks.work for name in work.systems}
    texts = [reply.text() for reply in sent] + [page.content()]
    for name in (*systems, ZOE, KIM, '"expected"', '"loser"'):
        assert [text for text in texts if name in text] == []
    box = page.get_by_label("Show who answered, and which system wrote the summary")
    box.check()
    expect(page.locator(".answers .option").first).to_contain_text("-annotator")
    expect(page.locator(".names")).to_contain_text(
        place.service.folder.letters("adjudicator", place.service.tasks.work[0])[0]
    )
    expect(box).to_be_focused()
    assert axe(page) == []
    box.uncheck()
    expect(page.locator(".answers .option").first).not_to_contain_text("-annotator")
    press(page, "q")
    moving_on(page, lambda: press(page, "Enter"))
    assert decisions(place, 1, page)[0].data["blind"] is False


def test_somebody_else_has_decided_meanwhile(site: Any, visit: Any) -> None:
    place, page, _ = opened(site, visit, "fact_verification", 2)
    page.forgiven = "409"
    other = visit(f"{place.url}/admin/adjudicate", context=page.context)
    other.forgiven = "409"
    task(other)
    press(page, "q")
    moving_on(page, lambda: press(page, "Enter"))
    first = decisions(place, 1, page)[0]
    press(other, "w", "c")
    other.keyboard.type("my own view")
    press(other, "Control+Enter")
    expect(other.locator("#notice-trouble")).to_contain_text("Meanwhile this was decided by admin")
    expect(other.locator(".earlier")).to_have_text(begins("Decided by admin: "))
    expect(other.get_by_label("Reason, if you give one")).to_have_value("my own view")
    assert len(place.events("adjudicated")) == 1
    moving_on(other, lambda: press(other, "Control+Enter"))
    last = decisions(place, 2, other)[-1]
    assert (last.task, last.data["reason"]) == (first.task, "my own view")


def test_the_machines_reason_stands_with_its_verdict(site: Any, visit: Any) -> None:
    _, page, _ = opened(site, visit, "fact_verification", 2)
    expect(page.locator(".machine")).to_contain_text("supported by the document")
    expect(page.locator(".machine blockquote")).to_have_text("The document says the same.")
    press(page, "a")
    expect(page.get_by_role("radio", name="Supported", exact=True)).to_be_checked()


@pytest.mark.parametrize("kind", made.KINDS)
def test_by_touch_on_a_phone_in_the_dark(site: Any, visit: Any, shot: Any, kind: str) -> None:
    place, page, _ = opened(site, visit, kind, 1, phone=True, scheme="dark")
    page.locator(".answers .option label").first.tap()
    expect(page.locator(".answers input").first).to_be_checked()
    fits(page)
    shot(page, "phone")
    moving_on(page, lambda: page.locator("button.send").tap())
    decisions(place, 1, page)
    reach(page, "Nothing is left to decide")
    fits(page)
    page.get_by_role("button", name="Take back the last decision").tap()
    task(page)
    assert len(place.events("reopened")) == 1


def test_hostile_texts_are_texts(site: Any, visit: Any, axe: Any) -> None:
    place = site("fact_verification", platform=ACCOUNTS)
    work = place.service.tasks.work[0]
    first, second = opposed(work)
    crowds.say(place.service, work.key, {ZOE: first, KIM: {**second, "comment": xss.CORPUS[0]}})
    page = queue(visit(place.admin), place)
    expect(page.locator(".answers")).to_contain_text(xss.CORPUS[0])
    press(page, "q")
    moving_on(page, lambda: press(page, "Enter"))
    reach(page, "Nothing is left to decide")
    assert axe(page) == []
