"""Splits and samples: near-duplicates, stratification, seeds and folders."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from summeter.cli.main import main
from summeter.data.dataset import Dataset, load
from summeter.data.duplicates import near_duplicates
from summeter.data.subsets import sample, save_split, split
from summeter.records import UsageError

SHARES = {"train": 0.8, "dev": 0.1, "test": 0.1}


def rows(count: int, domains: int = 1, copies: int = 0) -> list[dict[str, Any]]:
    """Return rows of `count` documents with a judgment each; the first three have `copies` near-duplicates each."""
    return [
        {
            "doc_id": f"d{place:03}-{copy}",
            "document": f"{' '.join(f'w{place}-{number}' for number in range(30))} end{copy}.",
            "summary": f"Text {place}.",
            "domain": f"m{place % domains}",
            "human": {"ratings": {"fluency": place}},
        }
        for place in range(count)
        for copy in range(1 + (copies if place < 3 else 0))
    ]


def subsets_of(data: Dataset, seed: int = 0, shares: dict[str, float] = SHARES) -> dict[str, list[str]]:
    return {name: list(part.documents) for name, part in split(data, shares, seed=seed).subsets.items()}


def test_subsets_partition_the_dataset() -> None:
    data = load(rows(50, domains=5))
    made = split(data, SHARES)
    assert {name: len(part.documents) for name, part in made.subsets.items()} == {"train": 40, "dev": 5, "test": 5}
    together = [doc_id for part in made.subsets.values() for doc_id in part.documents]
    assert sorted(together) == sorted(data.documents)
    for part in made.subsets.values():
        assert [summary.document_id for summary in part.summaries] == list(part.documents)
        judged = [judgment.target.document_id for judgment in part.judgments("human.raw")]
        assert judged == list(part.documents)


def test_hub_export_of_a_subset(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyarrow", reason="needs pyarrow (extra `parquet`), which is not here")
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows(4)), encoding="utf-8")
    for command in (
        ["split", str(tmp_path / "rows.jsonl"), "-o", str(tmp_path / "parts"), "--parts", "train=.5,dev=.5"],
        ["export", str(tmp_path / "parts" / "train"), "-o", str(tmp_path / "hub"), "--format", "hub"],
    ):
        with pytest.raises(SystemExit) as ended:
            main(["data", *command])
        assert ended.value.code == 0, capsys.readouterr().err
    assert [path.name for path in (tmp_path / "hub" / "summaries").iterdir()] == ["train.parquet"]


def test_stratification_by_domain() -> None:
    made = split(load(rows(100, domains=4)), SHARES)
    for name, part in made.subsets.items():
        counts = Counter(document.domain for document in part.documents.values())
        # 25 documents a domain: 20, 2.5 and 2.5, which is at most 1 away
        assert all(abs(count - 25 * SHARES[name]) <= 1 for count in counts.values()), (name, counts)


def test_near_duplicates_stay_together() -> None:
    data = load(rows(20, copies=3))
    made = split(data, {"train": 0.5, "test": 0.5})
    assert [len(group.ids) for group in made.duplicates] == [4, 4, 4]
    for group in made.duplicates:
        assert len({name for name, part in made.subsets.items() if set(group.ids) & part.documents.keys()}) == 1
    assert [len(part.documents) for part in made.subsets.values()] in ([14, 15], [15, 14], [13, 16], [16, 13])


texts = st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=12).map(" ".join), min_size=3, max_size=20)


@settings(max_examples=30)
@given(texts, st.integers(0, 9), st.integers(1, 3))
def test_no_split_separates_near_duplicates(texts: list[str], seed: int, domains: int) -> None:
    data = load([
        {"doc_id": str(place), "document": text, "summary": "A text.", "domain": str(place % domains)}
        for place, text in enumerate(texts)
    ])  # fmt: skip
    groups = near_duplicates({doc_id: document.text for doc_id, document in data.documents.items()})
    if groups and len(groups[0].ids) == len(texts):
        with pytest.raises(UsageError, match="would be empty"):
            subsets_of(data, seed, {"one": 0.5, "two": 0.5})
        return
    made = subsets_of(data, seed, {"one": 0.5, "two": 0.5})
    assert sorted(made["one"] + made["two"]) == sorted(data.documents)
    for group in groups:
        assert set(group.ids) <= set(made["one"]) or set(group.ids) <= set(made["two"])


def test_seeds() -> None:
    data = load(rows(50, domains=5))
    assert subsets_of(data, 1) == subsets_of(data, 1)
    assert subsets_of(data, 1) != subsets_of(data, 2)
    turned = load(rows(50, domains=5)[::-1])
    assert {name: sorted(ids) for name, ids in subsets_of(turned, 1).items()} == subsets_of(data, 1)


def test_origin_of_subsets(tmp_path: Path) -> None:
    data = load(rows(10)).with_card(name="ten", licence="MIT")
    made = split(data, {"a": 0.5, "b": 0.5}, seed=3)
    folder = save_split(made, tmp_path / "parts")
    again = load(folder / "a")
    assert (again.card.name, again.card.licence, again.hash) == ("ten-a", "MIT", made.subsets["a"].hash)
    assert again.card.origin == {
        "how": "split", "part": "a", "dataset": "ten", "hash": data.hash, "shares": {"a": 0.5, "b": 0.5}, "seed": 3,
    }  # fmt: skip
    about = json.loads((folder / "split.json").read_text("utf-8"))
    assert about["of"] == {"name": "ten", "hash": data.hash}
    assert [(part["part"], part["documents"], part["hash"]) for part in about["parts"]] == [
        ("a", 5, made.subsets["a"].hash), ("b", 5, made.subsets["b"].hash),
    ]  # fmt: skip
    drawn = sample(again, 2)
    assert drawn.card.origin is not None
    assert drawn.card.origin["origin"] == again.card.origin  # where it came from is not forgotten


def test_only_a_split_is_replaced(tmp_path: Path) -> None:
    made = split(load(rows(10)), {"a": 0.5, "b": 0.5})
    folder = save_split(made, tmp_path / "parts")
    with pytest.raises(UsageError, match="already contains a split"):
        save_split(made, folder)
    save_split(split(load(rows(10)), {"c": 0.5, "d": 0.5}), folder, force=True)
    assert sorted(path.name for path in folder.iterdir()) == ["c", "d", "split.json"]
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match="is not a split; nothing was written"):
        save_split(made, folder, force=True)
    assert (folder / "notes.txt").exists()


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        ({"a": 0.5, "b": 0.6}, "the shares must add up to 1; they add up to 1.1"),
        ({"a": 1.5, "b": -0.5}, "the share of 'a' must be above 0 and at most 1, not 1.5"),
        ({"../a": 0.5, "b": 0.5}, "is not a valid name of a subset"),
        ({"a": 0.5, "A": 0.5}, "differ only in case"),
        ({"split.json": 0.5, "b": 0.5}, "'split.json' is the name of the file"),
        ({"a": 0.99, "b": 0.01}, "the subset 'b' would be empty: only 10 documents"),
    ],
)
def test_invalid_shares(shares: dict[str, float], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        split(load(rows(10)), shares)


def test_sample_is_stratified_by_domain() -> None:
    # 6 + 3 + 1 documents, of which 5: 3, 1.5 and 0.5.
    names = ["news"] * 6 + ["mail"] * 3 + ["chat"]
    data = load([{**row, "domain": name} for row, name in zip(rows(10), names, strict=True)])
    seen = set()
    for seed in range(20):
        drawn = sample(data, 5, seed=seed)
        counts = Counter(document.domain for document in drawn.documents.values())
        assert (len(drawn.documents), counts["news"]) == (5, 3)
        seen.add((counts["mail"], counts["chat"]))
        assert list(drawn.documents) == sorted(drawn.documents)  # in the order of the data
        assert len(drawn.judgments("human.raw")) == 5
    assert seen == {(2, 0), (1, 1)}


def test_sample_depends_on_the_seed() -> None:
    data = load(rows(20))
    assert sample(data, 5, seed=1).hash == sample(data, 5, seed=1).hash != sample(data, 5, seed=2).hash
    assert sample(data, 20).hash == data.hash
    for number in (0, 21):
        with pytest.raises(UsageError, match=f"a sample of {number} documents cannot be drawn from 20"):
            sample(data, number)


@pytest.mark.shared
def test_real_data(shared: Path) -> None:
    data = load(shared / "data" / "realsumm.jsonl.gz")
    made = split(data, SHARES)
    assert {name: (len(part.documents), len(part)) for name, part in made.subsets.items()} == {
        "train": (80, 2000), "dev": (10, 250), "test": (10, 250),
    }  # fmt: skip
    labels = sum(len(part.judgments("human.raw")) for part in made.subsets.values())
    assert labels == len(data.judgments("human.raw"))
