"""A remote A2A agent as an `Agent`: JSON-RPC, protocol 1.0.

Each verb is one call, read by translate.py, with the failures it can end in (failures.py). Nothing is repeated here but
one thing: a call that a changed card explains is made once more after the card was read anew, because such a refusal
comes before any work. Who waits, retries, polls and remembers is the tracker.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, TypeVar

from a2a import failures, translate, wire
from a2a.card import CardKeeper, CardReader, CardView, Endpoint
from a2a.credentials import CredentialSource, fixed
from a2a.rpc import Call, RpcClient
from a2a.settings import A2AAgentSettings
from core.agent import Ask, Snapshot, TaskEvent, TaskRef
from core.clock import Clock, SystemClock
from core.doors.outbound import GuardedClient
from core.errors import Declined

R = TypeVar("R", bound=wire.Wire)
T = TypeVar("T")

LIST_PAGES = 5  # of LIST_PAGE tasks, newest first: what was sent a moment ago is on the first page or nowhere
LIST_PAGE = 100  # the most that one page may hold (section 3.1.4)
LIST_HISTORY = 20  # messages of each listed task; the one looked for is among its latest

# HTTP answers that a moved agent gives.
_MOVED = frozenset({301, 302, 307, 308, 404, 405, 410, 421})


def make(name: str, settings: A2AAgentSettings, client: GuardedClient) -> "RemoteAgent":
    """The agent of a table `[agents.NAME]` with kind "a2a"; does no I/O."""
    return RemoteAgent(name, settings, client, fixed(settings.auth))


class RemoteAgent:
    """Construction does no I/O: the card is read at the first call."""

    def __init__(
        self,
        name: str,
        settings: A2AAgentSettings,
        client: GuardedClient,
        source: CredentialSource,
        *,
        clock: Clock | None = None,
    ) -> None:
        self._name = name
        self._settings = settings
        self._cards = CardKeeper(CardReader(settings, client, source), clock or SystemClock())
        self._rpc = RpcClient(settings, client, source)

    def __repr__(self) -> str:
        return f"RemoteAgent({self._name!r})"

    @property
    def name(self) -> str:
        return self._name

    async def send(self, ask: Ask) -> AsyncGenerator[TaskEvent, None]:
        """As the port says. Streams where the card offers it and a stream is free; else the caller has to poll."""
        try:
            async with aclosing(self._said(ask)) as events:
                async for event in events:
                    yield event
        except failures.CallFailed as failure:
            raise failures.of_send(failure, self._name, continuing=ask.task_id is not None) from failure

    async def _said(self, ask: Ask) -> AsyncGenerator[TaskEvent, None]:
        for is_last in (False, True):
            endpoint = await self._cards.endpoint()
            if not self._can_stream(endpoint):
                yield await self._call(self._question(ask, streaming=False))
                return
            try:
                async with aclosing(self._rpc.stream(endpoint, self._question(ask, streaming=True))) as events:
                    async for event in events:
                        yield event
                return
            except failures.CallFailed as failure:
                if is_last or not await self._is_explained(failure, wire.SEND_STREAMING, endpoint):
                    raise

    def _can_stream(self, endpoint: Endpoint) -> bool:
        return endpoint.streaming and self._rpc.has_free_stream

    def _question(self, ask: Ask, *, streaming: bool) -> Call[wire.StreamResponse, TaskEvent]:
        return Call(
            method=wire.SEND_STREAMING if streaming else wire.SEND,
            params=translate.send_params(ask, streaming=streaming),
            form=wire.EventAnswer,
            read=translate.EventReader(
                context_id=ask.context_id or "", task_id=ask.task_id or "", message_id=ask.message_id
            ),
            seconds=self._settings.send_timeout,
        )

    async def subscribe(self, task: TaskRef) -> AsyncGenerator[TaskEvent, None]:
        """As the port says; Declined, without a request, where the card offers no streaming."""
        read = translate.EventReader(context_id=task.context_id, task_id=task.task_id)
        try:
            endpoint = await self._cards.endpoint()
            if not endpoint.streaming:
                raise Declined(f"agent {self._name} offers no streaming", code=wire.UNSUPPORTED_OPERATION)
            call = Call(
                wire.SUBSCRIBE, {"id": task.task_id}, wire.EventAnswer, read, seconds=self._settings.read_timeout
            )
            async with aclosing(self._rpc.stream(endpoint, call)) as events:
                async for event in events:
                    yield event
        except failures.CallFailed as failure:
            raise failures.of_subscribe(failure, self._name) from failure

    async def get(self, task: TaskRef) -> Snapshot:
        """Without history: the question of an interrupted task stands in its status (section 3.1.3)."""
        try:
            return await self._call(self._about(task, wire.GET, historyLength=0))
        except failures.CallFailed as failure:
            raise failures.of_get(failure, self._name) from failure

    async def cancel(self, task: TaskRef) -> Snapshot | None:
        try:
            return await self._call(self._about(task, wire.CANCEL))
        except failures.CallFailed as failure:
            raise failures.of_cancel(failure, self._name) from failure

    def _about(self, task: TaskRef, method: str, **more: Any) -> Call[wire.Task, Snapshot]:
        def read(answer: wire.Task) -> Snapshot:
            return translate.snapshot(answer, context_id=task.context_id)

        params = {"id": task.task_id, **more}
        return Call(method, params, wire.TaskAnswer, read, seconds=self._settings.read_timeout)

    async def find(self, context_id: str | None, message_id: str) -> Snapshot | None:
        """As the port says; a listing that cannot prove the message's absence counts as none: Declined.

        That is one longer than five pages, and one whose tasks leave out (some of) their history.
        """
        params: dict[str, Any] = {"pageSize": LIST_PAGE, "historyLength": LIST_HISTORY, "includeArtifacts": True}
        if context_id is not None:
            params["contextId"] = context_id
        is_conclusive = True
        for _ in range(LIST_PAGES):
            page = await self._page(params, context_id or "", message_id)
            if page.found is not None:
                return page.found
            is_conclusive = is_conclusive and page.is_conclusive
            if not page.next and is_conclusive:
                return None
            if not page.next:
                break
            params["pageToken"] = page.next
        raise Declined(f"agent {self._name} lists its tasks, but not so that a message can be ruled out")

    async def _page(self, params: dict[str, Any], context_id: str, message_id: str) -> translate.Page:
        def read(tasks: wire.TaskList) -> translate.Page:
            return translate.page(tasks, message_id=message_id, context_id=context_id, history=LIST_HISTORY)

        try:
            return await self._call(Call(wire.LIST, params, wire.ListAnswer, read, seconds=self._settings.read_timeout))
        except failures.CallFailed as failure:
            raise failures.of_find(failure, self._name) from failure

    async def discover(self) -> CardView:
        """The card as it is now, for people; raises Declined (NotAuthorised), Unreachable."""
        try:
            return await self._cards.look()
        except failures.CallFailed as failure:
            raise failures.of_discovery(failure, self._name) from failure

    async def _call(self, call: Call[R, T]) -> T:
        endpoint = await self._cards.endpoint()
        try:
            return await self._rpc.call(endpoint, call)
        except failures.CallFailed as failure:
            if not await self._is_explained(failure, call.method, endpoint):
                raise
        return await self._rpc.call(await self._cards.endpoint(), call)

    async def _is_explained(self, failure: failures.CallFailed, method: str, used: Endpoint) -> bool:
        """Whether the card, read anew, names another endpoint than the one that refused."""
        return _doubts_card(failure, method) and await self._cards.has_another_than(used)


def _doubts_card(failure: failures.CallFailed, method: str) -> bool:
    """Whether the card may have changed: listing, cancelling and subscribing may be missing from a good agent."""
    if isinstance(failure, failures.HttpRefused):
        return failure.status in _MOVED
    if not isinstance(failure, failures.RpcFailed):
        return False
    switched_off = method == wire.SEND_STREAMING and failure.code == wire.UNSUPPORTED_OPERATION
    missing = method in (wire.SEND, wire.SEND_STREAMING, wire.GET) and failure.code == wire.METHOD_NOT_FOUND
    return failure.code == wire.VERSION_NOT_SUPPORTED or switched_off or missing
