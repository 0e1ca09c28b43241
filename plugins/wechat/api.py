"""The calls of WeChat's API that an account makes, each once, over the one way out.

The answer's HTTP status says little: a refusal is a 200 with `errcode`. A call that was refused because of its token is
certainly not carried out, so it is made once more with a fresh one; nothing else is ever repeated here. Words travel as
UTF-8 and not as escapes, which people would see as they are.
"""

import json
import secrets
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar
from urllib.parse import urlencode

from core.clock import Clock
from core.delivery import Refusal, Rejected, Unknown
from core.doors.outbound import Ambiguous, Answer, GuardedClient, NotSent, OutboundPolicy, Timeouts, TooLarge
from core.telemetry import Telemetry
from plugins.wechat.codes import NO_PERMISSION, STALE, meaning_of, rejected
from plugins.wechat.content import is_file, media_type_of
from plugins.wechat.failures import ApiFailure
from plugins.wechat.health import Health
from plugins.wechat.xml import clean

T = TypeVar("T")
_JSON = {"Content-Type": "application/json"}
BODY_LIMIT = 1 << 20  # bytes; answers are some hundred


class Wire:
    """One request and its JSON; raises ApiFailure. What it tells of a call holds its code and meaning, no words."""

    def __init__(
        self,
        account: str,
        base: str,
        *,
        client: GuardedClient,
        is_public: bool,
        timeout: float,
        clock: Clock,
        telemetry: Telemetry,
        health: Health,
    ) -> None:
        self.account, self.clock, self.health = account, clock, health
        self._base, self._client, self._telemetry = base, client, telemetry
        self._policy = OutboundPolicy(allow_private=not is_public, https_only=is_public, body_limit=BODY_LIMIT)
        self._timeouts = Timeouts(connect=min(5.0, timeout), head=timeout, idle=timeout, whole=timeout + 5.0)

    async def post(self, call: str, body: dict[str, Any], *, token: str = "") -> dict[str, Any]:
        data = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        with self._observed(call):
            return self._checked(_believed(await self._exchange("POST", self._url(call, token), _JSON, data)))

    async def upload(self, call: str, file: "FormFile", *, token: str, **query: str) -> dict[str, Any]:
        headers, data = file.as_form()
        with self._observed(call):
            return self._checked(
                _believed(await self._exchange("POST", self._url(call, token, **query), headers, data))
            )

    async def download(self, call: str, *, token: str, kind: str, limit: int, **query: str) -> Answer | dict[str, Any]:
        """A file of this kind; or what the platform says in its place. Only a file is larger than `limit` says."""
        with self._observed(call):
            answer = await self._exchange("GET", self._url(call, token, **query), {}, None, limit=limit)
            return answer if is_file(answer, kind) else self._checked(_believed(answer))

    async def follow(self, call: str, url: str, *, kind: str, limit: int) -> Answer:
        """A file of this kind at an address that the platform named in answer to `call`."""
        with self._observed(call):
            answer = await self._exchange("GET", url, {}, None, limit=limit, anywhere=True)
            if not is_file(answer, kind):
                self._checked(_believed(answer))
                raise ApiFailure(Rejected(Refusal.UNAVAILABLE, "there is no file at the address that was named"))
            return answer

    def _url(self, call: str, token: str, **query: str) -> str:
        query = {"access_token": token, **query} if token else query
        return f"{self._base}/cgi-bin/{call}" + (f"?{urlencode(query)}" if query else "")

    def _checked(self, said: dict[str, Any]) -> dict[str, Any]:
        code = _code(said)
        if code:
            words = str(said.get("errmsg", ""))
            raise ApiFailure(rejected(code, self.clock.now(), words), code, words)
        return said

    @contextmanager
    def _observed(self, call: str) -> Iterator[None]:
        started, outcome = self.clock.monotonic(), "unanswered"
        try:
            yield
            outcome = "ok"
        except ApiFailure as failure:
            if failure.code is not None:
                outcome = f"{failure.code} {meaning_of(failure.code).name}"
            raise
        finally:
            self.health.counts[f"{call} {outcome}"] += 1
            seconds = round(self.clock.monotonic() - started, 6)
            self._telemetry.event("channel.called", account=self.account, call=call, outcome=outcome, duration=seconds)

    async def _exchange(
        self,
        method: str,
        url: str,
        headers: dict[str, str],
        data: bytes | None,
        *,
        limit: int = BODY_LIMIT,
        anywhere: bool = False,
    ) -> Answer:
        policy = replace(
            self._policy, body_limit=max(limit, BODY_LIMIT), https_only=self._policy.https_only and not anywhere
        )
        try:
            return await self._client.request(
                method, url, policy=policy, headers=headers, body=data, timeouts=self._timeouts
            )
        except NotSent as error:
            raise ApiFailure(Rejected(Refusal.UNAVAILABLE, error.reason)) from None
        except TooLarge as error:
            outcome = (
                Unknown(error.reason) if data is not None else Rejected(Refusal.MALFORMED, "the file is too large")
            )
            raise ApiFailure(outcome) from None
        except Ambiguous as error:
            raise ApiFailure(Unknown(error.reason)) from None


