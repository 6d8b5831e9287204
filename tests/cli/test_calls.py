"""`summeter calls`: the prompts and replies behind judgments."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import summeter as sm
from summeter.cli.main import main
from summeter.runs.calls import CallStore

ROWS = [
    {"doc_id": name, "document": f"{name} walked to the mill.", "summary": f"{name} walked.", "system": "a"}
    for name in ("Ana", "Ben")
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("calls")
    good = {"reason": "It reads \x1b[31mwell.", "score": 4}
    rules = [{"match": "Ana", "reply": good, "tokens_in": 9, "tokens_out": 5}, {"reply": "half a repl"}]
    (place / "rules.jsonl").write_text("".join(json.dumps(rule) + "\n" for rule in rules))
    sm.evaluate(ROWS, ["rts"], models=f"scripted/{place / 'rules.jsonl'}", out=place / "run")
    return place / "run"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as caught:
        main(["calls", *arguments])
    done = capsys.readouterr()
    return int(caught.value.code or 0), done.out, done.err


def test_the_calls_of_a_document(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "show", str(folder), "--doc", "Ana")
    assert code == 0
    assert "Ana walked to the mill." in out
    assert "Ben" not in out
    assert "rts, coherence, summary: 4" in out
    assert "\x1b" not in out
    key = next(one.calls[0] for one in sm.Run(folder).judgments() if one.target.document_id == "Ana")
    code, out, _ = run(capsys, "show", str(folder), key[:8], "--json")
    (row,) = json.loads(out)["rows"]
    assert (row["key"], row["usable"], row["completion"]["tokens_in"]) == (key, True, 9)
    assert run(capsys, "show", str(folder), "--doc", "Ana", "--system", "a", "--judge", "rts")[0] == 0
    assert run(capsys, "show", str(folder), "--doc", "Ana", "--system", "b")[0] == 2
    assert run(capsys, "show", str(folder))[0] == 2
    assert run(capsys, "show", str(folder), "--doc", "Cleo")[0] == 2
    assert run(capsys, "show", str(folder.parent), "--doc", "Ana")[0] == 2


def test_counts_and_export(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "stats", str(folder), "--json")
    assert code == 0
    (row,) = json.loads(out)["rows"]
    # A good reply; an unreadable one, and the reply to the request to repair it.
    assert (row["calls"], row["uncounted"], row["tokens_in"], row["tokens_out"]) == (3, 2, 9, 5)
    file = tmp_path / "calls.jsonl"
    assert run(capsys, "export", str(folder), "-o", str(file))[0] == 0
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == 3
    with CallStore(folder / "calls.sqlite", readonly=True) as store:
        secret = store.fence_secret()
    assert secret
    assert secret not in file.read_text(encoding="utf-8")
    assert run(capsys, "export", str(folder), "-o", str(tmp_path / "calls.csv"))[0] == 2


def test_a_page_contains_calls_only_on_request(folder: Path, tmp_path: Path) -> None:
    for options, pieces in (((), 0), (("--calls",), 3)):
        page = tmp_path / f"{len(options)}.html"
        with pytest.raises(SystemExit):
            main(["report", str(folder), "-o", str(page), *options])
        found = [json.loads(text) for text in re.findall(r'id="call-\d+">(.*?)</script>', page.read_text())]
        assert len(found) == pieces
    assert {one["reply"][:11] for call in found for one in call} == {'{"reason": ', "half a repl"}
    assert any("Ana walked to the mill." in text for call in found for one in call for _, text in one["messages"])
