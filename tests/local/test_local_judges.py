"""Every evaluator of the catalog that asks a language model, end to end on a real one.

Its opinions are worth nothing; what is tested is the way there and back: that the server enforces every schema we
send, that a reply cut by the length limit is told from a bad one, and that a run is replayed to the byte without it.
`make local-judge` builds the server, `make test-local` runs this.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import pytest
from jsonschema import Draft202012Validator
from local.conftest import Row, Server
from local.texts import ROWS

from summeter.engine.api import evaluate
from summeter.engine.runs import Run
from summeter.evaluators.catalog import CATALOG, build
from summeter.models.base import Completion
from summeter.records.errors import fault_of
from summeter.runs.calls import CallStore

pytestmark = pytest.mark.local

# An evaluator is tried as it is by default, but for these: other forms, other ways of asking, and lists that a small
# model would not finish within the length limit. One that asks no model by default needs a setting here that does.
SETTINGS: dict[str, tuple[str, ...]] = {
    "finesure": ("finesure[at_most=3]",),
    "finesure.fact_check": (
        "finesure.fact_check", "finesure.fact_check[strategy=basic]", "finesure.fact_check[strategy=evidence]",
        "finesure.fact_check[strategy=categorization,taxonomy=unisumeval]",
    ),
    "finesure.key_facts": ("finesure.key_facts[at_most=3,validators=1]",),
    "finesure.align": ("finesure.align[at_most=3]",),
    "geval": ("geval", "geval[draws=2]", "geval[aspect=completeness,steps=tuned,key_facts=given]"),
    "ensemble": ("ensemble[mcq+stareval@second]",),
}  # fmt: skip
MAX_REPLY = 400
FILES = ("judgments", "prepared", "scores.jsonl", "scores.csv", "pairs.jsonl", "summary.json", "progress.jsonl")


def roles(spec: str) -> set[str]:
    """The roles whose models an evaluator asks as it is set."""
    return {role for part in build(spec).components() for role in part.required_roles}


NAMES = [name for name in CATALOG if any(part.asks_llm for part in build(name).components())]
SPECS = [spec for name in NAMES for spec in SETTINGS.get(name, (name,)) if roles(spec)]


class Kept(NamedTuple):
    """A stored call: the request as it was stored, and the completion."""

    request: dict[str, Any]
    completion: Completion

    @property
    def cut(self) -> bool:
        return self.completion.finish_reason == "length"

    @property
    def schema(self) -> dict[str, Any] | None:
        return self.request["schema_"]


def kept(run: Run) -> list[Kept]:
    """The calls of a run, in the order of storing."""
    with CallStore(run.folder / "calls.sqlite", readonly=True) as store:
        return [
            Kept(json.loads(store.request(one.key)), Completion.model_validate_json(store.get(one.key) or ""))
            for one in store.tokens()
        ]


def faults(call: Kept) -> list[str]:
    """What of the reply does not fit the schema it was asked for; empty where all does."""
    try:
        value = json.loads(call.completion.text)
    except ValueError as error:
        return [f"no JSON ({error}): {call.completion.text[:200]!r}"]
    return [f"{one.json_path}: {one.message[:200]}" for one in Draft202012Validator(call.schema).iter_errors(value)]


def files(folder: Path) -> dict[str, bytes]:
    """What a run wrote, by file, but for what names the hour and the calls."""
    found = (
        file
        for name in FILES
        for file in ([folder / name] if (folder / name).is_file() else (folder / name).rglob("*"))
    )
    return {str(file.relative_to(folder)): file.read_bytes() for file in found if file.is_file()}


def ask(spec: str, server: Server, out: Path, **options: Any) -> Run:
    """A run of one evaluator over the texts."""
    settings = {"max_reply": MAX_REPLY, "concurrency": 4, "timeout": 600.0, "max_retries": 1, **options}
    models = dict.fromkeys(roles(spec), server.model)
    return evaluate(ROWS, [spec], models=models, base_url=server.url, out=out, **settings)


def refused(*_: Any, **__: Any) -> NoReturn:
    raise AssertionError("a replay opened a connection")


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Called, it makes every connection an error: this machine's own addresses included."""

    def close() -> None:
        for name in ("connect", "connect_ex"):
            monkeypatch.setattr(socket.socket, name, refused)

    return close


@pytest.mark.parametrize("spec", SPECS)
def test_every_reply_fits_its_schema_and_replays(
    spec: str, server: Server, tmp_path: Path, table: list[Row], no_network: Callable[[], None]
) -> None:
    start = time.perf_counter()
    run = ask(spec, server, tmp_path / "run")
    seconds = time.perf_counter() - start

    calls = [call for call in kept(run) if call.schema is not None]
    whole = [call for call in calls if not call.cut]
    wrong = {call.completion.text[:120]: faults(call) for call in whole if faults(call)}
    judgments = run.judgments()
    judged = sum(one.status == "ok" for one in judgments)
    table.append(
        Row(
            spec,
            len(calls),
            len(whole),
            len(whole) - len(wrong),
            len(calls) - len(whole),
            judged,
            len(judgments),
            seconds,
        )
    )

    assert calls, "it asked nothing with a schema"
    # Where the server refuses a schema, the question goes out again without it: nothing is enforced then.
    loose = {call.request["schema_name"] for call in calls if call.completion.format != "json_schema"}
    assert not loose, f"schemas the server refuses: {loose}"
    assert not wrong, "replies that do not fit their schema"
    assert whole, "every reply was cut by the length limit"
    assert "error" not in run.manifest.counts, [one.reason for one in judgments if one.status == "error"]
    assert all(one.value is None and one.reason for one in judgments if one.status != "ok")

    no_network()
    options = {"max_reply": MAX_REPLY, "concurrency": 4}
    models = dict.fromkeys(roles(spec), server.model)
    again = evaluate(ROWS, run.specs, models=models, replay=run.folder, out=tmp_path / "again", **options)
    assert files(again.folder) == files(run.folder)


def test_a_reply_cut_by_the_length_limit_is_called_truncated(server: Server, tmp_path: Path) -> None:
    run = ask("stareval", server, tmp_path / "run", max_reply=2)
    assert [call.completion.finish_reason for call in kept(run)] == ["length"] * len(ROWS)
    for one in run.judgments():
        assert (one.status, one.value) == ("unparsed", None)
        assert fault_of(one.reason) == "truncated"
        assert "the reply was truncated by the length limit after 2 tokens" in (one.reason or "")


def test_whatever_can_ask_a_model_is_tried_asking_it() -> None:
    tried = {build(spec).name for spec in SPECS}
    assert set(NAMES) <= tried, "these ask no model as they are set by default; add a setting that does to SETTINGS"
