"""The report in a real browser: evidence by click and by key, filters, themes, a phone's width, hostile texts.

Requires Chromium on the PATH and the playwright package; skipped if either is missing.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from report import duel_runs as duels
from report import fake_runs as fake
from report import studies as made
from report import xss
from web import slow
from web.steps import PATIENCE, expect, fits, press, until

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
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a page of two runs, of which the second has markup instead of the wrong number 41."""
    folder = tmp_path_factory.mktemp("changed")
    rows = [row | {"summary": row["summary"].replace("41", xss.CORPUS[0])} for row in fake.ROWS]
    return html([fake.make(folder / "a"), fake.make(folder / "b", rows)], folder / "page.html")


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
    return html([made.hostile(), made.correlation(), made.trust(xss.CORPUS)], folder / "page.html", title=xss.CORPUS[0])


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a page of 105 summaries; those of d0 to d4 have an error (41), and only the source of d7 has a kiln."""
    folder = tmp_path_factory.mktemp("many")
    rows = [
        {"doc_id": f"d{n}", "system": f"s{system}", "document": f"{fake.BRIDGE} {'A kiln.' if n == 7 else ''}".strip(),
         "summary": f"The bridge closes for {'41' if n < 5 else '14'} months."}
        for n in range(21) for system in range(5)
    ]  # fmt: skip
    return html([fake.make(folder / "run", rows, ((fake.FACT_CHECK, fake.fact_check),))], folder / "page.html")


@pytest.fixture(scope="module")
def ranked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a page of 25 systems on 16 documents, of which the first 12 are right and the others are wrong."""
    folder = tmp_path_factory.mktemp("ranked")
    rows = [
        {"doc_id": f"d{n}", "system": f"system-with-a-long-name-{system:02}", "document": f"{n} {fake.BRIDGE}",
         "summary": f"The bridge closes for {'14' if system < 12 else '41'} months."}
        for n in range(16) for system in range(25)
    ]  # fmt: skip
    return html([fake.make(folder / "run", rows, ((fake.FACT_CHECK, fake.fact_check),))], folder / "page.html")


@pytest.fixture
def visit(browser: Any) -> Iterator[Any]:
    """Return a function that opens a file; requests, dialogs and console messages fail the test."""
    contexts: list[Any] = []
    events: list[str] = []

    def go(file: Path, *, width: int = 1280, scheme: str = "light", script: bool = True) -> Any:
        context = browser.new_context(
            viewport={"width": width, "height": 844}, color_scheme=scheme, java_script_enabled=script
        )
        context.set_default_timeout(PATIENCE * 1000)
        contexts.append(context)
        page = context.new_page()
        slow.throttle(page)
        address = file.as_uri()

        def dismiss(dialog: Any) -> None:
            events.append(f"dialog: {dialog.message}")
            dialog.dismiss()

        page.on("dialog", dismiss)
        page.on("console", lambda message: events.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: events.append(f"error: {error}"))
        page.on("request", lambda request: request.url.split("#")[0] in (address, "") or
                request.url.startswith("data:image/svg+xml") or events.append(f"request: {request.url}"))  # fmt: skip
        page.goto(address)
        return page

    yield go
    for context in contexts:
        context.close()
    assert events == []


def marks(card: Any, *texts: str) -> None:
    """Wait until exactly these texts of the document are marked."""
    expect(card.locator(".pane mark")).to_have_count(len(texts))
    expect(card.locator(".pane mark")).to_have_text(list(texts))


def readable(page: Any) -> None:
    """Wait until all visible text has enough contrast."""
    poor: list[str] = []

    def fine() -> bool:
        poor[:] = page.evaluate(CONTRAST)
        return not poor

    until(page, fine, poor)


def colour(page: Any, wanted: str) -> None:
    expect(page.locator("body")).to_have_css("background-color", wanted)


