"""A page in Debian's Chromium, driven from the test's loop: Selenium blocks, so each call of it is made in a thread."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.actions.wheel_input import ScrollOrigin
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.waiting import until

SOON = 15.0  # seconds; a browser on a busy machine is slow, and reconnecting waits on purpose
ARGUMENTS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"),
    *("--disable-component-update", "--disable-default-apps", "--disable-sync", "--no-first-run", "--mute-audio"),
    *("--window-size=1280,800", "--lang=en-US", "--proxy-server=direct://"),
)

ENTRIES = """
return [...document.querySelectorAll("#entries > li:not(.preview)")].map((node) => {
  const bubble = node.querySelector(".bubble").cloneNode(true);
  bubble.querySelectorAll(".unseen").forEach((each) => each.remove());
  return (node.classList.contains("own") ? "> " : "") + bubble.textContent;
})"""
PREVIEWS = """
return [...document.querySelectorAll("#entries > .preview .bubble")].map((node) => node.textContent)"""


class Page:
    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    async def open(self, url: str) -> None:
        await asyncio.to_thread(self.driver.get, url)

    async def connected(self) -> None:
        script = "return document.getElementById('line').dataset.state === 'open'"
        await self.holds(script, seconds=2 * SOON)  # a page that was alone for long waits up to ten seconds

    async def disconnected(self) -> None:
        await self.holds("return ['lost', 'away'].includes(document.getElementById('line').dataset.state)")

    async def js(self, script: str, *arguments: object) -> Any:
        return await asyncio.to_thread(self.driver.execute_script, script, *arguments)

    async def holds(self, script: str, *, seconds: float = SOON) -> Any:
        return await until(lambda: self.js(script), seconds=seconds)

    async def write(self, text: str) -> None:
        await asyncio.to_thread(self.driver.find_element(By.ID, "text").send_keys, text)

    async def say(self, text: str) -> None:
        await self.write(text + Keys.ENTER)

    async def press(self, selector: str) -> None:
        await asyncio.to_thread(self.driver.find_element(By.CSS_SELECTOR, selector).click)

    async def entries(self) -> list[str]:
        """The words of all that is shown and finished; the visitor's own begin with "> "."""
        found: list[str] = await self.js(ENTRIES)
        return found

    async def shows(self, *entries: str) -> None:
        """Until exactly these entries are shown, in this order."""
        await self._same(self.entries, list(entries))

    async def previews(self, *texts: str) -> None:
        await self._same(lambda: self.js(PREVIEWS), list(texts))

    async def wheel(self, selector: str, pixels: int) -> None:
        """Turn the mouse wheel over an element, down by so many pixels."""
        over = ScrollOrigin.from_element(self.driver.find_element(By.CSS_SELECTOR, selector))
        turned = ActionChains(self.driver).scroll_from_origin(over, 0, pixels)
        await asyncio.to_thread(turned.perform)

    async def foot(self, words: str) -> None:
        """Until the newest of the visitor's own messages has such words beneath it."""
        last = "[...document.querySelectorAll('.own .foot')].at(-1)?.textContent"
        await self.holds(f"return ({last} || '').includes({words!r})")

    async def cdp(self, command: str, **parameters: object) -> Any:
        return await asyncio.to_thread(self.driver.execute_cdp_cmd, command, parameters)

    async def complaints(self) -> list[str]:
        """What the browser logged as wrong since the last look: blocked scripts, uncaught errors."""
        log = await asyncio.to_thread(self.driver.get_log, "browser")
        return [line["message"] for line in log if line["level"] == "SEVERE"]

    async def _same(self, look: Any, wanted: list[str]) -> None:
        try:
            await until(lambda: self._is(look, wanted), seconds=SOON)
        except TimeoutError:
            assert await look() == wanted
            raise

    async def _is(self, look: Any, wanted: list[str]) -> bool:
        return bool(await look() == wanted)


@contextmanager
def chromium() -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for argument in ARGUMENTS:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService("/usr/bin/chromedriver"))
    try:
        yield driver
    finally:
        driver.quit()
