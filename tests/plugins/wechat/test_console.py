"""What the platform that a person can try says of an address that it would not take."""

import pytest

from core.store import Store
from tests.fakes.wechat import TOKEN, FakeWechat
from tests.fakes.wechat_console import check
from tests.fakes.wechat_pushes import Pushes
from tests.peers.processes import free_port
from tests.plugins.wechat.account import account


@pytest.mark.parametrize(
    ("path", "token", "words"),
    [
        ("/hooks/desk", TOKEN, ""),
        ("/", TOKEN, "HTTP 404; compare the path: it is /hooks/ and the account's name"),
        ("/hooks", TOKEN, "HTTP 404; compare the path: it is /hooks/ and the account's name"),
        ("/hooks/desk", "another", "HTTP 403; compare token, and the clocks"),
    ],
)
async def test_it_says_why_it_would_not_take_the_address(
    platform: FakeWechat, store: Store, path: str, token: str, words: str
) -> None:
    async with account(platform, store) as there:
        there.pushes.url = there.pushes.url.replace("/hooks/desk", path)
        there.pushes.token = token
        said = await check(there.pushes)
    assert said == (f"! the platform would not take the URL: {words}\n" if words else "")


async def test_it_says_that_nobody_answers(platform: FakeWechat) -> None:
    async with Pushes(platform, f"http://127.0.0.1:{free_port()}/hooks/desk") as pushes:
        assert "nobody answers there; start the gateway" in await check(pushes)
