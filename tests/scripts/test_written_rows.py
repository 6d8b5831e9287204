"""The claims written for the embedded network: format, and commands for a second annotator."""

from __future__ import annotations

import gzip
import importlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from summeter.stats.classification import auroc

ROWS = 150  # of a kind
DOCUMENTS = 100
WORDS = 150  # of a document


@pytest.fixture(scope="module")
def script(root: Path) -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(root / "scripts" / "network")
        yield importlib.import_module("written_rows")


@pytest.fixture(scope="module")
def rows(script: ModuleType) -> list[Any]:
    return list(script.long_rows())


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.lower())


def overlaps(rows: list[Any]) -> list[float]:
    """Return the share of each claim's words that are in its document."""
    vocabularies = {row.document_id: set(words(row.document)) for row in rows}
    shares = []
    for row in rows:
        vocabulary = vocabularies[row.document_id]
        shares.append(sum(word in vocabulary for word in words(row.claim)) / len(words(row.claim)))
    return shares


class TestLongRows:
    def test_each_kind_has_enough_claims_and_half_are_unsupported(self, rows: list[Any], script: ModuleType) -> None:
        counts = Counter((row.kind, row.supported) for row in rows)
        assert {kind for kind, _ in counts} == set(script.KINDS)
        for kind in script.KINDS:
            total = counts[kind, True] + counts[kind, False]
            assert total >= ROWS
            assert 0.45 <= counts[kind, False] / total <= 0.55

    def test_documents_are_long_and_differ(self, rows: list[Any]) -> None:
        documents = {row.document_id: row.document for row in rows}
        assert len(documents) >= DOCUMENTS
        assert len(set(documents.values())) == len(documents)
        assert min(len(document.split()) for document in documents.values()) >= WORDS

    def test_claims_are_sentences_of_six_to_35_words_and_differ(self, rows: list[Any]) -> None:
        assert all(6 <= len(row.claim.split()) <= 35 and row.claim.endswith((".", '."', "?")) for row in rows)
        assert len({row.claim for row in rows}) == len(rows)

    def test_twins_name_each_other_and_differ_in_the_label(self, rows: list[Any]) -> None:
        by_id = {row.id: row for row in rows}
        assert len(by_id) == len(rows)
        for row in rows:
            twin = by_id[row.pair]
            assert twin.pair == row.id
            assert (twin.document_id, twin.kind, twin.supported) == (row.document_id, row.kind, not row.supported)

    def test_the_order_of_twins_is_independent_of_the_label(self, rows: list[Any]) -> None:
        places = {row.id: place for place, row in enumerate(rows)}
        first = [places[row.id] < places[row.pair] for row in rows if row.supported]
        assert 0.4 < sum(first) / len(first) < 0.6

    def test_word_overlap_is_independent_of_the_label(self, rows: list[Any]) -> None:
        value = auroc([float(row.supported) for row in rows], overlaps(rows)).value
        assert value is not None
        assert 0.40 <= value <= 0.65

    def test_half_of_the_claims_are_paraphrased(self, rows: list[Any]) -> None:
        shares = overlaps(rows)
        assert sum(share < 0.75 for share in shares) >= len(shares) / 2

    def test_half_of_the_first_documents_and_a_fifth_of_the_later_are_development_data(
        self, rows: list[Any], script: ModuleType
    ) -> None:
        development = list(script.long_rows(development=True))
        training = list(script.long_rows(development=False))
        assert {row.document_id for row in development}.isdisjoint(row.document_id for row in training)
        assert len(development) + len(training) == len(rows)
        for later, low, high in ((False, 0.4, 0.6), (True, 0.15, 0.25)):
            own = [script.kept(row.document_id) for row in rows if (row.document_id >= "long-200") == later]
            assert low < sum(own) / len(own) < high

    def test_deciding_passages_are_in_the_document(self, rows: list[Any], script: ModuleType) -> None:
        texts = list(script._lines(script.FOLDER, "long"))
        quotes = [
            (text["text"], quote) for text in texts for claim in text["claims"] for quote in claim.get("evidence", ())
        ]
        assert len(quotes) > 5000
        assert all(quote in text for text, quote in quotes)

    def test_long_documents_are_not_among_the_other_forms(self, script: ModuleType) -> None:
        assert not any(row.id.startswith("long") for row in script.written())


