"""Secrets in the addresses of endpoints and sources: sent, and never recorded or released."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmark.chains import bench, command
from engine.judges import rows
from engine.llm import answer
from models.server import StubServer, ok

from summeter.benchmark import run_step
from summeter.benchmark.select import DETECT, DetectSettings
from summeter.benchmark.step import MANIFEST, state_of
from summeter.data.dataset import load, save

pytest.importorskip("pyarrow")

SECRETS = ("qu3ry-secret", "p4ssword", "fr4gment-secret", "t0ken-secret")


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STUB_API_KEY", "sk-stub-header-key")


def leaked(folder: Path) -> list[tuple[str, str]]:
    """(file, secret) of each secret in a folder."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    return [(file.name, secret) for file in files for secret in SECRETS if secret.encode() in file.read_bytes()]


def detect_settings(server: str) -> DetectSettings:
    second = server.replace("/v1", "/other/v1")
    urls = f"{server}?key={SECRETS[0]}#{SECRETS[2]},{second}?{SECRETS[0]}"
    options = {"base_url": urls, "max_retries": 0}
    return DetectSettings.model_validate(
        {"detector": {"evaluator": "finesure", "models": {"judge": "openai-api/stub/m"}, "options": options}}
    )


def test_no_manifest_log_or_release_holds_a_secret_of_an_address(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    save(load(rows(2)), tmp_path / "data")
    with StubServer(lambda call: ok(answer(call.prompt))) as server:
        settings = detect_settings(server.url)
        run_step(DETECT, tmp_path / "data", tmp_path / "detect", settings)
        assert any(SECRETS[0] in call.path for call in server.calls)
        assert state_of(DETECT, tmp_path / "data", tmp_path / "detect", settings, None) == ("done", "")
    url = f"https://me:{SECRETS[1]}@host/page?id=7&token={SECRETS[3]}"
    assert bench(tmp_path, {"release": {"url": url}}, input="detect") == 0
    release = tmp_path / "out" / "release"
    assert command("bench", "verify", release) == 0
    (tmp_path / "BENCH.yaml").unlink()
    assert leaked(tmp_path) == []
    assert "https://host/page?id=7" in (release / "README.md").read_text()
    shown = "".join(capfd.readouterr())
    assert [secret for secret in SECRETS if secret in shown] == []


def test_the_origin_of_a_source_keeps_its_page_and_loses_its_secrets(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The harbour opens at nine on weekdays.", "utf-8")
    origin = f"https://me:{SECRETS[1]}@host/page?id=7&X-Amz-Signature={SECRETS[3]}"
    news = {"path": "a.txt", "origin": origin}
    assert bench(tmp_path, {"source": {"sources": {"news": news}, "detect": False}}) == 0
    (tmp_path / "BENCH.yaml").unlink()
    assert leaked(tmp_path) == []
    assert load(tmp_path / "out" / "source").documents["news/a"].extra["origin"].startswith("https://host/page?id=7")


def test_verify_finds_a_secret_in_a_manifest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(load(rows(1)), tmp_path / "data")
    assert bench(tmp_path, {"release": {}}, input="data") == 0
    release = tmp_path / "out" / "release"
    manifest = json.loads((release / MANIFEST).read_text())
    manifest["models"] = {"judge": "m at https://host/v1?api_key=abc"}
    (release / MANIFEST).write_text(json.dumps(manifest))
    assert command("bench", "verify", release) == 3
    assert "manifest.json: models" in capsys.readouterr().err
