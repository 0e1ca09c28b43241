"""What a scripted agent does with a message: the `Call` a script is given, and the scripts that many tests share.

A script is an async generator function: it takes a `Call`, yields events (`agent_events`) and may wait in between for
anything the test controls. It runs apart from every connection, as an agent's work does.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.agent_events import Event, artifact, completed, input_required, message, working


@dataclass(frozen=True, slots=True)
class Call:
    """One message sent to the agent."""

    text: str
    message_id: str
    context_id: str
    task_id: str  # the task it continues, or the one that the first event will make
    continues: bool  # whether the caller named the task
    message: Mapping[str, Any]  # as it arrived
    headers: Mapping[str, str]
    cancel_asked: asyncio.Event = field(default_factory=asyncio.Event)


AgentScript = Callable[[Call], AsyncIterator[Event]]


async def echo(call: Call) -> AsyncIterator[Event]:
    """The text comes back as an artifact of a completed task."""
    yield artifact(f"echo: {call.text}", last=True)
    yield completed()


async def echo_message(call: Call) -> AsyncIterator[Event]:
    """The text comes back as a bare message, without a task."""
    yield message(f"echo: {call.text}")


def stream_echo(chunks: Sequence[str] = ("Hello, ", "world", "!")) -> AgentScript:
    """The chunks come as one artifact, the first replacing and the others appending."""

    async def script(call: Call) -> AsyncIterator[Event]:
        yield working()
        for index, chunk in enumerate(chunks):
            yield artifact(chunk, append=index > 0, last=index == len(chunks) - 1)
        yield completed()

    return script


def ask_then_answer(question: str = "Which day?", answer: str = "Booked for {}") -> AgentScript:
    """Asks back, then answers with the reply in place of `{}`."""

    async def script(call: Call) -> AsyncIterator[Event]:
        if not call.continues:
            yield working()
            yield input_required(question)
        else:
            yield working()
            yield artifact(answer.format(call.text), last=True)
            yield completed()

    return script


def working_until(event: asyncio.Event, answer: str = "done") -> AgentScript:
    """Works until the test sets the event, then answers."""

    async def script(call: Call) -> AsyncIterator[Event]:
        yield working()
        await event.wait()
        yield artifact(answer, last=True)
        yield completed()

    return script


def silent_until(event: asyncio.Event, answer: str = "done") -> AgentScript:
    """Says nothing, not even the task's id, until the test sets the event."""

    async def script(call: Call) -> AsyncIterator[Event]:
        await event.wait()
        yield artifact(answer, last=True)
        yield completed()

    return script


def events(*said: Event) -> AgentScript:
    """Exactly these events, in this order, for each message."""

    async def script(call: Call) -> AsyncIterator[Event]:
        for event in said:
            yield event

    return script
