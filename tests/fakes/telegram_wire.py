"""The Bot API's envelope as our fake speaks it: parameters in, results and errors out, and the journal of calls.

Semantics after tdlib/telegram-bot-api 10.0: JSON, form and multipart bodies and the query string are one set of
parameters; structured values may arrive as JSON text; a failure is `ok: false` with the HTTP status as error_code.
"""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import BodyPartReader, web

# Only these are decoded from JSON text: guessing by the first character would mangle a message such as "[1]".
STRUCTURED = frozenset(
    {"allowed_updates", "commands", "entities", "link_preview_options", "reply_markup", "reply_parameters", "scope"}
)


class ApiError(Exception):
    """A refusal by the Bot API; `parameters` are its ResponseParameters (retry_after, migrate_to_chat_id)."""

    def __init__(self, code: int, description: str, **parameters: int) -> None:
        super().__init__(f"{code} {description}")
        self.code = code
        self.description = description
        self.parameters = parameters

    def answer(self) -> web.Response:
        body: dict[str, Any] = {"ok": False, "error_code": self.code, "description": self.description}
        if self.parameters:
            body["parameters"] = self.parameters
        retry_after = self.parameters.get("retry_after")
        headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
        return web.json_response(body, status=self.code, headers=headers)


def bad_request(text: str) -> ApiError:
    return ApiError(400, f"Bad Request: {text}")


@dataclass(frozen=True, slots=True)
class ApiCall:
    """One call as it arrived. `method` is spelled as in the documentation, whatever the caller wrote."""

    method: str
    params: Mapping[str, Any]
    at: float = field(default_factory=time.monotonic)  # seconds, monotonic

    @property
    def chat(self) -> int | str | None:
        value = self.params.get("chat_id")
        if isinstance(value, str) and value.lstrip("-").isdigit():
            return int(value)
        return value

    @property
    def text(self) -> str:
        """The raw text before entity parsing, "" when the call has none."""
        return str(self.params.get("text", ""))


def ok(result: object) -> web.Response:
    return web.json_response({"ok": True, "result": result})


async def read_params(request: web.Request) -> dict[str, Any]:
    """Query and body as one mapping; raises ApiError 400 for a body that is no object."""
    params: dict[str, Any] = dict(request.query)
    if request.content_type == "application/json" and request.can_read_body:
        params.update(await _json_object(request))
    elif request.content_type == "multipart/form-data":
        params.update(await _multipart(request))
    elif request.method == "POST":
        params.update(await request.post())
    return {name: _decoded(name, value) for name, value in params.items()}


async def _json_object(request: web.Request) -> dict[str, Any]:
    try:
        body = await request.json()
    except ValueError:
        raise bad_request("can't parse request body as JSON object") from None
    if not isinstance(body, dict):
        raise bad_request("can't parse request body as JSON object")
    return body


async def _multipart(request: web.Request) -> dict[str, Any]:
    params: dict[str, Any] = {}
    async for part in await request.multipart():
        if isinstance(part, BodyPartReader) and part.name:
            # aiohttp hands out a bytearray, which no JSON journal can hold.
            params[part.name] = bytes(await part.read()) if part.filename else await part.text()
    return params


def _decoded(name: str, value: Any) -> Any:
    if name not in STRUCTURED or not isinstance(value, str):
        return value
    if not value:
        return None
    try:
        return json.loads(value)
    except ValueError:
        raise bad_request(f"can't parse {name} JSON object") from None


def integer(params: Mapping[str, Any], name: str, default: int | None = None) -> int:
    """An integer parameter in any of its spellings; raises ApiError 400 when it is none, or absent without default."""
    value = params.get(name, default)
    try:
        if value is None or isinstance(value, bool):
            raise ValueError
        return int(value)
    except (TypeError, ValueError):
        raise bad_request(f"{name} must be an Integer") from None


def flag(params: Mapping[str, Any], name: str) -> bool:
    return str(params.get(name, "")).lower() in ("true", "yes", "1")


def canonical(value: object) -> str:
    """JSON with sorted keys, to compare what two calls meant."""
    return json.dumps(value, sort_keys=True, default=str)
