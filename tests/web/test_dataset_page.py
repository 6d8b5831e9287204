"""The dataset page in a real browser: links, width of a phone, and hostile names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from data.test_overview import ROWS
from report import xss
from web.steps import expect, fits

from summeter.data.dataset import load
from summeter.report import dataset_html

pytestmark = pytest.mark.web


@pytest.fixture
def page_file(tmp_path: Path) -> Path:
    rows = [{**row, "system": f"{row['system']} {text}"} for row in ROWS for text in xss.CORPUS[:3]]
    return dataset_html(load(rows), tmp_path / "page.html")


@pytest.mark.parametrize("width", [1200, 390])
def test_the_page(chrome: Any, page_file: Path, width: int) -> None:
    page = chrome.new_page(viewport={"width": width, "height": 800})
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("dialog", lambda dialog: problems.append(dialog.message))
    page.goto(page_file.as_uri())
    expect(page.get_by_role("heading", name="rows")).to_be_visible()
    expect(page.get_by_role("region", name="Systems").get_by_text(xss.CORPUS[0], exact=False).first).to_be_visible()
    page.get_by_role("link", name="Warnings").click()
    expect(page.get_by_role("heading", name="Warnings")).to_be_in_viewport()
    page.locator("#theme").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    fits(page)
    assert problems == []
