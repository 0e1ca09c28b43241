"""People of two Official Accounts, one with and one without customer-service messages, and a gateway that is restarted
and killed under them: each question is answered once, presumed, uncertain and said so, or waiting for its person.

    .venv/bin/python -m tests.journeys.wechat_soak

asks two thousand people, prints its figures, and fails when one of them is wrong. Time is scaled: the platform's five
seconds are `scale` times as long, and so are the agent's sixty. The tests run the same with a few people.

What a busy machine takes before it looks at a request does not scale, so a late answer is judged by what was late about
it: time in which the machine kept the gateway (Linux counts it) or this very process waiting, where that moves an
answer's end, is taken off. Its beginning and what comes after the instant at which an answer is due do so.
"""

import argparse
import asyncio
import math
import random
import re
import sys
import tempfile
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.fakes.agent import ScriptedAgent
from tests.fakes.agent_events import Event, artifact, completed, working
from tests.fakes.agent_scripts import AgentScript, Call
from tests.fakes.wechat import FakeWechat, open_id
from tests.fakes.wechat_pushes import Push, Pushes, Request
from tests.journeys.process import GatewayProcess
from tests.journeys.setting_wechat import account, configured

QUICKEST, SLOWEST = 0.1, 60.0  # seconds that an answer takes, before scaling
DUE, LATE = 4.05, 4.5  # seconds, before scaling: when the gateway means to answer, and after which nothing may come
OPENING = 0.45  # seconds, before scaling, in which a request reaches its handler
TOKEN_ENDS = 2  # times the platform ends the access_token
LOOK = 0.02  # seconds between two looks at what the machine withholds


@dataclass(frozen=True)
class Size:
    people: int  # half of them with each account
    seconds: float  # over which they write, after scaling
    scale: float
    rest: float  # seconds in which everything comes to rest


FULL = Size(people=2000, seconds=100.0, scale=0.5, rest=120.0)
SMALL = Size(people=40, seconds=12.0, scale=0.1, rest=60.0)


@dataclass
class Crowd:
    """The people of one account. A question that no request of the platform could bring is not asked by anybody."""

    platform: FakeWechat
    pushes: Pushes
    pushed: dict[int, Push] = field(default_factory=dict)

    async def ask(self, number: int, after: float) -> None:
        await asyncio.sleep(after)
        self.pushed[number] = await self.pushes.says(open_id(f"p{number}"), f"question {number}")

    def shown(self) -> Counter[int]:
        """How often each answer stands in its chat."""
        texts = [(name, text) for name, person in self.platform.people.items() for text in person.texts]
        found = [(name, int(number)) for name, text in texts for number in re.findall(r"answer (\d+);", text)]
        assert all(name == open_id(f"p{number}") for name, number in found), "an answer in another person's chat"
        return Counter(number for _, number in found)

    @property
    def answered(self) -> list[Request]:
        return [request for push in self.pushed.values() for request in push.requests if request.status == 200]


class Withheld:
    """Seconds in which the machine kept the gateway or this process waiting, the longer of the two at each look."""

    def __init__(self, gateway: GatewayProcess) -> None:
        self._gateway = gateway
        self._moments, self._totals = [time.monotonic()], [0.0]
        self._last = (0, 0.0)  # process, and how long it has waited for a processor

    async def watch(self) -> None:
        while True:
            began = time.monotonic()
            await asyncio.sleep(LOOK)
            now = time.monotonic()
            self._moments.append(now)
            self._totals.append(self._totals[-1] + max(now - began - LOOK, self._kept_waiting()))

    def during(self, request: Request, scale: float) -> float:
        ended = request.began + request.seconds
        return self._between(request.began, min(ended, request.began + OPENING * scale)) + self._between(
            request.began + DUE * scale, ended
        )

    @property
    def in_all(self) -> float:
        return self._totals[-1]

    def _between(self, since: float, until: float) -> float:
        if until <= since:
            return 0.0
        first = max(0, bisect_left(self._moments, since) - 1)
        last = min(len(self._moments) - 1, bisect_left(self._moments, until))
        return self._totals[last] - self._totals[first]

    def _kept_waiting(self) -> float:
        """Of the gateway's main thread, since the last look (Linux, Documentation/scheduler/sched-stats)."""
        pid, waited = self._last
        with suppress(OSError, AssertionError):  # it is being restarted, or the system does not count
            now = self._gateway.pid
            self._last = now, int(Path(f"/proc/{now}/task/{now}/schedstat").read_text().split()[1]) / 1e9
        return self._last[1] - waited if self._last[0] == pid else 0.0


