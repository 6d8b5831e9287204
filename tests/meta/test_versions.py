"""Two runs over versions of the same data: what is paired, and the differences of means."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from report import fake_runs as fake

from summeter.engine.api import evaluate
from summeter.meta._versions import Versions, compare, outcome
from summeter.meta.pairing import TEXTS, Pairing, difference_rows
from summeter.records import Document, Judgment, Summary
from summeter.runs.manifest import JudgeEntry
from summeter.runs.run import RunFolder

ENTRY = fake.FACT_CHECK.model_copy(update={"model": None, "models": {}, "signature": "mock.fact_check|t:0|v:1"})


def rows(texts: dict[str, list[str]], documents: Sequence[str] = ()) -> list[fake.Row]:
    """Return rows from {system: [summary of each document]}; a summary has a sentence per mark "+", "-" or "*"."""
    return [
        {
            "doc_id": f"d{at}", "system": system, "domain": "news" if at % 2 else "law",
            "document": documents[at] if documents else f"It rained {at} times.",
            "summary": " ".join(f"Sentence {place} is {mark} here." for place, mark in enumerate(marks)),
        }
        for system, of_system in texts.items() for at, marks in enumerate(of_system)
    ]  # fmt: skip


def judge(document: Document, summary: Summary, entry: JudgeEntry) -> list[Judgment]:
    """ "+" is supported, "-" is an error, and "*" has no verdict."""
    made = []
    for index, text in enumerate(summary.sentence_texts):
        unit: dict[str, Any] = {"unit": "sentence", "index": index}
        if "*" in text:
            made.append(fake.failed(document, summary, entry, "faithfulness", "unparsed", "no verdict", **unit))
        else:
            label = int("+" in text)
            unit |= {"value": float(label), "label": label, "error_type": "no error" if label else "entity error"}
            made.append(fake.judgment(document, summary, entry, "faithfulness", **unit))
    return made


def run(folder: Path, texts: dict[str, list[str]], entry: JudgeEntry = ENTRY, **more: Any) -> RunFolder:
    return fake.make(folder, rows(texts, **more), ((entry, judge),))


def test_changed_texts_are_paired_and_changed_documents_are_not(tmp_path: Path) -> None:
    a = run(tmp_path / "a", {"aster": ["+-", "++", "+-", "+-"], "birch": ["++"]})
    documents = ["It rained 0 times.", "It snowed.", "It rained 2 times."]
    b = run(tmp_path / "b", {"aster": ["++", "++", "+-"], "cedar": ["++"]}, documents=documents)
    found = Pairing.of(a, b)
    names = zip(found.document.labels(), found.system.labels(), strict=True)
    texts = {name: TEXTS[at] for name, at in zip(names, found.text.tolist(), strict=True)}
    assert texts == {
        ("d0", "aster"): "changed", ("d1", "aster"): "same", ("d2", "aster"): "same", ("d3", "aster"): "only_a",
        ("d0", "birch"): "only_a", ("d0", "cedar"): "only_b",
    }  # fmt: skip
    assert found.moved.tolist() == [name[0] == "d1" for name in texts]
    # d0: from .5 to 1; d2: unchanged
    (row,) = difference_rows(found)
    assert (row.value, row.n, row.missing, row.system) == (0.25, 2, 0, "aster")
    assert (row.details["a"], row.details["b"], row.details["better"]) == (0.5, 0.75, None)


def test_differences_by_system_and_group_have_one_corrected_test_each(tmp_path: Path) -> None:
    a = run(tmp_path / "a", {"aster": ["+-"] * 12, "birch": ["+-"] * 12})
    b = run(tmp_path / "b", {"aster": ["++"] * 12, "birch": ["+-"] * 11 + ["*"]})
    found = Pairing.of(a, b)
    whole, aster, birch, law, news = difference_rows(found, by="domain")
    assert (whole.value, whole.n, whole.system, whole.details["summaries"]) == (
        pytest.approx((11 * 0.25 + 0.5) / 12),
        12,
        None,
        23,
    )
    assert (aster.value, aster.details["better"], aster.p) == (0.5, "b", pytest.approx(2 / 2**12))
    assert aster.details["p_holm"] == pytest.approx(2 * 2 / 2**12)
    assert (birch.value, birch.n, birch.missing, birch.low, birch.high) == (0.0, 11, 1, 0.0, 0.0)
    assert [(row.domain, row.n, row.details["comparisons"]) for row in (law, news)] == [("law", 6, 2), ("news", 6, 2)]
    crossed = difference_rows(found, by="domain*system")[3:]
    assert {(row.domain, row.system) for row in crossed} == {
        (domain, system) for domain in ("law", "news") for system in ("aster", "birch")
    }
    # Without a correction, a difference is tested as if it were the only one.
    alone = difference_rows(found, corrected=False)[1]
    assert (alone.details["p_holm"], alone.details["comparisons"]) == (alone.p, 1)


def test_renamed_systems_are_paired_on_request(tmp_path: Path) -> None:
    a, b = run(tmp_path / "a", {"old": ["+-"] * 3}), run(tmp_path / "b", {"new": ["++"] * 3})
    (none,) = difference_rows(Pairing.of(a, b))
    assert (none.value, none.n, none.reason) == (None, 0, "no summary has a score in both runs")
    (row,) = difference_rows(Pairing.of(a, b, {"old": "new"}))
    assert (row.system, row.value, row.n) == ("new", 0.5, 3)
    # Two systems of one run
    both = run(tmp_path / "both", {"v1": ["+-"] * 3, "v2": ["++"] * 3})
    (row,) = difference_rows(Pairing.of(both, both, {"v1": "v2"}))
    assert (row.system, row.value) == ("v2", 0.5)


def test_judges_are_paired_by_signature_or_by_name(tmp_path: Path) -> None:
    def entry(name: str, signature: str, model: str | None = None) -> JudgeEntry:
        return ENTRY.model_copy(
            update={"name": name, "signature": signature, "model": model, "file": signature.partition("|")[0]}
        )

    texts = {"aster": ["+-"] * 2}
    rts = [entry("rts", f"rts{at}|judge:p/{model}|t:0|v:1", f"p/{model}") for at, model in enumerate("mn")]
    again = entry("rts", "rts2|judge:p/m|t:1|v:1", "p/m")
    judges = [*rts, ENTRY, entry("gone", "gone|v:1")], [again, ENTRY, rts[1], entry("new", "newer|v:1")]
    a, b = (
        fake.make(tmp_path / name, rows(texts), [(each, judge) for each in side])
        for name, side in zip("ab", judges, strict=True)
    )
    pairs = {pair.name: pair for pair in Pairing.of(a, b).judges if pair.name != "rts"}
    assert pairs["mock.fact_check"].changes == ()
    assert pairs["gone"].b is None
    assert pairs["new"].a is None
    assert [pair.changes for pair in Pairing.of(a, b).judges if pair.name == "rts"] == [
        ("temperature from 0 to 1",),
        (),
    ]
    assert len(Pairing.of(a, b).scores) == 3


def said(found: Versions) -> list[tuple[str, ...]]:
    """Return (document, kind, aspect, text of the unit) of all changes but those of scores."""
    return [
        (item.doc_id, change.kind, change.unit, change.text or "")
        for item in found.items() for change in item.changes if change.kind != "score"
    ]  # fmt: skip


def test_verdicts_are_compared_on_the_same_sentences(tmp_path: Path) -> None:
    first = ["Rain + fell. Wind - blew.", "Rain + fell.", "Rain + fell.", "Rain * fell.", "Snow + fell."]
    second = [
        "Sun - shone. Wind - blew. Rain + fell.",  # sentences moved, one is new and wrong
        "Rain + fell. Fog + came.",
        "Rain * fell.",
        "Rain + fell.",
        "Snow + fell.",
    ]

    def made(folder: str, texts: list[str], entry: JudgeEntry) -> RunFolder:
        data: list[fake.Row] = [
            {"doc_id": f"d{at}", "system": "aster", "document": "It rained.", "summary": text}
            for at, text in enumerate(texts)
        ]
        return fake.make(tmp_path / folder, data, ((entry, judge),))

    found = compare(made("a", first, ENTRY), made("b", second, ENTRY))
    assert said(found) == [
        ("d0", "new_error", "sentence", "Sun - shone."), ("d2", "failure", "sentence", "Rain * fell."),
    ]  # fmt: skip
    assert found.texts == {"same": 1, "changed": 4, "changed_document": 0, "only_a": 0, "only_b": 0}
    assert found.changes.compared == 4  # d0: two, d1: one, d4: one
    assert found.new_errors == {"entity error (faithfulness)": 1}
    assert found.gone_errors == {}
    assert list(found.new_failures.values()) == [1]

    strict = ENTRY.model_copy(update={"signature": "mock.fact_check|t:1|v:1"})

    def contrary(document: Document, summary: Summary, entry: JudgeEntry) -> list[Judgment]:
        evidence = (fake.find("It rained.", "rained"),)
        return [
            each.model_copy(update={"label": 1 - int(each.label or 0), "evidence": evidence})
            for each in judge(document, summary, entry)
        ]

    data = [{"doc_id": "d0", "system": "aster", "document": "It rained.", "summary": first[0]}]
    other = compare(made("c", first[:1], ENTRY), fake.make(tmp_path / "d", data, ((strict, contrary),)))
    (item,) = other.items()
    assert (item.flips, item.text, item.old, item.new) == (2, "same", first[0], first[0])
    flip = item.changes[0]
    assert flip.old is not None
    assert flip.new is not None
    assert (flip.old.label, flip.new.label, flip.new.evidence[0].cut("It rained.")) == (1, 0, "rained")
    assert other.sentence.startswith("By mock.fact_check (which is not the same in both: temperature from 0 to 1), ")


def test_verdicts_on_other_lists_and_unknown_sentences(tmp_path: Path) -> None:
    """Two runs with other key facts and another text; a judgment of b is about a sentence that does not exist."""

    def align(facts: str, label: int) -> fake.Judge:
        def judged(document: Document, summary: Summary, entry: JudgeEntry) -> list[Judgment]:
            fact: dict[str, Any] = {"unit": "key_fact", "index": 0, "list_id": facts, "label": 0}
            sentence: dict[str, Any] = {"unit": "sentence", "list_id": facts, "label": label}
            return [
                fake.judgment(document, summary, entry, "completeness", **fact),
                *(fake.judgment(document, summary, entry, "conciseness", **sentence, index=at) for at in (0, 9)),
            ]

        return judged

    def made(name: str, text: str, label: int) -> RunFolder:
        data = [{"doc_id": "d", "system": "aster", "document": "It rained.", "summary": text}]
        return fake.make(tmp_path / name, data, ((fake.ALIGN, align(name, label)),))

    found = compare(made("a", "It rained. Bo left.", 1), made("b", "Bo left. It rained. It snowed.", 0))
    assert said(found) == [("d", "flip", "sentence", ""), ("d", "new_error", "sentence", "Bo left.")]


def test_the_sentence_says_whether_it_got_better(tmp_path: Path) -> None:
    a = run(tmp_path / "old", {"aster": ["+-"] * 8})
    b = run(tmp_path / "new", {"aster": ["--"] * 8})
    worse = compare(a, b)
    assert worse.sentence.startswith("By mock.fact_check, new is worse than old on faithfulness: -0.50")
    assert outcome(worse[0]) == "worse"
    same = compare(a, run(tmp_path / "again", {"aster": ["+-"] * 8}))
    assert same.sentence == "Nothing changed: old and again have the same summaries, scores and verdicts."
    assert (list(same.items()), outcome(same[0])) == ([], "unchanged")
    assert compare(a, a).names == ("first", "second")
    days = [run(tmp_path / day / "x" / "run", {"aster": ["+-"] * 8}) for day in ("may", "june")]
    assert compare(*days).names == ("may/x/run", "june/x/run")
    none = compare(a, run(tmp_path / "other", {"birch": ["++"] * 8}))
    assert none.sentence.endswith("they have no summary of the same document and system in common.")
    assert {item.text for item in none.items()} == {"only_a", "only_b"}
    assert [row.reason for row in none] == ["no summary has a score in both runs"]
    moved = compare(a, run(tmp_path / "moved", {"aster": ["--"] * 8}, documents=["Other."] * 8))
    assert moved.texts["changed_document"] == 8
    assert moved.sentence.endswith("the texts of all documents that they have in common changed.")
    assert {(item.document_changed, item.changes) for item in moved.items()} == {(True, ())}


def test_a_failed_item_is_a_failure_and_no_error_is_gone(tmp_path: Path) -> None:
    a = run(tmp_path / "a", {"aster": ["+-"] * 6})
    b = fake.make(tmp_path / "b", rows({"aster": ["+-"] * 6}), ((ENTRY, judge),), errors=[("d1", "aster", "timed out")])
    found = compare(a, b)
    assert said(found) == [("d1", "failure", "summary", "")]
    assert list(found.new_failures) == [("mock.fact_check", "faithfulness", "error", "timed out")]
    assert (found[0].n, found[0].missing) == (5, 1)
    assert said(compare(b, a)) == [("d1", "recovered", "summary", "")]
    assert found.sentence == "By mock.fact_check, faithfulness did not change where both runs have a score."


def test_a_composite_is_paired_although_a_change_of_the_judge_changes_all_signatures(tmp_path: Path) -> None:
    texts = ["It rained. Snow fell.", "Snow fell."] * 4
    flat = [{"document": f"It rained {at} times. Snow fell.", "summary": text} for at, text in enumerate(texts)]
    for row in flat:
        row["key_facts"] = ["It rained."]
    a = evaluate(flat, ["support"], out=tmp_path / "a")
    b = evaluate([row | {"sentences": [row["summary"]]} for row in flat], ["support"], out=tmp_path / "b")
    found = difference_rows(Pairing.of(a, b))
    assert {row.aspect for row in found} == {"faithfulness", "completeness", "conciseness", "composite"}
    assert all(row.n == 8 for row in found)
