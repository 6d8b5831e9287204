"""Data from a hub: from a cache folder without network access, and from a fake hub."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from data.hub_cache import COMMIT, fill
from together import together

from summeter.data.dataset import load, save
from summeter.data.hub import Address, fetch, is_offline
from summeter.records import InputError, InstallError, UsageError

hub = pytest.importorskip("huggingface_hub", reason="needs huggingface_hub (extra `hub`), which is not here")
errors = pytest.importorskip("huggingface_hub.errors")

ROWS = [{"doc_id": name, "document": f"It rained on {name}.", "summary": "Rain."} for name in ("ana", "ben")]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS)
ONE = LINES.splitlines(keepends=True)[0]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, without access to the hub."""
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return tmp_path / "hub"


def fault(address: str) -> str:
    """Return the fault of an address that cannot be read."""
    with pytest.raises(InputError) as caught:
        load(address)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("hf:org/name", ("org/name", "main", None, None)),
        ("hf:name#test", ("name", "main", None, "test")),
        ("hf:org/name@v1.0#news/test", ("org/name", "v1.0", "news", "test")),
        ("hf:org/name@refs/convert/parquet#news/test", ("org/name", "refs/convert/parquet", "news", "test")),
        ("hf:org/na.me@pr#4#test", ("org/na.me", "pr#4", None, "test")),
    ],
)
def test_parts_of_addresses(text: str, parts: tuple[str, ...]) -> None:
    assert Address.of(text) == parts


@together("end", ["", "a/b/c", "../x", "org/name@", "org/name#", "org/name#/test", "org/name#a/", "@x#y"])
def test_invalid_addresses(end: str) -> None:
    with pytest.raises(UsageError, match=r"is not an address of a dataset; give hf:ORG/NAME"):
        load(f"hf:{end}")


def configs(data_files: str) -> dict[str, str]:
    head = f"---\nconfigs:\n- config_name: default\n  data_files: {data_files}\n---\n"
    return {"README.md": head, "test.jsonl": LINES}


