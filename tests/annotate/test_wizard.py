"""`annotate new --wizard`: the answers make the file one would write by hand; until the end there is none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from annotate import campaigns as made
from typer.testing import CliRunner, Result

from summeter.annotate.campaign.file import read_campaign
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
