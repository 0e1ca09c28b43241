"""Whatever happens, in whatever order, SQLite and the in-memory double answer alike.

Steps of messages, agents, channels and operators are drawn at random; the SQLite store is restarted, and made to roll
back, at random too. So the writer's memory of its own rows is compared with the rows, and both with the double.
"""

import asyncio
import shutil
import tempfile
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from core.agent import Artifact, TaskState
from core.delivery import Delivery, DeliveryState
from core.envelope import Candidate, Moved
from core.followed import Made, Said, Step
from core.parts import Attached, Text
from core.router import Join, Start
from core.store import Admitted, AlreadySeen, NotBefore, Settlement
from core.turn import Observation, SubmissionState, Turn, TurnEnd, TurnState
from gateway.store.sqlite import SqliteStore
from tests.doubles.clock import ManualClock
from tests.doubles.store import MemoryStore
from tests.store.line import DESK, HOUR, Engine, message, piece, task

T = TypeVar("T")

CHATS = st.sampled_from(["1", "2", "-100", "-200"])
PEOPLE = st.sampled_from(["ann", "bob"])
PICK = st.integers(0, 1 << 16)
WORDS = st.sampled_from([("a",), ("a", "b"), ("c", "d", "e"), ()])
ENDS = st.sampled_from(["", "completed", "failed", "waiting", "asks", "unknown", "other agent"])
AGENTS = st.sampled_from(["agent", "agent", "other"])
OUTCOMES = st.sampled_from([*list(DeliveryState)[2:8], DeliveryState.DELIVERED, DeliveryState.QUEUED])


