"""The server that the kits are run against starts as documented, and answers by the ids that the kits give."""

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from tests.a2a.server.site import message
from tests.conformance.__main__ import command_line
from tests.peers.processes import ROOT
from tests.waiting import within

SOON = aiohttp.ClientTimeout(total=20)  # seconds
V10 = {"A2A-Version": "1.0"}


@asynccontextmanager
async def launching(*options: str) -> AsyncIterator[str]:
    """Its address."""
    pipe = asyncio.subprocess.PIPE
    command = [sys.executable, "-m", "tests.conformance", *options]
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=pipe)
    assert process.stdout is not None
    async with within(60):
        found = re.fullmatch(rb"listening on (\d+)\n", await process.stdout.readline())
    assert found is not None
    yield f"http://127.0.0.1:{int(found[1])}"
    process.terminate()
    assert await process.wait() == 0


async def card_of(http: aiohttp.ClientSession, base: str) -> dict[str, Any]:
    async with http.get(f"{base}/.well-known/agent-card.json") as answer:
        card: dict[str, Any] = await answer.json()
        return card


@pytest.mark.parametrize("kind", ["1.0", "hybrid"])
async def test_it_answers_as_the_kits_expect(kind: str) -> None:
    async with launching("--card", kind) as base, aiohttp.ClientSession(timeout=SOON, headers=V10) as http:
        card = await card_of(http, base)
        assert ("url" in card) is (kind == "hybrid")
        url = card["supportedInterfaces"][0]["url"]
        for id, state in (
            ("tck-complete-task-1", "TASK_STATE_COMPLETED"),
            ("tck-artifact-data-1", "TASK_STATE_COMPLETED"),
            ("tck-input-required-1", "TASK_STATE_INPUT_REQUIRED"),
            ("tck-reject-task-1", "TASK_STATE_REJECTED"),
            ("tck-anything-else", "TASK_STATE_COMPLETED"),
            ("another", "TASK_STATE_INPUT_REQUIRED"),
        ):
            async with http.post(f"{url}/message:send", json=message("hello", messageId=id)) as answer:
                assert (await answer.json())["task"]["status"]["state"] == state


async def test_it_does_without_what_is_switched_off() -> None:
    without = ("--without", "streaming,push,extended-card")
    async with launching(*without) as base, aiohttp.ClientSession(timeout=SOON, headers=V10) as http:
        card = await card_of(http, base)
        assert set(card["capabilities"].values()) == {False}
        url = card["supportedInterfaces"][0]["url"]
        for method, path, reason in (
            ("POST", "/message:stream", "UNSUPPORTED_OPERATION"),
            ("GET", "/tasks/any:subscribe", "UNSUPPORTED_OPERATION"),
            ("GET", "/tasks/any/pushNotificationConfigs", "PUSH_NOTIFICATION_NOT_SUPPORTED"),
            ("GET", "/extendedAgentCard", "UNSUPPORTED_OPERATION"),
        ):
            async with http.request(method, url + path, json=message("hello") if method == "POST" else None) as answer:
                said = await answer.json()
            assert (answer.status, said["error"]["details"][0]["reason"]) == (400, reason)


def test_a_capability_that_there_is_not_is_refused_with_those_that_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        command_line().parse_args(["--without", "push,telepathy"])
    assert "no capability 'telepathy'; there are streaming, push, extended-card" in capsys.readouterr().err
