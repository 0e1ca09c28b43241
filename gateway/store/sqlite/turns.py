"""Turns: begun from a thread's queue, and found again as they were left.

A thread is `queued` exactly when there is something to begin and no turn of it is at work.
"""

from collections.abc import Sequence
from typing import Any

from core.agent import TaskState
from core.clock import Instant
from core.envelope import Envelope
from core.identity import Person
from core.parts import Attached, part_from_json
from core.store import Ready
from core.turn import Disposition, RemoteTask, SubmissionState, Turn
from gateway.store.sqlite import followed
from gateway.store.sqlite.memory import Live, Memory, Place
from gateway.store.sqlite.names import name, number
from gateway.store.sqlite.places import place, remote_context, thread_is
from gateway.store.sqlite.queries import load
from gateway.store.sqlite.texts import decoded
from gateway.store.sqlite.transaction import Tx

SQL = load("turns.sql")
_INSERT_TURN, _BEGIN_THREAD = SQL["insert_turn"], SQL["begin_thread"]

# ---------------------------------------------------------------------------------------------- beginning


def reads_nothing(memory: Memory, thread: str, limit: int) -> bool:
    """Whether `begin` needs no row, and would begin the same turn again if what it writes were lost.

    (Of several messages that are collected, more might be there the next time, under the same message id.)
    """
    queue = memory.queues.get(thread)
    if queue is None or not queue.envelopes or limit > 1:
        return False
    where = queue.where
    is_first = queue.envelopes[0].seq == number(thread)  # else followed work has a word to keep
    return (where.session, queue.agent, where.generation) in memory.contexts and (is_first or not where.is_followed)


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
        context_id=remote_context(tx, where.session, agent, where.generation),
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
            int(turn.is_desk),
            "" if turn.is_desk else "intended",
            where.generation,
            turn.context_id,
            turn.task_id,
            last.message_id,
            last.person.language,
            turn.begun,
        ),
    )
    if where.is_followed and not turn.is_desk:
        followed.began(tx, turn)
    tx.memory.live.keep(turn.id, Live(where.id, where.session, where.generation, 0, cancel_wanted=False))
    thread_is(where, turn.thread, "running")


def _envelope(row: Sequence[Any]) -> Envelope:
    seq, id, parts, external_id, message_id, command, is_forward, received, person, owner, language, attached = row
    return Envelope(
        id=id,
        seq=seq,
        person=Person(person, owner, language),
        parts=tuple([part_from_json(part) for part in decoded(parts)]),
        external_id=external_id,
        message_id=message_id,
        command=command,
        is_forward=bool(is_forward),
        received=received,
        attached=Attached.from_json(decoded(attached)) if attached else None,
    )


# ---------------------------------------------------------------------------------------------- after a start


def ready(tx: Tx) -> list[Ready]:
    tx.flush()
    rows = tx.execute(SQL["ready"]).fetchall()
    return [Ready(owner, thread, queued, bool(is_desk), account) for owner, thread, is_desk, queued, account in rows]


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
    state, submission, asked, preview = row[12:16]
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
        task=_task(row[16:]) if row[16] is not None else None,
        cancel_wanted=bool(cancel_wanted),
        waiting=state == "waiting",
        preview=preview,
        revision=revision,
        is_desk=bool(is_desk),
    )


def _task(row: Sequence[Any]) -> RemoteTask:
    task_id, context_id, state, state_time, heard, disposition, unconfirmed, binding = row
    return RemoteTask(
        task_id, context_id, TaskState(state), state_time, heard, Disposition(disposition), bool(unconfirmed), binding
    )
