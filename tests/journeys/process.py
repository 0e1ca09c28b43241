"""The gateway as a process: started on a folder of its own, asked over HTTP, killed, and started again on the folder.

Its log arrives through a pipe, so that a test can wait for an event and so that a limit on the size of files never
hits the log. What must not stand in the log is gathered in `private` and looked for at the end.
"""

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import aiohttp

from tests.fakes.serving import Changes
from tests.peers.processes import ROOT, free_port
from tests.waiting import until, within

OPERATOR = "operator-token-0123456789abcdef"
START_PATIENCE = 30.0  # seconds; far above the second a start takes, for machines that do other things as well
END_PATIENCE = 20.0  # seconds between a signal and the end
PATIENCE = 20.0  # seconds for what must happen soon
GLANCE = 0.02  # seconds between two looks at a process that says nothing by itself
AT_WORK = ("queued", "running", "attempting", "waiting")
REFUSED = (aiohttp.ClientError, ConnectionError, TimeoutError)

Tables = dict[str, Any]


class GatewayProcess:
    """One gateway and its folder; `config` None runs the built-in demo. The port stays the same over restarts."""

    def __init__(self, folder: Path, config: Tables | None = None, *, port: int = 0) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.port = port or free_port()
        self.config = config
        self.env: dict[str, str] = {}  # beside the test's own environment
        self.path = [ROOT]  # where the process finds modules, beside its installed ones
        self.before: list[str] = []  # a command that runs the process as its arguments say
        self.lines: list[str] = []  # everything the processes said on standard error, in order
        self.private: set[str] = {OPERATOR}
        self.expected_errors: set[str] = set()  # events that may be of level error in this test
        self.token = OPERATOR
        self.changes = Changes()
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._http: aiohttp.ClientSession | None = None

    # ------------------------------------------------------------------ the process

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def database(self) -> Path:
        return self.folder / "desk.db"

    @property
    def pid(self) -> int:
        assert self._process is not None, "the gateway is not running"
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    @property
    def memory(self) -> int:
        """Resident bytes."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return 1024 * int(re.findall(r"^VmRSS:\s+(\d+)", status, re.MULTILINE)[0])

    def configure(self, section: str, **settings: Any) -> None:
        """Change settings of a table such as "plugins.support" before the next start; None removes one."""
        table = self.config = {} if self.config is None else self.config
        for name in section.split("."):
            table = table.setdefault(name, {})
        table.update(settings)
        for name in [name for name, value in table.items() if value is None]:
            del table[name]

    async def start(self, *, crashpoint: str = "", until_ready: bool = True) -> None:
        """Raises AssertionError with what it said when it ends, TimeoutError when it does not become ready."""
        await self.launch(crashpoint=crashpoint)
        if until_ready:
            await self.until_ready()

    async def launch(self, *, crashpoint: str = "") -> None:
        assert not self.is_running, "the gateway is running already"
        armed = {"FRONTDESK_CRASHPOINT": crashpoint} if crashpoint else {}
        self._process = await asyncio.create_subprocess_exec(
            *[*self.before, sys.executable, "-m", "gateway", "run", *self._options()],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, self.path)), **self.env, **armed},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        self._reader = asyncio.create_task(self._read(self._process), name=f"gateway-log-{self._process.pid}")

    async def until_ready(self, *, seconds: float = START_PATIENCE) -> None:
        async def ready() -> bool:
            assert self.is_running, "the gateway ended instead of becoming ready:\n" + self.tail()
            with suppress(*REFUSED):
                return await self.status("/readyz") == 200
            return False

        await look(ready, seconds=seconds, what="the gateway to be ready")

    async def kill(self) -> None:
        """SIGKILL, as power failing would: nothing is saved."""
        self._signal(signal.SIGKILL)
        await self.ended()

    async def stop(self) -> int:
        """SIGTERM; the exit code."""
        self._signal(signal.SIGTERM)
        return await self.ended()

    async def restart(self, *, crashpoint: str = "") -> None:
        """Kill it, if it lives, and start it again on the same folder."""
        if self.is_running:
            await self.kill()
        await self.start(crashpoint=crashpoint)

    def write(self) -> None:
        """Put the settings where the gateway and its commands read them, while it runs as it was started."""
        self._options()

    async def reread(self) -> dict[str, Any]:
        """Have it read the configuration as it is by now; the event that it did."""
        seen = len(self.events("configuration.reread"))
        self._options()
        self._signal(signal.SIGHUP)
        return await self.event("configuration.reread", n=seen + 1)

    async def ended(self, *, seconds: float = END_PATIENCE) -> int:
        """The exit code, once it has ended."""
        assert self._process is not None, "the gateway was never started"
        assert self._reader is not None
        async with within(seconds, what="the gateway to end"):
            code = await self._process.wait()
            await asyncio.shield(self._reader)
        return code

    async def close(self) -> None:
        """End whatever still runs."""
        if self.is_running:
            self._signal(signal.SIGKILL)
            await self.ended()
        http, self._http = self._http, None
        if http is not None:
            await http.close()

    # ------------------------------------------------------------------ over HTTP

    @property
    def http(self) -> aiohttp.ClientSession:
        """A client that opens a connection for each request: the process behind the port changes."""
        if self._http is None:
            connector = aiohttp.TCPConnector(force_close=True, limit=0)
            timeout = aiohttp.ClientTimeout(total=PATIENCE)
            self._http = aiohttp.ClientSession(connector=connector, timeout=timeout)
        return self._http

    async def status(self, path: str, method: str = "GET", **options: Any) -> int:
        async with self.http.request(method, self.base + path, **options) as answer:
            await answer.read()
            return answer.status

    async def api(self, path: str, method: str = "GET") -> dict[str, Any]:
        """A call of the control API, below /api/v1; raises for anything but success."""
        headers = {"Authorization": f"Bearer {self.token}"}
        async with self.http.request(method, f"{self.base}/api/v1/{path}", headers=headers) as answer:
            answer.raise_for_status()
            found: dict[str, Any] = await answer.json()
            return found

    async def say(self, path: str, body: dict[str, str]) -> int:
        """The status of a POST to the control API."""
        return await self.status(
            f"/api/v1/{path}", "POST", headers={"Authorization": f"Bearer {self.token}"}, json=body
        )

    async def items(self, path: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (await self.api(path))["items"]
        return found

    async def summary(self) -> dict[str, Any]:
        return await self.api("summary?ids=1")

    async def at_rest(self, *, seconds: float = PATIENCE) -> dict[str, Any]:
        """The summary, once nothing is queued, running, waiting or being sent."""

        async def resting() -> dict[str, Any] | None:
            summary = await self.summary()
            return None if at_work(summary) else summary

        found: dict[str, Any] = await look(resting, seconds=seconds, what="the gateway to come to rest")
        return found

    async def until_delivered(self, n: int = 1, *, seconds: float = PATIENCE) -> None:
        """Returns once so many deliveries are known to have been shown."""

        async def enough() -> bool:
            return bool((await self.summary())["deliveries"].get("delivered", 0) >= n)

        await look(enough, seconds=seconds, what=f"{n} deliveries to be recorded")

    # ------------------------------------------------------------------ the log

    def events(self, name: str, **fields: object) -> list[dict[str, Any]]:
        """The log's events of that name which have these fields."""
        found = [event for line in self.lines if (event := _parsed(line)).get("event") == name]
        return [event for event in found if fields.items() <= event.items()]

    async def event(self, name: str, *, n: int = 1, seconds: float = PATIENCE, **fields: object) -> dict[str, Any]:
        """The n-th such event, once it is in the log."""

        def enough() -> list[dict[str, Any]]:
            found = self.events(name, **fields)
            return found if len(found) >= n else []

        found = await self.changes.until(enough, timeout=seconds, what=f"{n} events {name} {fields}")
        return found[n - 1]

    def tail(self, lines: int = 40) -> str:
        return "\n".join(self.lines[-lines:])

    def check_log(self) -> None:
        """One event a line, nothing private in it, and no error that the test did not expect."""
        text = "\n".join(self.lines)
        leaked = sorted(word for word in self.private if word in text)
        assert not leaked, f"the log shows {leaked}"
        complains = False  # its own words to whoever started it: one line, and one more for each mistake
        for line in self.lines:
            event = _parsed(line)
            complains = line.startswith("frontdesk: ") or (complains and line.startswith("  "))
            assert event or complains, f"not an event: {line}"
            is_expected = event.get("level") != "error" or event["event"] in self.expected_errors
            assert is_expected, f"an unexpected error in the log: {line}"

    # ------------------------------------------------------------------ tools

    def _options(self) -> list[str]:
        if self.config is None:
            self.env["FRONTDESK_GATEWAY__PORT"] = str(self.port)
            return []
        path = self.folder / "frontdesk.toml"
        path.touch(mode=0o600)
        path.write_text(toml(self.config))
        return ["--config", str(path)]

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None, "the gateway was never started"
        with suppress(ProcessLookupError):
            self._process.send_signal(number)

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None
        while line := await process.stderr.readline():
            if line.endswith(b"\n"):  # a kill may cut the last one
                self.lines.append(line.decode(errors="replace").rstrip("\n"))
                self.changes.mark()