@dataclass(frozen=True)
class Figures:
    size: Size
    asked: set[int]
    shown: Counter[int]
    roads: Counter[str]
    deliveries: Counter[str]
    unknown: int
    requests: int
    times: Sequence[float]  # of the answered ones, in seconds before scaling, sorted
    late: Sequence[float]  # the same of those after LATE
    late_by_us: Sequence[float]  # without what the machine withheld
    withheld: float
    tokens: int

    def faults(self, *, is_timed: bool) -> list[str]:
        waiting = self.deliveries["waiting_for_user"]
        lost = len(self.asked - set(self.shown))
        is_accounted_for = waiting <= lost <= waiting + self.unknown
        found = {
            "an answer was shown twice": max(self.shown.values(), default=0) > 1,
            "an answer was shown to nobody and is neither waiting nor unknown": not is_accounted_for,
            "a delivery is dead or rejected": bool(self.deliveries["dead"] or self.deliveries["rejected"]),
            "not one token for each expiry": not 1 <= self.tokens <= 1 + TOKEN_ENDS,
            "an attempt was answered too late": is_timed and bool(self.late_by_us),
        }
        return [fault for fault, is_so in found.items() if is_so]

    def __str__(self) -> str:
        def at(share: float) -> float:
            return self.times[min(len(self.times) - 1, int(share * len(self.times)))]

        said = {
            "people": f"{self.size.people}, {len(self.asked)} of them asked",
            "answers shown": f"{len(self.shown)}: {dict(self.roads)}",
            "waiting for their person": self.deliveries["waiting_for_user"],
            "unknown": self.unknown,
            "deliveries": dict(self.deliveries),
            "requests": f"{self.requests}, {len(self.times)} answered",
            "answered after": f"{at(0.5):.2f} s (half), {at(0.99):.2f} s (99 %), {at(1.0):.2f} s (all)",
            f"later than {LATE} s": f"{len(self.late)} {self.late}",
            "  by the gateway itself": f"{len(self.late_by_us)} {self.late_by_us}",
            "withheld by the machine": f"{self.withheld:.1f} s",
            "tokens fetched": f"{self.tokens}, {TOKEN_ENDS} were ended",
            "scale": f"{self.size.scale}; two restarts and a kill -9",
        }
        return "\n".join(f"{name:25}{value}" for name, value in said.items())


async def soak(folder: Path, size: Size) -> Figures:
    async with AsyncExitStack() as stack:
        sending, silent = [await stack.enter_async_context(FakeWechat()) for _ in range(2)]
        silent.may_send = False
        agent = await stack.enter_async_context(ScriptedAgent(thinking(size.scale)))
        names = {
            "sending": account(sending, size.scale),
            "silent": account(silent, size.scale, customer_service=False),
        }
        gateway = await stack.enter_async_context(configured(folder, agent.card_url, names))
        gateway.configure("gateway", max_turns=512)
        crowds = []
        for platform, name in ((sending, "sending"), (silent, "silent")):
            pushes = Pushes(platform, f"{gateway.base}/hooks/{name}", scale=size.scale)
            crowds.append(Crowd(platform, await stack.enter_async_context(pushes)))
        await gateway.start()
        withheld = await crowded(gateway, crowds, sending, size)
        figures = await measured(gateway, crowds, withheld, size)
        gateway.check_log()
        return figures


