"""Output, files and exit codes of `summeter data`."""

from __future__ import annotations

import csv
import gzip
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from data.hub_cache import COMMIT, fill
from typer.testing import CliRunner

from summeter.cli.common import option
from summeter.cli.data import app
from summeter.data.dataset import load
from summeter.records import InputError, UsageError
from summeter.text.split import SPLITTER

ROWS: list[dict[str, Any]] = [
    {"doc_id": "d1", "system": "good", "document": "It rained. We stayed.", "summary": "It rained.", "domain": "news",
     "key_facts": ["It rained.", "They stayed."], "reference": "Rain.", "category": "small",
     "human": {"sentence_labels": [{"a": 1, "b": "entity error"}], "key_fact_labels": [1, None],
               "ratings": {"coherence": {"a": 4, "b": None}},
               "spans": [{"annotator": "b", "start": 3, "end": 9, "label": "x"}], "span_annotators": ["b"]}},
    {"doc_id": "d1", "system": "bad", "document": "It rained. We stayed.", "summary": ""},
]  # fmt: skip


def run(*arguments: str | Path, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, [str(one) for one in arguments], input=stdin)


@pytest.fixture
def flat(tmp_path: Path) -> Path:
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    return path


@pytest.fixture
def faulty(tmp_path: Path) -> Path:
    path = tmp_path / "bad.jsonl"
    path.write_text('{"document": null, "summary": "x"}\nno\n{"document": "x", "summary": 3}\n', encoding="utf-8")
    return path


class TestValidate:
    def test_valid_data(self, flat: Path) -> None:
        result = run("validate", flat)
        assert result.exit_code == 0
        assert result.stdout.splitlines() == [
            f"{flat}:2: summary: is empty, which is valid; it is judged `skipped` (warning)",
            f"mine  (hash {load(flat).hash[:12]})",
            f"1 document, 2 summaries, 1 sentence (0 summaries with given sentences, else {SPLITTER})",
            "2 key facts for 1 document, references for 1; 1 empty summary",
            "systems: good (1), bad (1)",
            "domains: news (1)",
            "judgment sets: human.raw (9)",
            "no faults, 1 warning",
        ]

    def test_every_fault_and_exit_code_2(self, faulty: Path) -> None:
        result = run("validate", faulty)
        assert result.exit_code == 2
        assert result.stdout.splitlines() == [
            f"{faulty}:1: document: is null; give a string (it may be empty)",
            f"{faulty}:2: is not JSON: Expecting value at column 1",
            f"{faulty}:3: summary: is the number 3; give a string",
            "3 faults",
        ]
        faulty.write_text("no\n" * 50, encoding="utf-8")  # more than an error message shows
        assert len(run("validate", faulty).stdout.splitlines()) == 51

    def test_json(self, faulty: Path, flat: Path) -> None:
        result = run("validate", faulty, "--json")
        assert result.exit_code == 2
        found = json.loads(result.stdout)
        assert found["valid"] is False
        assert found["rows"][0] == {
            "severity": "error", "file": str(faulty), "line": 1, "field": "document",
            "message": "is null; give a string (it may be empty)",
        }  # fmt: skip
        fine = json.loads(run("validate", "-", "--json", stdin=flat.read_text()).stdout)
        assert (fine["valid"], [one["severity"] for one in fine["rows"]]) == (True, ["warning"])

    def test_format_map_and_preset(self, tmp_path: Path) -> None:
        path = tmp_path / "a.txt"
        path.write_text("article,text\nIt rained.,Rain.\n", encoding="utf-8")
        result = run("validate", path, "--input-format", "csv", "--map", "document=article", "--map", "summary=text")
        assert result.exit_code == 0
        path.write_text(json.dumps({"doc": "It rained.", "claim": "Rain.", "label": 1}), encoding="utf-8")
        assert run("validate", path, "--input-format", "jsonl", "--preset", "llm_aggrefact").exit_code == 0

    def test_judgments_of_a_folder_are_checked_too(self, flat: Path, tmp_path: Path) -> None:
        folder = tmp_path / "set"
        run("import", flat, "-o", folder)
        path = folder / "judgments" / "human.raw.jsonl"
        path.write_text("{}\n", encoding="utf-8")
        result = run("validate", folder)
        assert result.exit_code == 2
        assert "was changed after import" in result.stdout


