"""The scripted agent at work: which task a message is about, and a script's run, apart from every connection."""

import asyncio
from uuid import uuid4

from tests.fakes.agent_events import Event, Kind, end_stream, failed, task
from tests.fakes.agent_rpc import RpcCall, RpcError
from tests.fakes.agent_scripts import AgentScript, Call
from tests.fakes.agent_tasks import AgentTask, Tasks
from tests.fakes.serving import Changes


def over(call: RpcCall, known: AgentTask) -> RpcError:
    """What is said of a task that is over: SDKs before 1.0 call that invalid params."""
    if call.is_old:
        return RpcError(-32602, f"Task {known.id} is in terminal state: {known.state.lower()}")
    return RpcError(-32004)


class Work:
    """The runs of one agent. Mistakes in the test's own scripts are kept in `errors`."""

    def __init__(self, tasks: Tasks, changes: Changes, errors: list[Exception]) -> None:
        self._tasks = tasks
        self._changes = changes
        self._errors = errors
        self._runs: dict[str, set[asyncio.Task[None]]] = {}

    def stop(self, task_id: str | None = None) -> None:
        """That of one task, or all of it."""
        for run in self._running(task_id):
            run.cancel()

    async def stopped(self) -> None:
        self.stop()
        await asyncio.gather(*self._running(None), return_exceptions=True)

    def _running(self, task_id: str | None) -> list[asyncio.Task[None]]:
        return [run for of, runs in self._runs.items() if task_id in (None, of) for run in runs]

    def task_for(self, call: RpcCall) -> AgentTask:
        """The task that the message continues, or a new one that nobody knows yet."""
        message = call.message
        if not call.message_id or not message.get("parts") or message.get("role") != "ROLE_USER":
            raise RpcError(-32602)
        context_id = str(message.get("contextId") or "")
        if not message.get("taskId"):
            return AgentTask(f"task-{uuid4()}", context_id or f"context-{uuid4()}")
        known = self._tasks.by_id.get(str(message["taskId"]))
        if known is None:
            raise RpcError(-32001)
        if known.is_terminal:
            raise over(call, known)
        if context_id not in ("", known.context_id):
            raise RpcError(-32602)
        known.take(message)
        return known

    def start(self, script: AgentScript, rpc: RpcCall, asked: AgentTask) -> None:
        continues = bool(rpc.message.get("taskId"))
        sent = dict(rpc.message)
        call = Call(
            rpc.text, rpc.message_id, asked.context_id, asked.id, continues, sent, rpc.headers, asked.cancel_asked
        )
        run = asyncio.create_task(self._run(script, call, asked), name=f"scripted-agent-{asked.id}")
        runs = self._runs.setdefault(asked.id, set())
        runs.add(run)
        run.add_done_callback(runs.discard)

    async def _run(self, script: AgentScript, call: Call, asked: AgentTask) -> None:
        try:
            async for event in script(call):
                self._happen(asked, event, call)
        except Exception as error:
            # A mistake in the test's own script: the caller sees a failed task, the test sees the error at the end.
            self._errors.append(error)
            self._happen(asked, failed(), call)
        if not asked.is_terminal and not asked.is_interrupted:
            self._tasks.publish(asked.id, asked.frame(end_stream()))

    def _happen(self, asked: AgentTask, event: Event, call: Call) -> None:
        """An event changes the task if it may, and goes to whoever listens."""
        is_known = asked.id in self._tasks.by_id
        if not is_known and not event.is_wire_only and event.kind is not Kind.MESSAGE:
            self._tasks.by_id[asked.id] = asked
            asked.take(call.message)
            if event.kind is not Kind.TASK:
                self._tasks.publish(asked.id, asked.frame(task()))
        counts = event.is_wire_only or not event.stored or asked.apply(event)
        if counts:
            self._tasks.publish(asked.id, asked.frame(event))
        self._changes.mark()
