"""Following one task to its rest, whatever happens to the roads in between.

Read the stream; when it is cut, closes early or stays silent, subscribe, then get, then poll with back-off, until the
task rests. A bare terminal event is confirmed by GetTask before its artifacts count.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable

from core.agent import Road, Snapshot, TaskEvent
from core.errors import AgentError, Declined, InterfaceGone, NotAuthorised, TaskEnded, TaskUnknown, Unreachable
from core.notices import notice
from core.progress import Progress
from core.reading import Reading
from core.record import record_of_error
from core.turn import Disposition, TurnEnd, TurnState

INSISTENT = 5  # times in a row, at least a second apart


class _Insists:
    """What an agent says each time it is asked is so, whatever the clocks say: it may have set its clock back, or gone
    on on another machine. Once is not enough, since it may have copies that do not know the newest yet."""

    def __init__(self) -> None:
        self._said: Snapshot | None = None
        self._times = 0

    def on(self, said: Snapshot) -> bool:
        self._said, self._times = said, self._times + 1 if said == self._said else 1
        return self._times >= INSISTENT


class Following:
    def __init__(self, progress: Progress) -> None:
        self._progress, self._helm = progress, progress.helm
        self._patience = progress.helm.patience
        self._reading: Reading | None = None
        self._quiet: asyncio.TimerHandle | None = None
        self._can_subscribe = True
        self._insists = _Insists()
        self._trouble = ""  # why the task could not be asked after the last time
        self._is_told = False  # that the task is silent

    async def follow(self, is_settled: Callable[[], bool]) -> None:
        """Subscribe, then get, then pause, until nothing more is to be learned of the task."""
        progress = self._progress
        while not is_settled():
            if progress.assembly.is_over:
                await self._confirm()
                continue
            started = self._helm.clock.monotonic()
            if self._can_subscribe:
                await self._subscribe()
            if not progress.assembly.rests:
                await self.ask_after()
            if not is_settled() and not progress.assembly.is_over:
                lasted = self._helm.clock.monotonic() - started
                await progress.pause(self._poll() - lasted)

    def _poll(self) -> float:
        pause = self._patience.poll_pushed if self._progress.is_pushed else self._patience.poll
        return pause(self._progress.silence, random.random())

    async def _tell_if_stale(self) -> None:
        """Its owner hears once of a task that does not move, over restarts too: equal words make no new delivery."""
        progress, patience = self._progress, self._patience
        if self._is_told or progress.silence < patience.stale or progress.has_ended or progress.cancel_wanted:
            return
        self._is_told, task = True, progress.assembly
        progress.telemetry.event("task.silent", level="warning", task=task.task_id, state=task.state.value)
        minutes, language = round(patience.stale / 60), progress.turn.language
        name = "silent" if progress.follower is None else "silent_work"  # a program has no commands
        await progress.commit(pieces=(notice(name, language, minutes=minutes, task=task.task_id),))

    def begin_anew(self) -> None:
        """Another agent is asked, which may let itself be subscribed to."""
        self._can_subscribe = True

    async def record_the_rest(self) -> None:
        """Of a task that was let go of: what becomes of it is recorded, for a while."""
        until = self._helm.clock.monotonic() + self._patience.detached
        await self.follow(lambda: self._progress.assembly.is_over or self._helm.clock.monotonic() > until)

    async def read(self, stream: AsyncIterator[TaskEvent], *, from_the_start: bool) -> None:
        """Take everything a stream says, until it ends, is cut, or the turn ended by another road."""
        progress = self._progress
        progress.assembly.begin_stream(from_the_start=from_the_start)
        self._reading = reading = Reading(stream)
        self._watch()
        try:
            async with reading.limit:
                while (event := await reading.next()) is not None:
                    await progress.take(event, Road.STREAM)
                    if progress.is_misled:
                        break
                    if progress.assembly.rests:
                        reading.leave(self._patience.stream_end)
        except TimeoutError:
            if not reading.limit.expired():
                raise
        finally:
            await reading.close()
            progress.assembly.cut()

    def leave(self) -> None:
        """Nothing more is to be learned from the stream."""
        if self._reading is not None:
            self._reading.leave()

    def stop(self) -> None:
        if self._quiet is not None:
            self._quiet.cancel()
            self._quiet = None

    # ------------------------------------------------------------------ roads

    async def _subscribe(self) -> None:
        try:
            await self.read(self._progress.agent.subscribe(self._progress.ref), from_the_start=False)
        except (NotAuthorised, TaskEnded, TaskUnknown, Unreachable):
            return  # the get that follows says which, and decides; credentials may be changed while the task waits
        except Declined:
            self._can_subscribe = False

    async def ask_after(self) -> None:
        """GetTask: the task's own word, which replaces whatever was assembled."""
        try:
            found = await self._progress.agent.get(self._progress.ref)
            if self._insists.on(found) and self._progress.assembly.is_asked_anew(found):
                self._progress.assembly.forget_times()
            await self._progress.take(found, Road.ANSWER)
            self._trouble = ""
        except TaskUnknown as error:
            await self._lost(error)
        except InterfaceGone as error:
            await self._out_of_reach(error)
        except AgentError as error:
            await self._unreachable(error)
        await self._tell_if_stale()

    async def _unreachable(self, error: AgentError) -> None:
        """Each time is an event; in the inbox it stands once, until something else goes wrong or it went well."""
        self._progress.telemetry.event("task.unreachable", error=str(error))
        if str(error) != self._trouble and not self._progress.has_ended:
            self._trouble = str(error)
            await self._progress.commit(records=(record_of_error(error),))

    async def _confirm(self) -> None:
        """A bare terminal event: get the whole task; when that cannot be had, deliver what was assembled, marked."""
        progress, started, attempt = self._progress, self._helm.clock.monotonic(), 0
        while not progress.has_ended and self._helm.clock.monotonic() - started < self._patience.confirm:
            try:
                await progress.take(await progress.agent.get(progress.ref), Road.ANSWER)
            except TaskUnknown:
                break
            except AgentError as error:
                await self._unreachable(error)
            if not progress.assembly.is_confirmed:
                attempt += 1
                await progress.pause(self._patience.retry(attempt, random.random()))
        await progress.store_unconfirmed()

    # ------------------------------------------------------------------ silence

    def _watch(self) -> None:
        """Ask after a task whose open stream is silent: some never say that they need an answer, or that they ended."""
        self.stop()
        pause = self._patience.quiet
        if self._progress.silence > pause:
            pause = max(pause, self._patience.poll(self._progress.silence, random.random()))
        self._quiet = asyncio.get_running_loop().call_later(pause, self._on_quiet)

    def _on_quiet(self) -> None:
        progress = self._progress
        if progress.has_ended:
            return
        if progress.has_task and progress.silence + 0.01 >= self._patience.quiet:
            self._helm.spawn(self.ask_silent, f"silent {progress.turn.id}")
        else:
            self._watch()

    async def ask_silent(self) -> None:
        """Ask after the task now; its stream is left when it rests."""
        await self.ask_after()
        if self._progress.assembly.rests or self._progress.has_ended:
            self.leave()
        else:
            self._watch()

    # ------------------------------------------------------------------ loss

    async def _lost(self, error: TaskUnknown) -> None:
        """The agent forgot the task: told once, never sent again by itself."""
        progress = self._progress
        async with progress.lock:
            if progress.assembly.is_over or progress.disposition is Disposition.LOST_AT_REMOTE:
                return
            progress.disposition, name = Disposition.LOST_AT_REMOTE, self._lost_notice()
            progress.telemetry.event("task.lost", error=str(error))
            await progress.store(
                records=(record_of_error(error),),
                task=progress.task(),
                pieces=progress.cancelled(name) if progress.cancel_wanted else (notice(name, progress.turn.language),),
                end=TurnEnd(TurnState.INTERRUPTED, reason=str(error)),
            )

    async def _out_of_reach(self, error: InterfaceGone) -> None:
        """It can be asked over the interface that created it alone, and that is gone: told once, and looked for on."""
        progress = self._progress
        progress.telemetry.event("task.unreachable", error=str(error))
        async with progress.lock:
            if progress.has_ended or progress.disposition is not Disposition.TRACKED:
                return
            progress.disposition = Disposition.OUT_OF_REACH
            pieces = (notice("out_of_reach", progress.turn.language),)
            await progress.store(records=(record_of_error(error),), task=progress.task(), pieces=pieces)

    def _lost_notice(self) -> str:
        if self._progress.cancel_wanted:
            return "cancelled"
        return "interrupted" if self._progress.delegate.is_local else "lost_at_remote"
