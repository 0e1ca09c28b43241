"""WeChat's XML: read within bounds and without ever resolving anything, written so that no words can leave their place.

A document is refused before it is parsed when it is not UTF-8, too large, or declares anything: outside of CDATA
there is no `<!` in a message of the platform, so that a DOCTYPE, an entity or a comment is none. Expat then sees text
only, and depth and number of elements are bounded.
"""

import re
from collections.abc import Mapping
from typing import Any
from xml.parsers import expat  # nosec B405

SIZE_LIMIT = 64 << 10  # bytes; the longest message of a person has 2,048 bytes of text
DEPTH_LIMIT = 8
ELEMENTS_LIMIT = 512

Fields = dict[str, Any]  # names to text, or to fields again, or to a list of either where a name comes again

_CDATA = re.compile(r"<!\[CDATA\[.*?\]\]>", re.DOTALL)
_DECLARATION = re.compile(r"\s*<\?xml[^>]*\?>")
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")  # XML 1.0, 2.2


class BadXml(ValueError):
    """`reason` is a machine word; nothing of the document is in the message."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"no message in XML: {reason}")
        self.reason = reason


def check(raw: bytes) -> str:
    """The document as text, when it may be parsed at all. Raises BadXml."""
    if len(raw) > SIZE_LIMIT:
        raise BadXml("too_large")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise BadXml("not_utf8") from None
    if "<!" in _CDATA.sub("", text):
        raise BadXml("declares_something")
    return _DECLARATION.sub("", text, count=1)  # its encoding is known, and shall not be another one


def read(raw: bytes) -> Fields:
    """What stands in `<xml>`, {} where nothing does. Raises BadXml."""
    text = check(raw)
    builder = _Builder()
    parser = expat.ParserCreate("utf-8")  # nosec B318
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = builder.start, builder.end
    parser.CharacterDataHandler = builder.words
    try:
        parser.Parse(text.encode(), True)
    except (expat.ExpatError, UnicodeEncodeError):
        raise BadXml("malformed") from None
    if builder.root != "xml" or not isinstance(builder.value, dict):
        raise BadXml("no_xml_element")
    return builder.value


class _Builder:
    def __init__(self) -> None:
        self.root = ""
        self._names: list[str] = []
        self._fields: list[Fields] = []
        self._texts: list[list[str]] = []
        self._count = 0
        self.value: str | Fields | None = None

    def start(self, name: str, _attributes: Mapping[str, str]) -> None:
        self._count += 1
        if len(self._names) >= DEPTH_LIMIT or self._count > ELEMENTS_LIMIT:
            raise BadXml("too_deep_or_too_many")
        self.root = self.root or name
        self._names.append(name)
        self._fields.append({})
        self._texts.append([])

    def words(self, text: str) -> None:
        if self._texts:
            self._texts[-1].append(text)

    def end(self, name: str) -> None:
        self._names.pop()
        fields, text = self._fields.pop(), "".join(self._texts.pop())
        value: str | Fields = fields if fields or not self._names else text
        if not self._names:
            self.value = value
            return
        above = self._fields[-1]
        if name not in above:
            above[name] = value
        elif isinstance(above[name], list):
            above[name].append(value)
        else:
            above[name] = [above[name], value]


def write(fields: Mapping[str, str | int]) -> str:
    """`<xml>` with these fields; numbers bare, words in CDATA, whatever they hold."""
    return "<xml>" + "".join(f"<{name}>{_written(value)}</{name}>" for name, value in fields.items()) + "</xml>"


def _written(value: str | int) -> str:
    if isinstance(value, int):
        return str(value)
    return f"<![CDATA[{clean(value).replace(']]>', ']]]]><![CDATA[>')}]]>"


def clean(words: str) -> str:
    """Without what XML cannot hold."""
    return _NOT_XML.sub("", words)
