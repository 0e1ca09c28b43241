"""The door a plugin is handed: the host stamps source, owner, person and route, and nothing gets past the bounds.

A message is refused (Busy) before anything of it is stored, or it is stored before its sender is acknowledged; there
is no third way.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeGuard

from core import plugin
from core.access import Access
from core.clock import Clock
from core.commands import UNKNOWN, command_of
from core.crashpoint import crashpoint
from core.envelope import Arrival, Candidate, ContextScope, Inbound, Moved, Unreadable
from core.errors import Busy
from core.identity import Source, language_of
from core.ids import new_id, secret_id
from core.outbox import Outbox
from core.plugin import Cursor
from core.routes import Picked, Routes
from core.session import Lanes
from core.store import Admission, Admissions, Admitted, AlreadySeen, HeldWindow
from core.telemetry import Telemetry
from core.window import ReplyWindow


@dataclass(frozen=True, slots=True)
class Account:
    """What the configuration says of one plugin account, as the intake needs it."""

    source: Source
    routes: Routes
    access: Access
    owner: str = ""  # "": each person in a direct chat, each group and each topic is an owner of its own
    language: str = ""  # "": as the channel reports it
    collect: float = 0.0  # seconds; messages closer together than this become one turn
    exposed: frozenset[str] = frozenset()  # agents that a message may name itself

    def owner_of(self, inbound: Inbound) -> str:
        if inbound.party:
            return f"{self.source.key}:{inbound.party}"
        if self.owner:
            return self.owner
        return ":".join(
            (self.source.key, inbound.sender) if inbound.is_direct else (self.source.key, inbound.chat, inbound.topic)
        )


class SourceIntake:
    """An intake bound to one source, so that no plugin can speak for another."""

    def __init__(
        self,
        account: Callable[[], Account],
        store: Admissions,
        lanes: Lanes,
        outbox: Outbox,
        clock: Clock,
        telemetry: Telemetry,
        *,
        is_followed: bool = False,
    ) -> None:
        self._is_followed = is_followed
        self._account, self._store, self._lanes, self._clock, self._telemetry = account, store, lanes, clock, telemetry
        self._outbox = outbox
        self._moved: dict[str, str] | None = None

    async def accept(
        self,
        batch: Sequence[Inbound | Unreadable | Moved],
        *,
        cursor: Cursor | None = None,
        window: ReplyWindow | None = None,
    ) -> Sequence[plugin.Admission]:
        if self._moved is None:
            await self._aliases()
        stamped = self._stamped(batch, is_in_order=len(batch) > 1 or cursor is not None)
        await self._enter(stamped, window)
        crashpoint("ingress.before_commit")
        admissions = await self._admitted(stamped, cursor, window)
        crashpoint("ingress.after_commit")
        if window is not None:
            self._open(window, admissions[0])
        return self._started(stamped, admissions)

    async def cursor(self, name: str) -> str | None:
        return await self._store.cursor(self._account().source, name)

    async def lets_in(self, inbound: Inbound) -> bool:
        return not self._account().access.refusal(inbound, await self._aliases())

    @property
    def language(self) -> str:
        return self._account().language

    async def _aliases(self) -> dict[str, str]:
        if self._moved is None:
            self._moved = await self._store.aliases(self._account().source)
        return self._moved

    def _stamped(self, batch: Sequence[Inbound | Unreadable | Moved], *, is_in_order: bool) -> "_Batch":
        account = self._account()
        arrivals = [self._stamp(account, item) if isinstance(item, Inbound) else item for item in batch]
        return _Batch(account, self._without_floods(arrivals) if is_in_order else arrivals)

    def _stamp(self, account: Account, inbound: Inbound) -> Candidate:
        moved = self._moved or {}
        command = command_of(inbound)
        picked = self._route(account, inbound, command, moved)
        if picked.is_called:
            command, inbound = "", replace(inbound, is_addressed=True)  # whoever knows a command is meant by it
        refusal = account.access.refusal(inbound, moved)
        return Candidate(
            envelope_id=secret_id() if self._is_followed else new_id(),
            source=account.source,
            owner=account.owner_of(inbound),
            inbound=inbound,
            received=self._clock.now(),
            agent=inbound.route if inbound.route in account.exposed else picked.agent,
            language=account.language or language_of(inbound.language),
            refusal=refusal,
            command="" if refusal else command,
            scope=ContextScope.NOTIFY if inbound.is_edit or inbound.is_event else ContextScope.FULL,
            choices=account.routes.choices(inbound, moved),
            fallbacks=account.routes.fallbacks,
            is_called=picked.is_called,
            is_followed=self._is_followed,
        )

    @staticmethod
    def _route(account: Account, inbound: Inbound, command: str, moved: Mapping[str, str]) -> Picked:
        routes = account.routes
        if not routes.table:
            return Picked(routes.default)
        called = command.removeprefix(UNKNOWN) if command.startswith(UNKNOWN) else ""
        return routes.pick(inbound, called, account.language or inbound.language or "", moved)

    def _without_floods(self, arrivals: Sequence[Arrival]) -> list[Arrival]:
        """Where a stream of events is read in order, one sender with too much unanswered must not hold up the others:
        what is too much gets the answer that this is busy."""
        coming: Counter[str] = Counter()
        admissible: list[Arrival] = []
        for item in arrivals:
            if _is_work(item):
                coming[item.owner] += 1
                if self._lanes.is_flooding(item.owner, coming[item.owner]):
                    coming[item.owner] -= 1
                    item = replace(item, command="busy")
            admissible.append(item)
        return admissible

    async def _enter(self, batch: "_Batch", window: ReplyWindow | None) -> None:
        """Raises Busy. Whoever asks again for an answer to what was taken is not told that there was no room for it."""
        try:
            self._lanes.enter(batch.owners)
        except Busy:
            if window is None or not await self._is_known(batch):
                raise
            self._lanes.enter_again(batch.owners)

    async def _is_known(self, batch: "_Batch") -> bool:
        keys = [item.inbound.keys for item in batch.arrivals if _is_work(item)]
        return all([await self._store.knows(batch.account.source, each) for each in keys])

    async def _admitted(
        self, batch: "_Batch", cursor: Cursor | None, window: ReplyWindow | None
    ) -> tuple[Admission, ...]:
        until = None if window is None else window.until
        try:
            admitting = asyncio.ensure_future(
                self._store.admit(batch.account.source, batch.arrivals, cursor, window=until)
            )
            return await asyncio.shield(admitting)
        except asyncio.CancelledError:  # whoever asked has gone; what was asked is stored all the same
            admitting.add_done_callback(partial(self._unasked, batch))
            raise
        except BaseException:
            self._lanes.leave(batch.owners)
            raise

    def _unasked(self, batch: "_Batch", admitting: "asyncio.Future[tuple[Admission, ...]]") -> None:
        """The store has answered when nobody waited for it any more."""
        if admitting.cancelled() or admitting.exception() is not None:
            self._lanes.leave(batch.owners)
        else:
            self._started(batch, admitting.result())

    def _open(self, window: ReplyWindow, admission: Admission) -> None:
        match admission:
            case Admitted(envelope, conversation=conversation):
                self._outbox.windows.enter(window, envelope, HeldWindow(conversation, window.until))
            case AlreadySeen(envelope, held) if held is not None:
                self._outbox.windows.enter(window, envelope, held)
            case _:
                return

    def _started(self, batch: "_Batch", admissions: Sequence[Admission]) -> list[plugin.Admission]:
        pairs = zip(batch.arrivals, admissions, strict=True)
        return [self._start(batch.account, arrival, admission) for arrival, admission in pairs]

    def _start(self, account: Account, arrival: Arrival, admission: Admission) -> plugin.Admission:
        seen: dict[str, Any] = {"account": account.source.account, "external_id": arrival.external_id}
        if isinstance(admission, Admitted):
            return self._accepted(account, admission, seen)
        if _is_work(arrival):
            self._lanes.leave((arrival.owner,))
        if isinstance(admission, AlreadySeen):
            return self._seen_again(account, admission, seen)
        if isinstance(arrival, Moved):
            self._moved = (self._moved or {}) | {arrival.chat: arrival.new_chat}
        sender = arrival.inbound.sender if isinstance(arrival, Candidate) else ""  # the id that a list would name
        self._telemetry.event("envelope.admitted", outcome="refused", reason=admission.reason, sender=sender, **seen)
        return plugin.Refused(admission.reason)

    def _accepted(self, account: Account, admitted: Admitted, seen: Mapping[str, Any]) -> plugin.Accepted:
        envelope, thread = admitted.envelope, admitted.thread
        if thread:
            collect = 0.0 if admitted.is_desk else account.collect
            self._lanes.look(thread, admitted.owner, is_desk=admitted.is_desk, collect=collect)
        self._telemetry.event("envelope.admitted", outcome="accepted", envelope=envelope, thread=thread, **seen)
        if admitted.hands_over:
            self._outbox.wake(admitted.conversation, account.source.account)
        return plugin.Accepted(envelope, thread, admitted.target)

    def _seen_again(self, account: Account, known: AlreadySeen, seen: Mapping[str, Any]) -> plugin.Duplicate:
        if known.hands_over and known.window is not None:
            self._outbox.wake(known.window.conversation, account.source.account)
        self._telemetry.event("envelope.admitted", outcome="duplicate", envelope=known.envelope, **seen)
        return plugin.Duplicate(known.envelope)


@dataclass(frozen=True, slots=True)
class _Batch:
    """What came at once, stamped, as one operation of the store."""

    account: Account
    arrivals: Sequence[Arrival]

    @property
    def owners(self) -> list[str]:
        """Whose queues it makes longer, once for each message."""
        return [item.owner for item in self.arrivals if _is_work(item)]


def _is_work(item: Arrival) -> TypeGuard[Candidate]:
    """Commands, edits and refused messages start no work and are let in at any load."""
    return isinstance(item, Candidate) and not (item.refusal or item.command) and item.scope is not ContextScope.NOTIFY
