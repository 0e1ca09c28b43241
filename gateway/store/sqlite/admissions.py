"""Admission: each member of a batch becomes one envelope, once, and its thread is picked from what is known right here.

A key is claimed by inserting it, so two arrivals of one update cannot both be first, in one batch or in two. Everything
of a member is in the same commit: when that fails, nothing of it happened and its sender comes again.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from core.clock import Instant
from core.envelope import Candidate, ContextScope, Moved, Unreadable
from core.identity import Source
from core.ids import new_id
from core.parts import Part, Text, part_to_json
from core.plugin import Cursor
from core.router import AskWhich, Join, ThreadFact, pick_thread
from core.store import Admission, Admitted, AlreadySeen, NotAdmitted
from gateway.store.rules import Policy
from gateway.store.sqlite.memory import Known, Place
from gateway.store.sqlite.places import active_threads, aliases, leave_foreground, move_chat, place_at
from gateway.store.sqlite.queries import load
from gateway.store.sqlite.writer import Tx

SQL = load("admissions.sql")
_CLAIM_KEY, _INSERT_RAW, _INSERT_ENVELOPE = SQL["claim_key"], SQL["insert_raw"], SQL["insert_envelope"]
_CLAIM_TWO_KEYS, _INSERT_THREAD = SQL["claim_two_keys"], SQL["insert_thread"]


@dataclass(frozen=True, slots=True)
class _Target:
    """Where an envelope goes: a thread and a state, and the command it carries then."""

    thread: str
    state: str  # queued, history
    command: str = ""
    is_desk: bool = False


def admit(
    tx: Tx,
    source: Source,
    batch: Sequence[Candidate | Unreadable | Moved],
    cursor: Cursor | None,
    policy: Policy,
    now: Instant,
) -> tuple[Admission, ...]:
    admissions = tuple([_admit_one(tx, source, item, policy, now) for item in batch])
    if cursor is not None:
        tx.execute(SQL["put_cursor"], (source.key, f"cursor:{cursor.name}", cursor.value))
    return admissions


def read_cursor(tx: Tx, source: Source, name: str) -> str | None:
    row = tx.execute(SQL["cursor"], (source.key, f"cursor:{name}")).fetchone()
    return row[0] if row else None


def _admit_one(tx: Tx, source: Source, item: Candidate | Unreadable | Moved, policy: Policy, now: Instant) -> Admission:
    if isinstance(item, Candidate):
        if item.refusal:
            inbound = item.inbound
            return _set_aside(tx, source, inbound.keys, inbound.external_id, inbound.raw, item.refusal, "", policy, now)
        return _admit_message(tx, source, item, policy, now)
    if isinstance(item, Unreadable):
        outcome = "unreadable"
        return _set_aside(tx, source, item.keys, item.external_id, item.raw, outcome, item.error, policy, now)
    admission = _set_aside(tx, source, item.keys, item.external_id, item.raw, "moved", "", policy, now)
    if isinstance(admission, NotAdmitted):
        move_chat(tx, source.key, item.chat, item.new_chat)
    return admission


def _set_aside(
    tx: Tx,
    source: Source,
    keys: Sequence[str],
    external_id: str,
    raw: bytes,
    outcome: str,
    error: str,
    policy: Policy,
    now: Instant,
) -> Admission:
    """Only the raw row and the keys: what is refused, cannot be read, or says something about the chat itself."""
    seen = _first_seen(tx, source.key, keys, "", policy, now)
    if seen is not None:
        return AlreadySeen(seen)
    _keep_raw(tx, source, external_id, raw, outcome, error, now)
    return NotAdmitted(outcome)


def _first_seen(tx: Tx, source: str, keys: Sequence[str], envelope: str, policy: Policy, now: Instant) -> str | None:
    """Claim the keys for this envelope; the envelope that had one of them before, None when all were new."""
    expires = now + policy.dedupe_horizon
    if _claim(tx, source, keys, envelope, expires) >= len(set(keys)):
        return None
    rows = [tx.execute(SQL["key"], (source, key)).fetchone() for key in keys]
    known = [first for first, until in rows if until > now and (first, until) != (envelope, expires)]
    if not known and any(until <= now for _, until in rows):
        seen = None  # remembered longer than promised: it counts as forgotten
    else:
        seen = max(known, default="")
    # A repeat keeps the keys alive: senders that still repeat have not forgotten.
    for key in keys:
        tx.execute(SQL["point_key"], (envelope if seen is None else seen, expires, source, key))
    return seen


def _claim(tx: Tx, source: str, keys: Sequence[str], envelope: str, expires: Instant) -> int:
    """How many of the keys were new."""
    if len(keys) == 2:
        return tx.execute(_CLAIM_TWO_KEYS, (source, keys[0], envelope, expires, keys[1])).rowcount
    return sum(tx.execute(_CLAIM_KEY, (source, key, envelope, expires)).rowcount for key in keys)


def _keep_raw(tx: Tx, source: Source, external_id: str, raw: bytes, outcome: str, error: str, received: Instant) -> int:
    memory = tx.memory
    if memory.raw is None:
        memory.raw = tx.execute(SQL["newest_raw"]).fetchone()[0]
    memory.raw += 1
    tx.late(_INSERT_RAW, (memory.raw, source.key, external_id, received, outcome, error, raw))
    return memory.raw


def _admit_message(tx: Tx, source: Source, item: Candidate, policy: Policy, now: Instant) -> Admission:
    inbound = item.inbound
    seen = _first_seen(tx, source.key, inbound.keys, item.envelope_id, policy, now)
    if seen is not None:
        return AlreadySeen(seen)
    place = _place(tx, source, item, now)
    person = _person(tx, source, item)
    seq = place.newest_seq = _next_seq(tx)
    target = _target(tx, place, person, item, seq)
    if place.waits_for_user:
        place.waits_for_user = False
        tx.execute(SQL["queue_waiting_for_user"], (now, now + policy.max_age, place.id))
    raw = _keep_raw(tx, source, inbound.external_id, inbound.raw, "admitted", "", item.received)
    tx.late(
        _INSERT_ENVELOPE,
        (
            seq,
            item.envelope_id,
            place.session,
            place.id,
            place.owner,
            target.thread,
            target.state,
            person.id,
            item.scope.value,
            target.command,
            encode_parts(inbound.parts),
            inbound.external_id,
            inbound.message_id,
            inbound.reply_to,
            inbound.is_forward,
            item.received,
            raw,
        ),
    )
    return Admitted(item.envelope_id, place.owner, place.id, target.thread, target.is_desk)


def _next_seq(tx: Tx) -> int:
    memory = tx.memory
    if memory.seq is None:
        memory.seq = tx.execute(SQL["newest_seq"]).fetchone()[0]
    memory.seq += 1
    return memory.seq


def encode_parts(parts: Sequence[Part]) -> str:
    if len(parts) == 1 and type(parts[0]) is Text:
        return orjson.dumps([{"text": parts[0].text}]).decode()
    return orjson.dumps([part_to_json(part) for part in parts]).decode()


# ---------------------------------------------------------------------------------------------- who and where


def _place(tx: Tx, source: Source, item: Candidate, now: Instant) -> Place:
    inbound = item.inbound
    chat = aliases(tx, source.key).get(inbound.chat, inbound.chat)
    place = place_at(tx, source.key, chat, inbound.topic)
    if place is not None:
        return place
    place = Place(
        id=new_id(),
        source=source,
        chat=chat,
        topic=inbound.topic,
        owner=item.owner,
        session=new_id(),
        agent=item.agent,
        generation=1,
        is_direct=inbound.is_direct,
        waits_for_user=False,
        newest_seq=0,
        active={},
    )
    tx.execute(
        SQL["insert_conversation"],
        (place.id, source.kind, source.key, chat, place.topic, place.owner, place.session, place.is_direct),
    )
    tx.execute(SQL["insert_session"], (place.session, place.owner, place.id, place.agent, now))
    return tx.memory.places.keep(place)


def _person(tx: Tx, source: Source, item: Candidate) -> Known:
    key = (source.key, item.inbound.sender)
    known = tx.memory.people.get(key)
    if known is None:
        row = tx.execute(SQL["person"], key).fetchone()
        known = tx.memory.people.keep(key, Known(*row) if row else _new_person(tx, key, item))
    if known.language != item.language:
        tx.execute(SQL["update_language"], (item.language, known.id))
        known = tx.memory.people.keep(key, Known(known.id, known.owner, item.language))
    return known


def _new_person(tx: Tx, key: tuple[str, str], item: Candidate) -> Known:
    known = Known(new_id(), item.owner, item.language)
    tx.execute(SQL["insert_person"], (known.id, known.owner, known.language))
    tx.execute(SQL["insert_identity"], (*key, known.id))
    return known


# ---------------------------------------------------------------------------------------------- which thread


def _target(tx: Tx, place: Place, person: Known, item: Candidate, seq: int) -> _Target:
    if item.scope is ContextScope.NOTIFY:
        return _Target("", "history", item.command)
    if item.command:
        return _desk(tx, place, item.command, seq)
    replied = _replied(tx, place.id, item.inbound.reply_to) if item.inbound.reply_to else ""
    match pick_thread(person.id, replied, tuple(active_threads(tx, place).values())):
        case Join(thread):
            return _join(tx, place, thread)
        case AskWhich():
            return _desk(tx, place, "which", seq)
        case _:
            return _Target(_start_thread(tx, place, item.agent, seq), "queued")


def _replied(tx: Tx, conversation: str, message_id: str) -> str:
    tx.flush()
    row = tx.execute(SQL["thread_shown"], (conversation, message_id)).fetchone()
    row = row or tx.execute(SQL["thread_written"], (conversation, message_id)).fetchone()
    return row[0] if row else ""


def _join(tx: Tx, place: Place, thread: str) -> _Target:
    fact = active_threads(tx, place).get(thread)
    if fact is None or fact.state == "waiting":
        tx.flush()
        tx.execute(SQL["queue_thread"], (thread,))
        place.active = None
    return _Target(thread, "queued")


def _desk(tx: Tx, place: Place, command: str, seq: int) -> _Target:
    thread = new_id()
    tx.late(_INSERT_THREAD, (thread, place.session, place.id, place.owner, place.agent, 1, 0, seq))
    return _Target(thread, "queued", command, is_desk=True)


def _start_thread(tx: Tx, place: Place, agent: str, seq: int) -> str:
    """A new thread, which becomes the foreground; the session follows its account's route."""
    leave_foreground(tx, place)
    thread = new_id()
    tx.late(_INSERT_THREAD, (thread, place.session, place.id, place.owner, agent, 0, 1, seq))
    active_threads(tx, place)[thread] = ThreadFact(thread, "queued", is_foreground=True)
    if place.agent != agent:
        tx.execute(SQL["update_agent"], (agent, place.session))
        place.agent = agent
    return thread
