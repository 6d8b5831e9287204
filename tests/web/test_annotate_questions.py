"""Custom scales, error types and questions in a browser: the chosen answers are recorded, by mouse, keys and touch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from web.steps import expect, fits, moving_on, press, sent, task, until
from web.test_annotate_keys import chips
from web.test_annotate_safe import axe

from summeter.annotate.campaign.language import shipped
from summeter.annotate.simulate import crowd, simulate
from summeter.annotate.tasks.simulation import Gold, Profile

__all__ = ["axe"]
pytestmark = pytest.mark.web

TYPES = [{"name": "invented", "meaning": "Stands nowhere."}, {"name": "twisted", "meaning": "Stands there otherwise."}]
QUESTIONS: list[dict[str, Any]] = [
    {"name": "clear", "question": "How clear is the sentence?", "type": "scale",
     "scale": {"labels": ["not at all", "hardly", "so so", "rather", "fully"]}},
    {"name": "tone", "question": "How does it sound?", "type": "choice", "required": False,
     "options": ["dry", "lively", {"name": "odd", "meaning": "Nobody would say so."}]},
    {"name": "flaws", "question": "What else is wrong?", "type": "choices", "hint": "Several may apply.",
     "options": ["grammar", "spelling", "nothing"]},
    {"name": "sure", "question": "How sure are you?", "type": "scale",
     "scale": {"low": 0, "high": 100, "step": 5, "show": "slider",
               "anchors": {"low": "guessed", "middle": "so so", "high": "certain"}}},
    {"name": "harm", "question": "Could it mislead?", "type": "yes_no"},
    {"name": "how", "question": "How would it mislead?", "type": "text",
     "when": {"harm": True, "label": "not_supported"}},
]  # fmt: skip


def own(page: Any, question: str) -> Any:
    """Return the fieldset of a custom question."""
    return page.locator(".own fieldset.question", has_text=question)


def tick(page: Any, question: str, label: str) -> None:
    own(page, question).locator("label", has_text=label).first.click()


@pytest.fixture
def place(site: Any) -> Any:
    return site("fact_verification", assistance={}, error_types=TYPES, questions=QUESTIONS, language="en")


@pytest.mark.parametrize("phone", [False, True], ids=["mouse", "phone"])
def test_the_chosen_answers_are_recorded(place: Any, visit: Any, shot: Any, axe: Any, phone: bool) -> None:
    page = visit(place.link(), phone=phone)
    task(page)
    page.locator("label", has_text="Not supported").click()
    page.locator("label", has_text="twisted").click()
    expect(own(page, "How would it mislead?")).to_be_hidden()
    tick(page, "How clear", "rather")
    tick(page, "How does it sound?", "odd")
    expect(own(page, "How does it sound?").get_by_text("Nobody would say so.").first).to_be_visible()
    own(page, "How does it sound?").get_by_role("button", name="Clear").click()
    tick(page, "What else", "spelling")
    tick(page, "What else", "grammar")
    slider = own(page, "How sure").get_by_role("slider")
    expect(slider).to_have_attribute("aria-valuetext", "not set")
    page.locator("button.send").click()
    expect(page.locator(".wanting-text")).to_have_text("Please also answer: How sure are you?")
    expect(slider).to_be_focused()
    slider.click()  # the middle, where the slider already is
    expect(own(page, "How sure").locator("output")).to_have_text("50")
    tick(page, "Could it mislead?", "Yes")
    own(page, "How would it mislead?").get_by_role("textbox").fill("By the number.")
    shot(page, "filled")
    fits(page)
    if not phone:
        assert axe(page) == []  # in each size and colour
    moving_on(page, lambda: page.locator("button.send").click())
    (answer,) = sent(place, 1, page)
    assert (answer["label"], answer["error_types"]) == ("not_supported", ["twisted"])
    given = {"clear": 4, "flaws": ["grammar", "spelling"], "sure": 50, "harm": True, "how": "By the number."}
    assert {name: answer[name] for name in given} == given
    assert "tone" not in answer
    press(page, "[")
    expect(own(page, "How sure").locator("output")).to_have_text("50")
    expect(own(page, "How would it mislead?").get_by_role("textbox")).to_have_value("By the number.")
    page.locator("label", has_text="Supported").first.click()
    expect(own(page, "How would it mislead?")).to_be_hidden()
    moving_on(page, lambda: page.locator("button.send").click())
    until(page, lambda: "how" not in place.answers()[0])


def test_custom_questions_by_keyboard(place: Any, visit: Any, shot: Any) -> None:
    page = visit(place.link())
    task(page)
    assert {key: option["label"] for key, option in chips(page).items()}["2"] == "Not supported"
    press(page, "2")
    assert {key: option["label"] for key, option in chips(page).items() if option["many"]} == {
        "3": "invented", "4": "twisted",
    }  # fmt: skip
    press(page, "4", "3")
    press(page, "Enter")  # what is open comes first
    expect(own(page, "How clear").locator("input").first).to_be_focused()
    assert chips(page)["5"]["label"] == "fully"
    press(page, "5")
    expect(own(page, "What else").locator("input").first).to_be_focused()  # what need not be answered is passed over
    assert {option["label"] for option in chips(page).values()} >= {"grammar", "spelling", "nothing"}
    press(page, "3")
    press(page, "Enter")
    expect(own(page, "How sure").get_by_role("slider")).to_be_focused()
    shown = chips(page)
    assert {"Yes", "No"} <= {option["label"] for option in shown.values()}
    press(page, "ArrowRight", "ArrowRight")
    expect(own(page, "How sure").locator("output")).to_have_text("60")
    press(page, next(key for key, option in shown.items() if option["label"] == "Yes"))
    expect(own(page, "How would it mislead?").get_by_role("textbox")).to_be_focused()
    page.keyboard.type("1 2 3")
    shot(page, "typed")
    moving_on(page, lambda: press(page, "Control+Enter"))
    (answer,) = sent(place, 1, page)
    assert answer["error_types"] == ["twisted", "invented"] or answer["error_types"] == ["invented", "twisted"]
    given = {"clear": 5, "flaws": ["nothing"], "sure": 60, "harm": True, "how": "1 2 3"}
    assert {name: answer[name] for name in given} == given


def test_ratings_on_custom_scales_with_a_question_per_summary(site: Any, visit: Any, shot: Any) -> None:
    aspects = [{"name": "style", "question": "Is it well written?"},
               {"name": "worth", "question": "Is it worth reading?",
                "scale": {"low": -2, "high": 2, "anchors": {"low": "a waste", "high": "a gain"}}},
               {"name": "length", "question": "Is it long enough?",
                "scale": {"low": 0, "high": 1, "step": 0.25, "show": "slider"}}]  # fmt: skip
    asks = [{"name": "waste", "question": "Why a waste?", "type": "text", "when": {"worth": [-2, -1]}}]
    place = site("rating", aspects=aspects, scale={"labels": ["no", "yes"]}, best=False, questions=asks)
    page = visit(place.link())
    task(page)
    cards = page.locator(".card")
    expect(cards.first).to_be_visible()
    letters = place.service.folder.letters("anna", place.service.tasks.work[0])
    for at in range(len(letters)):
        card = cards.nth(at)
        card.locator("fieldset", has_text="style").locator("label", has_text="yes").click()
        card.locator("fieldset", has_text="worth").locator("label").nth(0 if at == 1 else 4).click()
        slider = card.get_by_role("slider")
        slider.focus()
        press(page, "End")
        expect(card.locator(".own fieldset.question:visible")).to_have_count(1 if at == 1 else 0)
    page.locator("button.send").click()
    expect(page.locator(".wanting-text")).to_have_text("Please also answer: Summary B: Why a waste?")
    cards.nth(1).get_by_role("textbox").fill("Too long.")
    shot(page, "cards")
    fits(page)
    moving_on(page, lambda: page.locator("button.send").click())
    (answer,) = sent(place, 1, page)
    assert answer["summaries"] == {
        system: {"style": 2, "worth": -2, "length": 1, "waste": "Too long."}
        if at == 1
        else {"style": 2, "worth": 2, "length": 1}
        for at, system in enumerate(letters)
    }


def test_an_adjudicator_answers_custom_questions(place: Any, visit: Any, shot: Any, axe: Any) -> None:
    simulate(place.service, crowd(place.service.folder, [Profile(), Profile(accuracy=0.2)], Gold(seed=5), seed=5))
    page = visit(place.admin)
    page.goto(f"{place.url}/admin/adjudicate")
    task(page)
    expect(page.locator(".answers .option")).to_have_count(2)
    for text in ("How clear is the sentence?", "How sure are you?", "Could it mislead?"):
        expect(page.locator(".answers dt", has_text=text).first).to_be_visible()
    page.locator(".answers .option label").first.click()
    expect(own(page, "How clear").locator("input:checked")).to_have_count(1)
    tick(page, "How clear", "so so")
    shot(page, "changed")
    assert axe(page) == []
    moving_on(page, lambda: page.locator("button.send").click())
    until(page, lambda: len(place.service.state.adjudicated) == 1)
    ((key, decided),) = place.service.state.adjudicated.items()
    assert decided.answer.values["clear"] == 3
    given = [one.answer.values for one in place.service.state.counted_answers(key)]
    assert {**decided.answer.values, "clear": 0} in [{**one, "clear": 0} for one in given]
    page.goto(f"{place.url}/admin/quality")
    expect(page.locator("p.lead", has_text="clear")).to_be_visible()
    expect(page.locator("p.lead", has_text="sure")).to_be_visible()


def test_custom_questions_right_to_left_on_a_phone(site: Any, visit: Any, shot: Any, tmp_path: Path) -> None:
    """The arrow towards the low end of a slider points right, and the page fits the window."""
    words = shipped("en").model_dump(exclude_none=True) | {"language": "ar", "direction": "rtl"}
    file = tmp_path / "ar.yaml"
    file.write_text(yaml.safe_dump(words, allow_unicode=True), encoding="utf-8")
    place = site("fact_verification", assistance={}, questions=QUESTIONS[3:5], interface=str(file))
    page = visit(place.link(), phone=True)
    task(page)
    assert page.evaluate("document.documentElement.dir") == "rtl"
    page.locator("label", has_text="Supported").first.click()
    own(page, "How sure").get_by_role("slider").focus()
    press(page, "ArrowRight")
    shot(page, "rtl")
    fits(page)
    tick(page, "Could it mislead?", "No")
    moving_on(page, lambda: page.locator("button.send").click())
    answer = sent(place, 1, page)[0]
    assert (answer["sure"], answer["harm"]) == (45, False)
