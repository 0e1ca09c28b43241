"""The web chat as the host sees it: a page, its messages, and a stream of what is shown.

What is shown is what is stored: an entry has the id of its envelope or delivery wherever it appears, so a page can read
the history at any time and put it together with what the stream brought. Sending is therefore done once the entry is in
the store, whether anybody is looking or not.
"""

import asyncio
import json
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from aiohttp import web

from core.delivery import Delivery, Outcome, Payload, Piece, Sent
from core.doors.ingress import Handle, Ingress, Refusal
from core.errors import Busy, FloodFromSender, StoreUnavailable
from core.identity import Address, Source
from core.plugin import Capabilities, Entry, Host, Intake, PluginKind, PreviewFrame, Refused
from plugins.webchat import pages
from plugins.webchat.render import payloads_of
from plugins.webchat.settings import WebchatSettings
from plugins.webchat.streams import Streams, TooManyStreams
from plugins.webchat.translate import BadMessage, inbound, not_let_in, read
from plugins.webchat.visitors import Visitor, Visitors

if TYPE_CHECKING:
    from core.doors.ingress import Route

KIND = "webchat"
BODY_LIMIT = 128 << 10  # bytes; TEXT_LIMIT characters, each escaped in JSON
PREVIEW_INTERVAL = 0.08  # seconds; a dozen frames a second read as flowing
PREVIEW_LIMIT = 16_000  # characters; of longer unfinished text only the end is shown
ACTIVITY_INTERVAL = 4.0  # seconds; the page takes a typing sign away after 10 without another
STARTING_RETRY = 1.0  # seconds
CROWDED_RETRY = 10.0  # seconds; until a page may have been closed somewhere
HISTORY_LIMIT = 200  # entries