@dataclass(frozen=True, slots=True)
class FormFile:
    """A file as the only field of a form (RFC 7578). Its name is ours, so that nothing in it needs escaping."""

    field: str
    name: str
    content: bytes

    def as_form(self) -> tuple[dict[str, str], bytes]:
        boundary = secrets.token_hex(16)
        head = (
            f'--{boundary}\r\nContent-Disposition: form-data; name="{self.field}"; filename="{self.name}"\r\n'
            "Content-Type: application/octet-stream\r\n\r\n"
        )
        headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
        return headers, head.encode() + self.content + f"\r\n--{boundary}--\r\n".encode()


class Tokens(Protocol):
    async def present(self, *, refused: str = "") -> str:
        """A token that is good as far as is known: another one than `refused`. Raises ApiFailure."""
        ...


class Api:
    """Calls that need a token. `tokens` gives one, and is told which of them failed."""

    def __init__(self, wire: Wire, tokens: Tokens) -> None:
        self._wire, self._tokens = wire, tokens

    async def text(self, open_id: str, words: str) -> None:
        """A customer-service message (developer guide, "customer service messages")."""
        await self.message(open_id, "text", {"content": clean(words)})

    async def menu(self, open_id: str, head: str, lines: Sequence[str]) -> None:
        """A customer-service message whose lines can be clicked (the same, "msgmenu"): a click writes the line."""
        items = [{"id": str(number), "content": clean(line)} for number, line in enumerate(lines, 1)]
        said = {"head_content": clean(head), "list": items, "tail_content": ""}
        body = {"touser": open_id, "msgtype": "msgmenu", "msgmenu": said}
        await self._call(lambda token: self._wire.post("message/custom/send", body, token=token))

    async def message(self, open_id: str, kind: str, said: Mapping[str, str]) -> None:
        """One of another kind ("image", "voice", "video"): what it says of itself."""
        body = {"touser": open_id, "msgtype": kind, kind: {name: clean(value) for name, value in said.items()}}
        await self._call(lambda token: self._wire.post("message/custom/send", body, token=token))

    async def typing(self, open_id: str) -> None:
        """The sign that somebody writes; it fades after 15 s, and goes with the next message."""
        body = {"touser": open_id, "command": "Typing"}
        await self._call(lambda token: self._wire.post("message/custom/typing", body, token=token))

    async def upload(self, kind: str, name: str, content: bytes) -> str:
        """The media_id of a file that the platform keeps for three days ("temporary media")."""
        file = FormFile("media", name, content)
        said = await self._call(
            lambda token: self._wire.upload("media/upload", file, token=token, type=kind), is_message=False
        )
        media_id = said.get("thumb_media_id" if kind == "thumb" else "media_id") or said.get("media_id")
        if not isinstance(media_id, str) or not media_id:
            raise ApiFailure(Rejected(Refusal.UNAVAILABLE, "the platform's answer has no media_id"))
        return media_id

    async def download(self, media_id: str, kind: str, limit: int) -> tuple[bytes, str]:
        """The bytes behind a media_id, and their type, "" where none of media is said. Of a video the platform gives
        the address instead.
        """
        found = await self._call(
            lambda token: self._wire.download("media/get", token=token, kind=kind, limit=limit, media_id=media_id),
            is_message=False,
        )
        if isinstance(found, dict):
            found = await self._wire.follow("media/get", str(found.get("video_url", "")), kind=kind, limit=limit)
        return found.body, media_type_of(found)

    async def look(self) -> None:
        """Have a token at hand, or know why there is none."""
        try:
            await self._tokens.present()
        except ApiFailure as failure:
            self._wire.health.failed(failure)
            raise

    async def _call(self, make: Callable[[str], Awaitable[T]], *, is_message: bool = True) -> T:
        """`is_message`: an account that may not do this may send no customer-service messages."""
        health = self._wire.health
        try:
            token = await self._tokens.present()
            try:
                found = await make(token)
            except ApiFailure as failure:
                if failure.code not in STALE:
                    raise
                found = await make(await self._tokens.present(refused=token))
        except ApiFailure as failure:
            if is_message or failure.code != NO_PERMISSION:
                health.failed(failure)
            raise
        health.succeeded(is_message=is_message)
        return found


def _believed(answer: Answer) -> dict[str, Any]:
    """What the platform said; an answer that is none may have come after the work was done."""
    said = _object(answer.body)
    if answer.status == 200 and said is not None:
        return said
    if answer.status >= 500 or answer.status == 200:
        raise ApiFailure(Unknown(f"HTTP {answer.status} without an answer of the platform"))
    reason = f"HTTP {answer.status} by something that is not the platform; look at api_base"
    raise ApiFailure(Rejected(Refusal.UNAVAILABLE, reason))


def _object(body: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(body.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _code(said: dict[str, Any]) -> int:
    code = said.get("errcode", 0)
    return code if isinstance(code, int) else -1
