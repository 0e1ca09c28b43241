"""All tasks of an account that are in memory, and what the line says of them on its way to their readers."""

import asyncio
from collections.abc import Callable, Sequence

from a2a.server.port import NoSuchTask
from a2a.server.pushing import Pushes
from a2a.server.served_live import Live, Position
from core.agent import Artifact, ArtifactUpdate, TaskState
from core.clock import Instant
from core.followed import FollowedRecords, Report, Step
from core.turn import Turn


class Lives:
    """The account's core.followed.Follower."""

    def __init__(self, records: FollowedRecords, pushes: Pushes, key_lost: Callable[[int], None]) -> None:
        """`key_lost` is told after a start of how many push configs the secrets do not open."""
        self._records, self._pushes, self._key_lost = records, pushes, key_lost
        self._lives: dict[str, Live] = {}

    def __len__(self) -> int:
        return len(self._lives)

    async def load(self) -> None:
        await self._pushes.load()
        if configs := self._pushes.unreadable:
            self._key_lost(configs)

    def keep(self, live: Live) -> None:
        self._lives[live.id] = live

    async def hold(self, task_id: str, owner: str, agent: str) -> Live:
        """The task, kept in memory until it is released. Raises NoSuchTask for one of somebody else too."""
        live = self._lives.get(task_id)
        if live is None:
            live = self._lives[task_id] = Live(task_id, owner="", agent="")
        live.holders += 1
        try:
            if live.owner == "" and not await self._load(live):
                raise NoSuchTask("task not found")
            if (live.owner, live.agent) != (owner, agent):
                raise NoSuchTask("task not found")
        except BaseException:
            self.release(live)
            raise
        return live

    def release(self, live: Live) -> None:
        live.holders -= 1
        self._drop_idle(live)

    def _drop_idle(self, live: Live) -> None:
        if live.is_idle and self._lives.get(live.id) is live:
            del self._lives[live.id]

    async def _load(self, live: Live) -> bool:
        """From its record; whoever comes meanwhile waits for the same reading. False when there is none."""
        if live.loading is None:
            live.loading = asyncio.ensure_future(self._read(live))
        return await asyncio.shield(live.loading)

    async def _read(self, live: Live) -> bool:
        try:
            work = await self._records.followed(live.id)
        finally:
            live.loading = None
        if work is None:
            return False
        live.load(work)
        live.owner, live.agent = work.owner, work.agent
        return True

    # ------------------------------------------------------------------ what the line says

    def began(self, turn: Turn, *, is_new: bool) -> None:
        live = self._lives.get(turn.thread)
        if live is not None and is_new:
            live.began(position_of(turn), turn.begun)

    def chunk(self, turn: Turn, update: ArtifactUpdate, whole: Artifact) -> None:
        live = self._lives.get(turn.thread)
        if live is not None:
            live.chunk(position_of(turn), update, whole)

    def reports(self, turn: Turn, step: Step, at: Instant) -> Sequence[Report]:
        return self._pushes.reports(turn, step, at)

    def observed(self, turn: Turn, step: Step, at: Instant) -> None:
        if step.state.is_terminal and not turn.more:
            self._pushes.ended(turn.thread)
        live = self._lives.get(turn.thread)
        if live is not None:
            live.observed(position_of(turn), step, at, more=turn.more)
            self._drop_idle(live)

    def not_cancelled(self, turn: Turn, *, is_refused: bool) -> None:
        live = self._lives.get(turn.thread)
        if live is not None:
            live.not_cancelled(is_refused=is_refused)

    def cancel_reports(self, topic: str, thread: str, at: Instant) -> Sequence[Report]:
        return self._pushes.cancel_reports(topic, thread, at)

    def cancelled(self, thread: str, at: Instant) -> None:
        self._pushes.ended(thread)
        live = self._lives.get(thread)
        if live is not None:
            live.end(TaskState.CANCELED, at)
            self._drop_idle(live)


def position_of(turn: Turn) -> Position:
    return (turn.envelopes[0].seq, turn.revision)
