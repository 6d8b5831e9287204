"""Splits: stability, near-duplicates in the same subset, and held-out domains only in the test set."""

from __future__ import annotations

import pytest

from summeter.records import UsageError
from summeter.training.split import Split, fold_of, split_texts

TEXTS = {
    f"d{number}": f"Document {number} tells of town {number * 7} and of river {number * 3}." for number in range(200)
}
RAIN = "it rained all day in the valley and the river rose over the old stone bridge before night came"


def test_a_document_keeps_its_subset_when_data_are_added() -> None:
    few = split_texts(dict(list(TEXTS.items())[:50]), Split()).subset
    many = split_texts(TEXTS, Split()).subset
    assert all(many[doc_id] == part for doc_id, part in few.items())


def test_ids_do_not_matter_and_the_salt_does() -> None:
    renamed = {f"x{doc_id}": text for doc_id, text in TEXTS.items()}
    assert list(split_texts(renamed, Split()).subset.values()) == list(split_texts(TEXTS, Split()).subset.values())
    assert split_texts(TEXTS, Split(salt="2")).subset != split_texts(TEXTS, Split()).subset


def test_the_test_hash_does_not_depend_on_dev() -> None:
    usual, other = split_texts(TEXTS, Split()), split_texts(TEXTS, Split(dev=0.25))
    assert usual.of("test") == other.of("test")
    assert usual.hash != other.hash
    assert usual.test == other.test
    assert usual.test != split_texts(TEXTS, Split(test=0.3)).test
    assert usual.test != split_texts(TEXTS, Split(held_out_systems=("s1",))).test


def test_near_duplicates_are_on_one_side() -> None:
    texts = TEXTS | {f"rain{number}": f"{RAIN} {number}" for number in range(20)}
    partition = split_texts(texts, Split())
    assert len({partition.subset[f"rain{number}"] for number in range(20)}) == 1
    fold = fold_of(texts, 5)
    assert len({fold[f"rain{number}"] for number in range(20)}) == 1
    assert sorted(list(fold.values()).count(number) for number in range(5)) == [44] * 5


def test_a_held_out_domain_is_the_test_set_and_its_near_duplicates_are_dropped() -> None:
    texts = TEXTS | {"rain": RAIN, "rain again": f"{RAIN} again"}
    domains = dict.fromkeys(TEXTS, "news") | {"rain": "weather", "rain again": "news"}
    partition = split_texts(texts, Split(held_out_domains=("weather",)), domains)
    assert partition.of("test") == ("rain",)
    assert partition.subset["rain again"] is None
    assert len(partition.of("train")) + len(partition.of("dev")) == 200
    with pytest.raises(
        UsageError, match="unknown domain 'wether' \\(did you mean weather\\?\\); domains: news, weather"
    ):
        split_texts(texts, Split(held_out_domains=("wether",)), domains)
