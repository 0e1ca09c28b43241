"""lo-bot-api-emulator as a foreign Bot API server, with a proxy of ours in front.

The emulator refuses every field it does not know, which is what catches us sending wrong ones; but it does not know two
of Telegram's own, `message_thread_id` and `link_preview_options`, and its getMe has no `username`. The proxy checks the
two, notes them in the journal, takes them out, and adds the name. It neither parses HTML nor repeats webhook calls.
"""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
from aiohttp import web

from tests.fakes.serving import PATIENCE, Loopback
from tests.fakes.telegram_people import person, typed_entities
from tests.fakes.telegram_wire import ApiCall, ApiError, bad_request
from tests.peers.processes import PeerProcess, free_port, peer_program

PEER = "lo-bot-api-emulator"
TOKEN = "123456789:" + "A" * 35
USERNAME = "desk_bot"
UPSTREAM_TIMEOUT = aiohttp.ClientTimeout(total=70)  # seconds; above the longest poll
FIRST_USER_MESSAGE = 10_000  # the emulator numbers the bot's messages from 1; the two must not meet in one chat
TOPICAL = frozenset({"sendMessage", "sendChatAction", "sendMessageDraft"})  # methods that take message_thread_id
PREVIEWING = frozenset({"sendMessage", "editMessageText"})  # methods that take link_preview_options
PREVIEW_KEYS = frozenset({"is_disabled", "url", "prefer_small_media", "prefer_large_media", "show_above_text"})


@dataclass(frozen=True, slots=True)
class Refusal:
    """A call that the emulator, or the proxy's own check, answered with an error."""

    call: ApiCall
    status: int
    description: str


