"""The code in the documents runs: the plugin as a channel of a whole line, the agents as agents of one."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from core.agent import Ask, Reply, Snapshot, TaskState
from core.clock import SystemClock
from core.doors.ingress import Ingress
from core.doors.listener import Listener
from core.doors.outbound import GuardedClient
from core.parts import Text, text_of
from core.plugin import Host
from gateway.agents import Task
from gateway.agents.local import LocalAgent
from gateway.store.sqlite import SqliteStore
from tests.docs.reading import all_blocks, document
from tests.doubles.world import world
from tests.waiting import until, within

SECRET = "secret-of-the-pager"


def code_after(name: str, words: str) -> str:
    """The python block that follows these words."""
    return document(name).split(words, 1)[1].split("```python\n", 1)[1].split("```", 1)[0]


@pytest.fixture
def pager(tmp_path: Path) -> Iterator[ModuleType]:
    """The plugin of docs/plugins.md, as a package on the path."""
    package = tmp_path / "pager"
    package.mkdir()
    for file in ("settings", "translate", "plugin"):
        (package / f"{file}.py").write_text(code_after("docs/plugins.md", f"`pager/{file}.py`:"))
    (package / "__init__.py").touch()
    sys.path.insert(0, str(tmp_path))
    try:
        yield import_module("pager.plugin")
    finally:
        sys.path.remove(str(tmp_path))
        for name in [name for name in sys.modules if name.partition(".")[0] == "pager"]:
            del sys.modules[name]


class Pagers:
    """Where answers go to."""

    def __init__(self) -> None:
        self.pages: asyncio.Queue[dict[str, str]] = asyncio.Queue()

    async def take(self, request: web.Request) -> web.Response:
        await self.pages.put(await request.json())
        return web.Response(status=204)


@asynccontextmanager
async def serving(routes: Any) -> AsyncIterator[str]:
    app = web.Application()
    app.add_routes(routes)
    async with Listener(app, grace=1.0) as listener:
        yield f"http://127.0.0.1:{listener.port}"


async def test_the_plugin_in_the_guide_is_asked_and_answers(pager: ModuleType, tmp_path: Path) -> None:
    pagers = Pagers()
    async with (
        SqliteStore(tmp_path / "desk.db") as store,
        GuardedClient() as client,
        serving([web.post("/", pagers.take)]) as url,
    ):
        await store.hold()
        host = Host(client, store, store, store, SystemClock(), "here")
        settings = pager.PagerSettings(secret=SECRET, url=url, allow_private_network=True)
        plugin = pager.PLUGIN.create("desk", settings, host)
        async with (
            world(store, plugin=plugin) as there,
            serving(plugin.routes(Ingress())) as base,
            asyncio.TaskGroup() as tasks,
            aiohttp.ClientSession(base) as caller,
        ):
            running = tasks.create_task(plugin.run(there.door))
            await until(lambda: plugin.health["state"] == "receiving")
            assert await page(caller, {"id": "1", "from": "ann", "text": "x" * 200}, secret="wrong") == 401
            assert await page(caller, {"id": "1", "from": "ann", "text": "x" * 200}) == 204
            assert await page(caller, {"id": "1", "from": "ann", "text": "x" * 200}) == 204
            assert await page(caller, {"nonsense": True}) == 204
            async with within(10):
                shown = [await pagers.pages.get() for _ in range(2)]
            assert [it["text"] for it in shown] == ["X" * 160, "X" * 40]
            outcomes = [fields["outcome"] for fields in there.events.of("envelope.admitted")]
            assert outcomes == ["accepted", "duplicate", "refused"]
            running.cancel()


async def page(caller: aiohttp.ClientSession, content: dict[str, Any], *, secret: str = SECRET) -> int:
    headers = {"X-Pager-Secret": secret, "Content-Type": "application/json"}
    async with caller.post("/hooks/desk", data=json.dumps(content), headers=headers) as answer:
        return answer.status


def agent_in(words: str) -> Any:
    """What a block of docs/agents.md calls AGENT."""
    names: dict[str, Any] = {"__name__": "example"}
    exec(compile(code_after("docs/agents.md", words), "docs/agents.md", "exec"), names)
    return names["AGENT"]


async def test_the_answering_agent_in_the_guide_answers() -> None:
    assert await agent_in("*Answering*")().answer(Task("hello")) == "You said: hello"


async def test_the_working_agent_in_the_guide_asks_and_bakes(tmp_path: Path) -> None:
    async with SqliteStore(tmp_path / "desk.db") as store, asyncio.TaskGroup() as tasks:
        await store.hold()
        agent = LocalAgent("baker", agent_in("*Working*")(oven="gas"), store, SystemClock(), tasks)
        asking = await last(agent.send(Ask("m1", (Text("bread, please"),))))
        assert (asking.state, text_of(asking.message)) == (TaskState.INPUT_REQUIRED, "Which size?")
        answer = Ask("m2", (Text("large"),), asking.context_id, asking.task_id)
        baked = await last(agent.send(answer))
        assert baked.state is TaskState.COMPLETED
        assert text_of(baked.artifacts[-1].parts) == "A large loaf from the gas oven: done."


async def last(events: AsyncIterator[Any]) -> Snapshot:
    said = [event async for event in events if not isinstance(event, Reply)]
    assert isinstance(said[-1], Snapshot)
    return said[-1]


def test_every_block_of_python_is_run_here() -> None:
    assert [block.document for block in all_blocks("python")] == ["docs/agents.md"] * 2 + ["docs/plugins.md"] * 3
