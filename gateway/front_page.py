"""What stands at `/`, for whoever opens the gateway's bare address: the few paths that are open to everybody.

It tells a stranger nothing that the paths themselves do not: no version, no account, no agent. What is signed in to
(the control API, the agents) is not named.
"""

from collections.abc import Iterable

from aiohttp import web

from core.doors.ingress import Ingress
from gateway.health import PRIVATE, anyone

CHAT = "/chat/"
SAFE = {
    **PRIVATE,
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
}
_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Frontdesk</title>
<h1>Frontdesk</h1>
<p>A gateway from chats to agents runs here.</p>
<ul>
{chat}<li><a href="healthz">/healthz</a>: whether it is alive</li>
</ul>
<p>Its documentation is in the folder <code>docs</code> that came with it. <code>frontdesk doctor</code>, on its
machine, says how it is doing.</p>
</html>
"""
_CHAT = '<li><a href="chat/">/chat/</a>: the web chat</li>\n'


def front_page(ingress: Ingress, taken: Iterable[web.AbstractRouteDef]) -> list[web.RouteDef]:
    """`taken` are the accounts' routes: the chat is named where one of them serves it. None where one has this path."""
    paths = {route.path for route in taken if isinstance(route, web.RouteDef) and route.method == "GET"}
    body = _PAGE.format(chat=_CHAT if CHAT in paths else "").encode()

    async def show(_request: web.Request, _body: bytes) -> web.Response:
        return web.Response(body=body, content_type="text/html", charset="utf-8", headers=SAFE)

    return [] if "/" in paths else [ingress.get("/", authenticate=anyone, handle=show)]
