"""The least that has to happen before what a test is about: messages, answers and attempts in one call each."""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Protocol

from core.agent import Road, TaskState
from core.delivery import Delivery, DeliveryState, RenderedPiece
from core.envelope import Candidate, ContextScope, Inbound
from core.identity import Source
from core.ids import new_id
from core.parts import Part, Text
from core.plugin import Leases, PluginState
from core.store import Admitted, NotBefore, Settlement, Store
from core.turn import InboxRecord, Observation, RemoteTask, SubmissionState, Turn, TurnEnd, TurnState
from tests.doubles.clock import ManualClock

DESK = Source("telegram", "desk")
OTHER = Source("telegram", "other")
HOUR = 3600.0
_numbers = count(1)


class Engine(Store, PluginState, Leases, Protocol):
    """All ports that an engine has."""

    async def retry(self, delivery: str, now: float) -> str | None: ...

    async def discard(self, delivery: str) -> str | None: ...


@dataclass
class Line:
    """One store, and the steps of a message through it at the clock's time."""

    store: Engine
    clock: ManualClock = field(default_factory=ManualClock)

    async def admit(self, candidate: Candidate, source: Source = DESK) -> Admitted:
        (admission,) = await self.store.admit(source, (candidate,))
        assert isinstance(admission, Admitted)
        return admission

    async def say(self, text: str = "hello", *, chat: str = "7", sender: str = "", reply_to: str = "") -> Admitted:
        return await self.admit(message(text, chat=chat, sender=sender, reply_to=reply_to))

    async def command(self, name: str, *, chat: str = "7", sender: str = "") -> Admitted:
        return await self.admit(message(f"/{name}", chat=chat, sender=sender, command=name))

    async def begin(self, admitted: Admitted, *, limit: int = 1) -> Turn:
        turn = await self.store.begin(admitted.thread, self.clock.now(), limit=limit)
        assert turn is not None
        return turn

    async def observe(self, observation: Observation) -> Turn:
        turn = await self.store.observe(observation, self.clock.now())
        assert turn is not None
        return turn

    async def answer(self, turn: Turn, *pieces: RenderedPiece) -> Turn:
        return await self.observe(answered(turn, *pieces))

    async def ask_back(self, turn: Turn, question: str = "which day?") -> Turn:
        return await self.observe(asking(turn, piece("message:q", question)))

    async def claim(self, conversation: str) -> Delivery:
        claimed = await self.store.claim(conversation, self.clock.now())
        assert isinstance(claimed, Delivery), claimed
        return claimed

    async def lane_is_empty(self, conversation: str) -> bool:
        return await self.store.claim(conversation, self.clock.now()) is None

    async def settle(
        self, delivery: Delivery, state: DeliveryState, *, ids: tuple[str, ...] = (), reason: str = ""
    ) -> bool:
        return await self.store.settle(Settlement(delivery, state, reason=reason, ids=ids), self.clock.now())

    async def show(self, conversation: str, *ids: str) -> Delivery:
        """Deliver the lane's next part under these channel ids."""
        delivery = await self.claim(conversation)
        await self.settle(delivery, DeliveryState.DELIVERED, ids=ids)
        return delivery

    async def answered_question(self, text: str = "hello", *, answer: str = "hi", chat: str = "7") -> Turn:
        """A message whose answer is queued."""
        turn = await self.begin(await self.say(text, chat=chat))
        return await self.answer(turn, piece("artifact:1", answer))

    async def due(self, conversation: str) -> float:
        claimed = await self.store.claim(conversation, self.clock.now())
        assert isinstance(claimed, NotBefore)
        return claimed.due


def message(
    text: str = "hello",
    *,
    chat: str = "7",
    sender: str = "",
    topic: str = "",
    keys: Iterable[str] | None = None,
    message_id: str | None = None,
    reply_to: str = "",
    external_id: str = "",
    is_direct: bool = True,
    language: str = "en",
    command: str = "",
    refusal: str = "",
    agent: str = "agent",
    scope: ContextScope = ContextScope.FULL,
    source: Source = DESK,
    parts: tuple[Part, ...] | None = None,
    owner: str = "",
) -> Candidate:
    number = next(_numbers)
    inbound = Inbound(
        keys=tuple(keys) if keys is not None else (f"update:{number}", f"message:{chat}:{number}"),
        external_id=external_id or str(number),
        chat=chat,
        sender=sender or f"person of {chat}",
        parts=parts or (Text(text),),
        raw=text.encode(errors="replace"),
        topic=topic,
        message_id=str(number) if message_id is None else message_id,
        reply_to=reply_to,
        is_direct=is_direct,
    )
    owner = owner or f"{source.key}:{chat}"
    return Candidate(
        new_id(), source, owner, inbound, 1_000_000.0, agent, language, refusal=refusal, command=command, scope=scope
    )


def piece(key: str, *parts: str) -> RenderedPiece:
    return RenderedPiece(key, "".join(parts), tuple({"text": part} for part in parts))


def task(turn: Turn, state: TaskState = TaskState.COMPLETED, *, task_id: str = "") -> RemoteTask:
    return RemoteTask(task_id or f"task of {turn.id}", f"context of {turn.session}", state, heard=1_000_000.0)


def answered(turn: Turn, *pieces: RenderedPiece) -> Observation:
    if turn.is_desk:
        return Observation(turn=turn, pieces=pieces, end=TurnEnd(TurnState.COMPLETED))
    done = task(turn)
    return Observation(
        turn=turn,
        submission=SubmissionState.SUBMITTED,
        task=done,
        records=(InboxRecord(Road.ANSWER, "task", {}),),
        context_id=done.context_id,
        pieces=pieces,
        end=TurnEnd(TurnState.COMPLETED),
    )


def asking(turn: Turn, *pieces: RenderedPiece, task_id: str = "") -> Observation:
    """The remote task is interrupted: the turn ends, and its thread waits for the person."""
    return Observation(
        turn=turn,
        submission=SubmissionState.SUBMITTED,
        task=task(turn, TaskState.INPUT_REQUIRED, task_id=task_id),
        context_id=f"context of {turn.session}",
        pieces=pieces,
        end=TurnEnd(TurnState.COMPLETED, waits_for_input=True),
    )


def unknown(turn: Turn) -> Observation:
    return Observation(turn=turn, submission=SubmissionState.UNKNOWN, end=TurnEnd(TurnState.INTERRUPTED, "lost answer"))


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another process's hold on the whole file."""
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    try:
        yield
    finally:
        other.execute("ROLLBACK")
        other.close()
