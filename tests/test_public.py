"""Public names resolve and are documented; documents match the code."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

import pytest
from engine.llm import answer as reply
from evaluators.networks import local_models
from together import together

import summeter
from summeter import annotate, benchmark, data, evaluators
from summeter.choices import AggregationRule, Average, Level
from summeter.evaluators.catalog import CATALOG
from summeter.models import resolve
from summeter.models.providers.scripted import Scripted
from summeter.records.judgment import Status, Unit


@together("name", summeter.__all__)
def test_public_names_resolve_and_are_documented(name: str) -> None:
    found = getattr(summeter, name)
    assert name == "__version__" or found.__doc__


@pytest.mark.parametrize(
    "module", [annotate, benchmark, data, summeter.meta, summeter.report], ids=lambda one: one.__name__
)
def test_public_modules_hold_what_they_name(module: Any) -> None:
    for name in module.__all__:
        assert getattr(module, name).__doc__ or not callable(getattr(module, name)), name
    with pytest.raises(AttributeError):
        _ = module.nothing


@together("name", evaluators.__all__)
def test_evaluators_resolve(name: str) -> None:
    assert getattr(evaluators, name).__name__ == name


def test_unknown_names_are_attribute_errors() -> None:
    for module in (summeter, evaluators):
        with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
            _ = module.nothing


def test_every_module_can_be_imported_and_says_what_it_is(root: Path) -> None:
    source = root / "src"
    for file in sorted((source / "summeter").rglob("*.py")):
        if file.name in {"__main__.py", "_version.py"}:
            continue
        name = ".".join(file.relative_to(source).with_suffix("").parts).removesuffix(".__init__")
        try:
            module = import_module(name)
        except ModuleNotFoundError as error:
            # A scorer for a tool, which `make adapters` imports with the tool itself.
            if (file.parent.name, error.name) != ("adapters", file.stem):
                raise
            continue
        assert module.__doc__ or not file.read_text().strip(), f"{name} has no docstring"


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_in_the_documents_lead_somewhere(root: Path) -> None:
    broken: list[str] = []
    pages = [root / "README.md", root / "CONTRIBUTING.md", root / "CHANGELOG.md"]
    for page in [
        *pages,
        *(root / "docs").glob("*.md"),
        *(root / "reports").glob("*.md"),
        *(root / "design").rglob("*.md"),
    ]:
        for link, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)]*))?\)", page.read_text("utf-8")):
            target = page.parent / link if link else page
            lost = "://" not in link and (not target.exists() or (anchor and anchor not in anchors(target)))
            broken += [f"{page.relative_to(root)}: {link}#{anchor}"] * bool(lost)
    assert broken == []


def test_the_catalog_is_what_the_changelog_and_docs_may_speak_of(root: Path) -> None:
    """Whatever a document scores with -e exists."""
    text = "\n".join(page.read_text() for page in [root / "README.md", *(root / "docs").glob("*.md")])
    named = {
        part.split("[")[0]
        for group in re.findall(r"summeter score [^\n`]*?\s-e\s+([\w.,\[\]=]+)", text)
        for part in re.split(r",(?![^\[]*\])", group)
    }
    assert named <= set(CATALOG) | {"NAME"}, named - set(CATALOG)


def test_the_glossary_and_the_code_use_the_same_terms(root: Path) -> None:
    text = (root / "docs" / "glossary.md").read_text("utf-8")
    values = [*get_args(Unit), *get_args(Status), *Level, *Average, *AggregationRule]
    assert [value for value in values if f"`{value}`" not in text and value != AggregationRule.AUTO] == []
    sources = [file for file in (root / "src").rglob("*") if file.suffix in {".py", ".j2", ".html", ".yaml"}]
    code = re.sub(r"[\W_]+", " ", " ".join(file.read_text("utf-8") for file in sources)).lower()
    terms = re.findall(r"\*\*(.+?)\*\*", text)
    assert len(terms) > 40
    assert [term for term in terms if re.sub(r"[\W_]+", " ", term).lower() not in code] == []


def test_core_stays_small(root: Path) -> None:
    import tomllib

    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    assert len(project["dependencies"]) <= 12
    assert not [name for name in project["dependencies"] if "torch" in name]


def test_all_extras_can_be_installed_together(root: Path) -> None:
    import tomllib

    extras = tomllib.loads((root / "pyproject.toml").read_text())["project"]["optional-dependencies"]

    def packages(extra: str) -> set[str]:
        own = re.compile(r"summeter\[(.*)\]")
        found: set[str] = set()
        for requirement in extras[extra]:
            names = own.fullmatch(requirement)
            found |= set().union(*map(packages, names[1].split(","))) if names else {requirement}
        return found

    assert packages("all") == set().union(*map(packages, extras))


def test_the_readme_example_runs(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it but the last line, which needs a key."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(root / "examples")
    block = re.findall(r"```python\n(.*?)```", (root / "README.md").read_text(), re.DOTALL)[0]
    lines = block.strip().splitlines()
    assert "FineSurE()" in lines[-1]
    exec("\n".join(lines[:-1]), {})
    assert (tmp_path / "first.html").is_file()


def test_the_example_of_the_design_runs(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three evaluators, a study against people, a page, and all again without a model."""
    import summeter as sm
    from summeter.evaluators import Fenice, FineSurE, GEval
    from summeter.models.local import load

    def answer(request: Any) -> str:
        asked = (request.schema_ or {}).get("properties", {})
        if "steps" in asked:
            return json.dumps({"steps": ["Read the summary.", "Rate its coherence."]})
        return json.dumps({"score": 4}) if "score" in asked else reply(request.prompt)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(resolve, "resolve", lambda model, **_: Scripted(answer, id=model))
    monkeypatch.setattr(load, "identify", lambda role, text, task, **_: load.BoundNetwork(role, task, text))
    fakes = local_models()
    monkeypatch.setattr(load, "build", lambda networks, *_, **__: {one.role: fakes[one.task] for one in networks})
    local = {role: f"local/{role}" for role in ("nli", "coref", "seq2seq")}

    data = sm.load(root / "examples/nine_domains/summaries.jsonl")
    run = sm.evaluate(
        data,
        [FineSurE(), Fenice(coref=True), GEval(aspect="coherence", draws=20)],
        models={"judge": "openai/gpt-4o-2024-08-06", **local},
        out="runs/first",
        concurrency=16,
        limit=6,
    )
    print(run.summary())
    assert {one.judge for one in run.scores() if one.status == "ok"} >= {"finesure.fact_check", "fenice", "geval"}
    assert set(run.manifest.counts) == {"ok"}
    gold = data.judgments("human.raw")
    table = sm.meta.correlate(run, gold, level="summary", average="document")
    sm.report.html([run, table], out="first.html")
    monkeypatch.setattr(resolve, "resolve", lambda model, **_: pytest.fail(f"{model} was asked"))
    again = sm.evaluate(data, run.specs, replay="runs/first", out="runs/second", limit=6)
    assert {one.signature for one in again.manifest.judges} == {one.signature for one in run.manifest.judges}
    assert list(again.scores()) == list(run.scores())
