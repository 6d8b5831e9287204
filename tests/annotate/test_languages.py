"""Language files are complete, and pages contain no other texts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from annotate import campaigns

from summeter.annotate.campaign.folder import CampaignFolder
from summeter.annotate.campaign.language import REFERENCE, SHIPPED, read_language, shipped, shipped_names
from summeter.annotate.tasks import TASK_TYPES, task_type_named
from summeter.records import InputError

ROOM = Path(__file__).parents[2] / "src" / "summeter" / "annotate"
RESEARCHERS = {"refresh.js"}
SCRIPTS = [file for file in (ROOM / "app" / "static").glob("*.js") if file.name not in RESEARCHERS]
SOURCES = [*SCRIPTS, *(ROOM / "app" / "templates").glob("*.html"), *ROOM.rglob("*.py")]
KEY = re.compile(r"""\b(?:t|rich|text)\(\s*f?["`]([a-z_]+\.[\w.${}+ ]+)["`]|\bverb(?:: | = )"([a-z]+\.[a-z]+)\"""")


def used() -> set[str]:
    """Return the keys that pages and server use; variable parts are `*`."""
    found = {a or b for file in SOURCES for a, b in KEY.findall(file.read_text(encoding="utf-8"))}
    assert len(found) > 150, "the pattern that finds keys is out of date"
    return {re.sub(r"\$?\{[^}]*\}", "*", key) for key in found}


def test_used_and_defined_keys_are_the_same() -> None:
    keys, patterns = set(shipped(REFERENCE).strings), used()
    exact = {key for key in patterns if "*" not in key}
    # The button's own words are a key, and with `_key` those of the list of keys.
    spoken = {f"{key}_key" for key in ("work.send", "training.send", "preview.send", "adjudicate.send")}
    loose = [re.compile(re.escape(key).replace(r"\*", r"\w+")) for key in patterns - exact]
    assert exact - keys == set()
    unused = {key for key in keys - exact - spoken if not any(one.fullmatch(key) for one in loose)}
    usual = {
        key for name in TASK_TYPES for names in task_type_named(name).default_entries.values() for key in names.values()
    }
    expected = {key for key in keys if key.startswith("refused.")}  # by the code of what was refused
    # By the name of a task type, of its questions and of their options.
    expected |= {key for key in keys if key.partition(".")[0] in TASK_TYPES and key in unused}
    assert unused == expected | usual | {f"{key}_text" for key in usual}
    assert [one.pattern for one in loose if not any(one.fullmatch(key) for key in keys)] == []


def test_scripts_contain_no_texts() -> None:
    """Scripts of the annotators' pages contain no texts of two or more words, except internal errors."""
    said = []
    for file in SCRIPTS:
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            code = line.split("//")[0]
            texts = re.findall(r'"([A-Z][a-z]+[ .?!][^"]*|[A-Z][a-z]+)"|`([A-Z][a-z]+ [^`]*)`', code)
            said += [
                f"{file.name}:{number}: {line.strip()}" for pair in texts for text in pair if text and _prose(text)
            ]
    assert said == []


def _prose(text: str) -> bool:
    """Return whether a string is a string, and not the name of a key, element or header."""
    names = {"Enter", "Shift", "Escape", "Backspace", "Arrow", "Home", "End", "Space"}
    return text not in names and not re.fullmatch(r"[A-Z]\w*[A-Z]\w*|[A-Z]+", text)


@pytest.mark.parametrize("name", shipped_names())
def test_shipped_languages_are_complete(name: str, tmp_path: Path) -> None:
    language = shipped(name)
    assert (language.language, language.direction) == (name, "rtl" if name == "ar" else "ltr")
    copy = tmp_path / f"{name}.yaml"
    copy.write_bytes((SHIPPED / copy.name).read_bytes())
    assert read_language(copy) == language


def own_file(folder: Path, **changes: Any) -> Path:
    """Write a language file from the English one; `changes` replace texts or remove them (None)."""
    given = yaml.safe_load((SHIPPED / "en.yaml").read_text(encoding="utf-8"))
    given["language"] = "eo"
    for key, text in changes.items():
        if text is None:
            del given["strings"][key]
        else:
            given["strings"][key] = text
    file = folder / "eo.yaml"
    file.write_text(yaml.safe_dump(given, allow_unicode=True), encoding="utf-8")
    return file


def test_a_custom_language_file_is_copied(tmp_path: Path) -> None:
    own_file(tmp_path, **{"work.document": "Dokumento"})
    folder = campaigns.make(tmp_path, interface="eo.yaml")
    (tmp_path / "eo.yaml").unlink()
    language = CampaignFolder(folder.folder).language
    assert (language.language, language.text("work.document")) == ("eo", "Dokumento")


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("work.document", None),
        ("work.dokument", "x"),
        ("work.summary_of", "Resumo"),
        ("work.document", {"one": "x", "other": "y"}),
        ("page.minutes", "{n} min"),
        ("page.minutes", {"other": "{n} min"}),
        ("page.minutes", {"one": "{m} min", "other": "{n}"}),
        ("work.document", True),
    ],
)
def test_an_invalid_language_file_is_refused_by_key(tmp_path: Path, key: str, text: Any) -> None:
    file = own_file(tmp_path, **{key: text})
    lines = [line.partition(":")[0].strip() for line in file.read_text(encoding="utf-8").splitlines()]
    with pytest.raises(InputError) as caught:
        campaigns.make(tmp_path, interface="eo.yaml")
    at = lines.index("strings" if text is None else key) + 1
    assert {(fault.file, fault.line, fault.field) for fault in caught.value.faults} == {
        (str(file), at, f"strings.{key}")
    }
    assert not (tmp_path / "campaign").exists()


def test_an_incomplete_language_file_is_not_served(tmp_path: Path) -> None:
    own_file(tmp_path)
    folder = campaigns.make(tmp_path, interface="eo.yaml")
    kept = folder.folder / "interface.yaml"
    kept.write_text(re.sub(r"  work\.document: .*\n", "", kept.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(InputError, match=r"interface\.yaml:\d+: strings\.work\.document: is missing"):
        CampaignFolder(folder.folder).preload()
