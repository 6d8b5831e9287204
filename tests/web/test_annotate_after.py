"""The steps after annotation in a browser: the quality page, adjudication and the export."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from annotate import crowds
from annotate.test_cli import run as cli
from report import xss
from web.steps import expect, fits, moving_on, press, resize, task, until
from web.test_annotate_safe import axe

from summeter.data.dataset import load
from summeter.records import error_types

pytestmark = pytest.mark.web
__all__ = ["axe"]


def split(place: Any) -> list[str]:
    keys = [one.key for one in place.service.tasks.work[:2]]
    for key in keys:
        crowds.say(place.service, key, {"anna": crowds.YES, "ben": {**crowds.NO, "comment": xss.CORPUS[0]}})
    return keys


def test_the_quality_page(site: Any, visit: Any, shot: Any, axe: Any) -> None:
    place = site("fact_verification")
    split(place)
    page = visit(place.admin)
    page.get_by_role("link", name="Quality").click()
    expect(page.get_by_role("heading", name="Agreement of annotators")).to_be_visible()
    page.locator("details summary").click()
    expect(page.get_by_role("region", name="Agreement", exact=True)).to_have_count(2)
    assert axe(page) == []
    shot(page, "quality")
    expect(page.locator("table.people").nth(1)).to_be_visible()
    resize(page, 390)
    fits(page)


def test_ticked_error_types_are_adjudicated_and_exported(site: Any, visit: Any, tmp_path: Path) -> None:
    """Two ticked error types are displayed to the annotator and the adjudicator, and are in every judgment set."""
    place = site("fact_verification", assistance={"similar": {"share": 0.3}})
    page = visit(place.link())
    task(page)
    press(page, "2", "4", "6")
    moving_on(page, lambda: page.locator("button.send").click())
    (work, *_) = place.service.tasks.work
    crowds.say(place.service, work.key, {"ben": crowds.YES})
    press(page, "[")
    for name in ("entity error", "sentence error"):
        expect(page.get_by_role("checkbox", name=name)).to_be_checked()
    lead = visit(f"{place.url}/admin?token={place.service.folder.keys['admin']}")
    lead.get_by_role("link", name="Adjudication").click()
    task(lead)
    anna = lead.locator(".answers .option", has_text="Not supported")
    expect(anna.locator("dd")).to_have_text(["Not supported", "entity error, sentence error"])
    anna.locator("label").click()
    moving_on(lead, lambda: press(lead, "Enter"))
    assert cli("export", place.service.folder.folder, "--data", tmp_path / "gold") == 0
    data = load(tmp_path / "gold")
    for name, judge in (("human.raw", "anna"), ("human.adjudicated", "people"), ("human.merged", "people")):
        (judgment,) = [one for one in data.judgments(name) if one.judge == judge]
        assert error_types(judgment.error_type) == {"entity error", "sentence error"}


def test_a_key_fact_reworded_in_the_browser_is_applied(site: Any, visit: Any, tmp_path: Path) -> None:
    place = site("key_fact_validation", assistance={"similar": None}, answers_per_item=1)
    first, *others = place.service.tasks.work
    valid = dict.fromkeys(("significant", "correct", "relevant"), True)
    page = visit(place.link())
    task(page)
    expect(page.get_by_label("How should it read?")).to_be_hidden()
    press(page, "1", "2", "1")
    page.get_by_label("How should it read?").fill("The bridge closes in March.")
    moving_on(page, lambda: page.locator("button.send").click())
    until(page, lambda: len(place.answers()) == 1)
    for work in others:
        crowds.say(place.service, work.key, {"ben": {"values": valid}})
    assert cli("export", place.service.folder.folder, "--apply", tmp_path / "applied") == 0
    facts = load(tmp_path / "applied").documents[first.document_id].key_facts
    assert facts[0] == "The bridge closes in March."
    assert len(facts) == len(place.service.folder.data.documents[first.document_id].key_facts)
