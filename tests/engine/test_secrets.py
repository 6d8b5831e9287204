"""A secret in an endpoint's address is sent but never shown or stored; a rejected key exits with 2."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from cli.commands import ends
from engine.judges import rows
from engine.llm import MODEL
from engine.llm import behave as good
from models.server import RESET, Call, Reply, StubServer, fail, json_reply

from summeter.cli.main import main
from summeter.engine.options import Options
from summeter.models.providers.provider import Options as EndpointOptions
from summeter.models.resolve import CallSettings, resolve
from summeter.records.addresses import bare_url

SECRET, FRAGMENT = "tok3n-that-nobody-sees", "fr4gment-that-nobody-sees"


@pytest.fixture
def flat(tmp_path: Path) -> Path:
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows(3)))
    return file


def score(flat: Path, out: Path, url: str) -> int:
    address = f"{url}?sig={SECRET}&api-version=7#{FRAGMENT}"
    return ends("score", flat, "-e", "finesure", "-m", MODEL, "-o", out, "--base-url", address, "--max-retries", 0)


def everything(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file())


def repeated(call: Call) -> Reply:
    """A server that says in its errors what it was asked."""
    return fail(500, f"cannot answer {call.path}")


@pytest.mark.parametrize("behave", [good, repeated, lambda _: RESET, lambda _: json_reply({})])
def test_a_secret_in_the_address_is_sent_and_never_kept_or_shown(
    flat: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], behave: Any
) -> None:
    with StubServer(behave) as server:
        score(flat, tmp_path / "run", server.url)
        assert server.calls
        assert all(f"sig={SECRET}" in call.path for call in server.calls)
    with contextlib.suppress(SystemExit):
        main(["report", str(tmp_path / "run"), "-o", str(tmp_path / "run" / "page.html")])
    main_output = "".join(capfd.readouterr())
    for secret in (SECRET, FRAGMENT, os.environ["STUB_API_KEY"]):
        assert secret not in main_output
        assert secret.encode() not in everything(tmp_path / "run")


@pytest.mark.parametrize(
    ("url", "bare"),
    [("https://host/v1", "https://host/v1"), ("https://me:word@host:1/v1?a=b#c", "https://host:1/v1"),
     ("http://host#c?d", "http://host"), ("host/v1?key=x", "host/v1"), ("http://[::1]:8000/v1?x", "http://[::1]:8000/v1")],
)  # fmt: skip
def test_an_address_as_it_is_shown(url: str, bare: str) -> None:
    assert bare_url(url) == bare


def test_what_holds_an_address_shows_no_secret() -> None:
    url = f"http://127.0.0.1:9/v1?key={SECRET}#{FRAGMENT}"
    llm: Any = resolve(MODEL, base_url=url)
    options = Options(base_url=url)
    shown = [llm.address, llm.endpoint, EndpointOptions(url), CallSettings(base_url=url), options, options.model_dump()]
    assert not [thing for thing in shown if SECRET in f"{thing!r}{thing}" or FRAGMENT in f"{thing!r}{thing}"]
    assert options.base_url == url  # still what is asked


@pytest.mark.parametrize(
    ("reply", "words"),
    [(fail(401, "no"), "Check the key in the environment variable STUB_API_KEY"), (fail(403, "no"), "Check the key"),
     (Reply(307, headers={"Location": "http://elsewhere.example/v1"}), "give the final base URL"),
     (fail(404, "no such model"), "Check the model's name and the base URL"),
     (fail(402, "pay"), "raise it and resume")],
)  # fmt: skip
def test_who_is_turned_away_is_told_what_to_do_and_ends_with_2(
    flat: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], reply: Reply, words: str
) -> None:
    with StubServer(lambda _: reply) as server:
        assert score(flat, tmp_path / "run", server.url) == 2
    shown = capfd.readouterr().err
    assert f"answered {reply.status}" in shown
    assert words in shown
    assert SECRET not in shown
