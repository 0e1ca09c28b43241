"""Handing one turn's message to its agent: sent, sent again, looked for, or given up.

The submission is stored as intended before it is sent. A message that was certainly not taken is sent again with
back-off; one whose answer was lost is looked for first, and sent again only where the agent is known to deduplicate.
The messageId never changes over the tries.
"""

import random
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, replace

from core.agent import Ask, Reply, Road, TaskEvent
from core.assembly import Assembly
from core.cancelling import Cancelling
from core.envelope import Envelope
from core.errors import (
    AgentError,
    AgentPaused,
    Declined,
    NotAccepted,
    NotAuthorised,
    OutcomeUnknown,
    TaskEnded,
    TaskUnknown,
    Unreachable,
)
from core.files import filled
from core.following import Following
from core.notices import notice
from core.parts import Attached
from core.progress import Progress
from core.pushing import Pushing
from core.record import record_of_error
from core.turn import SubmissionState, TurnEnd, TurnState


@dataclass(slots=True)
class _Tries:
    """Tries in a row of which an agent certainly took nothing, or of which each answer was lost."""

    since: float  # monotonic
    count: int = 0
    is_told: bool = False


class Submitting:
    def __init__(self, progress: Progress, following: Following, cancelling: Cancelling, pushing: Pushing) -> None:
        self._progress, self._following, self._cancelling = progress, following, cancelling
        self._pushing = pushing
        self._helm, self._patience = progress.helm, progress.helm.patience
        self.is_clear = False  # certainly no try has left anything at an agent so far
        self._has_fallen_back = False

    async def submit(self, *, maybe_there: bool) -> None:
        """Until it was taken, or the turn has ended. `maybe_there`: an earlier try may have reached the agent."""
        progress, ask = self._progress, await self._first_ask()
        if push := await self._pushing.with_send():
            ask = replace(ask, push=push)
        tries, lost = self._tries(), self._tries()
        while not progress.has_ended:
            if progress.cancel_wanted and not maybe_there:
                return await self._cancelling.end("cancelled")
            try:
                if not progress.turn.asked:
                    await progress.commit(asked=True)
                answer = self._of_any_task(ask) if maybe_there and ask.task_id else progress.agent.send(ask)
                maybe_there = True
                await self._following.read(answer, from_the_start=True)
                if progress.is_submitted:
                    return None
                said = (
                    "answered with a task of another conversation" if progress.is_misled else "ended its answer at once"
                )
                raise OutcomeUnknown(f"the agent {said}")
            except NotAccepted as error:
                maybe_there, tries = False, await self._bear(error, tries)
                ask = self._anew(ask)
            except (TaskEnded, TaskUnknown) as error:
                if ask.task_id is None:
                    return await self._fail(error, "declined")
                # A finished task is never continued: a new one, in the same context.
                ask, maybe_there, progress.assembly = replace(ask, task_id=None, binding=""), False, Assembly()
            except NotAuthorised as error:
                if not await self._fell_back(error):
                    return await self._fail(error, "not_authorised")
                maybe_there, tries, ask = False, self._tries(), self._anew(ask)
            except Declined as error:
                return await self._fail(error, "declined")
            except (OutcomeUnknown, Unreachable) as error:
                self.is_clear = False
                if progress.is_submitted or not await self.look(error, since=lost.since):
                    return None  # taken, and cut: follow; or nobody can tell, and the turn has ended
                await progress.pause(self._patience.retry(lost.count, random.random()))
                lost.count += 1
        return None

    async def _of_any_task(self, ask: Ask) -> AsyncIterator[TaskEvent]:
        """What the agent says to a message that it may have already."""
        async with aclosing(self._progress.agent.send(ask)) as events:  # type: ignore[type-var]
            async for event in events:
                self._adopt(event)
                yield event

    def _adopt(self, event: TaskEvent) -> None:
        """It is about this message. Where the task had ended that the message was for, an earlier process asked for a
        new one, and this is that."""
        progress = self._progress
        is_other = not isinstance(event, Reply) and event.task_id != progress.assembly.task_id
        if is_other and progress.assembly.task_id and not progress.is_submitted:
            progress.assembly = Assembly()

    def _tries(self) -> _Tries:
        return _Tries(self._helm.clock.monotonic())

    def _anew(self, ask: Ask) -> Ask:
        """In the context of whoever is asked now; another agent is not told where the first one may push."""
        turn = self._progress.turn
        return replace(ask, context_id=turn.context_id, push=None if self._has_fallen_back else ask.push)

    async def _first_ask(self) -> Ask:
        turn = self._progress.turn
        parts = await filled(self._helm.files, tuple(part for each in turn.envelopes for part in each.parts))
        binding = turn.task.binding if turn.task_id and turn.task else ""
        last = turn.envelopes[-1] if turn.envelopes else None
        origin = last.message_id if last else ""
        beside = (last.attached if last else None) or Attached()
        return Ask(
            turn.message_id,
            parts,
            turn.context_id,
            turn.task_id,
            metadata=beside.passed_metadata,
            extensions=beside.passed_extensions,
            request_metadata=beside.passed_request,
            origin=origin,
            binding=binding,
            hops=beside.hops + 1 if self._progress.follower is not None else 0,
            forwarded=tuple(_forwarded(turn.envelopes)),
        )

    async def _bear(self, error: NotAccepted, tries: _Tries) -> _Tries:
        """After a try of which nothing was taken: give up, ask another agent, or pause; what the next one counts on."""
        tries.count += 1
        waited, is_paused = self._helm.clock.monotonic() - tries.since, isinstance(error, AgentPaused)
        if waited > (self._patience.paused if is_paused else self._patience.give_up):
            await self._fail(error, "agent_given_up")
            return tries
        pause = self._patience.retry(tries.count, random.random(), error.retry_after)
        if (is_paused or waited + pause > self._patience.fallback) and await self._fell_back(error):
            return self._tries()
        tell = not tries.is_told and (is_paused or waited > self._patience.tell_unreachable)
        await self._not_taken(error, tell=tell)
        tries.is_told = tries.is_told or tell
        await self._progress.pause(pause)
        return tries

    async def _not_taken(self, error: NotAccepted, *, tell: bool) -> None:
        progress, is_paused = self._progress, isinstance(error, AgentPaused)
        name = "agent_paused" if is_paused else "agent_unreachable"
        pieces = (notice(name, progress.turn.language),) if tell else ()
        records = () if is_paused and not tell else (record_of_error(error),)  # a pause may last a day
        await progress.commit(asked=not self.is_clear, records=records, pieces=pieces)
        progress.telemetry.event("submission.not_accepted", error=str(error))

    async def _fell_back(self, error: AgentError) -> bool:
        """Whether another agent is asked from here on, since this one is down.

        Only what certainly left nothing at an agent may go to another one, and an answer to a question belongs to
        whoever asked it.
        """
        progress = self._progress
        turn, other = progress.turn, self._helm.fallback(progress.turn)
        is_free = self.is_clear and turn.task_id is None and not progress.cancel_wanted
        if not other or not is_free or self._has_fallen_back:
            return False
        self._has_fallen_back = True
        await progress.commit(
            agent=other,
            asked=False,
            records=(record_of_error(error),),
            pieces=(notice("fell_back", turn.language, agent=turn.agent, other=other),),
        )
        self._following.begin_anew()
        self._helm.telemetry.event("turn.fell_back", turn=turn.id, agent=turn.agent, fallback=other, error=str(error))
        return True

    async def _fail(self, error: AgentError, name: str) -> None:
        said = {"said": error.sample} if error.sample else {}
        self._progress.telemetry.event("submission.refused", level="warning", outcome=name, error=str(error), **said)
        await self._progress.commit(
            submission=SubmissionState.REJECTED,
            records=(record_of_error(error),),
            pieces=(notice(name, self._progress.turn.language),),
            end=TurnEnd(TurnState.FAILED, reason=str(error)),
        )

    # ------------------------------------------------------------------ look

    async def look(self, error: AgentError, *, since: float | None = None) -> bool:
        """Look for a message whose answer was lost. True: ask again. Else it was found, or the turn has ended.

        `since`: when it was first asked (monotonic); after the patience to give up nobody is asked again.
        """
        progress = self._progress
        found = await self._found()
        if progress.is_submitted:
            return False  # a push was faster
        if found is not None:
            self._adopt(found)
            await progress.take(found, Road.ANSWER)
            if not progress.is_misled:
                return False
        waited = 0.0 if since is None else self._helm.clock.monotonic() - since
        is_over = progress.cancel_wanted or progress.is_misled or waited > self._patience.give_up
        if progress.delegate.resubmits and not is_over:
            return True
        await progress.commit(
            submission=SubmissionState.UNKNOWN,
            records=(record_of_error(error),),
            pieces=(notice("submission_unknown", progress.turn.language, again=progress.turn.revision),),
            end=TurnEnd(TurnState.INTERRUPTED, reason=f"submission unknown: {error}"),
        )
        progress.telemetry.event("submission.unknown", error=str(error))
        return False

    async def _found(self) -> TaskEvent | None:
        progress, started, attempt = self._progress, self._helm.clock.monotonic(), 0
        while not progress.is_submitted:
            try:
                return await progress.agent.find(progress.turn.context_id, progress.turn.message_id)
            except Declined:
                return None
            except AgentError:
                attempt += 1
                if self._helm.clock.monotonic() - started > self._patience.look:
                    return None
                await progress.pause(self._patience.retry(attempt, random.random()))
        return None


def _forwarded(envelopes: Iterable[Envelope]) -> Iterator[int]:
    """Which parts of them all, one behind the other, their senders passed on and did not write."""
    first = 0
    for envelope in envelopes:
        for at in envelope.forwarded:
            yield first + at
        first += len(envelope.parts)
