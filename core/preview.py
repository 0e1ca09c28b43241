"""Previews: the latest-wins picture of an answer that is still being made, and the sign that somebody is at work.

Nothing here is promised, and only the channel's id of what it shows is durable, since the answer takes its place. A
preview yields to everything: it starts only when an answer takes a moment,
keeps the channel's pace, is silent while the address is throttled, ends when the answer's first delivery begins, and
has a hard end whatever happens.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress

from core.errors import StoreUnavailable
from core.plugin import AgentPlugin, PreviewFrame
from core.store import Deliveries
from core.telemetry import Telemetry
from core.turn import Turn

FIRST_AFTER = 0.3  # seconds; what is answered faster needs no preview
HARD_END = 300.0  # seconds; no sign of activity outlives this, whatever became of the turn
CALL_LIMIT = 5.0  # seconds for one preview call


class Previews:
    def __init__(
        self,
        plugins: Mapping[str, AgentPlugin],
        deliveries: Deliveries,
        tasks: asyncio.TaskGroup,
        is_throttled: Callable[[str], bool],
        telemetry: Telemetry,
    ) -> None:
        self._plugins, self._deliveries, self._tasks = plugins, deliveries, tasks
        self._is_throttled, self._telemetry = is_throttled, telemetry
        self._open: dict[str, Preview] = {}

    def start(self, turn: Turn) -> "Preview":
        plugin = self._plugins.get(turn.address.source.account)
        preview = Preview(turn, plugin, self)
        if plugin and (plugin.capabilities.previews or plugin.capabilities.activity_interval):
            self._open[turn.id] = preview
            delay = min(FIRST_AFTER, plugin.capabilities.preview_interval)
            preview.timer = asyncio.get_running_loop().call_later(delay, self._begin, preview)
        return preview

    def stop(self, turn_id: str) -> "Preview | None":
        """The turn's answer is about to be sent, or will never be: no further frame begins."""
        preview = self._open.pop(turn_id, None)
        if preview is not None:
            preview.ended = True
            preview.news.set()
            if preview.timer is not None:
                preview.timer.cancel()
                preview.timer = None
        return preview

    async def end(self, turn_id: str) -> str:
        """Stop, and wait for a frame under way, so that the answer can take its place; the channel's id of it."""
        preview = self.stop(turn_id)
        if preview is None:
            return ""
        await preview.idle.wait()
        return preview.shown

    def may_show(self, turn: Turn) -> bool:
        return not self._is_throttled(turn.conversation)

    def failed(self, turn: Turn, failure: Exception) -> None:
        self._telemetry.event("preview.failed", turn=turn.id, error=repr(failure))

    async def keep(self, turn: Turn, shown: str) -> None:
        await self._deliveries.previewed(turn.id, shown)

    def _begin(self, preview: "Preview") -> None:
        plugin = preview.plugin
        if plugin is not None and not preview.ended:
            preview.task = self._tasks.create_task(self._show(preview, plugin), name=f"preview {preview.turn.id}")

    async def _show(self, preview: "Preview", plugin: AgentPlugin) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(HARD_END):
                await preview.show(plugin)
        self._open.pop(preview.turn.id, None)


class Preview:
    """One turn's preview in its conversation."""

    def __init__(self, turn: Turn, plugin: AgentPlugin | None, previews: Previews) -> None:
        self.turn, self.plugin, self._previews = turn, plugin, previews
        self.news = asyncio.Event()
        self.timer: asyncio.TimerHandle | None = None
        self.task: asyncio.Task[None] | None = None
        self.ended = False
        self._text = ""
        self._seen = ""  # the text as it was shown last
        self.idle = asyncio.Event()  # no frame is under way
        self.idle.set()
        self.shown = turn.preview

    @property
    def words(self) -> str:
        """The unfinished text that the person sees; "" while there is none, and once an answer took its place."""
        return "" if self.ended else self._seen

    def update(self, text: str) -> None:
        if text != self._text:
            self._text = text
            self.news.set()

    async def show(self, plugin: AgentPlugin) -> None:
        able = plugin.capabilities
        pause = able.preview_interval if able.previews else able.activity_interval
        while not self.ended:
            self.news.clear()
            text = self._text if able.previews else ""
            if (text or able.activity_interval) and self._previews.may_show(self.turn):
                await self._frame(plugin, text)
            await asyncio.sleep(pause or 1.0)
            if able.previews:
                with suppress(TimeoutError):  # nothing new: the sign of activity is due again
                    async with asyncio.timeout(able.activity_interval):
                        await self.news.wait()

    async def _frame(self, plugin: AgentPlugin, text: str) -> None:
        turn = self.turn
        quote = turn.envelopes[-1].message_id if turn.envelopes and not turn.is_direct else ""
        frame = PreviewFrame(turn.address, turn.id, text, self.shown, turn.is_direct, quote)
        self.idle.clear()
        try:
            async with asyncio.timeout(CALL_LIMIT):
                shown = await plugin.preview(frame)
            self._seen = text or self._seen
            if shown and shown != self.shown:
                self.shown = shown
                await self._previews.keep(turn, shown)
        except (TimeoutError, StoreUnavailable):
            return
        except Exception as failure:  # best effort by the port's contract: an answer must not fail for its preview
            self._previews.failed(turn, failure)
        finally:
            self.idle.set()
