"""The server side that most tests need: everybody may call, everything is on."""

from collections.abc import AsyncIterator

import pytest

from tests.a2a.server.site import Site, serving


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with serving() as running:
        yield running