class LoEmulator(Loopback):
    """The emulator and its proxy for one bot; `base` is the proxy's address. Mark tests `@pytest.mark.peer(PEER)`."""

    def __init__(self, *, token: str = TOKEN, username: str = USERNAME) -> None:
        super().__init__()
        self.token = token
        self.username = username
        self.calls: list[ApiCall] = []  # with the stripped fields
        self.refusals: list[Refusal] = []
        self._shown: dict[int, dict[int, str]] = {}  # chat -> message id -> text as sent, markup included
        self._last_id: dict[int, int] = {}
        self._process: PeerProcess | None = None
        self._http: aiohttp.ClientSession | None = None
        self._upstream = ""

    async def come_up(self) -> None:
        port = free_port()
        program = peer_program(PEER, PEER)
        options = ["--enable-control", "--allow-insecure-loopback-webhooks"]
        self._process = PeerProcess([program, "--port", str(port), *options], ready="Running on")
        await self._process.start()
        self._upstream = f"http://127.0.0.1:{port}"
        self._http = aiohttp.ClientSession(timeout=UPSTREAM_TIMEOUT)
        await super().come_up()

    async def go_down(self) -> None:
        await super().go_down()
        http, self._http = self._http, None
        if http is not None:
            await http.close()
        process, self._process = self._process, None
        if process is not None:
            await process.kill()

    async def inject(self, update: Mapping[str, Any]) -> int:
        """Queue an update (message, callback_query or inline_query) and try the webhook once; its update_id."""
        return int((await self._control("updates", {"update": dict(update)}))["update_id"])

    async def deliver(self) -> int:
        """Try the webhook again with what is pending; how many were acknowledged."""
        return int((await self._control("deliver", {}))["delivered"])

    async def user_says(self, chat: int, text: str, *, user: int | None = None, **fields: Any) -> int:
        """A text message from a person, in a private chat or a supergroup; its message_id."""
        message_id = self._last_id[chat] = self._last_id.get(chat, FIRST_USER_MESSAGE) + 1
        private = {"id": chat, "type": "private", "first_name": "Ada"}
        body: dict[str, Any] = {
            "message_id": message_id,
            "from": person(user or abs(chat)),
            "chat": private if chat > 0 else {"id": chat, "type": "supergroup", "title": "Group"},
            "date": int(time.time()),
            "text": text,
            **fields,
        }
        if found := typed_entities(text):
            body.setdefault("entities", found)
        await self.inject({"message": body})
        return message_id

    def calls_of(self, method: str) -> list[ApiCall]:
        return [call for call in self.calls if call.method == method]

    def texts(self, chat: int) -> list[str]:
        """The bot's messages in the chat as they stand now, as sent: the emulator does not parse markup."""
        return list(self._shown.get(chat, {}).values())

    async def wait_for_texts(self, chat: int, n: int = 1, *, timeout: float = PATIENCE) -> list[str]:
        """The bot's messages in the chat, once there are at least `n`."""

        def enough() -> list[str]:
            return self.texts(chat) if len(self.texts(chat)) >= n else []

        return await self.changes.until(enough, timeout=timeout, what=f"{n} messages in chat {chat}")

    def add_routes(self, router: web.UrlDispatcher) -> None:
        router.add_route("*", "/bot{token}/{method}", self._relay)

    async def _control(self, what: str, body: Mapping[str, Any]) -> Any:
        assert self._http is not None, "the emulator is not running"
        url = f"{self._upstream}/__fixture/{what}"
        async with self._http.post(url, json={"token": self.token, **body}) as answer:
            told = await answer.json()
            assert told["ok"], f"the emulator refuses the update: {told['description']}"
            return told["result"]

    async def _relay(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        is_json = request.content_type == "application/json"
        params = dict(await request.json()) if is_json and request.can_read_body else dict(await request.post())
        call = ApiCall(method, {**request.query, **params})
        self.calls.append(call)
        self.changes.mark()
        try:
            check_stripped(call)
        except ApiError as error:
            self.refusals.append(Refusal(call, error.code, error.description))
            return error.answer()
        kept = {
            name: value for name, value in params.items() if name not in ("message_thread_id", "link_preview_options")
        }
        status, told = await self._ask(request, kept, is_json=is_json)
        self._remember(call, status, told)
        return web.json_response(told, status=status)

    async def _ask(self, request: web.Request, params: Mapping[str, Any], *, is_json: bool) -> tuple[int, Any]:
        """The call in the caller's own encoding: the emulator is to judge that too."""
        assert self._http is not None, "the emulator is not running"
        is_multipart = request.content_type == "multipart/form-data"
        form = None if is_json else _form(params, is_multipart=is_multipart)
        url = f"{self._upstream}{request.path_qs}"
        async with self._http.post(url, json=dict(params) if is_json else None, data=form) as answer:
            return answer.status, await answer.json()

    def _remember(self, call: ApiCall, status: int, told: Any) -> None:
        if not told.get("ok"):
            self.refusals.append(Refusal(call, status, str(told.get("description", ""))))
        elif call.method == "getMe":
            told["result"]["username"] = self.username
        elif call.method == "sendMessage" and isinstance(call.chat, int):
            self._shown.setdefault(call.chat, {})[told["result"]["message_id"]] = call.text
        elif call.method == "editMessageText" and isinstance(call.chat, int):
            self._shown.setdefault(call.chat, {})[int(call.params["message_id"])] = call.text
        elif call.method == "deleteMessage" and isinstance(call.chat, int):
            self._shown.get(call.chat, {}).pop(int(call.params["message_id"]), None)
        self.changes.mark()


def check_stripped(call: ApiCall) -> None:
    """What the emulator cannot judge, because it never sees it; raises ApiError 400 when Telegram would refuse it."""
    topic, preview = call.params.get("message_thread_id"), call.params.get("link_preview_options")
    if topic is not None and (call.method not in TOPICAL or not str(topic).isdigit() or int(topic) < 1):
        raise bad_request("message_thread_id is not allowed here or no positive integer")
    if preview is None:
        return
    options = json.loads(preview) if isinstance(preview, str) else preview
    if call.method not in PREVIEWING or not isinstance(options, dict) or options.keys() - PREVIEW_KEYS:
        raise bad_request("link_preview_options are not allowed here or have unknown keys")


def _form(params: Mapping[str, Any], *, is_multipart: bool) -> aiohttp.FormData:
    form = aiohttp.FormData(default_to_multipart=is_multipart)
    for name, value in params.items():
        if isinstance(value, web.FileField):
            form.add_field(name, value.file, filename=value.filename, content_type=value.content_type)
        else:
            form.add_field(name, str(value))
    return form
