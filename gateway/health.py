"""Whether the process lives, whether it may get work, and its numbers: /healthz, /readyz, /metrics.

Liveness is only that the loop answers: restarting a process does not mend a full disk. Readiness is that messages can
be kept, which is the store's word; a failing plugin does not make the others unready, so it is listed and changes
nothing. Nor does a full queue: it empties by itself, each sender is told when to come back, and a gateway that were
taken out of service for it would lose what empties it - commands, cancels and answers to questions. It is said.
Strangers learn no more than ready or not: names and reasons are for loopback and for the operator.
"""

import ipaddress
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import orjson
from aiohttp import web

from core.clock import Instant
from core.doors.ingress import Ingress, Refusal
from gateway.metrics import CONTENT_TYPE, Metrics
from gateway.missing import Missing
from gateway.operator_token import is_operator
from gateway.supervisor import PluginHealth

CHALLENGE = {"WWW-Authenticate": 'Bearer realm="frontdesk"'}  # RFC 6750, 3
_FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Real-IP", "Via")
_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})


@dataclass(slots=True)
class Health:
    """What readiness is judged by; the composition root keeps `is_listening` and `is_draining` true to life."""

    store: Callable[[], str | None]  # None while the store is held and healthy, else what is wrong
    plugins: Callable[[], Mapping[str, PluginHealth]]
    holder: Callable[[], str] = lambda: ""  # who serves while this process stands by; "" while it does not
    is_listening: bool = False
    is_draining: bool = False
    pressure: Callable[[], str] = lambda: ""  # why new messages are told to come back later; "" while they are taken
    missing: Sequence[Missing] = field(default_factory=list)  # what was left for whom that is not configured now

    def obstacles(self) -> list[str]:
        """Why work should go elsewhere; [] when ready."""
        found = []
        if self.is_draining:
            found.append("draining: the process is stopping")
        if holder := self.holder():
            found.append(f"standing by: {holder} serves")
        elif trouble := self.store():
            found.append(f"store: {trouble}")
        elif not self.is_listening and not self.is_draining:
            found.append("starting: not receiving yet")
        return found


class Operator:
    """Tells the operator from others, by the bearer token (RFC 6750, 2.1)."""

    def __init__(self, token: str) -> None:
        self._token = token

    def require(self, request: web.Request) -> None:
        """For Ingress: raises Refusal 401 with a challenge."""
        if not self.is_here(request):
            raise Refusal(401, "no_operator_token", headers=CHALLENGE)

    def require_or_local(self, request: web.Request) -> None:
        if not is_local(request):
            self.require(request)

    def is_here(self, request: web.Request) -> bool:
        values = request.headers.getall("Authorization", [])
        if len(values) != 1:
            return False
        scheme, _, token = values[0].partition(" ")
        return scheme.lower() == "bearer" and is_operator(token.strip(), self._token)


def is_local(request: web.Request) -> bool:
    """From this machine itself: not through a proxy on it, nor by a name that merely leads here (DNS rebinding)."""
    if any(header in request.headers for header in _FORWARDED):
        return False
    name = request.host.rpartition(":")[0] if not request.host.endswith("]") and ":" in request.host else request.host
    try:
        peer = ipaddress.ip_address((request.remote or "").partition("%")[0])
    except ValueError:
        return False
    return peer.is_loopback and name in _LOCAL_NAMES


def health_routes(ingress: Ingress, health: Health, metrics: Metrics, operator: Operator) -> list[web.RouteDef]:
    async def healthz(_request: web.Request, _body: bytes) -> web.Response:
        return json_response({"status": "alive"})

    async def readyz(request: web.Request, _body: bytes) -> web.Response:
        obstacles = health.obstacles()
        status = 503 if obstacles else 200
        answer: dict[str, object] = {"status": "unready" if obstacles else "ready"}
        if is_local(request) or operator.is_here(request):
            answer |= {
                "reasons": obstacles,
                "holder": health.holder(),
                "plugins": {name: shown(it) for name, it in health.plugins().items()},
                "pressure": health.pressure(),
                "missing": health.missing,
            }
        return json_response(answer, status=status, headers={"Retry-After": "5"} if obstacles else None)

    async def scrape(_request: web.Request, _body: bytes) -> web.Response:
        return web.Response(body=metrics.render(), headers={"Content-Type": CONTENT_TYPE, **PRIVATE})

    return [
        ingress.get("/healthz", authenticate=anyone, handle=healthz),
        ingress.get("/readyz", authenticate=anyone, handle=readyz),
        ingress.get("/metrics", authenticate=operator.require_or_local, handle=scrape),
    ]


def anyone(_request: web.Request) -> None:
    """For the few routes that tell nothing: written out, so that no route is open by omission."""


PRIVATE = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


def json_response(value: object, *, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.Response(
        body=orjson.dumps(value),
        status=status,
        content_type="application/json",
        headers={**PRIVATE, **(headers or {})},
    )


def shown(plugin: PluginHealth) -> dict[str, object]:
    return {
        "state": plugin.state.value,
        "since": iso(plugin.since),
        "reason": plugin.reason,
        "restarts": plugin.restarts,
        "next_try": iso(plugin.next_try),
    }


def iso(instant: Instant | None) -> str | None:
    """ISO 8601 in UTC, to the millisecond; None stays None."""
    if instant is None:
        return None
    return datetime.fromtimestamp(instant, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
