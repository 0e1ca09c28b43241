"""The line, whole, with a channel and agents in memory: what the journeys walk through."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import count
from typing import cast

from core.access import Access
from core.clock import Clock, SystemClock
from core.envelope import Inbound
from core.files import NO_FILES, Files
from core.followed import FollowingPlugin
from core.helm import Delegate
from core.identity import Source
from core.intake import Account
from core.line import Ends, Line, Rules
from core.outbox import Channel
from core.pacing import Limits
from core.parts import Text
from core.patience import Patience
from core.plugin import Admission
from core.routes import Routes
from core.session import Bounds
from core.store import Store
from gateway.agents.local import LocalAgent
from gateway.agents.quick import QuickAgent
from tests.doubles.agent import FakeAgent
from tests.doubles.events import Events
from tests.doubles.plugin import FakePlugin

SOON = Patience(
    quiet=0.02,
    poll_first=0.005,
    poll_most=0.02,
    retry_first=0.005,
    retry_most=0.02,
    fallback=0.02,
    confirm=0.2,
    look=0.2,
)


class World(Line):
    """One account, one agent "agent" (and `others`), one store; everything a journey touches."""

    def __init__(
        self,
        store: Store,
        tasks: asyncio.TaskGroup,
        agent: FakeAgent,
        plugin: FakePlugin,
        *,
        patience: Patience = SOON,
        bounds: Bounds | None = None,
        on_unknown: str = "ask",
        resubmits: bool = False,
        collect: float = 0.0,
        access: Access | None = None,
        limits: Limits | None = None,
        push_base: str = "",
        routes: Routes | None = None,
        others: Sequence[FakeAgent] = (),
        files: Files = NO_FILES,
        account: str = "desk",
        language: str = "",
        clock: Clock | None = None,
    ) -> None:
        """`others` are agents that a message may name besides the account's own."""
        self.store, self.agent, self.plugin, self.events = store, agent, plugin, Events()
        self.clock, self.routes, self.language = clock or SystemClock(), routes or Routes(agent.name), language
        is_followed = plugin.capabilities.follows
        exposed = frozenset(one.name for one in others) if is_followed else frozenset()
        allowed = access or Access("open", "all")
        of_account = Account(Source("fake", account), self.routes, allowed, collect=collect, exposed=exposed)
        pushes = agent if push_base or getattr(agent, "way", "") else None
        is_local = isinstance(agent, LocalAgent | QuickAgent)
        self.delegates = {one.name: Delegate(one, resubmits) for one in others}
        self.delegates[agent.name] = Delegate(agent, resubmits, is_local=is_local, pushes=pushes)
        ends = Ends(
            {account: plugin},
            {account: Channel(plugin, lambda: limits or Limits(), lambda: on_unknown)},
            {account: cast(FollowingPlugin, plugin).follower} if is_followed else {},
            self.delegates,
        )
        rules = Rules(
            lambda: bounds or Bounds(),
            lambda _account: replace(of_account, routes=self.routes, language=self.language),
            patience,
            push_base or "https://desk.example" if pushes else "",
        )
        super().__init__(store, ends, rules, tasks, self.clock, self.events, files)
        self.door = self.intake(account)
        self._numbers = count(1)

    async def says(self, text: str, sender: str = "ann", **fields: object) -> Admission:
        """A person writes in their direct chat (or, with `chat`, elsewhere)."""
        [admission] = await self.door.accept([replace(self.inbound(text, sender), **fields)])  # type: ignore[arg-type]
        return admission

    def inbound(self, text: str, sender: str, keys: tuple[str, ...] = ()) -> Inbound:
        number = str(next(self._numbers))
        return Inbound(
            keys=keys or (f"update:{number}",),
            external_id=number,
            chat=sender,
            sender=sender,
            parts=(Text(text),),
            raw=text.encode(),
            message_id=f"q{number}",
        )

    def stop(self) -> None:
        self.lanes.stop()
        self.outbox.stop()


class _Killed(Exception):
    """Ends a line's task group: its tasks are cancelled, and no others, such as the event loop's own."""


@asynccontextmanager
async def world(
    store: Store, agent: FakeAgent | None = None, plugin: FakePlugin | None = None, **options: object
) -> AsyncIterator[World]:
    """A running line; on leaving, whatever is still at work is cut off, as a kill would."""
    try:
        async with asyncio.TaskGroup() as tasks:
            there = World(store, tasks, agent or FakeAgent(), plugin or FakePlugin(), **options)  # type: ignore[arg-type]
            await there.recover()
            try:
                yield there
            finally:
                there.stop()
            raise _Killed
    except* _Killed:
        pass
