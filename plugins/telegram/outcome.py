"""What an exception of python-telegram-bot means for what was to be shown: a definite no with its reason, or unknown.

The order of the cases matters: BadRequest is a NetworkError there, so that whoever asks for NetworkError first repeats
what is refused for good.
"""

from telegram.error import BadRequest, ChatMigrated, Conflict, Forbidden, InvalidToken, NetworkError, TelegramError

from core.delivery import Refusal, Rejected, Unknown
from plugins.telegram.failures import ApiFailure

REASON_LIMIT = 200  # characters of what the Bot API said

# Texts of tdlib/telegram-bot-api 10.0 and of Telegram's own error list, in lower case and with _ as a space.
_NO_TOPIC = ("message thread not found", "topic closed", "topic deleted", "topic id invalid")
_DEAD_CHAT = (
    *("chat not found", "peer id invalid", "user not found", "user is deactivated", "chat write forbidden"),
    *("have no rights to send", "not enough rights to send", "need administrator rights", "group chat was deactivated"),
    *("bot was kicked", "bot is not a member", "chat restricted", "user is blocked", "input user deactivated"),
)


class NotTaken(NetworkError):
    """Telegram certainly did not take the call."""


class MaybeTaken(NetworkError):
    """Telegram may have taken the call; nobody can tell."""


class Throttled(TelegramError):
    """Flood control. The library's own RetryAfter warns of its deprecated unit whenever it is read."""

    def __init__(self, retry_after: float) -> None:
        super().__init__(f"flood control for {retry_after:g} s")
        self.retry_after = retry_after  # seconds


def failure_of(error: TelegramError) -> ApiFailure:
    return ApiFailure(outcome_of(error), error.message.lower(), is_conflict=isinstance(error, Conflict))


def outcome_of(error: TelegramError) -> Rejected | Unknown:
    reason = error.message[:REASON_LIMIT]
    match error:
        case Throttled():
            return Rejected(Refusal.THROTTLED, reason, retry_after=error.retry_after)
        case ChatMigrated():
            return Rejected(Refusal.MOVED, "the group became a supergroup", moved_to=str(error.new_chat_id))
        case Forbidden():
            return Rejected(Refusal.BLOCKED, reason)
        case InvalidToken():
            return Rejected(Refusal.UNAUTHORISED, "Telegram refused the bot's token")
        case BadRequest():
            return Rejected(_kind_of(error.message), reason)
        case NotTaken() | Conflict():
            return Rejected(Refusal.UNAVAILABLE, reason)
        case _:  # MaybeTaken, and whatever the library raises without having asked Telegram's JSON
            return Unknown(reason)


def _kind_of(message: str) -> Refusal:
    text = message.lower().replace("_", " ")
    if any(sign in text for sign in _NO_TOPIC):
        return Refusal.NO_TOPIC
    if any(sign in text for sign in _DEAD_CHAT):
        return Refusal.BLOCKED
    return Refusal.MALFORMED
