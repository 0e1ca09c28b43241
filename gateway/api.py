"""The control API, /api/v1: what operators and the command line see of the line, and the few things they can do to it.

Every endpoint stands in one table, from which both the routes and openapi.json are made, so that the document cannot
describe what does not exist. Lists answer {"items": [...], "next": cursor or null}; errors are problem documents
(RFC 9457). Nothing here shows a secret: settings say `set: true`.
"""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from aiohttp import web

from core.doors.ingress import Ingress, Refusal
from core.errors import StoreUnavailable
from core.telemetry import Telemetry
from gateway.api_resource import BODY, Item, NotPossible, Read, Resource, UnknownId
from gateway.api_schemas import CURSOR, IDS, LIMIT, SCHEMAS, state_of
from gateway.health import Operator, json_response
from gateway.openapi import Endpoint, document
from gateway.states import DELIVERY_STATES, SESSION_STATES, TASK_STATES

__all__ = ("ControlApi", "Item", "NotPossible", "Operations", "Page", "Records", "UnknownId")

PREFIX = "/api/v1"
PAGE, LARGEST_PAGE = 50, 200  # items of a list
BODY_LIMIT = 65_536  # bytes; a word of LONGEST_TEXT characters, however it is escaped
EMPTY_BODY_LIMIT = 1024  # bytes; most actions take no arguments, but clients may send an empty object
NO_ARGUMENTS = re.compile(rb"\s*(\{\s*\})?\s*")
CURSOR_LIMIT = 512  # characters
_ID = "[A-Za-z0-9_.-]{1,128}"


@dataclass(frozen=True, slots=True)
class Page:
    items: Sequence[Item]
    next: str | None  # the cursor of the next page, None after the last


