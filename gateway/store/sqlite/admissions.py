"""Admission: each member of a batch becomes one envelope, once, and its thread is picked from what is known right here.

Everything of a member is in the same commit: when that fails, nothing of it happened and its sender comes again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.clock import Instant
from core.envelope import Candidate, ContextScope, Envelope, Inbound, Moved, Unreadable
from core.identity import Person, Source
from core.plugin import Cursor
from core.router import AskWhich, Join, Start, ThreadFact, pick_thread
from core.store import Admission, Admitted, AlreadySeen, NotAdmitted
from gateway.store.rules import Policy
from gateway.store.sqlite import envelopes, followed, offers, places, windows
from gateway.store.sqlite.envelopes import keep_raw, next_seq
from gateway.store.sqlite.keys import first_seen
from gateway.store.sqlite.memory import Place, Queue
from gateway.store.sqlite.names import name, number
from gateway.store.sqlite.people import person_of
from gateway.store.sqlite.places import (
    active_threads,
    aliases,
    leave_foreground,
    move_chat,
    open_place,
    place_at,
)
from gateway.store.sqlite.queries import load
from gateway.store.sqlite.transaction import Tx

SQL = load("admissions.sql")
_INSERT_THREAD = SQL["insert_thread"]
_NOTIFY = ContextScope.NOTIFY


@dataclass(slots=True)
class _Refusal:
    """What is stored of a member that is no message: its raw row and its keys."""

    keys: Sequence[str]
    external_id: str
    raw: bytes
    outcome: str
    error: str = ""


def admit(
    tx: Tx,
    source: Source,
    batch: Sequence[Candidate | Unreadable | Moved],
    cursor: Cursor | None,
    policy: Policy,
    now: Instant,
    window: Instant | None = None,
) -> tuple[Admission, ...]:
    admissions = tuple([_admit_one(tx, source, item, policy, now) for item in batch])
    if window is not None:
        admissions = tuple([_with_window(tx, admission, window, policy, now) for admission in admissions])
    if cursor is not None:
        tx.execute(SQL["put_cursor"], (source.key, f"cursor:{cursor.name}", cursor.value))
    return admissions


def _with_window(tx: Tx, admission: Admission, until: Instant, policy: Policy, now: Instant) -> Admission:
    if isinstance(admission, Admitted):
        windows.open_window(tx, admission.envelope, admission.conversation, until)
        if _brings_forward(tx, admission.conversation, now):
            return replace(admission, hands_over=True)
    elif isinstance(admission, AlreadySeen) and admission.envelope:
        held = windows.held(tx, admission.envelope)
        where = (
            None
            if held is None or held.answer is not None or held.until <= now
            else places.place(tx, held.conversation)
        )
        return AlreadySeen(admission.envelope, held, where is not None and _fills(tx, where, policy, now))
    return admission


def _fills(tx: Tx, where: Place, policy: Policy, now: Instant) -> bool:
    """Whether anything is queued by this for a request that came again."""
    hands_over = _hands_over(tx, where, policy, now)
    return _brings_forward(tx, where.id, now) or hands_over


def _brings_forward(tx: Tx, conversation: str, now: Instant) -> bool:
    """What the channel put off may ride on the request that is there; whether anything was."""
    return tx.execute(SQL["bring_forward"], (now, conversation)).rowcount > 0


def _hands_over(tx: Tx, where: Place, policy: Policy, now: Instant) -> bool:
    """Queue what waited for the person of this conversation; whether anything did."""
    if not where.waits_for_user:
        return False
    where.waits_for_user = False
    tx.execute(SQL["queue_waiting_for_user"], (now, now + policy.max_age, where.id))
    return True


def read_cursor(tx: Tx, source: Source, name: str) -> str | None:
    row = tx.execute(SQL["cursor"], (source.key, f"cursor:{name}")).fetchone()
    return row[0] if row else None


def _admit_one(tx: Tx, source: Source, item: Candidate | Unreadable | Moved, policy: Policy, now: Instant) -> Admission:
    match item:
        case Candidate(refusal="") as candidate:
            return _admit_message(tx, source, candidate, policy, now)
        case Candidate(inbound=inbound, refusal=refusal):
            outside = _Refusal(inbound.keys, inbound.external_id, inbound.raw, refusal)
        case Unreadable(keys, external_id, raw, error):
            outside = _Refusal(keys, external_id, raw, "unreadable", error)
        case Moved(keys, external_id, raw):
            outside = _Refusal(keys, external_id, raw, "moved")
    admission = _set_aside(tx, source, outside, policy, now)
    if isinstance(item, Moved) and isinstance(admission, NotAdmitted):
        move_chat(tx, source.key, item.chat, item.new_chat)
    return admission


def _set_aside(tx: Tx, source: Source, item: _Refusal, policy: Policy, now: Instant) -> Admission:
    seen = first_seen(tx, source.key, item.keys, "", policy, now)
    if seen is not None:
        return AlreadySeen(seen)
    keep_raw(tx, source, item.external_id, item.raw, item.outcome, item.error, now)
    return NotAdmitted(item.outcome)


def _admit_message(tx: Tx, source: Source, item: Candidate, policy: Policy, now: Instant) -> Admission:
    inbound = item.inbound
    if isinstance(inbound.thread, Join) and (refusal := _no_joining(tx, source, inbound, inbound.thread.thread)):
        outside = _Refusal(inbound.keys, inbound.external_id, inbound.raw, refusal)
        return _set_aside(tx, source, outside, policy, now)
    seen = first_seen(tx, source.key, inbound.keys, item.envelope_id, policy, now)
    if seen is not None:
        return AlreadySeen(seen)
    place = _place(tx, source, item, now)
    person = person_of(tx, source, item)
    seq, hands_over = next_seq(tx), False
    if item.scope is not _NOTIFY:
        place.newest_seq, hands_over = seq, _hands_over(tx, place, policy, now)
    agent, fallback = item.agents_for(place.chosen)
    if agent != place.agent and not item.is_called:
        tx.flush()
        tx.execute(SQL["update_agent"], (agent, place.session))
        place.agent = agent
    item, thread, command = _thread(tx, place, person, item, seq, (agent, fallback))
    raw = keep_raw(tx, source, inbound.external_id, inbound.raw, "admitted", "", item.received) if inbound.raw else 0
    envelope = _envelope(item, seq, person, command)
    envelopes.keep(tx, place, number(thread), envelope, scope=item.scope, raw=raw, reply_to=inbound.reply_to)
    is_desk = bool(command) and thread != ""
    if thread:
        _remember(tx, Queue(place, agent, is_desk, [envelope]), thread)
    target = followed.put_target(tx, inbound.also(thread), source, now) if inbound.also is not None and thread else None
    return Admitted(item.envelope_id, place.owner, place.id, thread, is_desk, hands_over, target)


def _envelope(item: Candidate, seq: int, person: Person, command: str) -> Envelope:
    inbound = item.inbound
    return Envelope(
        id=item.envelope_id,
        seq=seq,
        person=person,
        parts=inbound.parts,
        external_id=inbound.external_id,
        message_id=inbound.message_id,
        command=command,
        is_forward=inbound.is_forward,
        received=item.received,
        attached=inbound.attached,
    )


def _remember(tx: Tx, new: Queue, thread: str) -> None:
    """Keep its envelope for the turn that takes it, where its thread is remembered or begins with it."""
    queue, (envelope,) = tx.memory.queues.get(thread), new.envelopes
    if queue is not None:
        queue.envelopes.append(envelope)
    elif number(thread) == envelope.seq:
        tx.memory.queues.keep(thread, new)


# ---------------------------------------------------------------------------------------------- who and where


def _place(tx: Tx, source: Source, item: Candidate, now: Instant) -> Place:
    inbound = item.inbound
    chat = aliases(tx, source.key).get(inbound.chat, inbound.chat)
    return place_at(tx, source.key, chat, inbound.topic) or _new_place(tx, source, chat, item, now)


def _new_place(tx: Tx, source: Source, chat: str, item: Candidate, now: Instant) -> Place:
    return open_place(
        tx,
        source,
        chat,
        item.inbound.topic,
        owner=item.owner,
        agent=item.agent,
        now=now,
        is_direct=item.inbound.is_direct,
        is_followed=item.is_followed,
    )


# ---------------------------------------------------------------------------------------------- which thread


def _thread(
    tx: Tx, place: Place, person: Person, item: Candidate, seq: int, agents: tuple[str, str]
) -> tuple[Candidate, str, str]:
    """What is admitted, its thread, "" for history only, and the command the envelope carries for the desk."""
    agent, _ = agents
    if item.scope is _NOTIFY:
        return item, "", item.command
    if item.command:
        return item, _start(tx, place, item, seq, agent, is_desk=True), item.command
    named = item.inbound.thread
    if named is not None:
        return item, _named(tx, place, named, item, seq), ""
    replied = _replied(tx, place.id, item.inbound.reply_to) if item.inbound.reply_to else ""
    if not replied and (choice := offers.chosen(tx, place, person, item)) is not None:
        if not choice.thread:
            return item, _start(tx, place, item, seq, agent, is_desk=True), "choice_over"
        item, replied = choice.item, choice.thread
    active = tuple(active_threads(tx, place).values())
    match pick_thread(person.id, replied, active, agents=agents, is_called=item.is_called):
        case Join(thread):
            join_thread(tx, place, thread)
            return item, thread, ""
        case AskWhich(threads):
            desk = _start(tx, place, item, seq, agent, is_desk=True)
            offers.offer(tx, desk, threads)
            return item, desk, "which"
        case _:
            leave_foreground(tx, place, agent)
            return item, _start(tx, place, item, seq, agent, is_desk=False), ""


def _named(tx: Tx, place: Place, named: Join | Start, item: Candidate, seq: int) -> str:
    """The thread that the message names itself; whether it may join it has been found out before."""
    if isinstance(named, Start):
        return _start(tx, place, item, seq, item.agent, is_desk=False, is_front=False)
    join_thread(tx, place, named.thread)
    if place.is_followed:
        followed.answered(tx, named.thread, seq)
    return named.thread


def _no_joining(tx: Tx, source: Source, inbound: Inbound, thread: str) -> str:
    """Why it cannot join the thread it names; threads of other conversations are not known in this one."""
    where = place_at(tx, source.key, inbound.chat, inbound.topic)
    if where is None:
        return "unknown_thread"
    if thread in active_threads(tx, where):
        return ""
    return "ended_thread" if followed.names_thread(tx, where, thread) else "unknown_thread"


def _replied(tx: Tx, conversation: str, message_id: str) -> str:
    tx.flush()
    row = tx.execute(SQL["thread_shown"], (conversation, message_id)).fetchone()
    row = row or tx.execute(SQL["thread_written"], (conversation, message_id)).fetchone()
    return row[0] if row else ""


def join_thread(tx: Tx, place: Place, thread: str) -> None:
    fact = active_threads(tx, place).get(thread)
    if fact is None or fact.state == "waiting":
        tx.flush()
        tx.execute(SQL["queue_thread"], (number(thread),))
        tx.memory.queues.pop(thread, None)
        place.active = None


def _start(tx: Tx, place: Place, item: Candidate, seq: int, agent: str, *, is_desk: bool, is_front: bool = True) -> str:
    """A new thread, the foreground of its agent unless it is the desk's."""
    is_front = is_front and not is_desk
    thread = name(item.envelope_id, seq)
    row = (seq, thread, place.session, place.id, place.owner, agent, int(is_desk), int(is_front))
    tx.late(_INSERT_THREAD, row)
    if not is_desk:
        active_threads(tx, place)[thread] = ThreadFact(thread, "queued", is_foreground=is_front, agent=agent)
        if place.is_followed:
            followed.submitted(tx, place, thread, agent, item.received)
    return thread
