"""The page's own files, and the headers browsers get them with: nothing from elsewhere, framed by nobody."""

import html
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

from aiohttp import web

SECURITY: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
FILES: Mapping[str, str] = {
    "chat.js": "text/javascript",
    "words.js": "text/javascript",
    "markdown.js": "text/javascript",
    "entries.js": "text/javascript",
    "chat.css": "text/css",
}


@dataclass(frozen=True, slots=True)
class File:
    body: bytes
    media_type: str

    def response(self) -> web.Response:
        return web.Response(body=self.body, content_type=self.media_type, charset="utf-8", headers=SECURITY)


def page(title: str, language: str, base: str) -> File:
    """The page; `base` is where the account's own paths begin, as seen from the page."""
    text = _read("index.html")
    for name, value in {"title": title, "language": language, "base": base}.items():
        text = text.replace("{{" + name + "}}", html.escape(value, quote=True))
    return File(text.encode(), "text/html")


def assets() -> dict[str, File]:
    return {name: File(_read(name).encode(), media_type) for name, media_type in FILES.items()}


def _read(name: str) -> str:
    return files("plugins.webchat").joinpath("page", name).read_text("utf-8")
