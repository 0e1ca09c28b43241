"""A stub of Telegram's Bot API that counts `sendMessage` by marker.

ANY  /bot<token>/<method>   answered with ok; every send* counts for the first marker in its text
GET  /stub/shown            {"shown": {marker: [count, first time, chat]}, "sends": n}
GET  /stub/count            {"markers": n, "sends": n}
"""

import argparse
import re
import time
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

import orjson
from aiohttp import web

from benchmarks.stubs.serving import reply, serve

MARKER = re.compile(r"fd:[A-Za-z0-9_.-]+:\d+")
ME = {
    "id": 123456,
    "is_bot": True,
    "first_name": "Stub",
    "username": "stub_bot",
    "can_join_groups": True,
    "can_read_all_group_messages": False,
    "supports_inline_queries": False,
}
WEBHOOK = {"url": "", "has_custom_certificate": False, "pending_update_count": 0}


@dataclass(slots=True)
class Shown:
    """How often one marker was sent, and when and where first."""

    count: int
    first: float  # Unix time
    chat: int


@dataclass(slots=True)
class BotApi:
    shown: dict[str, Shown] = field(default_factory=dict)
    sends: int = 0

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path.startswith("/bot"):
            given = _fields(request.content_type, await request.read())
            return reply({"ok": True, "result": self._call(request.path.rsplit("/", 1)[1].lower(), given)})
        if request.path == "/stub/count":
            return reply({"markers": len(self.shown), "sends": self.sends})
        if request.path == "/stub/shown":
            shown = {marker: (seen.count, seen.first, seen.chat) for marker, seen in self.shown.items()}
            return reply({"shown": shown, "sends": self.sends})
        return reply({"ok": False, "error_code": 404, "description": "Not Found"}, 404)

    def _call(self, method: str, given: dict[str, object]) -> object:
        if method == "getme":
            return ME
        if method == "getwebhookinfo":
            return WEBHOOK
        if method.startswith("send") and method != "sendchataction":
            return self._send(given)
        return True

    def _send(self, given: dict[str, object]) -> object:
        self.sends += 1
        now, chat, text = time.time(), int(str(given.get("chat_id", 0))), str(given.get("text", ""))
        if found := MARKER.search(text):
            seen = self.shown.setdefault(found.group(), Shown(0, now, chat))
            seen.count += 1
        described = {"id": chat, "type": "private", "first_name": "Ada"}
        return {"message_id": self.sends, "date": int(now), "chat": described, "text": text[:64]}


def _fields(content_type: str, body: bytes) -> dict[str, object]:
    if not body:
        return {}
    if content_type == "application/json":
        fields: dict[str, object] = orjson.loads(body)
        return fields
    return dict(parse_qsl(body.decode()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, required=True)
    serve(parser.parse_args().port, BotApi().answer)


if __name__ == "__main__":
    main()
