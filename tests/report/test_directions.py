"""Names and words in right-to-left scripts do not reorder the English sentences of a page."""

from __future__ import annotations

from pathlib import Path

from summeter import evaluate
from summeter.report import html

START, END, LEFT = "\u2068", "\u2069", "\u200e"


def test_names_and_reasons_are_isolated(tmp_path: Path) -> None:
    text = "أُغلق الجسر القديم يوم الثلاثاء."
    rows = [
        {"doc_id": "d", "system": name, "document": text, "summary": summary, "key_facts": [text]}
        for name, summary in (("نظام-أ", text), ("نظام-ب", "سافر أحمد."))
    ]
    run = evaluate(rows, "support[language=any]", out=tmp_path / "run")
    page = html([run], tmp_path / "page.html").read_text(encoding="utf-8")
    assert f"{START}نظام-أ{END} has the highest" in page
    reasons = [judgment.reason or "" for judgment in run.judgments()]
    (absent,) = (each for each in reasons if each.startswith("'أُغلق") and each.endswith("no support in the summary"))
    word = absent.partition("'")[2].partition("'")[0]
    assert f"{LEFT}'{START}{word}{END}' has no support in the summary" in page
