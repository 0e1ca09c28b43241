"""The store over one SQLite file: every port of the core, each method one operation of the writer."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from core.choices import Offered
from core.clock import Clock, Instant, SystemClock
from core.delivery import Delivery, RenderedPiece
from core.envelope import Candidate, Moved, Unreadable
from core.errors import StoreUnavailable
from core.followed import CancelReports, Followed, FollowedPage, Target, Wanted, no_reports
from core.identity import Address, Source
from core.persistence import patiently
from core.plugin import Cursor, Entry
from core.push import PushTarget
from core.store import Admission, DeskView, HeldWindow, NotBefore, Ready, Settlement
from core.telemetry import Silent
from core.turn import Cancellation, Observation, OpenTask, Turn
from gateway.store.rules import Policy
from gateway.store.sqlite import (
    admissions,
    deliveries,
    desk,
    followed,
    interrupted,
    observations,
    offers,
    opening,
    pushes,
    retention,
    state,
    turns,
    windows,
)
from gateway.store.sqlite.history import history
from gateway.store.sqlite.holding import POLL, FileHold
from gateway.store.sqlite.keys import knows
from gateway.store.sqlite.places import aliases
from gateway.store.sqlite.reader import Reader, Row
from gateway.store.sqlite.transaction import Tx
from gateway.store.sqlite.writer import Writer

T = TypeVar("T")

NOT_HELD = "the database is not held yet"


class SqliteStore:
    """Enter it, then `hold` it: until this process holds the file's lease every method raises StoreUnavailable."""

    def __init__(
        self,
        path: Path,
        *,
        policy: Policy | None = None,
        busy_timeout: float = 5.0,  # seconds an operation waits for a lock of another process
        max_waiting: int = 20_000,  # operations waiting for the disk; past it StoreUnavailable at once
        clock: Clock | None = None,
    ) -> None:
        self.path = path
        self._policy, self._clock = policy or Policy(), clock or SystemClock()
        self._busy_timeout, self._max_waiting = busy_timeout, max_waiting
        self._hold = FileHold(path.with_name(f"{path.name}.lock"))
        self._writer: Writer | None = None
        self._trouble = NOT_HELD
        self._reader = Reader(path)
        self._key_round = retention.KeyRound()

    async def __aenter__(self) -> Self:
        """Prepare the folder; refuses a file that newer code has written, also when another process holds it."""
        await asyncio.to_thread(opening.prepare, self.path)
        return self

    async def __aexit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        await self.close()

    async def hold(self, said: str = "") -> None:
        """Wait until this process holds the file and can write it; brings it to this code's schema.

        `said` is where this process is found, for those that stand by.

        Leases of processes that held it before are void: a new holder need not wait for their end.
        Raises ConfigurationError where waiting would not help.
        """
        await self._hold.take(said)
        try:
            while self._writer is None:
                self._writer = await self._opened()
            await patiently(lambda: self._run(state.void_leases), Silent())
        except BaseException:  # a wait that was given up too must leave nothing held
            self._hold.release()
            raise

    async def _opened(self) -> Writer | None:
        writer = Writer(self.path, busy_timeout=self._busy_timeout, max_waiting=self._max_waiting)
        try:
            await writer.start()
        except StoreUnavailable as error:
            self._trouble = str(error)
            await asyncio.sleep(POLL)
            return None
        except BaseException:
            await writer.close()
            raise
        return writer

    async def close(self) -> None:
        """Finish what waits, close the file, and let another process have it."""
        await self._reader.close()
        if self._writer is not None:
            await self._writer.close()  # and says meanwhile what it waits for
            self._writer = None
        self._hold.release()

    @property
    def is_holder(self) -> bool:
        return self._writer is not None

    @property
    def healthy(self) -> str | None:
        """Why nothing can be written, or is not for longer than a commit may take; None while it can."""
        return (self._writer.healthy or self._writer.late) if self._writer else self._why_not_held

    @property
    def holder(self) -> str:
        """Where the process is found that holds the file while this one stands by; "" when this one does not."""
        return self._hold.holder

    @property
    def _why_not_held(self) -> str:
        return f"standing by: {self.holder} holds the database" if self.holder else self._trouble

    @property
    def waiting(self) -> int:
        """Operations that wait for the disk."""
        return self._writer.waiting if self._writer else 0

    def _run(self, operation: Callable[[Tx], T]) -> "asyncio.Future[T]":
        if self._writer is None:
            raise StoreUnavailable(self._why_not_held)
        return self._writer.run(operation)

    # ------------------------------------------------------------------ admissions

    def admit(
        self,
        source: Source,
        batch: Sequence[Candidate | Unreadable | Moved],
        cursor: Cursor | None = None,
        *,
        window: Instant | None = None,
    ) -> Awaitable[tuple[Admission, ...]]:
        policy, now = self._policy, self._clock.now()
        return self._run(lambda tx: admissions.admit(tx, source, batch, cursor, policy, now, window))

    async def knows(self, source: Source, keys: Sequence[str]) -> bool:
        now = self._clock.now()
        return await self._run(lambda tx: knows(tx, source.key, keys, now))

    async def cursor(self, source: Source, name: str) -> str | None:
        return await self._run(lambda tx: admissions.read_cursor(tx, source, name))

    async def aliases(self, source: Source) -> dict[str, str]:
        return await self._run(lambda tx: dict(aliases(tx, source.key)))

    # ------------------------------------------------------------------ turns

    async def begin(self, thread: str, now: Instant, *, limit: int = 1) -> Turn | None:
        writer = self._writer
        if writer is not None and writer.memory is not None and turns.reads_nothing(writer.memory, thread, limit):
            return writer.at_once(lambda tx: turns.begin(tx, thread, now, limit))
        return await self._run(lambda tx: turns.begin(tx, thread, now, limit))

    async def sync(self) -> None:
        await self._run(lambda _tx: None)

    async def observe(self, observation: Observation, now: Instant) -> Turn | None:
        try:
            return await self._run(lambda tx: observations.observe(tx, observation, self._policy, now))
        except sqlite3.IntegrityError as error:
            raise observations.refused(observation, error) from error

    async def note(self, observation: Observation, now: Instant) -> None:
        await self._run(lambda tx: observations.note(tx, observation, now))

    async def ready(self) -> Sequence[Ready]:
        return await self._run(turns.ready)

    async def unfinished(self) -> Sequence[Turn]:
        return await self._run(turns.unfinished)

    async def rouse(self, turn: str) -> Turn | None:
        return await self._run(lambda tx: interrupted.rouse(tx, turn))

    async def asking(self, turn: str) -> Turn | None:
        return await self._run(lambda tx: interrupted.asking(tx, turn))

    async def watched(self) -> Sequence[Turn]:
        return await self._run(interrupted.watched)

    async def untold(self) -> Sequence[OpenTask]:
        return await self._run(interrupted.untold)

    async def told(self, agent: str, task_id: str) -> None:
        await self._run(lambda tx: interrupted.told(tx, agent, task_id))

    async def reply(self, task: str, text: str) -> Ready | None:
        """Queue an operator's words as the answer to what a task (its record's id) asks; None when it asks nothing."""
        now = self._clock.now()
        return await self._run(lambda tx: interrupted.reply(tx, task, text, now))

    async def close_question(self, task: str, reports: CancelReports = no_reports) -> OpenTask | None:
        """Close what a task (its record's id) asks; None when it asks nothing."""
        end = followed.Ending(self._clock.now(), reports, self._policy)
        return await self._run(lambda tx: interrupted.close(tx, task, end))

    async def want_cancel(
        self,
        conversation: str,
        before: int,
        *,
        person: str | None,
        everything: bool,
        now: Instant,  # noqa: ARG002
    ) -> Cancellation:
        return await self._run(lambda tx: desk.want_cancel(tx, conversation, before, person, everything))

    async def mark_cancel(self, turn: str) -> bool:
        return await self._run(lambda tx: desk.mark_cancel(tx, turn))

    async def renew(self, conversation: str, now: Instant) -> tuple[OpenTask, ...]:  # noqa: ARG002
        return await self._run(lambda tx: desk.renew(tx, conversation))

    async def cancel_thread(self, thread: str, now: Instant, reports: CancelReports = no_reports) -> Cancellation:
        end = followed.Ending(now, reports, self._policy)
        return await self._run(lambda tx: desk.cancel_thread(tx, thread, end))

    # ------------------------------------------------------------------ followed work

    async def followed(self, thread: str) -> Followed | None:
        return await self._run(lambda tx: followed.read(tx, thread))

    async def keep_bare(self, thread: str) -> None:
        await self._run(lambda tx: followed.keep_bare(tx, thread))

    async def thread_of(self, envelope: str) -> str:
        return await self._run(lambda tx: followed.thread_of(tx, envelope))

    async def followed_page(self, wanted: Wanted) -> FollowedPage:
        found, total = await followed.page(self.rows, wanted)
        works = await self._run(lambda tx: [followed.read(tx, thread) for _, thread, _ in found[: wanted.size]])
        last = found[wanted.size - 1] if len(found) > wanted.size else None
        return FollowedPage(
            works=tuple([work for work in works if work is not None]),
            next=(last[2], last[0]) if last else None,
            total=total,
        )

    async def put_target(self, target: Target, source: Source) -> Target:
        now = self._clock.now()
        return await self._run(lambda tx: followed.put_target(tx, target, source, now))

    async def drop_target(self, thread: str, id: str) -> None:
        await self._run(lambda tx: followed.drop_target(tx, thread, id))

    async def targets(self, source: Source) -> Sequence[Target]:
        return await self._run(lambda tx: followed.targets(tx, source))

    async def targets_of(self, thread: str) -> Sequence[Target]:
        return await self._run(lambda tx: followed.targets_of(tx, thread))

    # ------------------------------------------------------------------ deliveries

    async def claim(self, conversation: str, now: Instant) -> Delivery | NotBefore | None:
        return await self._run(lambda tx: deliveries.claim(tx, conversation, now))

    async def claim_behind(self, delivery: Delivery, now: Instant) -> Delivery | None:
        return await self._run(lambda tx: deliveries.claim_behind(tx, delivery, now))

    async def settle(self, settlement: Settlement, now: Instant, notice: RenderedPiece | None = None) -> bool:
        return await self._run(lambda tx: deliveries.settle(tx, settlement, notice, self._policy, now))

    async def previewed(self, turn: str, shown: str) -> None:
        await self._run(lambda tx: deliveries.previewed(tx, turn, shown))

    async def lanes(self) -> Sequence[tuple[str, Source]]:
        return await self._run(deliveries.lanes)

    async def begun(self) -> Sequence[Delivery]:
        return await self._run(deliveries.begun)

    async def again(self, conversation: str, now: Instant) -> int:
        return await self._run(lambda tx: deliveries.again(tx, conversation, self._policy, now))

    async def ride(self, envelope: str, delivery: str, answer: str, *, was_asked: bool) -> bool:
        return await self._run(lambda tx: windows.ride(tx, envelope, delivery, answer, was_asked))

    async def unride(self, envelope: str, delivery: str) -> None:
        await self._run(lambda tx: windows.unride(tx, envelope, delivery))

    async def held(self, envelope: str) -> HeldWindow | None:
        return await self._run(lambda tx: windows.held(tx, envelope))

    async def retry(self, delivery: str, now: Instant) -> str | None:
        """Queue an unknown, dead or rejected delivery once more; the conversation to wake, None when it is neither."""
        return await self._run(lambda tx: deliveries.retry(tx, delivery, self._policy, now))

    async def discard(self, delivery: str) -> str | None:
        """Give up a delivery that was not shown; its conversation, None when it is under way, shown or not known."""
        return await self._run(lambda tx: deliveries.discard(tx, delivery))

    # ------------------------------------------------------------------ desk

    async def view(self, conversation: str) -> DeskView:
        return await self._run(lambda tx: desk.view(tx, conversation))

    async def offered(self, thread: str) -> Sequence[Offered]:
        return await self._run(lambda tx: offers.offered(tx, thread))

    async def unknown_submission(self, conversation: str, now: Instant) -> Ready | None:  # noqa: ARG002
        return await self._run(lambda tx: desk.unknown_submission(tx, conversation))

    async def choose(self, conversation: str, agent: str) -> None:
        await self._run(lambda tx: desk.choose(tx, conversation, agent))

    # ------------------------------------------------------------------ pushes

    async def open_push(self, target: PushTarget) -> None:
        await self._run(lambda tx: pushes.open_push(tx, target))

    async def close_push(self, id: str) -> None:
        await self._run(lambda tx: pushes.close_push(tx, id))

    async def push_targets(self) -> Sequence[PushTarget]:
        return await self._run(pushes.push_targets)

    # ------------------------------------------------------------------ leases and plugin state

    async def acquire(self, name: str, holder: str, ttl: float) -> int | None:
        now = self._clock.now()
        return await self._run(lambda tx: state.acquire(tx, name, holder, ttl, now))

    async def release(self, name: str, holder: str) -> None:
        await self._run(lambda tx: state.release(tx, name, holder))

    async def read(self, account: str, name: str) -> tuple[str, int] | None:
        return await self._run(lambda tx: state.read(tx, account, name))

    async def write(self, account: str, name: str, value: str, *, version: int) -> bool:
        return await self._run(lambda tx: state.write(tx, account, name, value, version))

    async def forget(self, account: str, name: str, *, version: int) -> bool:
        return await self._run(lambda tx: state.forget(tx, account, name, version))

    # ------------------------------------------------------------------ reading

    async def rows(self, sql: str, values: Mapping[str, object] | None = None) -> Sequence[Row]:
        """What is committed, beside the writer: for records, never for decisions. Raises StoreUnavailable."""
        if self._writer is None:
            raise StoreUnavailable(self._why_not_held)
        if self._writer.owes:
            with suppress(StoreUnavailable):  # what is written can be read while nothing can be
                await self.sync()
        return await self._reader.rows(sql, values)

    async def history(self, address: Address, *, limit: int = 200) -> Sequence[Entry]:
        return await history(self.rows, address, limit)

    # ------------------------------------------------------------------ retention

    async def prune(self, now: Instant) -> int:
        """Remove what is past its time, in small steps between other operations; how many rows went."""
        removed, sweep = 0, retention.Sweep(self._policy, now, self._key_round)
        while not sweep.is_done:
            removed += await self._run(sweep.step)
        return removed
