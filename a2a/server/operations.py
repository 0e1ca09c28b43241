"""The eleven operations of A2A 1.0 (section 3.1) for one agent, whatever binding and version they are called over.

Parameters come as the caller wrote them and answers go out in the same spelling; between the two are the port's values.
Every refusal is a Fault.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from fnmatch import fnmatchcase
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from a2a.server import faults, reading_03
from a2a.server.descriptions import Description
from a2a.server.faults import Fault, Kind
from a2a.server.operation import Operation
from a2a.server.port import Caller, Send, ServedEvent, ServedTasks, ServeError
from a2a.server.reading import Reader, View
from a2a.server.settings import A2AServerSettings
from a2a.server.spelling import Spelling
from core.parts import File

Json = dict[str, Any]


class Call(Struct, frozen=True):
    """One call, as both bindings understand it."""

    caller: Caller
    spelling: Spelling
    params: Json
    extensions: tuple[str, ...] = ()  # activated
    idempotency_key: str = ""


class Operations:
    def __init__(
        self,
        agent: str,
        tasks: ServedTasks,
        settings: A2AServerSettings,
        describe: Callable[[], Awaitable[Description]],
    ) -> None:
        self.agent = agent
        self._tasks = tasks
        self._settings = settings
        self._describe = describe
        self._reader = Reader(settings.limits, settings.allow_push_private)
        self._most_history = settings.limits.history
        self._answers: dict[Operation, Callable[[Call, Json], Awaitable[Any]]] = {
            Operation.SEND: self._send,
            Operation.GET: self._get,
            Operation.LIST: self._list,
            Operation.CANCEL: self._cancel,
            Operation.SET_PUSH: self._set_push,
            Operation.GET_PUSH: self._push,
            Operation.LIST_PUSHES: self._pushes,
            Operation.DROP_PUSH: self._drop_push,
        }

    async def answer(self, operation: Operation, call: Call) -> Any:
        """The result of an operation that does not stream; raises Fault."""
        params = self._params(operation, call)
        try:
            return await self._answers[operation](call, params)
        except ServeError as error:
            raise faults.of(error) from error

    async def events(self, operation: Operation, call: Call) -> AsyncGenerator[list[Json]]:
        """The events of one that does, as many as wait; raises Fault, before any where the call itself is refused."""
        params = self._params(operation, call)
        if not self._settings.streaming:
            raise Fault(Kind.UNSUPPORTED, "the agent does not stream; poll with GetTask")
        try:
            if operation is Operation.STREAM:
                request, view = await self._request(call, params)
                events = self._tasks.stream(call.caller, request)
            else:
                task_id, view = self._reader.task(params)
                events = self._tasks.subscribe(call.caller, task_id)
            view = self._capped(view)
            async with _ended(events):
                async for waiting in events:
                    last = next((at for at, event in enumerate(waiting, 1) if call.spelling.ends_stream(event)), None)
                    yield [call.spelling.writer.event(event, view) for event in waiting[:last]]
                    if last is not None:
                        return
        except ServeError as error:
            raise faults.of(error) from error

    def _params(self, operation: Operation, call: Call) -> Json:
        """In the words of 1.0; the tenant, if one is named, is the agent's name (section 4.4.6)."""
        tenant = call.params.get("tenant")
        if tenant not in (None, "", self.agent):
            raise faults.bad_field("tenant", "is not known here; this interface's card names none")
        if operation.is_about_push and not self._settings.push:
            raise Fault(Kind.PUSH_NOT_SUPPORTED, "the agent sends no push notifications")
        return call.spelling.params(operation, call.params)

    async def _send(self, call: Call, params: Json) -> Json:
        request, view = await self._request(call, params)
        return call.spelling.writer.sent(await self._tasks.send(call.caller, request), self._capped(view))

    async def _get(self, call: Call, params: Json) -> Json:
        task_id, view = self._reader.task(params)
        return call.spelling.writer.task(await self._tasks.get(call.caller, task_id), self._capped(view))

    async def _list(self, call: Call, params: Json) -> Json:
        if call.spelling.is_old:
            raise Fault(Kind.UNSUPPORTED, "tasks are listed in version 1.0 of the protocol only")
        if not call.caller.may_list:
            raise Fault(Kind.UNSUPPORTED, "tasks are not listed for callers that are not known")
        wanted, view = self._reader.list(params)
        page = await self._tasks.list(call.caller, wanted)
        return call.spelling.writer.page(page, self._capped(view), wanted.size)

    async def _cancel(self, call: Call, params: Json) -> Json:
        task_id, view = self._reader.task(params)
        return call.spelling.writer.task(await self._tasks.cancel(call.caller, task_id), self._capped(view))

    async def _set_push(self, call: Call, params: Json) -> Json:
        config = replace(self._reader.push(params), protocol=call.spelling.version)
        return call.spelling.writer.push(await self._tasks.set_push(call.caller, config))

    async def _push(self, call: Call, params: Json) -> Json:
        task_id, config_id = await self._meant(call, params, reading_03.read_push)
        return call.spelling.writer.push(await self._tasks.push(call.caller, task_id, config_id))

    async def _pushes(self, call: Call, params: Json) -> Any:
        configs = await self._tasks.pushes(call.caller, self._reader.pushes(params))
        return call.spelling.writer.pushes(configs)

    async def _drop_push(self, call: Call, params: Json) -> None:
        task_id, config_id = await self._meant(call, params, reading_03.meant_push)
        await self._tasks.drop_push(call.caller, task_id, config_id)

    async def _meant(
        self, call: Call, params: Json, means: Callable[[str, str, Sequence[str]], str]
    ) -> tuple[str, str]:
        """The task's id and its config's; in 0.3 `means` says which one an id stands for."""
        task_id, config_id = self._reader.push_id(params)
        if not call.spelling.is_old:
            return task_id, config_id
        known = [config.id for config in await self._tasks.pushes(call.caller, task_id)]
        return task_id, means(task_id, config_id, known)

    async def _request(self, call: Call, params: Json) -> tuple[Send, View]:
        request, view = self._reader.send(
            params,
            patience=self._settings.limits.wait_03 if call.spelling.is_old else None,
            extensions=call.extensions,
            idempotency_key=call.idempotency_key,
        )
        if request.push is not None and not self._settings.push:
            raise Fault(Kind.PUSH_NOT_SUPPORTED, "the agent sends no push notifications")
        if request.push is not None:
            request = replace(request, push=replace(request.push, protocol=call.spelling.version))
        typed = [part.media_type for part in request.message.parts if isinstance(part, File)]
        if typed:
            _check_types(typed, (await self._describe()).input_modes)
        return request, view

    def _capped(self, view: View) -> View:
        most = self._most_history
        return View(most if view.history is None else min(view.history, most), view.artifacts)


@asynccontextmanager
async def _ended(events: AsyncIterator[Sequence[ServedEvent]]) -> AsyncIterator[None]:
    """Whoever makes the events is told at once that nobody listens any more, and not when memory is cleared up."""
    try:
        yield
    finally:
        if isinstance(events, AsyncGenerator):
            await events.aclose()


def _check_types(typed: list[str], taken: tuple[str, ...]) -> None:
    """Section 3.1.1: a file of a type that the card does not list is refused."""
    for media_type in typed:
        bare = media_type.partition(";")[0].strip().lower()
        if not any(fnmatchcase(bare, mode.lower()) for mode in taken):
            raise Fault(Kind.CONTENT_TYPE, f"files of type {bare[:100]!r} are not taken; taken are {', '.join(taken)}")
