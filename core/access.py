"""Who is let in. Closed by default: an empty list admits nobody, and only a channel's immutable ids are compared."""

from collections.abc import Mapping
from dataclasses import dataclass

from core.envelope import Inbound

NOT_ALLOWED = "not_allowed"
NOT_ADDRESSED = "not_addressed"
GROUPS_OFF = "groups_off"


@dataclass(frozen=True, slots=True)
class Access:
    direct: str = "allow"  # "open": anyone; "allow": only who is listed (here and in groups)
    groups: str = "mention"  # "off", "mention": only what is addressed to the bot, "all"
    allow: frozenset[str] = frozenset()  # ids of people, or of chats as a whole

    def refusal(self, inbound: Inbound, moved: Mapping[str, str]) -> str:
        """Why the message is not let in, "" when it is. `moved`: old chat ids to present ones, which lists follow."""
        if not inbound.is_direct and self.groups == "off":
            return GROUPS_OFF
        if self.direct != "open" and not self._lists(inbound, moved):
            return NOT_ALLOWED
        if not inbound.is_direct and self.groups == "mention" and not inbound.is_addressed:
            return NOT_ADDRESSED
        return ""

    def _lists(self, inbound: Inbound, moved: Mapping[str, str]) -> bool:
        if inbound.sender in self.allow or inbound.chat in self.allow:
            return True
        return any(new == inbound.chat and old in self.allow for old, new in moved.items())
