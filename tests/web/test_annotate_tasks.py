"""Every task type in a browser: by mouse and by keyboard, on a desktop and on a phone, in light and dark mode.

Screenshots are saved if SUMMETER_SHOTS names a folder.
"""

from __future__ import annotations

from typing import Any

import pytest
from web import annotate_campaigns as made
from web.steps import begins, expect, fits, moving_on, press, sent, task, until

pytestmark = pytest.mark.web

LOOKS = [
    pytest.param({"phone": False, "scheme": "light"}, id="desktop-light"),
    pytest.param({"phone": True, "scheme": "dark"}, id="phone-dark"),
]
in_both_looks = pytest.mark.parametrize("look", LOOKS)


def choose(page: Any, legend: str, label: str) -> None:
    """Click an option of a question."""
    page.get_by_role("group", name=legend).locator("label").get_by_text(label, exact=True).click()


def begin(site: Any, visit: Any, look: dict[str, Any]) -> Any:
    page = visit(site.link(), **look)
    expect(page.locator("h1:focus")).to_be_visible()
    task(page)
    return page


def send(page: Any, *, key: str | None = None) -> None:
    """Send the answer by mouse or by key, and wait for the next page."""
    moving_on(page, page.locator("button.send").click if key is None else lambda: page.keyboard.press(key))


def checked(page: Any, name: str) -> None:
    """Wait until an option is chosen."""
    expect(page.get_by_role("radio", name=name, exact=True)).to_be_checked()


def lacks(page: Any, text: str) -> None:
    """Wait until the page displays what is missing."""
    expect(page.locator(".wanting-text")).to_contain_text(text)


@in_both_looks
def test_fact_verification_by_mouse(site: Any, visit: Any, look: dict[str, Any], shot: Any) -> None:
    place = site("fact_verification")
    page = begin(place, visit, look)
    expect(page.locator("mark.current")).to_have_text(f"{made.WIDE} stands.")
    expect(page.locator("mark.similar").first).to_be_visible()
    expect(page.locator(".machine")).to_contain_text("supported by the document")
    shot(page, "first")
    choose(page, "Do you agree", "Agree")
    checked(page, "Supported")
    send(page)
    # The assisting judge finds the second sentence unsupported; disagreeing sets the label, which can be changed again.
    choose(page, "Do you agree", "Disagree")
    checked(page, "Supported")
    choose(page, "Your verdict", "Not supported")
    checked(page, "Agree")
    page.locator("button.send").click()
    lacks(page, "What is wrong with it?")
    choose(page, "What is wrong", "entity error")
    choose(page, "What is wrong", "relation error")
    shot(page, "types")
    fits(page)
    send(page)
    assert [(one["machine"], one["label"], one.get("error_types", [])) for one in sent(place, 2, page)] == [
        ("agree", "supported", []), ("agree", "not_supported", ["entity error", "relation error"]),
    ]  # fmt: skip


@in_both_looks
def test_fact_verification_by_keyboard(site: Any, visit: Any, look: dict[str, Any]) -> None:
    place = site("fact_verification")
    page = begin(place, visit, look)
    press(page, "n", "n")
    expect(page.locator(".jumps .small")).to_have_text(begins("2 of "))
    expect(page.locator("mark.here")).to_have_count(1)
    press(page, "a")
    send(page, key="Enter")
    press(page, "a", "4", "5", "c")
    page.keyboard.type("nine 2 a d")
    send(page, key="Control+Enter")
    press(page, "d", "3")
    send(page, key="Enter")
    found = sent(place, 3, page)
    assert found[0]["label"] == "supported"
    assert (found[1]["error_types"], found[1]["comment"]) == (["entity error", "relation error"], "nine 2 a d")
    assert (found[2]["machine"], found[2]["error_types"]) == ("disagree", ["out-of-article error"])


def test_hidden_assistance_is_not_displayed(site: Any, visit: Any) -> None:
    help_hidden = {"similar": {"share": 0.3}, "hide_for": 1.0}
    place = site("fact_verification", assistance=help_hidden)
    page = begin(place, visit, {})
    expect(page.locator("mark.similar, .machine, .jumps")).to_have_count(0)
    press(page, "1")
    send(page, key="Enter")
    assert sent(place, 1, page)[0]["machine"] is None


