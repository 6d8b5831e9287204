"""The server part of `local_judge.py`: file locations, and starting, finding and stopping the server."""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

VARIABLE = "SUMMETER_LOCAL_JUDGE"
NAME = "smollm2-135m-instruct"
HOST = "127.0.0.1"
WAIT = 120.0
PORTS = 3  # attempts: another process may take a free port before the server does

ENGINE_VERSION, WEIGHTS_VERSION = "11434.0.0", "0.1.2"

# One thread, which does not spin while it waits. Four requests share it, each with a quarter of the context.
FLAGS = ("-t", "1", "-tb", "1", "--poll", "0", "-np", "4", "-c", "16384", "--no-webui")
QUIET = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0"}


class Failure(Exception):
    """An error with a message that says what happened, where, and what to do."""


@dataclass(frozen=True)
class Cache:
    """File locations. `home` is complete or absent; `work` holds an unfinished build."""

    root: Path

    @property
    def home(self) -> Path:
        return self.root / f"llama.cpp-{ENGINE_VERSION}-smollm2-{WEIGHTS_VERSION}"

    @property
    def server(self) -> Path:
        return self.home / "llama-server"

    @property
    def model(self) -> Path:
        return self.home / "model.gguf"

    @property
    def work(self) -> Path:
        return self.root / "work"

    @property
    def build_log(self) -> Path:
        return self.root / "build.log"

    @property
    def server_log(self) -> Path:
        return self.root / "server.log"

    @property
    def state(self) -> Path:
        return self.root / "server.json"

    @property
    def built(self) -> bool:
        return self.server.is_file() and self.model.is_file()

    @classmethod
    def at(cls, environ: Mapping[str, str]) -> "Cache":
        """Return the cache in $SUMMETER_LOCAL_JUDGE, or else below $XDG_CACHE_HOME or ~/.cache."""
        chosen = environ.get(VARIABLE, "").strip()
        if chosen:
            return cls(Path(chosen).expanduser().absolute())
        return cls(Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "summeter" / "local-judge")


class Server(NamedTuple):
    """A started server: its process and its port."""

    pid: int
    port: int

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}/v1"


def free_port() -> int:
    """Return a port of the loopback address that is free at the moment."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def port_in_use(port: int) -> bool:
    """Return whether a port is in use or not permitted."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a port that was just released is free
        try:
            probe.bind((HOST, port))
        except OSError:
            return True
    return False


