"""Reading raw documents: each kind of file gives its text and nothing else, and what gives none is a fault."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from benchmark.raw_files import PAGE, SUBRIP, WEBVTT, pdf

from summeter.benchmark.raw.reading import Raw, is_dialogue, read_raw
from summeter.data.faults import Faults
from summeter.records import InputError


def read(path: Path, on_fault: Any = "error", **columns: str) -> list[Raw]:
    faults = Faults("test", on_fault)
    rows = list(read_raw(str(path), faults, columns))
    faults.stop()
    return rows


def single(path: Path) -> Raw:
    rows = read(path)
    assert len(rows) == 1
    return rows[0]


def fault(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read(path)
    return str(caught.value)


def put(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


class TestFolders:
    def test_files_below_are_named_by_their_paths(self, tmp_path: Path) -> None:
        put(tmp_path / "b" / "two.txt", "Two.")
        put(tmp_path / "a.txt", "One.")
        put(tmp_path / ".hidden.txt", "No.")
        assert [(raw.id, raw.text) for raw in read(tmp_path)] == [("a", "One."), ("b/two", "Two.")]

    def test_equal_stems_keep_their_suffixes(self, tmp_path: Path) -> None:
        put(tmp_path / "a.txt", "One.")
        put(tmp_path / "a.md", "Two.")
        assert sorted(raw.id for raw in read(tmp_path)) == ["a.md", "a.txt"]

    def test_other_files_are_warned_about(self, tmp_path: Path) -> None:
        put(tmp_path / "a.txt", "One.")
        put(tmp_path / "b.docx", "Two.")
        faults = Faults("test")
        assert len(list(read_raw(str(tmp_path), faults))) == 1
        assert "b.docx: is left out" in str(faults.warnings[0])

    def test_a_folder_without_documents(self, tmp_path: Path) -> None:
        assert "holds no documents" in fault(tmp_path)

    def test_no_such_file(self, tmp_path: Path) -> None:
        assert "no such file or folder" in fault(tmp_path / "gone.txt")

    def test_every_fault_is_listed(self, tmp_path: Path) -> None:
        put(tmp_path / "a.txt", b"\0")
        put(tmp_path / "b.txt", " \n")
        message = fault(tmp_path)
        assert "a.txt: is no text" in message
        assert "b.txt: holds no text" in message

    def test_skip_leaves_a_file_out_and_says_so(self, tmp_path: Path) -> None:
        put(tmp_path / "a.txt", b"\0")
        put(tmp_path / "b.txt", "Rain.")
        faults = Faults("test", "skip")
        assert [raw.id for raw in read_raw(str(tmp_path), faults)] == ["b"]
        faults.stop()
        assert [(Path(row.file).name, row.line) for row in faults.dropped] == [("a.txt", None)]


class TestHTML:
    def test_the_text_without_the_frame(self, tmp_path: Path) -> None:
        pytest.importorskip("trafilatura")
        raw = single(put(tmp_path / "rain.html", PAGE))
        assert raw.text.endswith("but forty families had to leave their homes.")
        assert "Sport" not in raw.text
        assert "rights" not in raw.text
        assert raw.extra == {"title": "Rain in Ghent"}

    def test_the_named_charset_counts(self, tmp_path: Path) -> None:
        pytest.importorskip("trafilatura")
        page = PAGE.replace("utf-8", "iso-8859-15").replace("metres", "mètres")
        raw = single(put(tmp_path / "rain.html", page.encode("iso-8859-15")))
        assert "two mètres" in raw.text
        assert raw.counts["encoding iso-8859-15"] == 1

    def test_a_page_without_text_is_a_fault(self, tmp_path: Path) -> None:
        pytest.importorskip("trafilatura")
        assert "holds no text" in fault(put(tmp_path / "a.html", "<html><body></body></html>"))


class TestPDF:
    def test_headers_go_and_lines_are_joined(self, tmp_path: Path) -> None:
        pytest.importorskip("pypdf")
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

    def test_pictures_alone_are_a_fault_and_no_empty_document(self, tmp_path: Path) -> None:
        pytest.importorskip("pypdf")
        assert "holds no text in 2 pages: they are pictures" in fault(
            put(tmp_path / "a.pdf", pdf([[], []], picture=True))
        )

    def test_pages_without_text_are_counted(self, tmp_path: Path) -> None:
        pytest.importorskip("pypdf")
        assert (
            single(put(tmp_path / "a.pdf", pdf([["It rained."], []], picture=True))).counts["pages without text"] == 1
        )

    @pytest.mark.parametrize("content", [b"", b"%PDF-1.4 broken", b"It rained."])
    def test_what_is_no_pdf(self, tmp_path: Path, content: bytes) -> None:
        pytest.importorskip("pypdf")
        assert "is no whole PDF" in fault(put(tmp_path / "a.pdf", content))


class TestSubtitles:
    def test_rolling_lines_once_without_sounds_and_tags(self, tmp_path: Path) -> None:
        raw = single(put(tmp_path / "a.srt", SUBRIP))
        assert raw.text == "Good evening. It rained all day."
        assert raw.counts == {"sounds left out": 3, "repeated lines of rolling subtitles": 1}
        assert not raw.turns

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
        assert raw.text == "Ana: Did it rain?\nBen: Yes, all day & night. In Ghent."
        assert raw.turns

    def test_no_times(self, tmp_path: Path) -> None:
        assert "holds no subtitles" in fault(put(tmp_path / "a.srt", "It rained."))


class TestRows:
    TURNS = ({"speaker": "Ana", "text": "Did it\nrain?"}, {"role": "Ben", "content": "Yes."})

    def test_a_file_that_is_one_dialogue(self, tmp_path: Path) -> None:
        raw = single(put(tmp_path / "call.json", json.dumps(self.TURNS)))
        assert (raw.id, raw.text, raw.turns) == ("call", "Ana: Did it rain?\nBen: Yes.", True)

    def test_dialogues_by_row(self, tmp_path: Path) -> None:
        rows = [{"id": 7, "turns": self.TURNS, "reference": "Rain."}, {"id": "8", "utterances": ["A: Hi.", "B: Hi."]}]
        raws = read(put(tmp_path / "calls.jsonl", "\n".join(map(json.dumps, rows))))
        assert [(raw.id, raw.turns) for raw in raws] == [("7", True), ("8", True)]
        assert raws[0].fields["references"] == ("Rain.",)
        assert raws[1].text == "A: Hi.\nB: Hi."

    def test_speakers_and_utterances_in_two_lists(self, tmp_path: Path) -> None:
        row = {"id": "n", "speaker": ["A", "B"], "utt": ["Hi.", "Ho."]}
        assert single(put(tmp_path / "a.jsonl", json.dumps(row))).text == "A: Hi.\nB: Ho."

    def test_flat_rows_with_columns_of_other_names(self, tmp_path: Path) -> None:
        path = put(tmp_path / "a.csv", "id,article,highlights\n1,It rained.,Rain.\n2,It snowed.,\n")
        raws = read(path, document="article", reference="highlights")
        assert [(raw.id, raw.text, raw.fields.get("references")) for raw in raws] == [
            ("1", "It rained.", ("Rain.",)),
            ("2", "It snowed.", None),
        ]

    @pytest.mark.parametrize(
        ("row", "why"),
        [
            ({"article": "x"}, "has no text: name the column of the document"),
            (
                {"turns": [{"speaker": "A", "text": "x"}, {"text": "y"}]},
                "has in `turns` turn 2: an object without a speaker",
            ),
            ({"speaker": ["A"], "utt": ["x", "y"]}, "has 1 speakers for 2 utterances"),
            ({"document": "x", "references": [1]}, "references[0]: is the number 1; give a text"),
            ({"document": " "}, "holds no text"),
        ],
    )
    def test_faults_by_line(self, tmp_path: Path, row: dict[str, Any], why: str) -> None:
        path = put(tmp_path / "a.jsonl", json.dumps({"document": "fine"}) + "\n" + json.dumps(row))
        message = fault(path)
        assert why in message
        assert "a.jsonl:2: " in message

    def test_an_id_twice(self, tmp_path: Path) -> None:
        path = put(tmp_path / "a.jsonl", '{"id": "1", "document": "x"}\n{"id": "1", "document": "y"}')
        assert "a.jsonl:2: doc_id: '1' is that of an earlier row with another text" in fault(path)

    def test_rows_of_several_systems_are_one_document(self, tmp_path: Path) -> None:
        rows = [{"doc_id": "1", "document": "It rained.", "system": system, "summary": "Rain."} for system in "ab"]
        assert [raw.id for raw in read(put(tmp_path / "a.jsonl", "\n".join(map(json.dumps, rows))))] == ["1"]

    def test_documents_with_an_author_are_no_dialogue(self, tmp_path: Path) -> None:
        rows = [{"author": "Ana", "text": "It rained."}, {"author": "Ben", "text": "It snowed."}]
        assert len(read(put(tmp_path / "a.json", json.dumps(rows)))) == 2


class TestKindOfText:
    def test_lines_of_speakers(self) -> None:
        assert is_dialogue("AGENT: Hello?\nCALLER: Hi.\nAGENT: Yes?\nCALLER: Rain.")

    @pytest.mark.parametrize(
        "text",
        ["Ana: Hi.\nBen: Hi.", "Method: a\nResult: b\nNote: c\nEnd: d", "It rained.\nWe stayed: at home.\nNo.\nYes."],
    )
    def test_others(self, text: str) -> None:
        assert not is_dialogue(text)
