"""Pages run no scripts from data, do not reveal which tasks are checks, and are accessible (axe-core, WCAG 2.1 AA)."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from typing import Any

import pytest
from report import xss
from web import annotate_campaigns as made
from web.steps import begins, expect, fits, moving_on, press, reach, resize, task

pytestmark = pytest.mark.web

LOOKS = [(size, scheme) for size in ({"width": 390, "height": 844}, {"width": 1440, "height": 900})
         for scheme in ("dark", "light")]  # fmt: skip
"""The last look is the one in which a page opens: a desktop in light mode."""


MISNAMED = """[...document.querySelectorAll("button[aria-label], a[aria-label]")].filter((node) => {
  const copy = node.cloneNode(true);
  copy.querySelectorAll("kbd, [aria-hidden=true]").forEach((part) => part.remove());
  const says = copy.textContent.trim().toLowerCase();
  return /[\\p{L}\\p{N}]/u.test(says) && !node.getAttribute("aria-label").toLowerCase().includes(says);
}).map((node) => `${node.textContent} is called ${node.getAttribute("aria-label")}`)"""
"""Lists buttons whose accessible name lacks their visible text, which speech control needs (WCAG 2.5.3)."""


@pytest.fixture(scope="module")
def axe() -> Callable[[Any], list[str]]:
    """Return a function that lists serious findings of axe-core on a page; skip the test without axe-core."""
    pytest.importorskip("axe_playwright_python", reason="needs axe-core (axe-playwright-python), which is not here")
    script = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")

    def check(page: Any) -> list[str]:
        page.evaluate(script)
        faults = list(page.evaluate(MISNAMED))
        for size, scheme in LOOKS:
            resize(page, **size)
            page.emulate_media(color_scheme=scheme)
            page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
            found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
            faults += [
                f"{scheme} {size['width']} {one['id']}: {node['html'][:160]} | {node['failureSummary']}"
                for one in found["violations"]
                if one["impact"] in {"serious", "critical"}
                for node in one["nodes"]
            ]
        return faults

    return check


@pytest.mark.parametrize("task_type", made.TASK_TYPES)
def test_task_pages_are_accessible(site: Any, visit: Any, axe: Any, task_type: str) -> None:
    page = visit(site(task_type, instructions=made.INSTRUCTIONS).link())
    page.get_by_role("button", name="I have read them").click()
    task(page)
    assert axe(page) == []
    if task_type == "span_highlighting":
        page.locator(".marking").focus()
        page.keyboard.press("Enter")
        expect(page.locator(".editor")).to_be_visible()
    else:
        complete(page)
        page.keyboard.press("n")
    page.evaluate("document.querySelectorAll('main details').forEach((fold) => { fold.open = true; })")
    assert axe(page) == []
    if task_type != "fact_verification":
        send = page.locator("button.send").click
        if task_type == "span_highlighting":
            send()
            expect(page.locator(".wanting-text")).to_have_text(
                begins("Say what is wrong with the first marked passage")
            )
        else:
            moving_on(page, send)
        assert axe(page) == []


def test_the_other_pages_are_accessible(site: Any, visit: Any, axe: Any) -> None:
    place = site(
        "pairwise", consent="Do you?", instructions=made.INSTRUCTIONS, training={"made": 1},
        qualification={"questions": made.QUESTIONS}, batch={"size": 1, "per_annotator": 1},
        pay={"currency": "EUR", "per_batch": 2.5},
    )  # fmt: skip
    page = visit(place.link())
    expect(page.get_by_role("button", name="I agree to take part")).to_be_visible()
    assert axe(page) == []
    page.get_by_role("button", name="I agree to take part").click()
    expect(page.get_by_role("button", name="I have read them")).to_be_visible()
    assert axe(page) == []
    page.get_by_role("button", name="I have read them").click()
    page.get_by_role("button", name="Send my answers").click()
    expect(page.locator(".wanting-text")).to_have_text("Question 1 is not answered.")
    assert axe(page) == []
    qualify(page)
    press(page, "?")
    expect(page.get_by_role("dialog")).to_be_visible()
    assert axe(page) == []
    press(page, "Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.get_by_text("Summary A", exact=True).last.click()
    page.locator("button.send").click()
    expect(page.locator(".feedback")).to_be_visible()
    assert axe(page) == []
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    reach(page, "1 of 1")
    press(page, "i")
    expect(page.locator("#panel")).to_be_visible()
    assert axe(page) == []
    press(page, "Escape")
    expect(page.locator("#panel")).to_be_hidden()
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    assert axe(page) == []
    press(page, "Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.route("**/api/answers", lambda route: route.abort(), times=1)
    page.forgiven = "Failed to load"
    page.get_by_text("Summary A", exact=True).last.click()
    page.locator("button.send").click()
    expect(page.locator("#finish-said")).to_be_visible()
    assert axe(page) == []
    page.get_by_role("button", name="Finish this batch").click()
    expect(page.locator("output.code")).to_be_visible()
    assert axe(page) == []


SAID = {
    "no": "You did not consent, so you cannot take part in this campaign.",
    "training": "too few training tasks were answered as expected.",
    "questions": "not all of its questions were answered right.",
    "checks": "too many of your answers to them were different.",
    "excluded": "You cannot continue in this campaign.",
}


@pytest.mark.parametrize("ended", SAID)
def test_pages_for_rejected_annotators_are_accessible(ended: str, site: Any, visit: Any, axe: Any) -> None:
    plans: dict[str, dict[str, Any]] = {
        "no": {"consent": "Do you?"},
        "training": {"training": {"made": 1, "pass_share": 1.0}},
        "checks": {"attention": {"rate": 0.5, "judge_after": 1, "pass_share": 1.0}, "batch": {"size": 1}},
        "questions": {"qualification": {"questions": made.QUESTIONS, "attempts": 1}},
        "excluded": {},
    }
    place = site("fact_verification", **{"assistance": {}, "contact": "https://example.org/help", **plans[ended]})
    page = visit(place.link())
    match ended:
        case "no":
            page.get_by_role("button", name="I do not agree").click()
        case "training":
            page.get_by_text("Supported", exact=True).click()
            page.locator("button.send").click()
            page.get_by_role("button", name="Continue").click()
        case "checks":
            for _ in range(2):
                moving_on(page, lambda: press(page, "1", "Enter"))
            page.get_by_role("button", name="Finish this batch").click()
        case "questions":
            for at in range(len(made.QUESTIONS)):
                page.locator("fieldset").nth(at).locator("label").first.click()
            page.get_by_role("button", name="Send my answers").click()
        case "excluded":
            task(page)
            place.service.exclude("anna", "a test", by="lead")
            page.reload()
    expect(page.locator("main")).to_contain_text(SAID[ended])
    assert axe(page) == []
    expect(page.locator(".foot a")).to_have_attribute("href", "https://example.org/help")


def test_the_page_without_a_link_and_the_preview_are_accessible(site: Any, visit: Any, axe: Any) -> None:
    place = site("rating")
    page = visit(f"{place.url}/")
    expect(page.locator("h1")).to_have_text("Open this page with your link")
    assert axe(page) == []
    page = visit(place.preview)
    task(page)
    assert axe(page) == []


def test_the_page_works_at_four_times_the_size(site: Any, visit: Any) -> None:
    page = visit(site("fact_verification").link())
    task(page)
    # 1280 pixels at 400 % are 320 (WCAG 1.4.10).
    resize(page, 320, 256)
    fits(page)
    page.locator("button.send").click()
    expect(page.locator(".wanting-text")).to_have_text("Do you agree with the machine?")


def hostile_rows(task_type: str) -> list[dict[str, Any]]:
    """Return rows with hostile texts in documents, summaries, key facts, systems, domains and ids."""
    kept: list[dict[str, Any]] = []
    for row, text in zip(xss.rows(), xss.CORPUS, strict=True):
        common = {name: value for name, value in row.items() if name not in {"human", "sentences", "reference"}}
        systems = ("one", "two")[: 1 + (task_type in {"rating", "pairwise"})]
        kept += [{**common, "system": f"{name} {text}", "summary": f"{text} was said {name}."} for name in systems]
    return kept


def hostile(task_type: str) -> dict[str, Any]:
    """Return campaign fields with hostile texts."""
    text = xss.CORPUS[0]
    named = [{"name": f"{at} {one}"[:80], "meaning": one, "question": one} for at, one in enumerate(xss.CORPUS[:4])]
    fields: dict[str, Any] = {
        "title": xss.CORPUS[1], "contact": xss.CORPUS[3], "consent": "\n\n".join(xss.CORPUS),
        "instructions": "\n\n".join([*xss.CORPUS, "[x](javascript:alert(1))", "![x](https://evil.example/y.png)"]),
        "qualification": {"questions": [{"question": text, "choices": list(xss.CORPUS[:4]), "answer": 0}]},
        "batch": {"size": 40, "lease_minutes": 60}, "training": {"made": 1},
    }  # fmt: skip
    if task_type in {"rating", "pairwise"}:
        fields["aspects"] = named
    if task_type in {"fact_verification", "span_highlighting"}:
        fields["error_types"] = named
    return fields


MADE = """(markup) => [...document.querySelectorAll(markup)]
  .filter((node) => !node.matches("#panel img, main .prose img")).map((node) => node.outerHTML)"""
MARKUP = "img, iframe, base, math, svg, object, embed, style, main script, main link, main meta, a[href^='javascript']"


@pytest.mark.parametrize("task_type", made.TASK_TYPES)
def test_hostile_texts_do_nothing(site: Any, visit: Any, task_type: str) -> None:
    place = site(task_type, hostile_rows(task_type), **hostile(task_type))
    page = visit(place.link())
    page.forgiven = "evil.example/y.png"

    def inert() -> None:
        # An image from ![x](...) in the instructions may be in the page; the content security policy blocks its load.
        assert page.evaluate(MADE, MARKUP) == []

    page.get_by_role("button", name="I agree to take part").click()
    expect(page.get_by_role("button", name="I have read them")).to_be_visible()
    inert()
    page.get_by_role("button", name="I have read them").click()
    page.locator("fieldset label").first.click()
    inert()
    page.get_by_role("button", name="Send my answers").click()
    task(page)
    inert()
    for _ in range(len(place.service.tasks.training)):
        complete(page)
        page.locator("button.send").click()
        page.locator(".feedback #go").click()
        expect(page.locator(".feedback")).to_have_count(0)
    expect(page.locator("nav.dots")).to_be_visible()
    count = page.locator("nav.dots button").count()
    for at in range(count):
        reach(page, f"{at + 1} of {count}")
        inert()
        page.keyboard.press("]")
    expect(page.locator("script")).to_have_count(1)


def qualify(page: Any) -> None:
    """Answer the qualification questions with the last choices, and wait for the next task."""
    for at in range(len(made.QUESTIONS)):
        page.locator("fieldset").nth(at).locator("label").last.click()
    page.get_by_role("button", name="Send my answers").click()
    task(page)


def complete(page: Any) -> None:
    """Give any complete answer to the task. It is drawn in one step, so looking once is safe."""
    task(page)
    for _ in range(3):
        for group in page.locator("form fieldset:visible:has(input[type=radio], input[type=checkbox])").all():
            if group.locator("input:checked").count() == 0:
                group.locator("label").last.click()


def test_the_content_security_policy_blocks_injected_code(site: Any, visit: Any) -> None:
    page = visit(site("pairwise").link())
    task(page)
    page.forgiven = "Content Security Policy|Trusted"
    for slip in ("document.body.innerHTML = '<b>x</b>'", "document.body.setAttribute('onclick', 'window.hurt = 1')"):
        script = f"(() => {{ try {{ {slip}; }} catch (error) {{ return error.name; }} }})()"
        assert page.evaluate(script) == "TypeError"
    page.locator("body").click(position={"x": 5, "y": 400})
    assert page.evaluate("window.hurt") is None
