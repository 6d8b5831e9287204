"""The dataset page and the agreement line."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from data.test_overview import ROWS

from summeter.data.dataset import load
from summeter.report import agreement_line, agreements, dataset_html

HOSTILE = "<script>alert(1)</script>"


def labelled(*votes: dict[str, int]) -> list[dict[str, object]]:
    return [
        {"doc_id": str(number), "document": "It rained.", "summary": "Rain.", "human": {"sentence_labels": [cell]}}
        for number, cell in enumerate(votes)
    ]


def test_agreement_by_hand() -> None:
    # Votes 00 01 11 11: n = 8, three 0 and five 1. Do = (1 + 1) / 8; De = 2 * 3 * 5 / (8 * 7); alpha = 1 - Do / De.
    rows = labelled({"a": 0, "b": 0}, {"a": 0, "b": 1}, {"a": 1, "b": 1}, {"a": 1, "b": 1})
    ((name, row),) = agreements(load(rows))
    assert (name, row.aspect, row.level, row.details["raters"], row.n) == (
        "human.raw", "faithfulness", "sentence", 2, 4
    )  # fmt: skip
    assert row.value == pytest.approx(1 - (2 / 8) / (30 / 56))
    assert agreement_line([(name, row)]) == "agreement (Krippendorff's ordinal alpha): faithfulness 0.53 (4 sentences)"


def test_reasons_for_undefined_agreement() -> None:
    rows = agreements(load(labelled({"a": 1, "b": 1})))
    assert agreement_line(rows) == (
        "agreement (Krippendorff's ordinal alpha): faithfulness not known, constant input (1 sentence)"
    )
    human = {"ratings": {"fluency": {"a": 1e200, "b": 2}}}
    ((_, row),) = agreements(load([{"document": "It rained.", "summary": "Rain.", "human": human}]))
    assert row.value is None
    assert "must be between" in str(row.reason)


def test_the_page_contains_the_tables_and_no_script(tmp_path: Path) -> None:
    rows = [{**row, "system": f"{row['system']}{HOSTILE}"} for row in ROWS]
    path = dataset_html(load(rows), tmp_path / "page.html")
    page = path.read_text("utf-8")
    assert HOSTILE not in page
    assert html.escape(HOSTILE) in page
    titles = re.findall(r"<h2 id=\S+>([^<]+)</h2>", page)
    assert titles == ["Lengths", "Systems", "Votes", "Near-duplicate documents", "Warnings"]
    assert "4 summaries of 3 documents by 2 systems in 2 domains." in page
    assert "default-src &#39;none&#39;" in page or "default-src 'none'" in page
    for title in titles:
        assert f'href="#{title.lower().replace(" ", "-")}"' in page


def test_equal_data_give_equal_bytes(tmp_path: Path) -> None:
    pages = [dataset_html(load(ROWS), tmp_path / name).read_bytes() for name in ("a.html", "b.html")]
    assert pages[0] == pages[1]