@in_both_looks
def test_key_fact_validation_by_mouse(site: Any, visit: Any, look: dict[str, Any], shot: Any) -> None:
    place = site("key_fact_validation")
    page = begin(place, visit, look)
    choose(page, "Do you agree", "Agree")
    expect(page.get_by_role("radio", name="Yes").and_(page.locator(":checked"))).to_have_count(3)
    send(page)
    choose(page, "Do you agree", "Disagree")
    choose(page, "Is it significant?", "No")
    choose(page, "Is it correct?", "Yes")
    page.locator("button.send").click()
    lacks(page, "Is it relevant?")
    choose(page, "Is it relevant?", "Yes")
    page.get_by_label("Why not?").fill("A detail.")
    shot(page, "why")
    fits(page)
    send(page)
    found = sent(place, 2, page)
    assert [found[0].get(name) for name in ("significant", "correct", "relevant", "why")] == [True, True, True, None]
    assert [found[1][name] for name in ("significant", "correct", "relevant", "why")] == [
        False,
        True,
        True,
        "A detail.",
    ]


@in_both_looks
def test_key_fact_validation_by_keyboard(site: Any, visit: Any, look: dict[str, Any]) -> None:
    place = site("key_fact_validation")
    page = begin(place, visit, look)
    press(page, "a")
    send(page, key="Enter")
    press(page, "d", "2", "1", "2")
    send(page, key="Enter")
    found = sent(place, 2, page)
    assert [found[1][name] for name in ("machine", "significant", "correct", "relevant")] == [
        "disagree", False, True, False,
    ]  # fmt: skip


@in_both_looks
def test_key_fact_alignment_by_mouse(site: Any, visit: Any, look: dict[str, Any], shot: Any) -> None:
    place = site("key_fact_alignment")
    page = begin(place, visit, look)
    expect(page.locator("form")).to_contain_text("even if a detail contradicts")
    choose(page, "Do you agree", "Agree")
    expect(page.locator(".sentences input:checked")).to_have_count(1)
    send(page)
    page.locator(".sentences label").nth(1).click()
    page.locator(".sentences label").nth(2).click()
    checked(page, "Disagree")
    shot(page, "grid")
    expect(page.locator("section.grid")).to_be_visible(visible=not look["phone"])
    fits(page)
    send(page)
    page.get_by_text("No sentence is about it").click()
    send(page)
    assert [(one["machine"], one["sentences"]) for one in sent(place, 3, page)] == [
        ("agree", [0]), ("disagree", [1, 2]), ("disagree", []),
    ]  # fmt: skip


@in_both_looks
def test_key_fact_alignment_by_keyboard(site: Any, visit: Any, look: dict[str, Any]) -> None:
    place = site("key_fact_alignment")
    page = begin(place, visit, look)
    press(page, "d", "2", "ArrowDown", "Space")
    send(page, key="Enter")
    press(page, "d", "0")
    send(page, key="Enter")
    assert [one["sentences"] for one in sent(place, 2, page)] == [[1, 2], []]


@in_both_looks
def test_rating_by_mouse(site: Any, visit: Any, look: dict[str, Any], shot: Any) -> None:
    place = site("rating", aspects=["coherence", "coverage"])
    page = begin(place, visit, look)
    cards = page.locator(".task .card")
    for at in range(cards.count()):
        for scale in cards.nth(at).locator("fieldset").all():
            scale.locator("label").nth((at + 1) % 5).click()
    page.locator("button.send").click()
    lacks(page, "Which summary is the best?")
    choose(page, "Which summary is the best?", "Summary B")
    shot(page, "best")
    fits(page)
    send(page)
    answer = sent(place, 1, page)[0]
    systems = place.service.folder.letters("anna", place.service.tasks.work[0])
    wanted = {one: (at + 1) % 5 + 1 for at, one in enumerate(systems)}
    assert answer["summaries"] == {one: {"coherence": n, "coverage": n} for one, n in wanted.items()}
    assert answer["best"] == systems[1]


@in_both_looks
def test_rating_by_keyboard(site: Any, visit: Any, look: dict[str, Any]) -> None:
    place = site("rating", aspects=["coherence", "coverage"])
    page = begin(place, visit, look)
    cells = page.locator("fieldset.scale").count()
    press(page, *[str(at % 5 + 1) for at in range(cells)])
    expect(page.locator(".count")).to_have_text(f"{cells} of {cells} ratings given")
    press(page, "3")
    send(page, key="Enter")
    answer = sent(place, 1, page)[0]
    systems = place.service.folder.letters("anna", place.service.tasks.work[0])
    assert list(answer["summaries"][systems[0]].values()) == [1, 2]
    assert answer["best"] == systems[2]


