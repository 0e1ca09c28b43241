"""The control API, /api/v1: what operators and the command line see of the line, and the few things they can do to it.

Every endpoint stands in one table, from which both the routes and openapi.json are made, so that the document cannot
describe what does not exist. Lists answer {"items": [...], "next": cursor or null}; errors are problem documents
(RFC 9457). Nothing here shows a secret: settings say `set: true`.
"""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from aiohttp import web

from core.doors.ingress import Ingress, Refusal
from core.errors import AgentError, StoreUnavailable
from core.telemetry import Telemetry
from gateway.api_schemas import CURSOR, IDS, LIMIT, SCHEMAS, state_of
from gateway.health import Operator, json_response
from gateway.openapi import Endpoint, document
from gateway.states import DELIVERY_STATES, SESSION_STATES, TASK_STATES

PREFIX = "/api/v1"
PAGE, LARGEST_PAGE = 50, 200  # items of a list
BODY_LIMIT = 1024  # bytes; actions take no arguments, but clients may send an empty object
NO_ARGUMENTS = re.compile(rb"\s*(\{\s*\})?\s*")
CURSOR_LIMIT = 512  # characters
_ID = "[A-Za-z0-9_.-]{1,128}"

Item = Mapping[str, Any]
_Act = Callable[[str], Awaitable[None]]
_Read = Callable[[str], Awaitable[Item | None]]


@dataclass(frozen=True, slots=True)
class Page:
    items: Sequence[Item]
    next: str | None  # the cursor of the next page, None after the last


class UnknownId(LookupError):
    """There is no such record, or none that this caller may see."""


class NotPossible(Exception):
    """The record's state does not allow it; the message says why."""


class Records(Protocol):
    """What is known, as JSON values with times in ISO 8601. A bad cursor raises ValueError; `state` None is any."""

    async def sessions(self, *, limit: int, cursor: str | None, state: str | None) -> Page: ...
    async def session(self, ref: str) -> Item | None: ...
    async def envelope(self, id: str) -> Item | None: ...
    async def tasks(self, *, limit: int, cursor: str | None, state: str | None) -> Page: ...
    async def task(self, id: str) -> Item | None: ...
    async def deliveries(self, *, limit: int, cursor: str | None, state: str | None) -> Page: ...
    async def delivery(self, id: str) -> Item | None: ...
    async def summary(self, *, ids: bool) -> Item: ...


class Operations(Protocol):
    """What the API asks of the gateway. Actions raise UnknownId, NotPossible, StoreUnavailable or AgentError."""

    @property
    def records(self) -> Records: ...

    def plugins(self) -> Sequence[Item]:
        """Each account: its name, kind, agent, health and settings without secrets."""
        ...

    def agents(self) -> Sequence[Item]: ...

    async def cancel_task(self, id: str) -> None:
        """Ask the agent to stop it; before the agent answered at all, the wish is remembered."""
        ...

    async def refresh_task(self, id: str) -> None:
        """Get the task from its agent now and record what it says."""
        ...

    async def retry_delivery(self, id: str) -> None:
        """Queue it once more, marked as a repeat where it may have been shown."""
        ...

    async def discard_delivery(self, id: str) -> None:
        """Never send it; what is already under way cannot be discarded."""
        ...


