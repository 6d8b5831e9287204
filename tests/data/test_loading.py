"""What `load` recognises: columns, encodings, separators and objects in memory."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import summeter as sm
from summeter.cli.main import main
from summeter.data import folder as folders
from summeter.records import InputError, UsageError

CELLS = [("1", "Ana walked to the café.", "Ana walked."), ("2", "“It’s closed,” said Ben.", "It is closed.")]
ROWS = [{"doc_id": number, "document": document, "summary": summary} for number, document, summary in CELLS]


def texts(data: sm.Dataset) -> list[tuple[str, str, str]]:
    return [(document.id, document.text, summary.text) for document, several in data.items() for summary in several]


def table(*header: str, delimiter: str = ",") -> str:
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter).writerows([header, *CELLS])
    return file.getvalue()


class TestColumns:
    @pytest.mark.parametrize(
        ("document", "summary"),
        [("article", "highlights"), ("dialogue", "summary"), ("source", "prediction"), ("text", "summary"),
         ("document", "Model summary"), ("transcript", "summary"), ("Document", "SUMMARY")],
    )  # fmt: skip
    def test_usual_names(self, document: str, summary: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        (tmp_path / "a.csv").write_text(table("id", document, summary))
        assert texts(sm.load(tmp_path / "a.csv")) == CELLS
        (said,) = caplog.messages
        assert f"{document}, " in said or document == "document"
        assert "doc_id = column id; change with map" in said

    @pytest.mark.parametrize("names", [("article", "text", "summary"), ("document", "highlights", "prediction"),
                                       ("doc", "claim", "label")])  # fmt: skip
    def test_uncertain_columns_are_listed(self, names: tuple[str, ...], caplog: pytest.LogCaptureFixture) -> None:
        with pytest.raises(InputError) as caught:
            sm.load([dict(zip(names, row, strict=True)) for row in CELLS * 50])
        candidates = {"text": 2, "prediction": 2, "claim": 1}
        assert str(caught.value).count("map={") == next(n for name, n in candidates.items() if name in names) + (
            "claim" in names
        )
        assert len(caught.value.faults) == 1 + ("claim" in names)
        assert not caplog.messages

    def test_columns_with_their_own_names_are_kept(self, caplog: pytest.LogCaptureFixture) -> None:
        (data, _) = sm.load([{**ROWS[0], "article": "x", "id": "y"}, ROWS[1]]).summaries
        assert data.extra == {"article": "x", "id": "y"}
        assert not caplog.messages

    def test_a_column_of_row_numbers_is_not_an_id(self) -> None:
        rows = [{"id": number, "article": "It rained.", "output": f"Rain {number}.", "model": f"m{number}"}
                for number in range(3)]  # fmt: skip
        data = sm.load(rows)
        assert (data.document_count, data.systems, data.summaries[1].extra) == (1, ("m0", "m1", "m2"), {"id": 1})

    def test_a_column_of_row_numbers_is_found_late(self) -> None:
        rows = [{"id": number, "article": f"It rained {number % 50}.", "output": "Rain."} for number in range(100)]
        with pytest.raises(InputError) as caught:
            sm.load(rows)
        (fault,) = caught.value.faults
        assert (fault.line, fault.field) == (51, "doc_id")
        assert sm.load(rows, map={"doc_id": "id"}).document_count == 100
        assert sm.load(rows, map={"extra.id": "id"}).document_count == 50

    @pytest.mark.parametrize(("given", "near"), [({"document": "artcle"}, "article"), ({"domain": "topc"}, "topic")])
    def test_wrong_map(self, given: dict[str, str], near: str) -> None:
        rows = [{"article": document, "summary": summary, "topic": "x"} for _, document, summary in CELLS * 50]
        with pytest.raises(InputError) as caught:
            sm.load(rows, map=given)
        (fault,) = caught.value.faults
        assert f"(did you mean {near}?); columns are: article, summary, topic" in fault.message

    def test_rows_without_documents(self, tmp_path: Path) -> None:
        (tmp_path / "texts.csv").write_text(table("id", "text", "x"))
        rows = [{"ID": number, "prediction": summary} for number, _, summary in CELLS]
        assert texts(sm.load(rows, documents=tmp_path / "texts.csv")) == CELLS
        given = {"doc_id": "ID", "summary": "prediction"}
        assert texts(sm.load(rows, documents=tmp_path / "texts.csv", map=given)) == CELLS

    def test_large_data(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(folders, "LARGE", 10)
        (tmp_path / "a.jsonl").write_text("".join(f"{json.dumps({'article': d, 'output': s})}\n" for _, d, s in CELLS))
        data = sm.load(tmp_path / "a.jsonl")
        assert not isinstance(data.summaries, tuple)
        assert [row[1:] for row in texts(data)] == [row[1:] for row in CELLS]


class TestStoredMap:
    @pytest.fixture(autouse=True)
    def _elsewhere(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "data").mkdir()
        (tmp_path / "data" / "a.csv").write_text(table("nr", "body", "out"))
        monkeypatch.chdir(tmp_path)

    @pytest.mark.parametrize("folder", [".", "data"])
    def test_beside_the_data_or_in_the_working_directory(self, folder: str, caplog: pytest.LogCaptureFixture) -> None:
        Path(folder, "summeter.toml").write_text('[map]\ndocument = "body"\nsummary = "out"\nextra.number = "nr"\n')
        data = sm.load("data/a.csv", map={"doc_id": "nr"})
        assert texts(data) == CELLS
        assert caplog.messages == [f"{Path(folder, 'summeter.toml')}: document = column body, summary = column out"]
        assert sm.load("data/a.csv").summaries[0].extra == {"number": "1"}

    def test_of_other_data(self, caplog: pytest.LogCaptureFixture) -> None:
        Path("summeter.toml").write_text('[map]\ndocument = "body"\nreference = "summary"\nsummary = "prediction"\n')
        Path("b.jsonl").write_text(f"{json.dumps(ROWS[0])}\n")
        assert texts(sm.load("b.jsonl")) == CELLS[:1]
        assert not caplog.messages
        with pytest.raises(InputError, match="name its column with map"):
            sm.load("data/a.csv")
        assert caplog.messages == ["summeter.toml: is not used, because its columns are not those of data/a.csv"]

    @pytest.mark.parametrize(
        ("content", "message"),
        [("[map", "is not TOML"), ("[maps]\n", "maps: is not known"), ("[map]\ndocument = 3\n", "map.document: is the"),
         ('[map]\ndocment = "body"\n', "map.docment: is not a field (did you mean document?)")],
    )  # fmt: skip
    def test_faults(self, content: str, message: str) -> None:
        Path("summeter.toml").write_text(content)
        with pytest.raises(InputError) as caught:
            sm.load("data/a.csv")
        assert message in str(caught.value)


class TestFiles:
    @pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16", "utf-32"])
    @pytest.mark.parametrize("packed", [False, True])
    def test_tables(
        self, delimiter: str, encoding: str, packed: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        content = table("doc_id", "document", "summary", delimiter=delimiter).encode(encoding)
        path = tmp_path / ("a.csv.gz" if packed else "a.csv")
        path.write_bytes(gzip.compress(content) if packed else content)
        assert texts(sm.load(path)) == CELLS
        assert len(caplog.messages) == (delimiter != ",") + ("utf-8" not in encoding)

    @pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
    @pytest.mark.parametrize("encoding", ["cp1252", "utf-16"])
    def test_json(self, name: str, encoding: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        lines = "\n".join(json.dumps(row, ensure_ascii=False) for row in ROWS)
        content = lines if name == "a.jsonl" else f"[{lines.replace(chr(10), ', ')}]"
        (tmp_path / name).write_bytes(content.encode(encoding))
        assert texts(sm.load(tmp_path / name)) == CELLS
        assert len(caplog.messages) == 1

    def test_quoted_header(self, tmp_path: Path) -> None:
        (tmp_path / "a.csv").write_text('"document";"summary";"length, words"\n"a, b";"a";3\n')
        assert sm.load(tmp_path / "a.csv").summaries[0].extra == {"length, words": "3"}

    def test_other_alphabets_are_not_guessed(self, tmp_path: Path) -> None:
        content = "document,summary\nАнна пошла на мельницу.,Анна пошла.\n"
        (tmp_path / "a.csv").write_bytes(content.encode("cp1251"))
        with pytest.raises(InputError, match=r"a.csv:2: is not UTF-8: .* or give encoding=NAME"):
            sm.load(tmp_path / "a.csv")
        assert sm.load(tmp_path / "a.csv", encoding="cp1251").summaries[0].text == "Анна пошла."

    def test_given_options(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        content = table("doc_id", "document", "summary", delimiter="^").encode("cp1250")
        (tmp_path / "a.csv").write_bytes(content)
        assert texts(sm.load(tmp_path / "a.csv", delimiter="^", encoding="cp1250")) == CELLS
        with pytest.raises(InputError, match="is not utf-16"):
            sm.load(tmp_path / "a.csv", encoding="utf-16")
        for wrong in ({"encoding": "klingon"}, {"encoding": "hex"}, {"delimiter": ";;"}, {"delimiter": '"'}):
            with pytest.raises(UsageError, match=next(iter(wrong))):
                sm.load(tmp_path / "a.csv", **wrong)
        with pytest.raises(UsageError, match="not a CSV or TSV file; leave out delimiter"):
            sm.load(tmp_path / "a.csv", format="jsonl", delimiter=";")
        with pytest.raises(UsageError, match="not in a file; leave out encoding"):
            sm.load(ROWS, encoding="utf-8")
        assert not caplog.messages

    def test_command(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (tmp_path / "a.csv").write_bytes(table("id", "article", "highlights", delimiter=";").encode("cp1252"))
        with pytest.raises(SystemExit) as ended:
            main(["data", "validate", str(tmp_path / "a.csv"), "--json"])
        printed = capsys.readouterr()
        assert (ended.value.code, json.loads(printed.out)["valid"]) == (0, True)
        assert re.findall(r"--\w+", printed.err) == ["--delimiter", "--encoding", "--map"]


class TestObjects:
    def frame(self, kind: str, columns: dict[str, list[Any]]) -> Any:
        if kind == "pandas":
            return pytest.importorskip("pandas").DataFrame(columns)
        if kind == "pyarrow":
            return pytest.importorskip("pyarrow").table(columns)
        if kind == "polars":
            return pytest.importorskip("polars").DataFrame(columns)
        return pytest.importorskip("datasets").Dataset.from_dict(columns)

    @pytest.mark.parametrize("kind", ["pandas", "pyarrow", "polars", "datasets"])
    def test_frames(self, kind: str) -> None:
        ids, documents, summaries = zip(*CELLS, strict=True)
        more = {"key_facts": [["Ana walked."], None], "domain": ["mill", None], "share": [True, None],
                "length": [1.5, float("nan")], "count": [3, 4]}  # fmt: skip
        data = sm.load(self.frame(kind, {"id": list(map(int, ids)), "article": documents, "output": summaries, **more}))
        assert texts(data) == CELLS
        assert [document.key_facts for document in data.documents.values()] == [("Ana walked.",), ()]
        assert [summary.extra for summary in data.summaries] == [{"length": 1.5, "count": 3},
                                                                 {"length": None, "count": 4}]  # fmt: skip
        same = [{**ROWS[0], "key_facts": ["Ana walked."], "domain": "mill", "length": 1.5, "count": 3},
                {**ROWS[1], "length": None, "count": 4}]  # fmt: skip
        assert data.hash == sm.load(same).hash

    @pytest.mark.parametrize("kind", ["pandas", "pyarrow", "polars", "datasets"])
    def test_rows_are_named_by_number(self, kind: str) -> None:
        columns = {"document": [f"It rained {n}." for n in range(1500)], "summary": ["Rain."] * 1499 + [None]}
        with pytest.raises(InputError) as caught:
            sm.load(self.frame(kind, columns))
        (fault,) = caught.value.faults
        assert (fault.line, fault.field) == (1500, "summary")

    def test_pandas_values(self) -> None:
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame(ROWS).assign(day=pd.to_datetime(["2026-01-01", None]), tags=pd.Series(["a", pd.NA]).array)
        frame["vector"] = list(pd.DataFrame([[1, 2], [3, 4]]).to_numpy())
        assert sm.load(frame.set_index("day", drop=False)).summaries[0].extra == {
            "day": "2026-01-01T00:00:00", "tags": "a", "vector": [1, 2],
        }  # fmt: skip
        with pytest.raises(UsageError, match="two columns 'summary'"):
            sm.load(pd.concat([frame, frame["summary"]], axis=1))

    def test_arrow_values_that_cannot_be_read(self) -> None:
        pa = pytest.importorskip("pyarrow")
        late = pa.array([2**62, 0], pa.timestamp("s"))
        for wrong in (pa.table({"document": ["a", "b"], "summary": ["a", "b"], "day": late}), pa.chunked_array([late])):
            with pytest.raises(UsageError, match=f"the {type(wrong).__name__} cannot be read"):
                sm.load(wrong)

    def test_large_frame_is_read_on_demand(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(folders, "LARGE", 10)
        data = sm.load(row for row in ROWS)
        assert not isinstance(data.summaries, tuple)
        assert texts(data) == CELLS

    @pytest.mark.parametrize(
        "data", [None, 3, b"rows.jsonl", {"document": ["a"]}, [1, 2], ["a.jsonl", {"document": "a"}], sm.Dataset]
    )
    def test_wrong_types(self, data: Any) -> None:
        with pytest.raises(UsageError) as caught:
            sm.load(data)
        assert "give" in str(caught.value)

    def test_splits_of_hugging_face(self) -> None:
        class Split:
            column_names = ("document", "summary")

        with pytest.raises(UsageError, match=r"give one: data\['train'\]"):
            sm.load({"train": Split(), "test": Split()})

    def test_a_dataset_is_returned(self) -> None:
        data = sm.load(ROWS)
        assert sm.load(data) is data
        with pytest.raises(UsageError, match="leave out map"):
            sm.load(data, map={"document": "article"})

    def test_packages_are_not_imported(self) -> None:
        code = f"import sys, summeter as sm; sm.load({ROWS!r}); print(*sys.modules)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert {"pandas", "polars", "pyarrow", "datasets"}.isdisjoint(done.stdout.split())
