"""The whole way in a browser, with a real gateway: ask, be asked, look on, cancel, and outlive `kill -9`."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from selenium import webdriver

from tests.journeys.process import OPERATOR, GatewayProcess
from tests.plugins.webchat.browser import PREVIEWS, Page, chromium
from tests.waiting import until

pytestmark = pytest.mark.browser

PACE = 0.15  # seconds from one number to the next
SOON = 20.0  # seconds; with a start of the gateway in between


@pytest.fixture(scope="module")
def driver() -> Iterator[webdriver.Chrome]:
    with chromium() as driver:
        yield driver


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[GatewayProcess]:
    config = {
        "gateway": {"store": f"sqlite:///{tmp_path / 'desk.db'}", "operator_token": OPERATOR, "shutdown_grace": 5},
        "agents": {"concierge": {"kind": "local", "entry": "concierge", "options": {"pace": PACE}}},
        "plugins": {"chat": {"kind": "webchat", "agent": "concierge", "access": {"direct": "open"}}},
    }
    async with GatewayProcess(tmp_path, config) as gateway:
        gateway.configure("gateway", port=gateway.port)
        await gateway.start()
        yield gateway


@pytest.fixture
async def page(driver: webdriver.Chrome, gateway: GatewayProcess) -> AsyncIterator[Page]:
    page = Page(driver)
    await page.cdp("Network.clearBrowserCookies")
    await page.complaints()
    await page.open(f"{gateway.base}/chat/")
    await page.connected()
    yield page
    await page.open("about:blank")


async def test_a_streamed_answer_and_a_question_back(page: Page) -> None:
    await page.say("good morning")
    await until(lambda: previewed(page, "Hello! I am the"), seconds=SOON)
    await until(lambda: shown(page, "stop me with /cancel."), seconds=SOON)
    await page.say("book a table")
    await until(lambda: shown(page, "For which day?"), seconds=SOON)
    await page.say("Friday")
    await until(lambda: shown(page, "Your table is booked for Friday. Enjoy your meal!"), seconds=SOON)
    assert len(await page.entries()) == 6
    assert await page.complaints() == []


async def test_a_running_count_can_be_looked_at_and_cancelled(page: Page) -> None:
    await page.say("count to 1000")
    await until(lambda: previewed(page, "1 2 3"), seconds=SOON)
    await page.say("/status")
    await until(lambda: shown(page, "count to 1000 — concierge: at work"), seconds=SOON)
    await page.say("/cancel")
    await until(lambda: shown(page, "Cancelled."), seconds=SOON)
    await page.previews()


async def test_a_count_goes_on_after_the_gateway_was_killed_and_is_shown_once_and_whole(
    page: Page, gateway: GatewayProcess
) -> None:
    await page.say("count to 40")
    await until(lambda: previewed(page, " 10"), seconds=SOON)
    await gateway.kill()
    await page.disconnected()
    await page.say("/status")
    await page.foot("Waiting")
    await gateway.start()
    await page.connected()
    whole = " ".join(map(str, range(1, 41)))
    await until(lambda: shown(page, whole), seconds=SOON)
    entries = await page.entries()
    assert entries[0] == "> count to 40"
    assert sorted(entry.startswith("> ") for entry in entries) == [False, False, True, True]
    assert entries.count(whole) == 1
    await page.open(f"{gateway.base}/chat/")
    await page.connected()
    await page.shows(*entries)


async def shown(page: Page, words: str) -> bool:
    return any(words in entry for entry in await page.entries())


async def previewed(page: Page, words: str) -> bool:
    return any(words in text for text in await page.js(PREVIEWS))
