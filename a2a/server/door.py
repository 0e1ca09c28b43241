"""What both bindings do with a call before and after the operation: who calls, with what, and what is said of it."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from aiohttp import web

from a2a.server.callers import Callers
from a2a.server.card_serving import Cards
from a2a.server.encoding import dumps, loads
from a2a.server.faults import Fault, Kind, bad_field
from a2a.server.negotiation import Extensions
from a2a.server.operation import Operation
from a2a.server.operations import Call, Operations
from a2a.server.port import Caller
from a2a.server.settings import A2AServerSettings
from a2a.server.spelling import Spelling
from a2a.server.streams import Streams
from core.clock import Clock
from core.doors.acknowledgement import Answers
from core.doors.ingress import BadJson, Refusal
from core.telemetry import Telemetry

Json = dict[str, Any]

JSON = "application/json"
A2A_JSON = "application/a2a+json"
IDEMPOTENCY_HEADER = "Idempotency-Key"
_CHARSET = re.compile(r'\s*(?:charset="?utf-8"?)?\s*', re.IGNORECASE)
_CALLER = web.RequestKey("a2a_caller", Caller)
NO_HEADERS: Mapping[str, str] = {}
_ANSWERS = {
    media_type: Answers(media_type, {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"})
    for media_type in (JSON, A2A_JSON)
}


@dataclass(frozen=True, slots=True)
class Account:
    """What the doors of all agents of an account share."""

    name: str
    settings: A2AServerSettings
    callers: Callers
    cards: Cards
    streams: Streams
    extensions: Extensions
    clock: Clock
    telemetry: Telemetry

    def change(self, settings: A2AServerSettings) -> None:
        """Other callers are let in from now on; a stream that is open ends when it would not be opened again."""
        self.callers.use(settings)
        self.cards.use(settings, self.clock.now())
        self.streams.end(self._refuses)

    def _refuses(self, request: web.Request) -> bool:
        try:
            return self.callers.identify(request).owner != request[_CALLER].owner
        except Refusal:
            return True


class Door:
    """The way in to one agent."""

    def __init__(self, account: Account, operations: Operations) -> None:
        self.account = account
        self.operations = operations
        self.agent = operations.agent

    def authenticate(self, request: web.Request) -> None:
        """For the ingress; raises Refusal."""
        request[_CALLER] = self.account.callers.identify(request)

    def call(self, request: web.Request, spelling: Spelling, params: Json) -> Call:
        """Raises Fault where a required extension is missing."""
        key = request.headers.get(IDEMPOTENCY_HEADER, "")
        if len(key) > 256:
            raise bad_field(IDEMPOTENCY_HEADER, "has more than 256 characters")
        return Call(
            caller=request[_CALLER],
            spelling=spelling,
            params=params,
            extensions=self.account.extensions.activated(request),
            idempotency_key=key,
        )

    async def result(self, operation: Operation, call: Call, request: web.Request) -> Any:
        """Of an operation that does not stream."""
        if operation is Operation.EXTENDED_CARD:
            return await self._extended_card(call, request)
        return await self.operations.answer(operation, call)

    async def _extended_card(self, call: Call, request: web.Request) -> Json:
        """Section 3.1.11; 0.3 has no other error for an agent without one."""
        if not self.account.settings.extended_card:
            kind = Kind.NO_EXTENDED_CARD if call.spelling.is_old else Kind.UNSUPPORTED
            raise Fault(kind, "the agent has no extended card")
        self.account.callers.known(request)
        return await self.account.cards.extended(self.agent, request)

    def telling(self, request: web.Request, binding: str) -> "_Telling":
        """One event for the call, whatever becomes of it; who handles the call adds what is known by then."""
        caller: Caller = request[_CALLER]
        return _Telling(self.account, self.agent, caller.name, binding)


class _Telling:
    """A context manager by hand: one from a generator costs a call as much as the event itself."""

    __slots__ = ("_account", "_began", "_fields")

    def __init__(self, account: Account, agent: str, caller: str, binding: str) -> None:
        self._account, self._began = account, account.clock.monotonic()
        self._fields: Json = {
            "account": account.name,
            "agent": agent,
            "caller": caller,
            "binding": binding,
            "duration": 0.0,
            "operation": "",
            "version": "",
            "outcome": "cut",
        }

    def __enter__(self) -> Json:
        return self._fields

    def __exit__(self, _kind: type[BaseException] | None, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, Refusal):
            self._fields["outcome"] = error.reason
        self._fields["duration"] = self._account.clock.monotonic() - self._began
        self._account.telemetry.event("a2a.served", **self._fields)


def parsed(body: bytes, depth: int) -> Any:
    """A caller's JSON, after the strict pass; raises Fault."""
    try:
        return loads(body, depth=depth)
    except BadJson as error:
        raise Fault(Kind.PARSE, str(error)) from error


def check_type(request: web.Request, taken: tuple[str, ...]) -> str:
    """The body's media type, one of `taken`; raises Fault. Any charset but UTF-8 would have it read in two ways."""
    values = request.headers.getall("Content-Type", ())
    media_type = _media_type(values[0]) if len(values) == 1 else ""
    if media_type not in taken:
        raise Fault(Kind.CONTENT_TYPE, f"the request's Content-Type should be {' or '.join(taken)}")
    return media_type


@lru_cache(maxsize=256)
def _media_type(written: str) -> str:
    """Without its parameters; "" where they are others than can be taken."""
    media_type, _, parameters = written.partition(";")
    return media_type.strip().lower() if _CHARSET.fullmatch(parameters) else ""


def response(
    request: web.Request, status: int, said: Any, media_type: str, headers: Mapping[str, str] = NO_HEADERS
) -> web.StreamResponse:
    answers, body = _ANSWERS[media_type], dumps(said)
    return answers.to(request, body) if status == 200 and not headers else answers.usual(status, body, headers)


def retry_headers(fault: Fault) -> dict[str, str]:
    return {} if fault.retry_after is None else {"Retry-After": str(max(1, math.ceil(fault.retry_after)))}
