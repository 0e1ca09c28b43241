"""One kind of record in the control API: how one is shown, and what can be done to it.

An action is done once, told as an event, and answered with the record as it is then.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from aiohttp import web

from core.doors.ingress import BadJson, Refusal, strict_json
from core.errors import AgentError
from core.telemetry import Telemetry
from gateway.openapi import Answer, Endpoint

BODY: web.RequestKey[bytes] = web.RequestKey("body", bytes)
LONGEST_TEXT = 16_384  # characters of an operator's reply

Item = Mapping[str, Any]
Act = Callable[[str], Awaitable[None]]
Say = Callable[[str, str], Awaitable[None]]
Read = Callable[[str], Awaitable[Item | None]]


class UnknownId(LookupError):
    """There is no such record, or none that this caller may see."""


class NotPossible(Exception):
    """The record's state does not allow it; the message says why."""


class Resource:
    """`path` ends with the record's key; an action's path goes on with its verb."""

    def __init__(self, path: str, read: Read, schema: str, telemetry: Telemetry) -> None:
        self._path, self._read, self._schema, self._telemetry = path, read, schema, telemetry

    def show(self, summary: str) -> Endpoint:
        async def answer(request: web.Request) -> Item:
            return await self._found(_key(request))

        return Endpoint("GET", self._path, summary, answer, self._schema, fails_with=(404,))

    def act(self, verb: str, summary: str, act: Act) -> Endpoint:
        """One that takes no arguments."""

        async def answer(request: web.Request) -> Item:
            key = _key(request)
            return await self._done(verb, key, act(key))

        return self._action(verb, summary, answer)

    def say(self, verb: str, summary: str, say: Say, *, takes: str) -> Endpoint:
        """One that takes a word: the only member of its body."""
        (member,) = _MEMBERS[takes]

        async def answer(request: web.Request) -> Item:
            key = _key(request)
            return await self._done(verb, key, say(key, _word(request[BODY], member)))

        return self._action(verb, summary, answer, takes)

    def _action(self, verb: str, summary: str, answer: Answer, takes: str = "") -> Endpoint:
        failures = (400, 404, 409, 502)
        return Endpoint("POST", f"{self._path}:{verb}", summary, answer, self._schema, fails_with=failures, takes=takes)

    async def _done(self, verb: str, key: str, act: Awaitable[None]) -> Item:
        kind, outcome = self._path.split("/")[1], "failed"
        try:
            await act
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
            self._telemetry.event("operator.acted", action=f"{kind}:{verb}", id=key, outcome=outcome)
        return await self._found(key)

    async def _found(self, key: str) -> Item:
        item = await self._read(key)
        if item is None:
            raise _unknown()
        return item


def _key(request: web.Request) -> str:
    (key,) = request.match_info.values()
    return key


_MEMBERS = {"Agreement": ("fingerprint",), "Words": ("text",)}


def _word(body: bytes, member: str) -> str:
    detail = (
        f"the body is a JSON object with one member, {json.dumps(member)}: a text of 1 to {LONGEST_TEXT} characters"
    )
    try:
        said = strict_json(body)
    except BadJson as error:
        raise Refusal(400, "bad_body", detail=detail) from error
    text = said.get(member) if isinstance(said, dict) and set(said) == {member} else None
    if not isinstance(text, str) or not text.strip() or len(text) > LONGEST_TEXT:
        raise Refusal(400, "bad_body", detail=detail)
    return text


def _unknown() -> Refusal:
    return Refusal(404, "unknown_id", detail="there is no such record")
