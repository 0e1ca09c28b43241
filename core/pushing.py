"""One turn's use of push: its target is opened, told to the agent, and closed when the task is over.

Where the agent streams, it is told once the task takes longer than the foreground's patience: what is answered at once
needs no push, and some agents wait for each push before they go on. Where it does not stream it is told with the send.
With push alive, asking becomes sparse but never stops.
"""

from contextlib import suppress

from core.agent import TaskEvent
from core.errors import AgentError
from core.following import Following
from core.progress import Progress
from core.push import Push, PushAgent, PushBook


class Pushing:
    def __init__(self, progress: Progress, following: Following, book: PushBook) -> None:
        self._progress, self._following, self._book = progress, following, book
        self._is_due = False  # the agent is to be told as soon as there is a task
        self._target = book.of(progress.turn)
        if self._target is not None:
            progress.target = self._target
            book.bind(self._target, progress.turn.id, progress.turn.task_id or "")

    @property
    def _agent(self) -> PushAgent | None:
        return self._progress.delegate.pushes if self._book.is_usable else None

    async def with_send(self) -> Push | None:
        """What goes along with the message; None where the agent is not told so, or knows already."""
        agent = self._agent
        if agent is None or self._target is not None or await _way(agent) != "send":
            return None
        return await self._open()

    async def by_call(self) -> None:
        """Tell the agent by a call of its own, once there is a task, where that is its way.

        A refusal leaves the other roads.
        """
        progress, agent = self._progress, self._agent
        self._is_due = not progress.has_task
        if agent is None or self._target is not None or self._is_due or progress.assembly.rests:
            return
        if await _way(agent) != "call":
            return
        push = await self._open()
        self.bind()
        try:
            await agent.register_push(progress.ref, push)
        except AgentError as error:
            progress.telemetry.event("push.refused", level="warning", error=str(error))
            await self._close()

    async def _open(self) -> Push:
        push = await self._book.open(self._progress.turn)
        self._target = self._progress.target = self._book.find(push.id)
        return push

    def bind(self) -> None:
        """The task's id is known: from here on only what is about it is taken."""
        target, task_id = self._target, self._progress.assembly.task_id
        if self._is_due and self._progress.has_task:
            self._is_due = False
            self._progress.helm.spawn(self.by_call, f"push {self._progress.turn.id}")
        if target is not None and task_id and target.task_id != task_id:
            self._book.bind(target, self._progress.turn.id, task_id)

    async def take(self, event: TaskEvent) -> None:
        """What the agent pushed."""
        progress = self._progress
        if self._target is not None:
            self._target.is_alive = True
        await progress.take_pushed(event)
        if progress.assembly.rests or progress.has_ended:
            self._following.leave()
            progress.wake()

    async def end(self) -> None:
        """The task is over for us: close the target, and tell the agent."""
        progress, agent = self._progress, self._progress.delegate.pushes
        if self._target is None:
            return
        id = self._target.id
        await self._close()
        if agent is not None and progress.has_task:
            with suppress(AgentError):
                await agent.unregister_push(progress.ref, id)

    async def _close(self) -> None:
        target, self._target, self._progress.target = self._target, None, None
        if target is not None:
            await self._book.close(target)


async def _way(agent: PushAgent) -> str:
    try:
        return await agent.push_way()
    except AgentError:
        return ""  # it cannot be had just now, and the send will say why
