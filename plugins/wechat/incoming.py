"""Pictures, voice and video that people send: fetched at once, and kept under the gateway's own ids.

The platform forgets them after three days, and asks three times for one message: it is acknowledged only when its file
is here. Until then a request is left without an answer, so that the platform asks again, and all requests for one
message wait for the same download. Whoever is not let in has nothing fetched.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Literal

from core.delivery import Refusal
from core.envelope import Inbound
from core.errors import FileRefused, StoreUnavailable
from core.files import Files
from core.parts import File
from core.telemetry import Telemetry
from plugins.wechat.failures import ApiFailure

AT_ONCE = 8  # downloads of one account
WAITING = 100  # downloads of one account; past it a message goes on without its file
REMEMBERED = 1000  # downloads that are over, for the requests that come again

Fetch = Callable[[str, str, int], Awaitable[tuple[bytes, str]]]
"""The bytes behind a media_id of this kind ("image", "audio", "video"), at most so many, and their media type, "" where
it was not said.
"""

Found = File | Literal["never", "later"]


class Incoming:
    def __init__(self, fetch: Fetch | None, files: Files, telemetry: Telemetry) -> None:
        """No `fetch`: the account cannot download anything."""
        self._fetch, self._files, self._telemetry = fetch, files, telemetry
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._tasks: asyncio.TaskGroup | None = None
        self._fetches: OrderedDict[str, asyncio.Task[Found]] = OrderedDict()

    def opens(self, tasks: asyncio.TaskGroup) -> None:
        self._tasks = tasks

    def closes(self) -> None:
        self._tasks = None
        self._fetches.clear()

    async def with_files(self, item: Inbound, media_id: str, seconds: float) -> Inbound | None:
        """The message with its file, or without where that cannot be had; None: the next request may have it."""
        task = self._fetching(item, media_id)
        if task is None:
            return without_files(item)
        await asyncio.wait({task}, timeout=max(0.0, seconds))
        found = task.result() if task.done() and not task.cancelled() else "later"
        if isinstance(found, File):
            return replace(item, parts=tuple(found if isinstance(part, File) else part for part in item.parts))
        return None if found == "later" else without_files(item)

    def _fetching(self, item: Inbound, media_id: str) -> asyncio.Task[Found] | None:
        key = item.keys[0]
        if (known := self._fetches.get(key)) is not None:
            return known
        waiting = sum(not task.done() for task in self._fetches.values())
        if self._fetch is None or self._tasks is None or waiting >= WAITING:
            return None
        file = next(part for part in item.parts if isinstance(part, File))
        self._fetches[key] = self._tasks.create_task(
            self._fetched(self._fetch, key, file, media_id), name=f"media {media_id[:16]}"
        )
        while len(self._fetches) > REMEMBERED:
            self._fetches.popitem(last=False)
        return self._fetches[key]

    async def _fetched(self, fetch: Fetch, key: str, file: File, media_id: str) -> Found:
        try:
            async with self._slots:
                content, media_type = await fetch(media_id, file.media_type.partition("/")[0], self._files.limit)
            id = await self._files.keep(content)
        except FileRefused as error:
            self._telemetry.event("file.refused", level="warning", bytes=len(content), error=str(error))
            return "never"
        except StoreUnavailable:
            self._fetches.pop(key, None)
            return "later"
        except ApiFailure as failure:
            if failure.kind not in (None, Refusal.UNAVAILABLE):
                return "never"
            self._fetches.pop(key, None)
            return "later"
        media_type = media_type or file.media_type
        return replace(file, media_type=media_type, url="", size=len(content), stored=id)


def without_files(item: Inbound) -> Inbound:
    """What is left: words, and the address of a picture, which anybody may read; else the person hears of it."""
    left = tuple(part for part in item.parts if not isinstance(part, File) or part.url)
    if left:
        return replace(item, parts=left)
    name = next((part.name.partition(".")[0] for part in item.parts if isinstance(part, File)), "file")
    return replace(item, parts=(), unsupported=name)
