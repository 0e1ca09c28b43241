"""Served tasks through the line: a calling agent is admitted like anybody who writes, and then follows its work.

A send is one admission: its task is the thread that this starts, or the one it names. From then on the line tells
what becomes of it (served_lives.py), and all that a caller asks is answered from that or from its record. Nothing
here depends on the connection by which it was asked. Section numbers are those of the A2A 1.0 specification.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

from msgspec.structs import replace

from a2a.server.port import (
    BadRequest,
    Caller,
    Filter,
    Message,
    NoSuchTask,
    NotCancelable,
    Overloaded,
    PushConfig,
    Send,
    ServedEvent,
    ServedTask,
    StatusChange,
    TaskPage,
    Unsupported,
)
from a2a.server.pushing import Pushes
from a2a.server.rates import Rates
from a2a.server.served_live import Live, Reader
from a2a.server.served_lives import Lives
from a2a.server.served_words import inbound_of, task_of, token_of, wanted_of
from core.agent import TaskState
from core.errors import Busy, StoreUnavailable
from core.followed import FollowedWork, Target, Wanted
from core.ids import is_own, new_id, secret_id
from core.plugin import Accepted, Duplicate, Intake

FIRST_WORD = 1.0  # seconds for which a stream's first event waits for the agent's first word: it may be a bare message
CANCEL_WAIT = 10.0  # seconds for which a cancel waits for what the agent says to it
STARTING_RETRY = 2.0  # seconds

T = TypeVar("T")


class Served:
    """The tasks of one agent, on one account."""

    def __init__(
        self,
        account: str,
        agent: str,
        work: FollowedWork,
        lives: Lives,
        pushes: Pushes,
        door: Callable[[], Intake | None],
        passes: Sequence[str] = (),
        *,
        rates: Rates,
    ) -> None:
        """`door` gives None while nothing can be admitted; `passes` are the keys of a message's metadata, and the
        extensions, that are handed on to the agent."""
        self._account, self._agent, self._work, self._lives = account, agent, work, lives
        self._pushes, self._door, self._passes = pushes, door, passes
        self._rates = rates

    # ------------------------------------------------------------------ sending

    async def send(self, caller: Caller, request: Send) -> ServedTask | Message:
        live, is_new = await self._accepted(caller, request)
        try:
            if request.waits:
                await _rest(live, request.patience)
                if live.bare is not None:
                    return await self._answered(caller, live, live.bare, is_new=is_new)
            live.is_told = True
            return live.task
        finally:
            self._lives.release(live)

    async def stream(self, caller: Caller, request: Send) -> AsyncIterator[Sequence[ServedEvent]]:
        live, is_new = await self._accepted(caller, request)
        reader, goes_on = live.join(), not live.rests
        first = reader.first
        try:
            if (bare := await self._bare(live, reader) if is_new else live.bare) is not None:
                yield (await self._answered(caller, live, bare, is_new=is_new),)
                return
            live.is_told = True
            while events := await reader.next():
                rest = next((event for event in events if _rests(event) and not (event is first and goes_on)), None)
                yield _up_to(rest, events)
                if rest is not None:
                    return
        finally:
            live.leave(reader)
            self._lives.release(live)

    @staticmethod
    async def _bare(live: Live, reader: Reader) -> Message | None:
        """The bare message that is the whole answer, if the agent's first word is one and comes soon."""
        with suppress(TimeoutError):
            async with asyncio.timeout(FIRST_WORD):
                while not live.has_spoken:
                    await reader.news()
        return live.bare

    async def _answered(self, caller: Caller, live: Live, bare: Message, *, is_new: bool) -> Message:
        """A bare message; an equal send gets it again, and no task that nobody was told of."""
        if caller.is_idempotent and is_new:
            await self._stored(self._work.records.keep_bare(live.id))
        return bare

    async def _accepted(self, caller: Caller, request: Send) -> tuple[Live, bool]:
        """The task, once the message is durable, held; and whether the message started it."""
        if request.push is not None:
            self._pushes.check(request.push)
        if request.message.task_id:
            async with self._held(caller, request.message.task_id) as live:
                _check(live, caller, request)
                self._rates.take(caller, self._agent, live.context_id)
                return await self._admitted(caller, request, live.context_id, live)
        context = await self._context(caller, request.message.context_id)
        self._rates.take(caller, self._agent, request.message.context_id)
        return await self._admitted(caller, request, context, None)

    async def _context(self, caller: Caller, named: str) -> str:
        """The context of a message that names no task.

        Strangers are one owner to the gateway and nothing to each other: whoever knows a context's id is in it. So they
        go on in contexts that were made here only, whose ids nobody guesses; a context cannot be refused and another
        one made in its place (3.4.1).
        """
        if caller.may_list:
            return named or new_id()
        if not named:
            return secret_id()
        wanted = Wanted(self._owner(caller), self._agent, 1, topic=named)
        if not is_own(named) or not (await self._stored(self._work.records.followed_page(wanted))).total:
            raise BadRequest("message.contextId", "is not known here; leave it out, and the answer names a new one")
        return named

    async def _admitted(self, caller: Caller, request: Send, context: str, named: Live | None) -> tuple[Live, bool]:
        accepted = await self._admit(caller, request, context)
        if isinstance(accepted, str):  # sent before
            return await self._hold(caller, accepted), False
        message = replace(request.message, context_id=context, task_id=accepted.thread)
        live = named if named is not None else Live(accepted.thread, self._owner(caller), self._agent)
        live.holders += 1
        try:
            if named is None:
                live.begin(context, message, self._work.clock.now())
                self._lives.keep(live)
            else:
                live.answered(message)
            if accepted.target is not None:
                self._pushes.keep(accepted.target)
        except BaseException:
            self._lives.release(live)
            raise
        return live, named is None

    async def _admit(self, caller: Caller, request: Send, context: str) -> Accepted | str:
        """The admission, or the task of an equal send that was admitted before."""
        intake = self._door()
        if intake is None:
            raise Overloaded("the gateway is starting or stopping", retry_after=STARTING_RETRY)
        inbound = inbound_of(caller, self._agent, request, context, self._passes, self._also(caller, request))
        try:
            (admission,) = await intake.accept((inbound,))
            if isinstance(admission, Accepted):
                return admission
            if isinstance(admission, Duplicate) and admission.envelope:
                if thread := await self._work.records.thread_of(admission.envelope):
                    return thread
                raise NoSuchTask("the task of this message is not known any more")
        except (Busy, StoreUnavailable) as error:
            raise Overloaded("the gateway cannot take more now", retry_after=error.retry_after) from error
        if not request.message.task_id:
            raise Unsupported("the gateway does not take messages of this caller")
        async with self._held(caller, request.message.task_id) as live:
            raise _ended(live)

    def _also(self, caller: Caller, request: Send) -> Callable[[str], Target] | None:
        if request.push is None:
            return None
        return self._pushes.with_message(_set_by(caller, replace(request.push, task_id=request.message.task_id)))

    # ------------------------------------------------------------------ reading

    async def subscribe(self, caller: Caller, task_id: str) -> AsyncIterator[Sequence[ServedEvent]]:
        async with self._held(caller, task_id) as live:
            if live.state.is_terminal:
                raise Unsupported(f"the task is {live.state.value}; get it instead")
            reader = live.join()
            try:
                while events := await reader.next():
                    end = next((event for event in events if _ends(event)), None)
                    yield _up_to(end, events)
                    if end is not None:
                        return
            finally:
                live.leave(reader)

    async def get(self, caller: Caller, task_id: str) -> ServedTask:
        async with self._held(caller, task_id) as live:
            return live.task

    async def list(self, caller: Caller, wanted: Filter) -> TaskPage:
        if not caller.may_list:
            return TaskPage((), "", 0)
        owner = self._owner(caller)
        page = await self._stored(self._work.records.followed_page(wanted_of(owner, self._agent, wanted)))
        tasks = [task_of(work) for work in page.works]
        return TaskPage(tasks, token_of(page.next, owner, self._agent, wanted), page.total)

    # ------------------------------------------------------------------ cancelling

    async def cancel(self, caller: Caller, task_id: str) -> ServedTask:
        async with self._held(caller, task_id) as live:
            if live.state.is_terminal:
                raise _not_cancelable(live)
            asked, refused, at = live.asked, live.refusals, self._work.clock.now()
            if not await self._stored(self._work.cancel(live.id, live.owner, at)):
                live.end(TaskState.CANCELED, at)  # no turn is at work that could say so
                self._pushes.ended(live.id)
            with suppress(TimeoutError):
                async with asyncio.timeout(CANCEL_WAIT):
                    while not live.state.is_terminal and live.asked == asked:
                        await live.change()
            if live.refusals > refused and not live.state.is_terminal:
                raise NotCancelable("the agent cannot or will not stop this task")
            return live.task

    # ------------------------------------------------------------------ push

    async def set_push(self, caller: Caller, config: PushConfig) -> PushConfig:
        self._pushes.check(config)
        async with self._held(caller, config.task_id) as live:
            stored = await self._stored(self._pushes.put(_set_by(caller, config), is_over=live.state.is_terminal))
            if live.state.is_terminal:  # maybe only just now
                self._pushes.ended(live.id)
            return stored

    async def push(self, caller: Caller, task_id: str, config_id: str) -> PushConfig:
        for config in await self.pushes(caller, task_id):
            if config.id == config_id:
                return config
        raise NoSuchTask("the task has no such push notification config")

    async def pushes(self, caller: Caller, task_id: str) -> Sequence[PushConfig]:
        async with self._held(caller, task_id):
            return await self._stored(self._pushes.of(task_id))

    async def drop_push(self, caller: Caller, task_id: str, config_id: str) -> None:
        async with self._held(caller, task_id):
            await self._stored(self._pushes.drop(task_id, config_id))

    # ------------------------------------------------------------------ tools

    def _owner(self, caller: Caller) -> str:
        return f"{self._account}:{caller.owner}"

    @asynccontextmanager
    async def _held(self, caller: Caller, task_id: str) -> AsyncIterator[Live]:
        live = await self._hold(caller, task_id)
        try:
            yield live
        finally:
            self._lives.release(live)

    async def _hold(self, caller: Caller, task_id: str) -> Live:
        return await self._stored(self._lives.hold(task_id, self._owner(caller), self._agent))

    @staticmethod
    async def _stored(asking: Awaitable[T]) -> T:
        try:
            return await asking
        except StoreUnavailable as error:
            raise Overloaded("the gateway cannot store anything now", retry_after=error.retry_after) from error


