"""How long the gateway waits for agents, and how often it asks again: policy only, no clock and no sleeping here."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Patience:
    """All in seconds."""

    foreground: float = 30.0  # of remote work, after which the next message starts a thread of its own
    quiet: float = 12.0  # of silence on an open stream before the task is asked (a stream may never say what it should)
    stream_end: float = 1.0  # that a stream may stay open after it said the task rests
    poll_first: float = 1.0
    poll_most: float = 300.0
    pushed_least: float = 60.0  # between two questions about a task that its agent is pushing: a push may get lost
    retry_first: float = 0.5  # before a message that was certainly not taken is sent again
    retry_most: float = 30.0
    fallback: float = (
        5.0  # of taking nothing, after which an agent is down and its fallback is asked: a restart is shorter
    )
    give_up: float = 900.0  # after which a message no agent took is given up, and the person told
    paused: float = 86_400.0  # the same of a message to an agent whose operator has to agree to its card first
    tell_unreachable: float = 20.0  # after which the person hears that the agent cannot be reached
    stale: float = 1800.0  # of a task without anything new, after which its owner hears of it, once in a turn
    confirm: float = 60.0  # for which a bare terminal event may wait for its confirmation
    look: float = 60.0  # for which a lost answer is looked for
    stagger: float = 0.05  # between two of many that go on at the same word: their agents get twenty a second
    detached: float = 3600.0  # for which a task goes on being recorded after a cancel it did not confirm

    def poll(self, silent: float, jitter: float) -> float:
        """The pause before the next GetTask of a task silent for so long: a tenth of the silence, within bounds."""
        return min(self.poll_most, max(self.poll_first, silent / 10)) * (0.8 + 0.4 * jitter)

    def poll_pushed(self, silent: float, jitter: float) -> float:
        """The same while the agent pushes: sparse, but never none."""
        return max(self.pushed_least * (0.8 + 0.4 * jitter), self.poll(silent, jitter))

    def retry(self, attempt: int, jitter: float, asked_for: float | None = None) -> float:
        """The pause before attempt number `attempt` + 1; never shorter than what the agent asked for."""
        pause = min(self.retry_most, self.retry_first * 2.0 ** min(attempt, 16)) * (0.8 + 0.4 * jitter)
        return max(pause, asked_for or 0.0)