def thinking(scale: float) -> AgentScript:
    async def script(call: Call) -> AsyncIterator[Event]:
        number = int(call.text.removeprefix("question "))
        yield working()
        await asyncio.sleep(scale * takes(number))
        yield artifact(f"answer {number};", last=True)
        yield completed()

    return script


def takes(number: int) -> float:
    """Seconds for the answer to a question, spread evenly over the orders of magnitude."""
    share = random.Random(number).random()
    return QUICKEST * math.exp(share * math.log(SLOWEST / QUICKEST))


async def crowded(gateway: GatewayProcess, crowds: list[Crowd], sending: FakeWechat, size: Size) -> Withheld:
    """Everybody writes, and the gateway has its troubles; returns when the platform has asked for the last time."""
    chance, withheld = random.Random(7), Withheld(gateway)
    async with asyncio.TaskGroup() as tasks:
        watching = tasks.create_task(withheld.watch())
        asking = [
            tasks.create_task(crowds[number % 2].ask(number, chance.uniform(0, size.seconds)))
            for number in range(size.people)
        ]
        asking.append(tasks.create_task(troubles(gateway, sending, size.seconds)))
        await asyncio.wait(asking)
        watching.cancel()
    return withheld


async def troubles(gateway: GatewayProcess, sending: FakeWechat, seconds: float) -> None:
    """Two restarts and a kill, spread over the time that people write; and the ends of two tokens."""
    for number in range(3):
        await asyncio.sleep(seconds / 4)
        await (gateway.kill() if number == 1 else gateway.stop())
        await gateway.start()
        if number < TOKEN_ENDS:
            sending.expire_tokens()


async def measured(gateway: GatewayProcess, crowds: list[Crowd], withheld: Withheld, size: Size) -> Figures:
    summary = await gateway.at_rest(seconds=size.rest)
    answered = [request for crowd in crowds for request in crowd.answered]
    late = [request for request in answered if request.seconds > LATE * size.scale]
    ours = [request for request in late if request.seconds - withheld.during(request, size.scale) > LATE * size.scale]
    people = [person for crowd in crowds for person in crowd.platform.people.values()]
    return Figures(
        size=size,
        asked=set(await asked(gateway)),
        shown=crowds[0].shown() + crowds[1].shown(),
        roads=Counter(each.road for person in people for each in person.shown if "answer " in each.text),
        deliveries=Counter(summary["deliveries"]),
        unknown=summary["unknown"],
        requests=sum(len(push.requests) for crowd in crowds for push in crowd.pushed.values()),
        times=sorted(request.seconds / size.scale for request in answered),
        late=[round(request.seconds / size.scale, 2) for request in late],
        late_by_us=[round(request.seconds / size.scale, 2) for request in ours],
        withheld=withheld.in_all,
        tokens=sum(crowd.platform.token_fetches for crowd in crowds),
    )


async def asked(gateway: GatewayProcess) -> list[int]:
    """The questions that became envelopes: of each person who is known, theirs."""
    sessions, cursor = [], ""
    while True:
        page = await gateway.api(f"sessions?limit=200{cursor}")
        sessions += page["items"]
        if not page.get("next"):
            break
        cursor = f"&cursor={page['next']}"
    return [int(match[1]) for session in sessions if (match := re.search(r"op(\d+)-", str(session)))]


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.journeys.wechat_soak", description=__doc__)
    options.add_argument("--people", type=int, default=FULL.people)
    options.add_argument("--seconds", type=float, default=FULL.seconds, help="over which they write")
    options.add_argument("--scale", type=float, default=FULL.scale, help="of the platform's times")
    given = options.parse_args()
    size = Size(given.people, given.seconds, given.scale, FULL.rest)
    with tempfile.TemporaryDirectory() as folder:
        figures = asyncio.run(soak(Path(folder) / "desk", size))
    print(figures)
    faults = figures.faults(is_timed=True)
    print("\n".join(f"FAULT: {fault}" for fault in faults) or "every promise was kept")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
