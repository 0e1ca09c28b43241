"""Our own Bot API server: it keeps Telegram's rules, remembers what it shows, and fails to order.

`async with FakeTelegram() as telegram:` listens on loopback; give `telegram.base` as `api_base` and `telegram.token` as
the token. People speak through `user_says` and its kin; what the bot showed is in `messages`, every call in `calls`.
`script` makes calls go wrong. It knows the text side of the Bot API; media uploads are answered "method not found".
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from aiohttp import web

from tests.fakes.scripting import Exchange, Finish, Respond, Script, ScriptBook
from tests.fakes.serving import PATIENCE, Loopback
from tests.fakes.telegram_chats import Chats, Shown
from tests.fakes.telegram_people import People
from tests.fakes.telegram_responses import forbidden, migrate
from tests.fakes.telegram_updates import Update, Updates
from tests.fakes.telegram_wire import ApiCall, ApiError, ok, read_params

TOKEN = "123456789:" + "A" * 35
USERNAME = "desk_bot"
PACE = 0.01  # of the seconds between repetitions of a webhook call; 1.0 is Telegram's own
UNCALLABLE = ("setwebhook", "deletewebhook", "close", "logout")  # a webhook's answer may not call these, nor get*

Method = Callable[[Mapping[str, Any]], Awaitable[object]]


class FakeTelegram(Loopback, People):
    """One bot's Bot API server. `pace` scales the pauses between webhook repetitions."""

    def __init__(self, *, token: str = TOKEN, username: str = USERNAME, pace: float = PACE) -> None:
        super().__init__()
        self.token = token
        self.calls: list[ApiCall] = []
        self.chats = Chats(_bot_user(token, username))
        self.updates = Updates(self.changes, pace=pace, call=self._call_from_webhook)
        self._book = ScriptBook()
        self._methods = {name.lower(): (name, method) for name, method in self._all_methods().items()}

    @property
    def bot(self) -> dict[str, Any]:
        """The bot as getMe shows it."""
        return self.chats.bot

    async def come_up(self) -> None:
        await super().come_up()
        self.updates.resume()

    async def go_down(self) -> None:
        """Off the network in both directions: refuses calls and sends no updates. Chats and queue stay."""
        try:
            await self.updates.stop()
        finally:
            await super().go_down()

    def script(
        self, method: str, *, respond: Respond, chat: int | None = None, times: int | None = 1, after: int = 0
    ) -> Script:
        """Answer the next `times` calls of `method` ("*": any) by `respond`.

        `chat` restricts it to one chat, `after` lets that many matching calls pass first, `times=None` is for ever.
        """
        return self._book.add(method, respond, chat=chat, times=times, after=after)

    def messages(self, chat: int, *, topic: int | None = None) -> list[Shown]:
        """What the bot shows in the chat now, in order; `topic` restricts it to one forum topic."""
        shown = self.chats.chat(chat).messages.values()
        return [message for message in shown if message.by_bot and topic in (None, message.topic)]

    def texts(self, chat: int, *, topic: int | None = None) -> list[str]:
        return [message.text for message in self.messages(chat, topic=topic)]

    def calls_of(self, method: str, *, chat: int | None = None) -> list[ApiCall]:
        """The journal of one method, in order, refused calls included."""
        return [call for call in self.calls if call.method == method and chat in (None, call.chat)]

    async def wait_for_messages(self, chat: int, n: int = 1, *, timeout: float = PATIENCE) -> list[Shown]:
        """The bot's messages in the chat, once there are at least `n`."""

        def enough() -> list[Shown]:
            shown = self.messages(chat)
            return shown if len(shown) >= n else []

        return await self.changes.until(enough, timeout=timeout, what=f"{n} messages in chat {chat}")

    async def wait_for_text(self, chat: int, text: str, *, timeout: float = PATIENCE) -> Shown:
        """The first message of the bot in the chat that contains `text`, edits included."""

        def found() -> Shown | None:
            return next((message for message in self.messages(chat) if text in message.text), None)

        what = f"a message with {text!r} in chat {chat}"
        shown = await self.changes.until(found, timeout=timeout, what=what)
        assert shown is not None
        return shown

    async def wait_for_calls(
        self, method: str, n: int = 1, *, chat: int | None = None, timeout: float = PATIENCE
    ) -> list[ApiCall]:
        """The journal of a method, once it has at least `n` calls."""

        def enough() -> list[ApiCall]:
            calls = self.calls_of(method, chat=chat)
            return calls if len(calls) >= n else []

        return await self.changes.until(enough, timeout=timeout, what=f"{n} calls of {method}")

    async def wait_until_acknowledged(self, *, timeout: float = PATIENCE) -> None:
        """Returns once no update is waiting: each was answered 2xx, or confirmed by a later offset."""
        what = "every update to be acknowledged"
        await self.changes.until(lambda: not self.updates.pending, timeout=timeout, what=what)

    def inject(self, update: Update) -> int | None:
        """Queue any update as it is, also a malformed one; an absent `update_id` is assigned."""
        return self.updates.push(update)

    def upgrade(self, chat: int, new_chat: int) -> None:
        """A group becomes a supergroup: both say so, and what is sent to the old id is refused with the new one."""
        old = self.chats.chat(chat)
        self.supergroup(new_chat, old.title)
        self.user_posts(chat, migrate_to_chat_id=new_chat)
        self.user_posts(new_chat, migrate_from_chat_id=chat)
        self.script("*", chat=chat, times=None, respond=migrate(new_chat))

    def block(self, chat: int) -> None:
        self.script("*", chat=chat, times=None, respond=forbidden())

    def add_routes(self, router: web.UrlDispatcher) -> None:
        router.add_route("*", "/bot{token}/{method}", self._answer)

    def _all_methods(self) -> dict[str, Method]:
        chats: dict[str, Callable[[Mapping[str, Any]], object]] = {
            "sendMessage": self.chats.send_message,
            "editMessageText": self.chats.edit_message_text,
            "deleteMessage": self.chats.delete_message,
            "sendChatAction": self.chats.send_chat_action,
            "sendMessageDraft": self.chats.send_message_draft,
            "answerCallbackQuery": self.chats.answer_callback_query,
            "setMyCommands": self.chats.set_my_commands,
            "getMyCommands": self.chats.get_my_commands,
            "deleteMyCommands": self.chats.delete_my_commands,
            "getChat": lambda params: self.chats.chat(int(params["chat_id"])).wire(),
            "getMe": lambda _: self.bot,
        }
        updates: dict[str, Method] = {
            "getUpdates": self.updates.get_updates,
            "setWebhook": self.updates.set_webhook,
            "deleteWebhook": self.updates.delete_webhook,
            "getWebhookInfo": self.updates.get_webhook_info,
        }
        return {**updates, **{name: partial(_at_once, method) for name, method in chats.items()}}

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        if request.match_info["token"] != self.token:
            return ApiError(401, "Unauthorized").answer()
        try:
            params = await read_params(request)
        except ApiError as error:
            return error.answer()
        name, method = self._methods.get(request.match_info["method"].lower(), (request.match_info["method"], None))
        call = ApiCall(name, params)
        self.calls.append(call)
        self.changes.mark()
        exchange = Exchange(request, partial(self._accept, method, params), self.closing)
        return await self._book.answer(name, call.chat, exchange)

    async def _accept(self, method: Method | None, params: Mapping[str, Any]) -> Finish:
        if method is None:
            answer = ApiError(404, "Not Found: method not found").answer()
        else:
            try:
                answer = ok(await method(params))
            except ApiError as error:
                answer = error.answer()
        self.changes.mark()
        return partial(_same, answer)

    async def _call_from_webhook(self, answer: Mapping[str, Any]) -> None:
        """A webhook may answer with a call; its result is never seen."""
        name, method = self._methods.get(str(answer["method"]).lower(), ("", None))
        if method is None or name.lower() in UNCALLABLE or name.startswith("get"):
            return
        params = {key: value for key, value in answer.items() if key != "method"}
        self.calls.append(ApiCall(name, params))
        await self._accept(method, params)


async def _at_once(method: Callable[[Mapping[str, Any]], object], params: Mapping[str, Any]) -> object:
    return method(params)


async def _same(answer: web.Response) -> web.StreamResponse:
    return answer


def _bot_user(token: str, username: str) -> dict[str, Any]:
    return {
        "id": int(token.partition(":")[0]),
        "is_bot": True,
        "first_name": "Front Desk",
        "username": username,
        "can_join_groups": True,
        "can_read_all_group_messages": False,
        "supports_inline_queries": False,
        "can_connect_to_business": False,
        "has_main_web_app": False,
    }
