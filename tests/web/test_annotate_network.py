"""Nothing a person answered is lost: dropped requests, reloads, a server that is away, other tabs, other devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from web.annotate_site import Served

pytestmark = pytest.mark.web

NETWORK = r"Failed to load resource|status of (40|42|50)"


def until(page: Any, condition: Callable[[], bool]) -> None:
    for _ in range(400):
        if condition():
            return
        page.wait_for_timeout(50)
    raise AssertionError("it did not come to pass within twenty seconds")


def heading(page: Any) -> str:
    return str(page.locator("h1").inner_text())


def reach(page: Any, title: str) -> None:
    until(page, lambda: title in heading(page))


def answer(page: Any, key: str = "a") -> None:
    before = heading(page)
    page.locator("form.task").wait_for()
    page.locator("h1").focus()
    page.keyboard.press(key)
    page.locator("button.send").click()
    until(page, lambda: heading(page) != before)


def begin(site: Any, visit: Any, **options: Any) -> Any:
    page = visit(site.link(), **options)
    page.forgiven = NETWORK
    page.locator("form.task").wait_for()
    return page


def waiting(page: Any) -> str:
    return str(page.locator("#waiting").inner_text())


def test_answers_wait_survive_a_reload_and_arrive(site: Any, visit: Any, shot: Any) -> None:
    place = site("pairwise")
    page = begin(place, visit)
    page.route("**/api/answers", lambda route: route.abort())
    answer(page)
    answer(page, "b")
    until(page, lambda: waiting(page) == "2 answers waiting to be sent")
    page.locator("#notice-offline").wait_for()
    shot(page, "waiting")
    assert "saved" not in page.locator("main").inner_text()
    page.keyboard.press("[")
    assert page.locator(".earlier").inner_text().startswith("Your answer is waiting to be sent")
    page.reload()
    until(page, lambda: waiting(page) == "2 answers waiting to be sent")
    reach(page, "3 of 3")
    answer(page)
    reach(page, "All tasks of this batch are answered")
    assert "3 answers waiting" in page.locator("#finish-said").inner_text()
    assert place.answers() == []
    page.unroute("**/api/answers")
    until(page, lambda: page.locator("#waiting").is_hidden())
    assert page.locator("#finish-said").inner_text() == "All your answers are saved."
    assert len(place.answers()) == 3
    assert len(place.events("answered")) == 3
    page.get_by_role("button", name="Finish this batch").click()
    reach(page, "1 batch finished")


def test_an_answer_whose_reply_is_lost_is_stored_once(site: Any, visit: Any) -> None:
    place = site("pairwise")
    page = begin(place, visit)
    sent: list[str] = []

    def swallow(route: Any) -> None:
        sent.append(route.request.post_data_json["answer_id"])
        if len(sent) <= 2:
            route.fetch()
            route.abort()
        else:
            route.continue_()

    page.route("**/api/answers", swallow)
    answer(page)
    until(page, lambda: len(sent) == 3 and page.locator("#waiting").is_hidden())
    assert len(set(sent)) == 1
    assert len(place.events("answered")) == 1


def test_a_server_that_is_away_for_a_while(site: Any, visit: Any) -> None:
    place = site("pairwise")
    page = visit(place.link())
    page.forgiven = NETWORK
    page.locator("form.task").wait_for()
    page.route(
        "**/api/**", lambda route: route.fulfill(status=503, json={"error": {"code": "busy", "message": "busy"}})
    )
    answer(page)
    answer(page)
    answer(page)
    page.get_by_role("button", name="Finish this batch").click()
    page.wait_for_timeout(500)
    assert place.answers() == []
    page.unroute("**/api/**")
    reach(page, "1 batch finished")
    assert len(place.answers()) == 3


def test_a_restarted_server_goes_on(site: Any, visit: Any) -> None:
    place = site("pairwise")
    with Served(place.desk) as port:
        page = visit(f"http://127.0.0.1:{port}/{place.desk.folder.links()['anna']}")
        page.forgiven = NETWORK
        answer(page)
        until(page, lambda: len(place.answers()) == 1)
    answer(page)
    until(page, lambda: waiting(page) == "1 answer waiting to be sent")
    with Served(place.desk, port):
        until(page, lambda: len(place.answers()) == 2)
        until(page, lambda: page.locator("#waiting").is_hidden())


def test_a_draft_survives_a_reload(site: Any, visit: Any) -> None:
    place = site("span_highlighting")
    page = begin(place, visit)
    page.locator(".marking").focus()
    for key in ("Shift+ArrowRight", "Enter", "1"):
        page.keyboard.press(key)
    page.get_by_label("Why?").fill("half a tho")
    page.reload()
    page.locator(".span-item").wait_for()
    assert page.get_by_label("Why?").input_value() == "half a tho"
    assert page.get_by_role("radio", name="contradicted").is_checked()
    assert place.answers() == []


def test_another_device_takes_over_and_its_answer_beats_an_old_draft(site: Any, visit: Any) -> None:
    place = site("pairwise", aspects=["coverage"])
    here = begin(place, visit)
    here.keyboard.press("a")
    there = begin(place, visit, phone=True)
    assert there.locator("input:checked").count() == 0
    answer(there, "b")
    until(there, lambda: len(place.answers()) == 1)
    here.reload()
    reach(here, "2 of 3")
    here.keyboard.press("[")
    assert here.get_by_role("radio", name="Summary B").is_checked()


def test_two_tabs_of_one_person(site: Any, visit: Any) -> None:
    place = site("pairwise", aspects=["coverage"])
    one = begin(place, visit)
    two = begin(place, visit, context=one.context)
    answer(one, "a")
    two.locator("#notice-elsewhere").wait_for()
    answer(two, "b")
    until(two, lambda: two.locator("#waiting").is_hidden())
    systems = place.desk.letters("anna", place.desk.tasks.work[0])
    assert [one["choices"]["coverage"] for one in place.answers()] == [systems[1]]
    reach(two, "2 of 3")
    answer(one)
    answer(one)
    reach(one, "All tasks of this batch are answered")
    one.get_by_role("button", name="Finish this batch").click()
    reach(one, "1 batch finished")
    reach(two, "1 batch finished")


def test_two_people_in_one_browser_are_kept_apart(site: Any, visit: Any) -> None:
    place = site("pairwise", aspects=["coverage"])
    page = begin(place, visit)
    page.route("**/api/answers", lambda route: route.abort())
    answer(page, "a")
    until(page, lambda: waiting(page) == "1 answer waiting to be sent")
    page.unroute("**/api/answers")
    page.route("**/api/answers", lambda route: route.abort(), times=1)
    other = begin(place, visit, context=page.context)
    other.goto(place.link("ben"))
    other.locator("form.task").wait_for()
    assert other.locator("#waiting").is_hidden()
    assert heading(other).startswith("1 of 3")
    other.goto(place.link("anna"))
    until(other, lambda: len(place.answers("anna")) == 1)
    assert place.answers("ben") == []


def test_what_the_server_refuses_comes_back_as_a_draft(site: Any, visit: Any, shot: Any) -> None:
    place = site("pairwise")
    page = begin(place, visit)
    refusal = {"error": {"code": "invalid", "message": "choose for each of: overall", "field": "answer.choices"}}
    page.route("**/api/answers", lambda route: route.fulfill(status=422, json=refusal), times=1)
    answer(page, "a")
    page.locator("#notice-refused").wait_for()
    assert "choose for each of: overall" in page.locator("#notice-refused").inner_text()
    shot(page, "refused")
    page.get_by_role("button", name="Go to it").click()
    reach(page, "1 of 3")
    assert page.get_by_role("radio", name="Summary A").is_checked()
    assert page.locator("#waiting").is_hidden()


def test_a_lost_session_keeps_the_answers(site: Any, visit: Any) -> None:
    place = site("pairwise")
    page = begin(place, visit)
    page.context.clear_cookies()
    answer(page, "a")
    page.locator("#notice-session").wait_for()
    assert waiting(page) == "1 answer waiting to be sent"
    page.goto(place.link())
    until(page, lambda: len(place.answers()) == 1)


def test_a_stale_token_is_renewed(site: Any, visit: Any) -> None:
    place = site("pairwise")
    page = begin(place, visit)
    refusal = {"error": {"code": "csrf", "message": "load the page again"}}
    page.route("**/api/answers", lambda route: route.fulfill(status=403, json=refusal), times=1)
    answer(page, "a")
    until(page, lambda: len(place.answers()) == 1)
    assert page.locator("#notice-refused").count() == 0


def test_a_browser_that_keeps_nothing_says_so_and_works(site: Any, visit: Any) -> None:
    place = site("pairwise")
    page = visit(f"{place.url}/")
    page.add_init_script("Storage.prototype.setItem = () => { throw new Error('full'); };")
    page.goto(place.link())
    page.locator("#notice-memory").wait_for()
    answer(page, "a")
    until(page, lambda: len(place.answers()) == 1)
    until(page, lambda: page.locator("#waiting").is_hidden())
