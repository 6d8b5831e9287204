"""The step `source`: reading, filtering, deduplication and sampling of raw documents."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from benchmark.chains import lines, write_lines
from benchmark.raw_files import PAGE, SUBRIP, pdf
from data.hub_cache import COMMIT, fill

from summeter.benchmark import run_step
from summeter.benchmark.raw.source import STEP, SourceSettings
from summeter.benchmark.step import Manifest
from summeter.data.dataset import Dataset, load
from summeter.records import InputError, InstallError, UsageError

WORDS = "rain river valley bridge town mayor water house street night morning family school storm".split()  # noqa: SIM905


def story(number: int, length: int = 40) -> str:
    """A text of so many words that is like no other."""
    return (
        " ".join(f"{WORDS[(number * 7 + place * (number + 1)) % len(WORDS)]}{number}" for place in range(length)) + "."
    )


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """Twelve texts of news, and a file of calls."""
    (tmp_path / "news").mkdir()
    for number in range(12):
        (tmp_path / "news" / f"n{number:02}.txt").write_text(story(number), "utf-8")
    turns = [{"speaker": "Ana", "text": "Hello?"}, {"speaker": "Ben", "text": "Yes."}]
    rows = [
        {"id": f"c{number}", "turns": [*turns, {"speaker": "Ana", "text": story(50 + number)}]} for number in range(3)
    ]
    write_lines(tmp_path / "calls.jsonl", *rows)
    return tmp_path


def build(raw: Path, out: str = "out", **settings: Any) -> tuple[Dataset, Manifest]:
    sources = settings.pop("sources", None) or {
        "news": {"path": str(raw / "news"), "domain": "news", "licence": "CC0-1.0", "origin": "The Valley Paper"},
        "calls": {"path": str(raw / "calls.jsonl"), "share": False},
    }
    chosen = SourceSettings.model_validate({"sources": sources, "detect": False, **settings})
    manifest = run_step(STEP, None, raw / out, chosen)
    return load(raw / out), manifest


def left_out(raw: Path, out: str = "out") -> dict[str, tuple[str, str | None]]:
    return {row["id"]: (row["reason"], row["detail"]) for row in lines(raw / out / "dropped.jsonl")}


class TestDocuments:
    def test_a_document_may_have_several_sources(self, raw: Path) -> None:
        agenda, minutes = "Budget  of the hall", "The hall costs 900 euros.   Ten voted for it."
        rows = [{"id": "m", "document": [{"id": "a", "title": "Agenda", "text": agenda}, {"id": "b", "text": minutes}]}]
        meetings = {"meetings": {"path": str(write_lines(raw / "meetings.jsonl", *rows))}}
        document = build(raw, sources=meetings)[0].documents["meetings/m"]
        assert [(each.id, each.title) for each in document.sources] == [("a", "Agenda"), ("b", None)]
        assert len(document.sentences) == 3
        cut = build(raw, "cut", sources=meetings, first_words=6)[0].documents["meetings/m"]
        assert [cut.text[each.start : each.end].split() for each in cut.sources] == [agenda.split(), ["The", "hall"]]

    def test_what_is_known_of_them(self, raw: Path) -> None:
        data, manifest = build(raw)
        assert data.documents["news/n00"].extra == {
            "source": "news", "origin": "The Valley Paper, n00.txt", "licence": "CC0-1.0",
            "language": "en", "words": 40, "length": "short", "kind": "text",
        }  # fmt: skip
        assert data.documents["calls/c1"].extra["kind"] == "dialogue"
        assert data.documents["calls/c1"].share is False
        assert data.documents["calls/c1"].extra["origin"] == "calls.jsonl:2"
        assert data.documents["news/n00"].domain == "news"
        assert manifest.counts_out["documents"] == 15
        assert manifest.details["strata"] == [
            {"source": "news", "domain": "news", "length": "short", "kind": "text", "documents": 12},
            {"source": "calls", "domain": "none", "length": "short", "kind": "dialogue", "documents": 3},
        ]

    def test_long_texts_and_the_first_words(self, raw: Path) -> None:
        (raw / "news" / "long.txt").write_text(story(90, 1000))
        assert build(raw)[0].documents["news/long"].extra["length"] == "long"
        cut = build(raw, "cut", first_words=700)[0].documents["news/long"]
        assert (cut.extra["words"], cut.extra["words_left_out"], cut.extra["length"]) == (700, 300, "short")
        assert cut.text.split() == story(90, 1000).split()[:700]

    def test_data_of_a_hub(self, raw: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        pytest.importorskip("huggingface_hub")
        monkeypatch.setenv("HF_HUB_CACHE", str(raw / "cache"))
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        rows = "\n".join(
            json.dumps({"id": number, "article": story(number), "highlights": "It rained."}) for number in (1, 2)
        )
        fill(raw / "cache", "org/news", {"test.jsonl": rows.encode(), "README.md": b"---\nlicense: mit\n---\n"})
        columns = {"document": "article", "reference": "highlights"}
        data, _ = build(raw, sources={"hub": {"path": "hf:org/news#test", "columns": columns}})
        assert list(data.documents) == ["hub/1", "hub/2"]
        assert data.documents["hub/1"].references == ("It rained.",)
        extra = data.documents["hub/1"].extra
        assert (extra["licence"], extra["commit"], extra["origin"]) == ("mit", COMMIT, "hf:org/news#test:1")

    def test_kinds_of_files(self, raw: Path) -> None:
        pytest.importorskip("trafilatura")
        pytest.importorskip("pypdf")
        folder = raw / "mixed"
        folder.mkdir()
        (folder / "a.html").write_text(PAGE)
        (folder / "b.srt").write_text(SUBRIP)
        (folder / "c.pdf").write_bytes(pdf([["It rained in the town."]]))
        data, manifest = build(raw, sources={"mixed": {"path": str(folder), "category": "dialogue"}})
        assert list(data.documents) == ["mixed/a", "mixed/b", "mixed/c"]
        assert {document.extra["kind"] for document in data.documents.values()} == {"dialogue"}, "as it is given"
        assert set(manifest.versions) == {"summeter", "ftfy", "trafilatura", "pypdf", "webvtt-py"}
        assert manifest.details["cleaned"]["mixed"]["sounds left out"] == 3


class TestLeftOut:
    def test_near_duplicates_but_the_first(self, raw: Path) -> None:
        (raw / "news" / "again.txt").write_text(story(3) + " indeed")
        data, manifest = build(raw)
        assert "news/again" in data.documents
        assert left_out(raw)["news/n03"][0] == "near-duplicate"
        assert "of news/again" in str(left_out(raw)["news/n03"][1])
        assert manifest.dropped == {"document: near-duplicate": 1}
        assert build(raw, "kept", duplicates=None)[1].dropped == {}

    def test_lengths(self, raw: Path) -> None:
        (raw / "news" / "short.txt").write_text("It rained.")
        (raw / "news" / "long.txt").write_text(story(90, 200))
        _, manifest = build(raw, min_words=10, max_words=100)
        assert manifest.dropped == {"document: longer than 100 words": 1, "document: shorter than 10 words": 1}
        assert left_out(raw)["news/short"][1] == "2 words"

    def test_a_text_is_cut_to_as_many_words_as_are_counted(self, raw: Path) -> None:
        text = "The well-known co-op's 12,500 shops re-opened at 5:30 (p.m.) today."  # 17 words, 9 between blanks
        (raw / "shops").mkdir()
        (raw / "shops" / "a.txt").write_text(f"{text} " * 20)
        data, manifest = build(raw, sources={"shops": str(raw / "shops")}, first_words=30, max_words=30)
        document = data.documents["shops/a"]
        assert manifest.dropped == {}
        assert document.text == f"{text} The well-known co-op's 12,500 shops re-opened at", (
            "5:30 would be words 30 and 31"
        )
        assert (document.extra["words"], document.extra["words_left_out"]) == (29, 311)

    def test_missing_packages_are_named_together_before_anything_is_read(
        self, raw: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (raw / "news" / "a.pdf").write_bytes(b"")
        for name in ("py3langid", "pypdf"):
            monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(InstallError, match=r"pypdf.*py3langid.*pip install 'summeter\[build,sources\]'"):
            build(raw, detect=True)

    def test_a_faulty_file_ends_the_step_or_is_skipped_and_counted(self, raw: Path) -> None:
        (raw / "news" / "zero.txt").write_bytes(b"\0")
        with pytest.raises(InputError, match=r"zero\.txt"):
            build(raw)
        assert not (raw / "out").exists()
        data, manifest = build(raw, on_fault="skip")
        assert len(data.documents) == 15
        assert manifest.dropped == {"file: cannot be read": 1}

    def test_unsuitable_sources_and_folders_are_refused(self, raw: Path) -> None:
        (raw / "empty.jsonl").write_text("")
        with pytest.raises(InputError):
            build(raw, sources={"empty": str(raw / "empty.jsonl")})
        with pytest.raises(UsageError):
            build(raw, "news/out")  # the folder is inside a source
        with pytest.raises(UsageError):
            build(raw, min_words=10_000)  # no document is left
        assert not [path for path in (raw / "news/out", raw / "out") if path.exists()]


class TestSample:
    def test_so_many_of_each_source_by_the_seed(self, raw: Path) -> None:
        data, manifest = build(raw, sample=5)
        drawn = [doc_id for doc_id in data.documents if doc_id.startswith("news/")]
        assert len(drawn) == 5
        assert len(data.documents) == 8
        assert manifest.dropped == {"document: not sampled": 7}
        assert list(build(raw, "again", sample=5)[0].documents) == list(data.documents)
        assert list(build(raw, "other", sample=5, seed=1)[0].documents) != list(data.documents)

    def test_another_source_changes_no_draw(self, raw: Path) -> None:
        both, _ = build(raw, sample=5)
        alone, _ = build(raw, "alone", sample=5, sources={"news": str(raw / "news")})
        assert [doc_id for doc_id in both.documents if doc_id.startswith("news/")] == list(alone.documents)