class WebchatPlugin:
    """Construction does no I/O."""

    def __init__(self, account: str, settings: WebchatSettings, host: Host) -> None:
        self._account, self._settings = account, settings
        self._history, self._clock = host.history, host.clock
        self._is_default = host.is_default
        self._source = Source(KIND, account)
        self._visitors = Visitors(account, host.public_url)
        self._streams = Streams(settings.max_streams)
        self._intake: Intake | None = None
        self._state = "starting"

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            replaces=True,
            previews=True,
            preview_interval=PREVIEW_INTERVAL,
            activity_interval=ACTIVITY_INTERVAL,
        )

    @property
    def health(self) -> dict[str, object]:
        return {"state": self._state, "pages": len(self._streams)}

    async def run(self, intake: Intake) -> None:
        self._intake, self._state = intake, "receiving"
        try:
            await asyncio.Event().wait()
        finally:
            self._intake, self._state = None, "draining"
            self._streams.close()

    def render(self, piece: Piece) -> tuple[Payload, ...]:
        return payloads_of(piece)

    async def send(self, delivery: Delivery) -> Outcome:
        entry = _shown(delivery.id, self._clock.now(), delivery.payload, delivery.turn, delivery.replaces)
        self._streams.entry(delivery.address.chat, entry)
        return Sent((delivery.id,))

    async def preview(self, frame: PreviewFrame) -> str:
        text = frame.text if len(frame.text) <= PREVIEW_LIMIT else "…" + frame.text[-PREVIEW_LIMIT:]
        self._streams.preview(frame.address.chat, frame.turn, text)
        return ""

    # ------------------------------------------------------------------ over HTTP

    def routes(self, ingress: Ingress) -> Iterable["Route"]:
        own = f"/chat/{self._account}"
        check, known = self._visitors.check_page, self._visitors.require
        routes = [
            *self._pages(ingress, own, "./"),
            ingress.get(f"{own}/history", authenticate=check, handle=self._tell),
            ingress.get(f"{own}/events", authenticate=check, handle=self._stream),
            ingress.post(f"{own}/messages", authenticate=known, handle=self._hear, body_limit=BODY_LIMIT),
        ]
        return [*routes, *self._pages(ingress, "/chat", f"{self._account}/")] if self._is_default else routes

    def _pages(self, ingress: Ingress, path: str, base: str) -> Iterable["Route"]:
        """The page and its files under this path, and the way there for who leaves the last slash out."""
        shown = {"": pages.page(self._settings.title, self._settings.language, base), **pages.assets()}
        check = self._visitors.check_host
        yield ingress.get(path, authenticate=check, handle=_to(f"{path.rpartition('/')[2]}/"))
        for name, file in shown.items():
            yield ingress.get(f"{path}/{name}", authenticate=check, handle=_serving(file))

    async def _tell(self, request: web.Request, _body: bytes) -> web.Response:
        """The history of whoever asks; of nobody else."""
        self._door()
        visitor = self._visitors.present(request)
        try:
            entries = [] if visitor.is_new else await self._history.history(self._address(visitor), limit=HISTORY_LIMIT)
        except StoreUnavailable as error:
            raise _later(503, "store", error.retry_after) from error
        response = _json({"visitor": visitor.id, "entries": [_entry(entry) for entry in entries]})
        self._visitors.remember(request, response, visitor)
        return response

    async def _hear(self, request: web.Request, raw: bytes) -> web.Response:
        intake, visitor = self._door(), self._visitors.present(request)
        try:
            message = read(raw)
        except BadMessage as error:
            raise Refusal(400, "bad_message", detail=str(error)) from error
        said = inbound(message, raw, visitor.id, request.headers.get("Accept-Language", ""))
        try:
            (admission,) = await intake.accept([said])
        except FloodFromSender as error:
            raise _later(429, "flood", error.retry_after) from error
        except Busy as error:
            raise _later(503, "busy", error.retry_after) from error
        except StoreUnavailable as error:
            raise _later(503, "store", error.retry_after) from error
        if isinstance(admission, Refused) or not admission.envelope:
            detail = not_let_in(visitor.id, self._settings.language or said.language or "")
            raise Refusal(403, "not_allowed", detail=detail)
        own = {"id": admission.envelope, "at": self._clock.now(), "own": True, "text": message.text}
        self._streams.entry(visitor.id, own | {"sent": message.id})
        return _json({"accepted": True, "envelope": admission.envelope, "visitor": visitor.id}, status=202)

    async def _stream(self, request: web.Request, _body: bytes) -> web.StreamResponse:
        """What is shown from now on; a page reads the history once the stream says hello."""
        self._door()
        visitor = self._visitors.present(request)
        try:
            stream = self._streams.open(visitor.id, request.transport)
        except TooManyStreams as error:
            raise _later(429 if error.is_own else 503, "streams", CROWDED_RETRY) from error
        response = web.StreamResponse(headers={**pages.SECURITY, "X-Accel-Buffering": "no"})
        response.content_type = "text/event-stream"
        self._visitors.remember(request, response, visitor)
        try:
            await response.prepare(request)
            await stream.serve(response, visitor.id)
        finally:
            self._streams.leave(visitor.id, stream)
        return response

    def _door(self) -> Intake:
        if self._intake is None:
            raise _later(503, "not_receiving", STARTING_RETRY)
        return self._intake

    def _address(self, visitor: Visitor) -> Address:
        return Address(self._source, visitor.id)


def _entry(entry: Entry) -> dict[str, object]:
    if entry.is_theirs:
        return {"id": entry.id, "at": entry.at, "own": True, "text": entry.text}
    return _shown(entry.id, entry.at, entry.payload, entry.turn, entry.replaces)


def _shown(entry: str, at: float, payload: Payload, turn: str, replaces: tuple[str, ...]) -> dict[str, object]:
    return {
        "id": entry,
        "at": at,
        "own": False,
        "markdown": payload.get("markdown", ""),
        "files": payload.get("files", []),
        "turn": turn,
        "replaces": list(replaces),
    }


def _json(value: dict[str, object], *, status: int = 200) -> web.Response:
    body = json.dumps(value, ensure_ascii=False).encode()
    return web.Response(status=status, body=body, content_type="application/json", headers=pages.SECURITY)


def _serving(file: pages.File) -> Handle:
    async def serve(_request: web.Request, _body: bytes) -> web.StreamResponse:
        return file.response()

    return serve


def _to(path: str) -> Handle:
    async def redirect(_request: web.Request, _body: bytes) -> web.StreamResponse:
        return web.Response(status=308, headers={**pages.SECURITY, "Location": path})

    return redirect


def _later(status: int, reason: str, seconds: float) -> Refusal:
    return Refusal(status, reason, headers={"Retry-After": str(max(1, math.ceil(seconds)))})


PLUGIN = PluginKind(WebchatSettings, WebchatPlugin)
