"""The A2A client: calls to a fast agent, whole and streamed, beside the official SDK's client and the bare library."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.gates import Gate
from benchmarks.outcome import Effort, Outcome
from benchmarks.processes import Server, free_port
from benchmarks.rounds import alternate, median
from benchmarks.tables import Table, figure

ROOT = Path(__file__).parent.parent
LANES = (1, 16, 64)  # calls at once
CALLS = 2000
PATIENCE = 120.0  # seconds for one client


@dataclass(frozen=True, slots=True)
class Client:
    name: str
    command: Sequence[str]


@dataclass(frozen=True, slots=True)
class Calls:
    rate: float  # calls a second
    cpu: float  # client's microseconds a call
    p50: float  # milliseconds
    p99: float


RAW = Client("aiohttp and orjson", (sys.executable, "-m", "benchmarks.clients.raw"))
SDK = Client("a2a-sdk", (f"{ROOT}/.peers/a2a-sdk/bin/python", "-P", f"{ROOT}/benchmarks/peers/sdk_client.py"))
OURS = Client("Frontdesk", (sys.executable, "-m", "benchmarks.clients.ours"))
CLIENTS = (RAW, SDK, OURS)


async def run(effort: Effort) -> Outcome:
    tables, gates, every = [], list[Gate](), dict[str, object]()
    for is_streaming in (False, True):
        name = "streamed" if is_streaming else "whole"
        rounds = await _compare(effort, is_streaming)
        medians = {who: {at: median([it[at] for it in its]) for at in LANES} for who, its in rounds.items()}
        tables.append(_table(name, medians))
        gates += [
            Gate(f"{name} calls at {at}, times the SDK's", ours.rate / medians[SDK.name][at].rate, "at least", 1)
            for at, ours in medians[OURS.name].items()
        ]
        every[name] = {
            who: [{str(at): asdict(it) for at, it in levels.items()} for levels in its] for who, its in rounds.items()
        }
    return Outcome("a2a-client", tuple(tables), tuple(gates), every)


async def _compare(effort: Effort, is_streaming: bool) -> dict[str, list[Mapping[int, Calls]]]:
    async with stub_agent(is_streaming) as url:
        calls = effort.scaled(CALLS, CALLS // 5)
        taken = await alternate(CLIENTS, effort.rounds, lambda client: _measure(client, url, calls, is_streaming))
    return {client.name: its for client, its in zip(CLIENTS, taken, strict=True)}


async def _measure(client: Client, url: str, calls: int, is_streaming: bool) -> Mapping[int, Calls]:
    return {at: await once(client, url, calls if at > 1 else calls // 4, at, is_streaming) for at in LANES}


async def once(client: Client, url: str, calls: int, lanes: int, is_streaming: bool) -> Calls:
    flags = ("--agent", url, "--calls", str(calls), "--lanes", str(lanes), *(("--streaming",) if is_streaming else ()))
    process = await asyncio.create_subprocess_exec(*client.command, *flags, stdout=asyncio.subprocess.PIPE, cwd=ROOT)
    async with asyncio.timeout(PATIENCE):
        said, _ = await process.communicate()
    if process.returncode:
        raise RuntimeError(f"the client {client.name} ended with {process.returncode}")
    return Calls(**json.loads(said))


@asynccontextmanager
async def stub_agent(is_streaming: bool) -> AsyncIterator[str]:
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.stubs.agent", "--port", str(port)]
    command += [] if is_streaming else ["--no-streaming"]
    with TemporaryDirectory(prefix="frontdesk-bench-") as folder:
        async with Server("agent", command, port, Path(folder) / "agent.log") as server:
            yield server.url


def _table(name: str, medians: Mapping[str, Mapping[int, Calls]]) -> Table:
    raw = medians[RAW.name]
    rows = tuple(
        (
            who,
            str(at),
            figure(it.rate),
            figure(it.rate / raw[at].rate, 2),
            figure(it.cpu),
            figure(it.p50, 1),
            figure(it.p99, 1),
        )
        for at in LANES
        for who, it in ((who, levels[at]) for who, levels in medians.items())
    )
    headings = (f"A2A client, {name}", "at once", "calls a second", "x raw", "CPU us a call", "p50 ms", "p99 ms")
    return Table(f"A2A client: {name} answers", headings, rows)
