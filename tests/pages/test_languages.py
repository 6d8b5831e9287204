"""The languages of pages have every text, and the templates have no other texts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from jinja2 import nodes

import summeter
from summeter.pages.language import ENGLISH, page_language, page_languages
from summeter.pages.templates import COMPONENTS, environment
from summeter.records import Phrase
from summeter.report.rendering import TEMPLATES

# Pages in English only: the overview of a dataset, and tables of commands
ENGLISH_ONLY = {"dataset.html.j2", "tables.html.j2"}
FILES = [file for file in (*TEMPLATES.iterdir(), *COMPONENTS.iterdir()) if file.name not in ENGLISH_ONLY]
PAGES = [file for file in FILES if file.suffix == ".j2"]
SCRIPTS = [file for file in FILES if file.suffix == ".js"]


def calls(name: str) -> Iterator[list[object]]:
    """Yield the arguments of the calls of a function in templates; those that are not constants are None."""
    for file in PAGES:
        tree = environment(TEMPLATES).parse(file.read_text(encoding="utf-8"))
        for call in tree.find_all(nodes.Call):
            if isinstance(call.node, nodes.Name) and call.node.name == name:
                yield [value.value if isinstance(value, nodes.Const) else None for value in call.args]


def used() -> set[object]:
    """Return the texts that templates and scripts use, and the counts of templates."""
    counts = {f"{{n}} {nouns[-1] if len(nouns) > 1 else f'{nouns[0]}s'}" for _, *nouns in calls("count")}
    scripts = {key for file in SCRIPTS for key in re.findall(r'\bt\("([^"]*)"', file.read_text(encoding="utf-8"))}
    return {key for (key,) in calls("t")} | counts | scripts


SOURCES = Path(summeter.__file__).parent
# Places whose texts are on a page
ROOMS = ("report", "scoring", "meta/verdicts.py", "meta/_versions.py", "runs/totals.py")


def written(*rooms: str) -> Iterator[ast.AST]:
    """Yield the nodes of the code in rooms."""
    for room in rooms:
        place = SOURCES / room
        for file in [place] if place.is_file() else place.rglob("*.py"):
            yield from ast.walk(ast.parse(file.read_text(encoding="utf-8")))


def patterns() -> Iterator[str]:
    """Yield the patterns of phrases that are written where they are made."""
    for node in written(*ROOMS):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Phrase":
            chosen = node.args[0]
            texts = [chosen.body, chosen.orelse] if isinstance(chosen, ast.IfExp) else [chosen]
            yield from (text.value for text in texts if isinstance(text, ast.Constant) and isinstance(text.value, str))


LANGUAGES = [name for name in page_languages() if name != ENGLISH.language]


@pytest.mark.parametrize("name", LANGUAGES)
def test_every_text_of_a_template_has_a_translation(name: str) -> None:
    assert {*used(), *patterns()} - page_language(name).strings.keys() == set()


def test_every_translation_is_used() -> None:
    found = (node.value for node in written("") if isinstance(node, ast.Constant))
    constants = {value for value in found if isinstance(value, str)}
    counted = {f"{{n}} {noun}" for noun in constants} | {f"{{n}} {noun}s" for noun in constants}
    # Patterns with one of several verbs
    verbs = [text for text in constants if re.fullmatch(r"is \w+ than", text)]
    keys = page_language("de").strings.keys()
    said = {key for key in keys if any(f" {verb} " in key for verb in verbs)}
    assert keys - used() - constants - counted - said == set()


@pytest.mark.parametrize("name", LANGUAGES)
def test_languages_have_the_same_texts_and_placeholders(name: str) -> None:
    language, reference = page_language(name), page_language("de")
    assert dict(language.differences(reference)) == {}
    texts = {
        key: key if isinstance(text, str) else {"one": key, "other": key} for key, text in reference.strings.items()
    }
    english = ENGLISH.model_copy(update={"strings": texts})
    assert dict(language.differences(english)) == {}
    assert (language.direction == "rtl") == (name == "ar")


@pytest.mark.parametrize("file", PAGES, ids=lambda file: file.name)
def test_templates_have_no_other_texts(file: Path) -> None:
    text = re.sub(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", "", file.read_text(encoding="utf-8"), flags=re.DOTALL)
    spoken = re.findall(r'(?:aria-label|title|placeholder|alt)="([^"]*)"', text) + re.split(r"<[^>]*>", text)
    names = {"summeter", "Python", "p", "n", "n 0", "rho", "CSV", "sha256", "summeter , Python"}
    assert {part.strip(" \n,.:;()[]") for part in spoken if re.search("[A-Za-z]", part)} - names == set()


def test_phrases_are_translated_with_their_values() -> None:
    german, arabic = page_language("de"), page_language("ar")
    inner = Phrase("{n} documents", shown="1 document", n=1)
    assert german.phrase(Phrase("{done} of {all}", done=0, all=inner)) == "0 von 1 Dokument"
    assert arabic.phrase(Phrase("{n} documents", n=1200)) == "1,200 مستند"
    assert arabic.phrase(Phrase("{aspect} by {judge}", aspect="x", judge=3)) == "\u2068x\u2069 (3)"
    assert german.phrase(Phrase("no such {thing}", thing="text")) is None
    # A phrase that joins others is translated only if they all are; numbers need no translation.
    assert german.phrase(Phrase.join(" ", ["supported", "0.97"])) == "belegt 0.97"
    assert german.phrase(Phrase.join("; ", ["supported", "unknown"])) is None
    assert ENGLISH.phrase("anything") == "anything"
