"""How a stub serves: `web.Server` without an application, since a stub must not be what the measurement waits for."""

from collections.abc import Awaitable, Callable

import orjson
import uvloop
from aiohttp import web

from benchmarks.serving import SHUTDOWN_TIMEOUT, serve_until_told

Answer = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


def reply(content: object, status: int = 200) -> web.Response:
    return web.Response(body=orjson.dumps(content), status=status, content_type="application/json")


def serve(port: int, answer: Answer) -> None:
    uvloop.run(_serve(port, answer))


async def _serve(port: int, answer: Answer) -> None:
    server = web.Server(answer, access_log=None)  # which wants a running loop
    await serve_until_told(web.ServerRunner(server, shutdown_timeout=SHUTDOWN_TIMEOUT), port)