async def _rest(live: Live, patience: float | None) -> None:
    """Until the task rests, for so many seconds at most; None: however long that takes."""
    if patience is None:  # which needs no timer
        await live.rest()
        return
    with suppress(TimeoutError):
        async with asyncio.timeout(patience):
            await live.rest()


def _up_to(last: ServedEvent | None, events: Sequence[ServedEvent]) -> Sequence[ServedEvent]:
    return events if last is None or last is events[-1] else events[: events.index(last) + 1]


def _set_by(caller: Caller, config: PushConfig) -> PushConfig:
    return replace(config, setter=(caller.owner, caller.name))


def _rests(event: ServedEvent) -> bool:
    return isinstance(event, StatusChange | ServedTask) and (event.state.is_terminal or event.state.is_interrupted)


def _ends(event: ServedEvent) -> bool:
    return isinstance(event, StatusChange) and event.state.is_terminal


def _check(live: Live, caller: Caller, request: Send) -> None:
    context = request.message.context_id
    if context and context != live.context_id:
        raise BadRequest("message.contextId", "is not the context of the task that the message names")
    if live.state.is_terminal and not caller.is_idempotent:  # an equal message may have been what ended it
        raise _ended(live)


def _ended(live: Live) -> Unsupported:
    return Unsupported(f"the task is {live.state.value}, and takes no more messages; start another in its context")


def _not_cancelable(live: Live) -> NotCancelable:
    return NotCancelable(f"the task is {live.state.value} already")
