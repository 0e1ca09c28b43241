"""Somebody's webhook for push notifications: keeps what it is told, and answers as a test scripts it."""

import asyncio
import json
from collections import deque
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from tests.fakes.serving import Loopback


@dataclass(frozen=True)
class Notification:
    path: str
    headers: dict[str, str]
    body: Any


class PushReceiver(Loopback):
    def __init__(self) -> None:
        super().__init__()
        self.received: list[Notification] = []  # only what was answered 2xx
        self.requests = 0
        self.statuses: deque[int] = deque()  # answered first; then 200
        self.headers: dict[str, str] = {}  # of every answer
        self.gate: asyncio.Event | None = None  # an answer waits for it

    def add_routes(self, router: web.UrlDispatcher) -> None:
        router.add_post("/{path:.*}", self._take)
        router.add_get("/{path:.*}", self._take)

    async def _take(self, request: web.Request) -> web.Response:
        self.requests += 1
        self.changes.mark()
        body = json.loads(await request.read() or b"null")
        if self.gate is not None:
            await self.gate.wait()
        status = self.statuses.popleft() if self.statuses else 200
        if status < 300:
            self.received.append(Notification(request.path, dict(request.headers), body))
        self.changes.mark()
        return web.Response(status=status, headers=self.headers)

    def told(self, path: str, *, task: str = "") -> list[str]:
        """What a path was told, one word each; of one task, where it is named."""
        return [_word(one.body) for one in self.received if one.path == path and task in ("", one.body["task"])]


def _word(body: dict[str, Any]) -> str:
    return str(body.get("status") or body.get("artifact") or body.get("state"))
