"""`finesure` with prompts in another language, and evidence in texts of other scripts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from models.server import Call, Reply, StubServer, ok

from summeter import evaluate

TEXTS = {
    "ja": ("橋は火曜日に閉まった。工事は十四か月続く。", "橋は火曜日に閉まった。"),
    "ar": ("أُغلق الجسر يوم الثلاثاء. تستمر الأعمال أربعة عشر شهرا.", "أُغلق الجسر يوم الثلاثاء."),
    "de": ("Die Brücke wurde am Dienstag gesperrt. Die Arbeiten dauern vierzehn Monate.", "Die Brücke wurde gesperrt."),
}  # fmt: skip


@pytest.mark.parametrize("language", TEXTS)
def test_a_run_in_another_language(language: str, tmp_path: Path) -> None:
    document, summary = TEXTS[language]
    quote = document[: len(summary) - 1] if language != "de" else "Die Brücke wurde am Dienstag gesperrt."

    def answer(call: Call) -> Reply:
        if '"present"' in call.prompt:
            return ok(json.dumps({"1": {"present": "yes", "lines": [1]}}))
        return ok(json.dumps({"1": {"quote": quote, "reason": "…", "category": "no error"}}, ensure_ascii=False))

    rows: list[dict[str, Any]] = [{"document": document, "summary": summary, "key_facts": [summary]}]
    with StubServer(answer) as server:
        run = evaluate(
            rows, f"finesure[prompts={language},strategy=evidence]", models="openai-api/own/m", base_url=server.url,
            out=tmp_path / "run",
        )  # fmt: skip
        asked = [json.dumps(call.body["messages"]) for call in server.calls]
    assert [judgment.label for judgment in run.judgments()] == [1, 1, 1]
    (checked,) = [each for each in run.judgments() if each.aspect == "faithfulness"]
    (span,) = checked.evidence
    assert span.cut(document) == quote
    assert not any("You judge" in prompt or "Your task" in prompt for prompt in asked)
