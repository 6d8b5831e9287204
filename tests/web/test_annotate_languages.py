"""Annotation pages in other languages, left to right and right to left, without any English text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from web import annotate_campaigns as made
from web.steps import expect, fits, moving_on, press, reach, resize, sent, task, until
from web.test_annotate_adjudicate import opened

from summeter.annotate.campaign.language import SHIPPED, shipped

pytestmark = pytest.mark.web

HEBREW = "אבגדהוזחטיכלמנסעפצקרשת"
HEBREW_TEXT = "הגשר נסגר בינואר. העבודות עלו שני מיליון."
SAID = """() => {
  const seen = (node) => node.checkVisibility({ visibilityProperty: true });
  const nodes = [...document.querySelectorAll("body *")].filter(seen);
  const own = (node) => [...node.childNodes].filter((one) => one.nodeType === 3).map((one) => one.data.trim());
  const labels = (node) => ["aria-label", "aria-roledescription", "title"].map((name) => node.getAttribute(name));
  return [document.title, ...nodes.flatMap((node) => [...own(node), ...labels(node)])].filter(Boolean);
}"""


def mirrored(text: str) -> str:
    """Return an English text transliterated to Hebrew letters, with its placeholders unchanged."""
    parts = re.split(r"(\{\w+\})", text)
    return "".join(
        part if at % 2 else re.sub("[a-z]", lambda m: HEBREW[ord(m[0]) % len(HEBREW)], part.casefold())
        for at, part in enumerate(parts)
    )


def hebrew(folder: Path) -> Path:
    """Write a right-to-left language file with the plural forms of Hebrew."""
    given = yaml.safe_load((SHIPPED / "en.yaml").read_text(encoding="utf-8"))
    strings = {
        key: mirrored(text)
        if isinstance(text, str)
        else {name: f"{mirrored(text['other'])}{mark}" for name, mark in (("one", "א"), ("two", "ב"), ("other", "ג"))}
        for key, text in given["strings"].items()
    }
    file = folder / "he.yaml"
    own = {"language": "he", "direction": "rtl", "plurals": ["one", "two", "other"], "strings": strings}
    file.write_text(yaml.safe_dump(own, allow_unicode=True), encoding="utf-8")
    return file


def english(page: Any, language: Any) -> list[str]:
    """Return the English texts that the page displays although the language translates them."""
    said = page.evaluate(SAID)
    found = []
    for key, text in shipped("en").strings.items():
        other = language.strings[key]
        texts = [(text, other)] if isinstance(text, str) else [(text["other"], other["other"])]
        for one, own in texts:
            shape = re.compile(re.sub(r"\\\{\w+\\\}", ".+", re.escape(one)))
            if one != own and len(re.sub(r"\{\w+\}|\W", "", one)) > 3:
                found += [f"{key}: {line}" for line in said if shape.fullmatch(line) and not line.startswith(own)]
    return found


def german(page: Any) -> None:
    assert english(page, shipped("de")) == []


@pytest.mark.parametrize(
    ("task_type", "name"), [*zip(made.TASK_TYPES, ("fr", "es", "zh", "ar", "ja", "de"), strict=True)]
)
def test_a_task_in_another_language(site: Any, visit: Any, shot: Any, task_type: str, name: str) -> None:
    place = site(task_type, interface=name)
    page = visit(place.link())
    task(page)
    expect(page.locator("html")).to_have_attribute("lang", name)

    def translated(page: Any) -> None:
        assert english(page, shipped(name)) == []

    page.locator("button.send").click()
    expect(page.locator(".wanting-text")).not_to_be_empty()
    translated(page)
    if task_type == "span_highlighting":
        page.locator(".marking").focus()
        press(page, "ArrowRight", "Enter")
        expect(page.locator(".editor")).to_be_visible()
        translated(page)
    if task_type in made.ASSISTED:
        moving_on(page, lambda: press(page, "]"))
        press(page, "d")
        translated(page)
    shot(page, "task")
    press(page, "?")
    expect(page.get_by_role("dialog")).to_contain_text(shipped(name).text("keys.title"))
    translated(page)
    shot(page, "keys")
    press(page, "Escape")
    for width in (1440, 1100, 390):
        resize(page, width)
        fits(page)
        shot(page, str(width))


def test_a_whole_campaign_in_german(site: Any, visit: Any, shot: Any) -> None:
    place = site(
        "pairwise", interface="de", consent="Ich willige ein.", instructions="Lesen Sie das Dokument.",
        qualification={"questions": made.QUESTIONS, "attempts": 2}, training={"made": 1},
        batch={"size": 2, "lease_minutes": 60, "per_annotator": 1},
        pay={"currency": "EUR", "per_batch": 1234.5, "bonus": {"amount": 2, "checks_at_least": 0}},
    )  # fmt: skip
    page = visit(place.link())
    expect(page.get_by_role("button", name="Ich willige ein und nehme teil")).to_be_visible()
    german(page)
    page.get_by_role("button", name="Ich willige ein und nehme teil").click()
    reach(page, "Anleitung")
    german(page)
    press(page, "Enter")
    reach(page, "Zuerst ein paar Fragen")
    expect(page.locator("p.lead")).to_contain_text("Sie haben noch 2 Versuche.")
    for name in ("When it sounds true", "No"):
        page.get_by_role("radio", name=name, exact=True).check()
    page.locator("button.send").click()
    expect(page.locator("#notice-score")).to_contain_text("1 von 2 Fragen richtig. Nur wenn alle richtig sind")
    german(page)
    page.get_by_role("radio", name="When the document says so").check()
    page.locator("button.send").click()
    reach(page, "1 von 1: Welche Zusammenfassung ist besser?")
    press(page, "a", "Enter")
    expect(page.locator(".feedback")).to_contain_text("Einer der Texte ist keine Zusammenfassung")
    german(page)
    shot(page, "training")
    press(page, "Enter")
    reach(page, "1 von 2")
    page.route("**/api/answers", lambda route: route.abort())
    page.forgiven = "ERR_FAILED|Failed to fetch"
    for _ in range(2):
        moving_on(page, lambda: press(page, "a", "Enter"))
    expect(page.locator("#notice-offline")).to_contain_text("Der Server ist nicht erreichbar. Ihre Antworten bleiben")
    expect(page.locator("#waiting")).to_have_text("2 Antworten noch nicht gesendet")
    german(page)
    shot(page, "offline")
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("dialog")).to_contain_text("Für die offenen Aufgaben haben Sie noch Zeit (60 Minuten)")
    german(page)
    page.get_by_role("button", name="Weiterarbeiten").click()
    page.unroute("**/api/answers")
    page.evaluate("dispatchEvent(new Event('online'))")
    sent(place, 2, page)
    page.get_by_role("button", name="Dieses Paket abschließen").click()
    reach(page, "Danke: Ihre Arbeit ist abgeschlossen")
    expect(page.locator("main")).to_contain_text("Sie haben 2 Antworten in 1 Paket gegeben.")
    expect(page.locator("main")).to_contain_text("Sie haben 1.234,50\u00a0€ und einen Bonus von 2,00\u00a0€ verdient.")
    german(page)
    shot(page, "done")


def two_scripts(example: Path) -> list[dict[str, Any]]:
    """Return rows whose first document is Hebrew and whose second is English."""
    rows = made.rows(example)
    first = rows[0]["doc_id"]
    return [one | ({"document": HEBREW_TEXT, "key_facts": []} if one["doc_id"] == first else {}) for one in rows]


def left(page: Any, selector: str) -> float:
    return float(page.locator(selector).first.bounding_box()["x"])


@pytest.mark.parametrize("task_type", made.TASK_TYPES)
def test_a_right_to_left_page(site: Any, visit: Any, shot: Any, example: Path, tmp_path: Path, task_type: str) -> None:
    rows = two_scripts(example) if task_type in {"rating", "pairwise"} else None
    place = site(task_type, rows, interface=str(hebrew(tmp_path)), batch={"size": 9})
    page = visit(place.link(), scheme="dark" if task_type == "rating" else "light")
    task(page)
    expect(page.locator("html")).to_have_attribute("dir", "rtl")
    assert english(page, place.service.folder.language) == []
    # The document is on the right, the buttons of the bar and the send button on the left.
    assert left(page, ".source") > left(page, "form.task")
    assert left(page, ".tools") < left(page, ".brand")
    assert left(page, "button.send") < left(page, "form.task .send-row button")
    direction = "getComputedStyle(document.querySelector('.pane')).direction"
    assert page.evaluate(direction) == ("rtl" if task_type in {"rating", "pairwise"} else "ltr")
    fits(page)
    shot(page, "wide")
    if task_type in made.ASSISTED:
        press(page, "a", "n")
    if task_type == "pairwise":
        press(page, "?")
        expect(page.get_by_role("dialog")).to_be_visible()
        shot(page, "keys")
        press(page, "Escape")
        moving_on(page, lambda: press(page, "a", "Enter"))
        expect(page.locator(".send-row button").first).to_contain_text("→")
        sent(place, 1, page)
        moving_on(page, page.locator("nav.dots button").last.click)
        assert page.evaluate(direction) == "ltr"
        page.route("**/api/answers", lambda route: route.abort())
        page.forgiven = "ERR_FAILED|Failed to fetch"
        moving_on(page, lambda: press(page, "a", "Enter"))
        moving_on(page, lambda: press(page, "a", "Enter"))
        expect(page.locator("#waiting")).to_have_text(re.compile("^2 .*ב$"))  # the dual
    if task_type == "span_highlighting":
        page.locator(".marking").focus()
        press(page, "ArrowRight", "Shift+ArrowRight", "Enter")
        expect(page.locator(".editor")).to_be_visible()
        shot(page, "marked")
    resize(page, 390)
    fits(page)
    shot(page, "narrow")
    resize(page, 1100)
    fits(page)
    until(page, lambda: left(page, ".source") > left(page, "form.task"))


def test_adjudication_with_a_right_to_left_form(site: Any, visit: Any, shot: Any, tmp_path: Path) -> None:
    _, page, _ = opened(site, visit, "fact_verification", most=1, interface=str(hebrew(tmp_path)))
    expect(page.locator("html")).to_have_attribute("dir", "rtl")
    expect(page.locator(".answers .option")).to_have_count(2)
    assert left(page, ".source") > left(page, "form.task")
    for width in (1440, 1100, 390):
        resize(page, width)
        fits(page)
        shot(page, str(width))


TYPE = """([key, code, modifiers]) => document.activeElement.dispatchEvent(
  new KeyboardEvent("keydown", { key, code, bubbles: true, cancelable: true, ...modifiers }))"""


def test_keys_work_on_keyboards_of_other_languages(site: Any, visit: Any) -> None:
    """Shortcuts depend on the physical key: Hebrew letters, Arabic digits, brackets that need AltGr."""
    page = visit(site("pairwise", aspects=["one", "two"], batch={"size": 9}).link())
    task(page)
    page.evaluate(TYPE, ["ש", "KeyA", {}])
    page.evaluate(TYPE, ["נ", "KeyB", {}])
    chosen = page.locator("form.task label:has(:checked)")
    expect(chosen).to_have_text([re.compile("Summary A"), re.compile("Summary B")])
    moving_on(page, lambda: press(page, "Enter"))
    for modifiers in ({"ctrlKey": True, "altKey": True, "modifierAltGraph": True}, {"altKey": True}):
        moving_on(page, lambda given=modifiers: page.evaluate(TYPE, ["[", "Digit8", given]))
        moving_on(page, lambda given=modifiers: page.evaluate(TYPE, ["]", "Digit9", given]))
    page.evaluate(TYPE, ["a", "KeyA", {"altKey": True}])
    expect(page.locator("form.task :checked")).to_have_count(0)

    page = visit(site("fact_verification", assistance={}).link())
    task(page)
    for key, code, label in (("é", "Digit2", "Not supported"), ("١", "Digit1", "Supported")):
        page.evaluate(TYPE, [key, code, {}])
        expect(page.locator("fieldset.question").first.locator("label:has(:checked)")).to_have_text(re.compile(label))