class TestTraining:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        noise = " ".join(f"Filler sentence {number} about nothing at all." for number in range(30))
        text = f"Ann paid Bob in May. {noise} The widow left town."
        true = {
            "id": "long-203-01",
            "text": "Bob was given money.",
            "label": "entail",
            "kind": "role",
            "pair": "long-203-02",
        }
        false = {
            "id": "long-203-02",
            "text": "Bob gave money away.",
            "label": "not",
            "kind": "role",
            "pair": "long-203-01",
        }
        quoted = [{**claim, "evidence": ["paid Bob"]} for claim in (true, false)]
        rows = [{"id": "long-203", "kind": "note", "text": text, "claims": quoted}]
        (tmp_path / "long_z.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        return tmp_path

    def test_training_inputs_with_and_without_the_deciding_passage(self, script: ModuleType, folder: Path) -> None:
        assert not script.kept("long-203")
        rows = script.training(folder)["long"]
        assert [(row["hypothesis"], row["label"], "Ann paid Bob" in row["premise"]) for row in rows] == [
            ("Bob was given money.", "entail", True),
            ("Bob was given money.", "not", False),
            ("Bob gave money away.", "not", True),
        ]
        assert {row["twin"] for row in rows} == {"long-203-01"}

    @pytest.mark.parametrize("start", [[], ["--start", "none"]], ids=["from the embedded network", "from none"])
    def test_the_settings_refer_to_the_rows(
        self, script: ModuleType, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: list[str]
    ) -> None:
        module, out = importlib.import_module("training_rows"), tmp_path / "rows"
        premises = [f"It rained on day {number}." for number in range(200)]
        assert 0 < sum(map(module.held_out, premises)) < 40
        for name in module.REPLAY:
            with gzip.open(tmp_path / f"{name}.jsonl.gz", "wt", encoding="utf-8") as handle:
                for premise in premises:
                    row = {"premise": premise, "hypothesis": "It was wet.", "label": "entail", "source": "x"}
                    handle.write(json.dumps(row) + "\n")
        arguments = ["--data", tmp_path, "--written", folder, "--backbone", tmp_path, "--out", out]
        monkeypatch.setattr("sys.argv", ["training_rows.py", *map(str, arguments), *start])
        monkeypatch.setattr(module, "FIRST", dict.fromkeys(module.FIRST, 50))
        module.main()
        settings = json.loads((out / "nli.yaml").read_text("utf-8"))
        assert settings["warm_start"] == (None if start else module.MODEL)
        rows = {
            each["file"]: [json.loads(line) for line in (out / each["file"]).read_text("utf-8").splitlines()]
            for each in settings["data"]
        }
        assert len(rows["long.jsonl"]) == 3
        for name in module.REPLAY:
            read = {row["premise"] for row in rows[f"{name}.jsonl"]}
            others = {premise for premise in premises if not module.held_out(premise)}
            assert read < others and len(read) == 50 if start else read == others

    def test_no_development_document_trains(self, script: ModuleType) -> None:
        kept = {row.claim for row in script.long_rows(development=True)}
        assert kept
        assert kept.isdisjoint(row["hypothesis"] for row in script.training()["long"])

    def test_the_claim_only_baseline_uses_other_documents(self, script: ModuleType) -> None:
        claims = ["He was only late.", "He was late."] * 100
        labels = [False, True] * 100
        odds = script.sounds(claims, labels, [f"d{number // 2}" for number in range(200)])
        assert odds[0] < -1 < 1 < odds[1]
        # Of one document nothing is known of the others.
        assert script.sounds(claims, labels, ["d"] * 200) == [0.0] * 200


class TestSecondReader:
    @pytest.fixture
    def file(self, tmp_path: Path) -> Path:
        claims = [
            {"id": "long-900-01", "text": "Ann paid Bob.", "label": "entail", "kind": "role", "pair": "long-900-02"},
            {"id": "long-900-02", "text": "Bob paid Ann.", "label": "not", "kind": "role", "pair": "long-900-01"},
        ]
        file = tmp_path / "long_z.jsonl"
        file.write_text(
            json.dumps({"id": "long-900", "kind": "note", "text": "Bob was paid by Ann.", "claims": claims}) + "\n"
        )
        return file

    def test_blind_shows_claims_and_no_labels(self, script: ModuleType, file: Path) -> None:
        shown = "\n".join(script.blind(file, 1, 1))
        assert "Bob was paid by Ann." in shown
        assert "long-900-02  Bob paid Ann." in shown
        assert {"entail", "not", "role"}.isdisjoint(words(shown))

    def test_blind_refuses_unknown_documents(self, script: ModuleType, file: Path) -> None:
        with pytest.raises(SystemExit, match="has documents 1 to 1, not 1 to 2"):
            list(script.blind(file, 1, 2))

    def test_compare_counts_differing_labels(self, script: ModuleType, file: Path, tmp_path: Path) -> None:
        answers = tmp_path / "answers.jsonl"
        answers.write_text('{"id": "long-900-01", "label": "not"}\n{"id": "long-900-02", "label": "not"}\n')
        rows = list(script.long_rows(file.parent))
        lines = list(script.compared(rows, script.answered(answers, {row.id for row in rows})))
        assert lines[0] == "2 of 2 claims answered, 1 labelled otherwise"
        assert lines[1] == "role         1 of 2"
        assert lines[-1] == "long-900-01  role  writer entail, reader not: Ann paid Bob."

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ('{"id": "long-900-09", "label": "not"}', "line 1: no claim has the id 'long-900-09'"),
            ('{"id": "long-900-01"}', "line 1: not a JSON object with `id` and `label`"),
            ("long-900-01 not", "line 1: not a JSON object with `id` and `label`"),
            ('{"id": "long-900-01", "label": "no"}', "line 1: the label is 'no', not one of entail, not"),
        ],
    )
    def test_answers_without_a_claim_are_refused(
        self, script: ModuleType, tmp_path: Path, line: str, message: str
    ) -> None:
        answers = tmp_path / "answers.jsonl"
        answers.write_text(line + "\n")
        with pytest.raises(SystemExit, match=message):
            script.answered(answers, {"long-900-01"})
