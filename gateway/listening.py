"""What the process answers over HTTP, from its first moment on: health, control API, every account's routes, pushes."""

import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

from aiohttp import web

from config.settings import GatewaySettings
from core.doors.ingress import Ingress, IngressLimits, Refusal
from core.doors.listener import Listener
from gateway import gauges, open_files
from gateway.api import ControlApi
from gateway.composition import ConfiguredLine
from gateway.front_page import front_page
from gateway.health import Health, Operator, health_routes
from gateway.live_records import LiveRecords
from gateway.operations import LineOperations
from gateway.operator_token import OPERATOR_TOKEN
from gateway.paths import distinct_routes
from gateway.proving import not_listening
from gateway.supervisor import Supervisor
from gateway.telemetry import Telemetry
from gateway.version import VERSION


@contextlib.asynccontextmanager
async def listening(
    line: ConfiguredLine, supervisor: Supervisor, health: Health, telemetry: Telemetry
) -> AsyncIterator[str]:
    """The address, at which requests are answered until the exit."""
    gateway = line.settings.gateway
    limits = _limits(gateway, telemetry)
    gauges.watch(
        telemetry.metrics,
        queue=line.lanes,
        sending=line.outbox,
        writing=line.store,
        health=health,
        agents=line.agents_ready,
        away=line.agents_away,
    )
    app = _application(line, supervisor, health, telemetry, Ingress(limits, on_refusal=_refused(telemetry)))
    listener = Listener(app, host=gateway.host, port=gateway.port, limits=limits)
    async with _saying_where(listener, gateway):
        where = f"http://{gateway.host}:{listener.port}"
        telemetry.event("gateway.listening", address=where, version=VERSION, configuration=line.settings.origin)
        yield where
        health.is_draining = True


def _limits(gateway: GatewaySettings, telemetry: Telemetry) -> IngressLimits:
    """Of connections as many as the process may open files for."""
    limits = IngressLimits(
        body=gateway.body_limit, body_deadline=gateway.body_deadline, head_deadline=gateway.head_deadline
    )
    files = open_files.raise_limit()
    connections = open_files.connections(files, limits.connections)
    if connections < limits.connections:
        telemetry.event("gateway.few_files", level="warning", files=files, connections=connections)
    return replace(limits, connections=connections)


def _application(
    line: ConfiguredLine, supervisor: Supervisor, health: Health, telemetry: Telemetry, ingress: Ingress
) -> web.Application:
    token = OPERATOR_TOKEN.ensure(line.settings.gateway)
    telemetry.hide([token])
    records = LiveRecords(line.store, line.tracker.heard_in, lambda: line.settings.secrets())
    operator, operations = Operator(token), LineOperations(line, supervisor, records)
    accounts = distinct_routes({name: plugin.routes(ingress) for name, plugin in line.plugins.items()})
    app = web.Application()
    app.add_routes(health_routes(ingress, health, telemetry.metrics, operator))
    app.add_routes(ControlApi(operations, operator, telemetry, version=VERSION).routes(ingress))
    app.add_routes([*accounts, *front_page(ingress, accounts)])
    app.add_routes(line.push_routes(ingress))
    return app


@contextlib.asynccontextmanager
async def _saying_where(listener: Listener, gateway: GatewaySettings) -> AsyncIterator[None]:
    """The listener, entered; when it cannot listen, the error names the address and the remedy."""
    try:
        await listener.__aenter__()
    except OSError as error:
        raise OSError(not_listening(gateway, error)) from error
    try:
        yield
    finally:
        await listener.__aexit__(None, None, None)


def _refused(telemetry: Telemetry) -> Callable[[web.Request, Refusal], None]:
    """Every refusal at the door is one event: what was asked, and why it was refused; never what it carried."""

    def record(request: web.Request, refusal: Refusal) -> None:
        route = request.match_info.route.resource
        telemetry.event(
            "ingress.refused",
            path=route.canonical if route is not None else "",
            method=request.method,
            status=refusal.status,
            outcome=refusal.reason,
        )

    return record
