"""How the account is doing, for the operator: one state, a note on the last trouble, and counts."""

import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

State = Literal["starting", "receiving", "standing_by", "conflict", "unreachable", "unauthorised"]

REMEDIES: Mapping[State, str] = {
    "conflict": "stop the other one, or get a new token from @BotFather",
    "unreachable": "correct the network, plugins.{account}.api_base or gateway.public_url; it is tried again by itself",
    "unauthorised": "put the token that @BotFather shows into plugins.{account}.token and start again",
}

_log = logging.getLogger("frontdesk.telegram")


@dataclass(slots=True)
class Health:
    account: str
    mode: str
    state: State = "starting"
    bot: str = ""  # its @username, once known
    note: str = ""  # what an operator should know or do; "" when all is well
    counts: Counter[str] = field(default_factory=Counter)

    def becomes(self, state: State, note: str = "") -> None:
        """Say a change once, however often it is found again."""
        if state == self.state and note == self.note:
            return
        is_news = state != self.state
        self.state, self.note = state, note
        if is_news and state not in ("receiving", "starting"):
            _log.warning("telegram account %s is %s: %s", self.account, state, note)
        elif is_news:
            _log.info("telegram account %s is %s", self.account, state)

    def ignores(self, external_id: str, reason: str) -> None:
        """An update that asks for nothing; said and counted, since nothing of it is stored."""
        self.counts["ignored"] += 1
        _log.info("telegram account %s ignored update %s: %s", self.account, external_id, reason)

    @property
    def trouble(self) -> str:
        """What keeps the account from receiving or showing, with the remedy; "" when nothing does."""
        remedy = REMEDIES.get(self.state)
        return f"{self.state}: {self.note}; {remedy.format(account=self.account)}" if remedy else ""

    def report(self) -> dict[str, object]:
        return {
            "state": self.state,
            "mode": self.mode,
            "bot": self.bot,
            "note": self.note,
            "trouble": self.trouble,
            "counts": dict(self.counts),
        }
