"""What a stranger sees at the bare address."""

import pytest
from aiohttp import web

from core.doors.ingress import Ingress
from gateway.front_page import front_page
from gateway.health import anyone
from gateway.version import VERSION
from tests.gateway.conftest import Serve


async def empty(_request: web.Request, _body: bytes) -> web.Response:
    return web.Response()


@pytest.mark.parametrize("is_there", [True, False])
async def test_the_bare_address_leads_to_the_web_chat_where_there_is_one(serve: Serve, is_there: bool) -> None:
    ingress = Ingress()
    accounts = [ingress.get("/chat/" if is_there else "/hooks/support", authenticate=anyone, handle=empty)]
    async with serve([*accounts, *front_page(ingress, accounts)]) as client, client.get("/") as answer:
        assert (answer.status, answer.content_type) == (200, "text/html")
        text = await answer.text()
    assert ('href="chat/"' in text) == is_there
    assert 'href="healthz"' in text


async def test_it_tells_nothing_of_version_and_accounts_and_runs_nothing(serve: Serve) -> None:
    ingress = Ingress()
    accounts = [ingress.get("/hooks/support", authenticate=anyone, handle=empty)]
    async with serve([*accounts, *front_page(ingress, accounts)]) as client, client.get("/") as answer:
        text = await answer.text()
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert not [word for word in (VERSION, "support", "api/v1", "metrics", "<script") if word in text]


def test_an_account_that_serves_the_bare_address_keeps_it() -> None:
    ingress = Ingress()
    assert front_page(ingress, [ingress.get("/", authenticate=anyone, handle=empty)]) == []