def at_work(summary: Mapping[str, Any]) -> int:
    """How many turns, threads and deliveries of a summary are not at rest."""
    kinds = ("turns", "threads", "deliveries")
    return sum(summary.get(kind, {}).get(state, 0) for kind in kinds for state in AT_WORK)


def admitted(summary: Mapping[str, Any]) -> int:
    """How many messages of a summary became envelopes; what was refused is counted beside them."""
    return sum(count for state, count in summary["envelopes"].items() if state not in ("refused", "unreadable"))


async def look(condition: Callable[[], Awaitable[Any]], *, seconds: float = PATIENCE, what: str = "it") -> Any:
    """What the condition gives, once it is true; a TimeoutError that names `what` when it never is."""
    try:
        return await until(condition, seconds=seconds, pause=GLANCE)
    except TimeoutError:
        raise TimeoutError(f"waited {seconds:g} s in vain for {what}") from None


def toml(tables: Tables) -> str:
    """The tables as TOML: two levels of headings, everything deeper inline."""
    lines = []
    for section, table in tables.items():
        named = {"": table} if section == "gateway" else table
        for name, settings in named.items():
            lines.append(f"[{section}.{name}]" if name else f"[{section}]")
            lines += [f"{key} = {_value(value)}" for key, value in settings.items()]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_value(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    return json.dumps(value)


def _parsed(line: str) -> dict[str, Any]:
    """The event of a line, {} for a line that is none."""
    with suppress(ValueError):
        event = json.loads(line)
        if isinstance(event, dict):
            return event
    return {}


async def doctor(gateway: GatewayProcess) -> tuple[int | None, str, str]:
    """The exit code of `frontdesk doctor`, and what it said on both outputs."""
    process = await asyncio.create_subprocess_exec(
        *[sys.executable, "-m", "gateway", "doctor", "--config", str(gateway.folder / "frontdesk.toml")],
        cwd=gateway.folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, gateway.path)), "NO_COLOR": "1"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with within(PATIENCE):
        said, complained = await process.communicate()
    return process.returncode, said.decode(), complained.decode()
