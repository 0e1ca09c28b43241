"""What the ceilings share: an aiohttp application with one hook, and the check of Telegram's secret."""

import hmac
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

import uvloop
from aiohttp import web

from benchmarks.serving import SHUTDOWN_TIMEOUT, serve_until_told

BODY_LIMIT = 1 << 20  # bytes
HOOK_PATH = "/hook"
SECRET = "benchmark-webhook-secret"
SECRET_HEADER = "X-Telegram-Bot-Api-Secret-Token"

Hook = Callable[[web.Request], Awaitable[web.Response]]


def done() -> web.Response:
    return web.Response(body=b'{"ok":true}', content_type="application/json")


def is_from_telegram(request: web.Request) -> bool:
    return hmac.compare_digest(request.headers.get(SECRET_HEADER, "").encode(), SECRET.encode())


def serve(port: int, program: AbstractAsyncContextManager[Hook]) -> None:
    """Serve the hook that `program` yields, and nothing else, until SIGTERM or SIGINT."""
    uvloop.run(_serve(port, program))


async def _serve(port: int, program: AbstractAsyncContextManager[Hook]) -> None:
    async with program as hook:
        application = web.Application(client_max_size=BODY_LIMIT)
        application.router.add_post(HOOK_PATH, hook)
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=SHUTDOWN_TIMEOUT)
        await serve_until_told(runner, port)