def running(cache: Cache) -> Server | None:
    """Return the server started from this folder if it still runs, else None."""
    try:
        state = json.loads(cache.state.read_text())
        server = Server(int(state["pid"]), int(state["port"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return server if str(cache.server) in _command(server.pid) else None


def _command(pid: int) -> str:
    """Return the command line of a process, or "": the number may belong to another process by now."""
    file = Path(f"/proc/{pid}/cmdline")
    if Path("/proc/self/cmdline").exists():
        try:
            return file.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            return ""
    shown = subprocess.run(["ps", "-p", str(pid), "-o", "command="], capture_output=True, text=True, check=False)
    return shown.stdout


def healthy(port: int) -> bool:
    """Return whether the server has loaded its model; no proxy is used."""
    connection = http.client.HTTPConnection(HOST, port, timeout=5)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def start(cache: Cache, port: int | None, *, foreground: bool = False) -> Server:
    """Return a healthy server, started if necessary. With `foreground`, return when it ends."""
    if not cache.built:
        raise Failure(f"no local judge in {cache.root}; build it with: python scripts/local_judge.py build")
    if (server := running(cache)) and healthy(server.port):
        if port not in {None, server.port} or foreground:
            raise Failure(f"a local judge is running already, at {server.url} (process {server.pid}); stop it first")
        announce(server)
        return server
    if port is not None and port_in_use(port):
        raise Failure(f"port {port} of {HOST} is in use; choose another --port, or omit it for a free one")
    process, server = _launch(cache, port)
    announce(server)
    if foreground:
        _stay(cache, process)
    return server


def _launch(cache: Cache, port: int | None) -> tuple["subprocess.Popen[bytes]", Server]:
    for left in reversed(range(PORTS if port is None else 1)):
        chosen = free_port() if port is None else port
        command = [
            str(cache.server),
            "-m",
            str(cache.model),
            "--alias",
            NAME,
            "--host",
            HOST,
            "--port",
            str(chosen),
            *FLAGS,
        ]
        with cache.server_log.open("wb") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **QUIET},
                start_new_session=True,
            )
        server = Server(process.pid, chosen)
        _remember(cache, server)
        try:
            await_health(cache, process, chosen)
        except Failure:
            cache.state.unlink(missing_ok=True)
            if left and "bind" in last_lines(cache.server_log):
                continue
            raise
        except KeyboardInterrupt:
            process.terminate()
            cache.state.unlink(missing_ok=True)
            raise
        return process, server
    raise AssertionError("the last try returns or raises")


def await_health(cache: Cache, process: Any, port: int, wait: float = WAIT) -> None:
    """Wait until the server answers; raises Failure, with the end of its log, if it ends or is not ready in time."""
    end = time.monotonic() + wait
    while time.monotonic() < end:
        if (code := process.poll()) is not None:
            raise Failure(died(code, cache.server_log))
        if healthy(port):
            return
        time.sleep(0.1)
    process.kill()
    process.wait()
    raise Failure(
        f"the server was not ready within {wait:g} s. Its log, {cache.server_log}, ends:\n{last_lines(cache.server_log)}"
    )


def died(code: int, log: Path) -> str:
    """Return the message about a server that ended by itself."""
    how = f"signal {signal.Signals(-code).name}" if code < 0 else f"code {code}"
    hint = ""
    if code == -signal.SIGILL:
        hint = "\nIt was built for another processor. Build it again on this machine: python scripts/local_judge.py build --force"
    return f"the server ended with {how} before it was ready. Its log, {log}, ends:\n{last_lines(log)}{hint}"


def _remember(cache: Cache, server: Server) -> None:
    part = cache.state.with_suffix(".part")
    part.write_text(json.dumps({"pid": server.pid, "port": server.port, "url": server.url, "model": NAME}) + "\n")
    part.replace(cache.state)


def _stay(cache: Cache, process: "subprocess.Popen[bytes]") -> None:
    try:
        code = process.wait()
    except KeyboardInterrupt:
        process.terminate()
        process.wait()
        code = 0
    finally:
        cache.state.unlink(missing_ok=True)
    if code not in {0, -signal.SIGTERM}:
        raise Failure(died(code, cache.server_log).replace(" before it was ready", ""))


def announce(server: Server) -> None:
    """Print the address of the server, and how to use it."""
    print(f"the local judge answers at {server.url} (process {server.pid})")
    print(f"  export LLAMACPP_BASE_URL={server.url}")
    print(f"  summeter score DATA -e rts -m llamacpp/{NAME} --timeout 600 -o RUN", flush=True)


def stop(cache: Cache, *, patience: float = 10.0) -> None:
    """Stop the server that was started from this folder, and no other."""
    server = running(cache)
    if server is None:
        cache.state.unlink(missing_ok=True)
        print("no local judge is running")
        return
    with contextlib.suppress(ProcessLookupError):
        os.kill(server.pid, signal.SIGTERM)
    end = time.monotonic() + patience
    while running(cache) and time.monotonic() < end:
        time.sleep(0.05)
    if running(cache):
        with contextlib.suppress(ProcessLookupError):
            os.kill(server.pid, signal.SIGKILL)
    cache.state.unlink(missing_ok=True)
    print(f"stopped the local judge (process {server.pid})")


def status(cache: Cache, *, as_json: bool) -> int:
    """Print the status; returns 0 if a server answers, else 1."""
    server = running(cache)
    answers = server is not None and healthy(server.port)
    if as_json:
        print(json.dumps({
            "folder": str(cache.home), "built": cache.built, "running": answers, "model": NAME,
            "url": server.url if server and answers else None, "pid": server.pid if server else None,
        }))  # fmt: skip
    else:
        print(f"built: {cache.home if cache.built else 'no (python scripts/local_judge.py build)'}")
        if server is None:
            print("running: no")
        else:
            print(f"running: {server.url} (process {server.pid}{'' if answers else ', does not answer'})")
    return 0 if answers else 1


def last_lines(file: Path, count: int = 15) -> str:
    """Return the last lines of a log."""
    try:
        with file.open("rb") as stream:
            stream.seek(max(0, file.stat().st_size - 20_000))
            return tail(stream.read().decode(errors="replace"), count)
    except OSError as error:
        return f"  (cannot be read: {error})"


def tail(text: str, count: int = 15) -> str:
    """Return the last lines of a text, indented."""
    return "\n".join(f"  {line}" for line in text.strip().splitlines()[-count:]) or "  (empty)"
