"""No answer is lost through failed requests, reloads, server outages, other tabs or other devices."""

from __future__ import annotations

from typing import Any

import pytest
from web.annotate_site import Served, reserved
from web.steps import begins, expect, moving_on, press, reach, sent, task, until

pytestmark = pytest.mark.web

NETWORK = r"Failed to load resource|status of (40|42|50)"


def answer(page: Any, key: str = "a") -> None:
    def give() -> None:
        page.locator("h1").focus()
        page.keyboard.press(key)
        page.locator("button.send").click()

    moving_on(page, give)


def begin(site: Any, visit: Any, **options: Any) -> Any:
    page = visit(site.link(), **options)
    page.forgiven = NETWORK
    task(page)
    return page


def waiting(page: Any, count: int) -> None:
    """Wait until the page displays that `count` answers are unsent; it displays nothing for none."""
    words = {0: "", 1: "1 answer waiting to be sent"}.get(count, f"{count} answers waiting to be sent")
    expect(page.locator("#waiting")).to_have_text(words)
    expect(page.locator("#waiting")).to_be_visible(visible=count > 0)


def test_unsent_answers_survive_a_reload_and_are_sent(site: Any, visit: Any, shot: Any) -> None:
    place = site("pairwise")
    page = begin(place, visit)
    page.route("**/api/answers", lambda route: route.abort())
    answer(page)
    answer(page, "b")
    waiting(page, 2)
    expect(page.locator("#notice-offline")).to_be_visible()
    shot(page, "waiting")
    expect(page.locator("main")).not_to_contain_text("saved")
    page.keyboard.press("[")
    expect(page.locator(".earlier")).to_have_text(begins("Your answer is waiting to be sent"))
    page.reload()
    reach(page, "3 of 3")
    waiting(page, 2)
    answer(page)
    reach(page, "All tasks of this batch are answered")
    expect(page.locator("#finish-said")).to_contain_text("3 answers are waiting")
    assert place.answers() == []
    page.unroute("**/api/answers")
    expect(page.locator("#finish-said")).to_have_text("All your answers are saved.")
    waiting(page, 0)
    assert len(place.answers()) == 3
    assert len(place.events("answered")) == 3
    page.get_by_role("button", name="Finish this batch").click()
    reach(page, "1 batch finished")


def test_an_answer_whose_reply_is_lost_is_stored_once(site: Any, visit: Any) -> None:
    place = site("pairwise")
    page = begin(place, visit)
    tried: list[str] = []

    def swallow(route: Any) -> None:
        tried.append(route.request.post_data_json["answer_id"])
        if len(tried) <= 2:
            route.fetch()
            route.abort()
        else:
            route.continue_()

    page.route("**/api/answers", swallow)
    answer(page)
    until(page, lambda: len(tried) == 3)
    waiting(page, 0)
    assert len(set(tried)) == 1
    until(page, lambda: len(place.events("answered")) == 1)


def test_answers_are_sent_after_a_server_outage(site: Any, visit: Any) -> None:
    place = site("pairwise")
    page = begin(place, visit)
    tried: list[str] = []

    def busy(route: Any) -> None:
        tried.append(route.request.url)
        route.fulfill(status=503, json={"error": {"code": "busy", "message": "busy"}})

    page.route("**/api/**", busy)
    answer(page)
    answer(page)
    answer(page)
    reach(page, "All tasks of this batch are answered")
    before = len(tried)
    page.get_by_role("button", name="Finish this batch").click()
    until(page, lambda: len(tried) >= before + 2)
    assert place.answers() == []
    page.unroute("**/api/**")
    reach(page, "1 batch finished")
    assert len(place.answers()) == 3


def test_work_continues_after_a_server_restart(site: Any, visit: Any) -> None:
    place = site("pairwise")
    with reserved() as port:
        with Served(place.service, port):
            page = visit(f"http://127.0.0.1:{port}/{place.service.folder.links()['anna']}")
            page.forgiven = NETWORK
            answer(page)
            sent(place, 1, page)
            waiting(page, 0)
        answer(page)
        waiting(page, 1)
        with Served(place.service, port):
            sent(place, 2, page)
            waiting(page, 0)