class Records(Protocol):
    """What is known, as JSON values with times in ISO 8601. A bad cursor raises ValueError; `state` None is any.

    Nothing that the configuration keeps secret is in them.
    """

    async def sessions(self, *, limit: int, cursor: str | None, state: str | None) -> Page: ...
    async def session(self, ref: str) -> Item | None: ...
    async def envelope(self, id: str) -> Item | None: ...
    async def unreadable(self, *, limit: int, cursor: str | None) -> Page: ...
    async def unreadable_one(self, id: str) -> Item | None: ...
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

    def agents(self) -> Sequence[Item]:
        """Each agent: its name, kind, connection as far as it is known, and settings without secrets."""
        ...

    async def agent(self, name: str) -> Item | None: ...

    async def discover_agent(self, name: str) -> None:
        """Read its card now."""
        ...

    async def test_agent(self, name: str) -> None:
        """Whether it is there and lets the gateway in; it does no work for that."""
        ...

    async def agree_to_agent(self, name: str, fingerprint: str) -> None:
        """Go on with a card that changed, if it still is the one with this fingerprint."""
        ...

    async def cancel_task(self, id: str) -> None:
        """Ask the agent to stop it; before the agent answered at all, the wish is remembered."""
        ...

    async def refresh_task(self, id: str) -> None:
        """Get the task from its agent now and record what it says."""
        ...

    async def reply_to_task(self, id: str, text: str) -> None:
        """Answer what it asks, in the place of the person who was asked; what comes of it is shown to that person."""
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
        return (
            Endpoint(
                "GET", "/summary", "Counts by state, and what nobody can know", self._summary, "Summary", query=(IDS,)
            ),
            *self._of_messages(),
            *self._of_tasks(),
            *self._of_deliveries(),
            *self._of_plugins(),
            *self._of_agents(),
            Endpoint("GET", "/openapi.json", "This description", self._openapi, "OpenApi"),
        )

    def _of_messages(self) -> tuple[Endpoint, ...]:
        records, unreadable = self._operations.records, "Authentic updates that could not be read, newest first"
        session = self._resource("/sessions/{ref}", records.session, "Session")
        envelope = self._resource("/envelopes/{id}", records.envelope, "Envelope")
        unread = self._resource("/unreadable/{id}", records.unreadable_one, "Unreadable")
        return (
            _list("/sessions", "Sessions, newest first", records.sessions, "Session", SESSION_STATES),
            session.show("One session with its timeline"),
            envelope.show("The facts of one admitted message"),
            _list("/unreadable", unreadable, records.unreadable, "Unreadable"),
            unread.show("One update that could not be read, with its body"),
        )

    def _of_tasks(self) -> tuple[Endpoint, ...]:
        operations, records = self._operations, self._operations.records
        task = self._resource("/tasks/{id}", records.task, "Task")
        return (
            _list("/tasks", "Remote tasks, newest first", records.tasks, "Task", TASK_STATES),
            task.show("One task with what its agent said, by its own, its agent's or its caller's id"),
            task.act("cancel", "Ask the agent to stop a task", operations.cancel_task),
            task.act("refresh", "Get a task from its agent now", operations.refresh_task),
            task.say("reply", "Answer what a task asks", operations.reply_to_task, takes="Words"),
        )

    def _of_deliveries(self) -> tuple[Endpoint, ...]:
        operations, records = self._operations, self._operations.records
        delivery = self._resource("/deliveries/{id}", records.delivery, "Delivery")
        return (
            _list("/deliveries", "Deliveries, newest first", records.deliveries, "Delivery", DELIVERY_STATES),
            delivery.show("One delivery with its attempts"),
            delivery.act("retry", "Queue a delivery once more", operations.retry_delivery),
            delivery.act("discard", "Never send a delivery", operations.discard_delivery),
        )

    def _of_plugins(self) -> tuple[Endpoint, ...]:
        return (
            Endpoint("GET", "/plugins", "Plugin accounts and their health", self._plugins, "Plugin", is_list=True),
            self._resource("/plugins/{name}", self._plugin, "Plugin").show("One account"),
        )

    def _of_agents(self) -> tuple[Endpoint, ...]:
        operations = self._operations
        agent = self._resource("/agents/{name}", operations.agent, "Agent")
        return (
            Endpoint("GET", "/agents", "Agents and their connections", self._agents, "Agent", is_list=True),
            agent.show("One agent"),
            agent.act("discover", "Read the card now", operations.discover_agent),
            agent.act("test", "Ask it for nothing", operations.test_agent),
            agent.say("agree", "Agree to a card that has changed", operations.agree_to_agent, takes="Agreement"),
        )

    def _resource(self, path: str, read: Read, schema: str) -> Resource:
        return Resource(path, read, schema, self._telemetry)

    def _route(self, ingress: Ingress, endpoint: Endpoint) -> web.RouteDef:
        path = PREFIX + re.sub(r"{(\w+)}", rf"{{\1:{_ID}}}", endpoint.path)

        async def handle(request: web.Request, body: bytes) -> web.Response:
            request[BODY] = body
            _refuse_what_is_not_read(request, body, endpoint)
            try:
                return json_response(await endpoint.answer(request))
            except StoreUnavailable as error:
                retry = {"Retry-After": str(max(1, round(error.retry_after)))}
                raise Refusal(503, "store_unavailable", headers=retry, detail="the store cannot commit now") from error

        if endpoint.method == "GET":
            return ingress.get(path, authenticate=self._operator.require, handle=handle)
        limit = BODY_LIMIT if endpoint.takes else EMPTY_BODY_LIMIT
        return ingress.post(
            path, authenticate=self._operator.require, handle=handle, content_types=None, body_limit=limit
        )

    async def _summary(self, request: web.Request) -> Item:
        flag = request.query.get("ids", "0")
        if flag not in ("0", "1"):
            raise Refusal(400, "bad_parameter", detail="ids is 0 or 1")
        return await self._operations.records.summary(ids=flag == "1")

    async def _plugins(self, _request: web.Request) -> Item:
        return {"items": self._operations.plugins(), "next": None}

    async def _plugin(self, name: str) -> Item | None:
        return next((item for item in self._operations.plugins() if item["name"] == name), None)

    async def _agents(self, _request: web.Request) -> Item:
        return {"items": self._operations.agents(), "next": None}

    async def _openapi(self, _request: web.Request) -> Item:
        return self._document


def _list(
    path: str, summary: str, read: Callable[..., Awaitable[Page]], schema: str, states: Sequence[str] = ()
) -> Endpoint:
    """`read` takes limit and cursor, and where there are states, a state."""

    async def answer(request: web.Request) -> Item:
        cursor = request.query.get("cursor")
        if cursor is not None and len(cursor) > CURSOR_LIMIT:
            raise _bad_cursor()
        narrowed = {"state": _state(request, states)} if states else {}
        try:
            page = await read(limit=_limit(request), cursor=cursor, **narrowed)
        except ValueError as error:
            raise _bad_cursor() from error
        return {"items": page.items, "next": page.next}

    query = (*((state_of(states),) if states else ()), LIMIT, CURSOR)
    return Endpoint("GET", path, summary, answer, schema, is_list=True, query=query, fails_with=(400,))


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
    if not endpoint.takes and not NO_ARGUMENTS.fullmatch(body):
        raise Refusal(400, "unknown_argument", detail="this takes no arguments; leave the body empty")


def _bad_cursor() -> Refusal:
    return Refusal(400, "bad_cursor", detail="the cursor is not one that this list gave")
