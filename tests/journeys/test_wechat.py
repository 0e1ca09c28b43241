"""People of two Official Accounts, one with and one without customer-service messages, and a gateway that is restarted
and killed under them: each question is answered once, presumed, uncertain and said so, or waiting for its person.

Time is scaled: the platform's five seconds are `SCALE` times as long, and so are the agent's sixty. FRONTDESK_SOAK=full
makes the crowd of it two thousand, its minutes long and its times the platform's own (`FRONTDESK_SOAK=full make test
TESTS=tests/journeys/test_wechat.py`): only at these does a deadline mean anything, since what a busy machine takes
before it looks at a request does not scale. While the machine gives this very process no time either, nobody's
deadline is judged. Else it is small enough for every run, and nothing is timed.
"""

import asyncio
import math
import os
import random
import re
import sys
import time
import tomllib
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.docs.reading import all_blocks, document
from tests.fakes.agent import ScriptedAgent
from tests.fakes.agent_events import Event, artifact, completed, working
from tests.fakes.agent_scripts import Call, echo
from tests.fakes.wechat import AES_KEY, APP_SECRET, TOKEN, FakeWechat, open_id
from tests.fakes.wechat_pushes import Push, Pushes, Request
from tests.journeys.process import OPERATOR, PATIENCE, GatewayProcess
from tests.journeys.setting_wechat import account, configured, official_account
from tests.peers.processes import free_port
from tests.waiting import within

IS_FULL = os.environ.get("FRONTDESK_SOAK") == "full"
PEOPLE = 2000 if IS_FULL else 40  # half of them with each account
SECONDS = 200.0 if IS_FULL else 12.0  # over which they write
SCALE = 1.0 if IS_FULL else 0.1
QUICKEST, SLOWEST = 0.1, 60.0  # seconds that an answer takes, before scaling
REST = 150.0 if IS_FULL else 60.0  # seconds in which everything comes to rest
STANDSTILL = 0.1  # seconds
TOKEN_ENDS = 2  # times the platform ends the access_token


def takes(number: int) -> float:
    """Seconds for the answer to a question, spread evenly over the orders of magnitude."""
    share = random.Random(number).random()
    return SCALE * QUICKEST * math.exp(share * math.log(SLOWEST / QUICKEST))


async def thinking(call: Call) -> AsyncIterator[Event]:
    number = int(call.text.removeprefix("question "))
    yield working()
    await asyncio.sleep(takes(number))
    yield artifact(f"answer {number};", last=True)
    yield completed()


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


class Standstills:
    """When the machine let this process stand still: what was asked then says nothing of who was asked."""

    def __init__(self) -> None:
        self.found: list[tuple[float, float]] = []  # from and to, on the monotonic clock

    async def watch(self) -> None:
        while True:
            began = time.monotonic()
            await asyncio.sleep(0.01)
            if time.monotonic() - began > STANDSTILL:
                self.found.append((began, time.monotonic()))

    def during(self, request: Request) -> bool:
        ended = request.began + request.seconds
        return any(began < ended and request.began < until for began, until in self.found)

    def __str__(self) -> str:
        longest = max((until - began for began, until in self.found), default=0.0)
        return f"{len(self.found)} standstills of the machine, the longest {longest:.2f} s"


async def troubles(gateway: GatewayProcess, sending: FakeWechat) -> None:
    """Two restarts and a kill, spread over the time that people write; and the ends of two tokens."""
    for number in range(3):
        await asyncio.sleep(SECONDS / 4)
        await (gateway.kill() if number == 1 else gateway.stop())
        await gateway.start()
        if number < TOKEN_ENDS:
            sending.expire_tokens()


def guide_of(name: str) -> str:
    """The configuration that a guide arrives at."""
    return next(block.text for block in all_blocks("toml") if block.document == f"docs/{name}")


@pytest.mark.parametrize("name", ["wechat.md", "wechat.zh.md"])
async def test_the_guide_leads_to_a_working_account(tmp_path: Path, name: str) -> None:
    """Its configuration as it stands, but for the port, the store, and the platform's address."""
    port = free_port()
    async with FakeWechat() as platform, GatewayProcess(tmp_path / "desk", port=port) as gateway:
        gateway.config = tomllib.loads(guide_of(name))
        gateway.configure("gateway", port=port, store=f"sqlite:///{gateway.database}", operator_token=OPERATOR)
        gateway.configure("plugins.desk", api_base=platform.base)
        gateway.env |= {"WECHAT_SECRET": APP_SECRET, "WECHAT_TOKEN": TOKEN, "WECHAT_AES_KEY": AES_KEY}
        await gateway.start()
        async with Pushes(platform, f"{gateway.base}/hooks/desk") as pushes:
            assert (await pushes.get({**pushes.query(), "echostr": "4711"}))[:2] == (200, "4711")
            assert (await pushes.says(open_id("ann"), "book a table")).reply == "For which day?"
            assert (await pushes.says(open_id("ann"), "tomorrow")).reply == (
                "Your table is booked for tomorrow. Enjoy your meal!"
            )
        assert await gateway.stop() == 0
        gateway.private |= {TOKEN, AES_KEY, APP_SECRET}
        gateway.check_log()


