"""What stands in the chats of the fake Bot API server, and the methods that show, change and remove it."""

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.telegram_html import parse_html, trim, utf16_length
from tests.fakes.telegram_wire import bad_request, canonical, flag, integer

TEXT_LIMIT = 4096  # UTF-16 code units after entity parsing (Bot API, sendMessage)
RAW_LIMIT = 32768  # bytes before parsing; the server refuses longer texts unread
CALLBACK_DATA_LIMIT = 64  # bytes (Bot API, InlineKeyboardButton)
CALLBACK_TEXT_LIMIT = 200  # characters (Bot API, answerCallbackQuery)
COMMANDS_LIMIT = 100  # (Bot API, setMyCommands)
COMMAND_NAME = re.compile(r"[a-z0-9_]{1,32}")
COMMAND_DESCRIPTION_LIMIT = 256  # characters (Bot API, BotCommand)
ACTIONS = frozenset(
    {
        "typing",
        "upload_photo",
        "record_video",
        "upload_video",
        "record_voice",
        "upload_voice",
        "upload_document",
        "choose_sticker",
        "find_location",
        "record_video_note",
        "upload_video_note",
    }
)
GENERAL_TOPIC = 1  # exists in every forum, but messages are sent to it without a thread id


@dataclass(slots=True)
class Shown:
    """A message that stands in a chat."""

    message_id: int
    chat: int
    text: str
    by_bot: bool
    entities: list[dict[str, Any]] = field(default_factory=list)
    topic: int | None = None
    reply_to: int | None = None
    markup: dict[str, Any] | None = None
    edits: int = 0
    date: int = field(default_factory=lambda: int(time.time()))  # seconds since the epoch
    wire: dict[str, Any] = field(default_factory=dict)  # the user's message as it was sent to the bot

    @property
    def bold(self) -> list[str]:
        """The stretches of text shown in bold; other kinds by `styled`."""
        return self.styled("bold")

    def styled(self, kind: str) -> list[str]:
        units = self.text.encode("utf-16-le")
        found = [entity for entity in self.entities if entity["type"] == kind]
        spans = [(2 * entity["offset"], 2 * (entity["offset"] + entity["length"])) for entity in found]
        return [units[start:end].decode("utf-16-le") for start, end in spans]


@dataclass(slots=True)
class Chat:
    """A chat the bot knows. Message ids count from 1 in each chat, as in supergroups: ids of two chats do collide."""

    id: int
    kind: str  # private | group | supergroup
    title: str = ""
    is_forum: bool = False
    topics: dict[int, str] = field(default_factory=dict)
    messages: dict[int, Shown] = field(default_factory=dict)
    last_id: int = 0

    def new_id(self) -> int:
        self.last_id += 1
        return self.last_id

    def wire(self) -> dict[str, Any]:
        if self.kind == "private":
            return {"id": self.id, "type": "private", "first_name": self.title or "Ada"}
        forum = {"is_forum": True} if self.is_forum else {}
        return {"id": self.id, "type": self.kind, "title": self.title or "Group", **forum}


