"""Judges with prompts in other languages, from the data to the page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from summeter import evaluate, report

# Document, summary, quote, reason, missing fact, and words of the prompts of rts and omissions
TEXTS = {
    "de": (
        "Der Rat schloss am Dienstag die alte Brücke. Dr. Berg war z. B. dagegen.", "Der Rat schloss die Brücke.",
        "Der Rat schloss", "Sprachlich einwandfrei.", "Dr. Berg war dagegen.",
        "von eins bis fünf", "was in der Zusammenfassung oben fehlt",
    ),
    "ja": (
        "市議会は火曜日に古い橋を閉鎖した。住民は反対した。", "市議会は橋を閉鎖した。",
        "市議会は橋を閉鎖", "読みやすい。", "住民は反対した。",
        "一から五", "上の要約に欠けている",
    ),
}  # fmt: skip


@pytest.mark.parametrize("language", TEXTS)
def test_a_run_and_its_report(language: str, tmp_path: Path) -> None:
    document, summary, quote, reason, missing, rating, omission = TEXTS[language]
    facts = [
        {"fact": summary, "importance": "essential", "quote": quote, "present": "yes"},
        {"fact": missing, "importance": "minor", "quote": document[-4:], "present": "no"},
    ]
    rules = [
        {"match": [rating, document, summary], "reply": {"reason": reason, "score": 4}},
        {"match": [omission, document, summary], "reply": {"facts": facts}},
    ]
    script = tmp_path / "judge.jsonl"
    script.write_text("".join(f"{json.dumps(rule)}\n" for rule in rules), encoding="utf-8")
    judges = [f"rts[aspect=fluency,prompts={language}]", f"omissions[prompts={language}]"]
    rows = [{"document": document, "summary": summary, "system": "aster"}]
    run = evaluate(rows, judges, models=f"scripted/{script}", out=tmp_path / "run")
    found = {(each.judge, each.target.index): each for each in run.judgments()}
    assert (found["rts", None].value, found["rts", None].reason) == (4.0, reason)
    assert [found["omissions", at].label for at in (0, 1)] == [1, 0]
    (span,) = found["omissions", 0].evidence
    assert (span.of, summary[span.start : span.end]) == ("summary", quote)
    page = report.html([run], tmp_path / "page.html", language="auto").read_text(encoding="utf-8")
    assert f'<html lang="{language}">' in page
