"""What pages must never do: run what data says, tell what is a check, or shut anybody out (axe-core, WCAG 2.1 AA)."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import pytest
from report import xss
from web import annotate_campaigns as made

pytestmark = pytest.mark.web

LOOKS = [(size, scheme) for size in ({"width": 390, "height": 844}, {"width": 1280, "height": 800})
         for scheme in ("dark", "light")]  # fmt: skip
"""Ends as it begins: a desktop in light."""


def until(page: Any, condition: Callable[[], bool]) -> None:
    for _ in range(200):
        if condition():
            return
        page.wait_for_timeout(50)
    raise AssertionError("it did not come to pass within ten seconds")


@pytest.fixture(scope="module")
def axe() -> Callable[[Any], list[str]]:
    """What axe-core finds serious or critical on a page, in every look; the test skips, visibly, without it."""
    pytest.importorskip("axe_playwright_python", reason="needs axe-core (axe-playwright-python), which is not here")
    script = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")

    def check(page: Any) -> list[str]:
        page.evaluate(script)
        faults = []
        for size, scheme in LOOKS:
            page.set_viewport_size(size)
            page.emulate_media(color_scheme=scheme)
            found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
            faults += [
                f"{scheme} {size['width']} {one['id']}: {node['html'][:160]} | {node['failureSummary']}"
                for one in found["violations"]
                if one["impact"] in {"serious", "critical"}
                for node in one["nodes"]
            ]
        return faults

    return check


@pytest.mark.parametrize("kind", made.KINDS)
def test_task_pages_are_open_to_all(site: Any, visit: Any, axe: Any, kind: str) -> None:
    page = visit(site(kind, instructions=made.INSTRUCTIONS).link())
    page.get_by_role("button", name="I have read them").click()
    page.locator("form.task").wait_for()
    assert axe(page) == []
    if kind == "span_highlighting":
        page.locator(".marking").focus()
        page.keyboard.press("Enter")
    else:
        complete(page)
        page.keyboard.press("n")
    page.evaluate("document.querySelectorAll('main details').forEach((fold) => { fold.open = true; })")
    assert axe(page) == []
    if kind != "fact_verification":
        page.locator("button.send").click()
        assert axe(page) == []


def test_the_other_pages_are_open_to_all(site: Any, visit: Any, axe: Any) -> None:
    place = site(
        "pairwise", consent="Do you?", instructions=made.INSTRUCTIONS, training={"made": 1},
        qualification={"questions": made.QUESTIONS}, batch={"size": 1, "per_annotator": 1},
        pay={"currency": "EUR", "per_batch": 2.5},
    )  # fmt: skip
    page = visit(place.link())
    page.get_by_role("button", name="I agree and take part").wait_for()
    assert axe(page) == []
    page.get_by_role("button", name="I agree and take part").click()
    page.get_by_role("button", name="I have read them").wait_for()
    assert axe(page) == []
    page.get_by_role("button", name="I have read them").click()
    page.locator("fieldset").first.wait_for()
    page.get_by_role("button", name="Send my answers").click()
    assert axe(page) == []
    for group in page.locator("fieldset").all():
        group.locator("label").last.click()
    page.get_by_role("button", name="Send my answers").click()
    page.locator("form.task").wait_for()
    page.keyboard.press("?")
    assert axe(page) == []
    page.keyboard.press("Escape")
    page.get_by_text("Summary A", exact=True).last.click()
    page.locator("button.send").click()
    page.locator(".feedback").wait_for()
    assert axe(page) == []
    page.get_by_role("button", name="Go on").click()
    page.locator("#open-pause:visible").wait_for()
    page.keyboard.press("i")
    assert axe(page) == []
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Pause").click()
    assert axe(page) == []
    page.keyboard.press("Escape")
    page.route("**/api/answers", lambda route: route.abort(), times=1)
    page.forgiven = "Failed to load"
    page.get_by_text("Summary A", exact=True).last.click()
    page.locator("button.send").click()
    page.locator("#finish-said").wait_for()
    assert axe(page) == []
    page.get_by_role("button", name="Finish this batch").click()
    page.locator("output.code").wait_for()
    assert axe(page) == []


def test_nobody_page_and_preview_are_open_to_all(site: Any, visit: Any, axe: Any) -> None:
    place = site("rating")
    page = visit(f"{place.url}/")
    assert axe(page) == []
    page = visit(place.preview)
    page.locator("form.task").wait_for()
    assert axe(page) == []


def test_the_page_can_be_used_at_four_times_the_size(site: Any, visit: Any) -> None:
    page = visit(site("fact_verification").link())
    page.locator("form.task").wait_for()
    # 1280 pixels at 400 % are 320 (WCAG 1.4.10).
    page.set_viewport_size({"width": 320, "height": 256})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator("button.send").click()
    assert page.locator(".wanting-text").inner_text() == "Do you agree with the machine?"


def hostile_rows(kind: str) -> list[dict[str, Any]]:
    """Texts of the corpus in documents, summaries, key facts, systems, domains and ids."""
    kept: list[dict[str, Any]] = []
    for row, text in zip(xss.rows(), xss.CORPUS, strict=True):
        common = {name: value for name, value in row.items() if name not in {"human", "sentences", "reference"}}
        systems = ("one", "two")[: 1 + (kind in {"rating", "pairwise"})]
        kept += [{**common, "system": f"{name} {text}", "summary": f"{text} was said {name}."} for name in systems]
    return kept


def hostile(kind: str) -> dict[str, Any]:
    """A campaign whose own words are hostile too."""
    text = xss.CORPUS[0]
    named = [{"name": f"{at} {one}"[:80], "meaning": one, "question": one} for at, one in enumerate(xss.CORPUS[:4])]
    fields: dict[str, Any] = {
        "title": xss.CORPUS[1], "contact": xss.CORPUS[3], "consent": "\n\n".join(xss.CORPUS),
        "instructions": "\n\n".join([*xss.CORPUS, "[x](javascript:alert(1))", "![x](https://evil.example/y.png)"]),
        "qualification": {"questions": [{"question": text, "choices": list(xss.CORPUS[:4]), "answer": 0}]},
        "batch": {"size": 40, "lease_minutes": 60}, "training": {"made": 1},
    }  # fmt: skip
    if kind in {"rating", "pairwise"}:
        fields["aspects"] = named
    if kind in {"fact_verification", "span_highlighting"}:
        fields["error_types"] = named
    return fields


MADE = """(markup) => [...document.querySelectorAll(markup)]
  .filter((node) => !node.matches("#panel img, main .prose img")).map((node) => node.outerHTML)"""
MARKUP = "img, iframe, base, math, svg, object, embed, style, main script, main link, main meta, a[href^='javascript']"


@pytest.mark.parametrize("kind", made.KINDS)
def test_hostile_texts_do_nothing(site: Any, visit: Any, kind: str) -> None:
    place = site(kind, hostile_rows(kind), **hostile(kind))
    page = visit(place.link())
    page.forgiven = "evil.example/y.png"

    def inert() -> None:
        # What Markdown makes of ![x](...) in the researcher's own instructions may stand; the policy keeps it unloaded.
        assert page.evaluate(MADE, MARKUP) == []

    page.get_by_role("button", name="I agree and take part").click()
    inert()
    page.get_by_role("button", name="I have read them").click()
    page.locator("fieldset label").first.click()
    inert()
    page.get_by_role("button", name="Send my answers").click()
    page.locator("form.task").wait_for()
    inert()
    for _ in range(len(place.desk.tasks.training)):
        complete(page)
        page.locator("button.send").click()
        page.locator(".feedback #go").click()
    page.locator("nav.dots").wait_for()
    for _ in range(page.locator("nav.dots button").count()):
        inert()
        page.keyboard.press("]")
    assert page.evaluate("document.querySelectorAll('script').length") == 1


def complete(page: Any) -> None:
    """Any answer that can be sent."""
    for _ in range(3):
        for group in page.locator("form fieldset:visible").all():
            if group.locator("input:checked").count() == 0:
                group.locator("label").last.click()


@pytest.mark.parametrize("kind", made.KINDS)
def test_the_browser_never_learns_what_is_expected(site: Any, visit: Any, kind: str) -> None:
    place = site(kind, attention={"rate": 0.4}, qualification={"questions": made.QUESTIONS})
    page = visit(place.link())
    page.get_by_role("button", name="Send my answers").wait_for()
    for group in page.locator("fieldset").all():
        group.locator("label").last.click()
    asked = page.evaluate("fetch('/api/session').then((reply) => reply.text())")
    page.get_by_role("button", name="Send my answers").click()
    page.locator("form.task").wait_for()
    told = page.evaluate("fetch('/api/session').then((reply) => reply.text())")
    assert '"tasks"' in told
    for name in (
        "expected",
        "feedback",
        "role",
        "check",
        "system",
        "systems",
        "rival",
        "answer_key",
        "passed",
        "group",
    ):
        assert f'"{name}"' not in told, name
    assert re.search(r'"choices": \[[^]]*\]}', asked)
    everything = asked + told + page.content()
    keys = {one.key for one in place.desk.tasks.by_key.values()}
    assert not any(key in everything for key in keys)


def test_another_persons_task_is_not_shown(site: Any, visit: Any) -> None:
    place = site("pairwise")
    page = visit(place.link())
    page.locator("form.task").wait_for()
    other = visit(place.link("ben"))
    other.locator("form.task").wait_for()
    task = page.evaluate("fetch('/api/session').then((reply) => reply.json()).then((one) => one.batch.tasks[0].id)")
    other.forgiven = "403"
    reply = other.evaluate(
        """async (task) => {
          const { csrf } = await (await fetch("/api/session")).json();
          const answer = { choices: { overall: "A" } };
          const body = JSON.stringify({ answer_id: "12345678", task, answer, seconds: 1 });
          const headers = { "X-CSRF-Token": csrf, "Content-Type": "application/json" };
          const sent = await fetch("/api/answers", { method: "POST", body, headers });
          return [sent.status, (await sent.json()).error.code];
        }""",
        task,
    )
    assert reply == [403, "not_yours"]


def test_the_policy_stops_what_slips_in(site: Any, visit: Any) -> None:
    page = visit(site("pairwise").link())
    page.locator("form.task").wait_for()
    page.forgiven = "Content Security Policy|Trusted"
    for slip in ("document.body.innerHTML = '<b>x</b>'", "document.body.setAttribute('onclick', 'window.hurt = 1')"):
        script = f"(() => {{ try {{ {slip}; }} catch (error) {{ return error.name; }} }})()"
        assert page.evaluate(script) == "TypeError"
    page.locator("body").click(position={"x": 5, "y": 400})
    assert page.evaluate("window.hurt") is None
