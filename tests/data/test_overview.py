"""`describe` on hand-worked examples and on real data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from summeter.data.dataset import Dataset, load
from summeter.data.overview import describe

STORY = (
    "Ana walked to the old mill by the river on a cold Monday. It was closed. "
    "She went home and made tea for her two brothers."
)  # 13 + 3 + 10 = 26 words, 3 sentences, 22 shingles
REFUSAL = "I cannot summarize this text"  # 5 words, no full stop
TEA = "Tea is a drink <t> of leaves."  # 7 words (with the t)
ROWS: list[dict[str, Any]] = [
    {"doc_id": "a", "system": "x", "document": STORY, "summary": "Ana walked to the old mill by the river.",
     "domain": "news", "category": "small", "key_facts": ["She walked.", "It was closed."],
     "human": {"sentence_labels": [{"ben": 1, "cleo": 1}], "overall": {"faithfulness": 4}}},
    {"doc_id": "b", "system": "x", "document": f"{STORY} The end.", "summary": REFUSAL, "domain": "news",
     "category": "small", "key_facts": ["She made tea."], "human": {"sentence_labels": [{"ben": 1, "cleo": None}]}},
    {"doc_id": "c", "system": "x", "document": TEA, "summary": REFUSAL, "domain": "drinks", "category": "small",
     "reference": "Is a drink T of!"},
    {"doc_id": "c", "system": "y", "document": TEA, "summary": "", "domain": "drinks"},
]  # fmt: skip


@pytest.fixture
def tiny() -> Dataset:
    return load(ROWS)


def test_lengths(tiny: Dataset) -> None:
    whole, news, drinks = (tuple(row.values()) for row in describe(tiny).lengths)
    # Documents of 26, 28 and 7 words in 3, 4 and 1 sentences; 2 and 1 key facts; summaries of 9, 5, 5 and 0 words.
    assert whole == (
        "all", "all", 3, pytest.approx(61 / 3), pytest.approx(8 / 3), 1.5, 4, 19 / 4, 3 / 4,
        pytest.approx((26 / 9 + 28 / 5 + 7 / 5) / 3),
    )  # fmt: skip
    assert news == ("domain", "news", 2, 27.0, 3.5, 1.5, 2, 7.0, 1.0, pytest.approx((26 / 9 + 28 / 5) / 2))
    assert drinks == ("domain", "drinks", 1, 7.0, 1.0, None, 2, 2.5, 0.5, 7 / 5)


def test_lengths_by_length() -> None:
    data = load([{"document": "word " * size, "summary": "A word."} for size in (3000, 249, 250)])
    rows = [row for row in describe(data).lengths if row["by"] == "length"]
    assert [(row["group"], row["documents"], row["document_words"]) for row in rows] == [
        ("under 250 words", 1, 249.0), ("250-499 words", 1, 250.0), ("2000 words or more", 1, 3000.0),
    ]  # fmt: skip


def test_systems(tiny: Dataset) -> None:
    assert [tuple(row.values()) for row in describe(tiny).system_lengths] == [
        ("x", "small", 3, pytest.approx(19 / 3), 1.0, 5, 9),
        ("y", None, 1, 0.0, 0.0, 0, 0),
    ]


def test_votes(tiny: Dataset) -> None:
    assert [tuple(row.values()) for row in describe(tiny).votes] == [
        ("human.raw", "overall", "faithfulness", "summary", 1, None, 1, 1, 1, 4.0),
        ("human.raw", "sentence_labels", "faithfulness", "sentence", 2, 2, 3, 1, 2, 1.0),
    ]


def test_unidentified_annotators_are_not_counted() -> None:
    human = {"ratings": {"fluency": {"?1": 4, "?2": 5}}, "crowd_ratings": {"fluency": {"ben": 2}}}
    votes = describe(load([{"document": "It rained.", "summary": "Rain.", "human": human}])).votes
    assert [(row["judgment_set"], row["annotators"], row["votes"], row["mean"]) for row in votes] == [
        ("human.raw", None, 2, 4.5), ("crowd.raw", 1, 1, 2.0),
    ]  # fmt: skip


def test_aggregated_value_has_no_annotator() -> None:
    human = {"sentence_labels": [{"ben": 1, "cleo": 0}, 1]}
    (votes,) = describe(load([{"document": "It rained.", "summary": "Rain. It fell.", "human": human}])).votes
    assert (votes["annotators"], votes["items"]) == (2, 2)


def test_near_duplicates(tiny: Dataset) -> None:
    assert describe(tiny).near_duplicates == [{"ids": ("a", "b"), "similarity": 22 / 24}]


def test_warnings(tiny: Dataset) -> None:
    assert {odd["kind"]: (*[*odd.values()][2:],) for odd in describe(tiny).warnings} == {
        "reference_in_document": (1, 3, ("c",), {}),
        "markup_in_documents": (1, 3, ("c",), {}),
        "empty_summaries": (1, 4, ("c by y",), {"y": 1}),
        "cut_summaries": (2, 4, ("b by x", "c by x"), {"x": 2}),
        "copies_of_source": (1, 4, ("a by x",), {"x": 1}),
        "same_for_documents": (2, 4, ("b by x", "c by x"), {"x": 2}),
        "constant_votes": (3, 3, (), {}),
    }


def odd(*rows: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {warning["kind"]: warning for warning in describe(load(list(rows))).warnings}


HOURS = "It rained for hours. We all stayed in."
MARKED = [{"annotator": "ben", "start": start, "end": start + 3, "label": 0} for start in (0, 5)]
COPY = {"document": "It rained.", "summary": "It rained all day.", "reference": "it rained all day"}
TAGS = {"document": "<PLACE_1> was wet &amp; cold.", "summary": "<t> Rain. </t>", "reference": "a < b > c"}


@pytest.mark.parametrize(
    ("rows", "kinds"),
    [
        ([{"document": HOURS, "summary": "Rain kept us home."}], set()),
        ([{"document": HOURS, "summary": "Rain kept us home.", "human": {"spans": MARKED}}], set()),
        ([{"doc_id": name, "document": HOURS, "summary": "Rain."} for name in "ab"], set()),
        ([COPY], {"as_long_as_source", "copies_of_reference"}),
        ([TAGS], {"markup_in_documents", "markup_in_summaries"}),
    ],
)
def test_kinds_of_warnings(rows: list[dict[str, Any]], kinds: set[str]) -> None:
    assert odd(*rows).keys() == kinds


def test_empty_and_cut_documents() -> None:
    texts = {"none": "", "cut": "It rained and", "said": 'He said: "It rained."', "kana": "雨。"}
    rows = [{"doc_id": name, "document": text, "summary": "Rain."} for name, text in texts.items()]
    assert odd(*rows)["empty_documents"]["examples"] == ("none",)
    assert odd(*rows)["cut_documents"]["examples"] == ("cut",)


def test_systems_with_one_text() -> None:
    row = {"doc_id": "d", "document": "It rained for hours. We all stayed in."}
    rows = [{**row, "system": name, "summary": text} for name, text in (("a", "Rain."), ("b", "RAIN!"), ("c", "Sun."))]
    assert odd(*rows)["same_by_systems"]["by_system"] == {"a": 1, "b": 1}


def test_constant_votes() -> None:
    def row(place: int, votes: dict[str, int]) -> dict[str, Any]:
        document = f"Text {place} tells of rain. We all stayed in."
        return {"document": document, "summary": f"Rain {place}.", "human": {"ratings": {"fluency": votes}}}

    rows = [row(place, {"ben": 5, "cleo": place % 5 + 1}) for place in range(10)]
    assert odd(*rows)["constant_annotators"].items() >= {"cases": 1, "of": 2, "examples": ("ben (5)",)}.items()
    assert odd(*rows[:9]) == {}  # nine votes are few


def test_tables(tiny: Dataset) -> None:
    lengths, systems, votes, duplicates, warnings = describe(tiny).tables()
    assert lengths.text().splitlines()[2:] == [
        "all                    3      20.3        2.7        1.5          4      4.8        0.8          3.3",
        "domain news            2      27.0        3.5        1.5          2      7.0        1.0          4.2",
        "domain drinks          1       7.0        1.0          -          2      2.5        0.5          1.4",
    ]
    assert systems.heads == ["system", "category", "summaries", "words", "sentences", "shortest", "longest"]
    assert " ".join(votes.text().splitlines()[2].split()) == (
        "human.raw sentence_labels faithfulness sentence 2 2 3 1-2 1.000"
    )
    assert duplicates.cells() == [["2", "0.92", "a, b"]]
    assert warnings.heads == ["cases", "of", "what", "systems", "for example"]
    assert "systems" not in describe(load([{"document": "It rained and", "summary": "Rain."}])).tables()[-1].heads


def test_empty_tables_are_omitted() -> None:
    row = {"document": "It rained for hours. We all stayed in.", "summary": "Rain kept us home."}
    assert [table.title for table in describe(load([row])).tables()] == ["Lengths", "Systems"]


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "documents", "summaries", "cases"),
    [
        ("qags_cnndm", 235, 235, {"cut_documents": 200}),  # mostly cut articles
        ("qags_xsum", 239, 239, {"cut_documents": 3}),
        ("dialsummeval", 100, 1400, {"copies_of_reference": 103}),  # GOLD is the reference
        ("finesure_samples", 13, 20, {"markup_in_references": 9}),  # <t> tags
        ("realsumm", 100, 2500, {"copies_of_source": 135}),
        ("shen2023", 100, 1200, {"same_by_systems": 37}),
    ],
)
def test_real_data(shared: Path, name: str, documents: int, summaries: int, cases: dict[str, int]) -> None:
    overview = describe(load(shared / "data" / f"{name}.jsonl.gz"))
    assert (overview.lengths[0]["documents"], overview.lengths[0]["summaries"]) == (documents, summaries)
    assert cases.items() <= {odd["kind"]: odd["cases"] for odd in overview.warnings}.items()
    assert overview.near_duplicates == []
    if name == "dialsummeval":
        (odd,) = (odd for odd in overview.warnings if odd["kind"] == "copies_of_reference")
        assert odd["by_system"]["GOLD"] == 100
