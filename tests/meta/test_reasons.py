"""What a judge's reasons speak of: the lists, the shares, and what the released replies give."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from summeter.evaluators.aspects import RATED
from summeter.meta._reasons import KIN, LEXICON, read_words, reasons, speaks_of
from summeter.records import InputError, Judgment, Target, UsageError

NO_DRAWS = {"resamples": 0}


def said(reason: str | None, aspect: str = "fluency", document: str = "d1", signature: str = "rts|v:2") -> Judgment:
    about = {"target": Target(document_id=document, system="s"), "aspect": aspect, "judge": "rts"}
    if reason is None:
        return Judgment(**about, signature=signature, status="unparsed", reason="no score")
    return Judgment(**about, signature=signature, value=3.0, reason=reason)


@pytest.mark.parametrize(
    ("reason", "aspects"),
    [
        ("It is incoherent and jumps about.", {"coherence"}),
        ("Well written, without grammatical errors.", {"fluency"}),
        ("The sentence structure varies.", {"fluency"}),
        ("It accurately captures the main points.", {"consistency", "relevance"}),
        ("It repeats itself.", {"conciseness"}),
        ("The missing man was found by the police.", set()),
        ("A factory opened; the matches were lit.", set()),  # words are whole: no fact in factory
        ("", set()),
    ],
)
def test_a_reason_speaks_of_what_its_words_say(reason: str, aspects: set[str]) -> None:
    assert speaks_of(reason) == aspects


def test_every_aspect_a_judge_knows_has_words() -> None:
    assert {KIN.get(name, name) for name in RATED} - {"overall"} == set(LEXICON)


@pytest.mark.parametrize("name", [name for name in RATED if name != "overall"])
def test_the_name_of_an_aspect_speaks_of_it(name: str) -> None:
    assert KIN.get(name, name) in speaks_of(f"Its {name} is good.")


def test_shares_by_hand() -> None:
    """Five judgments on fluency, one without a reason. Of the four: one fluency, one fluency and relevance, one
    relevance alone, one of nothing. Another aspect: 2 of 4; only another: 1 of 4; relevance 2 of 4, fluency 2 of 4."""
    study = reasons(
        [
            said("Grammatical."), said("Grammatical, but leaves out the main point.", document="d2"),
            said("Leaves out the main point.", document="d3"), said("I like it.", document="d4"),
            said(None, document="d5"),
        ],
        **NO_DRAWS,
    )  # fmt: skip
    got = {(row.statistic, row.details.get("group")): (row.value, row.n, row.missing) for row in study}
    assert got["off_aspect_rate", None] == (0.5, 4, 1)
    assert got["off_aspect_only_rate", None] == (0.25, 4, 1)
    assert got["speaks_of", "relevance"] == (0.5, 4, 1)
    assert got["speaks_of", "fluency"] == (0.5, 4, 1)
    assert got["speaks_of", "coherence"] == (0.0, 4, 1)
    assert {row.study for row in study} == {"reasons"}


def test_aspects_that_share_words_are_one() -> None:
    study = reasons([said("It covers the main points.", "coverage"), said("It is faithful.", "faithfulness")],
                    **NO_DRAWS)  # fmt: skip
    assert [row.value for row in study if row.statistic == "off_aspect_rate"] == [0.0, 0.0]


def test_what_is_no_reason_of_a_judge_is_left_out() -> None:
    computed = said("12 of 20 samples, 4: 12; 8 unusable", signature="geval|variant:sample:20|v:1")
    weighed = said("probabilities 1: 0.1", signature="geval|variant:logprob|v:1")
    own = [
        said(reason, aspect, signature=signature)
        for reason, aspect, signature in (
            ("conveys no key fact", "conciseness", "finesure.align|judge:p/m|v:2"),
            ("mean of 2: rts 4, rts@second 1", "coherence", "ensemble|of:rts+rts@second|v:1"),
            ("41 is not in the source; nearest: 14", "faithfulness", "support|scorer:lexical|v:1"),
        )
    ]
    with pytest.raises(UsageError, match="no judgment has a reason"):
        reasons([computed, weighed, *own, said("Good.", "overall"), said(None)], **NO_DRAWS)
    judged = said("It is grammatical.", signature="finesure.aligned|v:1")
    assert [row.n for row in reasons([*own, judged], **NO_DRAWS).rows[:1]] == [1]


def test_one_aspect_or_judge_may_be_chosen() -> None:
    both = [said("Grammatical."), said("Grammatical.", "coherence")]
    assert {row.aspect for row in reasons(both, aspect="coherence", **NO_DRAWS)} == {"coherence"}
    with pytest.raises(UsageError):
        reasons(both, judge="mcq", **NO_DRAWS)


def test_words_of_ones_own(tmp_path: Path) -> None:
    unknown = reasons([said("Far too formal.", "tone")], **NO_DRAWS)
    assert [(row.status, row.reason) for row in unknown] == [
        ("undefined", "no words are known for tone; give a list of them")
    ]
    file = tmp_path / "words.yaml"
    file.write_text("tone: [too formal, ironic*]\ncompleteness: [nothing is said of]\n")
    words = read_words(file)
    assert speaks_of("Far too  formal; nothing is said of it.", words) == {"tone", "relevance"}
    study = reasons([said("Far too formal.", "tone")], words=words, **NO_DRAWS)
    assert study.one(statistic="off_aspect_rate").value == 0.0


@pytest.mark.parametrize("text", ["", "[a, b]", "tone: formal", "tone: []", "tone: ['*']", "tone: [1]", "a: [b"])
def test_a_faulty_file_of_words_is_named(tmp_path: Path, text: str) -> None:
    file = tmp_path / "words.yaml"
    file.write_text(text)
    with pytest.raises(InputError, match=r"words\.yaml"):
        read_words(file)


def test_intervals_are_by_document() -> None:
    many = [said("Grammatical." if place % 2 else "Incoherent.", document=f"d{place}") for place in range(20)]
    row = reasons(many, resamples=200).one(statistic="off_aspect_rate")
    assert row.value == 0.5
    assert row.low is not None
    assert row.high is not None
    assert row.low < 0.5 < row.high


@pytest.mark.shared
def test_released_reasons(shared: Path) -> None:
    """4,800 RTS replies of ChatGPT on SummEval (Shen et al.), the last of two: as in docs/meta-people.md."""
    with gzip.open(shared / "data" / "shen2023.outputs.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    last = {(row["aspect"], row["doc_id"], row["system"]): row for row in rows if row["evaluator"] == "rts"}
    found = reasons([said(row["output"], aspect, document) for (aspect, document, _), row in last.items()], **NO_DRAWS)
    shares = {row.aspect: row.value for row in found if row.statistic == "off_aspect_rate"}
    assert {name: round(value or 0, 3) for name, value in shares.items()} == {
        "coherence": 0.582, "consistency": 0.794, "fluency": 0.867, "relevance": 0.776,
    }  # fmt: skip
    only = {row.aspect: row.value for row in found if row.statistic == "off_aspect_only_rate"}
    assert all(value is not None and value < 0.035 for value in only.values())
