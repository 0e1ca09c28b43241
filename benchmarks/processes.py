"""A server under test as a process of its own: started, waited for until it listens, stopped, or killed."""

import asyncio
import os
import signal
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from benchmarks.serving import LOOPBACK

START_TIMEOUT = 60.0  # seconds; a loaded machine imports slowly
STOP_TIMEOUT = 10.0  # seconds between SIGTERM and SIGKILL
LOOK_AGAIN = 0.005  # seconds between two looks at whether the port is open; the precision of every start time
TAIL = 2000  # characters of the log that explain a failed start


class NotStarted(Exception):
    """A server did not come to listen; the text holds the end of its log."""


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


class Server:
    """One process that listens on `port`; its output is appended to `log`."""

    def __init__(self, name: str, command: Sequence[str], port: int, log: Path) -> None:
        self.name = name
        self.port = port
        self.started_in = 0.0  # seconds from the start of the process until it listened
        self._command = list(command)
        self._log = log
        self._process: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None, f"{self.name} is not running"
        return self._process.pid

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._end(signal.SIGTERM)

    async def start(self) -> None:
        """Returns once it listens; raises NotStarted when it does not."""
        began = time.perf_counter()
        with self._log.open("ab") as output:
            self._process = await asyncio.create_subprocess_exec(
                *self._command, stdin=asyncio.subprocess.DEVNULL, stdout=output, stderr=output, env=_environment()
            )
        try:
            async with asyncio.timeout(START_TIMEOUT):
                await self._until_it_listens(self._process)
        except TimeoutError:
            await self.kill()
            raise NotStarted(f"{self.name} did not listen within {START_TIMEOUT:.0f} s:\n{self._tail()}") from None
        self.started_in = time.perf_counter() - began

    async def kill(self) -> None:
        """SIGKILL: nothing is saved, connections break."""
        await self._end(signal.SIGKILL)

    async def _until_it_listens(self, process: asyncio.subprocess.Process) -> None:
        while process.returncode is None:
            try:
                _, writer = await asyncio.open_connection(LOOPBACK, self.port)
            except OSError:
                await asyncio.sleep(LOOK_AGAIN)
            else:
                writer.close()
                return
        raise NotStarted(f"{self.name} ended with {process.returncode} before it listened:\n{self._tail()}")

    async def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None or process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            process.send_signal(how)
        try:
            async with asyncio.timeout(STOP_TIMEOUT):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()

    def _tail(self) -> str:
        return self._log.read_text(errors="replace")[-TAIL:]


def _environment() -> dict[str, str]:
    """No setting of the caller's shell reaches a gateway under test."""
    return {name: value for name, value in os.environ.items() if not name.startswith("FRONTDESK_")}
