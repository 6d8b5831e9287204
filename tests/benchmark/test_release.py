"""Releases: their content, what they leave out, and the tampering that `verify` detects."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from benchmark.chains import bench, command, edited, renew_hashes

from summeter.benchmark import run_step
from summeter.benchmark.release import STEP, ReleaseSettings, pseudonym
from summeter.benchmark.step import (
    MANIFEST,
    Inputs,
    Result,
    Step,
    StepContext,
    StepSettings,
    file_hashes,
    read_manifest,
    state_of,
)
from summeter.benchmark.verify import verify
from summeter.data.dataset import Dataset, load, save
from summeter.data.folder import file_hash
from summeter.records import FactOrigin, InputError, UsageError

pytest.importorskip("pyarrow")

PLACES = ("harbour", "market", "museum", "orchard", "quarry", "station", "theatre", "windmill")
WITHHELD = PLACES[5:]
ANNOTATORS = ("ben.miller@example.org", "cleo", "worker-77")


def text(place: str, more: str = "") -> str:
    return (
        f"The {place} opens at nine on weekdays. Its keeper, who moved here long ago, counts every visitor. "
        f"Last year the {place} had three thousand guests, more than any {place} nearby{more}. A new roof is planned."
    )


def rows() -> list[dict[str, Any]]:
    """Eight places and a near-duplicate of the first, two systems, three annotators."""
    documents = [(place, text(place)) for place in PLACES] + [("harbour-again", text("harbour", " did"))]
    flat = []
    for number, (name, document) in enumerate(documents):
        for system in ("aster", "birch"):
            labels = [{who: int((number + place) % 3 != 0) for place, who in enumerate(ANNOTATORS)}, {"cleo": 1}]
            flat.append(
                {
                    "doc_id": name, "system": system, "domain": "town" if number % 2 else "country",
                    "document": document, "summary": f"The {name} opens at nine. It is {system}.",
                    "reference": f"All about the {name}.", "key_facts": [f"The {name} opens at nine."],
                    "human": {
                        "sentence_labels": labels,
                        "key_fact_labels": [dict.fromkeys(ANNOTATORS, 1)],
                        "ratings": {"fluency": {who: 3 + (number + place) % 3 for place, who in enumerate(ANNOTATORS)}},
                    },
                }
            )  # fmt: skip
    return flat


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset folder with three documents whose texts may not be shared."""
    data = load(rows())
    documents = {
        name: document.model_copy(
            update={"share": name not in WITHHELD, "extra": {
                "source": "archive" if name in WITHHELD else "gazette",
                "licence": "all rights reserved" if name in WITHHELD else "CC0-1.0", "origin": f"raw/{name}.txt"}}
        )
        for name, document in data.documents.items()
    }  # fmt: skip
    makers = {name: (lambda name=name: iter(data.judgments(name))) for name in data.judgment_sets}  # type: ignore[misc]
    folder = tmp_path_factory.mktemp("source") / "data"
    save(Dataset(documents, data.summaries, makers, data.card), folder)
    return folder


def settings(folder: Path, **more: Any) -> ReleaseSettings:
    (folder / "secret").write_text("kept outside of the release")
    about = {"name": "town and country", "licence": "CC-BY-4.0", "datasheet": {"purpose": "To test releases."}}
    return ReleaseSettings(**{**about, "secret": folder / "secret", **more})


