"""The text commands that work in every chat. They are for the host, never reach an agent, and overtake running work.

A command counts only when the person bound to the chat typed it: not when it was forwarded or edited in. What merely
looks like one ("/etc/hosts is gone") is a message.
"""

import re

from core.envelope import Inbound
from core.parts import Text

COMMANDS: dict[str, tuple[str, str]] = {
    "help": ("What I understand", "我能听懂什么"),
    "new": ("Start afresh: what was said before is left behind", "重新开始：之前的对话不再延续"),
    "status": ("What is being worked on", "正在处理什么"),
    "cancel": ("Stop the present work; /cancel all stops everything here", "停止当前任务；/cancel all 停止全部"),
    "again": ("Show once more what may not have arrived", "重新显示可能没有送达的内容"),
    "agents": ("Who can answer here, and choosing among them", "谁可以在这里回答，以及如何选择"),
}
UNKNOWN = "unknown "  # begins what command_of says of a command that is not the host's own

_SHAPE = re.compile(r"/(\w{1,32})(?:\s+(.*))?", re.DOTALL)
_ALIASES = {
    "start": "help",
    "帮助": "help",
    "新对话": "new",
    "状态": "status",
    "取消": "cancel",
    "重发": "again",
    "智能体": "agents",
}


def is_own(name: str) -> bool:
    """Whether a command is the host's own, by whichever of its names."""
    return name in COMMANDS or name in _ALIASES


def command_of(inbound: Inbound) -> str:
    """What the host itself shall do with the message: "cancel all", "unknown foo", "unsupported sticker", or ""."""
    if inbound.is_edit or inbound.thread is not None:  # a program wrote it, for one piece of work
        return ""
    if inbound.unsupported:
        return f"unsupported {inbound.unsupported}"
    if inbound.is_forward:
        return ""
    if len(inbound.parts) != 1 or not isinstance(inbound.parts[0], Text):
        return ""
    text = inbound.parts[0].text.strip()
    match = _SHAPE.fullmatch(text) if text.startswith("/") else None
    if not match:
        return ""
    name, argument = match[1].lower(), (match[2] or "").strip()
    name = _ALIASES.get(name, name)
    if name not in COMMANDS:
        return UNKNOWN + name
    return f"{name} {argument}".strip()