def test_a_click_shows_reasons_and_marks_evidence(visit: Any, one: Path) -> None:
    page = visit(one)
    card = page.locator("#item-0")
    expect(card.locator(".pane mark")).to_have_count(0)
    sentence = card.locator(".sent").first
    expect(sentence).to_contain_text("entity error 0.12")
    expect(sentence).to_contain_text("people: circumstantial error")
    sentence.locator(".hit").click()
    marks(card, "for 14 months")
    expect(sentence.locator(".why")).to_contain_text("41 is not in the source; nearest: 14")
    expect(sentence.locator(".hit")).to_have_attribute("aria-expanded", "true")
    sentence.locator(".hit").click()
    marks(card)
    expect(sentence.locator(".why")).to_be_hidden()


def test_reasons_and_evidence_by_keyboard(visit: Any, one: Path) -> None:
    page = visit(one)
    hit = page.locator("#item-0 .hit").first
    hit.focus()
    page.keyboard.press("Enter")
    marks(page.locator("#item-0"), "for 14 months")
    press(page, "Tab")
    expect(page.locator("#item-0 .quote:focus")).to_be_visible()
    press(page, "Shift+Tab")
    expect(hit).to_be_focused()
    press(page, "Space")
    marks(page.locator("#item-0"))


def test_overlapping_evidence_with_emoji(visit: Any, one: Path) -> None:
    page = visit(one)
    card = page.locator(".card", has_text="Bo holds the 😀 table at nine.")
    card.locator(".hit").first.click()
    # "the 😀 table" and "😀 table free" overlap in "😀 table"; then "I can hold it.".
    marks(card, "the ", "😀 table", " free", "I can hold it.")
    expect(card.locator(".pane mark.twice")).to_have_text(["😀 table"])
    until(page, lambda: card.locator(".pane").text_content() == fake.TALK)


def test_a_key_fact_leads_to_its_sentence(visit: Any, one: Path) -> None:
    page = visit(one)
    card = page.locator("#item-0")
    facts = card.locator(".fact")
    expect(facts).to_have_count(2)
    expect(facts.nth(0)).to_contain_text("missing")
    facts.nth(1).locator(".ref").click()
    expect(card.locator(".sent").first).to_have_class(re.compile(r"\bflash\b"))
    expect(card.locator(".sent").first.locator(".hit")).to_be_focused()


def test_filters_search_and_order(visit: Any, one: Path) -> None:
    page = visit(one)

    systems = page.locator(".card h3")
    expect(systems).to_have_text(["cedar on bridge", "aster on bridge", "cedar on talk", "aster on talk"])
    page.locator("[name=system]").select_option(label="cedar")
    expect(systems).to_have_count(2)
    page.locator("[name=show]").select_option("wrong")
    expect(systems).to_have_count(1)
    page.locator("[name=system]").select_option("")
    page.locator("[name=show]").select_option("")
    page.locator("[name=text]").fill("hold it")
    expect(systems).to_have_text(["cedar on talk", "aster on talk"])
    page.locator("[name=text]").fill("no such words")
    expect(page.get_by_text("No summary matches these filters.")).to_be_visible()
    # A jump to a summary that is filtered out resets the filter.
    page.locator(".jump").first.click()
    expect(page.locator("[id^=item-]:focus")).to_be_visible()
    expect(page.locator("[name=text]")).to_have_value("")


