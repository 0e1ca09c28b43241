"""The records as the running line knows them better than its store, and without the secrets of its settings.

A growing answer is stored when it is whole, so the store alone would take its agent for silent.
"""

from collections.abc import Callable, Iterable

from core.clock import Instant
from gateway.api import Item, Page
from gateway.store.records import Readable, Records, iso

HIDDEN = "[hidden]"
TEXT_SHOWN = 1000  # characters of a delivery's words


class LiveRecords(Records):
    def __init__(
        self, store: Readable, heard: Callable[[str], Instant | None], secrets: Callable[[], Iterable[str]]
    ) -> None:
        """`heard`: when a turn last heard of its task, None when it is not at work here."""
        super().__init__(store)
        self._heard, self._secrets = heard, secrets

    async def tasks(self, *, limit: int, cursor: str | None, state: str | None) -> Page:
        page = await super().tasks(limit=limit, cursor=cursor, state=state)
        return Page([self._up_to_now(item) for item in page.items], page.next)

    async def task(self, id: str) -> Item | None:
        item = await super().task(id)
        return self._up_to_now(item) if item is not None else None

    async def unreadable_one(self, id: str) -> Item | None:
        item = await super().unreadable_one(id)
        return {**item, "body": self._without_secrets(item["body"])} if item is not None else None

    async def delivery(self, id: str) -> Item | None:
        item = await super().delivery(id)
        if item is None:
            return None
        text = self._without_secrets(item["text"])
        return {**item, "text": text if len(text) <= TEXT_SHOWN else f"{text[:TEXT_SHOWN]}…"}

    def _up_to_now(self, task: Item) -> Item:
        heard = iso(self._heard(task["turn"] or ""))
        return {**task, "heard": max(heard, task["heard"])} if heard is not None and task["heard"] else task

    def _without_secrets(self, text: str) -> str:
        for secret in sorted(self._secrets(), key=len, reverse=True):
            text = text.replace(secret, HIDDEN) if secret else text
        return text
