"""What the gateway knows of one remote task, assembled from whatever arrives by whatever road.

Monotonic: identity never changes, terminal is final, an older status is ignored (equal times: terminal over
interrupted over working). A Snapshot replaces what was assembled. Chunks are appended to artifacts by id, and only
while the stream they came by is unbroken since its start or since its last Snapshot; after any cut the task's own
artifacts are the truth. (A2A 1.0, sections 3.5.2 and 4.2.2; reducing twice what came twice changes nothing but
appended text, which the confirming Snapshot sets right.)
"""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from core.agent import Artifact, ArtifactUpdate, Metadata, Reply, Snapshot, StatusUpdate, TaskEvent, TaskState
from core.clock import Instant
from core.parts import Attached, Part, Text, joined

ASSEMBLED_CAP = 4 * 1024 * 1024  # characters kept while a stream runs; beyond it only the final Snapshot counts


class Change(Enum):
    APPLIED = "applied"
    UNCHANGED = "unchanged"  # nothing new in it
    STALE = "stale"  # older than what is known
    LATE = "late"  # after the task was terminal
    FOREIGN = "foreign"  # of another task or context: an alarm


@dataclass(slots=True)
class Assembly:
    task_id: str = ""
    context_id: str = ""
    state: TaskState = TaskState.SUBMITTED
    state_time: Instant | None = None
    message: tuple[Part, ...] = ()
    attached: Attached | None = None  # to the message
    metadata: dict[str, Any] = field(default_factory=dict)  # of the task and its statuses; it only grows
    artifacts: dict[str, Artifact] = field(default_factory=dict)
    sealed: set[str] = field(default_factory=set)
    reply: Reply | None = None
    answered: Instant | None = None  # the time of the question this turn answers: that question is not news
    is_whole: bool = False  # the artifacts are from a Snapshot, nothing appended since
    unbroken: bool = False
    is_reopened: bool = False  # interrupted as far as is known, but its question is not open: it would be news again
    _size: int = 0

    @property
    def is_over(self) -> bool:
        """Nothing more is to come: the task is terminal, or the agent answered with a bare message."""
        return self.reply is not None or (bool(self.task_id) and self.state.is_terminal)

    @property
    def is_confirmed(self) -> bool:
        """What is assembled is the agent's own whole word: a bare end is not, a question is."""
        return self.reply is not None or self.is_whole or self.state.is_interrupted

    @property
    def rests(self) -> bool:
        """Over, or interrupted until a person speaks."""
        return self.is_over or (bool(self.task_id) and self.state.is_interrupted and not self.is_reopened)

    def begin_stream(self, *, from_the_start: bool) -> None:
        """A road opens; chunks count from here if it is the task's first one, else after its first Snapshot."""
        self.unbroken = from_the_start

    def cut(self) -> None:
        self.unbroken = False

    def apply(self, event: TaskEvent) -> Change:
        match event:
            case Reply():
                return self._apply_reply(event)
            case Snapshot():
                return self._apply_snapshot(event)
            case StatusUpdate():
                return self._apply_status(event)
            case ArtifactUpdate():
                return self._apply_artifact(event)

    def words(self) -> str:
        """What a preview shows: the artifacts so far, else what the agent says of its progress."""
        texts = [_text(artifact.parts) for artifact in self.artifacts.values()]
        return "\n\n".join(text for text in texts if text) or _text(self.message)

    def is_asked_anew(self, said: Snapshot) -> bool:
        """Whether it would be a question to a person, other than the one this turn answers, but for its time."""
        return said.state.is_interrupted and not self.is_over and said.time != self.answered

    def forget_times(self) -> None:
        """The agent's clock was set back: what it says next is not older."""
        self.state_time = self.answered = None

    # ------------------------------------------------------------------ by kind

    def _apply_reply(self, reply: Reply) -> Change:
        if self.is_over:
            return Change.LATE
        self.reply = reply
        self.context_id = self.context_id or reply.context_id
        return Change.APPLIED

    def _apply_snapshot(self, task: Snapshot) -> Change:
        if not self._is_ours(task.task_id, task.context_id):
            return Change.FOREIGN
        if self.is_over and (task.state is not self.state or self.is_whole):
            return Change.LATE if self._is_contradicted(task) else Change.UNCHANGED
        if not self.is_over and self._is_older(task.state, task.time):
            return Change.STALE
        artifacts = {artifact.id: artifact for artifact in task.artifacts}
        is_news = (
            self.is_reopened
            or not self.task_id
            or self._adds(task.metadata)
            or (task.state, task.message, artifacts)
            != (
                self.state,
                self.message,
                self.artifacts,
            )
        )
        confirms = task.state.is_terminal and not self.is_whole
        self._name(task.task_id, task.context_id)
        self.state, self.state_time = task.state, task.time or self.state_time
        self.message, self.attached = task.message, task.attached
        self.metadata |= task.metadata or {}
        self.artifacts = artifacts
        self.sealed = set(artifacts)
        self.is_whole, self.unbroken, self.is_reopened = True, True, False
        return Change.APPLIED if is_news or confirms else Change.UNCHANGED

    def _is_contradicted(self, late: Snapshot) -> bool:
        """Whether the task, which has ended, is now said to have ended otherwise; what is left out says nothing."""
        artifacts = {artifact.id: artifact for artifact in late.artifacts}
        says_other = (late.message and late.message != self.message) or (artifacts and artifacts != self.artifacts)
        return late.state is not self.state or bool(says_other)

    def _apply_status(self, status: StatusUpdate) -> Change:
        if not self._is_ours(status.task_id, status.context_id):
            return Change.FOREIGN
        if self.is_over:
            return Change.UNCHANGED if status.state is self.state else Change.LATE
        if self._is_older(status.state, status.time):
            return Change.STALE
        same = self.task_id and not self.is_reopened and (status.state, status.message) == (self.state, self.message)
        same = same and not self._adds(status.metadata)
        self._name(status.task_id, status.context_id)
        self.is_reopened = False
        self.state, self.state_time = status.state, status.time or self.state_time
        self.message, self.attached = status.message, status.attached
        self.metadata |= status.metadata or {}
        if status.state.is_terminal:
            self.is_whole = False  # a bare end: GetTask confirms it
        return Change.UNCHANGED if same else Change.APPLIED

    def _apply_artifact(self, update: ArtifactUpdate) -> Change:
        if not self._is_ours(update.task_id, update.context_id):
            return Change.FOREIGN
        if self.is_over:
            return Change.LATE
        self._name(update.task_id, update.context_id)
        known = self.artifacts.get(update.artifact.id)
        size = sum(len(part.text) for part in update.artifact.parts if isinstance(part, Text))
        if (update.append and not self.unbroken) or self._size + size > ASSEMBLED_CAP:
            return Change.STALE
        self._size += size
        parts = (
            update.artifact.parts if known is None or not update.append else joined(known.parts, update.artifact.parts)
        )
        name = update.artifact.name or (known.name if known else "")
        attached = update.artifact.attached or (known.attached if known else None)
        self.artifacts[update.artifact.id] = Artifact(update.artifact.id, parts, name, attached)
        self.is_whole = False
        if update.last:
            self.sealed.add(update.artifact.id)
        return Change.APPLIED

    # ------------------------------------------------------------------ rules

    def _is_ours(self, task_id: str, context_id: str) -> bool:
        if self.task_id and task_id != self.task_id:
            return False
        return not (self.task_id and self.context_id and context_id and context_id != self.context_id)

    def _is_older(self, state: TaskState, time: Instant | None) -> bool:
        if self.answered is not None and time is not None and state.is_interrupted and time <= self.answered:
            return True
        if state.is_terminal:  # final, whatever an agent's clock says
            return False
        if not self.task_id or time is None or self.state_time is None or time > self.state_time:
            return False
        return time < self.state_time or state.rank < self.state.rank

    def _adds(self, metadata: Metadata) -> bool:
        return metadata is not None and {**self.metadata, **metadata} != self.metadata

    def _name(self, task_id: str, context_id: str) -> None:
        self.task_id = self.task_id or task_id
        self.context_id = context_id or self.context_id


def _text(parts: tuple[Part, ...]) -> str:
    return "".join(part.text for part in parts if isinstance(part, Text))