@pytest.fixture(scope="module")
def released(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("released")
    run_step(STEP, source, folder / "release", settings(folder, splits={"dev": 0.4, "test": 0.6}, seed=5))
    return folder / "release"


@pytest.fixture
def release(released: Path, tmp_path: Path) -> Path:
    shutil.copytree(released, tmp_path / "release")
    return tmp_path / "release"


def test_a_release_is_a_verified_dataset_folder(release: Path) -> None:
    assert verify(release) == []
    data = load(release)
    assert (len(data.documents), len(data), data.card.licence) == (9, 18, "CC-BY-4.0")
    splits = {name: document.split for name, document in data.documents.items()}
    assert set(splits.values()) == {"dev", "test"}
    assert splits["harbour"] == splits["harbour-again"]
    manifest = read_manifest(release)
    assert manifest.details["near_duplicates"] == [["harbour", "harbour-again"]]
    assert manifest.counts_out["judgments/human.raw"] == manifest.counts_in["judgments/human.raw"] > 0


def test_no_annotator_is_named_anywhere(release: Path) -> None:
    for file in release.rglob("*"):
        content = file.read_bytes() if file.is_file() else b""
        for name in ANNOTATORS:
            assert name.encode() not in content, file.name
        assert str(release.parent).encode() not in content, file.name
    secret = b"kept outside of the release"
    judges = {row.judge for row in load(release).judgments("human.raw")}
    assert judges == {pseudonym(name, secret) for name in ANNOTATORS}
    assert secret not in b"".join(file.read_bytes() for file in release.rglob("*") if file.is_file())


def test_pseudonyms_depend_on_the_secret_whose_hash_is_not_stored(release: Path, source: Path, tmp_path: Path) -> None:
    given, out = settings(tmp_path), tmp_path / "other"
    run_step(STEP, source, out, given)
    assert state_of(STEP, source, out, given, None) == ("done", "")
    assert file_hash(tmp_path / "secret") not in (out / MANIFEST).read_text()
    (tmp_path / "secret").write_text("another one outside of it")
    assert state_of(STEP, source, out, given, None) == ("stale", "secret has changed")
    first = {row.judge for row in load(out).judgments("human.raw")}
    assert first == {row.judge for row in load(release).judgments("human.raw")}
    run_step(STEP, source, out, given)
    assert not first & {row.judge for row in load(out).judgments("human.raw")}


def test_local_folders_and_inactive_accounts_are_not_released(source: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    model = f"scripted/{home}/judge.jsonl"
    data = load(source)
    makers = {
        name: [row.model_copy(update={"signature": f"{row.signature}|judge:{model}|t:0", "model": model})
               for row in data.judgments(name)]
        for name in data.judgment_sets
    }  # fmt: skip
    summaries = [each.model_copy(update={"extra": {"model": model}}) for each in data.summaries]
    fact_origins = {
        name: (FactOrigin(proposed=document.key_facts[0], origin="document", model=model),)
        for name, document in data.documents.items()
    }
    (tmp_path / "secret").write_text("kept outside of the release")
    given = Dataset(data.documents, summaries, {}, data.card, fact_origins=fact_origins)
    for name, judgments in makers.items():
        given = given.with_judgments(name, judgments)

    def people(inputs: Inputs, chosen: StepSettings, context: StepContext) -> Result:
        return Result(given, models={"judge": model})

    class Paths(StepSettings):
        raw: str = f"{home}/raw"
        campaign: dict[str, Any]

    chosen = Paths(campaign={"platform": {"accounts": ["idle.person", "cleo", "/staff/second.person"]}})
    run_step(Step("annotate", Paths, people), source, tmp_path / "annotate", chosen)
    run_step(STEP, tmp_path / "annotate", tmp_path / "release", settings(tmp_path))
    assert verify(tmp_path / "release") == []
    everything = b"".join(file.read_bytes() for file in (tmp_path / "release").rglob("*") if file.is_file())
    assert str(home).encode() not in everything
    assert b"idle.person" not in everything
    assert b"second.person" not in everything
    assert b"scripted/judge.jsonl" in everything


@pytest.mark.parametrize("account", ["step", "aster"])
def test_pseudonyms_replace_accounts_but_not_equal_words(account: str, source: Path, tmp_path: Path) -> None:
    data = load(source)
    judgments = [
        row.model_copy(update={"judge": account}) if row.judge == "cleo" else row for row in data.judgments("human.raw")
    ]

    class People(StepSettings):
        campaign: dict[str, Any]
        models: dict[str, str]

    def people(inputs: Inputs, chosen: StepSettings, context: StepContext) -> Result:
        return Result(
            data.with_judgments("human.raw", judgments), models={"judge": "openai/m"}, details={"step": account}
        )

    private = {"codes": {"completed": "C0DE77"}, "hosts": ["study.example"]}
    campaign = {"aspect": account, "platform": {"accounts": [account, "worker-77"]}, **private}
    chosen = People(campaign=campaign, models={"judge": "openai/m", "aster": "openai/m"})
    made = run_step(Step("annotate", People, people), source, tmp_path / "annotate", chosen)
    run_step(STEP, tmp_path / "annotate", tmp_path / "release", settings(tmp_path))
    assert verify(tmp_path / "release") == []
    record = read_manifest(tmp_path / "release").history[-1]
    new = pseudonym(account, b"kept outside of the release")
    other = pseudonym("worker-77", b"kept outside of the release")
    assert record.settings["campaign"] == {"aspect": account, "platform": {"accounts": [new, other]}}
    assert record.settings["models"] == made.settings["models"]
    assert (record.step, record.seed, record.models, record.details) == ("annotate", 0, made.models, made.details)
    released = load(tmp_path / "release")
    assert new in {row.judge for row in released.judgments("human.raw")}
    assert {row.aspect for row in released.judgments("human.raw")} == {row.aspect for row in judgments}


def test_columns_of_withheld_documents_are_not_released(source: Path, tmp_path: Path) -> None:
    data = load(source)
    documents = {
        name: document.model_copy(update={"extra": {**document.extra, "page": f"<p>{document.text}</p>"}})
        for name, document in data.documents.items()
    }
    save(Dataset(documents, data.summaries, {}, data.card), tmp_path / "data")
    run_step(STEP, tmp_path / "data", tmp_path / "release", settings(tmp_path))
    for document in load(tmp_path / "release").documents.values():
        assert ("page" in document.extra) == document.share
        assert document.share or document.extra["withheld"] == ["text", "references", "page"]


def test_a_random_secret_is_made_once_outside_the_release(source: Path, tmp_path: Path) -> None:
    given = settings(tmp_path).model_copy(update={"secret": None})
    run_step(STEP, source, tmp_path / "release", given)
    before = (tmp_path / "release" / "judgments" / "human.raw.jsonl").read_bytes()
    key = tmp_path / "work" / "release" / "pseudonyms.key"
    assert key.stat().st_mode & 0o77 == 0
    run_step(STEP, source, tmp_path / "release", given)
    assert (tmp_path / "release" / "judgments" / "human.raw.jsonl").read_bytes() == before
    assert verify(tmp_path / "release") == []


def test_secrets_splits_and_columns_that_would_leak_are_refused(source: Path, tmp_path: Path) -> None:
    given = settings(tmp_path)
    (tmp_path / "secret").write_text("short")
    with pytest.raises(InputError):
        run_step(STEP, source, tmp_path / "release", given)
    (tmp_path / "secret").unlink()
    with pytest.raises(InputError):
        run_step(STEP, source, tmp_path / "release", given)
    split = [{**row, "split": "dev" if row["doc_id"] == "harbour" else "test"} for row in rows()]  # near-duplicates
    named = [{**row, "checked_by": "cleo"} for row in rows()]  # an annotator
    for flat in (split, named):
        save(load(flat), tmp_path / "data", force=True)
        with pytest.raises(UsageError):
            run_step(STEP, tmp_path / "data", tmp_path / "release", settings(tmp_path))
    assert not (tmp_path / "release").exists()


def test_a_script_restores_withheld_texts(release: Path, source: Path, tmp_path: Path) -> None:
    whole, data = load(source), load(release)
    withheld = [name for name, document in data.documents.items() if not document.share]
    assert len(withheld) == 3
    for name in withheld:
        assert (data.documents[name].text, data.documents[name].references) == ("", ())
    everything = b"".join(file.read_bytes() for file in release.rglob("*") if file.is_file())
    assert whole.documents[withheld[0]].text.encode() not in everything
    raw = tmp_path / "raw"
    raw.mkdir()
    for name in withheld[:2]:
        (raw / f"{name}.txt").write_text(whole.documents[name].text + "\n")  # as files end
    (raw / f"{withheld[2]}.txt").write_text("Another text.")
    script = [sys.executable, str(release / "fetch_documents.py"), "--texts", str(raw), "-o", str(tmp_path / "whole")]
    assert subprocess.run(script, capture_output=True, check=False).returncode == 1
    (raw / f"{withheld[2]}.txt").write_text(whole.documents[withheld[2]].text)
    script[-1] = str(tmp_path / "all")
    assert subprocess.run(script, capture_output=True, check=False).returncode == 0
    assert command("data", "import", tmp_path / "all", "-o", tmp_path / "all", "--force") == 0
    again = load(tmp_path / "all")
    assert {name: document.text for name, document in again.documents.items()} == {
        name: document.text for name, document in whole.documents.items()
    }
    assert verify(release) == []


def test_the_card_lists_unanswered_questions(release: Path) -> None:
    card, sheet = (release / "README.md").read_text(), (release / "DATASHEET.md").read_text()
    assert "**Not answered yet** (fields of `datasheet`): `creators`" in card
    assert "`purpose`" not in card
    assert "## For what purpose was the dataset created?\n\nTo test releases.\n" in sheet
    assert "*Not answered yet.*" in sheet
    assert read_manifest(release).details["not_answered"][0] == "creators"
    assert "| archive | all rights reserved | id only |" in card


def test_the_same_release_has_the_same_bytes(release: Path, source: Path, tmp_path: Path) -> None:
    given = settings(tmp_path, splits={"dev": 0.4, "test": 0.6}, seed=5)
    run_step(STEP, source, tmp_path / "again" / "release", given)
    first, second = file_hashes(release), file_hashes(tmp_path / "again" / "release")
    assert first == second
    other = given.model_copy(update={"seed": 6})
    run_step(STEP, source, tmp_path / "other" / "release", other)
    assert file_hashes(tmp_path / "other" / "release") != first


def test_croissant_names_files_and_columns_that_are_there(release: Path) -> None:
    about = json.loads((release / "croissant.json").read_text())
    hashes = {file["@id"]: file["sha256"] for file in about["distribution"]}
    assert hashes == {name: file_hash(release / name) for name in hashes}
    columns = set()
    for records in about["recordSet"]:
        for field in records["field"]:
            source = field["source"]
            rows = [json.loads(line) for line in (release / source["fileObject"]["@id"]).read_text().splitlines()]
            inner = source.get("transform", {}).get("jsonPath", "$.").removeprefix("$.")
            values = [row[source["extract"]["column"]] for row in rows]
            assert all(value[inner] is not None if inner else value is not None for value in values)
            columns.add(field["@id"])
    assert {"documents/text", "summaries/system", "keyfacts/facts", "judgments/human.raw/target.document_id"} <= columns
    assert "judgments/human.raw/label" not in columns  # ratings have none


# ---- tampering ----


def replaced(name: str, old: str, new: str) -> Callable[[Path], None]:
    """Change the first occurrence of a text in a file."""

    def tamper(release: Path) -> None:
        file = release / name
        before = file.read_text()
        assert old in before
        file.write_text(before.replace(old, new, 1))

    return tamper


def in_manifest(change: Callable[[dict[str, Any]], None]) -> Callable[[Path], None]:
    """Change manifest.json."""

    def tamper(release: Path) -> None:
        manifest = json.loads((release / MANIFEST).read_text())
        change(manifest)
        (release / MANIFEST).write_text(json.dumps(manifest))

    return tamper


def swap_splits(lines: list[dict[str, Any]]) -> None:
    dev = next(line for line in lines if line["split"] == "dev")
    test = next(line for line in lines if line["split"] == "test")
    dev["split"], test["split"] = "test", "dev"


def other_vote(lines: list[dict[str, Any]]) -> None:
    vote = next(line for line in lines if line.get("label") == 1)
    vote["label"] = 0


def other_person(lines: list[dict[str, Any]]) -> None:
    for line in lines:
        if line["judge"] == lines[0]["judge"]:
            line["judge"] = "ben miller"


def put_text_back(lines: list[dict[str, Any]]) -> None:
    next(line for line in lines if not line.get("share", True))["text"] = "A text that may not be passed on."


TAMPERINGS: dict[str, tuple[Callable[[Path], None], str, str]] = {
    "a changed vote": (edited("judgments/human.raw.jsonl", other_vote), "judgments.parquet", "label"),
    "a dropped vote": (
        edited("judgments/human.raw.jsonl", lambda lines: lines.pop(7) and None), "manifest.json", "counts_out"
    ),
    "a vote under a name": (edited("judgments/human.raw.jsonl", other_person), "human.raw", "not a pseudonym"),
    "a dropped summary": (
        edited("summaries.jsonl", lambda lines: lines.pop() and None), "human.raw.jsonl", "is not in the dataset"
    ),
    "a changed summary": (
        replaced("summaries.jsonl", "opens at nine", "opens at five"), "summaries.parquet", "summary"
    ),
    "a changed document": (replaced("documents.jsonl", "at nine on", "at five on"), "documents.parquet", "document"),
    "a changed key fact": (
        replaced("keyfacts.jsonl", "opens at nine", "opens at five"), "documents.parquet", "key_facts"
    ),
    "a swapped split": (edited("documents.jsonl", swap_splits), "manifest.json", "details.splits"),
    "a withheld text": (edited("documents.jsonl", put_text_back), "documents.jsonl", "may not be shared"),
    "a text under a key that is there twice": (
        replaced("documents.jsonl", '{"id":', '{"id":"A text that may not be passed on.","id":'),
        "documents.jsonl", "twice",
    ),
    "a text in another writing": (replaced("documents.jsonl", '{"id":', '{ "id":'), "documents.jsonl", "line 1 is"),
    "a wrong count in the card": (
        replaced("README.md", "18 summaries of 9 documents", "81 summaries of 9 documents"), "README.md", "81 summaries"
    ),
    "a wrong agreement in the card": (replaced("README.md", "| ac1 |", "| ac1 | 0.999 |"), "README.md", "0.999"),
    "a better answer in the datasheet": (
        replaced("DATASHEET.md", "To test releases.", "To end hunger."), "DATASHEET.md", "To end hunger."
    ),
    "another licence in Croissant": (replaced("croissant.json", "CC-BY-4.0", "CC0-1.0"), "croissant.json", "CC0-1.0"),
    "a wrong count in the manifest": (
        in_manifest(lambda manifest: manifest["counts_out"].update(summaries=19)), "manifest.json", "summaries is 19"
    ),
    "a wrong agreement in the manifest": (
        in_manifest(lambda manifest: manifest["details"]["agreement"][0].update(value=0.999)),
        "manifest.json", "agreement",
    ),
    "another seed": (in_manifest(lambda manifest: manifest.update(seed=6)), "manifest.json", "seed is 6"),
    "a count that is gone": (
        in_manifest(lambda manifest: manifest["details"].pop("history") and None), "manifest.json", "details.history"
    ),
    "near-duplicates that are none": (
        in_manifest(lambda manifest: manifest["details"].update(near_duplicates=True)),
        "manifest.json", "details.near_duplicates is true",
    ),
    "an added file": (lambda release: (release / "notes.txt").write_text("hello") and None, "notes.txt", ""),
    "another script": (
        lambda release: (release / "fetch_documents.py").write_text("import os\n") and None,
        "fetch_documents.py", "Do not run",
    ),
    "another licence of the data": (replaced("dataset.json", "CC-BY-4.0", "CC0-1.0"), "dataset.json", "CC0-1.0"),
    "another hash of the data": (replaced("dataset.json", '"hash": "', '"hash": "0'), "dataset.json", "hash"),
    "no records at all": (
        lambda release: [file.write_bytes(b"") for file in release.rglob("*.jsonl")] and None, "documents.jsonl", ""
    ),
    "no summaries at all": (lambda release: (release / "summaries.jsonl").unlink(), "summaries.jsonl", ""),
    "a broken table": (
        lambda release: (release / "parquet" / "dev" / "judgments.parquet").write_bytes(b"PAR1") and None,
        "judgments.parquet", "Parquet",
    ),
    "a broken line": (
        lambda release: (release / "documents.jsonl").write_bytes(b"\xff{") and None, "documents.jsonl", "line 1"
    ),
    "a missing script": (lambda release: (release / "fetch_documents.py").unlink(), "fetch_documents.py", "missing"),
    "a missing table": (
        lambda release: (release / "parquet" / "dev" / "judgments.parquet").unlink(), "judgments.parquet", "missing"
    ),
}  # fmt: skip
"""Tampering, the file in which `verify` detects it even if all hashes were renewed, and a part of the message."""


@pytest.mark.parametrize("name", TAMPERINGS)
def test_verify_detects_tampering(name: str, release: Path) -> None:
    tamper, file, message = TAMPERINGS[name]
    tamper(release)
    assert verify(release)
    renew_hashes(release)
    differences = verify(release)
    assert any(file in each.file and message in each.message for each in differences), differences


def test_verify_recomputes_the_splits_if_no_text_is_withheld(tmp_path: Path) -> None:
    save(load(rows()), tmp_path / "data")
    run_step(STEP, tmp_path / "data", tmp_path / "release", settings(tmp_path, splits={"dev": 0.4, "test": 0.6}))
    assert verify(tmp_path / "release") == []
    edited("documents.jsonl", swap_splits)(tmp_path / "release")
    renew_hashes(tmp_path / "release")
    assert any("seed 0 puts it into" in each.message for each in verify(tmp_path / "release"))


def test_the_commands(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    about = {"licence": "CC0-1.0", "splits": {"dev": 0.4, "test": 0.6}, "datasheet": {"purpose": "To test."}}
    assert bench(tmp_path, {"release": about}, input=source) == 0
    capsys.readouterr()
    assert command("bench", "verify", tmp_path / "out" / "release", "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["verified"], shown["rows"]) == (True, [])
    (tmp_path / "out" / "release" / "README.md").unlink()
    assert command("bench", "verify", tmp_path / "out" / "release") == 3
    assert "README.md" in capsys.readouterr().err
    assert command("bench", "verify", source) == 2
