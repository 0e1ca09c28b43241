"""How every stub and ceiling serves: uvloop, a loopback port, no access log, and an orderly end when told to stop."""

import asyncio
import signal

from aiohttp import web

LOOPBACK = "127.0.0.1"
BACKLOG = 1024  # connections; the driver opens up to 256 at once
SHUTDOWN_TIMEOUT = 0.5  # seconds; open keep-alive connections are of no value at the end of a measurement


async def serve_until_told(runner: web.BaseRunner, port: int) -> None:
    """Serve on loopback until SIGTERM or SIGINT."""
    over = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, over.set)
    await runner.setup()
    try:
        await web.TCPSite(runner, LOOPBACK, port, backlog=BACKLOG).start()
        await over.wait()
    finally:
        await runner.cleanup()
