"""A WeChat platform on loopback: API with tokens, quotas and error codes, and people whose chats it shows.

As documented (developer guide, read 2026-08): refusals are HTTP 200 with `errcode`; five customer-service messages for
each message of a person, within 48 hours; 2,048 bytes of text; one stable token, whose predecessor stays good for five
minutes. Times are the fake's own clock, which tests may turn. `pushes` (wechat_pushes.py) is the way to the gateway.
"""

import itertools
import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.fakes.scripting import Exchange, Finish, Respond, ScriptBook
from tests.fakes.serving import Loopback

APP_ID = "wx0123456789abcdef"
APP_SECRET = "0123456789abcdef0123456789abcdef"
TOKEN = "fakePlatformToken"
AES_KEY = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG"
ORIGINAL_ID = "gh_0123456789ab"
TEXT_LIMIT = 2048  # bytes
QUOTA = 5  # customer-service messages for each message of the person
WINDOW = 48 * 3600.0  # seconds
TOKEN_LIFE = 7200.0  # seconds
MEDIA_LIFE = 3 * 86_400.0  # seconds
MEDIA = {  # bytes, and endings of the file's name
    "image": (10 << 20, (".png", ".jpg", ".gif")),
    "voice": (2 << 20, (".amr", ".mp3")),
    "video": (10 << 20, (".mp4",)),
    "thumb": (64 << 10, (".jpg",)),
}
OVERLAP = 300.0  # seconds for which the token before is good
FAILURE = "该公众号提供的服务出现故障，请稍后再试"  # what people see when the account does not answer properly


def open_id(name: str) -> str:
    """A person's OpenID for this account: 28 characters."""
    return ("o" + name + "-" * 27)[:28]


@dataclass(frozen=True)
class Shown:
    road: str  # "passive", "service", "failure"
    text: str  # of a picture, voice or video: its kind in brackets
    media: bytes = b""


@dataclass
class Person:
    shown: list[Shown] = field(default_factory=list)
    wrote: float = 0.0  # when they wrote last
    left: int = 0  # customer-service messages until they write again
    follows: bool = True

    @property
    def texts(self) -> list[str]:
        return [each.text for each in self.shown]


@dataclass
class AccessToken:
    value: str
    ends: float


@dataclass(frozen=True)
class Medium:
    kind: str
    content: bytes
    media_type: str
    ends: float


