"""Reading raw documents: each file type yields exactly its text; a file without text is an error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from benchmark.raw_files import PAGE, SUBRIP, WEBVTT, pdf

from summeter.benchmark.raw.reading import Raw, is_dialogue, read_raw
from summeter.data.faults import Faults
from summeter.records import InputError

for module in ("ftfy", "trafilatura", "pypdf", "webvtt"):
    pytest.importorskip(module)

TURNS = ({"speaker": "Ana", "text": "Did it\nrain?"}, {"role": "Ben", "content": "Yes."})


def read(path: Path, on_fault: Any = "error", **columns: str) -> list[Raw]:
    faults = Faults("test", on_fault)
    rows = list(read_raw(str(path), faults, columns))
    faults.stop()
    return rows


def single(path: Path) -> Raw:
    (raw,) = read(path)
    return raw


def put(path: Path, content: Any) -> Path:
    """A file; a list becomes lines of JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, list):
        content = "\n".join(map(json.dumps, content))
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


class TestFolders:
    def test_files_are_named_by_their_paths(self, tmp_path: Path) -> None:
        for name in ("b/two.txt", "a.txt", "c.md", "c.txt", ".hidden.txt", ".git/x.txt"):
            put(tmp_path / name, f"Text of {name}.")
        put(tmp_path / "b.docx", "Two.")
        faults = Faults("test")
        assert [raw.id for raw in read_raw(str(tmp_path), faults)] == ["a", "b/two", "c.md", "c.txt"]
        assert "b.docx" in str(faults.warnings[0])

    @pytest.mark.parametrize("name", ["", "gone.txt"])
    def test_a_path_without_documents(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(InputError):
            read(tmp_path / name)

    def test_every_fault_is_listed_or_left_out(self, tmp_path: Path) -> None:
        put(tmp_path / "a.txt", b"\0")
        put(tmp_path / "b.txt", " \n")
        put(tmp_path / "c.txt", "Rain.")
        with pytest.raises(InputError) as caught:
            read(tmp_path)
        assert [Path(fault.file).name for fault in caught.value.faults] == ["a.txt", "b.txt"]
        faults = Faults("test", "skip")
        assert [raw.id for raw in read_raw(str(tmp_path), faults)] == ["c"]
        faults.stop()
        assert [(Path(row.file).name, row.line) for row in faults.dropped] == [("a.txt", None), ("b.txt", None)]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.txt", b"\0"),
        ("a.html", "<html><body></body></html>"),
        ("a.pdf", b""),
        ("a.pdf", b"%PDF-1.4 broken"),
        ("a.pdf", pdf([[], []], picture=True)),
        ("a.srt", "It rained."),
        ("a.docx", "It rained."),
    ],
)
def test_files_without_a_document_are_faults(tmp_path: Path, name: str, content: Any) -> None:
    with pytest.raises(InputError) as caught:
        read(put(tmp_path / name, content))
    (fault,) = caught.value.faults
    assert Path(str(fault.file)).name == name


class TestHTML:
    def test_the_text_without_the_frame(self, tmp_path: Path) -> None:
        raw = single(put(tmp_path / "rain.html", PAGE))
        assert raw.text.endswith("but forty families had to leave their homes.")
        assert "Sport" not in raw.text
        assert "rights" not in raw.text
        assert raw.extra == {"title": "Rain in Ghent"}

    def test_the_named_charset_counts(self, tmp_path: Path) -> None:
        page = PAGE.replace("utf-8", "iso-8859-15").replace("metres", "mètres")
        raw = single(put(tmp_path / "rain.html", page.encode("iso-8859-15")))
        assert "two mètres" in raw.text
        assert raw.counts["encoding iso-8859-15"] == 1


class TestPDF:
    def test_headers_go_and_lines_are_joined(self, tmp_path: Path) -> None:
        pages = [
            ["The Valley Paper", "It rained in the whole val-", "ley and the river rose by", "two metres.", "Page 1"],
            ["The Valley Paper", "Nobody was hurt, but many", "left their homes (forty).", "Page 2"],
            ["The Valley Paper", "It is dry again.", "Page 3"],
        ]
        raw = single(put(tmp_path / "rain.pdf", pdf(pages)))
        assert raw.text == (
            "It rained in the whole valley and the river rose by two metres.\n\n"
            "Nobody was hurt, but many left their homes (forty).\n\nIt is dry again."
        )
        assert raw.counts["header and footer lines"] == 6

    def test_pages_without_text_are_counted(self, tmp_path: Path) -> None:
        raw = single(put(tmp_path / "a.pdf", pdf([["It rained."], []], picture=True)))
        assert raw.counts["pages without text"] == 1


