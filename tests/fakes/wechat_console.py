"""The platform of the tests for a person to try: each line typed is a message, and what WeChat would show is printed.

.venv/bin/python -m tests.fakes.wechat_console http://127.0.0.1:8080/hooks/desk
"""

import asyncio
import contextlib
import itertools
import sys
import time

from aiohttp import ClientConnectorError, ClientError

from tests.fakes.wechat import AES_KEY, APP_ID, APP_SECRET, TOKEN, FakeWechat, open_id
from tests.fakes.wechat_pushes import Pushes

PERSON = open_id("you")
NO_SUCH_PATH = "compare the path: it is /hooks/ and the account's name"
REMEDIES = {
    200: NO_SUCH_PATH,  # another page of the gateway
    403: "compare token, and the clocks",
    404: NO_SUCH_PATH,
    405: NO_SUCH_PATH,
    503: "the account is still starting",
}


async def main(url: str) -> None:
    async with FakeWechat() as platform, Pushes(platform, url) as pushes:
        # A gateway that knows the messages of an earlier start would take the same ids for repeated pushes.
        platform.message_ids = itertools.count(time.time_ns() // 1000)
        print(f'app_id = "{APP_ID}"\napi_base = "{platform.base}"', flush=True)
        print(f"export WECHAT_SECRET={APP_SECRET} WECHAT_TOKEN={TOKEN} WECHAT_AES_KEY={AES_KEY}", flush=True)
        if sys.stdin.isatty():
            print("Now start the gateway in the other terminal, and enter lines here; Ctrl-C ends it.", flush=True)
        async with asyncio.TaskGroup() as tasks:
            showing = tasks.create_task(show(platform))
            async for line in await typed():
                print(await check(pushes), end="", flush=True)
                tasks.create_task(pushes.says(PERSON, line.decode().strip()))
            await asyncio.sleep(1.0)  # what was typed last may still be answered
            showing.cancel()


async def typed() -> asyncio.StreamReader:
    """Standard input; a thread that reads it would outlast Ctrl-C."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    return reader


async def check(pushes: Pushes) -> str:
    """What the platform says when the URL is submitted, and "" when it takes it."""
    try:
        status, echo, _ = await pushes.get({**pushes.query(), "echostr": "4711"})
    except ClientConnectorError:
        why = "nobody answers there; start the gateway, and compare host and port"
    except ClientError as error:
        why = str(error)
    else:
        if (status, echo) == (200, "4711"):
            return ""
        why = f"HTTP {status}; {REMEDIES.get(status, 'look at the log of the gateway')}"
    return f"! the platform would not take the URL: {why}\n"


async def show(platform: FakeWechat) -> None:
    shown = 0
    while True:
        await platform.changes.until(
            lambda: len(platform.people[PERSON].shown) > shown,  # noqa: B023 - awaited here
            timeout=86_400,
        )
        for each in platform.people[PERSON].shown[shown:]:
            print(f"< {each.text}   ({each.road})", flush=True)
            shown += 1


if __name__ == "__main__":
    if len(sys.argv) != 2 or not sys.argv[1].startswith(("http://", "https://")):
        sys.exit(f"usage: {(__doc__ or '').splitlines()[-1]}")
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main(sys.argv[1]))
