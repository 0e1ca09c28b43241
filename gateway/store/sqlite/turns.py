"""Turns: begun from a thread's queue, changed by observations, ended into a state their thread goes on from.

A thread is `queued` exactly when there is something to begin and no turn of it is at work. An observation is decided on
a revision of its turn: with any other one it changes nothing, and everything it implies is in the same transaction.
"""

from collections.abc import Sequence
from typing import Any

import orjson

from core.agent import TaskState
from core.clock import Instant
from core.envelope import Envelope
from core.identity import Person
from core.parts import part_from_json
from core.router import ThreadFact
from core.store import (
    Disposition,
    InboxRecord,
    Observation,
    Ready,
    RemoteTask,
    SubmissionState,
    Turn,
    TurnEnd,
    TurnState,
)
from gateway.store.rules import Policy, is_troubled, state_after
from gateway.store.sqlite.deliveries import enqueue
from gateway.store.sqlite.memory import Live, Place
from gateway.store.sqlite.names import name, number
from gateway.store.sqlite.places import active_threads, leave_foreground, place
from gateway.store.sqlite.queries import load
from gateway.store.sqlite.writer import Tx

SQL = load("turns.sql")
_INSERT_TURN, _BEGIN_THREAD, _END_THREAD = SQL["insert_turn"], SQL["begin_thread"], SQL["end_thread"]
_OBSERVE_TURN, _END_TURN = SQL["observe_turn"], SQL["end_turn"]
_PUT_TASK, _INSERT_RECORD, _PUT_CONTEXT = SQL["put_task"], SQL["insert_record"], SQL["put_context"]

# ---------------------------------------------------------------------------------------------- beginning


def begin(tx: Tx, thread: str, now: Instant, limit: int) -> Turn | None:
    queue = tx.memory.queues.get(thread)
    if queue is None:
        return _begin_stored(tx, thread, now, limit)
    if queue.is_at_work or not queue.envelopes:
        return None
    envelopes = tuple(queue.envelopes[:limit])
    del queue.envelopes[:limit]
    queue.is_at_work = True
    turn = _turn(tx, queue.where, thread, queue.agent, envelopes, now, is_desk=queue.is_desk)
    _store_begun(tx, queue.where, turn)
    tx.late(_BEGIN_THREAD, (number(turn.id), envelopes[-1].seq, number(thread)))
    return turn


def _begin_stored(tx: Tx, thread: str, now: Instant, limit: int) -> Turn | None:
    """From the rows: after a start, and for threads that asked, were cancelled or were put back to work."""
    tx.flush()
    n = number(thread)
    row = tx.execute(SQL["thread"], (n, thread)).fetchone()
    where = place(tx, row[1]) if row is not None and row[4] == "queued" else None
    if row is None or where is None:
        return None
    _, _, _, agent, _, is_desk, taken, resume, task_id, _ = row
    where.active = None
    if resume:
        return _begin_again(tx, n, resume, taken)
    rows = tx.execute(SQL["queued_envelopes"], (n, taken, limit)).fetchall()
    if not rows:
        return None
    envelopes = tuple([_envelope(row) for row in rows])
    turn = _turn(tx, where, thread, agent, envelopes, now, is_desk=bool(is_desk), task_id=task_id or None)
    _store_begun(tx, where, turn)
    tx.execute(SQL["begin_answer"], (number(turn.id), envelopes[-1].seq, n))
    return turn


def _begin_again(tx: Tx, thread: int, turn: int, taken: int) -> Turn | None:
    """A turn that had ended is at work once more; whoever still holds it from before holds an old revision."""
    tx.execute(SQL["resume_turn"], (turn,))
    tx.execute(SQL["begin_answer"], (turn, taken, thread))
    return read_turn(tx, turn)


def _turn(
    tx: Tx,
    where: Place,
    thread: str,
    agent: str,
    envelopes: tuple[Envelope, ...],
    now: Instant,
    *,
    is_desk: bool,
    task_id: str | None = None,
) -> Turn:
    id = name(envelopes[0].id, envelopes[0].seq)
    return Turn(
        id=id,
        thread=thread,
        session=where.session,
        owner=where.owner,
        conversation=where.id,
        address=where.address,
        is_direct=where.is_direct,
        agent=agent,
        envelopes=envelopes,
        message_id=f"fd-{id}",
        begun=now,
        context_id=_context(tx, where, agent),
        task_id=task_id,
        task=_continued(tx, agent, task_id) if task_id else None,
        is_desk=is_desk,
    )


def _continued(tx: Tx, agent: str, task_id: str) -> RemoteTask | None:
    row = tx.execute(SQL["task"], (agent, task_id)).fetchone()
    return _task(row) if row else None


def _store_begun(tx: Tx, where: Place, turn: Turn) -> None:
    first, last = turn.envelopes[0], turn.envelopes[-1]
    tx.late(
        _INSERT_TURN,
        (
            first.seq,
            last.seq,
            turn.id,
            number(turn.thread),
            where.session,
            where.id,
            where.owner,
            turn.agent,
            turn.is_desk,
            "" if turn.is_desk else "intended",
            where.generation,
            turn.context_id,
            turn.task_id,
            last.message_id,
            last.person.language,
            turn.begun,
        ),
    )
    tx.memory.live.keep(turn.id, Live(where.id, where.session, where.generation, 0, cancel_wanted=False))
    _now(where, turn.thread, "running")