class TwoStores(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.runner, self.folder, self.clock = asyncio.Runner(), Path(tempfile.mkdtemp()), ManualClock()
        self.memory = MemoryStore(clock=self.clock)
        self.sqlite = self.run(self._opened())
        self.admitted: list[tuple[Admitted, Admitted]] = []
        self.turns: list[tuple[Turn, Turn]] = []
        self.claimed: list[tuple[Delivery, Delivery]] = []
        self.messages: list[tuple[str, str]] = []  # chat and message id, to reply to
        self.number = 0
        self.windows: list[str] = []  # envelopes that have one
        self.carried: set[str] = set()  # deliveries that one took

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    async def _opened(self) -> SqliteStore:
        store = await SqliteStore(self.folder / "desk.db", clock=self.clock).__aenter__()
        await store.hold()
        return store

    def teardown(self) -> None:
        self.run(self.sqlite.close())
        self.runner.close()
        shutil.rmtree(self.folder)

    def both(self, name: str, *arguments: Sequence[Any], **named: Any) -> tuple[Any, Any]:
        """The port's answer of each store; an argument that differs between them is given as a pair."""
        stores: tuple[Engine, Engine] = (self.sqlite, self.memory)

        async def ask() -> tuple[Any, Any]:
            answers = []
            for n, store in enumerate(stores):
                answers.append(await getattr(store, name)(*[pair[n] for pair in arguments], **named))
            return answers[0], answers[1]

        return self.run(ask())

    @property
    def now(self) -> tuple[float, float]:
        return self.clock.now(), self.clock.now()

    def admit(self, candidate: Candidate, *, window: float | None = None) -> None:
        (one,), (other,) = self.both("admit", (DESK, DESK), ((candidate,), (candidate,)), window=window)
        assert type(one) is type(other)
        if isinstance(one, AlreadySeen) and one.window is not None:
            one, other = unplaced(one), unplaced(other)
        if isinstance(one, Admitted):
            if window is not None:
                self.windows.append(candidate.envelope_id)
            assert replace(one, conversation="") == replace(other, conversation="")
            self.admitted.append((one, other))
        else:
            assert one == other

    # ------------------------------------------------------------------ people

    @rule(
        chat=CHATS,
        sender=PEOPLE,
        known=PICK,
        replies=st.booleans(),
        command=st.sampled_from(["", "", "", "status"]),
        agent=AGENTS,
        called=st.booleans(),
    )
    def say(self, chat: str, sender: str, known: int, replies: bool, command: str, agent: str, called: bool) -> None:
        self.number += 1
        there = [id for where, id in self.messages if where == chat]
        reply_to = there[known % len(there)] if replies and there else ""
        candidate = message(
            f"message {self.number}",
            chat=chat,
            sender=sender,
            keys=(f"u:{self.number}",),
            message_id=f"p{self.number}",
            reply_to=reply_to,
            is_direct=not chat.startswith("-"),
            command=command,
            agent=agent,
        )
        self.messages.append((chat, f"p{self.number}"))
        choices = ("agent", "other") if known % 2 else ()
        candidate = replace(candidate, choices=choices, fallbacks={"agent": "other"}, is_called=called and not command)
        self.admit(candidate, window=self.clock.now() + 15 if known % 3 == 0 else None)

    @precondition(lambda self: self.admitted)
    @rule(known=PICK, agent=st.sampled_from(["", "agent", "other"]))
    def choose(self, known: int, agent: str) -> None:
        one, other = self.admitted[known % len(self.admitted)]
        self.both("choose", (one.conversation, other.conversation), (agent, agent))

    @rule(chat=st.sampled_from(["f1", "f2"]))
    def start_work(self, chat: str) -> None:
        """On a channel that follows it."""
        self._name_thread(chat, Start())

    @precondition(lambda self: self.admitted)
    @rule(known=PICK, chat=st.sampled_from(["f1", "f2"]))
    def join_work(self, known: int, chat: str) -> None:
        self._name_thread(chat, Join(self.admitted[known % len(self.admitted)][0].thread))

    def _name_thread(self, chat: str, thread: Join | Start) -> None:
        self.number += 1
        candidate = message(f"message {self.number}", chat=chat, keys=(f"u:{self.number}",), message_id="same")
        inbound = replace(candidate.inbound, thread=thread, attached=Attached({"n": self.number}))
        self.admit(replace(candidate, inbound=inbound, is_followed=True))

    @precondition(lambda self: self.admitted)
    @rule(known=PICK)
    def cancel_work(self, known: int) -> None:
        thread = self.admitted[known % len(self.admitted)][0].thread
        one, other = self.both("cancel_thread", (thread, thread), self.now)
        assert one == other

    @rule(number=PICK)
    def repeat(self, number: int) -> None:
        self.admit(message(keys=(f"u:{number % 30}", f"again:{number % 7}"), chat="1"))

    @precondition(lambda self: self.admitted)
    @rule(known=PICK, everything=st.booleans(), mine=st.booleans(), back=st.integers(0, 3))
    def cancel(self, known: int, everything: bool, mine: bool, back: int) -> None:
        one, other = self.admitted[known % len(self.admitted)]
        person: tuple[str | None, str | None] = (None, None)
        if mine and self.turns:
            first, second = self.turns[known % len(self.turns)]
            person = (first.envelopes[0].person.id, second.envelopes[0].person.id)
        before = len(self.admitted) + 1 - back

        async def ask() -> tuple[Any, Any]:
            named = {"everything": everything, "now": self.clock.now()}
            return (
                await self.sqlite.want_cancel(one.conversation, before, person=person[0], **named),  # type: ignore[arg-type]
                await self.memory.want_cancel(other.conversation, before, person=person[1], **named),  # type: ignore[arg-type]
            )

        covered, also = self.run(ask())
        assert covered == also

    @precondition(lambda self: self.admitted)
    @rule(known=PICK, what=st.sampled_from(["renew", "again", "unknown_submission"]))
    def command(self, known: int, what: str) -> None:
        one, other = self.admitted[known % len(self.admitted)]
        first, second = self.both(what, (one.conversation, other.conversation), self.now)
        assert first == second

    @rule(pair=st.sampled_from([("-100", "-200"), ("-200", "-100"), ("2", "-200")]))
    def move(self, pair: tuple[str, str]) -> None:
        self.number += 1
        moved = Moved((f"u:{self.number}",), str(self.number), b"{}", *pair)
        one, other = self.both("admit", (DESK, DESK), ((moved,), (moved,)))
        assert one == other
        assert self.both("aliases", (DESK, DESK))[0] == self.run(self.memory.aliases(DESK))

    # ------------------------------------------------------------------ work

    @precondition(lambda self: self.admitted)
    @rule(known=PICK, limit=st.integers(1, 3))
    def begin(self, known: int, limit: int) -> None:
        ready, _ = self.both("ready")
        threads = [each.thread for each in ready] + [self.admitted[known % len(self.admitted)][0].thread]
        thread = threads[known % len(threads)]
        one, other = self.both("begin", (thread, thread), self.now, limit=limit)
        assert seen(one) == seen(other)
        if one is not None:
            self.turns.append((one, other))

    @precondition(lambda self: self.turns)
    @rule(known=PICK, newest=st.booleans(), words=WORDS, how=ENDS, key=st.sampled_from(["artifact:1", "message:2"]))
    def observe(self, known: int, newest: bool, words: tuple[str, ...], how: str, key: str) -> None:
        n = len(self.turns) - 1 if newest else known % len(self.turns)
        one, other = self.turns[n]
        pieces = (piece(key, *words),) if words else ()
        first, second = self.both("observe", tuple(observation(turn, how, pieces) for turn in (one, other)), self.now)
        assert seen(first) == seen(second)
        if first is not None:
            self.turns[n] = (first, second)

    # ------------------------------------------------------------------ channels

    @precondition(lambda self: self.admitted)
    @rule(known=PICK)
    def claim(self, known: int) -> None:
        one, other = self.admitted[known % len(self.admitted)]
        first, second = self.both("claim", (one.conversation, other.conversation), self.now)
        if isinstance(first, Delivery):
            assert replace(first, conversation="") == replace(second, conversation="")
            self.claimed.append((first, second))
        else:
            assert first == second
            assert first is None or isinstance(first, NotBefore)

    @precondition(lambda self: self.claimed)
    @rule()
    def claim_behind(self) -> None:
        first, second = self.both("claim_behind", self.claimed[-1], self.now)
        assert (first is None) == (second is None)
        if first is not None:
            assert replace(first, conversation="") == replace(second, conversation="")
            self.claimed.append((first, second))

    @precondition(lambda self: self.claimed)
    @rule(known=PICK, newest=st.booleans(), outcome=OUTCOMES, blocked=st.booleans(), rest=st.booleans(), later=PICK)
    def settle(self, known: int, newest: bool, outcome: DeliveryState, blocked: bool, rest: bool, later: int) -> None:
        pair = self.claimed[-1 if newest else known % len(self.claimed)]
        ids = (f"c{len(self.claimed)}",) if outcome is DeliveryState.DELIVERED else ()
        if ids:
            self.messages.append((pair[0].address.chat, ids[0]))
        one, other = (
            Settlement(
                delivery,
                outcome,
                "reason",
                ids,
                due=self.clock.now() + later % 3 if outcome is DeliveryState.QUEUED else None,
                repeat=rest and outcome is DeliveryState.QUEUED,
                blocked=blocked and outcome is DeliveryState.DEAD,
            )
            for delivery in pair
        )
        notice = piece("notice:unknown", "/again") if outcome is DeliveryState.UNKNOWN else None
        first, second = self.both("settle", (one, other), self.now, (notice, notice))
        assert first == second

    @precondition(lambda self: self.windows)
    @rule(known=PICK, was_asked=st.booleans(), own=st.booleans(), back=st.booleans())
    def ride(self, known: int, was_asked: bool, own: bool, back: bool) -> None:
        """The newest attempt rides on a window, or the channel's own words close it; and may be taken off again."""
        envelope = self.windows[known % len(self.windows)]
        delivery = "" if own or not self.claimed else self.claimed[-1][0].id
        if delivery in self.carried:
            return
        one, other = self.both("ride", *[(it, it) for it in (envelope, delivery, "words")], was_asked=was_asked)
        assert one == other
        if one and delivery and back:
            self.both("unride", (envelope, envelope), (delivery, delivery))
        elif one and delivery:
            self.carried.add(delivery)

    @precondition(lambda self: self.claimed)
    @rule(known=PICK, what=st.sampled_from(["retry", "discard"]))
    def operate(self, known: int, what: str) -> None:
        delivery = self.claimed[known % len(self.claimed)][0].id
        arguments = ((delivery, delivery), self.now) if what == "retry" else ((delivery, delivery),)
        one, other = self.both(what, *arguments)
        assert (one is None) == (other is None)

    # ------------------------------------------------------------------ the machine

    @rule(seconds=st.sampled_from([1.0, 2.0, HOUR, 25 * HOUR]))
    def wait(self, seconds: float) -> None:
        self.clock.time += seconds

    @rule()
    def restart(self) -> None:
        self.run(self.sqlite.close())
        self.sqlite = self.run(self._opened())

    @rule()
    def roll_back(self) -> None:
        async def fail() -> None:
            with suppress(TypeError):
                await self.sqlite.admit(DESK, (message("\ud800", chat="1"),))

        self.run(fail())

    @invariant()
    def all_that_is_left_to_do_is_the_same(self) -> None:
        one, other = self.both("ready")
        assert one == other
        first, second = self.both("unfinished")
        assert sorted(map(seen, first), key=str) == sorted(map(seen, second), key=str)
        begun, also = self.both("begun")
        assert [(d.id, d.window) for d in begun] == [(d.id, d.window) for d in also]
        assert len(self.both("lanes")[0]) == len(self.run(self.memory.lanes()))
        for admitted in self.admitted[-4:]:
            view, same = self.both("view", (admitted[0].conversation, admitted[1].conversation))
            assert view == same
            work, equal = self.both("followed", (admitted[0].thread, admitted[1].thread))
            assert work == equal


def unplaced(seen: Any) -> Any:
    """Without the conversation, which each store names by itself."""
    return replace(seen, window=replace(seen.window, conversation=""))


def observation(turn: Turn, how: str, pieces: tuple[Any, ...]) -> Observation:
    if turn.is_desk:
        return Observation(turn=turn, pieces=pieces, end=TurnEnd(TurnState.COMPLETED) if how else None)
    states = {"completed": TaskState.COMPLETED, "failed": TaskState.FAILED, "asks": TaskState.INPUT_REQUIRED}
    ends = {
        "": None,
        "completed": TurnEnd(TurnState.COMPLETED),
        "failed": TurnEnd(TurnState.FAILED, "declined"),
        "waiting": None if turn.waiting else TurnEnd(TurnState.WAITING),
        "asks": TurnEnd(TurnState.COMPLETED, waits_for_input=True),
        "unknown": TurnEnd(TurnState.INTERRUPTED, "lost"),
    }
    if how == "other agent" and turn.task is None:
        return Observation(turn=turn, agent="other", asked=False, pieces=pieces)
    known = None if how == "unknown" else task(turn, states.get(how, TaskState.WORKING))
    return Observation(
        turn=turn,
        submission=SubmissionState.UNKNOWN if how == "unknown" else SubmissionState.SUBMITTED,
        task=replace(known, context_id=f"context of {turn.thread}") if known else None,
        context_id=f"context of {turn.thread}" if known else None,
        pieces=pieces,
        end=ends.get(how),
        step=step(turn, how) if turn.address.chat.startswith("f") else None,
    )


def step(turn: Turn, how: str) -> Step:
    """Of followed work: an artifact, or what the end comes to."""
    states = {"completed": TaskState.COMPLETED, "asks": TaskState.INPUT_REQUIRED}
    made = Made(turn.revision % 3, Artifact(f"a{turn.revision % 3}", (Text(f"{turn.id} {turn.revision}"),)))
    if how in ("", "waiting"):
        said = Said(f"s{turn.revision}", (Text("so"),))
        return Step(TaskState.WORKING, said, is_news=turn.revision % 2 == 0, artifacts=(made,))
    return Step(states.get(how, TaskState.FAILED), Said("end", (Text(how),)), gone=("a1",))


def seen(turn: Turn | None) -> object:
    """A turn without the ids that each store makes for itself."""
    if turn is None:
        return None
    envelopes = tuple(replace(e, person=replace(e.person, id="")) for e in turn.envelopes)
    return replace(turn, conversation="", session="", envelopes=envelopes)


TestTwoStores = TwoStores.TestCase
TestTwoStores.settings = settings(max_examples=15, stateful_step_count=40, deadline=None)