@in_both_looks
def test_pairwise_by_mouse(site: Any, visit: Any, look: dict[str, Any], shot: Any) -> None:
    place = site("pairwise", aspects=["coverage", "fluency"])
    page = begin(place, visit, look)
    choose(page, "coverage", "Summary A")
    choose(page, "fluency", "A tie")
    page.get_by_label("Why?").fill("Says more.")
    shot(page, "chosen")
    fits(page)
    send(page)
    answer = sent(place, 1, page)[0]
    systems = place.service.folder.letters("anna", place.service.tasks.work[0])
    assert (answer["coverage"], answer["fluency"]) == (systems[0], "tie")
    assert answer["reason"] == "Says more."


@in_both_looks
def test_pairwise_by_keyboard(site: Any, visit: Any, look: dict[str, Any]) -> None:
    place = site("pairwise", aspects=["coverage", "fluency"], ties=False)
    page = begin(place, visit, look)
    press(page, "t")
    expect(page.locator("fieldset input:checked")).to_have_count(0)
    press(page, "b", "a")
    send(page, key="Enter")
    answer = sent(place, 1, page)[0]
    systems = place.service.folder.letters("anna", place.service.tasks.work[0])
    assert (answer["coverage"], answer["fluency"]) == (systems[1], systems[0])


def passage(place: Any, span: dict[str, Any]) -> str:
    text = place.service.tasks.work[0].body["summary"]["text"]
    return str(text[span["start"] : span["end"]])


def test_spans_by_mouse(site: Any, visit: Any, shot: Any) -> None:
    place = site("span_highlighting")
    page = begin(place, visit, {})
    drag(page, "família", "é")
    expect(page.locator(".quoted")).to_have_text("família 👩‍👩‍👧 of é")
    choose(page, "How is it wrong?", "contradicted")
    choose(page, "Category", "entity error")
    page.get_by_label("Why?").fill("No family.")
    drag(page, "council", "voted")
    expect(page.locator(".span-item")).to_have_count(2)
    shot(page, "two")
    choose(page, "How is it wrong?", "not from source")
    page.locator("button.send").click()
    lacks(page, "what is wrong with the second marked passage")
    choose(page, "Category", "relation error")
    drag(page, "and", "stands")
    expect(page.locator(".span-item")).to_have_count(3)
    page.get_by_role("button", name="Delete: and 漢字 stands").click()
    expect(page.locator(".span-item")).to_have_count(2)
    drag(page, "has", "shut")
    lacks(page, "is already marked")
    page.get_by_role("button", name="Edit: família").click()
    choose(page, "Category", "sentence error")
    shot(page, "edited")
    send(page)
    first, second = sent(place, 1, page)[0]["spans"]
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


@in_both_looks
def test_spans_by_keyboard(site: Any, visit: Any, look: dict[str, Any]) -> None:
    place = site("span_highlighting")
    page = begin(place, visit, look)
    page.locator(".marking").focus()
    # a | 😀 | família | 👩‍👩‍👧
    press(page, "ArrowRight", "Shift+ArrowRight", "Shift+ArrowRight", "Enter")
    press(page, "1", "4")
    page.locator(".marking").focus()
    press(page, "End", "ArrowLeft", "Shift+ArrowLeft", "Enter", "2", "3")
    send(page, key="Control+Enter")
    first, second = sent(place, 1, page)[0]["spans"]
    assert (passage(place, first), first["kind"], first["category"]) == (
        "😀 família 👩‍👩‍👧",
        "contradicted",
        "entity error",
    )
    assert (passage(place, second), second["kind"]) == ("bridge reopens", "not_from_source")


def test_the_keyboard_can_leave_the_marking_area(site: Any, visit: Any) -> None:
    page = begin(site("span_highlighting"), visit, {})
    page.locator(".marking").focus()
    press(page, "Tab")
    expect(page.get_by_role("button", name="Mark “")).to_be_focused()
    press(page, "Shift+Tab")
    expect(page.locator(".marking")).to_be_focused()
    press(page, "Shift+Tab")
    expect(page.locator(".marking")).not_to_be_focused()


def test_the_cursor_goes_up_and_down_lines(site: Any, visit: Any) -> None:
    page = begin(site("span_highlighting"), visit, {})
    page.locator(".marking").focus()
    top = "document.querySelector('.cursor').getBoundingClientRect().top"
    expect(page.locator(".cursor")).to_be_visible()
    first = page.evaluate(top)
    press(page, "ArrowDown")
    until(page, lambda: page.evaluate(top) > first + 10)
    press(page, "ArrowUp")
    until(page, lambda: page.evaluate(top) == first)


