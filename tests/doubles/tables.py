"""The rows of the in-memory store, and what is the same for all of its ports: who and where, leases, plugin state."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from core.agent import Artifact, TaskState
from core.choices import Offered
from core.clock import Clock, Instant, SystemClock
from core.delivery import Delivery, DeliveryState
from core.envelope import Envelope
from core.followed import Heard, Said, Target
from core.identity import Address, Person, Source
from core.ids import new_id
from core.push import PushTarget
from core.store import HeldWindow
from core.turn import OpenTask, RemoteTask, Turn, TurnState
from gateway.store.rules import Policy

ACTIVE = ("queued", "running", "waiting")
AT_WORK = (TurnState.RUNNING, TurnState.WAITING)
QUEUED, ATTEMPTING = DeliveryState.QUEUED, DeliveryState.ATTEMPTING


@dataclass
class ConversationRow:
    id: str
    address: Address
    owner: str
    agent: str
    is_direct: bool
    is_followed: bool = False
    session: str = field(default_factory=new_id)
    generation: int = 1
    chosen: str = ""
    merged_into: str = ""
    newest: int = 0  # seq


@dataclass
class ThreadRow:
    id: str
    conversation: str
    agent: str
    opened: int
    is_desk: bool = False
    state: str = "queued"
    is_foreground: bool = False
    queue: list[Envelope] = field(default_factory=list)
    turn: str = ""
    resume: str = ""
    waits_for_task: bool = False
    task_id: str = ""
    asks: str = ""
    offers: tuple[Offered, ...] = ()
    is_chosen: bool = False


@dataclass
class TurnRow:
    turn: Turn
    generation: int
    state: TurnState = TurnState.RUNNING


@dataclass
class DeliveryRow:
    delivery: Delivery
    piece: str
    revision: int
    seq: int
    text: str
    due: Instant
    attempted: Instant = 0.0
    state: DeliveryState = QUEUED
    shown: tuple[str, ...] = ()


@dataclass
class WorkRow:
    id: str
    n: int
    owner: str
    agent: str
    topic: str
    time: Instant
    state: TaskState = TaskState.SUBMITTED
    said: Said | None = None
    position: tuple[int, int] = (0, 0)
    artifacts: dict[str, tuple[int, int, Artifact]] = field(default_factory=dict)  # with the turn and place
    history: list[Heard] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    is_bare: bool = False

    def supersede(self) -> None:
        if self.said is not None:
            self.history.append(Heard(self.said.id, self.said.parts, is_theirs=False, attached=self.said.attached))
            self.said = None

    def become(self, state: TaskState, said: Said | None, time: Instant) -> None:
        self.supersede()
        if not self.state.is_terminal:
            self.state, self.said, self.time = state, said, max(self.time, time)


@dataclass
class WindowRow:
    held: HeldWindow
    delivery: str = ""


class Tables:
    def __init__(self, *, policy: Policy | None = None, clock: Clock | None = None) -> None:
        self._policy, self._clock = policy or Policy(), clock or SystemClock()
        self._keys: dict[tuple[str, str], tuple[str, Instant]] = {}
        self._conversations: dict[str, ConversationRow] = {}
        self._people: dict[tuple[str, str], Person] = {}
        self._aliases: dict[str, dict[str, str]] = {}
        self._threads: dict[str, ThreadRow] = {}
        self._envelopes: dict[int, tuple[str, Envelope]] = {}  # by seq, with its conversation
        self._thread_of: dict[tuple[str, str], str] = {}  # by conversation and message id, either way
        self._turns: dict[str, TurnRow] = {}
        self._contexts: dict[tuple[str, str, int], str] = {}
        self._tasks: dict[tuple[str, str], RemoteTask] = {}
        self._owners: dict[tuple[str, str], str] = {}  # of remote tasks: the newest turn
        self._untold: dict[tuple[str, str], OpenTask] = {}
        self._deliveries: dict[str, DeliveryRow] = {}
        self._push_targets: dict[str, PushTarget] = {}
        self._state: dict[tuple[str, str], tuple[str, int]] = {}
        self._windows: dict[str, WindowRow] = {}  # by envelope
        self._leases: dict[str, tuple[str, int, Instant]] = {}
        self._works: dict[str, WorkRow] = {}  # by thread
        self._targets: dict[tuple[str, str], Target] = {}
        self._thread_of_envelope: dict[str, str] = {}
        self._seqs, self._lane_seqs = count(1), count(1)
        self.set_aside: list[tuple[str, str]] = []  # external id and outcome of what became no envelope

    async def knows(self, source: Source, keys: Sequence[str]) -> bool:
        found = [self._keys.get((source.key, key)) for key in keys]
        return any(entry is not None and entry[1] > self._clock.now() for entry in found)

    async def cursor(self, source: Source, name: str) -> str | None:
        found = self._state.get((source.key, f"cursor:{name}"))
        return found[0] if found else None

    async def aliases(self, source: Source) -> dict[str, str]:
        return dict(self._aliases.get(source.key, {}))

    async def read(self, account: str, name: str) -> tuple[str, int] | None:
        return self._state.get((account, name))

    async def write(self, account: str, name: str, value: str, *, version: int) -> bool:
        if self._state.get((account, name), ("", 0))[1] != version:
            return False
        self._state[account, name] = (value, version + 1)
        return True

    async def forget(self, account: str, name: str, *, version: int) -> bool:
        if self._state.get((account, name), ("", 0))[1] != version or not version:
            return False
        del self._state[account, name]
        return True

    async def acquire(self, name: str, holder: str, ttl: float) -> int | None:
        present, fence, until = self._leases.get(name, ("", 0, 0.0))
        if present not in ("", holder) and until > self._clock.now():
            return None
        fence = fence if present == holder else fence + 1
        self._leases[name] = (holder, fence, self._clock.now() + ttl)
        return fence

    async def release(self, name: str, holder: str) -> None:
        present, fence, _ = self._leases.get(name, ("", 0, 0.0))
        if present == holder:
            self._leases[name] = ("", fence, 0.0)

    # ------------------------------------------------------------------ reply windows

    async def ride(self, envelope: str, delivery: str, answer: str, *, was_asked: bool) -> bool:
        row = self._windows.get(envelope)
        if row is None or row.held.answer is not None:
            return False
        row.held, row.delivery = replace(row.held, answer=answer, was_asked=was_asked), delivery
        return True

    async def unride(self, envelope: str, delivery: str) -> None:
        row = self._windows.get(envelope)
        if row is not None and row.delivery == delivery:
            row.held, row.delivery = replace(row.held, answer=None, was_asked=False), ""

    async def held(self, envelope: str) -> HeldWindow | None:
        row = self._windows.get(envelope)
        return row.held if row else None

    # ------------------------------------------------------------------ conversations

    def _at(self, address: Address) -> ConversationRow | None:
        key = (address.source.key, address.chat, address.topic)
        for place in self._conversations.values():
            if not place.merged_into and (place.address.source.key, place.address.chat, place.address.topic) == key:
                return place
        return None

    def _resolve(self, conversation: str) -> ConversationRow | None:
        place = self._conversations.get(conversation)
        return self._conversations[place.merged_into] if place and place.merged_into else place

    def _active(self, conversation: str) -> list[ThreadRow]:
        found = [
            thread
            for thread in self._threads.values()
            if thread.conversation == conversation and thread.state in ACTIVE and not thread.is_desk
        ]
        return sorted(found, key=lambda thread: thread.opened)

    def _foreground(self, conversation: str, agent: str = "") -> ThreadRow | None:
        """The newest one; of this agent, where one is named."""
        fronts = [thread for thread in self._active(conversation) if thread.is_foreground]
        return next((thread for thread in reversed(fronts) if agent in ("", thread.agent)), None)

    def _leave_foreground(self, conversation: str, agent: str = "") -> None:
        for thread in self._active(conversation):
            if agent in ("", thread.agent):
                thread.is_foreground = False

    def _move(self, source: str, old: str, new: str) -> None:
        if old == new:
            return
        moving = [
            place
            for place in self._conversations.values()
            if not place.merged_into and (place.address.source.key, place.address.chat) == (source, old)
        ]
        for place in moving:
            address = replace(place.address, chat=new)
            taken = self._at(address)
            place.address = address
            if taken is not None:
                self._merge(place, taken)
        known = self._aliases.setdefault(source, {})
        known.pop(new, None)
        self._aliases[source] = {key: new if value == old else value for key, value in known.items()} | {old: new}

    def _merge(self, old: ConversationRow, new: ConversationRow) -> None:
        for place in self._conversations.values():
            if place.id == old.id or place.merged_into == old.id:
                place.merged_into = new.id
        for thread in self._threads.values():
            if thread.conversation == old.id:
                thread.conversation = new.id
        for work in self._turns.values():
            if work.turn.conversation == old.id:
                work.turn = replace(
                    work.turn, conversation=new.id, session=new.session, owner=new.owner, is_direct=new.is_direct
                )
        for held in self._deliveries.values():
            if held.delivery.conversation == old.id:
                held.delivery = replace(held.delivery, conversation=new.id)
        self._thread_of |= {(new.id, key): value for (place, key), value in self._thread_of.items() if place == old.id}
        for (session, agent, generation), context in list(self._contexts.items()):
            if session == old.session:
                self._contexts.setdefault((new.session, agent, generation), context)
        new.newest = max(new.newest, old.newest)
