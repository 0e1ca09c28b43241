"""The platform's way to the gateway: signed pushes, three requests for one message, and five seconds for each.

`scale` shortens the five seconds for tests. What a request is answered with is judged as the platform does it: nothing
or "success" is silence, a well-made reply is shown, anything else (an HTTP error, too) is at once the notice that the
account is out of order, and so are three requests without an answer ("passive replies", developer guide).
"""

import asyncio
import itertools
import time
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from aiohttp import ClientError, ClientSession, ClientTimeout, TCPConnector

from tests.fakes.wechat import AES_KEY, APP_ID, FAILURE, ORIGINAL_ID, TOKEN, FakeWechat
from tests.fakes.wechat_seal import element, seal, sign, unseal
from tests.fakes.wechat_seal import field as field_of

PATIENCE = 5.0  # seconds for one request (developer guide, "passive replies")
REQUESTS = 3


@dataclass
class Request:
    """One request and its answer; `status` None for none."""

    status: int | None
    body: str
    seconds: float
    began: float = 0.0  # on the monotonic clock


@dataclass
class Push:
    requests: list[Request] = field(default_factory=list)
    reply: str | None = None  # the words shown

    @property
    def statuses(self) -> list[int | None]:
        return [each.status for each in self.requests]


class Pushes:
    """Enter it; `url` is the account's path at the gateway."""

    def __init__(
        self, platform: FakeWechat, url: str, *, mode: str = "safe", scale: float = 1.0, aes_key: str = AES_KEY
    ) -> None:
        self.platform, self.url, self.mode, self.patience, self.aes_key = platform, url, mode, PATIENCE * scale, aes_key
        self.app_id, self.token = APP_ID, TOKEN
        self._nonces = itertools.count(1)
        self._http: ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._http = ClientSession(connector=TCPConnector(limit=0))  # the platform is many machines
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._http is not None
        await self._http.close()

    # ------------------------------------------------------------------ what people do

    async def says(self, person: str, text: str, **fields: Any) -> Push:
        return await self.sends(person, "text", Content=text, **fields)

    async def sends(self, person: str, kind: str, **fields: Any) -> Push:
        self.platform.wrote(person)
        return await self.push(self.message(person, kind, **fields))

    async def shows(self, person: str, kind: str, content: bytes, media_type: str, **fields: Any) -> Push:
        """A picture, voice or video, which the platform keeps."""
        media_id = self.platform.add_media("video" if kind == "shortvideo" else kind, content, media_type)
        return await self.sends(person, kind, MediaId=media_id, **fields)

    async def event(self, person: str, name: str, **fields: Any) -> Push:
        if name in ("subscribe", "SCAN", "CLICK"):
            self.platform.wrote(person)
        self.platform.people[person].follows = name != "unsubscribe"
        said = {"ToUserName": ORIGINAL_ID, "FromUserName": person, "CreateTime": int(self.platform.clock())}
        return await self.push({**said, "MsgType": "event", "Event": name, **fields})

    def message(self, person: str, kind: str, *, age: float = 0.0, **fields: Any) -> dict[str, Any]:
        """One that was written so many seconds ago."""
        said = {"ToUserName": ORIGINAL_ID, "FromUserName": person, "CreateTime": int(self.platform.clock() - age)}
        return {**said, "MsgType": kind, **fields, "MsgId": fields.get("MsgId") or next(self.platform.message_ids)}

    # ------------------------------------------------------------------ the platform

    async def push(self, fields: dict[str, Any]) -> Push:
        """Up to three requests, and what the person sees of it."""
        done = Push()
        for _ in range(REQUESTS):
            request = await self.request(fields)
            done.requests.append(request)
            if request.status is not None:
                break
            await asyncio.sleep(max(0.0, self.patience - request.seconds))
        last = done.requests[-1]
        done.reply = self.reply_in(last.body) if last.status == 200 else FAILURE
        if done.reply is not None:
            road = "failure" if done.reply == FAILURE else "passive"
            self.platform.show(str(fields["FromUserName"]), road, done.reply)
        return done

    async def request(self, fields: dict[str, Any], **query: str) -> Request:
        """One of them, judged by nobody."""
        body = "<xml>" + "".join(element(*item) for item in fields.items()) + "</xml>"
        signed, body = self.signed(body)
        return await self.post(body, {**signed, **query})

    async def post(self, body: str | bytes, query: dict[str, str], content_type: str = "text/xml") -> Request:
        assert self._http is not None
        started = time.monotonic()
        try:
            async with self._http.post(
                self.url,
                params=query,
                data=body.encode() if isinstance(body, str) else body,
                headers={"Content-Type": content_type},
                timeout=ClientTimeout(total=self.patience),
            ) as answer:
                text = await answer.text()
                return Request(answer.status, text, time.monotonic() - started, started)
        except (ClientError, TimeoutError):
            return Request(None, "", time.monotonic() - started, started)

    async def get(self, query: dict[str, str]) -> tuple[int, str, dict[str, str]]:
        assert self._http is not None
        async with self._http.get(self.url, params=query) as answer:
            return answer.status, await answer.text(), dict(answer.headers)

    def query(self, at: float | None = None, nonce: str = "") -> dict[str, str]:
        """A signed query; each has its own nonce."""
        stamp = str(int(time.time() if at is None else at))
        nonce = nonce or f"nonce{next(self._nonces)}"
        return {"signature": sign(self.token, stamp, nonce), "timestamp": stamp, "nonce": nonce}

    def signed(self, body: str, query: dict[str, str] | None = None) -> tuple[dict[str, str], str]:
        """Query and body of a push, as the account's mode has them."""
        query = query or self.query()
        if self.mode == "plain":
            return query, body
        sealed = seal(body, self.aes_key, self.app_id)
        signature = sign(self.token, query["timestamp"], query["nonce"], sealed)
        outer = element("ToUserName", ORIGINAL_ID) + element("Encrypt", sealed)
        if self.mode == "compatible":
            outer += body.removeprefix("<xml>").removesuffix("</xml>")
        return {**query, "encrypt_type": "aes", "msg_signature": signature}, f"<xml>{outer}</xml>"

    def reply_in(self, body: str) -> str | None:
        """What the person reads of a response; None for nothing, FAILURE for what the platform does not take."""
        if body in ("", "success"):
            return None
        if self.mode != "plain":
            sealed, at, nonce = field_of(body, "Encrypt"), field_of(body, "TimeStamp"), field_of(body, "Nonce")
            if not sealed or field_of(body, "MsgSignature") != sign(self.token, str(at), str(nonce), sealed):
                return FAILURE
            body, app_id = unseal(sealed, self.aes_key)
            if app_id != self.app_id:
                return FAILURE
        words = field_of(body, "Content")
        is_text = field_of(body, "MsgType") == "text" and field_of(body, "FromUserName") == ORIGINAL_ID
        return words if is_text and words and len(words.encode()) <= 2048 else FAILURE
