"""Which conversation's turn is at work on a remote task.

An agent that answers a new message with the task of another conversation is not believed: the gateway would follow
that task with its own credentials, and show one person's result to another. Whose a task is that rests, the store
knows.
"""

from core.turn import Turn


class Holders:
    """Of tasks at work in this process."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, str], tuple[str, str]] = {}  # by agent and task: conversation and turn

    def take(self, turn: Turn) -> None:
        """The first one has it. A later turn of the same conversation may go on with it."""
        if turn.task is not None:
            self._held.setdefault((turn.agent, turn.task.task_id), (turn.conversation, turn.id))

    def release(self, turn: Turn) -> None:
        if turn.task is not None and self._held.get(key := (turn.agent, turn.task.task_id), ("", ""))[1] == turn.id:
            del self._held[key]

    def is_anothers(self, turn: Turn, task_id: str) -> bool:
        held = self._held.get((turn.agent, task_id))
        return held is not None and held[0] != turn.conversation
