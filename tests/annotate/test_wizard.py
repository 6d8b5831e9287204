"""`annotate new --wizard`: the answers make the file one would write by hand; until the end there is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from annotate import campaigns as made
from typer.testing import CliRunner, Result

from summeter.annotate.campaign.file import read_campaign
from summeter.cli import wizard
from summeter.cli.main import app
from summeter.records import UsageError

ANSWERS = [
    "bad name!", "mine",                      # refused, asked again
    "Stimmt das?", "1", "nowhere.jsonl", "data.jsonl", "DE", "de", "",
    "Read first.",
    "y", "invented: Stands nowhere.", "twisted", "",
    "y", "label", "sure", "How sure are you?", "1", "3", "0", "0", "1", "guessed", "", "certain", "", "y", "n",
    "y", "tone", "How does it sound?", "2", "dry", "", "odd: Nobody would say so.", "", "n", "y", "label", "2",
    "y", "clear", "How clear is it?", "1", "1", "one", "no, so so, yes", "y", "n",
    "n",
    "2", "", "anna, ben", "0.9", "0",
]  # fmt: skip


def run(folder: Path, answers: list[str], *more: str) -> Result:
    folder.mkdir(exist_ok=True)
    (folder / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in made.rows()), encoding="utf-8")
    words = ["annotate", "new", str(folder / "mine.yaml"), "--wizard", *more]
    return CliRunner().invoke(app, words, input="".join(f"{answer}\n" for answer in answers))


def test_the_file_is_the_one_written_by_hand(tmp_path: Path) -> None:
    result = run(tmp_path, ANSWERS, "-o", str(tmp_path / "made"))
    assert result.exit_code == 0, result.output
    text = (tmp_path / "mine.yaml").read_text("utf-8")
    assert yaml.safe_load(text) == {
        "name": "mine", "title": "Stimmt das?", "kind": "fact_verification", "data": "data.jsonl", "language": "de",
        "interface": "de", "instructions": "Read first.",
        "error_types": [{"name": "invented", "meaning": "Stands nowhere."}, "twisted"],
        "questions": [
            {"name": "sure", "question": "How sure are you?", "type": "scale",
             "scale": {"low": 0, "high": 1, "step": 0.01, "anchors": {"low": "guessed", "high": "certain"},
                       "show": "slider"}},
            {"name": "tone", "question": "How does it sound?", "type": "choice",
             "options": ["dry", {"name": "odd", "meaning": "Nobody would say so."}], "required": False,
             "when": {"label": "not_supported"}},
            {"name": "clear", "question": "How clear is it?", "type": "scale",
             "scale": {"labels": ["no", "so so", "yes"]}},
        ],
        "answers_per_item": 2, "platform": {"name": "local", "accounts": ["anna", "ben"]}, "attention": {"rate": 0.0},
    }  # fmt: skip
    assert text.count("\n# ") == 12  # each field under what it is for
    assert "# Markdown; without it the stage is passed over.\ninstructions: Read first.\n" in text
    assert read_campaign(tmp_path / "made" / "campaign.yaml").questions[1].when == {"label": ("not_supported",)}
    for told in ("use letters, digits", "nowhere.jsonl", "3 documents, 6 summaries by s0, s1",
                 "'label' is asked already", "give more than 0", "labels names every point", "at least 2",
                 "less than or equal to 0.5"):  # fmt: skip
        assert told in result.output


@pytest.mark.parametrize("answered", [0, 5, 12, 20, 33, 45, len(ANSWERS) - 1])
def test_who_breaks_off_leaves_nothing(answered: int, tmp_path: Path) -> None:
    result = run(tmp_path, ANSWERS[:answered], "-o", str(tmp_path / "made"))
    assert result.exit_code == 130
    assert "broken off: nothing was written" in result.output
    assert [file.name for file in tmp_path.iterdir()] == ["data.jsonl"]


def test_a_file_that_is_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("name: mine\n", encoding="utf-8")
    result = run(tmp_path, ANSWERS)
    assert isinstance(result.exception, UsageError)
    assert "exists; name a new file" in str(result.exception)
    assert (tmp_path / "mine.yaml").read_text("utf-8") == "name: mine\n"


def test_without_the_wizard_the_file_and_the_folder_are_needed(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["annotate", "new", str(tmp_path / "no.yaml"), "-o", str(tmp_path / "made")])
    assert "does not exist; write it" in str(result.exception)
    result = CliRunner().invoke(app, ["annotate", "new", str(tmp_path / "no.yaml")])
    assert isinstance(result.exception, UsageError)
    assert "name the folder to make with -o" in str(result.exception)


def test_a_rating_has_its_own_dimensions_and_scale(tmp_path: Path) -> None:
    answers = ["mine", "", "2", "data.jsonl", "", "", "", "y", "style: Is it well written?", "worth", "",
               "y", "2", "-2", "2", "a waste", "", "a gain", "", "n", "", "2", ".1"]  # fmt: skip
    result = run(tmp_path, answers)
    assert result.exit_code == 0, result.output
    campaign = read_campaign(tmp_path / "mine.yaml")
    assert [(aspect.name, aspect.question) for aspect in campaign.aspects] == [
        ("style", "Is it well written?"), ("worth", ""),
    ]  # fmt: skip
    assert campaign.scale is not None
    assert campaign.scale.values == [-2, -1, 0, 1, 2]
    assert campaign.platform.name == "prolific"


def written(folder: Path, answers: list[str]) -> tuple[dict[str, Any], str]:
    result = run(folder, answers, "-o", str(folder / "made"))
    assert result.exit_code == 0, result.output
    return yaml.safe_load((folder / "mine.yaml").read_text("utf-8")), result.output


END = ["1", "", "anna", "0"]
FACTS = ["mine", "", "fact_verification", "data.jsonl", "", "", ""]


@pytest.mark.parametrize("kind", ["choice", "choices"])
def test_an_option_given_twice_is_asked_again(kind: str, tmp_path: Path) -> None:
    questions = ["n", "y", "q", "Is it so?", kind, "ja", "ja", "nein", "", "", "n", "y", "q", "r", "So?", "text", "",
                 "n", "n"]  # fmt: skip
    fields, output = written(tmp_path, [*FACTS, *questions, *END])
    assert fields["questions"][0]["options"] == ["ja", "nein"]
    assert [question["name"] for question in fields["questions"]] == ["q", "r"]
    assert "'ja' is named already" in output
    assert "'q' is asked already" in output


def test_a_text_question_of_the_same_name_is_asked_again(tmp_path: Path) -> None:
    questions = [
        "n",
        "y",
        "note",
        "Why?",
        "text",
        "",
        "n",
        "y",
        "note",
        "more",
        "x" * 501,
        "What?",
        "text",
        "",
        "n",
        "n",
    ]
    fields, output = written(tmp_path, [*FACTS, *questions, *END])
    assert [question["name"] for question in fields["questions"]] == ["note", "more"]
    assert "'note' is asked already" in output
    assert "at most 500 characters" in output


def test_error_types_are_checked_as_they_are_entered(tmp_path: Path) -> None:
    types = ["y", "invented", "invented", "a+b", "no error", "OutE", "out of context error", "x" * 81, "odd: Odd.", ""]
    questions = ["y", "sure", "Sure?", "yes_no", "", "n", "n"]
    fields, output = written(tmp_path, [*FACTS, *types, *questions, *END])
    assert fields["error_types"] == ["invented", "OutE", {"name": "odd", "meaning": "Odd."}]
    for reason in ("'invented' is named already", "several types", "there is no error", "the same type as 'OutE'",
                   "at most 80 characters"):  # fmt: skip
        assert output.count(reason) == 1


def test_a_dimension_given_twice_is_asked_again(tmp_path: Path) -> None:
    answers = ["mine", "", "pairwise", "data.jsonl", "", "", "", "y", "style", "style: Well?", "worth", "", "n", *END]
    fields, output = written(tmp_path, answers)
    assert fields["aspects"] == ["style", "worth"]
    assert "'style' is named already" in output


def test_what_the_whole_file_is_refused_for_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wizard, "tasks_of", lambda *_: None)  # as if no answer alone could show it
    types, questions = ["y", "invented", "a+b", "odd", ""], ["y", "sure", "Sure?", "yes_no", "", "n", "n"]
    fields, output = written(tmp_path, [*FACTS, *types, *questions, *END, "invented", "apart: Torn apart."])
    assert fields["error_types"] == ["invented", {"name": "apart", "meaning": "Torn apart."}, "odd"]
    assert fields["questions"][0]["name"] == "sure"
    assert "`annotate new` would refuse error_types.1.name: 'a+b' would be read" in output


def test_data_with_nothing_for_the_kind_are_refused_at_once(tmp_path: Path) -> None:
    row = {"doc_id": "d", "document": "It rained. Children sang.", "system": "s", "summary": "It rained."}
    tmp_path.joinpath("alone.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    answers = ["mine", "", "pairwise", "alone.jsonl", "fact_verification", "", "", "", "", "n", "n", *END]
    fields, output = written(tmp_path, answers)
    assert (fields["kind"], fields["data"]) == ("fact_verification", "alone.jsonl")
    assert output.count("nothing to annotate") == 1


@pytest.mark.parametrize(("given", "value"), [("5", 5), ("0", 0), ("10.0", 10), ("11\n7", 7), ("", 0)])
def test_a_condition_takes_the_number_that_is_typed(given: str, value: int, tmp_path: Path) -> None:
    questions = ["n", "y", "sure", "How sure?", "scale", "points", "0", "10", "", "", "", "1", "", "n",
                 "y", "why", "Why?", "text", "", "y", "sure", given, "n"]  # fmt: skip
    fields, output = written(tmp_path, [*FACTS, *questions, *END])
    assert fields["questions"][1]["when"] == {"sure": value}
    assert f"taken: {value}\n" in output


def test_an_option_that_is_a_number_wins_over_a_place_in_the_list(tmp_path: Path) -> None:
    questions = ["n", "y", "many", "How many?", "choice", "2", "1", "more", "", "", "n",
                 "y", "why", "Why?", "text", "", "y", "many", "1", "y", "then", "And?", "text", "", "y", "many", "3",
                 "n"]  # fmt: skip
    fields, _ = written(tmp_path, [*FACTS, *questions, *END])
    assert [question["when"] for question in fields["questions"][1:]] == [{"many": "1"}, {"many": "more"}]


def test_the_ends_of_a_scale_are_checked_where_they_are_given(tmp_path: Path) -> None:
    questions = ["n", "y", "sure", "How sure?", "scale", "slider", "9999999", "0", "9999999", "50", "x" * 201, "no", "",
                 "", "1", "", "n", "n"]  # fmt: skip
    fields, _ = written(tmp_path, [*FACTS, *questions, *END])
    assert fields["questions"][0]["scale"] == {
        "low": 0, "high": 50, "step": 1, "anchors": {"low": "no"}, "show": "slider",
    }  # fmt: skip
