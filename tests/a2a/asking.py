"""Short words for what the tests of the client ask and look at."""

from collections.abc import AsyncIterator, Awaitable

import pytest

from a2a import RemoteAgent
from core.agent import ArtifactUpdate, Ask, Reply, Snapshot, StatusUpdate, TaskEvent, TaskRef
from core.errors import AgentError
from core.parts import Text, text_of
from core.push import Push


def ask(text: str = "hello", *, message_id: str = "m-1", task: TaskRef | None = None, push: Push | None = None) -> Ask:
    """A message of one text, continuing the task if one is given."""
    if task is None:
        return Ask(message_id, (Text(text),), push=push)
    return Ask(message_id, (Text(text),), context_id=task.context_id, task_id=task.task_id, binding=task.binding)


async def heard(events: AsyncIterator[TaskEvent]) -> list[TaskEvent]:
    return [event async for event in events]


def ref_of(event: TaskEvent) -> TaskRef:
    assert isinstance(event, Snapshot | StatusUpdate | ArtifactUpdate)
    return TaskRef(event.task_id, event.context_id)


async def started(remote: RemoteAgent) -> TaskRef:
    """A task that was begun and not listened to any longer."""
    said = remote.send(ask())
    task = ref_of(await anext(said))
    await said.aclose()
    return task


def words(event: TaskEvent) -> str:
    """The text an event carries."""
    match event:
        case Snapshot(artifacts=artifacts):
            return "".join(text_of(artifact.parts) for artifact in artifacts)
        case ArtifactUpdate(artifact=artifact):
            return text_of(artifact.parts)
        case StatusUpdate(message=parts) | Reply(parts=parts):
            return text_of(parts)


async def failure(asked: AsyncIterator[TaskEvent] | Awaitable[object]) -> AgentError:
    """The error that the call ends in."""
    answer = heard(asked) if isinstance(asked, AsyncIterator) else asked
    with pytest.raises(AgentError) as raised:
        await answer
    return raised.value
