"""A remote A2A 1.0 agent that does what the test wrote: JSON-RPC with streaming, and every fault a peer may have.

`async with ScriptedAgent(script) as agent:` serves a card at `agent.card_url`. What the agent does with a message is a
script (`agent_scripts`); faults of the connection are ordered with `agent.fault(method, respond=...)`, where the method
"card" is the fetch of the card. Errors raised in a script fail the test when the agent is left.
"""

import asyncio
import hashlib
import json
from collections import Counter, deque
from collections.abc import Mapping
from functools import partial
from types import TracebackType
from typing import Any, Literal
from uuid import uuid4

from aiohttp import web

from tests.fakes.agent_card import WELL_KNOWN, Auth, card, old_card
from tests.fakes.agent_events import TERMINAL, Event, Kind, canceled, end_stream, failed, task
from tests.fakes.agent_methods import answer_when_done, list_tasks, snapshot, write_stream
from tests.fakes.agent_rpc import PROTOCOL_VERSION, RpcCall, RpcError, read_call, result
from tests.fakes.agent_scripts import AgentScript, Call, echo
from tests.fakes.agent_tasks import AgentTask, Tasks
from tests.fakes.scripting import Exchange, Finish, Respond, Script, ScriptBook
from tests.fakes.serving import PATIENCE, Loopback

# honoured: the work stops, CANCELED. unsupported: -32004. ignored: 200 with the task still WORKING, nothing happens.
# asked: the same answer, but the script sees `call.cancel_asked`. overtaken: CANCELED, and later events overwrite it.
CancelMode = Literal["honoured", "unsupported", "ignored", "asked", "overtaken"]


