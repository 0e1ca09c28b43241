"""A remote A2A agent as an `Agent`.

Each verb is one call, read by translate.py, with the failures it can end in (failures.py). Over which interface it
goes, and whether it is made once more over another, is for interfaces.py to say; that happens only after a refusal
that comes before any work. Who waits, retries, polls and remembers is the tracker.
"""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, suppress
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from a2a import bindings, failures, translate, wire
from a2a.agreement import Agreement
from a2a.calls import Call, Calls
from a2a.card import CardView, Endpoint
from a2a.card_keeping import CardKeeper, CardReader
from a2a.circuit import Circuits
from a2a.connection import Connection
from a2a.credentials import Credentials, configured
from a2a.extended_card import ExtendedCards
from a2a.interfaces import Interfaces
from a2a.settings import A2AAgentSettings
from a2a.wire import Verb
from core.agent import Ask, Reply, Snapshot, TaskEvent, TaskRef
from core.clock import Clock, SystemClock
from core.doors.outbound import GuardedClient
from core.errors import Declined
from core.plugin import PluginState
from core.push import Push, PushWay
from core.telemetry import Silent, Telemetry

R = TypeVar("R")
T = TypeVar("T")

CARD_PATIENCE = 3.0  # seconds that whoever asks for a card of ours waits for the one it is made of
LIST_PAGES = 5  # of LIST_PAGE tasks, newest first: what was sent a moment ago is on the first page or nowhere
LIST_PAGE = 100  # the most that one page may hold (section 3.1.4)
LIST_HISTORY = 20  # messages of each listed task; the one looked for is among its latest


def make(
    name: str,
    settings: A2AAgentSettings,
    client: GuardedClient,
    *,
    telemetry: Telemetry | None = None,
    state: PluginState | None = None,
    on_back: Callable[[], None] | None = None,
) -> "RemoteAgent":
    """The agent of a table `[agents.NAME]` with kind "a2a"; does no I/O."""
    return RemoteAgent(
        name, settings, client, configured(settings.auth), telemetry=telemetry, state=state, on_back=on_back
    )


