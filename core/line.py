"""The line of one process, put together: what is admitted goes through lanes, tracker and outbox over one store."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from core.clock import Clock
from core.desk import Desk
from core.files import NO_FILES, Files
from core.followed import Follower
from core.helm import Delegate
from core.intake import Account, SourceIntake
from core.outbox import Channel, Outbox
from core.patience import Patience
from core.persistence import patiently
from core.plugin import AgentPlugin
from core.preview import Previews
from core.push import PushBook
from core.routes import Routes
from core.session import Bounds, Lanes
from core.store import Store
from core.telemetry import Telemetry
from core.tracker import TaskTracker


@dataclass(frozen=True, slots=True)
class Ends:
    """What a line joins, channels and agents. Accounts are fixed while it runs; delegates may come and go."""

    plugins: Mapping[str, AgentPlugin]  # by account, as are the next two
    channels: Mapping[str, Channel]
    followers: Mapping[str, Follower]  # of those that follow the work themselves
    delegates: Mapping[str, Delegate]  # by agent


@dataclass(frozen=True, slots=True)
class Rules:
    """How a line works; what may change while it runs is asked at each use."""

    bounds: Callable[[], Bounds]
    account: Callable[[str], Account]
    patience: Patience
    push_base: str = ""  # where agents reach this process; "": nowhere


class Line:
    """Nothing waits or runs before `recover`; then each plugin is given its `intake`."""

    def __init__(
        self,
        store: Store,
        ends: Ends,
        rules: Rules,
        tasks: asyncio.TaskGroup,
        clock: Clock,
        telemetry: Telemetry,
        files: Files = NO_FILES,
    ) -> None:
        """All its work is done in `tasks`."""
        self._store, self._ends, self._rules = store, ends, rules
        self._tasks, self._clock, self._telemetry = tasks, clock, telemetry
        self.outbox = Outbox(store, ends.channels, tasks, clock, telemetry, lambda turn: self.previews.end(turn), store)
        self.previews = Previews(ends.plugins, store, tasks, self.outbox.is_throttled, telemetry)
        self.pushes = PushBook(store, rules.push_base)
        self.tracker = self._tracker(files)
        self.desk = Desk(
            store, store, store, store, self.tracker, self.outbox, lambda: self.lanes, self._routes_of, clock
        )
        self.lanes = Lanes(store, rules.bounds, tasks, clock, telemetry, self.tracker.work, self.desk.answer)
        self.tracker.adopt = self.lanes.adopt

    def _tracker(self, files: Files) -> TaskTracker:
        return TaskTracker(
            self._store,
            self._ends.delegates,
            self._ends.plugins,
            self.previews,
            self.outbox.wake,
            self._tasks,
            self._clock,
            self._telemetry,
            self._rules.patience,
            lambda account: self._routes_of(account).fallbacks,
            self.pushes,
            self._ends.followers,
            files,
        )

    def _routes_of(self, account: str) -> Routes:
        return self._rules.account(account).routes

    def intake(self, account: str) -> SourceIntake:
        """The door of the account's plugin."""
        return SourceIntake(
            lambda: self._rules.account(account),
            self._store,
            self.lanes,
            self.outbox,
            self._clock,
            self._telemetry,
            is_followed=self._ends.plugins[account].capabilities.follows,
        )

    async def recover(self) -> dict[str, int]:
        """Take up what the last process left: begun attempts, unfinished turns, queued messages; how many of each.

        What belongs to an account that is not configured now stays as it is, until it is again.
        """
        accounts = self._ends.plugins
        for follower in self._ends.followers.values():
            await patiently(follower.load, self._telemetry)
        unknown = await self.outbox.recover()
        await patiently(self.pushes.load, self._telemetry)
        turns = await patiently(self._store.unfinished, self._telemetry)
        unfinished = [turn for turn in turns if turn.address.source.account in accounts]
        ready = [item for item in await patiently(self._store.ready, self._telemetry) if item.account in accounts]
        # Both are known before anything begins: what a turn had taken meanwhile would be counted as queued for ever.
        for position, turn in enumerate(unfinished):
            self.lanes.adopt(turn, position * self._rules.patience.stagger if turn.waiting else 0.0)
        for item in ready:
            self.lanes.add(item)
        await self.tracker.watch()
        return {"unknown": unknown, "unfinished": len(unfinished), "queued": sum(item.queued for item in ready)}
