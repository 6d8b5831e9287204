"""Keyboard shortcuts in a browser: a displayed key chooses the option beside it, and other keys choose nothing.

This holds whatever was pressed before, wherever the focus is, and whatever the assisting judge says.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from web import annotate_campaigns as made
from web.shown import SNAPSHOT, differences
from web.steps import begins, expect, fits, heading, moving_on, press, sent, task, until

pytestmark = pytest.mark.web

STEPS = 20
TYPES = [f"type {number}" for number in range(1, 10)]
QUESTIONS: list[dict[str, Any]] = [
    {"name": "worth", "question": "Worth it?", "type": "scale", "scale": {"low": -2, "high": 2}},
    {"name": "sure", "question": "Sure?", "type": "scale", "scale": {"low": 0, "high": 9, "show": "slider"}},
    {"name": "flaws", "question": "Flaws?", "type": "choices", "options": TYPES, "required": False},
    {"name": "harm", "question": "Harmful?", "type": "yes_no"},
    {"name": "tone", "question": "Tone?", "type": "choice", "options": TYPES[:3], "when": {"harm": True}},
]
SHOWN = """() => {
  const seen = (node) => node.checkVisibility({ visibilityProperty: true });
  const sets = "form.task fieldset:is(.question, .answers)";
  const all = [...document.querySelectorAll(`${sets} input:not([type=range])`)];
  const inputs = all.filter((one) => seen(one.closest("label")));
  const row = (input) => ({
    id: input.id, many: input.type === "checkbox", on: input.checked, set: input.name,
    label: input.closest("label").querySelector("span:not(.num)").textContent,
    keys: [...input.closest("label").querySelectorAll("kbd:not(.off)")].filter(seen).map((chip) => chip.textContent),
  });
  return inputs.map(row);
}"""
CHOOSING = "0123456789abdefghjklmqrstvwxyz"


def options(page: Any) -> list[dict[str, Any]]:
    """Return the displayed options with their keys."""
    return list(page.evaluate(SHOWN))


def chips(page: Any) -> dict[str, dict[str, Any]]:
    """Return the option of each displayed key; asserts that no key is displayed twice."""
    beside = [(key, option) for option in options(page) for key in option["keys"]]
    assert len(dict(beside)) == len(beside), f"a key stands on two chips: {beside}"
    return dict(beside)


def on(page: Any) -> set[str]:
    return {option["id"] for option in options(page) if option["on"]}


def press_label(page: Any, *labels: str) -> None:
    """Press the key displayed beside each label, in the first question that displays one."""
    for label in labels:
        (key,) = [key for key, option in chips(page).items() if option["label"] == label]
        press(page, key)


def marks(page: Any, task_type: str) -> None:
    """Make options appear in a task that has none at first."""
    if task_type == "span_highlighting" and not page.locator(".editor").count():
        page.locator(".marking").focus()
        press(page, "ArrowRight", "Enter")


@pytest.mark.parametrize("at", [0, 1], ids=["first", "second"])
@pytest.mark.parametrize("task_type", made.TASK_TYPES)
def test_each_displayed_key_chooses_its_option(site: Any, visit: Any, task_type: str, at: int) -> None:
    """The assisting judge, if any, says yes in the first task and no in the second; the second campaign also has
    custom questions and error types."""
    page = visit(site(task_type, **({"questions": QUESTIONS, "error_types": TYPES} if at else {})).link())
    task(page)
    if at and page.locator("nav.dots button").count() > 1:
        moving_on(page, lambda: press(page, "]"))
    rng = Random(f"{task_type}/{at}")
    pressed: dict[str, int] = {}
    for step in range(STEPS):
        marks(page, task_type)
        shown, before = chips(page), on(page)
        assert shown, "no key is shown"
        for key in rng.sample([key for key in CHOOSING if key not in shown], 3):
            press(page, key)
        assert (chips(page).keys(), on(page)) == (shown.keys(), before), "a key that nothing shows chose something"
        key = min(shown, key=lambda name: (pressed.get(shown[name]["id"], 0), rng.random()))
        option = shown[key]
        pressed[option["id"]] = pressed.get(option["id"], 0) + 1
        press(page, key)
        after = on(page)
        wanted = not option["on"] if option["many"] else True
        if page.locator(f"#{option['id']}").count():
            assert (option["id"] in after) == wanted, f"{key} did not choose {option['label']}"
        elsewhere = {one["id"] for one in shown.values() if one["many"] and one["set"] == option["set"]} - {
            option["id"]
        }
        assert before & elsewhere <= after | {option["id"]}, f"{key} took back what else was ticked"
        what = step % 4
        if what == 1:
            page.locator("button.send").focus()
        elif what == 2:
            press(page, "Backspace")
        elif what == 3:
            label = page.locator("form.task fieldset .option label:visible")
            label.nth(rng.randrange(label.count())).click()


def test_a_digit_chooses_its_label_when_the_judge_disagrees(site: Any, visit: Any) -> None:
    place = site("fact_verification")
    page = visit(place.link())
    task(page)
    moving_on(page, lambda: press(page, "]"))
    expect(page.locator(".machine")).to_contain_text("not supported by the document")
    press_label(page, "Not supported")
    assert {key: option["label"] for key, option in chips(page).items()} == {
        "a": "Agree", "d": "Disagree", "1": "Supported", "2": "Not supported",
        "3": "out-of-article error", "4": "entity error", "5": "relation error", "6": "sentence error",
    }  # fmt: skip
    press_label(page, "entity error")
    moving_on(page, lambda: press(page, "Enter"))
    press(page, "[")
    press_label(page, "Supported")
    moving_on(page, lambda: press(page, "Enter"))
    until(page, lambda: [one["label"] for one in place.answers()] == ["supported"])
    assert [one["machine"] for one in place.answers()] == ["disagree"]


def test_keys_change_answers_at_the_send_button_and_backspace_goes_back(site: Any, visit: Any) -> None:
    place = site("pairwise", aspects=["coverage", "fluency"])
    page = visit(place.link())
    task(page)
    press_label(page, "Summary A", "A tie")
    expect(page.locator("button.send")).to_be_focused()
    press_label(page, "Summary B")
    press(page, "Backspace", "Backspace")
    press_label(page, "A tie")
    expect(page.locator("button.send")).to_be_focused()
    moving_on(page, lambda: press(page, "Enter"))
    systems = place.service.folder.letters("anna", place.service.tasks.work[0])
    answer = sent(place, 1, page)[0]
    assert (answer["coverage"], answer["fluency"]) == ("tie", systems[1])


def test_a_narrow_page_displays_keys_once_a_key_is_pressed(site: Any, visit: Any) -> None:
    page = visit(site("fact_verification").link(), phone=True)
    task(page)
    assert chips(page) == {}
    press(page, "n")
    assert {"a", "d", "1", "2"} == set(chips(page))
    fits(page)


WALKS = 25


def many_rows(example: Path) -> list[dict[str, Any]]:
    """Return copies of a document with its first two summaries, one task per random walk."""
    rows = made.rows(example, 1)[:2]
    return [row | {"doc_id": f"{row['doc_id']}-{at}"} for at in range(WALKS) for row in rows]


def wander(page: Any, task_type: str, rng: Random) -> None:
    """Press displayed keys and other keys, click, step back and mark spans, in random order."""
    for _ in range(rng.randrange(1, 6)):
        shown, what = chips(page), rng.random()
        if task_type == "span_highlighting" and what < 0.3:
            page.locator(".marking").focus()
            press(page, *rng.choices(["ArrowRight", "Shift+ArrowRight", "ArrowLeft", "End"], k=4), "Enter")
        elif what < 0.65 and shown:
            press(page, rng.choice(list(shown)))
        elif what < 0.8:
            label = page.locator("form.task fieldset.question .option label:visible")
            label.nth(rng.randrange(label.count())).click()
        elif what < 0.9:
            press(page, "Backspace", rng.choice([key for key in CHOOSING if key not in shown]))
        else:
            page.locator("button.send").focus()


def finish(page: Any, rng: Random) -> dict[str, Any]:
    """Complete and send the task by keyboard; return what the page displayed as chosen when it was sent."""
    before = heading(page)
    while True:
        shown = dict(page.evaluate(SNAPSHOT))
        if page.evaluate("document.activeElement?.closest('button:not(.send), .marking') !== null"):
            page.locator("button.send").focus()
        press(page, "Enter")
        until(page, lambda: heading(page) != before or page.locator(".wanting-text").inner_text() != "")
        if heading(page) != before:
            return shown
        # The question that is still unanswered has the focus and displays its keys.
        keys = [key for option in options(page) for key in option["keys"]]
        press(page, rng.choice(keys))


@pytest.mark.parametrize("task_type", made.TASK_TYPES)
def test_the_log_contains_the_displayed_answers(site: Any, visit: Any, example: Path, task_type: str) -> None:
    """After random input, each answer in the log is what the page displayed when it was sent."""
    place = site(task_type, many_rows(example), batch={"size": WALKS}, aspects=["coherence", "fluency"])
    page = visit(place.link())
    task(page)
    session = page.evaluate("fetch('/api/session').then((reply) => reply.json())")
    form, tasks = session["form"], session["batch"]["tasks"]
    assert len(tasks) == WALKS
    rng, seen = Random(task_type), {}
    for at in range(WALKS):
        expect(page.locator("h1")).to_have_text(begins(f"{at + 1} of {WALKS}"))
        wander(page, task_type, rng)
        seen[tasks[at]["id"]] = finish(page, rng)
    sent(place, WALKS, page)
    folder, stored = place.service.folder, place.service.state.people["anna"].answers
    for key, answer in stored.items():
        given = next(one for one in tasks if one["id"] == folder.names.task("anna", key))
        letters = folder.letters("anna", folder.tasks.by_key[key])
        recorded = folder.task_type.page_answer(answer.answer, letters)
        assert differences(form, given, seen[given["id"]], recorded) == [], key