def _context(tx: Tx, where: Place, agent: str) -> str | None:
    key = (where.session, agent, where.generation)
    contexts = tx.memory.contexts
    if key not in contexts:
        tx.flush()
        row = tx.execute(SQL["context"], key).fetchone()
        contexts.keep(key, row[0] if row else None)
    return contexts[key]


def _now(where: Place, thread: str, state: str) -> None:
    """What is remembered of the thread follows it; a desk's thread is not remembered."""
    fact = where.active.get(thread) if where.active else None
    if where.active is None or fact is None:
        return
    if state in ("queued", "running"):
        where.active[thread] = ThreadFact(thread, state, fact.is_foreground)
    else:
        del where.active[thread]


def _envelope(row: Sequence[Any]) -> Envelope:
    seq, id, parts, external_id, message_id, command, is_forward, received, person, owner, language = row
    return Envelope(
        id=id,
        seq=seq,
        person=Person(person, owner, language),
        parts=tuple([part_from_json(part) for part in orjson.loads(parts)]),
        external_id=external_id,
        message_id=message_id,
        command=command,
        is_forward=bool(is_forward),
        received=received,
    )


# ---------------------------------------------------------------------------------------------- observing


def observe(tx: Tx, observation: Observation, policy: Policy, now: Instant) -> Turn | None:
    turn, task, end = observation.turn, observation.task, observation.end
    live = _live(tx, turn.id)
    where = place(tx, live.conversation) if live is not None else None
    if live is None or where is None or live.revision != turn.revision:
        return None
    live.revision += 1
    present = _next(observation, live)
    _store_turn(tx, present, end, now)
    if task is not None:
        _store_task(tx, turn, task)
    if observation.records:
        _store_records(tx, turn, observation.records, present.task, now)
    if observation.context_id is not None and observation.context_id != turn.context_id:
        _store_context(tx, live, turn.agent, observation.context_id)
    for piece in observation.pieces:
        enqueue(tx, where, turn.id, piece, policy, now)
    if end is not None:
        _end(tx, where, present, end)
    return present


def _live(tx: Tx, turn: str) -> Live | None:
    known = tx.memory.live.get(turn)
    if known is None:
        row = tx.execute(SQL["live"], (number(turn), turn)).fetchone()
        if row is not None:
            known = tx.memory.live.keep(turn, Live(row[0], row[1], row[2], row[3], bool(row[4])))
    return known


def _next(observation: Observation, live: Live) -> Turn:
    turn, end = observation.turn, observation.end
    return Turn(
        id=turn.id,
        thread=turn.thread,
        session=turn.session,
        owner=turn.owner,
        conversation=turn.conversation,
        address=turn.address,
        is_direct=turn.is_direct,
        agent=turn.agent,
        envelopes=turn.envelopes,
        message_id=turn.message_id,
        begun=turn.begun,
        context_id=observation.context_id or turn.context_id,
        task_id=turn.task_id,
        submission=observation.submission or turn.submission,
        asked=turn.asked if observation.asked is None else observation.asked,
        task=observation.task or turn.task,
        cancel_wanted=live.cancel_wanted,
        waiting=turn.waiting or (end is not None and end.state is TurnState.WAITING),
        revision=live.revision,
        is_desk=turn.is_desk,
    )


def _store_turn(tx: Tx, present: Turn, end: TurnEnd | None, now: Instant) -> None:
    values = (
        present.revision,
        "" if present.is_desk else present.submission._value_,
        present.asked,
        present.task.task_id if present.task is not None else None,
        present.context_id,
    )
    n = number(present.id)
    if end is None:
        tx.late(_OBSERVE_TURN, (*values, n))
    else:
        ended = None if end.state is TurnState.WAITING else now
        tx.late(_END_TURN, (*values, end.state._value_, ended, end.reason, n))
    if is_troubled(present, end):
        tx.flush()
        tx.execute(SQL["mark_troubled"], (n,))


def _store_task(tx: Tx, turn: Turn, task: RemoteTask) -> None:
    tx.late(
        _PUT_TASK,
        (
            turn.agent,
            task.task_id,
            task.context_id,
            turn.owner,
            number(turn.id),
            task.state._value_,
            task.state_time,
            task.heard,
            task.disposition._value_,
            task.unconfirmed,
        ),
    )


def _store_records(tx: Tx, turn: Turn, records: Sequence[InboxRecord], task: RemoteTask | None, now: Instant) -> None:
    task_id, turn_n, revision = task.task_id if task else "", number(turn.id), turn.revision + 1
    for n, record in enumerate(records):
        row = (turn_n, revision, n, task_id, record.road._value_, record.kind, record.body, now)
        tx.late(_INSERT_RECORD, row)


