"""The whole line with agents made with the official SDKs, over every binding: the matrix of docs/conformance.md."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from aiohttp import web

from a2a.card import SPOKEN
from a2a.push import PushDoor
from core.doors.ingress import Ingress, IngressLimits
from core.doors.listener import Listener
from core.patience import Patience
from core.store import Store
from tests.a2a.conftest import Connect
from tests.a2a.conftest import client as client
from tests.a2a.conftest import clock as clock
from tests.a2a.conftest import connect as connect
from tests.a2a.conftest import telemetry as telemetry
from tests.core.turns import has_task
from tests.doubles.agent import FakeAgent
from tests.doubles.store import MemoryStore
from tests.doubles.world import SOON, World, world
from tests.peers.processes import JsSdkAgent, SdkAgent
from tests.waiting import until

SLOW = replace(SOON, poll_first=60.0, poll_most=60.0, quiet=60.0, stale=3600.0)
QUICK = replace(SOON, stale=3600.0)
PEERS = {"a2a-sdk": (SdkAgent, "sqlite:"), "javascript": (JsSdkAgent, "file:")}
LONG = 20.0  # seconds until what a peer does must have been seen; it is a process of its own


@pytest.fixture(params=[pytest.param(name, marks=pytest.mark.peer(name)) for name in PEERS])
async def peer(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[SdkAgent]:
    """With a store that outlives it."""
    made, store = PEERS[request.param]
    async with made(store=f"{store}{tmp_path / 'tasks'}") as agent:
        yield agent


class Setting:
    """A line with one peer's agent over one binding."""

    def __init__(self, peer: SdkAgent, connect: Connect, binding: str) -> None:
        self.peer, self._connect, self._binding = peer, connect, binding

    @asynccontextmanager
    async def line(
        self, *, patience: Patience = QUICK, store: Store | None = None, push_base: str = "", **settings: Any
    ) -> AsyncIterator[World]:
        remote = self._connect(self.peer.card_url, interfaces=[self._binding], **settings)
        agent, kept = cast("FakeAgent", remote), store or MemoryStore()
        async with world(kept, agent, patience=patience, push_base=push_base) as desk:
            yield desk


@pytest.fixture(params=SPOKEN)
def setting(peer: SdkAgent, connect: Connect, request: pytest.FixtureRequest) -> Setting:
    return Setting(peer, connect, request.param)


async def shown(desk: World, *texts: str) -> None:
    try:
        await until(lambda: desk.plugin.shown() == list(texts), seconds=LONG)
    except TimeoutError:
        assert desk.plugin.shown() == list(texts), desk.events.seen


@pytest.mark.parametrize("streaming", [True, False])
async def test_an_answer_arrives_whole_and_once(setting: Setting, streaming: bool) -> None:
    async with setting.line(max_streams=256 if streaming else 0) as desk:
        await desk.says("echo good morning to you")
        await shown(desk, "good morning to you")
    assert await setting.peer.texts() == ["echo good morning to you"]


async def test_a_failure_says_why(setting: Setting) -> None:
    async with setting.line() as desk:
        await desk.says("fail now")
        await shown(desk, "It went wrong")


@pytest.mark.parametrize("streaming", [True, False])
async def test_a_question_is_answered_in_its_task(setting: Setting, streaming: bool) -> None:
    async with setting.line(max_streams=256 if streaming else 0) as desk:
        await desk.says("book a table")
        await shown(desk, "Which day?")
        await desk.says("Friday")
        await shown(desk, "Which day?", "Booked for Friday")
    assert await setting.peer.texts() == ["book a table", "Friday"]


@pytest.mark.parametrize("streaming", [True, False])
async def test_held_work_is_cancelled(setting: Setting, streaming: bool) -> None:
    async with setting.line(max_streams=256 if streaming else 0) as desk:
        await desk.says("hold 3")
        await setting.peer.held()
        await desk.says("/cancel")
        await until(lambda: "Cancelled." in desk.plugin.shown(), seconds=LONG)
        await setting.peer.release()
        await until(lambda: desk.tracker.at_work == 0)
        assert not [text for text in desk.plugin.shown() if text.startswith("1")]


