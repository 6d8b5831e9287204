"""Data on S3 storage, from a server in this process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from summeter.cli.main import app
from summeter.data.dataset import load
from summeter.records import InputError

ROWS = [
    {"doc_id": f"d{number}", "system": system, "document": f"It rained on day {number}.", "summary": "It rained."}
    for number in range(5)
    for system in ("ash", "birch")
]


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    s3fs = pytest.importorskip("s3fs")
    server_module = pytest.importorskip("moto.server")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    server = server_module.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    try:
        host, port = server.get_host_and_port()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        s3fs.S3FileSystem.clear_instance_cache()
        s3fs.S3FileSystem().makedirs("data", exist_ok=True)
        yield "s3://data"
    finally:
        s3fs.S3FileSystem.clear_instance_cache()
        server.stop()


def test_a_folder_of_files_is_scored(bucket: str, tmp_path: Path) -> None:
    import s3fs

    for system in ("ash", "birch"):
        rows = "".join(json.dumps(row) + "\n" for row in ROWS if row["system"] == system)
        s3fs.S3FileSystem().pipe_file(f"data/mine/{system}.jsonl", rows.encode())
    for address in (f"{bucket}/mine", f"{bucket}/mine/*.jsonl"):
        assert load(address).hash == load(ROWS).hash
    result = CliRunner().invoke(
        app, ["score", f"{bucket}/mine", "-e", "abstractiveness", "-o", str(tmp_path / "run"), "--quiet"]
    )
    assert result.exit_code == 0, result.output
    manifest = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))
    assert (manifest["status"], manifest["data"]["summaries"]) == ("complete", 10)


def test_a_flat_file_is_read_there(bucket: str) -> None:
    import s3fs

    s3fs.S3FileSystem().pipe_file("data/rows.jsonl", "".join(json.dumps(row) + "\n" for row in ROWS).encode())
    assert load(f"{bucket}/rows.jsonl").hash == load(ROWS).hash
    with pytest.raises(InputError, match=r"s3://data/none.jsonl: no such file"):
        load(f"{bucket}/none.jsonl")
