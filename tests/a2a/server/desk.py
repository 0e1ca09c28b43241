"""A gateway's line with an A2A account behind the port, over a real store: what a facade would be given."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from a2a.server.plugin import A2APlugin
from a2a.server.port import Caller, Message, Role, Send, ServedEvent, ServedTask, ServedTasks, StatusChange
from a2a.server.settings import A2AServerSettings
from core.agent import ArtifactUpdate
from core.clock import SystemClock
from core.doors.outbound import GuardedClient
from core.followed import FollowedWork
from core.parts import Part, Text, text_of
from core.plugin import Host
from core.seal import NoSeal, Seal
from core.store import Store
from gateway.agents.local import LocalAgent
from gateway.agents.quick import QuickAgent
from gateway.store.sqlite import SqliteStore
from tests.doubles.agent import FakeAgent
from tests.doubles.events import Events
from tests.doubles.world import SOON, World, world
from tests.waiting import until

ANN, BOB = Caller("ann"), Caller("bob")
PATIENT = replace(SOON, quiet=5.0)  # an agent that is slow to speak is not asked whether it still knows its task


def body(event: ServedEvent, protocol: str) -> bytes:
    """What a push says here: enough to see which event it was, and in whose words."""
    match event:
        case ServedTask():
            said: dict[str, Any] = {"task": event.id, "state": event.state.value}
        case StatusChange():
            said = {"status": event.state.value, "task": event.task_id, "context": event.context_id}
        case ArtifactUpdate():
            said = {"artifact": text_of(event.artifact.parts), "task": event.task_id}
        case Message():
            said = {"message": event.id}
    return json.dumps(said | {"protocol": protocol}).encode()


@dataclass
class Desk:
    world: World
    plugin: A2APlugin
    store: Store
    client: GuardedClient
    told: Events  # what the account itself says to its operator
    numbers: list[int] = field(default_factory=lambda: [0])

    @property
    def tasks(self) -> ServedTasks:
        return self.plugin.tasks["agent"]

    def message(
        self, text: str, *, task: str = "", context: str = "", id: str = "", parts: tuple[Part, ...] = ()
    ) -> Message:
        self.numbers[0] += 1
        return Message(id or f"m{self.numbers[0]}", Role.USER, parts or (Text(text),), context, task)

    async def send(self, text: str, caller: Caller = ANN, *, waits: bool = True, **fields: Any) -> ServedTask:
        """What a blocking send answers, of an agent that makes a task of it."""
        answer = await self.tasks.send(caller, Send(self.message(text, **fields), waits=waits))
        assert isinstance(answer, ServedTask)
        return answer


@asynccontextmanager
async def desk(
    store: Store,
    agent: FakeAgent | LocalAgent | QuickAgent,
    *,
    allow_push_private: bool = False,
    seal: Seal | None = None,
    **options: Any,
) -> AsyncIterator[Desk]:
    there: list[World] = []
    work = FollowedWork(store, lambda: there[0].tracker, lambda: there[0].lanes, SystemClock())
    async with GuardedClient() as client:
        host = Host(client, store, store, store, SystemClock(), "test", following=work)  # type: ignore[arg-type]
        host = replace(host, seal=seal or NoSeal(), telemetry=(told := Events()))
        settings = A2AServerSettings(
            agent="agent",
            expose=("other",),
            anonymous="shared",
            passes=("urn:passed",),
            allow_push_private=allow_push_private,
        )
        plugin = A2APlugin("desk", settings, host, body=body)
        async with world(store, agent, plugin, **{"patience": PATIENT, **options}) as line:  # type: ignore[arg-type]
            there.append(line)
            running = asyncio.ensure_future(plugin.run(line.door))
            await until(lambda: plugin.health["state"] == "receiving")
            try:
                yield Desk(line, plugin, store, client, told)
            finally:
                running.cancel()


@asynccontextmanager
async def opened(path: Path) -> AsyncIterator[SqliteStore]:
    async with SqliteStore(path / "desk.db") as store:
        await store.hold()
        yield store


def texts(task: ServedTask) -> list[str]:
    """What is said in the task's history, in order."""
    return [text_of(message.parts) for message in task.history]


def shown(task: ServedTask) -> list[str]:
    return [text_of(artifact.parts) for artifact in task.artifacts]


def lines(events: Sequence[ServedEvent]) -> list[str]:
    """Events as one word each: the states, and what artifacts add."""
    return [
        event.state.value
        if isinstance(event, ServedTask | StatusChange)
        else text_of(event.artifact.parts if isinstance(event, ArtifactUpdate) else event.parts)
        for event in events
    ]


async def each(stream: AsyncIterator[Sequence[ServedEvent]]) -> AsyncIterator[ServedEvent]:
    """Its events one by one, however many came together."""
    async with aclosing(stream) as batches:  # type: ignore[type-var]
        async for events in batches:
            for event in events:
                yield event