def test_one_document_with_all_systems(visit: Any, one: Path) -> None:
    page = visit(one)
    page.locator("[name=layout]").select_option("documents")
    board = page.locator(".board")
    position = page.locator(".pager span").first
    expect(board.locator("h3")).to_have_text("bridge")
    expect(board.locator("thead th")).to_have_text(["cedar", "aster"])
    expect(board.locator(".strip .chip")).to_have_text(
        ["entity error 0.12, clear", "not judged: unparsed", *["supported 0.97, clear"] * 2]
    )
    # What differs is marked: scores and key facts, and words of one summary only.
    expect(board.locator("tr.differ th")).to_contain_text(["faithfulness", "Cyclists may still cross."])
    expect(board.locator("b")).to_have_text(
        ["41", "A", "concert", "is", "planned", "14", "Cyclists", "may", "still", "cross"]
    )
    board.locator(".hit").first.click()
    marks(board, "for 14 months")
    page.keyboard.press("j")
    expect(board.locator("h3")).to_have_text("talk")
    expect(position).to_have_text("2 of 2")
    # The address holds the layout, the filters and the page.
    page.reload()
    expect(board.locator("h3")).to_have_text("talk")
    board.focus()
    page.keyboard.press("k")
    expect(board.locator("h3")).to_have_text("bridge")
    page.locator("[name=show]").select_option("entity error")
    expect(position).to_have_text("1 of 1 (2 in total)")
    expect(page).to_have_url(re.compile(r"#\?layout=documents&show=kind%3Aentity\+error$"))
    # The link of a summary shows it beside the others.
    page.evaluate("location.hash = '#item-2'")
    expect(page.locator("#item-2:focus")).to_contain_text("Bo holds the")


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_one_document_can_be_read(visit: Any, hostile: Path, two: Path, width: int, scheme: str) -> None:
    for file in (hostile, two):
        page = visit(file, width=width, scheme=scheme)
        page.locator("[name=layout]").select_option("documents")
        page.locator(".board .hit").first.click()
        fits(page)
        readable(page)
        expect(page.locator("#cards :is(img, iframe, base, math, script, style, link, meta)")).to_have_count(0)


def test_many_summaries_are_paginated(visit: Any, many: Path) -> None:
    page = visit(many)
    position = page.locator(".pager span").first
    names = page.locator(".card h3")
    expect(position).to_have_text("1–20 of 105")
    expect(names).to_have_count(20)
    page.get_by_role("button", name="Next").first.click()
    expect(position).to_have_text("21–40 of 105")
    expect(names.nth(4)).to_have_text("s4 on d4")
    expect(names.nth(5)).to_have_text("s0 on d5")
    card = page.locator("#item-24")
    card.locator(".hit").click()
    marks(card, "for 14 months")
    expect(card.locator(".why")).to_contain_text("41 is not in the source")
    page.get_by_role("button", name="Last").first.click()
    expect(position).to_have_text("101–105 of 105")
    expect(names).to_have_count(5)
    expect(page.get_by_role("button", name="Next").first).to_be_disabled()
    page.get_by_role("button", name="First").last.click()
    expect(position).to_have_text("1–20 of 105")
    page.locator("[name=order]").select_option("data")
    expect(names.first).to_have_text("s0 on d0")


def test_search_covers_all_pages(visit: Any, many: Path) -> None:
    page = visit(many)
    names = page.locator(".card h3")
    page.locator("[name=text]").fill("KILN s3")
    expect(names).to_have_text(["s3 on d7"])
    page.locator("[name=text]").fill("")
    page.locator("[name=show]").select_option("wrong")
    expect(page.locator(".pager span").first).to_have_text("1–20 of 25 (105 in total)")
    # The link of a summary opens it, whatever the filters and the page.
    page.evaluate("location.hash = '#item-104'")
    expect(page.locator("#item-104:focus h3")).to_have_text("s4 on d20")
    expect(page.locator(".pager span").first).to_have_text("101–105 of 105")


