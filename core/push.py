"""Where remote agents may push what they say of a task: one random path and one secret for each task.

A target is stored before its agent hears of it, bound to the turn that made it and by that to (agent, task); the secret
itself is with the agent alone, here is its digest. All open targets are in memory, so that a stranger's guess costs no
look into the store. A push is never the only road: what is missed is learned by asking.
"""

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from core.agent import TaskRef

if TYPE_CHECKING:
    from core.turn import Turn

SECRET = 32  # bytes of randomness, in the path and in the secret each
LONGEST_ID = 64  # characters; ours have 43

PushWay = Literal["", "send", "call"]


@dataclass(frozen=True, slots=True)
class Push:
    """What an agent is given."""

    id: str
    url: str = field(repr=False)
    secret: str = field(repr=False)


@dataclass(slots=True)
class PushTarget:
    """What is kept of it."""

    id: str
    agent: str
    turn: str  # the newest that is about the task
    digest: bytes
    task_id: str = ""  # "" until the agent named it
    is_alive: bool = False  # something came by it since the start
    turns: list[str] = field(default_factory=list)

    def admits(self, secret: bytes) -> bool:
        return hmac.compare_digest(hashlib.sha256(secret).digest(), self.digest)


class PushTargets(Protocol):
    """What is asked of the store."""

    async def open_push(self, target: PushTarget) -> None: ...

    async def close_push(self, id: str) -> None: ...

    async def push_targets(self) -> Sequence[PushTarget]:
        """After a start: all that are open, each with its task and the newest turn about that."""
        ...


class PushAgent(Protocol):
    """A remote agent that may be told where to push. Every method may raise AgentErrors."""

    async def push_way(self) -> PushWay:
        """How it is told now: with the send, by a call of its own once there is a task, or "" not at all."""
        ...

    async def register_push(self, task: TaskRef, push: Push) -> None: ...

    async def unregister_push(self, task: TaskRef, id: str) -> None: ...


class PushBook:
    """All open targets. `base` is the gateway's public address, "" where it has none: then nothing is opened."""

    def __init__(self, store: PushTargets, base: str) -> None:
        self._store, self._base = store, base
        self._targets: dict[str, PushTarget] = {}
        self._of_turn: dict[str, PushTarget] = {}
        self._of_task: dict[tuple[str, str], PushTarget] = {}
        self.is_loaded = False

    async def load(self) -> None:
        for target in await self._store.push_targets():
            self.keep(target)
        self.is_loaded = True

    @property
    def is_usable(self) -> bool:
        return bool(self._base)

    def find(self, id: str) -> PushTarget | None:
        return self._targets.get(id) if len(id) <= LONGEST_ID else None

    def targets(self) -> Sequence[PushTarget]:
        return tuple(self._targets.values())

    def of(self, turn: "Turn") -> PushTarget | None:
        """That of the turn, or of the task that it continues."""
        found = self._of_turn.get(turn.id)
        if found is None and turn.task_id:
            found = self._of_task.get((turn.agent, turn.task_id))
        return found

    def of_task(self, agent: str, task_id: str) -> PushTarget | None:
        return self._of_task.get((agent, task_id))

    async def open(self, turn: "Turn") -> Push:
        """Durable when it returns."""
        push = Push(secrets.token_urlsafe(SECRET), "", secrets.token_urlsafe(SECRET))
        target = PushTarget(push.id, turn.agent, turn.id, hashlib.sha256(push.secret.encode()).digest())
        await self._store.open_push(target)
        self.keep(target)
        return Push(push.id, f"{self._base}/a2a/push/{push.id}", push.secret)

    def bind(self, target: PushTarget, turn: str, task_id: str) -> None:
        """The task is known, or a later turn goes on with it."""
        target.turn, target.task_id = turn, task_id or target.task_id
        self.keep(target)

    async def close(self, target: PushTarget) -> None:
        self._targets.pop(target.id, None)
        for turn in target.turns:
            self._of_turn.pop(turn, None)
        self._of_task.pop((target.agent, target.task_id), None)
        await self._store.close_push(target.id)

    def keep(self, target: PushTarget) -> None:
        self._targets[target.id] = target
        self._of_turn[target.turn] = target
        target.turns.append(target.turn)
        if target.task_id:
            self._of_task[target.agent, target.task_id] = target
