"""Control characters in output, and file names with the suffix of another format."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from cli.commands import ends
from models.server import StubServer, fail

ROW = {"doc_id": "1", "system": "a", "document": "It rained all day.", "summary": "It rained."}


def write(folder: Path, **cells: object) -> str:
    file = folder / "data.jsonl"
    file.write_text(json.dumps({**ROW, **cells}) + "\n")
    return str(file)


def on_a_terminal(*words: str, **environment: str) -> bytes:
    """Return the bytes that a command sends to a terminal."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-c", "from summeter.cli.main import main; main()", *words], stdout=theirs, stderr=theirs,
        env={**os.environ, **environment},
    )  # fmt: skip
    os.close(theirs)
    sent = b""
    try:
        while piece := os.read(ours, 65536):
            sent += piece
    except OSError:  # the other end is closed
        pass
    child.wait()
    os.close(ours)
    return sent


def test_control_characters_of_texts_are_escaped(tmp_path: Path) -> None:
    file = write(
        tmp_path, system="a\x1b]0;title\x07b", domain="news\x1b[2J\x1b]0;title\x07", summary="It rained.\x1b[2J\x9b2J"
    )
    for words in (["data", "validate", file], ["data", "show", file], ["data", "show", file, "--doc", "1"]):
        sent = on_a_terminal(*words)
        assert b"rained" in sent or b"1 document" in sent
        assert b"\x1b[2J" not in sent
        assert b"\x1b]0" not in sent
        assert b"\x07" not in sent
        assert "\x9b".encode() not in sent


def test_control_characters_of_servers_are_escaped(tmp_path: Path) -> None:
    file = write(tmp_path)
    with StubServer(lambda _: fail(401, "no such key\x1b]0;title\x07\x1b[2J")) as server:
        sent = on_a_terminal(
            "score", file, "-e", "rts", "-m", "openai-api/stub/judge-1", "--base-url", server.url, "-o",
            str(tmp_path / "run"), STUB_API_KEY="sk-stub",
        )  # fmt: skip
    assert b"no such key" in sent
    assert b"\x1b[2J" not in sent
    assert b"\x1b]0" not in sent


@pytest.mark.parametrize("name", ["x.xml", "x.pdf", "x"])
@pytest.mark.parametrize("command", [["data", "export", "DATA"], ["data", "show", "DATA"], ["report", "RUN"]])
def test_a_suffix_of_another_format_is_refused(tmp_path: Path, command: list[str], name: str) -> None:
    file = write(tmp_path)
    if "RUN" in command:
        main_score = ["score", file, "-e", "length", "-o", str(tmp_path / "RUN"), "--quiet"]
        assert ends(*main_score) == 0
    words = [file if word == "DATA" else str(tmp_path / word) if word == "RUN" else word for word in command]
    assert ends(*words, "-o", str(tmp_path / name)) == 2
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("votes", [(1.7e308, 1.7e308), (1.7e308, -1.7e308)])
def test_the_mean_of_the_largest_ratings_is_a_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], votes: tuple[float, float]
) -> None:
    ratings = dict(zip("ab", votes, strict=True))
    assert ends("data", "show", write(tmp_path, human={"ratings": {"coherence": ratings}}), "--json") == 0
    shown = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert [row["mean"] for row in shown["votes"]] == [sum(vote / 2 for vote in votes)]
