"""Every kind of task in a real browser: by mouse and by keyboard alone, on a desktop and on a phone, in light and dark.

Pictures are written where SUMMETER_SHOTS names a folder.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from web import annotate_campaigns as made

pytestmark = pytest.mark.web

LOOKS = [
    pytest.param({"phone": False, "scheme": "light"}, id="desktop-light"),
    pytest.param({"phone": False, "scheme": "dark"}, id="desktop-dark"),
    pytest.param({"phone": True, "scheme": "light"}, id="phone-light"),
    pytest.param({"phone": True, "scheme": "dark"}, id="phone-dark"),
]


def choose(page: Any, legend: str, label: str) -> None:
    """Click an option of a question."""
    page.get_by_role("group", name=legend).locator("label").get_by_text(label, exact=True).click()


def heading(page: Any) -> str:
    return str(page.locator("h1").inner_text())


def until(page: Any, condition: Callable[[], bool]) -> None:
    """Waits for what happens a moment later (the page's policy forbids waiting inside it)."""
    for _ in range(200):
        if condition():
            return
        page.wait_for_timeout(50)
    raise AssertionError("it did not come to pass within ten seconds")


def begin(site: Any, visit: Any, look: dict[str, Any]) -> Any:
    page = visit(site.link(), **look)
    page.wait_for_selector(".desk")
    return page


def send(page: Any, *, key: str | None = None) -> None:
    """Send the answer, by mouse or by key; something else is in view then."""
    before = heading(page)
    if key is None:
        page.locator("button.send").click()
    else:
        page.keyboard.press(key)
    until(page, lambda: heading(page) != before)


def keys(page: Any, *names: str) -> None:
    for name in names:
        page.keyboard.press(name)


def stored(site: Any, count: int, page: Any) -> list[dict[str, Any]]:
    """The answers of anna, once the server has `count` of them."""
    until(page, lambda: len(site.answers()) >= count)
    return list(site.answers())


def no_sideways_scrolling(page: Any) -> None:
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "look" in metafunc.fixturenames:  # keys are the same by day and by night: a light desktop and a dark phone do
        metafunc.parametrize("look", LOOKS[::3] if "keyboard" in metafunc.function.__name__ else LOOKS)


def test_fact_verification_by_mouse(site: Any, visit: Any, look: dict[str, Any], shot: Any) -> None:
    place = site("fact_verification")
    page = begin(place, visit, look)
    assert page.locator("mark.current").inner_text() == f"{made.WIDE} stands."
    assert page.locator("mark.similar").count() > 0
    assert "supported by the document" in page.locator(".machine").inner_text()
    shot(page, "first")
    choose(page, "Do you agree", "Agree")
    assert page.get_by_role("radio", name="Supported", exact=True).is_checked()
    send(page)
    # The machine doubts the second sentence; disagreeing sets the label, which may be turned again.
    choose(page, "Do you agree", "Disagree")
    assert page.get_by_role("radio", name="Supported", exact=True).is_checked()
    choose(page, "Your own verdict", "Not supported")
    assert page.get_by_role("radio", name="Agree", exact=True).is_checked()
    page.locator("button.send").click()
    assert page.locator(".wanting-text").inner_text() == "Say what is wrong with the sentence."
    choose(page, "What is wrong", "entity error")
    choose(page, "What is wrong", "relation error")
    shot(page, "types")
    no_sideways_scrolling(page)
    send(page)
    assert [(one["machine"], one["label"], one["error_types"]) for one in stored(place, 2, page)] == [
        ("agree", "supported", []), ("agree", "not_supported", ["entity error", "relation error"]),
    ]  # fmt: skip


def test_fact_verification_by_keyboard(site: Any, visit: Any, look: dict[str, Any]) -> None:
    place = site("fact_verification")
    page = begin(place, visit, look)
    keys(page, "n", "n")
    assert page.locator(".jumps .small").inner_text().startswith("2 of ")
    assert page.locator("mark.here").count() == 1
    keys(page, "a")
    send(page, key="Enter")
    keys(page, "a", "2", "3", "c")
    page.keyboard.type("nine 2 a d")
    send(page, key="Control+Enter")
    keys(page, "d", "1")
    send(page, key="Enter")
    found = stored(place, 3, page)
    assert found[0]["label"] == "supported"
    assert (found[1]["error_types"], found[1]["comment"]) == (["entity error", "relation error"], "nine 2 a d")
    assert (found[2]["machine"], found[2]["error_types"]) == ("disagree", ["out-of-article error"])


def test_without_assistance_nothing_of_it_is_there(site: Any, visit: Any) -> None:
    help_hidden = {"similar": {"share": 0.3}, "hide_for": 1.0}
    place = site("fact_verification", assistance=help_hidden)
    page = begin(place, visit, {})
    assert page.locator("mark.similar, .machine, .jumps").count() == 0
    keys(page, "1")
    send(page, key="Enter")
    assert stored(place, 1, page)[0]["machine"] is None


def test_key_fact_validation_by_mouse(site: Any, visit: Any, look: dict[str, Any], shot: Any) -> None:
    place = site("key_fact_validation")
    page = begin(place, visit, look)
    choose(page, "Do you agree", "Agree")
    assert page.get_by_role("radio", name="Yes").and_(page.locator(":checked")).count() == 3
    send(page)
    choose(page, "Do you agree", "Disagree")
    choose(page, "Is it significant?", "No")
    choose(page, "Is it correct?", "Yes")
    page.locator("button.send").click()
    assert page.locator(".wanting-text").inner_text() == "Is it relevant?"
    choose(page, "Is it relevant?", "Yes")
    page.get_by_label("Why not?").fill("A detail.")
    shot(page, "why")
    no_sideways_scrolling(page)
    send(page)
    found = stored(place, 2, page)
    assert [found[0][name] for name in ("significant", "correct", "relevant", "why")] == [True, True, True, None]
    assert [found[1][name] for name in ("significant", "correct", "relevant", "why")] == [
        False,
        True,
        True,
        "A detail.",
    ]


def test_key_fact_validation_by_keyboard(site: Any, visit: Any, look: dict[str, Any]) -> None:
    place = site("key_fact_validation")
    page = begin(place, visit, look)
    keys(page, "a")
    send(page, key="Enter")
    keys(page, "d", "2", "1", "x")
    send(page, key="Enter")
    found = stored(place, 2, page)
    assert [found[1][name] for name in ("machine", "significant", "correct", "relevant")] == [
        "disagree", False, True, False,
    ]  # fmt: skip


def test_key_fact_alignment_by_mouse(site: Any, visit: Any, look: dict[str, Any], shot: Any) -> None:
    place = site("key_fact_alignment")
    page = begin(place, visit, look)
    assert "even where a detail contradicts" in page.locator("form").inner_text()
    choose(page, "Do you agree", "Agree")
    assert page.locator(".sentences input:checked").count() == 1
    send(page)
    page.locator(".sentences label").nth(1).click()
    page.locator(".sentences label").nth(2).click()
    assert page.get_by_role("radio", name="Disagree").is_checked()
    shot(page, "grid")
    assert page.locator("section.grid").is_visible() is not look["phone"]
    no_sideways_scrolling(page)
    send(page)
    page.get_by_text("No sentence speaks of it").click()
    send(page)
    assert [(one["machine"], one["sentences"], one["none"]) for one in stored(place, 3, page)] == [
        ("agree", [0], False), ("disagree", [1, 2], False), ("disagree", [], True),
    ]  # fmt: skip


def test_key_fact_alignment_by_keyboard(site: Any, visit: Any, look: dict[str, Any]) -> None:
    place = site("key_fact_alignment")
    page = begin(place, visit, look)
    keys(page, "d", "2", "ArrowDown", "Space")
    send(page, key="Enter")
    keys(page, "d", "0")
    send(page, key="Enter")
    assert [(one["sentences"], one["none"]) for one in stored(place, 2, page)] == [([1, 2], False), ([], True)]


def test_rating_by_mouse(site: Any, visit: Any, look: dict[str, Any], shot: Any) -> None:
    place = site("rating", aspects=["coherence", "coverage"])
    page = begin(place, visit, look)
    cards = page.locator(".task .card")
    for at in range(cards.count()):
        for scale in cards.nth(at).locator("fieldset").all():
            scale.locator("label").nth((at + 1) % 5).click()
    page.locator("button.send").click()
    assert page.locator(".wanting-text").inner_text() == "Choose the best summary."
    choose(page, "Which summary is the best?", "Summary B")
    shot(page, "best")
    no_sideways_scrolling(page)
    send(page)
    answer = stored(place, 1, page)[0]
    systems = place.desk.letters("anna", place.desk.tasks.work[0])
    wanted = {one: (at + 1) % 5 + 1 for at, one in enumerate(systems)}
    assert answer["ratings"] == {one: {"coherence": n, "coverage": n} for one, n in wanted.items()}
    assert answer["best"] == systems[1]


def test_rating_by_keyboard(site: Any, visit: Any, look: dict[str, Any]) -> None:
    place = site("rating", aspects=["coherence", "coverage"])
    page = begin(place, visit, look)
    cells = page.locator("fieldset.scale").count()
    keys(page, *[str(at % 5 + 1) for at in range(cells)])
    assert page.locator(".count").inner_text() == f"{cells} of {cells} ratings given"
    keys(page, "3")
    send(page, key="Enter")
    answer = stored(place, 1, page)[0]
    systems = place.desk.letters("anna", place.desk.tasks.work[0])
    assert list(answer["ratings"][systems[0]].values()) == [1, 2]
    assert answer["best"] == systems[2]


def test_pairwise_by_mouse(site: Any, visit: Any, look: dict[str, Any], shot: Any) -> None:
    place = site("pairwise", aspects=["coverage", "fluency"])
    page = begin(place, visit, look)
    choose(page, "coverage", "Summary A")
    choose(page, "fluency", "A tie")
    page.get_by_label("Why?").fill("Says more.")
    shot(page, "chosen")
    no_sideways_scrolling(page)
    send(page)
    answer = stored(place, 1, page)[0]
    systems = place.desk.letters("anna", place.desk.tasks.work[0])
    assert answer["choices"] == {"coverage": systems[0], "fluency": "tie"}
    assert answer["reason"] == "Says more."


def test_pairwise_by_keyboard(site: Any, visit: Any, look: dict[str, Any]) -> None:
    place = site("pairwise", aspects=["coverage", "fluency"], ties=False)
    page = begin(place, visit, look)
    keys(page, "t")
    assert page.locator("fieldset input:checked").count() == 0
    keys(page, "b", "a")
    send(page, key="Enter")
    answer = stored(place, 1, page)[0]
    systems = place.desk.letters("anna", place.desk.tasks.work[0])
    assert answer["choices"] == {"coverage": systems[1], "fluency": systems[0]}


def passage(place: Any, span: dict[str, Any]) -> str:
    text = place.desk.tasks.work[0].body["summary"]["text"]
    return str(text[span["start"] : span["end"]])


def test_spans_by_mouse(site: Any, visit: Any, shot: Any) -> None:
    place = site("span_highlighting")
    page = begin(place, visit, {})
    drag(page, "família", "é")
    assert page.locator(".quoted").inner_text() == "família 👩‍👩‍👧 of é"
    choose(page, "How is it wrong?", "contradicted")
    choose(page, "Category", "entity error")
    page.get_by_label("Why?").fill("No family.")
    drag(page, "council", "voted")
    shot(page, "two")
    choose(page, "How is it wrong?", "not from source")
    page.locator("button.send").click()
    assert "how the second marked passage is wrong" in page.locator(".wanting-text").inner_text()
    choose(page, "Category", "relation error")
    drag(page, "and", "stands")
    page.get_by_role("button", name="Delete: and 漢字 stands").click()
    drag(page, "has", "shut")
    assert "is marked already" in page.locator(".wanting-text").inner_text()
    page.get_by_role("button", name="Edit: família").click()
    choose(page, "Category", "sentence error")
    shot(page, "edited")
    send(page)
    first, second = stored(place, 1, page)[0]["spans"]
    assert (passage(place, first), first["kind"], first["category"], first["reason"]) == (
        "família 👩‍👩‍👧 of é", "contradicted", "sentence error", "No family.",
    )  # fmt: skip
    assert (passage(place, second), second["kind"], second["category"], second["reason"]) == (
        "council has voted", "not_from_source", "relation error", None,
    )  # fmt: skip


def drag(page: Any, first: str, last: str) -> None:
    """Select from the beginning of one word to the end of another with the mouse."""
    box = page.evaluate(
        """([first, last]) => {
          const node = document.querySelector(".marking");
          const place = (word, end) => {
            const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
            while (walker.nextNode()) {
              const at = walker.currentNode.data.indexOf(word);
              if (at < 0) continue;
              const range = document.createRange();
              range.setStart(walker.currentNode, at);
              range.setEnd(walker.currentNode, at + word.length);
              const boxes = [...range.getClientRects()];
              const box = end ? boxes[boxes.length - 1] : boxes[0];
              return [end ? box.right - 1 : box.left + 1, (box.top + box.bottom) / 2];
            }
          };
          node.scrollIntoView({ block: "center" });
          return [place(first, false), place(last, true)];
        }""",
        [first, last],
    )
    (left, top), (right, bottom) = box
    page.mouse.move(left, top)
    page.mouse.down()
    page.mouse.move((left + right) / 2, (top + bottom) / 2, steps=4)
    page.mouse.move(right, bottom, steps=4)
    page.mouse.up()


def test_spans_by_keyboard(site: Any, visit: Any, look: dict[str, Any]) -> None:
    place = site("span_highlighting")
    page = begin(place, visit, look)
    page.locator(".marking").focus()
    # a | 😀 | família | 👩‍👩‍👧
    keys(page, "ArrowRight", "Shift+ArrowRight", "Shift+ArrowRight", "Enter")
    keys(page, "1", "2")
    page.locator(".marking").focus()
    keys(page, "End", "ArrowLeft", "Shift+ArrowLeft", "Enter", "2", "1")
    send(page, key="Control+Enter")
    first, second = stored(place, 1, page)[0]["spans"]
    assert (passage(place, first), first["kind"], first["category"]) == (
        "😀 família 👩‍👩‍👧",
        "contradicted",
        "entity error",
    )
    assert (passage(place, second), second["kind"]) == ("bridge reopens", "not_from_source")


def test_the_summary_to_mark_is_no_trap(site: Any, visit: Any) -> None:
    page = begin(site("span_highlighting"), visit, {})
    page.locator(".marking").focus()
    keys(page, "Tab")
    assert page.evaluate("document.activeElement.textContent").startswith("Mark “")
    keys(page, "Shift+Tab", "Shift+Tab")
    assert page.evaluate("document.activeElement.className") != "marking text"


def test_the_cursor_goes_up_and_down_lines(site: Any, visit: Any) -> None:
    page = begin(site("span_highlighting"), visit, {})
    page.locator(".marking").focus()
    top = "document.querySelector('.cursor').getBoundingClientRect().top"
    first = page.evaluate(top)
    keys(page, "ArrowDown")
    second = page.evaluate(top)
    assert second > first + 10
    keys(page, "ArrowUp")
    assert page.evaluate(top) == first


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_spans_by_touch(site: Any, visit: Any, scheme: str, shot: Any) -> None:
    place = site("span_highlighting")
    page = begin(place, visit, {"phone": True, "scheme": scheme})
    tap(page, "família")
    page.get_by_role("button", name="Extend").tap()
    tap(page, "stands")
    shot(page, "chosen")
    page.get_by_role("button", name="Mark “").tap()
    choose(page, "How is it wrong?", "contradicted")
    choose(page, "Category", "entity error")
    shot(page, "editor")
    no_sideways_scrolling(page)
    send(page)
    (span,) = stored(place, 1, page)[0]["spans"]
    assert passage(place, span) == "família 👩‍👩‍👧 of é and 漢字 stands"


def tap(page: Any, word: str) -> None:
    point = page.evaluate(
        """(word) => {
          const node = document.querySelector(".marking");
          const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
          while (walker.nextNode()) {
            const at = walker.currentNode.data.indexOf(word);
            if (at < 0) continue;
            node.scrollIntoView({ block: "center" });
            const range = document.createRange();
            range.setStart(walker.currentNode, at);
            range.setEnd(walker.currentNode, at + word.length);
            const box = range.getBoundingClientRect();
            return [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
          }
        }""",
        word,
    )
    page.touchscreen.tap(*point)


def test_nothing_wrong_is_said_not_left_out(site: Any, visit: Any) -> None:
    place = site("span_highlighting")
    page = begin(place, visit, {})
    keys(page, "Enter")
    assert page.locator(".wanting-text").inner_text() == "Mark what is wrong, or say that nothing is."
    page.locator("h1").focus()
    keys(page, "0")
    send(page, key="Enter")
    answer = stored(place, 1, page)[0]
    assert (answer["spans"], answer["none"]) == ([], True)
