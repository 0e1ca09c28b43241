"""One turn's way from the question to its answer, whatever happens to the roads in between.

Its parts, each in a file of its own: the message is handed over (core/submitting.py), the task is followed until it
rests (core/following.py), its agent may push (core/pushing.py), a cancel is sent when there is a task to cancel
(core/cancelling.py), and everything that is heard goes through one picture of the task and is stored
(core/progress.py).
"""

import asyncio
from collections.abc import Callable
from weakref import WeakMethod

from core.agent import TaskEvent
from core.cancelling import Cancelling
from core.clock import Instant
from core.crashpoint import crashpoint
from core.errors import OutcomeUnknown
from core.following import Following
from core.helm import Delegate, Helm
from core.preview import Preview
from core.progress import Progress
from core.pushing import Pushing
from core.submitting import Submitting
from core.turn import Disposition, Turn


class Pursuit:
    def __init__(self, turn: Turn, delegate: Delegate, helm: Helm, preview: Preview, park: Callable[[], None]) -> None:
        self._helm, self._park = helm, park
        self._progress = Progress(turn, delegate, helm, preview)
        self._following = Following(self._progress)
        self._cancelling = Cancelling(self._progress, self._following)
        self._pushing = Pushing(self._progress, self._following, helm.pushes)
        self._submitting = Submitting(self._progress, self._following, self._cancelling, self._pushing)
        self._progress.on_taken = WeakMethod(self._on_taken)

    @property
    def turn(self) -> Turn:
        return self._progress.turn

    @property
    def heard(self) -> Instant:
        return self._progress.heard

    @property
    def waits_for_somebody(self) -> bool:
        """Whether its turn ended with a question that the task still asks."""
        return self._progress.has_asked and self._progress.assembly.state.is_interrupted

    @property
    def has_moved_on(self) -> bool:
        """Whether its turn ended with a question, and the stream said more before it was left."""
        return self._progress.has_asked and not self._progress.assembly.state.is_interrupted

    async def run(self, *, after: float | None) -> Turn:
        """Until the turn has ended; the turn then. `after`: taken up after a start, in so many seconds; None: new."""
        progress = self._progress
        since = max(0.0, self._helm.clock.now() - self.turn.begun)
        foreground = max(0.0, self._helm.patience.foreground - since)
        timer = asyncio.get_running_loop().call_later(
            foreground, lambda: self._helm.spawn(self._go_waiting, f"waiting {self.turn.id}")
        )
        try:
            self._submitting.is_clear = self.turn.revision == 0 if after is None else not self.turn.asked
            if after:
                await progress.pause(after)
            await self._begin(is_new=after is None)
            await self._following.follow(lambda: progress.has_ended)
        finally:
            timer.cancel()
            self._following.stop()
        if self._is_let_go() or (progress.target is not None and not self.waits_for_somebody):
            self._helm.spawn(self._wind_up, f"after {self.turn.id}")
        return self.turn

    async def _begin(self, *, is_new: bool) -> None:
        """From wherever an earlier process left it."""
        if self._progress.has_task:
            self._cancelling.remember()
        elif is_new or not self.turn.asked:
            if not self._progress.delegate.is_local:  # a local one may be asked again by the next process
                await self._helm.sync()
                crashpoint("router.after_claim")
            await self._submitting.submit(maybe_there=False)
        elif await self._submitting.look(OutcomeUnknown("the gateway stopped before the agent answered")):
            await self._submitting.submit(maybe_there=True)

    def _on_taken(self) -> None:
        self._cancelling.remember()
        self._pushing.bind()

    def _is_let_go(self) -> bool:
        return self._progress.disposition is Disposition.DETACHED and not self._progress.assembly.is_over

    async def _wind_up(self) -> None:
        if self._is_let_go():
            await self._following.record_the_rest()
        await self._pushing.end()

    async def _go_waiting(self) -> None:
        await self._progress.store_waiting()
        self._park()
        await self._pushing.by_call()

    async def pushed(self, event: TaskEvent) -> None:
        """What its agent pushed of the task."""
        await self._pushing.take(event)

    def cancel(self) -> None:
        """The person no longer wants it. Remembered when there is no task yet to cancel."""
        self._progress.cancel_wanted = True
        self._cancelling.remember()
        self._progress.wake()

    def wake(self) -> None:
        """It waits no longer for its agent to be there."""
        self._progress.wake()

    async def refresh(self) -> None:
        """Ask after the task now, on an operator's word."""
        if self._progress.has_task and not self._progress.has_ended:
            await self._following.ask_silent()
        self._progress.wake()
