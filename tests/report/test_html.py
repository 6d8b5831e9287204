"""The page as a file: self-contained, safe against hostile texts, and reproducible."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from report import fake_runs as fake
from report import xss

from summeter.pages.language import page_language
from summeter.records import UsageError
from summeter.report import html
from summeter.runs.run import RunFolder
from summeter.runs.usage import Usage

_TAGS = """
html head meta title link style script body a div nav span button main header section h1 h2 h3 h4 p strong dl dt dd ul
ol li svg rect line circle table thead tbody tr th td details summary em bdi label select option form input noscript
article footer code br h5 del ins mark path text figure caption
"""
_ATTRIBUTES = """
lang dir charset http-equiv content name rel href class id aria-label aria-labelledby aria-hidden aria-sort tabindex
type hidden role data-item data-value data-sort data-sortable data-heat data-pager data-domains data-aspect
title scope colspan rowspan viewbox preserveaspectratio focusable x y x1 x2 y1 y2 cx cy r width height open value
placeholder autocomplete d fill fill-opacity stroke stroke-width stroke-dasharray transform text-anchor font-size
font-weight xmlns download data-svg
"""
TAGS, ATTRIBUTES = frozenset(_TAGS.split()), frozenset(_ATTRIBUTES.split())
VOID = frozenset({"meta", "link", "br", "input"})


class Reader(HTMLParser):
    """Collects tags, attributes, scripts, styles and data by id; checks that tags are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str, str]] = []
        self.raw: dict[str, list[str]] = {"script": [], "style": []}
        self.open: list[str] = []
        self.data: dict[str, str] = {}
        self.holds: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)
        self.holds = dict(attrs).get("id") if tag == "script" else None
        if tag in self.raw and self.holds is None:
            self.raw[tag].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in self.raw:
            if self.holds is None:
                self.raw[self.open[-1]][-1] += data
            else:
                self.data[self.holds] = self.data.get(self.holds, "") + data


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("plain")
    return html([fake.make(folder / "run")], folder / "page.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("hostile")
    runs = [xss.run(folder / "a"), xss.run(folder / "<img src=x onerror=alert(0)>")]
    return html(runs, folder / "page.html", title=xss.CORPUS[1]).read_text(encoding="utf-8")


def test_hostile_texts_stay_texts(plain: str, hostile: str) -> None:
    found = read(hostile)
    assert found.tags <= TAGS
    assert {name for _, name, _ in found.attributes} <= ATTRIBUTES
    assert len(found.raw["script"]) == 1
    assert found.raw == read(plain).raw
    assert len(found.data) == 2 * len(xss.CORPUS) + 1
    links = [value for _, name, value in found.attributes if name == "href"]
    tables = [unquote(value.partition(",")[2]) for value in links if value.startswith("data:text/csv;charset=utf-8,")]
    assert all(value.startswith(("#", "data:image/svg+xml;base64,", "data:text/csv;charset=utf-8,")) for value in links)
    cells = [cell for table in tables for line in csv.reader(io.StringIO(table)) for cell in line]
    assert f"sys {xss.CORPUS[0]}" in cells
    assert f"'{xss.FORMULA}" in cells
    assert not any(cell.startswith(("=", "+", "@")) for cell in cells)


def test_hostile_texts_in_changed_summaries(plain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xss, "CORPUS", xss.CORPUS[:10])  # a page of all takes four times as long
    runs = [xss.run(tmp_path / "a"), xss.run(tmp_path / "b", changed=True)]
    text = html(runs, tmp_path / "page.html").read_text(encoding="utf-8")
    found = read(text)
    assert text.count('<article class="change">') == len(xss.CORPUS)
    assert found.tags <= TAGS
    assert {name for _, name, _ in found.attributes} <= ATTRIBUTES
    assert found.raw == read(plain).raw


def test_hostile_names_in_the_matrix_of_pairs(plain: str, hostile: str) -> None:
    assert 'id="pairs"' not in plain
    assert 'id="pairs"' in hostile
    assert "rival &lt;script&gt;alert(1)&lt;/script&gt;" in hostile


def test_the_embedded_json_holds_hostile_texts_unchanged(hostile: str) -> None:
    pieces = read(hostile).data
    assert not set("".join(pieces.values())) & set("<>&\u2028\u2029")
    documents = [json.loads(text) for name, text in pieces.items() if name.startswith("document-")]
    assert {one["references"][0] for one in documents} == set(xss.CORPUS)
    assert {json.loads(text)["text"] for name, text in pieces.items() if name.startswith("summary-")} == {
        f"{text} was said." for text in xss.CORPUS
    }


def test_every_summary_is_a_separate_piece(plain: str) -> None:
    """The data for filters and orders are separate, and agree with the summaries."""
    pieces = {name: json.loads(text) for name, text in read(plain).data.items()}
    shared = pieces["shared"]
    summaries = [pieces[f"summary-{index}"] for index in range(4)]
    assert list(pieces) == [*(f"summary-{index}" for index in range(4)), "document-0", "document-1", "shared"]
    summary_rows = shared["summaries"]
    named = [(shared["systems"][system], pieces[f"document-{document}"]["id"]) for system, document in
             zip(summary_rows["system"], summary_rows["document"], strict=True)]  # fmt: skip
    assert named == [("cedar", "bridge"), ("aster", "bridge"), ("cedar", "talk"), ("aster", "talk")]
    assert [shared["domains"][number] for number in shared["documents"]["domain"]] == ["news", "booking"]
    for column, values in enumerate(shared["values"]):
        scores = [dict(zip(one["scores"]["column"], one["scores"]["value"], strict=True)) for one in summaries]
        assert [one.get(column) for one in scores] == values
    lead = [column["title"] for column in shared["columns"]].index("composite")
    assert shared["values"][lead] == [0.3333, 1.0, 1.0, None]
    assert 0 in shared["flagged"]["wrong"]
    assert 1 not in shared["flagged"]["wrong"]
    # Key facts are written once, with their document.
    assert [one["facts"] for one in summaries[:3]] == [[0], [0], [0]]
    assert pieces["document-0"]["facts"] == [{"origin": "given", "texts": fake.ROWS[0]["key_facts"]}]


@pytest.mark.parametrize("which", ["plain", "hostile"])
def test_the_page_requests_nothing(which: str, request: pytest.FixtureRequest) -> None:
    found = read(request.getfixturevalue(which))
    for tag, name, value in found.attributes:
        if name in {"src", "href", "srcset", "action", "data", "poster", "style", "content", "xlink:href"}:
            without_hashes = re.sub(r"'sha256-[^']*'", "", value)  # a hash may contain //
            assert not re.search(r"https?:|//\w", without_hashes), (tag, name, value)
    assert not any(re.search(r"url\(|@import|https?:", style) for style in found.raw["style"])
    assert not re.search(r"\b(fetch|XMLHttpRequest|WebSocket|sendBeacon|import)\s*\(", found.raw["script"][0])
    assert "innerHTML" not in found.raw["script"][0]


def test_the_content_security_policy_allows_only_this_script_and_style(plain: str) -> None:
    found = read(plain)
    contents = [value for tag, name, value in found.attributes if tag == "meta" and name == "content"]
    policy = next(value for value in contents if "default-src" in value)

    def named(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    parts = dict(part.split(" ", 1) for part in policy.split("; "))
    assert parts["default-src"] == "'none'"
    assert parts["script-src"] == named(found.raw["script"][0])
    assert parts["style-src"] == named(found.raw["style"][0])
    assert parts["img-src"] == "data:"
    # A policy by hash forbids these attributes.
    assert not any(name == "style" or name.startswith("on") for _, name, _ in found.attributes)


def test_equal_runs_give_equal_bytes(tmp_path: Path) -> None:
    first = html([fake.make(tmp_path / "a" / "run")], tmp_path / "a.html").read_bytes()
    second = html([fake.make(tmp_path / "b" / "run")], tmp_path / "b.html").read_bytes()
    assert first == second
    assert str(tmp_path).encode() not in first  # local paths are not written


def test_the_results_are_shown_without_a_script(plain: str) -> None:
    text = re.sub(r"<script.*?</script>", "", plain, flags=re.DOTALL)
    for words in (
        "aster has the highest composite", "95.8 %", "cedar", "entity error", "no verdict for this sentence",
        "mock.align|judge:scripted/one|v:1", "--replay run", "sha256:",
        "4 summaries, 2 systems, 2 documents, 2 domains", "<noscript>", "95% percentile bootstrap",
    ):  # fmt: skip
        assert words in text


def test_the_page_shows_model_usage(tmp_path: Path) -> None:
    run = fake.make(tmp_path / "run")
    known = Usage(calls=1200, tokens_in=34567, tokens_out=890, cost=1.25)
    unknown = Usage(calls=1, tokens_in=2, tokens_out=3, cost=None, reason="no price")
    manifest = run.manifest.model_copy(update={"usage": {"a/b": known, "c/<d>": unknown}})
    (run.folder / "run.json").write_text(manifest.model_dump_json(by_alias=True), encoding="utf-8")
    text = html([RunFolder(run.folder)], tmp_path / "page.html").read_text("utf-8")
    assert "<bdi>a/b: 1,200 calls, 34,567 tokens in, 890 out, $1.2500</bdi><br>" in text
    assert "<bdi>c/&lt;d&gt;: 1 calls, 2 tokens in, 3 out, cost unknown: no price</bdi>" in text


def test_without_a_run_no_file_is_left(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        html([], tmp_path / "p.html")
    assert list(tmp_path.iterdir()) == []


def test_settings_and_models_of_one_judge_are_distinguished(tmp_path: Path) -> None:
    plain = fake.FACT_CHECK
    strict = plain.model_copy(update={"signature": "mock.fact_check|judge:scripted/one|strict:yes|v:1", "file": "b"})
    other = plain.model_copy(
        update={"signature": "mock.fact_check|judge:scripted/two|v:1", "file": "c", "model": "scripted/two"}
    )
    judges = [(entry, fake.fact_check) for entry in (plain, strict, other)]
    text = html([fake.make(tmp_path / "r", judges=judges)], tmp_path / "p.html").read_text("utf-8")
    shown = re.sub(r"<script.*?</script>|<[^>]+>", " ", text, flags=re.DOTALL)
    ranking, strengths = shown.split("Strengths and weaknesses")[0], shown.split("Strengths and weaknesses")[1]
    for name in ("strict=yes", "scripted/two"):
        assert name in ranking
        assert name in strengths.split("By domain")[0]


def test_a_page_in_a_right_to_left_language(tmp_path: Path) -> None:
    run = RunFolder(fake.make(tmp_path / "run").folder)
    text = html([run], tmp_path / "page.html", language="ar").read_text("utf-8")
    assert '<html lang="ar" dir="rtl">' in text
    assert "\u206695.8 %\u2069" in text  # numbers are written from left to right
    shared = json.loads(text.partition('id="shared">')[2].partition("</script>")[0])
    assert shared["said"]["entity error"] == page_language("ar").strings["entity error"]
    assert '<span lang="en" dir="ltr">95% percentile bootstrap' in text
    assert "left out of the means" not in text  # the sentence on missing scores is translated
    assert "summeter report run -o report.html --language ar<" in text
    with pytest.raises(UsageError, match=r"no pages in the language 'xx'; use one of ar, .*, zh, or auto"):
        html([run], tmp_path / "page.html", language="xx")
