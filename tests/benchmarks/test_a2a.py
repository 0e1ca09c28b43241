"""The A2A clients and servers that are compared do what they are measured at: as real processes, asked for a moment."""

import pytest

from benchmarks.a2a_client import OURS, RAW, SDK, Client, once, stub_agent

pytestmark = pytest.mark.timeout(60)


@pytest.mark.parametrize("is_streaming", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("client", [RAW, OURS, pytest.param(SDK, marks=pytest.mark.peer("a2a-sdk"))])
async def test_a_client_makes_its_calls_and_says_what_they_cost(client: Client, is_streaming: bool) -> None:
    async with stub_agent(is_streaming) as url:
        cost = await once(client, url, 20, 2, is_streaming)

    assert cost.rate > 0
    assert cost.cpu > 0
    assert 0 < cost.p50 <= cost.p99
