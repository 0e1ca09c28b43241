"""What is answered under a name that no agent is served by: just that, in the protocol's words, and no other name.

Whoever calls there is not known yet, so that nothing of the call is read. Where an agent is served its own routes stand
before these.
"""

from collections.abc import Iterator
from typing import Any

from aiohttp import web

from a2a.server.cards import WELL_KNOWN, path_of
from a2a.server.door import JSON, response
from a2a.server.faults import Fault, Kind
from a2a.server.rest import PATHS
from core.doors.ingress import Ingress

STATUS = 404
_FAULT = Fault(Kind.METHOD_NOT_FOUND, "no agent is served under this name")


def routes() -> Iterator[web.RouteDef]:
    anybody = path_of("{agent}")
    for path in (anybody, f"{anybody}/"):
        yield _route("POST", path, {"jsonrpc": "2.0", "id": None, "error": _FAULT.rpc()})
    for spelling, method, path, _operation in PATHS:
        yield _route(method, anybody + path, spelling.refusal(_FAULT))
    for path in WELL_KNOWN:
        yield _route("GET", anybody + path, _FAULT.http())


def _route(method: str, path: str, said: dict[str, Any]) -> web.RouteDef:
    async def refuse(request: web.Request) -> web.StreamResponse:
        answer = response(request, STATUS, said, JSON)
        if not request.content.is_eof():
            answer.force_close()
        return answer

    return web.route(method, path, refuse, expect_handler=Ingress.keep_waiting)
