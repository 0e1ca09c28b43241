"""Stopping one task: a cancel that comes before the task's id is known is remembered and sent when it is.

A task that does not confirm it is let go of (detached), which the person is told; what it still says is recorded and
not shown. What the person saw of the answer before the cancel stays. (Of a task that only asked: core/closing.py.)
"""

import random

from core.agent import Road
from core.errors import AgentError, CancelRefused, TaskEnded, TaskUnknown
from core.following import Following
from core.progress import Progress
from core.turn import Disposition, TurnEnd, TurnState

TRIES = 4  # CancelTask calls, with the patience of retries between them


class Cancelling:
    def __init__(self, progress: Progress, following: Following) -> None:
        self._progress, self._following = progress, following
        self._is_sent = False

    def remember(self) -> None:
        """Send the cancel, once, when one is wanted and there is a task to send it for."""
        progress = self._progress
        is_there = progress.has_task and not progress.assembly.is_over
        if progress.cancel_wanted and is_there and not self._is_sent:
            self._is_sent = True
            progress.helm.spawn(self._send, f"cancel {progress.turn.id}")

    async def end(self, name: str) -> None:
        """The turn ends cancelled; `name` is of the notice that says how."""
        progress = self._progress
        async with progress.lock:
            await progress.store(
                task=progress.task() if progress.has_task else None,
                pieces=progress.cancelled(name),
                end=TurnEnd(TurnState.CANCELLED, reason=name),
            )

    async def _send(self) -> None:
        progress = self._progress
        if progress.disposition is Disposition.TRACKED:
            progress.disposition = Disposition.CANCEL_ASKED
        refused = await self._ask_to_stop()
        if progress.follower is not None:  # a program is told what is so, and the work goes on if it does
            if not progress.has_ended:
                progress.cancel_wanted = self._is_sent = False
                progress.follower.not_cancelled(progress.turn, is_refused=bool(refused))
            return
        if not progress.has_ended:
            progress.disposition = Disposition.DETACHED
            await self.end(refused or "cancel_unconfirmed")
        self._following.leave()

    async def _ask_to_stop(self) -> str:
        """The notice that the agent's refusal calls for; "" where it did not refuse."""
        progress = self._progress
        for attempt in range(TRIES):
            try:
                answer = await progress.agent.cancel(progress.ref)
                if answer is not None:
                    await progress.take(answer, Road.ANSWER)
                break
            except CancelRefused:
                return "cancel_refused"
            except (TaskEnded, TaskUnknown):
                await self._following.ask_after()
                break
            except AgentError:
                await progress.pause(progress.helm.patience.retry(attempt, random.random()))
        return ""
