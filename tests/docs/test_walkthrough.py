"""The configurations of the documents, in a real process: what is said of them happens."""

import asyncio
import json
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.conftest import ROOT
from tests.docs.reading import all_blocks
from tests.fakes.agent import ScriptedAgent
from tests.fakes.agent_card import BearerAuth
from tests.fakes.telegram import FakeTelegram
from tests.journeys.process import GatewayProcess
from tests.waiting import within

ANN, STRANGER = 123456789, 555  # the documents' own example id, and somebody else's
NEXT = "---- the next call"


def configuration(document: str, containing: str) -> str:
    return next(it.text for it in all_blocks("toml") if it.document == document and containing in it.text)


@asynccontextmanager
async def gateway(folder: Path, written: str, **env: str) -> AsyncIterator[GatewayProcess]:
    """A gateway that finds the configuration as frontdesk.toml in its folder; its address is its own, unless given."""
    (folder / "frontdesk.toml").write_text(written)
    async with GatewayProcess(folder) as process:
        process.env |= {"FRONTDESK_GATEWAY__PUBLIC_URL": process.base, **env}
        await process.start()
        process.token = (folder / ".frontdesk" / "operator-token").read_text().strip()
        yield process
        assert await process.stop() == 0


async def test_the_readmes_telegram_account_is_answered_by_its_remote_agent(tmp_path: Path) -> None:
    async with FakeTelegram() as telegram, ScriptedAgent(auth=BearerAuth("research-secret")) as agent:
        env = {
            "TELEGRAM_TOKEN": telegram.token,
            "TELEGRAM_SECRET": "from-the-environment",
            "RESEARCH_TOKEN": "research-secret",
            "FRONTDESK_AGENTS__RESEARCH__CARD": agent.card_url,
            "FRONTDESK_AGENTS__RESEARCH__ALLOW_PRIVATE_NETWORK": "true",
            "FRONTDESK_PLUGINS__SUPPORT__API_BASE": telegram.base,
        }
        async with gateway(tmp_path, configuration("README.md", "telegram"), **env):
            await telegram.wait_for_calls("setWebhook")
            telegram.user_says(STRANGER, "let me in")
            telegram.user_says(ANN, "good morning")
            await telegram.wait_for_text(ANN, "good morning")
            assert telegram.messages(STRANGER) == []


async def test_the_first_telegram_account_of_the_guide_shows_whom_to_let_in(tmp_path: Path) -> None:
    async with FakeTelegram() as telegram:
        env = {"TELEGRAM_TOKEN": telegram.token, "FRONTDESK_PLUGINS__SUPPORT__API_BASE": telegram.base}
        async with gateway(tmp_path, configuration("docs/telegram.md", 'direct = "open"'), **env) as process:
            await process.event("log", message="telegram account support is receiving")
            telegram.user_says(ANN, "hello")
            await telegram.wait_for_text(ANN, "concierge of this front desk")
            assert str(ANN) in await said_by("session", "list", process=process)
            assert "receiving" in str(await process.api("plugins/support"))

            write_allowing(process.folder, f"[{ANN}]")
            await reread(process)
            telegram.user_says(STRANGER, "let me in")
            assert (await process.event("envelope.admitted", outcome="refused"))["reason"] == "not_allowed"
            telegram.user_says(ANN, "/status")
            await telegram.wait_for_text(ANN, "Nothing is being worked on.")


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl here to type the calls into")
async def test_the_first_calls_of_a_calling_agent_are_answered_as_is_said(tmp_path: Path) -> None:
    written = next(it.text for it in all_blocks("toml a2a"))
    (answered,) = (it.text for it in all_blocks("json call"))
    calls = [it.text for it in all_blocks("sh call")]
    secrets = {"ACME_KEY": "acme-key-0123456789", "GLOBEX_TOKEN": "globex-token-0123456789"}
    async with gateway(tmp_path, written, **secrets) as process:
        typed = {"DESK": process.base, "ACME_KEY": secrets["ACME_KEY"], "PATH": os.environ["PATH"]}
        said = await typed_in(f"\necho '{NEXT}'\n".join(calls), typed)
    sent, named, streamed, got, by_rpc = said.split(f"{NEXT}\n")
    asked, found = json.loads(sent), json.loads(got)
    events = [json.loads(line[6:]) for line in streamed.splitlines() if line[:6] == "data: "]

    assert (named, json.loads(by_rpc)["result"]) == ("", found)
    assert filled(answered, asked) == asked
    assert events[0]["task"]["id"] == found["id"] == asked["task"]["id"]
    assert events[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"
    assert {name for event in events for name in event} == {"task", "statusUpdate", "artifactUpdate"}
    assert "Tuesday" in found["artifacts"][0]["parts"][0]["text"]


async def typed_in(command: str, env: dict[str, str]) -> str:
    """What the command says."""
    running = await asyncio.create_subprocess_exec("sh", "-c", command, env=env, stdout=asyncio.subprocess.PIPE)
    async with asyncio.timeout(30):
        said, _ = await running.communicate()
    assert running.returncode == 0, said.decode()
    return said.decode()


def filled(written: str, asked: dict[str, Any]) -> Any:
    """The documented answer with the ids and the time of the real one."""
    task = asked["task"]
    names = {"$TASK": task["id"], "$CONTEXT": task["contextId"], "$TIME": task["status"]["timestamp"]}
    names["$ID"] = task["status"]["message"]["messageId"]
    for name, value in names.items():
        written = written.replace(name, value)
    return json.loads(written)


async def test_a_visitor_of_the_web_chat_is_told_the_id_that_lets_it_in(tmp_path: Path) -> None:
    written = configuration("docs/webchat.md", "public_url")
    async with (
        gateway(tmp_path, written) as process,
        aiohttp.ClientSession(f"{process.base}/chat/chat/", cookie_jar=aiohttp.CookieJar(unsafe=True)) as page,
    ):
        async with page.get("history") as answer:
            assert answer.status == 200
        status, refusal = await write(page)
        assert status == 403
        visitor = refusal["detail"].split()[-1].rstrip(".")
        (tmp_path / "frontdesk.toml").write_text(written.replace("3f0c9a2e5b7d4c18a6e1f20b9d8c7e65", visitor))
        await reread(process)
        status, _ = await write(page, id="message-0002")
        assert status == 202


async def write(page: aiohttp.ClientSession, *, id: str = "message-0001") -> tuple[int, dict[str, str]]:
    async with page.post("messages", json={"id": id, "text": "hello"}) as answer:
        return answer.status, await answer.json()


async def reread(process: GatewayProcess) -> None:
    seen = len(process.events("configuration.reread"))
    process._signal(signal.SIGHUP)
    await process.event("configuration.reread", n=seen + 1)


def write_allowing(folder: Path, ids: str) -> None:
    file = folder / "frontdesk.toml"
    file.write_text(file.read_text().replace('direct = "open"', f'direct = "allow", allow = {ids}'))


async def said_by(*arguments: str, process: GatewayProcess) -> str:
    """What a command says that is typed in the gateway's folder."""
    env = {**process.env, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "gateway", *arguments]
    running = await asyncio.create_subprocess_exec(
        *command, cwd=process.folder, env=env, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    async with within(30):
        said, _ = await running.communicate()
    assert running.returncode == 0, said.decode()
    return said.decode()
