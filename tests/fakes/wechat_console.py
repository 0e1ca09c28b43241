"""The platform of the tests for a person to try: each line typed is a message, and what WeChat would show is printed.

.venv/bin/python -m tests.fakes.wechat_console http://127.0.0.1:8080/hooks/desk
"""

import asyncio
import itertools
import sys
import time

from aiohttp import ClientError

from tests.fakes.wechat import AES_KEY, APP_ID, APP_SECRET, TOKEN, FakeWechat, open_id
from tests.fakes.wechat_pushes import Pushes

PERSON = open_id("you")


async def main(url: str) -> None:
    async with FakeWechat() as platform, Pushes(platform, url) as pushes:
        # A gateway that knows the messages of an earlier start would take the same ids for repeated pushes.
        platform.message_ids = itertools.count(time.time_ns() // 1000)
        print(f'app_id = "{APP_ID}"\napi_base = "{platform.base}"', flush=True)
        print(f"export WECHAT_SECRET={APP_SECRET} WECHAT_TOKEN={TOKEN} WECHAT_AES_KEY={AES_KEY}", flush=True)
        async with asyncio.TaskGroup() as tasks:
            showing = tasks.create_task(show(platform))
            while line := await asyncio.to_thread(sys.stdin.readline):
                print(await check(pushes), end="", flush=True)
                tasks.create_task(pushes.says(PERSON, line.strip()))
            await asyncio.sleep(1.0)  # what was typed last may still be answered
            showing.cancel()


async def check(pushes: Pushes) -> str:
    """What the platform says when the URL is submitted, and "" when it takes it."""
    try:
        status, echo, _ = await pushes.get({**pushes.query(), "echostr": "4711"})
    except ClientError as error:
        return f"! the platform would not take the URL: {error}\n"
    if (status, echo) == (200, "4711"):
        return ""
    return f"! the platform would not take the URL: HTTP {status}; compare token, and the clocks\n"


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
    asyncio.run(main(sys.argv[1]))
