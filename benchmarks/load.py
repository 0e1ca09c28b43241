"""The driver: sends a series of requests to a server on this machine and believes only what it can check.

Every response is read to its end and judged; a message counts as accepted when its answer has the right status and
holds what it must. As Telegram does, the driver repeats what was answered 429 or 5xx or not at all, with the same id.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from benchmarks.connection import Connection
from benchmarks.percentiles import Spread
from benchmarks.responses import BrokenResponse, Response
from benchmarks.schedule import Schedule, Sending
from benchmarks.series import Series

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
REQUEST_TIMEOUT = 30.0  # seconds, of one exchange
RETRY_DELAY = 0.1  # seconds between two sendings of one message


Requests = Callable[[int], bytes]
"""The whole HTTP request of the message with an index."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to send where. `seconds` bounds the time in which new messages are begun; 0 leaves it to the series."""

    url: str
    series: Series
    connections: int
    secret: str = ""  # Telegram's secret token
    rate: float = 0.0  # messages a second; 0: closed loop
    duplicates: float = 0.0  # share of the sendings that repeat a recent message
    in_order: bool = False  # each chat's messages over one connection
    seconds: float = 0.0
    retries: int = 0  # a message, after 429, 5xx or no answer
    expected: bytes = b""  # what the body of every answer must hold
    make: Callable[["Plan"], Requests] | None = None  # what makes the requests; None: Telegram's webhook
    judge: Callable[[int, Response], str] | None = None  # what is wrong with a 2xx answer, "" when it is right


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Unix times, as the stubs note theirs: when the message was due or first sent, and when it was answered."""

    sent: float
    answered: float


@dataclass(frozen=True, slots=True)
class Report:
    accepted: Mapping[int, Acceptance]  # by the message's index
    answers: int  # right ones; a duplicate's counts too
    errors: Mapping[str, int]
    retried: int
    wall: float  # seconds
    latency: Spread
    driver_cpu: float  # share of one core; near 1 the driver was the limit

    @property
    def rate(self) -> float:
        """Right answers a second."""
        return self.answers / self.wall if self.wall else 0.0

    @property
    def failed(self) -> int:
        return sum(self.errors.values())


def webhook_request(plan: Plan) -> Requests:
    """Telegram's webhook requests."""
    parts, template = urlsplit(plan.url), plan.series.template()
    secret = f"X-Telegram-Bot-Api-Secret-Token: {plan.secret}\r\n" if plan.secret else ""
    head = (
        f"POST {parts.path or '/'} HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Type: application/json\r\n"
        f"{secret}Content-Length: {len(plan.series.fill(template, 0))}\r\n\r\n"
    ).encode()
    return lambda index: head + plan.series.fill(template, index)


async def drive(plan: Plan) -> Report:
    """Raises ValueError for an address that is not this machine's own."""
    return await _Driver(plan).run()


@dataclass(slots=True)
class _Tally:
    accepted: dict[int, Acceptance] = field(default_factory=dict)
    latencies: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    retried: int = 0


class _Driver:
    def __init__(self, plan: Plan) -> None:
        parts = urlsplit(plan.url)
        if parts.scheme != "http" or parts.hostname not in LOOPBACK or parts.port is None:
            raise ValueError(f"{plan.url}: the driver loads only http addresses of this machine, with a port")
        self._plan = plan
        self._host, self._port = parts.hostname, parts.port
        self._request = (plan.make or webhook_request)(plan)
        self._schedule = Schedule(
            plan.series.total,
            connections=plan.connections,
            chats=plan.series.chats,
            rate=plan.rate,
            duplicates=plan.duplicates,
            in_order=plan.in_order,
        )
        self._tally = _Tally()
        self._began = 0.0

    async def run(self) -> Report:
        cpu = time.process_time()
        self._began = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for number in range(self._plan.connections):
                group.create_task(self._work(number), name=f"load-{number}")
        wall = time.perf_counter() - self._began
        tally = self._tally
        return Report(
            accepted=tally.accepted,
            answers=len(tally.latencies),
            errors=dict(tally.errors),
            retried=tally.retried,
            wall=wall,
            latency=Spread.of(tally.latencies),
            driver_cpu=(time.process_time() - cpu) / wall if wall else 0.0,
        )

    async def _work(self, number: int) -> None:
        connection = Connection(self._host, self._port, REQUEST_TIMEOUT)
        try:
            while not self._is_over and (sending := self._schedule.take(number)) is not None:
                await self._deliver(connection, sending)
        finally:
            connection.close()

    @property
    def _is_over(self) -> bool:
        return 0 < self._plan.seconds < time.perf_counter() - self._began

    async def _deliver(self, connection: Connection, sending: Sending) -> None:
        due = self._began + sending.due
        if self._plan.rate and (wait := due - time.perf_counter()) > 0:
            await asyncio.sleep(wait)
        began, unix = time.perf_counter(), time.time()
        if self._plan.rate:
            began, unix = due, unix - (began - due)
        problem = await self._until_accepted(connection, sending.index)
        if problem:
            self._tally.errors[problem] += 1
            return
        self._tally.latencies.append(time.perf_counter() - began)
        self._tally.accepted.setdefault(sending.index, Acceptance(unix, time.time()))

    async def _until_accepted(self, connection: Connection, index: int) -> str:
        """The last problem's name, or "" when it was accepted."""
        problem, request = "", self._request(index)
        for left in range(self._plan.retries, -1, -1):
            try:
                problem, may_repeat = self._judge(index, await connection.ask(request))
            except BrokenResponse as error:
                problem, may_repeat = str(error), True
            if not problem or not may_repeat or not left:
                break
            self._tally.retried += 1
            await asyncio.sleep(RETRY_DELAY)
        return problem

    def _judge(self, index: int, response: Response) -> tuple[str, bool]:
        """The problem's name, "" when there is none, and whether a platform would send the same again."""
        status = response.status
        if not 200 <= status < 300:
            return f"http_{status}", status == 429 or status >= 500
        if self._plan.judge is not None:
            return self._plan.judge(index, response), False
        return ("", False) if self._plan.expected in response.body else ("unexpected_body", False)
