"""A web chat on a loopback port, with a front desk in memory behind it: what visitors write, and what it shows them."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import count
from typing import Any, cast

import aiohttp
from aiohttp import web

from core.clock import SystemClock
from core.delivery import Delivery, Op, Payload, Piece, Sent
from core.doors.ingress import Ingress
from core.doors.listener import Listener
from core.envelope import Inbound, Moved, Unreadable
from core.identity import Address, Source
from core.parts import Text
from core.plugin import Accepted, Admission, Cursor, Duplicate, Entry, Host, PreviewFrame, Refused
from core.window import ReplyWindow
from plugins.webchat.plugin import WebchatPlugin
from plugins.webchat.settings import Access, WebchatSettings
from tests.waiting import until, within

SOON = 10.0  # seconds; far above what anything here takes
OPEN = WebchatSettings(agent="desk", access=Access(direct="open"))


class Desk:
    """Intake and history: admits each key once, and keeps what was shown, over any number of plugins."""

    def __init__(self) -> None:
        self.entries: dict[str, list[Entry]] = {}
        self.inbounds: list[Inbound] = []
        self.trouble: list[Exception] = []  # raised by the next calls, in order
        self.refuses = False
        self._envelopes: dict[str, str] = {}
        self._ids = count(1)
        self._news = asyncio.Event()

    async def accept(
        self,
        batch: Sequence[Inbound | Unreadable | Moved],
        *,
        cursor: Cursor | None = None,
        window: ReplyWindow | None = None,
    ) -> Sequence[Admission]:
        assert window is None, "a page is answered by its stream"
        if self.trouble:
            raise self.trouble.pop(0)
        return [self._admit(cast(Inbound, item)) for item in batch]

    language = ""

    async def lets_in(self, inbound: Inbound) -> bool:
        del inbound
        return True

    async def cursor(self, name: str) -> str | None:
        return None

    async def history(self, address: Address, *, limit: int = 200) -> Sequence[Entry]:
        return self.entries.get(address.chat, [])[-limit:]

    async def until(self, messages: int) -> Inbound:
        """The newest message, once so many were admitted."""
        async with within(SOON):
            while len(self.inbounds) < messages:
                self._news.clear()
                await self._news.wait()
        return self.inbounds[-1]

    def show(self, chat: str, entry: Entry) -> None:
        self.entries.setdefault(chat, []).append(entry)

    def next_id(self) -> str:
        return f"{next(self._ids):032x}"

    def _admit(self, inbound: Inbound) -> Admission:
        if self.refuses:
            return Refused("not_allowed")
        if known := self._envelopes.get(inbound.keys[0]):
            return Duplicate(known)
        envelope = self._envelopes[inbound.keys[0]] = self.next_id()
        text = "".join(part.text for part in inbound.parts if isinstance(part, Text))
        self.show(inbound.chat, Entry(envelope, SystemClock().now(), True, text, {}))
        self.inbounds.append(inbound)
        self._news.set()
        return Accepted(envelope)


class Site:
    def __init__(self, plugin: WebchatPlugin, desk: Desk, port: int, account: str) -> None:
        self.plugin, self.desk, self.port, self.account = plugin, desk, port, account
        self._source = Source("webchat", account)
        self.origin = f"http://127.0.0.1:{port}"

    async def answer(
        self, chat: str, text: str, turn: str = "turn-1", *, replaces: tuple[str, ...] = (), is_shown: bool = True
    ) -> str:
        """Deliver words as the outbox does: shown, then stored; without `is_shown` nobody is told of it."""
        (payload,) = self.plugin.render(Piece("artifact:a", (Text(text),)))
        delivery = self.delivery(chat, payload, turn, replaces)
        if is_shown:
            assert await self.plugin.send(delivery) == Sent((delivery.id,))
        entry = Entry(delivery.id, delivery.queued, False, "", payload, turn, replaces)
        self.desk.show(chat, entry)
        return delivery.id

    async def preview(self, chat: str, text: str, turn: str = "turn-1") -> None:
        await self.plugin.preview(PreviewFrame(Address(self._source, chat), turn, text))

    async def until_gone(self) -> None:
        """Until the server has seen that every page left."""
        pages = self.plugin._streams._pages
        await until(lambda: all(page.is_gone for each in pages.values() for page in each))

    def delivery(self, chat: str, payload: Payload, turn: str, replaces: tuple[str, ...] = ()) -> Delivery:
        now = SystemClock().now()
        op = Op.REPLACE if replaces else Op.SHOW
        address = Address(self._source, chat)
        return Delivery(self.desk.next_id(), chat, address, turn, payload, 1, now, now + 60, op=op, replaces=replaces)


@asynccontextmanager
async def site(
    desk: Desk | None = None,
    settings: WebchatSettings = OPEN,
    *,
    account: str = "chat",
    public_url: str = "",
    port: int = 0,
    is_running: bool = True,
) -> AsyncIterator[Site]:
    desk = desk or Desk()
    nothing: Any = None
    host = Host(nothing, nothing, nothing, desk, SystemClock(), "holder", public_url)
    plugin = WebchatPlugin(account, settings, host)
    app = web.Application()
    app.add_routes(plugin.routes(Ingress()))
    async with Listener(app, port=port, grace=1.0) as listener:
        running = asyncio.ensure_future(plugin.run(desk) if is_running else asyncio.Event().wait())
        await asyncio.sleep(0)
        try:
            yield Site(plugin, desk, listener.port, account)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


class Visitor:
    """A browser without a page: keeps its cookie."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._session = aiohttp.ClientSession(
            cookie_jar=aiohttp.CookieJar(unsafe=True), timeout=aiohttp.ClientTimeout(total=SOON)
        )

    async def __aenter__(self) -> "Visitor":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def open(self, path: str, **headers: str) -> aiohttp.ClientResponse:
        return await self._session.get(self._site.origin + path, headers=named(headers), allow_redirects=False)

    async def get(self, path: str, **headers: str) -> aiohttp.ClientResponse:
        """A path of the account's own."""
        return await self.open(f"/chat/{self._site.account}{path}", **headers)

    async def history(self) -> list[dict[str, Any]]:
        async with await self.get("/history") as response:
            assert response.status == 200, await response.text()
            found: list[dict[str, Any]] = (await response.json())["entries"]
            return found

    async def say(self, text: str, message_id: str = "message-1", **headers: str) -> aiohttp.ClientResponse:
        return await self.post(json.dumps({"id": message_id, "text": text}), **headers)

    async def post(self, body: str, **headers: str) -> aiohttp.ClientResponse:
        url = f"{self._site.origin}/chat/{self._site.account}/messages"
        typed = {"Content-Type": "application/json"} | named(headers)
        async with self._session.post(url, data=body, headers=typed) as response:
            await response.read()
            return response

    @asynccontextmanager
    async def events(self) -> AsyncIterator[AsyncIterator[tuple[str, Any]]]:
        """The open stream, after its hello."""
        async with await self.get("/events") as response:
            assert response.status == 200, await response.text()
            events = _events(response)
            name, data = await anext(events)
            assert (name, list(data)) == ("hello", ["visitor"])
            yield events


async def _events(response: aiohttp.ClientResponse) -> AsyncIterator[tuple[str, Any]]:
    name = ""
    async for line in response.content:
        field, _, value = line.decode().rstrip("\n").partition(": ")
        if field == "event":
            name = value
        elif field == "data":
            yield name, json.loads(value)


def named(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}