class Chats:
    """The chats of one bot. Method names are the Bot API's, in this project's spelling."""

    def __init__(self, bot: Mapping[str, Any]) -> None:
        self.bot = dict(bot)
        self.all: dict[int, Chat] = {}
        self.queries: set[str] = set()  # callback queries still answerable
        self.answered: list[dict[str, Any]] = []
        self.commands: dict[str, list[dict[str, str]]] = {}  # by scope and language
        self.drafts: dict[tuple[int, int], list[str]] = {}  # (chat, draft id) -> each text shown
        self.actions: list[tuple[int, str]] = []

    def chat(self, chat_id: int) -> Chat:
        """The chat, made on first sight: a person for positive ids, a supergroup for negative ones."""
        if chat_id not in self.all:
            self.all[chat_id] = Chat(chat_id, "private" if chat_id > 0 else "supergroup")
        return self.all[chat_id]

    def send_message(self, params: Mapping[str, Any]) -> dict[str, Any]:
        chat = self._target(params)
        text, entities = self._text(params)
        shown = Shown(
            chat.new_id(),
            chat.id,
            text,
            by_bot=True,
            entities=entities,
            topic=self._topic(chat, params),
            reply_to=self._replied(chat, params),
            markup=_markup(params),
        )
        chat.messages[shown.message_id] = shown
        return self.message(shown)

    def edit_message_text(self, params: Mapping[str, Any]) -> dict[str, Any]:
        chat = self._target(params)
        shown = chat.messages.get(integer(params, "message_id"))
        if shown is None:
            raise bad_request("message to edit not found")
        if not shown.by_bot:
            raise bad_request("message can't be edited")
        text, entities = self._text(params)
        markup = _markup(params)
        if canonical([text, entities, markup]) == canonical([shown.text, shown.entities, shown.markup]):
            raise bad_request(
                "message is not modified: specified new message content and reply markup are exactly the same as a "
                "current content and reply markup of the message"
            )
        shown.text, shown.entities, shown.markup, shown.edits = text, entities, markup, shown.edits + 1
        return self.message(shown)

    def delete_message(self, params: Mapping[str, Any]) -> bool:
        chat = self._target(params)
        if chat.messages.pop(integer(params, "message_id"), None) is None:
            raise bad_request("message to delete not found")
        return True

    def send_chat_action(self, params: Mapping[str, Any]) -> bool:
        chat = self._target(params)
        action = str(params.get("action", ""))
        if action not in ACTIONS:
            raise bad_request("wrong parameter action in request")
        if params.get("message_thread_id") and integer(params, "message_thread_id") != GENERAL_TOPIC:
            self._topic(chat, params)
        self.actions.append((chat.id, action))
        return True

    def answer_callback_query(self, params: Mapping[str, Any]) -> bool:
        query = str(params.get("callback_query_id", ""))
        if query not in self.queries:
            raise bad_request("query is too old and response timeout expired or query ID is invalid")
        if len(str(params.get("text", ""))) > CALLBACK_TEXT_LIMIT:
            raise bad_request("MESSAGE_TOO_LONG")
        self.queries.discard(query)
        self.answered.append(dict(params))
        return True

    def set_my_commands(self, params: Mapping[str, Any]) -> bool:
        commands = params.get("commands")
        if not isinstance(commands, list):
            raise bad_request("can't parse commands JSON object")
        if len(commands) > COMMANDS_LIMIT:
            raise bad_request("BOT_COMMANDS_TOO_MUCH")
        for command in commands:
            if not COMMAND_NAME.fullmatch(str(command.get("command", "")).removeprefix("/")):
                raise bad_request("BOT_COMMAND_INVALID")
            if not 1 <= len(str(command.get("description", ""))) <= COMMAND_DESCRIPTION_LIMIT:
                raise bad_request("BOT_COMMAND_DESCRIPTION_INVALID")
        self.commands[_audience(params)] = commands
        return True

    def get_my_commands(self, params: Mapping[str, Any]) -> list[dict[str, str]]:
        return self.commands.get(_audience(params), [])

    def delete_my_commands(self, params: Mapping[str, Any]) -> bool:
        self.commands.pop(_audience(params), None)
        return True

    def send_message_draft(self, params: Mapping[str, Any]) -> bool:
        chat = self._target(params)
        if chat.kind != "private":
            raise bad_request("TEXTDRAFT_PEER_INVALID")
        draft = integer(params, "draft_id")
        if draft == 0:
            raise bad_request("draft_id must be non-zero")
        text, _ = self._text(params, may_be_empty=True)
        self.drafts.setdefault((chat.id, draft), []).append(text)
        return True

    def message(self, shown: Shown) -> dict[str, Any]:
        """The Message object of something the bot shows, or of what a user wrote."""
        chat = self.chat(shown.chat)
        if not shown.by_bot:
            return dict(shown.wire)
        body: dict[str, Any] = {
            "message_id": shown.message_id,
            "from": {key: self.bot[key] for key in ("id", "is_bot", "first_name", "username")},
            "chat": chat.wire(),
            "date": shown.date,
            "text": shown.text,
        }
        if shown.entities:
            body["entities"] = shown.entities
        if shown.topic is not None:
            body |= {"message_thread_id": shown.topic, "is_topic_message": True}
        if shown.markup is not None:
            body["reply_markup"] = shown.markup
        if shown.edits:
            body["edit_date"] = shown.date + shown.edits
        if shown.reply_to is not None and (replied := chat.messages.get(shown.reply_to)) is not None:
            # The API nests one level only.
            body["reply_to_message"] = {k: v for k, v in self.message(replied).items() if k != "reply_to_message"}
        return body

    def _target(self, params: Mapping[str, Any]) -> Chat:
        value = params.get("chat_id")
        if value is None or value == "":
            raise bad_request("chat_id is empty")
        if isinstance(value, str) and value.startswith("@"):
            raise bad_request("chat not found")
        return self.chat(integer(params, "chat_id"))

    @staticmethod
    def _topic(chat: Chat, params: Mapping[str, Any]) -> int | None:
        if not params.get("message_thread_id"):
            return None
        topic = integer(params, "message_thread_id")
        if topic not in chat.topics:
            raise bad_request("message thread not found")
        return topic

    @staticmethod
    def _replied(chat: Chat, params: Mapping[str, Any]) -> int | None:
        reply = params.get("reply_parameters") or {}
        if not isinstance(reply, dict):
            raise bad_request("can't parse reply_parameters JSON object")
        if not reply and params.get("reply_to_message_id"):
            reply = {**params, "message_id": params["reply_to_message_id"]}
        if not reply:
            return None
        replied = integer(reply, "message_id")
        if replied in chat.messages:
            return replied
        if flag(reply, "allow_sending_without_reply"):
            return None
        raise bad_request("message to be replied not found")

    @staticmethod
    def _text(params: Mapping[str, Any], *, may_be_empty: bool = False) -> tuple[str, list[dict[str, Any]]]:
        raw = params.get("text")
        source = "" if raw is None else str(raw)
        if len(source.encode("utf-8", "surrogatepass")) > RAW_LIMIT:
            raise bad_request("message is too long")
        if any(0xD800 <= ord(character) < 0xE000 for character in source):
            raise bad_request("strings must be encoded in UTF-8")
        mode = str(params.get("parse_mode") or "").lower()
        if mode not in ("", "html"):
            # The project renders to HTML only; a fake that let MarkdownV2 pass unparsed would hide its mistakes.
            raise bad_request("unsupported parse_mode")
        parsed = parse_html(source) if mode else (source, list(params.get("entities") or []))
        text, entities = trim(*parsed)
        if not text and not may_be_empty:
            raise bad_request("message text is empty")
        if utf16_length(text) > TEXT_LIMIT:
            raise bad_request("message is too long")
        return text, entities


def _markup(params: Mapping[str, Any]) -> dict[str, Any] | None:
    markup = params.get("reply_markup")
    if markup is None:
        return None
    if not isinstance(markup, dict):
        raise bad_request("object expected as reply markup")
    for row in markup.get("inline_keyboard", ()):
        for button in row:
            if "callback_data" in button and not 1 <= len(button["callback_data"].encode()) <= CALLBACK_DATA_LIMIT:
                raise bad_request("BUTTON_DATA_INVALID")
    return markup


def _audience(params: Mapping[str, Any]) -> str:
    return canonical([params.get("scope") or {"type": "default"}, params.get("language_code") or ""])
