"""The whole line on one machine: stub agent, stub Bot API and, between them, the program under test."""

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from benchmarks.ceilings.serving import SECRET
from benchmarks.load import Plan, drive
from benchmarks.processes import Server, free_port
from benchmarks.programs import AMPLE_QUEUE, OPERATOR_TOKEN, Program, Site
from benchmarks.series import Numbering, Series

CONTROL_TIMEOUT = aiohttp.ClientTimeout(total=30)  # seconds, of one question to a stub or to the control API
WARM_UP_RETRIES = 100  # a gateway may listen before it is ready
READY_TIMEOUT = 30.0  # seconds
READY_PRECISION = 0.01  # seconds
LOOK_AGAIN = 0.05  # seconds between two looks at what has come out
AUTHORIZATION = {"Authorization": f"Bearer {OPERATOR_TOKEN}"}


@dataclass(frozen=True, slots=True)
class Shown:
    """What the Bot API saw of one message."""

    count: int  # of sendMessage calls with its marker
    first: float  # Unix time
    chat: int


class Line:
    """A running program under test with what it needs around it; see `line`."""

    def __init__(self, program: Program, server: Server, http: aiohttp.ClientSession, site: Site) -> None:
        self.program = program
        self.server = server
        self.numbering = Numbering()
        self._http = http
        self._site = site

    def plan(self, series: Series, connections: int, **more: Any) -> Plan:
        """A plan that drives this program's webhook; `more` as Plan has it."""
        return Plan(f"{self.server.url}{self.program.hook}", series, connections, SECRET, **more)

    async def warm_up(self, total: int) -> None:
        """Returns once `total` messages were accepted and, where the agent answers, came out again."""
        series = Series.fresh(self.numbering, "warm", total, total)
        report = await drive(self.plan(series, 8, retries=WARM_UP_RETRIES))
        if report.failed:
            raise RuntimeError(f"{self.program.name} refused messages while warming up: {dict(report.errors)}")

    async def marker_count(self) -> int:
        """How many different messages have been shown."""
        return int((await self._get(f"{self._site.bot_api}/stub/count"))["markers"])

    async def until_shown(self, count: int, patience: float) -> bool:
        """Whether at least `count` different messages were shown; gives up after `patience` seconds of standstill."""
        loop = asyncio.get_running_loop()
        seen, since = -1, loop.time()
        while (now_shown := await self.marker_count()) < count:
            if now_shown != seen:
                seen, since = now_shown, loop.time()
            elif loop.time() - since > patience:
                return False
            await asyncio.sleep(LOOK_AGAIN)
        return True

    async def shown(self, series: Series) -> Mapping[int, Shown]:
        """What was shown of a series, by the message's index, in the order in which it was first shown."""
        seen = (await self._get(f"{self._site.bot_api}/stub/shown"))["shown"]
        prefix = f"fd:{series.run}:"
        return {
            int(marker.removeprefix(prefix)) - series.first: Shown(*facts)
            for marker, facts in seen.items()
            if marker.startswith(prefix)
        }

    async def asked(self) -> Mapping[str, int]:
        """The agent's count: `calls`, different `messages`, and those `at_work`."""
        counted: dict[str, int] = await self._get(f"{self._site.agent}/stub/count")
        return counted

    async def release(self) -> None:
        """The parked agent answers from now on, what waits and what is to come."""
        async with self._http.post(f"{self._site.agent}/stub/release") as response:
            response.raise_for_status()

    async def summary(self) -> dict[str, Any]:
        """Frontdesk's own summary with the ids of what it shows as unknown."""
        return await self._get(f"{self.server.url}/api/v1/summary?ids=1", headers=AUTHORIZATION)

    async def until_ready(self) -> float:
        """Seconds until Frontdesk says that it is ready."""
        return await until_ready(self._http, self.server.url)

    async def _get(self, url: str, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
        async with self._http.get(url, headers=headers) as response:
            response.raise_for_status()
            content: dict[str, Any] = await response.json()
            return content


async def until_ready(http: aiohttp.ClientSession, url: str) -> float:
    """Seconds until the Frontdesk there says that it is ready."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    async with asyncio.timeout(READY_TIMEOUT):
        while True:
            async with http.get(f"{url}/readyz") as response:
                if response.status == 200:
                    return loop.time() - began
            await asyncio.sleep(READY_PRECISION)


@asynccontextmanager
async def line(
    program: Program, *, is_streaming: bool = False, is_parked: bool = False, max_queued: int = AMPLE_QUEUE
) -> AsyncIterator[Line]:
    """Everything starts afresh in a folder of its own, and is gone afterwards.

    `is_parked`: the agent answers nothing, so that admission is measured alone.
    """
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="frontdesk-bench-")))
        agent = bot_api = ""
        if program.spans_the_line:
            flags = (["--parked"] if is_parked else []) + ([] if is_streaming else ["--no-streaming"])
            agent = (await stack.enter_async_context(_stub("agent", folder, flags))).url
            bot_api = (await stack.enter_async_context(_stub("bot_api", folder, []))).url
        site = Site(free_port(), folder, agent, bot_api, is_streaming, max_queued)
        server = Server(program.name, program.command(site), site.port, folder / "server.log")
        await stack.enter_async_context(server)
        http = await stack.enter_async_context(aiohttp.ClientSession(timeout=CONTROL_TIMEOUT))
        yield Line(program, server, http, site)


def _stub(name: str, folder: Path, flags: list[str]) -> Server:
    port = free_port()
    command = [sys.executable, "-m", f"benchmarks.stubs.{name}", "--port", str(port), *flags]
    return Server(f"stub {name}", command, port, folder / f"{name}.log")
