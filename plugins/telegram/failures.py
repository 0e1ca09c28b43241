"""A call to the Bot API that did not succeed, in the host's words; what python-telegram-bot raises stops at `api`."""

from core.delivery import Refusal, Rejected, Unknown

_UNCHANGED = "message is not modified"
_MARKUP = "can't parse entities"
_GONE = (
    *("message to edit not found", "message can't be edited", "message to delete not found"),
    *("message_id_invalid", "message identifier is not specified"),
)


class ApiFailure(Exception):
    """`outcome` says what may have happened, `text` what the Bot API said, in lower case; "" when it said nothing."""

    def __init__(self, outcome: Rejected | Unknown, text: str = "", *, is_conflict: bool = False) -> None:
        super().__init__(outcome.reason)
        self.outcome = outcome
        self.text = text
        self.is_conflict = is_conflict  # 409: somebody else polls, or a webhook is set

    @property
    def says_unchanged(self) -> bool:
        """An edit would have changed nothing: what was to be shown is shown."""
        return _UNCHANGED in self.text

    @property
    def refuses_markup(self) -> bool:
        """Definitely not shown, because of its HTML alone."""
        return _MARKUP in self.text

    @property
    def says_gone(self) -> bool:
        """The message to change or remove is not there any more, or was never ours."""
        return any(text in self.text for text in _GONE)

    def is_kind(self, kind: Refusal) -> bool:
        return isinstance(self.outcome, Rejected) and self.outcome.kind is kind

    @property
    def retry_after(self) -> float | None:
        """Seconds that Telegram asked to wait; None when it did not."""
        return self.outcome.retry_after if isinstance(self.outcome, Rejected) else None