def test_spans_by_touch(site: Any, visit: Any, shot: Any) -> None:
    place = site("span_highlighting")
    page = begin(place, visit, {"phone": True, "scheme": "dark"})
    # The browser turns a tap into a click after a delay, and the buttons move when their labels change.
    tap(page, "família")
    expect(page.get_by_role("button", name="Mark “família”")).to_be_visible()
    page.get_by_role("button", name="Extend").tap()
    expect(page.get_by_role("button", name="Extend")).to_have_attribute("aria-pressed", "true")
    tap(page, "stands")
    expect(page.locator(".cursor")).to_have_text("família 👩‍👩‍👧 of é and 漢字 stands")
    shot(page, "chosen")
    page.get_by_role("button", name="Mark “").tap()
    choose(page, "How is it wrong?", "contradicted")
    choose(page, "Category", "entity error")
    shot(page, "editor")
    fits(page)
    send(page)
    (span,) = sent(place, 1, page)[0]["spans"]
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


def test_the_absence_of_errors_must_be_confirmed(site: Any, visit: Any) -> None:
    place = site("span_highlighting")
    page = begin(place, visit, {})
    press(page, "Enter")
    lacks(page, "Mark what is wrong, or state that nothing is wrong.")
    page.locator("h1").focus()
    press(page, "0")
    send(page, key="Enter")
    assert sent(place, 1, page)[0]["spans"] == []


def long_rows() -> list[dict[str, Any]]:
    """Return one document of 300 sentences, with a summary that is several windows long."""
    animals = ("cat", "dog", "owl", "fox", "hen")
    document = " ".join(f"The {animals[at % 5]} number {at} sat in room {at % 7}." for at in range(300))
    summary = " ".join(f"A {animals[at % 5]} sat in room {at % 7}." for at in range(60))
    return [{"doc_id": "long", "system": "s", "document": document, "summary": summary}]


def test_the_ten_most_similar_sentences_are_marked_and_the_best_is_first(site: Any, visit: Any) -> None:
    place = site("fact_verification", long_rows(), assistance={"similar": {"share": 0.3}})
    page = begin(place, visit, {})
    expect(page.locator(".jumps .small")).to_have_text("10 similar sentences")
    expect(page.locator("mark.similar")).to_have_count(10)
    best = place.service.tasks.work[0].assistance["similar"][0]
    press(page, "n")
    sentence = place.service.folder.sources["long"].document.sentence_texts[best]
    expect(page.locator("mark.here")).to_have_text(sentence)
    expect(page.locator("mark.here")).to_be_in_viewport()


def test_the_words_to_mark_stay_visible_and_the_cursor_stays(site: Any, visit: Any, shot: Any) -> None:
    place = site("span_highlighting", long_rows(), assistance={})
    page = begin(place, visit, {})
    page.locator(".marking").focus()
    press(page, *["ArrowDown"] * 9)
    word = page.locator(".cursor").inner_text()
    top = page.evaluate("document.querySelector('.marking').scrollTop")
    assert top > 0
    press(page, "Shift+ArrowRight", "Enter")
    expect(page.locator(".editor")).to_be_visible()
    expect(page.locator(".marking")).to_be_in_viewport()
    expect(page.locator(".marking mark.here")).to_be_in_viewport()
    shot(page, "marked")
    press(page, "1", "3")
    page.get_by_role("button", name="Mark more").click()
    expect(page.locator(".marking")).to_be_focused()
    assert abs(page.evaluate("document.querySelector('.marking').scrollTop") - top) < 12  # less than half a line
    press(page, "ArrowLeft")
    expect(page.locator(".cursor")).to_have_text(word)
    expect(page.locator(".cursor")).to_be_in_viewport()


def test_on_a_phone_question_document_and_verdict_are_in_view(site: Any, visit: Any) -> None:
    page = visit(site("fact_verification").link(), phone=True)
    task(page)
    for name in ("Do you agree with the machine?", "Your verdict"):
        expect(page.get_by_role("group", name=name)).to_be_in_viewport()
    page.mouse.wheel(0, 5000)
    expect(page.locator("details.comment")).to_be_in_viewport()
    expect(page.locator("h1")).to_be_in_viewport(ratio=0.9)
    fold = page.get_by_role("button", name="Document")
    fold.click()
    expect(page.locator("#document")).to_be_hidden()
    expect(fold).to_have_attribute("aria-expanded", "false")
    press(page, "o")
    expect(page.locator("#document")).to_be_focused()