def _store_context(tx: Tx, live: Live, agent: str, context_id: str) -> None:
    """Of the generation the turn was begun in: what was left behind by /new does not come back."""
    tx.late(_PUT_CONTEXT, (live.session, agent, live.generation, context_id))
    tx.memory.contexts.keep((live.session, agent, live.generation), context_id)


# ---------------------------------------------------------------------------------------------- ending


def _end(tx: Tx, where: Place, turn: Turn, end: TurnEnd) -> None:
    queue = tx.memory.queues.get(turn.thread)
    if end.state is not TurnState.WAITING:
        tx.memory.live.pop(turn.id, None)
    if end.state is TurnState.WAITING or end.waits_for_input or turn.waiting or queue is None:
        _end_stored(tx, where, turn, end)
        return
    state = state_after(end, has_queued=bool(queue.envelopes))
    if state == "queued":
        queue.is_at_work = False
        tx.late(SQL["queue_again"], (number(turn.thread),))
    else:
        del tx.memory.queues[turn.thread]
        tx.late(_END_THREAD, (state, number(turn.thread)))
    _now(where, turn.thread, state)


def _end_stored(tx: Tx, where: Place, turn: Turn, end: TurnEnd) -> None:
    """From the rows: a thread that waits now, or waited, or was not seen from its beginning."""
    tx.flush()
    n = number(turn.thread)
    tx.memory.queues.pop(turn.thread, None)
    if end.state is TurnState.WAITING:
        _leave_foreground(tx, where, turn.thread)
        _wait(tx, turn, "task", asks="")
    elif end.waits_for_input:
        _move_queued(tx, n)
        _wait(tx, turn, "input", asks=turn.envelopes[-1].person.id if turn.envelopes else "")
    else:
        tx.execute(SQL["leave_wait"], (n,))
        has_queued = bool(tx.execute(SQL["has_queued"], (n,)).fetchone()[0])
        state = state_after(end, has_queued=has_queued)
        tx.execute(*((SQL["queue_again"], (n,)) if state == "queued" else (_END_THREAD, (state, n))))
    where.active = None


def _wait(tx: Tx, turn: Turn, kind: str, *, asks: str) -> None:
    n, task_id = number(turn.thread), turn.task.task_id if turn.task is not None else ""
    key = f"{turn.agent}/{task_id}" if task_id else turn.thread
    if tx.execute(SQL["wake_is_taken"], (kind, key, n)).fetchone()[0]:
        key = f"{key}#{turn.thread}"
    continues = task_id if kind == "input" else ""
    tx.execute(SQL["wait_thread"], (kind, key, continues, asks, n))


def _leave_foreground(tx: Tx, where: Place, thread: str) -> None:
    fact = active_threads(tx, where).get(thread)
    if fact is not None and fact.is_foreground:
        leave_foreground(tx, where)
    else:
        tx.execute(SQL["leave_foreground"], (number(thread),))


def _move_queued(tx: Tx, thread: int) -> None:
    """What was written before the question was asked does not answer it: it goes on in a new foreground thread."""
    first = tx.execute(SQL["first_queued"], (thread,)).fetchone()
    if first is not None:
        values = {"new": first[0], "id": name(first[1], first[0]), "old": thread}
        tx.execute(SQL["split_thread"], values)
        tx.execute(SQL["move_queued"], values)


# ---------------------------------------------------------------------------------------------- after a start


def ready(tx: Tx) -> list[Ready]:
    tx.flush()
    return [Ready(owner, thread, queued, bool(is_desk)) for owner, thread, is_desk, queued in tx.execute(SQL["ready"])]


def unfinished(tx: Tx) -> list[Turn]:
    tx.flush()
    rows = tx.execute(SQL["turns_at_work"]).fetchall()
    return [turn for (n,) in rows if (turn := read_turn(tx, n)) is not None]


def read_turn(tx: Tx, n: int) -> Turn | None:
    row = tx.execute(SQL["turn"], (n,)).fetchone()
    where = place(tx, row[4]) if row else None
    if row is None or where is None:
        return None
    (id, thread, session, owner, _, agent, begun, context_id, continues, cancel_wanted, revision, is_desk) = row[:12]
    state, submission, asked = row[12:15]
    envelopes = tx.execute(SQL["envelopes_of_turn"], (n,)).fetchall()
    return Turn(
        id=id,
        thread=thread,
        session=session,
        owner=owner,
        conversation=where.id,
        address=where.address,
        is_direct=where.is_direct,
        agent=agent,
        envelopes=tuple([_envelope(envelope) for envelope in envelopes]),
        message_id=f"fd-{id}",
        begun=begun,
        context_id=context_id,
        task_id=continues,
        submission=SubmissionState(submission or "intended"),
        asked=bool(asked),
        task=_task(row[15:]) if row[15] is not None else None,
        cancel_wanted=bool(cancel_wanted),
        waiting=state == "waiting",
        revision=revision,
        is_desk=bool(is_desk),
    )


def _task(row: Sequence[Any]) -> RemoteTask:
    task_id, context_id, state, state_time, heard, disposition, unconfirmed = row
    return RemoteTask(
        task_id, context_id, TaskState(state), state_time, heard, Disposition(disposition), bool(unconfirmed)
    )
