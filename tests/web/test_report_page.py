"""The report in a real browser: evidence by click and by key, filters, themes, a phone's width, hostile texts.

Needs a Chromium on the PATH and the playwright package; skipped, visibly, where either is absent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from report import duel_runs as duels
from report import fake_runs as fake
from report import studies as made
from report import xss

from summeter.report import html

pytestmark = pytest.mark.web


@pytest.fixture(scope="module")
def browser(chrome: Any) -> Any:
    return chrome


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("one")
    return html([fake.make(folder / "run")], folder / "page.html")


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("two")
    judges = ((fake.FACT_CHECK, fake.lenient), (fake.ALIGN, fake.align))
    return html([fake.make(folder / "a"), fake.make(folder / "b", judges=judges)], folder / "page.html")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    return html([xss.run(folder / "a"), xss.run(folder / "b")], folder / "page.html", title=xss.CORPUS[0])


@pytest.fixture(scope="module")
def duel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("duel")
    return html([duels.make(folder / "run")], folder / "page.html")


@pytest.fixture(scope="module")
def studied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("studied")
    studies = [made.correlation(), made.comparison(), made.preferences(), made.long(61)]
    return html([fake.make(folder / "run"), *studies], folder / "page.html")


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("alone")
    return html([made.hostile(), made.correlation()], folder / "page.html", title=xss.CORPUS[0])


@pytest.fixture
def visit(browser: Any) -> Iterator[Any]:
    """Opens a file; afterwards nothing may have been asked for, said in a dialog, or complained of."""
    contexts: list[Any] = []
    heard: list[str] = []

    def go(file: Path, *, width: int = 1280, scheme: str = "light", script: bool = True) -> Any:
        context = browser.new_context(
            viewport={"width": width, "height": 844}, color_scheme=scheme, java_script_enabled=script
        )
        contexts.append(context)
        page = context.new_page()
        address = file.as_uri()

        def dismiss(dialog: Any) -> None:
            heard.append(f"dialog: {dialog.message}")
            dialog.dismiss()

        page.on("dialog", dismiss)
        page.on("console", lambda message: heard.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: heard.append(f"error: {error}"))
        page.on("request", lambda request: request.url.split("#")[0] in (address, "") or
                request.url.startswith("data:image/svg+xml") or heard.append(f"request: {request.url}"))  # fmt: skip
        page.goto(address)
        return page

    yield go
    for context in contexts:
        context.close()
    assert heard == []


def until(page: Any, condition: Callable[[], bool]) -> None:
    """Waits for what the page does a moment later (its policy forbids waiting inside it)."""
    for _ in range(100):
        if condition():
            return
        page.wait_for_timeout(50)
    raise AssertionError("it did not come to pass within five seconds")


def marks(card: Any) -> list[str]:
    return [str(text) for text in card.locator(".pane mark").all_text_contents()]


def test_a_click_shows_why_and_marks_the_evidence(visit: Any, one: Path) -> None:
    page = visit(one)
    card = page.locator("#item-0")
    assert card.locator(".pane mark").count() == 0
    sentence = card.locator(".sent").first
    assert "entity error 0.12" in sentence.inner_text()
    assert "people: circumstantial error" in sentence.inner_text()
    sentence.locator(".hit").click()
    assert marks(card) == ["for 14 months"]
    assert "41 is not in the source; nearest: 14" in sentence.locator(".why").inner_text()
    assert sentence.locator(".hit").get_attribute("aria-expanded") == "true"
    sentence.locator(".hit").click()
    assert marks(card) == []
    assert sentence.locator(".why").is_hidden()


def test_the_same_by_keyboard(visit: Any, one: Path) -> None:
    page = visit(one)
    hit = page.locator("#item-0 .hit").first
    hit.focus()
    page.keyboard.press("Enter")
    assert marks(page.locator("#item-0")) == ["for 14 months"]
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "quote"
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Space")
    assert marks(page.locator("#item-0")) == []


def test_evidence_that_overlaps_and_holds_emoji(visit: Any, one: Path) -> None:
    page = visit(one)
    card = page.locator(".card", has_text="Bo holds the 😀 table at nine.")
    card.locator(".hit").first.click()
    # "the 😀 table" and "😀 table free" overlap in "😀 table"; then "I can hold it.".
    assert marks(card) == ["the ", "😀 table", " free", "I can hold it."]
    assert card.locator(".pane mark.twice").all_text_contents() == ["😀 table"]
    assert card.locator(".pane").text_content() == fake.TALK


def test_a_key_fact_leads_to_its_sentence(visit: Any, one: Path) -> None:
    page = visit(one)
    card = page.locator("#item-0")
    facts = card.locator(".fact")
    assert facts.count() == 2
    assert "missing" in facts.nth(1).inner_text()
    facts.nth(0).locator(".ref").click()
    assert "flash" in (card.locator(".sent").first.get_attribute("class") or "")
    assert page.evaluate("document.activeElement.className") == "hit"


def test_filters_search_and_order(visit: Any, one: Path) -> None:
    page = visit(one)

    def systems() -> list[str]:
        return [str(text) for text in page.locator(".card h3").all_text_contents()]

    assert systems() == ["cedar on bridge", "aster on bridge", "cedar on talk", "aster on talk"]
    page.locator("[name=system]").select_option(label="cedar")
    until(page, lambda: len(systems()) == 2)
    page.locator("[name=show]").select_option("w")
    until(page, lambda: len(systems()) == 1)
    page.locator("[name=system]").select_option("")
    page.locator("[name=show]").select_option("")
    page.locator("[name=text]").fill("hold it")
    until(page, lambda: len(systems()) == 2)
    assert systems() == ["cedar on talk", "aster on talk"]
    page.locator("[name=text]").fill("no such words")
    page.wait_for_selector("text=No summary fits these choices.")
    # A jump to a summary that is filtered away undoes the filter.
    page.locator(".jump").first.click()
    assert page.evaluate("document.activeElement.id").startswith("item-")
    assert page.locator("[name=text]").input_value() == ""


def test_the_ranking_sorts(visit: Any, one: Path) -> None:
    page = visit(one)
    table = page.locator("table.rank")
    button = table.locator("thead button", has_text="faithfulness")

    def order() -> list[str]:
        return [str(text) for text in table.locator("tbody th").all_text_contents()]

    assert order() == ["aster", "cedar"]
    button.click()
    assert order() == ["aster", "cedar"]
    button.click()
    assert order() == ["cedar", "aster"]
    assert button.locator("..").get_attribute("aria-sort") == "ascending"


def test_light_dark_and_the_toggle(visit: Any, one: Path) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"
    assert visit(one, scheme="light").evaluate(colour) == "rgb(252, 251, 248)"
    page = visit(one, scheme="dark")
    assert page.evaluate(colour) == "rgb(19, 21, 24)"
    page.locator("#theme").click()
    assert page.locator("#theme").inner_text() == "Theme: light"
    assert page.evaluate(colour) == "rgb(252, 251, 248)"


# WCAG 2.1: relative luminance and contrast of what is drawn on what.
CONTRAST = """() => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
  const ground = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const poor = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !node.getClientRects().length) continue;
    if (node.closest("script,style,:disabled")) continue;
    const [a, b] = [light(parse(getComputedStyle(node).color)), light(ground(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) poor.push(`${ratio.toFixed(2)} ${node.className} ${walker.currentNode.data.trim().slice(0, 30)}`);
  }
  return poor;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read(visit: Any, two: Path, scheme: str) -> None:
    page = visit(two, scheme=scheme)
    page.locator(".hit").first.click()
    assert page.evaluate(CONTRAST) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_matrix_of_pairs_can_be_read(visit: Any, duel: Path, scheme: str) -> None:
    page = visit(duel, scheme=scheme)
    page.locator("#pairs summary").click()
    assert page.evaluate(CONTRAST) == []
    assert page.locator("#pairs .settled").count() == 2
    assert "0.94 ▲" in page.locator("#pairs .settled").first.inner_text()
    assert page.locator("#ranking").count() == 0


def test_a_card_names_its_rivals_and_a_failed_pair_leads_to_it(visit: Any, duel: Path) -> None:
    page = visit(duel)
    page.locator("#failures .jump", has_text="birch against cedar on d0").click()
    card = page.locator(".card:focus")
    assert card.locator("h3").inner_text() == "birch on d0"
    assert "fluency not judged against cedar: unparsed" in card.locator(".alerts").inner_text()
    told = card.locator(".duels li").all_inner_texts()
    assert told == [
        "fluency worse than aster (shown first) — aster says less",
        "fluency worse than aster (shown second) — birch says less",
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_studies_can_be_read(visit: Any, studied: Path, scheme: str) -> None:
    page = visit(studied, scheme=scheme)
    folded = page.locator("#studies .long-table")
    assert not folded.locator("table").is_visible()
    folded.locator("summary").click()
    assert folded.locator("tbody tr").count() == 61
    assert page.evaluate(CONTRAST) == []


@pytest.mark.parametrize("which", ["studied", "alone"])
def test_on_a_phone_studies_scroll_in_a_region_of_their_own(
    visit: Any, which: str, request: pytest.FixtureRequest
) -> None:
    page = visit(request.getfixturevalue(which), width=390)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    region = page.locator("#studies .scroll").last if which == "alone" else page.locator("#studies .scroll").first
    assert region.evaluate("node => node.scrollWidth > node.clientWidth")
    region.focus()
    page.keyboard.press("ArrowRight")
    until(page, lambda: region.evaluate("node => node.scrollLeft") > 0)
    # No column is squeezed to a letter a line.
    assert page.locator("#studies tbody th").last.evaluate("node => node.offsetHeight") < 120


def test_a_page_of_studies_alone_is_whole(visit: Any, alone: Path) -> None:
    page = visit(alone)
    assert page.locator("table.study").count() == len(xss.CORPUS) + 1
    assert page.locator("#studies :is(img, iframe, base, math, script, style, link, meta, a)").count() == 0
    assert page.locator("#items, #failures, #ranking").count() == 0
    page.locator("#theme").click()
    assert page.locator("#theme").inner_text() == "Theme: light"


@pytest.mark.parametrize("which", ["one", "two", "duel", "hostile"])
def test_a_phone_needs_no_sideways_scrolling(visit: Any, which: str, request: pytest.FixtureRequest) -> None:
    page = visit(request.getfixturevalue(which), width=390)
    page.locator(".hit").first.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_judge_can_be_switched(visit: Any, two: Path) -> None:
    page = visit(two)
    first = page.locator("#item-0 .sent").first
    assert "entity error 0.12" in first.inner_text()
    page.locator('[name=by][data-aspect="faithfulness"]').select_option(label="B · mock.fact_check")
    until(page, lambda: "supported 0.90" in first.inner_text())
    page.locator("#changes .jump").first.click()
    assert page.evaluate("document.activeElement.id") == "item-0"


def test_hostile_texts_do_nothing(visit: Any, hostile: Path) -> None:
    page = visit(hostile)
    assert page.locator(".card").count() == len(xss.CORPUS)
    for hit in page.locator(".hit").all():
        hit.press("Enter")
    for quote in page.locator(".quote").all():
        quote.dispatch_event("click")
    for ref in page.locator(".ref").all()[:5]:
        ref.dispatch_event("click")
    assert page.locator("#cards :is(img, iframe, base, math, script, style, link, meta)").count() == 0
    assert page.evaluate("document.querySelectorAll('script').length") == 2


def test_without_a_script_the_numbers_stand(visit: Any, one: Path) -> None:
    page = visit(one, script=False)
    assert page.locator("noscript .alarm").is_visible()
    assert page.locator("table.rank").is_visible()
    assert page.locator("#filters").is_hidden()


def test_paper_is_white_whatever_the_screen_is(visit: Any, one: Path) -> None:
    page = visit(one, scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("#filters").is_hidden()
    assert page.evaluate(CONTRAST) == []
