"""How much a model reads, asked of its server: documents are shown accordingly, the run keeps the number, and neither a
replay nor a run that is carried on asks other questions than the run before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from engine.llm import behave as judge
from engine.test_run import files
from models.server import StubServer

from summeter.cli.spending import dry_lines, run_notes
from summeter.engine.api import evaluate
from summeter.engine.dry import dry_run
from summeter.engine.options import Options
from summeter.engine.runs import Run
from summeter.records import UsageError
from summeter.records.signature import SAMPLING
from summeter.runs.journal import Journal

# About 4,600 tokens, of which a judge that reads 2,000 is shown windows.
BOOK = " ".join(f"On day {day} the council of the valley met in the old hall and spoke." for day in range(300))
ROWS = [{"doc_id": "book", "system": "s", "document": BOOK, "summary": "The council met. It rained."}]
MODEL = "openai-api/stub/m"


def says(server: StubServer, tokens: int | None) -> None:
    server.gets = {"/v1/models": {"data": [{"id": "m", "max_model_len": tokens}]}}


def run(server: StubServer, out: Path, **options: Any) -> Run:
    return evaluate(ROWS, ["finesure.fact_check"], models=MODEL, out=out, base_url=server.url, **options)


def test_a_server_is_asked_once_and_its_documents_are_windowed(tmp_path: Path) -> None:
    with StubServer(judge) as server:
        says(server, 2000)
        made = run(server, tmp_path / "run")
        assert server.got == ["/v1/models"]
        assert len(server.calls) > 2
        assert max(len(call.prompt) for call in server.calls) < 2000 * 4.5
        found = made.manifest.contexts[MODEL]
        assert (found.tokens, found.said) == (2000, f"the server at {server.url}")
        # The user did not set it, so it is not in the signature, and stored calls of shorter documents are used.
        assert "ctx:" not in made.manifest.judges[0].signature


def test_a_replay_goes_by_the_number_of_the_run_and_asks_nobody(tmp_path: Path) -> None:
    with StubServer(judge) as server:
        says(server, 2000)
        first = run(server, tmp_path / "run")
        says(server, 100_000)
        server.got.clear()
        server.calls.clear()
        again = run(server, tmp_path / "again", replay=tmp_path / "run")
        assert not server.got
        assert not server.calls
    assert files(again.folder) == files(first.folder)
    assert again.manifest.contexts == first.manifest.contexts


def test_a_run_carried_on_goes_by_its_first_number_unless_the_server_reads_less(tmp_path: Path) -> None:
    with StubServer(judge) as server:
        says(server, 2000)
        run(server, tmp_path / "run")
        says(server, 4000)
        assert run(server, tmp_path / "run").manifest.contexts[MODEL].tokens == 2000
        says(server, None)
        assert run(server, tmp_path / "run").manifest.contexts[MODEL].tokens == 2000
        says(server, 1500)
        found = run(server, tmp_path / "run").manifest.contexts[MODEL]
        assert found.tokens == 1500
        assert "(2,000 in an earlier session)" in found.said


def test_a_context_that_is_told_is_asked_of_nobody(tmp_path: Path) -> None:
    with StubServer(judge) as server:
        says(server, 2000)
        made = run(server, tmp_path / "run", context=50_000)
        assert not server.got
        assert len(server.calls) == 1
        assert not made.manifest.contexts


def test_a_server_that_says_nothing_is_a_note_and_no_error(tmp_path: Path) -> None:
    with StubServer(judge) as server:
        made = run(server, tmp_path / "run")
        assert made.manifest.status == "complete"
        assert len(server.calls) == 1
        (note,) = run_notes(made)
        assert note.startswith(f"note: context of {MODEL}: unknown ({server.url} answered 404 to /v1/models)")


def test_a_model_of_which_nobody_can_tell_is_one_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k" * 12)
    with StubServer(judge) as server:
        named: dict[str, Any] = {"models": "openai/of-tomorrow", "base_url": server.url}
        made = evaluate(ROWS, ["finesure"], out=tmp_path / "run", **named)
        dry = list(dry_lines(dry_run(ROWS, ["finesure"], **named)))
        assert not server.got
    known = "it is not in summeter's table of context lengths, and openai does not report it"
    told = f"context of openai/of-tomorrow: unknown ({known}); set it with --context TOKENS"
    assert [line.startswith(f"note: {told}") for line in run_notes(made) if "context of" in line] == [True]
    assert [line.startswith(f"  {told}") for line in dry if "context of" in line] == [True]


def test_a_wrong_output_folder_is_refused_before_a_server_loads_its_model(tmp_path: Path) -> None:
    with StubServer(judge) as server:
        says(server, 2000)
        run(server, tmp_path / "run")
        server.got.clear()
        asked = len(server.calls)
        other = [{**ROWS[0], "summary": "It rained."}]
        with pytest.raises(UsageError, match="is a run over other data"):
            evaluate(other, ["finesure.fact_check"], models=MODEL, out=tmp_path / "run", base_url=server.url)
        with Journal(tmp_path / "run"), pytest.raises(UsageError, match="another process"):
            run(server, tmp_path / "run")
        (tmp_path / "notes").mkdir()
        (tmp_path / "notes" / "mine.txt").write_text("")
        with pytest.raises(UsageError, match="is not a run"):
            run(server, tmp_path / "notes")
        assert not server.got
        assert len(server.calls) == asked


def test_a_dry_run_asks_and_shows_it(tmp_path: Path) -> None:
    with StubServer(judge) as server:
        says(server, 2000)
        rows = dry_run(ROWS, ["finesure.fact_check"], models=MODEL, base_url=server.url)
        assert not server.calls
        assert rows[0].calls > 2
        assert f"  context of {MODEL}: 2,000 tokens (source: the server at {server.url})" in list(dry_lines(rows))
        made = run(server, tmp_path / "run")
        assert len(server.calls) <= rows[0].calls
        assert made.manifest.status == "complete"
    down = dry_run(ROWS, ["finesure.fact_check"], models=MODEL, base_url=server.url)
    assert any(f"context of {MODEL}: unknown" in line for line in dry_lines(down))


@pytest.mark.parametrize("later", [{"context": 8000}, {"context": 9000, "on_overflow": "truncate"}])
def test_a_run_carried_on_under_other_conditions_has_a_composite_for_each(
    later: dict[str, Any], tmp_path: Path
) -> None:
    with StubServer(judge) as server:
        short = [{**ROWS[0], "document": "The council met in the old hall. It rained."}]
        for options in ({"context": 9000}, later):
            made = evaluate(
                short, ["finesure"], models=MODEL, out=tmp_path / "run", base_url=server.url, **options
            )  # fmt: skip
    found = [score for score in made.scores() if score.aspect == "composite"]
    assert len(found) == 2
    assert all(score.value is not None for score in found)


def test_whatever_an_option_adds_to_a_signature_keeps_judges_apart() -> None:
    assert {*Options().sampling, "rep"} == set(SAMPLING)
