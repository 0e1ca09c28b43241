"""A remote A2A agent that does what the test wrote, over any binding, with every fault a peer may have.

`async with ScriptedAgent(script) as agent:` serves a card at `agent.card_url`. What the agent does with a message is a
script (`agent_scripts`); faults of the connection are ordered with `agent.fault(method, respond=...)`, where the method
is named as in JSON-RPC 1.0 whatever the binding, and "card" is the fetch of the card. Errors raised in a script fail
the test when the agent is left.
"""

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Any, Literal

from aiohttp import web

from tests.fakes.agent_bindings import JSON_RPC, RESTS, Rest, read_json_rpc
from tests.fakes.agent_card import WELL_KNOWN, Auth, card, card_answer, old_card
from tests.fakes.agent_events import TERMINAL, canceled, task
from tests.fakes.agent_methods import answer_when_done, list_tasks, snapshot, write_stream
from tests.fakes.agent_rpc import CALL, RpcCall, RpcError
from tests.fakes.agent_scripts import AgentScript, echo
from tests.fakes.agent_tasks import AgentTask, Tasks
from tests.fakes.agent_work import Work, over
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
        extended_extra: Mapping[str, Any] | None = None,
        card_extra: Mapping[str, Any] | None = None,
        card_headers: Mapping[str, str] | None = None,
        speaks: Sequence[str] = (),
        is_old: bool = False,
        subscribes_by: Sequence[str] = ("GET", "POST"),
        streaming: bool = True,
        pushes: bool = False,
        lists_tasks: bool = True,
        deduplicates: bool = False,
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
        self.extended_extra = None if extended_extra is None else dict(extended_extra)  # None: no extended card
        self.card_extra = dict(card_extra or {})
        self.card_headers = card_headers  # None: an ETag alone
        self.speaks = tuple(speaks) or ("JSONRPC/0.3" if is_old else "JSONRPC/1.0",)
        self.is_old = is_old
        self.subscribes_by = subscribes_by
        self.streaming = streaming
        self.pushes = pushes  # offered, and configurations are kept; a test sends the pushes itself
        self.push_configs: dict[str, dict[str, Any]] = {}  # by their id, in the words of 1.0 (the URL) or as they came
        self.lists_tasks = lists_tasks
        self.deduplicates = deduplicates  # a message that comes again is answered with the task it made (section 3.3.1)
        self.auth = auth
        self.on_cancel = on_cancel
        self.calls: list[RpcCall] = []
        self.message_counts: Counter[str] = Counter()  # messages accepted, by messageId
        self.tasks = Tasks()
        self._taken: dict[str, AgentTask] = {}  # by messageId
        self.errors: list[Exception] = []
        self._next: deque[AgentScript] = deque()
        self._book = ScriptBook()
        self._work = Work(self.tasks, self.changes, self.errors)

    @property
    def url(self) -> str:
        """The JSON-RPC endpoint."""
        return f"{self.base}{self.prefix}/rpc"

    @property
    def card_url(self) -> str:
        return f"{self.base}{self.prefix}{self.card_paths[0]}"

    @property
    def rest_url(self) -> str:
        return f"{self.base}{self.prefix}/rest"

    @property
    def card(self) -> dict[str, Any]:
        """The card as it is served."""
        urls = {
            name: self.interface_url or (self.rest_url if name.startswith("HTTP") else self.url) for name in self.speaks
        }
        form = old_card if self.is_old else card
        body = form(self.name, urls, streaming=self.streaming, auth=self.auth)
        body["capabilities"] = {**body["capabilities"], "pushNotifications": self.pushes}
        if self.extended_extra is not None:
            body["capabilities"]["extendedAgentCard"] = body["supportsAuthenticatedExtendedCard"] = True
        return {**body, **self.card_extra}

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
        self._work.stop()
        self.tasks.forget()
        self._taken.clear()
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
        await self._work.stopped()
        if self.errors and error is None:
            raise ExceptionGroup("a script of the agent failed", self.errors)

    def add_routes(self, router: web.UrlDispatcher) -> None:
        for path in self.card_paths:
            router.add_get(self.prefix + path, self._serve_card)
        router.add_post(f"{self.prefix}/rpc", self._serve_rpc)
        for binding in RESTS:
            for verb, path, method in binding.routes():
                router.add_route(verb, f"{self.prefix}/rest{path}", partial(self._serve_rest, binding, method))
        router.add_route("*", "/{path:.*}", self._serve_other)

    async def _serve_card(self, request: web.Request) -> web.StreamResponse:
        self._journal(RpcCall("card", {}, request.headers, path=request.path, http="GET"))

        async def finish() -> web.StreamResponse:
            return card_answer(request, self.card, self.card_headers)

        async def accept() -> Finish:
            return finish

        return await self._book.answer("card", None, Exchange(request, accept, self.closing))

    async def _serve_other(self, request: web.Request) -> web.Response:
        self._journal(RpcCall("other", {}, request.headers, path=request.path))
        return web.Response(status=self.other_paths_status)

    async def _serve_rpc(self, request: web.Request) -> web.StreamResponse:
        try:
            call = await read_json_rpc(request)
        except RpcError as error:
            return JSON_RPC.error(RpcCall("", {}, request.headers), error)
        return await self._serve_call(request, call)

    async def _serve_rest(self, binding: Rest, method: str, request: web.Request) -> web.StreamResponse:
        if binding.name not in self.speaks:
            return await self._serve_other(request)
        if method == "SubscribeToTask" and request.method not in self.subscribes_by:
            return web.Response(status=405)
        return await self._serve_call(request, await binding.read(request, method))

    async def _serve_call(self, request: web.Request, call: RpcCall) -> web.StreamResponse:
        self._journal(call)
        request[CALL] = call
        try:
            exchange = Exchange(request, partial(self._accept, request, call), self.closing)
            return await self._book.answer(call.method, None, exchange)
        except RpcError as error:
            return call.error(error)

    def _journal(self, call: RpcCall) -> None:
        self.calls.append(call)
        self.changes.mark()

    async def _accept(self, request: web.Request, call: RpcCall) -> Finish:
        if self.auth is not None and not self.auth.admits(request):
            refused = web.Response(status=401, headers={"WWW-Authenticate": 'Bearer realm="agent"'})
            return partial(_same, refused)
        self._check_version(request, call)
        match call.method:
            case "SendMessage":
                return self._send(request, call, streaming=False)
            case "SendStreamingMessage":
                return self._send(request, call, streaming=True)
            case "SubscribeToTask":
                return self._subscribe(request, call)
            case "GetTask":
                return partial(_same, call.result(snapshot(self._known(call), call)))
            case "CancelTask":
                return partial(_same, call.result(self._cancel(call)))
            case "GetExtendedAgentCard" if self.extended_extra is not None:
                return partial(_same, call.result({**self.card, **self.extended_extra}))
            case "CreateTaskPushNotificationConfig":
                return partial(_same, call.result(self._keep_push(call.params)))
            case "DeleteTaskPushNotificationConfig":
                self.push_configs.pop(str(call.params.get("id")), None)
                self.changes.mark()
                return partial(_same, call.result({}))
            case "ListTasks" if self.lists_tasks:
                return partial(_same, call.result(list_tasks(self.tasks, call)))
        raise RpcError(-32601)

    def _check_version(self, request: web.Request, call: RpcCall) -> None:
        """Absent is 0.3 (A2A 1.0, section 3.6.2); an agent of 0.3 alone knows no versions, and not the new methods."""
        assert call.binding is not None
        said = call.headers.get("A2A-Version") or request.query.get("A2A-Version") or "0.3"
        if call.binding.name not in self.speaks:
            raise RpcError(-32009 if any(name.endswith("/1.0") for name in self.speaks) else -32601)
        if said.split(".")[:2] != call.binding.version.split("."):
            raise RpcError(-32009)

    def _known(self, call: RpcCall) -> AgentTask:
        known = self.tasks.by_id.get(str(call.params.get("id", "")))
        if known is None:
            raise RpcError(-32001)
        return known

    def _keep_push(self, config: Mapping[str, Any]) -> dict[str, Any]:
        if not self.pushes:
            raise RpcError(-32003)
        kept = self.push_configs[str(config.get("id"))] = dict(config)
        self.changes.mark()
        return kept

    def _send(self, request: web.Request, call: RpcCall, *, streaming: bool) -> Finish:
        if streaming and not self.streaming:
            raise RpcError(-32004)
        push = (call.params.get("configuration") or {}).get("taskPushNotificationConfig")
        if push:
            self._keep_push(push)
        again = self._taken.get(call.message_id) if self.deduplicates else None
        asked = again or self._work.task_for(call)
        # Listening starts before the work does, so that no event can slip through between the two.
        listener = self.tasks.listen(asked.id)
        if again is None:
            self.message_counts[call.message_id] += 1
            self._taken[call.message_id] = asked
            self._work.start(self._next.popleft() if self._next else self.behaviour, call, asked)
        else:
            listener.frames.put_nowait(again.frame(task()))
        if streaming:
            return partial(write_stream, request, call, self.tasks, asked.id, listener)
        return partial(answer_when_done, request, call, self.tasks, asked, listener)

    def _subscribe(self, request: web.Request, call: RpcCall) -> Finish:
        known = self._known(call)
        if not self.streaming:
            raise RpcError(-32004)
        if known.is_terminal:
            raise over(call, known)
        listener = self.tasks.listen(known.id)
        if not call.is_old:  # 0.3 promises no snapshot
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
            self._work.stop(known.id)
        self.changes.mark()
        return known.wire()


async def _same(answer: web.StreamResponse) -> web.StreamResponse:
    return answer