class FakeWechat(Loopback):
    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        super().__init__()
        self.clock = clock
        self.script = ScriptBook()
        self.people: dict[str, Person] = defaultdict(Person)
        self.calls: Counter[str] = Counter()
        self.bodies: list[tuple[str, dict[str, Any]]] = []  # every accepted call's
        self.raw: list[bytes] = []
        self.may_send = True
        self.listed = True  # the gateway's address is on the allow-list
        self.app_secret = APP_SECRET
        self.tokens: list[AccessToken] = []
        self._numbers = itertools.count(1)
        self.message_ids = itertools.count(24_000_000_000_000_001)
        self.media: dict[str, Medium] = {}  # by media id
        self.downloads = self.videos = 0

    def add_routes(self, router: web.UrlDispatcher) -> None:
        router.add_post("/cgi-bin/media/upload", self._upload)
        router.add_get("/cgi-bin/media/get", self._download)
        router.add_get("/video/{media_id}", self._video)
        router.add_post("/cgi-bin/{call:.+}", self._called)

    # ------------------------------------------------------------------ for tests

    def wrote(self, person: str) -> None:
        """The person interacts: the window opens anew, and the quota is whole again."""
        self.people[person].wrote, self.people[person].left = self.clock(), QUOTA

    @property
    def menus(self) -> list[dict[str, Any]]:
        """Those that came, in order."""
        return [body["msgmenu"] for _, body in self.bodies if body.get("msgtype") == "msgmenu"]

    def expire_tokens(self) -> None:
        for token in self.tokens:
            token.ends = 0.0

    def show(self, person: str, road: str, text: str, media: bytes = b"") -> None:
        self.people[person].shown.append(Shown(road, text, media))
        self.changes.mark()

    def add_media(self, kind: str, content: bytes, media_type: str) -> str:
        """Its media_id, good for three days."""
        media_id = f"media-{next(self._numbers)}"
        self.media[media_id] = Medium(kind, content, media_type, self.clock() + MEDIA_LIFE)
        return media_id

    async def until_shown(self, person: str, count: int) -> list[str]:
        shown = self.people[person].shown
        await self.changes.until(lambda: len(shown) >= count, what=f"{count} messages shown to {person}")
        return [each.text for each in shown]

    @property
    def token_fetches(self) -> int:
        return self.calls["stable_token"]

    # ------------------------------------------------------------------ the API

    async def _called(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        call, body = request.match_info["call"], json.loads(raw)

        async def accept() -> Finish:
            self.raw.append(raw)
            said = self._do(call, body, request.query.get("access_token", ""))

            async def finish() -> web.StreamResponse:
                return web.Response(text=json.dumps(said, ensure_ascii=False), content_type="application/json")

            return finish

        self.calls[call] += 1
        self.changes.mark()
        return await self.script.answer(call, body.get("touser"), Exchange(request, accept, self.closing))

    def _do(self, call: str, body: dict[str, Any], token: str) -> dict[str, Any]:
        self.bodies.append((call, body))
        if not self.listed:
            return error(40164, "invalid ip 203.0.113.9 ipv6 ::ffff:203.0.113.9, not in whitelist rid: 66-1-2")
        if call == "stable_token":
            return self._token(body)
        if not self._is_good(token):
            return error(40001, "invalid credential, access_token is invalid or not latest rid: 66-1-3")
        actions = {"message/custom/send": self._send, "message/custom/typing": self._typing}
        return actions[call](body)

    def _token(self, body: dict[str, Any]) -> dict[str, Any]:
        if body["appid"] != APP_ID:
            return error(40013, "invalid appid")
        if body["secret"] != self.app_secret:
            return error(40125, "invalid appsecret")
        now = self.clock()
        newest = self.tokens[-1] if self.tokens else None
        if newest is None or body.get("force_refresh") or newest.ends - now < OVERLAP:
            if newest is not None:
                newest.ends = min(newest.ends, now + OVERLAP)
            newest = AccessToken(f"token-{next(self._numbers)}-" + "x" * 120, now + TOKEN_LIFE)
            self.tokens.append(newest)
        return {"access_token": newest.value, "expires_in": int(newest.ends - now)}

    def _is_good(self, value: str) -> bool:
        return any(token.value == value and self.clock() < token.ends for token in self.tokens)

    def _refusal(self, body: dict[str, Any]) -> dict[str, Any] | None:
        person = self.people[body["touser"]]
        if not self.may_send:
            return error(48001, "api unauthorized")
        if not person.follows:
            return error(43004, "require subscribe")
        if self.clock() - person.wrote > WINDOW:
            return error(45015, "response out of time limit or subscription is canceled")
        return None

    def _send(self, body: dict[str, Any]) -> dict[str, Any]:
        person, kind = self.people[body["touser"]], body["msgtype"]
        if (refusal := self._refusal(body)) is not None:
            return refusal
        checks = {"text": self._bad_text, "msgmenu": self._bad_menu}
        if (refusal := checks.get(kind, self._bad_media)(body)) is not None:
            return refusal
        if person.left < 1:
            return error(45047, "out of response count limit")
        person.left -= 1
        if kind == "text":
            self.show(body["touser"], "service", str(body["text"]["content"]))
        elif kind == "msgmenu":
            menu = body["msgmenu"]
            lines = [menu["head_content"], *[each["content"] for each in menu["list"]], menu["tail_content"]]
            self.show(body["touser"], "service", "\n".join(line for line in lines if line))
        else:
            self.show(body["touser"], "service", f"[{kind}]", self.media[body[kind]["media_id"]].content)
        return {"errcode": 0, "errmsg": "ok"}

    def _bad_text(self, body: dict[str, Any]) -> dict[str, Any] | None:
        text = str(body["text"]["content"])
        if len(text.encode()) > TEXT_LIMIT:
            return error(45002, "content size out of limit")
        return None if text.strip() else error(44004, "empty content")

    def _bad_menu(self, body: dict[str, Any]) -> dict[str, Any] | None:
        items = body["msgmenu"]["list"]
        is_good = items and all(each["content"].strip() and isinstance(each["id"], str) for each in items)
        return None if is_good else error(47001, "data format error")

    def _bad_media(self, body: dict[str, Any]) -> dict[str, Any] | None:
        kind = body["msgtype"]
        said = body[kind]
        wanted = [(kind, said["media_id"])]
        if kind == "video":
            wanted.append(("thumb", said.get("thumb_media_id", "")))
        for each, media_id in wanted:
            medium = self.media.get(media_id)
            if medium is None or medium.kind != each or medium.ends < self.clock():
                return error(40007, "invalid media_id")
        return None

    def _typing(self, body: dict[str, Any]) -> dict[str, Any]:
        return self._refusal(body) or {"errcode": 0, "errmsg": "ok"}

    # ------------------------------------------------------------------ media

    async def _upload(self, request: web.Request) -> web.StreamResponse:
        part = (await request.post()).get("media")  # whole, before anything is said
        content = b""
        if isinstance(part, web.FileField):
            with part.file as file:
                content = file.read()

        async def accept() -> Finish:
            said = self._uploaded(request.query, part, content)
            return lambda: answered(web.json_response(said))

        self.calls["media/upload"] += 1
        return await self.script.answer("media/upload", None, Exchange(request, accept, self.closing))

    def _uploaded(self, query: Mapping[str, str], part: object, content: bytes) -> dict[str, Any]:
        kind = query.get("type", "")
        if not self._is_good(query.get("access_token", "")):
            return error(40001, "invalid credential")
        if not isinstance(part, web.FileField):
            return error(41005, "media data missing")
        if kind not in MEDIA or not part.filename.endswith(MEDIA[kind][1]):
            return error(40005, "invalid file type")
        if len(content) > MEDIA[kind][0]:
            return error(40006, "invalid media size")
        media_id = self.add_media(kind, content, part.content_type)
        return {"type": kind, "thumb_media_id" if kind == "thumb" else "media_id": media_id, "created_at": 1}

    async def _download(self, request: web.Request) -> web.StreamResponse:
        """A file is an attachment; a refusal is JSON with HTTP 200, called text; a video is where it says."""
        media_id = request.query.get("media_id", "")

        async def accept() -> Finish:
            medium = self.media.get(media_id)
            if not self._is_good(request.query.get("access_token", "")):
                said: web.Response = web.json_response(error(40001, "invalid credential"), content_type="text/plain")
            elif medium is None or medium.ends < self.clock():
                said = web.json_response(error(40007, "invalid media_id"), content_type="text/plain")
            elif medium.kind == "video":
                said = web.json_response({"video_url": f"{self.base}/video/{media_id}"})
            else:
                name = f'attachment; filename="{media_id}"'
                said = web.Response(body=medium.content, content_type=medium.media_type)
                said.headers["Content-disposition"] = name
            return lambda: answered(said)

        self.downloads += 1
        self.changes.mark()
        return await self.script.answer("media/get", media_id, Exchange(request, accept, self.closing))

    async def _video(self, request: web.Request) -> web.StreamResponse:
        media_id = request.match_info["media_id"]

        async def accept() -> Finish:
            said = web.Response(body=self.media[media_id].content, content_type="video/mp4")
            return lambda: answered(said)

        self.videos += 1
        return await self.script.answer("video", media_id, Exchange(request, accept, self.closing))


async def answered(response: web.Response) -> web.StreamResponse:
    return response


def error(code: int, said: str) -> dict[str, Any]:
    return {"errcode": code, "errmsg": said}


def errcode(code: int, said: str = "refused") -> Respond:
    """The call is refused with this code, and nothing is done."""

    async def respond(exchange: Exchange) -> web.StreamResponse:
        return web.json_response(error(code, said))

    return respond