def test_a_draft_survives_a_reload(site: Any, visit: Any) -> None:
    place = site("span_highlighting")
    page = begin(place, visit)
    page.locator(".marking").focus()
    press(page, "Shift+ArrowRight", "Enter", "1")
    page.get_by_label("Why?").fill("half a tho")
    page.reload()
    expect(page.get_by_label("Why?")).to_have_value("half a tho")
    expect(page.get_by_role("radio", name="contradicted")).to_be_checked()
    assert place.answers() == []


def test_an_answer_from_another_device_replaces_an_older_draft(site: Any, visit: Any) -> None:
    place = site("pairwise", aspects=["coverage"])
    here = begin(place, visit)
    here.keyboard.press("a")
    there = begin(place, visit, phone=True)
    expect(there.locator("input:checked")).to_have_count(0)
    answer(there, "b")
    sent(place, 1, there)
    here.reload()
    reach(here, "2 of 3")
    here.keyboard.press("[")
    reach(here, "1 of 3")
    expect(here.get_by_role("radio", name="Summary B")).to_be_checked()


def test_two_tabs_of_one_person(site: Any, visit: Any) -> None:
    place = site("pairwise", aspects=["coverage"])
    one = begin(place, visit)
    two = begin(place, visit, context=one.context)
    answer(one, "a")
    expect(two.locator("#notice-elsewhere")).to_be_visible()
    answer(two, "b")
    systems = place.service.folder.letters("anna", place.service.tasks.work[0])
    until(two, lambda: [one["coverage"] for one in place.answers()] == [systems[1]])
    waiting(two, 0)
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
    waiting(page, 1)
    other = visit(place.link("ben"), context=page.context)
    reach(other, "1 of 3")
    waiting(other, 0)
    # The page of the first person is still open, but the browser session belongs to the second.
    page.unroute("**/api/answers")
    page.evaluate("dispatchEvent(new Event('online'))")
    expect(page.locator("#notice-session")).to_contain_text("Another person's link was opened in this browser")
    waiting(page, 1)
    assert (place.answers("anna"), place.answers("ben")) == ([], [])
    other.goto(place.link("anna"))
    sent(place, 1, other)
    until(other, lambda: len(place.events("answered")) == 1)
    assert place.answers("ben") == []


def test_a_refused_answer_becomes_a_draft(site: Any, visit: Any, shot: Any) -> None:
    place = site("pairwise")
    page = begin(place, visit)
    refusal = {"error": {"code": "invalid", "message": "choose for each of: overall", "field": "answer.choices"}}
    page.route("**/api/answers", lambda route: route.fulfill(status=422, json=refusal), times=1)
    answer(page, "a")
    expect(page.locator("#notice-refused")).to_contain_text("choose for each of: overall")
    shot(page, "refused")
    page.get_by_role("button", name="Go to the task").click()
    reach(page, "1 of 3")
    expect(page.get_by_role("radio", name="Summary A")).to_be_checked()
    waiting(page, 0)


def test_a_lost_session_keeps_the_answers(site: Any, visit: Any) -> None:
    place = site("pairwise")
    page = begin(place, visit)
    page.context.clear_cookies()
    answer(page, "a")
    expect(page.locator("#notice-session")).to_be_visible()
    waiting(page, 1)
    page.goto(place.link())
    sent(place, 1, page)


def test_a_stale_token_is_renewed(site: Any, visit: Any) -> None:
    place = site("pairwise")
    page = begin(place, visit)
    refusal = {"error": {"code": "csrf", "message": "load the page again"}}
    page.route("**/api/answers", lambda route: route.fulfill(status=403, json=refusal), times=1)
    answer(page, "a")
    sent(place, 1, page)
    waiting(page, 0)
    expect(page.locator("#notice-refused")).to_have_count(0)


def test_a_browser_without_storage_shows_a_notice_and_works(site: Any, visit: Any) -> None:
    place = site("pairwise")
    page = visit(f"{place.url}/")
    page.add_init_script("Storage.prototype.setItem = () => { throw new Error('full'); };")
    page.goto(place.link())
    expect(page.locator("#notice-memory")).to_be_visible()
    answer(page, "a")
    sent(place, 1, page)
    waiting(page, 0)
