"""The commands that Telegram offers when somebody types a slash: those it takes, in the languages of the notices."""

import logging
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from plugins.telegram.failures import ApiFailure
from plugins.telegram.health import Health

if TYPE_CHECKING:
    from plugins.telegram.api import BotApi

COMMANDS_LIMIT = 100  # Bot API 10.0, setMyCommands
DESCRIPTION_LIMIT = 256  # characters; Bot API 10.0, BotCommand
_NAME = re.compile(r"[a-z0-9_]{1,32}", re.ASCII)

_log = logging.getLogger("frontdesk.telegram")


def fitting(commands: Mapping[str, tuple[str, str]]) -> tuple[dict[str, tuple[str, str]], list[str]]:
    """The commands that Telegram will take, with their descriptions in English and Chinese, and the names left out.

    One name it does not like would have it refuse all of them (TG-17).
    """
    taken: dict[str, tuple[str, str]] = {}
    left_out = []
    for name, (english, chinese) in commands.items():
        if len(taken) == COMMANDS_LIMIT or not _NAME.fullmatch(name) or not english or not chinese:
            left_out.append(name)
        else:
            taken[name] = (english[:DESCRIPTION_LIMIT], chinese[:DESCRIPTION_LIMIT])
    return taken, left_out


async def offer(api: "BotApi", commands: Mapping[str, tuple[str, str]], health: Health) -> None:
    """Best effort: the commands work without being offered."""
    taken, left_out = fitting(commands)
    if left_out:
        names = ", ".join(name[:40] for name in left_out[:20])
        _log.warning("telegram account %s: %d commands are not offered: %s", health.account, len(left_out), names)
    try:
        for language, index in (("", 0), ("zh", 1)):
            await api.set_commands({name: texts[index] for name, texts in taken.items()}, language)
    except ApiFailure as failure:
        _log.warning("telegram account %s: the commands could not be offered: %s", health.account, failure)
