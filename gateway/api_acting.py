"""The actions of the control API: each is done once, told as an event, and answered with the record as it is then."""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from aiohttp import web

from core.doors.ingress import BadJson, Refusal, strict_json
from core.errors import AgentError
from core.telemetry import Telemetry
from gateway.openapi import Endpoint

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


class Actions:
    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry

    def act(self, path: str, verb: str, summary: str, act: Act, read: Read, schema: str) -> Endpoint:
        """One that takes no arguments."""

        async def answer(request: web.Request) -> Item:
            (key,) = request.match_info.values()
            return await self._done(path, verb, key, act(key), read)

        return Endpoint("POST", f"{path}:{verb}", summary, answer, schema, fails_with=(400, 404, 409, 502))

    def say(self, path: str, verb: str, summary: str, say: Say, read: Read, schema: str, *, takes: str) -> Endpoint:
        """One that takes a word: the only member of its body."""
        (member,) = _MEMBERS[takes]

        async def answer(request: web.Request) -> Item:
            (key,) = request.match_info.values()
            return await self._done(path, verb, key, say(key, _word(request[BODY], member)), read)

        failures = (400, 404, 409, 502)
        return Endpoint("POST", f"{path}:{verb}", summary, answer, schema, fails_with=failures, takes=takes)

    async def _done(self, path: str, verb: str, key: str, act: Awaitable[None], read: Read) -> Item:
        kind, outcome = path.split("/")[1], "failed"
        try:
            await act
            outcome = "done"
        except UnknownId as error:
            outcome = "unknown_id"
            raise unknown() from error
        except NotPossible as error:
            outcome = "not_possible"
            raise Refusal(409, "not_possible", detail=str(error)) from error
        except AgentError as error:
            raise Refusal(502, "agent_failed", detail=str(error)) from error
        finally:
            self._telemetry.event("operator.acted", action=f"{kind}:{verb}", id=key, outcome=outcome)
        return await found(read, key)


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


async def found(read: Read, key: str) -> Item:
    item = await read(key)
    if item is None:
        raise unknown()
    return item


def unknown() -> Refusal:
    return Refusal(404, "unknown_id", detail="there is no such record")
