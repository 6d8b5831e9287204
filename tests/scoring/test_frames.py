"""Results as data frames, and as HTML in notebooks."""

from __future__ import annotations

import html.parser
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import summeter as sm
from summeter.engine.progress import Line, Progress, in_notebook
from summeter.records import InstallError
from summeter.scoring.frames import to_frame

HOSTILE = "<script>alert(1)</script>"
ROWS = [
    {
        "doc_id": document, "system": system, "document": "It rained all day.", "summary": f"It rained. {HOSTILE}",
        "domain": HOSTILE, "human": {"sentence_labels": [1, 0]}, "sentences": ["It rained.", HOSTILE],
    }
    for document in ("d1", HOSTILE) for system in ("aster", HOSTILE)
]  # fmt: skip


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    data = sm.load(ROWS)
    run = sm.evaluate(data, ["support"], out=tmp_path_factory.mktemp("frames") / "run")
    study = sm.meta.correlate(run, data, aspect="faithfulness", level="sentence", resamples=0)
    return {
        "data": data, "run": run, "summary": run.summary(), "study": study, "judgments": run.judgments(),
        "human": data.judgments("human.raw"), "scores": run.scores(),
    }  # fmt: skip


class Texts(html.parser.HTMLParser):
    """Collects the tags and texts of HTML."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.mark.parametrize("name", ["data", "run", "summary", "study", "judgments", "human", "scores"])
def test_notebooks_show_an_escaped_table(results: dict[str, Any], name: str) -> None:
    shown = Texts(results[name]._repr_html_())
    assert {"table", "td"} <= shown.tags
    assert "script" not in shown.tags
    assert any("alert(1)" in text for text in shown.texts) or name == "study"


def test_frames_have_the_rows(results: dict[str, Any]) -> None:
    pytest.importorskip("polars")
    for name in ("summary", "study", "judgments", "human", "scores"):
        rows = results[name].to_dicts()
        pandas, polars = results[name].to_pandas(), results[name].to_polars()
        assert len(pandas) == len(polars) == len(rows)
        assert list(pandas.columns) == polars.columns == list(rows[0])
    assert results["run"].to_polars().shape == results["scores"].to_pandas().shape
    first = results["human"].to_dicts()[0]
    assert (first["document_id"], first["unit"], first["index"], first["label"]) == ("d1", "sentence", 0, 1)
    mixed = to_frame([{"details": {"raters": 2}}, {"details": {"raters": [{"n": 1}]}}, {"details": {}}], "polars")
    assert mixed["details"].to_list() == ['{"raters": 2}', '{"raters": [{"n": 1}]}', "{}"]


def test_a_missing_library_is_named(results: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(InstallError, match=r"summeter\[polars\]"):
        results["scores"].to_polars()


def test_a_notebook_shows_the_progress_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert type(in_notebook()) is Progress
    lines: list[str] = []

    def display(data: dict[str, str], **_: object) -> SimpleNamespace:
        lines.append(data["text/plain"])
        return SimpleNamespace(update=lambda data, **_: lines.append(data["text/plain"]))

    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: SimpleNamespace(kernel=1), raising=False)
    monkeypatch.setitem(sys.modules, "IPython.display", ModuleType("IPython.display"))
    monkeypatch.setattr(sys.modules["IPython.display"], "display", display, raising=False)
    monkeypatch.setattr(Line, "SECONDS", -1.0)
    sm.evaluate(ROWS, ["support"], out=tmp_path / "run")
    assert lines[0].startswith("judging 0/4")
    assert lines[-1].startswith("judging 4/4, 0:0")
