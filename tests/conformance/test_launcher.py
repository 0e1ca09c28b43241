"""The server that the kits are run against starts as documented, and answers by the ids that the kits give."""

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from tests.a2a.server.site import message
from tests.peers.processes import ROOT

SOON = aiohttp.ClientTimeout(total=20)  # seconds
V10 = {"A2A-Version": "1.0"}


@pytest.fixture(params=["1.0", "hybrid"])
async def launched(request: pytest.FixtureRequest) -> AsyncIterator[tuple[str, str]]:
    """Its address, and the kind of card."""
    pipe = asyncio.subprocess.PIPE
    command = [sys.executable, "-m", "tests.conformance", "--card", request.param]
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=pipe)
    assert process.stdout is not None
    async with asyncio.timeout(60):
        found = re.fullmatch(rb"listening on (\d+)\n", await process.stdout.readline())
    assert found is not None
    yield f"http://127.0.0.1:{int(found[1])}", request.param
    process.terminate()
    assert await process.wait() == 0


async def test_it_answers_as_the_kits_expect(launched: tuple[str, str]) -> None:
    base, kind = launched
    async with aiohttp.ClientSession(timeout=SOON, headers=V10) as http:
        async with http.get(f"{base}/.well-known/agent-card.json") as answer:
            card: dict[str, Any] = await answer.json()
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