class ScriptedAgent(Loopback):
    """See the module. The options are attributes and may change while the agent serves."""

    def __init__(
        self,
        script: AgentScript = echo,
        *,
        name: str = "scripted",
        prefix: str = "",
        card_paths: tuple[str, ...] = (WELL_KNOWN,),
        other_paths_status: int = 404,
        interface_url: str | None = None,
        card_extra: Mapping[str, Any] | None = None,
        is_old: bool = False,
        streaming: bool = True,
        lists_tasks: bool = True,
        auth: Auth | None = None,
        on_cancel: CancelMode = "honoured",
    ) -> None:
        super().__init__()
        self.behaviour = script
        self.name = name
        self.prefix = prefix
        self.card_paths = card_paths
        self.other_paths_status = other_paths_status
        self.interface_url = interface_url
        self.card_extra = dict(card_extra or {})
        self.is_old = is_old
        self.streaming = streaming
        self.lists_tasks = lists_tasks
        self.auth = auth
        self.on_cancel = on_cancel
        self.calls: list[RpcCall] = []
        self.message_counts: Counter[str] = Counter()  # messages accepted, by messageId
        self.tasks = Tasks()
        self.errors: list[Exception] = []
        self._next: deque[AgentScript] = deque()
        self._book = ScriptBook()
        self._runs: dict[str, set[asyncio.Task[None]]] = {}

    @property
    def url(self) -> str:
        """The JSON-RPC endpoint."""
        return f"{self.base}{self.prefix}/rpc"

    @property
    def card_url(self) -> str:
        return f"{self.base}{self.prefix}{self.card_paths[0]}"

    @property
    def card(self) -> dict[str, Any]:
        """The card as it is served."""
        url = self.interface_url or self.url
        if self.is_old:
            return {**old_card(self.name, url, streaming=self.streaming), **self.card_extra}
        return {**card(self.name, url, streaming=self.streaming, auth=self.auth), **self.card_extra}

    @property
    def only_task(self) -> AgentTask:
        """The one task there is; an assertion when there are none or several."""
        tasks = list(self.tasks)
        assert len(tasks) == 1, f"the agent has {len(tasks)} tasks: {[known.wire() for known in tasks]}"
        return tasks[0]

    def behave(self, *scripts: AgentScript) -> None:
        """Scripts for the next messages, one each; after them the agent's own script holds again."""
        self._next.extend(scripts)

    def fault(self, method: str, *, respond: Respond, times: int | None = 1, after: int = 0) -> Script:
        """Answer the next `times` calls of `method` ("*": any, "card": the card) by `respond`; None is for ever."""
        return self._book.add(method, respond, times=times, after=after)

    def calls_of(self, method: str) -> list[RpcCall]:
        """The journal of one method, in order, refused calls included."""
        return [call for call in self.calls if call.method == method]

    def forget(self) -> None:
        """Lose every task and stop its work, like an agent that kept them in memory and was restarted."""
        for runs in self._runs.values():
            for run in runs:
                run.cancel()
        self.tasks.forget()
        self.changes.mark()

    async def restart(self) -> None:
        """Down, forgetful, up again at the same address."""
        await self.go_down()
        self.forget()
        await self.come_up()

    async def wait_for_calls(self, method: str, n: int = 1, *, timeout: float = PATIENCE) -> list[RpcCall]:
        """The journal of a method, once it has at least `n` calls."""

        def enough() -> list[RpcCall]:
            calls = self.calls_of(method)
            return calls if len(calls) >= n else []

        return await self.changes.until(enough, timeout=timeout, what=f"{n} calls of {method} at the agent")

    async def wait_for_state(self, state: str, *, timeout: float = PATIENCE) -> AgentTask:
        """The first task in the state, named without its prefix."""

        def found() -> AgentTask | None:
            return next((known for known in self.tasks if known.state == state), None)

        known = await self.changes.until(found, timeout=timeout, what=f"a task in state {state} at the agent")
        assert known is not None
        return known

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await super().__aexit__(kind, error, trace)
        runs = [run for running in self._runs.values() for run in running]
        for run in runs:
            run.cancel()
        await asyncio.gather(*runs, return_exceptions=True)
        if self.errors and error is None:
            raise ExceptionGroup("a script of the agent failed", self.errors)

    def add_routes(self, router: web.UrlDispatcher) -> None:
        for path in self.card_paths:
            router.add_get(self.prefix + path, self._serve_card)
        router.add_post(f"{self.prefix}/rpc", self._serve_rpc)
        router.add_route("*", "/{path:.*}", self._serve_other)

    async def _serve_card(self, request: web.Request) -> web.StreamResponse:
        self._journal(RpcCall("card", {}, request.headers, path=request.path))

        async def finish() -> web.StreamResponse:
            body = json.dumps(self.card).encode()
            tag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
            if request.headers.get("If-None-Match") == tag:
                return web.Response(status=304, headers={"ETag": tag})
            return web.Response(body=body, content_type="application/json", headers={"ETag": tag})

        async def accept() -> Finish:
            return finish

        return await self._book.answer("card", None, Exchange(request, accept, self.closing))

    async def _serve_other(self, request: web.Request) -> web.Response:
        self._journal(RpcCall("other", {}, request.headers, path=request.path))
        return web.Response(status=self.other_paths_status)

    async def _serve_rpc(self, request: web.Request) -> web.StreamResponse:
        try:
            call = await read_call(request)
        except RpcError as error:
            return error.answer(None)
        self._journal(call)
        try:
            exchange = Exchange(request, partial(self._accept, request, call), self.closing)
            return await self._book.answer(call.method, None, exchange)
        except RpcError as error:
            return error.answer(call.request_id)

    def _journal(self, call: RpcCall) -> None:
        self.calls.append(call)
        self.changes.mark()

    async def _accept(self, request: web.Request, call: RpcCall) -> Finish:
        if self.auth is not None and not self.auth.admits(request):
            refused = web.Response(status=401, headers={"WWW-Authenticate": 'Bearer realm="agent"'})
            return partial(_same, refused)
        version = call.headers.get("A2A-Version") or request.query.get("A2A-Version", "")
        if version.split(".")[:2] != PROTOCOL_VERSION.split("."):
            raise RpcError(-32009)
        match call.method:
            case "SendMessage":
                return self._send(request, call, streaming=False)
            case "SendStreamingMessage":
                return self._send(request, call, streaming=True)
            case "SubscribeToTask":
                return self._subscribe(request, call)
            case "GetTask":
                return partial(_same, result(call.request_id, snapshot(self._known(call), call)))
            case "CancelTask":
                return partial(_same, result(call.request_id, self._cancel(call)))
            case "ListTasks" if self.lists_tasks:
                return partial(_same, result(call.request_id, list_tasks(self.tasks, call)))
        raise RpcError(-32601)

    def _known(self, call: RpcCall) -> AgentTask:
        known = self.tasks.by_id.get(str(call.params.get("id", "")))
        if known is None:
            raise RpcError(-32001)
        return known

    def _send(self, request: web.Request, call: RpcCall, *, streaming: bool) -> Finish:
        if streaming and not self.streaming:
            raise RpcError(-32004)
        asked = self._task_for(call)
        self.message_counts[call.message_id] += 1
        # Listening starts before the work does, so that no event can slip through between the two.
        listener = self.tasks.listen(asked.id)
        self._start(call, asked)
        if streaming:
            return partial(write_stream, request, call, self.tasks, asked.id, listener)
        return partial(answer_when_done, request, call, self.tasks, asked, listener)

    def _task_for(self, call: RpcCall) -> AgentTask:
        """The task that the message continues, or a new one that nobody knows yet."""
        message = call.message
        if not call.message_id or not message.get("parts") or message.get("role") != "ROLE_USER":
            raise RpcError(-32602)
        context_id = str(message.get("contextId") or "")
        if not message.get("taskId"):
            return AgentTask(f"task-{uuid4()}", context_id or f"context-{uuid4()}")
        known = self.tasks.by_id.get(str(message["taskId"]))
        if known is None:
            raise RpcError(-32001)
        if known.is_terminal:
            raise RpcError(-32004)
        if context_id not in ("", known.context_id):
            raise RpcError(-32602)
        known.take(message)
        return known

    def _start(self, rpc: RpcCall, asked: AgentTask) -> None:
        continues = bool(rpc.message.get("taskId"))
        sent = dict(rpc.message)
        call = Call(
            rpc.text, rpc.message_id, asked.context_id, asked.id, continues, sent, rpc.headers, asked.cancel_asked
        )
        script = self._next.popleft() if self._next else self.behaviour
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
            self.errors.append(error)
            self._happen(asked, failed(), call)
        if not asked.is_terminal and not asked.is_interrupted:
            self.tasks.publish(asked.id, asked.frame(end_stream()))

    def _happen(self, asked: AgentTask, event: Event, call: Call) -> None:
        """An event changes the task if it may, and goes to whoever listens."""
        is_known = asked.id in self.tasks.by_id
        if not is_known and not event.is_wire_only and event.kind is not Kind.MESSAGE:
            self.tasks.by_id[asked.id] = asked
            asked.take(call.message)
            if event.kind is not Kind.TASK:
                self.tasks.publish(asked.id, asked.frame(task()))
        counts = event.is_wire_only or not event.stored or asked.apply(event)
        if counts:
            self.tasks.publish(asked.id, asked.frame(event))
        self.changes.mark()

    def _subscribe(self, request: web.Request, call: RpcCall) -> Finish:
        known = self._known(call)
        if not self.streaming or known.is_terminal:
            raise RpcError(-32004)
        listener = self.tasks.listen(known.id)
        listener.frames.put_nowait(known.frame(task()))
        return partial(write_stream, request, call, self.tasks, known.id, listener, closes_at=TERMINAL)

    def _cancel(self, call: RpcCall) -> dict[str, Any]:
        if self.on_cancel == "unsupported":
            raise RpcError(-32004)
        known = self._known(call)
        if known.is_terminal:
            raise RpcError(-32002)
        if self.on_cancel != "ignored":
            known.cancel_asked.set()
        if self.on_cancel in ("honoured", "overtaken"):
            known.terminal_is_final = self.on_cancel == "honoured"
            event = canceled()
            known.apply(event)
            self.tasks.publish(known.id, known.frame(event))
        if self.on_cancel == "honoured":
            for run in self._runs.get(known.id, ()):
                run.cancel()
        self.changes.mark()
        return known.wire()


async def _same(answer: web.StreamResponse) -> web.StreamResponse:
    return answer