class RemoteAgent:
    """Construction does no I/O: the card is read at the first call."""

    def __init__(
        self,
        name: str,
        settings: A2AAgentSettings,
        client: GuardedClient,
        credentials: Credentials,
        *,
        clock: Clock | None = None,
        telemetry: Telemetry | None = None,
        state: PluginState | None = None,
        on_back: Callable[[], None] | None = None,
    ) -> None:
        """`state` keeps what was agreed to of its card; without one every card is as good as the first.

        `on_back` is called when it takes calls again after it was away, or its operator agreed to its card: who waits
        for it need not wait longer.
        """
        self._name = name
        self._settings, self._passes = settings, frozenset(settings.passes)
        self._telemetry = telemetry or Silent()
        clock = clock or SystemClock()
        circuits = Circuits(name, clock, self._telemetry, on_back)
        self._calls = Calls(settings, client, credentials, circuits)
        extended = ExtendedCards(settings, self._calls)
        self._cards = CardKeeper(CardReader(settings, client, credentials, extended, circuits), clock)
        self._agreement = Agreement(name, settings.card, state, self._card_changed)
        self._interfaces = Interfaces(settings, self._cards, clock, self._fell_back, self._agreement)
        self.connection = Connection(self, self._cards, self._agreement, self._interfaces, circuits)
        self._said: Mapping[str, Any] = {}  # its card, as far as it was agreed to
        self._pushes = True  # it never refused a push configuration that came with a message

    def __repr__(self) -> str:
        return f"RemoteAgent({self._name!r})"

    @property
    def name(self) -> str:
        return self._name

    async def send(self, ask: Ask) -> AsyncGenerator[TaskEvent, None]:
        """As the port says. Streams where the card offers it and a stream is free; else the caller has to poll."""
        try:
            route = await self._interfaces.route(_continued(ask))
            while True:
                streaming = route.endpoint.streaming and self._calls.has_free_stream
                question = self._question(ask, streaming=streaming)
                try:
                    if not streaming:
                        said = await self._calls.call(route.endpoint, question)
                        self._pin(said, route.endpoint)
                        yield said
                        return
                    async with aclosing(self._calls.stream(route.endpoint, question)) as events:
                        async for event in events:
                            self._pin(event, route.endpoint)
                            yield event
                    return
                except failures.CallFailed as failure:
                    if ask.push is not None and _refuses_push(failure):
                        ask, self._pushes = replace(ask, push=None), False
                    else:
                        await route.after(failure, question.verb)
        except failures.CallFailed as failure:
            raise failures.of_send(failure, self._name, continuing=ask.task_id is not None) from failure

    def _pin(self, event: TaskEvent, endpoint: Endpoint) -> None:
        if not isinstance(event, Reply):
            self._interfaces.pin(event.task_id, endpoint)

    def _fell_back(self, preferred: str, used: str, failure: failures.CallFailed) -> None:
        self._telemetry.event("agent.fallback", agent=self._name, preferred=preferred, used=used, error=str(failure))

    def _card_changed(self, view: CardView, changed: tuple[str, ...]) -> None:
        self._telemetry.event(
            "agent.card_changed",
            level="warning",
            agent=self._name,
            changed=list(changed),
            fingerprint=view.fingerprint,
        )

    def _question(self, ask: Ask, *, streaming: bool) -> Call[wire.StreamResponse, TaskEvent]:
        return Call(
            verb=Verb.SEND_STREAMING if streaming else Verb.SEND,
            params=translate.send_params(ask, streaming=streaming),
            form=bindings.EVENT,
            read=translate.EventReader(
                context_id=ask.context_id or "",
                task_id=ask.task_id or "",
                message_id=ask.message_id,
                passes=self._passes,
            ),
            seconds=self._settings.send_timeout,
        )

    async def subscribe(self, task: TaskRef) -> AsyncGenerator[TaskEvent, None]:
        """As the port says; Declined, without a request, where the card offers no streaming."""
        read = translate.EventReader(context_id=task.context_id, task_id=task.task_id, passes=self._passes)
        call = Call(Verb.SUBSCRIBE, {"id": task.task_id}, bindings.EVENT, read, seconds=self._settings.read_timeout)
        try:
            route = await self._interfaces.route(task)
            while True:
                endpoint = route.endpoint
                if not endpoint.streaming:
                    raise Declined(f"agent {self._name} offers no streaming", code=wire.UNSUPPORTED_OPERATION)
                whole = partial(self._calls.call, endpoint, self._look(task))
                try:
                    async with aclosing(self._calls.stream(endpoint, call, whole=whole)) as events:
                        async for event in events:
                            self._interfaces.pin(task.task_id, endpoint)
                            yield event
                    return
                except failures.CallFailed as failure:
                    await route.after(failure, Verb.SUBSCRIBE)
        except failures.CallFailed as failure:
            raise failures.of_subscribe(failure, self._name) from failure

    async def get(self, task: TaskRef) -> Snapshot:
        """Without history: the question of an interrupted task stands in its status (section 3.1.3)."""
        try:
            return await self._call(self._look(task), task)
        except failures.CallFailed as failure:
            raise failures.of_get(failure, self._name) from failure

    async def cancel(self, task: TaskRef) -> Snapshot | None:
        try:
            return await self._call(self._about(task, Verb.CANCEL), task)
        except failures.CallFailed as failure:
            raise failures.of_cancel(failure, self._name) from failure

    def _look(self, task: TaskRef) -> Call[wire.Task, Snapshot]:
        return self._about(task, Verb.GET, historyLength=0)

    def _about(self, task: TaskRef, verb: Verb, **more: Any) -> Call[wire.Task, Snapshot]:
        def read(answer: wire.Task) -> Snapshot:
            return translate.snapshot(answer, context_id=task.context_id, passes=self._passes)

        params = {"id": task.task_id, **more}
        return Call(verb, params, bindings.TASK, read, seconds=self._settings.read_timeout)

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
            return translate.page(
                tasks, message_id=message_id, context_id=context_id, history=LIST_HISTORY, passes=self._passes
            )

        try:
            return await self._call(Call(Verb.LIST, params, bindings.LIST, read, seconds=self._settings.read_timeout))
        except failures.CallFailed as failure:
            raise failures.of_find(failure, self._name) from failure

    async def push_way(self) -> PushWay:
        """As the port says: by a call where it streams, since what is answered at once needs no push."""
        wished = self._settings.push
        if wished is False or not self._pushes:
            return ""
        try:
            view = await self._interfaces.view()
        except failures.CallFailed:
            return ""  # the send will say why
        if not view.pushes:
            return ""
        streams = view.endpoint.streaming and self._calls.has_free_stream
        return "call" if wished == "auto" and streams else "send"

    async def register_push(self, task: TaskRef, push: Push) -> None:
        params = {"taskId": task.task_id, **translate.push_config(push)}
        await self._configure(Verb.PUSH_CREATE, params, task)

    async def unregister_push(self, task: TaskRef, id: str) -> None:
        await self._configure(Verb.PUSH_DELETE, {"taskId": task.task_id, "id": id}, task)

    async def _configure(self, verb: Verb, params: dict[str, Any], task: TaskRef) -> None:
        call = Call(verb, params, bindings.PUSH_CONFIG, lambda config: config, seconds=self._settings.read_timeout)
        try:
            await self._call(call, task)
        except failures.CallFailed as failure:
            raise failures.of_get(failure, self._name) from failure

    def binding_of(self, task_id: str) -> str:
        """`JSONRPC/1.0`; "" where it is not remembered."""
        return self._interfaces.pinned(task_id) or ""

    async def card(self) -> Mapping[str, Any]:
        """What it says of itself to everybody, as the operator agreed to it last; {} before there is such a card."""
        known = await self._cards.glance(CARD_PATIENCE)
        if known is not None:
            with suppress(failures.CallFailed):
                await self._agreement.check(known.view)
                self._said = known.said
        return self._said

    async def discover(self) -> CardView:
        """The card as it is now, for people; raises Declined (NotAuthorised), Unreachable."""
        return await self.connection.discover()

    async def _call(self, call: Call[R, T], task: TaskRef | None = None) -> T:
        route = await self._interfaces.route(task)
        while True:
            try:
                said = await self._calls.call(route.endpoint, call)
            except failures.CallFailed as failure:
                await route.after(failure, call.verb)
                continue
            if task is not None:
                self._interfaces.pin(task.task_id, route.endpoint)
            return said


def _refuses_push(failure: failures.CallFailed) -> bool:
    """A refusal that comes before any work; the message may be sent again without."""
    return isinstance(failure, failures.RpcFailed) and failure.code == wire.PUSH_NOT_SUPPORTED


def _continued(ask: Ask) -> TaskRef | None:
    return TaskRef(ask.task_id, ask.context_id or "", ask.binding) if ask.task_id is not None else None
