"""The bare handler: a JSON POST of about 1 KB is read and answered 200. What aiohttp alone costs."""

import argparse
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from benchmarks.ceilings.serving import Hook, done, serve


@asynccontextmanager
async def bare() -> AsyncIterator[Hook]:
    async def accept(request: web.Request) -> web.Response:
        await request.read()
        return done()

    yield accept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    serve(parser.parse_args().port, bare())


if __name__ == "__main__":
    main()
