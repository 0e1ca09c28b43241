"""The door a plugin is handed: the host stamps source, owner, person and route, and nothing gets past the bounds.

A message is refused (Busy) before anything of it is stored, or it is stored before its sender is acknowledged; there
is no third way.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeGuard

from core import plugin
from core.access import Access
from core.clock import Clock
from core.commands import UNKNOWN, command_of
from core.crashpoint import crashpoint
from core.envelope import Candidate, ContextScope, Inbound, Moved, Unreadable
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
        account = self._account()
        if self._moved is None:
            await self._aliases()
        candidates = [self._stamp(account, item) if isinstance(item, Inbound) else item for item in batch]
        if len(candidates) > 1 or cursor is not None:
            candidates = self._without_floods(candidates)
        owners = [item.owner for item in candidates if _is_work(item)]  # whose queues grow
        try:
            self._lanes.enter(owners)
        except Busy:
            if window is None or not await self._is_known(account.source, candidates):
                raise
            self._lanes.enter_again(owners)
        crashpoint("ingress.before_commit")
        until = None if window is None else window.until
        try:
            admitting = asyncio.ensure_future(self._store.admit(account.source, candidates, cursor, window=until))
            admissions = await asyncio.shield(admitting)
        except asyncio.CancelledError:  # whoever asked has gone; what was asked is stored all the same
            admitting.add_done_callback(partial(self._unasked, account, candidates, owners))
            raise
        except BaseException:
            self._lanes.leave(owners)
            raise
        crashpoint("ingress.after_commit")
        if window is not None:
            self._open(window, admissions[0])
        return self._started(account, candidates, admissions)

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

    def _without_floods(
        self, candidates: Sequence[Candidate | Unreadable | Moved]
    ) -> list[Candidate | Unreadable | Moved]:
        """Where a stream of events is read in order, one sender with too much unanswered must not hold up the others:
        what is too much gets the answer that this is busy."""
        coming: Counter[str] = Counter()
        admissible: list[Candidate | Unreadable | Moved] = []
        for item in candidates:
            if _is_work(item):
                coming[item.owner] += 1
                if self._lanes.is_flooding(item.owner, coming[item.owner]):
                    coming[item.owner] -= 1
                    item = replace(item, command="busy")
            admissible.append(item)
        return admissible

    async def _is_known(self, source: Source, candidates: Sequence[Candidate | Unreadable | Moved]) -> bool:
        """Whoever asks again for an answer to what was taken must not be told that there was no room for it."""
        keys = [item.inbound.keys for item in candidates if _is_work(item)]
        return all([await self._store.knows(source, each) for each in keys])

    def _open(self, window: ReplyWindow, admission: Admission) -> None:
        match admission:
            case Admitted(envelope, conversation=conversation):
                self._outbox.windows.enter(window, envelope, HeldWindow(conversation, window.until))
            case AlreadySeen(envelope, held) if held is not None:
                self._outbox.windows.enter(window, envelope, held)
            case _:
                return

    def _unasked(
        self,
        account: Account,
        candidates: Sequence[Candidate | Unreadable | Moved],
        owners: Sequence[str],
        admitted: "asyncio.Future[tuple[Admission, ...]]",
    ) -> None:
        """The store has answered when nobody waited for it any more."""
        if admitted.cancelled() or admitted.exception() is not None:
            self._lanes.leave(owners)
        else:
            self._started(account, candidates, admitted.result())

    def _started(
        self,
        account: Account,
        candidates: Sequence[Candidate | Unreadable | Moved],
        admissions: Sequence[Admission],
    ) -> list[plugin.Admission]:
        return [self._start(account, *admitted) for admitted in zip(candidates, admissions, strict=True)]

    def _start(self, account: Account, item: Candidate | Unreadable | Moved, admission: Admission) -> plugin.Admission:
        name = account.source.key
        external = item.inbound.external_id if isinstance(item, Candidate) else item.external_id
        if isinstance(admission, Admitted):
            envelope, thread = admission.envelope, admission.thread
            if thread:
                collect = 0.0 if admission.is_desk else account.collect
                self._lanes.look(thread, admission.owner, is_desk=admission.is_desk, collect=collect)
            seen = {"envelope": envelope, "thread": thread, "external_id": external}
            self._telemetry.event("envelope.admitted", account=name, outcome="accepted", **seen)
            if admission.hands_over:
                self._outbox.wake(admission.conversation, name)
            return plugin.Accepted(envelope, thread, admission.target)
        if _is_work(item):
            self._lanes.leave((item.owner,))
        if isinstance(admission, AlreadySeen):
            envelope = admission.envelope
            if admission.hands_over and admission.window is not None:
                self._outbox.wake(admission.window.conversation, name)
            self._telemetry.event(
                "envelope.admitted", account=name, outcome="duplicate", envelope=envelope, external_id=external
            )
            return plugin.Duplicate(envelope)
        if isinstance(item, Moved):
            self._moved = (self._moved or {}) | {item.chat: item.new_chat}
        sender = item.inbound.sender if isinstance(item, Candidate) else ""  # the id that a list would name
        reason = admission.reason
        self._telemetry.event(
            "envelope.admitted", account=name, outcome="refused", reason=reason, external_id=external, sender=sender
        )
        return plugin.Refused(reason)


def _is_work(item: Candidate | Unreadable | Moved) -> TypeGuard[Candidate]:
    """Commands, edits and refused messages start no work and are let in at any load."""
    return isinstance(item, Candidate) and not (item.refusal or item.command) and item.scope is not ContextScope.NOTIFY