class TestImport:
    def test_metadata_and_warnings(self, flat: Path, tmp_path: Path) -> None:
        folder = tmp_path / "set"
        result = run("import", flat, "-o", folder, "--name", "rain", "--version", "1", "--licence", "MIT",
                     "--citation", "A (2024)")  # fmt: skip
        assert result.exit_code == 0
        assert result.stdout.splitlines()[0].startswith("rain 1  (hash ")
        assert result.stdout.splitlines()[-1] == f"written to {folder}"
        assert result.stderr == f"warning: {flat}:2: summary: is empty, which is valid; it is judged `skipped`\n"
        card = load(folder).card
        assert (card.name, card.version, card.licence, card.citation) == ("rain", "1", "MIT", "A (2024)")

    def test_faulty_data_write_nothing(self, faulty: Path, tmp_path: Path) -> None:
        result = run("import", faulty, "-o", tmp_path / "set")
        assert isinstance(result.exception, InputError)
        assert result.exception.exit_code == 2
        assert [one.name for one in tmp_path.iterdir()] == ["bad.jsonl"]

    def test_needs_force_to_replace(self, flat: Path, tmp_path: Path) -> None:
        folder = tmp_path / "set"
        run("import", flat, "-o", folder)
        again = run("import", flat, "-o", folder)
        assert isinstance(again.exception, UsageError)
        assert "already contains a dataset" in str(again.exception)
        assert run("import", flat, "-o", folder, "--force").exit_code == 0

    def test_importing_again_accepts_a_manual_change(self, flat: Path, tmp_path: Path) -> None:
        folder = tmp_path / "set"
        run("import", flat, "-o", folder, "--licence", "MIT")
        path = folder / "summaries.jsonl"
        path.write_text(path.read_text().replace("good", "best"), encoding="utf-8")
        judged = folder / "judgments" / "human.raw.jsonl"
        judged.write_text(judged.read_text().replace("good", "best"), encoding="utf-8")
        assert isinstance(run("show", folder).exception, InputError)
        assert run("import", folder, "-o", folder, "--force").exit_code == 0
        assert load(folder).systems == ("best", "bad")
        assert load(folder).card.licence == "MIT"

    def test_many_warnings_are_cut_short(self, tmp_path: Path) -> None:
        path = tmp_path / "a.jsonl"
        path.write_text(
            "".join(json.dumps({"document": str(n), "summary": "" if n else "A."}) + "\n" for n in range(31))
        )
        result = run("import", path, "-o", tmp_path / "set")
        assert result.stderr.splitlines()[-1] == "warning: ... and 25 more (`summeter data validate` lists them all)"


class TestShow:
    def test_tables(self, flat: Path) -> None:
        lines = run("show", flat).stdout.splitlines()
        for title in ("Lengths", "Systems", "Votes", "Warnings"):
            assert title in lines
        # 4 words in the document, 2 and 0 in the summaries
        assert "all            1       4.0        2.0        2.0          2      1.0        0.5          2.0" in lines
        said = "agreement (Krippendorff's ordinal alpha): "
        assert any(line.strip().startswith(said) for line in lines)
        assert "judgment sets: human.raw (9)" in lines

    def test_everything_as_json(self, flat: Path, tmp_path: Path) -> None:
        result = run("show", flat, "-o", tmp_path / "shown.json")
        assert result.stderr == f"written to {tmp_path / 'shown.json'}\n"
        shown = json.loads((tmp_path / "shown.json").read_text("utf-8"))
        (row,) = shown["rows"]
        assert (row["documents"], row["summaries"], row["systems"]) == (1, 2, {"good": 1, "bad": 1})
        assert shown["lengths"][0]["document_words"] == 4
        assert [row["system"] for row in shown["system_lengths"]] == ["good", "bad"]
        assert shown["votes"][0]["judgment_set"] == "human.raw"
        assert shown["near_duplicates"] == []
        assert {row["kind"]: row["by_system"] for row in shown["warnings"]}["empty_summaries"] == {"bad": 1}
        assert {row["aspect"] for row in shown["agreement"]} <= {"faithfulness", "completeness", "coherence"}

    def test_everything_as_csv(self, flat: Path) -> None:
        rows = list(csv.DictReader(io.StringIO(run("show", flat, "--format", "csv").stdout)))
        assert {row["table"] for row in rows} == {"lengths", "system_lengths", "votes", "warnings", "agreement"}
        assert [row["words"] for row in rows if row["table"] == "system_lengths"] == ["2.0", "0.0"]

    def test_page(self, flat: Path, tmp_path: Path) -> None:
        result = run("show", flat, "-o", tmp_path / "page.html")
        assert result.stderr == f"written to {tmp_path / 'page.html'}\n"
        assert "<h1><bdi>mine</bdi></h1>" in (tmp_path / "page.html").read_text("utf-8")

    def test_one_item(self, flat: Path) -> None:
        assert run("show", flat, "--doc", "d1", "--system", "good").stdout.splitlines() == [
            "document d1 (news)",
            "It rained. We stayed.",
            "reference: Rain.",
            "key fact 0: It rained.",
            "key fact 1: They stayed.",
            "",
            "summary by good (small)",
            "  [0] It rained.  <faithfulness a=1; faithfulness b=0 entity error>",
            "  key fact 0:  <completeness people=1>",
            "  key fact 1:  <completeness people=->",
            "  coherence by a: 4",
            "  coherence by b: no vote",
            "  marked by b: 'rained' (x)",
        ]
        assert "summary by bad\n  (empty)" in run("show", flat, "--doc", "d1").stdout

    def test_one_item_as_json(self, flat: Path) -> None:
        (row,) = json.loads(run("show", flat, "--system", "good", "--json").stdout)["rows"]
        assert row["document"]["id"] == "d1"
        assert [one["system"] for one in row["summaries"]] == ["good"]

    @pytest.mark.parametrize(
        ("option", "name", "message"),
        [("--doc", "d11", "there is no document 'd11' (did you mean d1?)"),
         ("--system", "goood", "there is no system 'goood' (did you mean good?)")],
    )  # fmt: skip
    def test_unknown(self, flat: Path, option: str, name: str, message: str) -> None:
        assert str(run("show", flat, option, name).exception) == message


