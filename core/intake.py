"""The door a plugin is handed: the host stamps source, owner, person and route, and nothing gets past the bounds.

A message is refused (Busy) before anything of it is stored, or it is stored before its sender is acknowledged; there
is no third way.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

from core import plugin
from core.access import Access
from core.clock import Clock
from core.commands import command_of
from core.crashpoint import crashpoint
from core.envelope import Candidate, ContextScope, Inbound, Moved, Unreadable
from core.identity import Source, language_of
from core.ids import new_id
from core.plugin import Cursor
from core.session import Lanes
from core.store import Admission, Admissions, Admitted, AlreadySeen, Ready
from core.telemetry import Telemetry


@dataclass(frozen=True, slots=True)
class Account:
    """What the configuration says of one plugin account, as the intake needs it."""

    source: Source
    agent: str
    access: Access
    owner: str = ""  # "": each person in a direct chat, each group and each topic is an owner of its own
    language: str = ""  # "": as the channel reports it
    collect: float = 0.0  # seconds; messages closer together than this become one turn

    def owner_of(self, inbound: Inbound) -> str:
        if self.owner:
            return self.owner
        return ":".join(
            (self.source.key, inbound.sender) if inbound.is_direct else (self.source.key, inbound.chat, inbound.topic)
        )


class SourceIntake:
    """An intake bound to one source, so that no plugin can speak for another."""

    def __init__(
        self, account: Callable[[], Account], store: Admissions, lanes: Lanes, clock: Clock, telemetry: Telemetry
    ) -> None:
        self._account, self._store, self._lanes, self._clock, self._telemetry = account, store, lanes, clock, telemetry
        self._moved: dict[str, str] | None = None

    async def accept(
        self, batch: Sequence[Inbound | Unreadable | Moved], *, cursor: Cursor | None = None
    ) -> Sequence[plugin.Admission]:
        account = self._account()
        if self._moved is None:
            self._moved = await self._store.aliases(account.source)
        candidates = [self._stamp(account, item) if isinstance(item, Inbound) else item for item in batch]
        if len(candidates) > 1 or cursor is not None:
            candidates = self._without_floods(candidates)
        with self._lanes.room_for(self._owners_of_work(candidates)):
            crashpoint("ingress.before_commit")
            try:
                admissions = await self._store.admit(account.source, candidates, cursor)
            except asyncio.CancelledError:
                self._lanes.rescan()  # it may have been stored; nobody would hear of it
                raise
            crashpoint("ingress.after_commit")
            for item, admission in zip(candidates, admissions, strict=True):
                self._start(account, item, admission)
        return [_as_seen_by_plugin(admission) for admission in admissions]

    async def cursor(self, name: str) -> str | None:
        return await self._store.cursor(self._account().source, name)

    def _stamp(self, account: Account, inbound: Inbound) -> Candidate:
        refusal = account.access.refusal(inbound, self._moved or {})
        return Candidate(
            envelope_id=new_id(),
            source=account.source,
            owner=account.owner_of(inbound),
            inbound=inbound,
            received=self._clock.now(),
            agent=account.agent,
            language=account.language or language_of(inbound.language),
            refusal=refusal,
            command="" if refusal else command_of(inbound),
            scope=ContextScope.NOTIFY if inbound.is_edit else ContextScope.FULL,
        )

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

    @staticmethod
    def _owners_of_work(candidates: Sequence[Candidate | Unreadable | Moved]) -> list[str]:
        """Whose queues grow. Commands, edits and refused messages start no work and are let in at any load."""
        return [item.owner for item in candidates if _is_work(item)]

    def _start(self, account: Account, item: Candidate | Unreadable | Moved, admission: Admission) -> None:
        if isinstance(item, Moved):
            self._moved = (self._moved or {}) | {item.chat: item.new_chat}
        if isinstance(admission, Admitted) and admission.thread:
            ready = Ready(admission.owner, admission.thread, 1, admission.is_desk)
            self._lanes.add(ready, collect=0.0 if admission.is_desk else account.collect)
        self._telemetry.event("envelope.admitted", account=account.source.key, **_facts(item, admission))


def _is_work(item: Candidate | Unreadable | Moved) -> TypeGuard[Candidate]:
    return isinstance(item, Candidate) and not (item.refusal or item.command) and item.scope is not ContextScope.NOTIFY


def _as_seen_by_plugin(admission: Admission) -> plugin.Admission:
    match admission:
        case Admitted(envelope=envelope):
            return plugin.Accepted(envelope)
        case AlreadySeen(envelope):
            return plugin.Duplicate(envelope)
        case _:
            return plugin.Refused(admission.reason)


def _facts(item: Candidate | Unreadable | Moved, admission: Admission) -> dict[str, object]:
    external = item.inbound.external_id if isinstance(item, Candidate) else item.external_id
    match admission:
        case Admitted(envelope=envelope, thread=thread, is_desk=is_desk):
            return {
                "outcome": "accepted",
                "envelope": envelope,
                "thread": thread,
                "desk": is_desk,
                "external_id": external,
            }
        case AlreadySeen(envelope):
            return {"outcome": "duplicate", "envelope": envelope, "external_id": external}
        case _:
            sender = item.inbound.sender if isinstance(item, Candidate) else ""  # the id that a list would name
            return {"outcome": "refused", "reason": admission.reason, "external_id": external, "sender": sender}
