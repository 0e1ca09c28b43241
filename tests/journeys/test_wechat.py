"""An Official Account from its guide to a crowd that writes while its gateway is restarted and killed."""

import asyncio
import sys
import tomllib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.docs.reading import all_blocks, document
from tests.fakes.agent_scripts import echo
from tests.fakes.wechat import AES_KEY, APP_SECRET, FAILURE, TOKEN, FakeWechat, open_id
from tests.fakes.wechat_pushes import Pushes
from tests.journeys.process import OPERATOR, PATIENCE, GatewayProcess
from tests.journeys.setting_wechat import official_account
from tests.journeys.wechat_soak import SMALL, soak
from tests.peers.processes import free_port
from tests.waiting import within


def guide_of(name: str) -> str:
    """The configuration that a guide arrives at."""
    return next(block.text for block in all_blocks("toml") if block.document == f"docs/{name}")


@asynccontextmanager
async def running(command: Sequence[str]) -> AsyncIterator[tuple[asyncio.StreamWriter, asyncio.StreamReader]]:
    process = await asyncio.create_subprocess_exec(
        *command, cwd=ROOT, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield process.stdin, process.stdout
    finally:
        process.terminate()
        await process.communicate()  # to the end of its output, so that its pipes are closed too


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
    """The command of the guide: what it prints are the account's settings, and each line typed is a message.

    Started again, beside the same gateway, its messages are new ones.
    """
    port = free_port()
    command = (sys.executable, "-m", "tests.fakes.wechat_console", f"http://127.0.0.1:{port}/hooks/desk")
    assert " ".join(command[1:3]) in document("docs/wechat.md")
    async with within(3 * PATIENCE), GatewayProcess(tmp_path / "desk", port=port) as gateway:  # four processes start
        async with running(command) as (typed, shown):
            printed = [(await shown.readline()).decode() for _ in range(3)]
            given = tomllib.loads("".join(printed[:2]))
            gateway.env |= dict(word.split("=") for word in printed[2].split()[1:])
            gateway.config = tomllib.loads(guide_of("wechat.md"))
            gateway.configure("gateway", port=port, store=f"sqlite:///{gateway.database}", operator_token=OPERATOR)
            gateway.configure("plugins.desk", **given)
            await gateway.start()
            typed.write(b"book a table\n")
            assert (await shown.readline()).startswith(b"< For which day?")
        async with running(command) as (typed, shown):
            for _ in range(3):
                await shown.readline()
            typed.write(b"Friday\n")
            assert (await shown.readline()).startswith(b"< Your table is booked"), "taken for one of the first start"


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
        summary = await gateway.at_rest(seconds=60.0)
        shown = platform.people[open_id("ann")].texts
        assert [text for text in shown if text != FAILURE] == [
            "echo: hello"
        ]  # a start may outlast the platform's patience
        assert (summary["unknown"], sum(agent.message_counts.values())) == (0, 1)


@pytest.mark.case("DEL-03")
async def test_after_a_kill_an_answer_on_a_last_push_whose_earlier_ones_nobody_saw_is_unknown(
    tmp_path: Path,
) -> None:
    """The gateway was down for those, and dies as soon as the answer rides on this one: nobody asks any more."""
    async with official_account(tmp_path / "desk", echo, customer_service=False) as (gateway, _, platform, pushes):
        await gateway.start(crashpoint="window.after_take")
        platform.wrote(open_id("ann"))
        message = pushes.message(open_id("ann"), "text", Content="hello", age=3 * pushes.patience)
        assert (await pushes.request(message)).status is None
        await gateway.ended()
        await gateway.start()
        summary = await gateway.at_rest(seconds=60.0)
        assert summary["deliveries"] == {"unknown": 1, "delivered": 0}, "taken for shown"


@pytest.mark.timeout(120)
async def test_every_question_is_answered_once_presumed_or_waiting_over_restarts_and_a_kill(tmp_path: Path) -> None:
    """The soak with a few people; nothing is timed."""
    figures = await soak(tmp_path / "desk", SMALL)
    assert figures.faults(is_timed=False) == [], str(figures)
    assert len(figures.asked) > SMALL.people / 20, str(figures)  # a start may outlast the patience of the others
