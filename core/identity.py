"""Who speaks, through which connection, and where an answer goes back to."""

from functools import lru_cache

from core.values import value


@value(frozen=True, slots=True)
class Source:
    """The connection that vouches for a message; issued by the host, never read from a payload."""

    kind: str  # "telegram", "webchat", ...: the plugin's kind
    account: str  # the account's name in the configuration

    @property
    def key(self) -> str:
        """The account's name: unique in a configuration."""
        return self.account


@value(frozen=True, slots=True)
class Address:
    """A chat as its source names it; with a topic where the channel has such. ValueError for one without a chat."""

    source: Source
    chat: str
    topic: str = ""  # "" where the chat has no topics; Telegram's General is "1"

    def __post_init__(self) -> None:
        if not self.chat or not self.source.account:
            raise ValueError("an address needs its account and its chat: nothing is sent to whoever else may be there")


@value(frozen=True, slots=True)
class Person:
    """Rights, language and quotas are the person's."""

    id: str
    owner: str
    language: str = "en"  # of the notices: "en" or "zh"


@lru_cache(maxsize=256)
def language_of(tag: str | None) -> str:
    """The notice language for a BCP 47 tag as channels report it: Chinese in any form is "zh", all else "en"."""
    return "zh" if tag and tag.lower().split("-")[0].split("_")[0] in {"zh", "yue", "cmn"} else "en"
