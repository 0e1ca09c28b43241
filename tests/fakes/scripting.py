"""Faults to order: which calls of a fake server go wrong, how often, and in which way.

A responder is an async function of the `Exchange`. It may accept the call (the server then remembers it, like a vendor
whose answer is lost), answer it, or neither. The responders here know no vendor; each fake adds its own.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from aiohttp import web

Finish = Callable[[], Awaitable[web.StreamResponse]]


@dataclass(frozen=True, slots=True)
class Exchange:
    """One HTTP request at a fake server, before anything was done about it."""

    request: web.Request
    accept: Callable[[], Awaitable[Finish]]  # does the work; what it returns sends the answer
    closing: asyncio.Event  # set when the server goes down

    async def perform(self) -> web.StreamResponse:
        """What an unscripted server does: accept, then answer."""
        finish = await self.accept()
        return await finish()

    def cut(self) -> web.StreamResponse:
        """Abort the connection. The response returned is never seen; aiohttp only wants one."""
        if self.request.transport is not None:
            self.request.transport.abort()
        return web.Response(status=500)


Respond = Callable[[Exchange], Awaitable[web.StreamResponse]]


@dataclass(slots=True)
class Script:
    """One order. `used` counts the calls it was applied to."""

    method: str
    respond: Respond
    matches: Callable[[str | int | None], bool]
    skip: int  # matching calls still let through
    left: int | None  # matching calls still to be answered; None is without end
    used: int = field(default=0)

    def takes(self, method: str, chat: str | int | None) -> bool:
        if self.left == 0 or self.method not in ("*", method.lower()) or not self.matches(chat):
            return False
        if self.skip:
            self.skip -= 1
            return False
        return True

    def stop(self) -> None:
        """Apply to no further call."""
        self.left = 0


class ScriptBook:
    """The orders of one fake, oldest first; the first that takes a call answers it."""

    def __init__(self) -> None:
        self._scripts: list[Script] = []

    def add(
        self, method: str, respond: Respond, *, chat: str | int | None = None, times: int | None = 1, after: int = 0
    ) -> Script:
        def matches(asked: str | int | None) -> bool:
            return chat is None or asked == chat

        script = Script(method=method.lower(), respond=respond, matches=matches, skip=after, left=times)
        self._scripts.append(script)
        return script

    async def answer(self, method: str, chat: str | int | None, exchange: Exchange) -> web.StreamResponse:
        for script in self._scripts:
            if script.takes(method, chat):
                script.used += 1
                if script.left is not None:
                    script.left -= 1
                return await script.respond(exchange)
        return await exchange.perform()


def cut_before() -> Respond:
    """The connection breaks and nothing was done."""

    async def respond(exchange: Exchange) -> web.StreamResponse:
        return exchange.cut()

    return respond


def cut_after_accepting() -> Respond:
    """The work was done, but the connection breaks before a byte of the answer."""

    async def respond(exchange: Exchange) -> web.StreamResponse:
        await exchange.accept()
        return exchange.cut()

    return respond


def hang_before() -> Respond:
    """Nothing is done and nothing is answered, until the client gives up or the server goes down."""

    async def respond(exchange: Exchange) -> web.StreamResponse:
        await exchange.closing.wait()
        return exchange.cut()

    return respond


def hang_after_accepting() -> Respond:
    """The work was done, but no answer ever comes."""

    async def respond(exchange: Exchange) -> web.StreamResponse:
        await exchange.accept()
        await exchange.closing.wait()
        return exchange.cut()

    return respond


def delay(until: asyncio.Event | float) -> Respond:
    """The work is done at once; the answer comes when the event is set, or after so many seconds."""

    async def respond(exchange: Exchange) -> web.StreamResponse:
        finish = await exchange.accept()
        if isinstance(until, asyncio.Event):
            await until.wait()
        else:
            await asyncio.sleep(until)
        return await finish()

    return respond


def http_status(status: int, *, body: str = "", content_type: str = "text/html", **headers: str) -> Respond:
    """A bare HTTP answer, as a proxy in front of the vendor gives it; `Retry_After="1"` becomes `Retry-After: 1`."""

    async def respond(exchange: Exchange) -> web.StreamResponse:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(status=status, text=body, content_type=content_type, headers=sent)

    return respond
