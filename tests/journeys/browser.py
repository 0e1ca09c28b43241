"""The web chat in a real browser: headless Chromium, driven from threads so that the fakes go on answering."""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver import Chrome, ChromeOptions, ChromeService
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.conftest import BROWSER
from tests.journeys.process import look

T = TypeVar("T")

CHROMIUM, DRIVER = BROWSER
WHILE_AWAY = ("net::ERR", "responded with a status of 503")  # as the browser writes it
PAGE_LOAD = 30.0  # seconds; the first start of a browser on a busy machine
OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-background-networking",
    "--no-first-run",
    "--lang=en",
)


class Page:
    """One browser on the chat's page."""

    def __init__(self, driver: Chrome) -> None:
        self._driver = driver

    @classmethod
    async def open(cls, url: str, profile: Path, *, language: str = "en") -> "Page":
        page = cls(await asyncio.to_thread(_chrome, profile, language))
        await page.visit(url)
        return page

    async def visit(self, url: str) -> None:
        await asyncio.to_thread(self._driver.get, url)
        await self.is_in_state("open")

    async def reload(self) -> None:
        await asyncio.to_thread(self._driver.refresh)
        await self.is_in_state("open")

    async def close(self) -> None:
        await asyncio.to_thread(self._driver.quit)

    async def say(self, text: str) -> None:
        def write() -> None:
            box = self._driver.find_element(By.ID, "text")
            box.send_keys(text, Keys.ENTER)

        await asyncio.to_thread(write)

    async def is_in_state(self, state: str) -> None:
        """The line to the gateway: connecting, open or lost."""

        async def there() -> bool:
            found = await asyncio.to_thread(self._driver.find_element, By.ID, "line")
            return await asyncio.to_thread(found.get_attribute, "data-state") == state

        await look(there, seconds=PAGE_LOAD, what=f"the page to be {state}")

    async def entries(self, kind: str = "theirs") -> list[str]:
        """The words of the finished entries of that kind (theirs or own), in order."""

        def read() -> list[str]:
            selector = f"#entries > .entry.{kind}:not(.preview) > .bubble"
            texts = [bubble.text for bubble in self._driver.find_elements(By.CSS_SELECTOR, selector)]
            # Who speaks is written for those who cannot see the colours, on a line of its own.
            return [text.partition("\n")[2] for text in texts] if kind == "own" else texts

        return await self._steady(read)

    async def preview(self) -> str:
        """The text still being made, "" for none."""

        def read() -> str:
            found = self._driver.find_elements(By.CSS_SELECTOR, "#entries > .preview > .bubble")
            return found[-1].text if found else ""

        return await self._steady(read)

    async def shows(self, text: str, *, seconds: float = 20.0) -> list[str]:
        """Their entries, once one of them has the text."""

        async def there() -> list[str]:
            entries = await self.entries()
            return entries if any(text in entry for entry in entries) else []

        found: list[str] = await look(there, seconds=seconds, what=f"an entry with {text!r}")
        return found

    async def previews(self, text: str, *, seconds: float = 20.0) -> str:
        async def there() -> str:
            shown = await self.preview()
            return shown if text in shown else ""

        found: str = await look(there, seconds=seconds, what=f"unfinished text with {text!r}")
        return found

    async def title(self) -> str:
        return await asyncio.to_thread(lambda: self._driver.title)

    async def links(self) -> list[str]:
        """Where the links in entries lead."""

        def read() -> list[str]:
            found = self._driver.find_elements(By.CSS_SELECTOR, "#entries a")
            return [link.get_attribute("href") or "" for link in found]

        return await self._steady(read)

    async def complaints(self) -> list[str]:
        """What the page wrote to the console as an error, a gateway that is off or still starting aside."""
        told = await asyncio.to_thread(self._driver.get_log, "browser")
        severe = [entry["message"] for entry in told if entry["level"] == "SEVERE"]
        return [message for message in severe if not any(usual in message for usual in WHILE_AWAY)]

    @staticmethod
    async def _steady(read: Callable[[], T]) -> T:
        """An entry may be replaced while it is read; then it is read again."""
        while True:
            with suppress(StaleElementReferenceException):
                return await asyncio.to_thread(read)


def _chrome(profile: Path, language: str) -> Chrome:
    options = ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for option in (*OPTIONS, f"--user-data-dir={profile}"):
        options.add_argument(option)
    options.add_experimental_option("prefs", {"intl.accept_languages": language})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = ChromeService(executable_path=str(DRIVER), log_output=os.devnull)
    driver = Chrome(options=options, service=service)
    driver.set_page_load_timeout(PAGE_LOAD)
    return driver
