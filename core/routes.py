"""Which agent a message goes to: an account's table, read top down, the first route that takes it. Pure.

A person may choose among these agents where the account lets them; what they chose then stands in the place of the
table, until it is changed or the table no longer allows it. A command that a route names is stronger than a choice: who
types it names an agent.
"""

from collections.abc import Collection, Mapping
from dataclasses import field

from core.envelope import Inbound
from core.identity import language_of
from core.values import value

AUTO = frozenset({"auto", "自动"})  # what a person writes to leave the choice to the table again


@value(frozen=True, slots=True)
class Route:
    """Every condition that is given must hold; "" asks nothing."""

    agent: str
    chat: str = ""
    topic: str = ""
    command: str = ""  # without its slash, in lower case
    language: str = ""  # a language range (RFC 4647, 3.3.1): "pt" takes "pt-BR", and "zh" takes Chinese in any form

    def leads_from(self, chats: Collection[str], topic: str) -> bool:
        """Whether messages of this chat (by each id it has had) and topic can come this way at all."""
        return self.chat in ("", *chats) and self.topic in ("", topic)

    def takes(self, command: str, language: str) -> bool:
        return self.command in ("", command) and (not self.language or _is_in(self.language, language))


@value(frozen=True, slots=True)
class Picked:
    agent: str
    is_called: bool = False  # by a command of its route


@value(frozen=True, slots=True)
class Routes:
    default: str  # the agent of what no route takes
    table: tuple[Route, ...] = ()
    fallbacks: Mapping[str, str] = field(default_factory=dict)  # by agent: who is asked while that one is down
    may_choose: bool = False

    def pick(self, inbound: Inbound, command: str, language: str, moved: Mapping[str, str]) -> Picked:
        """`command` is one that the host does not know itself, "" for none; `moved`: old chat ids to present ones."""
        chats = _ids_of(inbound.chat, moved)
        for route in self.table:
            if route.leads_from(chats, inbound.topic) and route.takes(command, language):
                return Picked(route.agent, is_called=bool(route.command))
        return Picked(self.default)

    def agents_at(self, chat: str, topic: str, moved: Mapping[str, str]) -> dict[str, list[str]]:
        """The agents that can answer there, in the order of the table, each with the commands that call it."""
        chats = _ids_of(chat, moved)
        found: dict[str, list[str]] = {}
        for route in self.table:
            if route.leads_from(chats, topic):
                found.setdefault(route.agent, []).extend([route.command] if route.command else [])
        found.setdefault(self.default, [])
        return found

    def choices(self, inbound: Inbound, moved: Mapping[str, str]) -> Collection[str]:
        """Whom the people of the chat may choose."""
        return self.agents_at(inbound.chat, inbound.topic, moved) if self.may_choose else ()


def _ids_of(chat: str, moved: Mapping[str, str]) -> Collection[str]:
    return [chat, *(old for old, new in moved.items() if new == chat)] if moved else (chat,)


def _is_in(wanted: str, tag: str) -> bool:
    wanted, tag = wanted.lower(), tag.lower().replace("_", "-")
    return tag == wanted or tag.startswith(f"{wanted}-") or (wanted == "zh" and language_of(tag) == "zh")