class TestParts:
    @pytest.fixture
    def eight(self, tmp_path: Path) -> Path:
        path = tmp_path / "eight.jsonl"
        rows = [{"doc_id": str(n), "document": f"Text {n}.", "summary": "A.", "domain": "ab"[n % 2]} for n in range(8)]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    def test_split(self, eight: Path, tmp_path: Path) -> None:
        result = run("split", eight, "-o", tmp_path / "parts", "--parts", "train=.75,test=.25", "--seed", "4")
        lines = result.stdout.splitlines()
        assert [line.split()[:4] for line in lines[1:3]] == [["train", "6", "6", "0.750"], ["test", "2", "2", "0.250"]]
        assert result.stderr == f"written to {tmp_path / 'parts'}\n"
        assert load(tmp_path / "parts" / "test").card.name == "eight-test"
        shown = json.loads(
            run("split", eight, "-o", tmp_path / "again", "--parts", "train=.5,test=.5", "--json").stdout
        )
        assert [(row["part"], row["documents"]) for row in shown["rows"]] == [("train", 4), ("test", 4)]
        assert shown["near_duplicates"] == []

    @pytest.mark.parametrize(
        ("parts", "message"),
        [
            ("train=.8", "--parts: the shares must add up to 1; they add up to 0.8"),
            ("train=most,test=.2", "--parts: the share of 'train' is 'most', not a number"),
            ("train", "--parts 'train' is not NAME=SHARE"),
            ("train=nan,test=1", "--parts: the share of 'train' must be above 0 and at most 1, not nan"),
        ],
    )
    def test_bad_parts(self, eight: Path, tmp_path: Path, parts: str, message: str) -> None:
        error = run("split", eight, "-o", tmp_path / "parts", "--parts", parts).exception
        assert isinstance(error, UsageError)
        assert error.worded(option) == message
        assert not (tmp_path / "parts").exists()

    def test_sample(self, eight: Path, tmp_path: Path) -> None:
        result = run("sample", eight, "-n", "4", "-o", tmp_path / "four")
        assert "domains: a (2), b (2)" in result.stdout
        assert len(load(tmp_path / "four").documents) == 4