async def test_the_platform_of_the_tests_can_be_tried_by_hand(tmp_path: Path) -> None:
    """The command of the guide: what it prints are the account's settings, and each line typed is a message."""
    port = free_port()
    command = (sys.executable, "-m", "tests.fakes.wechat_console", f"http://127.0.0.1:{port}/hooks/desk")
    assert " ".join(command[1:3]) in document("docs/wechat.md")
    console = await asyncio.create_subprocess_exec(
        *command, cwd=ROOT, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert console.stdin is not None
    assert console.stdout is not None
    try:
        async with within(PATIENCE), GatewayProcess(tmp_path / "desk", port=port) as gateway:
            printed = [(await console.stdout.readline()).decode() for _ in range(3)]
            given = tomllib.loads("".join(printed[:2]))
            gateway.env |= dict(word.split("=") for word in printed[2].split()[1:])
            gateway.config = tomllib.loads(guide_of("wechat.md"))
            gateway.configure("gateway", port=port, store=f"sqlite:///{gateway.database}", operator_token=OPERATOR)
            gateway.configure("plugins.desk", **given)
            await gateway.start()
            console.stdin.write(b"book a table\n")
            assert (await console.stdout.readline()).startswith(b"< For which day?")
    finally:
        console.terminate()
        await console.wait()


@pytest.mark.case("DEL-03")
@pytest.mark.parametrize(
    "point", ["ingress.before_commit", "ingress.after_commit", "window.after_take", "deliver.after_send"]
)
async def test_wherever_the_process_dies_a_push_that_comes_again_is_answered_once(tmp_path: Path, point: str) -> None:
    async with official_account(tmp_path / "desk", echo) as (gateway, agent, platform, pushes):
        await gateway.start(crashpoint=point)
        pushing = asyncio.ensure_future(pushes.says(open_id("ann"), "hello"))
        await gateway.ended()
        await gateway.start()
        await pushing
        summary = await gateway.at_rest(seconds=REST)
        assert platform.people[open_id("ann")].texts == ["echo: hello"]
        assert (summary["unknown"], sum(agent.message_counts.values())) == (0, 1)


@pytest.mark.timeout(600 if IS_FULL else 120)
async def test_every_question_is_answered_once_presumed_or_waiting_over_restarts_and_a_kill(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        sending, silent = await stack.enter_async_context(FakeWechat()), await stack.enter_async_context(FakeWechat())
        agent = await stack.enter_async_context(ScriptedAgent(thinking))
        names = {"sending": account(sending, SCALE), "silent": account(silent, SCALE, customer_service=False)}
        gateway = await stack.enter_async_context(configured(tmp_path / "desk", agent.card_url, names))
        gateway.configure("gateway", max_turns=512)
        silent.may_send = False
        crowds = []
        for platform, name in ((sending, "sending"), (silent, "silent")):
            pushes = Pushes(platform, f"{gateway.base}/hooks/{name}", scale=SCALE)
            crowds.append(Crowd(platform, await stack.enter_async_context(pushes)))
        await gateway.start()
        chance, standstills = random.Random(7), Standstills()
        async with asyncio.TaskGroup() as tasks:
            watching = tasks.create_task(standstills.watch())
            asking = [
                tasks.create_task(crowds[number % 2].ask(number, chance.uniform(0, SECONDS)))
                for number in range(PEOPLE)
            ]
            asking.append(tasks.create_task(troubles(gateway, sending)))
            await asyncio.wait(asking)
            watching.cancel()
        await check(gateway, crowds, sending, standstills)
        gateway.check_log()


async def check(gateway: GatewayProcess, crowds: list[Crowd], sending: FakeWechat, standstills: Standstills) -> None:
    summary = await gateway.at_rest(seconds=REST)
    shown = crowds[0].shown() + crowds[1].shown()
    deliveries, accepted = Counter(summary["deliveries"]), set(await asked(gateway))
    unknown, waiting = summary["unknown"], deliveries["waiting_for_user"]
    requests = [request for crowd in crowds for push in crowd.pushed.values() for request in push.requests]
    times = [request.seconds / SCALE for request in requests if request.status == 200]
    slow = [each for each in requests if each.status == 200 and each.seconds / SCALE > 4.5]
    late = [round(each.seconds / SCALE, 2) for each in slow if not standstills.during(each)]
    said = (
        f"{PEOPLE} people, {len(accepted)} accepted, {len(shown)} shown, {waiting} waiting, {unknown} unknown, "
        f"{len(requests)} requests, {len(times)} answered, the slowest after {max(times):.2f} scaled s, "
        f"later than 4.5: {late}, and {len(slow) - len(late)} during {standstills}, {sending.token_fetches} tokens"
    )
    print(said)
    assert not {number for number, times in shown.items() if times > 1}, said
    assert waiting <= len(accepted - set(shown)) <= waiting + unknown, said
    assert deliveries["dead"] == deliveries["rejected"] == 0, said
    assert 1 <= sending.token_fetches <= 1 + TOKEN_ENDS, said
    assert len(accepted) > PEOPLE * (0.5 if IS_FULL else 0.05), said  # a start may outlast the small ones' patience
    if IS_FULL:
        assert not late, said


async def asked(gateway: GatewayProcess) -> list[int]:
    """The questions that became envelopes, as the agent was asked them at least once."""
    sessions, cursor = [], ""
    while True:
        page = await gateway.api(f"sessions?limit=200{cursor}")
        sessions += page["items"]
        if not page.get("next"):
            break
        cursor = f"&cursor={page['next']}"
    return [int(match[1]) for session in sessions if (match := re.search(r"op(\d+)-", str(session)))]
