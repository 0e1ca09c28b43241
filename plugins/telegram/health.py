"""What may be the matter with a bot, and what the operator does about it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from core.health import AccountHealth

State = Literal["starting", "receiving", "standing_by", "conflict", "unreachable", "unauthorised"]

REMEDIES: Mapping[State, str] = {
    "conflict": "stop the other one, or get a new token from @BotFather",
    "unreachable": "correct the network, plugins.{account}.api_base or gateway.public_url; it is tried again by itself",
    "unauthorised": "put the token that @BotFather shows into plugins.{account}.token and start again",
}


@dataclass(slots=True)
class Health(AccountHealth[State]):
    kind: ClassVar[str] = "telegram"

    state: State = "starting"
    bot: str = ""  # its @username, once known

    def ignores(self, external_id: str, reason: str) -> None:
        """An update that asks for nothing; said and counted, since nothing of it is stored."""
        self.counts["ignored"] += 1
        self.log.info("telegram account %s ignored update %s: %s", self.account, external_id, reason)

    @property
    def trouble(self) -> str:
        remedy = REMEDIES.get(self.state)
        return f"{self.state}: {self.note}; {remedy.format(account=self.account)}" if remedy else ""

    def report(self) -> dict[str, object]:
        return {**AccountHealth.report(self), "bot": self.bot}