class TestHub:
    def test_offline_names_the_cached_commit(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        pytest.importorskip("huggingface_hub", reason="needs huggingface_hub (extra `hub`), which is not here")
        from summeter.cli.main import app as whole

        monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
        monkeypatch.setenv("HF_HUB_OFFLINE", "0")
        fill(tmp_path / "hub", "org/rain", {"test.jsonl": "".join(json.dumps(row) + "\n" for row in ROWS)})
        word = f"hf:org/rain@main#test: offline: read from the cache, commit {COMMIT}"
        imported = CliRunner().invoke(
            whole, ["--offline", "data", "import", "hf:org/rain#test", "-o", str(tmp_path / "a")]
        )
        assert imported.stderr.count(word) == 1  # among the warnings of the rows, once
        shown = CliRunner().invoke(whole, ["data", "show", "hf:org/rain#test", "--json"])
        assert shown.stderr == f"warning: {word}\n"
        assert json.loads(shown.stdout)["rows"][0]["summaries"] == 2


class TestExport:
    def test_round_trip(self, flat: Path, tmp_path: Path) -> None:
        run("import", flat, "-o", tmp_path / "set")
        rows, judgments = tmp_path / "out.jsonl.gz", tmp_path / "out.judgments.jsonl.gz"
        assert run("export", tmp_path / "set", "-o", rows).exit_code == 0
        written = [json.loads(line) for line in gzip.decompress(rows.read_bytes()).splitlines()]
        # what one row says of a document, all its rows say afterwards
        shared = {name: ROWS[0][name] for name in ("domain", "key_facts", "reference")}
        assert written == [{name: cell for name, cell in ROWS[0].items() if name != "human"}, ROWS[1] | shared]
        assert run("import", rows, judgments, "--preset", "tables", "-o", tmp_path / "again").exit_code == 0
        assert load(tmp_path / "again").hash == load(flat).hash
        assert load(tmp_path / "again").judgments("human.raw") == load(flat).judgments("human.raw")

    def test_parquet_and_hub(self, flat: Path, tmp_path: Path) -> None:
        pytest.importorskip("pyarrow", reason="needs pyarrow (extra `parquet`), which is not here")
        assert run("export", flat, "-o", tmp_path / "rows.parquet").exit_code == 0
        assert load(tmp_path / "rows.parquet").hash == load(flat).hash
        assert run("export", flat, "-o", tmp_path / "hub", "--format", "hub").exit_code == 0
        assert (tmp_path / "hub" / "judgments" / "test.parquet").is_file()
        assert isinstance(run("export", flat, "-o", "-", "--format", "parquet").exception, UsageError)

    def test_stdout_has_the_texts(self, flat: Path, tmp_path: Path) -> None:
        result = run("export", flat, "-o", "-")
        assert "judgments" in result.stderr
        (tmp_path / "again.jsonl").write_text(result.stdout, encoding="utf-8")
        assert load(tmp_path / "again.jsonl").hash == load(flat).hash


@pytest.mark.parametrize("command", [["import"], ["sample", "-n", "1"], ["shard", "--documents", "1"]])
def test_a_folder_is_not_named_like_a_file(flat: Path, tmp_path: Path, command: list[str]) -> None:
    result = run(command[0], flat, *command[1:], "-o", tmp_path / "x.csv")
    assert isinstance(result.exception, UsageError)
    assert not (tmp_path / "x.csv").exists()


def test_help_loads_nothing_heavy() -> None:
    code = "import sys, summeter.cli.data; print('summeter.data.dataset' in sys.modules, 'pyarrow' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"


@pytest.mark.shared
def test_real_data_are_valid(shared: Path) -> None:
    result = run("validate", shared / "data" / "qags_xsum.jsonl.gz")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-1] == "no faults"


def test_shard_writes_files_that_are_read_as_one_data_set(tmp_path: Path) -> None:
    source = tmp_path / "mine.jsonl"
    rows = [
        {"doc_id": f"00{number}", "system": system, "document": f"It rained on day {number}.", "summary": "It rained.",
         "human": {"ratings": {"fluency": {"007": 3}}}}
        for number in range(5)
        for system in ("ash", "birch")
    ]  # fmt: skip
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    folder = tmp_path / "parts"
    arguments = ["shard", source, "-o", folder, "--documents", "2"]
    assert run(*arguments).exit_code == 0
    files = sorted(folder.glob("*.jsonl"))
    assert [len(file.read_text(encoding="utf-8").splitlines()) for file in files] == [4, 4, 2]
    assert [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()] == [
        {name: cell for name, cell in row.items() if name != "human"} for row in rows
    ]
    assert load(folder).hash == load(source).hash
    assert load(folder).card.name == "parts"
    assert json.loads(run("show", folder, "--json").stdout)["rows"][0]["systems"] == {"ash": 5, "birch": 5}
    assert run("import", *files, "-o", tmp_path / "set").exit_code == 0
    assert load(tmp_path / "set").hash == load(source).hash
    refused = run(*arguments)
    assert isinstance(refused.exception, UsageError)
    with files[1].open("a", encoding="utf-8") as file:
        file.write(json.dumps({**rows[0], "document": "Another text."}) + "\n")
    damaged = run("validate", folder, "--json")
    assert damaged.exit_code == 2
    (fault,) = json.loads(damaged.stdout)["rows"]
    assert (fault["file"], fault["line"], fault["field"]) == (str(files[1]), 5, "document")
