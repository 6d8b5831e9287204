"""Overhead of the layers around a model: the complete stack compared with a bare aiohttp loop, in one run.

A server in a separate process answers every call after 200 ms. Both sides send the same prompts over the same number of
connections. Ours also hashes, stores (SQLite on disk), counts, can retry, and parses the reply with a form. Rounds
alternate, so that a busy machine slows both equally; medians are printed.

    python benchmarks/calls.py                       64 and 256 connections, 3 rounds
    python benchmarks/calls.py --calls 10000 --connections 256 --rounds 1

`memory` is the growth of the process between the first tenth of the calls and the last call.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

DELAY = 0.2
BODY = json.dumps({
    "model": "bench",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": '{"n": 1}'}}],
    "usage": {"prompt_tokens": 700, "completion_tokens": 9},
}).encode()  # fmt: skip
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY)
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}

JSON_SCHEMA = {"name": "n", "strict": True, "schema": SCHEMA}


class Server(asyncio.Protocol):
    """A minimal HTTP server, so that the benchmark does not measure the server."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.buffer = b""
        self.expected = -1

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        if self.expected < 0:
            end = self.buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            head = self.buffer[:end].lower()
            length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
            self.expected = end + 4 + length
        if len(self.buffer) >= self.expected:
            self.buffer, self.expected = b"", -1
            asyncio.get_running_loop().call_later(DELAY, self._send)

    def _send(self) -> None:
        if not self.transport.is_closing():
            self.transport.write(ANSWER)  # type: ignore[attr-defined]


async def serve() -> None:
    server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


class Round(NamedTuple):
    """Wall and CPU seconds of one round, and memory growth in MB after its first tenth."""

    wall: float
    cpu: float
    grown: float = 0.0


def resident() -> float:
    """Return the resident memory of this process in MB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20


def prompt_text(number: int, size: int) -> str:
    words = "The council met on Tuesday and voted eleven to four for the new bridge. "
    return f"Document {number}: " + words * (size // len(words))


async def timed(work: Callable[[int], Awaitable[None]], calls: int, workers: int) -> Round:
    numbers = iter(range(calls))

    memory: list[float] = []

    async def worker() -> None:
        for number in numbers:
            await work(number)
            if number == calls // 10:
                memory.append(resident())

    wall, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(worker() for _ in range(workers)))
    return Round(time.perf_counter() - wall, time.process_time() - cpu, resident() - memory[0])


async def bare(url: str, calls: int, connections: int, size: int) -> Round:
    import aiohttp

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=connections)) as session:

        async def one(number: int) -> None:
            body = {
                "model": "bench",
                "messages": [{"role": "user", "content": prompt_text(number, size)}],
                "temperature": 0,
                "response_format": {"type": "json_schema", "json_schema": JSON_SCHEMA},
            }
            async with session.post(f"{url}/chat/completions", json=body) as response:
                reply = await response.json()
            assert json.loads(reply["choices"][0]["message"]["content"])["n"] == 1

        return await timed(one, calls, connections)


async def ours(url: str, calls: int, connections: int, size: int) -> Round:
    from summeter.models.base import Message
    from summeter.models.prompts import Prompt
    from summeter.models.resolve import CallSettings, bind
    from summeter.models.structured import Form
    from summeter.runs.calls import CallStore

    form = Form("n", SCHEMA, lambda text: json.loads(text)["n"])
    with tempfile.TemporaryDirectory() as folder, CallStore(Path(folder) / "calls.sqlite") as store:
        bound = bind({"judge": "vllm/bench"}, store, CallSettings(base_url=url, max_connections=connections))
        judge = bound.llms["judge"]

        async def one(number: int) -> None:
            prompt = Prompt("bench", "0000", (Message(role="user", content=prompt_text(number, size)),))
            answer = await judge.ask(prompt, form)
            assert answer.data == 1

        spent = await timed(one, calls, connections)
        await bound.close()
        assert len(store) == calls
        return spent


def measure(url: str, calls: int, connections: int, size: int, rounds: int) -> None:
    sides: dict[str, list[Round]] = {"bare": [], "ours": []}
    for number in range(rounds):
        for name in ("bare", "ours") if number % 2 == 0 else ("ours", "bare"):
            run = bare if name == "bare" else ours
            sides[name].append(asyncio.run(run(url, calls, connections, size)))
    wall = {name: statistics.median(one.wall for one in spent) for name, spent in sides.items()}
    cpu = {name: statistics.median(one.cpu for one in spent) for name, spent in sides.items()}
    ideal = connections / DELAY
    for name, spent in sides.items():
        rate = calls / wall[name]
        print(
            f"{connections:>11} {name:>5} {calls:>7} {rate:>9.0f} {rate / ideal:>9.1%}"
            f" {wall['bare'] / wall[name]:>8.1%} {cpu[name] / calls * 1000:>11.3f}"
            f" {(cpu[name] - cpu['bare']) / calls * 1000:>9.3f} {max(one.grown for one in spent):>9.1f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--connections", type=int, nargs="+", default=[64, 256], help="numbers of connections")
    parser.add_argument("--calls", type=int, default=3000, help="number of calls per round")
    parser.add_argument("--prompt", type=int, default=3000, help="number of characters of a prompt")
    parser.add_argument("--rounds", type=int, default=3, help="number of rounds")
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve())
        return
    with subprocess.Popen([sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
        print(
            f"{'connections':>11} {'side':>5} {'calls':>7} {'calls/s':>9} {'of ideal':>9}"
            f" {'of bare':>8} {'CPU ms/call':>11} {'beyond':>9} {'memory':>9}"
        )
        try:
            for connections in options.connections:
                measure(url, options.calls, connections, options.prompt, options.rounds)
        finally:
            server.terminate()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"load {os.getloadavg()[0]:.1f}; peak memory {peak:.0f} MB; server delay {DELAY} s")


if __name__ == "__main__":
    main()
