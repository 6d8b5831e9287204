"""Study commands on degenerate data give rows with reasons or messages, but no traceback, NaN or warning."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from together import together
from typer.testing import CliRunner

from summeter.cli.main import app
from summeter.data.dataset import load
from summeter.engine.outputs import import_outputs
from summeter.meta.results import CONTRACT, Study
from summeter.records import SummeterError

Rated = Callable[[int, int], float | None]
"""(document, system) -> a rating, or None."""


class Edge(NamedTuple):
    """A degenerate dataset: its size, and the ratings of judge and people."""

    documents: int
    systems: str
    judge: Rated
    people: Rated
    labels: Callable[[int], int | None] = lambda place: place % 2


def _plain(document: int, system: int) -> float:
    return float((document + system) % 3 + 1)


EDGES = {
    "one system": Edge(4, "A", _plain, _plain),
    "one document": Edge(1, "ABC", _plain, _plain),
    "one summary": Edge(1, "A", _plain, _plain),
    "two systems, two documents": Edge(2, "AB", _plain, _plain),
    "constant judge": Edge(4, "ABC", lambda *_: 3.0, _plain, lambda _: 1),
    "constant people": Edge(4, "ABC", _plain, lambda *_: 3.0, lambda _: 0),
    "constant both": Edge(4, "ABC", lambda *_: 3.0, lambda *_: 3.0, lambda _: 1),
    "no vote": Edge(4, "ABC", _plain, lambda *_: None, lambda _: None),
    "huge judge": Edge(4, "ABC", lambda i, j: 1e308 * ((i + j) % 3 - 1), _plain),
    "huge both": Edge(4, "ABC", *[lambda i, j: 1.7e308 * ((i + j) % 3 - 1)] * 2),
    "9e99": Edge(4, "ABC", *[lambda i, j: 9e99 * ((i + j) % 3 - 1)] * 2),
    "tiny": Edge(4, "ABC", *[lambda i, j: 5e-324 * ((i + j) % 3)] * 2),
}
_HUMAN = ("--resamples", "20")
COMMANDS = {
    "correlate": [(), ("--level", "system"), ("--average", "document", "--by", "system"),
                  ("--coefficient", "pairwise_accuracy", "--calibrate-ties"), ("--aspect", "nothing"),
                  ("--judge", "nobody"), ("--min-items", "9", "--level", "system")],
    "classify": [(), ("--level", "summary", "--gold-at-least", "2", "--threshold", "2"), ("--tune", "system=A")],
    "errors": [()],
    "prefer": [(), ("--by", "domain")],
    "stability": [()],
    "reliability": [("--tolerance", "0.4"), ("--repeats",)],
    "agree": [("--each", "--by", "document"), ("--error-types",), ("--shown", "RUN"),
              ("--coefficient", "icc", "--coefficient", "alpha_ratio", "--coefficient", "ac2", "--level", "summary")],
    "bias": [("--family", "A=acme", "--judge-family", "one=acme")],
    "compare": [("--of", "systems"), ("--of", "judges"), ("--of", "people")],
    "estimate": [(), ("--simulate", "2", "--draws", "3")],
    "calibrate": [("--aspect", "faithfulness", "--allow-few", "--judge", "one"),
                  ("--aspect", "coherence", "--judge", "one", "--allow-few", "--gold-at-least", "2", "--dev",
                   "system=A")],
    "card": [("--people", "--by", "system")],
}  # fmt: skip
WITHOUT_RESAMPLES = ("errors", "estimate")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("edges")
    return {name: _run(folder / str(number), edge) for number, (name, edge) in enumerate(EDGES.items())}


def _run(folder: Path, edge: Edge) -> str:
    rows, outputs = [], []
    for i in range(edge.documents):
        for j, system in enumerate(edge.systems):
            votes = {"a": edge.people(i, j), "b": edge.people(i, j)}
            labels = [{"a": edge.labels(i + j + k), "b": edge.labels(i + j + k)} for k in range(2)]
            human: dict[str, Any] = {"ratings": {"coherence": votes}, "sentence_labels": labels}
            rows.append({
                "doc_id": f"d{i}", "system": system, "document": "It rained. We stayed.", "summary": "Rain. We sat.",
                "sentences": ["Rain.", "We sat."], "domain": "news", "human": human,
            })  # fmt: skip
            for judge in ("one", "two"):
                about = {"doc_id": f"d{i}", "system": system, "evaluator": judge, "model": "acme/m"}
                if (value := edge.judge(i, j)) is not None:
                    outputs.append({**about, "aspect": "coherence", "value": value})
                outputs += [
                    {**about, "aspect": "faithfulness", "unit": "sentence", "index": k, "value": (i + j + k) % 2}
                    for k in range(2)
                ]
    folder.mkdir()
    file = folder / "outputs.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in outputs), encoding="utf-8")
    import_outputs(load(rows), file, folder / "run")
    return str(folder / "run")


def _commands() -> Iterator[tuple[str, ...]]:
    for name, variants in COMMANDS.items():
        for variant in variants:
            more: tuple[str, ...] = () if name in WITHOUT_RESAMPLES else ("--resamples", "20")
            if name == "compare":
                more += ("--permutations", "20")
            yield name, *variant, *more


def _no_constant(name: str) -> None:
    raise AssertionError(f"{name} in the JSON")


@pytest.mark.parametrize("command", list(_commands()), ids=" ".join)
@together("edge", EDGES)
def test_a_row_with_a_reason_or_a_message(runs: dict[str, str], edge: str, command: tuple[str, ...]) -> None:
    name, *options = (runs[edge] if word == "RUN" else word for word in command)
    again = [runs[edge]] if "--repeats" in options else []
    words = ["meta", name, runs[edge], *again, *options]
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        result = CliRunner().invoke(app, [*words, "--json"])
    if isinstance(result.exception, SummeterError):
        return
    if result.exception is not None:
        raise result.exception
    payload = json.loads(result.stdout, parse_constant=_no_constant)
    assert not {"nan", "inf", "-inf"} & set(str(Study.from_payload(payload)).lower().split())
    for row in payload["rows"]:
        assert set(CONTRACT) <= set(row)
        assert (row["value"] is None) == (row["status"] == "undefined")
        assert row["value"] is not None or row["reason"]
        assert row["p"] is None or 0 <= row["p"] <= 1
        assert row["low"] is None or row["low"] <= row["high"]