class TestSubtitles:
    def test_rolling_lines_once_without_sounds_and_tags(self, tmp_path: Path) -> None:
        raw = single(put(tmp_path / "a.srt", SUBRIP))
        assert (raw.text, raw.turns) == ("Good evening. It rained all day.", False)
        assert raw.counts == {"sounds left out": 3, "repeated lines of rolling subtitles": 1}

    @pytest.mark.parametrize(
        ("line", "said"),
        [
            ("I am #1 and you are #2", "I am #1 and you are #2"),
            ("2 * 3 * 4 is 24", "2 * 3 * 4 is 24"),
            ("# La la la #", ""),
            ("*sighs* Well, yes.", "Well, yes."),
            ("♪ La la ♪ Hello.", "Hello."),
        ],
    )
    def test_sounds_are_no_words(self, tmp_path: Path, line: str, said: str) -> None:
        cues = f"WEBVTT\n\n00:01.000 --> 00:02.000\n{line}\n\n00:02.000 --> 00:03.000\nBye.\n"
        assert single(put(tmp_path / "a.vtt", cues)).text == f"{said} Bye.".strip()

    def test_voices_are_speakers(self, tmp_path: Path) -> None:
        raw = single(put(tmp_path / "a.vtt", WEBVTT))
        assert (raw.text, raw.turns) == ("Ana: Did it rain?\nBen: Yes, all day & night. In Ghent.", True)


class TestRows:
    @pytest.mark.parametrize(
        ("name", "content", "documents"),
        [
            ("call.json", json.dumps(TURNS), [("call", "Ana: Did it rain?\nBen: Yes.", True)]),
            ("a.jsonl", [{"id": 7, "turns": TURNS}], [("7", "Ana: Did it rain?\nBen: Yes.", True)]),
            ("a.jsonl", [{"id": "8", "utterances": ["A: Hi.", "B: Hi."]}], [("8", "A: Hi.\nB: Hi.", True)]),
            ("a.jsonl", [{"id": "n", "speaker": ["A", "B"], "utt": ["Hi.", "Ho."]}], [("n", "A: Hi.\nB: Ho.", True)]),
            (
                "a.jsonl",
                [{"doc_id": "1", "document": "Rain.", "system": one, "summary": "x"} for one in "ab"],
                [("1", "Rain.", False)],
            ),
            (
                "a.jsonl",
                [{"author": "Ana", "text": "Rain."}, {"author": "Ben", "text": "Snow."}],
                [("a-1", "Rain.", False), ("a-2", "Snow.", False)],
            ),
        ],
    )
    def test_documents(self, tmp_path: Path, name: str, content: Any, documents: Any) -> None:
        assert [(raw.id, raw.text, raw.turns) for raw in read(put(tmp_path / name, content))] == documents

    def test_columns_of_other_names(self, tmp_path: Path) -> None:
        path = put(tmp_path / "a.csv", "id,article,highlights\n1,It rained.,Rain.\n2,It snowed.,\n")
        raws = read(path, document="article", reference="highlights")
        assert [(raw.id, raw.text, raw.fields.get("references")) for raw in raws] == [
            ("1", "It rained.", ("Rain.",)),
            ("2", "It snowed.", None),
        ]

    @pytest.mark.parametrize(
        ("row", "field"),
        [
            ({"article": "x"}, None),
            ({"turns": [{"speaker": "A", "text": "x"}, {"text": "y"}]}, None),
            ({"speaker": ["A"], "utt": ["x", "y"]}, None),
            ({"document": "x", "references": [1]}, "references[0]"),
            ({"document": " "}, "document"),
            ({"id": "1", "document": "another text"}, "document"),
        ],
    )
    def test_faults_by_line(self, tmp_path: Path, row: dict[str, Any], field: str | None) -> None:
        with pytest.raises(InputError) as caught:
            read(put(tmp_path / "a.jsonl", [{"id": "1", "document": "fine"}, row]))
        assert [(fault.line, fault.field) for fault in caught.value.faults] == [(2, field)]


@pytest.mark.parametrize(
    ("text", "dialogue"),
    [
        ("AGENT: Hello?\nCALLER: Hi.\nAGENT: Yes?\nCALLER: Rain.", True),
        ("Ana: Hi.\nBen: Hi.", False),
        ("Method: a\nResult: b\nNote: c\nEnd: d", False),
        ("It rained.\nWe stayed: at home.\nNo.\nYes.", False),
    ],
)
def test_lines_of_speakers_are_a_dialogue(text: str, *, dialogue: bool) -> None:
    assert is_dialogue(text) is dialogue