def test_the_ranking_sorts(visit: Any, one: Path) -> None:
    page = visit(one)
    table = page.locator("table.rank").first
    button = table.locator("thead button", has_text="faithfulness")

    systems = table.locator("tbody th")
    expect(systems).to_have_text(["aster", "cedar"])
    button.click()
    expect(button.locator("..")).to_have_attribute("aria-sort", "descending")
    expect(systems).to_have_text(["aster", "cedar"])
    button.click()
    expect(systems).to_have_text(["cedar", "aster"])
    expect(button.locator("..")).to_have_attribute("aria-sort", "ascending")


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_many_systems_are_ranked_on_one_screen(visit: Any, ranked: Path, width: int, scheme: str) -> None:
    page = visit(ranked, width=width, scheme=scheme)
    table = page.locator("table.rank").first
    expect(table.locator("tbody tr")).to_have_count(25)
    expect(table.locator("tr.starts th")).to_have_text(["system-with-a-long-name-12"])
    assert width < 1000 or table.evaluate("node => node.offsetHeight") < 844
    page.locator("#ranking summary", has_text="Pairwise").click()
    matrix = page.locator("table.pairwise").first
    expect(matrix.locator("tbody tr")).to_have_count(25)
    name = matrix.locator("tbody th").first
    left = name.evaluate("node => node.getBoundingClientRect().left")
    page.locator(".scroll:has(> .pairwise)").first.evaluate("node => { node.scrollLeft = 400; }")
    assert abs(name.evaluate("node => node.getBoundingClientRect().left") - left) < 6
    fits(page)
    readable(page)


def test_light_dark_and_the_toggle(visit: Any, one: Path) -> None:
    colour(visit(one, scheme="light"), "rgb(252, 251, 248)")
    page = visit(one, scheme="dark")
    colour(page, "rgb(19, 21, 24)")
    page.locator("#theme").click()
    expect(page.locator("#theme")).to_have_text("Theme: light")
    colour(page, "rgb(252, 251, 248)")


# WCAG 2.1: relative luminance and contrast of text and background.
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
    readable(page)


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (1100, "dark"), (390, "light")])
def test_the_first_screen_says_what_changed(visit: Any, changed: Path, width: int, scheme: str) -> None:
    page = visit(changed, width=width, scheme=scheme)
    expect(page.locator("#changes .verdict")).to_be_in_viewport()
    expect(page.locator("#changes table.diff").first).to_be_in_viewport()
    if width == 1440:
        expect(page.locator("#ranking table.rank tbody th").first).to_be_in_viewport()
    change = page.locator(".change", has_text="cedar on bridge")
    expect(change.locator("del")).to_have_text("41")
    expect(change.locator("ins")).to_have_text(xss.CORPUS[0])
    expect(change.locator(".source mark")).to_have_text("for 14 months")
    fits(page)
    readable(page)
    change.locator(".jump").last.click()
    expect(page.locator(".card:focus")).to_contain_text(xss.CORPUS[0])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_matrix_of_pairs_can_be_read(visit: Any, duel: Path, scheme: str) -> None:
    page = visit(duel, scheme=scheme)
    page.locator("#pairs summary").click()
    readable(page)
    expect(page.locator("#pairs .settled")).to_have_count(2)
    expect(page.locator("#pairs .settled").first).to_contain_text("0.94 ▲")
    expect(page.locator("#ranking")).to_have_count(0)