class ControlApi:
    def __init__(self, operations: Operations, operator: Operator, telemetry: Telemetry, *, version: str) -> None:
        self._operations, self._operator, self._telemetry = operations, operator, telemetry
        self._document = document(self.endpoints(), SCHEMAS, prefix=PREFIX, version=version)

    def routes(self, ingress: Ingress) -> list[web.RouteDef]:
        return [self._route(ingress, endpoint) for endpoint in self.endpoints()]

    def endpoints(self) -> tuple[Endpoint, ...]:
        operations, records = self._operations, self._operations.records
        return (
            Endpoint(
                "GET", "/summary", "Counts by state, and what nobody can know", self._summary, "Summary", query=(IDS,)
            ),
            _list("/sessions", "Sessions, newest first", records.sessions, "Session", SESSION_STATES),
            _show("/sessions/{ref}", "One session with its timeline", records.session, "Session"),
            _show("/envelopes/{id}", "The facts of one admitted message", records.envelope, "Envelope"),
            _list("/tasks", "Remote tasks, newest first", records.tasks, "Task", TASK_STATES),
            _show("/tasks/{id}", "One task with what its agent said", records.task, "Task"),
            self._act(
                "/tasks/{id}", "cancel", "Ask the agent to stop a task", operations.cancel_task, records.task, "Task"
            ),
            self._act(
                "/tasks/{id}", "refresh", "Get a task from its agent now", operations.refresh_task, records.task, "Task"
            ),
            _list("/deliveries", "Deliveries, newest first", records.deliveries, "Delivery", DELIVERY_STATES),
            _show("/deliveries/{id}", "One delivery with its attempts", records.delivery, "Delivery"),
            self._act(
                "/deliveries/{id}",
                "retry",
                "Queue a delivery once more",
                operations.retry_delivery,
                records.delivery,
                "Delivery",
            ),
            self._act(
                "/deliveries/{id}",
                "discard",
                "Never send a delivery",
                operations.discard_delivery,
                records.delivery,
                "Delivery",
            ),
            Endpoint("GET", "/plugins", "Plugin accounts and their health", self._plugins, "Plugin", is_list=True),
            Endpoint("GET", "/plugins/{name}", "One account", self._plugin, "Plugin", fails_with=(404,)),
            Endpoint("GET", "/agents", "Agents", self._agents, "Agent", is_list=True),
            Endpoint("GET", "/openapi.json", "This description", self._openapi, "OpenApi"),
        )

    def _route(self, ingress: Ingress, endpoint: Endpoint) -> web.RouteDef:
        path = PREFIX + re.sub(r"{(\w+)}", rf"{{\1:{_ID}}}", endpoint.path)

        async def handle(request: web.Request, body: bytes) -> web.Response:
            _refuse_what_is_not_read(request, body, endpoint)
            try:
                return json_response(await endpoint.answer(request))
            except StoreUnavailable as error:
                retry = {"Retry-After": str(max(1, round(error.retry_after)))}
                raise Refusal(503, "store_unavailable", headers=retry, detail="the store cannot commit now") from error

        if endpoint.method == "GET":
            return ingress.get(path, authenticate=self._operator.require, handle=handle)
        return ingress.post(
            path, authenticate=self._operator.require, handle=handle, content_types=None, body_limit=BODY_LIMIT
        )

    def _act(self, path: str, verb: str, summary: str, act: _Act, read: _Read, schema: str) -> Endpoint:
        kind = path.split("/")[1]

        async def answer(request: web.Request) -> Item:
            id = request.match_info["id"]
            outcome = "failed"
            try:
                await act(id)
                outcome = "done"
            except UnknownId as error:
                outcome = "unknown_id"
                raise _unknown() from error
            except NotPossible as error:
                outcome = "not_possible"
                raise Refusal(409, "not_possible", detail=str(error)) from error
            except AgentError as error:
                raise Refusal(502, "agent_failed", detail=str(error)) from error
            finally:
                self._telemetry.event("operator.acted", action=f"{kind}:{verb}", id=id, outcome=outcome)
            return await _found(read, id)

        return Endpoint("POST", f"{path}:{verb}", summary, answer, schema, fails_with=(400, 404, 409, 502))

    async def _summary(self, request: web.Request) -> Item:
        flag = request.query.get("ids", "0")
        if flag not in ("0", "1"):
            raise Refusal(400, "bad_parameter", detail="ids is 0 or 1")
        return await self._operations.records.summary(ids=flag == "1")

    async def _plugins(self, _request: web.Request) -> Item:
        return {"items": self._operations.plugins(), "next": None}

    async def _plugin(self, request: web.Request) -> Item:
        for item in self._operations.plugins():
            if item["name"] == request.match_info["name"]:
                return item
        raise _unknown()

    async def _agents(self, _request: web.Request) -> Item:
        return {"items": self._operations.agents(), "next": None}

    async def _openapi(self, _request: web.Request) -> Item:
        return self._document


class _ListOf(Protocol):
    def __call__(self, *, limit: int, cursor: str | None, state: str | None) -> Awaitable[Page]: ...


def _list(path: str, summary: str, read: _ListOf, schema: str, states: Sequence[str]) -> Endpoint:
    async def answer(request: web.Request) -> Item:
        cursor = request.query.get("cursor")
        if cursor is not None and len(cursor) > CURSOR_LIMIT:
            raise _bad_cursor()
        state = _state(request, states)
        try:
            page = await read(limit=_limit(request), cursor=cursor, state=state)
        except ValueError as error:
            raise _bad_cursor() from error
        return {"items": page.items, "next": page.next}

    query = (state_of(states), LIMIT, CURSOR)
    return Endpoint("GET", path, summary, answer, schema, is_list=True, query=query, fails_with=(400,))


def _show(path: str, summary: str, read: _Read, schema: str) -> Endpoint:
    async def answer(request: web.Request) -> Item:
        (key,) = request.match_info.values()
        return await _found(read, key)

    return Endpoint("GET", path, summary, answer, schema, fails_with=(404,))


async def _found(read: _Read, key: str) -> Item:
    item = await read(key)
    if item is None:
        raise _unknown()
    return item


def _limit(request: web.Request) -> int:
    text = request.query.get("limit", str(PAGE))
    if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) == 0:
        raise Refusal(400, "bad_parameter", detail=f"limit is a number from 1 to {LARGEST_PAGE}")
    return min(int(text), LARGEST_PAGE)


def _state(request: web.Request, states: Sequence[str]) -> str | None:
    state = request.query.get("state")
    if state is not None and state not in states:
        raise Refusal(400, "bad_parameter", detail=f"unknown state {state[:64]!r}; known here: {', '.join(states)}")
    return state


def _refuse_what_is_not_read(request: web.Request, body: bytes, endpoint: Endpoint) -> None:
    """What would be ignored was meant for something: it is refused by name."""
    known = {parameter.name for parameter in endpoint.query}
    if unknown := sorted(set(request.query) - known):
        takes = ", ".join(sorted(known)) or "no parameters"
        raise Refusal(400, "unknown_parameter", detail=f"unknown parameter {unknown[0][:64]!r}; this takes {takes}")
    if twice := [name for name in sorted(request.query.keys()) if len(request.query.getall(name)) > 1]:
        raise Refusal(400, "repeated_parameter", detail=f"{twice[0]} is given more than once")
    if not NO_ARGUMENTS.fullmatch(body):
        raise Refusal(400, "unknown_argument", detail="this takes no arguments; leave the body empty")


def _unknown() -> Refusal:
    return Refusal(404, "unknown_id", detail="there is no such record")


def _bad_cursor() -> Refusal:
    return Refusal(400, "bad_cursor", detail="the cursor is not one that this list gave")
