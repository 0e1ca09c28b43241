"""What every engine decides in the same way; pure, so that no engine can drift from another."""

from dataclasses import dataclass

from core.agent import TaskState
from core.errors import ConfigurationError
from core.turn import Disposition, SubmissionState, Turn, TurnEnd, TurnState

HOUR = 3600.0  # seconds
DAY = 24 * HOUR
LEAST_HORIZON = 48 * HOUR  # channels repeat an update for a day and more; a shorter memory would answer it twice
TOO_OLD = "too old"  # why a delivery past its `not_after` is dead
TEXT_SHOWN = 200  # characters of a question in a list


@dataclass(frozen=True, slots=True)
class Policy:
    """How long things are kept, in seconds."""

    max_age: float = DAY  # a delivery older than this is not sent any more; its age counts from its queueing
    dedupe_horizon: float = 3 * DAY
    retention: float = 30 * DAY

    def __post_init__(self) -> None:
        if self.dedupe_horizon < LEAST_HORIZON:
            raise ConfigurationError("the dedupe horizon must be at least 48 hours", setting="gateway.dedupe_horizon")
        if self.retention < self.dedupe_horizon:
            raise ConfigurationError(
                "retention must not be shorter than the dedupe horizon", setting="gateway.retention"
            )


def state_after(end: TurnEnd, *, has_queued: bool) -> str:
    """The thread's state once its turn left the lane (or, for WAITING, gave its place in it back)."""
    if end.state is TurnState.WAITING or end.waits_for_input:
        return "waiting"
    return "queued" if has_queued else end.state.value


def is_troubled(turn: Turn, end: TurnEnd | None) -> bool:
    """Whether an operator would look for it: it did not complete, or nobody knows whether the agent has the message."""
    is_done = end is None or end.state in (TurnState.COMPLETED, TurnState.WAITING)
    return not is_done or turn.submission in (SubmissionState.UNKNOWN, SubmissionState.REJECTED)


def quote_of(question: str, *, part: int, is_direct: bool, is_overtaken: bool) -> str:
    """An answer quotes its question where others read along, or when another message came in between; once."""
    return question if part == 0 and (is_overtaken or not is_direct) else ""


def is_open(state: str, disposition: str) -> bool:
    """A remote task that may still say something: retention spares it and all that leads to its address."""
    is_left = disposition in (Disposition.DETACHED.value, Disposition.LOST_AT_REMOTE.value)
    return not (is_left or state in _TERMINAL)


_TERMINAL = frozenset(state.value for state in TaskState if state.is_terminal)
