"""What the author of a local agent writes: a class of one of two shapes, named by an entry point.

    [project.entry-points."frontdesk.agents"]
    greeter = "my_package.greeter:AGENT"

`AGENT` is that class (or any callable): called with the agent's options as keyword arguments, it gives the agent
and does nothing else yet.

*Answering* is for what is said at once. It is asked, and its text is the whole answer:

    class Greeter:
        async def answer(self, task: Task) -> str:
            return f"You said: {task.text}"

*Working* is for what takes a while, streams, or asks back. `work` is an asynchronous generator:

    class Baker:
        resumable = True

        async def work(self, task: Task) -> AsyncIterator[Step]:
            if "size" not in task.state:
                yield Question("Which size?", {"size": "asked"})  # `work` is called again with the person's answer
            yield Words("Baking ")  # shown while it is made
            await bake(task.text)
            yield Checkpoint({"size": task.text, "baked": True})  # a restart goes on from here
            yield Words("done.")

Not everything is words: `Parts` are files, data or texts that stand on their own. And a task may end otherwise than by
running out: by `Done` with a last word, by `Failed`, by `Rejected`, or by a `Reply`, which is all of the answer and for
an agent that calls over A2A is a bare message and no task.

An agent that is `resumable` is called again after a restart, with the words and the state of its last checkpoint; what
it did after that checkpoint it does twice. One that is not is never called twice for one message: its running tasks end
with the process and the person is told. An open question outlives a restart in both cases.
"""

from collections.abc import AsyncIterator
from dataclasses import field
from typing import Any, Protocol

from core.parts import Part
from core.values import value

State = dict[str, Any]  # any JSON object


@value(frozen=True, slots=True)
class Task:
    """What is to be answered. Messages that came as one are lines of `text`."""

    text: str
    state: State = field(default_factory=dict)  # of the last checkpoint or question; {} at the beginning
    parts: tuple[Part, ...] = ()  # all that was sent, files and data too
    message_id: str = ""  # what the channel calls the (last) message; "" where it has no such
    forwarded: tuple[int, ...] = ()  # which of `parts` their sender passed on and did not write


@value(frozen=True, slots=True)
class Words:
    """More of the answer; the final answer is all words since the beginning, or since the last question."""

    text: str


@value(frozen=True, slots=True)
class Question:
    """Ends this run. The person's answer starts the next one, which gets `state`."""

    text: str
    state: State = field(default_factory=dict)


@value(frozen=True, slots=True)
class Checkpoint:
    """The words so far and `state` are stored, as one, before `work` goes on."""

    state: State


@value(frozen=True, slots=True)
class Parts:
    """Something that stands on its own: an artifact, in A2A's words. What has the same `id` adds to it."""

    parts: tuple[Part, ...]
    name: str = ""
    id: str = ""  # "": a new one
    more: bool = False  # there will be more of it


@value(frozen=True, slots=True)
class Done:
    """Ends the task, with a last word about it that is no part of the answer."""

    text: str


@value(frozen=True, slots=True)
class Failed:
    """Ends the task: it could not be done."""

    text: str


@value(frozen=True, slots=True)
class Rejected:
    """Ends the task: it will not be done."""

    text: str


@value(frozen=True, slots=True)
class Reply:
    """Ends the task, as the first thing that is said: this is the whole answer."""

    text: str


Step = Words | Parts | Question | Checkpoint | Done | Failed | Rejected | Reply


class Answering(Protocol):
    async def answer(self, task: Task) -> str:
        """The whole answer. It may be asked again for the same message after a crash, so it must change nothing."""
        ...


class Working(Protocol):
    @property
    def resumable(self) -> bool: ...

    def work(self, task: Task) -> AsyncIterator[Step]:
        """Cancelled, like any task, when the person cancels or the gateway stops; what it raises fails the task."""
        ...
