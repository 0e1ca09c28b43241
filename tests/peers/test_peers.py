"""The foreign peers start, do what the tests ask of them, and survive being killed as far as their stores do."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession, ClientTimeout, web
from telegram import Bot, LinkPreviewOptions
from telegram.error import BadRequest

from tests.fakes.lo_proxy import LoEmulator
from tests.fakes.serving import Loopback
from tests.fakes.telegram_updates import SECRET_HEADER
from tests.peers.processes import PeerProcess, SdkAgent, peer_program

AT_ONCE = {"returnImmediately": True}


@pytest.fixture
async def http() -> AsyncIterator[ClientSession]:
    async with ClientSession(timeout=ClientTimeout(total=20)) as session:
        yield session


async def rpc(http: ClientSession, agent: SdkAgent, method: str, **params: Any) -> dict[str, Any]:
    body = {"jsonrpc": "2.0", "id": "r1", "method": method, "params": params}
    async with http.post(agent.url, json=body, headers={"A2A-Version": "1.0"}) as answer:
        told: dict[str, Any] = await answer.json()
        return told


async def send(http: ClientSession, agent: SdkAgent, text: str, *, at_once: bool = False, **ids: str) -> dict[str, Any]:
    message = {"messageId": f"m-{text}", "role": "ROLE_USER", "parts": [{"text": text}], **ids}
    told = await rpc(http, agent, "SendMessage", message=message, configuration=AT_ONCE if at_once else {})
    task: dict[str, Any] = told["result"]["task"]
    return task


def text_of(task: dict[str, Any]) -> str:
    return "".join(part["text"] for held in task.get("artifacts", ()) for part in held["parts"])


@pytest.mark.peer("a2a-sdk")
async def test_the_sdk_agent_echoes_asks_back_and_fails(http: ClientSession) -> None:
    async with SdkAgent() as agent:
        assert text_of(await send(http, agent, "echo hello there")) == "hello there"
        asked = await send(http, agent, "book a table")
        assert asked["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
        booked = await send(http, agent, "Tuesday", taskId=asked["id"], contextId=asked["contextId"])
        assert (booked["id"], text_of(booked)) == (asked["id"], "Booked for Tuesday")
        assert (await send(http, agent, "fail"))["status"]["state"] == "TASK_STATE_FAILED"
        assert await agent.texts() == ["echo hello there", "book a table", "Tuesday", "fail"]


@pytest.mark.peer("a2a-sdk")
async def test_the_sdk_agent_holds_until_released_and_honours_cancel(http: ClientSession) -> None:
    async with SdkAgent() as agent:
        first = await send(http, agent, "hold 3", at_once=True)
        await agent.held()
        canceled = (await rpc(http, agent, "CancelTask", id=first["id"]))["result"]
        assert (canceled["status"]["state"], text_of(canceled)) == ("TASK_STATE_CANCELED", "1 ")
        sending = asyncio.create_task(send(http, agent, "hold 2"))
        await agent.held()
        assert await agent.release() == 1
        assert text_of(await sending) == "1 2 "


@pytest.mark.peer("a2a-sdk")
async def test_the_sdk_agent_forgets_at_a_restart_unless_it_has_a_database(http: ClientSession, tmp_path: Path) -> None:
    async with SdkAgent() as forgetful, SdkAgent(store=f"sqlite:{tmp_path}/tasks.db") as durable:
        answers = []
        for agent in (forgetful, durable):
            task = await send(http, agent, "hold 3", at_once=True)
            await agent.held()
            await agent.restart()
            answers.append(await rpc(http, agent, "GetTask", id=task["id"]))
    assert answers[0]["error"]["code"] == -32001
    assert answers[1]["result"]["status"]["state"] == "TASK_STATE_WORKING"


@pytest.mark.peer("a2a-sdk")
async def test_a_peer_that_does_not_start_says_why() -> None:
    process = PeerProcess([peer_program("a2a-sdk", "python"), "-c", "print('no such luck')"], ready="listening")
    with pytest.raises(RuntimeError, match="no such luck"):
        await process.start()


def test_a_missing_peer_names_the_remedy() -> None:
    with pytest.raises(FileNotFoundError, match="make peers"):
        peer_program("nobody", "python")


class Hook(Loopback):
    """A webhook that keeps what it gets."""

    def __init__(self) -> None:
        super().__init__()
        self.got: list[tuple[str | None, str]] = []

    def add_routes(self, router: web.UrlDispatcher) -> None:
        router.add_post("/hook", self._take)

    async def _take(self, request: web.Request) -> web.Response:
        update = await request.json()
        self.got.append((request.headers.get(SECRET_HEADER), update["message"]["text"]))
        return web.Response()


@pytest.fixture
async def emulator() -> AsyncIterator[LoEmulator]:
    async with LoEmulator() as server:
        yield server


@pytest.fixture
async def bot(emulator: LoEmulator) -> AsyncIterator[Bot]:
    async with Bot(emulator.token, base_url=f"{emulator.base}/bot") as ready:
        yield ready


@pytest.mark.peer("lo-bot-api-emulator")
async def test_the_emulator_shows_edits_and_polls(emulator: LoEmulator, bot: Bot) -> None:
    assert bot.username == "desk_bot"
    sent = await bot.send_message(7, "hello")
    await bot.edit_message_text("goodbye", 7, sent.message_id)
    assert await emulator.wait_for_texts(7) == ["goodbye"]
    await emulator.user_says(7, "hi")
    assert [update.message.text for update in await bot.get_updates() if update.message] == ["hi"]


@pytest.mark.peer("lo-bot-api-emulator")
async def test_the_proxy_checks_and_takes_out_what_the_emulator_does_not_know(emulator: LoEmulator, bot: Bot) -> None:
    await bot.send_message(-7, "x", message_thread_id=5, link_preview_options=LinkPreviewOptions(is_disabled=True))
    call = emulator.calls_of("sendMessage")[0]
    assert (int(call.params["message_thread_id"]), "link_preview_options" in call.params) == (5, True)
    with pytest.raises(BadRequest, match=r"(?i)message_thread_id"):
        await bot.send_message(-7, "x", message_thread_id=-5)
    with pytest.raises(BadRequest):
        await bot.send_message(-7, "x", api_kwargs={"no_such_field": "1"})
    assert (len(emulator.refusals), emulator.texts(-7)) == (2, ["x"])


@pytest.mark.peer("lo-bot-api-emulator")
async def test_the_emulator_calls_the_webhook_with_the_secret(emulator: LoEmulator, bot: Bot) -> None:
    async with Hook() as hook:
        await bot.set_webhook(f"{hook.base}/hook", secret_token="s3cret")
        await emulator.user_says(7, "one")
        assert hook.got == [("s3cret", "one")]
        await hook.go_down()
        await emulator.user_says(7, "two")
        await hook.come_up()
        assert await emulator.deliver() == 1
        assert hook.got == [("s3cret", "one"), ("s3cret", "two")]