@together(
    "files, address, message",
    [
        ({}, "main#test", "offline, and the cache"),
        ({"data/test-00001-of-00002.jsonl": ONE}, "main#test", "1 of its 2 files are in the cache; download it first"),
        ({"a.py": "raise SystemExit", "a.tar.gz": b"x"}, "main#test", "it is a script (a.py), which is never run"),
        ({"README.md": "---\nlicense: [\n---\n", "test.jsonl": LINES}, "main#test", "is not YAML"),
        ({"dev.jsonl": LINES, "test.jsonl": LINES}, "main", "has several splits: dev, test; give one, for example"),
        ({"test.jsonl": LINES}, "../elsewhere#test", "there is no revision '../elsewhere'"),
        (configs("3"), "main#test", "is neither a path, nor a list"),
        (configs("[a, 3]"), "main#test", "is neither a path, nor a list"),
        (configs("[{split: [a], path: x}]"), "main#test", "has a name that is not a string"),
        (configs("[{split: test, path: 3}]"), "main#test", "has a split whose path is neither a string"),
        *(
            (configs(f"[{{split: test, path: '{path}'}}]"), "main#test", f"contains {path!r}, which is outside the rep")
            for path in ("../../secret.jsonl", "/etc/passwd", "https://x.org/a.jsonl", "data/../../a.csv")
        ),
    ],
)
def test_faults_of_cached_data(
    files: dict[str, Any], address: str, message: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("hub")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_CACHE", str(folder))
        patch.setenv("HF_HUB_OFFLINE", "1")
        if files:
            (fill(folder, "org/a", files) / "elsewhere").write_text(COMMIT, encoding="utf-8")
        assert message in fault(f"hf:org/a@{address}")


class TestCache:
    def test_rows_card_and_warning(self, cache: Path) -> None:
        fill(cache, "org/rain", {"test.jsonl": LINES, "README.md": "---\nlicense: cc-by-4.0\n---\n# Rain\n"})
        data = load("hf:org/rain#test")
        assert [summary.document_id for summary in data.summaries] == ["ana", "ben"]
        assert (data.card.name, data.card.licence) == ("rain", "cc-by-4.0")
        assert data.card.origin == {
            "how": "hub", "repo": "org/rain", "revision": "main", "commit": COMMIT, "config": "default",
            "split": "test", "files": {"test.jsonl": hashlib.sha256(LINES.encode()).hexdigest()},
        }  # fmt: skip
        assert list(map(str, data.warnings)) == [
            f"hf:org/rain@main#test: offline: read from the cache, commit {COMMIT}"
        ]

    def test_the_origin_stays_with_the_folder(self, cache: Path, tmp_path: Path) -> None:
        fill(cache, "org/rain", {"test.jsonl": LINES})
        data = load("hf:org/rain")
        save(data, tmp_path / "set")
        assert load(tmp_path / "set").card.origin == data.card.origin

    def test_revisions_with_slashes_and_commits(self, cache: Path) -> None:
        other = "b" * 40
        fill(cache, "org/rain", {"test.jsonl": LINES})
        fill(cache, "org/rain", {"default/test/0000.jsonl": ONE}, revision="refs/convert/parquet", commit=other)
        assert len(load("hf:org/rain@refs/convert/parquet#test")) == 1
        assert len(load(f"hf:org/rain@{other}#test")) == 1
        assert len(load(f"hf:org/rain@{COMMIT}#test")) == 2

    @pytest.mark.parametrize("revision", ["v2", "aaaaaaa", "../../../etc/hostname"])
    def test_unknown_revision_lists_known_ones(self, cache: Path, revision: str) -> None:
        fill(cache, "org/rain", {"test.jsonl": LINES})
        fill(cache, "org/rain", {"test.jsonl": LINES}, revision="refs/convert/parquet", commit="b" * 40)
        said = fault(f"hf:org/rain@{revision}#test")
        assert f"there is no revision {revision!r} in the cache (offline)" in said
        assert f"revisions are: main, refs/convert/parquet, {COMMIT}, {'b' * 40}" in said
        assert ("(give all 40 digits of a commit)" in said) == (revision == "aaaaaaa")

    def test_shards_are_one_split(self, cache: Path) -> None:
        lines = LINES.splitlines(keepends=True)
        files = {f"data/test-0000{place}-of-00002.jsonl": line for place, line in enumerate(lines)}
        fill(cache, "org/rain", files)
        data = load("hf:org/rain#test")
        assert [summary.document_id for summary in data.summaries] == ["ana", "ben"]
        assert data.card.origin is not None
        assert list(data.card.origin["files"]) == list(files)

    def test_patterns_do_not_cross_folders(self, cache: Path) -> None:
        lines = LINES.splitlines(keepends=True)
        head = "---\nconfigs:\n- data_files:\n  - {{split: test, path: {}}}\n---\n"
        files = {"data/test.jsonl": lines[0], "data/old/test.jsonl": lines[1]}
        for number, (pattern, documents) in enumerate(
            [("data/*.jsonl", ["ana"]), ("data/*/*.jsonl", ["ben"]), ("data/**/test.jsonl", ["ben", "ana"]),
             ("data/**", ["ben", "ana"]), ("'**/old/*'", ["ben"])]
        ):  # fmt: skip
            fill(cache, f"org/rain{number}", {**files, "README.md": head.format(pattern)})
            data = load(f"hf:org/rain{number}#test")
            assert [summary.document_id for summary in data.summaries] == documents

    def test_a_missing_blob(self, cache: Path) -> None:
        home = fill(cache, "org/rain", {"test.jsonl": LINES})
        next((home / "blobs").iterdir()).unlink()
        said = fault("hf:org/rain#test")
        assert "test.jsonl: is listed in the cache, but its content is missing" in said

    def test_a_link_that_leaves_the_cache(self, cache: Path, tmp_path: Path) -> None:
        home = fill(cache, "org/rain", {"test.jsonl": LINES})
        (tmp_path / "secret.jsonl").write_text(LINES, encoding="utf-8")
        (home / "snapshots" / COMMIT / "dev.jsonl").symlink_to(tmp_path / "secret.jsonl")
        assert "which is outside the cache of the repository" in fault("hf:org/rain#dev")

    def test_preset_and_documents_from_the_hub(self, cache: Path) -> None:
        claims = {"dataset": "cnn", "doc": "It rained.", "claim": "Rain.", "label": 1, "contamination_identifier": "x"}
        fill(cache, "org/claims", {"data/test.jsonl": json.dumps(claims) + "\n"})
        data = load("hf:org/claims#test", preset="llm_aggrefact")
        assert data.judgment_sets == ("human.raw",)
        assert data.card.origin is not None

    def test_local_files_and_hub_files(self, cache: Path, tmp_path: Path) -> None:
        fill(cache, "org/texts", {"test.jsonl": json.dumps({"id": "ana", "article": "It rained on Ana."}) + "\n"})
        (tmp_path / "rows.jsonl").write_text(json.dumps({"doc_id": "ana", "summary": "Rain."}), encoding="utf-8")
        data = load(tmp_path / "rows.jsonl", documents="hf:org/texts#test")
        assert data.documents["ana"].text == "It rained on Ana."
        assert data.card.origin is not None
        assert data.card.origin["repo"] == "org/texts"


class TestConfigs:
    TWO = """---
configs:
- config_name: news
  data_files:
  - {split: dev, path: "news/dev*"}
  - {split: test, path: ["news/a.jsonl", "news/b.jsonl"]}
- config_name: mail
  data_files: mail.jsonl
---
"""

    @pytest.fixture
    def two(self, cache: Path) -> Path:
        lines = LINES.splitlines(keepends=True)
        files = {"news/dev.jsonl": LINES, "news/a.jsonl": lines[0], "news/b.jsonl": lines[1], "mail.jsonl": lines[1]}
        return fill(cache, "org/two", {**files, "README.md": self.TWO})

    def test_named(self, two: Path) -> None:
        assert len(load("hf:org/two#news/test")) == 2
        assert list(load("hf:org/two#mail/train").documents) == ["ben"]

    def test_not_named(self, two: Path) -> None:
        assert "has several configs: news, mail; give one, for example hf:org/two@main#news/dev" in fault("hf:org/two")
        assert "has no config 'newz' (did you mean news?); it has: news, mail" in fault("hf:org/two#newz/test")
        assert "has no split 'tes' (did you mean test?); it has: dev, test" in fault("hf:org/two#news/tes")

    def test_default_config(self, cache: Path) -> None:
        head = self.TWO.replace("config_name: mail", "config_name: mail\n  default: true")
        fill(cache, "org/two", {"README.md": head, "mail.jsonl": ONE, "news/dev.jsonl": LINES})
        assert len(load("hf:org/two")) == 1
        assert "has no split 'news'; 'news' is a config: give #news/dev" in fault("hf:org/two#news")
        assert "none of its files is in the cache" in fault("hf:org/two#news/test")

    def test_configs_from_file_names(self, cache: Path) -> None:
        files = {
            "xsum/test/0000.jsonl": LINES,
            "cnn/test/0000.jsonl": ONE,
            "cnn/dev/0000.jsonl": ONE,
            ".git/x.csv": "a",
        }
        fill(cache, "org/many", files)
        assert len(load("hf:org/many#xsum/test")) == 2
        assert "has several configs: cnn, xsum" in fault("hf:org/many#test")


class Answers:
    """Fake of the functions of the hub that `data.hub` calls."""

    def __init__(self, cache: Path, files: dict[str, str]) -> None:
        self.cache, self.files = cache, files
        self.error: Exception | None = None
        self.fetched: list[str] = []
        self.refuses: Exception | None = None

    def dataset_info(self, repo: str, *, revision: str, timeout: float) -> Any:
        if self.error is not None:
            raise self.error
        return SimpleNamespace(sha=COMMIT, siblings=[SimpleNamespace(rfilename=name) for name in self.files])

    def list_repo_refs(self, repo: str, *, repo_type: str) -> Any:
        def named(*names: str) -> list[Any]:
            return [SimpleNamespace(ref=name) for name in names]

        return SimpleNamespace(branches=named("refs/heads/main"), tags=named("refs/tags/v1"), converts=None)

    def download(self, repo: str, name: str, *, repo_type: str, revision: str, cache_dir: Path) -> None:
        if self.refuses is not None and name != "README.md":
            raise self.refuses
        self.fetched.append(name)
        fill(cache_dir, repo, {name: self.files[name]}, commit=revision)


@pytest.fixture
def answers(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Answers]:
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    pretended = Answers(cache, {"test.jsonl": LINES, "dev.jsonl": LINES, "README.md": "# Rain\n"})
    monkeypatch.setattr(hub, "HfApi", lambda: pretended)
    monkeypatch.setattr(hub, "hf_hub_download", pretended.download)
    return pretended


def refused(kind: str, status: int) -> Exception:
    """Return an error of the hub, as raised by the library."""
    made: Exception = getattr(errors, kind).__new__(getattr(errors, kind))
    Exception.__init__(made, f"{status}")
    return made


class TestHub:
    def test_only_needed_files_are_fetched(self, answers: Answers) -> None:
        data = load("hf:org/rain#test")
        assert len(data) == 2
        assert sorted(answers.fetched) == ["README.md", "test.jsonl"]
        assert data.warnings == ()
        assert data.card.origin is not None
        assert data.card.origin["commit"] == COMMIT

    @pytest.mark.parametrize(
        ("error", "refuses", "message"),
        [
            (refused("GatedRepoError", 403), None, "is gated: accept its terms at https://huggingface.co/datasets/a/b"),
            (None, refused("GatedRepoError", 403), "then set HF_TOKEN to a token of that account"),
            (refused("RepositoryNotFoundError", 404), None, "the hub has no such dataset, or it is private"),
            (refused("RevisionNotFoundError", 404), None, "no revision 'v2' on the hub; revisions are: main, v1"),
            (None, ConnectionError("cut"), "test.jsonl: could not be fetched (ConnectionError); try again"),
        ],
    )
    def test_refusals(self, answers: Answers, error: Any, refuses: Any, message: str) -> None:
        answers.error, answers.refuses = error, refuses
        assert message in fault("hf:a/b@v2#test")

    def test_cache_is_used_without_network(self, answers: Answers, cache: Path) -> None:
        answers.error = ConnectionError("no way")
        assert "the hub did not answer (ConnectionError), and the cache" in fault("hf:org/rain#test")
        fill(cache, "org/rain", {"test.jsonl": LINES})
        for error in (answers.error, errors.HTTPError("down")):  # as the library raises it, in each of its versions
            answers.error = error
            (warning,) = fetch("hf:org/rain#test").warnings
            assert warning.message.startswith("the hub did not answer")
            assert warning.message.endswith(f"read from the cache, commit {COMMIT}")

    def test_pattern_without_matches(self, answers: Answers) -> None:
        answers.files["README.md"] = "---\nconfigs:\n- data_files: tests.jsonl\n---\n"
        assert "contains 'tests.jsonl', which matches no file of the repository" in fault("hf:org/rain")


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(InstallError, match=r"pip install 'summeter\[hub\]'"):
        load("hf:org/rain#test")


@pytest.mark.parametrize(("value", "offline"), [("1", True), ("TRUE", True), ("0", False), ("", False)])
def test_offline_by_the_environment(monkeypatch: pytest.MonkeyPatch, value: str, offline: bool) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", value)
    assert is_offline() is offline