async def test_a_sign_in_is_shown_and_the_task_resumes_by_itself(setting: Setting) -> None:
    async with setting.line() as desk:
        await desk.says("sign me in")
        await shown(desk, "Sign in at https://idp.example")
        await setting.peer.held()
        await setting.peer.release()
        await shown(desk, "Sign in at https://idp.example", "three invoices")


@asynccontextmanager
async def door() -> AsyncIterator[tuple[str, list[World]]]:
    """Where the peer may push; whoever enters a world puts it in the list."""
    worlds: list[World] = []

    class Book:
        is_loaded = True

        def find(self, id: str) -> Any:
            return worlds[-1].pushes.find(id)

    app = web.Application()
    take = PushDoor(Book(), lambda target, event: worlds[-1].tracker.pushed(target, event))
    app.add_routes(take.routes(Ingress(IngressLimits())))
    async with Listener(app, host="127.0.0.1", port=0, limits=IngressLimits()) as listener:
        yield f"http://127.0.0.1:{listener.port}", worlds


async def test_a_result_is_pushed(setting: Setting) -> None:
    """Nothing else would bring it: there is no stream, and the next question would come in a minute."""
    async with door() as (base, worlds), setting.line(patience=SLOW, push_base=base, max_streams=0) as desk:
        worlds.append(desk)
        await desk.says("hold 3")
        await setting.peer.held()
        await until(lambda: desk.tracker.at_work)
        await setting.peer.release()
        await shown(desk, "1 2 3")


async def test_a_push_is_asked_for_by_a_call_while_a_stream_is_open(setting: Setting) -> None:
    patience = replace(SLOW, foreground=0.01)
    async with door() as (base, worlds), setting.line(patience=patience, push_base=base) as desk:
        worlds.append(desk)
        await desk.says("hold 3")
        await setting.peer.held()
        await until(lambda: [True for turn in desk.tracker.pushes.targets() if turn.task_id], seconds=LONG)
        assert not desk.events.of("push.refused")
        await setting.peer.release()
        await shown(desk, "1 2 3")


@pytest.mark.case("A2A-04")
@pytest.mark.parametrize("streaming", [True, False])
async def test_our_restart_in_the_middle_delivers_the_rest_once(setting: Setting, streaming: bool) -> None:
    store, streams = MemoryStore(), 256 if streaming else 0
    async with setting.line(store=store, max_streams=streams) as before:
        await before.says("hold 3")
        await setting.peer.held()
        await until(lambda: has_task(store))
    await setting.peer.release()
    async with setting.line(store=store, max_streams=streams) as after:
        await shown(after, "1 2 3")
    assert await setting.peer.texts() == ["hold 3"]


async def test_their_restart_in_the_middle_ends_in_an_honest_state(setting: Setting) -> None:
    """Both SDKs keep a task that nobody works on any more as WORKING, for ever."""
    patience, store = replace(QUICK, stale=1.0), MemoryStore()
    async with setting.line(patience=patience, store=store) as before:
        await before.says("hold 3")
        await setting.peer.held()
        await until(lambda: has_task(store))
        await setting.peer.kill()
        await until(lambda: before.events.of("task.unreachable"), seconds=LONG)
    await setting.peer.start()
    async with setting.line(patience=patience, store=store) as desk:
        await until(lambda: "Nothing new of this" in "".join(desk.plugin.shown()), seconds=LONG)
        await desk.says("/cancel", keys=("update:cancel",))
        await until(lambda: {"Cancelled."} & set(desk.plugin.shown()) or _unconfirmed(desk), seconds=LONG)
    assert await setting.peer.texts() == []


def _unconfirmed(desk: World) -> bool:
    told = "".join(desk.plugin.shown())
    return "has not confirmed" in told or "cannot stop" in told