def test_a_card_names_its_rivals_and_a_failed_pair_leads_to_it(visit: Any, duel: Path) -> None:
    page = visit(duel)
    page.locator("#failures .jump", has_text="birch against cedar on d0").click()
    card = page.locator(".card:focus")
    expect(card.locator("h3")).to_have_text("birch on d0")
    expect(card.locator(".alerts")).to_contain_text("fluency: not judged against cedar: unparsed")
    expect(card.locator(".duels li")).to_have_text(
        [
            "fluency worse than aster (shown first) — aster says less",
            "fluency worse than aster (shown second) — birch says less",
        ]
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_studies_can_be_read(visit: Any, studied: Path, scheme: str) -> None:
    page = visit(studied, scheme=scheme)
    folded = page.locator("#studies .long-table")
    expect(folded.locator("table")).to_be_hidden()
    folded.locator("summary").click()
    expect(folded.locator("tbody tr")).to_have_count(61)
    readable(page)


@pytest.mark.parametrize("which", ["studied", "alone"])
def test_on_a_phone_studies_scroll_in_their_own_region(visit: Any, which: str, request: pytest.FixtureRequest) -> None:
    page = visit(request.getfixturevalue(which), width=390)
    fits(page)
    region = page.locator("#studies .scroll").last if which == "alone" else page.locator("#studies .scroll").first
    assert region.evaluate("node => node.scrollWidth > node.clientWidth")
    region.focus()
    page.keyboard.press("ArrowRight")
    until(page, lambda: region.evaluate("node => node.scrollLeft") > 0)
    # No column is squeezed to one letter per line.
    assert page.locator("#studies tbody th").last.evaluate("node => node.offsetHeight") < 120


def test_a_page_of_studies_only(visit: Any, alone: Path) -> None:
    page = visit(alone)
    expect(page.locator("table.study")).to_have_count(len(xss.CORPUS) + 1)
    expect(page.locator("#studies :is(img, iframe, base, math, script, style, link, meta, a)")).to_have_count(0)
    expect(page.locator("#items, #failures, #ranking")).to_have_count(0)
    page.locator("#theme").click()
    expect(page.locator("#theme")).to_have_text("Theme: light")


@pytest.mark.parametrize("which", ["one", "two", "duel", "hostile"])
def test_a_phone_needs_no_sideways_scrolling(visit: Any, which: str, request: pytest.FixtureRequest) -> None:
    page = visit(request.getfixturevalue(which), width=390)
    page.locator(".hit").first.click()
    fits(page)


def test_the_judge_can_be_switched(visit: Any, two: Path) -> None:
    page = visit(two)
    first = page.locator("#item-0 .sent").first
    expect(first).to_contain_text("entity error 0.12")
    page.locator('[name=by][data-aspect="faithfulness"]').select_option(label="B · mock.fact_check")
    expect(first).to_contain_text("supported 0.90")
    page.locator("#changed .jump").first.click()
    expect(page.locator("#item-0")).to_be_focused()


def test_hostile_texts_do_nothing(visit: Any, hostile: Path) -> None:
    page = visit(hostile)
    expect(page.locator(".card")).to_have_count(len(xss.CORPUS))
    for hit in page.locator(".hit").all():
        hit.press("Enter")
    for quote in page.locator(".quote").all():
        quote.dispatch_event("click")
    for ref in page.locator(".ref").all()[:5]:
        ref.dispatch_event("click")
    expect(page.locator("#cards :is(img, iframe, base, math, script, style, link, meta)")).to_have_count(0)
    # One piece of data per summary and document, one for shared data, and the script.
    expect(page.locator("script")).to_have_count(2 * len(xss.CORPUS) + 2)
    expect(page.locator('script:not([type="application/json"])')).to_have_count(1)


def test_without_a_script_the_numbers_are_shown(visit: Any, one: Path) -> None:
    page = visit(one, script=False)
    expect(page.locator("noscript .alarm")).to_be_visible()
    expect(page.locator("table.rank").first).to_be_visible()
    expect(page.locator("#filters")).to_be_hidden()


def test_print_is_white_in_the_dark_theme(visit: Any, one: Path) -> None:
    page = visit(one, scheme="dark")
    page.emulate_media(media="print")
    colour(page, "rgb(255, 255, 255)")
    expect(page.locator("#filters")).to_be_hidden()
    readable(page)


def test_a_figure_is_saved_with_its_colours_and_numbers(visit: Any, hostile: Path, tmp_path: Path) -> None:
    page = visit(hostile, scheme="dark")
    page.locator("#strengths summary", has_text="Error types").click()
    figure = page.locator("#strengths figure", has_text="Error types").first
    with page.expect_download() as saved:
        figure.get_by_role("button", name="SVG").click()
    assert saved.value.suggested_filename == "error-types.svg"
    drawn = ET.parse(saved.value.path())
    fills = {part.get("fill") for part in drawn.iter()}
    assert "rgb(19, 21, 24)" in fills
    assert not any(fill and "var(" in fill for fill in fills)
    figure.locator("summary").click()
    with page.expect_download() as saved:
        figure.get_by_role("link", name="CSV").first.click()
    assert xss.CORPUS[0] in saved.value.path().read_text(encoding="utf-8")
    readable(page)
