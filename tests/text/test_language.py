"""Languages are recognised, and a text that could be English is not called foreign."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from summeter import evaluate
from summeter.text.language import language_of

TEXTS = {
    "en": "The council decided on Tuesday to close the old bridge for fourteen months, and nobody knows why.",
    "de": "Der Gemeinderat hat am Dienstag beschlossen, die alte Brücke zu sperren. Warum, ist nicht bekannt.",
    "fr": "Le conseil a décidé mardi de fermer le vieux pont. On ne sait pas encore ce que les commerçants en pensent.",
    "es": "El ayuntamiento decidió el martes cerrar el viejo puente. No se sabe qué piensan los comerciantes.",
    "zh": "市议会周二决定关闭老桥十四个月。",
    "ja": "市議会は火曜日、古い橋を十四か月間閉鎖することを決めた。",
    "ar": "قرر مجلس المدينة يوم الثلاثاء إغلاق الجسر القديم لمدة أربعة عشر شهرا.",
    "ru": "Городской совет во вторник решил закрыть старый мост.",
}  # fmt: skip


@pytest.mark.parametrize("language", TEXTS)
def test_languages(language: str) -> None:
    assert language_of(TEXTS[language]) == language


@pytest.mark.parametrize("text", ["", "42", "Bär", "Gugudan. Origin: Seoul. Genres: K-pop, electropop. Active: 2016."])
def test_texts_that_cannot_be_told(text: str) -> None:
    assert language_of(text) is None


def test_the_bundled_example_is_english(example: Path) -> None:
    documents = {json.loads(line)["document"] for line in example.read_text(encoding="utf-8").splitlines()}
    assert {language_of(text) for text in documents} == {"en"}


@pytest.mark.parametrize("language", ["de", "ja"])
def test_support_skips_other_languages(language: str) -> None:
    rows = [{"document": TEXTS[language], "summary": TEXTS[language]}]
    skipped = evaluate(rows, "support")
    assert {judgment.status for judgment in skipped.judgments()} == {"skipped"}
    assert f"({language})" in (skipped.judgments()[0].reason or "")
    compared = evaluate(rows, "support[language=any]")
    assert {judgment.label for judgment in compared.judgments() if judgment.aspect == "faithfulness"} == {1}
