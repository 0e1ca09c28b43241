"""The only writer of submissions and remote tasks: streams, answers, polls and cancels of all turns meet here.

Each turn at work is one Pursuit; the tracker gives it what it needs, commits what it observes together with the
deliveries that implies, and finds it again when a person cancels or an operator asks.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from core.clock import Clock
from core.crashpoint import crashpoint
from core.delivery import Piece, RenderedPiece
from core.errors import LeaseLost, StoreUnavailable
from core.notices import notice
from core.parts import text_of
from core.patience import Patience
from core.plugin import AgentPlugin
from core.preview import Preview, Previews
from core.pursuit import Delegate, Pursuit
from core.store import Observation, SubmissionState, Turn, TurnEnd, Turns, TurnState
from core.telemetry import Telemetry


class TaskTracker:
    def __init__(
        self,
        turns: Turns,
        delegates: Mapping[str, Delegate],
        plugins: Mapping[str, AgentPlugin],
        previews: Previews,
        wake_outbox: Callable[[str, str], None],
        tasks: asyncio.TaskGroup,
        clock: Clock,
        telemetry: Telemetry,
        patience: Patience,
    ) -> None:
        self._turns, self._delegates, self._plugins, self._previews = turns, delegates, plugins, previews
        self._wake_outbox, self._tasks = wake_outbox, tasks
        self.clock, self.telemetry, self.patience = clock, telemetry, patience
        self._pursuits: dict[str, Pursuit] = {}

    # ------------------------------------------------------------------ turns

    async def work(self, turn: Turn, park: Callable[[], None], *, resumed: bool) -> bool:
        """Pursue a turn until it ended; True when it ended by asking the person. A turn's failure ends here."""
        started = self.clock.monotonic()
        preview = self._previews.start(turn)
        error = ""
        try:
            delegate = self._delegates.get(turn.agent)
            if delegate is None:
                await self._fail(turn, "no_agent", f"agent {turn.agent} is not configured")
                return False
            pursuit = self._pursuits[turn.id] = Pursuit(turn, delegate, self, preview, park)
            asked = await pursuit.run(resumed=resumed)
            turn = pursuit.turn
            return asked
        except LeaseLost:
            raise
        except Exception as failure:
            error = repr(failure)
            pursued = self._pursuits.get(turn.id)
            await self._fail(pursued.turn if pursued else turn, "internal_error", error)
            return False
        finally:
            self._pursuits.pop(turn.id, None)
            self._previews.stop(turn.id)
            self._finished(turn, started, preview, error)

    def cancel(self, turn_ids: Sequence[str]) -> int:
        """Tell the agents of these turns to stop; how many are at work here."""
        found = [pursuit for turn_id in turn_ids if (pursuit := self._pursuits.get(turn_id))]
        for pursuit in found:
            pursuit.cancel()
        return len(found)

    def refresh(self, turn_id: str) -> bool:
        """Ask after a turn's task now; False when it is not at work here."""
        pursuit = self._pursuits.get(turn_id)
        if pursuit is not None:
            self.spawn(pursuit.refresh(), f"refresh {turn_id}")
        return pursuit is not None

    @property
    def at_work(self) -> int:
        return len(self._pursuits)

    # ------------------------------------------------------------------ what a pursuit is given

    async def commit(self, observation: Observation) -> Turn:
        """Store what was observed, however long the store needs: an agent's word is not given up for a full disk."""
        while True:
            try:
                turn = await self._turns.observe(observation, self.clock.now())
                break
            except StoreUnavailable as error:
                self.telemetry.event("store.unavailable", turn=observation.turn.id, error=str(error))
                await asyncio.sleep(error.retry_after)
        if turn is None:
            raise LeaseLost(f"turn {observation.turn.id} was changed by another process")
        crashpoint("task.after_observe")
        if observation.pieces:
            self._wake_outbox(turn.conversation, turn.address.source.account)
        return turn

    def render(self, turn: Turn, pieces: tuple[Piece, ...]) -> tuple[RenderedPiece, ...]:
        plugin = self._plugins.get(turn.address.source.account)
        if plugin is None:
            return ()
        rendered = (RenderedPiece(piece.key, text_of(piece.parts), plugin.render(piece)) for piece in pieces)
        return tuple(piece for piece in rendered if piece.payloads)

    def spawn(self, work: Awaitable[None], name: str) -> None:
        self._tasks.create_task(_awaited(work), name=name)

    # ------------------------------------------------------------------ ends

    async def _fail(self, turn: Turn, name: str, reason: str) -> None:
        end = TurnEnd(TurnState.FAILED, reason=reason)
        pieces = self.render(turn, (notice(name, turn.language),))
        submission = SubmissionState.REJECTED if turn.submission is SubmissionState.INTENDED else None
        await self.commit(Observation(turn=turn, submission=submission, pieces=pieces, end=end))

    def _finished(self, turn: Turn, started: float, preview: Preview, error: str) -> None:
        fields: dict[str, object] = {"level": "error", "error": error} if error else {}
        self.telemetry.event(
            "turn.finished",
            turn=turn.id,
            agent=turn.agent,
            account=turn.address.source.account,
            duration=round(self.clock.monotonic() - started, 6),
            messages=len(turn.envelopes),
            previewed=preview.task is not None,
            **fields,
        )


async def _awaited(work: Awaitable[None]) -> None:
    await work
