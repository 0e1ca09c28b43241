"""How an event becomes one line of a log, and what must never stand in it.

JSON lines for machines, a readable line for a terminal. Whatever a stranger wrote can reach a field (an id, an agent's
error text), so control characters are always escaped: one event is one line, and no terminal obeys it. The redaction
is a net below the rule that no field carries a secret; it works on whole batches, since one pass over 60 KB costs less
than two hundred over 300 bytes.
"""

import re
import time
from collections.abc import Callable, Iterable, Mapping

import orjson

FIELD_LIMIT = 2000  # characters of one text field; an agent's error can be long, and a log is not its archive
REDACTED = "[redacted]"

# Shapes of secrets, each with the literal it cannot be without. The literal is looked for first, and each expression
# begins with one, since a search for a literal is fifty times as fast as one for a class of characters.
_SHAPES = (
    (":", re.compile(r":(?<=[0-9]{6}:)[A-Za-z0-9_-]{20,}")),  # a Telegram bot token; the bot's number may be seen
    ("eyJ", re.compile(r"eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)*")),  # a JWT
    ("earer ", re.compile(r"earer (?<=[Bb]earer )[^\s\"'\\,]+")),
    ("asic ", re.compile(r"asic (?<=[Bb]asic )[A-Za-z0-9+/=_-]{8,}")),
    ("oken=", re.compile(r"oken=(?<=[Tt]oken=)[^&\s\"'\\]+")),
    ("key=", re.compile(r"key=(?<=[?&_]key=)[^&\s\"'\\]+")),
)
# Beyond C0, which both formats escape by themselves: DEL, C1, the separators that some readers take for line ends,
# and what turns the direction of text around.
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_NEEDS_QUOTES = re.compile(r'[\s"=]')
SHORTEST_SECRET = 8  # characters; a shorter one would redact ordinary words


Format = Callable[[float, str, str, Mapping[str, object]], str]


def json_line(now: float, level: str, event: str, fields: Mapping[str, object]) -> str:
    record = {"time": timestamp(now), "level": level, "event": event, **fields}
    try:
        line = orjson.dumps(record, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:  # a lone surrogate, or an integer beyond 64 bits
        line = orjson.dumps({key: printable(str(value)) for key, value in record.items()}).decode()
    return line if len(line) <= FIELD_LIMIT else _shortened(record)


def text_line(now: float, level: str, event: str, fields: Mapping[str, object]) -> str:
    shown = " ".join(f"{key}={_word(value)}" for key, value in fields.items() if value not in ("", None, ()))
    mark = "" if level == "info" else f"{level.upper()} "
    return f"{timestamp(now)[11:23]} {mark}{printable(event)}{' ' if shown else ''}{shown}"


def redactor(secrets: Iterable[str] = ()) -> Callable[[str], str]:
    """Takes out everything that has the shape of a secret, and the given secrets whatever their shape."""
    exact = [secret for secret in sorted(secrets, key=len, reverse=True) if len(secret) >= SHORTEST_SECRET]

    def redact(text: str) -> str:
        for secret in exact:
            text = text.replace(secret, REDACTED)
        for literal, shape in _SHAPES:
            if literal in text:
                text = shape.sub(_hidden, text)
        return text

    return redact


def _hidden(match: re.Match[str]) -> str:
    """The mark of the shape (up to its first separator) stays, so that a reader sees what was there."""
    mark = re.match(r"[^ :=]*[ :=]|", match[0])
    return f"{mark[0] if mark else ''}{REDACTED}"


def printable(text: str) -> str:
    """The text with every character escaped that a terminal would obey or a log would take for a new line."""
    return _CONTROL.sub(_escape, text)


def safe(text: str) -> str:
    """The same for finished lines, whose own line ends stay."""
    return text if text.isascii() and "\x7f" not in text else _UNSAFE.sub(_escape, text)


def timestamp(now: float) -> str:
    """ISO 8601 in UTC, to the millisecond."""
    whole = int(now)
    return f"{_second(whole)}.{int((now - whole) * 1000):03d}Z"


_last_second = (0, "1970-01-01T00:00:00")


def _second(whole: int) -> str:
    """Formatting a date costs more than the rest of a line, and a second has many lines."""
    global _last_second
    known, text = _last_second
    if known != whole:
        text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole))
        _last_second = (whole, text)
    return text


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def _word(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    text = value if isinstance(value, str) else str(value)
    text = text if len(text) <= FIELD_LIMIT else text[:FIELD_LIMIT] + "…"
    return printable(f'"{text}"' if _NEEDS_QUOTES.search(text) else text)


def _shortened(record: Mapping[str, object]) -> str:
    cut = {key: value if isinstance(value, int | float | None) else _cut(value) for key, value in record.items()}
    return orjson.dumps(cut).decode()


def _cut(value: object) -> str:
    text = value if isinstance(value, str) else str(value)
    return printable(text) if len(text) <= FIELD_LIMIT else printable(text[:FIELD_LIMIT]) + "…"
